/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a run changes, by optimal partitioning: of all ways to cut it into pieces, the one with the least sum of
 * squares around a line for each metric and piece, and a penalty for each cut as in the Bayesian information criterion;
 * then neighbours that are alike become one. docs/guide/phases.md describes it.
 */
#include "summary/phases/phases.h"

#include <stdlib.h>

enum { ROWS_MIN = 12, LENGTH_MIN = 3, PIECES_MAX = 40 };

#define VALUE_MAX 1e15
#define NOISE_RANGE 0.04 /* of the range: less is never a phase */
#define STEP_RANGE 0.15 /* of the range: neighbours that differ by less are alike */
#define STEP_UNITS 4

/* What is small in each metric. Disk I/O spans orders of magnitude and enters as its square root. */
static const double units[PHASE_METRICS] = {0.05, 8, 500, 0.02};
#define MEMORY_UNIT_SHARE 0.01 /* of the highest */

/* Sums over all rows before one, of values in units of noise. */
struct sums {
    double value[PHASE_METRICS], by_row[PHASE_METRICS], square;
};

struct search {
    size_t count, least; /* rows; of the shortest phase */
    double step[PHASE_METRICS]; /* in units of noise; 0: the metric says nothing */
    double penalty;
    double *values[PHASE_METRICS]; /* count of each, in units of noise */
    double *sorted; /* scratch */
    double *cost; /* of the best partition of the rows before one */
    size_t *cut; /* where its last piece begins */
    struct sums *sums;
};

static double root(double value)
{
    double found = value > 1 ? value : 1;
    for (unsigned i = 0; i < 64; i++)
        found = (found + value / found) / 2;
    return found;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sorts a copy; the value at a share of it follows from sorted_at. */
static void sort_values(struct search *search, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        search->sorted[i] = values[i];
    qsort(search->sorted, count, sizeof(*search->sorted), compare);
}

static double sorted_at(const struct search *search, size_t count, size_t percent)
{
    return search->sorted[(count - 1) * percent / 100];
}

static double row_value(const struct phase_row *row, size_t metric)
{
    double value = row->at[metric];
    value = value >= 0 ? value : 0;
    value = value < VALUE_MAX ? value : VALUE_MAX;
    return metric == PHASE_DISK ? root(value) : value;
}

/* Of the metrics whose bits are set. */
static void fill_sums(struct search *search, unsigned metrics)
{
    search->sums[0] = (struct sums){0};
    for (size_t i = 0; i < search->count; i++) {
        struct sums *sums = &search->sums[i + 1];
        *sums = search->sums[i];
        for (size_t metric = 0; metric < PHASE_METRICS; metric++) {
            double value = metrics >> metric & 1 ? search->values[metric][i] : 0;
            sums->value[metric] += value;
            sums->by_row[metric] += value * (double)i;
            sums->square += value * value;
        }
    }
}

/* Squares of what the rows from and before to are off their lines. */
static double cost_of(const struct search *search, size_t from, size_t to)
{
    const struct sums *a = &search->sums[from], *b = &search->sums[to];
    double count = (double)(to - from), middle = (double)(from + to - 1) / 2, spread = count * (count * count - 1) / 12;
    double off = b->square - a->square, level = 0, slope = 0;
    for (size_t metric = 0; metric < PHASE_METRICS; metric++) {
        double sum = b->value[metric] - a->value[metric], by_row = b->by_row[metric] - a->by_row[metric] - sum * middle;
        level += sum * sum;
        slope += by_row * by_row;
    }
    off -= level / count + slope / spread;
    return off > 0 ? off : 0;
}

/*
 * The noise of the one metric that the sums are of, squared. Within stretches of the least length: how far values are
 * off their line; not more than PHASES_FOUND_MAX - 1 of forty have a change in them, so that the one at 70 % shows what
 * is no change. And from one stretch to the next, where noise is slow: how far their means differ, at 30 % because a
 * change shows in two; for a normal distribution that is 0.148 of the mean square.
 */
static double noise_of(struct search *search, unsigned metric)
{
    size_t stretches = search->count / search->least, least = search->least;
    double off[PIECES_MAX] = {0}, length = (double)least;
    for (size_t i = 0; i < stretches; i++)
        off[i] = cost_of(search, i * least, (i + 1) * least);
    sort_values(search, off, stretches);
    double within = sorted_at(search, stretches, 70) / (length - 2);
    for (size_t i = 0; i + 1 < stretches; i++) {
        const struct sums *sums = search->sums + i * least;
        double step = (sums[2 * least].value[metric] - 2 * sums[least].value[metric] + sums[0].value[metric]) / length;
        off[i] = step * step;
    }
    sort_values(search, off, stretches - 1);
    double between = sorted_at(search, stretches - 1, 30) / 0.148 * length / 2;
    return within > between ? within : between;
}

/* A running median, in which what lasts less than the least length is gone and every longer step stays where it is. */
static void drop_spikes(struct search *search, double *values)
{
    size_t half = search->least - 1, wide = 2 * half + 1, count = search->count;
    double *window = search->sorted, *kept = search->cost;
    for (size_t i = 0; i < count; i++)
        kept[i] = values[i];
    for (size_t i = 0; i < count; i++) {
        size_t from = i < half ? 0 : i + half < count ? i - half : count - wide;
        for (size_t k = 0; k < wide; k++) {
            size_t at = k;
            for (; at > 0 && window[at - 1] > kept[from + k]; at--)
                window[at] = window[at - 1];
            window[at] = kept[from + k];
        }
        values[i] = window[half];
    }
}

/* Values of one metric in units of its noise, without their highest and lowest hundredth. */
static void scale_metric(struct search *search, const struct phase_row *rows, unsigned metric)
{
    double *values = search->values[metric];
    for (size_t i = 0; i < search->count; i++)
        values[i] = row_value(&rows[i], metric);
    sort_values(search, values, search->count);
    double low = sorted_at(search, search->count, 1), high = sorted_at(search, search->count, 99);
    if (search->count < 100)
        high = search->sorted[search->count - 1];
    double unit = units[metric], range = high - low;
    if (metric == PHASE_MEMORY && unit < high * MEMORY_UNIT_SHARE)
        unit = high * MEMORY_UNIT_SHARE;
    bool is_flat = range < unit * STEP_UNITS;
    for (size_t i = 0; i < search->count; i++) {
        double value = values[i] < high ? values[i] : high;
        values[i] = is_flat || value < low ? 0 : value - low;
    }
    if (is_flat)
        return;
    fill_sums(search, 1U << metric);
    double noise = root(noise_of(search, metric));
    noise = noise > range * NOISE_RANGE ? noise : range * NOISE_RANGE;
    noise = noise > unit ? noise : unit;
    double step = range * STEP_RANGE > unit * STEP_UNITS ? range * STEP_RANGE : unit * STEP_UNITS;
    search->step[metric] = step > noise ? step / noise : 1;
    drop_spikes(search, values);
    for (size_t i = 0; i < search->count; i++)
        values[i] /= noise;
}

/* Returns false where no metric says anything. */
static bool prepare(struct search *search, const struct phase_row *rows)
{
    unsigned parameters = 1; /* the place of the cut */
    double logarithm = 0;
    for (size_t left = search->count; left > 1; left = (left + 1) / 2)
        logarithm += 0.6931;
    for (unsigned metric = 0; metric < PHASE_METRICS; metric++) {
        scale_metric(search, rows, metric);
        parameters += search->step[metric] > 0 ? 2 : 0;
    }
    search->penalty = 2 * parameters * logarithm;
    fill_sums(search, ~0U);
    return parameters > 1;
}

static void partition(struct search *search)
{
    search->cost[0] = -search->penalty;
    for (size_t to = 1; to <= search->count; to++) {
        double best = VALUE_MAX;
        for (size_t from = 0; from + search->least <= to; from++) {
            double cost = search->cost[from];
            if (cost < best && cost + search->penalty < best)
                cost += cost_of(search, from, to) + search->penalty;
            else
                continue;
            if (cost < best) {
                best = cost;
                search->cut[to] = from;
            }
        }
        search->cost[to] = best;
    }
}

/* How far two pieces that meet differ in the metric in which they do most: below 1 they are alike. */
static double distance(const struct search *search, size_t from, size_t middle, size_t to)
{
    const struct sums *a = &search->sums[from], *b = &search->sums[middle], *c = &search->sums[to];
    double most = 0;
    for (size_t metric = 0; metric < PHASE_METRICS; metric++) {
        double off = (b->value[metric] - a->value[metric]) / (double)(middle - from) -
                     (c->value[metric] - b->value[metric]) / (double)(to - middle);
        off = search->step[metric] > 0 ? (off < 0 ? -off : off) / search->step[metric] : 0;
        most = off > most ? off : most;
    }
    return most;
}

/* The ends of what is left. */
static size_t merge_alike(const struct search *search, size_t *ends, size_t count)
{
    while (count > 1) {
        size_t nearest = 0;
        double least = VALUE_MAX;
        for (size_t i = 0; i + 1 < count; i++) {
            double off = distance(search, i > 0 ? ends[i - 1] : 0, ends[i], ends[i + 1]);
            if (off < least) {
                least = off;
                nearest = i;
            }
        }
        if (least >= 1 && count <= PHASES_FOUND_MAX)
            break;
        count--;
        for (size_t i = nearest; i < count; i++)
            ends[i] = ends[i + 1];
    }
    return count;
}

static size_t find(struct search *search, const struct phase_row *rows, size_t *ret_ends)
{
    size_t ends[PIECES_MAX] = {0}, count = 0;
    if (!prepare(search, rows))
        return 1;
    partition(search);
    for (size_t end = search->count; end > 0; end = search->cut[end])
        count++;
    for (size_t end = search->count, i = count; end > 0; end = search->cut[end])
        ends[--i] = end;
    count = merge_alike(search, ends, count);
    for (size_t i = 0; i < count; i++)
        ret_ends[i] = ends[i];
    return count;
}

size_t phases_find(const struct phase_row *rows, size_t count, size_t ret_ends[PHASES_FOUND_MAX])
{
    struct search search = {.count = count, .least = (count + PIECES_MAX - 1) / PIECES_MAX};
    ret_ends[0] = count;
    if (count < ROWS_MIN || count > PHASE_POINTS_MAX)
        return 1;
    if (search.least < LENGTH_MIN)
        search.least = LENGTH_MIN;
    double *numbers = calloc((PHASE_METRICS + 2) * (count + 1), sizeof(*numbers));
    search.cut = calloc(count + 1, sizeof(*search.cut));
    search.sums = calloc(count + 1, sizeof(*search.sums));
    size_t found = 0;
    if (numbers && search.cut && search.sums) {
        for (size_t metric = 0; metric < PHASE_METRICS; metric++)
            search.values[metric] = numbers + metric * (count + 1);
        search.sorted = numbers + PHASE_METRICS * (count + 1);
        search.cost = search.sorted + count + 1;
        found = find(&search, rows, ret_ends);
    }
    free(numbers);
    free(search.cut);
    free(search.sums);
    return found;
}
