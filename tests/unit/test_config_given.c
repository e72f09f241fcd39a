/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken from the surroundings, and what the command gets to see of the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "config_given.h"

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

/* Every --from counts, in order; other settings follow the last. */
static void test_sources(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.args = {"--from", "a.jsonl", "--from=b.csv"}), &config);
    assert_int_equal(config.settings.source_count, 2);
    assert_string_equal(config.settings.sources[0], "a.jsonl");
    assert_string_equal(config.settings.sources[1], "b.csv");
    assert_false(config.settings.is_format_given);
    config_fini(&config);
    given_ok(GIVEN(.args = {"-f", "json"}), &config);
    assert_int_equal(config.settings.source_count, 0);
    assert_true(config.settings.is_format_given);
    config_fini(&config);
}

/* NO_COLOR counts when it is not empty; a dumb terminal takes no colours. */
static void test_terminal(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.env = {"TERM=xterm", "NO_COLOR=", "LANG=C", "LC_ALL=de_DE.UTF-8"}), &config);
    assert_true(config.settings.has_colour);
    assert_string_equal(config.settings.term, "xterm");
    assert_string_equal(config.settings.locale, "de_DE.UTF-8");
    config_fini(&config);
    given_ok(GIVEN(.env = {"TERM=xterm", "NO_COLOR=1"}), &config);
    assert_false(config.settings.has_colour);
    assert_null(config.settings.locale);
    config_fini(&config);
    given_ok(GIVEN(.env = {"TERM=dumb"}), &config);
    assert_false(config.settings.has_colour);
    config_fini(&config);
    given_ok(GIVEN(.args = {"true"}), &config);
    assert_false(config.settings.has_colour);
    config_fini(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment_of_the_command),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
