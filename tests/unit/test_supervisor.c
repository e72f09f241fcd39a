/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's table as data: no process is started here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "run/supervisor.h"

static void assert_step(
    enum supervisor_state state, enum supervisor_event event, enum supervisor_action action, enum supervisor_state next)
{
    struct supervisor_step step = supervisor_decide(state, event);
    if (step.action != action || step.next != next)
        fail_msg("state %d, event %d: action %d and state %d, not %d and %d", (int)state, (int)event, (int)step.action,
            (int)step.next, (int)action, (int)next);
}

static const enum supervisor_state with_job[] = {SUPERVISOR_JOB, SUPERVISOR_JOB_STOPPED, SUPERVISOR_JOB_WOKEN};
static const enum supervisor_state without_job[] = {SUPERVISOR_HOST, SUPERVISOR_TREE, SUPERVISOR_TREE_ONLY};

enum { COUNT = 3 };

static void test_signals_are_for_the_job(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT; i++) {
        enum supervisor_state state = with_job[i];
        /* However often: the job decides. */
        for (int times = 0; times < 3; times++) {
            assert_step(state, SUPERVISOR_STOP_SIGNAL, SUPERVISOR_PASS_ON, state);
            assert_step(state, SUPERVISOR_HANGUP, SUPERVISOR_PASS_ON, state);
            assert_step(state, SUPERVISOR_OTHER_SIGNAL, SUPERVISOR_PASS_ON, state);
        }
        assert_step(state, SUPERVISOR_SHARED_SIGNAL, SUPERVISOR_IGNORE, state);
        assert_step(state, SUPERVISOR_SUSPEND_SIGNAL, SUPERVISOR_NOTE_SUSPEND, state);
    }
}

static void test_signals_end_us_without_a_job(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT; i++) {
        enum supervisor_state state = without_job[i];
        assert_step(state, SUPERVISOR_STOP_SIGNAL, SUPERVISOR_FINISH, SUPERVISOR_OVER);
        assert_step(state, SUPERVISOR_HANGUP, SUPERVISOR_FINISH_HANGUP, SUPERVISOR_OVER);
        assert_step(state, SUPERVISOR_OTHER_SIGNAL, SUPERVISOR_IGNORE, state);
        assert_step(state, SUPERVISOR_CONTINUE_SIGNAL, SUPERVISOR_IGNORE, state);
    }
}

static void test_the_end_of_the_job(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT; i++) {
        assert_step(with_job[i], SUPERVISOR_CHILD, SUPERVISOR_REAP, with_job[i]);
        assert_step(with_job[i], SUPERVISOR_JOB_ENDED, SUPERVISOR_FINISH_JOB, SUPERVISOR_OVER);
        assert_step(without_job[i], SUPERVISOR_JOB_ENDED, SUPERVISOR_IGNORE, without_job[i]);
    }
}

static void test_job_control(void **unused)
{
    (void)unused;
    /* The job stops itself, we follow; we are continued, we continue the job. */
    assert_step(SUPERVISOR_JOB, SUPERVISOR_JOB_HALTED, SUPERVISOR_HALT, SUPERVISOR_JOB_STOPPED);
    assert_step(SUPERVISOR_JOB_STOPPED, SUPERVISOR_JOB_HALTED, SUPERVISOR_IGNORE, SUPERVISOR_JOB_STOPPED);
    assert_step(SUPERVISOR_JOB_STOPPED, SUPERVISOR_CONTINUE_SIGNAL, SUPERVISOR_WAKE_JOB, SUPERVISOR_JOB);
    /* Both were stopped and continued by the terminal: the SIGCONT that we got was not for the job again. */
    assert_step(SUPERVISOR_JOB, SUPERVISOR_JOB_RESUMED, SUPERVISOR_IGNORE, SUPERVISOR_JOB_WOKEN);
    assert_step(SUPERVISOR_JOB_STOPPED, SUPERVISOR_JOB_RESUMED, SUPERVISOR_IGNORE, SUPERVISOR_JOB_WOKEN);
    assert_step(SUPERVISOR_JOB_WOKEN, SUPERVISOR_CONTINUE_SIGNAL, SUPERVISOR_IGNORE, SUPERVISOR_JOB);
    assert_step(SUPERVISOR_JOB_WOKEN, SUPERVISOR_JOB_HALTED, SUPERVISOR_HALT, SUPERVISOR_JOB_STOPPED);
    /* A SIGCONT to a job that runs is a signal like others. */
    assert_step(SUPERVISOR_JOB, SUPERVISOR_CONTINUE_SIGNAL, SUPERVISOR_PASS_ON, SUPERVISOR_JOB);
}

static void test_the_reader_goes(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT; i++) {
        assert_step(with_job[i], SUPERVISOR_READER_GONE, SUPERVISOR_REPORT_READER_GONE, with_job[i]);
        assert_step(without_job[i], SUPERVISOR_READER_GONE, SUPERVISOR_LEAVE, SUPERVISOR_OVER);
    }
}

static void test_an_attached_tree_ends(void **unused)
{
    (void)unused;
    assert_step(SUPERVISOR_TREE, SUPERVISOR_MEMBER_ENDED, SUPERVISOR_WATCH_NEXT, SUPERVISOR_TREE);
    assert_step(SUPERVISOR_TREE_ONLY, SUPERVISOR_MEMBER_ENDED, SUPERVISOR_WATCH_NEXT, SUPERVISOR_TREE_ONLY);
    assert_step(SUPERVISOR_TREE, SUPERVISOR_TREE_ENDED, SUPERVISOR_IGNORE, SUPERVISOR_TREE);
    /* The sample that found it out was the last one. */
    assert_step(SUPERVISOR_TREE_ONLY, SUPERVISOR_TREE_ENDED, SUPERVISOR_LEAVE, SUPERVISOR_OVER);
    assert_step(SUPERVISOR_HOST, SUPERVISOR_TREE_ENDED, SUPERVISOR_IGNORE, SUPERVISOR_HOST);
}

static void test_it_stays_over(void **unused)
{
    (void)unused;
    for (int event = 0; event < SUPERVISOR_EVENTS; event++)
        assert_step(SUPERVISOR_OVER, (enum supervisor_event)event, SUPERVISOR_IGNORE, SUPERVISOR_OVER);
}

/* No cell of the table is empty by oversight: an all-zero one would lead to the first state. */
static void test_only_ends_lead_elsewhere(void **unused)
{
    (void)unused;
    for (int state = 0; state < SUPERVISOR_OVER; state++) {
        for (int event = 0; event < SUPERVISOR_EVENTS; event++) {
            struct supervisor_step step = supervisor_decide((enum supervisor_state)state, (enum supervisor_event)event);
            assert_in_range(step.action, 0, SUPERVISOR_ACTIONS - 1);
            assert_in_range(step.next, 0, SUPERVISOR_OVER);
            if (state != SUPERVISOR_HOST)
                assert_int_not_equal(step.next, SUPERVISOR_HOST);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals_are_for_the_job),
        cmocka_unit_test(test_signals_end_us_without_a_job),
        cmocka_unit_test(test_the_end_of_the_job),
        cmocka_unit_test(test_job_control),
        cmocka_unit_test(test_the_reader_goes),
        cmocka_unit_test(test_an_attached_tree_ends),
        cmocka_unit_test(test_it_stays_over),
        cmocka_unit_test(test_only_ends_lead_elsewhere),
    };
    return cmocka_run_group_tests_name("supervisor", tests, NULL, NULL);
}
