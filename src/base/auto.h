/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope cleanup: AUTO_FD int fd = open(…); AUTO_FREE char *p = …; AUTO_BUF struct buf b = {.max = …};
 * fd_take(&fd) hands the descriptor over and disarms the cleanup.
 */
#ifndef BASE_AUTO_H
#define BASE_AUTO_H

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"

static inline void auto_close(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static inline void auto_free(void *pointer)
{
    free(*(void **)pointer);
}

#define AUTO_FD __attribute__((cleanup(auto_close)))
#define AUTO_FREE __attribute__((cleanup(auto_free)))
#define AUTO_BUF __attribute__((cleanup(buf_fini)))

static inline int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* For the end of the program, in the thread that ends it: descriptors are left to the kernel, which closes all at once.
 */
extern _Thread_local bool fd_close_is_left __attribute__((tls_model("local-exec"))); /* only programs link it */

/* Closes, and resets to -1. */
static inline void fd_close(int *fd)
{
    if (*fd >= 0 && !fd_close_is_left)
        (void)close(*fd);
    *fd = -1;
}

#endif
