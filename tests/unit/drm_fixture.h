/* SPDX-License-Identifier: Apache-2.0 */
/* Cards and processes with DRM descriptors in a fake machine, and the ticks of fdinfo over them. */
#ifndef TESTS_UNIT_DRM_FIXTURE_H
#define TESTS_UNIT_DRM_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collect/gpu/drm/fdinfo.h"
#include "fake_env.h"

#define PDEV "0000:03:00.0"

struct drm_fixture {
    struct fake_env fake;
    struct fdinfo *fdinfo;
    struct job_member members[8];
    size_t count;
    bool all_processes;
};

static const struct fdinfo_device drm_card = {.pdev = PDEV, .driver = "unlike"};

/* A file below a device ("gpu_busy_percent", "hwmon/hwmon2/temp1_input"). */
static inline void drm_fixture_write_device(struct fake_env *fake, const char *pdev, const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "sys/devices/pci0000:00/%s/%s", pdev, name);
    fake_env_write(fake, path, text);
}

/* sys/class/drm/card0 (or accel0) with a device on PCI and its driver; ids "0x1002 0x744c 0xc8". */
static inline void drm_fixture_add_card(struct fake_env *fake, const char *card, const char *driver, const char *pdev)
{
    const char *class = strncmp(card, "accel", 5) == 0 ? "accel" : "drm";
    char path[128], target[128];
    (void)snprintf(path, sizeof(path), "sys/devices/pci0000:00/%s/%s/%s/device", pdev, class, card);
    (void)snprintf(target, sizeof(target), "../../../%s", pdev);
    fake_env_link(fake, path, target);
    (void)snprintf(path, sizeof(path), "sys/class/%s/%s", class, card);
    (void)snprintf(target, sizeof(target), "../../devices/pci0000:00/%s/%s/%s", pdev, class, card);
    fake_env_link(fake, path, target);
    (void)snprintf(path, sizeof(path), "sys/devices/pci0000:00/%s/driver", pdev);
    (void)snprintf(target, sizeof(target), "../../../bus/pci/drivers/%s", driver);
    fake_env_link(fake, path, target);
    drm_fixture_write_device(fake, pdev, "vendor", "0x1002\n");
    drm_fixture_write_device(fake, pdev, "device", "0x744c\n");
    drm_fixture_write_device(fake, pdev, "revision", "0xc8\n");
}

static inline void drm_fixture_init(struct drm_fixture *fixture)
{
    *fixture = (struct drm_fixture){0};
    fake_env_init(&fixture->fake);
    assert_int_equal(fdinfo_new(&fixture->fake.env, &fixture->fdinfo), 0);
}

static inline void drm_fixture_fini(struct drm_fixture *fixture)
{
    fdinfo_free(fixture->fdinfo);
    fake_env_fini(&fixture->fake);
}

/* For tests that start with a fresh one in *state. */
static inline int drm_fixture_setup(void **state)
{
    struct drm_fixture *fixture = malloc(sizeof(*fixture));
    assert_non_null(fixture);
    drm_fixture_init(fixture);
    *state = fixture;
    return 0;
}

static inline int drm_fixture_teardown(void **state)
{
    drm_fixture_fini(*state);
    free(*state);
    return 0;
}

#define drm_unit_test(test) cmocka_unit_test_setup_teardown(test, drm_fixture_setup, drm_fixture_teardown)

static inline void drm_fixture_join(struct drm_fixture *fixture, pid_t pid, uint64_t start_ticks)
{
    assert_true(fixture->count < sizeof(fixture->members) / sizeof(fixture->members[0]));
    fixture->members[fixture->count++] = (struct job_member){.pid = pid, .start_ticks = start_ticks};
}

/* The process has gone, with all its files. */
static inline void drm_fixture_leave(struct drm_fixture *fixture, pid_t pid)
{
    size_t kept = 0;
    for (size_t i = 0; i < fixture->count; i++) {
        if (fixture->members[i].pid != pid)
            fixture->members[kept++] = fixture->members[i];
    }
    fixture->count = kept;
}

/* What this descriptor shows from now on. */
static inline void drm_fixture_show(struct drm_fixture *fixture, pid_t pid, int fd, const char *text)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d/fdinfo/%d", (int)pid, fd);
    fake_env_write(&fixture->fake, path, text);
}

static inline void drm_fixture_open(struct drm_fixture *fixture, pid_t pid, int fd, const char *text)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d/fd/%d", (int)pid, fd);
    fake_env_link(&fixture->fake, path, "/dev/dri/renderD128");
    drm_fixture_show(fixture, pid, fd, text);
}

/* Kept descriptors on its file fail from now on. */
static inline void drm_fixture_close(struct drm_fixture *fixture, pid_t pid, int fd)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d/fdinfo/%d", (int)pid, fd);
    drm_fixture_show(fixture, pid, fd, "cut");
    fake_env_remove(&fixture->fake, path);
    (void)snprintf(path, sizeof(path), "proc/%d/fd/%d", (int)pid, fd);
    fake_env_remove(&fixture->fake, path);
}

static inline void drm_fixture_remove(struct drm_fixture *fixture, pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d", (int)pid);
    fake_env_remove(&fixture->fake, path);
}

static inline void drm_fixture_tick(struct drm_fixture *fixture)
{
    fdinfo_tick(fixture->fdinfo, fixture->members, fixture->count, fixture->all_processes, fixture->fake.mono_ns);
}

static inline void drm_fixture_step(struct drm_fixture *fixture, int64_t ns)
{
    fake_env_advance(&fixture->fake, ns);
    drm_fixture_tick(fixture);
}

/* One client of a device that has kept "gfx" busy for so many ms. The text is valid until the next call. */
static inline const char *drm_fixture_client_of(const char *pdev, unsigned id, unsigned busy_ms)
{
    static char text[256];
    (void)snprintf(text, sizeof(text),
        "pos:\t0\nflags:\t02\ndrm-driver:\tamdgpu\ndrm-client-id:\t%u\ndrm-pdev:\t%s\n"
        "drm-memory-vram:\t1000 KiB\ndrm-engine-gfx:\t%u000000 ns\n",
        id, pdev, busy_ms);
    return text;
}

static inline const char *drm_fixture_client(unsigned id, unsigned busy_ms)
{
    return drm_fixture_client_of(PDEV, id, busy_ms);
}

static inline double drm_fixture_usage(const struct drm_fixture *fixture)
{
    struct fdinfo_use use = fdinfo_tree_use(fixture->fdinfo, drm_card);
    assert_true(use.usage.has);
    return use.usage.v;
}

/* A client was lost in this tick: of the memory that is left everything is known. */
static inline bool drm_fixture_is_usage_lost(const struct drm_fixture *fixture)
{
    struct fdinfo_use use = fdinfo_tree_use(fixture->fdinfo, drm_card);
    assert_true(use.vram_bytes.has);
    return !use.usage.has;
}

static inline uint64_t drm_fixture_vram(const struct drm_fixture *fixture)
{
    struct fdinfo_use use = fdinfo_tree_use(fixture->fdinfo, drm_card);
    assert_true(use.vram_bytes.has);
    return use.vram_bytes.v;
}

static inline bool drm_fixture_is_known(const struct drm_fixture *fixture)
{
    struct fdinfo_use use = fdinfo_tree_use(fixture->fdinfo, drm_card);
    assert_int_equal(use.usage.has, use.vram_bytes.has);
    return use.usage.has;
}

#define assert_near(value, expected) assert_true((value) > (expected)-1e-9 && (value) < (expected) + 1e-9)

#endif
