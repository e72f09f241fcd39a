/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/nvidia/devices.h"

#include <fcntl.h>
#include <unistd.h>

bool nvidia_devices_are_there(const struct collect_env *env)
{
    const int root_fd = env->root->root_fd;
    if (!env->gpu.program)
        return false;
    if (env->gpu.nvml_library || faccessat(root_fd, "dev/nvidiactl", F_OK, 0) == 0)
        return true;
    /* In WSL the device file is the same for GPUs of all vendors, and the library tells. */
    return faccessat(root_fd, "dev/dxg", F_OK, 0) == 0 &&
           faccessat(root_fd, "usr/lib/wsl/lib/libnvidia-ml.so.1", F_OK, 0) == 0;
}
