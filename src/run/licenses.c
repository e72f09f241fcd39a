/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks the text of --licenses. */
#include "run/licenses.h"

#include <errno.h>

#include "net/gzip.h"

static int take(void *context, struct str piece)
{
    struct buf *buf = context;
    buf_append(buf, piece.p, piece.n);
    return buf_ok(buf) ? 0 : -ENOBUFS;
}

int licenses_put(struct buf *buf, struct err *err)
{
    int r = gzip_unpack((struct str){(const char *)licenses_packed, licenses_packed_bytes}, take, buf);
    return r < 0 ? err_sys(err, r, "cannot unpack the licenses") : 0;
}
