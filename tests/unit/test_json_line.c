/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON line as a sample: every kind of value, odd order and spacing, wrong types, broken text, and the bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "encode/encode.h"
#include "replay/replay_internal.h"

enum { ROOM = 64 * 1024 };

static int set_up(void **state)
{
    static struct json_line json;
    *state = &json;
    return json_line_init(&json, ROOM);
}

static int tear_down(void **state)
{
    json_line_fini(*state);
    return 0;
}

static int parse(void **state, const char *text, struct sample *sample)
{
    return json_line_parse(*state, str_of(text), sample);
}

/* The value of a member of the first level, the rest being a good sample. */
static struct sample parse_member(void **state, const char *member)
{
    char line[512];
    struct sample sample;
    (void)snprintf(line, sizeof(line), "{\"timestamp_ms\":1,%s}", member);
    assert_int_equal(parse(state, line, &sample), 0);
    return sample;
}

static void test_scalars(void **state)
{
    struct sample sample;
    assert_int_equal(
        parse(state,
            "{\"timestamp_secs\":1767225601,\"timestamp_ms\":1767225601500,\"elapsed_secs\":1.5,\"job_name\":\"a job\","
            "\"tracked_pid\":4242,\"cpu\":{\"utilization_pct\":0.3333,\"process_count\":18446744073709551615},"
            "\"memory\":null,\"end\":{\"exit_code\":-1,\"cpu_is_lower_bound\":true},"
            "\"resource-tracker-version\":\"0.2.0\"}",
            &sample),
        0);
    assert_int_equal(sample.timestamp_secs.v, 1767225601);
    assert_int_equal(sample.timestamp_ms.v, 1767225601500);
    assert_true(sample.elapsed_secs.has && sample.elapsed_secs.v == 1.5);
    assert_false(sample.actual_interval_ms.has);
    assert_string_equal(sample.job_name, "a job");
    assert_int_equal(sample.tracked_pid.v, 4242);
    assert_true(sample.cpu.present && sample.cpu.utilization_pct.v == 0.3333);
    assert_true(sample.cpu.process_count.v == UINT64_MAX);
    assert_false(sample.cpu.utime_secs.has);
    assert_false(sample.memory.present);
    assert_false(sample.network.present);
    assert_true(sample.end.present && sample.end.exit_code.v == -1);
    assert_true(sample.end.cpu_is_lower_bound.has && sample.end.cpu_is_lower_bound.v);
    assert_false(sample.run.present);
    assert_string_equal(sample.version, "0.2.0");
    assert_int_equal(((struct json_line *)*state)->mistyped, 0);
}

static void test_lists(void **state)
{
    struct sample sample;
    assert_int_equal(
        parse(state,
            "{\"timestamp_ms\":1,\"cpu\":{\"per_core_pct\":[1.5,null,3]},\"network\":[],"
            "\"disk\":[{\"device\":\"sda\",\"mounts\":[{\"mount_point\":\"/\",\"total_bytes\":5},{\"mount_point\":"
            "\"/b\"}],\"stacked\":false},{\"device\":\"sdb\",\"mounts\":[],\"read_bytes\":7}],"
            "\"gpu\":[{\"detail\":{\"a\":\"1\",\"b\":null},\"throttle_reasons\":[\"heat\",\"power\"],"
            "\"process_vram_bytes\":85899345920,\"process_utilization_pct\":12.5},{\"process_vram_bytes\":null}],"
            "\"run\":{\"command\":[\"sh\",\"-c\",\"\"]}}",
            &sample),
        0);
    const struct opt_f64 *cores = sample.cpu.per_core_pct.items;
    assert_int_equal(sample.cpu.per_core_pct.count, 3);
    assert_true(cores[0].v == 1.5 && !cores[1].has && cores[2].has && cores[2].v == 3);
    assert_true(sample.network.present && sample.network.count == 0);
    const struct sample_disk *disks = sample.disk.items;
    assert_int_equal(sample.disk.count, 2);
    assert_string_equal(disks[0].device, "sda");
    assert_true(disks[0].stacked.has && !disks[0].stacked.v && !disks[1].stacked.has);
    const struct sample_mount *mounts = disks[0].mounts.items;
    assert_int_equal(disks[0].mounts.count, 2);
    assert_string_equal(mounts[1].mount_point, "/b");
    assert_int_equal(mounts[0].total_bytes.v, 5);
    assert_true(disks[1].mounts.present && disks[1].mounts.count == 0);
    assert_int_equal(disks[1].read_bytes_delta.v, 7);
    const struct sample_gpu *gpu = sample.gpu.items;
    const struct str_pair *pairs = gpu->detail.items;
    assert_int_equal(gpu->detail.count, 2);
    assert_string_equal(pairs[0].key, "a");
    assert_string_equal(pairs[0].value, "1");
    assert_null(pairs[1].value);
    assert_string_equal(((const char *const *)gpu->throttle_reasons.items)[1], "power");
    assert_int_equal(gpu[0].process_vram_bytes.v, UINT64_C(80) << 30);
    assert_true(gpu[0].process_utilization_pct.has && gpu[0].process_utilization_pct.v == 12.5);
    assert_int_equal(sample.gpu.count, 2);
    assert_false(gpu[1].process_vram_bytes.has || gpu[1].process_utilization_pct.has);
    assert_int_equal(sample.run.command.count, 3);
    assert_string_equal(((const char *const *)sample.run.command.items)[2], "");
}

/* Bytes say more than whole MiB, in any order; older recordings have fractions of MiB instead. */
static void test_memory_in_bytes_and_mib(void **state)
{
    static const struct {
        const char *keys;
        double mib;
    } cases[] = {
        {"\"process_rss_mib\":12,\"process_rss_bytes\":12947456", 12947456 / BYTES_PER_MIB},
        {"\"process_rss_bytes\":12947456,\"process_rss_mib\":12", 12947456 / BYTES_PER_MIB},
        {"\"process_rss_mib\":12.3477", 12.3477},
        {"\"process_rss_mib\":12", 12},
        {"\"process_rss_bytes\":null,\"process_rss_mib\":12", 12},
        {"\"process_rss_bytes\":1", 1 / BYTES_PER_MIB},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[128];
        struct sample sample;
        (void)snprintf(line, sizeof(line), "{\"timestamp_ms\":1,\"cpu\":{%s}}", cases[i].keys);
        assert_int_equal(parse(state, line, &sample), 0);
        assert_true(sample.cpu.process_rss_mib.has && sample.cpu.process_rss_mib.v == cases[i].mib);
    }
    struct sample sample;
    assert_int_equal(parse(state,
                         "{\"timestamp_ms\":1,\"actual_interval_ms\":1000.0625,\"memory\":{\"used_mib\":161.2734},"
                         "\"cpu\":{\"steal_time_secs\":0.25},\"gpu\":[{\"temperature_celsius\":-5.5}]}",
                         &sample),
        0);
    assert_true(sample.memory.used_mib.v == 161.2734 && sample.actual_interval_ms.v == 1000.0625);
    assert_true(sample.cpu.steal_secs.v == 0.25);
    assert_true(((const struct sample_gpu *)sample.gpu.items)->temperature_celsius.v == -5.5);
    assert_int_equal(((struct json_line *)*state)->mistyped, 0);
    assert_int_equal(parse(state, "{\"timestamp_ms\":1,\"cpu\":{\"process_rss_bytes\":0.5}}", &sample), 0);
    assert_false(sample.cpu.process_rss_mib.has);
    assert_int_equal(((struct json_line *)*state)->mistyped, 1);
}

static void test_any_order_and_blanks(void **state)
{
    struct sample sample;
    assert_int_equal(parse(state,
                         " { \"memory\" : { \"used_mib\" : 2 ,\t\"total_mib\":10.25 } , \"elapsed_secs\" : 3 ,"
                         " \"timestamp_ms\" : 9 } \r\n",
                         &sample),
        0);
    assert_true(sample.memory.used_mib.v == 2 && sample.memory.total_mib.v == 10.25);
    assert_true(sample.elapsed_secs.v == 3 && sample.timestamp_ms.v == 9);
}

static void check_f64(void **state, const char *text, double want)
{
    char member[256];
    (void)snprintf(member, sizeof(member), "\"elapsed_secs\":%s", text);
    struct sample sample = parse_member(state, member);
    assert_true(sample.elapsed_secs.has);
    assert_true(sample.elapsed_secs.v == want);
}

static void test_numbers(void **state)
{
    check_f64(state, "0", 0);
    check_f64(state, "-0.0", 0);
    check_f64(state, "123456789.1234", 123456789.1234);
    check_f64(state, "0.1", 0.1);
    check_f64(state, "899999999999999", 899999999999999.0);
    check_f64(state, "9e14", 9e14);
    check_f64(state, "0.1000000000000000055511151231257827", 0.1);
    check_f64(state, "1e3", 1000);
    check_f64(state, "2.5E-1", 0.25);
    assert_int_equal(parse_member(state, "\"tracked_pid\":12.0").tracked_pid.v, 12);
    assert_int_equal(parse_member(state, "\"tracked_pid\":1e5").tracked_pid.v, 100000);
    assert_int_equal(parse_member(state, "\"timestamp_secs\":-7.000").timestamp_secs.v, -7);
    assert_int_equal(((struct json_line *)*state)->mistyped, 0);
    /* These are numbers, but not of their kind. */
    assert_false(parse_member(state, "\"tracked_pid\":12.5").tracked_pid.has);
    assert_false(parse_member(state, "\"tracked_pid\":-1").tracked_pid.has);
    assert_false(parse_member(state, "\"tracked_pid\":18446744073709551616").tracked_pid.has);
    assert_false(parse_member(state, "\"timestamp_secs\":9223372036854775808").timestamp_secs.has);
    assert_false(parse_member(state, "\"elapsed_secs\":1e999").elapsed_secs.has);
    assert_int_equal(((struct json_line *)*state)->mistyped, 5);
}

static void check_refused(void **state, const char *text)
{
    char member[256];
    const struct json_line *json = *state;
    uint64_t before = json->mistyped;
    (void)snprintf(member, sizeof(member), "\"elapsed_secs\":%s", text);
    assert_false(parse_member(state, member).elapsed_secs.has);
    assert_int_equal(json->mistyped, before + 1);
}

/* Numbers of their kind that cannot be: below 0, or more than sums can hold. Counters may be as large as they are. */
static void test_impossible_numbers(void **state)
{
    const struct json_line *json = *state;
    check_refused(state, "-0.5");
    check_refused(state, "-1000");
    check_refused(state, "900000000000001");
    check_refused(state, "12345678901234567890");
    check_refused(state, "1e300");
    struct sample sample = parse_member(state, "\"cpu\":{\"process_utime_secs\":-1,\"per_core_pct\":[1,-2,1e15,3]}");
    const struct opt_f64 *cores = sample.cpu.per_core_pct.items;
    assert_false(sample.cpu.process_utime_secs.has);
    assert_int_equal(sample.cpu.per_core_pct.count, 4);
    assert_true(cores[0].has && !cores[1].has && !cores[2].has && cores[3].v == 3);
    assert_int_equal(json->mistyped, 8);
    sample = parse_member(state, "\"gpu\":[{\"temperature_celsius\":-40.5,\"power_watts\":-1},"
                                 "{\"temperature_celsius\":-1e300}],\"network\":[{\"interface\":\"e\","
                                 "\"speed_mbps\":-1,\"rx_bytes_total\":18446744073709551615}]");
    const struct sample_gpu *gpus = sample.gpu.items;
    const struct sample_network *network = sample.network.items;
    assert_true(gpus[0].temperature_celsius.has && gpus[0].temperature_celsius.v == -40.5);
    assert_false(gpus[0].power_watts.has || gpus[1].temperature_celsius.has);
    assert_true(network->speed_mbps.has && network->speed_mbps.v == -1);
    assert_true(network->rx_bytes_total.has && network->rx_bytes_total.v == UINT64_MAX);
    assert_int_equal(json->mistyped, 10);
}

static void test_strings(void **state)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"a\\\"b\\\\c\\/d\\n\\t", "a\"b\\c/d\n\t"},
        {"\\u00e9\\u20AC\\ud83d\\ude00", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xc3\xbc", "\xc3\xbc"},
        {"a\\ud800b", "a\xef\xbf\xbd"
                      "b"},
        {"\\ude00\\ud800\\u0041", "\xef\xbf\xbd\xef\xbf\xbd"
                                  "A"},
        {"x\xff\xc3y", "x\xef\xbf\xbd\xef\xbf\xbdy"},
        {"a\\u0000b", "a\xef\xbf\xbd"
                      "b"},
        {"a\x01z", "a\xef\xbf\xbdz"},
        {"}],\\\\", "}],\\"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char member[128];
        (void)snprintf(member, sizeof(member), "\"job_name\":\"%s\",\"tracked_pid\":5", pairs[i][0]);
        struct sample sample = parse_member(state, member);
        assert_string_equal(sample.job_name, pairs[i][1]);
        assert_int_equal(sample.tracked_pid.v, 5);
    }
}

static void test_wrong_types(void **state)
{
    static const char *const members[] = {"\"job_name\":5", "\"job_name\":{\"a\":[1,{}]}", "\"tracked_pid\":\"5\"",
        "\"tracked_pid\":true", "\"elapsed_secs\":[1]", "\"cpu\":[]", "\"cpu\":1", "\"disk\":{}", "\"disk\":\"x\"",
        "\"cpu\":{\"per_core_pct\":[\"1\"]}", "\"disk\":[7]", "\"gpu\":[null]", "\"network\":[{\"interface\":3}]",
        "\"gpu\":[{\"detail\":[]}]", "\"gpu\":[{\"detail\":{\"a\":1}}]", "\"run\":{\"command\":[1]}",
        "\"network\":[{\"virtual\":0}]"};
    const struct json_line *json = *state;
    size_t count = sizeof(members) / sizeof(members[0]);
    for (size_t i = 0; i < count; i++) {
        uint64_t before = json->mistyped;
        struct sample sample = parse_member(state, members[i]);
        assert_int_equal(json->mistyped, before + 1);
        assert_null(sample.job_name);
        assert_false(sample.tracked_pid.has || sample.elapsed_secs.has || sample.cpu.utilization_pct.has);
    }
}

/* What has no name, and what is no text, does not stay in a list: the rest of the program relies on it. */
static void test_items_that_are_none(void **state)
{
    struct sample sample =
        parse_member(state, "\"disk\":[7,{\"device\":\"a\"},{\"model\":\"m\"},{\"device\":null},{\"device\":\"b\"},[]],"
                            "\"run\":{\"command\":[null,\"x\",3,\"y\"]}");
    const struct sample_disk *disks = sample.disk.items;
    assert_int_equal(sample.disk.count, 2);
    assert_string_equal(disks[0].device, "a");
    assert_string_equal(disks[1].device, "b");
    assert_null(disks[1].model);
    const char *const *words = sample.run.command.items;
    assert_int_equal(sample.run.command.count, 2);
    assert_string_equal(words[0], "x");
    assert_string_equal(words[1], "y");
}

static void test_unknown_keys(void **state)
{
    const struct json_line *json = *state;
    struct sample sample = parse_member(state,
        "\"foo\":{\"a\":[1,\"]}\",{\"b\":null}],\"c\":-1.5e3},\"cpu\":{\"bar\":true,\"load1\":0.5},\"foo\":1,\"\":2,"
        "\"tracked_pid\":3");
    assert_true(sample.cpu.load1.v == 0.5);
    assert_int_equal(sample.tracked_pid.v, 3);
    assert_int_equal(json->unknown.count, 2);
    assert_string_equal(json->unknown.names[0], "foo");
    assert_string_equal(json->unknown.names[1], "bar");
    assert_false(json->unknown.has_more);
    (void)parse_member(state, "\"c\":1,\"d\\u001b\":1,\"e\":1,\"fgh\":1");
    assert_int_equal(json->unknown.count, NAME_LIST_MAX);
    assert_true(json->unknown.has_more);
    assert_string_equal(json->unknown.names[3], "d\\u001b");
}

static void test_broken(void **state)
{
    static const char *const lines[] = {"", " ", "{", "[]", "1", "\"x\"", "null", "{]", "{\"timestamp_ms\"}",
        "{\"timestamp_ms\":}", "{\"timestamp_ms\":1", "{\"timestamp_ms\":1,}", "{\"timestamp_ms\":1}}",
        "{\"timestamp_ms\":1} x", "{\"timestamp_ms\":1 \"a\":2}", "{timestamp_ms:1}", "{\"timestamp_ms\":1.}",
        "{\"timestamp_ms\":-}", "{\"timestamp_ms\":1e}", "{\"timestamp_ms\":nul}", "{\"timestamp_ms\":1,\"cpu\":{}",
        "{\"timestamp_ms\":1,\"disk\":[}", "{\"timestamp_ms\":1,\"disk\":[{}", "{\"timestamp_ms\":1,\"disk\":[{},]}",
        "{\"timestamp_ms\":1,\"job_name\":\"a}", "{\"timestamp_ms\":1,\"job_name\":\"a\\\"}",
        "{\"timestamp_ms\":1,\"job_name\":\"\\x\"}", "{\"timestamp_ms\":1,\"job_name\":\"\\u12\"}",
        "{\"timestamp_ms\":1,\"x\":tru}", "{\"timestamp_ms\":1,\"x\":[1,]}", "{\"timestamp_ms\":1,\"x\":{\"a\"}}",
        "{\"timestamp_ms\":1,\"cpu\":{\"per_core_pct\":[1 2]}}", "{\"timestamp_ms\":1,\"gpu\":[{\"detail\":{\"a\"}}]}",
        "{\"timestamp_ms\":1,\"gpu\":[{\"detail\":{1:2}}]}", "{\"timestamp_ms\":NaN}"};
    const struct json_line *json = *state;
    struct sample sample;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_int_equal(parse(state, lines[i], &sample), -EBADMSG);
    assert_int_equal(json->unknown.count, 0);
}

static void test_no_sample(void **state)
{
    const struct json_line *json = *state;
    struct sample sample;
    assert_int_equal(parse(state, "{}", &sample), -ENODATA);
    assert_int_equal(parse(state, "{\"level\":\"info\",\"job_name\":1}", &sample), -ENODATA);
    assert_int_equal(parse(state, "{\"timestamp_secs\":null}", &sample), -ENODATA);
    assert_int_equal(parse(state, "{\"timestamp_secs\":\"now\"}", &sample), -ENODATA);
    assert_int_equal(json->unknown.count, 0);
    assert_int_equal(json->mistyped, 0);
    assert_int_equal(parse(state, "{\"timestamp_secs\":5}", &sample), 0);
}

static int parse_nested(void **state, size_t depth)
{
    char line[256] = "{\"timestamp_ms\":1,\"x\":";
    size_t n = strlen(line);
    memset(line + n, '[', depth);
    memset(line + n + depth, ']', depth);
    (void)str_copy(STR("}"), line + n + 2 * depth, 2);
    struct sample sample;
    return parse(state, line, &sample);
}

static void test_depth(void **state)
{
    assert_int_equal(parse_nested(state, 32), 0);
    assert_int_equal(parse_nested(state, 33), -EBADMSG);
}

/* A line that needs more than the space there is, is refused whole; the next one is none the worse. */
static void test_room(void **state)
{
    struct buf line;
    struct sample sample;
    buf_init(&line, 4 * ROOM);
    buf_puts(&line, "{\"timestamp_ms\":1,\"gpu\":[{}");
    for (int i = 0; i < 2000; i++)
        buf_puts(&line, ",{}");
    buf_puts(&line, "]}");
    assert_int_equal(parse(state, buf_cstr(&line), &sample), -E2BIG);
    buf_clear(&line);
    buf_puts(&line, "{\"timestamp_ms\":1,\"job_name\":\"");
    for (int i = 0; i < ROOM; i++)
        buf_putc(&line, 'x');
    buf_puts(&line, "\"}");
    assert_int_equal(parse(state, buf_cstr(&line), &sample), -E2BIG);
    buf_fini(&line);
    assert_string_equal(parse_member(state, "\"job_name\":\"y\"").job_name, "y");
}

/* Everything the tables know, out and in and out again. */
static void test_round_trip(void **state)
{
    static const char *const reasons[] = {"heat"};
    static const struct str_pair pairs[] = {{"k\n", "v\x7f"}};
    static const struct opt_f64 cores[] = {{true, 12.5}, {false, 0}};
    const struct sample_gpu gpus[] = {{.uuid = "u",
        .detail = {true, 1, pairs},
        .utilization_pct = some_f64(33.3333),
        .throttle_reasons = {true, 1, reasons},
        .process_vram_bytes = some_u64(UINT64_C(80) << 30),
        .process_utilization_pct = some_f64(97.1234)}};
    static const struct str_pair tags[] = {{"team", "a"}, {"", "\xf0\x9f\x98\x80"}, {"k", ""}};
    const struct sample_process processes[] = {{some_u64(7), "a b", "sh -c \"x\"\n", some_f64(1.25), some_f64(0)},
        {.pid = some_u64(8), .name = "", .cpu_secs = some_f64(0.5)}};
    const struct sample_network networks[] = {{.interface = "e\"0", .speed_mbps = some_i64(-1)}};
    const struct sample want = {.timestamp_secs = some_i64(1),
        .timestamp_ms = some_i64(1500),
        .elapsed_secs = some_f64(0.1),
        .cpu = {.present = true, .per_core_pct = {true, 2, cores}, .load1 = some_f64(0.01)},
        .network = {true, 1, networks},
        .gpu = {true, 1, gpus},
        .processes = {true, 1, processes},
        .run = {.present = true,
            .command = {true, 1, reasons},
            .cpu_model = "A CPU",
            .cgroup_path = "/a\\b",
            .cgroup_is_own = some_bool(false),
            .metadata = {true, 1, pairs},
            .tags = {true, 3, tags}},
        .end = {.present = true,
            .signal = some_i64(9),
            .target_is_running = some_bool(true),
            .minor_faults = some_u64(0),
            .major_faults = some_u64(1),
            .voluntary_switches = some_u64(UINT64_MAX),
            .involuntary_switches = some_u64(3),
            .processes_seen = some_u64(40),
            .processes_by_cpu = {true, 2, processes}},
        .version = "1"};
    struct buf first;
    struct buf second;
    buf_init(&first, ROOM);
    buf_init(&second, ROOM);
    encoder_jsonl.sample(NULL, &want, NULL, &first);
    struct sample got;
    assert_int_equal(json_line_parse(*state, (struct str){first.data, first.len}, &got), 0);
    encoder_jsonl.sample(NULL, &got, NULL, &second);
    assert_string_equal(buf_cstr(&second), buf_cstr(&first));
    assert_string_equal(
        ((const struct str_pair *)((const struct sample_gpu *)got.gpu.items)->detail.items)->key, "k\n");
    const struct sample_process *ranked = got.end.processes_by_cpu.items;
    assert_int_equal(got.end.processes_by_cpu.count, 2);
    assert_string_equal(ranked[0].command, "sh -c \"x\"\n");
    assert_null(ranked[1].command);
    assert_string_equal(((const struct str_pair *)got.run.tags.items)[1].value, "\xf0\x9f\x98\x80");
    buf_fini(&first);
    buf_fini(&second);
}

/* Maps and nested lists that are not what they should be; a consumer gets no pointer that leads nowhere. */
static void test_odd_facts(void **state)
{
    struct sample sample;
    assert_int_equal(parse(state,
                         "{\"timestamp_ms\":1,\"run\":{\"tags\":{\"a\":1,\"b\":null,\"c\":{\"d\":[]}},\"metadata\":[],"
                         "\"cpu_model\":7,\"cgroup_is_own\":\"yes\"},\"end\":{\"processes_by_cpu\":[1,null,{\"pid\":-1,"
                         "\"command\":[\"x\"]},{}],\"processes_seen\":1.5}}",
                         &sample),
        0);
    assert_int_equal(sample.run.tags.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_null(((const struct str_pair *)sample.run.tags.items)[i].value);
    assert_false(sample.run.metadata.present);
    assert_null(sample.run.cpu_model);
    assert_false(sample.run.cgroup_is_own.has);
    assert_int_equal(sample.end.processes_by_cpu.count, 2);
    const struct sample_process *ranked = sample.end.processes_by_cpu.items;
    assert_false(ranked[0].pid.has);
    assert_null(ranked[0].command);
    assert_false(sample.end.processes_seen.has);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scalars),
        TEST(test_lists),
        TEST(test_memory_in_bytes_and_mib),
        TEST(test_any_order_and_blanks),
        TEST(test_numbers),
        TEST(test_impossible_numbers),
        TEST(test_strings),
        TEST(test_wrong_types),
        TEST(test_items_that_are_none),
        TEST(test_unknown_keys),
        TEST(test_broken),
        TEST(test_no_sample),
        TEST(test_depth),
        TEST(test_room),
        TEST(test_round_trip),
        TEST(test_odd_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
