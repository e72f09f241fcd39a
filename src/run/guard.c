/* SPDX-License-Identifier: Apache-2.0 */
#include "run/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/num.h"
#include "kernel/sysroot.h"

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

/*
 * A broken pipe and a file size limit must be errors of write(2), not our end, from the first message on. A terminal
 * set to stop background writers would stop the whole process group, and that is the job.
 */
static void block_write_signals(sigset_t *ret_caller_mask)
{
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGPIPE);
    (void)sigaddset(&blocked, SIGXFSZ);
    (void)sigaddset(&blocked, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &blocked, ret_caller_mask);
}

void guard_streams(sigset_t *ret_caller_mask)
{
    fill_standard_descriptors();
    block_write_signals(ret_caller_mask);
    log_open();
}

void guard_die_of(int signal_number)
{
    if (signal_number != SIGINT && signal_number != SIGQUIT)
        return;
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)signal(signal_number, SIG_DFL);
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, signal_number);
    (void)raise(signal_number);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* In Linux a niceness is a thread's. One that ends meanwhile is no loss, and one that begins has that of its creator.
 */
static void renice_threads(int niceness)
{
    DIR *dir = opendir(SYSROOT_OWN_THREADS);
    const struct dirent *entry;
    uint64_t thread;
    while (dir && (entry = readdir(dir))) {
        if (num_parse_u64(str_of(entry->d_name), &thread) == 0)
            (void)setpriority(PRIO_PROCESS, (id_t)thread, niceness);
    }
    if (dir)
        (void)closedir(dir);
}

void renice_self(const struct settings *settings)
{
    if (!settings->renice.has)
        return;
    int niceness = (int)settings->renice.v;
    if (setpriority(PRIO_PROCESS, 0, niceness) == 0)
        renice_threads(niceness);
    else
        log_warning("the tracker's niceness cannot be set to %d: %s", niceness, strerror(errno));
}
