/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of devices, counters among them, and the sensors that hwmon makes of them. */
#include "collect/gpu/drm/drm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

enum {
    SENSORS_MAX = 8,
    CELSIUS_MIN = -60,
    CELSIUS_MAX = 200,
    WATTS_MAX = 10000, /* 65535 is what firmware says for "unknown" */
    MHZ_MAX = 20000,
};

void gpu_attribute_init(struct gpu_attribute *attribute, int sys_fd, const char *directory, const char *name)
{
    char path[sizeof(attribute->file.path)];
    int n = snprintf(path, sizeof(path), "%s/%s", directory, name);
    bool fits = n > 0 && (size_t)n < sizeof(path);
    kept_file_init(&attribute->file, sys_fd, fits ? path : "", FILE_SINGLE);
    int fd = fits ? file_open_at(sys_fd, path, O_RDONLY) : -ENAMETOOLONG;
    attribute->exists = fd >= 0;
    if (fd >= 0)
        attribute->file.fd = fd;
}

void gpu_attribute_fini(struct gpu_attribute *attribute)
{
    if (attribute->exists)
        kept_file_fini(&attribute->file);
    attribute->exists = false;
}

/* What a driver says for "not now" or "not on this device"; another descriptor would hear the same. */
static bool is_answer(int r)
{
    static const int answers[] = {
        -EOPNOTSUPP, -EINVAL, -EPERM, -EACCES, -EBUSY, -EIO, -ETIMEDOUT, -EAGAIN, -ENODATA, -EFBIG, -ENOMEM};
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (r == answers[i])
            return true;
    }
    return r >= 0;
}

int gpu_attribute_read(struct gpu_attribute *attribute, struct buf *text)
{
    if (!attribute->exists)
        return -ENOENT;
    struct kept_file *file = &attribute->file;
    int r = file->fd >= 0 ? file_read_fd(file->fd, file->shape, text) : -EBADF;
    return is_answer(r) ? r : kept_file_read(file, text);
}

struct opt_u64 gpu_attribute_read_u64(struct gpu_attribute *attribute, struct buf *text)
{
    uint64_t value;
    if (gpu_attribute_read(attribute, text) < 0 || num_parse_u64(str_trim(buf_str(text)), &value))
        return (struct opt_u64){0};
    return some_u64(value);
}

struct opt_f64 gpu_counter_rate(struct gpu_counter *counter, struct opt_u64 now, int64_t previous_ns, int64_t now_ns)
{
    if (!now.has)
        return (struct opt_f64){0};
    struct opt_u64 growth = counter_delta_opt(counter->last, now);
    bool is_adjacent = counter->last.has && counter->last_ns == previous_ns;
    struct opt_f64 rate = is_adjacent ? rate_per_sec(growth, now_ns - previous_ns) : (struct opt_f64){0};
    counter->total += growth.has ? growth.v : 0;
    counter->last = now;
    counter->last_ns = now_ns;
    return rate;
}

/* The sensor with the label, else the first that is there: some cards have no temp1. */
static void init_temperature(struct hwmon *hwmon, int sys_fd, const char *directory, const char *label)
{
    unsigned chosen = 0;
    for (unsigned i = 1; i <= SENSORS_MAX; i++) {
        char path[2 * DRM_CARD_PATH_BYTES];
        char text[DRM_CARD_TEXT_BYTES];
        (void)snprintf(path, sizeof(path), "%s/temp%u_label", directory, i);
        if (file_read_line_at(sys_fd, path, text, sizeof(text)) > 0 && strcmp(text, label) == 0) {
            chosen = i;
            break;
        }
    }
    for (unsigned i = chosen ? chosen : 1; i <= SENSORS_MAX; i++) {
        char name[DRM_CARD_TEXT_BYTES];
        (void)snprintf(name, sizeof(name), "temp%u_input", i);
        gpu_attribute_init(&hwmon->temperature, sys_fd, directory, name);
        if (hwmon->temperature.exists)
            return;
    }
}

void hwmon_init(struct hwmon *hwmon, const struct drm_card *card, const char *label)
{
    *hwmon = (struct hwmon){0};
    const char *directory = card->hwmon;
    int fd = directory[0] ? card->sys_fd : -1;
    init_temperature(hwmon, fd, directory, label);
    gpu_attribute_init(&hwmon->frequency, fd, directory, "freq1_input");
    gpu_attribute_init(&hwmon->power_average, fd, directory, "power1_average");
    gpu_attribute_init(&hwmon->power_input, fd, directory, "power1_input");
    gpu_attribute_init(&hwmon->energy, fd, directory, "energy1_input");
    /* On xe the first channel is the card, which not every model measures, and the second the package. */
    if (!hwmon->energy.exists)
        gpu_attribute_init(&hwmon->energy, fd, directory, "energy2_input");
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
    int64_t value;
    if (gpu_attribute_read(&hwmon->temperature, text) < 0 || num_parse_i64(str_trim(buf_str(text)), &value) < 0)
        return (struct opt_f64){0};
    double celsius = (double)value / 1e3;
    if (celsius < CELSIUS_MIN || celsius > CELSIUS_MAX)
        return (struct opt_f64){0};
    return some_f64(celsius);
}

static struct opt_f64 check(struct opt_f64 value, double most)
{
    value.has &= value.v <= most;
    return value;
}

static struct opt_f64 check_watts(struct opt_f64 watts)
{
    return check(watts, WATTS_MAX);
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
    return check(mhz, MHZ_MAX);
}

/* Returns the power that its growth means. */
static struct opt_f64 read_energy(
    struct hwmon *hwmon, struct drm_cards *cards, const struct gpu_tick *tick, struct gpu_card *card)
{
    bool is_first = !hwmon->energy_uj.last.has;
    bool derives_power = !hwmon->power_average.exists && !hwmon->power_input.exists;
    if (!is_first && !tick->is_final && !derives_power)
        return (struct opt_f64){0};
    struct opt_u64 now = gpu_attribute_read_u64(&hwmon->energy, &cards->text);
    struct opt_f64 rate = gpu_counter_rate(&hwmon->energy_uj, now, cards->previous_ns, tick->now_ns);
    card->has_energy = hwmon->energy_uj.last.has;
    if (tick->is_final && now.has && !is_first)
        card->energy_joules = some_f64(num_to_f64(hwmon->energy_uj.total) / 1e6);
    return derives_power && rate.has ? check_watts(some_f64(rate.v / 1e6)) : (struct opt_f64){0};
}

void hwmon_begin(struct drm_cards *cards, size_t index, const struct gpu_tick *tick)
{
    (void)read_energy(&cards->drm[index].sensors, cards, tick, &cards->items[index]);
}

void hwmon_read(struct drm_cards *cards, size_t index, const struct gpu_tick *tick)
{
    struct hwmon *hwmon = &cards->drm[index].sensors;
    struct gpu_card *card = &cards->items[index];
    card->reading.temperature_celsius = read_celsius(hwmon, &cards->text);
    card->reading.power_watts = read_watts(hwmon, &cards->text);
    card->reading.frequency_mhz =
        hwmon_check_mhz(opt_scaled(gpu_attribute_read_u64(&hwmon->frequency, &cards->text), 1e6));
    struct opt_f64 watts = read_energy(hwmon, cards, tick, card);
    if (!card->reading.power_watts.has)
        card->reading.power_watts = watts;
}
