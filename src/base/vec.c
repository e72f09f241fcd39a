/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { VEC_FIRST_ITEMS = 8 };

int vec_grow(void *items_at, size_t *cap, size_t need, size_t item_bytes, size_t max)
{
    if (need <= *cap)
        return 0;
    if (need > max)
        return -E2BIG;
    size_t want = *cap ? *cap : VEC_FIRST_ITEMS;
    while (want < need)
        want *= 2;
    if (want > max)
        want = max;
    /* memcpy in and out: the pointer's own type is the caller's. */
    void *items;
    memcpy(&items, items_at, sizeof(items));
    if (want > SIZE_MAX / item_bytes)
        return -ENOMEM;
    void *grown = realloc(items, want * item_bytes);
    if (!grown)
        return -ENOMEM;
    memset((char *)grown + *cap * item_bytes, 0, (want - *cap) * item_bytes);
    memcpy(items_at, &grown, sizeof(grown));
    *cap = want;
    return 0;
}
