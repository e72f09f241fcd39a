/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/meminfo: success means that there is a total; failure leaves the output alone. */
#include "fuzz.h"

#include "kernel/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct meminfo mem = {.dirty_kib = {.has = true, .v = 42}};
    int r = meminfo_parse(text, &mem);
    check(r == 0 ? mem.total_kib.has : mem.dirty_kib.v == 42);
    free(copy);
    return 0;
}
