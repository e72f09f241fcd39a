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

/* Tapes and block devices fill up with zeros behind the last member; nothing else may follow those. */
static int skip_padding(struct gunzip *gunzip)
{
    z_stream *stream = &gunzip->stream;
    for (; stream->avail_in > 0 && *stream->next_in == 0; stream->next_in++, stream->avail_in--)
        gunzip->is_padded = true;
    return gunzip->is_padded && stream->avail_in > 0 ? -EBADMSG : 0;
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
        (void)inflateReset(stream);
    }
    gunzip->is_ended = false;
    stream->next_out = (Bytef *)piece;
    stream->avail_out = sizeof(piece);
    int result = inflate(stream, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR)
        return -ENOMEM;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) /* the last: it wants more */
        return -EBADMSG;
    gunzip->is_ended = result == Z_STREAM_END;
    size_t n = sizeof(piece) - stream->avail_out;
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

const char *gzip_library(void)
{
    return zlibVersion();
}
