/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories straight from the kernel (getdents64(2)), for those that are listed again and again: no allocation, and
 * no last call only to hear that there is no more.
 */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <stdbool.h>
#include <stddef.h>

enum { DIR_BYTES = 16 * 1024 }; /* what is read at once */

struct dir_entry {
    const char *name;
    unsigned char type; /* DT_DIR and so on, as in readdir(3) */
};

/* The next entries, into DIR_BYTES. Returns their bytes, 0 at the end, or a negative errno. */
long dir_read(int fd, char entries[static DIR_BYTES]);

/* Steps through n bytes of entries; *at begins with 0. False behind the last one. */
bool dir_next(const char *entries, size_t n, size_t *at, struct dir_entry *ret_entry);

#endif
