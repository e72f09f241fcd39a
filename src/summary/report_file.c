/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks the page piece by piece and lets the data in at its place. */
#include "summary/report_file.h"

#include <errno.h>

#include "codec/gzip.h"
#include "summary/report_page.h"
#include "summary/write.h"

struct report_file {
    struct buf *buf;
    const struct summary *summary;
    const struct series *series;
    size_t before_data; /* bytes of the page still to come before the data; 0: the data is written */
};

static int put_piece(void *context, struct str piece)
{
    struct report_file *file = context;
    if (file->before_data > 0 && piece.n >= file->before_data) {
        buf_append(file->buf, piece.p, file->before_data);
        str_skip(&piece, file->before_data);
        file->before_data = 0;
        report_put_data(file->buf, file->summary, file->series);
    }
    buf_append(file->buf, piece.p, piece.n);
    if (file->before_data > 0)
        file->before_data -= piece.n;
    return buf_ok(file->buf) ? 0 : -ENOBUFS;
}

int report_file_put(struct buf *buf, const struct summary *summary, const struct series *series)
{
    struct report_file file = {buf, summary, series, report_page_data_at};
    return gzip_unpack((struct str){(const char *)report_page_gz, report_page_gz_bytes}, put_piece, &file);
}
