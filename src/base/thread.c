/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <signal.h>

int thread_start(void *(*run)(void *context), void *context, size_t stack_bytes, pthread_t *ret_thread)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int r = pthread_attr_init(&attributes);
    if (r != 0)
        return -r;
    (void)pthread_attr_setstacksize(&attributes, stack_bytes);
    if (!ret_thread)
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    /* The thread inherits the mask: a signal that is blocked there arrives where it is expected. */
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(ret_thread ? ret_thread : &thread, &attributes, run, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return -r;
}
