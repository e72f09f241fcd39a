/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for everything about NVIDIA where the build leaves NVML out (-Dgpu=disabled), as a static program must: it
 * cannot load a library. Where there are NVIDIA GPUs they are reported as unknown, with the reason.
 */
#include <errno.h>

#include "collect/gpu/gpu.h"
#include "collect/gpu/nvidia/nvidia_internal.h"

static int none_open(void *state, const struct collect_env *env, struct err *err)
{
    (void)state;
    return nvidia_devices_are_there(env) ? 0 : err_set(err, -ENODATA, "nvidia: no device file");
}

static int none_read(void *state, const struct gpu_tick *tick, struct gpu_list *ret_list, struct err *err)
{
    (void)state;
    (void)tick;
    *ret_list = (struct gpu_list){0};
    (void)err_set(err, -ENOSYS, "nvidia: this build has no NVML: NVIDIA GPUs are not measured");
    return 0;
}

static void none_close(void *state)
{
    (void)state;
}

static bool none_remark(const struct collect_env *env, bool is_found, struct gpu_remark *ret_remark)
{
    (void)env;
    *ret_remark = (struct gpu_remark){
        .kind = GPU_REMARK_OFF, .subject = "nvidia", .text = "this build has no NVML: NVIDIA GPUs are not measured"};
    return !is_found;
}

const struct gpu_vendor gpu_vendor_nvidia = {
    .name = "nvidia",
    .drivers = NVIDIA_DRIVERS,
    .state_bytes = 1,
    .open = none_open,
    .read = none_read,
    .close = none_close,
    .remark = none_remark,
    .remedy = "Use the glibc build, which has NVML.",
    .build_note = "built without NVML: NVIDIA GPUs are not measured\n",
};
