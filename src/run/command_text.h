/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a process as one text that may be shown: masked, arguments separated by blanks, and short. */
#ifndef RUN_COMMAND_TEXT_H
#define RUN_COMMAND_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "mask/mask.h"

/*
 * text: arguments, each with a NUL, as in /proc/PID/cmdline; is_cut: only the start of it. What does not fit into
 * size - 1 bytes (at least 4) ends with "...", and so does what was cut: the end of an argument that was cut is never
 * shown. Returns 0, -ENODATA where there is no argument, or -ENOMEM; then nothing may be shown.
 */
int command_text_mask(struct str text, bool is_cut, enum mask_mode mode, char *out, size_t size);

/* What is masked already, as one text in the same form. */
void command_text_join(char *const *items, size_t count, char *out, size_t size);

/* The same for a text that was made so before, maybe by another program: its blanks count as ends of arguments. */
int command_text_mask_again(const char *text, enum mask_mode mode, char *out, size_t size);

#endif
