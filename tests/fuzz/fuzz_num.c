/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers: what is read and written again reads the same. */
#include "fuzz.h"

#include "base/num.h"

static void check_integers(struct str text)
{
    struct buf buf;
    buf_init(&buf, 64);
    uint64_t u;
    uint64_t u_again;
    if (num_parse_u64(text, &u) == 0) {
        num_put_u64(&buf, u);
        check(num_parse_u64((struct str){buf.data, buf.len}, &u_again) == 0 && u_again == u);
    }
    buf_clear(&buf);
    int64_t i;
    int64_t i_again;
    if (num_parse_i64(text, &i) == 0) {
        num_put_i64(&buf, i);
        check(num_parse_i64((struct str){buf.data, buf.len}, &i_again) == 0 && i_again == i);
    }
    check(buf_ok(&buf));
    buf_fini(&buf);
}

static void check_decimals(struct str text)
{
    struct buf buf;
    buf_init(&buf, 64);
    double value;
    double again;
    if (num_parse_f64(text, &value) == 0 && num_put_fixed(&buf, value, 3)) {
        check(num_parse_f64((struct str){buf.data, buf.len}, &again) == 0);
        double off = again > value ? again - value : value - again;
        check(off <= 0.000501 + (value < 0 ? -value : value) * 1e-15);
        buf_clear(&buf);
        check(num_put_short(&buf, value) && buf.len >= 3);
    }
    check(buf_ok(&buf));
    buf_fini(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    check_integers(text);
    check_decimals(text);
    struct str rest = text;
    uint64_t value;
    while (num_next_u64(&rest, &value))
        check(rest.p + rest.n == text.p + text.n);
    free(copy);
    return 0;
}
