/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_world.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static struct fdinfo_use find_use(const struct fdinfo *clients, struct fdinfo_device device, bool host)
{
    const char *wanted = device.pdev[0] ? device.pdev : device.driver;
    for (size_t i = 0; i < clients->count; i++) {
        if (strcmp(clients->uses[i].device, wanted) == 0)
            return host ? clients->uses[i].host : clients->uses[i].tree;
    }
    return (struct fdinfo_use){0};
}

struct fdinfo_use fdinfo_tree_use(const struct fdinfo *fdinfo, struct fdinfo_device device)
{
    return find_use(fdinfo, device, false);
}

struct fdinfo_use fdinfo_host_use(const struct fdinfo *fdinfo, struct fdinfo_device device)
{
    return find_use(fdinfo, device, true);
}

void gpu_add_detail(struct gpu_facts *facts, const char *key, const char *value)
{
    if (!value[0])
        return;
    assert_true(facts->detail_count < GPU_DETAILS_MAX);
    struct gpu_detail *detail = &facts->details[facts->detail_count++];
    detail->key = key;
    (void)str_copy(str_of(value), detail->value, sizeof(detail->value));
}

__attribute__((format(printf, 2, 3))) static void format_path(char out[static PATH_MAX], const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(out, PATH_MAX, fmt, args);
    va_end(args);
    assert_true(n > 0 && n < PATH_MAX);
}

void gpu_world_init(struct gpu_world *world, const struct gpu_vendor *vendor)
{
    *world = (struct gpu_world){.vendor = vendor};
    fake_env_init(&world->fake);
    world->open_count_before = fake_env_open_count();
}

void gpu_world_fini(struct gpu_world *world)
{
    if (world->state)
        world->vendor->close(world->state);
    free(world->state);
    assert_int_equal(fake_env_open_count(), world->open_count_before);
    fake_env_fini(&world->fake);
}

void gpu_world_write(struct gpu_world *world, const char *pdev, const char *name, const char *text)
{
    char path[PATH_MAX];
    format_path(path, "sys/devices/pci0000:00/%s/%s", pdev, name);
    fake_env_write(&world->fake, path, text);
}

void gpu_world_remove(struct gpu_world *world, const char *pdev, const char *name)
{
    char path[PATH_MAX];
    format_path(path, "sys/devices/pci0000:00/%s/%s", pdev, name);
    fake_env_remove(&world->fake, path);
}

void gpu_world_add_card(struct gpu_world *world, const char *card, const char *driver, const char *pdev)
{
    const char *class = strncmp(card, "accel", 5) == 0 ? "accel" : "drm";
    char path[PATH_MAX], target[PATH_MAX];
    format_path(path, "sys/devices/pci0000:00/%s/%s/%s/device", pdev, class, card);
    format_path(target, "../../../%s", pdev);
    fake_env_link(&world->fake, path, target);
    format_path(path, "sys/class/%s/%s", class, card);
    format_path(target, "../../devices/pci0000:00/%s/%s/%s", pdev, class, card);
    fake_env_link(&world->fake, path, target);
    format_path(path, "sys/devices/pci0000:00/%s/driver", pdev);
    format_path(target, "../../../bus/pci/drivers/%s", driver);
    fake_env_link(&world->fake, path, target);
    gpu_world_write(world, pdev, "vendor", "0x1002\n");
    gpu_world_write(world, pdev, "device", "0x744c\n");
    gpu_world_write(world, pdev, "revision", "0xc8\n");
}

static struct opt_f64 known_f64(double value)
{
    return value < 0 ? (struct opt_f64){0} : some_f64(value);
}

void gpu_world_set_use(struct gpu_world *world, const char *device, double tree, double host, int64_t vram_bytes)
{
    size_t at = 0;
    while (at < world->clients.count && strcmp(world->clients.uses[at].device, device) != 0)
        at++;
    assert_true(at < GPU_WORLD_USES_MAX);
    struct opt_u64 vram = vram_bytes < 0 ? (struct opt_u64){0} : some_u64((uint64_t)vram_bytes);
    world->clients.uses[at] = (struct gpu_world_use){.device = device,
        .tree = {.usage = known_f64(tree), .vram_bytes = vram},
        .host = {.usage = known_f64(host), .vram_bytes = vram}};
    if (at == world->clients.count)
        world->clients.count++;
}

int gpu_world_open(struct gpu_world *world)
{
    struct err err = {0};
    world->state = malloc(world->vendor->state_bytes);
    assert_non_null(world->state);
    memset(world->state, 0xa5, world->vendor->state_bytes);
    int r = world->vendor->open(world->state, &world->fake.env, &err);
    if (r < 0) {
        free(world->state);
        world->state = NULL;
    }
    return r;
}

static int step(struct gpu_world *world, int64_t ns, bool is_final)
{
    fake_env_advance(&world->fake, ns);
    struct gpu_turn turn = {.is_final = is_final,
        .now_ns = world->fake.mono_ns,
        .members = world->members,
        .member_count = world->member_count,
        .is_tracking = true,
        .clients = &world->clients};
    struct err err = {0};
    int r = world->vendor->read(world->state, &turn, &world->list, &err);
    if (r == 0)
        world->vendor->attribute(world->state, &turn);
    return r;
}

int gpu_world_turn(struct gpu_world *world, int64_t ns)
{
    return step(world, ns, false);
}

int gpu_world_final_turn(struct gpu_world *world, int64_t ns)
{
    return step(world, ns, true);
}

const struct gpu_card *gpu_world_card(const struct gpu_world *world, size_t index)
{
    assert_true(world->list.is_known);
    assert_true(index < world->list.count);
    return &world->list.cards[index];
}

const char *gpu_world_detail(const struct gpu_card *card, const char *key)
{
    for (size_t i = 0; i < card->facts.detail_count; i++) {
        if (strcmp(card->facts.details[i].key, key) == 0)
            return card->facts.details[i].value;
    }
    return NULL;
}
