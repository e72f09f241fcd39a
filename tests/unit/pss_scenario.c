/* SPDX-License-Identifier: Apache-2.0 */
/* See pss_scenario.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pss_scenario.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static int64_t pss_scenario_read_ns(void *context, enum clock_kind kind)
{
    struct pss_scenario *scenario = context;
    if (kind != CLOCK_KIND_OWN_CPU)
        return scenario->fake.mono_ns;
    if (++scenario->asked % 2 == 0)
        scenario->cpu_ns += scenario->cost_ns;
    return scenario->cpu_ns;
}

void pss_scenario_open(struct pss_scenario *scenario, enum tracked_pss mode)
{
    memset(scenario, 0, sizeof(*scenario));
    fake_env_init(&scenario->fake);
    scenario->fake.clock = (struct clock){.read_ns = pss_scenario_read_ns, .context = scenario};
    /* It may not count on zeroed memory. */
    memset(&scenario->pss, 0xa5, sizeof(scenario->pss));
    pss_open(&scenario->pss, &scenario->fake.env, mode);
}

void pss_scenario_close(struct pss_scenario *scenario)
{
    fake_env_fini(&scenario->fake);
}

void pss_scenario_write(struct pss_scenario *scenario, size_t i, const char *text)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%zu/smaps_rollup", PSS_SCENARIO_FIRST_PID + i);
    fake_env_write(&scenario->fake, path, text);
}

void pss_scenario_set_pss(struct pss_scenario *scenario, size_t i, uint64_t kib)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
        "55e6cb86a000-7fff3992d000 ---p 00000000 00:00 0                          [rollup]\n"
        "Rss:             9999999 kB\nPss:            %8llu kB\nPss_Dirty:           112 kB\n"
        "Private_Clean:         0 kB\nPrivate_Dirty:  %8llu kB\n",
        (unsigned long long)kib, (unsigned long long)kib);
    pss_scenario_write(scenario, i, text);
}

void pss_scenario_chmod(struct pss_scenario *scenario, size_t i, mode_t mode)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/proc/%zu/smaps_rollup", scenario->fake.dir, PSS_SCENARIO_FIRST_PID + i);
    assert_int_equal(chmod(path, mode), 0);
}

size_t pss_scenario_add(struct pss_scenario *scenario, uint64_t rss_pages, uint64_t pss_kib, int64_t age_ns)
{
    size_t i = scenario->count++;
    assert_true(i < PSS_SCENARIO_PROCESSES_MAX);
    scenario->rss_pages[i] = rss_pages;
    scenario->age_ns[i] = age_ns;
    pss_scenario_set_pss(scenario, i, pss_kib);
    return i;
}

struct opt_f64 pss_scenario_tick(struct pss_scenario *scenario)
{
    for (size_t i = 0; i < scenario->count; i++) {
        int64_t first_ns = scenario->fake.mono_ns - scenario->age_ns[i];
        struct pss_memory *head = &scenario->memories[scenario->own_pages[i].has ? scenario->heads[i] : i];
        if (scenario->own_pages[i].has)
            pss_note_fork(head, first_ns);
        scenario->list[i] = (struct pss_process){.pid = (pid_t)(PSS_SCENARIO_FIRST_PID + i),
            .age_ns = scenario->age_ns[i],
            .rss_pages = scenario->rss_pages[i],
            .own_pages = scenario->own_pages[i].v,
            .minor_faults = scenario->minor_faults[i],
            .is_copy = scenario->own_pages[i].has,
            .memory = &scenario->memories[i],
            .head = head};
    }
    err_clear(&scenario->err);
    return pss_tick(&scenario->pss, scenario->list, scenario->count, scenario->fake.mono_ns, &scenario->err);
}

struct opt_f64 pss_scenario_tick_after(struct pss_scenario *scenario, int64_t ns)
{
    fake_env_advance(&scenario->fake, ns);
    for (size_t i = 0; i < scenario->count; i++)
        scenario->age_ns[i] += ns;
    return pss_scenario_tick(scenario);
}

bool pss_scenario_can_be_nobody(void)
{
    if (geteuid() != 0)
        return true;
    return seteuid(NOBODY) == 0 && seteuid(0) == 0;
}

struct opt_f64 pss_scenario_tick_unprivileged(struct pss_scenario *scenario, int64_t ns)
{
    bool is_root = geteuid() == 0;
    if (is_root)
        assert_int_equal(seteuid(NOBODY), 0);
    struct opt_f64 sum = pss_scenario_tick_after(scenario, ns);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    return sum;
}

int pss_scenario_reads(const struct pss_scenario *scenario)
{
    return scenario->asked / 2;
}

size_t pss_scenario_known(const struct pss_scenario *scenario)
{
    size_t known = 0;
    for (size_t i = 0; i < scenario->count; i++)
        known += scenario->memories[i].is_known;
    return known;
}

bool pss_scenario_was_read(const struct pss_scenario *scenario, size_t i)
{
    const struct pss_memory *memory = &scenario->memories[i];
    return memory->is_known && !memory->has_failed && memory->read_ns == scenario->fake.mono_ns;
}

void pss_scenario_assert_bytes(struct opt_f64 got, double bytes)
{
    assert_true(got.has);
    assert_true(got.v > bytes - 0.5 && got.v < bytes + 0.5);
}
