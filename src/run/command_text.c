/* SPDX-License-Identifier: Apache-2.0 */
#include "run/command_text.h"

#include <errno.h>

#include "base/text.h"
#include "model/sample.h"

/* More arguments than a text of the sample can show. */
enum { ARGUMENTS_MAX = SAMPLE_PROCESS_BYTES };

/* The arguments of a text as a list that ends with NULL; their number. `text` is changed: every separator becomes NUL.
 */
static size_t split(char *text, size_t n, char separator, char *ret_argv[static ARGUMENTS_MAX + 1], bool *is_cut)
{
    size_t count = 0;
    for (size_t i = 0; i < n;) {
        if (count == ARGUMENTS_MAX) {
            *is_cut = true;
            break;
        }
        ret_argv[count++] = text + i;
        while (i < n && text[i] != separator)
            i++;
        text[i++] = '\0';
    }
    ret_argv[count] = NULL;
    return count;
}

/* Up to size bytes, without a NUL; returns how many there would be, size + 1 where there are more. */
static size_t join(char *const *items, size_t count, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct str argument = str_of(items[i]);
        size_t needed = argument.n + (i > 0);
        if (needed > size - n) {
            if (i > 0 && n < size)
                out[n++] = ' ';
            memcpy(out + n, argument.p, size - n);
            return size + 1;
        }
        if (i > 0)
            out[n++] = ' ';
        memcpy(out + n, argument.p, argument.n);
        n += argument.n;
    }
    return n;
}

/* What there is of a text that is not whole, and dots behind it. */
static void end_with_dots(char *out, size_t n, size_t size)
{
    size_t most = size - sizeof(MASK_CUT);
    n = utf8_whole((struct str){out, n < most ? n : most});
    memcpy(out + n, MASK_CUT, sizeof(MASK_CUT));
}

void command_text_join(char *const *items, size_t count, char *out, size_t size)
{
    size_t n = join(items, count, out, size - 1);
    if (n > size - 1)
        end_with_dots(out, size - 1, size);
    else
        out[n] = '\0';
}

static int mask_arguments(char *const *argv, bool is_cut, enum mask_mode mode, char *out, size_t size)
{
    struct mask_command command = {0};
    int r = mask_command(argv, mode, &command);
    if (r < 0)
        return r;
    if (is_cut && command.count > 0 && join(command.items, command.count, out, size - 1) < size) {
        /* The last argument is not whole, and half a secret may not look like one. */
        size_t n = join(command.items, command.count - 1, out, size - 1);
        if (n > 0 && n < size - 1)
            out[n++] = ' ';
        end_with_dots(out, n, size);
    } else {
        command_text_join(command.items, command.count, out, size);
    }
    mask_command_fini(&command);
    return 0;
}

static int mask_text(struct str text, char separator, bool is_cut, enum mask_mode mode, char *out, size_t size)
{
    char copy[SAMPLE_COMMAND_BYTES + 1];
    char *argv[ARGUMENTS_MAX + 1];
    if (text.n > SAMPLE_COMMAND_BYTES) {
        text.n = SAMPLE_COMMAND_BYTES;
        is_cut = true;
    }
    /* A process that writes its title there fills what is left with NULs. */
    while (text.n > 0 && text.p[text.n - 1] == separator) {
        text.n--;
        is_cut = false;
    }
    if (text.n == 0)
        return -ENODATA;
    memcpy(copy, text.p, text.n);
    if (split(copy, text.n, separator, argv, &is_cut) == 0)
        return -ENODATA;
    return mask_arguments(argv, is_cut, mode, out, size);
}

int command_text_mask(struct str text, bool is_cut, enum mask_mode mode, char *out, size_t size)
{
    return mask_text(text, '\0', is_cut, mode, out, size);
}

int command_text_mask_again(const char *text, enum mask_mode mode, char *out, size_t size)
{
    return mask_text(str_of(text), ' ', false, mode, out, size);
}
