/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/protobuf.h"

enum wire { WIRE_NUMBER = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
enum { WIRE_BITS = 3, GROUP_BITS = 7, MORE = 128, NUMBER_BYTES_MAX = 10 };

/* Seven bits in each byte, the lowest first; returns how many bytes there are. */
static size_t write_number(char *out, uint64_t number)
{
    size_t n = 0;
    for (; number >= MORE; number >>= GROUP_BITS)
        out[n++] = (char)(number | MORE);
    out[n++] = (char)number;
    return n;
}

static void put(struct buf *buf, uint64_t number)
{
    char text[NUMBER_BYTES_MAX];
    buf_append(buf, text, write_number(text, number));
}

static void put_fixed(struct buf *buf, uint64_t number, unsigned bytes)
{
    for (; bytes > 0; bytes--, number >>= 8)
        buf_putc(buf, (char)number);
}

static void put_tag(struct buf *buf, unsigned field, enum wire wire)
{
    put(buf, field << WIRE_BITS | wire);
}

void protobuf_put_number(struct buf *buf, unsigned field, uint64_t number)
{
    put_tag(buf, field, WIRE_NUMBER);
    put(buf, number);
}

void protobuf_put_fixed64(struct buf *buf, unsigned field, uint64_t number)
{
    put_tag(buf, field, WIRE_FIXED64);
    put_fixed(buf, number, 8);
}

void protobuf_put_fixed32(struct buf *buf, unsigned field, uint32_t number)
{
    put_tag(buf, field, WIRE_FIXED32);
    put_fixed(buf, number, 4);
}

void protobuf_put_bytes(struct buf *buf, unsigned field, struct str bytes)
{
    put_tag(buf, field, WIRE_BYTES);
    put(buf, bytes.n);
    buf_append(buf, bytes.p, bytes.n);
}

size_t protobuf_open(struct buf *buf, unsigned field)
{
    put_tag(buf, field, WIRE_BYTES);
    buf_putc(buf, 0); /* the length of most */
    return buf->len;
}

void protobuf_close(struct buf *buf, size_t start)
{
    char text[NUMBER_BYTES_MAX];
    if (!buf_ok(buf))
        return;
    size_t n = buf->len - start, more = write_number(text, n) - 1;
    buf_append(buf, text, more); /* only to grow by so much */
    if (!buf_ok(buf))
        return;
    memmove(buf->data + start + more, buf->data + start, n);
    memcpy(buf->data + start - 1, text, more + 1);
}

static bool take_number(struct str *rest, uint64_t *ret_number)
{
    *ret_number = 0;
    for (unsigned shift = 0; rest->n > 0 && shift < 64; shift += GROUP_BITS) {
        unsigned char c = (unsigned char)rest->p[0];
        str_skip(rest, 1);
        *ret_number |= (uint64_t)(c & (MORE - 1)) << shift;
        if (c < MORE)
            return true;
    }
    return false;
}

bool protobuf_next(struct str *rest, unsigned *ret_field, uint64_t *ret_number, struct str *ret_bytes)
{
    uint64_t tag, n;
    *ret_bytes = STR("");
    *ret_number = 0;
    if (!take_number(rest, &tag) || tag >> WIRE_BITS > UINT32_MAX >> WIRE_BITS)
        return false;
    *ret_field = (unsigned)(tag >> WIRE_BITS);
    switch ((enum wire)(tag & ((1 << WIRE_BITS) - 1))) {
    case WIRE_NUMBER:
        return take_number(rest, ret_number);
    case WIRE_FIXED64:
        n = 8;
        break;
    case WIRE_FIXED32:
        n = 4;
        break;
    case WIRE_BYTES:
        if (take_number(rest, &n))
            break;
        return false;
    default:
        return false;
    }
    if (n > rest->n)
        return false;
    *ret_bytes = (struct str){rest->p, (size_t)n};
    str_skip(rest, (size_t)n);
    return true;
}
