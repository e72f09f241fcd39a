/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finish with the samples in the call. The CSV comes in pieces of any size and goes through a small slice into base64
 * or a JSON string and, compressed on the way, into the body, which is all that memory holds:
 *   {"exit_code":0,"run_status":"finished","finished_at":"2026-11-15T09:30:00Z","data_source":"inline","data_csv":"…"}
 */
#include <errno.h>

#include "base/auto.h"
#include "base/utf8.h"
#include "codec/gzip.h"
#include "codec/hash.h"
#include "encode/json.h"
#include "stream/payload.h"
#include "stream/targets/sentinel.h"
#include "stream/targets/sentinel_call.h"

enum {
    BODY_BYTES_MAX = 8 * 1024 * 1024,
    SLICE_BYTES = 3072, /* a multiple of 3: base64 without padding in the middle */
    PIECE_BYTES_MAX = 6 * SLICE_BYTES + 2, /* every byte as \u00XX, and the quotation marks */
    HEAD_BYTES_MAX = 512,
};

struct form {
    bool is_base64;
    bool is_gzip;
};

/* In the order in which they are tried. */
static const struct form forms[] = {{true, true}, {false, true}, {false, false}};
enum { FORM_COUNT = sizeof(forms) / sizeof(forms[0]), FIRST_PLAIN = 1 };

/* A body under way. */
struct maker {
    const struct form *form;
    struct gzip *gzip;
    struct buf *body;
    struct buf piece; /* what became of the slice */
    char slice[SLICE_BYTES];
    size_t used;
    int trouble; /* ours, as opposed to that of whoever reads the CSV */
};

static int put_bytes(struct maker *maker, struct str bytes)
{
    if (maker->form->is_gzip)
        return gzip_add(maker->gzip, bytes, maker->body);
    if (bytes.n > maker->body->max - maker->body->len)
        return -ENOBUFS;
    buf_append(maker->body, bytes.p, bytes.n);
    return buf_ok(maker->body) ? 0 : -ENOMEM;
}

/* The bytes before a character that is cut off at the end; all of them where there is none. */
static size_t whole_characters(struct str text)
{
    for (size_t back = 1; back <= 3 && back < text.n; back++) {
        unsigned char byte = (unsigned char)text.p[text.n - back];
        size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        if (byte >= 0xc0)
            return length > back ? text.n - back : text.n;
        if (byte < 0x80)
            break;
    }
    return text.n;
}

/* Sends the slice on its way; what cannot be encoded yet stays in it, unless this is the end. */
static int flush_slice(struct maker *maker, bool is_end)
{
    struct str text = {maker->slice, maker->used};
    struct str encoded;
    buf_clear(&maker->piece);
    if (maker->form->is_base64) {
        hash_base64(&maker->piece, text);
        encoded = (struct str){maker->piece.data, maker->piece.len};
    } else {
        text.n = is_end ? text.n : whole_characters(text);
        json_put_string(&maker->piece, text);
        if (buf_ok(&maker->piece))
            encoded = (struct str){maker->piece.data + 1, maker->piece.len - 2};
    }
    if (!buf_ok(&maker->piece))
        return -ENOMEM;
    maker->used -= text.n;
    memmove(maker->slice, maker->slice + text.n, maker->used);
    return put_bytes(maker, encoded);
}

static int take_csv(void *context, struct str piece)
{
    struct maker *maker = context;
    while (piece.n > 0) {
        size_t room = SLICE_BYTES - maker->used;
        size_t n = piece.n < room ? piece.n : room;
        memcpy(maker->slice + maker->used, piece.p, n);
        maker->used += n;
        piece = (struct str){piece.p + n, piece.n - n};
        if (maker->used == SLICE_BYTES)
            maker->trouble = flush_slice(maker, false);
        if (maker->trouble < 0)
            return maker->trouble;
    }
    return 0;
}

static int put_head(struct maker *maker, const struct end_facts *end)
{
    AUTO_BUF struct buf head;
    buf_init(&head, HEAD_BYTES_MAX);
    buf_putc(&head, '{');
    payload_end(&head, end);
    buf_puts(&head, ",\"data_source\":\"inline\",\"data_csv\":\"");
    return buf_ok(&head) ? put_bytes(maker, (struct str){head.data, head.len}) : -ENOMEM;
}

static int fill_body(struct maker *maker, const struct end_facts *end, const struct sentinel_csv *csv)
{
    int r = put_head(maker, end);
    if (r == 0)
        r = csv->read(csv->context, take_csv, maker);
    if (maker->trouble < 0)
        return maker->trouble;
    if (r == 0)
        r = flush_slice(maker, true);
    if (r == 0)
        r = put_bytes(maker, STR("\"}"));
    if (r == 0 && maker->form->is_gzip)
        r = gzip_finish(maker->gzip, maker->body);
    return r;
}

static int make_body(const struct form *form, const struct end_facts *end, const struct sentinel_csv *csv,
    struct buf *body, struct err *err)
{
    struct maker maker = {.form = form, .body = body};
    buf_init(&maker.piece, PIECE_BYTES_MAX);
    int r = form->is_gzip ? gzip_new(&maker.gzip) : 0;
    if (r == 0)
        r = fill_body(&maker, end, csv);
    gzip_free(maker.gzip);
    buf_fini(&maker.piece);
    if (r == -ENOBUFS)
        return err_set(err, r, "the samples are too large for the call (over %d MiB)", BODY_BYTES_MAX / (1024 * 1024));
    return r < 0 ? err_sys(err, r, "cannot put the samples into the call") : 0;
}

/* May another form find more favour? */
static bool is_form_refused(const struct sentinel_result *result)
{
    int status = result->status;
    return status == 400 || status == 415 || status == 422 || status == 500;
}

struct sentinel_result sentinel_finish_inline(struct sentinel *sentinel, const struct end_facts *end,
    const struct sentinel_csv *csv, int64_t deadline_ns, struct err *err)
{
    struct sentinel_call call = {.purpose = "finish the run", .verb = "finish", .deadline_ns = deadline_ns};
    struct sentinel_result result = {.outcome = SENTINEL_REFUSED, .retry_after_secs = -1};
    size_t first = sentinel->inline_form == SENTINEL_INLINE_PLAIN ? FIRST_PLAIN : 0;
    size_t end_form = sentinel->inline_form == SENTINEL_INLINE_BASE64 ? FIRST_PLAIN : FORM_COUNT;
    for (size_t i = first; i < end_form; i++) {
        struct err trouble;
        AUTO_BUF struct buf body;
        buf_init(&body, BODY_BYTES_MAX);
        int r = make_body(&forms[i], end, csv, &body, &trouble);
        /* A form that is too large for us does not hide what the server said about the one before. */
        if (r == -ENOBUFS && i > first)
            break;
        if (r == 0) {
            call.body = (struct str){body.data, body.len};
            call.is_gzip = forms[i].is_gzip;
            sentinel->finish_calls++;
            result = sentinel_call(sentinel, &call, &trouble);
        } else {
            result = sentinel_call_fail(&call, r == -ENOBUFS ? SENTINEL_REFUSED : SENTINEL_AGAIN, &trouble);
        }
        if (err && result.outcome != SENTINEL_DONE)
            *err = trouble;
        if (!is_form_refused(&result))
            break;
    }
    if (result.outcome == SENTINEL_DONE)
        err_clear(err);
    return result;
}
