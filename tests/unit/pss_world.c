/* SPDX-License-Identifier: Apache-2.0 */
/* See pss_world.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pss_world.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static int64_t pss_world_read_ns(void *context, enum clock_kind kind)
{
    struct pss_world *world = context;
    if (kind != CLOCK_KIND_OWN_CPU)
        return world->fake.mono_ns;
    if (++world->asked % 2 == 0)
        world->cpu_ns += world->cost_ns;
    return world->cpu_ns;
}

void pss_world_open(struct pss_world *world, enum tracked_pss mode)
{
    memset(world, 0, sizeof(*world));
    fake_env_init(&world->fake);
    world->fake.clock = (struct clock){.read_ns = pss_world_read_ns, .context = world};
    /* It may not count on zeroed memory. */
    memset(&world->pss, 0xa5, sizeof(world->pss));
    pss_open(&world->pss, &world->fake.env, mode);
}

void pss_world_close(struct pss_world *world)
{
    fake_env_fini(&world->fake);
}

void pss_world_write(struct pss_world *world, size_t i, const char *text)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%zu/smaps_rollup", PSS_WORLD_FIRST_PID + i);
    fake_env_write(&world->fake, path, text);
}

void pss_world_set_pss(struct pss_world *world, size_t i, uint64_t kib)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
        "55e6cb86a000-7fff3992d000 ---p 00000000 00:00 0                          [rollup]\n"
        "Rss:             9999999 kB\nPss:            %8llu kB\nPss_Dirty:           112 kB\n",
        (unsigned long long)kib);
    pss_world_write(world, i, text);
}

void pss_world_chmod(struct pss_world *world, size_t i, mode_t mode)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/proc/%zu/smaps_rollup", world->fake.dir, PSS_WORLD_FIRST_PID + i);
    assert_int_equal(chmod(path, mode), 0);
}

size_t pss_world_add(struct pss_world *world, uint64_t rss_pages, uint64_t pss_kib, int64_t age_ns)
{
    size_t i = world->count++;
    assert_true(i < PSS_WORLD_PROCESSES_MAX);
    world->rss_pages[i] = rss_pages;
    world->age_ns[i] = age_ns;
    pss_world_set_pss(world, i, pss_kib);
    return i;
}

struct opt_f64 pss_world_tick(struct pss_world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        world->list[i] = (struct pss_process){.pid = (pid_t)(PSS_WORLD_FIRST_PID + i),
            .age_ns = world->age_ns[i],
            .rss_pages = world->rss_pages[i],
            .memory = &world->memories[i]};
    }
    err_clear(&world->err);
    return pss_tick(&world->pss, world->list, world->count, world->fake.mono_ns, &world->err);
}

struct opt_f64 pss_world_tick_after(struct pss_world *world, int64_t ns)
{
    fake_env_advance(&world->fake, ns);
    for (size_t i = 0; i < world->count; i++)
        world->age_ns[i] += ns;
    return pss_world_tick(world);
}

bool pss_world_can_be_nobody(void)
{
    if (geteuid() != 0)
        return true;
    return seteuid(NOBODY) == 0 && seteuid(0) == 0;
}

struct opt_f64 pss_world_tick_unprivileged(struct pss_world *world, int64_t ns)
{
    bool is_root = geteuid() == 0;
    if (is_root)
        assert_int_equal(seteuid(NOBODY), 0);
    struct opt_f64 sum = pss_world_tick_after(world, ns);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    return sum;
}

int pss_world_reads(const struct pss_world *world)
{
    return world->asked / 2;
}

size_t pss_world_known(const struct pss_world *world)
{
    size_t known = 0;
    for (size_t i = 0; i < world->count; i++)
        known += world->memories[i].is_known;
    return known;
}

bool pss_world_was_read(const struct pss_world *world, size_t i)
{
    const struct pss_memory *memory = &world->memories[i];
    return memory->is_known && !memory->has_failed && memory->read_ns == world->fake.mono_ns;
}

void pss_world_assert_bytes(struct opt_f64 got, double bytes)
{
    assert_true(got.has);
    assert_true(got.v > bytes - 0.5 && got.v < bytes + 0.5);
}
