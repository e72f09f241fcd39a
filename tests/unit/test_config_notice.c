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
    assert_notice(GIVEN(.args = {"--licenses"}), true, "--licenses is not available in this version (" RT_VERSION ")");
}

#define NO_SUMMARIES "summaries are not available in version " RT_VERSION "; the setting has no effect"
#define NO_REPORTS "reports are not available in version " RT_VERSION "; the setting has no effect"

static void test_unavailable_settings(void **state)
{
    (void)state;
    assert_notice(GIVEN(.args = {"--report", "run.html"}), false, "report = run.html (from --report): " NO_REPORTS);
    assert_notice(GIVEN(.args = {"--summary"}), false, "summary = always (from --summary): " NO_SUMMARIES);
    assert_notice(
        GIVEN(.env = {"TRACKER_SUMMARY=auto"}), false, "summary = auto (from TRACKER_SUMMARY): " NO_SUMMARIES);
    assert_notice(GIVEN(.file = "[tracker]\nsummary_json = \"s\\u001b.json\""), false,
        "summary_json = s\\x1b.json (from resource-tracker.toml:2:16): " NO_SUMMARIES);
    assert_notice(GIVEN(.env = {"TRACKER_SUMMARY_MARKDOWN=s.md"}), false,
        "summary_markdown = s.md (from TRACKER_SUMMARY_MARKDOWN): " NO_SUMMARIES);
    struct config config;
    struct config_notice notice;
    given_ok(GIVEN(.args = {"--report=r", "--summary-json=s", "--live", "true"}), &config);
    assert_true(config_unavailable(&config, 0, &notice) && notice.fatal);
    assert_true(config_unavailable(&config, 1, &notice) && !notice.fatal);
    assert_true(config_unavailable(&config, 2, &notice) && !notice.fatal);
    assert_false(config_unavailable(&config, 3, &notice));
    config_fini(&config);
}

/* What came with streaming: nothing is said about it. */
static void test_available_now(void **state)
{
    (void)state;
    assert_notice(
        GIVEN(.args = {"--grace=1", "--team=x", "--tag=a=b", "--env=x", "--external-run-id=x", "--language=x"},
            .env = {"SENTINEL_API_TOKEN=hush", "SENTINEL_API_URL=https://h/", "TRACKER_S3_URI=s3://b/p",
                "TRACKER_HTTP_STOP_URL=https://h/x", "TRACKER_HTTP_HEADERS=X-Key=hush", "TRACKER_SPOOL=/s",
                "TRACKER_OMIT=host_ip"},
            .file = "[collect]\ncloud = true\n[job]\nauto_metadata = true\n[s3]\nregion = \"eu-1\""),
        false, NULL);
    assert_notice(GIVEN(.args = {"--upload-spool"}), false, NULL);
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
    (void)snprintf(text, sizeof(text), "[tracker]\nsummary_markdown = \"%0300d\"\n", 0);
    given_write(path, text, strlen(text));
    struct config config;
    struct config_notice notice;
    given_ok(GIVEN(.args = {"-c", path}), &config);
    (void)unlink(path);
    assert_true(config_unavailable(&config, 0, &notice));
    assert_non_null(strstr(notice.text, "000... (from ...ppp"));
    assert_string_equal(notice.text + strlen(notice.text) - strlen(NO_SUMMARIES), NO_SUMMARIES);
    config_fini(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unavailable_modes),
        cmocka_unit_test(test_unavailable_settings),
        cmocka_unit_test(test_available_now),
        cmocka_unit_test(test_environment_of_the_command),
        cmocka_unit_test(test_accepted_silently),
        cmocka_unit_test(test_notice_is_never_cut),
    };
    return cmocka_run_group_tests(tests, given_enter_directory, given_leave_directory);
}
