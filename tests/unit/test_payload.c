/* SPDX-License-Identifier: Apache-2.0 */
/* What is sent to the targets, byte for byte: keys, order, what is left out, and what odd values become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "codec/json_read.h"
#include "stream/payload.h"

enum { PAYLOAD_MAX = 256 * 1024 };

static struct job_tag tags[] = {{"team", "infra"}, {"note", "a \"b\""}};
static char *command[] = {(char[]){"make"}, (char[]){"-j8"}, (char[]){"say \"hi\""}, NULL};

static struct run_facts full_facts(void)
{
    return (struct run_facts){
        .job = {.job_name = "nightly",
            .project_name = "p",
            .stage_name = "s",
            .task_name = "t",
            .team = "tm",
            .env = "prod",
            .language = "c",
            .orchestrator = "airflow",
            .executor = "k8s",
            .external_run_id = "x-1",
            .container_image = "debian:12",
            .tags = tags,
            .tag_count = 2,
            .command = command},
        .host = {.id = "i-1",
            .hostname = "box",
            .ip = "10.0.0.1",
            .cpu_model = "EPYC",
            .gpu_model = "H200",
            .server_allocation = "shared",
            .vcpus = some_u64(8),
            .memory_mib = some_u64(15000),
            .gpu_count = some_u64(2),
            .gpu_memory_mib = some_u64(140000),
            .storage_gb = some_f64(107.37418)},
        .cloud = {.vendor_id = "aws",
            .account_id = "123",
            .region_id = "eu-west-1",
            .zone_id = "eu-west-1a",
            .instance_type = "m5.large"},
        .version = "1.2.3",
        .run_id = "20261115T093000Z-abc",
        .started_secs = 1794735000,
        .pid = 4242,
        .interval_secs = 1.0,
    };
}

/* The payload as a string that must be valid JSON; to be freed. */
static char *copy_valid(struct buf *buf)
{
    struct json_doc doc = {0};
    assert_true(buf_ok(buf));
    assert_int_equal(json_doc_parse((struct str){buf->data, buf->len}, &doc), 0);
    assert_int_equal(doc.items[0].type, JSON_OBJECT);
    json_doc_fini(&doc);
    return strdup(buf_cstr(buf));
}

static char *registration(const struct run_facts *facts, const char *omit)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, PAYLOAD_MAX);
    payload_register(&buf, facts, omit);
    return copy_valid(&buf);
}

static char *run_json(const struct run_facts *facts, const char *omit)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, PAYLOAD_MAX);
    payload_run(&buf, facts, omit);
    return copy_valid(&buf);
}

#define JOB_JSON                                                                                                       \
    "\"job_name\":\"nightly\",\"project_name\":\"p\",\"stage_name\":\"s\",\"task_name\":\"t\",\"team\":\"tm\","        \
    "\"env\":\"prod\",\"language\":\"c\",\"orchestrator\":\"airflow\",\"executor\":\"k8s\","                           \
    "\"external_run_id\":\"x-1\",\"container_image\":\"debian:12\","                                                   \
    "\"tags\":{\"team\":\"infra\",\"note\":\"a \\\"b\\\"\"},"                                                          \
    "\"command\":\"[\\\"make\\\",\\\"-j8\\\",\\\"say \\\\\\\"hi\\\\\\\"\\\"]\""
#define HOST_JSON                                                                                                      \
    "\"host_id\":\"i-1\",\"host_hostname\":\"box\",\"host_ip\":\"10.0.0.1\",\"host_server_allocation\":\"shared\","    \
    "\"host_vcpus\":8,\"host_cpu_model\":\"EPYC\",\"host_memory_mib\":15000,\"host_gpu_model\":\"H200\","              \
    "\"host_gpu_count\":2,\"host_gpu_memory_mib\":140000,\"host_storage_gb\":107.3742"
#define CLOUD_JSON                                                                                                     \
    "\"cloud_vendor_id\":\"aws\",\"cloud_account_id\":\"123\",\"cloud_region_id\":\"eu-west-1\","                      \
    "\"cloud_zone_id\":\"eu-west-1a\",\"cloud_instance_type\":\"m5.large\""

static void test_register_everything(void **state)
{
    (void)state;
    struct run_facts facts = full_facts();
    AUTO_FREE char *text = registration(&facts, NULL);
    assert_string_equal(text, "{" JOB_JSON "," HOST_JSON "," CLOUD_JSON "}");
}

static void test_register_nothing(void **state)
{
    (void)state;
    struct run_facts facts = {.run_id = "ours", .pid = 7, .version = "1"};
    AUTO_FREE char *text = registration(&facts, "");
    assert_string_equal(text, "{}"); /* neither pid nor run_id: the API refuses what it does not know */
}

static void test_register_leaves_out(void **state)
{
    (void)state;
    struct job_tag odd_tags[] = {{"", "x"}, {"k", NULL}, {NULL, "x"}};
    char *no_words[] = {NULL};
    struct run_facts facts = {
        .job = {.job_name = "", .team = "t", .tags = odd_tags, .tag_count = 3, .command = no_words},
        .host = {.gpu_count = some_u64(0), .storage_gb = some_f64((double)NAN)},
        .cloud = {.zone_id = "z"},
    };
    AUTO_FREE char *text = registration(&facts, NULL);
    assert_string_equal(text, "{\"team\":\"t\",\"host_gpu_count\":0,\"cloud_zone_id\":\"z\"}");
}

static void test_register_omits(void **state)
{
    (void)state;
    struct run_facts facts = full_facts();
    AUTO_FREE char *text = registration(&facts,
        " host_ip ,host_hostname,,tags,command,host_vcpus,host_storage_gb,cloud_account_id,host_,job_name,nothing");
    assert_null(strstr(text, "10.0.0.1"));
    assert_null(strstr(text, "\"box\""));
    assert_null(strstr(text, "tags"));
    assert_null(strstr(text, "command"));
    assert_null(strstr(text, "host_vcpus"));
    assert_null(strstr(text, "host_storage_gb"));
    assert_null(strstr(text, "cloud_account_id"));
    assert_null(strstr(text, "job_name"));
    assert_non_null(strstr(text, "{\"project_name\":\"p\""));
    assert_non_null(strstr(text, "\"host_id\":\"i-1\",\"host_server_allocation\""));
    AUTO_FREE char *part = registration(&facts, "host_i,host_ip_x,ip");
    assert_non_null(strstr(part, "\"host_ip\":\"10.0.0.1\""));
}

static void test_register_any_bytes(void **state)
{
    (void)state;
    char *odd[] = {(char[]){"a\xff"}, (char[]){"\n\x01"}, (char[]){"\\"}, (char[]){""}, (char[]){"\xc3\xa4"}, NULL};
    struct run_facts facts = {.job = {.job_name = "\xff\"\\\n", .command = odd}};
    AUTO_FREE char *text = registration(&facts, NULL);
    assert_string_equal(text,
        "{\"job_name\":\"\xef\xbf\xbd\\\"\\\\\\n\",\"command\":"
        "\"[\\\"a\xef\xbf\xbd\\\",\\\"\\\\n\\\\u0001\\\",\\\"\\\\\\\\\\\",\\\"\\\",\\\"\xc3\xa4\\\"]\"}");
}

/* The array that the string holds. */
static void read_command(const char *text, struct buf *array, struct json_doc *doc)
{
    struct json_doc outer = {0};
    assert_int_equal(json_doc_parse(str_of(text), &outer), 0);
    assert_true(json_string(json_get(outer.items, "command"), array));
    json_doc_fini(&outer);
    assert_int_equal(json_doc_parse((struct str){array->data, array->len}, doc), 0);
    assert_int_equal(doc->items[0].type, JSON_ARRAY);
}

static void test_register_long_command(void **state)
{
    (void)state;
    enum { LONG = 100000, WORDS = 20000 };
    AUTO_FREE char *script = malloc(LONG + 1);
    AUTO_FREE char **many = calloc(WORDS + 1, sizeof(*many));
    assert_non_null(script);
    assert_non_null(many);
    memset(script, '"', LONG);
    script[LONG] = '\0';
    char *one[] = {(char[]){"sh"}, (char[]){"-c"}, script, (char[]){"x"}, NULL};
    char *alone[] = {script, NULL};
    for (size_t i = 0; i < WORDS; i++)
        many[i] = command[1];
    static const char *const expected[] = {"sh", "-c", "\xe2\x80\xa6"};

    AUTO_BUF struct buf array;
    buf_init(&array, PAYLOAD_MAX);
    struct json_doc doc = {0};
    struct run_facts facts = {.job.command = one};
    AUTO_FREE char *text = registration(&facts, NULL);
    read_command(text, &array, &doc);
    for (size_t i = 0; i < 3; i++) {
        char word[16];
        assert_true(json_string_copy(json_at(doc.items, i, NULL), word, sizeof(word)));
        assert_string_equal(word, expected[i]);
    }
    assert_null(json_at(doc.items, 3, NULL));
    json_doc_fini(&doc);

    facts.job.command = alone;
    AUTO_FREE char *lonely = registration(&facts, NULL);
    assert_string_equal(lonely, "{\"command\":\"[\\\"\xe2\x80\xa6\\\"]\"}");

    facts.job.command = many;
    AUTO_FREE char *cut = registration(&facts, NULL);
    buf_clear(&array);
    read_command(cut, &array, &doc);
    assert_in_range(array.len, 32 * 1024 - 32, 32 * 1024);
    assert_string_equal(buf_cstr(&array) + array.len - 12, "\"-j8\",\"\xe2\x80\xa6\"]");
    json_doc_fini(&doc);
}

static void test_register_without_room(void **state)
{
    (void)state;
    struct run_facts facts = full_facts();
    AUTO_BUF struct buf buf;
    buf_init(&buf, 100);
    payload_register(&buf, &facts, NULL);
    assert_false(buf_ok(&buf));
}

static void test_end(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, PAYLOAD_MAX);
    struct end_facts end = {.exit_code = some_i64(0), .finished_secs = 1794735000};
    payload_end(&buf, &end);
    assert_string_equal(
        buf_cstr(&buf), "\"exit_code\":0,\"run_status\":\"finished\",\"finished_at\":\"2026-11-15T09:30:00Z\"");
    buf_clear(&buf);
    end = (struct end_facts){.exit_code = some_i64(-9), .is_failed = true};
    payload_end(&buf, &end);
    assert_string_equal(
        buf_cstr(&buf), "\"exit_code\":-9,\"run_status\":\"failed\",\"finished_at\":\"1970-01-01T00:00:00Z\"");
    buf_clear(&buf);
    end = (struct end_facts){.is_failed = true, .finished_secs = 1794735000};
    payload_end(&buf, &end);
    assert_string_equal(buf_cstr(&buf), "\"run_status\":\"failed\",\"finished_at\":\"2026-11-15T09:30:00Z\"");
}

static void test_run(void **state)
{
    (void)state;
    struct run_facts facts = full_facts();
    AUTO_FREE char *text = run_json(&facts, NULL);
    assert_string_equal(text,
        "{\"run_id\":\"20261115T093000Z-abc\",\"started_at\":\"2026-11-15T09:30:00Z\",\"version\":\"1.2.3\","
        "\"pid\":4242,\"interval_secs\":1.0,\"job\":{" JOB_JSON "},\"host\":{" HOST_JSON "},\"cloud\":{" CLOUD_JSON
        "}}");
    AUTO_FREE char *open = run_json(&facts, "host_ip,run_id,version,job");
    assert_null(strstr(open, "host_ip"));
    assert_non_null(strstr(open, "{\"run_id\":\"20261115T093000Z-abc\"")); /* what identifies the run stays */
    assert_non_null(strstr(open, "\"job\":{\"job_name\""));
}

static void test_run_empty(void **state)
{
    (void)state;
    struct run_facts facts = {.run_id = "r", .version = "1", .cloud = {.account_id = "1"}};
    AUTO_FREE char *text = run_json(&facts, "cloud_account_id");
    assert_string_equal(text, "{\"run_id\":\"r\",\"started_at\":\"1970-01-01T00:00:00Z\",\"version\":\"1\"}");
}

static char *hook(const struct run_facts *facts, const struct payload_event *event, const char *omit)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, PAYLOAD_MAX);
    payload_put_event(&buf, facts, event, omit);
    return copy_valid(&buf);
}

static void test_hook(void **state)
{
    (void)state;
    struct run_facts facts = full_facts();
    struct payload_event event = {.event = "start", .now_secs = 1794735000, .elapsed_secs = 0};
    AUTO_FREE char *start = hook(&facts, &event, NULL);
    assert_string_equal(start, "{\"event\":\"start\",\"run_id\":\"20261115T093000Z-abc\",\"job_name\":\"nightly\","
                               "\"hostname\":\"box\",\"pid\":4242,\"timestamp\":\"2026-11-15T09:30:00Z\","
                               "\"elapsed_secs\":0.0}");
    struct end_facts end = {.exit_code = some_i64(1), .is_failed = true, .finished_secs = 1};
    event = (struct payload_event){.event = "stop", .now_secs = 1794735060, .elapsed_secs = 60.25, .end = &end};
    facts.pid = 0;
    AUTO_FREE char *stop = hook(&facts, &event, "host_hostname,job_name");
    assert_string_equal(stop, "{\"event\":\"stop\",\"run_id\":\"20261115T093000Z-abc\","
                              "\"timestamp\":\"2026-11-15T09:31:00Z\",\"elapsed_secs\":60.25,\"exit_code\":1,"
                              "\"run_status\":\"failed\"}");
    end = (struct end_facts){0};
    AUTO_FREE char *unknown = hook(&facts, &event, "host_hostname,job_name");
    assert_non_null(strstr(unknown, "\"elapsed_secs\":60.25,\"run_status\":\"finished\"}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_register_everything),
        cmocka_unit_test(test_register_nothing),
        cmocka_unit_test(test_register_leaves_out),
        cmocka_unit_test(test_register_omits),
        cmocka_unit_test(test_register_any_bytes),
        cmocka_unit_test(test_register_long_command),
        cmocka_unit_test(test_register_without_room),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_run_empty),
        cmocka_unit_test(test_hook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
