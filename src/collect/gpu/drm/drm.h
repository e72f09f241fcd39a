/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the vendors whose drivers show their cards in /sys/class/drm or /sys/class/accel have in common. A vendor says
 * which cards are its own and reads those that are awake; sleeping and vanished ones are dealt with here
 * (Documentation/ABI/testing/sysfs-devices-power), because reading attributes of a sleeping device would wake it.
 */
#ifndef COLLECT_GPU_DRM_DRM_H
#define COLLECT_GPU_DRM_DRM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/opt.h"
#include "collect/gpu/drm/fdinfo.h"
#include "collect/gpu/gpu.h"

enum { GPU_ATTRIBUTE_TEXT_MAX = 8192 }; /* enough for a page of sysfs: the maximum of the buffers passed here */

/*
 * One sysfs attribute of a device, read for every sample through a descriptor that is opened once. An attribute that
 * the driver did not have when the device was found is never asked for again; one that fails is absent for this tick
 * only.
 */
struct gpu_attribute {
    struct kept_file file;
    bool exists;
};

/* Opens directory/name below sys_fd without reading it: reading may wake the device. */
void gpu_attribute_init(struct gpu_attribute *attribute, int sys_fd, const char *directory, const char *name);
void gpu_attribute_fini(struct gpu_attribute *attribute); /* harmless for zeros */

/* Replaces text with the attribute. Returns 0, or a negative errno: -ENOENT where there is none. */
int gpu_attribute_read(struct gpu_attribute *attribute, struct buf *text);

/* The attribute as a number; absent where it cannot be read or is none. text is scratch space. */
struct opt_u64 gpu_attribute_read_u64(struct gpu_attribute *attribute, struct buf *text);

/* A counter that only grows, of which a rate or a sum is wanted. */
struct gpu_counter {
    struct opt_u64 last;
    int64_t last_ns; /* when that was read */
    uint64_t total; /* growth since the first reading */
};

/*
 * Takes a new reading (it may be absent) and returns the growth per second since the last one. Absent where that was
 * not taken at the previous tick (previous_ns): a device that slept in between has no rate for this interval.
 */
struct opt_f64 gpu_counter_rate(struct gpu_counter *counter, struct opt_u64 now, int64_t previous_ns, int64_t now_ns);

/*
 * Temperature, power, clock and energy as drivers show them in hwmon (Documentation/hwmon/sysfs-interface.rst):
 * thousandths of a degree, microwatts, Hz, microjoules.
 */
struct hwmon {
    struct gpu_attribute temperature, frequency, energy;
    struct gpu_attribute power_average, power_input;
    struct gpu_counter energy_uj;
};

enum { DRM_CARD_TEXT_BYTES = 48, DRM_CARD_PATH_BYTES = 64, DRM_ATTRIBUTES_MAX = 16 };

enum drm_state { DRM_AWAKE, DRM_ASLEEP, DRM_GONE };

struct drm_card {
    int sys_fd; /* not owned */
    char directory[DRM_CARD_PATH_BYTES]; /* "class/drm/card0" */
    char driver[DRM_CARD_TEXT_BYTES]; /* "amdgpu"; "" for a device without one */
    char device[DRM_CARD_TEXT_BYTES]; /* the name of the device behind it: "0000:03:00.0", "ff9a0000.gpu" */
    bool is_pci; /* that is a PCI address */
    struct opt_u64 vendor_id, device_id, revision; /* on PCI */
    bool has_render_node;
    char hwmon[DRM_CARD_PATH_BYTES]; /* "class/drm/card0/device/hwmon/hwmon3", or "" */
    struct gpu_attribute runtime_status;
    struct hwmon sensors;
    struct gpu_attribute attributes[DRM_ATTRIBUTES_MAX]; /* of its vendor */
};

/*
 * The entries of a directory that are called prefix and a number, ascending; of more than max, the first ones. Returns
 * how many, or a negative errno.
 */
int drm_list_numbers(int sys_fd, const char *directory, const char *prefix, size_t max, unsigned *ret_numbers);

/* The last component of what a link points to, "" where there is none. */
void drm_read_link_name(int sys_fd, const char *path, char *out, size_t size);

/* Reads what does not change of one device; what it does not show is left empty. */
void drm_card_init(struct drm_card *card, int sys_fd, const char *directory);
void drm_card_fini(struct drm_card *card);

/* Opens an attribute, named below the directory of the card: "gt_act_freq_mhz", "device/gpu_busy_percent". */
void drm_card_init_attribute(const struct drm_card *card, struct gpu_attribute *attribute, const char *name);

/* A one-line attribute of the device behind the card, "" where it has none. */
void drm_card_read_text(const struct drm_card *card, const char *name, char *out, size_t size);

/* "Intel GPU 0x46a6"; the model alone where the device has no such number. */
void drm_card_write_name(const struct drm_card *card, const char *model, char *out, size_t size);

struct drm_cards;

struct drm_cards_kind {
    bool is_accel; /* NPUs of class/accel; else GPUs of class/drm */
    char plural[16]; /* "AMD cards" */
    const char *drivers; /* whose cards are wanted, with blanks between; NULL: `wants` says it */
    bool (*wants)(const struct drm_card *card);
    char sensor[6]; /* the label of that of the temperature ("edge", "pkg"), where sensors are labelled */
    const char *attributes; /* the first of a card, below its directory, each with a NUL behind it, and one more */
    size_t own_bytes; /* of what the vendor keeps of a card besides; 0: nothing */
    void (*init)(struct drm_cards *cards, size_t index); /* of a card that was found, and has these */
    void (*read)(struct drm_cards *cards, size_t index, const struct gpu_tick *tick); /* of one that is awake */
};

/* The state of a vendor, or the first member of it. */
struct drm_cards {
    const struct drm_cards_kind *kind;
    int sys_fd; /* not owned */
    struct drm_card *drm;
    struct gpu_card *items; /* as many */
    enum drm_state *states; /* as of this tick */
    void *own; /* what the vendor keeps of each card, zeroed at first */
    size_t count;
    int64_t previous_ns; /* when the tick before this one was */
    struct buf text; /* scratch space */
};

/*
 * Finds the cards and writes what is known of each without its vendor: address, driver. Returns 0, -ENODATA where there
 * is none, or -ENOMEM with a message.
 */
int drm_cards_open(
    struct drm_cards *cards, const struct collect_env *env, const struct drm_cards_kind *kind, struct err *err);

/* The functions of struct gpu_vendor; use comes from the DRM clients of the tree. state is a struct drm_cards. */
int drm_cards_read(void *state, const struct gpu_tick *tick, struct gpu_list *ret_list, struct err *err);
void drm_cards_attribute(void *state, const struct gpu_tick *tick);
void drm_cards_close(void *state);

/* For a vendor none of whose cards counts how busy it is. */
enum gpu_clients drm_cards_need_all_clients(const void *state);

static inline void *drm_cards_own(const struct drm_cards *cards, size_t index)
{
    return (char *)cards->own + index * cards->kind->own_bytes;
}

/* What all processes that can be read use of a card; absent where no clients were asked for. */
struct fdinfo_use drm_cards_host_use(const struct drm_cards *cards, size_t index, const struct gpu_tick *tick);

/* A share of 0 to 1 as a percentage. */
struct opt_f64 drm_cards_percent(struct opt_f64 share);

void hwmon_init(struct hwmon *hwmon, const struct drm_card *card, const char *label);
void hwmon_fini(struct hwmon *hwmon);

/*
 * hwmon_read fills temperature, power and clock of a card, and its energy at the final tick. The energy counter is read
 * every tick only where nothing else shows the power, else once at the beginning and once at the end. What makes no
 * sense is absent. hwmon_begin, before the first sample: the energy so far, and nothing that takes time.
 */
void hwmon_begin(struct drm_cards *cards, size_t index, const struct gpu_tick *tick);
void hwmon_read(struct drm_cards *cards, size_t index, const struct gpu_tick *tick);

/* A clock in MHz, absent where no device runs like that. */
struct opt_f64 hwmon_check_mhz(struct opt_f64 mhz);

#endif
