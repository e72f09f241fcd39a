/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of Protocol Buffers ("Encoding" of its documentation): enough to write messages, and to walk those of a
 * server. */
#ifndef CODEC_PROTOBUF_H
#define CODEC_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

void protobuf_put_number(struct buf *buf, unsigned field, uint64_t number); /* int, bool, enum */
void protobuf_put_fixed64(struct buf *buf, unsigned field, uint64_t number);
void protobuf_put_fixed32(struct buf *buf, unsigned field, uint32_t number);
void protobuf_put_bytes(struct buf *buf, unsigned field, struct str bytes); /* and strings */

/* A message within a message: what is put between the two calls. */
size_t protobuf_open(struct buf *buf, unsigned field);
void protobuf_close(struct buf *buf, size_t start);

/* The next field of a message; ret_number of a number, ret_bytes of everything with a length, "" otherwise. False at
 * the end, and where the message is broken. */
bool protobuf_next(struct str *rest, unsigned *ret_field, uint64_t *ret_number, struct str *ret_bytes);

#endif
