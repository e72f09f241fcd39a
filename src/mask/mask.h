/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets in a command line: what may be written down or sent of it. Pure: no I/O, no state between calls. The rules
 * are tables in rules.c; docs/decisions/0024-masking.md has the reasons.
 */
#ifndef MASK_MASK_H
#define MASK_MASK_H

#include <stddef.h>

enum mask_mode {
    MASK_AUTO, /* secrets */
    MASK_STRICT, /* e-mail addresses, IPv4 addresses, telephone, card and social security numbers as well */
    MASK_OFF,
};

/* Of a longer command line what fits is kept, by whole arguments, and the last one is MASK_CUT. */
enum { MASK_BYTES_MAX = 36 * 1024, MASK_ARGUMENTS_MAX = 16 * 1024 };
#define MASK_CUT "..."

/* One block of memory; items is NULL-terminated, NULL where there is nothing. */
struct mask_command {
    char **items;
    size_t count;
};

/*
 * A copy of the command line with placeholders where secrets were: [SECRET], [KEY] (PEM), and with MASK_STRICT [EMAIL],
 * [IP], [PHONE], [CC], [SSN]. argv is NULL-terminated, any bytes. Masking a masked command line changes nothing.
 * Returns 0 or -ENOMEM; then there is no copy, and nothing may be shown.
 */
int mask_command(char *const *argv, enum mask_mode mode, struct mask_command *ret_command);
void mask_command_fini(struct mask_command *command);

/* The same for one argument alone, cut to size - 1 bytes; for messages that name a program. */
void mask_argument(const char *argument, enum mask_mode mode, char *out, size_t size);

#endif
