/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/disk/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"

enum { PAGE80_HEADER_BYTES = 4, SLAVES_BYTES = 512 };

static struct disk_attribute_path attribute(unsigned major, unsigned minor, const char *name)
{
    struct disk_attribute_path path;
    (void)snprintf(path.text, sizeof(path.text), "dev/block/%u:%u%s%s", major, minor, *name ? "/" : "", name);
    return path;
}

struct disk_attribute_path disk_identity_path(unsigned major, unsigned minor, enum disk_attribute which)
{
    static const char names[DISK_ATTRIBUTES][21] = {
        [DISK_SECTOR_BYTES] = "queue/hw_sector_size",
        [DISK_ROTATIONAL] = "queue/rotational",
        [DISK_MODEL] = "device/model",
        [DISK_CARD_NAME] = "device/name",
        [DISK_VENDOR] = "device/vendor",
        [DISK_WWID] = "wwid",
        [DISK_DEVICE_WWID] = "device/wwid",
        [DISK_PAGE80] = "device/vpd_pg80",
        [DISK_SERIAL] = "serial",
        [DISK_DEVICE_SERIAL] = "device/serial",
    };
    return attribute(major, minor, names[which]);
}

static bool exists(int sys_fd, struct disk_attribute_path path)
{
    return sys_fd >= 0 && faccessat(sys_fd, path.text, F_OK, 0) == 0;
}

/* The last component of ".../block/sda/sda1" and the one before it. */
static bool split_link(struct str link, struct str *ret_parent, struct str *ret_name)
{
    const char *last = memrchr(link.p, '/', link.n);
    if (!last)
        return false;
    const char *before = memrchr(link.p, '/', (size_t)(last - link.p));
    const char *start = before ? before + 1 : link.p;
    *ret_parent = (struct str){start, (size_t)(last - start)};
    *ret_name = (struct str){last + 1, (size_t)(link.p + link.n - last - 1)};
    return true;
}

/* With sysfs' '!' back to '/'. */
static bool copy_name(struct str name, char ret_parent[static DISK_NAME_BYTES])
{
    if (!str_copy(name, ret_parent, DISK_NAME_BYTES))
        return false;
    for (char *p = ret_parent; *p; p++) {
        if (*p == '!')
            *p = '/';
    }
    return true;
}

int disk_identity_kind(
    int sys_fd, unsigned major, unsigned minor, enum disk_kind *ret_kind, char ret_parent[static DISK_NAME_BYTES])
{
    if (sys_fd < 0)
        return -ENOENT;
    char link[PATH_MAX];
    ssize_t n = readlinkat(sys_fd, attribute(major, minor, "").text, link, sizeof(link));
    if (n < 0)
        return err_last();
    struct str parent, name;
    bool has_parent = split_link((struct str){link, (size_t)n}, &parent, &name);
    /* A partition is named after its disk; other devices need not be asked. */
    if ((!has_parent || str_starts(name, parent)) && exists(sys_fd, attribute(major, minor, "partition"))) {
        if (!has_parent || !copy_name(parent, ret_parent))
            return -EBADMSG;
        *ret_kind = DISK_PARTITION;
        return 0;
    }
    /* Only NVMe has devices that are hidden behind others. */
    char hidden[8];
    int r = -ENOENT;
    if (memmem(link, (size_t)n, "/nvme", 5))
        r = file_read_line_at(sys_fd, attribute(major, minor, "hidden").text, hidden, sizeof(hidden));
    *ret_kind = r > 0 && strcmp(hidden, "1") == 0 ? DISK_LEFT_OUT : DISK_WHOLE;
    return 0;
}

bool disk_identity_is_numbered(const char *name, const char *driver)
{
    size_t n = strlen(driver);
    return strncmp(name, driver, n) == 0 && ascii_is_digit(name[n]);
}

/* Memory, files, network and removable media, for which "rotational" means nothing. */
static bool has_no_type(const char *name)
{
    static const char drivers[][5] = {"loop", "ram", "zram", "nbd", "sr", "fd"};
    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
        if (disk_identity_is_numbered(name, drivers[i]))
            return true;
    }
    return false;
}

static bool is_paravirtual(const char *name)
{
    return strncmp(name, "vd", 2) == 0 || strncmp(name, "xvd", 3) == 0;
}

static const char *device_type(const char *name, struct str rotational)
{
    if (has_no_type(name))
        return NULL;
    if (str_eq(rotational, STR("0")))
        return "ssd";
    /* Hypervisors say 1 unless configured otherwise, whatever lies beneath. */
    return str_eq(rotational, STR("1")) && !is_paravirtual(name) ? "hdd" : NULL;
}

static void add_text(struct str text, char out[static DISK_TEXT_BYTES])
{
    if (text.n > 0)
        (void)str_copy(text, out, DISK_TEXT_BYTES);
}

/* SCSI "unit serial number" page: 00 80, a length in two bytes (big end first), then the text. */
static struct str page80_text(struct str page)
{
    if (page.n <= PAGE80_HEADER_BYTES)
        return STR("");
    const unsigned char *head = (const unsigned char *)page.p;
    size_t said = (size_t)head[2] << 8 | head[3];
    size_t there = page.n - PAGE80_HEADER_BYTES;
    struct str text = {page.p + PAGE80_HEADER_BYTES, said < there ? said : there};
    text.n = strnlen(text.p, text.n);
    return str_trim(text);
}

struct disk_identity disk_identity_of_name(const char *name)
{
    return (struct disk_identity){.device_type = disk_identity_is_numbered(name, "nvme") ? "nvme" : NULL};
}

static struct str first_line(struct str content)
{
    struct str line = {content.p, 0};
    (void)str_line(&content, &line);
    return str_trim(line);
}

void disk_identity_add(
    struct disk_identity *identity, const char *name, enum disk_attribute attribute, struct str content)
{
    struct str line = first_line(content);
    uint64_t bytes;
    switch (attribute) {
    case DISK_SECTOR_BYTES:
        if (num_parse_u64(line, &bytes) == 0)
            identity->sector_bytes = some_u64(bytes);
        break;
    case DISK_ROTATIONAL:
        if (!identity->device_type)
            identity->device_type = device_type(name, line);
        break;
    case DISK_MODEL:
        add_text(line, identity->model);
        break;
    case DISK_CARD_NAME:
        /* SD and eMMC cards have a name instead of a model. */
        if (identity->model[0] == '\0' && strncmp(name, "mmcblk", 6) == 0)
            add_text(line, identity->model);
        break;
    case DISK_VENDOR:
        /* PCI and virtio have a number there, which is not a name. */
        if (line.n < 2 || memcmp(line.p, "0x", 2) != 0)
            add_text(line, identity->vendor);
        break;
    case DISK_PAGE80:
        add_text(page80_text(content), identity->serial);
        break;
    case DISK_WWID:
    case DISK_DEVICE_WWID:
    case DISK_SERIAL:
    case DISK_DEVICE_SERIAL:
        add_text(line, identity->serial);
        break;
    case DISK_ATTRIBUTES:
        break;
    }
}

void disk_identity_init_size(struct kept_file *file, int sys_fd, unsigned major, unsigned minor)
{
    kept_file_init(file, sys_fd, attribute(major, minor, "size").text, FILE_SINGLE);
}

struct opt_bool disk_identity_has_slaves(int sys_fd, unsigned major, unsigned minor)
{
    AUTO_FD int fd = file_open_at(sys_fd, attribute(major, minor, "slaves").text, O_RDONLY | O_DIRECTORY);
    if (fd == -ENOENT && exists(sys_fd, attribute(major, minor, "")))
        return some_bool(false);
    char entries[SLAVES_BYTES];
    long n = fd < 0 ? fd : dir_read_some(fd, entries, sizeof(entries));
    bool found = false;
    for (; n > 0 && !found; n = found ? 0 : dir_read_some(fd, entries, sizeof(entries))) {
        struct dir_entry entry;
        for (size_t at = 0; !found && dir_next(entries, (size_t)n, &at, &entry);)
            found = entry.name[0] != '.';
    }
    return n < 0 ? (struct opt_bool){0} : some_bool(found);
}

int disk_identity_backing_file(int sys_fd, unsigned major, unsigned minor, char *out, size_t size)
{
    return file_read_line_at(sys_fd, attribute(major, minor, "loop/backing_file").text, out, size);
}
