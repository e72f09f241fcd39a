/* SPDX-License-Identifier: Apache-2.0 */
/* The collectors as one, with toy collectors that do as they are asked, a fake clock, and stderr caught in a pipe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/pipeline.h"

struct scenario {
    int64_t mono_ns, real_ns;
    int saved_fd, read_fd;
    char text[4096];
    struct clock clock;
    struct collect_env env;
    struct run_info info;
};

/* What a toy is asked to do, and what it saw. The tests' own scenario hangs on space_context of the environment. */
struct toy_orders {
    int open_result, collect_result;
    int collect_code; /* put into err even where the result is 0 */
    int opened, collected, closed, baselines;
    int64_t baseline_ns;
    struct tick last;
    bool state_was_zero;
};

struct orders {
    struct toy_orders cpu, memory, tracker;
};

struct toy_state {
    const struct collect_env *env;
    char padding[64];
};

static int toy_open(struct toy_orders *orders, struct toy_state *state, const struct collect_env *env, struct err *err)
{
    static const struct toy_state zero;
    orders->opened++;
    orders->state_was_zero = memcmp(state, &zero, sizeof(zero)) == 0;
    state->env = env;
    if (orders->open_result < 0)
        return err_set(err, orders->open_result, "toy: cannot open");
    return 0;
}

static int toy_collect(struct toy_orders *orders, const struct tick *tick, bool *present, struct err *err)
{
    orders->collected++;
    orders->last = *tick;
    if (tick->baseline) {
        orders->baselines++;
        orders->baseline_ns = tick->mono_ns;
    }
    if (orders->collect_code < 0)
        (void)err_set(err, orders->collect_code, "toy: cannot read");
    if (orders->collect_result >= 0 && !tick->baseline)
        *present = true;
    return orders->collect_result;
}

#define TOY(section)                                                                                                   \
    static struct toy_orders *orders_##section(const struct collect_env *env)                                          \
    {                                                                                                                  \
        return &((struct orders *)env->space_context)->section;                                                        \
    }                                                                                                                  \
    static int open_##section(void *state, const struct collect_env *env, struct err *err)                             \
    {                                                                                                                  \
        return toy_open(orders_##section(env), state, env, err);                                                       \
    }                                                                                                                  \
    static int collect_##section(void *state, const struct tick *tick, struct sample *sample, struct err *err)         \
    {                                                                                                                  \
        const struct toy_state *toy = state;                                                                           \
        return toy_collect(orders_##section(toy->env), tick, &sample->section.present, err);                           \
    }                                                                                                                  \
    static void close_##section(void *state)                                                                           \
    {                                                                                                                  \
        const struct toy_state *toy = state;                                                                           \
        orders_##section(toy->env)->closed++;                                                                          \
    }                                                                                                                  \
    static const struct collector toy_##section = {                                                                    \
        .name = #section,                                                                                              \
        .state_bytes = sizeof(struct toy_state),                                                                       \
        .open = open_##section,                                                                                        \
        .collect = collect_##section,                                                                                  \
        .close = close_##section,                                                                                      \
    }

TOY(cpu);
TOY(memory);
TOY(tracker);

static const struct collector *const toys[] = {&toy_cpu, &toy_memory, &toy_tracker};

static int64_t scenario_read_ns(void *context, enum clock_kind kind)
{
    const struct scenario *scenario = context;
    return kind == CLOCK_KIND_REALTIME ? scenario->real_ns : scenario->mono_ns;
}

static void scenario_make(struct scenario *scenario, struct orders *orders)
{
    *scenario = (struct scenario){.mono_ns = 5000 * NS_PER_SEC, .real_ns = 1700000000 * NS_PER_SEC + 999 * NS_PER_MS};
    scenario->clock = (struct clock){.read_ns = scenario_read_ns, .context = scenario};
    scenario->env = (struct collect_env){.clock = &scenario->clock, .space_context = orders};
    scenario->info = (struct run_info){.version = "1.2.3", .job_name = "job", .interval_ns = NS_PER_SEC};
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    scenario->read_fd = ends[0];
    scenario->saved_fd = dup(STDERR_FILENO);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    (void)close(ends[1]);
}

/* What was said since the last call. */
static const char *scenario_said(struct scenario *scenario)
{
    ssize_t n = read(scenario->read_fd, scenario->text, sizeof(scenario->text) - 1);
    scenario->text[n > 0 ? n : 0] = '\0';
    return scenario->text;
}

static void scenario_free(struct scenario *scenario)
{
    (void)dup2(scenario->saved_fd, STDERR_FILENO);
    (void)close(scenario->saved_fd);
    (void)close(scenario->read_fd);
}

static struct sample scenario_sample(struct scenario *scenario, struct pipeline *pipeline, int64_t step_ns)
{
    scenario->mono_ns += step_ns;
    scenario->real_ns += step_ns;
    struct tick tick = {.late_ns = 42, .missed = 7, .mono_ns = scenario->mono_ns};
    memset(&pipeline->sample, 0x5a, sizeof(pipeline->sample));
    pipeline_sample(pipeline, &tick);
    return pipeline->sample;
}

static void test_opening_takes_the_baseline(void **state)
{
    (void)state;
    struct orders orders = {0};
    struct scenario scenario;
    struct pipeline pipeline;
    scenario_make(&scenario, &orders);
    pipeline_open(&pipeline, &scenario.env, &scenario.info, toys, 3);
    assert_int_equal(pipeline.start_ns, scenario.mono_ns);
    assert_true(orders.cpu.state_was_zero && orders.memory.state_was_zero);
    assert_int_equal(orders.cpu.opened, 1);
    assert_int_equal(orders.cpu.baselines, 1);
    assert_int_equal(orders.tracker.baselines, 1);
    assert_int_equal(orders.cpu.baseline_ns, scenario.mono_ns);
    pipeline_close(&pipeline);
    assert_int_equal(orders.cpu.closed, 1);
    assert_int_equal(orders.tracker.closed, 1);
    pipeline_close(&pipeline);
    assert_int_equal(orders.cpu.closed, 1);
    assert_string_equal(scenario_said(&scenario), "");
    scenario_free(&scenario);
}

static void test_clocks_of_a_sample(void **state)
{
    (void)state;
    struct orders orders = {0};
    struct scenario scenario;
    struct pipeline pipeline;
    scenario_make(&scenario, &orders);
    scenario.info.tracked_pid = some_u64(77);
    pipeline_open(&pipeline, &scenario.env, &scenario.info, toys, 3);
    struct sample sample = scenario_sample(&scenario, &pipeline, 1250 * NS_PER_MS);
    assert_int_equal(sample.timestamp_ms.v, 1700000002249);
    assert_int_equal(sample.timestamp_secs.v, 1700000002);
    assert_true(sample.elapsed_secs.v == 1.25);
    assert_false(sample.actual_interval_ms.has);
    assert_string_equal(sample.job_name, "job");
    assert_string_equal(sample.version, "1.2.3");
    assert_true(sample.tracked_pid.has && sample.tracked_pid.v == 77);
    assert_true(sample.cpu.present && sample.memory.present && sample.tracker.present);
    assert_false(sample.network.present || sample.disk.present || sample.gpu.present);
    assert_int_equal(orders.cpu.last.late_ns, 42);
    assert_int_equal(orders.cpu.last.missed, 7);
    assert_false(orders.cpu.last.baseline);
    assert_int_equal(orders.cpu.last.mono_ns, scenario.mono_ns);

    /* The wall clock is set back an hour: only the timestamps notice. */
    scenario.real_ns -= 3600 * NS_PER_SEC;
    sample = scenario_sample(&scenario, &pipeline, 500 * NS_PER_MS);
    assert_true(sample.elapsed_secs.v == 1.75);
    assert_true(sample.actual_interval_ms.has && sample.actual_interval_ms.v == 500.0);
    assert_int_equal(sample.timestamp_secs.v, 1699996402);
    sample = scenario_sample(&scenario, &pipeline, 1);
    assert_true(sample.actual_interval_ms.v == 1e-6);
    pipeline_close(&pipeline);
    scenario_free(&scenario);
}

static void test_a_failing_collector_does_not_disturb_others(void **state)
{
    (void)state;
    struct orders orders = {.memory = {.collect_result = -EIO, .collect_code = -EIO}};
    struct scenario scenario;
    struct pipeline pipeline;
    scenario_make(&scenario, &orders);
    pipeline_open(&pipeline, &scenario.env, &scenario.info, toys, 3);
    assert_string_equal(scenario_said(&scenario),
        "resource-tracker: warning: toy: cannot read; these values are null until it works\n");
    for (int i = 0; i < 5; i++) {
        struct sample sample = scenario_sample(&scenario, &pipeline, NS_PER_SEC);
        assert_true(sample.cpu.present && sample.tracker.present);
        assert_false(sample.memory.present);
        assert_string_equal(scenario_said(&scenario), "");
    }
    orders.memory.collect_result = orders.memory.collect_code = 0;
    struct sample sample = scenario_sample(&scenario, &pipeline, NS_PER_SEC);
    assert_true(sample.memory.present);
    assert_string_equal(scenario_said(&scenario), "resource-tracker: warning: memory: all values can be read again\n");
    (void)scenario_sample(&scenario, &pipeline, NS_PER_SEC);
    assert_string_equal(scenario_said(&scenario), "");
    orders.memory.collect_result = orders.memory.collect_code = -EACCES;
    (void)scenario_sample(&scenario, &pipeline, NS_PER_SEC);
    assert_non_null(strstr(scenario_said(&scenario), "toy: cannot read"));
    pipeline_close(&pipeline);
    scenario_free(&scenario);
}

static void test_a_missing_part_is_reported_and_the_section_stays(void **state)
{
    (void)state;
    struct orders orders = {.cpu = {.collect_code = -ENOENT}};
    struct scenario scenario;
    struct pipeline pipeline;
    scenario_make(&scenario, &orders);
    pipeline_open(&pipeline, &scenario.env, &scenario.info, toys, 3);
    struct sample sample = scenario_sample(&scenario, &pipeline, NS_PER_SEC);
    assert_true(sample.cpu.present);
    assert_string_equal(scenario_said(&scenario),
        "resource-tracker: warning: toy: cannot read; these values are null until it works\n");
    orders.cpu.collect_code = 0;
    (void)scenario_sample(&scenario, &pipeline, NS_PER_SEC);
    assert_string_equal(scenario_said(&scenario), "resource-tracker: warning: cpu: all values can be read again\n");
    pipeline_close(&pipeline);
    scenario_free(&scenario);
}

static void test_no_data_is_silent(void **state)
{
    (void)state;
    struct orders orders = {
        .cpu = {.collect_result = -ENODATA, .collect_code = -ENODATA}, .memory = {.open_result = -ENODATA}};
    struct scenario scenario;
    struct pipeline pipeline;
    scenario_make(&scenario, &orders);
    pipeline_open(&pipeline, &scenario.env, &scenario.info, toys, 3);
    for (int i = 0; i < 3; i++) {
        struct sample sample = scenario_sample(&scenario, &pipeline, NS_PER_SEC);
        assert_false(sample.cpu.present);
        assert_false(sample.memory.present);
        assert_true(sample.tracker.present);
    }
    /* It is asked again each time, unlike one that did not open. */
    assert_int_equal(orders.cpu.collected, 4);
    assert_int_equal(orders.memory.collected, 0);
    pipeline_close(&pipeline);
    assert_int_equal(orders.memory.closed, 0);
    assert_int_equal(orders.cpu.closed, 1);
    assert_string_equal(scenario_said(&scenario), "");
    scenario_free(&scenario);
}

static void test_a_collector_that_cannot_open_is_left_out(void **state)
{
    (void)state;
    struct orders orders = {.cpu = {.open_result = -EACCES}};
    struct scenario scenario;
    struct pipeline pipeline;
    scenario_make(&scenario, &orders);
    pipeline_open(&pipeline, &scenario.env, &scenario.info, toys, 3);
    assert_string_equal(
        scenario_said(&scenario), "resource-tracker: warning: toy: cannot open; these values are null\n");
    struct sample sample = scenario_sample(&scenario, &pipeline, NS_PER_SEC);
    assert_false(sample.cpu.present);
    assert_true(sample.memory.present);
    assert_int_equal(orders.cpu.collected, 0);
    pipeline_close(&pipeline);
    assert_int_equal(orders.cpu.closed, 0);
    assert_string_equal(scenario_said(&scenario), "");
    scenario_free(&scenario);
}

static void test_two_failures_are_reported_separately(void **state)
{
    (void)state;
    struct orders orders = {0};
    struct scenario scenario;
    struct pipeline pipeline;
    scenario_make(&scenario, &orders);
    pipeline_open(&pipeline, &scenario.env, &scenario.info, toys, 3);
    orders.cpu.collect_result = orders.cpu.collect_code = -EIO;
    (void)scenario_sample(&scenario, &pipeline, NS_PER_SEC);
    assert_non_null(strstr(scenario_said(&scenario), "cannot read"));
    orders.memory.collect_result = orders.memory.collect_code = -EIO;
    (void)scenario_sample(&scenario, &pipeline, NS_PER_SEC);
    assert_non_null(strstr(scenario_said(&scenario), "cannot read"));
    orders.cpu.collect_result = orders.cpu.collect_code = 0;
    (void)scenario_sample(&scenario, &pipeline, NS_PER_SEC);
    assert_string_equal(scenario_said(&scenario), "resource-tracker: warning: cpu: all values can be read again\n");
    pipeline_close(&pipeline);
    scenario_free(&scenario);
}

static void test_no_collectors_at_all(void **state)
{
    (void)state;
    struct orders orders = {0};
    struct scenario scenario;
    struct pipeline pipeline;
    scenario_make(&scenario, &orders);
    scenario.info.job_name = NULL;
    pipeline_open(&pipeline, &scenario.env, &scenario.info, NULL, 0);
    struct sample sample = scenario_sample(&scenario, &pipeline, NS_PER_SEC);
    assert_true(sample.timestamp_ms.has);
    assert_null(sample.job_name);
    assert_false(sample.tracked_pid.has);
    assert_false(sample.cpu.present);
    pipeline_close(&pipeline);
    scenario_free(&scenario);
}

/* More collectors than there is room for: the rest is left out, and nothing is read behind the array. */
static void test_too_many_collectors(void **state)
{
    (void)state;
    const struct collector *many[PIPELINE_STAGES_MAX + 4];
    for (size_t i = 0; i < PIPELINE_STAGES_MAX + 4; i++)
        many[i] = &toy_cpu;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* A crash is the child's own: the runner's handlers and output are not for it. */
        (void)signal(SIGSEGV, SIG_DFL);
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDOUT_FILENO);
        struct orders orders = {0};
        struct scenario scenario;
        struct pipeline pipeline;
        scenario_make(&scenario, &orders);
        pipeline_open(&pipeline, &scenario.env, &scenario.info, many, PIPELINE_STAGES_MAX + 4);
        (void)scenario_sample(&scenario, &pipeline, NS_PER_SEC);
        size_t count = pipeline.count;
        pipeline_close(&pipeline);
        _exit(count <= PIPELINE_STAGES_MAX && orders.cpu.closed == PIPELINE_STAGES_MAX ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening_takes_the_baseline),
        cmocka_unit_test(test_clocks_of_a_sample),
        cmocka_unit_test(test_a_failing_collector_does_not_disturb_others),
        cmocka_unit_test(test_a_missing_part_is_reported_and_the_section_stays),
        cmocka_unit_test(test_no_data_is_silent),
        cmocka_unit_test(test_a_collector_that_cannot_open_is_left_out),
        cmocka_unit_test(test_two_failures_are_reported_separately),
        cmocka_unit_test(test_no_collectors_at_all),
        cmocka_unit_test(test_too_many_collectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
