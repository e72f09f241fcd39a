/* SPDX-License-Identifier: Apache-2.0 */
/* pp_dpm_sclk: a clock needs a star, and nothing is written on failure. */
#include "fuzz.h"

#include "kernel/amdgpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    uint64_t mhz = 42;
    int r = dpm_table_parse_current((struct str){copy, size}, &mhz);
    if (r == 0)
        check(memchr(copy, '*', size) && memchr(copy, ':', size));
    else
        check(mhz == 42);
    free(copy);
    return 0;
}
