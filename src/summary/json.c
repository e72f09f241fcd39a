/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/json.h"
#include "summary/write.h"

void summary_put_json(struct buf *buf, const struct summary *summary)
{
    json_put_object(buf, &field_summary, summary);
    buf_putc(buf, '\n');
}
