/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines: one compact object and a LF per sample. */
#include "base/clock.h"
#include "encode/encode.h"
#include "encode/json.h"

static void jsonl_sample(
    const struct run_info *info, const struct sample *sample, const struct sample_totals *totals, struct buf *buf)
{
    (void)info;
    (void)totals;
    json_put_object(buf, field_sample, sample);
    buf_putc(buf, '\n');
}

static const char *jsonl_may_append(struct str head)
{
    return head.p[0] == '{' ? NULL : "it does not hold JSON lines";
}

const struct encoder encoder_jsonl = {
    .name = "JSON lines",
    .cpu_resolution_ns = NS_PER_MS / 10,
    .has_core_lists = true,
    .sample = jsonl_sample,
    .may_append = jsonl_may_append,
};

const struct encoder *jsonl_encoder(enum encode_columns columns, bool has_process)
{
    (void)columns;
    (void)has_process;
    return &encoder_jsonl;
}
