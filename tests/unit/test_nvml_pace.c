/* SPDX-License-Identifier: Apache-2.0 */
/* When the NVIDIA library is asked, for narrow and wide grids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collect/gpu/nvidia/sampling.h"

#define START (1000 * NS_PER_SEC)
#define LEAD (5 * NS_PER_MS)

struct count {
    int steps, slots;
};

/* What happens in so many seconds, with checks that hold for every grid. */
static struct count walk(int64_t interval_ns, int64_t seconds)
{
    struct nvml_pace pace;
    struct count count = {0};
    int64_t previous_ns = START;
    nvml_pace_init(&pace, START, interval_ns, START);
    for (;;) {
        struct nvml_step step = nvml_pace_next(&pace, LEAD);
        if (step.due_ns > START + seconds * NS_PER_SEC - LEAD)
            return count;
        int64_t gap_ns = step.due_ns + LEAD - previous_ns;
        assert_true(gap_ns >= 200 * NS_PER_MS && gap_ns <= NS_PER_SEC + 10);
        previous_ns = step.due_ns + LEAD;
        if (step.is_slot)
            assert_int_equal((step.due_ns + LEAD - START) % interval_ns, 0);
        count.steps++;
        count.slots += step.is_slot;
        nvml_pace_advance(&pace, step.due_ns + LEAD);
    }
}

static void assert_count(struct count count, int steps, int slots)
{
    assert_int_equal(count.steps, steps);
    assert_int_equal(count.slots, slots);
}

static void test_grids(void **state)
{
    (void)state;
    assert_count(walk(NS_PER_SEC, 10), 10, 10);
    assert_count(walk(100 * NS_PER_MS, 10), 50, 50);
    assert_count(walk(10 * NS_PER_MS, 10), 50, 50);
    assert_count(walk(30 * NS_PER_MS, 21), 100, 100); /* every 210 ms */
    assert_count(walk(250 * NS_PER_MS, 10), 40, 40);
    assert_count(walk(60 * NS_PER_SEC, 120), 120, 2);
    assert_count(walk(2500 * NS_PER_MS, 10), 12, 4); /* three readings of 833 ms each */
}

static void test_late_steps_are_left_out(void **state)
{
    (void)state;
    struct nvml_pace pace;
    nvml_pace_init(&pace, START, NS_PER_SEC, START);
    nvml_pace_advance(&pace, START + 3300 * NS_PER_MS);
    struct nvml_step step = nvml_pace_next(&pace, 0);
    assert_int_equal(step.due_ns, START + 4 * NS_PER_SEC);
    assert_true(step.is_slot);
}

/* A helper that is started in the middle of a run falls into the same grid. */
static void test_start_in_the_middle(void **state)
{
    (void)state;
    struct nvml_pace pace;
    nvml_pace_init(&pace, START, NS_PER_SEC, START + 7950 * NS_PER_MS);
    struct nvml_step step = nvml_pace_next(&pace, LEAD);
    assert_int_equal(step.due_ns, START + 8 * NS_PER_SEC - LEAD);
    assert_true(step.is_slot);
    /* A grid that has not begun. */
    nvml_pace_init(&pace, START, NS_PER_SEC, START - NS_PER_SEC);
    assert_int_equal(nvml_pace_next(&pace, 0).due_ns, START + NS_PER_SEC);
}

static void test_patience(void **state)
{
    (void)state;
    assert_int_equal(nvml_pace_patience(10 * NS_PER_MS), 1200 * NS_PER_MS);
    assert_int_equal(nvml_pace_patience(NS_PER_SEC), 2 * NS_PER_SEC);
    assert_int_equal(nvml_pace_patience(3600 * NS_PER_SEC), 2 * NS_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grids),
        cmocka_unit_test(test_late_steps_are_left_out),
        cmocka_unit_test(test_start_in_the_middle),
        cmocka_unit_test(test_patience),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
