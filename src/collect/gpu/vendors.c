/* SPDX-License-Identifier: Apache-2.0 */
/* Every vendor there is, in the order of the output. */
#include "collect/gpu/gpu.h"

const struct gpu_vendor *const gpu_vendors[] = {
    &gpu_vendor_nvidia,
    &gpu_vendor_amd,
    &gpu_vendor_intel,
    &gpu_vendor_other,
    &gpu_vendor_accel,
};

const size_t gpu_vendor_count = sizeof(gpu_vendors) / sizeof(gpu_vendors[0]);
