/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of one block device from sysfs (Documentation/ABI/stable/sysfs-block), found by its number through
 * /sys/dev/block/MAJOR:MINOR, so that names never have to be translated. Nothing here is kept open but the size. What
 * makes up the identity may cost a request to the device and is read by collect/probe; all else is the kernel's memory.
 */
#ifndef COLLECT_DISK_IDENTITY_H
#define COLLECT_DISK_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/file.h"
#include "base/opt.h"
#include "base/str.h"

enum { DISK_NAME_BYTES = 32, DISK_TEXT_BYTES = 128 };

enum disk_kind {
    DISK_UNSEEN, /* not classified yet */
    DISK_WHOLE, /* a device of its own */
    DISK_PARTITION, /* counted with the device it lies on */
    DISK_LEFT_OUT, /* a path to a device that is listed anyway (NVMe multipath) */
};

struct disk_identity {
    char model[DISK_TEXT_BYTES], vendor[DISK_TEXT_BYTES], serial[DISK_TEXT_BYTES]; /* "": unknown */
    const char *device_type; /* static text or NULL */
    struct opt_u64 sector_bytes;
};

/* What the device is; for a partition also the name, as in diskstats, of its device. 0 or a negative errno. */
int disk_identity_kind(
    int sys_fd, unsigned major, unsigned minor, enum disk_kind *ret_kind, char ret_parent[static DISK_NAME_BYTES]);

/*
 * The files of the identity in the order of reading. Each name for the device that may serve as its serial number
 * replaces those before it. The files that may hang come last, so that a device that hangs has lost little.
 */
enum disk_attribute {
    DISK_SECTOR_BYTES,
    DISK_ROTATIONAL,
    DISK_MODEL,
    DISK_CARD_NAME,
    DISK_VENDOR,
    DISK_WWID,
    DISK_DEVICE_WWID,
    DISK_PAGE80,
    DISK_SERIAL, /* of a virtio disk: a request to the device */
    DISK_DEVICE_SERIAL,
    DISK_ATTRIBUTES,
};

struct disk_attribute_path {
    char text[104]; /* below sys */
};

struct disk_attribute_path disk_identity_path(unsigned major, unsigned minor, enum disk_attribute attribute);

/* What is known of a device by its name alone. */
struct disk_identity disk_identity_of_name(const char *name);

/* Adds what one of the files holds. What makes no sense is left unknown. */
void disk_identity_add(
    struct disk_identity *identity, const char *name, enum disk_attribute attribute, struct str content);

/* Prepares the file that holds the size in units of 512 bytes. */
void disk_identity_init_size(struct kept_file *file, int sys_fd, unsigned major, unsigned minor);

/* Is it made of other block devices (dm, md, bcache)? Absent where sysfs does not know the device. */
struct opt_bool disk_identity_has_slaves(int sys_fd, unsigned major, unsigned minor);

/* The file behind a loop device; its length or a negative errno (-ENOENT: nothing attached). */
int disk_identity_backing_file(int sys_fd, unsigned major, unsigned minor, char *out, size_t size);

/* "loop" and a digit behind it: does the name belong to this driver? */
bool disk_identity_is_numbered(const char *name, const char *driver);

#endif
