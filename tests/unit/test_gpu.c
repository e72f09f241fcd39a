/* SPDX-License-Identifier: Apache-2.0 */
/* The collector of GPUs: one list of all vendors' devices, and what the tracked tree uses of them together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "gpu_machine.h"

static void test_no_card(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    machine_open(&machine);
    join(&machine, 100);
    drm_fixture_open(&machine.drm, 100, 5, drm_fixture_client(1, 0));
    baseline(&machine);
    /* That no GPU is used is known where there is none. */
    assert_use(collect(&machine, NS_PER_SEC), 0, 0, 0);
    assert_count(&machine, 0);
    assert_int_equal(machine.run.err.code, 0);
    /* The members of the tree are not needed. */
    assert_true(machine.gpu.has_no_device);
    machine_fini(&machine);
}

static void test_without_sys(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    struct sysroot bare = machine.drm.fake.root;
    bare.sys_fd = -1;
    machine.drm.fake.env.root = &bare;
    machine_open(&machine);
    baseline(&machine);
    assert_no_use(collect(&machine, NS_PER_SEC));
    assert_false(machine.run.sample.gpu.present);
    machine_fini(&machine);
}

/* The devices are reported, of what the tree uses nothing. */
static void run_untracked(struct machine *machine)
{
    add_amd(machine, "card0", PDEV);
    join(machine, 100);
    drm_fixture_open(&machine->drm, 100, 5, drm_fixture_client(1, 0));
    machine_open(machine);
    baseline(machine);
    assert_no_use(collect(machine, NS_PER_SEC));
    assert_count(machine, 1);
    assert_near(item(machine, 0)->utilization_pct.v, 37);
    assert_share(machine, 0, -1, -1);
    assert_int_equal(machine->run.err.code, 0);
    machine_fini(machine);
}

static void test_no_tree(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    machine.tracked.root = 0;
    run_untracked(&machine);
    machine_init(&machine);
    machine.drm.fake.env.tracked = NULL;
    run_untracked(&machine);
}

static void test_foreign_proc(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    machine.drm.fake.root.names_us = false;
    run_untracked(&machine);
}

static void test_one_card(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    add_amd(&machine, "card0", PDEV);
    join(&machine, 100);
    drm_fixture_open(&machine.drm, 100, 5, drm_fixture_client(1, 7000));
    machine_open(&machine);
    baseline(&machine);
    assert_false(machine.gpu.has_no_device);
    drm_fixture_show(&machine.drm, 100, 5, drm_fixture_client(1, 7500));
    assert_use(collect(&machine, NS_PER_SEC), 0.5, CLIENT_MIB, 1);
    assert_count(&machine, 1);
    assert_use(collect(&machine, NS_PER_SEC), 0, CLIENT_MIB, 0);
    assert_int_equal(machine.run.err.code, 0);
    /* It ends: what it did last is not known, and that it has no memory any more is. */
    machine.status.members.count = 0;
    drm_fixture_remove(&machine.drm, 100);
    const struct sample_cpu *cpu = collect(&machine, NS_PER_SEC);
    assert_false(cpu->process_gpu_usage.has);
    assert_false(cpu->process_gpu_utilized.has);
    assert_true(cpu->process_gpu_vram_mib.has);
    assert_near(cpu->process_gpu_vram_mib.v, 0);
    assert_use(collect(&machine, NS_PER_SEC), 0, 0, 0);
    machine_fini(&machine);
}

/* Of two vendors, one of which needs the clients of all processes. */
static void test_two_cards(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    add_amd(&machine, "card0", PDEV);
    add_card(&machine, "card1", "i915", SECOND);
    join(&machine, 100);
    drm_fixture_open(&machine.drm, 100, 5, drm_fixture_client(1, 0));
    drm_fixture_open(&machine.drm, 100, 6, drm_fixture_client_of(SECOND, 2, 0));
    drm_fixture_open(&machine.drm, 200, 5, drm_fixture_client_of(SECOND, 3, 0));
    machine_open(&machine);
    baseline(&machine);
    drm_fixture_show(&machine.drm, 100, 5, drm_fixture_client(1, 500));
    drm_fixture_show(&machine.drm, 200, 5, drm_fixture_client_of(SECOND, 3, 125));
    assert_use(collect(&machine, NS_PER_SEC), 0.5, 2 * CLIENT_MIB, 1);
    assert_near(item(&machine, 1)->utilization_pct.v, 12.5);
    assert_share(&machine, 0, 50, CLIENT_BYTES);
    assert_share(&machine, 1, 0, CLIENT_BYTES);
    drm_fixture_show(&machine.drm, 100, 5, drm_fixture_client(1, 1250));
    drm_fixture_show(&machine.drm, 100, 6, drm_fixture_client_of(SECOND, 2, 750));
    assert_use(collect(&machine, NS_PER_SEC), 1.5, 2 * CLIENT_MIB, 2);
    assert_share(&machine, 0, 75, CLIENT_BYTES);
    assert_share(&machine, 1, 75, CLIENT_BYTES);
    /* A client that does not report its memory makes the sum unknown, on whichever card. */
    drm_fixture_open(
        &machine.drm, 100, 7, "drm-driver:\tamdgpu\ndrm-client-id:\t9\ndrm-pdev:\t" PDEV "\ndrm-engine-gfx:\t0 ns\n");
    const struct sample_cpu *cpu = collect(&machine, NS_PER_SEC);
    assert_false(cpu->process_gpu_vram_mib.has);
    assert_true(cpu->process_gpu_usage.has);
    assert_near(cpu->process_gpu_usage.v, 0);
    assert_share(&machine, 0, 0, -1);
    assert_share(&machine, 1, 0, CLIENT_BYTES);
    machine_fini(&machine);
}

/* In the first sample, and of the first of two cards: the other does not stand for it. */
static void test_unknown_at_first(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    add_amd(&machine, "card0", PDEV);
    add_amd(&machine, "card1", SECOND);
    join(&machine, 100);
    drm_fixture_open(&machine.drm, 100, 5, drm_fixture_client(1, 0));
    drm_fixture_open(&machine.drm, 100, 6, drm_fixture_client_of(SECOND, 2, 0));
    machine_open(&machine);
    baseline(&machine);
    drm_fixture_close(&machine.drm, 100, 5);
    const struct sample_cpu *cpu = collect(&machine, NS_PER_SEC);
    assert_false(cpu->process_gpu_usage.has);
    assert_false(cpu->process_gpu_utilized.has);
    assert_near(cpu->process_gpu_vram_mib.v, CLIENT_MIB);
    assert_share(&machine, 0, -1, 0);
    assert_share(&machine, 1, 0, CLIENT_BYTES);
    assert_use(collect(&machine, NS_PER_SEC), 0, CLIENT_MIB, 0);
    machine_fini(&machine);
}

static void test_hidden_member(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    add_amd(&machine, "card0", PDEV);
    join(&machine, 100);
    drm_fixture_open(&machine.drm, 100, 5, drm_fixture_client(1, 0));
    machine_open(&machine);
    baseline(&machine);
    assert_use(collect(&machine, NS_PER_SEC), 0, CLIENT_MIB, 0);
    join(&machine, 101);
    fake_env_write(&machine.drm.fake, "proc/101/fd/3", "no link\n");
    assert_no_use(collect(&machine, NS_PER_SEC));
    assert_int_equal(machine.run.err.code, -EACCES);
    assert_non_null(strstr(machine.run.err.msg, "unknown"));
    assert_count(&machine, 1);
    assert_near(item(&machine, 0)->utilization_pct.v, 37);
    assert_share(&machine, 0, -1, -1);
    fake_env_remove(&machine.drm.fake, "proc/101/fd/3");
    assert_use(collect(&machine, NS_PER_SEC), 0, CLIENT_MIB, 0);
    assert_int_equal(machine.run.err.code, 0);
    machine_fini(&machine);
}

/* A driver may be loaded while the job runs, and be gone again. */
static void test_come_and_go(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    join(&machine, 100);
    drm_fixture_open(&machine.drm, 100, 5, drm_fixture_client(1, 0));
    machine_open(&machine);
    baseline(&machine);
    add_amd(&machine, "card0", PDEV);
    assert_use(collect(&machine, 29 * NS_PER_SEC), 0, 0, 0);
    assert_count(&machine, 0);
    collect(&machine, NS_PER_SEC);
    assert_count(&machine, 1);
    assert_string_equal(item(&machine, 0)->host_id, PDEV);
    assert_use(collect(&machine, NS_PER_SEC), 0, CLIENT_MIB, 0);
    fake_env_remove(&machine.drm.fake, "sys/class/drm/card0");
    fake_env_remove(&machine.drm.fake, "sys/devices/pci0000:00/" PDEV);
    assert_no_use(collect(&machine, NS_PER_SEC));
    assert_count(&machine, 0);
    add_amd(&machine, "card1", SECOND);
    collect(&machine, 27 * NS_PER_SEC);
    assert_count(&machine, 0);
    collect(&machine, NS_PER_SEC);
    assert_count(&machine, 1);
    assert_string_equal(item(&machine, 0)->host_id, SECOND);
    machine_fini(&machine);
}

static void test_item(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    add_amd(&machine, "card0", PDEV);
    write_device(&machine, PDEV, "unique_id", "00a1b2c3d4e5f607\n");
    write_device(&machine, PDEV, "mem_info_vram_total", "4000\n");
    write_device(&machine, PDEV, "mem_info_vram_used", "1000\n");
    machine_open(&machine);
    baseline(&machine);
    collect(&machine, NS_PER_SEC);
    assert_count(&machine, 1);
    const struct sample_gpu *gpu = item(&machine, 0);
    assert_string_equal(gpu->uuid, PDEV);
    assert_string_equal(gpu->name, "AMD GPU 0x744c");
    assert_string_equal(gpu->device_type, "GPU");
    assert_int_equal(gpu->detail.count, 4);
    assert_detail(gpu, 0, "pci_bus", PDEV);
    assert_detail(gpu, 1, "pci_bus_id", PDEV);
    assert_detail(gpu, 2, "driver", "amdgpu");
    assert_detail(gpu, 3, "unique_id", "00a1b2c3d4e5f607");
    assert_int_equal(gpu->vram_total_bytes.v, 4000);
    assert_true(gpu->vram_used_pct.has);
    assert_near(gpu->vram_used_pct.v, 25);
    assert_false(gpu->temperature_celsius.has);
    assert_false(gpu->core_count.has);
    assert_false(gpu->throttle_reasons.present);
    /* No share of nothing. */
    write_device(&machine, PDEV, "mem_info_vram_total", "0\n");
    write_device(&machine, PDEV, "mem_info_vram_used", "0\n");
    collect(&machine, NS_PER_SEC);
    assert_true(item(&machine, 0)->vram_used_bytes.has);
    assert_false(item(&machine, 0)->vram_used_pct.has);
    machine_fini(&machine);
}

/* Of which those of one vendor are there at first, and others come later: the space for the list grows in a sample
 * between two vendors, and what points into it stays right. */
static void test_many_cards(void **state)
{
    (void)state;
    enum { EACH = 6 };
    static const char *const drivers[] = {"amdgpu", "i915", "intel_vpu"};
    struct machine machine;
    machine_init(&machine);
    machine_open(&machine);
    for (unsigned i = 0; i < 3 * EACH; i++) {
        char card[16], pdev[16];
        (void)snprintf(card, sizeof(card), "%s%u", i < 2 * EACH ? "card" : "accel", i);
        (void)snprintf(pdev, sizeof(pdev), "0000:%02x:00.0", i);
        if (i == EACH)
            baseline(&machine);
        add_card(&machine, card, drivers[i / EACH], pdev);
    }
    collect(&machine, NS_PER_SEC);
    assert_count(&machine, EACH);
    for (int tick = 0; tick < 2; tick++) {
        collect(&machine, 30 * NS_PER_SEC);
        assert_count(&machine, 3 * EACH);
        for (unsigned i = 0; i < 3 * EACH; i++) {
            char pdev[16];
            (void)snprintf(pdev, sizeof(pdev), "0000:%02x:00.0", i);
            const struct sample_gpu *gpu = item(&machine, i);
            assert_string_equal(gpu->host_id, pdev);
            assert_string_equal(gpu->device_type, i < 2 * EACH ? "GPU" : "NPU");
            assert_int_equal(gpu->detail.count, 3);
            assert_detail(gpu, 0, "pci_bus", pdev);
            assert_detail(gpu, 1, "pci_bus_id", pdev);
            assert_detail(gpu, 2, "driver", drivers[i / EACH]);
        }
    }
    machine_fini(&machine);
}

/* Two cards that count energy, and one that does not. */
static void init_energy(struct machine *machine)
{
    machine_init(machine);
    add_amd(machine, "card0", PDEV);
    write_device(machine, PDEV, "hwmon/hwmon2/energy1_input", "5000000\n");
    add_amd(machine, "card1", SECOND);
    write_device(machine, SECOND, "hwmon/hwmon3/energy1_input", "1000000\n");
    add_card(machine, "card2", "i915", "0000:00:02.0");
    machine_open(machine);
    baseline(machine);
    collect(machine, NS_PER_SEC);
    write_device(machine, PDEV, "hwmon/hwmon2/energy1_input", "7250000\n");
    write_device(machine, SECOND, "hwmon/hwmon3/energy1_input", "2000000\n");
    assert_false(machine->gpu.joules.has);
}

static void test_energy(void **state)
{
    (void)state;
    struct machine machine;
    init_energy(&machine);
    /* The one that does not count may sleep. */
    write_device(&machine, "0000:00:02.0", "power/runtime_status", "suspended\n");
    collect_final(&machine);
    assert_true(machine.gpu.joules.has);
    assert_near(machine.gpu.joules.v, 3.25);
    assert_count(&machine, 3);
    machine_fini(&machine);
    /* No card counts. */
    machine_init(&machine);
    add_amd(&machine, "card0", PDEV);
    machine_open(&machine);
    baseline(&machine);
    collect_final(&machine);
    assert_false(machine.gpu.joules.has);
    machine_fini(&machine);
}

static void test_energy_of_a_sleeping_card(void **state)
{
    (void)state;
    struct machine machine;
    init_energy(&machine);
    write_device(&machine, SECOND, "power/runtime_status", "suspended\n");
    collect_final(&machine);
    assert_false(machine.gpu.joules.has);
    assert_near(item(&machine, 1)->utilization_pct.v, 0);
    machine_fini(&machine);
}

static void test_steady_state(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    add_amd(&machine, "card0", PDEV);
    add_card(&machine, "card1", "i915", SECOND);
    join(&machine, 100);
    drm_fixture_open(&machine.drm, 100, 5, drm_fixture_client(1, 0));
    machine_open(&machine);
    /* Whatever there is, opening the collector does not ask for it. */
    assert_int_equal(fake_env_open_count(), machine.open_count_before);
    baseline(&machine);
    collect(&machine, NS_PER_SEC);
    int open_count = fake_env_open_count();
    assert_true(open_count > machine.open_count_before);
    for (int i = 0; i < 65; i++) {
        assert_use(collect(&machine, NS_PER_SEC), 0, CLIENT_MIB, 0);
        assert_int_equal(fake_env_open_count(), open_count);
    }
    machine_fini(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_card),
        cmocka_unit_test(test_without_sys),
        cmocka_unit_test(test_no_tree),
        cmocka_unit_test(test_foreign_proc),
        cmocka_unit_test(test_one_card),
        cmocka_unit_test(test_two_cards),
        cmocka_unit_test(test_unknown_at_first),
        cmocka_unit_test(test_hidden_member),
        cmocka_unit_test(test_come_and_go),
        cmocka_unit_test(test_item),
        cmocka_unit_test(test_many_cards),
        cmocka_unit_test(test_energy),
        cmocka_unit_test(test_energy_of_a_sleeping_card),
        cmocka_unit_test(test_steady_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
