/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU vendor is: it finds its devices once, reads them for every sample, and says what the processes of the
 * tracked tree use of them. Whatever a driver does not report stays absent. A vendor is one file and one row in
 * vendors.c; nothing else knows it by name (docs/adding-a-gpu-vendor.md).
 */
#ifndef COLLECT_GPU_GPU_H
#define COLLECT_GPU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"
#include "collect/collect.h"

enum { GPU_CARDS_MAX = 64, GPU_TEXT_BYTES = 96, GPU_DETAILS_MAX = 8, GPU_REASONS_MAX = 12, GPU_VENDORS_MAX = 8 };

struct fdinfo;

/* What does not change; asked once. An empty text is unknown. */
struct gpu_facts {
    char uuid[GPU_TEXT_BYTES], name[GPU_TEXT_BYTES], host_id[GPU_TEXT_BYTES];
    const char *device_type; /* "GPU", "MIG", "NPU" */
    struct opt_u64 core_count;
    struct gpu_detail {
        const char *key;
        char value[GPU_TEXT_BYTES];
    } details[GPU_DETAILS_MAX];
    size_t detail_count;
};

struct gpu_reading {
    struct opt_f64 utilization_pct;
    struct opt_u64 vram_total_bytes, vram_used_bytes;
    struct opt_f64 temperature_celsius, power_watts, frequency_mhz, memory_utilization_pct;
    bool has_reasons; /* why it runs slower than it could is known */
    const char *reasons[GPU_REASONS_MAX];
    size_t reason_count;
};

/* What the tracked tree has of one device; the totals of the tree are the sums of these. */
struct gpu_use {
    struct opt_f64 usage; /* share of the device over the interval, 0 to 1 */
    struct opt_u64 vram_bytes;
};

struct gpu_card {
    struct gpu_facts facts;
    struct gpu_reading reading;
    struct gpu_use use; /* absent until attribute has filled it for this tick */
    bool has_energy; /* it counts energy, and did so from the start of the run on */
    struct opt_f64 energy_joules; /* since then; only after a final tick */
};

struct gpu_tick {
    bool baseline; /* nothing is reported: counters may be read for the first time */
    bool is_final; /* the last one: energy is wanted */
    int64_t now_ns; /* monotonic */
    int64_t slot_ns; /* of this sample on the grid */
    const struct job_member *members; /* the live processes of the tree */
    size_t member_count;
    bool is_tracking; /* there is a tree at all */
    const struct fdinfo *clients; /* DRM clients, read just before; NULL where no vendor wants them */
};

/* Whose DRM clients a vendor needs: the tree's, for what it uses, or those of all processes, where no counter says how
 * busy the device is. */
enum gpu_clients { GPU_CLIENTS_NONE, GPU_CLIENTS_TREE, GPU_CLIENTS_ALL };

/* What a vendor shows: its own array, valid until its next call. */
struct gpu_list {
    struct gpu_card *cards;
    size_t count;
    bool is_known; /* false: there may be devices, but nothing is known of them yet */
};

/* What --doctor says of a vendor besides its devices. */
enum gpu_remark_kind {
    GPU_REMARK_LIMITED, /* a part cannot be measured */
    GPU_REMARK_OFF, /* this build cannot measure it */
    GPU_REMARK_MISSING, /* the machine has it, but out of reach */
};

struct gpu_remark {
    enum gpu_remark_kind kind;
    const char *subject; /* "nvidia processes" */
    const char *remedy; /* NULL: none */
    const char *text;
};

/*
 * drivers: the kernel drivers of /sys/class/drm whose cards are its own, with blanks between; NULL: none.
 * compute_device: a device file whose holders compute past all DRM clients; NULL: none.
 * open: finds the devices. 0, -ENODATA ("none here": asked again after a while), or another negative errno. state is
 *   zeroed memory of state_bytes. Nothing slow: the command has only just been started.
 * clients: what it needs of fdinfo; NULL: nothing.
 * read: device readings of this tick, and the list of devices, with no use. err may name a part that is missing.
 *   -ENODEV: all devices are gone, the vendor is closed and opened again later.
 * attribute: fills card.use of every card from tick->members and tick->clients; only where a tree is tracked, right
 *   after read. 0 where the tree has nothing on a card that can be asked, absent where it cannot. NULL: cannot.
 * watch_fd, woken: a descriptor that becomes readable when something is due, as in struct collector; NULL: none.
 * run_helper: was the program started as a helper process of this vendor? Then it runs as that until it ends, and
 *   *ret_status is its exit status. NULL: it has none.
 * remark: see struct gpu_remark; false: nothing to say. is_found: it has something here. NULL: never.
 * remedy: what to try where its devices cannot be read; NULL: what the errno suggests.
 * build_note: what --version -v says of it, with a newline; NULL: nothing.
 */
struct gpu_vendor {
    char name[8];
    const char *drivers, *compute_device;
    size_t state_bytes;
    int (*open)(void *state, const struct collect_env *env, struct err *err);
    enum gpu_clients (*clients)(const void *state);
    int (*read)(void *state, const struct gpu_tick *tick, struct gpu_list *ret_list, struct err *err);
    void (*attribute)(void *state, const struct gpu_tick *tick);
    void (*close)(void *state);
    int (*watch_fd)(const void *state);
    void (*woken)(void *state);
    bool (*run_helper)(int argc, char **argv, int *ret_status);
    bool (*remark)(const struct collect_env *env, bool is_found, struct gpu_remark *ret_remark);
    const char *remedy, *build_note;
};

/* In the order of the output; see vendors.c. */
extern const struct gpu_vendor *const gpu_vendors[];
extern const size_t gpu_vendor_count;

/* The vendor that claims the cards of a driver; NULL: none does. */
const struct gpu_vendor *gpu_vendor_of_driver(const char *driver);

/* run_helper of the vendor that it is; false: the program was not started as a helper of any. */
bool gpu_run_helper(int argc, char **argv, int *ret_status);

/* Adds a fact; one that is empty or that does not fit is left out. key must live for ever. */
void gpu_add_detail(struct gpu_facts *facts, const char *key, const char *value);

#endif
