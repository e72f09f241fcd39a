/* SPDX-License-Identifier: Apache-2.0 */
/* Filling, sealing and recovering batches. Each is a gzip file of a CSV with the header of the run as its first line.
 */
#include "stream/batch.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"

/* What the compression may give out at once beyond the bytes that went in: all that it had held back. */
enum { BATCH_HELD_BACK_BYTES = 128 * 1024 };

int batch_init(struct batch *batch, struct spool_run *run, struct str header)
{
    *batch = (struct batch){.run = run};
    buf_init(&batch->compressed, SPOOL_BATCH_BYTES_MAX);
    buf_init(&batch->header, BATCH_HEADER_BYTES_MAX + BATCH_LINES_BYTES_MAX);
    if (header.n == 0 || header.n > BATCH_HEADER_BYTES_MAX ||
        memchr(header.p, '\n', header.n) != header.p + header.n - 1)
        return -EINVAL;
    buf_append(&batch->header, header.p, header.n);
    if (!buf_ok(&batch->header))
        return -ENOMEM;
    batch->header_bytes = header.n;
    return gzip_new(&batch->gzip);
}

void batch_fini(struct batch *batch)
{
    gzip_free(batch->gzip);
    batch->gzip = NULL;
    buf_fini(&batch->compressed);
    buf_fini(&batch->header);
}

static void reset(struct batch *batch)
{
    buf_clear(&batch->compressed);
    batch->rows = batch->plain_bytes = 0;
    batch->opened_ns = 0;
}

/* A compression that failed half way is of no use: its rows are lost, and the next batch gets a new one. */
static void give_up(struct batch *batch)
{
    batch->lost_rows += batch->rows;
    spool_run_drop_journal(batch->run);
    reset(batch);
    gzip_free(batch->gzip);
    batch->gzip = NULL;
}

/* Room is made before anything is touched, so that where there is none only these rows are lost. */
static int make_room(struct batch *batch, struct str lines, struct err *err)
{
    if (batch->header_bytes == 0)
        return err_set(err, -EINVAL, "batch: rows without a header are lost");
    if (lines.n > BATCH_LINES_BYTES_MAX)
        return err_sys(err, -EFBIG, "batch: %zu bytes of rows at once", lines.n);
    if (!batch->gzip) {
        int r = gzip_new(&batch->gzip);
        if (r < 0)
            return err_sys(err, r, "batch: the compression cannot begin");
    }
    struct buf *out = &batch->compressed;
    size_t need = batch->header_bytes + lines.n + BATCH_HELD_BACK_BYTES;
    int why = need > out->max - out->len ? -ENOBUFS : -ENOMEM;
    if (buf_reserve(out, need))
        return 0;
    out->failed = false;
    return err_sys(err, why, "batch: rows are lost");
}

static int compress_lines(struct batch *batch, struct str lines)
{
    struct str header = {batch->header.data, batch->header_bytes};
    int r = batch->rows == 0 ? gzip_add(batch->gzip, header, &batch->compressed) : 0;
    return r < 0 ? r : gzip_add(batch->gzip, lines, &batch->compressed);
}

/* A journal without its header could not be read back, so that an empty one begins with it, in the same write. */
static int journal_lines(struct batch *batch, struct str lines, struct err *err)
{
    if (batch->run->journal_bytes > 0)
        return spool_run_journal(batch->run, lines, err);
    buf_append(&batch->header, lines.p, lines.n);
    int r = buf_ok(&batch->header) ? spool_run_journal(batch->run, buf_str(&batch->header), err)
                                   : err_sys(err, -ENOMEM, "batch: rows are not on the disk");
    batch->header.len = batch->header_bytes;
    batch->header.failed = false;
    return r;
}

int batch_add(struct batch *batch, struct str lines, uint64_t row_count, int64_t now_ns, struct err *err)
{
    if (lines.n == 0 || row_count == 0)
        return 0;
    int r = make_room(batch, lines, err);
    if (r < 0) {
        batch->lost_rows += row_count;
        return r;
    }
    if (batch->rows == 0)
        batch->plain_bytes = batch->header_bytes;
    r = compress_lines(batch, lines);
    batch->rows += row_count;
    batch->plain_bytes += lines.n;
    if (r < 0) {
        give_up(batch);
        return err_sys(err, r, "batch: rows are lost");
    }
    if (batch->rows == row_count)
        batch->opened_ns = now_ns;
    return journal_lines(batch, lines, err) < 0 ? 1 : 0;
}

bool batch_is_full(const struct batch *batch)
{
    return batch->compressed.len >= BATCH_COMPRESSED_BYTES_FULL || batch->plain_bytes >= BATCH_PLAIN_BYTES_FULL;
}

int batch_seal(struct batch *batch, struct err *err)
{
    if (batch->rows == 0)
        return 0;
    int r = gzip_finish(batch->gzip, &batch->compressed);
    if (r < 0) {
        give_up(batch);
        return err_sys(err, r, "batch: rows are lost");
    }
    r = spool_run_seal(batch->run, buf_str(&batch->compressed), err);
    if (r < 0)
        batch->lost_rows += batch->rows;
    reset(batch);
    return r;
}

struct recovery {
    struct gzip *gzip;
    struct buf compressed;
    uint64_t lines;
};

static int take_piece(void *context, struct str piece)
{
    struct recovery *recovery = context;
    const char *end = piece.p + piece.n;
    for (const char *p = piece.p; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        recovery->lines++;
    return gzip_add(recovery->gzip, piece, &recovery->compressed);
}

/* The journal of the open number. 1: sealed, 0: there were no rows in it, or a negative errno. */
static int recover_journal(struct spool_run *run, struct recovery *recovery, struct err *err)
{
    recovery->lines = 0;
    buf_clear(&recovery->compressed);
    struct err read_err = {0};
    int r = spool_run_read_journal(run, take_piece, recovery, &read_err);
    int finished = gzip_finish(recovery->gzip, &recovery->compressed);
    if (r == -ENODATA || (r == 0 && recovery->lines <= 1)) {
        spool_run_drop_journal(run);
        return 0;
    }
    if (r == 0)
        r = finished;
    if (r < 0)
        return read_err.code ? err_set(err, r, "%s", read_err.msg)
                             : err_sys(err, r, "batch: the rows left by run %s", run->name);
    /* The rows are on the disk already: there they stay where the spool has no room for a batch. */
    if (!spool_run_has_room(run, recovery->compressed.len))
        return err_set(err, -ENOSPC, "spool %s is full: the rows left by run %s wait", run->spool->path, run->name);
    r = spool_run_seal(run, buf_str(&recovery->compressed), err);
    return r < 0 ? r : 1;
}

int batch_recover(struct spool_run *run, struct err *err)
{
    struct recovery recovery = {0};
    int r = gzip_new(&recovery.gzip);
    if (r < 0)
        return err_sys(err, r, "batch: the rows left by run %s", run->name);
    buf_init(&recovery.compressed, SPOOL_BATCH_BYTES_MAX);
    bool is_sealed = false;
    /* A number that is found twice could not be done away with; without it the loop would not end. */
    for (int64_t last = -1; (r = spool_run_find_journal(run)) > 0 && (int64_t)run->open_number > last;) {
        last = run->open_number;
        r = recover_journal(run, &recovery, err);
        if (r < 0)
            break;
        is_sealed |= r > 0;
    }
    gzip_free(recovery.gzip);
    buf_fini(&recovery.compressed);
    return r < 0 ? r : is_sealed;
}
