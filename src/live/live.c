/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live view on a terminal that is the command's as much as ours (ECMA-48, DEC VT510: DECSTBM, DECSC, IND). The
 * bottom lines are kept out of the scroll region. An update is a few writes, each of which leaves cursor and colours as
 * it found them. A pseudo terminal accepts up to 256 bytes without LF, CR or TAB all or not at all (the kernel's
 * tty_buffer.c counts in such pieces), and no other bytes come in between; a longer write may be cut in the
 * middle.
 */
#include "live/live.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"

enum { ROWS_MIN = 10, UPDATES_PER_SCROLL = 4, OUT_BYTES_MAX = 1024, HIDE_MS = 200, FINISH_MS = 20 };

#define DRAW_EVERY_SECS 0.1
#define SAVE "\0337" /* cursor, colours, character sets */
#define RESTORE "\0338"
#define DOWN "\033D" /* scrolls at the bottom, keeps the column */
#define SCROLL_ALL "\033[r" /* and the cursor is at the top */
#define PLAIN "\033[m"
#define WIPE_BELOW "\033[J"

/* Where the block is drawn. */
struct area {
    unsigned rows, columns, lines;
};

struct live {
    int fd; /* non-blocking, a description of our own */
    bool is_shown;
    bool is_doubtful; /* hidden from a program that may have another screen: the block may still be on the first one */
    struct area area; /* where it is shown */
    unsigned updates; /* since it was reserved */
    struct buf out; /* the write in work: what the terminal has not accepted yet of one that it accepted in part */
    struct opt_f64 drawn_secs;
    int64_t began_ns; /* monotonic */
    void (*guard)(void *context, int fd, struct str text);
    void *guard_context;
    struct live_block block;
};

/* Is this a terminal that knows about scroll regions? Nearly all do. */
static bool is_able(const char *term)
{
    return term && term[0] && strcmp(term, "dumb") != 0 && strcmp(term, "unknown") != 0;
}

int live_new(const struct live_terminal *terminal, const struct live_job *job, struct live **ret_live)
{
    *ret_live = NULL;
    if (!is_able(terminal->term) || !isatty(terminal->fd))
        return 0;
    AUTO_FD int fd = file_reopen_nonblocking(terminal->fd);
    if (fd < 0)
        return 0;
    struct live *live = calloc(1, sizeof(*live));
    if (!live)
        return -ENOMEM;
    live->fd = fd_take(&fd);
    live->began_ns = clock_now();
    live->guard = terminal->guard;
    live->guard_context = terminal->guard_context;
    live->block.name = job->name;
    live->block.interval_secs = (double)job->interval_ns / NS_PER_SEC;
    live->block.style.has_colour = terminal->has_colour;
    /* The fonts of the Linux console have no such characters. */
    live->block.style.is_utf8 = live_block_locale_is_utf8(terminal->locale) && strcmp(terminal->term, "linux") != 0;
    buf_init(&live->out, OUT_BYTES_MAX);
    *ret_live = live;
    return 0;
}

/* A terminal that is not our controlling one has no foreground, and the kernel stops no process for writing to it. */
static bool is_foreground(const struct live *live)
{
    pid_t group = tcgetpgrp(live->fd);
    return group < 0 ? errno == ENOTTY : group == getpgrp();
}

/* Is a program reading single keys: an editor, a pager, a shell at its prompt? It has the whole screen. */
static bool is_raw(const struct live *live)
{
    struct termios mode;
    return tcgetattr(live->fd, &mode) == 0 && !(mode.c_lflag & ICANON);
}

/*
 * Writes what waits, asking again until that much time is over. Returns whether everything is out. While others write,
 * a non-blocking write is refused although there would be space, so there is nothing to wait for but time. A write that
 * comes when we are not in the foreground any more does not stop us: guard_streams in run/signals.c has blocked
 * SIGTTOU.
 */
static bool flush(struct live *live, int64_t patience_ms)
{
    int64_t end_ns = clock_now() + patience_ms * NS_PER_MS;
    while (live->out.len > 0) {
        ssize_t n = write(live->fd, live->out.data, live->out.len);
        if (n > 0) {
            buf_consume(&live->out, (size_t)n);
            continue;
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            buf_clear(&live->out); /* the terminal is gone */
        if (clock_now() >= end_ns)
            break;
        (void)poll(NULL, 0, 1);
    }
    return live->out.len == 0;
}

/*
 * Sends what was put behind the first `begun` bytes. False where the terminal did not accept any of it, and it is
 * dropped; but what it has begun with stays until it is out, else the cursor would be left in the block (a serial
 * line may cut anything).
 */
static bool send_update(struct live *live, size_t begun, int64_t patience_ms)
{
    size_t all = live->out.len;
    if (!buf_ok(&live->out) || (!flush(live, patience_ms) && live->out.len == all)) {
        live->out.len = begun;
        live->out.failed = false;
        return false;
    }
    (void)flush(live, FINISH_MS);
    return true;
}

static void put_number(struct buf *out, const char *before, unsigned number, char letter)
{
    buf_puts(out, before);
    num_put_u64(out, number);
    buf_putc(out, letter);
}

/*
 * Frees lines below the cursor: the whole screen scrolls, the cursor goes down and up again with the lines it stands
 * on. Nothing moves where they are free already, so this is done again now and then, and heals what a command does that
 * resets the terminal. Not every time: a cursor that waits behind the last column is then on it, and the next character
 * of the command would replace its last one.
 */
static void put_scrolled(struct buf *out, unsigned lines)
{
    buf_puts(out, SAVE SCROLL_ALL RESTORE);
    for (unsigned i = 0; i < lines; i++)
        buf_puts(out, DOWN);
    put_number(out, "\033[", lines, 'A');
}

/*
 * Has to come before lines are freed, which may move the block up. With the cursor in these lines, what the command has
 * put there since the last update is lost; it cannot be distinguished from the block.
 */
static void put_wiped(struct buf *out, const struct area *area)
{
    put_number(out, SAVE "\033[", area->rows - area->lines + 1, 'H');
    buf_puts(out, PLAIN WIPE_BELOW RESTORE);
}

/* After another size, a terminal may have moved and folded the old block: it is somewhere below the cursor. */
static void put_wiped_below(struct buf *out)
{
    buf_puts(out, SAVE "\033[B\033[G" PLAIN WIPE_BELOW RESTORE);
}

static bool is_same_size(const struct area *a, const struct area *b)
{
    return a->rows == b->rows && a->columns == b->columns;
}

/* Leaves the whole screen to scrolling, and the cursor where it is. */
static void put_released(struct buf *out, const struct area *area)
{
    put_wiped(out, area);
    buf_puts(out, SAVE SCROLL_ALL RESTORE);
}

/* area NULL: there is nothing to take away any more. */
static void set_guard(struct live *live, const struct area *area)
{
    if (!live->guard)
        return;
    AUTO_BUF struct buf text;
    buf_init(&text, OUT_BYTES_MAX);
    if (area)
        put_released(&text, area);
    if (buf_ok(&text))
        live->guard(live->guard_context, live->fd, (struct str){text.data, text.len});
}

/* Reserves or keeps the lines of the block. False where the terminal does not accept that now. */
static bool reserve_area(struct live *live, const struct area *area)
{
    struct buf *out = &live->out;
    unsigned above = area->rows - area->lines;
    bool is_resized = live->is_shown && !is_same_size(&live->area, area);
    bool is_new = !live->is_shown || is_resized || live->area.lines != area->lines;
    if (is_new || live->updates % UPDATES_PER_SCROLL == 0) {
        if (live->is_shown && !is_resized)
            put_wiped(out, &live->area);
        put_scrolled(out, area->lines);
    }
    if (is_resized)
        put_wiped_below(out);
    put_number(out, SAVE "\033[1;", above, 'r');
    buf_puts(out, RESTORE);
    if (is_new)
        put_wiped(out, area);
    if (is_new)
        set_guard(live, area);
    if (!send_update(live, 0, 0))
        return false;
    live->is_shown = true;
    live->is_doubtful = false;
    live->area = *area;
    live->updates = is_new ? 1 : live->updates + 1;
    return true;
}

static bool draw_part(struct live *live, unsigned line, unsigned part)
{
    const struct area *area = &live->area;
    buf_puts(&live->out, SAVE);
    put_number(&live->out, "\033[", area->rows - area->lines + 1 + line, 'H');
    buf_puts(&live->out, PLAIN);
    size_t before = live->out.len;
    live_block_put(&live->out, &live->block, line, part, area->columns);
    if (live->out.len == before) {
        buf_clear(&live->out);
        return true;
    }
    buf_puts(&live->out, RESTORE);
    return send_update(live, 0, 0);
}

/* False where the window is too small for the block. */
static bool find_area(const struct live *live, struct area *ret_area)
{
    struct winsize window;
    if (ioctl(live->fd, TIOCGWINSZ, &window) < 0)
        return false;
    *ret_area = (struct area){window.ws_row, window.ws_col, live_block_lines(&live->block)};
    return window.ws_row >= ROWS_MIN && window.ws_col >= LIVE_BLOCK_COLUMNS_MIN;
}

static void hide(struct live *live, int64_t patience_ms)
{
    struct buf *out = &live->out;
    size_t begun = out->len;
    struct area now = {0};
    (void)find_area(live, &now);
    bool raw = is_raw(live), is_left = live->is_shown || (live->is_doubtful && !raw && is_foreground(live));
    if (live->is_shown && is_same_size(&now, &live->area)) {
        put_released(out, &live->area);
    } else if (is_left) {
        put_scrolled(out, live->area.lines);
        put_wiped_below(out);
    }
    if (!send_update(live, begun, patience_ms))
        return;
    if (is_left)
        live->is_doubtful = raw;
    if (live->is_shown)
        set_guard(live, NULL);
    live->is_shown = false;
}

static void draw(struct live *live)
{
    struct area area;
    if (!is_foreground(live) || is_raw(live) || !find_area(live, &area)) {
        hide(live, 0);
        return;
    }
    if (!flush(live, 0) || !reserve_area(live, &area))
        return;
    /* Nothing is put behind a write that is only half out: both would be dropped where it is not accepted. */
    for (unsigned i = 0; i < area.lines * LIVE_PARTS && live->out.len == 0; i++) {
        if (!draw_part(live, i / LIVE_PARTS, i % LIVE_PARTS))
            return;
    }
}

void live_set_root_gone(struct live *live, bool is_root_gone)
{
    live->block.is_root_gone = is_root_gone;
}

void live_sample(struct live *live, const struct sample *sample, const struct sample_totals *totals)
{
    live_block_add(&live->block, sample, totals);
    struct opt_f64 now = sample->elapsed_secs;
    if (live->is_shown && now.has && live->drawn_secs.has && now.v - live->drawn_secs.v < DRAW_EVERY_SECS)
        return;
    live->drawn_secs = now;
    draw(live);
}

void live_tick(struct live *live)
{
    int64_t elapsed_ns = clock_now() - live->began_ns;
    double elapsed_secs = (double)elapsed_ns / NS_PER_SEC;
    if (!live->block.elapsed_secs.has || live->block.elapsed_secs.v < elapsed_secs)
        live->block.elapsed_secs = some_f64(elapsed_secs);
    draw(live);
}

void live_resized(struct live *live)
{
    if (live->is_shown)
        draw(live);
}

void live_hide(struct live *live)
{
    hide(live, HIDE_MS);
}

void live_free(struct live *live)
{
    if (!live)
        return;
    hide(live, HIDE_MS);
    fd_close(&live->fd);
    buf_fini(&live->out);
    free(live);
}
