/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine with cards for the tests of the vendors that read sysfs: devices as the kernel lays them out, DRM clients
 * as a plain table, and one vendor stepped by hand. gpu_fixture.c stands in for fdinfo.c and gpu.c.
 */
#ifndef TESTS_UNIT_GPU_FIXTURE_H
#define TESTS_UNIT_GPU_FIXTURE_H

#include <stdbool.h>

#include "collect/gpu/drm/fdinfo.h"
#include "collect/gpu/gpu.h"
#include "fake_env.h"

enum { GPU_FIXTURE_USES_MAX = 8 };

/* What fdinfo is to say of one device, named by its PCI address or its driver. */
struct gpu_fixture_use {
    const char *device;
    struct fdinfo_use tree, host;
};

struct fdinfo {
    bool has_kfd;
    struct gpu_fixture_use uses[GPU_FIXTURE_USES_MAX];
    size_t count;
};

struct gpu_fixture {
    struct fake_env fake;
    const struct gpu_vendor *vendor;
    void *state; /* NULL: not open */
    struct fdinfo clients;
    struct gpu_list list; /* of the last read */
    struct job_member members[4];
    size_t member_count;
    int open_count_before;
};

void gpu_fixture_init(struct gpu_fixture *fixture, const struct gpu_vendor *vendor);

/* Closes the vendor and fails the test if it left a descriptor open. */
void gpu_fixture_fini(struct gpu_fixture *fixture);

/* For tests that start with a fresh one of the vendor in *state. */
int gpu_fixture_setup(void **state, const struct gpu_vendor *vendor);
int gpu_fixture_teardown(void **state);

/* sys/class/drm/card0 (or accel0) with a device on PCI and its driver; ids "0x1002 0x744c 0xc8". */
void gpu_fixture_add_card(struct gpu_fixture *fixture, const char *card, const char *driver, const char *pdev);

/* A file below the device ("gpu_busy_percent", "hwmon/hwmon2/temp1_input"). */
void gpu_fixture_write(struct gpu_fixture *fixture, const char *pdev, const char *name, const char *text);
void gpu_fixture_remove(struct gpu_fixture *fixture, const char *pdev, const char *name);

/* What fdinfo reports of a device from now on; vram and usage below 0 are absent. */
void gpu_fixture_set_use(struct gpu_fixture *fixture, const char *device, double tree, double host, int64_t vram_bytes);

int gpu_fixture_open(struct gpu_fixture *fixture);

/* One tick ns after the one before it; attribute follows a successful read. */
int gpu_fixture_tick(struct gpu_fixture *fixture, int64_t ns);
int gpu_fixture_baseline(struct gpu_fixture *fixture);
int gpu_fixture_final_tick(struct gpu_fixture *fixture, int64_t ns);

const struct gpu_card *gpu_fixture_card(const struct gpu_fixture *fixture, size_t index);

/* The value of a detail, or NULL. */
const char *gpu_fixture_detail(const struct gpu_card *card, const char *key);

#define assert_f64(opt, expected)                                                                                      \
    do {                                                                                                               \
        struct opt_f64 opt_ = (opt);                                                                                   \
        assert_true(opt_.has);                                                                                         \
        assert_float_equal(opt_.v, (expected), 1e-6);                                                                  \
    } while (0)

#define assert_u64(opt, expected)                                                                                      \
    do {                                                                                                               \
        struct opt_u64 opt_ = (opt);                                                                                   \
        assert_true(opt_.has);                                                                                         \
        assert_int_equal(opt_.v, (expected));                                                                          \
    } while (0)

#endif
