/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --licenses: the licences of the program and of what is linked into it. tools/embed-licenses packs the text at build
 * time.
 */
#ifndef RUN_LICENSES_H
#define RUN_LICENSES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* The text as one gzip file; in a source file that the build makes. */
extern const unsigned char licenses_packed[];
extern const size_t licenses_packed_bytes;

/* Appends the whole text. Returns 0 or a negative errno with a message. */
int licenses_put(struct buf *buf, struct err *err);

/* One line, which scripts cut at the blank; is_long: also what the program is built with. */
void version_put(struct buf *text, bool is_long);

#endif
