/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROCm compute jobs as the KFD driver counts them, below /sys/class/kfd/kfd: device memory and compute units in use per
 * process and GPU. Older kernels show such jobs nowhere else.
 */
#ifndef COLLECT_GPU_DRM_AMD_KFD_H
#define COLLECT_GPU_DRM_AMD_KFD_H

#include <stddef.h>

#include "base/opt.h"
#include "collect/collect.h"

struct amd_kfd;

/* What the tree has of one GPU; absent where none of its processes can be read. */
struct amd_kfd_use {
    struct opt_u64 vram_bytes;
    struct opt_f64 usage; /* share of its compute units in use right now, 0 to 1 */
    bool is_cut; /* there were more processes than fit, or one had invalid values: nothing is known */
    bool is_silent; /* a process has memory there, and the driver does not report how busy it is */
};

/*
 * Takes memory. Returns 0; -ENODATA where there is no KFD, or where its PIDs are not ours: they are those of the
 * initial PID namespace. *ret_kfd is NULL on failure.
 */
int amd_kfd_new(const struct collect_env *env, struct amd_kfd **ret_kfd);
void amd_kfd_free(struct amd_kfd *kfd);

/* How many compute units the GPU at a PCI address has. */
struct opt_u64 amd_kfd_cu_count(const struct amd_kfd *kfd, const char *pdev);

/* Finds out which members KFD knows. Opens files for new ones only. */
void amd_kfd_tick(struct amd_kfd *kfd, const struct job_member *members, size_t count);

/* Reads what they use of the GPU at a PCI address. */
struct amd_kfd_use amd_kfd_read_use(struct amd_kfd *kfd, const char *pdev);

#endif
