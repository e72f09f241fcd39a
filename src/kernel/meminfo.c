/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/meminfo (Documentation/filesystems/proc.rst), one amount a line:
 *   MemTotal:       24682416 kB
 * Any order and any unknown keys are fine; reading ends as soon as every key was seen.
 */
#include "kernel/meminfo.h"

#include <errno.h>

#include "base/num.h"

enum { KEYS = sizeof(struct meminfo) / sizeof(struct opt_u64), LINE_MIN_BYTES = sizeof("Dirty: 0 kB") - 1 };

struct key {
    struct str name; /* with its colon */
    struct opt_u64 *slot;
};

static struct key key_in_mem(char letter, struct meminfo *mem)
{
    switch (letter) {
    case 'T':
        return (struct key){STR("MemTotal:"), &mem->total_kib};
    case 'F':
        return (struct key){STR("MemFree:"), &mem->free_kib};
    case 'A':
        return (struct key){STR("MemAvailable:"), &mem->available_kib};
    default:
        return (struct key){0};
    }
}

static struct key key_in_s(const char *line, struct meminfo *mem)
{
    if (line[1] == 'h')
        return (struct key){STR("Shmem:"), &mem->shmem_kib};
    if (line[1] == 'R')
        return (struct key){STR("SReclaimable:"), &mem->s_reclaimable_kib};
    if (line[1] == 'w' && line[4] == 'T')
        return (struct key){STR("SwapTotal:"), &mem->swap_total_kib};
    if (line[1] == 'w' && line[4] == 'F')
        return (struct key){STR("SwapFree:"), &mem->swap_free_kib};
    return (struct key){0};
}

/* The only key this line can be, judged by a byte or two; no slot where it can be none. */
static struct key key_for(const char *line, struct meminfo *mem)
{
    switch (line[0]) {
    case 'M':
        return key_in_mem(line[3], mem);
    case 'S':
        return key_in_s(line, mem);
    case 'B':
        return (struct key){STR("Buffers:"), &mem->buffers_kib};
    case 'C':
        return (struct key){STR("Cached:"), &mem->cached_kib};
    case 'A':
        return (struct key){STR("Active:"), &mem->active_kib};
    case 'I':
        return (struct key){STR("Inactive:"), &mem->inactive_kib};
    case 'D':
        return (struct key){STR("Dirty:"), &mem->dirty_kib};
    default:
        return (struct key){0};
    }
}

int meminfo_parse(struct str text, struct meminfo *ret)
{
    struct meminfo mem = {0};
    unsigned found = 0;
    const char *lf;
    while (found < KEYS && text.n > 0 && (lf = memchr(text.p, '\n', text.n))) {
        struct str line = {text.p, (size_t)(lf - text.p)};
        text = (struct str){lf + 1, text.n - line.n - 1};
        if (line.n < LINE_MIN_BYTES)
            continue;
        struct key key = key_for(line.p, &mem);
        if (!key.slot || key.slot->has || !str_starts(line, key.name))
            continue;
        uint64_t kib;
        const char *p = line.p + key.name.n;
        if (!num_next_in_line(&p, &kib) || lf - p != 3 || p[0] != ' ' || p[1] != 'k' || p[2] != 'B')
            continue;
        *key.slot = some_u64(kib);
        found++;
    }
    if (!mem.total_kib.has)
        return -EBADMSG;
    *ret = mem;
    return 0;
}
