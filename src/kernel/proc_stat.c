/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/stat. The lines we want, columns being user nice system idle iowait irq softirq steal guest guest_nice:
 *   cpu  3188 0 2808 200653 1428 0 79 420 0 0
 *   cpu0 753 0 914 102394 50 0 13 202 0 0
 *   ctxt 310342
 * The kernel prints the CPUs in ascending order; a number that does not ascend (a duplicate too) is a broken line.
 */
#include "kernel/proc_stat.h"

#include <errno.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/vec.h"

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
    if (*p >= '0' && *p <= '9')
        return parse_core(p, stat);
    if (*p != ' ' && *p != '\n')
        return 0;
    if (!parse_ticks(p, &stat->total))
        return -EINVAL;
    *has_total = true;
    return 0;
}

static void parse_counter(struct str line, struct str key, struct opt_u64 *counter)
{
    uint64_t value;
    if (!str_starts(line, key))
        return;
    const char *p = line.p + key.n;
    if (num_next_in_line(&p, &value) && *p == '\n')
        *counter = some_u64(value);
}

/* "processes ", "procs_running ", "procs_blocked " */
static void parse_procs(struct str line, struct proc_stat *stat)
{
    if (line.n < sizeof("procs_b"))
        return;
    if (line.p[4] == 'e') {
        parse_counter(line, STR("processes "), &stat->forks);
        /* A kernel that has started this program has made a process: 0 means that nothing is counted (gVisor). */
        stat->forks.has &= stat->forks.v > 0;
    } else if (line.p[6] == 'r') {
        parse_counter(line, STR("procs_running "), &stat->procs_running);
    } else {
        parse_counter(line, STR("procs_blocked "), &stat->procs_blocked);
    }
}

static int parse_lines(struct str rest, struct proc_stat *stat)
{
    bool has_total = false;
    const char *lf;
    while (rest.n > 0 && (lf = memchr(rest.p, '\n', rest.n))) {
        struct str line = {rest.p, (size_t)(lf - rest.p)};
        rest = (struct str){lf + 1, rest.n - line.n - 1};
        if (line.n < 3)
            continue;
        if (line.p[0] == 'c' && line.p[1] == 'p' && line.p[2] == 'u') {
            int r = parse_cpu(line.p + 3, stat, &has_total);
            if (r < 0)
                return r;
        } else if (line.p[0] == 'c') {
            parse_counter(line, STR("ctxt "), &stat->context_switches);
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
