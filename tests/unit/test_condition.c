/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions: what they mean, what is refused and why, and the commands that follow them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "run/on.h"
#include "summary/condition.h"

static struct summary usual(void)
{
    struct summary summary = {.wall_secs = some_f64(90)};
    summary.cpu.total_secs = some_f64(45);
    summary.cpu.cores_p95 = some_f64(0.75);
    summary.cpu.limit_cores = some_f64(4);
    summary.cpu.processes_peak = some_u64(12);
    summary.memory.need_mib = some_f64(3800);
    summary.memory.limit_mib = some_f64(4096);
    summary.memory.limit_used_pct = some_f64(92.8);
    summary.disk.read_bytes = some_u64(5000000);
    summary.result.exit_code = some_i64(-1);
    summary.gpu.energy_joules = some_f64(7200);
    return summary;
}

static void test_holds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int holds; /* -1: unknown */
    } cases[] = {
        {"memory.peak > 0.9 * memory.limit", 1}, {"memory.peak>0.95*memory.limit", 0}, {"memory.need_mib > 3.7GiB", 1},
        {"memory.peak < 4 GB", 1}, {"memory.peak >= 3800 MiB", 1}, {"memory.peak > 3800 MiB", 0},
        {"memory.peak == 3800MiB", 1}, {"memory.peak != 3800MiB", 0}, {"memory.limit - memory.peak < 300MiB", 1},
        {"memory.limit - 100MiB - 200 MiB > memory.peak", 0}, {"(memory.peak + 296MiB) / memory.limit >= 1", 1},
        {"2 * (1 + 1) * 1MiB == 4MiB", 1}, {"8MiB / 2 / 2 == 2MiB", 1}, {"wall > 1m", 1}, {"wall_secs <= 1.5 min", 1},
        {"wall < 1h", 1}, {"wall > 90000ms", 0}, {"cpu.time / wall < 0.6", 1}, {"cores.p95 < 0.2 * cpu.limit", 1},
        {"cores.p95 < 0.5 cores", 0}, {"cpu.cores_p95 > 0.5", 1}, {"memory.limit_used > 90", 1},
        {"memory.limit_used > 95 %", 0}, {"processes.peak >= 12", 1}, {"disk.read > 4.9MB", 1},
        {"result.exit_code < 0", 1}, {"gpu.energy_joules == 2Wh", 1}, {"memory.pss > 1B", -1}, {"gpu.vram > 1GiB", -1},
        {"memory.peak > memory.pss", -1}, {"wall > cpu.time / (processes.peak - 12) * 0", -1}, /* a division by 0 */
    };
    struct summary summary = usual();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct condition condition;
        struct err err = {0};
        struct opt_f64 left;
        if (condition_parse(str_of(cases[i].text), &condition, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.msg);
        struct opt_bool holds = condition_holds(&condition, &summary, &left);
        if ((holds.has ? holds.v : -1) != cases[i].holds)
            fail_msg("%s: %d", cases[i].text, holds.has ? holds.v : -1);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "a number or a name is missing at the end"},
        {"memory.paek > 1GiB", "unknown name \"memory.paek\", did you mean \"memory.peak\"?"},
        {"memory.need_mb > 1GiB", "unknown name \"memory.need_mb\", did you mean \"memory.need_mib\"?"},
        {"gpu.devices > 1", "unknown name \"gpu.devices\""},
        {"verdict.kind == 1", "unknown name \"verdict.kind\""},
        {"\033y > 1", "a number or a name is missing before \"\\x1by > 1\""},
        {"xyzzy_and_more_of_it_all > 1",
            "unknown name \"xyzzy_and_more_of_it_all\"; names are the keys of --summary-json"},
        {"memory.peak > 5", "bytes (such as 4GiB) cannot be compared with a plain number"},
        {"5 < memory.peak", "a plain number cannot be compared with bytes (such as 4GiB)"},
        {"wall > 5GiB", "time (such as 90s) cannot be compared with bytes (such as 4GiB)"},
        {"wall + 1GiB > 5s", "time (such as 90s) cannot be compared with bytes (such as 4GiB)"},
        {"wall * wall > 5s", "time (such as 90s) cannot be multiplied with time (such as 90s)"},
        {"2 / wall > 5s", "a plain number cannot be divided by time (such as 90s)"},
        {"wall > 5 parsecs", "unknown unit \"parsecs\""},
        {"wall > 5.5.5s", "not a number: \"5.5.5\""},
        {"wall = 5s", "one of < <= > >= == != is missing"},
        {"wall 5s", "one of < <= > >= == != is missing"},
        {"wall >", "a number or a name is missing at the end"},
        {"wall > 5s < 6s", "not understood: \"< 6s\""},
        {"(wall > 5s", "a \")\" is missing before \"> 5s\""},
        {"wall > (5s", "a \")\" is missing before \"\""},
        {"wall > -5s", "a number or a name is missing before \"-5s\""},
        {"((((((((((wall)))))))))) > 5s", "too many brackets"},
        {"1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 > 2", "more than 16 numbers and operators"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct condition condition;
        struct err err = {0};
        assert_int_equal(condition_parse(str_of(cases[i].text), &condition, &err), -EINVAL);
        if (!strstr(err.msg, cases[i].message))
            fail_msg("%s: %s", cases[i].text, err.msg);
    }
}

/* Every short name stands for a key that there is. */
static void test_short_names(void **state)
{
    (void)state;
    static const char *const names[] = {"wall > 1s", "cpu.user > 1s", "cpu.system > 1s", "cpu.wait > 1s",
        "cpu.limit_used > 1", "cores.mean > 1", "cores.peak > 1", "cores.wanted > 1", "throttled > 1s",
        "threads.peak > 1", "memory.rss > 1B", "memory.cgroup > 1B", "disk.written > 1B", "gpu.mean > 1",
        "gpu.peak > 1", "result.oom_kills > 0", "pressure.cpu > 1s", "pressure.memory > 1s", "pressure.io > 1s",
        "gpu.power > 1"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct condition condition;
        struct err err = {0};
        int r = condition_parse(str_of(names[i]), &condition, &err);
        if ((r < 0) != (strncmp(names[i], "gpu.power", 9) == 0))
            fail_msg("%s: %s", names[i], err.msg);
    }
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        enum condition_unit unit;
        double value;
        const char *text;
    } cases[] = {
        {CONDITION_BYTES, 0x1p30, "1 GiB"},
        {CONDITION_SECS, 65, "1 min 5 s"},
        {CONDITION_CORES, 1.5, "1.5 cores"},
        {CONDITION_PCT, 93, "93 %"},
        {CONDITION_JOULES, 100, "100 J"},
        {CONDITION_WATTS, 60, "60 W"},
        {CONDITION_GPUS, 2, "2 GPUs"},
        {CONDITION_NUMBER, 12, "12"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO_BUF struct buf text = {.max = 64};
        condition_put_value(&text, cases[i].unit, cases[i].value);
        assert_string_equal(buf_cstr(&text), cases[i].text);
    }
    double secs = 0;
    struct err err = {0};
    assert_int_equal(condition_parse_number(STR("1.5m"), CONDITION_SECS, &secs, &err), 0);
    assert_true(secs > 89.9 && secs < 90.1);
    assert_int_equal(condition_parse_number(STR("1.5m x"), CONDITION_SECS, &secs, &err), -EINVAL);
    assert_int_equal(condition_parse_number(STR("1.5"), CONDITION_SECS, &secs, &err), -EINVAL);
    assert_int_equal(condition_parse_number(STR(""), CONDITION_SECS, &secs, &err), -EINVAL);
}

static void test_split(void **state)
{
    (void)state;
    char **words;
    assert_int_equal(on_split(" py-spy  dump --pid {pid} 'a b'\"c\"\\ d -{pid}- '{pid' ''", 2147483647, &words), 0);
    static const char *const expected[] = {
        "py-spy", "dump", "--pid", "2147483647", "a bc d", "-2147483647-", "{pid", "", NULL};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        if (expected[i])
            assert_string_equal(words[i], expected[i]);
        else
            assert_null(words[i]);
    }
    free(words);
    assert_int_equal(on_split("$HOME `x` ; y", 1, &words), 0); /* there is no shell */
    assert_string_equal(words[0], "$HOME");
    assert_string_equal(words[1], "`x`");
    free(words);
    static const char *const refused[] = {"", "  ", "'x", "a \"b", "''", "\"\" x"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_int_equal(on_split(refused[i], 1, &words), -EINVAL);
    char many[200] = "";
    for (int i = 0; i < 65; i++)
        strcat(many, "x ");
    assert_int_equal(on_split(many, 1, &words), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_holds),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_short_names),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
