/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/drm/drm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dir.h"
#include "base/num.h"
#include "base/str.h"

enum { HWMONS_MAX = 16, NUMBER_MAX = 1000000 };

static bool parse_number(const char *name, struct str prefix, unsigned *ret_number)
{
    struct str text = str_of(name);
    uint64_t number;
    if (!str_starts(text, prefix))
        return false;
    text = (struct str){text.p + prefix.n, text.n - prefix.n};
    if (num_parse_u64(text, &number) < 0 || number > NUMBER_MAX)
        return false;
    *ret_number = (unsigned)number;
    return true;
}

/* Keeps the list ascending; in a full one the largest gives way. */
static size_t insert_number(unsigned *numbers, size_t count, size_t max, unsigned number)
{
    size_t at = count;
    while (at > 0 && numbers[at - 1] > number)
        at--;
    if (at == max)
        return count;
    size_t kept = count < max ? count : max - 1;
    memmove(numbers + at + 1, numbers + at, (kept - at) * sizeof(*numbers));
    numbers[at] = number;
    return kept + 1;
}

int drm_list_numbers(int sys_fd, const char *folder, const char *prefix, size_t max, unsigned *ret_numbers)
{
    AUTO_FD int fd = file_open_at(sys_fd, folder, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fd;
    size_t count = 0;
    char entries[DIR_BYTES];
    long n;
    while ((n = dir_read(fd, entries)) > 0) {
        struct dir_entry entry;
        for (size_t at = 0; dir_next(entries, (size_t)n, &at, &entry);) {
            unsigned number;
            if (parse_number(entry.name, str_of(prefix), &number))
                count = insert_number(ret_numbers, count, max, number);
        }
    }
    return n < 0 ? (int)n : (int)count;
}

__attribute__((format(printf, 3, 4))) static bool join_path(char *out, size_t size, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(out, size, fmt, args);
    va_end(args);
    return n > 0 && (size_t)n < size;
}

void drm_read_link_name(int sys_fd, const char *path, char *out, size_t size)
{
    char target[PATH_MAX];
    ssize_t n = sys_fd >= 0 ? readlinkat(sys_fd, path, target, sizeof(target)) : -1;
    out[0] = '\0';
    if (n <= 0)
        return;
    const char *slash = memrchr(target, '/', (size_t)n);
    const char *name = slash ? slash + 1 : target;
    (void)str_copy((struct str){name, (size_t)(target + n - name)}, out, size);
}

/* "0x1002" */
static struct opt_u64 read_hex(const struct drm_card *card, const char *name)
{
    enum { PREFIX_BYTES = 2, DIGITS_MAX = 8 };
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    char text[DRM_CARD_TEXT_BYTES] = "";
    drm_card_read_text(card, name, text, sizeof(text));
    struct str hex = str_of(text);
    if (!str_starts(hex, STR("0x")) || hex.n == PREFIX_BYTES || hex.n > PREFIX_BYTES + DIGITS_MAX)
        return (struct opt_u64){0};
    uint64_t value = 0;
    for (size_t i = PREFIX_BYTES; i < hex.n; i++) {
        const char *digit = memchr(digits, hex.p[i], sizeof(digits) - 1);
        if (!digit)
            return (struct opt_u64){0};
        value = value * 16 + (uint64_t)(digit - digits) % 16;
    }
    return some_u64(value);
}

static bool are_hex(const char *text, size_t n)
{
    return strspn(text, "0123456789abcdef") >= n;
}

/* 0000:03:00.0; the domain may have more digits (10000:e1:00.0). */
static bool is_pci_address(const char *name)
{
    enum { DOMAIN_DIGITS = 4, REST_BYTES = 8 };
    size_t domain = strcspn(name, ":");
    const char *rest = name + domain;
    return domain >= DOMAIN_DIGITS && are_hex(name, domain) && strlen(rest) == REST_BYTES && are_hex(rest + 1, 2) &&
           rest[3] == ':' && are_hex(rest + 4, 2) && rest[6] == '.' && rest[7] >= '0' && rest[7] <= '7';
}

/* The driver's own sensors where there are several (i915 has more for each of its parts), else the first. */
static void find_hwmon(struct drm_card *card)
{
    char folder[DRM_CARD_PATH_BYTES];
    unsigned numbers[HWMONS_MAX];
    card->hwmon[0] = '\0';
    if (!join_path(folder, sizeof(folder), "%s/device/hwmon", card->folder))
        return;
    int count = drm_list_numbers(card->sys_fd, folder, "hwmon", HWMONS_MAX, numbers);
    for (int i = 0; i < count; i++) {
        char path[2 * DRM_CARD_PATH_BYTES];
        char name[DRM_CARD_TEXT_BYTES] = "";
        (void)join_path(path, sizeof(path), "%s/hwmon%u/name", folder, numbers[i]);
        int n = file_read_line_at(card->sys_fd, path, name, sizeof(name));
        bool is_own = n > 0 && strcmp(name, card->driver) == 0;
        if ((is_own || i == 0) && !join_path(card->hwmon, sizeof(card->hwmon), "%s/hwmon%u", folder, numbers[i]))
            card->hwmon[0] = '\0';
        if (is_own)
            return;
    }
}

static bool find_render_node(const struct drm_card *card)
{
    char folder[DRM_CARD_PATH_BYTES];
    unsigned number;
    return join_path(folder, sizeof(folder), "%s/device/drm", card->folder) &&
           drm_list_numbers(card->sys_fd, folder, "renderD", 1, &number) > 0;
}

void drm_card_init(struct drm_card *card, int sys_fd, const char *folder)
{
    *card = (struct drm_card){.sys_fd = sys_fd};
    char path[2 * DRM_CARD_PATH_BYTES];
    (void)str_copy(str_of(folder), card->folder, sizeof(card->folder));
    (void)join_path(path, sizeof(path), "%s/device/driver", folder);
    drm_read_link_name(sys_fd, path, card->driver, sizeof(card->driver));
    (void)join_path(path, sizeof(path), "%s/device", folder);
    drm_read_link_name(sys_fd, path, card->device, sizeof(card->device));
    card->is_pci = is_pci_address(card->device);
    card->vendor_id = read_hex(card, "vendor");
    card->device_id = read_hex(card, "device");
    card->revision = read_hex(card, "revision");
    card->has_render_node = find_render_node(card);
    find_hwmon(card);
    gpu_attribute_init(&card->runtime_status, sys_fd, path, "power/runtime_status");
}

void drm_card_fini(struct drm_card *card)
{
    gpu_attribute_fini(&card->runtime_status);
}

enum drm_state drm_card_read_state(struct drm_card *card, struct buf *text)
{
    /* The device outlives its card where the driver lets go of it, so its own files do not tell. */
    if (faccessat(card->sys_fd, card->folder, F_OK, 0) != 0)
        return DRM_GONE;
    if (gpu_attribute_read(&card->runtime_status, text) < 0)
        return DRM_AWAKE;
    struct str status = str_trim((struct str){text->data, text->len});
    return str_eq(status, STR("suspended")) || str_eq(status, STR("suspending")) ? DRM_ASLEEP : DRM_AWAKE;
}

void drm_card_read_text(const struct drm_card *card, const char *name, char *out, size_t size)
{
    char path[2 * DRM_CARD_PATH_BYTES];
    if (!join_path(path, sizeof(path), "%s/device/%s", card->folder, name) ||
        file_read_line_at(card->sys_fd, path, out, size) < 0)
        out[0] = '\0';
}

void drm_card_write_name(const struct drm_card *card, const char *words, char *out, size_t size)
{
    if (card->device_id.has)
        (void)snprintf(out, size, "%s 0x%04llx", words, (unsigned long long)card->device_id.v);
    else
        (void)str_copy(str_of(words), out, size);
}
