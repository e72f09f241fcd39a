/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: a thread that is there before main and blocks no signal, as profilers and allocators have one. With
 * OTHER_THREAD_SIGNAL in the environment the process gets SIGCHLD once more while it ends. As LD_AUDIT it has a C
 * library of its own, and that of the program knows nothing of the thread.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *wait_forever(void *unused)
{
    for (;;)
        (void)pause();
    return unused;
}

unsigned la_version(unsigned version);

unsigned la_version(unsigned version)
{
    return version;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, wait_forever, NULL);
}

__attribute__((destructor)) static void end(void)
{
    if (getenv("OTHER_THREAD_SIGNAL"))
        (void)kill(getpid(), SIGCHLD);
}
