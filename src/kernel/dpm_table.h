/* SPDX-License-Identifier: Apache-2.0 */
/* pp_dpm_sclk and its like of amdgpu (Documentation/gpu/amdgpu/thermal.rst): "1: 2482Mhz *", the star at the one in
 * use. */
#ifndef KERNEL_DPM_TABLE_H
#define KERNEL_DPM_TABLE_H

#include <stdint.h>

#include "base/str.h"

/* Returns 0, -ENODATA where no line has a star, or -EINVAL where the one that has it is broken. */
int dpm_table_parse_current(struct str text, uint64_t *ret_mhz);

#endif
