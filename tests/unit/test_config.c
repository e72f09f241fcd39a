/* SPDX-License-Identifier: Apache-2.0 */
/* Sources and their order, the command line, the file, and what this version does not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/clock.h"
#include "config_given.h"

static void test_precedence(void **state)
{
    (void)state;
    static const char file[] = "[tracker]\ninterval_secs = 4\n";
    static const struct {
        struct given given;
        int64_t secs;
        enum option_source source;
    } cases[] = {
        {{.file = NULL}, 1, SOURCE_DEFAULT},
        {{.file = file}, 4, SOURCE_FILE},
        {{.env = {"TRACKER_INTERVAL=3"}}, 3, SOURCE_ENV},
        {{.args = {"-i2"}}, 2, SOURCE_FLAG},
        {{.file = file, .env = {"TRACKER_INTERVAL=3"}}, 3, SOURCE_ENV},
        {{.file = file, .args = {"-i2"}}, 2, SOURCE_FLAG},
        {{.env = {"TRACKER_INTERVAL=3"}, .args = {"-i2"}}, 2, SOURCE_FLAG},
        {{.file = file, .env = {"TRACKER_INTERVAL=3"}, .args = {"-i2", "-i", "7"}}, 7, SOURCE_FLAG},
        {{.env = {"TRACKER_INTERVAL="}}, 1, SOURCE_DEFAULT},
        {{.file = file, .env = {"TRACKER_INTERVAL="}}, 4, SOURCE_FILE},
        {{.env = {"TRACKER_INTERVALL=9", "XTRACKER_INTERVAL=9", "TRACKER_INTERVAL"}}, 1, SOURCE_DEFAULT},
    };
    size_t row = options_by_flag(STR("interval"));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct config config;
        given_ok(&cases[i].given, &config);
        assert_int_equal(config.settings.interval_ns, cases[i].secs * NS_PER_SEC);
        assert_int_equal(config.origins[row].source, cases[i].source);
        config_fini(&config);
    }
}

static void test_overridden_values_are_checked(void **state)
{
    (void)state;
    given_refused(GIVEN(.env = {"TRACKER_INTERVAL=0"}, .args = {"-i1"}),
        "interval_secs = 0 (from TRACKER_INTERVAL): must be at least 0.01");
    given_refused(GIVEN(.file = "tracker.interval_secs = 0", .args = {"-i1"}),
        "interval_secs = 0 (from resource-tracker.toml:1:25): must be at least 0.01");
}

static void test_switches(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.env = {"TRACKER_APPEND=1", "TRACKER_QUIET=1", "TRACKER_CGROUP=1"},
                 .args = {"--no-append", "--quiet=off", "--no-subreaper"}),
        &config);
    assert_false(config.settings.append);
    assert_false(config.settings.quiet);
    assert_true(config.settings.cgroup);
    assert_false(config.settings.subreaper);
    config_fini(&config);
    given_ok(GIVEN(.args = {"--no-append", "--append", "-qv", "-vv"}), &config);
    assert_true(config.settings.append);
    assert_true(config.settings.quiet);
    assert_int_equal(config.settings.verbosity, 2);
    config_fini(&config);
}

static void test_summary_argument_is_optional(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.args = {"--summary", "never"}), &config);
    assert_int_equal(config.settings.summary, WHEN_ALWAYS);
    assert_string_equal(config.settings.command[0], "never");
    config_fini(&config);
    given_ok(GIVEN(.args = {"--summary=never"}), &config);
    assert_int_equal(config.settings.summary, WHEN_NEVER);
    assert_null(config.settings.command);
    config_fini(&config);
}

static void test_empty_texts(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.env = {"TRACKER_JOB_NAME=x", "TRACKER_TEAM="}, .args = {"--job-name="}), &config);
    assert_null(config.settings.job_name);
    assert_null(config.settings.team);
    config_fini(&config);
    given_refused(GIVEN(.args = {"--output", ""}), "output = \"\" (from --output): must not be empty");
    given_refused(GIVEN(.file = "[tracker]\nsysroot = \"\""),
        "sysroot = \"\" (from resource-tracker.toml:2:11): must not be empty");
}

static void test_second_variable(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.env = {"SENTINEL_API_KEY=key", "SENTINEL_API_TOKEN=token"}), &config);
    assert_string_equal(config.settings.sentinel_token, "token");
    config_fini(&config);
    given_ok(GIVEN(.env = {"SENTINEL_API_KEY=key", "SENTINEL_API_TOKEN="}), &config);
    assert_string_equal(config.settings.sentinel_token, "key");
    config_fini(&config);
}

static void assert_command(const struct given *given, const char *const *want)
{
    struct config config;
    given_ok(given, &config);
    assert_non_null(config.settings.command);
    size_t i = 0;
    for (; want[i]; i++)
        assert_string_equal(config.settings.command[i], want[i]);
    assert_null(config.settings.command[i]);
    config_fini(&config);
}

static void test_command(void **state)
{
    (void)state;
    static const char *const plain[] = {"python", "-i", "--interval", "x", "--", "-q", NULL};
    assert_command(GIVEN(.args = {"-q", "python", "-i", "--interval", "x", "--", "-q"}), plain);
    assert_command(GIVEN(.args = {"-q", "--", "python", "-i", "--interval", "x", "--", "-q"}), plain);
    static const char *const bytes[] = {"\xff\xfe\x01\n", "", " a\tb ", NULL};
    assert_command(GIVEN(.args = {"--", "\xff\xfe\x01\n", "", " a\tb "}), bytes);
    static const char *const dashes[] = {"--help", NULL};
    assert_command(GIVEN(.args = {"--", "--help"}), dashes);
    static const char *const dash[] = {"-", "x", NULL};
    assert_command(GIVEN(.args = {"-", "x"}), dash);
    static const char *const empty[] = {"", NULL};
    assert_command(GIVEN(.args = {""}), empty);

    struct config config;
    given_ok(GIVEN(.args = {"--output", "--"}), &config);
    assert_string_equal(config.settings.output, "--");
    assert_null(config.settings.command);
    config_fini(&config);
    given_refused(GIVEN(.args = {"-q", "--"}), "no command follows \"--\"");
}

/* The words themselves, not copies, and argv in its order. */
static void test_command_points_into_argv(void **state)
{
    (void)state;
    char name[] = "rt", quiet[] = "-q", command[] = "run", flag[] = "-i", value[] = "abc";
    char *argv[] = {name, quiet, command, flag, value, NULL};
    char *env[] = {NULL};
    struct config config;
    struct err err;
    assert_int_equal(config_load(5, argv, env, &config, &err), 0);
    assert_ptr_equal(config.settings.command, argv + 2);
    assert_ptr_equal(argv[2], command);
    assert_ptr_equal(argv[3], flag);
    assert_ptr_equal(argv[4], value);
    config_fini(&config);
}

static void test_unknown_options(void **state)
{
    (void)state;
    given_refused(GIVEN(.args = {"--intervall", "3"}), "unknown option \"--intervall\", did you mean \"--interval\"?");
    given_refused(GIVEN(.args = {"--intervall=3"}), "unknown option \"--intervall\", did you mean \"--interval\"?");
    given_refused(GIVEN(.args = {"--int", "3"}), "unknown option \"--int\", did you mean \"--interval\"?");
    given_refused(GIVEN(.args = {"--interva"}), "unknown option \"--interva\", did you mean \"--interval\"?");
    given_refused(
        GIVEN(.args = {"--no-subreper"}), "unknown option \"--no-subreper\", did you mean \"--no-subreaper\"?");
    given_refused(GIVEN(.args = {"--wat-is-this"}), "unknown option \"--wat-is-this\"; see --help");
    given_refused(GIVEN(.args = {"--a\nb"}), "unknown option \"--a\\x0ab\"; see --help");
    given_refused(GIVEN(.args = {"-x"}), "unknown option \"-x\"; see --help");
    given_refused(GIVEN(.args = {"-qxv"}), "unknown option \"-x\"; see --help");
    given_refused(GIVEN(.args = {"-\xff"}), "unknown option \"-\\xff\"; see --help");
    given_refused(GIVEN(.args = {"-i"}), "option -i needs a value: -i SECS");
    given_refused(GIVEN(.args = {"--output"}), "option --output needs a value: --output FILE");
    given_refused(GIVEN(.args = {"--no-append=1"}), "option --no-append takes no value");
    given_refused(GIVEN(.args = {"--print-config=1"}), "option --print-config takes no value");
    given_refused(GIVEN(.args = {"--doctor=x"}), "option --doctor takes no other value than \"online\"");
    given_refused(GIVEN(.args = {"--token=hush"}), "unknown option \"--token\"; see --help");
}

static void test_actions(void **state)
{
    (void)state;
    static const struct {
        const char *args[3];
        enum config_action action;
    } cases[] = {{{NULL}, CONFIG_RUN}, {{"-h"}, CONFIG_HELP}, {{"--help", "--nonsense"}, CONFIG_HELP},
        {{"-V"}, CONFIG_VERSION}, {{"--version"}, CONFIG_VERSION}, {{"--print-config"}, CONFIG_PRINT},
        {{"--doctor"}, CONFIG_DOCTOR}, {{"--doctor=online"}, CONFIG_DOCTOR}, {{"--upload-spool"}, CONFIG_UPLOAD_SPOOL},
        {{"--licenses"}, CONFIG_LICENSES}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct config config;
        given_ok(GIVEN(.args = {cases[i].args[0], cases[i].args[1]}), &config);
        assert_int_equal(config.action, cases[i].action);
        assert_int_equal(config.doctor_online, i == 7);
        config_fini(&config);
    }
    struct config config;
    given_ok(GIVEN(.file = "broken [", .env = {"TRACKER_INTERVAL=x"}, .args = {"--help"}), &config);
    assert_int_equal(config.action, CONFIG_HELP);
    config_fini(&config);
}

static void test_modes_exclude_each_other(void **state)
{
    (void)state;
    given_refused(GIVEN(.args = {"-p5", "true"}), "pid = 5 (from --pid): cannot be combined with a command");
    given_refused(GIVEN(.env = {"TRACKER_PID=5"}, .args = {"true"}),
        "pid = 5 (from TRACKER_PID): cannot be combined with a command");
    given_refused(GIVEN(.args = {"--from=x", "true"}), "from = x (from --from): cannot be combined with a command");
    given_refused(GIVEN(.args = {"--from=x", "-p1"}), "from = x (from --from): cannot be combined with --pid");
}

static void test_unknown_keys(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[tracker]\n\nintervall_secs = 1",
            "unknown key \"tracker.intervall_secs\" (resource-tracker.toml:3:1), did you mean "
            "\"tracker.interval_secs\"?"},
        {"interval_secs = 1",
            "unknown key \"interval_secs\" (resource-tracker.toml:1:1), did you mean \"tracker.interval_secs\"?"},
        {"[trackr]\ninterval_secs = 1",
            "unknown table \"trackr\" (resource-tracker.toml:1:2), did you mean \"tracker\"?"},
        {"wat = 1", "unknown key \"wat\" (resource-tracker.toml:1:1)"},
        {"[something.else]\nx = 1", "unknown table \"something\" (resource-tracker.toml:1:2)"},
        {"\"tracker.interval_secs\" = 4",
            "unknown key \"\"tracker.interval_secs\"\" (resource-tracker.toml:1:1), did you mean "
            "\"tracker.interval_secs\"?"},
        {"\"a\\nb\" = 4", "unknown key \"a\\x0ab\" (resource-tracker.toml:1:1)"},
        {"[sentinel]\ntoken = \"hush\"", "unknown table \"sentinel\" (resource-tracker.toml:1:2)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct config config;
        given_ok(GIVEN(.file = cases[i][0]), &config);
        assert_int_equal(config.warning_count, 1);
        assert_string_equal(config.warnings[0], cases[i][1]);
        assert_int_equal(config.settings.interval_ns, NS_PER_SEC);
        config_fini(&config);
    }
    struct config config;
    given_ok(GIVEN(.file = "a=1\nb=1\nc=1\nd=1\ne=1\nf=1\ng=1\nh=1\ni=1\nj=1\nk=1\nl=1\nm=1\nn=1\no=1\np=1\nq=1\nr=1"),
        &config);
    assert_int_equal(config.warning_count, CONFIG_WARNINGS_MAX);
    assert_int_equal(config.warnings_dropped, 2);
    config_fini(&config);
}

static void test_file(void **state)
{
    (void)state;
    given_refused(
        GIVEN(.file = "[tracker]\n\nformat =       "), "resource-tracker.toml:3:16: expected a value after '='");
    given_refused(GIVEN(.args = {"-c", "/"}), "cannot read the configuration file /: Is a directory");
    given_refused(GIVEN(.env = {"TRACKER_CONFIG=/"}), "cannot read the configuration file /: Is a directory");
    given_refused(GIVEN(.args = {"--config="}), "config = \"\" (from --config): must not be empty");
    struct config config;
    given_ok(GIVEN(.args = {"-c", "missing.toml"}), &config);
    assert_false(config.file_found);
    config_fini(&config);
    given_ok(GIVEN(.env = {"TRACKER_CONFIG=/dev/null/x"}), &config);
    assert_false(config.file_found);
    config_fini(&config);
    given_ok(GIVEN(.file = "job.name = \"here\"", .args = {"-c", "missing.toml"}), &config);
    assert_null(config.settings.job_name);
    config_fini(&config);
    given_ok(
        GIVEN(.file = "job.name = \"here\"", .env = {"TRACKER_CONFIG=missing"}, .args = {"-c", GIVEN_FILE}), &config);
    assert_true(config.file_found);
    assert_string_equal(config.settings.job_name, "here");
    config_fini(&config);
    given_ok(GIVEN(.file = ""), &config);
    assert_true(config.file_found);
    config_fini(&config);
}

static void test_file_size(void **state)
{
    (void)state;
    enum { LIMIT = 1024 * 1024 };
    char *text = malloc(LIMIT + 2);
    assert_non_null(text);
    memset(text, '\n', LIMIT + 1);
    text[LIMIT + 1] = '\0';
    given_refused(GIVEN(.file = text), "configuration file resource-tracker.toml is larger than 1 MiB");
    text[LIMIT] = '\0';
    struct config config;
    given_ok(GIVEN(.file = text), &config);
    assert_true(config.file_found);
    config_fini(&config);
    free(text);
}

static void test_long_messages(void **state)
{
    (void)state;
    char path[400];
    memset(path, 'd', sizeof(path));
    memcpy(path, "./", 2);
    memcpy(path + 250, "/end.toml", 10);
    path[250] = '\0';
    assert_int_equal(mkdir(path, 0700), 0);
    path[250] = '/';
    static const char text[] =
        "[tracker]\ninterval_secs = \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"\n";
    given_write(path, text, sizeof(text) - 1);
    struct config config;
    struct err err;
    int r = given_load(GIVEN(.args = {"-c", path}), &config, &err);
    (void)unlink(path);
    path[250] = '\0';
    (void)rmdir(path);
    assert_int_equal(r, -EINVAL);
    assert_string_equal(err.msg,
        "interval_secs = \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa... (from "
        "...dddddddddddddddddddddddddddddddddddd/end.toml:2:17): not a duration; use seconds or a unit, for example "
        "0.5, 250ms, 2s, 1m");
}

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
    assert_notice(GIVEN(.args = {"true"}), true,
        "tracking a command is not available in this version (" RT_VERSION
        "); it tracks the host: run resource-tracker without a command");
    assert_notice(GIVEN(.args = {"-p1"}), true,
        "pid = 1 (from --pid): tracking a process is not available in this version (" RT_VERSION ")");
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
#define NO_COMMAND "tracking a command is not available in version " RT_VERSION "; the setting has no effect"

static void test_unavailable_settings(void **state)
{
    (void)state;
    assert_notice(GIVEN(.args = {"--report", "run.html"}), false,
        "report = run.html (from --report): reports are not available in version " RT_VERSION
        "; the setting has no effect");
    assert_notice(GIVEN(.file = "[collect]\ngpu = true"), false,
        "gpu = true (from resource-tracker.toml:2:7): GPU sampling is not available in version " RT_VERSION
        "; the setting has no effect");
    assert_notice(GIVEN(.env = {"SENTINEL_API_KEY=hush"}), false, "SENTINEL_API_KEY is set: " NO_STREAMING);
    assert_notice(GIVEN(.env = {"TRACKER_HTTP_STOP_URL=https://me:hush@h/x"}), false,
        "TRACKER_HTTP_STOP_URL is set: " NO_STREAMING);
    struct config config;
    struct config_notice notice;
    given_ok(GIVEN(.args = {"--report=r", "--cgroup", "true"}), &config);
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
    assert_notice(GIVEN(.args = {"--no-subreaper"}), false, "subreaper = false (from --no-subreaper): " NO_COMMAND);
    assert_notice(
        GIVEN(.env = {"TRACKER_SUBREAPER=1"}), false, "subreaper = true (from TRACKER_SUBREAPER): " NO_COMMAND);
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

static void test_accepted_silently(void **state)
{
    (void)state;
    assert_notice(GIVEN(.args = {"--no-cgroup", "--no-live", "--summary=never", "--no-stop-with-pid"},
                      .env = {"TRACKER_ALLOW_HTTP=0", "TRACKER_S3_PATH_STYLE=0", "TRACKER_AUTO_METADATA=0"},
                      .file = "[collect]\ngpu = false\ncloud = false\npss = \"never\""),
        false, NULL);
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
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_overridden_values_are_checked),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_summary_argument_is_optional),
        cmocka_unit_test(test_empty_texts),
        cmocka_unit_test(test_second_variable),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_command_points_into_argv),
        cmocka_unit_test(test_unknown_options),
        cmocka_unit_test(test_actions),
        cmocka_unit_test(test_modes_exclude_each_other),
        cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_file_size),
        cmocka_unit_test(test_long_messages),
        cmocka_unit_test(test_unavailable_modes),
        cmocka_unit_test(test_unavailable_settings),
        cmocka_unit_test(test_unavailable_details),
        cmocka_unit_test(test_unavailable_metadata),
        cmocka_unit_test(test_unavailable_pairs),
        cmocka_unit_test(test_accepted_silently),
        cmocka_unit_test(test_notice_is_never_cut),
    };
    return cmocka_run_group_tests(tests, given_enter_directory, given_leave_directory);
}
