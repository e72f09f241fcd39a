/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings that are each valid and yet deserve a word: a file that cannot be trusted, unknown variables,
 * contradictions, settings without effect, and words that were meant otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "config_given.h"

/* Loads what is accepted with exactly this warning; NULL: none. */
static void warned(const struct given *given, const char *warning)
{
    struct config config;
    given_ok(given, &config);
    if (config.warning_count != (warning ? 1 : 0))
        fail_msg("%zu warnings, first %s, wanted %s", config.warning_count, config.warnings[0], warning);
    if (warning)
        assert_string_equal(config.warnings[0], warning);
    config_fini(&config);
}

#define WORKS(...) warned(GIVEN(__VA_ARGS__), NULL)

static void test_renice(void **state)
{
    (void)state;
    static const struct {
        const char *args[3];
        int64_t niceness;
        const char *command;
    } cases[] = {
        {{"--renice"}, 19, NULL},
        {{"-r"}, 19, NULL},
        {{"-r", "true"}, 19, "true"},
        {{"-r", "--", "5"}, 19, "5"},
        {{"--renice", "5", "true"}, 5, "true"},
        {{"--renice=-20", "5"}, -20, "5"},
        {{"-r", "-3", "true"}, -3, "true"},
        {{"-r7", "8"}, 7, "8"},
        {{"-r", "-q"}, 19, NULL},
        {{"-r", "5x"}, 19, "5x"},
        {{"-r", ""}, 19, ""},
        {{"-qr5"}, 5, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct config config;
        given_ok(GIVEN(.args = {cases[i].args[0], cases[i].args[1], cases[i].args[2]}), &config);
        assert_true(config.settings.renice.has);
        assert_int_equal(config.settings.renice.v, cases[i].niceness);
        assert_int_equal(config.settings.command != NULL, cases[i].command != NULL);
        if (cases[i].command)
            assert_string_equal(config.settings.command[0], cases[i].command);
        config_fini(&config);
    }
    struct config config;
    given_ok(GIVEN(.file = "tracker.renice = 3", .env = {"TRACKER_RENICE=4"}), &config);
    assert_int_equal(config.settings.renice.v, 4);
    config_fini(&config);
    given_refused(GIVEN(.args = {"--renice=20"}), "renice = 20 (from --renice): must be at most 19");
    given_refused(GIVEN(.args = {"-r-21"}), "renice = -21 (from --renice): must be at least -20");
    given_refused(GIVEN(.args = {"-rx"}), "renice = x (from --renice): not a whole number");
    warned(GIVEN(.args = {"-r", "25"}), "\"25\" is treated as the command: --renice takes -20 to 19");
}

static void test_command_taken_as_report(void **state)
{
    (void)state;
    given_refused(GIVEN(.args = {"-q", "--report", "make"}),
        "--report make: that is the file, and there is no command; write --report run.html -- make, or a name with "
        ".html");
    static const char *const names[] = {"run.html", "./make", "/dev/stdout", "-", "{job}"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        WORKS(.args = {"--report", names[i]});
    WORKS(.args = {"--report", "page", "make"});
    WORKS(.args = {"--report", "page", "--pid", "1"});
    WORKS(.args = {"--report", "page", "--from", "samples.jsonl"});
}

static void test_steal_and_duration(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.args = {"--aggregate-cpu-steal", "false", "true"}), &config);
    assert_false(config.settings.aggregate_cpu_steal);
    assert_string_equal(config.settings.command[0], "true");
    config_fini(&config);
    given_ok(GIVEN(.env = {"TRACKER_AGGREGATE_CPU_STEAL=no"}, .args = {"--aggregate-cpu-steal=1"}), &config);
    assert_true(config.settings.aggregate_cpu_steal);
    assert_int_equal(config.settings.duration_ns, 0);
    config_fini(&config);
    given_refused(GIVEN(.args = {"--aggregate-cpu-steal"}),
        "option --aggregate-cpu-steal needs a value: --aggregate-cpu-steal BOOL");
    given_ok(GIVEN(.file = "tracker.duration_secs = 90", .args = {"--duration", "10m"}), &config);
    assert_int_equal(config.settings.duration_ns, 600 * NS_PER_SEC);
    config_fini(&config);
    given_refused(GIVEN(.args = {"--duration=0"}), "duration_secs = 0 (from --duration): must be at least 0.01");
}

static void test_trust_of_the_file(void **state)
{
    (void)state;
    static const char text[] = "job.name = \"here\"";
    static const struct {
        mode_t mode;
        const char *warning;
    } cases[] = {
        {0644, NULL},
        {0600, NULL},
        {0664, "ignoring resource-tracker.toml: it is writable by others; run chmod go-w on it, or use --config"},
        {0646, "ignoring resource-tracker.toml: it is writable by others; run chmod go-w on it, or use --config"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        given_write("named.toml", text, sizeof(text) - 1);
        assert_int_equal(chmod("named.toml", cases[i].mode), 0);
        (void)unlink(GIVEN_FILE);
        char *argv[] = {(char *)(uintptr_t) "resource-tracker", NULL};
        char *env[] = {NULL};
        /* The file itself, then a link to it, which is given the rights of the file and not its own. */
        for (int is_link = 0; is_link < 2; is_link++) {
            assert_int_equal(is_link ? symlink("named.toml", GIVEN_FILE) : link("named.toml", GIVEN_FILE), 0);
            struct config config;
            struct err err;
            assert_int_equal(config_load(1, argv, env, &config, &err), 0);
            assert_int_equal(config.file_found, cases[i].warning == NULL);
            assert_int_equal(config.file_refused, cases[i].warning != NULL);
            assert_int_equal(config.warning_count, cases[i].warning ? 1 : 0);
            if (cases[i].warning)
                assert_string_equal(config.warnings[0], cases[i].warning);
            config_fini(&config);
            assert_int_equal(unlink(GIVEN_FILE), 0);
        }
        /* One that is named is used whatever its rights. */
        WORKS(.args = {"-c", "named.toml"});
        assert_int_equal(unlink("named.toml"), 0);
    }
}

static void test_other_kinds_of_files(void **state)
{
    (void)state;
    char *argv[] = {(char *)(uintptr_t) "resource-tracker", NULL};
    char *env[] = {NULL};
    for (int kind = 0; kind < 2; kind++) {
        (void)unlink(GIVEN_FILE);
        assert_int_equal(kind ? mkfifo(GIVEN_FILE, 0600) : mkdir(GIVEN_FILE, 0700), 0);
        struct config config;
        struct err err;
        assert_int_equal(config_load(1, argv, env, &config, &err), 0);
        assert_int_equal(config.warning_count, 1);
        assert_string_equal(config.warnings[0],
            "ignoring resource-tracker.toml: it is not a regular file; use --config to read it anyway");
        config_fini(&config);
        assert_int_equal(kind ? unlink(GIVEN_FILE) : rmdir(GIVEN_FILE), 0);
    }
    /* A link that leads nowhere is a file that is not there. */
    assert_int_equal(symlink("nowhere", GIVEN_FILE), 0);
    struct config config;
    struct err err;
    assert_int_equal(config_load(1, argv, env, &config, &err), 0);
    assert_int_equal(config.warning_count, 0);
    config_fini(&config);
}

static void test_code_only_from_a_named_file(void **state)
{
    (void)state;
    static const char text[] = "[collect]\ngpu = true\nnvml_path = \"/tmp/lib.so\"\n";
    struct config config;
    given_ok(GIVEN(.file = text), &config);
    assert_null(config.settings.nvml_path);
    assert_int_equal(config.warning_count, 1);
    assert_string_equal(config.warnings[0],
        "collect.nvml_path (resource-tracker.toml:3:13) is ignored: it names code to load; use "
        "TRACKER_NVML_PATH or a file given with --config");
    config_fini(&config);
    given_ok(GIVEN(.file = text, .args = {"-c", GIVEN_FILE}), &config);
    assert_string_equal(config.settings.nvml_path, "/tmp/lib.so");
    assert_int_equal(config.warning_count, 0);
    config_fini(&config);
    given_ok(GIVEN(.file = text, .env = {"TRACKER_CONFIG=" GIVEN_FILE}), &config);
    assert_string_equal(config.settings.nvml_path, "/tmp/lib.so");
    config_fini(&config);
    given_ok(GIVEN(.env = {"TRACKER_NVML_PATH=/tmp/lib.so"}), &config);
    assert_string_equal(config.settings.nvml_path, "/tmp/lib.so");
    config_fini(&config);
}

static void test_unknown_variables(void **state)
{
    (void)state;
    warned(
        GIVEN(.env = {"TRACKER_INTREVAL=hush"}), "unknown variable TRACKER_INTREVAL, did you mean TRACKER_INTERVAL?");
    warned(GIVEN(.env = {"TRACKER_FOO=hush"}), "unknown variable TRACKER_FOO; see --help");
    warned(GIVEN(.env = {"TRACKER_=hush"}), "unknown variable TRACKER_; see --help");
    WORKS(.env = {"TRACKER_INTREVAL=", "MY_TRACKER_INTERVAL=1", "TRACKER=1", "TRACKERS_X=1", "SENTINEL_X=1"});
    WORKS(.env = {"TRACKER_SOCKET=1", "TRACKER_INTERVAL=2"});
}

static void test_samples_that_go_nowhere(void **state)
{
    (void)state;
    static const char lost[] = "no samples are written to a.jsonl: --quiet overrides --output";
    warned(GIVEN(.args = {"-q", "-o", "a.jsonl"}), lost);
    warned(GIVEN(.env = {"TRACKER_QUIET=1"}, .args = {"-o", "a.jsonl"}), lost);
    warned(GIVEN(.env = {"TRACKER_QUIET=1", "TRACKER_OUTPUT=a.jsonl"}), lost);
    warned(GIVEN(.file = "[tracker]\nquiet = true\noutput = \"a.jsonl\""), lost);
    warned(GIVEN(.args = {"-q", "-o", "a.jsonl", "--append", "-f", "csv"}), lost);
    /* What is stronger takes back what is weaker. */
    WORKS(.env = {"TRACKER_OUTPUT=a.jsonl"}, .args = {"-q"});
    WORKS(.file = "tracker.output = \"a.jsonl\"", .env = {"TRACKER_QUIET=1"});
    WORKS(.env = {"TRACKER_QUIET=1"}, .args = {"-o", "a.jsonl", "--no-quiet"});
    warned(GIVEN(.args = {"-q", "-f", "csv"}), "--format has no effect: with --quiet no samples are written");
    WORKS(.env = {"TRACKER_FORMAT=csv"}, .args = {"-q"});
    static const char no_file[] = "--append has no effect without --output FILE";
    warned(GIVEN(.args = {"--append"}), no_file);
    warned(GIVEN(.args = {"--append", "-o", "-"}), no_file);
    warned(GIVEN(.args = {"--append", "-q"}), no_file);
    WORKS(.args = {"--append", "-o", "a"});
    WORKS(.args = {"--no-append"});
    WORKS(.env = {"TRACKER_APPEND=1"});
    WORKS(.env = {"TRACKER_OUTPUT=a"}, .args = {"--append"});
    warned(GIVEN(.args = {"--csv-columns=full"}), "--csv-columns has no effect without --format csv");
    WORKS(.args = {"--csv-columns=full", "-f", "csv"});
    WORKS(.env = {"TRACKER_CSV_COLUMNS=full"});
}

static void test_settings_of_other_runs(void **state)
{
    (void)state;
    warned(GIVEN(.args = {"--stop-with-pid"}), "--stop-with-pid has no effect without --pid");
    warned(GIVEN(.args = {"--stop-with-pid", "true"}), "--stop-with-pid has no effect without --pid");
    WORKS(.args = {"--stop-with-pid", "-p1"});
    WORKS(.args = {"--stop-with-pid", "--attach-cgroup", "/a"});
    WORKS(.env = {"TRACKER_PID=1"}, .args = {"--stop-with-pid"});
    WORKS(.env = {"TRACKER_STOP_WITH_PID=1"}, .args = {"true"});
    warned(GIVEN(.args = {"--cgroup"}), "--cgroup has no effect without a command");
    warned(GIVEN(.args = {"--no-subreaper", "-p1"}), "--no-subreaper has no effect without a command");
    WORKS(.args = {"--cgroup", "--no-subreaper", "true"});
    warned(GIVEN(.args = {"--renice", "--from=x"}), "--renice has no effect with --from");
    warned(GIVEN(.args = {"--duration=5", "--from=x"}), "--duration has no effect with --from");
    WORKS(.args = {"--duration=5", "-p1"});
    WORKS(.env = {"TRACKER_DURATION=5"}, .args = {"--from=x"});
    warned(GIVEN(.env = {"TRACKER_DURATION=5"}, .args = {"true"}),
        "duration_secs (from TRACKER_DURATION) has no effect with a command");
    warned(GIVEN(.file = "tracker.duration_secs = 5", .args = {"true"}),
        "duration_secs (from resource-tracker.toml:1:25) has no effect with a command");
    WORKS(.args = {"--stop-with-pid", "--cgroup", "--append", "--print-config"});
}

static void test_placeholders(void **state)
{
    (void)state;
    warned(GIVEN(.args = {"-o", "{jobname}.jsonl"}),
        "--output: unknown placeholder {jobname}; known are {job}, {host}, {node}, {rank}, {pid} and {datetime}");
    warned(GIVEN(.file = "tracker.report = \"{job}-{DATE}.html\""),
        "report (from resource-tracker.toml:1:18): unknown placeholder {DATE}; known are {job}, {host}, {node}, "
        "{rank}, {pid} and "
        "{datetime}");
    warned(GIVEN(.args = {"--summary-json", "{date}{time}"}),
        "--summary-json: unknown placeholder {date}; known are {job}, {host}, {node}, {rank}, {pid} and {datetime}");
    WORKS(.args = {"-o", "{job}-{host}-{node}-{rank}-{pid}-{datetime}.{}.{a,b}.{1}.{open.${x.jsonl"});
}

static void test_words_that_are_no_command(void **state)
{
    (void)state;
    warned(GIVEN(.args = {"--summary", "always", "true"}),
        "\"always\" is treated as the command; did you mean --summary=always?");
    warned(GIVEN(.args = {"help"}), "\"help\" is treated as a command; did you mean --help?");
    warned(GIVEN(.args = {"-q", "version"}), "\"version\" is treated as a command; did you mean --version?");
    WORKS(.args = {"--", "help"});
    WORKS(.args = {"help", "me"});
    WORKS(.args = {"./help"});
    WORKS(.args = {"--summary", "--", "always"});
    WORKS(.args = {"--summary", "-q", "always"});
    WORKS(.args = {"--summary=never", "always"});
    /* Where there is such a command, it is meant. */
    given_write("help", "", 0);
    assert_int_equal(chmod("help", 0755), 0);
    WORKS(.env = {"PATH=/nonexistent:."}, .args = {"help"});
    warned(GIVEN(.env = {"PATH=/nonexistent::/dev/null"}, .args = {"help"}),
        "\"help\" is treated as a command; did you mean --help?");
    assert_int_equal(unlink("help"), 0);
}

static void test_flags_of_other_programs(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"--json", ", did you mean \"--format json\"?"},
        {"--csv", ", did you mean \"--format csv\"?"},
        {"--html", ", did you mean \"--report FILE.html\"?"},
        {"--png", ", did you mean \"--report FILE.html\"?"},
        {"--svg", ", did you mean \"--report FILE.svg\"?"},
        {"--markdown", ", did you mean \"--summary-markdown FILE\"?"},
        {"--name", ", did you mean \"--job-name NAME\"?"},
        {"--timeout", ", did you mean \"--duration TIME\"?"},
        {"--color", ": colours are for terminals only, and NO_COLOR=1 disables them"},
        {"--no-colour", ": colours are for terminals only, and NO_COLOR=1 disables them"},
        {"--no-gpu", ": it has no flag, set TRACKER_COLLECT_GPU=0 or collect.gpu in the file"},
        {"--allow-http", ": it has no flag, set TRACKER_ALLOW_HTTP=1 or tracker.allow_http in the file"},
        {"--spool", ": it has no flag, set TRACKER_SPOOL=DIR or tracker.spool in the file"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char message[200], flag[64];
        (void)snprintf(message, sizeof(message), "unknown option \"%s\"%s", cases[i][0], cases[i][1]);
        (void)snprintf(flag, sizeof(flag), "%s=hush", cases[i][0]);
        given_refused(GIVEN(.args = {cases[i][0]}), message);
        given_refused(GIVEN(.args = {flag}), message);
    }
}

/* Whatever is wrong with a value that may be a secret, the value is not repeated. */
static void test_secrets_are_not_repeated(void **state)
{
    (void)state;
    static const char *const files[] = {
        "[http.headers]\nX-Api-Key = hush-1234",
        "[http.headers]\nX-Api-Key = 12hush",
        "[http.headers]\nX-Api-Key = 2023-hush",
        "[http.headers]\nX-Api-Key = \"hush",
        "[http.headers]\nX-Api-Key = 'hush' hush",
        "[http.headers]\nX-Api-Key: hush",
        "[http.headers]\nX-Api-Key = [\"hush\"]",
        "[http.headers]\n\"X Y\" = \"hush\"",
        "[http]\nheaders = \"hush\"",
        "[http]\nheaders = hush",
        "[http]\nstart_url = [\"hush\"]",
        "http = \"hush\"",
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct config config;
        struct err err;
        assert_true(given_load(GIVEN(.file = files[i]), &config, &err) < 0);
        if (strstr(err.msg, "hush"))
            fail_msg("%s", err.msg);
        assert_non_null(strstr(err.msg, GIVEN_FILE ":"));
    }
    static const char *const variables[] = {"TRACKER_HTTP_HEADERS=hush", "TRACKER_HTTP_HEADERS=X=1,Y Z=hush",
        "TRACKER_HTTP_HEADERS=Host=hush", "TRACKER_HTTP_HEADERS=X=hush\n1"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        struct config config;
        struct err err;
        assert_true(given_load(GIVEN(.env = {variables[i]}), &config, &err) < 0);
        if (strstr(err.msg, "hush"))
            fail_msg("%s", err.msg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_renice),
        cmocka_unit_test(test_command_taken_as_report),
        cmocka_unit_test(test_steal_and_duration),
        cmocka_unit_test(test_trust_of_the_file),
        cmocka_unit_test(test_other_kinds_of_files),
        cmocka_unit_test(test_code_only_from_a_named_file),
        cmocka_unit_test(test_unknown_variables),
        cmocka_unit_test(test_samples_that_go_nowhere),
        cmocka_unit_test(test_settings_of_other_runs),
        cmocka_unit_test(test_placeholders),
        cmocka_unit_test(test_words_that_are_no_command),
        cmocka_unit_test(test_flags_of_other_programs),
        cmocka_unit_test(test_secrets_are_not_repeated),
    };
    return cmocka_run_group_tests(tests, given_enter_directory, given_leave_directory);
}
