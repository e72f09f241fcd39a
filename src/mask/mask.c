/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line as a whole. The rules are applied until nothing changes, so that masking what is masked changes
 * nothing: a recording may be replayed as often as one likes. What does not settle is masked as a whole.
 */
#include "mask/mask.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "mask/mask_internal.h"

enum { ROUNDS_MAX = 6 };

/* Arguments one behind the other, each with a NUL. */
struct line {
    struct buf text;
    size_t count;
};

static void line_add(struct line *line, struct str argument)
{
    buf_append(&line->text, argument.p, argument.n);
    buf_putc(&line->text, '\0');
    line->count++;
}

/* Room for the cut is kept. */
static bool line_fits(const struct line *line, size_t bytes)
{
    return line->count < MASK_ARGUMENTS_MAX && line->text.len + bytes + 1 + sizeof(MASK_CUT) <= MASK_BYTES_MAX;
}

static void line_clear(struct line *line)
{
    buf_clear(&line->text);
    line->count = 0;
}

static void line_swap(struct line *a, struct line *b)
{
    struct line swap = *a;
    *a = *b;
    *b = swap;
}

static void take_argv(struct line *line, char *const *argv)
{
    for (; *argv; argv++) {
        struct str argument = {*argv, strnlen(*argv, MASK_BYTES_MAX)};
        if (!line_fits(line, argument.n)) {
            line_add(line, STR(MASK_CUT));
            return;
        }
        line_add(line, argument);
    }
}

static size_t masked_length(const struct element *element)
{
    size_t length = 0;
    for (size_t i = 0; i < element->text.n; i++) {
        unsigned char kind = element->marks[i];
        if (kind == MARK_NONE)
            length++;
        else if (i == 0 || element->marks[i - 1] != kind)
            length += strlen(mark_placeholders[kind]);
    }
    return length;
}

/* False where it does not fit any more. */
static bool put_masked(struct line *out, const struct element *element)
{
    if (!line_fits(out, masked_length(element))) {
        line_add(out, STR(MASK_CUT));
        return false;
    }
    for (size_t i = 0; i < element->text.n; i++) {
        unsigned char kind = element->marks[i];
        if (kind == MARK_NONE)
            buf_putc(&out->text, element->text.p[i]);
        else if (i == 0 || element->marks[i - 1] != kind)
            buf_puts(&out->text, mark_placeholders[kind]);
    }
    buf_putc(&out->text, '\0');
    out->count++;
    return true;
}

/* A placeholder that the text already holds stays whole or goes as a whole. */
static void settle_placeholders(struct element *element)
{
    for (size_t i = 0; i < element->text.n;) {
        size_t n = placeholder_length(str_from(element->text, i));
        bool is_cut = false;
        for (size_t k = 1; k < n; k++)
            is_cut |= element->marks[i + k] != element->marks[i];
        if (is_cut)
            memset(element->marks + i, MARK_NONE, n);
        i += n > 0 ? n : 1;
    }
}

static void mark_element(struct words *words, struct element *element)
{
    words_argument(words, element);
    mark_assignments(element);
    mark_bearers(element);
    mark_phrases(element);
    mark_shapes(element);
    mark_urls(element);
    mark_random(element);
    mark_pem(element);
    if (element->mode == MASK_STRICT)
        mark_personal(element);
    settle_placeholders(element);
}

/* A PEM block that lost its quotes comes in pieces: from -----BEGIN to -----END all of them go. */
static bool opens_pem(struct str argument, struct str rest)
{
    return str_starts(argument, STR("-----BEGIN")) && !has_text(argument, "-----END") && has_text(rest, "-----END");
}

static void mask_line(const struct line *in, struct line *out, unsigned char *marks, enum mask_mode mode)
{
    struct words words = {0};
    struct str rest = buf_str(&in->text);
    bool is_pem = false;
    for (size_t i = 0; i < in->count; i++) {
        struct element element = {.text = {rest.p, strlen(rest.p)}, .marks = marks, .mode = mode};
        rest = str_from(rest, element.text.n + 1);
        memset(marks, MARK_NONE, element.text.n);
        is_pem |= opens_pem(element.text, rest);
        if (is_pem)
            mark(&element, element.text, MARK_KEY);
        else
            mark_element(&words, &element);
        is_pem &= !has_text(element.text, "-----END");
        if (!put_masked(out, &element))
            return;
    }
}

static bool is_same(const struct line *a, const struct line *b)
{
    return a->count == b->count && a->text.len == b->text.len && memcmp(a->text.data, b->text.data, a->text.len) == 0;
}

/* Rules that contradict each other on this text: nothing of it is shown. */
static void hide_all(const struct line *in, struct line *out)
{
    for (size_t i = 0; i < in->count && line_fits(out, strlen(mark_placeholders[MARK_SECRET])); i++)
        line_add(out, str_of(mark_placeholders[MARK_SECRET]));
}

/* Leaves the result in *line; false without memory. */
static bool mask_until_settled(struct line *line, enum mask_mode mode)
{
    unsigned char *marks = malloc(MASK_BYTES_MAX);
    struct line other = {.text = {.max = MASK_BYTES_MAX}};
    bool is_settled = false;
    for (int round = 0; round < ROUNDS_MAX && marks && buf_ok(&line->text) && !is_settled; round++) {
        line_clear(&other);
        mask_line(line, &other, marks, mode);
        is_settled = is_same(line, &other);
        line_swap(line, &other);
    }
    if (!is_settled) {
        line_clear(&other);
        hide_all(line, &other);
        line_swap(line, &other);
    }
    bool is_good = marks && buf_ok(&line->text);
    free(marks);
    buf_fini(&other.text);
    return is_good;
}

/* Pointers and texts in one block. */
static int make_command(const struct line *line, struct mask_command *ret_command)
{
    size_t table = (line->count + 1) * sizeof(char *);
    char **items = malloc(table + line->text.len + 1);
    if (!items)
        return -ENOMEM;
    char *text = (char *)items + table;
    if (line->text.len > 0)
        memcpy(text, line->text.data, line->text.len);
    for (size_t i = 0; i < line->count; i++) {
        items[i] = text;
        text += strlen(text) + 1;
    }
    items[line->count] = NULL;
    *ret_command = (struct mask_command){.items = items, .count = line->count};
    return 0;
}

int mask_command(char *const *argv, enum mask_mode mode, struct mask_command *ret_command)
{
    struct line line = {.text = {.max = MASK_BYTES_MAX}};
    take_argv(&line, argv);
    bool is_good = line.count == 0 || mode == MASK_OFF ? buf_ok(&line.text) : mask_until_settled(&line, mode);
    int r = is_good ? make_command(&line, ret_command) : -ENOMEM;
    buf_fini(&line.text);
    return r;
}

void mask_command_fini(struct mask_command *command)
{
    free(command->items);
    *command = (struct mask_command){0};
}

void mask_argument(const char *argument, enum mask_mode mode, char *out, size_t size)
{
    char *argv[] = {NULL, NULL};
    memcpy(&argv[0], &argument, sizeof(argument));
    struct mask_command command = {0};
    if (mask_command(argv, mode, &command) == 0 && command.count > 0)
        (void)str_copy(str_of(command.items[0]), out, size);
    else
        (void)str_copy(STR("..."), out, size);
    mask_command_fini(&command);
}
