/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu.ids: a name lies within the text, is trimmed and on one line. The first three bytes are the ids looked for. */
#include "fuzz.h"

#include "kernel/amdgpu.h"

enum { ID_BYTES = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < ID_BYTES)
        return 0;
    size_t n = size - ID_BYTES;
    char *copy = fuzz_copy(data + ID_BYTES, n);
    if (!copy)
        return 0;
    struct str name;
    uint64_t device = (uint64_t)data[0] << 8 | data[1];
    if (amdgpu_ids_find((struct str){copy, n}, device, data[2], &name) == 0) {
        check(name.n > 0 && name.p >= copy && name.p + name.n <= copy + n);
        check(!memchr(name.p, '\n', name.n));
        check(str_eq(name, str_trim(name)));
    }
    free(copy);
    return 0;
}
