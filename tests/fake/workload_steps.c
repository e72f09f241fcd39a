/* SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SPINS = 16000 };

_Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
    _exit(STATUS_ERROR);
}

unsigned int read_number(const char *word, unsigned long max)
{
    char *end = NULL;
    errno = 0;
    unsigned long value = strtoul(word, &end, 10);
    if (errno == 0 && (end == word || *end != '\0' || value > max))
        errno = EINVAL;
    if (errno != 0)
        give_up(word);
    return (unsigned int)value;
}

int64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) < 0)
        give_up("clock");
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void burn(unsigned int ms)
{
    int64_t end_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) + (int64_t)ms * 1000000;
    volatile unsigned int spins = 0;
    while (read_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
        for (unsigned int i = 0; i < SPINS; i++)
            spins = spins + i;
    }
}

static void *spin(void *end_ns)
{
    volatile unsigned int spins = 0;
    while (read_clock_ns(CLOCK_MONOTONIC) < *(const int64_t *)end_ns) {
        for (unsigned int i = 0; i < SPINS; i++)
            spins = spins + i;
    }
    return NULL;
}

void spin_threads(unsigned int threads, int64_t end_ns)
{
    for (unsigned int i = 1; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, spin, &end_ns) != 0)
            give_up("pthread_create");
    }
    (void)spin(&end_ns);
    rest(20); /* the others see the time as well */
}

void rest(unsigned int ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        continue;
}

static int64_t timeval_us(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

void report_truth(void)
{
    const char *path = getenv("WORKLOAD_TRUTH");
    if (!path)
        return;
    struct rusage own, children;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || getrusage(RUSAGE_SELF, &own) < 0 || getrusage(RUSAGE_CHILDREN, &children) < 0)
        give_up(path);
    int64_t us = timeval_us(children.ru_utime) + timeval_us(children.ru_stime);
    us += read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000;
    if (dprintf(fd, "%lld %ld\n", (long long)us, own.ru_oublock + children.ru_oublock) < 0)
        give_up(path);
    (void)close(fd);
}

pid_t start(void)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        give_up("fork");
    if (pid == 0)
        (void)alarm(LIMIT_SECS);
    return pid;
}

void start_burning(unsigned int ms)
{
    if (start() > 0)
        return;
    burn(ms);
    _exit(0);
}

int reap(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno == ECHILD)
            return -1;
        if (errno != EINTR)
            give_up("waitpid");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void reap_all(void)
{
    while (reap(-1) >= 0)
        continue;
}

void hold(void)
{
    char byte;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&input, 1, LIMIT_SECS * 1000) > 0 && read(STDIN_FILENO, &byte, 1) > 0)
        continue;
}

void say_ready(void)
{
    if (dprintf(STDOUT_FILENO, "ready\n") < 0)
        give_up("stdout");
}

void open_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) < 0)
        give_up("pipe");
}

void await_bytes(int fd, unsigned int count)
{
    char byte;
    while (count > 0 && read(fd, &byte, 1) == 1)
        count--;
}

void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        give_up(path);
    (void)close(fd);
}

char *touch_memory(unsigned int mib)
{
    char *memory = mmap(NULL, (size_t)mib * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        give_up("mmap");
    memset(memory, 1, (size_t)mib * MIB);
    return memory;
}
