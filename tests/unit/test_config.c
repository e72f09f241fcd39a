/* SPDX-License-Identifier: Apache-2.0 */
/* Sources and their order, the command line, the file. */
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
    size_t row = ROW_interval_ns;
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
    given_refused(GIVEN(.args = {"-q", "--"}), "missing command after \"--\"");
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
    given_refused(GIVEN(.args = {"--jsn"}), "unknown option \"--jsn\", did you mean \"--format json\"?");
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
    given_refused(GIVEN(.args = {"--doctor=x"}), "option --doctor only accepts the value \"online\"");
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
        assert_int_equal(config.is_help_short, i == 1);
        config_fini(&config);
    }
    struct config config;
    given_ok(GIVEN(.file = "broken [", .env = {"TRACKER_INTERVAL=x"}, .args = {"--help"}), &config);
    assert_int_equal(config.action, CONFIG_HELP);
    config_fini(&config);
}

/* Neither the file nor another variable counts: a mark must not fail. */
static void test_marks(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.file = "broken [", .env = {"TRACKER_INTERVAL=x", "TRACKER_SOCKET=/run/s"},
                 .args = {"--end", "load", "--begin=-v", "--mark", ""}),
        &config);
    assert_int_equal(config.action, CONFIG_MARK);
    assert_string_equal(config.marks.socket, "/run/s");
    assert_int_equal(config.marks.count, 3);
    assert_string_equal(config.marks.items[0].kind, "end");
    assert_string_equal(config.marks.items[0].name, "load");
    assert_string_equal(config.marks.items[1].kind, "begin");
    assert_string_equal(config.marks.items[1].name, "-v");
    assert_string_equal(config.marks.items[2].name, "");
    config_fini(&config);
    given_refused(GIVEN(.args = {"--mark"}), "option --mark needs a value: --mark NAME");
    given_refused(
        GIVEN(.args = {"--begin", "x", "true"}), "--begin is for use inside a tracked command, and runs none itself");
}

static void test_modes_exclude_each_other(void **state)
{
    (void)state;
    given_refused(GIVEN(.args = {"-p5", "true"}), "pid = 5 (from --pid): cannot be combined with a command");
    given_refused(GIVEN(.args = {"--duration=5", "true"}),
        "--duration cannot be combined with a command; to limit it, track \"timeout 10m COMMAND\"");
    given_refused(GIVEN(.args = {"--from=x", "true"}),
        "from = x (from --from): cannot be combined with a command; give --from before every file");
    given_refused(GIVEN(.args = {"--upload-spool", "true"}), "--upload-spool cannot be combined with a command");
    given_refused(GIVEN(.args = {"--from=x", "-p1"}), "from = x (from --from): cannot be combined with --pid");
    given_refused(GIVEN(.args = {"--attach-cgroup", "/a", "true"}),
        "attach_cgroup = /a (from --attach-cgroup): cannot be combined with a command");
    given_refused(GIVEN(.args = {"--attach-cgroup", "/a", "-p1"}),
        "attach_cgroup = /a (from --attach-cgroup): cannot be combined with --pid");
    given_refused(GIVEN(.env = {"TRACKER_ATTACH_CGROUP=/a"}, .file = "job.pid = 5"),
        "attach_cgroup = /a (from TRACKER_ATTACH_CGROUP): cannot be combined with --pid");
    given_refused(GIVEN(.args = {"--attach-cgroup", "/a", "--from=x"}),
        "from = x (from --from): cannot be combined with --attach-cgroup");
}

/* What to track where nothing else is asked for: a command and a recording win over it. */
static void test_weak_pid(void **state)
{
    (void)state;
    struct config config;
    static const char *const args[] = {"true", "--from=x"};
    for (size_t i = 0; i < 2; i++) {
        given_ok(GIVEN(.env = {"TRACKER_PID=5"}, .args = {args[i]}), &config);
        assert_false(config.settings.pid.has);
        assert_int_equal(config.warning_count, 0);
        config_fini(&config);
        given_ok(GIVEN(.file = "job.pid = 5", .args = {args[i]}), &config);
        assert_false(config.settings.pid.has);
        config_fini(&config);
    }
    given_ok(GIVEN(.file = "job.pid = 5"), &config);
    assert_int_equal(config.settings.pid.v, 5);
    config_fini(&config);
    given_refused(GIVEN(.file = "job.pid = 5", .args = {"-p5", "true"}),
        "pid = 5 (from --pid): cannot be combined with a command");
}

static void test_weak_group(void **state)
{
    (void)state;
    struct config config;
    static const char *const args[] = {"true", "--from=x", "-p7"};
    for (size_t i = 0; i < 3; i++) {
        given_ok(GIVEN(.env = {"TRACKER_ATTACH_CGROUP=/a"}, .args = {args[i]}), &config);
        assert_null(config.settings.attach_cgroup);
        assert_int_equal(config.settings.attaches, i == 2);
        assert_int_equal(config.warning_count, 0);
        config_fini(&config);
    }
    given_ok(GIVEN(.env = {"TRACKER_PID=5"}, .args = {"--attach-cgroup", "/a"}), &config);
    assert_false(config.settings.pid.has);
    assert_true(config.settings.attaches);
    assert_string_equal(config.settings.attach_cgroup, "/a");
    config_fini(&config);
    given_ok(GIVEN(.file = "job.attach_cgroup = \"unit:x\""), &config);
    assert_string_equal(config.settings.attach_cgroup, "unit:x");
    config_fini(&config);
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
        {"[tracker]\ninterval = 1",
            "unknown key \"tracker.interval\" (resource-tracker.toml:2:1), did you mean \"tracker.interval_secs\"?"},
        {"wat = 1", "unknown key \"wat\" (resource-tracker.toml:1:1)"},
        {"[something.else]\nx = 1", "unknown table \"something\" (resource-tracker.toml:1:2)"},
        {"\"tracker.interval_secs\" = 4",
            "unknown key \"\"tracker.interval_secs\"\" (resource-tracker.toml:1:1), did you mean "
            "\"tracker.interval_secs\"?"},
        {"\"a\\nb\" = 4", "unknown key \"a\\x0ab\" (resource-tracker.toml:1:1)"},
        {"[sentinel]\ntoken = \"hush\"", "unknown key \"sentinel.token\" (resource-tracker.toml:2:1)"},
        {"[sentinel]\nurl = \"https://x\"", "unknown key \"sentinel.url\" (resource-tracker.toml:2:1)"},
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
    given_refused(GIVEN(.args = {"-c", "/"}), "cannot read configuration file /: Is a directory");
    given_refused(GIVEN(.env = {"TRACKER_CONFIG=/"}), "cannot read configuration file /: Is a directory");
    given_refused(GIVEN(.args = {"--config="}), "config = \"\" (from --config): must not be empty");
    struct config config;
    given_ok(GIVEN(.args = {NULL}), &config);
    assert_false(config.file_found);
    assert_int_equal(config.warning_count, 0);
    config_fini(&config);
    given_ok(GIVEN(.args = {"-c", "missing.toml"}), &config);
    assert_false(config.file_found);
    assert_int_equal(config.warning_count, 1);
    assert_string_equal(
        config.warnings[0], "configuration file missing.toml (from --config) does not exist; continuing without it");
    config_fini(&config);
    given_ok(GIVEN(.env = {"TRACKER_CONFIG=/dev/null/x"}), &config);
    assert_false(config.file_found);
    assert_string_equal(config.warnings[0],
        "configuration file /dev/null/x (from TRACKER_CONFIG) does not exist; continuing without it");
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
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_modes_exclude_each_other),
        cmocka_unit_test(test_weak_pid),
        cmocka_unit_test(test_weak_group),
        cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_file_size),
        cmocka_unit_test(test_long_messages),
    };
    return cmocka_run_group_tests(tests, given_enter_directory, given_leave_directory);
}
