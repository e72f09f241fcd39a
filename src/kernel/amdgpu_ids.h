/* SPDX-License-Identifier: Apache-2.0 */
/* libdrm's list of AMD cards, /usr/share/libdrm/amdgpu.ids: "744C,	C8,	AMD Radeon RX 7900 XTX". */
#ifndef KERNEL_AMDGPU_IDS_H
#define KERNEL_AMDGPU_IDS_H

#include <stdint.h>

#include "base/str.h"

/* The name of a card by its PCI device and revision, a part of text. Returns 0, or -ENOENT where it is not listed. */
int amdgpu_ids_find(struct str text, uint64_t device, uint64_t revision, struct str *ret_name);

#endif
