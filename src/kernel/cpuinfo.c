/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/cpuinfo, a paragraph for each processor, "key<tabs>: value" (arch/x86/kernel/cpu/proc.c, and
 * arch/arm64/kernel/cpuinfo.c, which has no names):
 *   model name	: AMD EPYC 7B13
 *   flags		: fpu vme de pse hypervisor lahf_lm
 *   CPU implementer	: 0x41
 *   CPU part	: 0xd0c
 * A line without its LF is not trusted: it may go on.
 */
#include "kernel/proc.h"

#include <errno.h>

#include "base/num.h"

enum { MIDR_PART_BITS = 4, MIDR_IMPLEMENTER_BITS = 24, PART_MAX = 0xfff, IMPLEMENTER_MAX = 0xff };

/* "0x41" */
static bool parse_hex(struct str text, uint64_t max, uint64_t *ret_number)
{
    return str_starts(text, STR("0x")) && num_parse_hex((struct str){text.p + 2, text.n - 2}, ret_number) == 0 &&
           *ret_number <= max;
}

static void add_kind(struct cpuinfo *info, struct cpuinfo_core core)
{
    for (size_t i = 0; i < info->kind_count; i++) {
        if (info->kinds[i].implementer == core.implementer && info->kinds[i].part == core.part)
            return;
    }
    if (info->kind_count < CPUINFO_KINDS_MAX)
        info->kinds[info->kind_count++] = core;
}

static bool has_word(struct str words, struct str wanted)
{
    for (struct str word; str_word(&words, &word);) {
        if (str_eq(word, wanted))
            return true;
    }
    return false;
}

/* x86 and others, LoongArch, MIPS, POWER, RISC-V. */
static bool is_name_key(struct str key)
{
    static const char keys[][11] = {"model name", "Model Name", "cpu model", "cpu", "uarch"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (str_eq(key, str_of(keys[i])))
            return true;
    }
    return false;
}

void cpuinfo_parse(struct str text, struct cpuinfo *ret_info)
{
    struct cpuinfo info = {0};
    struct opt_u64 implementer = {0};
    struct str line;
    while (str_whole_line(&text, &line)) {
        const char *colon = line.n > 0 ? memchr(line.p, ':', line.n) : NULL;
        if (!colon)
            continue;
        struct str key = str_trim((struct str){line.p, (size_t)(colon - line.p)});
        struct str value = str_trim((struct str){colon + 1, (size_t)(line.p + line.n - colon - 1)});
        uint64_t number;
        if (info.model_name.n == 0 && is_name_key(key)) {
            info.model_name = value;
        } else if (!info.is_virtual.has && str_eq(key, STR("flags"))) {
            info.is_virtual = some_bool(has_word(value, STR("hypervisor")));
        } else if (str_eq(key, STR("processor"))) {
            implementer = (struct opt_u64){0};
        } else if (str_eq(key, STR("CPU implementer")) && parse_hex(value, IMPLEMENTER_MAX, &number)) {
            implementer = some_u64(number);
        } else if (str_eq(key, STR("CPU part")) && implementer.has && parse_hex(value, PART_MAX, &number)) {
            add_kind(&info, (struct cpuinfo_core){(uint32_t)implementer.v, (uint32_t)number});
        }
    }
    *ret_info = info;
}

int cpuinfo_parse_midr(struct str text, struct cpuinfo_core *ret_core)
{
    uint64_t midr;
    if (!parse_hex(str_trim(text), UINT32_MAX, &midr))
        return -EINVAL;
    *ret_core = (struct cpuinfo_core){
        .implementer = (uint32_t)(midr >> MIDR_IMPLEMENTER_BITS) & IMPLEMENTER_MAX,
        .part = (uint32_t)(midr >> MIDR_PART_BITS) & PART_MAX,
    };
    return 0;
}
