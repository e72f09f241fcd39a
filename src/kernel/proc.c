/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/proc.h"

#include <errno.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/vec.h"

/*
 * /proc/stat. The lines we want, columns being user nice system idle iowait irq softirq steal guest guest_nice:
 *   cpu  3188 0 2808 200653 1428 0 79 420 0 0
 *   cpu0 753 0 914 102394 50 0 13 202 0 0
 *   ctxt 310342
 * The kernel prints the CPUs in ascending order; a number that does not ascend (a duplicate too) is a broken line.
 */

enum { COLUMNS_NEEDED = 4, COLUMNS_KNOWN = 8 };

/* `p` is behind "cpu" and the number; the columns end at the LF. */
static bool parse_ticks(const char *p, struct cpu_ticks *ret_ticks)
{
    uint64_t v[COLUMNS_KNOWN] = {0};
    for (unsigned n = 0; n < COLUMNS_KNOWN; n++) {
        if (num_next_in_line(&p, &v[n]))
            continue;
        while (*p == ' ')
            p++;
        if (*p != '\n' || n < COLUMNS_NEEDED)
            return false;
        break;
    }
    if (*p != ' ' && *p != '\n')
        return false;
    *ret_ticks = (struct cpu_ticks){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]};
    return true;
}

/* `p` is at the CPU number. */
static int parse_core(const char *p, struct proc_stat *stat)
{
    uint64_t number;
    size_t n = stat->cores.count;
    if (!num_next_in_line(&p, &number) || number >= PROC_STAT_CPUS_MAX)
        return -E2BIG;
    if (*p != ' ' || (n > 0 && number <= stat->cores.items[n - 1].number))
        return -EINVAL;
    if (n == stat->cores.cap) {
        int r = VEC_GROW(&stat->cores, n + 1, PROC_STAT_CPUS_MAX);
        if (r < 0)
            return r;
    }
    struct cpu_core *core = &stat->cores.items[n];
    if (!parse_ticks(p, &core->ticks))
        return -EINVAL;
    core->number = (unsigned)number;
    stat->cores.count = n + 1;
    return 0;
}

/* `p` is behind "cpu". */
static int parse_cpu(const char *p, struct proc_stat *stat, bool *has_total)
{
    if (ascii_is_digit(*p))
        return parse_core(p, stat);
    if (*p != ' ' && *p != '\n')
        return 0;
    if (!parse_ticks(p, &stat->total))
        return -EINVAL;
    *has_total = true;
    return 0;
}

/* "processes ", "procs_running ", "procs_blocked " */
static void parse_procs(struct str line, struct proc_stat *stat)
{
    if (line.n < sizeof("procs_b"))
        return;
    struct opt_u64 *counter = NULL;
    const char *p = line.p + sizeof("procs_blocked ") - 1;
    if (line.p[4] == 'e' && str_starts(line, STR("processes "))) {
        counter = &stat->forks;
        p = line.p + sizeof("processes ") - 1;
    } else if (line.p[6] == 'r' && str_starts(line, STR("procs_running "))) {
        counter = &stat->procs_running;
    } else if (str_starts(line, STR("procs_blocked "))) {
        counter = &stat->procs_blocked;
    }
    uint64_t value;
    if (counter && num_next_in_line(&p, &value) && *p == '\n')
        *counter = some_u64(value);
    /* A kernel that has started this program has made a process: 0 means that nothing is counted (gVisor). */
    stat->forks.has &= stat->forks.v > 0;
}

static int parse_lines(struct str rest, struct proc_stat *stat)
{
    bool has_total = false;
    struct str line;
    while (str_whole_line(&rest, &line)) {
        if (line.n < 3)
            continue;
        if (line.p[0] == 'c' && line.p[1] == 'p' && line.p[2] == 'u') {
            int r = parse_cpu(line.p + 3, stat, &has_total);
            if (r < 0)
                return r;
        } else if (line.p[0] == 'c') {
            num_read_line(line, STR("ctxt "), &stat->context_switches);
        } else if (line.p[0] == 'p') {
            parse_procs(line, stat);
        }
    }
    return has_total ? 0 : -EBADMSG;
}

int proc_stat_parse(struct str text, struct proc_stat *stat)
{
    struct opt_u64 absent = {0};
    stat->total = (struct cpu_ticks){0};
    stat->context_switches = stat->forks = stat->procs_running = stat->procs_blocked = absent;
    stat->cores.count = 0;
    /* The kernel writes it whole; in a cut one CPUs may be missing, and then every share would be wrong. */
    if (text.n > 0 && text.p[text.n - 1] != '\n')
        return -EBADMSG;
    int r = parse_lines(text, stat);
    if (r < 0)
        stat->cores.count = 0;
    return r;
}

void proc_stat_fini(struct proc_stat *stat)
{
    free(stat->cores.items);
    *stat = (struct proc_stat){0};
}

/*
 * /proc/loadavg: "0.20 0.18 0.12 1/80 11206". The kernel prints whole and hundredths; read as such, this needs no
 * strtod. The byte behind each number must be there, so a cut text is noticed.
 */

enum { FRACTION_DIGITS_MAX = 6, WHOLE_MAX = 1000000000 };

static bool next_load(struct str *rest, double *ret_load)
{
    uint64_t value;
    if (!num_next_u64(rest, &value) || value > WHOLE_MAX || rest->n == 0 || rest->p[0] != '.')
        return false;
    uint64_t scale = 1;
    size_t i = 1;
    for (; i < rest->n && ascii_is_digit(rest->p[i]); i++) {
        if (i > FRACTION_DIGITS_MAX)
            return false;
        value = value * 10 + (uint64_t)(rest->p[i] - '0');
        scale *= 10;
    }
    if (i == 1 || i == rest->n || (rest->p[i] != ' ' && rest->p[i] != '\n'))
        return false;
    *rest = (struct str){rest->p + i, rest->n - i};
    *ret_load = (double)value / (double)scale;
    return true;
}

/* " 1/80 11206\n", whole through its LF */
static struct opt_u64 parse_last_pid(struct str rest)
{
    static const char ends[] = "/ \n";
    uint64_t value = 0;
    if (rest.n == 0 || rest.p[rest.n - 1] != '\n')
        return (struct opt_u64){0};
    const char *p = rest.p;
    for (const char *end = ends; *end; end++) {
        if (!num_next_in_line(&p, &value) || (*p != *end && (*end != '\n' || *p != ' ')))
            return (struct opt_u64){0};
        if (*end == '/' && *++p == ' ')
            return (struct opt_u64){0};
    }
    return some_u64(value);
}

int loadavg_parse(struct str text, struct loadavg *ret)
{
    struct loadavg load;
    if (!next_load(&text, &load.load1) || !next_load(&text, &load.load5) || !next_load(&text, &load.load15))
        return -EINVAL;
    load.last_pid = parse_last_pid(text);
    *ret = load;
    return 0;
}

/*
 * /proc/meminfo (Documentation/filesystems/proc.rst), one amount a line:
 *   MemTotal:       24682416 kB
 * Any order and any unknown keys are fine; reading ends as soon as every key was seen.
 */

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

/* The only key this line can be, known by a byte or two; no slot where it can be none. */
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
    struct str line;
    while (found < KEYS && str_whole_line(&text, &line)) {
        if (line.n < LINE_MIN_BYTES)
            continue;
        struct key key = key_for(line.p, &mem);
        if (!key.slot || key.slot->has || !str_starts(line, key.name))
            continue;
        uint64_t kib;
        const char *p = line.p + key.name.n;
        if (!num_next_in_line(&p, &kib) || line.p + line.n - p != 3 || p[0] != ' ' || p[1] != 'k' || p[2] != 'B')
            continue;
        *key.slot = some_u64(kib);
        found++;
    }
    if (!mem.total_kib.has)
        return -EBADMSG;
    *ret = mem;
    return 0;
}

/*
 * Pressure stall information, one or two lines:
 *   some avg10=2.83 avg60=1.04 avg300=0.30 total=6776423
 * The averages are not read: totals make exact ones over our own interval. A line without its LF is not trusted.
 */

/* The total has always been the last word, found from its end; one that moved would still be found. */
static const char *find_key(struct str line, struct str key)
{
    const char *p = line.p + line.n;
    while (p > line.p && (unsigned char)(p[-1] - '0') <= 9)
        p--;
    if ((size_t)(p - line.p) >= key.n && memcmp(p - key.n, key.p, key.n) == 0)
        return p - key.n;
    return memmem(line.p, line.n, key.p, key.n);
}

/* An LF follows the line. */
static struct opt_u64 find_total(struct str line)
{
    static const struct str key = {" total=", 7};
    const char *at = find_key(line, key);
    if (!at)
        return (struct opt_u64){0};
    const char *p = at + key.n;
    uint64_t total;
    if (*p == ' ' || !num_next_in_line(&p, &total) || (*p != ' ' && *p != '\n'))
        return (struct opt_u64){0};
    return some_u64(total);
}

int pressure_parse(struct str text, struct pressure *ret)
{
    struct pressure pressure = {0};
    struct str line;
    while (str_whole_line(&text, &line)) {
        if (str_starts(line, STR("some ")))
            pressure.some_total_us = find_total(line);
        else if (str_starts(line, STR("full ")))
            pressure.full_total_us = find_total(line);
    }
    if (!pressure.some_total_us.has)
        return -EINVAL;
    *ret = pressure;
    return 0;
}
