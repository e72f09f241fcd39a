/* SPDX-License-Identifier: Apache-2.0 */
/* --doctor: how findings are shown, what is found in captured trees, and what is said of streaming targets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "doctor/doctor.h"
#include "doctor/doctor_internal.h"

#ifndef SOURCE_ROOT
#define SOURCE_ROOT "."
#endif

enum { OUTPUT_BYTES_MAX = 256 * 1024 };

static const char long_text[] =
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen";

static struct doctor_finding made(const char *name, enum doctor_state state, const char *text, const char *remedy)
{
    struct doctor_finding finding = {.area = "cpu", .name = name, .state = state, .remedy = remedy};
    (void)snprintf(finding.text, sizeof(finding.text), "%s", text);
    return finding;
}

/* The output in buf, NUL-terminated. */
static const char *shown(struct buf *buf, struct doctor_finding *items, size_t count, bool is_json)
{
    struct doctor_findings findings = {.items = items, .count = count, .cap = count};
    buf_clear(buf);
    if (is_json)
        doctor_put_json(buf, &findings);
    else
        doctor_put_text(buf, &findings);
    assert_true(buf_ok(buf));
    return buf_cstr(buf);
}

static void test_table(void **unused)
{
    (void)unused;
    AUTO_BUF struct buf buf;
    buf_init(&buf, OUTPUT_BYTES_MAX);
    struct doctor_finding items[] = {
        made("online", DOCTOR_OK, "4", NULL),
        made("a", DOCTOR_LIMITED, long_text, "Do this and do that and do whatever else may be of use in such a case."),
        made("b", DOCTOR_MISSING, "gone", NULL),
        made("c", DOCTOR_LIMITED, "slow", NULL),
    };
    assert_string_equal(shown(&buf, items, 4, false),
        "AREA       CHECK            STATE    FINDING\n"
        "cpu        online           ok       4\n"
        "cpu        a                limited  one two three four five six seven eight nine ten eleven twelve\n"
        "                                     thirteen fourteen fifteen sixteen\n"
        "                                     -> Do this and do that and do whatever else may be of use in\n"
        "                                        such a case.\n"
        "cpu        b                missing  gone\n"
        "cpu        c                limited  slow\n"
        "\n"
        "1 thing is missing, 2 are limited: see above.\n");
    assert_string_equal(shown(&buf, items, 1, false), "AREA       CHECK            STATE    FINDING\n"
                                                      "cpu        online           ok       4\n"
                                                      "\n"
                                                      "Everything that a run needs works here.\n");
}

static void assert_verdict(struct doctor_finding *items, size_t count, const char *want, const char *want_json)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, OUTPUT_BYTES_MAX);
    const char *text = shown(&buf, items, count, false);
    const char *last = strstr(text, "\n\n");
    assert_non_null(last);
    assert_string_equal(last + 2, want);
    assert_non_null(strstr(shown(&buf, items, count, true), want_json));
}

static void test_verdicts(void **unused)
{
    (void)unused;
    struct doctor_finding items[] = {
        made("a", DOCTOR_BROKEN, "", NULL),
        made("b", DOCTOR_BROKEN, "", NULL),
        made("c", DOCTOR_MISSING, "", NULL),
        made("d", DOCTOR_OFF, "", NULL),
        made("e", DOCTOR_LIMITED, "", NULL),
    };
    assert_verdict(items, 5, "2 things are broken, 1 is missing, 1 is limited: see above.\n", "\"verdict\":\"broken\"");
    assert_verdict(items + 1, 1, "1 thing is broken: see above.\n", "\"verdict\":\"broken\"");
    assert_verdict(items + 2, 2, "1 thing is missing: see above.\n", "\"verdict\":\"limited\"");
    assert_verdict(items + 3, 1, "Everything that a run needs works here.\n", "\"verdict\":\"ok\"");
    assert_verdict(items + 4, 1, "1 thing is limited: see above.\n", "\"verdict\":\"limited\"");
    assert_verdict(items, 0, "Everything that a run needs works here.\n", "\"verdict\":\"ok\"");
    assert_int_equal(doctor_findings_worst(&(struct doctor_findings){.items = items + 3, .count = 1}), DOCTOR_OK);
}

/* Nothing in it can act on a terminal, and no line is wider than the table. */
static void assert_harmless(const char *text)
{
    size_t width = 0;
    for (const char *p = text; *p; p++) {
        assert_true(*p == '\n' || (*p >= ' ' && *p <= '~'));
        width = *p == '\n' ? 0 : width + 1;
        assert_true(width <= DOCTOR_COLUMNS);
        assert_false(*p == '\n' && p > text && p[-1] == ' ');
    }
}

static void test_odd_texts(void **unused)
{
    (void)unused;
    AUTO_BUF struct buf buf;
    buf_init(&buf, OUTPUT_BYTES_MAX);
    char word[300];
    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    struct doctor_finding items[] = {
        made("a", DOCTOR_OK, "\033[31mred\n\tand \x9b\xc3\xa9\x7f", NULL),
        made("b", DOCTOR_OK, word, NULL),
        made("c", DOCTOR_OK, "short /a/very/long/path/without/any/blank/that/does/not/fit/into/one/line/of/it/at/all",
            NULL),
        made("a name that is too long for its column", DOCTOR_OK, "x", NULL),
    };
    const char *text = shown(&buf, items, 3, false);
    assert_harmless(text);
    assert_non_null(strstr(text, "ok       ?[31mred??and ???\n"));
    assert_non_null(strstr(text, "ok       short\n"));
    size_t letters = 0;
    for (const char *p = strstr(text, "cpu        b"); p < strstr(text, "cpu        c"); p++)
        letters += *p == 'x';
    assert_int_equal(letters, sizeof(word) - 1);
    assert_non_null(strstr(shown(&buf, items + 3, 1, false), "too long for its column ok x\n"));
    text = shown(&buf, items, 1, true);
    assert_non_null(strstr(text, "\"finding\":\"\\u001b[31mred\\n\\tand \xef\xbf\xbd\xc3\xa9"));
}

static void test_json(void **unused)
{
    (void)unused;
    AUTO_BUF struct buf buf;
    buf_init(&buf, OUTPUT_BYTES_MAX);
    struct doctor_finding items[] = {
        made("online", DOCTOR_OK, "4 \"q\"", NULL),
        made("b", DOCTOR_OFF, "", "Do it."),
    };
    char want[600];
    (void)snprintf(want, sizeof(want),
        "{\"resource-tracker-version\":\"%s\",\"verdict\":\"ok\",\"findings\":[%s,%s]}\n", RT_VERSION,
        "{\"area\":\"cpu\",\"name\":\"online\",\"state\":\"ok\",\"finding\":\"4 \\\"q\\\"\",\"remedy\":null}",
        "{\"area\":\"cpu\",\"name\":\"b\",\"state\":\"off\",\"finding\":\"\",\"remedy\":\"Do it.\"}");
    assert_string_equal(shown(&buf, items, 2, true), want);
    assert_non_null(strstr(shown(&buf, items, 0, true), "\"findings\":[]}\n"));
}

static void test_no_room(void **unused)
{
    (void)unused;
    struct buf buf;
    struct err err = {0};
    char root[] = SOURCE_ROOT "/tests/fixtures/small-vm/t0";
    struct settings settings = {.sysroot = root};
    for (int is_json = 0; is_json < 2; is_json++) {
        for (size_t max = 0; max < 400; max += 7) {
            buf_init(&buf, max);
            assert_int_equal(doctor_examine(&settings, false, is_json, &buf, &err), -ENOMEM);
            buf_fini(&buf);
        }
    }
}

/* The JSON of one captured tree. */
static const char *examined(struct buf *buf, const char *fixture, int want)
{
    char root[512];
    struct err err = {0};
    (void)snprintf(root, sizeof(root), "%s/tests/fixtures/%s", SOURCE_ROOT, fixture);
    struct settings settings = {.sysroot = root, .collect_gpu = true, .collect_disk = true, .collect_network = true};
    buf_clear(buf);
    assert_int_equal(doctor_examine(&settings, false, false, buf, &err), want);
    assert_harmless(buf_cstr(buf));
    buf_clear(buf);
    assert_int_equal(doctor_examine(&settings, false, true, buf, &err), want);
    return buf_cstr(buf);
}

static void assert_state(const char *json, const char *area, const char *name, const char *state)
{
    char want[200];
    (void)snprintf(want, sizeof(want), "{\"area\":\"%s\",\"name\":\"%s\",\"state\":\"%s\",", area, name, state);
    if (!strstr(json, want))
        fail_msg("no %s in %s", want, json);
}

static void test_fixtures(void **unused)
{
    (void)unused;
    static const struct {
        const char *fixture;
        int status;
        const char *rows[12][3];
        const char *texts[4];
    } cases[] = {
        {"small-vm/t0", 0,
            {{"host", "proc", "ok"}, {"host", "sys", "ok"}, {"host", "kernel", "off"},
                {"processes", "processes", "off"}, {"cpu", "online", "ok"}, {"memory", "available", "ok"},
                {"disk", "devices", "ok"}, {"network", "interfaces", "ok"}, {"pressure", "PSI", "ok"},
                {"gpu", "devices", "ok"}, {"energy", "counters", "ok"}, {"streaming", "targets", "off"}},
            {"23723 of 24103 MiB", "3 found: eth0, ifb0, ifb1", "hybrid; our group is /sys/fs/cgroup/memory/jobs/",
                "\"verdict\":\"ok\""}},
        {"container-cgroup-v2/t0", 0,
            {{"cgroup", "kind", "ok"}, {"cgroup", "limits", "ok"}, {"cgroup", "memory peak", "ok"},
                {"cgroup", "OOM kills", "ok"}},
            {"v2; our group is /sys/fs/cgroup\"", "CPU: 2.00 cores, memory: 4096 MiB", "1024 MiB", "0 so far"}},
        {"cgroup-v1/t0", 0, {{"cgroup", "kind", "ok"}, {"cgroup", "OOM kills", "ok"}},
            {"v1; our group is /sys/fs/cgroup/memory\"", "CPU: 1.50 cores, memory: 2048 MiB", "3 so far"}},
        {"cgroup-hybrid/t0", 0, {{"cgroup", "kind", "ok"}},
            {"hybrid; our group is /sys/fs/cgroup/memory/user.slice/", "CPU: 3.00 cores, memory: no limit"}},
        {"missing-files/t1", 0,
            {{"cpu", "online", "ok"}, {"cpu", "incomplete", "limited"}, {"disk", "devices", "missing"},
                {"network", "interfaces", "missing"}, {"cgroup", "kind", "missing"}},
            {"proc/loadavg: No such file", "\"verdict\":\"limited\""}},
        {"unreadable/t0", 1,
            {{"memory", "available", "broken"}, {"disk", "incomplete", "limited"}, {"pressure", "PSI", "ok"},
                {"pressure", "incomplete", "limited"}, {"cgroup", "kind", "missing"}},
            {"proc/meminfo: Is a directory", "\"verdict\":\"broken\""}},
        {"empty-root/t0", 1,
            {{"host", "proc", "broken"}, {"host", "sys", "missing"}, {"cpu", "online", "broken"},
                {"memory", "available", "broken"}, {"disk", "devices", "missing"}, {"network", "interfaces", "missing"},
                {"pressure", "PSI", "missing"}, {"cgroup", "kind", "missing"}, {"gpu", "devices", "missing"}},
            {"unknown without /proc", "unknown without /sys"}},
        {"old-kernel/t0", 0,
            {{"memory", "available", "limited"}, {"pressure", "PSI", "missing"}, {"cgroup", "kind", "ok"},
                {"cgroup", "OOM kills", "limited"}},
            {"v1; our group is /cgroup/memory", "Linux 3.14 or newer"}},
        {"gpu-mixed/t0", 0, {{"gpu", "amd", "ok"}, {"gpu", "intel", "ok"}},
            {"2 found: AMD Radeon RX 6800 XT, driver amdgpu"}},
        {"energy/t0", 0, {{"energy", "counters", "ok"}}, {"rapl: CPUs memory"}},
        {"weird-names/t0", 0, {{"network", "interfaces", "ok"}}, {"9 found: %s%n, .., a:b:1, bad"}},
    };
    AUTO_BUF struct buf buf;
    buf_init(&buf, OUTPUT_BYTES_MAX);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *json = examined(&buf, cases[i].fixture, cases[i].status);
        for (size_t k = 0; k < 12 && cases[i].rows[k][0]; k++)
            assert_state(json, cases[i].rows[k][0], cases[i].rows[k][1], cases[i].rows[k][2]);
        for (size_t k = 0; k < 4 && cases[i].texts[k]; k++) {
            if (!strstr(json, cases[i].texts[k]))
                fail_msg("%s: no %s in %s", cases[i].fixture, cases[i].texts[k], json);
        }
    }
}

static void test_disabled(void **unused)
{
    (void)unused;
    AUTO_BUF struct buf buf;
    buf_init(&buf, OUTPUT_BYTES_MAX);
    char root[] = SOURCE_ROOT "/tests/fixtures/small-vm/t0";
    struct settings settings = {.sysroot = root};
    struct err err = {0};
    assert_int_equal(doctor_examine(&settings, false, true, &buf, &err), 0);
    assert_state(buf_cstr(&buf), "disk", "disk", "off");
    assert_state(buf_cstr(&buf), "network", "network", "off");
    assert_state(buf_cstr(&buf), "gpu", "gpu", "off");
    assert_non_null(strstr(buf_cstr(&buf), "disabled (collect.gpu)"));
}

static void test_no_such_root(void **unused)
{
    (void)unused;
    AUTO_BUF struct buf buf;
    buf_init(&buf, OUTPUT_BYTES_MAX);
    char root[] = SOURCE_ROOT "/tests/fixtures/no-such-machine";
    struct settings settings = {.sysroot = root};
    struct err err = {0};
    assert_int_equal(doctor_examine(&settings, false, true, &buf, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "no-such-machine"));
    assert_int_equal(buf.len, 0);
}

/* What is said of targets, in JSON; the settings get a tree without anything else in it. */
static const char *streamed(struct buf *buf, struct settings *settings, int want)
{
    static char root[] = SOURCE_ROOT "/tests/fixtures/small-vm/t0";
    struct err err = {0};
    settings->sysroot = root;
    settings->interval_ns = NS_PER_SEC;
    settings->spool_max_mib = 1;
    buf_clear(buf);
    assert_int_equal(doctor_examine(settings, false, true, buf, &err), want);
    /* It was given up for secrets; the sanitizers of this test need it. */
    assert_return_code(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), errno);
    return buf_cstr(buf);
}

static void test_targets(void **unused)
{
    (void)unused;
    AUTO_BUF struct buf buf;
    buf_init(&buf, OUTPUT_BYTES_MAX);
    char spool[] = "/tmp/rt-doctor-XXXXXX", run[64];
    assert_non_null(mkdtemp(spool));
    (void)snprintf(run, sizeof(run), "%s/20260101-abc", spool);
    assert_return_code(mkdir(run, 0700), errno);
    static const char *const left[] = {"000000.csv.gz", "000001.csv", "state.json", "lock"};
    int run_fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        assert_return_code(close(openat(run_fd, left[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), errno);
    char roots[] = "SSL_CERT_FILE=/nonexistent/roots.pem", key[] = "AWS_ACCESS_KEY_ID=KEY-SECRET",
         secret[] = "AWS_SECRET_ACCESS_KEY=KEY-SECRET", proxy[] = "https_proxy=http://me:PROXY-SECRET@proxy.test:3128";
    char *environment[] = {roots, key, secret, proxy, NULL};
    char token[] = "TOKEN-SECRET", api[] = "https://api.example.com:8443/v1", uri[] = "s3://some-bucket/prefix",
         region[] = "eu-central-1", start[] = "https://u:HOOK-SECRET@hooks.example.com/T0/HOOK-SECRET?k=HOOK-SECRET",
         stop[] = "https://hooks.example.com/T1/HOOK-SECRET";
    struct settings settings = {.environment = environment,
        .sentinel_token = token,
        .sentinel_url = api,
        .s3_uri = uri,
        .s3_region = region,
        .http_start_url = start,
        .http_stop_url = stop,
        .spool = spool};
    const char *json = streamed(&buf, &settings, 1);
    assert_null(strstr(json, "SECRET"));
    assert_state(json, "streaming", "CA certificates", "broken");
    assert_non_null(strstr(json, "/nonexistent/roots.pem"));
    assert_state(json, "streaming", "Sentinel", "ok");
    assert_non_null(strstr(json, "\"https://api.example.com:8443 through the proxy proxy.test:3128; "));
    assert_state(json, "streaming", "bucket", "ok");
    assert_non_null(strstr(json, "\"https://some-bucket.s3.eu-central-1.amazonaws.com through"));
    assert_state(json, "streaming", "hook", "ok");
    const char *hook = strstr(json, "\"name\":\"hook\"");
    assert_non_null(hook);
    assert_null(strstr(hook + 1, "\"name\":\"hook\"")); /* the same place twice */
    assert_non_null(strstr(json, "\"https://hooks.example.com through"));
    assert_non_null(strstr(json, "to come from the environment"));
    assert_state(json, "streaming", "spool", "ok");
    assert_non_null(strstr(json, "can be written; undelivered: 2 batches of 1 runs\""));
    /* Without a target too, but not where a tracker works on it. */
    struct settings bare = {.environment = environment, .spool = spool};
    json = streamed(&buf, &bare, 0);
    assert_state(json, "streaming", "targets", "off");
    assert_non_null(strstr(json, "undelivered: 2 batches of 1 runs\""));
    assert_non_null(strstr(json, "--upload-spool"));
    int lock_fd = openat(run_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_return_code(flock(lock_fd, LOCK_EX | LOCK_NB), errno);
    assert_null(strstr(streamed(&buf, &bare, 0), "\"spool\""));
    assert_non_null(strstr(streamed(&buf, &settings, 1), "undelivered: 0 batches of 0 runs, and runs in progress"));
    assert_return_code(close(lock_fd), errno);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        assert_return_code(unlinkat(run_fd, left[i], 0), errno);
    assert_return_code(close(run_fd), errno);
    assert_return_code(rmdir(run), errno);
    assert_return_code(chmod(spool, 0777), errno);
    assert_state(streamed(&buf, &settings, 1), "streaming", "spool", "limited");
    assert_return_code(rmdir(spool), errno);
    assert_non_null(strstr(streamed(&buf, &settings, 1), "not there yet"));
}

static void test_odd_targets(void **unused)
{
    (void)unused;
    AUTO_BUF struct buf buf;
    buf_init(&buf, OUTPUT_BYTES_MAX);
    char *environment[] = {NULL};
    char hook[] = "http://hooks.example.com/HOOK-SECRET", local[] = "http://127.0.0.1:9/x", bad[] = "hooks/HOOK-SECRET",
         token[] = "TOKEN SECRET", api[] = "https://api.example.com";
    struct settings settings = {.environment = environment, .http_start_url = hook};
    const char *json = streamed(&buf, &settings, 1);
    assert_state(json, "streaming", "targets", "broken");
    assert_null(strstr(json, "SECRET"));
    settings.allow_http = true;
    json = streamed(&buf, &settings, 0);
    assert_state(json, "streaming", "hook", "ok");
    assert_null(strstr(json, "\"spool\"")); /* hooks alone leave nothing behind */
    assert_null(strstr(json, "CA certificates"));
    settings = (struct settings){.environment = environment, .http_heartbeat_url = local};
    assert_non_null(strstr(streamed(&buf, &settings, 0), "\"http://127.0.0.1:9; --doctor=online"));
    settings.http_heartbeat_url = bad;
    json = streamed(&buf, &settings, 1);
    assert_state(json, "streaming", "targets", "broken");
    assert_null(strstr(json, "SECRET"));
    settings = (struct settings){.environment = environment, .sentinel_token = token, .sentinel_url = api};
    json = streamed(&buf, &settings, 1);
    assert_state(json, "streaming", "targets", "broken");
    assert_null(strstr(json, "TOKEN SECRET"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_odd_texts),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_fixtures),
        cmocka_unit_test(test_disabled),
        cmocka_unit_test(test_no_such_root),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_odd_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
