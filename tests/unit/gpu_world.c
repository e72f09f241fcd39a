/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "drm_world.h"

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

bool fdinfo_is_tree_known(const struct fdinfo *fdinfo)
{
    (void)fdinfo;
    return true;
}

bool fdinfo_tree_has_kfd(const struct fdinfo *fdinfo)
{
    return fdinfo->has_kfd;
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
    drm_world_write_device(&world->fake, pdev, name, text);
}

void gpu_world_remove(struct gpu_world *world, const char *pdev, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "sys/devices/pci0000:00/%s/%s", pdev, name);
    fake_env_remove(&world->fake, path);
}

void gpu_world_add_card(struct gpu_world *world, const char *card, const char *driver, const char *pdev)
{
    drm_world_add_card(&world->fake, card, driver, pdev);
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

static int step(struct gpu_world *world, int64_t ns, struct gpu_turn turn)
{
    fake_env_advance(&world->fake, ns);
    turn.now_ns = world->fake.mono_ns;
    turn.members = world->members;
    turn.member_count = world->member_count;
    turn.is_tracking = true;
    turn.clients = &world->clients;
    struct err err = {0};
    int r = world->vendor->read(world->state, &turn, &world->list, &err);
    if (r == 0)
        world->vendor->attribute(world->state, &turn);
    return r;
}

int gpu_world_turn(struct gpu_world *world, int64_t ns)
{
    return step(world, ns, (struct gpu_turn){0});
}

int gpu_world_baseline(struct gpu_world *world)
{
    return step(world, 0, (struct gpu_turn){.baseline = true});
}

int gpu_world_final_turn(struct gpu_world *world, int64_t ns)
{
    return step(world, ns, (struct gpu_turn){.is_final = true});
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
