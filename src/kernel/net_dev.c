/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/net/dev. Receive: bytes packets errs drop fifo frame compressed multicast; transmit: bytes packets errs drop
 * fifo colls carrier compressed.
 *     lo:    3245      30    0    0    0     0          0         0     3245      30    0    0    0     0       0     0
 */
#include "kernel/net_dev.h"

#include <errno.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/vec.h"

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

static bool parse_row(struct str line, struct net_dev_row *row)
{
    /* The numbers hold no colon, so the last one ends the name. */
    const char *colon = memrchr(line.p, ':', line.n);
    if (!colon || !copy_name((struct str){line.p, (size_t)(colon - line.p)}, row->name, sizeof(row->name)))
        return false;
    const char *p = colon + 1;
    /* The columns behind the last drop are not looked at: the line is whole, its LF was found. */
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
    const char *lf;
    dev->count = 0;
    if (text.n > 0 && text.p[text.n - 1] != '\n')
        return -EBADMSG;
    if (!skip_headings(&text))
        return -EINVAL;
    while (text.n > 0 && (lf = memchr(text.p, '\n', text.n))) {
        struct str line = {text.p, (size_t)(lf - text.p)};
        text = (struct str){lf + 1, text.n - line.n - 1};
        if (count == dev->cap) {
            int r = VEC_GROW(dev, count + 1, NET_DEV_ROWS_MAX);
            if (r < 0)
                return r;
        }
        if (parse_row(line, &dev->items[count]))
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
