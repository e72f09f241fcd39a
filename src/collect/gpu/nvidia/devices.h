/* SPDX-License-Identifier: Apache-2.0 */
/* Whether there is anything of NVIDIA's here, before any library is asked. */
#ifndef COLLECT_GPU_NVIDIA_DEVICES_H
#define COLLECT_GPU_NVIDIA_DEVICES_H

#include <stdbool.h>

#include "collect/collect.h"

#define NVIDIA_DRIVERS "nvidia"

/* A device file is in reach, or the user has named a library. False where NVIDIA is never to be asked. */
bool nvidia_devices_are_there(const struct collect_env *env);

#endif
