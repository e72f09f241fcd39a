/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/pid.h"

#include <errno.h>
#include <signal.h>

#include "base/num.h"
#include "base/opt.h"

/*
 * /proc/PID/stat, columns numbered as in proc_pid_stat(5):
 *   42 (sh) S 1 42 42 34816 42 4194304 1089 12873 0 7 3 1 25 9 20 0 1 0 86133 2654208 397 18446744073709551615 …
 * The name may hold any byte, so it ends at the last parenthesis of all. Columns behind those we
 * know are let through unread.
 */

/* PF_FORKNOEXEC of include/linux/sched.h, the same since Linux 2.2. */
enum { FORKED_WITHOUT_EXEC = 0x40 };

/* num_next_in_line for a column that may be negative, which is read as 0. */
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

/* The file has "\n" for LF and "\\" for a backslash. */
static void copy_name(struct str text, char ret_name[static PID_NAME_BYTES])
{
    size_t n = 0;
    for (size_t i = 0; i < text.n && n < PID_NAME_BYTES - 1; i++) {
        char c = text.p[i];
        if (c == '\\' && i + 1 < text.n && (text.p[i + 1] == 'n' || text.p[i + 1] == '\\'))
            c = text.p[++i] == 'n' ? '\n' : '\\';
        ret_name[n++] = c;
    }
    ret_name[n] = '\0';
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
    /* 5 pgrp, session (both -1 of a process that is just being removed), tty_nr, tpgid */
    if (!skip_signed(&p, 4) || !num_next_in_line(&p, &flags) || !num_next_in_line(&p, &stat->minor_faults) ||
        !num_next_in_line(&p, &stat->children_minor_faults))
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
    if (!num_skip_in_line(&p, 3) || !num_next_in_line(&p, &stat->stack_start)) /* 25 rsslim, startcode, endcode */
        return false;
    if (!num_skip_in_line(&p, 4) || !num_next_in_line(&p, &ignored)) /* 29 kstkesp to 32 blocked, then 33 sigignore */
        return false;
    stat->ignores_sigchld = ignored >> (SIGCHLD - 1) & 1;
    return *p == ' ' || *p == '\n';
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
    if (!name_end || name_end[1] != ' ' || !ascii_is_alpha(name_end[2]) || name_end[3] != ' ')
        return -EINVAL;
    stat.state = name_end[2];
    copy_name((struct str){p + 2, (size_t)(name_end - p - 2)}, stat.name);
    if (memchr(name_end, '\n', (size_t)(last - name_end)) || !parse_columns(name_end + 3, &stat))
        return -EINVAL;
    *ret = stat;
    return 0;
}

/*
 * /proc/PID/io, seven lines like this one:
 *   read_bytes: 4096
 * Any order and any unknown keys are fine; a line without its LF is not trusted.
 */

int pid_io_parse(struct str text, struct pid_io *ret)
{
    struct opt_u64 read = {0};
    struct opt_u64 written = {0};
    struct str line;
    while (!(read.has && written.has) && str_whole_line(&text, &line)) {
        if (line.p[0] == 'r')
            num_read_line(line, STR("read_bytes: "), &read);
        else if (line.p[0] == 'w')
            num_read_line(line, STR("write_bytes: "), &written);
    }
    if (!read.has || !written.has)
        return -EINVAL;
    *ret = (struct pid_io){.read_bytes = read.v, .write_bytes = written.v};
    return 0;
}

/* The first three numbers of a line; columns behind them are not read. */
static bool parse_three(struct str text, uint64_t ret[static 3])
{
    const char *p = text.p;
    /* This LF is what stops every loop below. */
    if (text.n == 0 || text.p[text.n - 1] != '\n')
        return false;
    return num_next_in_line(&p, &ret[0]) && *p == ' ' && num_next_in_line(&p, &ret[1]) && *p == ' ' &&
           num_next_in_line(&p, &ret[2]) && (*p == ' ' || *p == '\n');
}

/*
 * /proc/PID/statm, one line of pages: size, resident, shared, text, lib, data, dt:
 *   1131 397 312 19 0 98 0
 */
int pid_statm_parse(struct str text, struct pid_statm *ret)
{
    uint64_t numbers[3];
    if (!parse_three(text, numbers))
        return -EINVAL;
    *ret = (struct pid_statm){.resident_pages = numbers[1], .file_pages = numbers[2]};
    return 0;
}

/*
 * /proc/PID/task/TID/schedstat, one line:
 *   4120345678 17034221 902
 */
int pid_schedstat_parse(struct str text, struct pid_schedstat *ret)
{
    uint64_t numbers[3];
    if (!parse_three(text, numbers))
        return -EINVAL;
    *ret = (struct pid_schedstat){.run_ns = numbers[0], .wait_ns = numbers[1], .runs = numbers[2]};
    return 0;
}

/*
 * /proc/PID/smaps_rollup (Documentation/filesystems/proc.rst): a line with the span of all mappings, then sums:
 *   Pss:                 397 kB
 *   Anonymous:           112 kB
 * A line without its LF is not trusted.
 */

/* The LF stands behind `line`. */
static void parse_amount(struct str line, struct str key, struct opt_u64 *amount_kib)
{
    uint64_t kib;
    if (!str_starts(line, key))
        return;
    const char *p = line.p + key.n;
    if (num_next_in_line(&p, &kib) && str_eq((struct str){p, (size_t)(line.p + line.n - p)}, STR(" kB")))
        *amount_kib = some_u64(kib);
}

__attribute__((cold)) struct opt_u64 pid_status_peak_kib(struct str text)
{
    struct opt_u64 peak = {0};
    struct str line;
    while (!peak.has && str_whole_line(&text, &line))
        parse_amount(line, STR("VmHWM:\t"), &peak);
    return peak;
}

__attribute__((cold)) int smaps_rollup_parse(struct str text, struct smaps_rollup *ret)
{
    enum { RSS, PSS, ANONYMOUS, PSS_ANON, PSS_SHMEM, PRIVATE_CLEAN, PRIVATE_DIRTY, KSM, KEYS };
    static const char keys[KEYS][16] = {
        "Rss:", "Pss:", "Anonymous:", "Pss_Anon:", "Pss_Shmem:", "Private_Clean:", "Private_Dirty:", "KSM:"};
    struct opt_u64 found[KEYS] = {{0}};
    struct str line;
    while (str_whole_line(&text, &line)) {
        for (size_t i = 0; line.n > 0 && i < KEYS; i++) {
            if (line.p[0] == keys[i][0] && (i > PSS || !found[i].has))
                parse_amount(line, str_of(keys[i]), &found[i]);
        }
    }
    if (!found[RSS].has || !found[PSS].has)
        return -EINVAL;
    *ret = (struct smaps_rollup){
        .rss_kib = found[RSS].v,
        .pss_kib = found[PSS].v,
        .anonymous_kib = found[ANONYMOUS],
        .pss_anon_kib = found[PSS_ANON],
        .pss_shmem_kib = found[PSS_SHMEM],
        .private_clean_kib = found[PRIVATE_CLEAN],
        .private_dirty_kib = found[PRIVATE_DIRTY],
        .ksm_kib = found[KSM],
    };
    return 0;
}
