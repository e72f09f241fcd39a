/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/cpuinfo: the name lies in the text, kinds of cores differ and are in range; so is a main ID register. */
#include "fuzz.h"

#include "kernel/proc.h"

static void check_core(struct cpuinfo_core core)
{
    check(core.implementer <= 0xff && core.part <= 0xfff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct cpuinfo info;
    struct cpuinfo_core core;
    cpuinfo_parse((struct str){copy, size}, &info);
    if (info.model_name.n > 0) {
        check(info.model_name.p > copy && info.model_name.p + info.model_name.n < copy + size);
        check(
            str_eq(str_trim(info.model_name), info.model_name) && !memchr(info.model_name.p, '\n', info.model_name.n));
    }
    check(info.kind_count <= CPUINFO_KINDS_MAX);
    for (size_t i = 0; i < info.kind_count; i++) {
        check_core(info.kinds[i]);
        for (size_t k = 0; k < i; k++)
            check(info.kinds[k].implementer != info.kinds[i].implementer || info.kinds[k].part != info.kinds[i].part);
    }
    check(!info.is_virtual.v || memmem(copy, size, "hypervisor", 10));
    if (cpuinfo_parse_midr((struct str){copy, size}, &core) == 0)
        check_core(core);
    free(copy);
    return 0;
}
