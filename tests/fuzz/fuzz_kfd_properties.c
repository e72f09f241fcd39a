/* SPDX-License-Identifier: Apache-2.0 */
/* KFD properties: a location comes from a whole line, and what is absent is 0. */
#include "fuzz.h"

#include "kernel/amdgpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct kfd_properties properties;
    if (kfd_properties_parse((struct str){copy, size}, &properties) == 0) {
        check(memmem(copy, size, "location_id", 11) && memchr(copy, '\n', size));
        check(properties.simd_count.has || properties.simd_count.v == 0);
        check(properties.simd_per_cu.has || properties.simd_per_cu.v == 0);
    }
    free(copy);
    return 0;
}
