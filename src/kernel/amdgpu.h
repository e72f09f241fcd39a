/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of the amdgpu driver and of libdrm: names of cards, clock tables, KFD nodes. */
#ifndef KERNEL_AMDGPU_H
#define KERNEL_AMDGPU_H

#include <stdint.h>

#include "base/opt.h"
#include "base/str.h"

/*
 * libdrm's list of AMD cards, /usr/share/libdrm/amdgpu.ids. The name of a card by its PCI device and revision, a part
 * of text. Returns 0, or -ENOENT where it is not listed.
 */
int amdgpu_ids_find(struct str text, uint64_t device, uint64_t revision, struct str *ret_name);

/*
 * pp_dpm_sclk and its like (Documentation/gpu/amdgpu/thermal.rst): the clock in use. Returns 0, -ENODATA where no line
 * has a star, or -EINVAL where the one that has it is broken.
 */
int dpm_table_parse_current(struct str text, uint64_t *ret_mhz);

/* /sys/class/kfd/kfd/topology/nodes/N/properties */
struct kfd_properties {
    uint64_t location_id; /* bus << 8 | device << 3 | function */
    uint64_t domain; /* 0 on kernels that do not report it */
    struct opt_u64 simd_count, simd_per_cu;
};

/* Returns 0, or -EINVAL where there is no location or a number that we want is broken. A cut last line is passed over.
 */
int kfd_properties_parse(struct str text, struct kfd_properties *ret_properties);

#endif
