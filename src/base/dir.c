/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dir.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One entry as the kernel writes it; the name follows. */
struct raw_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

long dir_read(int fd, char entries[static DIR_BYTES])
{
    long n = syscall(SYS_getdents64, fd, entries, (size_t)DIR_BYTES);
    return n < 0 ? -errno : n;
}

bool dir_next(const char *entries, size_t n, size_t *at, struct dir_entry *ret_entry)
{
    if (*at >= n)
        return false;
    struct raw_entry head;
    memcpy(&head, entries + *at, offsetof(struct raw_entry, name));
    *ret_entry = (struct dir_entry){.name = entries + *at + offsetof(struct raw_entry, name), .type = head.type};
    *at += head.bytes;
    return true;
}
