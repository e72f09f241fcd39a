/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside the first one: no signal is for them, and the size of their stack is said. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* Starts run(context). ret_thread NULL: nothing joins it. Returns 0 or a negative errno. */
int thread_start(void *(*run)(void *context), void *context, size_t stack_bytes, pthread_t *ret_thread);

#endif
