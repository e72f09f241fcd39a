/* SPDX-License-Identifier: Apache-2.0 */
/* The network collector over made-up machines: rates under a fake clock, identity, links, comings and goings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fake_env.h"

static const char headings[] =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
    "compressed\n";

struct traffic {
    const char *name;
    uint64_t rx, tx;
};

static void put_dev(struct fake_env *fake, const struct traffic *rows, size_t count)
{
    static char text[64 * 1024];
    size_t n = (size_t)snprintf(text, sizeof(text), "%s", headings);
    for (size_t i = 0; i < count; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%6s: %llu 5 1 2 0 0 0 0 %llu 6 3 4 0 0 0 0\n", rows[i].name,
            (unsigned long long)rows[i].rx, (unsigned long long)rows[i].tx);
    assert_true(n < sizeof(text));
    fake_env_write(fake, "proc/net/dev", text);
}

#define PUT_DEV(fake, ...)                                                                                             \
    do {                                                                                                               \
        const struct traffic rows[] = {__VA_ARGS__};                                                                   \
        put_dev((fake), rows, sizeof(rows) / sizeof(rows[0]));                                                         \
    } while (0)

static void put_sys(struct fake_env *fake, const char *name, const char *attr, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "sys/class/net/%s/%s", name, attr);
    fake_env_write(fake, path, text);
}

static void put_card(struct fake_env *fake, const char *name)
{
    put_sys(fake, name, "address", "52:54:00:12:34:56\n");
    put_sys(fake, name, "operstate", "up\n");
    put_sys(fake, name, "speed", "10000\n");
    put_sys(fake, name, "carrier_changes", "2\n");
    put_sys(fake, name, "mtu", "1500\n");
    char path[128];
    (void)snprintf(path, sizeof(path), "sys/class/net/%s/device/driver", name);
    fake_env_link(fake, path, "../../../../bus/virtio/drivers/virtio_net");
}

static const struct sample_network *find(const struct fake_run *run, const char *name)
{
    const struct sample_network *items = run->sample.network.items;
    for (size_t i = 0; i < run->sample.network.count; i++) {
        if (strcmp(items[i].interface, name) == 0)
            return &items[i];
    }
    return NULL;
}

static void start(struct fake_env *fake, struct fake_run *run)
{
    assert_int_equal(fake_env_open(fake, &collector_network, run), 0);
    assert_int_equal(fake_env_baseline(fake, run), 0);
    assert_false(run->sample.network.present);
}

static void step(struct fake_env *fake, struct fake_run *run, int64_t ns)
{
    fake_env_advance(fake, ns);
    assert_int_equal(fake_env_collect(fake, run), 0);
    assert_int_equal(run->err.code, 0);
    assert_true(run->sample.network.present);
}

static void test_card(void **state)
{
    struct fake_env *fake = *state;
    int before = fake_env_open_count();
    put_card(fake, "eth0");
    PUT_DEV(fake, {"lo", 9, 9}, {"eth0", 1000, 200});
    struct fake_run run;
    start(fake, &run);
    PUT_DEV(fake, {"lo", 10, 10}, {"eth0", 6000, 1200});
    step(fake, &run, 2 * NS_PER_SEC + NS_PER_SEC / 2);
    assert_int_equal(run.sample.network.count, 1);
    const struct sample_network *eth0 = find(&run, "eth0");
    assert_non_null(eth0);
    assert_string_equal(eth0->mac_address, "52:54:00:12:34:56");
    assert_string_equal(eth0->driver, "virtio_net");
    assert_string_equal(eth0->operstate, "up");
    assert_true(eth0->speed_mbps.has && eth0->speed_mbps.v == 10000);
    assert_true(eth0->mtu.has && eth0->mtu.v == 1500);
    assert_true(eth0->is_virtual.has && !eth0->is_virtual.v);
    assert_true(eth0->rx_bytes_delta.has && eth0->rx_bytes_delta.v == 5000);
    assert_true(eth0->tx_bytes_delta.has && eth0->tx_bytes_delta.v == 1000);
    assert_true(eth0->rx_bytes_per_sec.has && eth0->rx_bytes_per_sec.v == 2000);
    assert_true(eth0->tx_bytes_per_sec.has && eth0->tx_bytes_per_sec.v == 400);
    assert_true(eth0->rx_bytes_total.v == 6000 && eth0->tx_bytes_total.v == 1200);
    assert_true(eth0->rx_errors.v == 1 && eth0->rx_dropped.v == 2);
    assert_true(eth0->tx_errors.v == 3 && eth0->tx_dropped.v == 4);

    /* A reset gives 0 once and counts on from there; without time there is no rate. */
    PUT_DEV(fake, {"eth0", 10, 1300});
    step(fake, &run, NS_PER_SEC);
    eth0 = find(&run, "eth0");
    assert_true(eth0->rx_bytes_per_sec.has && eth0->rx_bytes_per_sec.v == 0);
    assert_true(eth0->tx_bytes_per_sec.v == 100);
    PUT_DEV(fake, {"eth0", 11, 1300});
    step(fake, &run, NS_PER_SEC / 4);
    assert_true(find(&run, "eth0")->rx_bytes_per_sec.v == 4);
    step(fake, &run, 0);
    assert_false(find(&run, "eth0")->rx_bytes_per_sec.has);
    assert_true(find(&run, "eth0")->rx_bytes_delta.has);
    fake_env_close(&run);
    assert_int_equal(fake_env_open_count(), before);
}

static void test_identity_odds(void **state)
{
    struct fake_env *fake = *state;
    put_card(fake, "eth0");
    put_sys(fake, "veth1", "address", "00:00:00:00:00:00\n");
    put_sys(fake, "veth1", "speed", "4294967295\n");
    put_sys(fake, "tun0", "address", "\n");
    put_sys(fake, "tun0", "speed", "-1\n");
    put_sys(fake, "tun0", "mtu", "huge\n");
    fake_env_mkdir(fake, "sys/class/net/bad0");
    fake_env_mkdir(fake, "sys/class/net/bad0/speed");
    fake_env_mkdir(fake, "sys/class/net/bad0/operstate");
    fake_env_link(fake, "sys/class/net/bad0/device", "../../gone");
    PUT_DEV(fake, {"veth1", 1, 1}, {"tun0", 1, 1}, {"eth0:1", 1, 1}, {"eth0", 1, 1}, {"bad0", 1, 1}, {"nosys", 1, 1});
    struct fake_run run;
    start(fake, &run);
    step(fake, &run, NS_PER_SEC);
    const struct sample_network *items = run.sample.network.items;
    const char *const sorted[] = {"bad0", "eth0", "eth0:1", "nosys", "tun0", "veth1"};
    assert_int_equal(run.sample.network.count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(items[i].interface, sorted[i]);

    const struct sample_network *veth = find(&run, "veth1");
    assert_null(veth->mac_address);
    assert_null(veth->driver);
    assert_null(veth->operstate);
    assert_true(veth->is_virtual.has && veth->is_virtual.v);
    assert_true(veth->speed_mbps.has && veth->speed_mbps.v == -1);
    assert_false(veth->mtu.has);

    const struct sample_network *tun = find(&run, "tun0");
    assert_null(tun->mac_address);
    assert_true(tun->speed_mbps.has && tun->speed_mbps.v == -1);
    assert_false(tun->mtu.has);

    const struct sample_network *bad = find(&run, "bad0");
    assert_true(bad->speed_mbps.has && bad->speed_mbps.v == -1);
    assert_null(bad->operstate);
    assert_null(bad->driver);
    assert_true(bad->is_virtual.has && !bad->is_virtual.v);

    const char *const outside_sysfs[] = {"eth0:1", "nosys"};
    for (size_t i = 0; i < 2; i++) {
        const struct sample_network *row = find(&run, outside_sysfs[i]);
        assert_null(row->mac_address);
        assert_null(row->operstate);
        assert_false(row->is_virtual.has);
        assert_false(row->speed_mbps.has);
        assert_false(row->mtu.has);
        assert_true(row->rx_bytes_per_sec.has && row->rx_bytes_per_sec.v == 0);
    }
    fake_env_close(&run);
}

static void test_links_are_slow_and_kept(void **state)
{
    struct fake_env *fake = *state;
    put_card(fake, "eth0");
    PUT_DEV(fake, {"eth0", 1, 1});
    struct fake_run run;
    start(fake, &run);
    step(fake, &run, NS_PER_SEC);
    put_sys(fake, "eth0", "operstate", "down\n");
    put_sys(fake, "eth0", "speed", "100\n");
    put_sys(fake, "eth0", "mtu", "9000\n");
    step(fake, &run, COLLECT_SLOW_NS - 1);
    assert_string_equal(find(&run, "eth0")->operstate, "up");
    step(fake, &run, 1);
    assert_string_equal(find(&run, "eth0")->operstate, "down");
    assert_true(find(&run, "eth0")->speed_mbps.v == 100);
    assert_true(find(&run, "eth0")->mtu.v == 9000);
    assert_string_equal(find(&run, "eth0")->mac_address, "52:54:00:12:34:56");

    /* The driver is asked for the speed again when the link changed, and seldom when it did not. */
    put_sys(fake, "eth0", "speed", "40000\n");
    step(fake, &run, COLLECT_SLOW_NS);
    assert_true(find(&run, "eth0")->speed_mbps.v == 100);
    put_sys(fake, "eth0", "carrier_changes", "4\n");
    step(fake, &run, COLLECT_SLOW_NS);
    assert_true(find(&run, "eth0")->speed_mbps.v == 40000);
    put_sys(fake, "eth0", "speed", "20000\n");
    step(fake, &run, 20 * COLLECT_SLOW_NS);
    assert_true(find(&run, "eth0")->speed_mbps.v == 40000);
    step(fake, &run, 20 * COLLECT_SLOW_NS);
    assert_true(find(&run, "eth0")->speed_mbps.v == 20000);

    /* A new file of the same name goes unseen while the descriptor works, and is found when it does not. */
    int open_now = fake_env_open_count();
    fake_env_break(fake, "sys/class/net/eth0/mtu");
    fake_env_remove(fake, "sys/class/net/eth0/mtu");
    put_sys(fake, "eth0", "mtu", "1400\n");
    fake_env_break(fake, "sys/class/net/eth0/operstate");
    fake_env_remove(fake, "sys/class/net/eth0/operstate");
    step(fake, &run, COLLECT_SLOW_NS);
    assert_true(find(&run, "eth0")->mtu.v == 1400);
    assert_null(find(&run, "eth0")->operstate);
    assert_int_equal(fake_env_open_count(), open_now - 1);
    fake_env_close(&run);
}

static void test_net_dev_is_kept(void **state)
{
    struct fake_env *fake = *state;
    PUT_DEV(fake, {"eth0", 100, 1});
    struct fake_run run;
    start(fake, &run);
    fake_env_remove(fake, "proc/net/dev");
    PUT_DEV(fake, {"eth0", 900, 1});
    step(fake, &run, NS_PER_SEC);
    assert_true(find(&run, "eth0")->rx_bytes_total.v == 100);
    fake_env_close(&run);
}

static void test_come_and_go(void **state)
{
    struct fake_env *fake = *state;
    put_card(fake, "eth0");
    put_card(fake, "usb0");
    PUT_DEV(fake, {"usb0", 500, 500}, {"eth0", 1000, 1000});
    struct fake_run run;
    start(fake, &run);
    step(fake, &run, NS_PER_SEC);
    int with_both = fake_env_open_count();

    PUT_DEV(fake, {"eth0", 1100, 1000});
    step(fake, &run, NS_PER_SEC);
    assert_int_equal(run.sample.network.count, 1);
    assert_int_equal(fake_env_open_count(), with_both - 4);
    assert_true(find(&run, "eth0")->rx_bytes_delta.v == 100);

    put_sys(fake, "usb0", "address", "52:54:00:00:00:02\n");
    PUT_DEV(fake, {"eth0", 1100, 1000}, {"usb0", 900, 900});
    step(fake, &run, NS_PER_SEC);
    assert_int_equal(run.sample.network.count, 2);
    assert_int_equal(fake_env_open_count(), with_both);
    const struct sample_network *usb = find(&run, "usb0");
    assert_false(usb->rx_bytes_per_sec.has);
    assert_false(usb->rx_bytes_delta.has);
    assert_true(usb->rx_bytes_total.has && usb->rx_bytes_total.v == 900);
    assert_string_equal(usb->mac_address, "52:54:00:00:00:02");
    PUT_DEV(fake, {"eth0", 1100, 1000}, {"usb0", 950, 900});
    step(fake, &run, NS_PER_SEC / 2);
    assert_true(find(&run, "usb0")->rx_bytes_per_sec.v == 100);

    put_dev(fake, NULL, 0);
    step(fake, &run, NS_PER_SEC);
    assert_int_equal(run.sample.network.count, 0);
    fake_env_close(&run);
}

static void test_hundred_interfaces(void **state)
{
    struct fake_env *fake = *state;
    static char names[100][16];
    struct traffic rows[100];
    for (size_t i = 0; i < 100; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "veth%zu", 99 - i);
        rows[i] = (struct traffic){names[i], i, 2 * i};
        put_sys(fake, names[i], "operstate", "up\n");
        put_sys(fake, names[i], "mtu", "1500\n");
        put_sys(fake, names[i], "speed", "10000\n");
        put_sys(fake, names[i], "carrier_changes", "2\n");
    }
    put_dev(fake, rows, 100);
    struct fake_run run;
    start(fake, &run);
    int before = fake_env_open_count();
    for (size_t i = 0; i < 100; i++)
        rows[i].rx += 7;
    put_dev(fake, rows, 100);
    step(fake, &run, NS_PER_SEC);
    assert_int_equal(run.sample.network.count, 100);
    assert_int_equal(fake_env_open_count(), before + 64 * 3);
    const struct sample_network *items = run.sample.network.items;
    for (size_t i = 0; i < 100; i++) {
        assert_true(i == 0 || strcmp(items[i - 1].interface, items[i].interface) < 0);
        assert_true(items[i].rx_bytes_delta.v == 7 && items[i].tx_bytes_delta.v == 0);
        assert_string_equal(items[i].operstate, "up");
    }

    /* Those without kept descriptors are read again too, and the places of vanished ones are given on. */
    put_sys(fake, "veth99", "mtu", "9000\n");
    put_sys(fake, "veth0", "mtu", "9000\n");
    step(fake, &run, COLLECT_SLOW_NS);
    assert_true(find(&run, "veth99")->mtu.v == 9000);
    assert_true(find(&run, "veth0")->mtu.v == 9000);
    put_dev(fake, rows, 10);
    step(fake, &run, NS_PER_SEC);
    assert_int_equal(run.sample.network.count, 10);
    put_dev(fake, rows, 100);
    step(fake, &run, NS_PER_SEC);
    assert_int_equal(run.sample.network.count, 100);
    assert_int_equal(fake_env_open_count(), before + 64 * 3);
    fake_env_close(&run);
    assert_int_equal(fake_env_open_count(), before - 1);
}

static void test_hostile_names(void **state)
{
    struct fake_env *fake = *state;
    fake_env_write(fake, "sys/class/net/address", "01:02:03:04:05:06\n");
    fake_env_write(fake, "sys/class/address", "01:02:03:04:05:06\n");
    fake_env_write(fake, "sys/class/net/a/b/address", "01:02:03:04:05:06\n");
    PUT_DEV(fake, {"..", 1, 1}, {".", 1, 1}, {"a/b", 1, 1}, {"../net", 1, 1}, {"eth0", 5, 5}, {"eth0", 6, 6});
    struct fake_run run;
    start(fake, &run);
    step(fake, &run, NS_PER_SEC);
    step(fake, &run, COLLECT_SLOW_NS);
    assert_int_equal(run.sample.network.count, 5);
    const struct sample_network *items = run.sample.network.items;
    for (size_t i = 0; i < run.sample.network.count; i++) {
        assert_null(items[i].mac_address);
        assert_false(items[i].is_virtual.has);
        assert_false(items[i].speed_mbps.has);
        assert_true(items[i].rx_bytes_delta.has && items[i].rx_bytes_delta.v == 0);
    }

    PUT_DEV(fake, {"twin", 1, 1}, {"eth0", 7, 7}, {"twin", 1, 1});
    step(fake, &run, NS_PER_SEC);
    assert_int_equal(run.sample.network.count, 2);
    fake_env_close(&run);
}

/* As sysfs shows it: a link into devices. */
static void link_card(struct fake_env *fake, const char *name)
{
    char path[64], target[64];
    (void)snprintf(path, sizeof(path), "sys/class/net/%s", name);
    (void)snprintf(target, sizeof(target), "../../devices/net/%s", name);
    fake_env_link(fake, path, target);
    (void)snprintf(path, sizeof(path), "sys/devices/net/%s/address", name);
    fake_env_write(fake, path, "02:00:00:00:00:01\n");
    (void)snprintf(path, sizeof(path), "sys/devices/net/%s/mtu", name);
    fake_env_write(fake, path, "1500\n");
}

static void step_foreign(struct fake_env *fake, struct fake_run *run, int64_t ns)
{
    fake_env_advance(fake, ns);
    assert_int_equal(fake_env_collect(fake, run), 0);
    assert_true(run->err.code < 0);
    assert_non_null(strstr(run->err.msg, "/sys is of another network namespace"));
    const struct sample_network *eth0 = find(run, "eth0");
    assert_non_null(eth0);
    assert_true(eth0->rx_bytes_total.has && eth0->rx_bytes_per_sec.has);
    assert_null(eth0->mac_address);
    assert_null(eth0->driver);
    assert_null(eth0->operstate);
    assert_false(eth0->speed_mbps.has || eth0->mtu.has || eth0->is_virtual.has);
}

static void test_sysfs_of_another_namespace(void **state)
{
    struct fake_env *fake = *state;
    link_card(fake, "eth0");
    link_card(fake, "ens9");
    PUT_DEV(fake, {"lo", 1, 1}, {"eth0", 1, 1});
    int before = fake_env_open_count();
    struct fake_run run;
    start(fake, &run);
    for (int i = 0; i < 6; i++)
        step_foreign(fake, &run, NS_PER_SEC);
    assert_int_equal(fake_env_open_count(), before + 1);

    /* After a few looks only now and then. */
    fake_env_remove(fake, "sys/class/net/ens9");
    step_foreign(fake, &run, NS_PER_SEC);
    step(fake, &run, COLLECT_SLOW_NS);
    assert_string_equal(find(&run, "eth0")->mac_address, "02:00:00:00:00:01");

    /* Nothing is read again while the interfaces are the same. */
    link_card(fake, "ens9");
    step(fake, &run, COLLECT_SLOW_NS);
    assert_true(find(&run, "eth0")->mtu.has);

    /* Where it matched before, one mismatch may be chance: what is known stays, what is new is not believed yet. */
    link_card(fake, "eth1");
    PUT_DEV(fake, {"lo", 1, 1}, {"eth0", 1, 1}, {"eth1", 1, 1});
    step(fake, &run, NS_PER_SEC);
    assert_true(find(&run, "eth0")->mtu.has);
    assert_false(find(&run, "eth1")->mtu.has);
    step_foreign(fake, &run, NS_PER_SEC);
    assert_int_equal(fake_env_open_count(), before + 1);

    /* A change of the set is a reason to look at once. */
    PUT_DEV(fake, {"eth0", 1, 1}, {"eth1", 1, 1}, {"ens9", 1, 1});
    step(fake, &run, NS_PER_SEC);
    assert_true(find(&run, "eth0")->mtu.has && find(&run, "ens9")->mtu.has);

    put_dev(fake, NULL, 0);
    step(fake, &run, NS_PER_SEC);
    fake_env_close(&run);
}

/* An interface that came between reading net/dev and listing sysfs. */
static void test_sysfs_race(void **state)
{
    struct fake_env *fake = *state;
    fake_env_write(fake, "sys/class/net/bonding_masters", "\n");
    link_card(fake, "lo");
    link_card(fake, "eth0");
    link_card(fake, "late0");
    /* A name that net_dev_parse refuses. */
    fake_env_link(fake, "sys/class/net/\001", "../../devices/net/eth0");
    PUT_DEV(fake, {"eth0", 1, 1});
    struct fake_run run;
    start(fake, &run);
    step_foreign(fake, &run, NS_PER_SEC);
    PUT_DEV(fake, {"eth0", 1, 1}, {"late0", 1, 1});
    step(fake, &run, NS_PER_SEC);
    assert_string_equal(find(&run, "eth0")->mac_address, "02:00:00:00:00:01");

    link_card(fake, "late1");
    link_card(fake, "late2");
    PUT_DEV(fake, {"eth0", 1, 1}, {"late0", 1, 1}, {"late1", 1, 1});
    step(fake, &run, NS_PER_SEC);
    assert_true(find(&run, "late0")->mtu.has);
    assert_false(find(&run, "late1")->mtu.has);
    PUT_DEV(fake, {"eth0", 1, 1}, {"late0", 1, 1}, {"late1", 1, 1}, {"late2", 1, 1});
    step(fake, &run, NS_PER_SEC);
    assert_true(find(&run, "late0")->mtu.has && find(&run, "late1")->mtu.has && find(&run, "late2")->mtu.has);
    fake_env_close(&run);
}

/* Another device under the same name whose counters do not go backwards. */
static void test_replaced(void **state)
{
    struct fake_env *fake = *state;
    put_card(fake, "eth0");
    PUT_DEV(fake, {"eth0", 1, 1});
    struct fake_run run;
    start(fake, &run);
    step(fake, &run, NS_PER_SEC);
    int open_now = fake_env_open_count();
    fake_env_remove(fake, "sys/class/net/eth0/device");
    put_sys(fake, "eth0", "address", "52:54:00:00:00:01\n");
    put_sys(fake, "eth0", "mtu", "9000\n");
    step(fake, &run, COLLECT_SLOW_NS - 1);
    assert_string_equal(find(&run, "eth0")->mac_address, "52:54:00:12:34:56");
    assert_string_equal(find(&run, "eth0")->driver, "virtio_net");
    step(fake, &run, 1);
    const struct sample_network *eth0 = find(&run, "eth0");
    assert_string_equal(eth0->mac_address, "52:54:00:00:00:01");
    assert_null(eth0->driver);
    assert_true(eth0->is_virtual.has && eth0->is_virtual.v);
    assert_true(eth0->mtu.v == 9000);
    assert_int_equal(fake_env_open_count(), open_now);

    /* The descriptors fail, as those of a removed device do; the new one has a speed and no operstate. */
    const char *const names[] = {"address", "operstate", "carrier_changes", "mtu"};
    for (size_t i = 0; i < 4; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "sys/class/net/eth0/%s", names[i]);
        fake_env_break(fake, path);
    }
    fake_env_remove(fake, "sys/class/net/eth0");
    put_sys(fake, "eth0", "address", "52:54:00:00:00:02\n");
    put_sys(fake, "eth0", "speed", "25000\n");
    step(fake, &run, COLLECT_SLOW_NS);
    eth0 = find(&run, "eth0");
    assert_string_equal(eth0->mac_address, "52:54:00:00:00:02");
    assert_null(eth0->operstate);
    assert_true(eth0->speed_mbps.v == 25000);
    assert_false(eth0->mtu.has);
    assert_int_equal(fake_env_open_count(), open_now - 3);
    fake_env_close(&run);
}

/* One collect with at most `more` new descriptors. */
static int collect_with_few(struct fake_env *fake, struct fake_run *run, int more)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    /* The limit is on numbers, so the free ones below it are taken first. */
    int fds[40];
    for (int i = 0; i < 40; i++)
        assert_true((fds[i] = dup(0)) >= 0);
    const struct rlimit few = {.rlim_cur = (rlim_t)fds[39] + 1, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int i = 40 - more; i < 40; i++)
        assert_int_equal(close(fds[i]), 0);
    fake_env_advance(fake, NS_PER_SEC);
    int r = fake_env_collect(fake, run);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < 40 - more; i++)
        assert_int_equal(close(fds[i]), 0);
    return r;
}

static void test_few_descriptors(void **unused)
{
    (void)unused;
    for (int more = 0; more <= 4; more++) {
        struct fake_env fake;
        fake_env_init(&fake);
        put_card(&fake, "eth0");
        PUT_DEV(&fake, {"eth0", 1, 1});
        struct fake_run run;
        start(&fake, &run);
        assert_int_equal(collect_with_few(&fake, &run, more), 0);
        assert_int_equal(run.err.code, -EMFILE);
        assert_non_null(strstr(run.err.msg, "network: some facts are missing, cannot read "));
        assert_non_null(strstr(run.err.msg, "/sys/class/net: Too many open files"));
        const struct sample_network *eth0 = find(&run, "eth0");
        assert_true(eth0->rx_bytes_total.has);
        assert_true(eth0->is_virtual.has == (more > 0));
        assert_false(eth0->mtu.has);
        assert_true(eth0->speed_mbps.has == (more > 0));

        /* Still reported while nothing was tried again, and over when it worked. */
        if (more > 0) {
            fake_env_advance(&fake, NS_PER_SEC);
            assert_int_equal(fake_env_collect(&fake, &run), 0);
            assert_int_equal(run.err.code, -EMFILE);
        }
        step(&fake, &run, COLLECT_SLOW_NS);
        eth0 = find(&run, "eth0");
        assert_true(eth0->mtu.has && eth0->mtu.v == 1500);
        assert_true(eth0->speed_mbps.has && eth0->speed_mbps.v == 10000);
        assert_string_equal(eth0->mac_address, "52:54:00:12:34:56");
        assert_string_equal(eth0->driver, "virtio_net");
        fake_env_close(&run);
        fake_env_fini(&fake);
    }
}

static void test_failures(void **state)
{
    struct fake_env *fake = *state;
    struct fake_run run;
    assert_int_equal(fake_env_open(fake, &collector_network, &run), 0);
    assert_int_equal(fake_env_collect(fake, &run), -ENOENT);
    assert_int_equal(run.err.code, -ENOENT);
    assert_non_null(strstr(run.err.msg, "/proc/net/dev"));
    assert_false(run.sample.network.present);

    PUT_DEV(fake, {"eth0", 1000, 0});
    assert_int_equal(fake_env_baseline(fake, &run), 0);
    fake_env_write(fake, "proc/net/dev", "not what it should be\n");
    fake_env_advance(fake, NS_PER_SEC);
    assert_int_equal(fake_env_collect(fake, &run), -EINVAL);
    assert_non_null(strstr(run.err.msg, "/proc/net/dev is truncated or malformed"));
    assert_null(strstr(run.err.msg, strerror(EINVAL)));
    assert_false(run.sample.network.present);

    fake_env_write(fake, "proc/net/dev", "Inter-|\n face |\n  eth0: 5");
    assert_int_equal(fake_env_collect(fake, &run), -EBADMSG);
    assert_non_null(strstr(run.err.msg, "/proc/net/dev is truncated or malformed"));
    assert_null(strstr(run.err.msg, strerror(EBADMSG)));

    /* The reading after the failure covers both intervals. */
    PUT_DEV(fake, {"eth0", 1600, 0});
    step(fake, &run, NS_PER_SEC);
    assert_true(find(&run, "eth0")->rx_bytes_delta.v == 600);
    assert_true(find(&run, "eth0")->rx_bytes_per_sec.v == 300);
    fake_env_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fake_env_unit_test(test_card),
        fake_env_unit_test(test_identity_odds),
        fake_env_unit_test(test_links_are_slow_and_kept),
        fake_env_unit_test(test_net_dev_is_kept),
        fake_env_unit_test(test_come_and_go),
        fake_env_unit_test(test_hundred_interfaces),
        fake_env_unit_test(test_hostile_names),
        fake_env_unit_test(test_sysfs_of_another_namespace),
        fake_env_unit_test(test_sysfs_race),
        fake_env_unit_test(test_replaced),
        cmocka_unit_test(test_few_descriptors),
        fake_env_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
