/* SPDX-License-Identifier: Apache-2.0 */
/* Pressure stall information: success means that there is a total; failure leaves the output alone. */
#include "fuzz.h"

#include "kernel/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct pressure pressure = {.full_total_us = {.has = true, .v = 42}};
    int r = pressure_parse(text, &pressure);
    check(r == 0 ? pressure.some_total_us.has : pressure.full_total_us.v == 42);
    free(copy);
    return 0;
}
