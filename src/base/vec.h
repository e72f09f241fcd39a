/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays with a ceiling: struct { T *items; size_t count, cap; } plus this one function.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>

/*
 * Makes the array behind the pointer at `items_at` (elements of item_bytes) hold at least `need` elements; new elements
 * are zeroed. Grows by doubling, never above max. Returns 0, -E2BIG (need > max) or -ENOMEM; on failure nothing
 * changes.
 */
int vec_grow(void *items_at, size_t *cap, size_t need, size_t item_bytes, size_t max);

/* The same for an array named by its struct: VEC_GROW(&cores, need, max). */
#define VEC_GROW(vec, need, max) vec_grow(&(vec)->items, &(vec)->cap, (need), sizeof(*(vec)->items), (max))

#endif
