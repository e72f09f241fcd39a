/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/devices.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/vec.h"

/*
 * /proc/diskstats: major, minor, name, then reads, reads merged, units read, ms reading, writes, writes merged, units
 * written, ms writing, in flight, busy ms, weighted ms; newer kernels add discards (4.18) and flushes (5.5).
 *  254       0 vda 48578 7561 2917954 26321 9042 9393 790352 4547 0 17452 31322 3559 61 216752 406 825 46
 */

static bool next_unsigned(const char **at, unsigned *ret_number)
{
    uint64_t number;
    if (!num_next_in_line(at, &number) || number > UINT_MAX)
        return false;
    *ret_number = (unsigned)number;
    return true;
}

static bool next_name(const char **at, char *out, size_t size)
{
    const char *p = *at;
    while (*p == ' ')
        p++;
    size_t n = 0;
    for (; n < size && (unsigned char)p[n] > ' '; n++)
        out[n] = p[n];
    if (n == 0 || n == size || p == *at)
        return false;
    out[n] = '\0';
    *at = p + n;
    return true;
}

static bool parse_counters(const char **at, const char *lf, struct diskstats_row *row)
{
    /* Most rows of many machines are loop, ram and zram devices that were never used: one comparison does for them. */
    static const char unused[] = " 0 0 0 0 0 0 0 0 0 0 0";
    enum { UNUSED_BYTES = sizeof(unused) - 1 };
    const char *p = *at;
    if (lf - p >= UNUSED_BYTES && memcmp(p, unused, UNUSED_BYTES) == 0 && p[UNUSED_BYTES] <= ' ') {
        *at = p + UNUSED_BYTES;
        row->reads = row->read_units = row->writes = row->write_units = row->busy_ms = 0;
        return true;
    }
    uint64_t *const counters[] = {&row->reads, &row->read_units, &row->writes, &row->write_units, &row->busy_ms};
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        if (!num_next_in_line(at, counters[i]) || !num_skip_in_line(at, 1))
            return false;
        if (counters[i] == &row->write_units && !num_skip_in_line(at, 1))
            return false;
    }
    return true;
}

static bool parse_disk(struct str line, struct diskstats_row *row)
{
    const char *p = line.p;
    return next_unsigned(&p, &row->major) && next_unsigned(&p, &row->minor) &&
           next_name(&p, row->name, sizeof(row->name)) && parse_counters(&p, line.p + line.n, row) &&
           (*p == ' ' || *p == '\n');
}

int diskstats_parse(struct str text, struct diskstats *stats)
{
    size_t count = 0;
    struct str line;
    stats->count = 0;
    if (text.n > 0 && text.p[text.n - 1] != '\n')
        return -EBADMSG;
    while (str_whole_line(&text, &line)) {
        if (count == stats->cap) {
            int r = VEC_GROW(stats, count + 1, DISKSTATS_ROWS_MAX);
            if (r < 0)
                return r;
        }
        if (parse_disk(line, &stats->items[count]))
            count++;
    }
    stats->count = count;
    return 0;
}

void diskstats_fini(struct diskstats *stats)
{
    free(stats->items);
    *stats = (struct diskstats){0};
}

/*
 * /proc/net/dev. Receive: bytes packets errs drop fifo frame compressed multicast; transmit: bytes packets errs drop
 * fifo colls carrier compressed.
 *     lo:    3245      30    0    0    0     0          0         0     3245      30    0    0    0     0       0     0
 */

/* Blanks or control bytes inside mean that two lines ran into each other. */
static bool copy_name(struct str text, char *out, size_t size)
{
    while (text.n > 0 && text.p[0] == ' ') {
        text.p++;
        text.n--;
    }
    if (text.n == 0 || text.n >= size)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] <= ' ')
            return false;
        out[i] = text.p[i];
    }
    out[text.n] = '\0';
    return true;
}

/* bytes packets errs drop */
static bool parse_half(const char **at, uint64_t *ret_bytes, uint64_t *ret_errors, uint64_t *ret_dropped)
{
    return num_next_in_line(at, ret_bytes) && num_skip_in_line(at, 1) && num_next_in_line(at, ret_errors) &&
           num_next_in_line(at, ret_dropped);
}

static bool parse_interface(struct str line, struct net_dev_row *row)
{
    /* The numbers hold no colon, so the last one ends the name. */
    const char *colon = memrchr(line.p, ':', line.n);
    if (!colon || !copy_name((struct str){line.p, (size_t)(colon - line.p)}, row->name, sizeof(row->name)))
        return false;
    const char *p = colon + 1;
    /* The columns behind the last drop are not read: the line is whole, its LF was found. */
    return parse_half(&p, &row->rx_bytes, &row->rx_errors, &row->rx_dropped) && num_skip_in_line(&p, 4) &&
           parse_half(&p, &row->tx_bytes, &row->tx_errors, &row->tx_dropped) && (*p == ' ' || *p == '\n');
}

/* Two lines of headings, their columns divided by bars. */
static bool skip_headings(struct str *rest)
{
    for (int i = 0; i < 2; i++) {
        struct str line;
        if (!str_line(rest, &line) || !memchr(line.p, '|', line.n))
            return false;
    }
    return true;
}

int net_dev_parse(struct str text, struct net_dev *dev)
{
    size_t count = 0;
    struct str line;
    dev->count = 0;
    if (text.n > 0 && text.p[text.n - 1] != '\n')
        return -EBADMSG;
    if (!skip_headings(&text))
        return -EINVAL;
    while (str_whole_line(&text, &line)) {
        if (count == dev->cap) {
            int r = VEC_GROW(dev, count + 1, NET_DEV_ROWS_MAX);
            if (r < 0)
                return r;
        }
        if (parse_interface(line, &dev->items[count]))
            count++;
    }
    dev->count = count;
    return 0;
}

void net_dev_fini(struct net_dev *dev)
{
    free(dev->items);
    *dev = (struct net_dev){0};
}
