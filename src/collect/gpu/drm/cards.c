/* SPDX-License-Identifier: Apache-2.0 */
/* Cards below /sys/class/drm and /sys/class/accel: numbers, drivers, PCI addresses, hwmon; what their vendors share. */
#include "collect/gpu/drm/drm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
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

/* Keeps the list ascending; in a full one the largest is dropped. */
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

int drm_list_numbers(int sys_fd, const char *directory, const char *prefix, size_t max, unsigned *ret_numbers)
{
    AUTO_FD int fd = file_open_at(sys_fd, directory, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fd;
    size_t count = 0;
    struct dir_walk walk;
    struct dir_entry entry;
    dir_walk_begin(&walk, fd);
    while (dir_walk_next(&walk, &entry)) {
        unsigned number;
        if (parse_number(entry.name, str_of(prefix), &number))
            count = insert_number(ret_numbers, count, max, number);
    }
    return walk.error < 0 ? walk.error : (int)count;
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
    char text[DRM_CARD_TEXT_BYTES] = "";
    drm_card_read_text(card, name, text, sizeof(text));
    struct str hex = str_of(text);
    uint64_t value;
    if (!str_starts(hex, STR("0x")) || hex.n > PREFIX_BYTES + DIGITS_MAX ||
        num_parse_hex((struct str){hex.p + PREFIX_BYTES, hex.n - PREFIX_BYTES}, &value) < 0)
        return (struct opt_u64){0};
    return some_u64(value);
}

static bool are_hex(const char *text, size_t n)
{
    return strspn(text, "0123456789abcdef") >= n;
}

/* 0000:03:00.0; the domain may have more digits (10000:e1:00.0). */
static bool is_pci_address(const char *name)
{
    enum { DOMAIN_DIGITS = 4, TAIL_BYTES = 8 };
    size_t domain = strcspn(name, ":");
    const char *tail = name + domain;
    return domain >= DOMAIN_DIGITS && are_hex(name, domain) && strlen(tail) == TAIL_BYTES && are_hex(tail + 1, 2) &&
           tail[3] == ':' && are_hex(tail + 4, 2) && tail[6] == '.' && tail[7] >= '0' && tail[7] <= '7';
}

/* The driver's own sensors where there are several (i915 has more for each of its parts), else the first. */
static void find_hwmon(struct drm_card *card)
{
    char directory[DRM_CARD_PATH_BYTES];
    unsigned numbers[HWMONS_MAX];
    card->hwmon[0] = '\0';
    if (!join_path(directory, sizeof(directory), "%s/device/hwmon", card->directory))
        return;
    int count = drm_list_numbers(card->sys_fd, directory, "hwmon", HWMONS_MAX, numbers);
    for (int i = 0; i < count; i++) {
        char path[2 * DRM_CARD_PATH_BYTES];
        char name[DRM_CARD_TEXT_BYTES] = "";
        (void)join_path(path, sizeof(path), "%s/hwmon%u/name", directory, numbers[i]);
        int n = file_read_line_at(card->sys_fd, path, name, sizeof(name));
        bool is_own = n > 0 && strcmp(name, card->driver) == 0;
        if ((is_own || i == 0) && !join_path(card->hwmon, sizeof(card->hwmon), "%s/hwmon%u", directory, numbers[i]))
            card->hwmon[0] = '\0';
        if (is_own)
            return;
    }
}

static bool find_render_node(const struct drm_card *card)
{
    char directory[DRM_CARD_PATH_BYTES];
    unsigned number;
    return join_path(directory, sizeof(directory), "%s/device/drm", card->directory) &&
           drm_list_numbers(card->sys_fd, directory, "renderD", 1, &number) > 0;
}

void drm_card_init(struct drm_card *card, int sys_fd, const char *directory)
{
    *card = (struct drm_card){.sys_fd = sys_fd};
    char path[2 * DRM_CARD_PATH_BYTES];
    (void)str_copy(str_of(directory), card->directory, sizeof(card->directory));
    (void)join_path(path, sizeof(path), "%s/device/driver", directory);
    drm_read_link_name(sys_fd, path, card->driver, sizeof(card->driver));
    (void)join_path(path, sizeof(path), "%s/device", directory);
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
    hwmon_fini(&card->sensors);
    for (size_t i = 0; i < DRM_ATTRIBUTES_MAX; i++)
        gpu_attribute_fini(&card->attributes[i]);
}

void drm_card_init_attribute(const struct drm_card *card, struct gpu_attribute *attribute, const char *name)
{
    gpu_attribute_init(attribute, card->sys_fd, card->directory, name);
}

/* Asked every tick before anything else is read. */
static enum drm_state read_state(struct drm_card *card, struct buf *text)
{
    /* The device outlives its card where the driver is unbound, so its own files do not show it. */
    if (faccessat(card->sys_fd, card->directory, F_OK, 0) != 0)
        return DRM_GONE;
    if (gpu_attribute_read(&card->runtime_status, text) < 0)
        return DRM_AWAKE;
    struct str status = str_trim(buf_str(text));
    return str_eq(status, STR("suspended")) || str_eq(status, STR("suspending")) ? DRM_ASLEEP : DRM_AWAKE;
}

void drm_card_read_text(const struct drm_card *card, const char *name, char *out, size_t size)
{
    char path[2 * DRM_CARD_PATH_BYTES];
    if (!join_path(path, sizeof(path), "%s/device/%s", card->directory, name) ||
        file_read_line_at(card->sys_fd, path, out, size) < 0)
        out[0] = '\0';
}

void drm_card_write_name(const struct drm_card *card, const char *model, char *out, size_t size)
{
    if (card->device_id.has)
        (void)snprintf(out, size, "%s 0x%04llx", model, (unsigned long long)card->device_id.v);
    else
        (void)str_copy(str_of(model), out, size);
}

static void write_facts(const struct drm_card *drm, bool is_accel, struct gpu_facts *facts)
{
    facts->device_type = is_accel ? "NPU" : "GPU";
    (void)str_copy(str_of(drm->device), facts->uuid, sizeof(facts->uuid));
    (void)str_copy(str_of(drm->device), facts->host_id, sizeof(facts->host_id));
    gpu_add_detail(facts, "pci_bus", drm->is_pci ? drm->device : "");
    gpu_add_detail(facts, "pci_bus_id", drm->is_pci ? drm->device : "");
    gpu_add_detail(facts, "driver", drm->driver);
}

static int allocate(struct drm_cards *cards, size_t count)
{
    cards->drm = calloc(count, sizeof(*cards->drm));
    cards->items = calloc(count, sizeof(*cards->items));
    cards->states = calloc(count, sizeof(*cards->states));
    cards->own = calloc(count, cards->kind->own_bytes + 1);
    return cards->drm && cards->items && cards->states && cards->own ? 0 : -ENOMEM;
}

static void add_card(struct drm_cards *cards, unsigned number)
{
    const struct drm_cards_kind *kind = cards->kind;
    char directory[DRM_CARD_PATH_BYTES];
    (void)snprintf(directory, sizeof(directory), kind->is_accel ? "class/accel/accel%u" : "class/drm/card%u", number);
    struct drm_card *drm = &cards->drm[cards->count];
    drm_card_init(drm, cards->sys_fd, directory);
    if (kind->drivers ? !str_is_listed(drm->driver, kind->drivers) : !kind->wants(drm)) {
        drm_card_fini(drm);
        return;
    }
    write_facts(drm, kind->is_accel, &cards->items[cards->count].facts);
    hwmon_init(&drm->sensors, drm, kind->sensor);
    size_t count = 0;
    for (const char *name = kind->attributes; name && *name; name += strlen(name) + 1)
        drm_card_init_attribute(drm, &drm->attributes[count++], name);
    kind->init(cards, cards->count++);
}

int drm_cards_open(
    struct drm_cards *cards, const struct collect_env *env, const struct drm_cards_kind *kind, struct err *err)
{
    *cards = (struct drm_cards){.kind = kind, .sys_fd = env->root->sys_fd};
    unsigned numbers[GPU_CARDS_MAX];
    int found = drm_list_numbers(cards->sys_fd, kind->is_accel ? "class/accel" : "class/drm",
        kind->is_accel ? "accel" : "card", GPU_CARDS_MAX, numbers);
    if (found <= 0)
        return -ENODATA;
    buf_init(&cards->text, GPU_ATTRIBUTE_TEXT_MAX);
    int r = allocate(cards, (size_t)found);
    for (int i = 0; r == 0 && i < found; i++)
        add_card(cards, numbers[i]);
    if (r == 0 && cards->count > 0)
        return 0;
    drm_cards_close(cards);
    return r < 0 ? err_sys(err, r, "gpu: the %s are left out", kind->plural) : -ENODATA;
}

void drm_cards_close(void *state)
{
    struct drm_cards *cards = state;
    for (size_t i = 0; i < cards->count; i++) {
        drm_card_fini(&cards->drm[i]);
    }
    cards->count = 0;
    free(cards->drm);
    free(cards->items);
    free(cards->states);
    free(cards->own);
    cards->drm = NULL;
    cards->items = NULL;
    cards->states = NULL;
    cards->own = NULL;
    buf_fini(&cards->text);
}

enum gpu_clients drm_cards_need_all_clients(const void *state)
{
    (void)state;
    return GPU_CLIENTS_ALL;
}

int drm_cards_read(void *state, const struct gpu_tick *tick, struct gpu_list *ret_list, struct err *err)
{
    (void)err;
    struct drm_cards *cards = state;
    size_t gone = 0;
    for (size_t i = 0; i < cards->count; i++) {
        struct gpu_card *card = &cards->items[i];
        card->reading = (struct gpu_reading){0};
        card->use = (struct gpu_use){0};
        card->energy_joules = (struct opt_f64){0}; /* has_energy stays: one that sleeps at the end is missing */
        cards->states[i] = read_state(&cards->drm[i], &cards->text);
        switch (cards->states[i]) {
        case DRM_AWAKE:
            cards->kind->read(cards, i, tick);
            break;
        case DRM_ASLEEP:
            card->reading.utilization_pct = some_f64(0);
            break;
        case DRM_GONE:
            gone++;
            break;
        }
    }
    cards->previous_ns = tick->now_ns;
    if (gone == cards->count)
        return -ENODEV;
    *ret_list = (struct gpu_list){.cards = cards->items, .count = cards->count, .is_known = true};
    return 0;
}

static struct fdinfo_device device_of(const struct drm_card *drm)
{
    return (struct fdinfo_device){.pdev = drm->is_pci ? drm->device : "", .driver = drm->driver};
}

void drm_cards_attribute(void *state, const struct gpu_tick *tick)
{
    struct drm_cards *cards = state;
    for (size_t i = 0; i < cards->count; i++) {
        struct gpu_use *use = &cards->items[i].use;
        *use = (struct gpu_use){0};
        /* What is not there is not used. */
        if (cards->states[i] == DRM_GONE)
            *use = (struct gpu_use){.usage = some_f64(0), .vram_bytes = some_u64(0)};
        if (!tick->clients || cards->states[i] == DRM_GONE)
            continue;
        struct fdinfo_use tree = fdinfo_tree_use(tick->clients, device_of(&cards->drm[i]));
        *use = (struct gpu_use){.usage = tree.usage, .vram_bytes = tree.vram_bytes};
    }
}

struct fdinfo_use drm_cards_host_use(const struct drm_cards *cards, size_t index, const struct gpu_tick *tick)
{
    if (!tick->clients)
        return (struct fdinfo_use){0};
    return fdinfo_host_use(tick->clients, device_of(&cards->drm[index]));
}

struct opt_f64 drm_cards_percent(struct opt_f64 share)
{
    if (!share.has)
        return share;
    double percent = share.v * 100;
    return some_f64(percent > 100 ? 100 : percent < 0 ? 0 : percent);
}
