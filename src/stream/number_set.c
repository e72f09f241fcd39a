/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/number_set.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"

/* The first range that ends at or behind the number; count where there is none. */
static size_t find_range(const struct number_set *set, uint32_t number)
{
    size_t low = 0;
    size_t high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->ranges[middle].last < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool number_set_has(const struct number_set *set, uint32_t number)
{
    size_t at = find_range(set, number);
    return at < set->count && set->ranges[at].first <= number;
}

static int insert_range(struct number_set *set, size_t at, uint32_t number)
{
    if (set->count == NUMBER_SET_RANGES_MAX)
        return -E2BIG;
    memmove(&set->ranges[at + 1], &set->ranges[at], (set->count - at) * sizeof(set->ranges[0]));
    set->ranges[at] = (struct number_range){number, number};
    set->count++;
    return 0;
}

int number_set_add(struct number_set *set, uint32_t number)
{
    size_t at = find_range(set, number);
    if (at < set->count && set->ranges[at].first <= number)
        return 0;
    bool joins_before = at > 0 && set->ranges[at - 1].last + 1 == number;
    bool joins_behind = at < set->count && set->ranges[at].first - 1 == number;
    if (joins_before && joins_behind) {
        set->ranges[at - 1].last = set->ranges[at].last;
        set->count--;
        memmove(&set->ranges[at], &set->ranges[at + 1], (set->count - at) * sizeof(set->ranges[0]));
    } else if (joins_before) {
        set->ranges[at - 1].last = number;
    } else if (joins_behind) {
        set->ranges[at].first = number;
    } else {
        return insert_range(set, at, number);
    }
    return 0;
}

uint64_t number_set_count(const struct number_set *set)
{
    uint64_t n = 0;
    for (size_t i = 0; i < set->count; i++)
        n += (uint64_t)set->ranges[i].last - set->ranges[i].first + 1;
    return n;
}

bool number_set_next(const struct number_set *set, size_t *at, struct number_range *ret_range)
{
    if (*at >= set->count)
        return false;
    *ret_range = set->ranges[(*at)++];
    return true;
}

void number_set_put(const struct number_set *set, struct buf *buf)
{
    for (size_t i = 0; i < set->count; i++) {
        if (i > 0)
            buf_putc(buf, ',');
        num_put_u64(buf, set->ranges[i].first);
        if (set->ranges[i].last != set->ranges[i].first) {
            buf_putc(buf, '-');
            num_put_u64(buf, set->ranges[i].last);
        }
    }
}

static bool parse_number(struct str text, uint32_t *ret_number)
{
    uint64_t number;
    if ((text.n > 1 && text.p[0] == '0') || num_parse_u64(text, &number) < 0 || number > UINT32_MAX)
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

static bool parse_range(struct str text, struct number_range *ret_range)
{
    const char *dash = text.n > 0 ? memchr(text.p, '-', text.n) : NULL;
    if (!dash) {
        if (!parse_number(text, &ret_range->first))
            return false;
        ret_range->last = ret_range->first;
        return true;
    }
    size_t n = (size_t)(dash - text.p);
    return parse_number((struct str){text.p, n}, &ret_range->first) &&
           parse_number((struct str){dash + 1, text.n - n - 1}, &ret_range->last) && ret_range->first < ret_range->last;
}

/* One pass checks and, where there is a set to fill, fills it: what is written on success only needs no second set. */
static int read_ranges(struct str text, struct number_set *set)
{
    size_t count = 0;
    uint64_t next_free = 0; /* the smallest number with which the next range may begin */
    for (bool is_last = text.n == 0; !is_last; count++) {
        const char *comma = memchr(text.p, ',', text.n);
        size_t n = comma ? (size_t)(comma - text.p) : text.n;
        is_last = !comma;
        struct number_range range;
        if (!parse_range((struct str){text.p, n}, &range) || range.first < next_free)
            return -EINVAL;
        if (count == NUMBER_SET_RANGES_MAX)
            return -E2BIG;
        next_free = (uint64_t)range.last + 2;
        if (set)
            set->ranges[count] = range;
        text.p += n + !is_last;
        text.n -= n + !is_last;
    }
    if (set)
        set->count = count;
    return 0;
}

int number_set_parse(struct str text, struct number_set *ret_set)
{
    int r = read_ranges(text, NULL);
    return r < 0 ? r : read_ranges(text, ret_set);
}
