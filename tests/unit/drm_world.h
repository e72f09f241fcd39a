/* SPDX-License-Identifier: Apache-2.0 */
/* Cards and processes with DRM descriptors in a fake machine, and the turns of fdinfo over them. */
#ifndef TESTS_UNIT_DRM_WORLD_H
#define TESTS_UNIT_DRM_WORLD_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "collect/gpu/drm/fdinfo.h"
#include "fake_env.h"

#define PDEV "0000:03:00.0"

struct drm_world {
    struct fake_env fake;
    struct fdinfo *fdinfo;
    struct job_member members[8];
    size_t count;
    bool everybody;
};

static const struct fdinfo_device drm_card = {.pdev = PDEV, .driver = "unlike"};

/* A file below a device ("gpu_busy_percent", "hwmon/hwmon2/temp1_input"). */
static inline void drm_world_write_device(struct fake_env *fake, const char *pdev, const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "sys/devices/pci0000:00/%s/%s", pdev, name);
    fake_env_write(fake, path, text);
}

/* sys/class/drm/card0 (or accel0) with a device on PCI and its driver; ids "0x1002 0x744c 0xc8". */
static inline void drm_world_add_card(struct fake_env *fake, const char *card, const char *driver, const char *pdev)
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
    drm_world_write_device(fake, pdev, "vendor", "0x1002\n");
    drm_world_write_device(fake, pdev, "device", "0x744c\n");
    drm_world_write_device(fake, pdev, "revision", "0xc8\n");
}

static inline void drm_world_init(struct drm_world *world)
{
    *world = (struct drm_world){0};
    fake_env_init(&world->fake);
    assert_int_equal(fdinfo_new(&world->fake.env, &world->fdinfo), 0);
}

static inline void drm_world_fini(struct drm_world *world)
{
    fdinfo_free(world->fdinfo);
    fake_env_fini(&world->fake);
}

static inline void drm_world_join(struct drm_world *world, pid_t pid, uint64_t start_ticks)
{
    assert_true(world->count < sizeof(world->members) / sizeof(world->members[0]));
    world->members[world->count++] = (struct job_member){.pid = pid, .start_ticks = start_ticks};
}

/* The process has gone, with all its files. */
static inline void drm_world_leave(struct drm_world *world, pid_t pid)
{
    size_t kept = 0;
    for (size_t i = 0; i < world->count; i++) {
        if (world->members[i].pid != pid)
            world->members[kept++] = world->members[i];
    }
    world->count = kept;
}

/* What this descriptor shows from now on. */
static inline void drm_world_show(struct drm_world *world, pid_t pid, int fd, const char *text)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d/fdinfo/%d", (int)pid, fd);
    fake_env_write(&world->fake, path, text);
}

static inline void drm_world_open(struct drm_world *world, pid_t pid, int fd, const char *text)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d/fd/%d", (int)pid, fd);
    fake_env_link(&world->fake, path, "/dev/dri/renderD128");
    drm_world_show(world, pid, fd, text);
}

/* Kept descriptors on its file fail from now on. */
static inline void drm_world_close(struct drm_world *world, pid_t pid, int fd)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d/fdinfo/%d", (int)pid, fd);
    drm_world_show(world, pid, fd, "cut");
    fake_env_remove(&world->fake, path);
    (void)snprintf(path, sizeof(path), "proc/%d/fd/%d", (int)pid, fd);
    fake_env_remove(&world->fake, path);
}

static inline void drm_world_remove(struct drm_world *world, pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d", (int)pid);
    fake_env_remove(&world->fake, path);
}

static inline void drm_world_turn(struct drm_world *world)
{
    fdinfo_turn(world->fdinfo, world->members, world->count, world->everybody, world->fake.mono_ns);
}

static inline void drm_world_step(struct drm_world *world, int64_t ns)
{
    fake_env_advance(&world->fake, ns);
    drm_world_turn(world);
}

/* One client of a device that has kept "gfx" busy for so many ms. The text is valid until the next call. */
static inline const char *drm_world_client_of(const char *pdev, unsigned id, unsigned busy_ms)
{
    static char text[256];
    (void)snprintf(text, sizeof(text),
        "pos:\t0\nflags:\t02\ndrm-driver:\tamdgpu\ndrm-client-id:\t%u\ndrm-pdev:\t%s\n"
        "drm-memory-vram:\t1000 KiB\ndrm-engine-gfx:\t%u000000 ns\n",
        id, pdev, busy_ms);
    return text;
}

static inline const char *drm_world_client(unsigned id, unsigned busy_ms)
{
    return drm_world_client_of(PDEV, id, busy_ms);
}

static inline double drm_world_usage(const struct drm_world *world)
{
    struct fdinfo_use use = fdinfo_tree_use(world->fdinfo, drm_card);
    assert_true(use.usage.has);
    return use.usage.v;
}

/* A client was lost in this turn: of the memory that is left everything is known. */
static inline bool drm_world_is_usage_lost(const struct drm_world *world)
{
    struct fdinfo_use use = fdinfo_tree_use(world->fdinfo, drm_card);
    assert_true(use.vram_bytes.has);
    return !use.usage.has;
}

static inline uint64_t drm_world_vram(const struct drm_world *world)
{
    struct fdinfo_use use = fdinfo_tree_use(world->fdinfo, drm_card);
    assert_true(use.vram_bytes.has);
    return use.vram_bytes.v;
}

static inline bool drm_world_is_known(const struct drm_world *world)
{
    struct fdinfo_use use = fdinfo_tree_use(world->fdinfo, drm_card);
    assert_int_equal(use.usage.has, use.vram_bytes.has);
    return use.usage.has;
}

#define assert_near(value, expected) assert_true((value) > (expected)-1e-9 && (value) < (expected) + 1e-9)

#endif
