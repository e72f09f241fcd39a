/* SPDX-License-Identifier: Apache-2.0 */
/* Every vendor there is, a row each, in the order of the output. */
#include "collect/gpu/gpu.h"

#include "base/str.h"

/* clang-format off */
#define VENDORS(row) \
    row(nvidia) \
    row(amd) \
    row(intel) \
    row(other) \
    row(accel)
/* clang-format on */

#define DECLARE(vendor) extern const struct gpu_vendor gpu_vendor_##vendor;
#define ADDRESS(vendor) &gpu_vendor_##vendor,

VENDORS(DECLARE)

const struct gpu_vendor *const gpu_vendors[] = {VENDORS(ADDRESS)};

const size_t gpu_vendor_count = sizeof(gpu_vendors) / sizeof(gpu_vendors[0]);

_Static_assert(sizeof(gpu_vendors) / sizeof(gpu_vendors[0]) <= GPU_VENDORS_MAX, "there is space for all");

const struct gpu_vendor *gpu_vendor_of_driver(const char *driver)
{
    for (size_t i = 0; i < gpu_vendor_count; i++) {
        if (gpu_vendors[i]->drivers && str_is_listed(driver, gpu_vendors[i]->drivers))
            return gpu_vendors[i];
    }
    return NULL;
}

bool gpu_run_helper(int argc, char **argv, int *ret_status)
{
    /* Their flags are long options. Else no vendor is asked: its code is not in memory yet. */
    bool may_be_helper = argc > 1 && argv[1][0] == '-' && argv[1][1] == '-';
    for (size_t i = 0; may_be_helper && i < gpu_vendor_count; i++) {
        if (gpu_vendors[i]->run_helper && gpu_vendors[i]->run_helper(argc, argv, ret_status))
            return true;
    }
    return false;
}
