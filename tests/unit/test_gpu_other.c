/* SPDX-License-Identifier: Apache-2.0 */
/* Cards without a vendor file of their own, and the inventory of DRM devices that all sysfs vendors share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "collect/gpu/drm/drm.h"
#include "gpu_fixture.h"

extern const struct gpu_vendor gpu_vendor_other;

#define PDEV "0000:01:00.0"

static void add_renderer(struct gpu_fixture *fixture, const char *card, const char *driver, const char *pdev)
{
    char path[128];
    gpu_fixture_add_card(fixture, card, driver, pdev);
    (void)snprintf(path, sizeof(path), "sys/devices/pci0000:00/%s/drm/renderD128", pdev);
    fake_env_mkdir(&fixture->fake, path);
}

static void test_left_out(void **state)
{
    struct gpu_fixture *fixture = *state;
    static const char *const drivers[] = {"nvidia", "amdgpu", "i915", "xe", "virtio_gpu", "virtio-pci", "vgem", "vkms",
        "simpledrm", "bochs", "cirrus", "ast", "mgag200", "hyperv_drm", "vmwgfx", "qxl", "udl", "evdi"};
    for (unsigned i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
        char card[16], pdev[32];
        (void)snprintf(card, sizeof(card), "card%u", i);
        (void)snprintf(pdev, sizeof(pdev), "0000:%02x:00.0", i);
        add_renderer(fixture, card, drivers[i], pdev);
    }
    /* No render node. */
    gpu_fixture_add_card(fixture, "card60", "nouveau", "0000:60:00.0");
    assert_int_equal(gpu_fixture_open(fixture), -ENODATA);
}

static void test_pci(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_renderer(fixture, "card0", "nouveau", PDEV);
    gpu_fixture_write(fixture, PDEV, "device", "0x1b80\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon0/name", "nouveau\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon0/temp1_input", "39000\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon0/power1_input", "20000000\n");
    gpu_fixture_set_use(fixture, PDEV, 0.5, 0.75, 4096);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_vendor_other.clients(fixture->state), GPU_CLIENTS_ALL);
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    assert_int_equal(fixture->list.count, 1);
    const struct gpu_card *card = gpu_fixture_card(fixture, 0);
    assert_string_equal(card->facts.name, "nouveau 0x1b80");
    assert_string_equal(card->facts.uuid, PDEV);
    assert_string_equal(gpu_fixture_detail(card, "pci_bus"), PDEV);
    assert_f64(card->reading.utilization_pct, 75);
    assert_f64(card->reading.temperature_celsius, 39);
    assert_f64(card->reading.power_watts, 20);
    assert_f64(card->use.usage, 0.5);
    assert_u64(card->use.vram_bytes, 4096);
}

/* A device of the SoC has a name instead of an address, and its clients are known by the driver. */
static void test_platform(void **state)
{
    struct gpu_fixture *fixture = *state;
    fake_env_link(&fixture->fake, "sys/class/drm/card1", "../../devices/platform/ff9a0000.gpu/drm/card1");
    fake_env_link(&fixture->fake, "sys/devices/platform/ff9a0000.gpu/drm/card1/device", "../../../ff9a0000.gpu");
    fake_env_mkdir(&fixture->fake, "sys/devices/platform/ff9a0000.gpu/drm/renderD128");
    fake_env_link(&fixture->fake, "sys/devices/platform/ff9a0000.gpu/driver", "../../../bus/platform/drivers/panfrost");
    gpu_fixture_set_use(fixture, "panfrost", 0.25, 0.5, -1);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    const struct gpu_card *card = gpu_fixture_card(fixture, 0);
    assert_string_equal(card->facts.name, "panfrost");
    assert_string_equal(card->facts.uuid, "ff9a0000.gpu");
    assert_string_equal(card->facts.host_id, "ff9a0000.gpu");
    assert_null(gpu_fixture_detail(card, "pci_bus"));
    assert_string_equal(gpu_fixture_detail(card, "driver"), "panfrost");
    assert_f64(card->reading.utilization_pct, 50);
    assert_f64(card->use.usage, 0.25);
    fake_env_remove(&fixture->fake, "sys/class/drm/card1");
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), -ENODEV);
}

static void test_numbers(void **state)
{
    (void)state;
    static const char *const names[] = {
        "card7", "card10", "card0", "card", "card1x", "card-1", "card0-DP-1", "xcard3", "card99999999999999999999"};
    struct fake_env fake;
    fake_env_init(&fake);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "sys/class/drm/%s", names[i]);
        fake_env_mkdir(&fake, path);
    }
    unsigned numbers[3];
    assert_int_equal(drm_list_numbers(fake.root.sys_fd, "class/drm", "card", 3, numbers), 3);
    assert_int_equal(numbers[0], 0);
    assert_int_equal(numbers[1], 7);
    assert_int_equal(numbers[2], 10);
    numbers[2] = 42;
    assert_int_equal(drm_list_numbers(fake.root.sys_fd, "class/drm", "card", 2, numbers), 2);
    assert_int_equal(numbers[0], 0);
    assert_int_equal(numbers[1], 7);
    assert_int_equal(numbers[2], 42);
    assert_int_equal(drm_list_numbers(fake.root.sys_fd, "class/none", "card", 2, numbers), -ENOENT);
    fake_env_fini(&fake);
}

/* More cards than we show: the first ones, and no descriptor too many. */
static void test_many(void **state)
{
    struct gpu_fixture *fixture = *state;
    for (unsigned i = 0; i < GPU_CARDS_MAX + 3; i++) {
        char card[16], pdev[32];
        (void)snprintf(card, sizeof(card), "card%u", i);
        (void)snprintf(pdev, sizeof(pdev), "0000:%02x:00.0", i);
        add_renderer(fixture, card, "nouveau", pdev);
    }
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    assert_int_equal(fixture->list.count, GPU_CARDS_MAX);
    assert_string_equal(gpu_fixture_card(fixture, GPU_CARDS_MAX - 1)->facts.uuid, "0000:3f:00.0");
}

static void test_card_facts(void **state)
{
    struct gpu_fixture *fixture = *state;
    static const struct {
        const char *text;
        struct opt_u64 id;
    } ids[] = {{"0x744C\n", {true, 0x744c}}, {"0x0\n", {true, 0}}, {"744c\n", {0}}, {"0x\n", {0}}, {"0x74g\n", {0}},
        {"0x123456789\n", {0}}, {"", {0}}};
    gpu_fixture_add_card(fixture, "card0", "amdgpu", PDEV);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct drm_card card;
        gpu_fixture_write(fixture, PDEV, "device", ids[i].text);
        drm_card_init(&card, fixture->fake.root.sys_fd, "class/drm/card0");
        assert_int_equal(card.device_id.has, ids[i].id.has);
        assert_int_equal(card.device_id.v, ids[i].id.v);
        assert_string_equal(card.driver, "amdgpu");
        assert_true(card.is_pci);
        assert_false(card.has_render_node);
        assert_string_equal(card.hwmon, "");
        assert_false(card.runtime_status.exists);
        drm_card_fini(&card);
    }
}

static int setup(void **state)
{
    return gpu_fixture_setup(state, &gpu_vendor_other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, gpu_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_left_out),
        TEST(test_pci),
        TEST(test_platform),
        cmocka_unit_test(test_numbers),
        TEST(test_many),
        TEST(test_card_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
