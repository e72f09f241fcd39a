/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's introduction, over made-up roots and the captured ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "collect/host/host.h"
#include "collect/host/host_internal.h"
#include "tree.h"

static struct host_facts discover(const char *path)
{
    struct sysroot root;
    struct host_facts host;
    memset(&host, 0x55, sizeof(host));
    assert_int_equal(sysroot_open(path, &root, NULL), 0);
    host_discover(&root, &host);
    sysroot_close(&root);
    return host;
}

static void test_empty_root(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    struct host_facts host = discover(tree.path);
    assert_string_equal(host.id, "");
    assert_string_equal(host.hostname, "");
    assert_string_equal(host.ip, "");
    assert_string_equal(host.cpu_model, "");
    assert_string_equal(host.gpu_model, "");
    assert_null(host.server_allocation);
    assert_false(host.vcpus.has);
    assert_false(host.memory_mib.has);
    assert_false(host.gpu_count.has);
    assert_false(host.gpu_memory_mib.has);
    assert_false(host.storage_gb.has);
    tree_free(&tree);
}

static void test_vm(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "sys/class/dmi/id/board_asset_tag", "i-0123abcd4567ef890\n");
    tree_write(&tree, "etc/machine-id", "0123456789abcdef0123456789abcdef\n");
    tree_write(&tree, "etc/hostname", "  worker-7.example  \nsecond\n");
    tree_write(&tree, "proc/cpuinfo", "processor\t: 0\nmodel name\t:  AMD   EPYC\t7B13 \nflags\t\t: fpu hypervisor\n");
    tree_write(&tree, "proc/meminfo", "MemTotal:       16384000 kB\nMemFree:        1 kB\n");
    tree_write(&tree, "sys/devices/system/cpu/online", "0-1,3,6-7\n");
    tree_write(&tree, "sys/block/vda/size", "41943040\n");
    tree_directory(&tree, "sys/block/vda/device");
    struct host_facts host = discover(tree.path);
    assert_string_equal(host.id, "i-0123abcd4567ef890");
    assert_string_equal(host.hostname, "worker-7.example");
    assert_string_equal(host.ip, "");
    assert_string_equal(host.cpu_model, "AMD EPYC 7B13");
    assert_int_equal(host.vcpus.v, 5);
    assert_int_equal(host.memory_mib.v, 16000);
    assert_true(host.storage_gb.has);
    assert_float_equal(host.storage_gb.v, 21.47483648, 1e-9);
    /* A filler gives way to the id of the installation; without a good one there is none. */
    tree_write(&tree, "sys/class/dmi/id/board_asset_tag", "Default string\n");
    host = discover(tree.path);
    assert_string_equal(host.id, "0123456789abcdef0123456789abcdef");
    tree_write(&tree, "etc/machine-id", "uninitialized\n");
    host = discover(tree.path);
    assert_string_equal(host.id, "");
    tree_free(&tree);
}

static void test_asset_tags(void **state)
{
    (void)state;
    static const char *const good[] = {
        "i-0123abcd4567ef890", "SN4711", "00421", "a.b_c-d", "5CG1234ABC", "ASSET-00421"};
    static const char *const bad[] = {"", "abc", "None", "NONE", "N/A", "n.a.", "Unknown", "Not Specified",
        "NotSpecified", "To be filled by O.E.M.", "To-be-filled-by-O.E.M.", "Default string", "Default_string",
        "Asset-1234567890", "System Board Asset Tag", "Base Board Asset Tag", "No Asset Tag", "NoAssetTag",
        "No-Asset-Tag", "0123456789", "ATN12345678901234567", "0000", "0000-0000", "....", "----", "xxxxxxxx",
        "FFFFFFFF", "    ", "a b c d", "abc\ndef", "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", "<html>", "Not-Available",
        "null", "empty"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(host_is_asset_tag(str_of(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (host_is_asset_tag(str_of(bad[i])))
            fail_msg("taken for a tag: %s", bad[i]);
    }
    char tag[256];
    for (size_t i = 0; i < sizeof(tag); i++)
        tag[i] = "abc"[i % 3];
    assert_true(host_is_asset_tag((struct str){tag, 127}));
    assert_false(host_is_asset_tag((struct str){tag, 128}));
}

static void test_machine_ids(void **state)
{
    (void)state;
    assert_true(host_is_machine_id(STR("0123456789abcdef0123456789abcdef")));
    assert_true(host_is_machine_id(STR("00000000000000000000000000000001")));
    static const char *const bad[] = {"", "uninitialized", "00000000000000000000000000000000",
        "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdef0", "0123456789abcdeg0123456789abcdef",
        "01234567-89ab-cdef-0123-456789abcdef", "0123456789abcde 0123456789abcdef"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(host_is_machine_id(str_of(bad[i])));
}

static void test_texts(void **state)
{
    (void)state;
    char out[16];
    assert_true(host_clean_text(STR(" \t a \x01\n b\x7f"), out, sizeof(out)));
    assert_string_equal(out, "a b");
    assert_false(host_clean_text(STR(" \n\r\t"), out, sizeof(out)));
    assert_string_equal(out, "");
    assert_false(host_clean_text((struct str){0}, out, sizeof(out)));
    /* A NUL ends nothing, C1 controls are controls, and broken bytes vanish. */
    assert_true(host_clean_text(STR("x\0y\xc2\x85z\xff\xc3w\xed\xa0\x80!"), out, sizeof(out)));
    assert_string_equal(out, "x y zw!");
    /* Cut between characters, and without the blank that would stand last. */
    assert_true(host_clean_text(STR("12345678901234\xc3\xa4z"), out, sizeof(out)));
    assert_string_equal(out, "12345678901234");
    assert_true(host_clean_text(STR("12345678901234 56"), out, sizeof(out)));
    assert_string_equal(out, "12345678901234");
    assert_true(host_clean_text(STR("123456789012345"), out, sizeof(out)));
    assert_string_equal(out, "123456789012345");
}

static void test_cpu_lists(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t count;
    } good[] = {{"0", 1}, {"0-3\n", 4}, {"0-3,8,10-11", 7}, {"5", 1}, {"0-8191", 8192}, {"2-2", 1}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        uint64_t count = 0;
        assert_int_equal(host_count_cpu_list(str_of(good[i].text), &count), 0);
        assert_int_equal(count, good[i].count);
    }
    static const char *const bad[] = {"", "\n", ",", "0,", ",0", "-", "0-", "-3", "3-1", "0-3,2", "0,0", "0-8192", "a",
        "0 - 3", "0--3", "18446744073709551616", "0-3;5", "0x3"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint64_t count = 42;
        assert_int_equal(host_count_cpu_list(str_of(bad[i]), &count), -EINVAL);
        assert_int_equal(count, 42);
    }
}

static void test_cpus_of_proc_stat(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "sys/devices/system/cpu/online", "broken\n");
    tree_write(&tree, "proc/stat", "cpu  3 0 3 3 0 0 0 0 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\ncpu2 2 0 2 2 0 0 0 0 0 0\n");
    struct host_facts host = discover(tree.path);
    assert_true(host.vcpus.has);
    assert_int_equal(host.vcpus.v, 2);
    tree_write(&tree, "proc/stat", "cpu  3 0 3 3 0 0 0 0 0 0\n");
    assert_false(discover(tree.path).vcpus.has);
    tree_free(&tree);
}

static void assert_model(const struct tree *tree, const char *model)
{
    struct host_facts host = discover(tree->path);
    assert_string_equal(host.cpu_model, model);
}

static void test_arm_models(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    tree_directory(&tree, "proc");
    tree_write(&tree, "sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "0x00000000411fd401\n");
    assert_model(&tree, "ARM Neoverse-V1");
    tree_write(&tree, "proc/cpuinfo",
        "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd05\n"
        "processor : 1\nCPU implementer : 0x41\nCPU part : 0xd0b\n");
    assert_model(&tree, "ARM Cortex-A55 + ARM Cortex-A76");
    tree_write(&tree, "proc/cpuinfo",
        "processor : 0\nmodel name : ARMv8 Processor rev 3 (v8l)\n"
        "CPU implementer : 0x41\nCPU part : 0xd08\n");
    assert_model(&tree, "ARM Cortex-A72");
    tree_write(&tree, "proc/cpuinfo", "processor : 0\nCPU implementer : 0xc0\nCPU part : 0xfff\n");
    assert_model(&tree, "Ampere part 0xfff");
    /* A virtual machine's device tree names no machine; a board's does, with a NUL at its end. */
    tree_write(&tree, "proc/device-tree/model", "linux,dummy-virt");
    assert_model(&tree, "Ampere part 0xfff");
    tree_write_bytes(&tree, "proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4", 31);
    assert_model(&tree, "Raspberry Pi 4 Model B Rev 1.4");
    tree_remove(&tree, "proc/device-tree");
    tree_write_bytes(&tree, "sys/firmware/devicetree/base/model", "NVIDIA Jetson AGX Orin", 23);
    assert_model(&tree, "NVIDIA Jetson AGX Orin");
    tree_remove(&tree, "sys/firmware");
    tree_remove(&tree, "sys/devices");
    tree_write(&tree, "proc/cpuinfo", "processor : 0\nCPU implementer : 0x99\nCPU part : 0x001\n");
    assert_model(&tree, "");
    tree_write(&tree, "proc/cpuinfo", "model name : ARMv7 Processor rev 4 (v7l)\n");
    assert_model(&tree, "ARMv7 Processor rev 4 (v7l)");
    tree_free(&tree);
}

/* A file that is larger than what is read of it still names its first processor. */
static void test_large_cpuinfo(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    static char text[3 * HOST_CPUINFO_BYTES_MAX];
    size_t n = (size_t)snprintf(text, sizeof(text), "processor : 0\nmodel name : Big One\nflags : fpu\n\n");
    while (n < sizeof(text) - 128)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "processor : 1\nmodel name : Other\nflags : fpu\n\n");
    tree_write_bytes(&tree, "proc/cpuinfo", text, n);
    assert_model(&tree, "Big One");
    tree_free(&tree);
}

static void add_disk(const struct tree *tree, const char *name, const char *attribute, const char *value)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "sys/block/%s/device", name);
    tree_directory(tree, path);
    (void)snprintf(path, sizeof(path), "sys/block/%s/%s", name, attribute);
    tree_write(tree, path, value);
}

static void assert_storage(const struct tree *tree, double gb)
{
    struct opt_f64 storage = discover(tree->path).storage_gb;
    assert_true(storage.has);
    assert_float_equal(storage.v, gb, 1e-9);
}

static void test_disks_that_count(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    add_disk(&tree, "sda", "size", "2000000000\n");
    assert_storage(&tree, 1024);
    static const char *const others[] = {
        "loop0", "ram1", "zram0", "dm-0", "md127", "sr0", "fd0", "nbd0", "mmcblk0boot0", "mmcblk0rpmb", "nvme0c0n1"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        add_disk(&tree, others[i], "size", "2000000000\n");
    tree_write(&tree, "sys/block/zd0/size", "2000000000\n");
    add_disk(&tree, "sdb", "removable", "1\n");
    add_disk(&tree, "sdb", "size", "2000000000\n");
    add_disk(&tree, "nvme9n1", "hidden", "1\n");
    add_disk(&tree, "nvme9n1", "size", "2000000000\n");
    add_disk(&tree, "sdd", "size", "0\n");
    add_disk(&tree, "sde", "size", "-1\n");
    add_disk(&tree, "sdf", "size", "many\n");
    assert_storage(&tree, 1024);
    add_disk(&tree, "mmcblk0", "size", "1000\n");
    add_disk(&tree, "nvme0n1", "size", "2000\n");
    add_disk(&tree, "nvme0n2", "size", "4000\n");
    add_disk(&tree, "mdraidlike", "size", "8000\n");
    assert_storage(&tree, 1024 + 15000 * 512 / 1e9);
    tree_free(&tree);
}

static void test_paths_to_one_disk(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    add_disk(&tree, "sda", "size", "1000000000\n");
    add_disk(&tree, "sdb", "size", "1000000000\n");
    assert_storage(&tree, 1024);
    add_disk(&tree, "sda", "device/wwid", "naa.600508b1001c0000\n");
    add_disk(&tree, "sdb", "device/wwid", "naa.600508b1001c0001\n");
    assert_storage(&tree, 1024);
    add_disk(&tree, "sdb", "device/wwid", "naa.600508b1001c0000\n");
    assert_storage(&tree, 512);
    /* The same name and another size, and a name of zeros: different disks. */
    add_disk(&tree, "sdb", "size", "3000000000\n");
    assert_storage(&tree, 2048);
    add_disk(&tree, "sdb", "size", "1000000000\n");
    add_disk(&tree, "sda", "device/wwid", "0000-0000\n");
    add_disk(&tree, "sdb", "device/wwid", "0000-0000\n");
    assert_storage(&tree, 1024);
    /* To read the serial number of a virtio disk is a request to the device: it is not asked. */
    add_disk(&tree, "sda", "serial", "disk-1\n");
    add_disk(&tree, "sdb", "serial", "disk-1\n");
    assert_storage(&tree, 1024);
    tree_free(&tree);
}

static void test_captured_machines(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        uint64_t vcpus, memory_mib;
        double storage_gb;
    } machines[] = {
        {SOURCE_ROOT "/tests/fixtures/arm64/t0", 4, 0, 62333952 * 512.0 / 1e9},
        {SOURCE_ROOT "/tests/fixtures/numa-64core/t0", 64, 527951116 / 1024, 0},
        {SOURCE_ROOT "/tests/fixtures/disks/t0", 0, 0,
            (2000409264.0 + 1000000000.0 + 3907029168.0 + 23437770752.0 + 60062500.0) * 512 / 1e9},
    };
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        struct host_facts host = discover(machines[i].path);
        assert_true(host.vcpus.has);
        if (machines[i].vcpus > 0)
            assert_int_equal(host.vcpus.v, machines[i].vcpus);
        if (machines[i].memory_mib > 0)
            assert_int_equal(host.memory_mib.v, machines[i].memory_mib);
        if (machines[i].storage_gb > 0)
            assert_float_equal(host.storage_gb.v, machines[i].storage_gb, 1e-6);
        assert_string_equal(host.ip, "");
    }
}

static bool is_own(int family, const char *address, const char *interface)
{
    struct sockaddr_in ip4 = {.sin_family = AF_INET};
    struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6};
    if (family == AF_INET) {
        assert_int_equal(inet_pton(AF_INET, address, &ip4.sin_addr), 1);
        return host_is_own_address((const struct sockaddr *)&ip4, interface);
    }
    assert_int_equal(inet_pton(AF_INET6, address, &ip6.sin6_addr), 1);
    return host_is_own_address((const struct sockaddr *)&ip6, interface);
}

static void test_addresses(void **state)
{
    (void)state;
    assert_true(is_own(AF_INET, "192.168.1.10", "eth0"));
    assert_true(is_own(AF_INET, "8.8.4.4", "br0"));
    assert_true(is_own(AF_INET6, "2001:db8::7", "ens5"));
    assert_true(is_own(AF_INET6, "fd00::7", "wlan0"));
    static const char *const not_ip4[] = {
        "0.0.0.0", "127.0.0.1", "127.8.8.8", "169.254.1.1", "224.0.0.1", "255.255.255.255"};
    for (size_t i = 0; i < sizeof(not_ip4) / sizeof(not_ip4[0]); i++)
        assert_false(is_own(AF_INET, not_ip4[i], "eth0"));
    static const char *const not_ip6[] = {"::", "::1", "fe80::1", "ff02::1", "::ffff:192.0.2.7"};
    for (size_t i = 0; i < sizeof(not_ip6) / sizeof(not_ip6[0]); i++)
        assert_false(is_own(AF_INET6, not_ip6[i], "eth0"));
    static const char *const bridges[] = {"docker0", "br-0a1b2c3d4e5f", "virbr0", "cni0", "podman1", "lxcbr0"};
    for (size_t i = 0; i < sizeof(bridges) / sizeof(bridges[0]); i++)
        assert_false(is_own(AF_INET, "192.168.1.10", bridges[i]));
    struct sockaddr other = {.sa_family = AF_UNIX};
    assert_false(host_is_own_address(&other, "eth0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_root),
        cmocka_unit_test(test_vm),
        cmocka_unit_test(test_asset_tags),
        cmocka_unit_test(test_machine_ids),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_cpu_lists),
        cmocka_unit_test(test_cpus_of_proc_stat),
        cmocka_unit_test(test_arm_models),
        cmocka_unit_test(test_large_cpuinfo),
        cmocka_unit_test(test_disks_that_count),
        cmocka_unit_test(test_paths_to_one_disk),
        cmocka_unit_test(test_captured_machines),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
