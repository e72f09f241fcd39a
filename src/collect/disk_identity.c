/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/disk_identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/str.h"

enum { ATTRIBUTE_PATH_BYTES = 104, PAGE80_HEADER_BYTES = 4, PAGE80_BYTES_MAX = 4096 };

struct attribute_path {
    char text[ATTRIBUTE_PATH_BYTES];
};

static struct attribute_path attribute(unsigned major, unsigned minor, const char *name)
{
    struct attribute_path path;
    (void)snprintf(path.text, sizeof(path.text), "dev/block/%u:%u%s%s", major, minor, *name ? "/" : "", name);
    return path;
}

static bool exists(int sys_fd, struct attribute_path path)
{
    return sys_fd >= 0 && faccessat(sys_fd, path.text, F_OK, 0) == 0;
}

/* The component before the last of ".../block/sda/sda1", with sysfs' '!' back to '/'. */
static bool parent_of_link(struct str link, char ret_parent[static DISK_NAME_BYTES])
{
    const char *last = memrchr(link.p, '/', link.n);
    if (!last)
        return false;
    const char *before = memrchr(link.p, '/', (size_t)(last - link.p));
    const char *start = before ? before + 1 : link.p;
    if (!str_copy((struct str){start, (size_t)(last - start)}, ret_parent, DISK_NAME_BYTES))
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
        return -errno;
    if (exists(sys_fd, attribute(major, minor, "partition"))) {
        if (!parent_of_link((struct str){link, (size_t)n}, ret_parent))
            return -EBADMSG;
        *ret_kind = DISK_PARTITION;
        return 0;
    }
    char hidden[8];
    int r = file_read_line_at(sys_fd, attribute(major, minor, "hidden").text, hidden, sizeof(hidden));
    *ret_kind = r > 0 && strcmp(hidden, "1") == 0 ? DISK_LEFT_OUT : DISK_WHOLE;
    return 0;
}

bool disk_identity_is_numbered(const char *name, const char *driver)
{
    size_t n = strlen(driver);
    return strncmp(name, driver, n) == 0 && name[n] >= '0' && name[n] <= '9';
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

static const char *device_type(int sys_fd, unsigned major, unsigned minor, const char *name)
{
    if (disk_identity_is_numbered(name, "nvme"))
        return "nvme";
    char flag[8];
    int r = file_read_line_at(sys_fd, attribute(major, minor, "queue/rotational").text, flag, sizeof(flag));
    if (r <= 0 || has_no_type(name))
        return NULL;
    if (strcmp(flag, "0") == 0)
        return "ssd";
    /* Hypervisors say 1 unless told otherwise, whatever lies beneath. */
    return strcmp(flag, "1") == 0 && !is_paravirtual(name) ? "hdd" : NULL;
}

static bool read_text(int sys_fd, struct attribute_path path, char out[static DISK_TEXT_BYTES])
{
    int r = file_read_line_at(sys_fd, path.text, out, DISK_TEXT_BYTES);
    if (r <= 0)
        out[0] = '\0';
    return out[0] != '\0';
}

/* SCSI "unit serial number" page: 00 80, a length in two bytes (big end first), then the text. */
static void read_page80(int sys_fd, struct attribute_path path, char out[static DISK_TEXT_BYTES])
{
    AUTO_BUF struct buf page;
    buf_init(&page, PAGE80_BYTES_MAX);
    if (file_read_at(sys_fd, path.text, &page) < 0 || page.len <= PAGE80_HEADER_BYTES)
        return;
    const unsigned char *head = (const unsigned char *)page.data;
    size_t said = (size_t)head[2] << 8 | head[3];
    size_t there = page.len - PAGE80_HEADER_BYTES;
    struct str text = {page.data + PAGE80_HEADER_BYTES, said < there ? said : there};
    text.n = strnlen(text.p, text.n);
    (void)str_copy(str_trim(text), out, DISK_TEXT_BYTES);
}

void disk_identity_read(
    int sys_fd, unsigned major, unsigned minor, const char *name, struct disk_identity *ret_identity)
{
    struct disk_identity identity = {0};
    /* SD and eMMC cards have a name instead of a model. */
    if (!read_text(sys_fd, attribute(major, minor, "device/model"), identity.model) && strncmp(name, "mmcblk", 6) == 0)
        (void)read_text(sys_fd, attribute(major, minor, "device/name"), identity.model);
    (void)read_text(sys_fd, attribute(major, minor, "device/vendor"), identity.vendor);
    /* PCI and virtio have a number there, which names nobody. */
    if (strncmp(identity.vendor, "0x", 2) == 0)
        identity.vendor[0] = '\0';
    if (!read_text(sys_fd, attribute(major, minor, "device/serial"), identity.serial) &&
        !read_text(sys_fd, attribute(major, minor, "serial"), identity.serial))
        read_page80(sys_fd, attribute(major, minor, "device/vpd_pg80"), identity.serial);
    identity.device_type = device_type(sys_fd, major, minor, name);
    char number[24];
    uint64_t bytes;
    int r = file_read_line_at(sys_fd, attribute(major, minor, "queue/hw_sector_size").text, number, sizeof(number));
    if (r > 0 && num_parse_u64(str_of(number), &bytes) == 0)
        identity.sector_bytes = some_u64(bytes);
    *ret_identity = identity;
}

void disk_identity_init_size(struct kept_file *file, int sys_fd, unsigned major, unsigned minor)
{
    kept_file_init(file, sys_fd, attribute(major, minor, "size").text, FILE_SINGLE);
}

struct opt_bool disk_identity_has_slaves(int sys_fd, unsigned major, unsigned minor)
{
    if (!exists(sys_fd, attribute(major, minor, "")))
        return (struct opt_bool){0};
    int fd = file_open_at(sys_fd, attribute(major, minor, "slaves").text, O_RDONLY | O_DIRECTORY);
    if (fd == -ENOENT)
        return some_bool(false);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        fd_close(&fd);
        return (struct opt_bool){0};
    }
    bool found = false;
    for (const struct dirent *entry; !found && (entry = readdir(dir)) != NULL;)
        found = entry->d_name[0] != '.';
    (void)closedir(dir);
    return some_bool(found);
}

int disk_identity_backing_file(int sys_fd, unsigned major, unsigned minor, char *out, size_t size)
{
    return file_read_line_at(sys_fd, attribute(major, minor, "loop/backing_file").text, out, size);
}
