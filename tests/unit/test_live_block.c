/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the live view, byte for byte, for given samples and widths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/text.h"
#include "live/live.h"

enum { BYTES_MAX = 4096 };

static const struct live_style plain = {0}, utf8 = {.is_utf8 = true};

static struct sample tree_sample(double secs, double cores, double rss_mib)
{
    return (struct sample){
        .elapsed_secs = some_f64(secs),
        .tracked_pid = some_u64(4711),
        .cpu = {.present = true,
            .process_cores_used = some_f64(cores),
            .process_rss_mib = some_f64(rss_mib),
            .process_child_count = some_u64(2),
            .process_count = some_u64(99),
            .utilization_pct = some_f64(7)},
        .memory = {.present = true, .total_mib = some_f64(4096), .used_mib = some_f64(3000)},
    };
}

static void add(struct live_block *block, const struct sample *sample)
{
    const struct sample_totals totals = sample_totals_of(sample, true);
    live_block_add(block, sample, &totals);
}

/* How many columns the text can take at most: colours none, what is not ASCII (but rules and histories) two. */
static size_t widest(struct str text)
{
    size_t columns = 0;
    while (text.n > 0) {
        if (text.p[0] == '\033') {
            const char *end = memchr(text.p, 'm', text.n);
            assert_non_null(end);
            str_skip(&text, (size_t)(end + 1 - text.p));
            continue;
        }
        size_t n = utf8_length(text);
        assert_true(n > 0);
        assert_true(n > 1 || ((unsigned char)text.p[0] >= 0x20 && text.p[0] != 0x7f));
        bool is_narrow = n == 1 || (n == 3 && text.p[0] == '\xe2' && (text.p[1] == '\x94' || text.p[1] == '\x96'));
        columns += is_narrow ? 1 : 2;
        str_skip(&text, n);
    }
    return columns;
}

/* Adds a part as a terminal shows it: moves to a column become blanks, and must not lead back into the first part. */
static void show(struct buf *buf, struct str part)
{
    while (part.n > 0) {
        if (str_starts(part, STR("\033[K"))) {
            str_skip(&part, 3);
            continue;
        }
        const char *end = memchr(part.p, 'G', part.n);
        if (end && str_starts(part, STR("\033[")) && strspn(part.p + 2, "0123456789") == (size_t)(end - part.p - 2)) {
            uint64_t column;
            assert_int_equal(num_parse_u64((struct str){part.p + 2, (size_t)(end - part.p - 2)}, &column), 0);
            size_t wide = widest((struct str){buf->data, buf->len});
            assert_in_range(column - 1, wide, wide + 1);
            if (column - 1 > wide)
                buf_putc(buf, ' ');
            str_skip(&part, (size_t)(end + 1 - part.p));
            continue;
        }
        buf_putc(buf, part.p[0]);
        str_skip(&part, 1);
    }
}

static const char *line_of(struct buf *buf, const struct live_block *block, unsigned line, unsigned columns)
{
    buf_clear(buf);
    for (unsigned part = LIVE_TEXT; part < LIVE_PARTS; part++) {
        AUTO_BUF struct buf text;
        buf_init(&text, BYTES_MAX);
        live_block_put(&text, block, line, part, columns);
        assert_true(buf_ok(&text));
        assert_in_range(text.len, 0, LIVE_BLOCK_PART_BYTES);
        show(buf, (struct str){buf_cstr(&text), text.len});
    }
    assert_true(buf_ok(buf));
    return buf_cstr(buf);
}

/* Without the blanks behind it. */
static const char *trimmed(struct buf *buf, const struct live_block *block, unsigned line, unsigned columns)
{
    (void)line_of(buf, block, line, columns);
    while (buf->len > 0 && buf->data[buf->len - 1] == ' ')
        buf->len--;
    return buf_cstr(buf);
}

#define EXPECT(block, line, columns, want)                                                                             \
    do {                                                                                                               \
        AUTO_BUF struct buf buf_;                                                                                      \
        buf_init(&buf_, BYTES_MAX);                                                                                    \
        assert_string_equal(trimmed(&buf_, (block), (line), (columns)), (want));                                       \
    } while (0)

static void test_before_the_first_sample(void **state)
{
    (void)state;
    struct live_block block = {.name = "job", .interval_secs = 10};
    assert_int_equal(live_block_lines(&block), 5);
    EXPECT(&block, 0, 40, "-- first sample at 10 s: job ----------");
    EXPECT(&block, 1, 40, "CPU  -");
    EXPECT(&block, 4, 40, "NET  -");
    EXPECT(&block, 4, 200, "NET  -");
    EXPECT(&block, 5, 40, "");
    block.elapsed_secs = some_f64(3.7);
    EXPECT(&block, 0, 60, "-- 3 s, first sample at 10 s: job -------------------------");
    EXPECT(&block, 0, 30, "-- 3 s: job -----------------");
}

static void test_a_tree_in_ascii(void **state)
{
    (void)state;
    struct live_block block = {.name = "make", .style = plain};
    for (int i = 1; i <= 8; i++) {
        struct sample sample = tree_sample(i, i / 4.0, i * 64);
        sample.actual_interval_ms = some_f64(500);
        sample.cpu.per_core_pct = (struct sample_list){.present = true, .count = 4};
        sample.cpu.process_disk_read_bytes = some_u64((uint64_t)i * 1024 * 100);
        sample.cpu.process_disk_write_bytes = some_u64((uint64_t)i * 1024 * 28);
        add(&block, &sample);
    }
    assert_int_equal(live_block_lines(&block), 5);
    EXPECT(&block, 0, 30, "-- 8 s: make ----------------");
    EXPECT(&block, 1, 30, "CPU  2 of 4 cores");
    EXPECT(&block, 2, 30, "MEM  512 MiB of 4 GiB");
    EXPECT(&block, 3, 30, "DISK 2.1 MB/s");
    EXPECT(&block, 0, 40, "-- 8 s, 3 processes: make -------------");
    EXPECT(&block, 1, 40, "CPU  [#####-----] 2 of 4 cores");
    EXPECT(&block, 2, 40, "MEM  [#---------] 512 MiB of 4 GiB");
    EXPECT(&block, 3, 40, "DISK read 1.64 MB/s, write 459 kB/s");
    EXPECT(&block, 4, 40, "NET  -");
    EXPECT(&block, 0, 60, "-- 8 s, 3 processes: make ---------------------------------");
    EXPECT(&block, 1, 60, "CPU  [#####-----] 2 of 4 cores          :-=+*#%%");
    EXPECT(&block, 2, 60, "MEM  [#---------] 512 MiB of 4 GiB      :-=+*#%%");
    EXPECT(&block, 3, 60, "DISK read 1.64 MB/s, write 459 kB/s     :-=+*#%%");
    EXPECT(&block, 1, 80, "CPU  [#####-----] 2 of 4 cores          host 7          :-=+*#%%");
    EXPECT(&block, 2, 80, "MEM  [#---------] 512 MiB of 4 GiB      RSS 12.5 %      :-=+*#%%");
    EXPECT(&block, 3, 80, "DISK read 1.64 MB/s, write 459 kB/s     max 2.1 MB/s    :-=+*#%%");
    EXPECT(&block, 1, 120, "CPU  [#####-----] 2 of 4 cores          max 2, host 7             :-=+*#%%");
    EXPECT(&block, 2, 120, "MEM  [#---------] 512 MiB of 4 GiB      RSS 12.5 %, max 512 MiB   :-=+*#%%");
}

static void test_a_tree_in_utf8(void **state)
{
    (void)state;
    struct live_block block = {.name = "make", .style = utf8};
    const double cores[] = {0, 0.2, 0.3, 0.4, 0.5, 0.7, 0.8, 0.9};
    for (size_t i = 0; i < 8; i++) {
        struct sample sample = tree_sample(3599 + (double)i, cores[i], 1.5);
        add(&block, &sample);
    }
    EXPECT(&block, 0, 40, "── 1 h, 3 processes: make ─────────────");
    /* Less than one core is not blown up to the top. */
    EXPECT(&block, 1, 60, "CPU               0.9 cores             ▁▂▃▄▅▆▇█");
    EXPECT(&block, 2, 60, "MEM  [----------] 1.5 MiB of 4 GiB      ████████");
}

/* The lowest of what limits the tree. */
static void test_what_a_value_is_of(void **state)
{
    (void)state;
    struct live_block block = {.name = "x"};
    struct sample sample = tree_sample(1, 1, 2000);
    sample.cpu.per_core_pct = (struct sample_list){.present = true, .count = 64};
    sample.run = (struct sample_run){.present = true, .cpus_allowed = some_u64(8)};
    add(&block, &sample);
    EXPECT(&block, 1, 40, "CPU  [#---------] 1 of 8 cores");
    sample.run.present = false; /* only the first sample has it */
    sample.cgroup = (struct sample_cgroup){.present = true, .cpu_limit_cores = some_f64(1)};
    add(&block, &sample);
    EXPECT(&block, 1, 40, "CPU  [##########] 1 of 1 core");
    sample.cgroup.cpu_limit_cores = some_f64(0.5);
    add(&block, &sample);
    EXPECT(&block, 1, 40, "CPU  [##########] 1 of 0.5 cores");
}

static void test_pss_counts_where_it_is_known_and_the_lower_limit(void **state)
{
    (void)state;
    struct live_block block = {.name = "x"};
    struct sample sample = tree_sample(1, 1, 2000);
    sample.cpu.process_pss_mib = some_f64(1536);
    sample.cgroup = (struct sample_cgroup){.present = true, .memory_limit_mib = some_f64(2048)};
    add(&block, &sample);
    EXPECT(&block, 2, 80, "MEM  [########--] 1.5 GiB of 2 GiB      PSS 75 %        %");
    sample.cgroup.memory_limit_mib = some_f64(1048576);
    add(&block, &sample);
    EXPECT(&block, 2, 80, "MEM  [####------] 1.5 GiB of 4 GiB      PSS 37.5 %      %%");
    sample.memory = (struct sample_memory){0};
    sample.cgroup = (struct sample_cgroup){0};
    add(&block, &sample);
    EXPECT(&block, 2, 80, "MEM               1.5 GiB               PSS             %%%");
    sample.memory.total_mib = some_f64(0);
    add(&block, &sample);
    EXPECT(&block, 2, 80, "MEM               1.5 GiB               PSS             %%%%");
}

static void test_absent_values_are_dashes_and_gaps(void **state)
{
    (void)state;
    struct live_block block = {.name = "x"};
    struct sample sample = tree_sample(1, 1, 64);
    add(&block, &sample);
    struct sample unknown = {.tracked_pid = some_u64(1)};
    add(&block, &unknown);
    EXPECT(&block, 0, 40, "-- : x --------------------------------");
    EXPECT(&block, 1, 60, "CPU  -                                  %");
    EXPECT(&block, 2, 80, "MEM  -                                                  %");
    sample.cpu.process_child_count = some_u64(0);
    add(&block, &sample);
    EXPECT(&block, 0, 40, "-- 1 s, 1 process: x ------------------");
    EXPECT(&block, 1, 60, "CPU               1 core                % %");
}

/* Its descendants are counted without it. */
static void test_a_root_that_is_gone_is_not_counted(void **state)
{
    (void)state;
    struct live_block block = {.name = "x", .is_root_gone = true};
    struct sample sample = tree_sample(1, 1, 64);
    add(&block, &sample);
    EXPECT(&block, 0, 40, "-- 1 s, 2 processes: x ----------------");
    sample.cpu.process_child_count = some_u64(0);
    add(&block, &sample);
    EXPECT(&block, 0, 40, "-- 1 s, 0 processes: x ----------------");
    struct sample unknown = {.tracked_pid = some_u64(1)};
    add(&block, &unknown);
    EXPECT(&block, 0, 40, "-- : x --------------------------------");
}

static void test_the_host(void **state)
{
    (void)state;
    struct live_block block = {.name = ""};
    const struct sample_network interfaces[] = {
        {.rx_bytes_per_sec = some_f64(2e9), .is_virtual = some_bool(true)},
        {.rx_bytes_per_sec = some_f64(1024), .tx_bytes_per_sec = some_f64(1024), .is_virtual = some_bool(false)},
    };
    const struct sample_disk disks[] = {
        {.read_bytes_per_sec = some_f64(100), .write_bytes_per_sec = some_f64(50)},
        {.read_bytes_per_sec = some_f64(100), .stacked = some_bool(true)},
        {.device = "unknown"},
    };
    struct sample sample = tree_sample(60, 1, 64);
    sample.cpu.per_core_pct = (struct sample_list){.present = true, .count = 8};
    sample.tracked_pid = (struct opt_u64){0};
    sample.network = (struct sample_list){true, 2, interfaces};
    sample.disk = (struct sample_list){true, 3, disks};
    add(&block, &sample);
    EXPECT(&block, 0, 60, "-- host, 1 min, 99 processes ------------------------------");
    EXPECT(&block, 1, 80, "CPU  [#########-] 7 of 8 cores          max 7           %");
    EXPECT(&block, 2, 80, "MEM  [#######---] 2.93 GiB of 4 GiB     73.2 %          %");
    EXPECT(&block, 3, 80, "DISK read 100 B/s, write 50 B/s         max 150 B/s     %");
    EXPECT(&block, 4, 80, "NET  in 1.02 kB/s, out 1.02 kB/s        max 2.05 kB/s   %");
    /* Without any hardware the virtual ones are all there is. */
    sample.network.count = 1;
    add(&block, &sample);
    EXPECT(&block, 4, 80, "NET  in 2 GB/s, out -                   max 2 GB/s      .%");
    EXPECT(&block, 4, 30, "NET  2 GB/s");
    /* Beside a tree it is still the host's. */
    sample.tracked_pid = some_u64(1);
    add(&block, &sample);
    EXPECT(&block, 4, 80, "NET  host in 2 GB/s, out -              max 2 GB/s      .%%");
    EXPECT(&block, 4, 30, "NET  host 2 GB/s");
}

static void test_a_gpu_gets_a_line_that_stays(void **state)
{
    (void)state;
    struct live_block block = {.name = "train"};
    const struct sample_gpu gpus[] = {
        {.utilization_pct = some_f64(50), .vram_used_bytes = some_u64(UINT64_C(3) << 30)},
        {.utilization_pct = some_f64(100), .vram_used_bytes = some_u64(UINT64_C(1) << 30)},
    };
    struct sample sample = tree_sample(1, 1, 64);
    sample.gpu = (struct sample_list){true, 2, gpus};
    sample.cpu.process_gpu_usage = some_f64(0.5);
    sample.cpu.process_gpu_vram_mib = some_f64(2048);
    add(&block, &sample);
    assert_int_equal(live_block_lines(&block), 6);
    EXPECT(&block, 2, 80, "MEM  [----------] 64 MiB of 4 GiB       RSS 1.56 %      %");
    EXPECT(&block, 3, 80, "GPU  [###-------] 0.5 of 2 GPUs         2 GiB VRAM      +");
    EXPECT(&block, 4, 80, "DISK -");
    EXPECT(&block, 5, 80, "NET  -");
    sample.tracked_pid.has = false;
    add(&block, &sample);
    EXPECT(&block, 3, 80, "GPU  [########--] 1.5 of 2 GPUs         4 GiB VRAM      -%");
    sample.gpu.present = false;
    add(&block, &sample);
    assert_int_equal(live_block_lines(&block), 6);
    EXPECT(&block, 3, 80, "GPU  -                                                  -%");
}

/* The ring is full: its oldest values are overwritten, and the scale follows. */
static void test_long_runs(void **state)
{
    (void)state;
    struct live_block block = {.name = "x"};
    struct sample sample = tree_sample(1, 64, 1);
    add(&block, &sample);
    sample = tree_sample(400000, 2, 1);
    for (int i = 0; i < LIVE_BLOCK_HISTORY - 1; i++)
        add(&block, &sample);
    AUTO_BUF struct buf buf;
    buf_init(&buf, BYTES_MAX);
    const char *line = line_of(&buf, &block, 1, 400);
    assert_int_equal(strlen(line), 66 + LIVE_BLOCK_HISTORY);
    assert_memory_equal(line, "CPU               2 cores               max 64, host 7            %....", 71);
    add(&block, &sample);
    line = line_of(&buf, &block, 1, 400);
    assert_int_equal(strlen(line), 66 + LIVE_BLOCK_HISTORY);
    assert_memory_equal(line, "CPU               2 cores               max 2, host 7             %%%%%", 71);
    EXPECT(&block, 0, 40, "-- 4 d 15 h, 3 processes: x -----------");
}

/* At any width the rule and a history that is full end together, one column before the last. */
static void test_rule_and_histories_end_together(void **state)
{
    (void)state;
    struct live_block block = {.name = "x", .style = utf8};
    struct sample sample = tree_sample(1, 1, 1);
    for (int i = 0; i < LIVE_BLOCK_HISTORY; i++)
        add(&block, &sample);
    for (unsigned columns = LIVE_BLOCK_COLUMNS_MIN; columns < 400; columns++) {
        unsigned end = columns - 1 < 66 + LIVE_BLOCK_HISTORY ? columns - 1 : 66 + LIVE_BLOCK_HISTORY;
        for (unsigned line = 0; line < 3; line++) {
            AUTO_BUF struct buf buf;
            buf_init(&buf, BYTES_MAX);
            (void)line_of(&buf, &block, line, columns);
            assert_int_equal(widest((struct str){buf.data, buf.len}), end);
        }
    }
}

static void test_numbers_of_any_size(void **state)
{
    (void)state;
    static const struct {
        double mib;
        const char *want;
    } rows[] = {
        {0, "MEM  0 KiB of 4 GiB"},
        {0.5, "MEM  512 KiB of 4 GiB"},
        {9.996, "MEM  10 MiB of 4 GiB"},
        {99.96, "MEM  100 MiB of 4 GiB"},
        {999.4, "MEM  999 MiB of 4 GiB"},
        {1000, "MEM  1,000 MiB of 4 GiB"},
        {1048576.0 * 12.3, "MEM  12.3 TiB of 4 GiB"},
        {1e30, "MEM  - of 4 GiB"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct live_block block = {.name = "x"};
        struct sample sample = tree_sample(1, 1, rows[i].mib);
        add(&block, &sample);
        EXPECT(&block, 2, 30, rows[i].want);
    }
}

static void test_names_are_made_harmless(void **state)
{
    (void)state;
    static const struct {
        const char *name, *in_utf8, *in_ascii;
    } rows[] = {
        {"a\033[2J\nb\x7f", "── 1 s: a?[2J?b? ────────────", "-- 1 s: a?[2J?b? ------------"},
        {"\xc2\x9b"
         "31m",
            "── 1 s: ?31m ────────────────", "-- 1 s: ?31m ----------------"},
        {"\xff\xc3", "── 1 s: ?? ──────────────────", "-- 1 s: ?? ------------------"},
        {"\xe2\x80\xae", "── 1 s: ? ───────────────────", "-- 1 s: ? -------------------"},
        {"\xe2\x81\xa6", "── 1 s: ? ───────────────────", "-- 1 s: ? -------------------"},
        {"日本", "── 1 s: 日本 ────────────────", "-- 1 s: ?? ------------------"},
        {"a–b…", "── 1 s: a–b… ──────────────", "-- 1 s: a?b? ----------------"},
        {"123456789012345678901234567890", "── 1 s: 123456789012345678901", "-- 1 s: 123456789012345678901"},
        {"日本日本日本日本日本日本", "── 1 s: 日本日本日本日本日本", "-- 1 s: ???????????? --------"},
        {"1日本日本日本日本日本日本", "── 1 s: 1日本日本日本日本日本", "-- 1 s: 1???????????? -------"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sample sample = tree_sample(1, 1, 1);
        struct live_block block = {.name = rows[i].name, .style = utf8};
        add(&block, &sample);
        EXPECT(&block, 0, 30, rows[i].in_utf8);
        block.style = plain;
        EXPECT(&block, 0, 30, rows[i].in_ascii);
    }
}

static void test_colours_are_closed_and_take_no_room(void **state)
{
    (void)state;
    struct live_block block = {.name = "x", .style = {.has_colour = true}};
    struct sample sample = tree_sample(1, 1, 1);
    add(&block, &sample);
    EXPECT(&block, 0, 40, "\033[2m-- 1 s, 3 processes: x\033[m\033[2m ----------------\033[m");
    AUTO_BUF struct buf buf;
    buf_init(&buf, BYTES_MAX);
    const char *line = line_of(&buf, &block, 1, 60);
    assert_string_equal(line, "CPU               1 core                \033[36m%                  \033[m");
    EXPECT(&block, 1, 40, "CPU               1 core");
}

/* Whatever the values and the width are, a line stays within it. */
static void test_no_line_is_too_wide(void **state)
{
    (void)state;
    static const double values[] = {0, -1, 0.001, 1, 123456.789, 1e12, 1e18, 1e300, HUGE_VAL, (double)NAN};
    static const char *const names[] = {"", "x", "\033]0;evil\007", "日本日本日本日本日本日本日本日本日本日本日本日本"};
    const struct sample_gpu gpu = {.utilization_pct = some_f64(1e9), .vram_used_bytes = some_u64(UINT64_MAX)};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) * 4; i++) {
        double value = values[i / 4];
        struct live_block block = {.name = names[i % 4], .style = {.is_utf8 = true, .has_colour = true}};
        struct sample sample = tree_sample(value, value, value);
        sample.gpu = (struct sample_list){true, 1, &gpu};
        sample.cpu.process_gpu_usage = sample.cpu.process_gpu_vram_mib = some_f64(value);
        sample.cpu.process_disk_read_bytes = sample.cpu.process_child_count = some_u64(UINT64_MAX);
        sample.cpu.process_disk_write_bytes = some_u64(UINT64_MAX);
        sample.cpu.utilization_pct = sample.cgroup.cpu_limit_cores = some_f64(value);
        sample.memory.total_mib = some_f64(i % 2 ? value : 1);
        add(&block, &sample);
        for (unsigned columns = LIVE_BLOCK_COLUMNS_MIN; columns < 300; columns++) {
            for (unsigned line = 0; line < live_block_lines(&block); line++) {
                AUTO_BUF struct buf buf;
                buf_init(&buf, BYTES_MAX);
                (void)line_of(&buf, &block, line, columns);
                assert_in_range(widest((struct str){buf.data, buf.len}), 5, columns - 1);
            }
        }
    }
}

static void test_too_narrow_puts_nothing(void **state)
{
    (void)state;
    struct live_block block = {.name = "x"};
    for (unsigned columns = 0; columns < LIVE_BLOCK_COLUMNS_MIN; columns++)
        EXPECT(&block, 0, columns, "");
}

static void test_locales(void **state)
{
    (void)state;
    assert_true(live_block_locale_is_utf8("en_US.UTF-8"));
    assert_true(live_block_locale_is_utf8("C.utf8"));
    assert_true(live_block_locale_is_utf8("de_DE.utf-8@euro"));
    assert_false(live_block_locale_is_utf8("de_DE.ISO-8859-1"));
    assert_false(live_block_locale_is_utf8("C"));
    assert_false(live_block_locale_is_utf8("POSIX"));
    assert_false(live_block_locale_is_utf8("utf"));
    assert_false(live_block_locale_is_utf8(""));
    assert_false(live_block_locale_is_utf8(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_the_first_sample),
        cmocka_unit_test(test_a_tree_in_ascii),
        cmocka_unit_test(test_a_tree_in_utf8),
        cmocka_unit_test(test_what_a_value_is_of),
        cmocka_unit_test(test_pss_counts_where_it_is_known_and_the_lower_limit),
        cmocka_unit_test(test_absent_values_are_dashes_and_gaps),
        cmocka_unit_test(test_a_root_that_is_gone_is_not_counted),
        cmocka_unit_test(test_the_host),
        cmocka_unit_test(test_a_gpu_gets_a_line_that_stays),
        cmocka_unit_test(test_long_runs),
        cmocka_unit_test(test_rule_and_histories_end_together),
        cmocka_unit_test(test_numbers_of_any_size),
        cmocka_unit_test(test_names_are_made_harmless),
        cmocka_unit_test(test_colours_are_closed_and_take_no_room),
        cmocka_unit_test(test_no_line_is_too_wide),
        cmocka_unit_test(test_too_narrow_puts_nothing),
        cmocka_unit_test(test_locales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
