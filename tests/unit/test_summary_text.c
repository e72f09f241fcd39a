/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/text.h"
#include "summary/write.h"
#include "summary_cases.h"

static const char *const files[] = {"run.jsonl", "out/run.json", "out/run.html"};

static void render(struct buf *buf, const struct summary *summary, unsigned columns, bool has_colour)
{
    struct summary_style style = {
        .has_colour = has_colour, .columns = columns, .files = files, .file_count = sizeof(files) / sizeof(files[0])};
    buf_init(buf, 64 * 1024);
    summary_put_text(buf, summary, &style);
    assert_true(buf_ok(buf));
    assert_int_equal(buf->data[buf->len - 1], '\n');
}

/* Columns of a line without its colours, as a terminal counts ASCII and the wide characters of these tests. */
static size_t line_columns(struct str line, bool *ret_is_reset)
{
    size_t columns = 0;
    bool is_reset = true;
    while (line.n > 0) {
        if (line.p[0] == '\033') {
            assert_true(line.n >= 3 && line.p[1] == '[');
            is_reset = line.p[2] == '0';
            while (!str_take(&line, 'm'))
                str_skip(&line, 1);
            continue;
        }
        size_t length = utf8_length(line);
        assert_true(length > 0);
        assert_true((unsigned char)line.p[0] >= 0x20 && line.p[0] != 0x7f);
        columns += (unsigned char)line.p[0] >= 0xe1 ? 2 : 1;
        str_skip(&line, length);
    }
    *ret_is_reset = is_reset;
    return columns;
}

/* Lines that are to be copied. */
static bool is_ready_line(struct str line)
{
    static const char *const labels[] = {"Slurm", "Kubernetes", "Docker", "Metaflow"};
    bool is_ready = false;
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
        is_ready |= memmem(line.p, line.n < 30 ? line.n : 30, labels[i], strlen(labels[i])) != NULL;
    return is_ready;
}

static void check_shape(const struct buf *buf, size_t columns)
{
    struct str rest = {buf->data, buf->len}, line;
    unsigned lines = 0;
    for (; str_line(&rest, &line); lines++) {
        bool is_reset;
        size_t have = line_columns(line, &is_reset);
        if (have > columns && !is_ready_line(line))
            fail_msg("%zu columns of %zu: %.*s", have, columns, (int)line.n, line.p);
        assert_true(is_reset);
        assert_true(line.n > 0 && line.p[line.n - 1] != ' ');
        assert_true(line.p[0] != '{' && (line.p[0] < '0' || line.p[0] > '9'));
    }
    assert_true(lines > 0);
}

static void compare(const struct summary *summary, const char *name, unsigned columns, bool has_colour)
{
    AUTO_BUF struct buf buf;
    render(&buf, summary, columns, has_colour);
    check_shape(&buf, columns ? columns : 80);
    summary_case_compare(name, has_colour ? "colour.txt" : "txt", &buf);
}

static void test_golden(void **state)
{
    (void)state;
    for (size_t i = 0; i < summary_cases_count; i++) {
        struct summary summary;
        summary_cases[i].fill(&summary);
        compare(&summary, summary_cases[i].name, 0, false);
        compare(&summary, summary_cases[i].name, 0, true);
        char name[64];
        for (unsigned columns = 40; columns <= 120; columns += 80) {
            (void)snprintf(name, sizeof(name), "%s-%u", summary_cases[i].name, columns);
            compare(&summary, name, columns, false);
        }
    }
    summary_case_end();
}

/* Every case at every width: never wider, and nothing of the data reaches the terminal as a command. */
static void test_any_width(void **state)
{
    (void)state;
    for (size_t i = 0; i < summary_cases_count; i++) {
        struct summary summary;
        summary_cases[i].fill(&summary);
        for (unsigned columns = 1; columns < 200; columns++) {
            AUTO_BUF struct buf buf;
            render(&buf, &summary, columns, columns % 2);
            check_shape(&buf, columns < 20 ? 20 : columns);
        }
    }
}

static void test_any_bytes(void **state)
{
    (void)state;
    char bytes[600];
    uint32_t random = 1;
    for (unsigned round = 0; round < 300; round++) {
        size_t length = round * 2 % sizeof(bytes);
        for (size_t i = 0; i < length; i++) {
            random = random * 1664525 + 1013904223;
            bytes[i] = (char)(random >> 24 ? random >> 24 : 1);
        }
        bytes[length] = '\0';
        const char *text = bytes;
        struct summary summary;
        summary_case_fill_texts(&summary, &text);
        AUTO_BUF struct buf buf;
        render(&buf, &summary, 40 + round % 100, false);
        check_shape(&buf, 40 + round % 100);
        assert_null(memchr(buf.data, '\033', buf.len));
    }
}

static void test_wide_characters(void **state)
{
    (void)state;
    static const char *const text = "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97"
                                    "\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xf0\x9f\x98\x80";
    struct summary summary;
    summary_case_fill_texts(&summary, &text);
    for (unsigned columns = 40; columns < 120; columns++) {
        AUTO_BUF struct buf buf;
        render(&buf, &summary, columns, false);
        check_shape(&buf, columns);
    }
}

static unsigned count_lines(const struct buf *buf)
{
    unsigned lines = 0;
    for (size_t i = 0; i < buf->len; i++)
        lines += buf->data[i] == '\n';
    return lines;
}

static void test_usual_length(void **state)
{
    (void)state;
    struct summary summary;
    summary_case_fill_full(&summary);
    AUTO_BUF struct buf with_all;
    render(&with_all, &summary, 80, false);
    assert_in_range(count_lines(&with_all), 20, 40);
    summary.gpu = (struct summary_gpu){0};
    summary.metadata = summary.tags = summary.notes = (struct sample_list){0};
    AUTO_BUF struct buf usual;
    render(&usual, &summary, 80, false);
    assert_in_range(count_lines(&usual), 20, 31);
}

/* All four, whole, on one line each, also where the terminal is narrow. */
static void test_ready_lines(void **state)
{
    (void)state;
    struct summary summary;
    summary_case_fill_full(&summary);
    for (unsigned columns = 0; columns < 200; columns += 20) {
        AUTO_BUF struct buf buf;
        render(&buf, &summary, columns, columns % 40);
        const char *text = buf_cstr(&buf);
        assert_non_null(strstr(text, " #SBATCH --cpus-per-task=2 --mem=2G --gpus=1\n"));
        assert_non_null(strstr(
            text, " resources: {requests: {cpu: \"2\", memory: 2Gi}, limits: {memory: 2Gi, nvidia.com/gpu: \"1\"}}\n"));
        assert_non_null(strstr(text, " --cpus=2 --memory=2g --gpus=1\n"));
        assert_non_null(strstr(text, " @resources(cpu=2, memory=2048, gpu=1)\n"));
    }
}

/* What a row says over several lines, with single blanks. */
static void join_lines(const struct buf *buf, struct buf *ret_text)
{
    buf_init(ret_text, 64 * 1024);
    for (size_t i = 0; i < buf->len; i++) {
        bool is_blank = buf->data[i] == ' ' || buf->data[i] == '\n';
        if (!is_blank || (ret_text->len > 0 && ret_text->data[ret_text->len - 1] != ' '))
            buf_putc(ret_text, is_blank ? ' ' : buf->data[i]);
    }
}

static void test_nothing_is_cut(void **state)
{
    (void)state;
    static const char reason[] = "a reason that is much too long for one line of a terminal, and is needed whole";
    static const char *const notes[] = {
        "a note that is much too long for one line of a terminal, so that it takes two of them, or four"};
    struct summary summary;
    summary_case_fill_full(&summary);
    summary.notes = (struct sample_list){true, 1, notes};
    summary.sizing.vcpus_reason = reason;
    summary.verdict.text = reason;
    for (unsigned columns = 40; columns < 100; columns += 7) {
        AUTO_BUF struct buf buf, text;
        render(&buf, &summary, columns, false);
        join_lines(&buf, &text);
        assert_non_null(strstr(buf_cstr(&text), notes[0]));
        const char *first = strstr(buf_cstr(&text), reason);
        assert_non_null(first);
        assert_non_null(strstr(first + 1, reason));
    }
}

/* The share says of which value it is, and of what. */
static void test_memory_share(void **state)
{
    (void)state;
    static const struct {
        struct opt_f64 pss, rss, sampled, need;
        const char *source, *row;
        double largest, shmem;
    } cases[] = {
        {{true, 100}, {true, 150}, {true, 150}, {true, 100}, "machine",
            "memory peak PSS 100 MiB, RSS 150 MiB PSS is 10 % of 1,000 MiB of RAM", 0, 0},
        {{0}, {true, 150}, {true, 150}, {true, 150}, "cgroup",
            "memory peak RSS 150 MiB RSS is 15 % of the limit 1,000 MiB", 0, 0},
        {{true, 100}, {true, 105}, {true, 105}, {true, 105}, "cgroup",
            "memory peak PSS 100 MiB, RSS 105 MiB RSS is 10.5 % of the limit 1,000 MiB", 0, 0},
        {{true, 100}, {true, 300}, {true, 110}, {true, 300}, "machine",
            "memory peak RSS 300 MiB between samples largest process is 30 % of 1,000 MiB of RAM", 300, 0},
        {{true, 100}, {true, 150}, {true, 150}, {true, 110}, "cgroup",
            "memory peak PSS 100 MiB, RSS 150 MiB largest process 110 MiB is 11 % of the limit 1,000 MiB", 110, 0},
        {{true, 100}, {true, 150}, {true, 150}, {true, 310}, "cgroup",
            "memory peak PSS 100 MiB, RSS 150 MiB with tmpfs and shared memory 310 MiB is 31 % of the limit 1,000 MiB",
            150, 210},
        {{true, 100}, {true, 300}, {true, 300}, {true, 300}, "machine",
            "memory peak PSS 100 MiB, RSS 300 MiB RSS is 30 % of 1,000 MiB of RAM", 0, 0},
        {{0}, {0}, {0}, {0}, "machine", "memory unknown ", 0, 0},
        {{true, 0}, {true, 0}, {true, 0}, {true, 0}, "machine", "memory unknown ", 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct summary summary;
        summary_case_fill_full(&summary);
        struct summary_memory *memory = &summary.memory;
        memory->pss_peak_mib = cases[i].pss;
        memory->rss_peak_mib = cases[i].rss;
        memory->rss_sampled_mib = cases[i].sampled;
        memory->need_mib = cases[i].need;
        memory->largest_process_mib = (struct opt_f64){cases[i].largest > 0, cases[i].largest};
        memory->cgroup_shmem_mib = (struct opt_f64){cases[i].shmem > 0, cases[i].shmem};
        memory->limit_mib = some_f64(1000);
        memory->limit_source = cases[i].source;
        memory->limit_used_pct = (struct opt_f64){cases[i].need.has, cases[i].need.v / 10};
        AUTO_BUF struct buf buf, text;
        render(&buf, &summary, 80, false);
        join_lines(&buf, &text);
        if (!strstr(buf_cstr(&text), cases[i].row))
            fail_msg("%s\nis not in %s", cases[i].row, buf_cstr(&text));
    }
}

static void test_many_notes(void **state)
{
    (void)state;
    static const char *notes[1000];
    for (size_t i = 0; i < 1000; i++)
        notes[i] = "a note that is much too long for one line of a terminal, so that it would like to have two of them";
    struct summary summary;
    summary_case_fill_full(&summary);
    summary.notes = (struct sample_list){true, 1000, notes};
    summary.sizing.gpus = summary.sizing.vcpus = summary.sizing.memory_mib = summary.sizing.vram_mib =
        (struct opt_u64){0};
    AUTO_BUF struct buf buf;
    render(&buf, &summary, 80, false);
    check_shape(&buf, 80);
    assert_non_null(strstr(buf_cstr(&buf), "985 further notes\n"));
    assert_non_null(strstr(buf_cstr(&buf), "VRAM withheld: peak of 3.07 GiB + 20 %\n"));
}

static bool has(const struct summary *summary, const char *text)
{
    AUTO_BUF struct buf buf;
    render(&buf, summary, 120, false);
    return strstr(buf_cstr(&buf), text) != NULL;
}

/* A cgroup that holds other work too is the host's, with its name. */
static void test_cgroup(void **state)
{
    (void)state;
    struct summary summary;
    summary_case_fill_full(&summary);
    assert_true(has(&summary, "\n  cgroup     peak 1.89 GiB"));
    summary.memory.cgroup_is_own = some_bool(false);
    assert_true(has(&summary, "\n  cgroup     peak 1.89 GiB")); /* it sets the limit */
    summary.memory.limit_source = "machine";
    assert_false(has(&summary, "\n  cgroup "));
    assert_true(has(&summary, "\n    cgroup   peak 1.89 GiB"));
    assert_true(has(&summary, "all of /job_17.slice, page cache included\n"));
    summary.memory.cgroup_is_own = (struct opt_bool){0};
    summary.memory.cgroup_path = NULL;
    assert_true(has(&summary, "all of the job's cgroup, page cache included\n"));
    summary.memory.cgroup_peak_mib = some_f64(0);
    assert_false(has(&summary, "cgroup   "));
}

static void test_rows_of_zeros(void **state)
{
    (void)state;
    struct summary summary;
    summary_case_fill_full(&summary);
    assert_true(has(&summary, "\n  disk ") && has(&summary, "\n    network ") && has(&summary, "\n  GPU "));
    assert_false(has(&summary, "throttled") || has(&summary, "memory 0 s") || has(&summary, "0 missed"));
    summary.disk.read_bytes = some_u64(0);
    assert_true(has(&summary, "\n  disk       read 0 B, written 340 MB"));
    summary.disk.write_bytes = summary.network.host_received_bytes = summary.network.host_sent_bytes = some_u64(0);
    summary.gpu.usage_mean = summary.gpu.usage_p95 = summary.gpu.usage_peak = summary.gpu.vram_peak_mib = some_f64(0);
    summary.gpu.utilized_peak = some_u64(0);
    summary.pressure.cpu_some_secs = summary.pressure.io_some_secs = some_f64(0);
    assert_false(has(&summary, "\n  disk ") || has(&summary, "network") || has(&summary, "\n  GPU ") ||
                 has(&summary, "\n  VRAM ") || has(&summary, "pressure"));
    assert_true(has(&summary, "\n    energy   114 Wh")); /* of other work, so the host's */
}

static void test_wanted(void **state)
{
    (void)state;
    struct summary summary;
    summary_case_fill_full(&summary);
    assert_false(has(&summary, "\n  wanted"));
    summary.cpu.wanted_p95 = some_f64(3.98);
    assert_true(has(&summary, "P95 3.98, peak 1.03") && has(&summary, "waited 12.5 s for a CPU"));
    summary.cpu.wanted_p95 = (struct opt_f64){0};
    assert_false(has(&summary, "\n  wanted"));
    summary.cpu.throttled_secs = some_f64(1.88);
    assert_true(has(&summary, "\n  throttled  1.88 s"));
}

static void test_processes(void **state)
{
    (void)state;
    struct summary summary;
    summary_case_fill_full(&summary);
    assert_true(has(&summary, "PID 4711: python train.py --epochs 3\n"));
    /* The largest of one moment; the busiest of the whole run. */
    assert_true(has(&summary, "PID 4713: sh (at 52 min)\n"));
    assert_true(has(&summary, "PID 4712: worker, and 18 more\n"));
    summary.cpu.processes_seen = some_u64(1);
    assert_false(has(&summary, "busiest"));
    summary.cpu.processes_seen = (struct opt_u64){0};
    assert_true(has(&summary, "PID 4713: sh (at 52 min)\n"));
    assert_true(has(&summary, "PID 4712: worker, and 1 more\n"));
    summary.memory.processes.count = 1;
    summary.memory.processes_at_secs = (struct opt_f64){0};
    assert_true(has(&summary, "\n  largest    1.37 GiB   "));
    assert_true(has(&summary, "PID 4711: python train.py --epochs 3\n"));
}

static void test_colour_of_result(void **state)
{
    (void)state;
    static const struct {
        const char *verdict, *colour;
    } expected[] = {
        {SUMMARY_FINISHED, "\033[32mfinished"},
        {SUMMARY_FAILED, "\033[31mfailed"},
        {SUMMARY_SIGNALED, "\033[31msignaled"},
        {SUMMARY_OUT_OF_MEMORY, "\033[31mout of memory"},
        {SUMMARY_MAYBE_OUT_OF_MEMORY, "\033[31mmaybe out of memory"},
        {SUMMARY_UNKNOWN, "\033[33munknown, tracked for"},
        {NULL, "\033[33munknown, tracked for"},
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct summary summary;
        summary_case_fill_full(&summary);
        summary.result.verdict = expected[i].verdict;
        AUTO_BUF struct buf buf;
        render(&buf, &summary, 80, true);
        assert_non_null(strstr(buf_cstr(&buf), expected[i].colour));
    }
}

/* A buffer that is full stays whole and says so. */
static void test_full_buffer(void **state)
{
    (void)state;
    struct summary summary;
    summary_case_fill_full(&summary);
    for (size_t max = 0; max < 1500; max += 7) {
        AUTO_BUF struct buf buf;
        buf_init(&buf, max);
        summary_put_text(&buf, &summary, &(struct summary_style){0});
        assert_true(buf.len <= max);
        assert_false(buf_ok(&buf) && max < 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_any_width),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_wide_characters),
        cmocka_unit_test(test_usual_length),
        cmocka_unit_test(test_ready_lines),
        cmocka_unit_test(test_nothing_is_cut),
        cmocka_unit_test(test_memory_share),
        cmocka_unit_test(test_many_notes),
        cmocka_unit_test(test_cgroup),
        cmocka_unit_test(test_rows_of_zeros),
        cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_colour_of_result),
        cmocka_unit_test(test_full_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
