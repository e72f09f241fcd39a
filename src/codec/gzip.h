/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip (RFC 1952) with zlib, as a stream: what goes in is compressed at once, what comes out grows in a bounded buffer.
 * The header carries neither a name nor a time: the same bytes always give the same file.
 */
#ifndef CODEC_GZIP_H
#define CODEC_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct gzip; /* a compression under way */

/* Returns 0 or -ENOMEM. */
int gzip_new(struct gzip **ret_gzip);
void gzip_free(struct gzip *gzip); /* NULL allowed */

/*
 * Compresses bytes; what is finished is appended to out (which may hold back some). Returns 0, or -ENOBUFS / -ENOMEM
 * where out could not grow: the stream is then of no more use.
 */
int gzip_add(struct gzip *gzip, struct str bytes, struct buf *out);

/* The same, and nothing is held back: a file that is cut behind this gives back every byte so far (Z_SYNC_FLUSH). */
int gzip_add_flushed(struct gzip *gzip, struct str bytes, struct buf *out);

/* The end of the file; the gzip is ready for a new one afterwards. */
int gzip_finish(struct gzip *gzip, struct buf *out);

/* No more than this comes out of a gzip_add_flushed of n bytes, and gzip_finish behind it. */
size_t gzip_bound(size_t n);

/*
 * Unpacks a whole file of one or more members and hands it out in pieces. take returns 0 or a negative errno, which
 * ends it and is returned. Otherwise 0, -EBADMSG (broken or cut), or -ENOMEM.
 */
int gzip_unpack(struct str file, int (*take)(void *context, struct str piece), void *context);

/* The same, appended to buf; also -ENOBUFS. */
int gzip_unpack_into(struct str file, struct buf *buf);

struct gunzip; /* a decompression under way */

/* Returns 0 or -ENOMEM. */
int gunzip_new(struct gunzip **ret_gunzip);
void gunzip_free(struct gunzip *gunzip); /* NULL allowed */

/* The next bytes of a file, handed out and answered as by gzip_unpack; a file that is cut is not found out here. */
int gunzip_add(struct gunzip *gunzip, struct str bytes, int (*take)(void *context, struct str piece), void *context);

enum { GZIP_END_BYTES = 10 };

/*
 * For a file that gzip_add_flushed made and gzip_finish did not end. gunzip_note_ends: before the first bytes.
 * gunzip_mend: of so many of its bytes, which hold whole lines only, and ret_end behind them, a whole file can be made.
 * False where no such place was seen.
 */
void gunzip_note_ends(struct gunzip *gunzip);
bool gunzip_mend(const struct gunzip *gunzip, uint64_t *ret_bytes, char ret_end[static GZIP_END_BYTES]);

/* How many bytes were read: up to where it is broken, after -EBADMSG. */
uint64_t gunzip_position(const struct gunzip *gunzip);

/* Did the last member come to its end, with nothing but zeros behind it? */
bool gunzip_is_whole(const struct gunzip *gunzip);

/* "1.2.13" */
const char *gzip_library(void);

#endif
