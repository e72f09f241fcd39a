/* SPDX-License-Identifier: Apache-2.0 */
/* Times: what is read and lies in a year of four digits is written and read again as the same, in both forms. */
#include "fuzz.h"

#include "base/utc.h"

static void check_written(int64_t secs)
{
    static const int64_t first = -62167219200;
    static const int64_t last = 253402300799;
    char text[UTC_ISO_BYTES];
    int64_t again;
    int64_t expected = secs < first ? first : secs > last ? last : secs;
    utc_format_iso(secs, text);
    check(strlen(text) == strlen("2026-11-15T09:30:00Z"));
    check(utc_parse_iso(str_of(text), &again) == 0 && again == expected);
    utc_format_basic(secs, text);
    check(strlen(text) == strlen("20261115T093000Z"));
    check(utc_parse_iso(str_of(text), &again) == 0 && again == expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    int64_t secs = 0;
    if (size == sizeof(secs)) {
        memcpy(&secs, copy, sizeof(secs));
        check_written(secs);
    }
    if (utc_parse_iso(text, &secs) == 0)
        check_written(secs);
    if (utc_parse_http(text, 1794735000, &secs) == 0)
        check_written(secs);
    free(copy);
    return 0;
}
