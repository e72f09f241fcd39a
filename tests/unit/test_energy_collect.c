/* SPDX-License-Identifier: Apache-2.0 */
/* The energy collector over made-up machines: RAPL, hwmon, pm_counters, batteries, none; and whose energy it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collect/energy/energy.h"
#include "fake_env.h"

#define RANGE UINT64_C(262143328850)

static void put_number(struct fake_env *fake, const char *path, uint64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRIu64 "\n", number);
    fake_env_write(fake, path, text);
}

static void put_zone(struct fake_env *fake, const char *zone, const char *name, uint64_t uj)
{
    char path[128], text[64];
    (void)snprintf(path, sizeof(path), "sys/class/powercap/%s/name", zone);
    (void)snprintf(text, sizeof(text), "%s\n", name);
    fake_env_write(fake, path, text);
    (void)snprintf(path, sizeof(path), "sys/class/powercap/%s/max_energy_range_uj", zone);
    put_number(fake, path, RANGE);
    (void)snprintf(path, sizeof(path), "sys/class/powercap/%s/energy_uj", zone);
    put_number(fake, path, uj);
}

static void assert_joules(struct opt_f64 value, double joules)
{
    assert_true(value.has);
    if (value.v != joules)
        fail_msg("%.9g joules, not %.9g", value.v, joules);
}

/* The next second. */
static void step(struct fake_env *fake, struct fake_run *run)
{
    fake_env_advance(fake, NS_PER_SEC);
    assert_int_equal(fake_env_collect(fake, run), 0);
}

static void start(struct fake_env *fake, struct fake_run *run)
{
    assert_int_equal(fake_env_open(fake, &collector_energy, run), 0);
    assert_int_equal(fake_env_baseline(fake, run), 0);
    assert_false(run->sample.energy.present);
}

static void test_two_packages(void **state)
{
    struct fake_env *fake = *state;
    int before = fake_env_open_count();
    struct fake_run run;
    fake_env_mkdir(fake, "sys/class/powercap/intel-rapl");
    put_zone(fake, "intel-rapl:0", "package-0", 5000000);
    put_zone(fake, "intel-rapl:0:0", "core", 1000000);
    put_zone(fake, "intel-rapl:0:1", "dram", 700000);
    put_zone(fake, "intel-rapl:1", "package-1", RANGE - 1000000);
    put_zone(fake, "intel-rapl:1:0", "dram", 0);
    put_zone(fake, "intel-rapl:2", "psys", 1);
    put_zone(fake, "intel-rapl-mmio:0", "package-0", 5000000);
    put_zone(fake, "intel-rapl-mmio:0:0", "dram", 700000);
    start(fake, &run);
    assert_int_equal(fake_env_open_count(), before + 5);
    put_zone(fake, "intel-rapl:0", "package-0", 15000000);
    put_zone(fake, "intel-rapl-mmio:0", "package-0", 15000000);
    put_zone(fake, "intel-rapl:0:0", "core", 9000000);
    put_zone(fake, "intel-rapl:0:1", "dram", 1200000);
    put_zone(fake, "intel-rapl:1", "package-1", 1500000); /* begins again: 1 + 1.5 J */
    put_zone(fake, "intel-rapl:2", "psys", 20000001);
    step(fake, &run);
    const struct sample_energy *energy = &run.sample.energy;
    assert_true(energy->present);
    assert_string_equal(energy->source, "rapl");
    assert_joules(energy->package_joules, 12.5);
    assert_joules(energy->dram_joules, 0.5);
    assert_joules(energy->platform_joules, 20);
    assert_false(energy->process_joules.has);
    assert_int_equal(run.err.code, 0);
    step(fake, &run);
    assert_joules(energy->package_joules, 0);
    assert_int_equal(fake_env_open_count(), before + 5);
    fake_env_close(&run);
    assert_int_equal(fake_env_open_count(), before);
}

static void test_mmio_alone(void **state)
{
    struct fake_env *fake = *state;
    struct fake_run run;
    put_zone(fake, "intel-rapl-mmio:0", "package-0", 0);
    start(fake, &run);
    put_zone(fake, "intel-rapl-mmio:0", "package-0", 3000000);
    step(fake, &run);
    assert_joules(run.sample.energy.package_joules, 3);
    assert_false(run.sample.energy.dram_joules.has);
    fake_env_close(&run);
}

/* A directory cannot be read even by root. */
static void test_unreadable(void **state)
{
    struct fake_env *fake = *state;
    int before = fake_env_open_count();
    struct fake_run run;
    put_zone(fake, "intel-rapl:0", "package-0", 0);
    put_zone(fake, "intel-rapl:1", "package-1", 0);
    fake_env_remove(fake, "sys/class/powercap/intel-rapl:1/energy_uj");
    fake_env_mkdir(fake, "sys/class/powercap/intel-rapl:1/energy_uj");
    assert_int_equal(fake_env_open(fake, &collector_energy, &run), -ENODATA);
    assert_int_equal(run.err.code, -EISDIR);
    assert_non_null(strstr(run.err.msg, "/sys/class/powercap/intel-rapl:1/energy_uj: Is a directory"));
    assert_int_equal(fake_env_open_count(), before);
}

/* What a failed reading lacks comes with the next one. */
static void test_gap(void **state)
{
    struct fake_env *fake = *state;
    struct fake_run run;
    put_zone(fake, "intel-rapl:0", "package-0", 0);
    put_zone(fake, "intel-rapl:1", "package-1", 0);
    start(fake, &run);
    put_zone(fake, "intel-rapl:0", "package-0", 1000000);
    fake_env_write(fake, "sys/class/powercap/intel-rapl:1/energy_uj", "12");
    step(fake, &run);
    assert_false(run.sample.energy.present);
    assert_int_equal(run.err.code, -EINVAL);
    put_zone(fake, "intel-rapl:1", "package-1", 5000000);
    step(fake, &run);
    assert_joules(run.sample.energy.package_joules, 6);
    assert_int_equal(run.err.code, 0);
    /* An hour is too long to know how often it began again; the next second is known. */
    fake_env_advance(fake, 3600 * NS_PER_SEC);
    put_zone(fake, "intel-rapl:1", "package-1", 6000000);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_false(run.sample.energy.present);
    assert_int_equal(run.err.code, -EOVERFLOW);
    put_zone(fake, "intel-rapl:1", "package-1", 7000000);
    step(fake, &run);
    assert_joules(run.sample.energy.package_joules, 1);
    fake_env_close(&run);
}

static void put_input(struct fake_env *fake, const char *device, unsigned number, const char *label, uint64_t uj)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "sys/class/hwmon/%s/energy%u_label", device, number);
    fake_env_write(fake, path, label);
    (void)snprintf(path, sizeof(path), "sys/class/hwmon/%s/energy%u_input", device, number);
    put_number(fake, path, uj);
}

static void test_hwmon(void **state)
{
    struct fake_env *fake = *state;
    int before = fake_env_open_count();
    struct fake_run run;
    fake_env_write(fake, "sys/class/hwmon/hwmon0/name", "xe\n");
    put_input(fake, "hwmon0", 1, "pkg\n", 1000);
    fake_env_write(fake, "sys/class/hwmon/hwmon1/name", "amd_energy\n");
    for (unsigned i = 1; i <= 16; i++)
        put_input(fake, "hwmon1", i, "Ecore000\n", 1000000);
    put_input(fake, "hwmon1", 17, "Esocket0\n", 50000000);
    put_input(fake, "hwmon1", 18, "Esocket1\n", 60000000);
    start(fake, &run);
    assert_int_equal(fake_env_open_count(), before + 2);
    put_input(fake, "hwmon1", 3, "Ecore002\n", 9000000);
    put_input(fake, "hwmon1", 17, "Esocket0\n", 51000000);
    put_input(fake, "hwmon1", 18, "Esocket1\n", 62500000);
    step(fake, &run);
    assert_joules(run.sample.energy.package_joules, 3.5);
    assert_string_equal(run.sample.energy.source, "hwmon");
    fake_env_close(&run);
}

static void test_cray(void **state)
{
    struct fake_env *fake = *state;
    struct fake_run run;
    fake_env_write(fake, "sys/cray/pm_counters/energy", "1000 J 100 us\n");
    fake_env_write(fake, "sys/cray/pm_counters/cpu_energy", "400 J 100 us\n");
    fake_env_write(fake, "sys/cray/pm_counters/memory_energy", "50 J 100 us\n");
    start(fake, &run);
    fake_env_write(fake, "sys/cray/pm_counters/energy", "1300 J 1000100 us\n");
    fake_env_write(fake, "sys/cray/pm_counters/cpu_energy", "500 J 1000100 us\n");
    fake_env_write(fake, "sys/cray/pm_counters/memory_energy", "62 J 1000100 us\n");
    step(fake, &run);
    assert_joules(run.sample.energy.platform_joules, 300);
    assert_joules(run.sample.energy.package_joules, 100);
    assert_joules(run.sample.energy.dram_joules, 12);
    assert_string_equal(run.sample.energy.source, "cray");
    /* A controller that writes nothing for two seconds says nothing. */
    fake_env_write(fake, "sys/cray/pm_counters/energy", "1600 J 2000100 us\n");
    fake_env_write(fake, "sys/cray/pm_counters/memory_energy", "63 J 2000100 us\n");
    step(fake, &run);
    assert_joules(run.sample.energy.package_joules, 0);
    assert_joules(run.sample.energy.platform_joules, 300);
    step(fake, &run);
    assert_false(run.sample.energy.package_joules.has);
    assert_int_equal(run.err.code, -ESTALE);
    fake_env_write(fake, "sys/cray/pm_counters/cpu_energy", "800 J 4000100 us\n");
    step(fake, &run);
    assert_joules(run.sample.energy.package_joules, 300);
    fake_env_close(&run);
}

static void test_battery(void **state)
{
    struct fake_env *fake = *state;
    struct fake_run run;
    fake_env_write(fake, "sys/class/power_supply/AC/online", "0\n");
    fake_env_write(fake, "sys/class/power_supply/BAT0/status", "Discharging\n");
    put_number(fake, "sys/class/power_supply/BAT0/energy_now", 50000000);
    fake_env_write(fake, "sys/class/power_supply/BAT1/status", "Discharging\n");
    put_number(fake, "sys/class/power_supply/BAT1/charge_now", 2000000);
    put_number(fake, "sys/class/power_supply/BAT1/voltage_now", 10000000);
    start(fake, &run);
    put_number(fake, "sys/class/power_supply/BAT0/energy_now", 49990000); /* 10 mWh */
    put_number(fake, "sys/class/power_supply/BAT1/charge_now", 1999000); /* 1 mAh of 10 V */
    for (unsigned i = 1; i < 10; i++) {
        step(fake, &run);
        assert_false(run.sample.energy.present);
    }
    step(fake, &run);
    assert_joules(run.sample.energy.platform_joules, 36 + 36);
    assert_string_equal(run.sample.energy.source, "battery");
    assert_false(run.sample.energy.package_joules.has);
    /* What was used while it was charged is not known. */
    fake_env_write(fake, "sys/class/power_supply/BAT0/status", "Charging\n");
    fake_env_write(fake, "sys/class/power_supply/BAT1/status", "Charging\n");
    fake_env_advance(fake, 10 * NS_PER_SEC);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_false(run.sample.energy.present);
    fake_env_write(fake, "sys/class/power_supply/BAT0/status", "Discharging\n");
    fake_env_advance(fake, 10 * NS_PER_SEC);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_false(run.sample.energy.present);
    fake_env_close(&run);
}

static void test_none(void **state)
{
    struct fake_env *fake = *state;
    int before = fake_env_open_count();
    struct fake_run run;
    assert_int_equal(fake_env_open(fake, &collector_energy, &run), -ENODATA);
    assert_int_equal(run.err.code, 0);
    fake_env_mkdir(fake, "sys/class/powercap/intel-rapl");
    fake_env_write(fake, "sys/class/hwmon/hwmon0/name", "acpitz\n");
    fake_env_mkdir(fake, "sys/class/power_supply");
    assert_int_equal(fake_env_open(fake, &collector_energy, &run), -ENODATA);
    assert_int_equal(run.err.code, 0);
    assert_int_equal(fake_env_open_count(), before);
}

/* Four CPUs, of which the third is offline, and so many cores in use. */
static struct sample_cpu cpus(double busy, struct opt_f64 tree)
{
    static const struct opt_f64 shares[] = {{true, 50}, {true, 50}, {false, 0}, {true, 50}, {true, 50}};
    return (struct sample_cpu){.present = true,
        .per_core_pct = {true, 5, shares},
        .utilization_pct = some_f64(busy),
        .process_cores_used = tree};
}

static void test_shares(void **state)
{
    (void)state;
    struct sample_energy energy = {.package_joules = some_f64(36), .dram_joules = some_f64(4)};
    struct sample_cpu cpu = cpus(2, some_f64(1.5));
    energy_share(&cpu, &energy);
    assert_joules(energy.idle_joules, 20);
    assert_joules(energy.process_joules, 15);
    /* The tree is measured exactly, the host in ticks. */
    cpu = cpus(2, some_f64(2.5));
    energy_share(&cpu, &energy);
    assert_joules(energy.idle_joules, 15);
    assert_joules(energy.process_joules, 25);
    cpu = cpus(4, some_f64(5));
    energy_share(&cpu, &energy);
    assert_joules(energy.idle_joules, 0);
    assert_joules(energy.process_joules, 40);
    energy = (struct sample_energy){.package_joules = some_f64(36)};
    cpu = cpus(1, (struct opt_f64){0});
    energy_share(&cpu, &energy);
    assert_joules(energy.idle_joules, 27);
    assert_false(energy.process_joules.has);
    energy = (struct sample_energy){.platform_joules = some_f64(36)};
    cpu = cpus(1, some_f64(1));
    energy_share(&cpu, &energy);
    assert_false(energy.idle_joules.has || energy.process_joules.has);
    cpu = (struct sample_cpu){0};
    energy.package_joules = some_f64(1);
    energy_share(&cpu, &energy);
    assert_false(energy.idle_joules.has || energy.process_joules.has);
}

static void test_estimate(void **state)
{
    struct fake_env *fake = *state;
    struct fake_run run;
    fake->env.estimates_energy = true;
    start(fake, &run);
    step(fake, &run);
    assert_false(run.sample.energy.present); /* of no CPU */
    struct tick tick = {.mono_ns = fake->mono_ns + 2 * NS_PER_SEC};
    struct sample sample = {.cpu = cpus(2, some_f64(1))};
    assert_int_equal(run.collector->collect(run.state, &tick, &sample, &run.err), 0);
    assert_string_equal(sample.energy.source, "estimate");
    assert_joules(sample.energy.package_joules, 2 * 2 * 0.74 + 2 * 2 * 3.5);
    assert_joules(sample.energy.idle_joules, 2 * 2 * 0.74);
    assert_joules(sample.energy.process_joules, 2 * 3.5);
    fake_env_close(&run);
    /* What is measured is not estimated. */
    put_zone(fake, "intel-rapl:0", "package-0", 0);
    start(fake, &run);
    step(fake, &run);
    assert_string_equal(run.sample.energy.source, "rapl");
    fake_env_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fake_env_unit_test(test_two_packages),
        fake_env_unit_test(test_mmio_alone),
        fake_env_unit_test(test_unreadable),
        fake_env_unit_test(test_gap),
        fake_env_unit_test(test_hwmon),
        fake_env_unit_test(test_cray),
        fake_env_unit_test(test_battery),
        fake_env_unit_test(test_none),
        cmocka_unit_test(test_shares),
        fake_env_unit_test(test_estimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
