/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of time: a failure writes nothing, and what was read and written as seconds reads the same again. */
#include "fuzz.h"

#include <errno.h>

#include "config/value.h"

enum { UNTOUCHED = -77 };

static void check_round_trip(int64_t ns)
{
    struct buf buf;
    buf_init(&buf, 64);
    duration_put(&buf, ns);
    int64_t again = UNTOUCHED;
    check(buf_ok(&buf) && duration_parse((struct str){buf.data, buf.len}, &again) == 0 && again == ns);
    buf_fini(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    int64_t ns = UNTOUCHED;
    int r = duration_parse((struct str){copy, size}, &ns);
    check(r == 0 || r == -EINVAL || r == -EDOM || r == -ERANGE);
    check(r == 0 ? ns >= 0 : ns == UNTOUCHED);
    if (r == -EDOM)
        check(copy[0] == '-' && duration_parse((struct str){copy + 1, size - 1}, &ns) != -EINVAL);
    else if (r == 0)
        check_round_trip(ns);
    free(copy);
    return 0;
}
