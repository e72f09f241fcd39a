/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sysfs knows of one interface (Documentation/ABI/testing/sysfs-class-net). Driver and kind are read once;
 * address, operstate and mtu again every COLLECT_SLOW_NS, one interface after the other. The speed is the answer of the
 * driver, which may have to ask the device: the probe reads it when the link has changed, that of an interface without
 * hardware (bonds, bridges) also when any link of hardware has, and every SPEED_NS in any case.
 */
#include "collect/collect_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "collect/collect.h"
#include "collect/probe/probe.h"

enum {
    KEPT_INTERFACES_MAX = 64, /* the links of others are opened and closed for every reading */
    SPREAD_STEPS = 8,
    LINK_NOT_OPEN = -1,
    LINK_MISSING = -2, /* the driver has no such attribute: not asked again */
};

#define NEVER_NS INT64_MAX

#define SPEED_NS (300 * NS_PER_SEC)

enum link_attr { LINK_ADDRESS, LINK_OPERSTATE, LINK_CHANGES, LINK_MTU };

static const char link_names[NETWORK_INTERFACE_LINKS][16] = {"address", "operstate", "carrier_changes", "mtu"};

bool network_interface_is_absence(int r)
{
    return r == -ENOENT || r == -ENOTDIR || r == -ENODEV;
}

/* A captured tree may name an interface so that the path would lead elsewhere. */
static bool interface_name_is_plain(const char *name)
{
    return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/');
}

void network_interface_init(struct network_interface *interface, const struct net_dev_row *row, uint64_t pass)
{
    *interface = (struct network_interface){.row = *row, .pass = pass};
    for (size_t i = 0; i < NETWORK_INTERFACE_LINKS; i++)
        interface->links[i] = LINK_NOT_OPEN;
}

void network_interface_fini(struct network_interface_shared *shared, struct network_interface *interface)
{
    for (size_t i = 0; i < NETWORK_INTERFACE_LINKS; i++)
        fd_close(&interface->links[i]);
    probe_drop(shared->env, &interface->ticket);
    shared->hardware_changes += interface->is_virtual.has && !interface->is_virtual.v;
    if (interface->keeps_links)
        shared->kept_count--;
}

void network_interface_reset(struct network_interface_shared *shared, struct network_interface *interface)
{
    network_interface_fini(shared, interface);
    for (size_t i = 0; i < NETWORK_INTERFACE_LINKS; i++)
        interface->links[i] = LINK_NOT_OPEN;
    interface->in_sysfs = interface->keeps_links = false;
    interface->failure = interface->speed_failure = 0;
    interface->due_ns = interface->speed_due_ns = 0;
    interface->wants_speed = false;
    interface->is_virtual = (struct opt_bool){0};
    interface->speed_mbps = (struct opt_i64){0};
    interface->mtu = (struct opt_u64){0};
    interface->operstate[0] = interface->driver[0] = interface->mac_address[0] = '\0';
    interface->carrier_changes[0] = '\0';
}

/* Trimmed and NUL-terminated; returns the length or a negative errno. */
static int link_read_fd(int fd, char *out, size_t size)
{
    char raw[128];
    int n = file_read_once(fd, raw, sizeof(raw));
    if (n < 0)
        return n;
    struct str text = str_trim((struct str){raw, (size_t)n});
    return str_copy(text, out, size) ? (int)text.n : -EMSGSIZE;
}

static int link_read(struct network_interface_shared *shared, struct network_interface *interface, enum link_attr attr,
    char *out, size_t size)
{
    int *fd = &interface->links[attr];
    if (*fd == LINK_MISSING)
        return -ENOENT;
    int r = *fd >= 0 ? link_read_fd(*fd, out, size) : -EBADF;
    /* These two are the driver's answer; anything else may be a device replaced by another of the same name. */
    if (r >= 0 || r == -EINVAL || r == -EOPNOTSUPP)
        return r;
    fd_close(fd);
    char path[96];
    (void)snprintf(path, sizeof(path), "class/net/%s/%s", interface->row.name, link_names[attr]);
    int opened = shared->near_fd >= 0 ? file_open_at(shared->near_fd, link_names[attr], O_RDONLY)
                                      : file_open_at(shared->sys_fd, path, O_RDONLY);
    if (opened < 0) {
        *fd = opened == -ENOENT ? LINK_MISSING : LINK_NOT_OPEN;
        if (!network_interface_is_absence(opened))
            interface->failure = opened;
        return opened;
    }
    *fd = opened;
    r = link_read_fd(opened, out, size);
    if (!interface->keeps_links)
        fd_close(fd);
    return r;
}

/* An address of zeros only is none: "". */
static int interface_read_mac(struct network_interface_shared *shared, struct network_interface *interface,
    char mac[static NETWORK_INTERFACE_MAC_BYTES])
{
    int r = link_read(shared, interface, LINK_ADDRESS, mac, NETWORK_INTERFACE_MAC_BYTES);
    if (r < 0 || mac[strspn(mac, "0:")] == '\0')
        mac[0] = '\0';
    return r;
}

/* The counters of another device under the same name need not go backwards, but it has an address of its own. */
static bool interface_is_replaced(struct network_interface_shared *shared, struct network_interface *interface)
{
    char mac[NETWORK_INTERFACE_MAC_BYTES];
    int r = interface_read_mac(shared, interface, mac);
    return (r >= 0 || network_interface_is_absence(r)) && strcmp(mac, interface->mac_address) != 0;
}

void network_interface_update_speed(struct network_interface_shared *shared, struct network_interface *interface)
{
    if (interface->is_virtual.v && interface->hardware_changes != shared->hardware_changes)
        interface->wants_speed = true;
    interface->hardware_changes = shared->hardware_changes;
    if (!interface->wants_speed || !probe_has_news(shared->env, interface->ticket, &interface->seen_news))
        return;
    struct probe_subject subject = {.kind = PROBE_SPEED};
    struct probe_answer answer;
    (void)str_copy(str_of(interface->row.name), subject.name, sizeof(subject.name));
    if (!probe_get(shared->env, &interface->ticket, &subject, &answer))
        return;
    int r = answer.error < 0 ? answer.error : answer.speed.error;
    interface->wants_speed = false;
    interface->speed_failure = r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EACCES || r == -EPERM ? r : 0;
    /* A speed the driver does not know is -1, or the same as an unsigned 32-bit number. */
    int64_t speed;
    bool known = r == 0 && num_parse_i64(str_of(answer.speed.text), &speed) == 0 && speed >= 0 && speed != UINT32_MAX;
    /* -1 is what the driver says, not what we could not ask. */
    interface->speed_mbps = some_i64(known ? speed : -1);
    interface->speed_mbps.has = answer.error == 0 && interface->speed_failure == 0;
}

/* Reads it again: has it changed? */
static bool link_differs(struct network_interface_shared *shared, struct network_interface *interface,
    enum link_attr attr, char *text, size_t size)
{
    char fresh[24];
    if (link_read(shared, interface, attr, fresh, sizeof(fresh)) < 0)
        fresh[0] = '\0';
    bool differs = strcmp(fresh, text) != 0;
    (void)str_copy(str_of(fresh), text, size);
    return differs;
}

/* The last speed holds until the next is known. */
static void interface_read_links(
    struct network_interface_shared *shared, struct network_interface *interface, int64_t now_ns)
{
    char text[32];
    bool differs = link_differs(shared, interface, LINK_OPERSTATE, interface->operstate, sizeof(interface->operstate));
    differs |=
        link_differs(shared, interface, LINK_CHANGES, interface->carrier_changes, sizeof(interface->carrier_changes));
    if (differs || interface->speed_failure < 0 || now_ns >= interface->speed_due_ns) {
        interface->wants_speed = true;
        interface->speed_due_ns = now_ns + SPEED_NS;
        shared->hardware_changes += differs && !interface->is_virtual.v;
    }

    uint64_t mtu;
    bool has_mtu =
        link_read(shared, interface, LINK_MTU, text, sizeof(text)) >= 0 && num_parse_u64(str_of(text), &mtu) == 0;
    interface->mtu = has_mtu ? some_u64(mtu) : (struct opt_u64){0};
}

void network_interface_classify(struct network_interface_shared *shared, struct network_interface *interface)
{
    char path[64];
    struct stat unused;
    if (!interface_name_is_plain(interface->row.name))
        return;
    (void)snprintf(path, sizeof(path), "class/net/%s/device", interface->row.name);
    bool is_virtual = fstatat(shared->sys_fd, path, &unused, AT_SYMLINK_NOFOLLOW) != 0;
    interface->is_virtual = some_bool(is_virtual);
    interface->is_virtual.has = !is_virtual || errno == ENOENT;
}

static void interface_read_device(struct network_interface *interface, int dir_fd)
{
    struct stat unused;
    interface->is_virtual = some_bool(fstatat(dir_fd, "device", &unused, AT_SYMLINK_NOFOLLOW) != 0);

    char target[PATH_MAX];
    ssize_t n = readlinkat(dir_fd, "device/driver", target, sizeof(target));
    if (n <= 0)
        return;
    const char *slash = memrchr(target, '/', (size_t)n);
    const char *name = slash ? slash + 1 : target;
    (void)str_copy((struct str){name, (size_t)(target + n - name)}, interface->driver, sizeof(interface->driver));
}

void network_interface_identify(
    struct network_interface_shared *shared, struct network_interface *interface, int64_t now_ns)
{
    const char *name = interface->row.name;
    interface->failure = 0;
    interface->due_ns = NEVER_NS;
    if (!interface_name_is_plain(name))
        return;
    char path[64];
    (void)snprintf(path, sizeof(path), "class/net/%s", name);
    AUTO_FD int dir_fd = file_open_at(shared->sys_fd, path, O_PATH | O_DIRECTORY);
    if (dir_fd < 0 && network_interface_is_absence(dir_fd))
        return;
    interface->due_ns = now_ns + COLLECT_SLOW_NS;
    if (dir_fd < 0) {
        interface->failure = dir_fd;
        return;
    }
    interface->in_sysfs = true;
    interface->keeps_links = shared->kept_count < KEPT_INTERFACES_MAX;
    shared->kept_count += interface->keeps_links;
    interface_read_device(interface, dir_fd);
    shared->near_fd = dir_fd;
    (void)interface_read_mac(shared, interface, interface->mac_address);
    interface_read_links(shared, interface, now_ns);
    shared->near_fd = -1;
    /* Interfaces seen together are read again at different ticks. */
    interface->due_ns -= (int64_t)(shared->spread++ % SPREAD_STEPS) * (COLLECT_SLOW_NS / SPREAD_STEPS);
}

void network_interface_refresh(
    struct network_interface_shared *shared, struct network_interface *interface, int64_t now_ns)
{
    interface->failure = 0;
    if (interface_is_replaced(shared, interface)) {
        network_interface_reset(shared, interface);
        return;
    }
    interface_read_links(shared, interface, now_ns);
    interface->due_ns = now_ns + COLLECT_SLOW_NS;
}
