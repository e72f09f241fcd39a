/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens when: a table of state x event -> action and next state. It knows no processes and no descriptors, so
 * every case can be tested as data; supervisor.c carries the actions out.
 */
#ifndef RUN_SUPERVISOR_H
#define RUN_SUPERVISOR_H

enum supervisor_state {
    SUPERVISOR_HOST, /* no tree is tracked */
    SUPERVISOR_JOB, /* the command runs */
    SUPERVISOR_JOB_STOPPED, /* the command is stopped (job control) */
    SUPERVISOR_JOB_WOKEN, /* it was just continued: a SIGCONT that comes now was for both of us */
    SUPERVISOR_TREE, /* attached to a running tree; it is tracked on when it is gone */
    SUPERVISOR_TREE_ONLY, /* attached, and the end of the tree is our end */
    SUPERVISOR_OVER,
    SUPERVISOR_STATES,
};

enum supervisor_event {
    SUPERVISOR_STOP_SIGNAL, /* SIGINT, SIGTERM */
    SUPERVISOR_HANGUP, /* SIGHUP */
    SUPERVISOR_OTHER_SIGNAL, /* SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH and others */
    SUPERVISOR_CONTINUE_SIGNAL, /* SIGCONT */
    SUPERVISOR_SUSPEND_SIGNAL, /* SIGTSTP */
    SUPERVISOR_SHARED_SIGNAL, /* any of these, but the command got it as well */
    SUPERVISOR_CHILD, /* a child changed its state */
    SUPERVISOR_JOB_ENDED, /* found out by reaping */
    SUPERVISOR_JOB_HALTED,
    SUPERVISOR_JOB_RESUMED,
    SUPERVISOR_MEMBER_ENDED, /* the watched process of an attached tree */
    SUPERVISOR_TREE_ENDED, /* and no other is left */
    SUPERVISOR_READER_GONE,
    SUPERVISOR_EVENTS,
};

enum supervisor_action {
    SUPERVISOR_IGNORE,
    SUPERVISOR_FINISH, /* the final sample, status 0 */
    SUPERVISOR_FINISH_HANGUP, /* the same, status 129 */
    SUPERVISOR_FINISH_JOB, /* reap, the final sample, the command's status */
    SUPERVISOR_LEAVE, /* the reader is gone: no sample, status 0 */
    SUPERVISOR_PASS_ON, /* the signal, to the command */
    SUPERVISOR_WAKE_JOB, /* the same where the command is still stopped */
    SUPERVISOR_NOTE_SUSPEND, /* the command may stop, or have stopped; then we do too */
    SUPERVISOR_SUSPEND, /* stop ourselves: there is no command */
    SUPERVISOR_REAP,
    SUPERVISOR_HALT, /* stop as the command did, so that the shell notices */
    SUPERVISOR_WATCH_NEXT, /* another process of the attached tree, if there is one */
    SUPERVISOR_REPORT_READER_GONE,
    SUPERVISOR_ACTIONS,
};

struct supervisor_step {
    enum supervisor_action action;
    enum supervisor_state next;
};

struct supervisor_step supervisor_decide(enum supervisor_state state, enum supervisor_event event);

#endif
