/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resident memory of our own: code that only the start needed, and what the kernel mapped around it, is a quarter of
 * it.
 */
#ifndef RUN_RESIDENT_H
#define RUN_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct resident_range {
    uintptr_t start, end;
};

/*
 * Cuts the next mapping off the text of /proc/PID/smaps. False at the end, or where a mapping is not whole.
 * is_clean: of a file, not writable, and no page of it was ever changed, by relocations, a debugger or a hot patch.
 */
bool resident_next(struct str *text, struct resident_range *ret_range, bool *ret_is_clean);

/* Unmaps all pages of clean mappings. They stay in the page cache, and what is needed again is mapped again at once. */
void resident_release_code(int proc_fd);

#endif
