/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings for people and for programs:
 *   cgroup    memory peak       limited  the group does not tell it
 *                                        -> Linux 5.19 or newer does.
 */
#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "doctor/doctor_internal.h"
#include "encode/json.h"

enum { NAME_COLUMN = 11, STATE_COLUMN = 28, TEXT_COLUMN = 37, TEXT_WIDTH = DOCTOR_COLUMNS - TEXT_COLUMN };

static const char state_words[DOCTOR_STATES][8] = {"ok", "off", "limited", "missing", "broken"};

enum doctor_state doctor_findings_worst(const struct doctor_findings *findings)
{
    enum doctor_state worst = DOCTOR_OK;
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].state > worst)
            worst = findings->items[i].state;
    }
    return worst == DOCTOR_OFF ? DOCTOR_OK : worst;
}

/* A terminal may act on everything else. */
static void put_plain(struct buf *buf, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        buf_putc(buf, text.p[i] >= ' ' && text.p[i] <= '~' ? text.p[i] : '?');
}

/* Blanks up to a column of the line that begins at `line`; one at least. */
static void pad(struct buf *buf, size_t line, size_t column)
{
    do
        buf_putc(buf, ' ');
    while (buf_ok(buf) && buf->len - line < column);
}

static void put_columns(struct buf *buf, const char *area, const char *name, const char *state)
{
    size_t line = buf->len;
    put_plain(buf, str_of(area));
    pad(buf, line, NAME_COLUMN);
    put_plain(buf, str_of(name));
    pad(buf, line, STATE_COLUMN);
    buf_puts(buf, state);
    pad(buf, line, TEXT_COLUMN);
}

/* How much of the text goes into a line of this width: up to the last blank that fits, or as much as fits. */
static size_t fitting(struct str text, size_t width)
{
    if (text.n <= width)
        return text.n;
    size_t n = width;
    while (n > 0 && text.p[n] != ' ')
        n--;
    return n > 0 ? n : width;
}

/* From where the line is already; further lines begin below, `indent` further in. */
static void put_wrapped(struct buf *buf, struct str text, size_t indent)
{
    size_t width = TEXT_WIDTH - indent;
    do {
        size_t n = fitting(text, width);
        put_plain(buf, (struct str){text.p, n});
        buf_putc(buf, '\n');
        str_skip(&text, n);
        (void)str_take(&text, ' ');
        if (text.n > 0)
            pad(buf, buf->len, TEXT_COLUMN + indent);
    } while (text.n > 0 && buf_ok(buf));
}

/* "2 things are limited, 1 is missing: see above." */
static void put_verdict(struct buf *buf, const struct doctor_findings *findings)
{
    bool is_first = true;
    for (int state = DOCTOR_BROKEN; state >= DOCTOR_LIMITED; state--) {
        uint64_t count = 0;
        for (size_t i = 0; i < findings->count; i++)
            count += (int)findings->items[i].state == state;
        if (count == 0)
            continue;
        if (!is_first)
            buf_puts(buf, ", ");
        num_put_u64(buf, count);
        if (is_first)
            buf_puts(buf, count == 1 ? " thing" : " things");
        buf_puts(buf, count == 1 ? " is " : " are ");
        buf_puts(buf, state_words[state]);
        is_first = false;
    }
    buf_puts(buf, is_first ? "Everything that a run needs works here.\n" : ": see above.\n");
}

void doctor_put_text(struct buf *buf, const struct doctor_findings *findings)
{
    put_columns(buf, "AREA", "CHECK", "STATE");
    buf_puts(buf, "FINDING\n");
    for (size_t i = 0; i < findings->count; i++) {
        const struct doctor_finding *finding = &findings->items[i];
        put_columns(buf, finding->area, finding->name, state_words[finding->state]);
        put_wrapped(buf, str_of(finding->text), 0);
        if (!finding->remedy)
            continue;
        pad(buf, buf->len, TEXT_COLUMN);
        buf_puts(buf, "-> ");
        put_wrapped(buf, str_of(finding->remedy), 3);
    }
    buf_putc(buf, '\n');
    put_verdict(buf, findings);
}

static void put_pair(struct buf *buf, const char *key, const char *value)
{
    buf_printf(buf, "\"%s\":", key);
    if (value)
        json_put_string(buf, str_of(value));
    else
        buf_puts(buf, "null");
    buf_putc(buf, ',');
}

void doctor_put_json(struct buf *buf, const struct doctor_findings *findings)
{
    enum doctor_state worst = doctor_findings_worst(findings);
    buf_putc(buf, '{');
    put_pair(buf, "resource-tracker-version", RT_VERSION);
    put_pair(buf, "verdict", state_words[worst == DOCTOR_MISSING ? DOCTOR_LIMITED : worst]);
    buf_puts(buf, "\"findings\":[");
    for (size_t i = 0; i < findings->count; i++) {
        const struct doctor_finding *finding = &findings->items[i];
        buf_puts(buf, i > 0 ? ",{" : "{");
        put_pair(buf, "area", finding->area);
        put_pair(buf, "name", finding->name);
        put_pair(buf, "state", state_words[finding->state]);
        put_pair(buf, "finding", finding->text);
        put_pair(buf, "remedy", finding->remedy);
        buf->len -= buf_ok(buf); /* the last comma */
        buf_putc(buf, '}');
    }
    buf_puts(buf, "]}\n");
}
