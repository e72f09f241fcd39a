/* SPDX-License-Identifier: Apache-2.0 */
/* What the first sample has of the job, the command and the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "run/start_facts.h"
#include "tree.h"

struct scenario {
    struct tree tree;
    struct sysroot root;
    struct settings settings;
    struct start_facts facts;
};

static int set_up(void **state)
{
    static struct scenario scenario;
    memset(&scenario, 0, sizeof(scenario));
    tree_make(&scenario.tree);
    tree_write(&scenario.tree, "proc/sys/kernel/hostname", "worker\n");
    tree_write(&scenario.tree, "proc/cpuinfo", "processor\t: 0\nmodel name\t: A  CPU\nflags\t\t: fpu\n");
    scenario.settings.interval_ns = 250000000;
    *state = &scenario;
    return sysroot_open(scenario.tree.path, &scenario.root, NULL);
}

static int tear_down(void **state)
{
    struct scenario *scenario = *state;
    start_facts_fini(&scenario->facts);
    sysroot_close(&scenario->root);
    tree_free(&scenario->tree);
    return 0;
}

static struct sample_run first_of(struct scenario *scenario)
{
    struct sample_run run = {.cgroup_path = "/a", .cgroup_is_own = some_bool(true), .cgroup_peak_mib = some_f64(7)};
    start_facts_init(&scenario->facts, &scenario->settings, &scenario->root, NULL);
    start_facts_fill(&scenario->facts, &run);
    return run;
}

static void check_pair(const struct sample_list *list, size_t i, const char *key, const char *value)
{
    assert_true(i < list->count);
    const struct str_pair *pair = (const struct str_pair *)list->items + i;
    assert_string_equal(pair->key, key);
    assert_string_equal(pair->value, value);
}

static void test_nothing_is_set(void **state)
{
    struct sample_run run = first_of(*state);
    assert_true(run.present);
    assert_true(run.interval_secs.v == 0.25);
    assert_string_equal(run.hostname, "worker");
    assert_null(run.kernel);
    assert_false(run.command.present);
    assert_false(run.metadata.present);
    assert_false(run.tags.present);
    /* What collectors know is left alone. */
    assert_string_equal(run.cgroup_path, "/a");
    assert_true(run.cgroup_is_own.v && run.cgroup_peak_mib.v == 7);
}

static void test_metadata_and_tags(void **state)
{
    struct scenario *scenario = *state;
    static char project[] = "p", image[] = "img:1", env[] = "", key[] = "a", value[] = "b", other[] = "c", empty[] = "";
    struct settings_pair pairs[] = {{key, value}, {other, empty}};
    scenario->settings.project_name = project;
    scenario->settings.env = env;
    scenario->settings.container_image = image;
    scenario->settings.tags.items = pairs;
    scenario->settings.tags.count = 2;
    struct sample_run run = first_of(scenario);
    assert_true(run.metadata.present && run.tags.present);
    assert_int_equal(run.metadata.count, 2);
    check_pair(&run.metadata, 0, "project_name", "p");
    check_pair(&run.metadata, 1, "container_image", "img:1");
    assert_int_equal(run.tags.count, 2);
    check_pair(&run.tags, 0, "a", "b");
    check_pair(&run.tags, 1, "c", "");
}

static void test_all_metadata(void **state)
{
    struct scenario *scenario = *state;
    static char x[] = "x";
    struct settings *s = &scenario->settings;
    s->project_name = s->stage_name = s->task_name = s->team = s->env = s->language = x;
    s->orchestrator = s->executor = s->external_run_id = s->container_image = x;
    s->rank = s->world_size = s->node = x;
    struct sample_run run = first_of(scenario);
    assert_int_equal(run.metadata.count, START_METADATA_MAX);
    check_pair(&run.metadata, 8, "external_run_id", "x");
}

/* Later, and once. */
static void test_cpu_model(void **state)
{
    struct scenario *scenario = *state;
    struct sample_run run = first_of(scenario);
    assert_null(run.cpu_model);
    start_facts_read_cpu_model(&scenario->facts, &scenario->root);
    start_facts_fill(&scenario->facts, &run);
    assert_string_equal(run.cpu_model, "A CPU");
    tree_remove(&scenario->tree, "proc/cpuinfo");
    start_facts_read_cpu_model(&scenario->facts, &scenario->root);
    start_facts_fill(&scenario->facts, &run);
    assert_string_equal(run.cpu_model, "A CPU");
}

static void test_no_facts(void **state)
{
    struct scenario *scenario = *state;
    struct sample_run run = {0};
    start_facts_read_cpu_model(&scenario->facts, &scenario->root);
    start_facts_fill(&scenario->facts, &run);
    assert_false(run.present);
    assert_null(run.cpu_model);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_is_set),
        TEST(test_metadata_and_tags),
        TEST(test_all_metadata),
        TEST(test_cpu_model),
        TEST(test_no_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
