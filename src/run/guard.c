/* SPDX-License-Identifier: Apache-2.0 */
#include "run/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/log.h"

/* A descriptor 0, 1 or 2 that is closed would be taken by the next file we open, and then be written to by mistake. */
static void fill_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        (void)close(fd);
}

/* A broken pipe and a file size limit must be errors of write(2), not our end, from the first message on. */
static void block_write_signals(void)
{
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGPIPE);
    (void)sigaddset(&blocked, SIGXFSZ);
    (void)sigprocmask(SIG_BLOCK, &blocked, NULL);
}

void guard_streams(void)
{
    fill_standard_descriptors();
    block_write_signals();
    log_open();
}
