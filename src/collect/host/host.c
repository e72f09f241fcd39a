/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity, name and memory of the machine; its address, and the capacity of its disks. An asset tag
 * (SMBIOS type 2; "i-0abcd1234efgh5678" on AWS) names the machine better than machine-id(5), which images share when
 * it was not cleared, but most makers leave a filler there.
 */
#include "collect/host/host.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/text.h"
#include "base/vec.h"
#include "collect/disk/identity.h"
#include "collect/host/host_internal.h"
#include "kernel/proc.h"

/*
 * The address of the default route's interface. A connected UDP socket gets its source address from the routing table
 * and sends nothing. The far ends are addresses that are not in use, so that no other route leads there: one of the
 * reserved class E (RFC 1112), and one that is not allocated in the global range of IPv6 (RFC 4291).
 */
enum { DISCARD_PORT = 9 };

static bool is_own_ip4(struct in_addr address)
{
    uint32_t bits = ntohl(address.s_addr);
    bool is_link_local = bits >> 16 == 0xa9fe;
    return bits >> 24 != 0 && bits >> 24 != IN_LOOPBACKNET && !is_link_local && !IN_MULTICAST(bits) &&
           bits != INADDR_BROADCAST;
}

static bool is_own_ip6(const struct in6_addr *address)
{
    return !IN6_IS_ADDR_UNSPECIFIED(address) && !IN6_IS_ADDR_LOOPBACK(address) && !IN6_IS_ADDR_LINKLOCAL(address) &&
           !IN6_IS_ADDR_MULTICAST(address) && !IN6_IS_ADDR_V4MAPPED(address);
}

static bool is_container_bridge(const char *interface)
{
    static const char prefixes[][7] = {"docker", "br-", "virbr", "cni", "podman", "lxcbr"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(interface, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    return false;
}

bool host_is_own_address(const struct sockaddr *address, const char *interface)
{
    if (is_container_bridge(interface))
        return false;
    if (address->sa_family == AF_INET)
        return is_own_ip4(((const struct sockaddr_in *)(const void *)address)->sin_addr);
    return address->sa_family == AF_INET6 &&
           is_own_ip6(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* The bytes of the address alone; NULL for other families. */
static const void *address_bytes(const struct sockaddr *address, size_t *ret_n)
{
    if (address->sa_family == AF_INET) {
        *ret_n = sizeof(struct in_addr);
        return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    }
    if (address->sa_family == AF_INET6) {
        *ret_n = sizeof(struct in6_addr);
        return &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    }
    return NULL;
}

static bool is_same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    size_t n = 0;
    size_t other_n = 0;
    if (!a || !b || a->sa_family != b->sa_family)
        return false;
    const void *bytes = address_bytes(a, &n);
    const void *other = address_bytes(b, &other_n);
    return bytes && other && memcmp(bytes, other, n) == 0;
}

static bool has_own_interface(const struct sockaddr *address)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) < 0)
        return false;
    bool found = false;
    for (const struct ifaddrs *one = all; one && !found; one = one->ifa_next)
        found = is_same_address(one->ifa_addr, address) && host_is_own_address(address, one->ifa_name);
    freeifaddrs(all);
    return found;
}

/* The source address towards `there`, as text. */
static bool find_source(const struct sockaddr *there, socklen_t bytes, char *out, size_t size)
{
    AUTO_FD int fd = socket(there->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_storage storage = {0};
    struct sockaddr *source = (struct sockaddr *)&storage;
    socklen_t source_bytes = sizeof(storage);
    if (fd < 0 || connect(fd, there, bytes) < 0 || getsockname(fd, source, &source_bytes) < 0)
        return false;
    size_t n = 0;
    const void *address = address_bytes(source, &n);
    if (!address || !has_own_interface(source))
        return false;
    char text[INET6_ADDRSTRLEN];
    return inet_ntop(source->sa_family, address, text, sizeof(text)) && str_copy(str_of(text), out, size);
}

/* The address of this machine on its default route, as text; "" where there is none. Sends nothing. */
static void find_ip(char *out, size_t size)
{
    struct sockaddr_in there4 = {.sin_family = AF_INET, .sin_port = htons(DISCARD_PORT)};
    struct sockaddr_in6 there6 = {.sin6_family = AF_INET6, .sin6_port = htons(DISCARD_PORT)};
    out[0] = '\0';
    if (inet_pton(AF_INET, "240.0.0.1", &there4.sin_addr) == 1 &&
        find_source((const struct sockaddr *)&there4, sizeof(there4), out, size))
        return;
    if (inet_pton(AF_INET6, "2000::1", &there6.sin6_addr) != 1 ||
        !find_source((const struct sockaddr *)&there6, sizeof(there6), out, size))
        out[0] = '\0';
}

/*
 * Capacity of the machine's disks from /sys/block (Documentation/ABI/stable/sysfs-block): what a device driver stands
 * behind, fixed, and once even where several paths lead to it. Made of others, of memory or of files does not count;
 * "size" is in units of 512 bytes whatever the sectors are.
 */
enum { DISKS_MAX = 16384, SIZE_UNIT_BYTES = 512, KEY_BYTES = 256 };

struct disk {
    char key[KEY_BYTES]; /* "": has none */
    uint64_t units;
};

struct disk_list {
    struct disk *items;
    size_t count, cap;
};

static int read_attribute(int block_fd, const char *disk, const char *name, char *out, size_t size)
{
    char path[NAME_MAX + 32];
    (void)snprintf(path, sizeof(path), "%s/%s", disk, name);
    int n = file_read_line_at(block_fd, path, out, size);
    if (n <= 0)
        out[0] = '\0';
    return n;
}

static bool is_set(int block_fd, const char *disk, const char *name)
{
    char flag[8];
    return read_attribute(block_fd, disk, name, flag, sizeof(flag)) > 0 && strcmp(flag, "1") == 0;
}

/* Boot and other hardware partitions of an eMMC: "mmcblk0boot0", "mmcblk0rpmb". */
static bool is_card_partition(const char *name)
{
    return disk_identity_is_numbered(name, "mmcblk") && name[6 + strspn(name + 6, "0123456789")] != '\0';
}

/* One path to an NVMe namespace: "nvme1c0n1". */
static bool is_nvme_path(const char *name)
{
    return disk_identity_is_numbered(name, "nvme") && strchr(name + 4, 'c');
}

static bool is_left_out(const char *name)
{
    static const char drivers[][5] = {"loop", "ram", "zram", "md", "sr", "fd", "nbd", "dm-"};
    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
        if (disk_identity_is_numbered(name, drivers[i]))
            return true;
    }
    return name[0] == '.' || is_card_partition(name) || is_nvme_path(name);
}

static bool is_fixed_disk(int block_fd, const char *name)
{
    char path[NAME_MAX + 32];
    (void)snprintf(path, sizeof(path), "%s/device", name);
    return !is_left_out(name) && faccessat(block_fd, path, F_OK, 0) == 0 && !is_set(block_fd, name, "hidden") &&
           !is_set(block_fd, name, "removable");
}

/*
 * A name that all paths to a disk share, from the kernel's memory. A serial number would not do: namespaces of one NVMe
 * controller and units of one array may have the same, and that of a virtio disk is asked of the device.
 */
static void read_key(int block_fd, const char *name, char out[static KEY_BYTES])
{
    static const char *const attributes[] = {"wwid", "device/wwid"};
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        if (read_attribute(block_fd, name, attributes[i], out, KEY_BYTES) > 0 && strspn(out, "0-. ") < strlen(out))
            return;
    }
    out[0] = '\0';
}

static bool is_known(const struct disk_list *list, const struct disk *disk)
{
    for (size_t i = 0; disk->key[0] && i < list->count; i++) {
        if (list->items[i].units == disk->units && strcmp(list->items[i].key, disk->key) == 0)
            return true;
    }
    return false;
}

static void add_disk(int block_fd, const char *name, struct disk_list *list)
{
    struct disk disk = {0};
    char size[24];
    if (read_attribute(block_fd, name, "size", size, sizeof(size)) <= 0 ||
        num_parse_u64(str_of(size), &disk.units) < 0 || disk.units == 0)
        return;
    read_key(block_fd, name, disk.key);
    if (!is_known(list, &disk) && VEC_GROW(list, list->count + 1, DISKS_MAX) == 0)
        list->items[list->count++] = disk;
}

/* Capacity of all disks in 10^9 bytes; absent where none is seen. */
static struct opt_f64 read_storage(int sys_fd)
{
    int block_fd = file_open_at(sys_fd, "block", O_RDONLY | O_DIRECTORY);
    DIR *dir = block_fd >= 0 ? fdopendir(block_fd) : NULL;
    if (!dir) {
        fd_close(&block_fd);
        return (struct opt_f64){0};
    }
    struct disk_list list = {0};
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (is_fixed_disk(block_fd, entry->d_name))
            add_disk(block_fd, entry->d_name, &list);
    }
    (void)closedir(dir);
    double bytes = 0;
    for (size_t i = 0; i < list.count; i++)
        bytes += num_to_f64(list.items[i].units) * SIZE_UNIT_BYTES;
    free(list.items);
    return bytes > 0 ? some_f64(bytes / 1e9) : (struct opt_f64){0};
}

enum { ASSET_TAG_CHARS_MIN = 4, MACHINE_ID_CHARS = 32, MEMINFO_BYTES_MAX = 64 * 1024, KIB_PER_MIB = 1024 };

bool host_clean_text(struct str text, char *out, size_t size)
{
    return text_clean(text, TEXT_NAME, "", out, size) > 0;
}

/* "0000", "....", "xx-xx": one letter or digit again and again, or none at all. */
static bool is_monotonous(const char *text)
{
    char seen = '\0';
    for (; *text; text++) {
        if (!ascii_is_alnum(*text))
            continue;
        if (seen != '\0' && *text != seen)
            return false;
        seen = *text;
    }
    return true;
}

static bool is_filler(const char *text)
{
    static const char whole[][15] = {"none", "null", "empty", "invalid", "undefined", "unused", "blank", "test", "oem",
        "n.a.", "not-available", "not_available", "notavailable", "not-applicable", "not_applicable", "notapplicable"};
    static const char parts[][11] = {"assettag", "asset-tag", "asset_tag", "noasset", "no-asset", "o.e.m", "by-oem",
        "by_oem", "filled", "default", "specif", "unknown", "123456789", "987654321"};
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        if (str_is_nocase(text, whole[i]))
            return true;
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcasestr(text, parts[i]))
            return true;
    }
    return false;
}

bool host_is_asset_tag(struct str text)
{
    char tag[sizeof(((struct host_facts *)0)->id)];
    if (text.n < ASSET_TAG_CHARS_MIN || text.n >= sizeof(tag))
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!ascii_is_alnum(c) && c != '.' && c != '_' && c != '-')
            return false;
    }
    (void)str_copy(text, tag, sizeof(tag));
    return !is_monotonous(tag) && !is_filler(tag);
}

bool host_is_machine_id(struct str text)
{
    bool is_zero = true;
    for (size_t i = 0; i < text.n; i++) {
        char lower = (char)(text.p[i] | 0x20);
        if (!ascii_is_alnum(text.p[i]) || lower > 'f')
            return false;
        is_zero = is_zero && text.p[i] == '0';
    }
    return text.n == MACHINE_ID_CHARS && !is_zero;
}

static void read_id(const struct sysroot *root, char *out, size_t size)
{
    char line[256];
    int n = file_read_line_at(root->sys_fd, "class/dmi/id/board_asset_tag", line, sizeof(line));
    bool is_good = n > 0 && host_is_asset_tag(str_of(line));
    if (!is_good) {
        n = file_read_line_at(root->root_fd, "etc/machine-id", line, sizeof(line));
        is_good = n > 0 && host_is_machine_id(str_of(line));
    }
    if (is_good)
        (void)str_copy(str_of(line), out, size);
}

static void read_hostname(const struct sysroot *root, char *out, size_t size)
{
    char name[256] = "";
    if (!root->is_host)
        (void)file_read_line_at(root->root_fd, "etc/hostname", name, sizeof(name));
    else if (gethostname(name, sizeof(name)) < 0)
        return;
    name[sizeof(name) - 1] = '\0';
    if (name[0] != '#')
        (void)host_clean_text(str_of(name), out, size);
}

static struct opt_u64 read_memory(const struct sysroot *root)
{
    AUTO_BUF struct buf text = {.max = MEMINFO_BYTES_MAX};
    struct meminfo memory;
    if (file_read_at(root->proc_fd, "meminfo", &text) < 0 || meminfo_parse(buf_str(&text), &memory) < 0)
        return (struct opt_u64){0};
    return some_u64(memory.total_kib.v / KIB_PER_MIB);
}

void host_discover(const struct sysroot *root, struct host_facts *ret_host)
{
    struct host_facts host = {0};
    read_id(root, host.id, sizeof(host.id));
    read_hostname(root, host.hostname, sizeof(host.hostname));
    /* A captured machine's address is not ours. */
    if (root->is_host)
        find_ip(host.ip, sizeof(host.ip));
    host_read_cpu_model(root, host.cpu_model, sizeof(host.cpu_model));
    host.vcpus = host_count_cpus(root);
    host.memory_mib = read_memory(root);
    host.storage_gb = read_storage(root->sys_fd);
    *ret_host = host;
}
