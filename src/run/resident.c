/* SPDX-License-Identifier: Apache-2.0 */
/* Resident memory of our own: takes out code that only the start needed. */
#include "run/session_internal.h"

#include <sys/mman.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"

enum { SMAPS_BYTES_MAX = 512 * 1024 };

/* Cuts a hexadecimal number and the character behind it off the line. */
static bool take_address(struct str *line, char end, uintptr_t *ret_address)
{
    uintptr_t address = 0;
    size_t n = 0;
    for (; n < line->n && n < 2 * sizeof(address) && ascii_hex_value(line->p[n]) >= 0; n++)
        address = address << 4 | (uintptr_t)ascii_hex_value(line->p[n]);
    if (n == 0 || n == line->n || line->p[n] != end)
        return false;
    str_skip(line, n + 1);
    *ret_address = address;
    return true;
}

/* "559c1000-559c2000 r-xp 0000b000 fe:00 326269    /usr/bin/x": the range, and whether it is of a file and not
 * writable.
 */
static bool parse_head(struct str line, struct resident_range *ret_range, bool *ret_is_code)
{
    struct str mode, word;
    uint64_t inode;
    if (!take_address(&line, '-', &ret_range->start) || !take_address(&line, ' ', &ret_range->end) ||
        !str_word(&line, &mode) || !str_word(&line, &word) || !str_word(&line, &word) || !str_word(&line, &word) ||
        num_parse_u64(word, &inode) < 0)
        return false;
    *ret_is_code = mode.n == 4 && mode.p[0] == 'r' && mode.p[1] == '-' && inode != 0;
    return ret_range->end > ret_range->start;
}

/* Is this line "KEY:   0 kB"? */
static bool is_zero(struct str line, struct str key)
{
    uint64_t kib;
    str_skip(&line, key.n);
    return num_next_u64(&line, &kib) && kib == 0;
}

bool resident_next(struct str *text, struct resident_range *ret_range, bool *ret_is_clean)
{
    struct str line;
    bool is_code, is_unchanged = false, is_kept = false;
    if (!str_line(text, &line) || !parse_head(line, ret_range, &is_code))
        return false;
    while (str_line(text, &line)) {
        if (str_starts(line, STR("Anonymous:")))
            is_unchanged = is_zero(line, STR("Anonymous:"));
        else if (str_starts(line, STR("Swap:")))
            is_kept = is_zero(line, STR("Swap:"));
        else if (str_starts(line, STR("VmFlags:"))) {
            *ret_is_clean = is_code && is_unchanged && is_kept;
            return true;
        }
    }
    return false;
}

void resident_release_code(int proc_fd)
{
    AUTO_BUF struct buf smaps;
    buf_init(&smaps, SMAPS_BYTES_MAX);
    if (file_read_at(proc_fd, "self/smaps", &smaps) < 0)
        return;
    struct str text = buf_str(&smaps);
    struct resident_range range;
    bool is_clean;
    while (resident_next(&text, &range, &is_clean)) {
        if (is_clean)
            (void)madvise(
                (void *)range.start, range.end - range.start, MADV_DONTNEED); /* NOLINT(performance-no-int-to-ptr) */
    }
}
