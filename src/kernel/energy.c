/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documentation/power/powercap/powercap.rst: energy_uj "13579246810", max_energy_range_uj "262143328850", name
 * "package-0". Documentation/hwmon/sysfs-interface.rst: energyN_input in microjoules. pm_counters of HPE Cray EX:
 * "18324152 J 1389222813252424 us".
 */
#include "kernel/energy.h"

#include <errno.h>

#include "base/clock.h"
#include "base/num.h"

#define UJ_PER_J UINT64_C(1000000)

int energy_counter_parse(struct str text, struct energy_reading *ret_reading)
{
    struct energy_reading reading = {0};
    struct str line, word;
    uint64_t number;
    if (!str_whole_line(&text, &line) || text.n > 0 || !str_word(&line, &word) || num_parse_u64(word, &number) < 0)
        return -EINVAL;
    reading.uj = number;
    if (str_word(&line, &word)) {
        if (!str_eq(word, STR("J")) || __builtin_mul_overflow(number, UJ_PER_J, &reading.uj))
            return -EINVAL;
        if (str_word(&line, &word)) {
            if (num_parse_u64(word, &number) < 0 || !str_word(&line, &word) || !str_eq(word, STR("us")))
                return -EINVAL;
            reading.stamp_us = some_u64(number);
        }
        if (str_word(&line, &word))
            return -EINVAL;
    }
    *ret_reading = reading;
    return 0;
}

bool energy_rapl_domain(struct str name, enum energy_domain *ret_domain)
{
    if (str_starts(name, STR("package-")))
        *ret_domain = ENERGY_PACKAGE;
    else if (str_eq(name, STR("dram")))
        *ret_domain = ENERGY_DRAM;
    else if (str_eq(name, STR("psys")))
        *ret_domain = ENERGY_PLATFORM;
    else
        return false;
    return true;
}

struct opt_u64 energy_growth(uint64_t prev_uj, uint64_t cur_uj, uint64_t range_uj, int64_t elapsed_ns)
{
    /* One second more: a counter is read a little after its time. */
    uint64_t most_uj = ((uint64_t)(elapsed_ns > 0 ? elapsed_ns / NS_PER_SEC : 0) + 2) * ENERGY_WATTS_MAX * UJ_PER_J;
    if (range_uj > 0 && most_uj > range_uj)
        return (struct opt_u64){0};
    uint64_t growth = counter_delta_wrapping(prev_uj, cur_uj, range_uj);
    return some_u64(cur_uj >= prev_uj || growth <= most_uj ? growth : 0);
}
