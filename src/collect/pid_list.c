/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/pid_list.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/num.h"
#include "base/vec.h"

enum { LISTING_BYTES = 16 * 1024 };

/* One entry as getdents64 writes it; the name follows. */
struct raw_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

void pid_list_fini(struct pid_list *list)
{
    free(list->items);
    *list = (struct pid_list){0};
}

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return x < y ? -1 : x > y;
}

static int add_entries(struct pid_list *list, size_t max, const char *entries, size_t n)
{
    for (size_t at = 0; at < n;) {
        struct raw_entry head;
        memcpy(&head, entries + at, offsetof(struct raw_entry, name));
        uint64_t pid;
        if (num_parse_u64(str_of(entries + at + offsetof(struct raw_entry, name)), &pid) == 0 && pid <= INT32_MAX) {
            int r = VEC_GROW(list, list->count + 1, max);
            if (r < 0)
                return r;
            list->items[list->count++] = (pid_t)pid;
        }
        at += head.bytes;
    }
    return 0;
}

static int read_entries(int dir_fd, size_t max, struct pid_list *list)
{
    if (lseek(dir_fd, 0, SEEK_SET) < 0)
        return -errno;
    char entries[LISTING_BYTES];
    for (;;) {
        long n = syscall(SYS_getdents64, dir_fd, entries, sizeof(entries));
        if (n <= 0)
            return n < 0 ? -errno : 0;
        int r = add_entries(list, max, entries, (size_t)n);
        if (r < 0)
            return r;
    }
}

int pid_list_read(int dir_fd, size_t max, struct pid_list *list)
{
    list->count = 0;
    int r = read_entries(dir_fd, max, list);
    if (r < 0)
        list->count = 0;
    /* The kernel lists them in order already; nothing promises it. */
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(*list->items), compare_pids);
    return r;
}

bool pid_list_has(const struct pid_list *list, pid_t pid)
{
    return list->count > 0 && bsearch(&pid, list->items, list->count, sizeof(pid), compare_pids) != NULL;
}
