/* SPDX-License-Identifier: Apache-2.0 */
/* --licenses and --version: the text that tools/embed-licenses has packed, and what the program is built with. */
#include "run/run.h"

#include "codec/gzip.h"
#include "collect/gpu/gpu.h"
#include "net/tls.h"

int licenses_put(struct buf *buf, struct err *err)
{
    int r = gzip_unpack_into((struct str){(const char *)licenses_packed, licenses_packed_bytes}, buf);
    return r < 0 ? err_sys(err, r, "cannot unpack the licenses") : 0;
}

void version_put(struct buf *text, bool is_long)
{
    buf_puts(text, "resource-tracker " RT_VERSION "\n");
    if (!is_long)
        return;
    buf_printf(text, "%s, zlib %s\n", tls_library(), gzip_library());
    for (size_t i = 0; i < gpu_vendor_count; i++)
        buf_puts(text, gpu_vendors[i]->build_note ? gpu_vendors[i]->build_note : "");
}
