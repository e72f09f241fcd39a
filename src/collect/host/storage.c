/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capacity of the machine's disks from /sys/block (Documentation/ABI/stable/sysfs-block): what a device driver stands
 * behind, fixed, and once even where several paths lead to it. Made of others, of memory or of files does not count;
 * "size" is in units of 512 bytes whatever the sectors are.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/vec.h"
#include "collect/disk/identity.h"
#include "collect/host/host_internal.h"

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

struct opt_f64 host_read_storage(int sys_fd)
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
        bytes += (double)list.items[i].units * SIZE_UNIT_BYTES;
    free(list.items);
    return bytes > 0 ? some_f64(bytes / 1e9) : (struct opt_f64){0};
}
