/* SPDX-License-Identifier: Apache-2.0 */
/* Durations, words, ranges, pairs: one value at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "config/config_internal.h"
#include "config/value.h"
#include "config_given.h"

static void assert_duration(const char *text, int64_t ns)
{
    int64_t got = -1;
    assert_int_equal(duration_parse(str_of(text), &got), 0);
    if (got != ns)
        fail_msg("%s: %lld ns, wanted %lld", text, (long long)got, (long long)ns);
}

static void test_durations(void **state)
{
    (void)state;
    assert_duration("0", 0);
    assert_duration("1", NS_PER_SEC);
    assert_duration("0.25", 250 * NS_PER_MS);
    assert_duration(".5", 500 * NS_PER_MS);
    assert_duration("250ms", 250 * NS_PER_MS);
    assert_duration("0.5ms", 500000);
    assert_duration("2s", 2 * NS_PER_SEC);
    assert_duration("1m", 60 * NS_PER_SEC);
    assert_duration("1.5m", 90 * NS_PER_SEC);
    assert_duration("24h", 86400 * NS_PER_SEC);
    assert_duration("0.1", 100 * NS_PER_MS);
    assert_duration("0.123456789", 123456789);
    assert_duration("86399.999999999", INT64_C(86399999999999));
    assert_duration("0.0000000001h", 360);
    assert_duration("0.3333333333333333333333333333h", INT64_C(1200000000000));
    assert_duration("0.0000000004", 0);
    assert_duration("0.0000000005", 1);
    assert_duration("0.00000000049999999999999999999", 0);
    assert_duration("000001", NS_PER_SEC);
    assert_duration("9223372036.854775807", INT64_MAX);
}

static void test_not_durations(void **state)
{
    (void)state;
    static const char *const texts[] = {"", ".", "s", "ms", "1.", "1.s", "1 s", " 1", "1 ", "+1", "1e3", "1,5", "1S",
        "1d", "1us", "0x10", "inf", "nan", "1s2", "1.2.3", "--1", "-", "1\n", "\xd9\xa1"};
    int64_t ns = 7;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (duration_parse(str_of(texts[i]), &ns) != -EINVAL)
            fail_msg("\"%s\" is taken for a duration", texts[i]);
    }
    assert_int_equal(duration_parse(str_of("-1"), &ns), -EDOM);
    assert_int_equal(duration_parse(str_of("9223372036.854775808"), &ns), -ERANGE);
    assert_int_equal(duration_parse(str_of("99999999999999999999999"), &ns), -ERANGE);
    assert_int_equal(duration_parse(str_of("9223372036854775807h"), &ns), -ERANGE);
    assert_int_equal(ns, 7);
}

static void test_duration_text(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0"}, {NS_PER_SEC, "1"}, {250 * NS_PER_MS, "0.25"}, {1, "0.000000001"},
        {86400 * NS_PER_SEC, "86400"}, {1200000001, "1.200000001"}, {10 * NS_PER_SEC, "10"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf buf;
        buf_init(&buf, 64);
        duration_put(&buf, cases[i].ns);
        assert_string_equal(buf_cstr(&buf), cases[i].text);
        buf_fini(&buf);
    }
}

static int64_t interval_of(const struct given *given)
{
    struct config config;
    given_ok(given, &config);
    int64_t ns = config.settings.interval_ns;
    config_fini(&config);
    return ns;
}

static void test_interval_ends(void **state)
{
    (void)state;
    assert_int_equal(interval_of(GIVEN(.args = {"-i", "10ms"})), 10 * NS_PER_MS);
    assert_int_equal(interval_of(GIVEN(.args = {"-i24h"})), 86400 * NS_PER_SEC);
    assert_int_equal(interval_of(GIVEN(.file = "tracker.interval_secs = 0.01")), 10 * NS_PER_MS);
    assert_int_equal(interval_of(GIVEN(.file = "tracker.interval_secs = 86400")), 86400 * NS_PER_SEC);
    assert_int_equal(interval_of(GIVEN(.file = "tracker.interval_secs = 86400.0")), 86400 * NS_PER_SEC);
    assert_int_equal(interval_of(GIVEN(.file = "tracker.interval_secs = \"1.5m\"")), 90 * NS_PER_SEC);
    assert_int_equal(interval_of(GIVEN(.file = "tracker.interval_secs = 0.123456789")), 123456789);
    assert_int_equal(interval_of(GIVEN(.file = "tracker.interval_secs = 86399.999999999")), INT64_C(86399999999999));
    given_refused(
        GIVEN(.env = {"TRACKER_INTERVAL=0"}), "interval_secs = 0 (from TRACKER_INTERVAL): must be at least 0.01");
    given_refused(GIVEN(.args = {"--interval=9.999999ms"}),
        "interval_secs = 9.999999ms (from --interval): must be at least 0.01");
    given_refused(GIVEN(.args = {"-i", "-1"}), "interval_secs = -1 (from --interval): must be at least 0.01");
    given_refused(GIVEN(.args = {"-i", "86400.000000001"}),
        "interval_secs = 86400.000000001 (from --interval): must be at most 86400");
    given_refused(GIVEN(.args = {"-i", "99999999999999999999"}),
        "interval_secs = 99999999999999999999 (from --interval): must be at most 86400");
    given_refused(GIVEN(.args = {"-i", "abc"}),
        "interval_secs = abc (from --interval): not a duration; use seconds or a unit, for example 0.5, 250ms, 2s, 1m");
    given_refused(GIVEN(.file = "[tracker]\ninterval_secs = -0.5"),
        "interval_secs = -0.5 (from resource-tracker.toml:2:17): must be at least 0.01");
    given_refused(GIVEN(.file = "[tracker]\ninterval_secs = inf"),
        "interval_secs = inf (from resource-tracker.toml:2:17): must be at most 86400");
    given_refused(GIVEN(.file = "[tracker]\ninterval_secs = 9223372036854775807"),
        "interval_secs = 9223372036854775807 (from resource-tracker.toml:2:17): must be at most 86400");
    given_refused(GIVEN(.file = "[tracker]\ninterval_secs = nan"),
        "interval_secs = nan (from resource-tracker.toml:2:17): is not a number");
}

static int64_t carbon_of(const struct given *given)
{
    struct config config;
    given_ok(given, &config);
    int64_t ng = config.settings.carbon_ng_per_kwh;
    config_fini(&config);
    return ng;
}

static void test_grams_per_kwh(void **state)
{
    (void)state;
    assert_int_equal(carbon_of(GIVEN(.args = {"--version"})), 0);
    assert_int_equal(carbon_of(GIVEN(.args = {"--carbon=320"})), 320 * NS_PER_SEC);
    assert_int_equal(carbon_of(GIVEN(.args = {"--carbon", "320g/kWh"})), 320 * NS_PER_SEC);
    assert_int_equal(carbon_of(GIVEN(.args = {"--carbon", "0.5 g/kwh"})), 500 * NS_PER_MS);
    assert_int_equal(carbon_of(GIVEN(.env = {"TRACKER_CARBON=12.5"})), 12500 * NS_PER_MS);
    assert_int_equal(carbon_of(GIVEN(.file = "tracker.carbon_g_per_kwh = 40")), 40 * NS_PER_SEC);
    assert_int_equal(carbon_of(GIVEN(.file = "tracker.carbon_g_per_kwh = \"40 g/kWh\"")), 40 * NS_PER_SEC);
    static const char *const wrong[] = {
        "--carbon=", "--carbon=g/kWh", "--carbon=5s", "--carbon=5ms", "--carbon=5 kg/kWh", "--carbon=x"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct config config;
        struct err err;
        assert_int_equal(given_load(GIVEN(.args = {wrong[i]}), &config, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "not grams per kWh, for example 320 or 320g/kWh"));
        config_fini(&config);
    }
    given_refused(GIVEN(.args = {"--carbon=0"}), "carbon_g_per_kwh = 0 (from --carbon): must be at least 0.001");
    given_refused(GIVEN(.args = {"--carbon=20000"}), "carbon_g_per_kwh = 20000 (from --carbon): must be at most 10000");
    given_refused(GIVEN(.file = "[tracker]\ncarbon_g_per_kwh = true"),
        "carbon_g_per_kwh = true (from resource-tracker.toml:2:20): is a boolean, must be a number of grams");
}

static void test_boolean_words(void **state)
{
    (void)state;
    static const char *const words[2][5] = {{"0", "false", "no", "off", "FALSE"}, {"1", "true", "yes", "on", "Yes"}};
    for (int on = 0; on < 2; on++) {
        for (size_t i = 0; i < 5; i++) {
            char variable[64], flag[64];
            (void)snprintf(variable, sizeof(variable), "TRACKER_SUBREAPER=%s", words[on][i]);
            (void)snprintf(flag, sizeof(flag), "--append=%s", words[on][i]);
            struct config config;
            given_ok(GIVEN(.env = {variable}, .args = {flag}), &config);
            assert_int_equal(config.settings.subreaper, on);
            assert_int_equal(config.settings.append, on);
            config_fini(&config);
        }
    }
    static const char *const wrong[] = {"2", "y", "tru", "truee", " 1", ""};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char flag[64];
        (void)snprintf(flag, sizeof(flag), "--append=%s", wrong[i]);
        struct config config;
        struct err err;
        assert_int_equal(given_load(GIVEN(.args = {flag}), &config, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "(from --append): must be true or false"));
    }
}

static void test_numbers_and_choices(void **state)
{
    (void)state;
    given_refused(GIVEN(.args = {"-p", "0"}), "pid = 0 (from --pid): must be at least 1");
    given_refused(GIVEN(.args = {"-p", "4194305"}), "pid = 4194305 (from --pid): must be at most 4194304");
    given_refused(GIVEN(.args = {"-p", "1x"}), "pid = 1x (from --pid): not a whole number");
    given_refused(GIVEN(.args = {"-p", ""}), "pid = \"\" (from --pid): not a whole number");
    given_refused(
        GIVEN(.args = {"-p", "-99999999999999999999"}), "pid = -99999999999999999999 (from --pid): must be at least 1");
    given_refused(GIVEN(.args = {"--format", "xml"}), "format = xml (from --format): must be json or csv");
    given_refused(GIVEN(.args = {"--csv-columns", "all"}),
        "csv_columns = all (from --csv-columns): must be auto, system, full or python");
    given_refused(GIVEN(.args = {"--grace", "1.1h"}), "grace_secs = 1.1h (from --grace): must be at most 3600");
    struct config config;
    given_ok(GIVEN(.args = {"-p", "4194304", "--grace=0", "-f", "CSV"}), &config);
    assert_true(config.settings.pid.has);
    assert_int_equal(config.settings.pid.v, 4194304);
    assert_int_equal(config.settings.grace_ns, 0);
    assert_int_equal(config.settings.format, FORMAT_CSV);
    config_fini(&config);
}

static void test_wrong_toml_types(void **state)
{
    (void)state;
    given_refused(GIVEN(.file = "[tracker]\ninterval_secs = true"),
        "interval_secs = true (from resource-tracker.toml:2:17): is a boolean, must be a number of seconds or a string "
        "such as \"250ms\"");
    given_refused(GIVEN(.file = "[tracker]\ninterval_secs = \"x\""),
        "interval_secs = \"x\" (from resource-tracker.toml:2:17): not a duration; use seconds or a unit, for example "
        "0.5, 250ms, 2s, 1m");
    given_refused(GIVEN(.file = "[tracker]\nquiet = 1"),
        "quiet = 1 (from resource-tracker.toml:2:9): is an integer, must be a boolean (true or false)");
    given_refused(GIVEN(.file = "[job]\npid = 1.0"),
        "pid = 1.0 (from resource-tracker.toml:2:7): is a float, must be an integer");
    given_refused(GIVEN(.file = "[job]\nname = [1]"),
        "name = [...] (from resource-tracker.toml:2:8): is an array, must be a string");
    given_refused(GIVEN(.file = "[job]\nname = 1979-05-27"),
        "name = 1979-05-27 (from resource-tracker.toml:2:8): is a date-time, must be a string");
    given_refused(GIVEN(.file = "[job]\nname = \"a\\u0000b\""),
        "name = \"a\\x00b\" (from resource-tracker.toml:2:8): must not contain a NUL byte");
    given_refused(GIVEN(.file = "[job.tags]\na = [1]"),
        "tags.a = [...] (from resource-tracker.toml:2:5): is an array, must be a string");
    given_refused(GIVEN(.file = "job.tags = 1"),
        "tags = 1 (from resource-tracker.toml:1:12): is an integer, must be a table of strings");
    given_refused(
        GIVEN(.file = "tracker = 5"), "tracker (from resource-tracker.toml:1:11): is an integer, must be a table");
}

static const char *tag(const struct config *config, const char *key)
{
    const struct settings_pairs *tags = &config->settings.tags;
    for (size_t i = 0; i < tags->count; i++) {
        if (strcmp(tags->items[i].key, key) == 0)
            return tags->items[i].value;
    }
    return "(none)";
}

static void test_tags(void **state)
{
    (void)state;
    struct config config;
    given_ok(
        GIVEN(.file = "[job.tags]\na = \"file\"\nb = \"file\"\nc = \"file\"\nn = 3\nf = 1.0\ng = 2.5\nt = true\nd = "
                      "1979-05-27",
            .env = {"TRACKER_TAGS=b=env, c=env,,x=1\\,2,e=,y=p=q,"}, .args = {"--tag", "c=flag", "--tag=k=v,w"}),
        &config);
    static const char *const want[][2] = {{"a", "file"}, {"b", "env"}, {"c", "flag"}, {"n", "3"}, {"f", "1.0"},
        {"g", "2.5"}, {"t", "true"}, {"d", "1979-05-27"}, {"x", "1,2"}, {"e", ""}, {"y", "p=q"}, {"k", "v,w"}};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_string_equal(tag(&config, want[i][0]), want[i][1]);
    assert_int_equal(config.settings.tags.count, sizeof(want) / sizeof(want[0]));
    assert_string_equal(config.settings.tags.items[0].key, "a");
    config_fini(&config);
    given_refused(GIVEN(.args = {"--tag", "foo"}), "tags = foo (from --tag): must be KEY=VALUE");
    given_refused(GIVEN(.args = {"--tag", "=foo"}), "tags = =foo (from --tag): a key is empty");
    given_refused(GIVEN(.env = {"TRACKER_TAGS=a=1,b"}), "tags = a=1,b (from TRACKER_TAGS): must be KEY=VALUE");
}

static void assert_omit(const struct given *given, const char *want)
{
    struct config config;
    given_ok(given, &config);
    if (want)
        assert_string_equal(config.settings.omit, want);
    else
        assert_null(config.settings.omit);
    config_fini(&config);
}

static void test_lists(void **state)
{
    (void)state;
    assert_omit(GIVEN(.env = {"TRACKER_OMIT=host_ip"}), "host_ip");
    assert_omit(
        GIVEN(.env = {"TRACKER_OMIT= host_ip ,,cloud_zone_id,host_ip,\thost_id,"}), "host_ip,cloud_zone_id,host_id");
    assert_omit(GIVEN(.env = {"TRACKER_OMIT=, ,"}), NULL);
    assert_omit(GIVEN(.file = "sentinel.omit = []"), NULL);
    assert_omit(GIVEN(.file = "sentinel.omit = \"\""), NULL);
    assert_omit(GIVEN(.file = "sentinel.omit = \"host_id, host_vcpus\""), "host_id,host_vcpus");
    assert_omit(GIVEN(.file = "[sentinel]\nomit = [\"host_gpu_model\", \"host_id\",\n \"host_id\",]"),
        "host_gpu_model,host_id");
    /* One list replaces another, also with nothing. */
    assert_omit(GIVEN(.file = "sentinel.omit = [\"host_id\"]", .env = {"TRACKER_OMIT=host_ip"}), "host_ip");
    assert_omit(GIVEN(.file = "sentinel.omit = [\"host_id\"]", .env = {"TRACKER_OMIT="}), "host_id");
    assert_omit(GIVEN(.file = "sentinel.omit = [\"host_id\"]", .env = {"TRACKER_OMIT=,"}), NULL);
    assert_omit(GIVEN(.env = {"TRACKER_OMIT=host_id,host_hostname,host_ip,host_server_allocation,host_vcpus,"
                              "host_cpu_model,host_memory_mib,host_gpu_model,host_gpu_count,host_gpu_memory_mib,"
                              "host_storage_gb,cloud_vendor_id,cloud_account_id,cloud_region_id,cloud_zone_id,"
                              "cloud_instance_type"}),
        "host_id,host_hostname,host_ip,host_server_allocation,host_vcpus,host_cpu_model,host_memory_mib,"
        "host_gpu_model,host_gpu_count,host_gpu_memory_mib,host_storage_gb,cloud_vendor_id,cloud_account_id,"
        "cloud_region_id,cloud_zone_id,cloud_instance_type");
}

static void test_not_lists(void **state)
{
    (void)state;
    given_refused(GIVEN(.env = {"TRACKER_OMIT=host_id,host_ipp"}),
        "omit = host_id,host_ipp (from TRACKER_OMIT): unknown name \"host_ipp\", did you mean \"host_ip\"?");
    given_refused(GIVEN(.env = {"TRACKER_OMIT=hostname"}),
        "omit = hostname (from TRACKER_OMIT): unknown name \"hostname\", did you mean \"host_hostname\"?");
    given_refused(GIVEN(.env = {"TRACKER_OMIT=HOST_IP"}),
        "omit = HOST_IP (from TRACKER_OMIT): unknown name \"HOST_IP\", did you mean \"host_id\"?");
    given_refused(GIVEN(.file = "[sentinel]\nomit = [\"cloud_acount_id\"]"),
        "omit = [...] (from resource-tracker.toml:2:8): unknown name \"cloud_acount_id\", did you mean "
        "\"cloud_account_id\"?");
    given_refused(GIVEN(.file = "[sentinel]\nomit = [\"host_ip\",\n  1]"),
        "omit = [...] (from resource-tracker.toml:2:8): the item at 3:3 must be a string");
    given_refused(GIVEN(.file = "[sentinel]\nomit = true"),
        "omit = true (from resource-tracker.toml:2:8): is a boolean, must be an array of strings");
    given_refused(GIVEN(.file = "[sentinel]\nomit = [\"host_ip\\u0000\"]"),
        "omit = [...] (from resource-tracker.toml:2:8): unknown name \"host_ip\\x00\", did you mean \"host_ip\"?");
    char variable[200] = "TRACKER_OMIT=";
    memset(variable + strlen(variable), 'x', 100);
    given_refused(GIVEN(.env = {variable}),
        "omit = xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... (from TRACKER_OMIT): unknown name "
        "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"");
}

static void test_sentinel(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.file = "[sentinel]\ninline = \"plain\"\nsend_command = false"), &config);
    assert_int_equal(config.settings.sentinel_inline, INLINE_PLAIN);
    assert_false(config.settings.send_command);
    config_fini(&config);
    given_ok(GIVEN(.file = "[sentinel]\ninline = \"plain\"\nsend_command = false",
                 .env = {"TRACKER_SENTINEL_INLINE=base64", "TRACKER_SEND_COMMAND=yes"}),
        &config);
    assert_int_equal(config.settings.sentinel_inline, INLINE_BASE64);
    assert_true(config.settings.send_command);
    config_fini(&config);
    given_refused(GIVEN(.env = {"TRACKER_SENTINEL_INLINE=gzip"}),
        "inline = gzip (from TRACKER_SENTINEL_INLINE): must be auto, base64 or plain");
}

static void test_headers(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.file = "[http.headers]\nAuthorization = \"file\"\n\"x!#$%&'*+-.^_`|~9\" = \"\"\n",
                 .env = {"TRACKER_HTTP_HEADERS=authorization=Bearer a\tb \xe9,Y=1"}),
        &config);
    const struct settings_pairs *headers = &config.settings.http_headers;
    assert_int_equal(headers->count, 3);
    assert_string_equal(headers->items[0].key, "Authorization");
    assert_string_equal(headers->items[0].value, "Bearer a\tb \xe9");
    assert_string_equal(headers->items[1].key, "x!#$%&'*+-.^_`|~9");
    assert_string_equal(headers->items[2].key, "Y");
    config_fini(&config);
#define BAD_NAME "a header name may only contain letters, digits and !#$%&'*+-.^_`|~"
#define BAD_VALUE "a header value must not contain control characters"
    given_refused(GIVEN(.env = {"TRACKER_HTTP_HEADERS=A=1,B C=2"}), "headers (from TRACKER_HTTP_HEADERS): " BAD_NAME);
    given_refused(GIVEN(.env = {"TRACKER_HTTP_HEADERS=X:=2"}), "headers (from TRACKER_HTTP_HEADERS): " BAD_NAME);
    given_refused(GIVEN(.env = {"TRACKER_HTTP_HEADERS=\xc3\xa9=2"}), "headers (from TRACKER_HTTP_HEADERS): " BAD_NAME);
    given_refused(GIVEN(.file = "[http.headers]\n\"X\\nY\" = \"1\""),
        "headers.X\\x0aY (from resource-tracker.toml:2:10): " BAD_NAME);
    given_refused(
        GIVEN(.env = {"TRACKER_HTTP_HEADERS=X=a\r\nY: 1"}), "headers (from TRACKER_HTTP_HEADERS): " BAD_VALUE);
    given_refused(GIVEN(.env = {"TRACKER_HTTP_HEADERS=X=a\x7f"}), "headers (from TRACKER_HTTP_HEADERS): " BAD_VALUE);
    given_refused(
        GIVEN(.file = "[http.headers]\nX = \"\\u0001\""), "headers.X (from resource-tracker.toml:2:5): " BAD_VALUE);
    given_refused(GIVEN(.env = {"TRACKER_HTTP_HEADERS=content-length=5"}),
        "headers (from TRACKER_HTTP_HEADERS): the header Content-Length is set by resource-tracker itself");
    /* Tags are free of these rules. */
    given_ok(GIVEN(.args = {"--tag", "b c=\n", "--tag", "B c=2"}), &config);
    assert_int_equal(config.settings.tags.count, 2);
    config_fini(&config);
}

static void test_bounds(void **state)
{
    (void)state;
    struct buf list;
    buf_init(&list, 1 << 20);
    buf_puts(&list, "TRACKER_TAGS=");
    for (int i = 0; i < SETTINGS_PAIRS_MAX; i++)
        buf_printf(&list, "k%d=v,", i);
    struct config config;
    given_ok(GIVEN(.env = {buf_cstr(&list)}, .args = {"--tag", "k0=again"}), &config);
    assert_int_equal(config.settings.tags.count, SETTINGS_PAIRS_MAX);
    config_fini(&config);
    given_refused(GIVEN(.env = {buf_cstr(&list)}, .args = {"--tag", "new=1"}),
        "tags = new=1 (from --tag): at most 256 are allowed");

    buf_clear(&list);
    buf_puts(&list, "TRACKER_HTTP_HEADERS=");
    for (int i = 0; i < SETTINGS_HEADERS_MAX; i++)
        buf_printf(&list, "k%d=v,", i);
    given_ok(GIVEN(.env = {buf_cstr(&list)}), &config);
    assert_int_equal(config.settings.http_headers.count, 24);
    config_fini(&config);
    buf_puts(&list, "new=v");
    given_refused(GIVEN(.env = {buf_cstr(&list)}), "headers (from TRACKER_HTTP_HEADERS): at most 24 are allowed");

    buf_clear(&list);
    buf_puts(&list, "TRACKER_JOB_NAME=");
    for (int i = 0; i < SETTINGS_TEXT_MAX; i++)
        buf_putc(&list, 'x');
    given_ok(GIVEN(.env = {buf_cstr(&list)}), &config);
    assert_int_equal(strlen(config.settings.job_name), SETTINGS_TEXT_MAX);
    config_fini(&config);
    buf_putc(&list, 'x');
    given_refused(GIVEN(.env = {buf_cstr(&list)}),
        "name = xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... (from TRACKER_JOB_NAME): is longer than 65536 bytes");
    buf_fini(&list);
}

static void assert_shown(struct str text, size_t max, const char *want)
{
    struct buf buf;
    buf_init(&buf, 1024);
    text_put(&buf, text, TEXT_ESCAPE, max);
    assert_string_equal(buf_cstr(&buf), want);
    buf_fini(&buf);
}

static void test_showing(void **state)
{
    (void)state;
    assert_shown(STR("plain"), 5, "plain");
    assert_shown(STR("plain6"), 5, "pl...");
    assert_shown(STR("a\nb\x1b[0m\x7f"), 48, "a\\x0ab\\x1b[0m\\x7f");
    assert_shown(STR("\xc3\xa9\xff\xc3"), 48, "\xc3\xa9\\xff\\xc3");
    assert_shown(STR("\xc2\x9b"), 48, "?");
    assert_shown(STR("\xed\xa0\x80"), 48, "\\xed\\xa0\\x80");
    assert_shown(STR("a\xf0\x9f\x98\x80xyz"), 7, "a...");
    struct buf buf;
    buf_init(&buf, 1024);
    show_path(&buf, STR("/a/very/long/path.toml"), 12);
    assert_string_equal(buf_cstr(&buf), "...path.toml");
    static const char *const urls[][2] = {{"https://u:p@h/x", "https://h/x"}, {"https://h/x@y", "https://h/x@y"},
        {"https://u:p@ss@h?q=@", "https://h?..."}, {"https://h/x#hush", "https://h/x?..."}, {"u:p@h", "h"},
        {"s3://bucket/pre@fix", "s3://bucket/pre@fix"}};
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        buf_clear(&buf);
        show_url(&buf, str_of(urls[i][0]));
        assert_string_equal(buf_cstr(&buf), urls[i][1]);
    }
    buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_not_durations),
        cmocka_unit_test(test_duration_text),
        cmocka_unit_test(test_grams_per_kwh),
        cmocka_unit_test(test_interval_ends),
        cmocka_unit_test(test_boolean_words),
        cmocka_unit_test(test_numbers_and_choices),
        cmocka_unit_test(test_wrong_toml_types),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_not_lists),
        cmocka_unit_test(test_sentinel),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_showing),
    };
    return cmocka_run_group_tests(tests, given_enter_directory, given_leave_directory);
}
