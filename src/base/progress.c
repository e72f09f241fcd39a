/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/text.h"

#define FIRST_NS NS_PER_SEC
#define NEXT_NS (200 * NS_PER_MS)

enum { LINE_BYTES_MAX = 4096, WHAT_BYTES_MAX = 200, COLUMNS_USUAL = 80, SECS_PER_MINUTE = 60, LEFT_SECS_MAX = 1000000 };

void progress_begin(struct progress *progress, void (*put_bytes)(struct buf *buf, double bytes), bool is_wanted)
{
    *progress = (struct progress){.put_bytes = put_bytes, .what = "", .is_enabled = is_wanted && isatty(STDERR_FILENO)};
    progress->began_ns = progress->part_ns = clock_now();
}

void progress_part(struct progress *progress, const char *what)
{
    progress->what = what;
    progress->part_ns = progress->is_enabled ? clock_now() : 0;
}

bool progress_is_due(const struct progress *progress)
{
    if (!progress->is_enabled)
        return false;
    int64_t now = clock_now();
    return now - progress->began_ns >= FIRST_NS && now - progress->shown_ns >= NEXT_NS;
}

/* No time is left where nothing is done yet, or no more than a guess of hours. */
static void put_left(struct buf *buf, uint64_t done, uint64_t total, double secs)
{
    double left = done > 0 ? secs * (double)(total - done) / (double)done : LEFT_SECS_MAX;
    if (!(left < LEFT_SECS_MAX))
        return;
    unsigned whole = (unsigned)(left + 0.5);
    if (whole < 2 * SECS_PER_MINUTE)
        buf_printf(buf, ", %u s left", whole);
    else
        buf_printf(buf, ", %u min left", (whole + SECS_PER_MINUTE / 2) / SECS_PER_MINUTE);
}

void progress_put(const struct progress *progress, struct buf *buf, uint64_t done, uint64_t total, double secs)
{
    text_put(buf, str_of(progress->what), TEXT_MARK, WHAT_BYTES_MAX);
    buf_puts(buf, ": ");
    progress->put_bytes(buf, (double)done);
    if (total == 0)
        return;
    if (done > total)
        done = total; /* a file that grows */
    buf_puts(buf, " of ");
    progress->put_bytes(buf, (double)total);
    buf_printf(buf, ", %u %%", (unsigned)((double)done * 100 / (double)total));
    put_left(buf, done, total, secs);
}

/* A terminal that is not our controlling one has no foreground. */
static bool is_foreground(void)
{
    pid_t group = tcgetpgrp(STDERR_FILENO);
    return group < 0 ? errno == ENOTTY : group == getpgrp();
}

/* What does not go out now is not worth waiting for. */
static void write_line(const struct buf *line)
{
    struct pollfd stream = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (buf_ok(line) && is_foreground() && poll(&stream, 1, 0) > 0)
        (void)!write(STDERR_FILENO, line->data, line->len);
}

static void put_blanks(struct buf *buf, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        buf_putc(buf, ' ');
}

/* How many characters of the text fit into so many columns; those of Asia take two, and are cut early rather than late.
 */
static size_t fitting(struct str text, unsigned columns, unsigned *ret_used)
{
    size_t n = 0;
    *ret_used = 0;
    while (n < text.n) {
        size_t bytes = utf8_length((struct str){text.p + n, text.n - n});
        unsigned wide = bytes > 1 ? 2 : 1;
        if (bytes == 0 || *ret_used + wide > columns)
            break;
        n += bytes;
        *ret_used += wide;
    }
    return n;
}

void progress_show(struct progress *progress, uint64_t done, uint64_t total)
{
    AUTO_BUF struct buf text;
    AUTO_BUF struct buf line;
    buf_init(&text, LINE_BYTES_MAX);
    buf_init(&line, LINE_BYTES_MAX);
    struct winsize window = {0};
    bool has_size = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
    progress->shown_ns = clock_now();
    progress_put(progress, &text, done, total, (double)(progress->shown_ns - progress->part_ns) / NS_PER_SEC);
    if (!buf_ok(&text))
        return;
    unsigned used, before = progress->columns;
    size_t n = fitting((struct str){text.data, text.len}, (has_size ? window.ws_col : COLUMNS_USUAL) - 1U, &used);
    buf_putc(&line, '\r');
    buf_append(&line, text.data, n);
    put_blanks(&line, before > used ? before - used : 0);
    write_line(&line);
    progress->columns = used;
}

void progress_clear(struct progress *progress)
{
    if (progress->columns == 0)
        return;
    AUTO_BUF struct buf line;
    buf_init(&line, LINE_BYTES_MAX);
    buf_putc(&line, '\r');
    put_blanks(&line, progress->columns);
    buf_putc(&line, '\r');
    write_line(&line);
    progress->columns = 0;
}
