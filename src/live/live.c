/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live view on a terminal that is the command's as much as ours (ECMA-48, DEC VT510: DECSTBM, DECSC, IND). The
 * bottom lines are kept out of the scroll region. An update is a few writes, each of which leaves cursor and colours as
 * it found them. A pseudo terminal takes up to 256 bytes without LF, CR or TAB all or not at all (the kernel's
 * tty_buffer.c counts in such pieces), and nobody else's bytes come in between; a longer write may be cut in the
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
#include "live/block.h"

enum { ROWS_MIN = 10, UPDATES_PER_ROOM = 4, OUT_BYTES_MAX = 1024, HIDE_MS = 200, FINISH_MS = 20 };

#define DRAW_EVERY_SECS 0.1
#define SAVE "\0337" /* cursor, colours, character sets */
#define RESTORE "\0338"
#define DOWN "\033D" /* scrolls at the bottom, keeps the column */
#define SCROLL_ALL "\033[r" /* and the cursor is at the top */
#define PLAIN "\033[m"
#define WIPE_BELOW "\033[J"

/* Where the block is drawn. */
struct place {
    unsigned rows, columns, lines;
};

struct live {
    int fd; /* non-blocking, a description of our own */
    bool is_shown;
    bool is_doubtful; /* hidden from a program that may have another screen: the block may still be on the first one */
    struct place place; /* where it is shown */
    unsigned updates; /* since it took that place */
    struct buf out; /* the write in work: what the terminal has not taken yet of one that it took in part */
    struct opt_f64 drawn_secs;
    struct live_block block;
};

/* Is this a terminal that knows about scroll regions? Nearly all do. */
static bool is_able(const char *term)
{
    return term && term[0] && strcmp(term, "dumb") != 0 && strcmp(term, "unknown") != 0;
}

int live_new(const struct live_terminal *terminal, const char *name, struct live **ret_live)
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
    live->block.name = name;
    live->block.style.has_colour = terminal->has_colour;
    /* The fonts of the Linux console have no such characters. */
    live->block.style.is_utf8 = live_block_locale_is_utf8(terminal->locale) && strcmp(terminal->term, "linux") != 0;
    buf_init(&live->out, OUT_BYTES_MAX);
    *ret_live = live;
    return 0;
}

/* A terminal that is not our controlling one has no foreground, and nobody stops us for writing to it. */
static bool is_foreground(const struct live *live)
{
    pid_t group = tcgetpgrp(live->fd);
    return group < 0 ? errno == ENOTTY : group == getpgrp();
}

/* Somebody takes each key as it comes: an editor, a pager, a shell at its prompt. The screen is all theirs. */
static bool is_raw(const struct live *live)
{
    struct termios mode;
    return tcgetattr(live->fd, &mode) == 0 && !(mode.c_lflag & ICANON);
}

/*
 * Writes what waits, asking again until that much time is over. Returns whether everything is out. While others write,
 * a non-blocking write is refused although there would be room, so there is nothing to wait for but time. A write that
 * comes when we are not in the foreground any more does not stop us: guard.c has blocked SIGTTOU.
 */
static bool flush(struct live *live, int64_t patience_ms)
{
    int64_t end_ns = clock_read(&clock_system, CLOCK_KIND_MONOTONIC) + patience_ms * NS_PER_MS;
    while (live->out.len > 0) {
        ssize_t n = write(live->fd, live->out.data, live->out.len);
        if (n > 0) {
            buf_consume(&live->out, (size_t)n);
            continue;
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            buf_clear(&live->out); /* the terminal is gone */
        if (clock_read(&clock_system, CLOCK_KIND_MONOTONIC) >= end_ns)
            break;
        (void)poll(NULL, 0, 1);
    }
    return live->out.len == 0;
}

/*
 * Sends what was put behind the first `begun` bytes. False where the terminal did not take any of it, and it is
 * forgotten; but what it has begun with stays until it is out, else the cursor would be left in the block (a serial
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
 * Makes room below the cursor: the whole screen scrolls, the cursor goes down and up again with the lines it stands on.
 * Nothing moves where there is room already, so this is done again now and then, and heals what a command does that
 * resets the terminal. Not every time: a cursor that waits behind the last column is then on it, and the next character
 * of the command would replace its last one.
 */
static void put_room(struct buf *out, unsigned lines)
{
    buf_puts(out, SAVE SCROLL_ALL RESTORE);
    for (unsigned i = 0; i < lines; i++)
        buf_puts(out, DOWN);
    put_number(out, "\033[", lines, 'A');
}

/*
 * Has to come before room is made, which may move the block up. With the cursor in these lines, what the command has
 * put there since the last update is lost; it cannot be told from the block.
 */
static void put_wiped(struct buf *out, const struct place *place)
{
    put_number(out, SAVE "\033[", place->rows - place->lines + 1, 'H');
    buf_puts(out, PLAIN WIPE_BELOW RESTORE);
}

/* After another size, a terminal may have moved and folded the old block: it is somewhere below the cursor. */
static void put_wiped_below(struct buf *out)
{
    buf_puts(out, SAVE "\033[B\033[G" PLAIN WIPE_BELOW RESTORE);
}

static bool is_same_size(const struct place *a, const struct place *b)
{
    return a->rows == b->rows && a->columns == b->columns;
}

/* Takes or keeps the place of the block. False where the terminal does not take that now. */
static bool take_place(struct live *live, const struct place *place)
{
    struct buf *out = &live->out;
    unsigned above = place->rows - place->lines;
    bool is_resized = live->is_shown && !is_same_size(&live->place, place);
    bool is_new = !live->is_shown || is_resized || live->place.lines != place->lines;
    if (is_new || live->updates % UPDATES_PER_ROOM == 0) {
        if (live->is_shown && !is_resized)
            put_wiped(out, &live->place);
        put_room(out, place->lines);
    }
    if (is_resized)
        put_wiped_below(out);
    put_number(out, SAVE "\033[1;", above, 'r');
    buf_puts(out, RESTORE);
    if (is_new)
        put_wiped(out, place);
    if (!send_update(live, 0, 0))
        return false;
    live->is_shown = true;
    live->is_doubtful = false;
    live->place = *place;
    live->updates = is_new ? 1 : live->updates + 1;
    return true;
}

static bool draw_part(struct live *live, unsigned line, enum live_part part)
{
    const struct place *place = &live->place;
    buf_puts(&live->out, SAVE);
    put_number(&live->out, "\033[", place->rows - place->lines + 1 + line, 'H');
    buf_puts(&live->out, PLAIN);
    live_block_put(&live->out, &live->block, line, part, place->columns);
    buf_puts(&live->out, RESTORE);
    return send_update(live, 0, 0);
}

/* False where the window is too small for the block. */
static bool find_place(const struct live *live, struct place *ret_place)
{
    struct winsize window;
    if (ioctl(live->fd, TIOCGWINSZ, &window) < 0)
        return false;
    *ret_place = (struct place){window.ws_row, window.ws_col, live_block_lines(&live->block)};
    return window.ws_row >= ROWS_MIN && window.ws_col >= LIVE_BLOCK_COLUMNS_MIN;
}

static void hide(struct live *live, int64_t patience_ms)
{
    struct buf *out = &live->out;
    size_t begun = out->len;
    struct place now = {0};
    (void)find_place(live, &now);
    bool raw = is_raw(live), is_left = live->is_shown || (live->is_doubtful && !raw && is_foreground(live));
    if (live->is_shown && is_same_size(&now, &live->place)) {
        put_wiped(out, &live->place);
        buf_puts(out, SAVE SCROLL_ALL RESTORE);
    } else if (is_left) {
        put_room(out, live->place.lines);
        put_wiped_below(out);
    }
    if (!send_update(live, begun, patience_ms))
        return;
    if (is_left)
        live->is_doubtful = raw;
    live->is_shown = false;
}

static void draw(struct live *live)
{
    struct place place;
    if (!is_foreground(live) || is_raw(live) || !find_place(live, &place)) {
        hide(live, 0);
        return;
    }
    if (!flush(live, 0) || !take_place(live, &place))
        return;
    /* Nothing is put behind a write that is only half out: both would be forgotten where it is not taken. */
    for (unsigned i = 0; i < place.lines * LIVE_PARTS && live->out.len == 0; i++) {
        if (!draw_part(live, i / LIVE_PARTS, (enum live_part)(i % LIVE_PARTS)))
            return;
    }
}

void live_sample(struct live *live, const struct sample *sample)
{
    live_block_add(&live->block, sample);
    struct opt_f64 now = sample->elapsed_secs;
    if (live->is_shown && now.has && live->drawn_secs.has && now.v - live->drawn_secs.v < DRAW_EVERY_SECS)
        return;
    live->drawn_secs = now;
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
