/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message is one byte and the text. All signals are blocked in the process, and it leads a group of its own, so that
 * neither Ctrl-C nor a kill of our group ends it before us; it ends when the other side of its channel is closed.
 */
#include "run/output/terminal_guard.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/syscalls.h"

#define GUARD_FLAG "--terminal-guard"

/* A terminal that is halted (Ctrl-S) is not waited for much longer than its user would. */
enum { MESSAGE_BYTES_MAX = 512, WRITE_TRIES = 500, END_TRIES = 200, PAUSE_MS = 1 };

static int start(struct terminal_guard *guard, int fd)
{
    char name[] = "resource-tracker", flag[] = GUARD_FLAG;
    char *const argv[] = {name, flag, NULL};
    const struct helper_request request = {
        .path = FILE_OWN_PROGRAM,
        .argv = argv,
        .environment = guard->environment,
        .stdout_fd = fd,
    };
    return helper_start_with_channel(&guard->process, guard->helpers, request, &guard->channel_fd);
}

void terminal_guard_set(void *context, int fd, struct str text)
{
    struct terminal_guard *guard = context;
    if (!guard->helpers)
        return;
    if (!guard->was_started && text.n > 0) {
        int r = start(guard, fd);
        if (r < 0)
            log_info("no process can restore the terminal after a kill: %s", strerror(-r));
        guard->was_started = true;
    }
    char message[MESSAGE_BYTES_MAX];
    if (guard->channel_fd < 0 || text.n >= sizeof(message))
        return;
    message[0] = 't';
    if (text.n > 0)
        memcpy(message + 1, text.p, text.n);
    (void)send(guard->channel_fd, message, text.n + 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void terminal_guard_end(struct terminal_guard *guard)
{
    struct opt_i64 status;
    if (guard->process.pid > 0) {
        helper_kill(&guard->process);
        for (int i = 0; i < END_TRIES && !helper_reap(&guard->process, guard->helpers, &status); i++)
            (void)poll(NULL, 0, PAUSE_MS);
        helper_release(&guard->process);
    }
    fd_close(&guard->channel_fd);
}

bool terminal_guard_is_meant(int argc, char **argv)
{
    return argc == 2 && helper_is_meant(argv[1], GUARD_FLAG);
}

/* While others write, a write is refused although there would be space. */
static void write_all(const char *text, size_t n)
{
    for (int i = 0; i < WRITE_TRIES && n > 0; i++) {
        ssize_t done = write(STDOUT_FILENO, text, n);
        if (done < 0 && errno != EAGAIN && errno != EINTR)
            return;
        if (done > 0) {
            text += done;
            n -= (size_t)done;
        } else {
            (void)poll(NULL, 0, PAUSE_MS);
        }
    }
}

int terminal_guard_main(void)
{
    char text[MESSAGE_BYTES_MAX], message[MESSAGE_BYTES_MAX];
    size_t n = 0;
    ssize_t got;
    (void)prctl(PR_SET_NAME, "rt-terminal", 0, 0, 0);
    (void)syscall(SYS_close_range, HELPER_CHANNEL_FD + 1, ~0U, 0);
    while ((got = recv(HELPER_CHANNEL_FD, message, sizeof(message), 0)) > 0 || (got < 0 && errno == EINTR)) {
        if (got <= 0)
            continue;
        n = (size_t)got - 1;
        memcpy(text, message + 1, n);
    }
    write_all(text, n);
    return EXIT_SUCCESS;
}
