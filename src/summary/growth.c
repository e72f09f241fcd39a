/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Did memory grow until the end? The run is kept as a few points of equally many samples each, every point the highest
 * of its samples; where they are full, each two become one.
 */
#include "summary/summary_internal.h"

/* Growth over the second half that counts, and the share of the last value that each of its two quarters has of it. */
#define GROWTH_LEAST_MIB 64.0
#define GROWTH_QUARTER_SHARE 0.05
#define GROWTH_AT_END_SHARE 0.98 /* of the highest: the last point is not below */
enum { GROWTH_POINTS_MIN = 4 };

static void halve(struct growth *growth)
{
    growth->count /= 2;
    for (size_t i = 0; i < growth->count; i++) {
        int64_t first = growth->points[2 * i], second = growth->points[2 * i + 1];
        growth->points[i] = first > second ? first : second;
    }
    growth->step *= 2;
}

void growth_add(struct growth *growth, int64_t value, bool is_part)
{
    /* A tree that has ended has no memory, which says nothing of the time before. */
    if (value <= 0)
        return;
    if (is_part && growth->count > 0) {
        int64_t *newest = &growth->points[growth->count - 1];
        *newest = value > *newest ? value : *newest;
        return;
    }
    if (growth->step == 0)
        growth->step = 1;
    if (growth->open > 0 && growth->open < growth->step) {
        int64_t *newest = &growth->points[growth->count - 1];
        growth->open++;
        *newest = value > *newest ? value : *newest;
        return;
    }
    if (growth->count == GROWTH_POINTS)
        halve(growth);
    growth->points[growth->count++] = value;
    growth->open = 1;
}

static int64_t highest(const struct growth *growth, size_t from, size_t to)
{
    int64_t most = 0;
    for (size_t i = from; i < to; i++)
        most = growth->points[i] > most ? growth->points[i] : most;
    return most;
}

void growth_fill(const struct growth *growth, struct summary_memory *memory)
{
    size_t count = growth->count;
    if (count < 2)
        return;
    size_t quarter = count / 4 > 0 ? count / 4 : 1;
    int64_t late = highest(growth, count - quarter, count), before = highest(growth, 0, count - quarter);
    memory->late_growth_mib = some_f64(late > before ? fixed4_value(late - before) : 0);
    if (count < GROWTH_POINTS_MIN)
        return;
    double half = fixed4_value(growth->points[count - 2 * quarter - 1]);
    double third = fixed4_value(growth->points[count - quarter - 1]);
    /* The newest point may have met the process on its way out. */
    double last = fixed4_value(highest(growth, count - 2, count));
    double least = last * GROWTH_QUARTER_SHARE;
    bool is_at_end = last >= fixed4_value(late > before ? late : before) * GROWTH_AT_END_SHARE;
    if (is_at_end && last - half >= GROWTH_LEAST_MIB && third - half >= least && last - third >= least)
        memory->growth_mib = some_f64(last - half);
}
