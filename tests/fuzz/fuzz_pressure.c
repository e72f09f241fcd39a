/* SPDX-License-Identifier: Apache-2.0 */
/* Pressure stall information: success means that there is a total; failure leaves the output alone. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/pressure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A block of exactly this size lets the sanitizer see a read behind the end. */
    char *copy = malloc(size);
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    struct str text = {copy, size};
    struct pressure pressure = {.full_total_us = {.has = true, .v = 42}};
    int r = pressure_parse(text, &pressure);
    check(r == 0 ? pressure.some_total_us.has : pressure.full_total_us.v == 42);
    free(copy);
    return 0;
}
