/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/stat, columns numbered as in proc_pid_stat(5):
 *   42 (sh) S 1 42 42 34816 42 4194304 1089 12873 0 7 3 1 25 9 20 0 1 0 86133 2654208 397 18446744073709551615 …
 * The name is whatever the process likes, so it ends at the last parenthesis of all. Columns behind those we
 * know are let through unread.
 */
#include "kernel/pid_stat.h"

#include <errno.h>
#include <signal.h>

#include "base/num.h"

/* PF_FORKNOEXEC of include/linux/sched.h, the same since Linux 2.2. */
enum { FORKED_WITHOUT_EXEC = 0x40 };

/* num_next_in_line for a column that may be negative, which is told as 0. */
static bool next_signed(const char **at, uint64_t *ret_number)
{
    const char *p = *at;
    while (*p == ' ')
        p++;
    if (*p != '-')
        return num_next_in_line(at, ret_number);
    uint64_t magnitude;
    if (p == *at || *++p == ' ' || !num_next_in_line(&p, &magnitude))
        return false;
    *ret_number = 0;
    *at = p;
    return true;
}

static bool skip_signed(const char **at, unsigned n)
{
    uint64_t skipped;
    for (; n > 0; n--) {
        if (!next_signed(at, &skipped))
            return false;
    }
    return true;
}

static bool parse_ticks(const char **at, struct pid_stat *stat)
{
    return num_next_in_line(at, &stat->user_ticks) && num_next_in_line(at, &stat->system_ticks) &&
           next_signed(at, &stat->children_user_ticks) && next_signed(at, &stat->children_system_ticks);
}

/* `p` is behind the state. */
static bool parse_columns(const char *p, struct pid_stat *stat)
{
    if (!num_next_in_line(&p, &stat->parent))
        return false;
    uint64_t flags;
    /* 5 pgrp, session (both -1 of a process that is just being removed), tty_nr, tpgid; behind the flags minflt,
     * cminflt
     */
    if (!skip_signed(&p, 4) || !num_next_in_line(&p, &flags) || !num_skip_in_line(&p, 2))
        return false;
    stat->has_not_execed = flags & FORKED_WITHOUT_EXEC;
    if (!num_next_in_line(&p, &stat->major_faults) || !num_next_in_line(&p, &stat->children_major_faults))
        return false;
    if (!parse_ticks(&p, stat))
        return false;
    if (!skip_signed(&p, 2) || !num_next_in_line(&p, &stat->threads)) /* 18 priority, nice */
        return false;
    if (!skip_signed(&p, 1) || !num_next_in_line(&p, &stat->start_ticks)) /* 21 itrealvalue */
        return false;
    if (!num_next_in_line(&p, &stat->vsize_bytes) || !next_signed(&p, &stat->rss_pages))
        return false;
    uint64_t ignored;
    if (!num_skip_in_line(&p, 8) || !num_next_in_line(&p, &ignored)) /* 25 rsslim to 32 blocked, then 33 sigignore */
        return false;
    stat->ignores_sigchld = ignored >> (SIGCHLD - 1) & 1;
    return *p == ' ' || *p == '\n';
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

int pid_stat_parse(struct str text, struct pid_stat *ret)
{
    struct pid_stat stat;
    /* This LF is what stops every loop below. */
    if (text.n == 0 || text.p[text.n - 1] != '\n')
        return -EINVAL;
    const char *last = text.p + text.n - 1;
    const char *p = text.p;
    if (!num_next_in_line(&p, &stat.pid) || p[0] != ' ' || p[1] != '(')
        return -EINVAL;
    const char *name_end = memrchr(p, ')', (size_t)(last - p));
    if (!name_end || name_end[1] != ' ' || !is_letter(name_end[2]) || name_end[3] != ' ')
        return -EINVAL;
    stat.state = name_end[2];
    if (memchr(name_end, '\n', (size_t)(last - name_end)) || !parse_columns(name_end + 3, &stat))
        return -EINVAL;
    *ret = stat;
    return 0;
}
