/* SPDX-License-Identifier: Apache-2.0 */
#include "summary/frame.h"

#include <string.h>

#include "base/num.h"
#include "summary/units.h"

static bool has_command(const struct summary *summary)
{
    return summary->command.present && summary->command.count > 0;
}

void summary_frame_put_name(struct buf *buf, const struct summary *summary)
{
    const char *name = summary->job_name;
    if ((!name || !*name) && has_command(summary)) {
        name = *(const char *const *)summary->command.items;
        const char *slash = name ? strrchr(name, '/') : NULL;
        name = slash ? slash + 1 : name;
    }
    if (name && *name) {
        people_put_data(buf, name);
        return;
    }
    if (summary->tracked_pid.has) {
        buf_puts(buf, "process ");
        num_put_u64(buf, summary->tracked_pid.v);
    }
    if (summary->hostname) {
        buf_puts(buf, summary->tracked_pid.has ? " on " : "host ");
        people_put_data(buf, summary->hostname);
    } else if (!summary->tracked_pid.has)
        buf_puts(buf, "unnamed");
}

/* As a shell takes it: in single quotes but where no sign in it needs them; one that is itself in the word is '\''. */
static void put_word(struct buf *buf, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
    if (*word && !word[strspn(word, plain)]) {
        people_put_data(buf, word);
        return;
    }
    buf_putc(buf, '\'');
    size_t from = buf->len;
    people_put_data(buf, word);
    for (size_t i = from; i < buf->len && buf_ok(buf); i++) {
        if (buf->data[i] != '\'' || !buf_reserve(buf, 3))
            continue;
        memmove(buf->data + i + 4, buf->data + i + 1, buf->len - i - 1);
        memcpy(buf->data + i, "'\\''", 4);
        buf->len += 3;
        i += 3;
    }
    buf_putc(buf, '\'');
}

void summary_frame_put_command(struct buf *buf, const struct summary *summary)
{
    const char *const *words = summary->command.items;
    size_t start = buf->len;
    for (size_t i = 0; has_command(summary) && i < summary->command.count; i++) {
        buf_puts(buf, i > 0 ? " " : "");
        if (buf->len - start > PEOPLE_DATA_BYTES) {
            buf_puts(buf, "...");
            return;
        }
        put_word(buf, words[i] ? words[i] : "?");
    }
}

/* "5 runs (1 failed)" */
static void put_runs(struct buf *buf, const struct summary *summary)
{
    people_put_count(buf, (double)summary->runs.v, "run");
    if (!summary->runs_failed.has || summary->runs_failed.v == 0)
        return;
    buf_puts(buf, " (");
    num_put_u64(buf, summary->runs_failed.v);
    buf_puts(buf, " failed)");
}

void summary_frame_put_result(struct summary_rows *rows, const struct summary *summary)
{
    struct buf *value = &rows->value;
    const char *verdict = summary->result.verdict ? summary->result.verdict : SUMMARY_UNKNOWN;
    const char *before_wall = " after ";
    const char *behind_wall = "";
    if (summary->runs.has && summary->runs.v > 1) {
        put_runs(value, summary);
        before_wall = ", ";
        behind_wall = " on average";
    } else if (strcmp(verdict, SUMMARY_UNKNOWN) != 0)
        people_put_data(value, strcmp(verdict, SUMMARY_SIGNALED) == 0 ? "ended early" : verdict);
    else {
        buf_puts(value, "end unknown");
        before_wall = ", tracked for ";
    }
    if (summary->wall_secs.has) {
        buf_puts(value, before_wall);
        people_put_secs(value, summary->wall_secs.v);
        buf_puts(value, behind_wall);
    }
    if (summary->result.detail)
        people_put_data(&rows->aside, summary->result.detail);
    else if (summary->result.exit_code.has) {
        buf_puts(&rows->aside, "exit status ");
        num_put_i64(&rows->aside, summary->result.exit_code.v);
    }
}

void summary_frame_put_sizes(struct buf *buf, const struct summary_sizing *sizing)
{
    size_t start = buf->len;
    if (sizing->vcpus.has)
        people_put_count(buf, (double)sizing->vcpus.v, "vCPU");
    if (sizing->memory_mib.has) {
        buf_puts(buf, buf->len > start ? ", " : "");
        people_put_mib(buf, (double)sizing->memory_mib.v);
        buf_puts(buf, " of memory");
    }
    if (!sizing->gpus.has)
        return;
    buf_puts(buf, buf->len > start ? ", " : "");
    if (sizing->gpus.v == 0) {
        buf_puts(buf, "no GPU");
        return;
    }
    people_put_count(buf, (double)sizing->gpus.v, "GPU");
    if (!sizing->vram_mib.has)
        return;
    buf_puts(buf, " with ");
    people_put_mib(buf, (double)sizing->vram_mib.v);
    buf_puts(buf, sizing->gpus.v > 1 ? " each" : "");
}

struct summary_reason summary_frame_reason(const struct summary *summary, unsigned i)
{
    const struct summary_sizing *sizing = &summary->sizing;
    if (!sizing->present)
        return (struct summary_reason){0};
    if (i == 0)
        return (struct summary_reason){"vCPUs", sizing->vcpus_reason, !sizing->vcpus.has};
    if (i == 1)
        return (struct summary_reason){"memory", sizing->memory_reason, !sizing->memory_mib.has};
    if (i >= SUMMARY_REASONS || !summary->gpu.present)
        return (struct summary_reason){0};
    if (i == 2)
        return (struct summary_reason){"GPUs", sizing->gpus_reason, !sizing->gpus.has};
    return (struct summary_reason){"VRAM", sizing->vram_reason, !sizing->vram_mib.has};
}
