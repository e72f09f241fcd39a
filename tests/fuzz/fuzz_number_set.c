/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of numbers: what is read is written the same again, a failure writes nothing, and the ranges stay in order. */
#include "fuzz.h"

#include <errno.h>

#include "base/buf.h"
#include "stream/number_set.h"

enum { UNTOUCHED = 77 };

static void check_order(const struct number_set *set)
{
    check(set->count <= NUMBER_SET_RANGES_MAX);
    for (size_t i = 0; i < set->count; i++) {
        check(set->ranges[i].first <= set->ranges[i].last);
        check(i == 0 || set->ranges[i].first > (uint64_t)set->ranges[i - 1].last + 1);
    }
}

static void check_same_text(const struct number_set *set, struct str text)
{
    struct buf buf;
    buf_init(&buf, 64 * 1024);
    number_set_put(set, &buf);
    check(buf_ok(&buf) && str_eq((struct str){buf.data, buf.len}, text));
    buf_fini(&buf);
}

/* The bytes as numbers, added one by one. */
static void check_add(struct number_set *set, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 2 <= size; i += 2) {
        uint32_t number = (uint32_t)data[i] * 16 + data[i + 1];
        uint64_t before = number_set_count(set);
        bool had = number_set_has(set, number);
        int r = number_set_add(set, number);
        check(r == 0 || (r == -E2BIG && !had));
        check(number_set_has(set, number) == (r == 0));
        check(number_set_count(set) == before + (r == 0 && !had));
    }
    check_order(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    struct number_set *set = calloc(1, sizeof(*set));
    if (copy && set) {
        set->count = UNTOUCHED;
        int r = number_set_parse((struct str){copy, size}, set);
        check(r == 0 || r == -EINVAL || r == -E2BIG);
        check(r == 0 || set->count == UNTOUCHED);
        if (r == 0) {
            check_order(set);
            check_same_text(set, (struct str){copy, size});
        } else {
            set->count = 0;
        }
        check_add(set, data, size);
    }
    free(set);
    free(copy);
    return 0;
}
