/* SPDX-License-Identifier: Apache-2.0 */
/* What KFD reports of ROCm jobs on AMD cards: compute units, device memory and occupancy per process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "gpu_fixture.h"

extern const struct gpu_vendor gpu_vendor_amd;

#define PDEV "0000:03:00.0"
#define KFD "sys/class/kfd/kfd/"

/* A GPU node at the address, with 192 SIMDs of which 2 make a compute unit, behind a CPU node. */
static void add_card(struct gpu_fixture *fixture)
{
    gpu_fixture_add_card(fixture, "card0", "amdgpu", PDEV);
    gpu_fixture_write(fixture, PDEV, "gpu_busy_percent", "37\n");
    gpu_fixture_write(fixture, PDEV, "power/runtime_status", "active\n");
    fake_env_write(&fixture->fake, KFD "topology/nodes/0/gpu_id", "0\n");
    fake_env_write(&fixture->fake, KFD "topology/nodes/0/properties", "cpu_cores_count 16\nlocation_id 0\n");
    fake_env_write(&fixture->fake, KFD "topology/nodes/1/gpu_id", "45982\n");
    fake_env_write(&fixture->fake, KFD "topology/nodes/1/properties",
        "simd_count 192\nsimd_per_cu 2\nlocation_id 768\ndomain 0\nunique_id 11\n");
    fake_env_mkdir(&fixture->fake, KFD "proc");
}

static void add_process(struct gpu_fixture *fixture, int pid, const char *vram, const char *occupancy)
{
    char path[128];
    (void)snprintf(path, sizeof(path), KFD "proc/%d/vram_45982", pid);
    fake_env_write(&fixture->fake, path, vram);
    (void)snprintf(path, sizeof(path), KFD "proc/%d/stats_45982/cu_occupancy", pid);
    fake_env_write(&fixture->fake, path, occupancy);
}

static struct gpu_use tick_use(struct gpu_fixture *fixture)
{
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    return gpu_fixture_card(fixture, 0)->use;
}

static void set_members(struct gpu_fixture *fixture, size_t count)
{
    static const struct job_member members[] = {{100, 5}, {101, 6}, {102, 7}};
    for (size_t i = 0; i < count; i++)
        fixture->members[i] = members[i];
    fixture->member_count = count;
}

static void test_core_count(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_card(fixture);
    gpu_fixture_add_card(fixture, "card1", "amdgpu", "0000:83:00.0");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    assert_u64(gpu_fixture_card(fixture, 0)->facts.core_count, 96);
    assert_false(gpu_fixture_card(fixture, 1)->facts.core_count.has);
}

/* A split GPU is several nodes at one address. */
static void test_partitions(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_card(fixture);
    fake_env_write(&fixture->fake, KFD "topology/nodes/2/gpu_id", "777\n");
    fake_env_write(&fixture->fake, KFD "topology/nodes/2/properties", "simd_count 8\nsimd_per_cu 2\nlocation_id 768\n");
    fake_env_write(&fixture->fake, KFD "topology/nodes/3/gpu_id", "778\n");
    fake_env_write(&fixture->fake, KFD "topology/nodes/3/properties", "simd_count 8\nsimd_per_cu 0\nlocation_id 768\n");
    fake_env_write(&fixture->fake, KFD "topology/nodes/4/gpu_id", "779\n");
    fake_env_write(&fixture->fake, KFD "topology/nodes/4/properties", "broken");
    set_members(fixture, 1);
    add_process(fixture, 100, "4096\n", "25\n");
    fake_env_write(&fixture->fake, KFD "proc/100/vram_777", "1000\n");
    fake_env_write(&fixture->fake, KFD "proc/100/stats_777/cu_occupancy", "3\n");
    fake_env_write(&fixture->fake, KFD "proc/100/vram_779", "1\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    struct gpu_use use = tick_use(fixture);
    assert_u64(gpu_fixture_card(fixture, 0)->facts.core_count, 100);
    assert_u64(use.vram_bytes, 5096);
    assert_f64(use.usage, 0.28);
}

static void test_members_only(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_card(fixture);
    gpu_fixture_set_use(fixture, PDEV, 0, 0, 0);
    set_members(fixture, 2);
    add_process(fixture, 100, "4096\n", "24\n");
    add_process(fixture, 101, "8192\n", "0\n");
    add_process(fixture, 999, "1000000\n", "96\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    struct gpu_use use = tick_use(fixture);
    assert_u64(use.vram_bytes, 12288);
    assert_f64(use.usage, 0.25);
    int open_count = fake_env_open_count();
    fake_env_write(&fixture->fake, KFD "proc/100/stats_45982/cu_occupancy", "48\n");
    assert_f64(tick_use(fixture).usage, 0.5);
    assert_int_equal(fake_env_open_count(), open_count);
}

static void test_beside_clients(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_card(fixture);
    set_members(fixture, 1);
    add_process(fixture, 100, "4096\n", "96\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    /* Neither sees what the other does: the larger usage is taken, and the larger memory. */
    gpu_fixture_set_use(fixture, PDEV, 0.125, 0.5, 100);
    struct gpu_use use = tick_use(fixture);
    assert_f64(use.usage, 1);
    assert_u64(use.vram_bytes, 4096);
    fake_env_write(&fixture->fake, KFD "proc/100/stats_45982/cu_occupancy", "6\n");
    assert_f64(tick_use(fixture).usage, 0.125);
    fake_env_write(&fixture->fake, KFD "proc/100/stats_45982/cu_occupancy", "0\n");
    assert_f64(tick_use(fixture).usage, 0.125);
    /* A driver that reports nothing of clients. */
    fake_env_write(&fixture->fake, KFD "proc/100/stats_45982/cu_occupancy", "96\n");
    gpu_fixture_set_use(fixture, PDEV, -1, -1, 9000);
    use = tick_use(fixture);
    assert_f64(use.usage, 1);
    assert_u64(use.vram_bytes, 9000);
    /* More waves than units is still one GPU. */
    fake_env_write(&fixture->fake, KFD "proc/100/stats_45982/cu_occupancy", "500\n");
    assert_f64(tick_use(fixture).usage, 1);
}

/* Not every model reports the units in use: what a process with memory there does is not known. */
static void test_without_occupancy(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_card(fixture);
    set_members(fixture, 2);
    gpu_fixture_set_use(fixture, PDEV, 0.125, 0.5, 100);
    add_process(fixture, 100, "8192\n", "24\n");
    fake_env_write(&fixture->fake, KFD "proc/101/vram_45982", "4096\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    struct gpu_use use = tick_use(fixture);
    assert_false(use.usage.has);
    assert_u64(use.vram_bytes, 12288);
    /* One that holds nothing there does nothing there. */
    fake_env_write(&fixture->fake, KFD "proc/101/vram_45982", "0\n");
    use = tick_use(fixture);
    assert_f64(use.usage, 0.25);
    assert_u64(use.vram_bytes, 8192);
    /* A non-member does not count. */
    fake_env_write(&fixture->fake, KFD "proc/101/vram_45982", "4096\n");
    assert_false(tick_use(fixture).usage.has);
    set_members(fixture, 1);
    assert_f64(tick_use(fixture).usage, 0.25);
}

/* Two files for each node and process: of 90 nodes, three processes are too many. */
static void test_too_many_files(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_card(fixture);
    for (int node = 2; node < 91; node++) {
        char path[128], id[32];
        (void)snprintf(path, sizeof(path), KFD "topology/nodes/%d/gpu_id", node);
        (void)snprintf(id, sizeof(id), "%d\n", node);
        fake_env_write(&fixture->fake, path, id);
        (void)snprintf(path, sizeof(path), KFD "topology/nodes/%d/properties", node);
        fake_env_write(&fixture->fake, path, "simd_count 8\nsimd_per_cu 2\nlocation_id 1024\n");
    }
    for (int pid = 100; pid < 103; pid++)
        add_process(fixture, pid, "4096\n", "24\n");
    gpu_fixture_set_use(fixture, PDEV, 0.125, 0.5, 100);
    set_members(fixture, 2);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_u64(tick_use(fixture).vram_bytes, 8192);
    set_members(fixture, 3);
    struct gpu_use use = tick_use(fixture);
    assert_false(use.usage.has);
    assert_false(use.vram_bytes.has);
    /* There is space again as soon as one has ended. */
    fake_env_remove(&fixture->fake, KFD "proc/100");
    use = tick_use(fixture);
    assert_f64(use.usage, 0.5);
    assert_u64(use.vram_bytes, 8192);
}

/* In a PID namespace KFD's numbers are not ours. */
static void test_other_pids(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_card(fixture);
    set_members(fixture, 1);
    add_process(fixture, 100, "4096\n", "24\n");
    gpu_fixture_set_use(fixture, PDEV, 0.125, 0.5, 100);
    fixture->fake.root.is_host = true;
    fake_env_link(&fixture->fake, "proc/self/ns/pid", "pid:[4026532000]");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    struct gpu_use use = tick_use(fixture);
    assert_f64(use.usage, 0.125);
    assert_u64(use.vram_bytes, 100);
    fixture->clients.has_kfd = true;
    use = tick_use(fixture);
    assert_false(use.usage.has);
    assert_false(use.vram_bytes.has);
}

/* Where KFD reports the members, nothing is lost by their holding it. */
static void test_own_pids(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_card(fixture);
    set_members(fixture, 1);
    add_process(fixture, 100, "4096\n", "24\n");
    gpu_fixture_set_use(fixture, PDEV, 0.125, 0.5, 100);
    fixture->clients.has_kfd = true;
    fixture->fake.root.is_host = true;
    fake_env_link(&fixture->fake, "proc/self/ns/pid", "pid:[4026531836]");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    struct gpu_use use = tick_use(fixture);
    assert_f64(use.usage, 0.25);
    assert_u64(use.vram_bytes, 4096);
}

static void test_come_and_go(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_card(fixture);
    set_members(fixture, 2);
    gpu_fixture_set_use(fixture, PDEV, 0, 0, 0);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_u64(tick_use(fixture).vram_bytes, 0);
    /* The directory is there before its files. */
    fake_env_mkdir(&fixture->fake, KFD "proc/100");
    assert_u64(tick_use(fixture).vram_bytes, 0);
    add_process(fixture, 100, "4096\n", "24\n");
    assert_u64(tick_use(fixture).vram_bytes, 4096);
    int open_count = fake_env_open_count();
    add_process(fixture, 101, "10\n", "0\n");
    assert_u64(tick_use(fixture).vram_bytes, 4106);
    assert_int_equal(fake_env_open_count(), open_count + 2);
    fake_env_remove(&fixture->fake, KFD "proc/101");
    assert_u64(tick_use(fixture).vram_bytes, 4096);
    assert_int_equal(fake_env_open_count(), open_count);
    /* Another process of the same number; the old descriptors are not its own. */
    fake_env_remove(&fixture->fake, KFD "proc/100");
    add_process(fixture, 100, "5\n", "0\n");
    fixture->members[0].start_ticks++;
    assert_u64(tick_use(fixture).vram_bytes, 5);
    fixture->member_count = 0;
    assert_u64(tick_use(fixture).vram_bytes, 0);
    assert_int_equal(fake_env_open_count(), open_count - 2);
}

static void test_sleeping_card(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_card(fixture);
    set_members(fixture, 1);
    add_process(fixture, 100, "4096\n", "24\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    gpu_fixture_write(fixture, PDEV, "power/runtime_status", "suspended\n");
    assert_false(tick_use(fixture).vram_bytes.has);
    gpu_fixture_write(fixture, PDEV, "power/runtime_status", "active\n");
    assert_u64(tick_use(fixture).vram_bytes, 4096);
}

static void test_broken(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_card(fixture);
    set_members(fixture, 1);
    gpu_fixture_set_use(fixture, PDEV, 0.125, 0.5, 100);
    add_process(fixture, 100, "x\n", "\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    struct gpu_use use = tick_use(fixture);
    assert_false(use.vram_bytes.has);
    assert_false(use.usage.has);
    add_process(fixture, 100, "18446744073709551615\n", "1\n");
    use = tick_use(fixture);
    assert_false(use.vram_bytes.has);
    assert_false(use.usage.has);
    add_process(fixture, 100, "4096\n", "18446744073709551615\n");
    assert_false(tick_use(fixture).usage.has);
    add_process(fixture, 100, "4096\n", "24\n");
    use = tick_use(fixture);
    assert_u64(use.vram_bytes, 4096);
    assert_f64(use.usage, 0.25);
}

static int setup(void **state)
{
    return gpu_fixture_setup(state, &gpu_vendor_amd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, gpu_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_core_count),
        TEST(test_partitions),
        TEST(test_members_only),
        TEST(test_beside_clients),
        TEST(test_without_occupancy),
        TEST(test_too_many_files),
        TEST(test_other_pids),
        TEST(test_own_pids),
        TEST(test_come_and_go),
        TEST(test_sleeping_card),
        TEST(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
