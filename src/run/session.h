/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the tracker: over a command, a running tree, or the host alone. */
#ifndef RUN_SESSION_H
#define RUN_SESSION_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"
#include "config/settings.h"

struct session_result {
    /*
     * The exit status: the command's own, 126 or 127 with a message where it could not be executed; without a command 0
     * after SIGINT or SIGTERM, 129 after SIGHUP. A negative errno with a message where tracking could not start.
     */
    int status;
    int signal; /* that ended the command; 0: none did */
    bool is_stuck; /* a file or a disk that does not answer holds up a thread of ours: leave without tidying up */
};

/* caller_mask: the signal mask the command is to have. */
struct session_result session_run(const struct settings *settings, const sigset_t *caller_mask, struct err *err);

#endif
