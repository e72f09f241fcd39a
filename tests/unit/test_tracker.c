/* SPDX-License-Identifier: Apache-2.0 */
/* What we cost ourselves, with a CPU clock of our own making. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "fake_env.h"

struct costs {
    struct fake_env fake;
    int64_t cpu_ns;
    void *state;
    char room[4096];
    struct sample sample;
};

static int64_t costs_read_ns(void *context, enum clock_kind kind)
{
    const struct costs *costs = context;
    return kind == CLOCK_KIND_OWN_CPU ? costs->cpu_ns : costs->fake.mono_ns;
}

static void costs_open(struct costs *costs)
{
    memset(costs->room, 0, sizeof(costs->room));
    fake_env_init(&costs->fake);
    costs->fake.clock = (struct clock){.read_ns = costs_read_ns, .context = costs};
    costs->state = costs->room;
    assert_true(collector_tracker.state_bytes <= sizeof(costs->room));
    struct err err = {0};
    assert_int_equal(collector_tracker.open(costs->state, &costs->fake.env, &err), 0);
}

static void costs_step(struct costs *costs, struct tick tick)
{
    struct err err = {0};
    costs->sample = (struct sample){0};
    assert_int_equal(collector_tracker.collect(costs->state, &tick, &costs->sample, &err), 0);
    assert_int_equal(err.code, 0);
}

static void costs_close(struct costs *costs)
{
    collector_tracker.close(costs->state);
    fake_env_fini(&costs->fake);
}

static void test_cpu_of_the_interval(void **state)
{
    (void)state;
    static struct costs costs;
    costs_open(&costs);
    costs.cpu_ns = 700 * NS_PER_MS;
    costs_step(&costs, (struct tick){.baseline = true});
    assert_false(costs.sample.tracker.present);
    costs.cpu_ns += 2500000;
    costs_step(&costs, (struct tick){.late_ns = 1500000, .missed = 3});
    assert_true(costs.sample.tracker.present);
    assert_true(costs.sample.tracker.cpu_secs.has && costs.sample.tracker.cpu_secs.v == 0.0025);
    assert_true(costs.sample.tracker.late_ms.has && costs.sample.tracker.late_ms.v == 1.5);
    assert_true(costs.sample.tracker.missed_samples.has && costs.sample.tracker.missed_samples.v == 3);
    costs_step(&costs, (struct tick){0});
    assert_true(costs.sample.tracker.cpu_secs.v == 0);
    assert_true(costs.sample.tracker.late_ms.has && costs.sample.tracker.late_ms.v == 0);
    assert_true(costs.sample.tracker.missed_samples.has && costs.sample.tracker.missed_samples.v == 0);
    costs_close(&costs);
}

static void test_resident_memory(void **state)
{
    (void)state;
    static struct costs costs;
    costs_open(&costs);
    costs_step(&costs, (struct tick){.baseline = true});
    costs_step(&costs, (struct tick){0});
    assert_false(costs.sample.tracker.rss_mib.has);
    assert_true(costs.sample.tracker.present);
    fake_env_write(&costs.fake, "proc/self/statm", "1000 512 300 12 0 99 0\n");
    costs_step(&costs, (struct tick){0});
    assert_true(costs.sample.tracker.rss_mib.has && costs.sample.tracker.rss_mib.v == 2.0);
    fake_env_write(&costs.fake, "proc/self/statm", "1000 128 300 12 0 99 0\n");
    costs_step(&costs, (struct tick){0});
    assert_true(costs.sample.tracker.rss_mib.v == 0.5);
    costs.fake.env.page_bytes = 65536;
    costs_step(&costs, (struct tick){0});
    assert_true(costs.sample.tracker.rss_mib.v == 8.0);
    costs_close(&costs);
}

static void test_broken_statm(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "12\n", "x y\n", "12 -4 3\n", "99999999999999999999 1\n"};
    static struct costs costs;
    costs_open(&costs);
    costs_step(&costs, (struct tick){.baseline = true});
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        fake_env_write(&costs.fake, "proc/self/statm", texts[i]);
        costs_step(&costs, (struct tick){0});
        assert_true(costs.sample.tracker.present);
        assert_false(costs.sample.tracker.rss_mib.has);
        assert_true(costs.sample.tracker.cpu_secs.has);
    }
    costs_close(&costs);
}

static void test_nothing_stays_open(void **state)
{
    (void)state;
    static struct costs costs;
    int before = fake_env_open_count();
    costs_open(&costs);
    fake_env_write(&costs.fake, "proc/self/statm", "1 2 3\n");
    costs_step(&costs, (struct tick){.baseline = true});
    costs_close(&costs);
    assert_int_equal(fake_env_open_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_of_the_interval),
        cmocka_unit_test(test_resident_memory),
        cmocka_unit_test(test_broken_statm),
        cmocka_unit_test(test_nothing_stays_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
