/* SPDX-License-Identifier: Apache-2.0 */
/* gzip files (RFC 1952) with zlib: level 6, a 32 KiB window. zlib writes no name and a time of 0 by default. */
#include "codec/gzip.h"

#include <errno.h>
#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

enum {
    GZIP_LEVEL = 6,
    GZIP_WINDOW_BITS = 15 + 16, /* 16: with gzip's header and trailer instead of zlib's */
    GZIP_MEM_LEVEL = 8,
    GZIP_OUT_BYTES = 4 * 1024,
    GZIP_PIECE_BYTES = 16 * 1024,
    GZIP_FEED_BYTES = 1 << 30, /* zlib counts its input in unsigned int */
};

struct gzip {
    z_stream stream;
};

int gzip_new(struct gzip **ret_gzip)
{
    struct gzip *gzip = calloc(1, sizeof(*gzip));
    if (!gzip)
        return -ENOMEM;
    if (deflateInit2(&gzip->stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        free(gzip);
        return -ENOMEM;
    }
    *ret_gzip = gzip;
    return 0;
}

void gzip_free(struct gzip *gzip)
{
    if (!gzip)
        return;
    (void)deflateEnd(&gzip->stream);
    free(gzip);
}

/* Gives zlib the next of the bytes that it has not seen yet. */
static void feed(z_stream *stream, struct str *rest)
{
    size_t n = rest->n < GZIP_FEED_BYTES ? rest->n : GZIP_FEED_BYTES;
    if (n == 0)
        return;
    stream->next_in = (const Bytef *)rest->p;
    stream->avail_in = (uInt)n;
    rest->p += n;
    rest->n -= n;
}

/* Runs zlib over what it was fed, until it asks for more or, with Z_FINISH, has come to the end. */
static int compress_fed(struct gzip *gzip, int flush, struct buf *out)
{
    z_stream *stream = &gzip->stream;
    int result;
    do {
        char piece[GZIP_OUT_BYTES];
        stream->next_out = (Bytef *)piece;
        stream->avail_out = sizeof(piece);
        result = deflate(stream, flush);
        size_t n = sizeof(piece) - stream->avail_out;
        bool fits = buf_ok(out) && n <= out->max - out->len;
        buf_append(out, piece, n);
        if (!buf_ok(out))
            return fits ? -ENOMEM : -ENOBUFS;
    } while (result == Z_OK && stream->avail_out == 0);
    return 0;
}

int gzip_add(struct gzip *gzip, struct str bytes, struct buf *out)
{
    while (bytes.n > 0) {
        feed(&gzip->stream, &bytes);
        int code = compress_fed(gzip, Z_NO_FLUSH, out);
        if (code < 0)
            return code;
    }
    return 0;
}

int gzip_add_flushed(struct gzip *gzip, struct str bytes, struct buf *out)
{
    int code = gzip_add(gzip, bytes, out);
    gzip->stream.avail_in = 0;
    return code < 0 ? code : compress_fed(gzip, Z_SYNC_FLUSH, out);
}

size_t gzip_bound(size_t n)
{
    /* Header, trailer, two ends of blocks; and where nothing can be compressed five bytes for every few KiB. */
    enum { AROUND_BYTES = 64, SHARE = 256 };
    return n + n / SHARE + AROUND_BYTES;
}

int gzip_finish(struct gzip *gzip, struct buf *out)
{
    gzip->stream.avail_in = 0;
    int code = compress_fed(gzip, Z_FINISH, out);
    (void)deflateReset(&gzip->stream);
    return code;
}

struct gunzip {
    z_stream stream;
    bool is_ended; /* at the end of a member */
    bool is_padded; /* with zeros behind it */
    bool notes_ends;
    char last; /* of what was unpacked */
    uint64_t before_bytes; /* of members that are whole */
    struct {
        uint64_t bytes; /* 0: none was seen */
        uint32_t check, size;
    } end; /* where the file could have ended */
};

int gunzip_new(struct gunzip **ret_gunzip)
{
    struct gunzip *gunzip = calloc(1, sizeof(*gunzip));
    if (!gunzip)
        return -ENOMEM;
    if (inflateInit2(&gunzip->stream, GZIP_WINDOW_BITS) != Z_OK) {
        free(gunzip);
        return -ENOMEM;
    }
    *ret_gunzip = gunzip;
    return 0;
}

void gunzip_free(struct gunzip *gunzip)
{
    if (!gunzip)
        return;
    (void)inflateEnd(&gunzip->stream);
    free(gunzip);
}

bool gunzip_is_whole(const struct gunzip *gunzip)
{
    return gunzip->is_ended;
}

uint64_t gunzip_position(const struct gunzip *gunzip)
{
    return gunzip->before_bytes + gunzip->stream.total_in;
}

/* Tapes and block devices fill up with zeros behind the last member; nothing else may follow those. */
static int skip_padding(struct gunzip *gunzip)
{
    z_stream *stream = &gunzip->stream;
    for (; stream->avail_in > 0 && *stream->next_in == 0; stream->next_in++, stream->avail_in--)
        gunzip->is_padded = true;
    return gunzip->is_padded && stream->avail_in > 0 ? -EBADMSG : 0;
}

void gunzip_note_ends(struct gunzip *gunzip)
{
    gunzip->notes_ends = true;
}

/* Between two blocks, and at the end of a byte, another member cannot begin, but the end of this one can. */
static void note_end(struct gunzip *gunzip)
{
    enum { BITS = 7, IS_LAST = 64, IS_BETWEEN = 128 };
    const z_stream *stream = &gunzip->stream;
    if ((stream->data_type & (BITS | IS_LAST | IS_BETWEEN)) != IS_BETWEEN || stream->total_out == 0 ||
        gunzip->last != '\n')
        return;
    gunzip->end.bytes = gunzip->before_bytes + stream->total_in;
    gunzip->end.check = (uint32_t)stream->adler;
    gunzip->end.size = (uint32_t)stream->total_out;
}

static void put_le32(char out[static 4], uint32_t number)
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = (char)(number >> (8 * i));
}

bool gunzip_mend(const struct gunzip *gunzip, uint64_t *ret_bytes, char ret_end[static GZIP_END_BYTES])
{
    if (gunzip->end.bytes == 0)
        return false;
    *ret_bytes = gunzip->end.bytes;
    /* An empty last block, then the trailer of RFC 1952. */
    ret_end[0] = 3;
    ret_end[1] = 0;
    put_le32(ret_end + 2, gunzip->end.check);
    put_le32(ret_end + 6, gunzip->end.size);
    return true;
}

/* One step of inflate and what came out of it. */
static int unpack_step(struct gunzip *gunzip, int (*take)(void *context, struct str piece), void *context)
{
    z_stream *stream = &gunzip->stream;
    char piece[GZIP_PIECE_BYTES];
    if (gunzip->is_ended) {
        int code = skip_padding(gunzip);
        if (code < 0 || stream->avail_in == 0)
            return code;
        gunzip->before_bytes += stream->total_in;
        (void)inflateReset(stream);
    }
    gunzip->is_ended = false;
    stream->next_out = (Bytef *)piece;
    stream->avail_out = sizeof(piece);
    int result = inflate(stream, gunzip->notes_ends ? Z_BLOCK : Z_NO_FLUSH);
    if (result == Z_MEM_ERROR)
        return -ENOMEM;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) /* the last: it wants more */
        return -EBADMSG;
    gunzip->is_ended = result == Z_STREAM_END;
    size_t n = sizeof(piece) - stream->avail_out;
    if (n > 0)
        gunzip->last = piece[n - 1];
    if (gunzip->notes_ends && result == Z_OK)
        note_end(gunzip);
    return n > 0 ? take(context, (struct str){piece, n}) : 0;
}

int gunzip_add(struct gunzip *gunzip, struct str bytes, int (*take)(void *context, struct str piece), void *context)
{
    z_stream *stream = &gunzip->stream;
    int code = 0;
    while (code == 0 && bytes.n > 0) {
        feed(stream, &bytes);
        /* A full piece may mean that more of it waits inside, even with all input taken. */
        do
            code = unpack_step(gunzip, take, context);
        while (code == 0 && (stream->avail_in > 0 || (stream->avail_out == 0 && !gunzip->is_ended)));
    }
    return code;
}

int gzip_unpack(struct str file, int (*take)(void *context, struct str piece), void *context)
{
    struct gunzip *gunzip;
    int code = gunzip_new(&gunzip);
    if (code < 0)
        return code;
    code = gunzip_add(gunzip, file, take, context);
    if (code == 0 && !gunzip_is_whole(gunzip))
        code = -EBADMSG;
    gunzip_free(gunzip);
    return code;
}

static int append_piece(void *context, struct str piece)
{
    struct buf *buf = context;
    buf_append(buf, piece.p, piece.n);
    return buf_ok(buf) ? 0 : -ENOBUFS;
}

int gzip_unpack_into(struct str file, struct buf *buf)
{
    return gzip_unpack(file, append_piece, buf);
}

const char *gzip_library(void)
{
    return zlibVersion();
}
