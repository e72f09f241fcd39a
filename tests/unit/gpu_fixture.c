/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "drm_fixture.h"

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

bool fdinfo_tree_holds(const struct fdinfo *fdinfo, const char *compute_device)
{
    assert_string_equal(compute_device, "/dev/kfd");
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

void gpu_fixture_init(struct gpu_fixture *fixture, const struct gpu_vendor *vendor)
{
    *fixture = (struct gpu_fixture){.vendor = vendor};
    fake_env_init(&fixture->fake);
    fixture->open_count_before = fake_env_open_count();
}

void gpu_fixture_fini(struct gpu_fixture *fixture)
{
    if (fixture->state)
        fixture->vendor->close(fixture->state);
    free(fixture->state);
    assert_int_equal(fake_env_open_count(), fixture->open_count_before);
    fake_env_fini(&fixture->fake);
}

int gpu_fixture_setup(void **state, const struct gpu_vendor *vendor)
{
    struct gpu_fixture *fixture = malloc(sizeof(*fixture));
    assert_non_null(fixture);
    gpu_fixture_init(fixture, vendor);
    *state = fixture;
    return 0;
}

int gpu_fixture_teardown(void **state)
{
    gpu_fixture_fini(*state);
    free(*state);
    return 0;
}

void gpu_fixture_write(struct gpu_fixture *fixture, const char *pdev, const char *name, const char *text)
{
    drm_fixture_write_device(&fixture->fake, pdev, name, text);
}

void gpu_fixture_remove(struct gpu_fixture *fixture, const char *pdev, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "sys/devices/pci0000:00/%s/%s", pdev, name);
    fake_env_remove(&fixture->fake, path);
}

void gpu_fixture_add_card(struct gpu_fixture *fixture, const char *card, const char *driver, const char *pdev)
{
    drm_fixture_add_card(&fixture->fake, card, driver, pdev);
}

static struct opt_f64 known_f64(double value)
{
    return value < 0 ? (struct opt_f64){0} : some_f64(value);
}

void gpu_fixture_set_use(struct gpu_fixture *fixture, const char *device, double tree, double host, int64_t vram_bytes)
{
    size_t at = 0;
    while (at < fixture->clients.count && strcmp(fixture->clients.uses[at].device, device) != 0)
        at++;
    assert_true(at < GPU_FIXTURE_USES_MAX);
    struct opt_u64 vram = vram_bytes < 0 ? (struct opt_u64){0} : some_u64((uint64_t)vram_bytes);
    fixture->clients.uses[at] = (struct gpu_fixture_use){.device = device,
        .tree = {.usage = known_f64(tree), .vram_bytes = vram},
        .host = {.usage = known_f64(host), .vram_bytes = vram}};
    if (at == fixture->clients.count)
        fixture->clients.count++;
}

int gpu_fixture_open(struct gpu_fixture *fixture)
{
    struct err err = {0};
    fixture->state = malloc(fixture->vendor->state_bytes);
    assert_non_null(fixture->state);
    memset(fixture->state, 0xa5, fixture->vendor->state_bytes);
    int r = fixture->vendor->open(fixture->state, &fixture->fake.env, &err);
    if (r < 0) {
        free(fixture->state);
        fixture->state = NULL;
    }
    return r;
}

static int step(struct gpu_fixture *fixture, int64_t ns, struct gpu_tick tick)
{
    fake_env_advance(&fixture->fake, ns);
    tick.now_ns = fixture->fake.mono_ns;
    tick.members = fixture->members;
    tick.member_count = fixture->member_count;
    tick.is_tracking = true;
    tick.clients = &fixture->clients;
    struct err err = {0};
    int r = fixture->vendor->read(fixture->state, &tick, &fixture->list, &err);
    if (r == 0)
        fixture->vendor->attribute(fixture->state, &tick);
    return r;
}

int gpu_fixture_tick(struct gpu_fixture *fixture, int64_t ns)
{
    return step(fixture, ns, (struct gpu_tick){0});
}

int gpu_fixture_baseline(struct gpu_fixture *fixture)
{
    return step(fixture, 0, (struct gpu_tick){.baseline = true});
}

int gpu_fixture_final_tick(struct gpu_fixture *fixture, int64_t ns)
{
    return step(fixture, ns, (struct gpu_tick){.is_final = true});
}

const struct gpu_card *gpu_fixture_card(const struct gpu_fixture *fixture, size_t index)
{
    assert_true(fixture->list.is_known);
    assert_true(index < fixture->list.count);
    return &fixture->list.cards[index];
}

const char *gpu_fixture_detail(const struct gpu_card *card, const char *key)
{
    for (size_t i = 0; i < card->facts.detail_count; i++) {
        if (strcmp(card->facts.details[i].key, key) == 0)
            return card->facts.details[i].value;
    }
    return NULL;
}
