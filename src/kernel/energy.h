/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of energy: their text, what of a machine they are about, and how they grow. */
#ifndef KERNEL_ENERGY_H
#define KERNEL_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "base/str.h"

enum energy_domain {
    ENERGY_PACKAGE, /* CPU packages with all that is in them */
    ENERGY_DRAM, /* memory, which is in no package */
    ENERGY_PLATFORM, /* the whole machine, the other two included */
    ENERGY_DOMAINS,
};

struct energy_reading {
    uint64_t uj; /* microjoules */
    struct opt_u64 stamp_us; /* when the counter was last written, by a clock of its own */
};

/*
 * Microjoules as powercap and hwmon have them ("123456"), or joules as pm_counters has them ("123 J 1389222813252424
 * us", the time may be missing); a LF behind it. Returns 0 or -EINVAL.
 */
int energy_counter_parse(struct str text, struct energy_reading *ret_reading);

/* By the name of a RAPL zone: "package-0", "package-1-die-0", "dram", "psys". False for what is a part of a package
 * ("core", "uncore") and for all others. */
bool energy_rapl_domain(struct str name, enum energy_domain *ret_domain);

/* More than this no counter counts in a second. */
#define ENERGY_WATTS_MAX 2000

/*
 * Microjoules between two readings that are elapsed_ns apart. range_uj: the counter begins again at 0 behind it; 0: it
 * does not. One that went back without that (a driver was loaded again) gives 0. Absent where it may have begun again
 * more than once.
 */
struct opt_u64 energy_growth(uint64_t prev_uj, uint64_t cur_uj, uint64_t range_uj, int64_t elapsed_ns);

#endif
