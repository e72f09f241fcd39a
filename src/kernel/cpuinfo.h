/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/cpuinfo: what the processor is called, and whether it says that it is a virtual one. Every architecture has
 * keys of its own. */
#ifndef KERNEL_CPUINFO_H
#define KERNEL_CPUINFO_H

#include <stdint.h>

#include "base/opt.h"
#include "base/str.h"

/* Kinds of cores that one machine can have; more are passed over. */
enum { CPUINFO_KINDS_MAX = 8 };

/* An Arm core by the fields of its main ID register (MIDR_EL1). */
struct cpuinfo_core {
    uint32_t implementer, part;
};

struct cpuinfo {
    struct str model_name; /* of the first processor, points into the text; n = 0: not there */
    struct cpuinfo_core kinds[CPUINFO_KINDS_MAX]; /* different ones, in the order of the text */
    size_t kind_count;
    struct opt_bool is_virtual; /* x86 only: "hypervisor" among the flags; absent without a line of flags */
};

/* Never fails: what is missing, malformed or cut stays unknown. The start of the file is enough on most machines. */
void cpuinfo_parse(struct str text, struct cpuinfo *ret_info);

/* "0x00000000413fd0c1" of regs/identification/midr_el1 in the same terms. 0 or -EINVAL. */
int cpuinfo_parse_midr(struct str text, struct cpuinfo_core *ret_core);

#endif
