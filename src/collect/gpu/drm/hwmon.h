/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temperature, power, clock and energy as drivers show them in hwmon (Documentation/hwmon/sysfs-interface.rst):
 * thousandths of a degree, microwatts, Hz, microjoules.
 */
#ifndef COLLECT_GPU_DRM_HWMON_H
#define COLLECT_GPU_DRM_HWMON_H

#include "collect/gpu/drm/attribute.h"
#include "collect/gpu/drm/fleet.h"

struct hwmon {
    struct gpu_attribute temperature, frequency, energy;
    struct gpu_attribute power_average, power_input;
    struct gpu_counter energy_uj;
};

/* folder "": nothing is there. label: the sensor to take ("edge", "pkg"), where sensors are labelled. */
void hwmon_init(struct hwmon *hwmon, int sys_fd, const char *folder, const char *label);
void hwmon_fini(struct hwmon *hwmon);

/*
 * Fills temperature, power and clock of a card of the fleet, and its energy at the final turn. The energy counter is
 * read every turn only where nothing else tells the power, else once at the beginning and once at the end. What makes
 * no sense is absent.
 */
/* Before the first sample: the energy so far, and nothing that takes time. */
void hwmon_begin(struct hwmon *hwmon, struct fleet *fleet, size_t index, const struct gpu_turn *turn);
void hwmon_read(struct hwmon *hwmon, struct fleet *fleet, size_t index, const struct gpu_turn *turn);

/* A clock in MHz, absent where no device runs like that. */
struct opt_f64 hwmon_check_mhz(struct opt_f64 mhz);

#endif
