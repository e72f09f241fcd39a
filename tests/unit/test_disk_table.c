/* SPDX-License-Identifier: Apache-2.0 */
/* What needs no machine: rates from two readings, and the remembered rows of diskstats. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collect/disk/disk.h"

static const struct sysroot no_sysfs = {.root_fd = -1, .proc_fd = -1, .sys_fd = -1};
static const struct collect_env no_sysfs_env = {.root = &no_sysfs};

static void test_derive(void **state)
{
    (void)state;
    struct diskstats_row prev = {.reads = 10, .read_units = 100, .writes = 5, .write_units = 1000, .busy_ms = 100};
    struct diskstats_row cur = {.reads = 30, .read_units = 300, .writes = 6, .write_units = 500, .busy_ms = 600};
    struct sample_disk out = {0};
    disk_derive(&prev, &cur, 2 * NS_PER_SEC, &out);
    assert_int_equal(out.read_bytes_delta.v, 200 * 512);
    assert_true(out.read_bytes_per_sec.v == 100 * 512);
    assert_true(out.reads_per_sec.v == 10);
    assert_true(out.writes_per_sec.v == 0.5);
    assert_true(out.write_bytes_delta.has);
    assert_int_equal(out.write_bytes_delta.v, 0);
    assert_true(out.busy_pct.v == 25);
    assert_int_equal(out.write_bytes_total.v, 500 * 512);
    cur.busy_ms = 5000;
    disk_derive(&prev, &cur, 2 * NS_PER_SEC, &out);
    assert_true(out.busy_pct.v == 100);
    out = (struct sample_disk){0};
    disk_derive(&prev, &cur, 0, &out);
    assert_true(out.read_bytes_delta.has);
    assert_false(out.read_bytes_per_sec.has);
    assert_false(out.busy_pct.has);
    out = (struct sample_disk){0};
    disk_derive(NULL, &cur, NS_PER_SEC, &out);
    assert_int_equal(out.read_bytes_total.v, 300 * 512);
    assert_false(out.read_bytes_delta.has);
    assert_false(out.reads_per_sec.has);
}

static void test_base_length(void **state)
{
    (void)state;
    assert_int_equal(disk_table_base_length("sda1"), 3);
    assert_int_equal(disk_table_base_length("nvme0n1p12"), 7);
    assert_int_equal(disk_table_base_length("sda"), 0);
    assert_int_equal(disk_table_base_length("nvme0n1"), 6);
    assert_int_equal(disk_table_base_length("123"), 0);
    assert_int_equal(disk_table_base_length(""), 0);
    assert_int_equal(disk_table_base_length("sdp1"), 3);
}

static struct diskstats_row row(unsigned minor, const char *name)
{
    struct diskstats_row made = {.major = 8, .minor = minor, .reads = 1};
    (void)snprintf(made.name, sizeof(made.name), "%s", name);
    return made;
}

static void test_rows_move_and_go(void **state)
{
    (void)state;
    struct diskstats_row first[] = {row(0, "sda"), row(1, "sda1"), row(16, "sdb"), row(32, "sdc")};
    struct diskstats_row second[] = {row(32, "sdc"), row(48, "sdd"), row(16, "sdX"), row(0, "sda")};
    struct diskstats stats = {.items = first, .count = 4};
    struct disk_table table;
    disk_table_init(&table, &no_sysfs_env);
    assert_int_equal(disk_table_match(&table, &stats), 0);
    assert_int_equal(disk_table_classify(&table, &stats), 0);
    assert_int_equal(table.order.count, 3);
    assert_int_equal(table.rows.items[1].kind, DISK_PARTITION);
    assert_string_equal(table.rows.items[1].parent, "sda");
    const struct disk_device *sda = table.rows.items[0].device;
    const struct disk_device *sdc = table.rows.items[3].device;
    assert_ptr_equal(disk_table_find_owner(&table, 8, 1), sda);
    assert_null(disk_table_find_owner(&table, 8, 99));
    disk_table_remember(&table, &stats);
    uint64_t generation = table.generation;
    assert_int_equal(disk_table_match(&table, &stats), 0);
    assert_int_equal(table.generation, generation);

    stats = (struct diskstats){.items = second, .count = 4};
    assert_int_equal(disk_table_match(&table, &stats), 0);
    assert_int_equal(disk_table_classify(&table, &stats), 0);
    assert_int_equal(table.generation, generation + 1);
    assert_ptr_equal(table.rows.items[0].device, sdc);
    assert_ptr_equal(table.rows.items[3].device, sda);
    assert_true(table.rows.items[3].has_prev);
    assert_false(table.rows.items[1].has_prev);
    /* The same number under another name is another device. */
    assert_false(table.rows.items[2].has_prev);
    assert_int_equal(table.devices, 4);
    disk_table_fini(&table);
}

static void test_many_disks(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct diskstats_row *rows = calloc(COUNT, sizeof(*rows));
    assert_non_null(rows);
    for (unsigned i = 0; i < COUNT; i++) {
        char name[DISK_NAME_BYTES];
        (void)snprintf(name, sizeof(name), "disk%cx%ux", 'a' + (char)(i % 26), i);
        rows[i] = row(i, name);
    }
    struct diskstats stats = {.items = rows, .count = COUNT};
    struct disk_table table;
    disk_table_init(&table, &no_sysfs_env);
    assert_int_equal(disk_table_match(&table, &stats), 0);
    assert_int_equal(disk_table_classify(&table, &stats), 0);
    assert_int_equal(table.rows.count, DISK_ROWS_MAX);
    assert_int_equal(table.order.count, DISK_DEVICES_MAX);
    for (size_t i = 1; i < table.order.count; i++) {
        const char *before = table.rows.items[table.order.items[i - 1]].prev.name;
        assert_true(strcmp(before, table.rows.items[table.order.items[i]].prev.name) < 0);
    }
    disk_table_fini(&table);
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derive),
        cmocka_unit_test(test_base_length),
        cmocka_unit_test(test_rows_move_and_go),
        cmocka_unit_test(test_many_disks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
