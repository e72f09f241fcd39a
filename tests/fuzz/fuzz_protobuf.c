/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of Protocol Buffers: what is walked lies in the text and goes forward, and what is written again from its
 * fields is walked alike.
 */
#include "fuzz.h"

#include "base/auto.h"
#include "codec/protobuf.h"

static void check_again(unsigned field, uint64_t number, struct str bytes)
{
    AUTO_BUF struct buf buf = {.max = 1024 * 1024};
    size_t outer = protobuf_open(&buf, field);
    protobuf_put_number(&buf, field, number);
    protobuf_put_bytes(&buf, field, bytes);
    protobuf_close(&buf, outer);
    if (!buf_ok(&buf))
        return;
    struct str rest = buf_str(&buf), message, again;
    uint64_t same_number, none;
    unsigned same_field;
    check(protobuf_next(&rest, &same_field, &none, &message) && same_field == field && rest.n == 0);
    check(protobuf_next(&message, &same_field, &same_number, &again) && same_field == field && same_number == number);
    check(protobuf_next(&message, &same_field, &none, &again) && same_field == field && message.n == 0);
    check(str_eq(again, bytes));
}

static void walk(struct str text, unsigned depth)
{
    struct str rest = text, bytes;
    unsigned field;
    uint64_t number;
    size_t before = rest.n;
    while (protobuf_next(&rest, &field, &number, &bytes)) {
        check(rest.n < before && rest.p + rest.n == text.p + text.n);
        check(bytes.n == 0 || (bytes.p >= text.p && bytes.p + bytes.n <= text.p + text.n));
        check_again(field, number, bytes);
        if (depth > 0)
            walk(bytes, depth - 1);
        before = rest.n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    walk((struct str){copy, size}, 4);
    free(copy);
    return 0;
}
