/* SPDX-License-Identifier: Apache-2.0 */
/* A machine with DRM cards whose tree is process 100, under the collector of GPUs; and what its samples must show. */
#ifndef TESTS_UNIT_GPU_MACHINE_H
#define TESTS_UNIT_GPU_MACHINE_H

#include "base/vec.h"
#include "drm_fixture.h"

#define SECOND "0000:43:00.0"
#define CLIENT_BYTES (INT64_C(1000) * 1024)
#define CLIENT_MIB (1000.0 / 1024)

/* A machine whose tree is process 100, which the collector knows. */
struct machine {
    struct drm_fixture drm;
    struct tracked tracked;
    struct tree_status status;
    struct gpu_status gpu;
    struct fake_run run;
    int open_count_before;
};

static inline void machine_init(struct machine *machine)
{
    *machine = (struct machine){.tracked.root = 100};
    fake_env_init(&machine->drm.fake);
    machine->drm.fake.root.names_us = true;
    machine->drm.fake.env.tracked = &machine->tracked;
    machine->drm.fake.env.tree = &machine->status;
    machine->drm.fake.env.gpu_status = &machine->gpu;
    machine->open_count_before = fake_env_open_count();
}

static inline void machine_open(struct machine *machine)
{
    assert_int_equal(fake_env_open(&machine->drm.fake, &collector_gpu, &machine->run), 0);
}

static inline void machine_fini(struct machine *machine)
{
    fake_env_close(&machine->run);
    assert_int_equal(fake_env_open_count(), machine->open_count_before);
    tree_status_fini(&machine->status);
    fake_env_fini(&machine->drm.fake);
}

static inline void join(struct machine *machine, pid_t pid)
{
    struct tree_status *status = &machine->status;
    assert_int_equal(VEC_GROW(&status->members, status->members.count + 1, 16), 0);
    status->members.items[status->members.count++] = (struct job_member){.pid = pid, .start_ticks = 1};
}

static inline void add_card(struct machine *machine, const char *card, const char *driver, const char *pdev)
{
    drm_fixture_add_card(&machine->drm.fake, card, driver, pdev);
}

static inline void write_device(struct machine *machine, const char *pdev, const char *name, const char *text)
{
    drm_fixture_write_device(&machine->drm.fake, pdev, name, text);
}

static inline void add_amd(struct machine *machine, const char *card, const char *pdev)
{
    add_card(machine, card, "amdgpu", pdev);
    write_device(machine, pdev, "gpu_busy_percent", "37\n");
    write_device(machine, pdev, "power/runtime_status", "active\n");
}

static inline void baseline(struct machine *machine)
{
    assert_int_equal(fake_env_baseline(&machine->drm.fake, &machine->run), 0);
    assert_false(machine->run.sample.gpu.present);
    assert_false(machine->run.sample.cpu.process_gpu_vram_mib.has);
}

/* Where the totals of the tree are known, they are the sums over the devices that are known. */
static inline void check_sums(const struct machine *machine)
{
    const struct sample_gpu *items = machine->run.sample.gpu.items;
    const struct sample_cpu *cpu = &machine->run.sample.cpu;
    double pct = 0;
    uint64_t utilized = 0, bytes = 0;
    for (size_t i = 0; i < machine->run.sample.gpu.count; i++) {
        pct += items[i].process_utilization_pct.has ? items[i].process_utilization_pct.v : 0;
        utilized += items[i].process_utilization_pct.has && items[i].process_utilization_pct.v > 0;
        bytes += items[i].process_vram_bytes.has ? items[i].process_vram_bytes.v : 0;
    }
    assert_int_equal(cpu->process_gpu_usage.has, cpu->process_gpu_utilized.has);
    if (cpu->process_gpu_usage.has) {
        assert_near(cpu->process_gpu_usage.v * 100, pct);
        assert_int_equal(cpu->process_gpu_utilized.v, utilized);
    }
    if (cpu->process_gpu_vram_mib.has)
        assert_true(cpu->process_gpu_vram_mib.v * BYTES_PER_MIB == (double)bytes);
}

static inline const struct sample_cpu *collect(struct machine *machine, int64_t ns)
{
    fake_env_advance(&machine->drm.fake, ns);
    assert_int_equal(fake_env_collect(&machine->drm.fake, &machine->run), 0);
    check_sums(machine);
    return &machine->run.sample.cpu;
}

static inline void collect_final(struct machine *machine)
{
    fake_env_advance(&machine->drm.fake, NS_PER_SEC);
    struct tick tick = {.is_final = true, .mono_ns = machine->drm.fake.mono_ns};
    machine->run.sample = (struct sample){0};
    assert_int_equal(collector_gpu.collect(machine->run.state, &tick, &machine->run.sample, &machine->run.err), 0);
}

static inline void assert_count(const struct machine *machine, size_t count)
{
    assert_true(machine->run.sample.gpu.present);
    assert_int_equal(machine->run.sample.gpu.count, count);
}

static inline const struct sample_gpu *item(const struct machine *machine, size_t index)
{
    assert_true(index < machine->run.sample.gpu.count);
    return (const struct sample_gpu *)machine->run.sample.gpu.items + index;
}

static inline void assert_detail(const struct sample_gpu *gpu, size_t index, const char *key, const char *value)
{
    assert_true(gpu->detail.present);
    assert_true(index < gpu->detail.count);
    const struct str_pair *pair = (const struct str_pair *)gpu->detail.items + index;
    assert_string_equal(pair->key, key);
    assert_string_equal(pair->value, value);
}

static inline void assert_use(const struct sample_cpu *cpu, double usage, double vram_mib, uint64_t utilized)
{
    assert_true(cpu->process_gpu_usage.has && cpu->process_gpu_vram_mib.has && cpu->process_gpu_utilized.has);
    assert_near(cpu->process_gpu_usage.v, usage);
    assert_near(cpu->process_gpu_vram_mib.v, vram_mib);
    assert_int_equal(cpu->process_gpu_utilized.v, utilized);
}

/* What the tree has of one device; -1: not known. */
static inline void assert_share(const struct machine *machine, size_t index, double pct, int64_t vram_bytes)
{
    const struct sample_gpu *gpu = item(machine, index);
    assert_int_equal(gpu->process_utilization_pct.has, pct >= 0);
    assert_int_equal(gpu->process_vram_bytes.has, vram_bytes >= 0);
    if (pct >= 0)
        assert_near(gpu->process_utilization_pct.v, pct);
    if (vram_bytes >= 0)
        assert_int_equal(gpu->process_vram_bytes.v, vram_bytes);
}

static inline void assert_no_use(const struct sample_cpu *cpu)
{
    assert_false(cpu->process_gpu_usage.has);
    assert_false(cpu->process_gpu_vram_mib.has);
    assert_false(cpu->process_gpu_utilized.has);
}

#endif
