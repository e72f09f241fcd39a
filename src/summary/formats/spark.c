/* SPDX-License-Identifier: Apache-2.0 */
/* Cores and memory over the time of one run as lines of block characters, for Markdown. */
#include "summary/write.h"

#include <string.h>

#include "base/text.h"
#include "summary/units.h"

enum { LABEL_COLUMNS = 8 };

/* More than any run lasts; times of all buckets still fit. */
#define ELAPSED_MAX_FIXED4 (INT64_MAX / 256)

static void merge_into(struct spark_bucket *to, const struct spark_bucket *from)
{
    to->secs += from->secs;
    to->core_secs += from->core_secs;
    if (from->has_rss && !(to->has_rss && to->rss_mib >= from->rss_mib))
        to->rss_mib = from->rss_mib;
    if (from->has_pss && !(to->has_pss && to->pss_mib >= from->pss_mib))
        to->pss_mib = from->pss_mib;
    to->has_rss |= from->has_rss;
    to->has_pss |= from->has_pss;
}

/* Each two buckets become one. */
static void widen(struct spark *spark)
{
    for (size_t i = 0; i < SPARK_BUCKETS; i++) {
        struct spark_bucket from = spark->buckets[i];
        if (i > 0)
            spark->buckets[i] = (struct spark_bucket){0};
        if (i % 2 == 0)
            spark->buckets[i / 2] = from;
        else
            merge_into(&spark->buckets[i / 2], &from);
    }
    spark->count = (spark->count + 1) / 2;
    spark->bucket_fixed4 *= 2;
}

/* What the sample says, as if it were a bucket of one second. */
static struct spark_bucket values_of(const struct sample *sample, bool has_job)
{
    const struct sample_cpu *cpu = &sample->cpu;
    struct spark_bucket values = {0};
    struct opt_f64 cores = {0}, rss = {0}, pss = {0};
    if (cpu->present) {
        cores = fixed4_rounded(has_job ? cpu->process_cores_used : cpu->utilization_pct);
        rss = has_job ? fixed4_rounded(cpu->process_rss_mib) : rss;
        pss = has_job ? fixed4_rounded(cpu->process_pss_mib) : pss;
    }
    if (!has_job && sample->memory.present)
        rss = fixed4_rounded(sample_memory_used_mib(&sample->memory));
    values.secs = cores.has && cores.v >= 0;
    values.core_secs = values.secs > 0 ? cores.v : 0;
    /* A tree that has ended has no memory, which says nothing of the time before. */
    values.has_rss = rss.has && rss.v > 0;
    values.has_pss = pss.has && pss.v > 0;
    values.rss_mib = rss.v;
    values.pss_mib = pss.v;
    return values;
}

/* Shares of the interval go to the buckets it lies in; its memory to the one in its middle and those it fills. */
static void spread(struct spark *spark, const struct spark_bucket *values, int64_t from, int64_t to)
{
    int64_t wide = spark->bucket_fixed4;
    int64_t middle = (from + (to - from) / 2) / wide;
    for (int64_t i = from / wide; i < SPARK_BUCKETS && i * wide < to; i++) {
        int64_t begin = i * wide > from ? i * wide : from, end = (i + 1) * wide < to ? (i + 1) * wide : to;
        struct spark_bucket part = *values;
        part.secs *= fixed4_value(end - begin);
        part.core_secs *= fixed4_value(end - begin);
        bool has_memory = i == middle || end - begin == wide;
        part.has_rss &= has_memory;
        part.has_pss &= has_memory;
        merge_into(&spark->buckets[i], &part);
        if ((size_t)i >= spark->count)
            spark->count = (size_t)i + 1;
    }
}

void spark_add(struct spark *spark, const struct sample *sample)
{
    int64_t length = fixed4_interval(sample, spark->elapsed_fixed4);
    struct opt_i64 elapsed = fixed4_of(sample->elapsed_secs);
    int64_t before = spark->elapsed_fixed4.has ? spark->elapsed_fixed4.v : 0;
    if (length < 1)
        length = 1;
    if (length > ELAPSED_MAX_FIXED4)
        length = ELAPSED_MAX_FIXED4;
    int64_t to = elapsed.has ? elapsed.v : before + length;
    if (to < 1)
        to = 1;
    if (to > ELAPSED_MAX_FIXED4)
        to = ELAPSED_MAX_FIXED4;
    spark->elapsed_fixed4 = some_i64(to);
    spark->has_job |= sample->tracked_pid.has;
    if (spark->bucket_fixed4 == 0)
        spark->bucket_fixed4 = length;
    while (to > spark->bucket_fixed4 * SPARK_BUCKETS)
        widen(spark);
    struct spark_bucket values = values_of(sample, spark->has_job);
    spread(spark, &values, to > length ? to - length : 0, to);
}

void spark_next_run(struct spark *spark)
{
    if (spark->bucket_fixed4 > 0)
        *spark = (struct spark){.has_several_runs = true};
}

enum line { LINE_CORES, LINE_PSS, LINE_RSS };

static struct opt_f64 value_at(const struct spark_bucket *bucket, enum line line)
{
    if (line == LINE_CORES)
        return (struct opt_f64){bucket->secs > 0, bucket->secs > 0 ? bucket->core_secs / bucket->secs : 0};
    if (line == LINE_PSS)
        return (struct opt_f64){bucket->has_pss, bucket->pss_mib};
    return (struct opt_f64){bucket->has_rss, bucket->rss_mib};
}

/* The memory of a job is not known any more when it has ended: up to then it was as before. */
static struct opt_f64 shown_at(const struct spark *spark, size_t i, size_t count, enum line line)
{
    struct opt_f64 value = value_at(&spark->buckets[i], line);
    bool is_end = i + 1 == count && line != LINE_CORES;
    return value.has || !is_end ? value : value_at(&spark->buckets[i - 1], line);
}

static void put_blanks(struct buf *buf, size_t n)
{
    while (n-- > 0)
        buf_putc(buf, ' ');
}

/* Eighths of the highest, at least one; a blank where the value is not known. */
static void put_block(struct buf *buf, struct opt_f64 value, double highest)
{
    enum { LOWEST_BLOCK = 0x2581, BLOCKS = 8 };
    char bytes[UTF8_BYTES_MAX];
    if (!value.has) {
        buf_putc(buf, ' ');
        return;
    }
    unsigned level = highest > 0 ? (unsigned)(value.v / highest * BLOCKS + 0.5) : 0;
    level = level < 1 ? 1 : level > BLOCKS ? BLOCKS : level;
    buf_append(buf, bytes, utf8_encode(LOWEST_BLOCK + level - 1, bytes));
}

static void put_peak(struct buf *buf, const struct summary *summary, double sampled_mib)
{
    enum peak_kind kind = summary_peak_kind(summary, sampled_mib);
    if (kind == PEAK_IN_SAMPLE)
        return;
    units_put(buf, ", peak %m%s", summary_memory_need(summary).v, summary_peak_where(kind));
}

static void put_line(struct buf *buf, const struct spark *spark, const struct summary *summary, enum line line,
    size_t count, size_t repeat)
{
    static const char label[][LABEL_COLUMNS + 1] = {"cores   ", "memory  ", "memory  "};
    double highest = 0;
    for (size_t i = 0; i < count; i++) {
        struct opt_f64 value = value_at(&spark->buckets[i], line);
        highest = value.has && value.v > highest ? value.v : highest;
    }
    if (!(highest > 0))
        return;
    buf_puts(buf, label[line]);
    for (size_t i = 0; i < count * repeat; i++)
        put_block(buf, shown_at(spark, i / repeat, count, line), highest);
    buf_puts(buf, "  \xe2\x96\x88 = ");
    if (line == LINE_CORES)
        units_put_count(buf, highest, "core");
    else
        units_put_mib(buf, highest);
    buf_puts(buf, line == LINE_PSS ? " (PSS)" : line == LINE_RSS && spark->has_job ? " (RSS)" : "");
    if (line != LINE_CORES && spark->has_job)
        put_peak(buf, summary, highest);
    buf_putc(buf, '\n');
}

/* "0 s          12.3 s" below the blocks, the second at their end. */
static void put_times(struct buf *buf, const struct spark *spark, size_t columns)
{
    char bytes[32];
    struct buf end = buf_over(bytes, sizeof(bytes));
    static const char start[] = "0 s";
    units_put_secs(&end, fixed4_value(spark->elapsed_fixed4.v));
    put_blanks(buf, LABEL_COLUMNS);
    buf_puts(buf, start);
    put_blanks(buf, columns - strlen(start) - end.len);
    buf_append(buf, end.data, end.len);
    buf_putc(buf, '\n');
}

void spark_put(struct buf *buf, const struct spark *spark, const struct summary *summary)
{
    size_t count = spark->count;
    /* The sample at the end comes when the job ends: a bucket of next to nothing is no bucket. */
    if (count > 2 && spark->elapsed_fixed4.v - (int64_t)(count - 1) * spark->bucket_fixed4 < spark->bucket_fixed4 / 10)
        count--;
    if (spark->has_several_runs || count < 2)
        return;
    bool has_pss = true;
    for (size_t i = 0; i < count; i++)
        has_pss &= spark->buckets[i].has_pss || !spark->buckets[i].has_rss;
    size_t start = buf->len, repeat = SPARK_BUCKETS / count;
    put_line(buf, spark, summary, LINE_CORES, count, repeat);
    put_line(buf, spark, summary, has_pss ? LINE_PSS : LINE_RSS, count, repeat);
    if (buf->len > start)
        put_times(buf, spark, count * repeat);
}
