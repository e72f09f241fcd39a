/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the jobs that the accuracy tests track: `workload VERB [ARG...] [, VERB [ARG...]]...`, for example
 * `workload child private burn 300 , burn 100`. Times are milliseconds of CPU time unless said otherwise. Every process
 * ends by itself after LIMIT_SECS at the latest.
 * WORKLOAD_TRUTH names a file to which the first process, and every other that is not waited for, appends at its end
 * the microseconds of CPU time and the 512-byte units of output of its own and of the children it has waited for.
 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FAN_OUT = 10, THREADS_MAX = 64, DEPTH_MAX = 5, MIB_MAX = 4096, COUNT_MAX = 10000, MS_MAX = 60000 };

static int play_words(char **words);

/* burn MS */
static int play_burn(char **words)
{
    burn(read_number(words[0], MS_MAX));
    return 0;
}

/* busy COUNT THREADS MS of wall time: so many children of so many threads that all want a CPU */
static int play_busy(char **words)
{
    unsigned int threads = read_number(words[1], THREADS_MAX), ms = read_number(words[2], MS_MAX);
    int64_t end_ns = read_clock_ns(CLOCK_MONOTONIC) + (int64_t)ms * 1000000;
    for (unsigned int i = read_number(words[0], 100); i > 0; i--) {
        if (start() == 0) {
            spin_threads(threads, end_ns);
            _exit(0);
        }
    }
    reap_all();
    return 0;
}

/* pin CPU VERB...: on that CPU only */
static int play_pin(char **words)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(read_number(words[0], CPU_SETSIZE - 1), &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        give_up("affinity");
    return play_words(words + 1);
}

/* sleep MS of wall time */
static int play_sleep(char **words)
{
    rest(read_number(words[0], MS_MAX));
    return 0;
}

/* exit STATUS */
static int play_exit(char **words)
{
    return (int)read_number(words[0], 255);
}

/* COUNT children, WIDTH of them at once, each reaped as it ends; words are COUNT MS WIDTH */
static int take_turns(char **words, void (*work)(unsigned int ms))
{
    unsigned int count = read_number(words[0], COUNT_MAX), width = read_number(words[2], COUNT_MAX);
    for (unsigned int i = 0; i < count; i++) {
        if (i >= width)
            (void)reap(-1);
        if (start() > 0)
            continue;
        work(read_number(words[1], MS_MAX));
        _exit(0);
    }
    reap_all();
    return 0;
}

/* loop COUNT MS WIDTH */
static int play_loop(char **words)
{
    return take_turns(words, burn);
}

static void burn_in_child(unsigned int ms)
{
    start_burning(ms);
    reap_all();
    burn(ms / 10);
}

/* make COUNT MS WIDTH: children that each start one of their own for the work, as a compiler's driver does */
static int play_make(char **words)
{
    return take_turns(words, burn_in_child);
}

static void burn_and_report(unsigned int ms)
{
    burn(ms);
    report_truth();
}

/* ignore COUNT MS WIDTH: SIGCHLD is ignored, so that the kernel reaps the children */
static int play_ignore(char **words)
{
    (void)signal(SIGCHLD, SIG_IGN);
    return take_turns(words, burn_and_report);
}

/* waves COUNT WIDTH MS LATE_MS: the children of a wave stay zombies for a while */
static int play_waves(char **words)
{
    unsigned int count = read_number(words[0], 100), width = read_number(words[1], 100),
                 ms = read_number(words[2], MS_MAX);
    for (unsigned int i = 0; i < count; i++) {
        int ends[2];
        open_pipe(ends);
        for (unsigned int k = 0; k < width; k++)
            start_burning(ms);
        (void)close(ends[1]);
        await_bytes(ends[0], 1); /* the end comes when the last of them has gone */
        (void)close(ends[0]);
        rest(read_number(words[3], MS_MAX));
        reap_all();
    }
    return 0;
}

struct forking {
    unsigned int ms;
    pthread_barrier_t *together; /* NULL: alone */
};

static void *burn_and_fork(void *context)
{
    const struct forking *forking = context;
    burn(forking->ms);
    int ends[2];
    open_pipe(ends);
    pid_t child = start();
    if (child == 0) {
        await_bytes(ends[0], 1);
        burn(forking->ms);
        _exit(0);
    }
    if (forking->together)
        (void)pthread_barrier_wait(forking->together);
    if (write(ends[1], "", 1) != 1)
        give_up("pipe");
    (void)reap(child);
    (void)close(ends[0]);
    (void)close(ends[1]);
    burn(forking->ms);
    return NULL;
}

/* threads COUNT MS: each works, forks a child that works once all are there, and works on */
static int play_threads(char **words)
{
    unsigned int count = read_number(words[0], THREADS_MAX);
    pthread_t threads[THREADS_MAX];
    pthread_barrier_t together;
    struct forking forking = {.ms = read_number(words[1], MS_MAX), .together = &together};
    if (count > 0 && pthread_barrier_init(&together, NULL, count) != 0)
        give_up("pthread_barrier_init");
    for (unsigned int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, burn_and_fork, &forking) != 0)
            give_up("pthread_create");
    }
    for (unsigned int i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
    return 0;
}

static void *burn_and_leave(void *words)
{
    (void)touch_memory(read_number(((char **)words)[0], MIB_MAX));
    (void)burn_and_fork(&(struct forking){.ms = read_number(((char **)words)[1], MS_MAX)});
    report_truth();
    _exit(0);
}

/* headless MIB MS: the first thread ends, another one touches memory and works on */
static int play_headless(char **words)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, burn_and_leave, words) != 0)
        give_up("pthread_create");
    pthread_exit(NULL);
}

/* sibling VERB...: in a child that belongs to our parent; returns when it has ended */
static int play_sibling(char **words)
{
    int ends[2];
    open_pipe(ends);
    long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0)
        give_up("clone");
    if (pid == 0) {
        (void)alarm(LIMIT_SECS);
        int status = play_words(words);
        report_truth();
        _exit(status);
    }
    (void)close(ends[1]);
    await_bytes(ends[0], 1);
    return close(ends[0]);
}

static unsigned int roll(uint32_t *seed, unsigned int sides)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 16) % sides;
}

static void live(uint32_t seed, unsigned int depth, bool has_reapers)
{
    if (roll(&seed, 8) == 0 && has_reapers)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (unsigned int i = roll(&seed, 5) + 1; i > 0; i--) {
        burn(roll(&seed, 12));
        uint32_t next = seed ^ (uint32_t)(i << 20 | depth);
        if (depth < DEPTH_MAX && roll(&seed, 2) == 0 && start() == 0) {
            live(next, depth + 1, has_reapers);
            _exit(0);
        }
        if (roll(&seed, 3) == 0)
            (void)reap(-1);
        rest(roll(&seed, 8));
    }
    if (roll(&seed, 2) == 0)
        reap_all();
}

/* chaos COUNT SEED plain|reapers: families in which anything happens; returns when the last of them has ended */
static int play_chaos(char **words)
{
    int ends[2];
    open_pipe(ends);
    for (unsigned int i = read_number(words[0], 20); i > 0; i--) {
        if (start() == 0) {
            live(read_number(words[1], COUNT_MAX) * 7919 + i, 0, strcmp(words[2], "reapers") == 0);
            _exit(0);
        }
    }
    (void)close(ends[1]);
    await_bytes(ends[0], 1);
    rest(50); /* files are closed some steps before the end */
    return close(ends[0]);
}

/* Leaves a child without a parent in the tree: the process between them ends at once. */
static void start_daemon(unsigned int ms, bool stays, int done)
{
    pid_t between = start();
    if (between > 0) {
        (void)reap(between);
        return;
    }
    if (start() > 0)
        _exit(0);
    burn(ms);
    report_truth();
    if (write(done, "", 1) != 1)
        give_up("write");
    if (stays)
        hold();
    _exit(0);
}

/* daemons COUNT MS ended|stay: returns when they have done their work, and have ended or stay till the input ends */
static int play_daemons(char **words)
{
    unsigned int count = read_number(words[0], 100), ms = read_number(words[1], MS_MAX);
    bool stays = strcmp(words[2], "stay") == 0;
    int ends[2];
    open_pipe(ends);
    for (unsigned int i = 0; i < count; i++)
        start_daemon(ms, stays, ends[1]);
    (void)close(ends[1]);
    await_bytes(ends[0], stays ? count : count + 1);
    (void)close(ends[0]);
    return 0;
}

static void grow_tree(unsigned int place, unsigned int count, int ready)
{
    for (unsigned int child = place * FAN_OUT + 1; child <= place * FAN_OUT + FAN_OUT && child <= count; child++) {
        pid_t parent = getpid();
        if (start() > 0)
            continue;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        grow_tree(child, count, ready);
        if (write(ready, "", 1) != 1)
            give_up("write");
        (void)close(ready);
        for (;;)
            (void)pause();
    }
}

static void *wait_forever(void *unused)
{
    (void)unused;
    for (;;)
        (void)pause();
    return NULL;
}

/* idle COUNT THREADS: a tree of that many descendants, and threads of the first process; ends when the input ends */
static int play_idle(char **words)
{
    unsigned int count = read_number(words[0], COUNT_MAX), threads = read_number(words[1], THREADS_MAX);
    int ends[2];
    open_pipe(ends);
    grow_tree(0, count, ends[1]);
    await_bytes(ends[0], count);
    for (unsigned int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_forever, NULL) != 0)
            give_up("pthread_create");
    }
    say_ready();
    hold();
    return 0;
}

/* Touches memory, forks children that share it or write to all of it, and keeps it till the input ends. */
static int share_memory(char **words, bool is_rewritten)
{
    unsigned int mib = read_number(words[0], MIB_MAX), count = read_number(words[1], 100);
    char *memory = touch_memory(mib);
    int ends[2];
    open_pipe(ends);
    for (unsigned int i = 0; i < count; i++) {
        if (start() != 0)
            continue;
        if (is_rewritten)
            memset(memory, 2, (size_t)mib * MIB);
        if (write(ends[1], "", 1) != 1)
            give_up("write");
        hold();
        _exit(0);
    }
    await_bytes(ends[0], count);
    say_ready();
    hold();
    reap_all();
    return 0;
}

/* hold MIB SHARERS */
static int play_hold(char **words)
{
    return share_memory(words, false);
}

/* rewrite MIB WRITERS */
static int play_rewrite(char **words)
{
    return share_memory(words, true);
}

/* The program that children execute: this one, with nothing to do. */
static _Noreturn void execute_nothing(void)
{
    (void)execl("/proc/self/exe", "workload", "exit", "0", (char *)NULL);
    _exit(STATUS_ERROR);
}

/* vforks MIB HOLD_MS COUNT: touches memory, and starts children that have it until they execute something */
static int play_vforks(char **words)
{
    (void)touch_memory(read_number(words[0], MIB_MAX));
    unsigned int hold_ms = read_number(words[1], MS_MAX);
    struct timespec time = {.tv_sec = hold_ms / 1000, .tv_nsec = (long)(hold_ms % 1000) * 1000000};
    for (unsigned int i = read_number(words[2], COUNT_MAX); i > 0; i--) {
        pid_t child = vfork();
        if (child == 0) {
            (void)nanosleep(&time, NULL);
            execute_nothing();
        }
        (void)reap(child);
    }
    return 0;
}

/* forks MIB MS of wall time: touches memory, and forks children that execute something, one after the other */
static int play_forks(char **words)
{
    (void)touch_memory(read_number(words[0], MIB_MAX));
    int64_t end_ns = read_clock_ns(CLOCK_MONOTONIC) + (int64_t)read_number(words[1], MS_MAX) * 1000000;
    while (read_clock_ns(CLOCK_MONOTONIC) < end_ns) {
        pid_t child = start();
        if (child == 0)
            execute_nothing();
        (void)reap(child);
        rest(2);
    }
    return 0;
}

static void *hold_and_burn(void *words)
{
    pid_t child = start();
    if (child > 0) {
        (void)reap(child);
        return NULL;
    }
    (void)touch_memory(read_number(((char **)words)[1], MIB_MAX));
    burn(read_number(((char **)words)[2], MS_MAX));
    _exit(0);
}

/* crowd THREADS MIB MS first|last: idle threads for a second, then the first or the last one has a child that works */
static int play_crowd(char **words)
{
    pthread_t thread;
    pthread_attr_t small;
    bool is_first = strcmp(words[3], "first") == 0;
    if (pthread_attr_init(&small) != 0 || pthread_attr_setstacksize(&small, 128 * 1024) != 0)
        give_up("pthread_attr");
    for (unsigned int i = read_number(words[0], COUNT_MAX); i > 0; i--) {
        if (pthread_create(&thread, &small, wait_forever, NULL) != 0)
            give_up("pthread_create");
    }
    rest(1000);
    if (is_first)
        return hold_and_burn(words) != NULL;
    if (pthread_create(&thread, NULL, hold_and_burn, words) != 0)
        give_up("pthread_create");
    return pthread_join(thread, NULL);
}

/* spike MIB MS of wall time */
static int play_spike(char **words)
{
    unsigned int mib = read_number(words[0], MIB_MAX);
    char *memory = touch_memory(mib);
    rest(read_number(words[1], MS_MAX));
    return munmap(memory, (size_t)mib * MIB);
}

/* write FILE MIB LATER_MS: through to the disk, and ends a while later */
static int play_write(char **words)
{
    char *block = touch_memory(1);
    int fd = open(words[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    for (unsigned int i = read_number(words[1], MIB_MAX); fd >= 0 && i > 0; i--) {
        if (write(fd, block, MIB) != MIB)
            give_up(words[0]);
    }
    if (fd < 0 || fsync(fd) < 0)
        give_up(words[0]);
    rest(read_number(words[2], MS_MAX));
    return close(fd);
}

/* child VERB...: in a child that is waited for, so that its truth is reported by its parent */
static int play_child(char **words)
{
    pid_t child = start();
    if (child > 0)
        return reap(child);
    (void)unsetenv("WORKLOAD_TRUTH");
    _exit(play_words(words));
}

/* leave VERB...: in a child that is not waited for */
static int play_leave(char **words)
{
    if (start() > 0)
        return 0;
    int status = play_words(words);
    report_truth();
    _exit(status);
}

/* reaper VERB...: adopts what the verb leaves behind, and waits for it */
static int play_reaper(char **words)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        give_up("subreaper");
    int status = play_words(words);
    reap_all();
    return status;
}

/* private VERB...: memory and I/O are closed to other processes of the same user */
static int play_private(char **words)
{
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        give_up("dumpable");
    return play_words(words);
}

/* become VERB...: for a copy of this program that is set-user-ID: as that user only */
static int play_become(char **words)
{
    errno = EPERM;
    if (geteuid() == getuid() || setresuid(geteuid(), geteuid(), geteuid()) < 0)
        give_up("become");
    return play_words(words);
}

/* name VERB...: under a name that looks like the end of the name and more columns of /proc/PID/stat */
static int play_name(char **words)
{
    if (prctl(PR_SET_NAME, ") R 1 (\n") < 0)
        give_up("name");
    return play_words(words);
}

/* reuse MS NEXT_MS: two children, one after the other, of the same PID; needs a PID namespace to itself */
static int play_reuse(char **words)
{
    char last[32];
    pid_t pids[2];
    for (int i = 0; i < 2; i++) {
        pids[i] = start();
        if (pids[i] == 0) {
            burn(read_number(words[i], MS_MAX));
            rest(250);
            _exit(0);
        }
        (void)reap(pids[i]);
        (void)snprintf(last, sizeof(last), "%d", (int)pids[0] - 1);
        write_text("/proc/sys/kernel/ns_last_pid", last);
    }
    errno = EAGAIN;
    if (pids[0] != pids[1])
        give_up("the PID was not used again");
    return 0;
}

/* exec PROGRAM [ARG...] */
static int play_exec(char **words)
{
    (void)execvp(words[0], words);
    give_up(words[0]);
}

/* enter PROCS FILE PROGRAM [ARG...]: joins the cgroup, notes the CPU time used before (in us), becomes the program */
static int play_enter(char **words)
{
    char spent[32];
    write_text(words[0], "0");
    (void)snprintf(spent, sizeof(spent), "%lld", (long long)(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000));
    write_text(words[1], spent);
    return play_exec(words + 2);
}

struct verb {
    const char *name;
    int words; /* at least */
    int (*play)(char **words);
};

static const struct verb verbs[] = {{"burn", 1, play_burn}, {"busy", 3, play_busy}, {"pin", 2, play_pin},
    {"sleep", 1, play_sleep}, {"exit", 1, play_exit}, {"loop", 3, play_loop}, {"waves", 4, play_waves},
    {"threads", 2, play_threads}, {"make", 3, play_make}, {"daemons", 3, play_daemons}, {"ignore", 3, play_ignore},
    {"idle", 2, play_idle}, {"hold", 2, play_hold}, {"rewrite", 2, play_rewrite}, {"spike", 2, play_spike},
    {"write", 3, play_write}, {"child", 1, play_child}, {"leave", 1, play_leave}, {"reaper", 1, play_reaper},
    {"private", 1, play_private}, {"become", 1, play_become}, {"name", 1, play_name}, {"reuse", 2, play_reuse},
    {"headless", 2, play_headless}, {"sibling", 1, play_sibling}, {"chaos", 3, play_chaos}, {"vforks", 3, play_vforks},
    {"forks", 2, play_forks}, {"crowd", 4, play_crowd}, {"exec", 1, play_exec}};

static int play_words(char **words)
{
    int count = 0;
    while (words[count])
        count++;
    for (size_t i = 0; count > 0 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(words[0], verbs[i].name) == 0 && count > verbs[i].words)
            return verbs[i].play(words + 1);
    }
    errno = EINVAL;
    give_up(count > 0 ? words[0] : "nothing to do");
}

int main(int argc, char **argv)
{
    int status = 0;
    (void)alarm(LIMIT_SECS);
    if (argc > 4 && strcmp(argv[1], "enter") == 0)
        return play_enter(argv + 2); /* commas are the program's */
    for (int i = 1; i < argc; i++) {
        char **words = argv + i;
        while (i < argc && strcmp(argv[i], ",") != 0)
            i++;
        argv[i] = NULL;
        status = play_words(words);
    }
    report_truth();
    return status;
}
