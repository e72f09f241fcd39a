/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that may be absent, and the one function that subtracts counters. Absence is never 0, -1 or NaN.
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include <stdbool.h>
#include <stdint.h>

struct opt_u64 {
    bool has;
    uint64_t v;
};

struct opt_i64 {
    bool has;
    int64_t v;
};

struct opt_f64 {
    bool has;
    double v;
};

struct opt_bool {
    bool has;
    bool v;
};

static inline struct opt_u64 some_u64(uint64_t v)
{
    return (struct opt_u64){.has = true, .v = v};
}

static inline struct opt_i64 some_i64(int64_t v)
{
    return (struct opt_i64){.has = true, .v = v};
}

static inline struct opt_f64 some_f64(double v)
{
    return (struct opt_f64){.has = true, .v = v};
}

static inline struct opt_bool some_bool(bool v)
{
    return (struct opt_bool){.has = true, .v = v};
}

/* Growth of a counter between two readings: a counter that went backwards (reset, device replaced) gives 0. */
static inline uint64_t counter_delta(uint64_t prev, uint64_t cur)
{
    return cur >= prev ? cur - prev : 0;
}

/* The same for a counter whose highest value is `range`, behind which it begins again at 0; a range of 0: it never
 * does. */
static inline uint64_t counter_delta_wrapping(uint64_t prev, uint64_t cur, uint64_t range)
{
    return cur < prev && prev <= range ? range - prev + cur : counter_delta(prev, cur);
}

/* counter_delta for readings that may be absent: unknown on either side is unknown. */
static inline struct opt_u64 counter_delta_opt(struct opt_u64 prev, struct opt_u64 cur)
{
    if (!prev.has || !cur.has)
        return (struct opt_u64){0};
    return some_u64(counter_delta(prev.v, cur.v));
}

/* amount / scale, unknown stays unknown. */
static inline struct opt_f64 opt_scaled(struct opt_u64 amount, double scale)
{
    if (!amount.has)
        return (struct opt_f64){0};
    return some_f64((double)amount.v / scale);
}

/* The lower of two limits, of which one or both may be absent. */
static inline struct opt_f64 opt_lower(struct opt_f64 a, struct opt_f64 b)
{
    if (!a.has || !b.has)
        return a.has ? a : b;
    return a.v < b.v ? a : b;
}

/* Growth per second over elapsed_ns; unknown where the growth is, or where no time has passed. */
static inline struct opt_f64 rate_per_sec(struct opt_u64 growth, int64_t elapsed_ns)
{
    if (!growth.has || elapsed_ns <= 0)
        return (struct opt_f64){0};
    return some_f64((double)growth.v * 1e9 / (double)elapsed_ns);
}

#endif
