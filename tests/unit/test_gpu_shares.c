/* SPDX-License-Identifier: Apache-2.0 */
/* What the tracked tree has of each GPU, where that is not the same on all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "gpu_machine.h"

#define GIB (INT64_C(1) << 30)

static void write_client(char *text, size_t size, const char *pdev, unsigned id, uint64_t gib, unsigned busy_ms)
{
    (void)snprintf(text, size,
        "drm-driver:\tamdgpu\ndrm-client-id:\t%u\ndrm-pdev:\t%s\ndrm-memory-vram:\t%llu MiB\n"
        "drm-engine-gfx:\t%u000000 ns\n",
        id, pdev, (unsigned long long)gib << 10, busy_ms);
}

/* A process has so much of a card from now on, and has kept it busy for so long. */
static void hold(struct machine *machine, pid_t pid, unsigned card, uint64_t gib, unsigned busy_ms)
{
    char pdev[24], text[256], path[64];
    (void)snprintf(pdev, sizeof(pdev), "0000:%02x:00.0", card + 1);
    write_client(text, sizeof(text), pdev, (unsigned)pid * 100 + card, gib, busy_ms);
    (void)snprintf(path, sizeof(path), "proc/%d/fdinfo/%u", (int)pid, 5 + card);
    if (faccessat(machine->drm.fake.root.root_fd, path, F_OK, 0) == 0)
        drm_fixture_show(&machine->drm, pid, (int)(5 + card), text);
    else
        drm_fixture_open(&machine->drm, pid, (int)(5 + card), text);
}

/* One process has 80 GiB on the first card, another one 10 GiB on each of the others; a process that is not of the tree
 * has 20 GiB on the first and on one that the tree does not use. */
static void hold_unevenly(struct machine *machine, unsigned cards, unsigned busy_ms, unsigned busy_elsewhere_ms)
{
    enum { OUTSIDER = 200 };
    hold(machine, 100, 0, 80, busy_ms);
    for (unsigned i = 1; i + 1 < cards; i++)
        hold(machine, 101, i, 10, busy_elsewhere_ms);
    hold(machine, OUTSIDER, 0, 20, busy_elsewhere_ms);
    hold(machine, OUTSIDER, cards - 1, 20, busy_ms);
}

static void test_uneven_cards(void **state)
{
    (void)state;
    enum { CARDS = 9 };
    struct machine machine;
    machine_init(&machine);
    join(&machine, 100);
    join(&machine, 101);
    for (unsigned i = 0; i < CARDS; i++) {
        char card[16], pdev[24];
        (void)snprintf(card, sizeof(card), "card%u", i);
        (void)snprintf(pdev, sizeof(pdev), "0000:%02x:00.0", i + 1);
        add_amd(&machine, card, pdev);
    }
    hold_unevenly(&machine, CARDS, 0, 0);
    machine_open(&machine);
    baseline(&machine);
    hold_unevenly(&machine, CARDS, 900, 100);
    assert_use(collect(&machine, NS_PER_SEC), 1.6, 150 * 1024, 8);
    assert_count(&machine, CARDS);
    assert_share(&machine, 0, 90, 80 * GIB);
    for (size_t i = 1; i + 1 < CARDS; i++)
        assert_share(&machine, i, 10, 10 * GIB);
    assert_share(&machine, CARDS - 1, 0, 0);
    machine_fini(&machine);
}

/* A process on several cards has memory on each of them. */
static void test_one_process_on_several_cards(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    join(&machine, 100);
    add_amd(&machine, "card0", "0000:01:00.0");
    add_amd(&machine, "card1", "0000:02:00.0");
    hold(&machine, 100, 0, 3, 0);
    hold(&machine, 100, 1, 5, 0);
    machine_open(&machine);
    baseline(&machine);
    hold(&machine, 100, 1, 6, 250);
    assert_use(collect(&machine, NS_PER_SEC), 0.25, 9 * 1024, 1);
    assert_share(&machine, 0, 0, 3 * GIB);
    assert_share(&machine, 1, 25, 6 * GIB);
    machine_fini(&machine);
}

/* Amounts that no machine has do not wrap. */
static void test_impossible_amounts(void **state)
{
    (void)state;
    struct machine machine;
    char text[256];
    machine_init(&machine);
    add_amd(&machine, "card0", PDEV);
    add_amd(&machine, "card1", SECOND);
    join(&machine, 100);
    write_client(text, sizeof(text), PDEV, 1, 17179869183, 0);
    drm_fixture_open(&machine.drm, 100, 5, text);
    write_client(text, sizeof(text), SECOND, 2, 17179869183, 0);
    drm_fixture_open(&machine.drm, 100, 6, text);
    machine_open(&machine);
    baseline(&machine);
    const struct sample_cpu *cpu = collect(&machine, NS_PER_SEC);
    assert_false(cpu->process_gpu_vram_mib.has);
    assert_true(cpu->process_gpu_usage.has);
    machine_fini(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uneven_cards),
        cmocka_unit_test(test_one_process_on_several_cards),
        cmocka_unit_test(test_impossible_amounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
