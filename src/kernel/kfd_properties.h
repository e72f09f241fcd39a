/* SPDX-License-Identifier: Apache-2.0 */
/* /sys/class/kfd/kfd/topology/nodes/N/properties: "simd_count 192", one property a line. */
#ifndef KERNEL_KFD_PROPERTIES_H
#define KERNEL_KFD_PROPERTIES_H

#include <stdint.h>

#include "base/opt.h"
#include "base/str.h"

struct kfd_properties {
    uint64_t location_id; /* bus << 8 | device << 3 | function */
    uint64_t domain; /* 0 on kernels that do not report it */
    struct opt_u64 simd_count, simd_per_cu;
};

/* Returns 0, or -EINVAL where there is no location or a number that we want is broken. A cut last line is passed over.
 */
int kfd_properties_parse(struct str text, struct kfd_properties *ret_properties);

#endif
