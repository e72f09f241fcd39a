/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/mountinfo: id, parent, major:minor, root, mount point, options, any number of tags ("shared:2"), a lone
 * "-", type, source, super options; exactly one blank between columns, so that two blanks mean an empty one:
 *   36 35 98:0 / /mnt/my\040disk rw,noatime shared:1 - ext3 /dev/root rw,errors=continue
 * Blanks, tabs, newlines and backslashes in paths are written as three octal digits.
 */
#include "kernel/mountinfo.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Turns \040 and the like into their bytes; \000 stays as it is, for it would cut the string. */
static void decode_octal(char *text)
{
    char *out = text;
    for (const char *in = text; *in; out++) {
        unsigned byte = 0;
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && is_octal(in[2]) && is_octal(in[3]))
            byte = (unsigned)(in[1] - '0') * 64 + (unsigned)(in[2] - '0') * 8 + (unsigned)(in[3] - '0');
        *out = byte ? (char)byte : *in;
        in += byte ? 4 : 1;
    }
    *out = '\0';
}

/* Cuts the text up to the next blank off *rest and ends it with a NUL there; NULL where no blank follows. */
static char *next_column(char **rest)
{
    char *column = *rest;
    char *blank = strchr(column, ' ');
    if (!blank)
        return NULL;
    *blank = '\0';
    *rest = blank + 1;
    return column;
}

static bool parse_int(const char *column, int *ret_number)
{
    uint64_t number;
    if (!column || num_parse_u64(str_of(column), &number) < 0 || number > INT_MAX)
        return false;
    *ret_number = (int)number;
    return true;
}

/* "98:0" */
static bool parse_device(const char *column, unsigned *ret_major, unsigned *ret_minor)
{
    const char *colon = column ? strchr(column, ':') : NULL;
    uint64_t major;
    uint64_t minor;
    if (!colon || num_parse_u64((struct str){column, (size_t)(colon - column)}, &major) < 0 ||
        num_parse_u64(str_of(colon + 1), &minor) < 0 || major > UINT_MAX || minor > UINT_MAX)
        return false;
    *ret_major = (unsigned)major;
    *ret_minor = (unsigned)minor;
    return true;
}

static bool skip_tags(char **rest)
{
    const char *tag;
    do {
        tag = next_column(rest);
    } while (tag && strcmp(tag, "-") != 0);
    return tag;
}

/* `line` ends with a NUL where its LF was. */
static bool parse_row(char *line, struct mount_row *row)
{
    if (!parse_int(next_column(&line), &row->id) || !parse_int(next_column(&line), &row->parent) ||
        !parse_device(next_column(&line), &row->major, &row->minor))
        return false;
    char *root = next_column(&line);
    char *mount_point = root ? next_column(&line) : NULL;
    char *options = mount_point ? next_column(&line) : NULL;
    if (!options || !root[0] || !mount_point[0] || !skip_tags(&line))
        return false;
    char *fstype = next_column(&line);
    char *source = fstype ? next_column(&line) : NULL;
    if (!source || !fstype[0])
        return false;
    char *const columns[] = {root, mount_point, options, fstype, source, line};
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        decode_octal(columns[i]);
    row->root = root;
    row->mount_point = mount_point;
    row->options = options;
    row->fstype = fstype;
    row->source = source;
    row->super_options = line;
    return true;
}

int mountinfo_parse(char *text, size_t len, struct mountinfo *info)
{
    size_t count = 0;
    info->count = 0;
    while (len > 0) {
        char *lf = memchr(text, '\n', len);
        if (!lf)
            break;
        if (count == info->cap) {
            int r = VEC_GROW(info, count + 1, MOUNTINFO_ROWS_MAX);
            if (r < 0)
                return r;
        }
        size_t line_bytes = (size_t)(lf - text);
        *lf = '\0';
        if (strlen(text) == line_bytes && parse_row(text, &info->items[count]))
            count++;
        text = lf + 1;
        len -= line_bytes + 1;
    }
    info->count = count;
    return 0;
}

void mountinfo_fini(struct mountinfo *info)
{
    free(info->items);
    *info = (struct mountinfo){0};
}
