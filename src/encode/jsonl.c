/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines: one compact object and a LF per sample. */
#include "encode/encode.h"
#include "encode/json.h"

static void jsonl_sample(const struct run_info *info, const struct sample *sample, struct buf *buf)
{
    (void)info;
    json_put_object(buf, &field_sample, sample);
    buf_putc(buf, '\n');
}

const struct encoder encoder_jsonl = {.sample = jsonl_sample};
