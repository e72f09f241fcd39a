/* SPDX-License-Identifier: Apache-2.0 */
/* How threads are started: signals, stack, and whether they are to be joined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>

#include "base/thread.h"

enum { STACK_BYTES = 512 * 1024 };

struct seen {
    sem_t is_done;
    bool is_blocked;
    int detach_state;
    size_t stack_bytes;
};

static void *look(void *context)
{
    struct seen *seen = context;
    sigset_t mask;
    pthread_attr_t attributes;
    seen->is_blocked = pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0;
    for (int i = 1; i < SIGRTMIN; i++)
        seen->is_blocked &= i == SIGKILL || i == SIGSTOP || i >= 32 || sigismember(&mask, i) == 1;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        (void)pthread_attr_getdetachstate(&attributes, &seen->detach_state);
        (void)pthread_attr_getstacksize(&attributes, &seen->stack_bytes);
        (void)pthread_attr_destroy(&attributes);
    }
    (void)sem_post(&seen->is_done);
    return NULL;
}

static void test_started(void **state)
{
    (void)state;
    for (int is_detached = 0; is_detached < 2; is_detached++) {
        static struct seen seen;
        pthread_t thread;
        sigset_t before, after;
        seen = (struct seen){0};
        assert_int_equal(sem_init(&seen.is_done, 0, 0), 0);
        assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &before), 0);
        assert_int_equal(thread_start(look, &seen, STACK_BYTES, is_detached ? NULL : &thread), 0);
        assert_int_equal(sem_wait(&seen.is_done), 0);
        assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &after), 0);
        assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
        assert_true(seen.is_blocked);
        assert_int_equal(seen.detach_state, is_detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
        assert_in_range(seen.stack_bytes, STACK_BYTES, 2 * STACK_BYTES);
        if (!is_detached)
            assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
