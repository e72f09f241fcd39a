/* SPDX-License-Identifier: Apache-2.0 */
#include "run/supervisor.h"

/* clang-format off */
#define STAY SUPERVISOR_STATES
#define A(action) {SUPERVISOR_##action, STAY}
#define TO(action, next) {SUPERVISOR_##action, SUPERVISOR_##next}

/*
 * Without a command, signals are for us, and without a reader there is nothing left to do. With one, signals are for
 * the command, however often they come, and it is served to its end.
 */
static const struct supervisor_step table[SUPERVISOR_EVENTS][SUPERVISOR_OVER] = {
    /*                                HOST                        JOB                        JOB_STOPPED                JOB_WOKEN                  TREE                        TREE_ONLY */
    [SUPERVISOR_STOP_SIGNAL]     = {TO(FINISH, OVER),           A(PASS_ON),                A(PASS_ON),                A(PASS_ON),                TO(FINISH, OVER),           TO(FINISH, OVER)},
    [SUPERVISOR_HANGUP]          = {TO(FINISH_HANGUP, OVER),    A(PASS_ON),                A(PASS_ON),                A(PASS_ON),                TO(FINISH_HANGUP, OVER),    TO(FINISH_HANGUP, OVER)},
    [SUPERVISOR_OTHER_SIGNAL]    = {A(IGNORE),                  A(PASS_ON),                A(PASS_ON),                A(PASS_ON),                A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_CONTINUE_SIGNAL] = {A(IGNORE),                  A(PASS_ON),                TO(WAKE_JOB, JOB),         TO(IGNORE, JOB),           A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_SUSPEND_SIGNAL]  = {A(SUSPEND),                 A(NOTE_SUSPEND),           A(NOTE_SUSPEND),           A(NOTE_SUSPEND),           A(SUSPEND),                 A(SUSPEND)},
    [SUPERVISOR_SHARED_SIGNAL]   = {A(IGNORE),                  A(IGNORE),                 A(IGNORE),                 A(IGNORE),                 A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_CHILD]           = {A(REAP),                    A(REAP),                   A(REAP),                   A(REAP),                   A(REAP),                    A(REAP)},
    [SUPERVISOR_JOB_ENDED]       = {A(IGNORE),                  TO(FINISH_JOB, OVER),      TO(FINISH_JOB, OVER),      TO(FINISH_JOB, OVER),      A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_JOB_HALTED]      = {A(IGNORE),                  TO(HALT, JOB_STOPPED),     A(IGNORE),                 TO(HALT, JOB_STOPPED),     A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_JOB_RESUMED]     = {A(IGNORE),                  TO(IGNORE, JOB_WOKEN),     TO(IGNORE, JOB_WOKEN),     A(IGNORE),                 A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_MEMBER_ENDED]    = {A(IGNORE),                  A(IGNORE),                 A(IGNORE),                 A(IGNORE),                 A(WATCH_NEXT),              A(WATCH_NEXT)},
    [SUPERVISOR_TREE_ENDED]      = {A(IGNORE),                  A(IGNORE),                 A(IGNORE),                 A(IGNORE),                 A(IGNORE),                  TO(LEAVE, OVER)},
    [SUPERVISOR_READER_GONE]     = {TO(LEAVE, OVER),            A(REPORT_READER_GONE),     A(REPORT_READER_GONE),     A(REPORT_READER_GONE),     TO(LEAVE, OVER),            TO(LEAVE, OVER)},
};
/* clang-format on */

struct supervisor_step supervisor_decide(enum supervisor_state state, enum supervisor_event event)
{
    if (state >= SUPERVISOR_OVER)
        return (struct supervisor_step){SUPERVISOR_IGNORE, SUPERVISOR_OVER};
    struct supervisor_step step = table[event][state];
    if (step.next == STAY)
        step.next = state;
    return step;
}
