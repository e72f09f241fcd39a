/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tree/pid_list.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/num.h"
#include "base/vec.h"

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
    struct dir_entry entry;
    for (size_t at = 0; dir_next(entries, n, &at, &entry);) {
        uint64_t pid;
        if (num_parse_u64(str_of(entry.name), &pid) < 0 || pid > INT32_MAX)
            continue;
        int r = VEC_GROW(list, list->count + 1, max);
        if (r < 0)
            return r;
        list->items[list->count++] = (pid_t)pid;
    }
    return 0;
}

static int read_entries(int dir_fd, size_t max, struct pid_list *list)
{
    if (lseek(dir_fd, 0, SEEK_SET) < 0)
        return -errno;
    char entries[DIR_BYTES];
    for (;;) {
        long n = dir_read(dir_fd, entries);
        if (n <= 0)
            return (int)n;
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
