/* SPDX-License-Identifier: Apache-2.0 */
/* What this version does not have, and what the command gets to see of the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "config_given.h"

static void assert_notice(const struct given *given, bool fatal, const char *text)
{
    struct config config;
    given_ok(given, &config);
    struct config_notice notice;
    if (!text) {
        assert_false(config_unavailable(&config, 0, &notice));
    } else {
        assert_true(config_unavailable(&config, 0, &notice));
        assert_string_equal(notice.text, text);
        assert_int_equal(notice.fatal, fatal);
        assert_false(config_unavailable(&config, 1, &notice));
    }
    config_fini(&config);
}

static void test_unavailable_modes(void **state)
{
    (void)state;
    assert_notice(GIVEN(.args = {"--from=x"}), true,
        "from = x (from --from): replaying a recording is not available in this version (" RT_VERSION ")");
    assert_notice(GIVEN(.args = {"--live"}), true,
        "live = true (from --live): the live view is not available in this version (" RT_VERSION ")");
    assert_notice(GIVEN(.args = {"--doctor"}), true, "--doctor is not available in this version (" RT_VERSION ")");
    assert_notice(
        GIVEN(.args = {"--upload-spool"}), true, "--upload-spool is not available in this version (" RT_VERSION ")");
    assert_notice(GIVEN(.args = {"--licenses"}), true, "--licenses is not available in this version (" RT_VERSION ")");
}

#define NO_STREAMING "streaming is not available in version " RT_VERSION "; the setting has no effect"
#define NO_METADATA                                                                                                    \
    "job metadata other than the name is for streaming, which is not available in version " RT_VERSION                 \
    "; the setting has no effect"

static void test_unavailable_settings(void **state)
{
    (void)state;
    assert_notice(GIVEN(.args = {"--report", "run.html"}), false,
        "report = run.html (from --report): reports are not available in version " RT_VERSION
        "; the setting has no effect");
    assert_notice(GIVEN(.file = "[collect]\ncloud = true"), false,
        "cloud = true (from resource-tracker.toml:2:9): cloud discovery is not available in version " RT_VERSION
        "; the setting has no effect");
    assert_notice(GIVEN(.env = {"SENTINEL_API_KEY=hush"}), false, "SENTINEL_API_KEY is set: " NO_STREAMING);
    assert_notice(GIVEN(.env = {"TRACKER_HTTP_STOP_URL=https://me:hush@h/x"}), false,
        "TRACKER_HTTP_STOP_URL is set: " NO_STREAMING);
    struct config config;
    struct config_notice notice;
    given_ok(GIVEN(.args = {"--report=r", "--grace=1", "--live", "true"}), &config);
    assert_true(config_unavailable(&config, 0, &notice) && notice.fatal);
    assert_true(config_unavailable(&config, 1, &notice) && !notice.fatal);
    assert_true(config_unavailable(&config, 2, &notice) && !notice.fatal);
    assert_false(config_unavailable(&config, 3, &notice));
    config_fini(&config);
}

static void test_unavailable_details(void **state)
{
    (void)state;
    assert_notice(GIVEN(.args = {"--grace=5"}), false, "grace_secs = 5 (from --grace): " NO_STREAMING);
    assert_notice(GIVEN(.env = {"SENTINEL_API_URL=https://me:hush@h/x?hush"}), false,
        "SENTINEL_API_URL = https://h/x?... (from SENTINEL_API_URL): " NO_STREAMING);
    assert_notice(GIVEN(.env = {"TRACKER_UPLOAD_INTERVAL=90s"}), false,
        "upload_interval_secs = 90 (from TRACKER_UPLOAD_INTERVAL): " NO_STREAMING);
    assert_notice(GIVEN(.env = {"TRACKER_S3_PATH_STYLE=1"}), false,
        "path_style = true (from TRACKER_S3_PATH_STYLE): " NO_STREAMING);
    assert_notice(GIVEN(.env = {"TRACKER_HTTP_HEARTBEAT_SECS=2"}), false,
        "heartbeat_secs = 2 (from TRACKER_HTTP_HEARTBEAT_SECS): " NO_STREAMING);
    assert_notice(
        GIVEN(.env = {"TRACKER_ALLOW_HTTP=1"}), false, "allow_http = true (from TRACKER_ALLOW_HTTP): " NO_STREAMING);
    assert_notice(GIVEN(.env = {"TRACKER_SPOOL_MAX_MIB=7"}), false,
        "spool_max_mib = 7 (from TRACKER_SPOOL_MAX_MIB): " NO_STREAMING);
    assert_notice(GIVEN(.file = "[s3]\nregion = \"eu-1\""), false,
        "region = eu-1 (from resource-tracker.toml:2:10): " NO_STREAMING);
    assert_notice(GIVEN(.file = "[s3]\nendpoint = \"https://me:hush@h\""), false,
        "endpoint = https://h (from resource-tracker.toml:2:12): " NO_STREAMING);
}

static void test_unavailable_metadata(void **state)
{
    (void)state;
    static const char *const names[] = {"project-name", "stage-name", "task-name", "team", "env", "language",
        "orchestrator", "executor", "external-run-id", "container-image"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char flag[64], text[256];
        (void)snprintf(flag, sizeof(flag), "--%s=x", names[i]);
        const char *name = option_name(&options[options_by_flag(str_of(names[i]))]);
        (void)snprintf(text, sizeof(text), "%s = x (from --%s): " NO_METADATA, name, names[i]);
        assert_notice(GIVEN(.args = {flag}), false, text);
    }
}

/* One line for all pairs of a setting, and none of their values. */
static void test_unavailable_pairs(void **state)
{
    (void)state;
    assert_notice(GIVEN(.args = {"--tag=a=b", "--tag=c=d"}, .env = {"TRACKER_TAGS=e=f"}), false,
        "tags are set (from --tag): " NO_METADATA);
    assert_notice(GIVEN(.file = "[job.tags]\na = 1\nb = 2"), false,
        "tags are set (from resource-tracker.toml:3:5): " NO_METADATA);
    assert_notice(GIVEN(.file = "[job.tags]"), false, NULL);
    assert_notice(GIVEN(.env = {"TRACKER_HTTP_HEADERS=X-Key=hush,Y=hush"}), false,
        "headers are set (from TRACKER_HTTP_HEADERS): " NO_STREAMING);
}

static void test_environment_of_the_command(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.args = {"true"}), &config);
    assert_non_null(config.settings.environment);
    assert_null(config.settings.environment[0]);
    config_fini(&config);
    given_ok(GIVEN(.args = {"true"}, .env = {"A=1", "SENTINEL_API_TOKEN=hush", "SENTINEL_API_TOKENS=mine",
                                         "TRACKER_HTTP_HEADERS=X=hush", "SENTINEL_API_KEY=", "TRACKER_QUIET=1"}),
        &config);
    char *const *environment = config.settings.environment;
    assert_string_equal(environment[0], "A=1");
    assert_string_equal(environment[1], "SENTINEL_API_TOKENS=mine");
    assert_string_equal(environment[2], "TRACKER_QUIET=1");
    assert_null(environment[3]);
    config_fini(&config);
    /* Helpers of ours get the same, with a command or without. */
    given_ok(GIVEN(.env = {"A=1", "SENTINEL_API_TOKEN=hush"}), &config);
    assert_string_equal(config.settings.environment[0], "A=1");
    assert_null(config.settings.environment[1]);
    config_fini(&config);
}

static void test_accepted_silently(void **state)
{
    (void)state;
    assert_notice(GIVEN(.args = {"--cgroup", "--no-subreaper", "--no-live", "--summary=never", "true"},
                      .env = {"TRACKER_ALLOW_HTTP=0", "TRACKER_S3_PATH_STYLE=0", "TRACKER_AUTO_METADATA=0"},
                      .file = "[collect]\ngpu = false\ncloud = false\npss = \"always\""),
        false, NULL);
    assert_notice(GIVEN(.args = {"--pid=1", "--stop-with-pid"}), false, NULL);
    assert_notice(GIVEN(.env = {"AWS_REGION=eu-1", "AWS_ENDPOINT_URL=http://x", "TRACKER_JOB_NAME=x",
                            "TRACKER_COLLECT_DISK=0", "TRACKER_TEAM=", "TRACKER_TAGS="}),
        false, NULL);
    assert_notice(GIVEN(.env = {"AWS_DEFAULT_REGION=eu-1", "AWS_ENDPOINT_URL_S3=http://x"}), false, NULL);
}

/* The longest value and path leave room for the whole sentence. */
static void test_notice_is_never_cut(void **state)
{
    (void)state;
    char path[200], text[401];
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    (void)snprintf(text, sizeof(text), "[job]\nexternal_run_id = \"%0300d\"\n", 0);
    given_write(path, text, strlen(text));
    struct config config;
    struct config_notice notice;
    given_ok(GIVEN(.args = {"-c", path}), &config);
    (void)unlink(path);
    assert_true(config_unavailable(&config, 0, &notice));
    assert_non_null(strstr(notice.text, "000... (from ...ppp"));
    assert_string_equal(notice.text + strlen(notice.text) - strlen(NO_METADATA), NO_METADATA);
    config_fini(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unavailable_modes),
        cmocka_unit_test(test_unavailable_settings),
        cmocka_unit_test(test_unavailable_details),
        cmocka_unit_test(test_unavailable_metadata),
        cmocka_unit_test(test_unavailable_pairs),
        cmocka_unit_test(test_environment_of_the_command),
        cmocka_unit_test(test_accepted_silently),
        cmocka_unit_test(test_notice_is_never_cut),
    };
    return cmocka_run_group_tests_name("config notice", tests, NULL, NULL);
}
