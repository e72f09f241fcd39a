/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of energy: failure leaves the output alone; growth is never more than the range. */
#include "fuzz.h"

#include "base/clock.h"
#include "kernel/energy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct energy_reading reading = {.uj = 42};
    enum energy_domain domain = ENERGY_DOMAINS;
    if (energy_counter_parse(text, &reading) < 0)
        check(reading.uj == 42 && !reading.stamp_us.has);
    struct opt_u64 growth = energy_growth(reading.uj, reading.stamp_us.v, UINT64_MAX, NS_PER_SEC);
    check(growth.has);
    check(energy_rapl_domain(text, &domain) == (domain < ENERGY_DOMAINS));
    free(copy);
    return 0;
}
