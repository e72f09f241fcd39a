/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/cpuinfo of several architectures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "kernel/proc.h"

static void assert_name(const struct cpuinfo *info, const char *name)
{
    assert_int_equal(info->model_name.n, strlen(name));
    assert_memory_equal(info->model_name.p, name, strlen(name));
}

static void test_x86(void **state)
{
    (void)state;
    struct cpuinfo info;
    cpuinfo_parse(STR("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
                      "model name\t: Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz\nstepping\t: 7\n"
                      "flags\t\t: fpu vme hypervisor lahf_lm\nbugs\t\t: spectre_v1\n\n"
                      "processor\t: 1\nmodel name\t: Another\nflags\t\t: fpu\n\n"),
        &info);
    assert_name(&info, "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz");
    assert_true(info.is_virtual.has);
    assert_true(info.is_virtual.v);
    assert_int_equal(info.kind_count, 0);
}

static void test_physical_x86(void **state)
{
    (void)state;
    static const char *const flags[] = {
        "flags\t\t: fpu vme\n",
        "flags\t\t:\n",
        "flags\t\t: hypervisors nohypervisor hypervisor_\n",
        /* The flag of another line is not ours. */
        "vmx flags\t: hypervisor\nflags\t\t: fpu\nbugs\t\t: hypervisor\n",
    };
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct cpuinfo info;
        cpuinfo_parse(str_of(flags[i]), &info);
        assert_true(info.is_virtual.has);
        assert_false(info.is_virtual.v);
    }
}

static void test_arm64(void **state)
{
    (void)state;
    struct cpuinfo info;
    cpuinfo_parse(STR("processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd evtstrm\nCPU implementer\t: 0x41\n"
                      "CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\n"
                      "processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\n"
                      "processor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n"),
        &info);
    assert_int_equal(info.model_name.n, 0);
    assert_false(info.is_virtual.has);
    assert_int_equal(info.kind_count, 2);
    assert_int_equal(info.kinds[0].implementer, 0x41);
    assert_int_equal(info.kinds[0].part, 0xd0c);
    assert_int_equal(info.kinds[1].implementer, 0x41);
    assert_int_equal(info.kinds[1].part, 0xd05);
}

static void test_other_machines(void **state)
{
    (void)state;
    struct cpuinfo info;
    cpuinfo_parse(STR("processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\nclock\t\t: 2.2GHz\n"), &info);
    assert_name(&info, "POWER9 (architected), altivec supported");
    cpuinfo_parse(STR("system type\t\t: generic-loongson-machine\nModel Name\t\t: Loongson-3A5000\n"), &info);
    assert_name(&info, "Loongson-3A5000");
    cpuinfo_parse(STR("processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n"), &info);
    assert_name(&info, "sifive,u74-mc");
    assert_false(info.is_virtual.has);
}

static void test_more_kinds_than_we_take(void **state)
{
    (void)state;
    char text[1024];
    size_t n = 0;
    for (unsigned i = 0; i < CPUINFO_KINDS_MAX + 3; i++)
        n += (size_t)snprintf(
            text + n, sizeof(text) - n, "processor : %u\nCPU implementer : 0x51\nCPU part : 0x%03x\n", i, i);
    struct cpuinfo info;
    cpuinfo_parse((struct str){text, n}, &info);
    assert_int_equal(info.kind_count, CPUINFO_KINDS_MAX);
    assert_int_equal(info.kinds[CPUINFO_KINDS_MAX - 1].part, CPUINFO_KINDS_MAX - 1);
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        ":\n",
        "model name",
        "model name\t: Cut off in the mid",
        "model name\t:\n",
        "model name Xeon\n",
        "flags\t: hypervisor",
        /* A part belongs to an implementer of the same processor. */
        "CPU part\t: 0xd0c\n",
        "processor : 0\nCPU implementer : 0x41\nprocessor : 1\nCPU part : 0xd0c\n",
        "CPU implementer : 65\nCPU part : 0xd0c\n",
        "CPU implementer : 0x\nCPU part : 0xd0c\n",
        "CPU implementer : 0x141\nCPU part : 0xd0c\n",
        "CPU implementer : 0x41\nCPU part : 0x1d0c\n",
        "CPU implementer : 0x41\nCPU part : 0xd0g\n",
        "CPU implementer : 0x41\nCPU part : 0x0000000000000000d0c\n",
        "CPU implementer : 0x41\nCPU part : 0xd0",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct cpuinfo info;
        cpuinfo_parse(str_of(texts[i]), &info);
        assert_int_equal(info.model_name.n, 0);
        assert_int_equal(info.kind_count, 0);
        assert_false(info.is_virtual.has);
    }
}

static void test_midr(void **state)
{
    (void)state;
    struct cpuinfo_core core;
    assert_int_equal(cpuinfo_parse_midr(STR("0x00000000413fd0c1\n"), &core), 0);
    assert_int_equal(core.implementer, 0x41);
    assert_int_equal(core.part, 0xd0c);
    assert_int_equal(cpuinfo_parse_midr(STR("0xC00FAC30"), &core), 0);
    assert_int_equal(core.implementer, 0xc0);
    assert_int_equal(core.part, 0xac3);
    static const char *const broken[] = {"", "413fd0c1", "0x", "0x1413fd0c1", "0x413fd0c1 0", "0x413fd0cz"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        assert_int_equal(cpuinfo_parse_midr(str_of(broken[i]), &core), -EINVAL);
    assert_int_equal(core.part, 0xac3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x86),
        cmocka_unit_test(test_physical_x86),
        cmocka_unit_test(test_arm64),
        cmocka_unit_test(test_other_machines),
        cmocka_unit_test(test_more_kinds_than_we_take),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_midr),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
