/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a run ended, in a word and a sentence with its evidence. Memory is blamed only for a kill: by its own cgroup for
 * certain, by the host perhaps (somebody else may have been the victim).
 */
#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "summary/tally_internal.h"

enum { SHELL_KILLED = 128 + SIGKILL };

static void put_signal(struct buf *out, int64_t number)
{
    static const char names[][7] = {
        [SIGHUP] = "HUP",
        [SIGINT] = "INT",
        [SIGQUIT] = "QUIT",
        [SIGILL] = "ILL",
        [SIGTRAP] = "TRAP",
        [SIGABRT] = "ABRT",
        [SIGBUS] = "BUS",
        [SIGFPE] = "FPE",
        [SIGKILL] = "KILL",
        [SIGUSR1] = "USR1",
        [SIGSEGV] = "SEGV",
        [SIGUSR2] = "USR2",
        [SIGPIPE] = "PIPE",
        [SIGALRM] = "ALRM",
        [SIGTERM] = "TERM",
        [SIGVTALRM] = "VTALRM",
        [SIGPROF] = "PROF",
        [SIGXCPU] = "XCPU",
        [SIGXFSZ] = "XFSZ",
        [SIGSYS] = "SYS",
    };
    buf_puts(out, "signal ");
    num_put_i64(out, number);
    if (number <= 0 || number >= (int64_t)(sizeof(names) / sizeof(names[0])) || names[number][0] == '\0')
        return;
    buf_puts(out, " (SIG");
    buf_puts(out, names[number]);
    buf_putc(out, ')');
}

static void put_processes(struct buf *out, uint64_t count)
{
    num_put_u64(out, count);
    buf_puts(out, count == 1 ? " process" : " processes");
}

static uint64_t known(struct opt_u64 count)
{
    return count.has ? count.v : 0;
}

static const char *tell_no_end(const struct tally_run *run, struct buf *out)
{
    buf_puts(out, run->has_start ? "the recording has no end: the tracker was killed, or the file was cut"
                                 : "the recording does not tell how the run ended");
    return SUMMARY_UNKNOWN;
}

static void put_killed(const struct sample_end *end, struct buf *out)
{
    if (!end->signal.has)
        buf_puts(out, "exit status 137, as after ");
    else
        buf_puts(out, "killed by ");
    put_signal(out, SIGKILL);
}

static const char *tell_killed(const struct tally_run *run, struct buf *out)
{
    const struct sample_end *end = &run->end;
    if (known(end->oom_kills) > 0) {
        buf_puts(out, "killed for want of memory: ");
        if (run->memory_limit_mib.has) {
            buf_puts(out, "the cgroup limit of ");
            (void)num_put_fixed(out, run->memory_limit_mib.v, 0);
            buf_puts(out, " MiB was reached (");
        } else {
            buf_puts(out, "so its cgroup counted (");
        }
        put_processes(out, known(end->oom_kills));
        buf_puts(out, " killed)");
        return SUMMARY_OUT_OF_MEMORY;
    }
    put_killed(end, out);
    if (known(end->host_oom_kills) > 0) {
        buf_puts(out, "; meanwhile the host killed ");
        put_processes(out, known(end->host_oom_kills));
        buf_puts(out, " for want of memory");
        return SUMMARY_MAYBE_OUT_OF_MEMORY;
    }
    buf_puts(out, "; no sign that memory ran out");
    return end->signal.has ? SUMMARY_SIGNALED : SUMMARY_FAILED;
}

static const char *tell_exit(const struct sample_end *end, struct buf *out)
{
    const char *verdict = end->exit_code.v == 0 ? SUMMARY_FINISHED : SUMMARY_FAILED;
    if (end->signal.has) {
        buf_puts(out, "ended by ");
        put_signal(out, end->signal.v);
        verdict = SUMMARY_SIGNALED;
    } else {
        buf_puts(out, "exit status ");
        num_put_i64(out, end->exit_code.v);
    }
    uint64_t kills = known(end->oom_kills);
    if (kills > 0) {
        buf_puts(out, "; ");
        put_processes(out, kills);
        buf_puts(out, kills == 1 ? " of its cgroup was" : " of its cgroup were");
        buf_puts(out, " killed for want of memory");
    }
    return verdict;
}

static const char *tell_end(const struct tally_run *run, struct buf *out)
{
    const struct sample_end *end = &run->end;
    if (!end->present)
        return tell_no_end(run, out);
    if (end->signal.has ? end->signal.v == SIGKILL : end->exit_code.has && end->exit_code.v == SHELL_KILLED)
        return tell_killed(run, out);
    if (end->exit_code.has || end->signal.has)
        return tell_exit(end, out);
    if (run->tracked_pid.has)
        buf_puts(out, "the tracked process ended or ");
    buf_puts(out, "tracking was stopped");
    return SUMMARY_FINISHED;
}

void tally_result_tell(const struct tally_run *run, char *detail, struct summary_result *ret_result)
{
    const struct sample_end *end = &run->end;
    struct buf out = {.data = detail, .cap = TALLY_DETAIL_BYTES - 1, .max = TALLY_DETAIL_BYTES - 1};
    const char *verdict = tell_end(run, &out);
    detail[out.len] = '\0';
    *ret_result = (struct summary_result){.present = true, .verdict = verdict, .detail = detail};
    if (!end->present)
        return;
    ret_result->exit_code = end->exit_code;
    ret_result->signal = end->signal;
    ret_result->oom_kills = end->oom_kills;
    ret_result->host_oom_kills = end->host_oom_kills;
}

bool tally_result_is_bad(const struct summary_result *result)
{
    return strcmp(result->verdict, SUMMARY_FINISHED) != 0 && strcmp(result->verdict, SUMMARY_UNKNOWN) != 0;
}
