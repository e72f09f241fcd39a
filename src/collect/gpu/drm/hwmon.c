/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/drm/hwmon.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum {
    SENSORS_MAX = 8,
    CELSIUS_MIN = -60,
    CELSIUS_MAX = 200,
    WATTS_MAX = 10000, /* 65535 is what firmware says for "unknown" */
    MHZ_MAX = 20000,
};

/* The sensor with the label, else the first that is there: some cards have no temp1. */
static void init_temperature(struct hwmon *hwmon, int sys_fd, const char *folder, const char *label)
{
    unsigned chosen = 0;
    for (unsigned i = 1; i <= SENSORS_MAX; i++) {
        char path[2 * DRM_CARD_PATH_BYTES];
        char text[DRM_CARD_TEXT_BYTES];
        (void)snprintf(path, sizeof(path), "%s/temp%u_label", folder, i);
        if (file_read_line_at(sys_fd, path, text, sizeof(text)) > 0 && strcmp(text, label) == 0) {
            chosen = i;
            break;
        }
    }
    for (unsigned i = chosen ? chosen : 1; i <= SENSORS_MAX; i++) {
        char name[DRM_CARD_TEXT_BYTES];
        (void)snprintf(name, sizeof(name), "temp%u_input", i);
        gpu_attribute_init(&hwmon->temperature, sys_fd, folder, name);
        if (hwmon->temperature.exists)
            return;
    }
}

void hwmon_init(struct hwmon *hwmon, int sys_fd, const char *folder, const char *label)
{
    *hwmon = (struct hwmon){0};
    int fd = folder[0] ? sys_fd : -1;
    init_temperature(hwmon, fd, folder, label);
    gpu_attribute_init(&hwmon->frequency, fd, folder, "freq1_input");
    gpu_attribute_init(&hwmon->power_average, fd, folder, "power1_average");
    gpu_attribute_init(&hwmon->power_input, fd, folder, "power1_input");
    gpu_attribute_init(&hwmon->energy, fd, folder, "energy1_input");
    /* On xe the first channel is the card, which not every model measures, and the second the package. */
    if (!hwmon->energy.exists)
        gpu_attribute_init(&hwmon->energy, fd, folder, "energy2_input");
}

void hwmon_fini(struct hwmon *hwmon)
{
    gpu_attribute_fini(&hwmon->temperature);
    gpu_attribute_fini(&hwmon->frequency);
    gpu_attribute_fini(&hwmon->energy);
    gpu_attribute_fini(&hwmon->power_average);
    gpu_attribute_fini(&hwmon->power_input);
}

static struct opt_f64 read_celsius(struct hwmon *hwmon, struct buf *text)
{
    struct opt_i64 value = gpu_attribute_read_i64(&hwmon->temperature, text);
    double celsius = (double)value.v / 1e3;
    if (!value.has || celsius < CELSIUS_MIN || celsius > CELSIUS_MAX)
        return (struct opt_f64){0};
    return some_f64(celsius);
}

static struct opt_f64 check_watts(struct opt_f64 watts)
{
    return watts.has && watts.v <= WATTS_MAX ? watts : (struct opt_f64){0};
}

static struct opt_f64 read_watts(struct hwmon *hwmon, struct buf *text)
{
    struct opt_f64 average = check_watts(opt_scaled(gpu_attribute_read_u64(&hwmon->power_average, text), 1e6));
    if (average.has)
        return average;
    return check_watts(opt_scaled(gpu_attribute_read_u64(&hwmon->power_input, text), 1e6));
}

struct opt_f64 hwmon_check_mhz(struct opt_f64 mhz)
{
    return mhz.has && mhz.v <= MHZ_MAX ? mhz : (struct opt_f64){0};
}

/* Returns the power that its growth means. */
static struct opt_f64 read_energy(
    struct hwmon *hwmon, struct fleet *fleet, const struct gpu_turn *turn, struct gpu_card *card)
{
    bool is_first = !hwmon->energy_uj.last.has;
    bool tells_power = !hwmon->power_average.exists && !hwmon->power_input.exists;
    if (!is_first && !turn->is_final && !tells_power)
        return (struct opt_f64){0};
    struct opt_u64 now = gpu_attribute_read_u64(&hwmon->energy, &fleet->text);
    struct opt_f64 rate = gpu_counter_rate(&hwmon->energy_uj, now, fleet->previous_ns, turn->now_ns);
    card->has_energy = hwmon->energy_uj.last.has;
    if (turn->is_final && now.has && !is_first)
        card->energy_joules = some_f64((double)hwmon->energy_uj.total / 1e6);
    return tells_power && rate.has ? check_watts(some_f64(rate.v / 1e6)) : (struct opt_f64){0};
}

void hwmon_begin(struct hwmon *hwmon, struct fleet *fleet, size_t index, const struct gpu_turn *turn)
{
    (void)read_energy(hwmon, fleet, turn, &fleet->cards[index]);
}

void hwmon_read(struct hwmon *hwmon, struct fleet *fleet, size_t index, const struct gpu_turn *turn)
{
    struct gpu_card *card = &fleet->cards[index];
    card->reading.temperature_celsius = read_celsius(hwmon, &fleet->text);
    card->reading.power_watts = read_watts(hwmon, &fleet->text);
    card->reading.frequency_mhz =
        hwmon_check_mhz(opt_scaled(gpu_attribute_read_u64(&hwmon->frequency, &fleet->text), 1e6));
    struct opt_f64 watts = read_energy(hwmon, fleet, turn, card);
    if (!card->reading.power_watts.has)
        card->reading.power_watts = watts;
}
