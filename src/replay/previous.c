/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of an interval for recordings that have only totals and rates, from the sample before. */
#include "replay/replay_internal.h"

/* One device of either kind: its totals, its rates, and the amounts to be filled in. */
struct device {
    const char *name;
    struct opt_u64 in_total, out_total;
    struct opt_f64 in_rate, out_rate;
    struct opt_u64 *in, *out;
};

void previous_reset(struct previous *previous)
{
    previous->disks.is_known = previous->interfaces.is_known = false;
    previous->disks.count = previous->interfaces.count = 0;
}

static struct device disk_at(void *items, size_t i)
{
    struct sample_disk *disk = (struct sample_disk *)items + i;
    return (struct device){disk->device, disk->read_bytes_total, disk->write_bytes_total, disk->read_bytes_per_sec,
        disk->write_bytes_per_sec, &disk->read_bytes_delta, &disk->write_bytes_delta};
}

static struct device interface_at(void *items, size_t i)
{
    struct sample_network *network = (struct sample_network *)items + i;
    return (struct device){network->interface, network->rx_bytes_total, network->tx_bytes_total,
        network->rx_bytes_per_sec, network->tx_bytes_per_sec, &network->rx_bytes_delta, &network->tx_bytes_delta};
}

/* The order hardly ever changes: the same index first. */
static const struct previous_device *find(const struct previous_list *list, const char *name, size_t at)
{
    for (size_t i = 0; i < list->count; i++, at++) {
        const struct previous_device *device = &list->devices[at < list->count ? at : at % list->count];
        if (strcmp(device->name, name) == 0)
            return device;
    }
    return NULL;
}

static struct opt_u64 amount_of(struct opt_f64 rate, struct opt_f64 secs)
{
    static const double limit = 9e18;
    double amount = rate.has && secs.has ? rate.v * secs.v : -1;
    return amount >= 0 && amount < limit ? some_u64((uint64_t)(amount + 0.5)) : (struct opt_u64){0};
}

static void complete(const struct previous_list *list, const struct device *device, size_t at, struct opt_f64 secs)
{
    struct opt_u64 in = {0};
    struct opt_u64 out = {0};
    const struct previous_device *before = find(list, device->name, at);
    if (!list->is_known) {
        in = amount_of(device->in_rate, secs);
        out = amount_of(device->out_rate, secs);
    } else if (before) {
        in = counter_delta_opt(before->in, device->in_total);
        out = counter_delta_opt(before->out, device->out_total);
    }
    if (!device->in->has)
        *device->in = in;
    if (!device->out->has)
        *device->out = out;
}

static void keep_totals(struct previous_list *list, const struct device *device)
{
    if (list->count == PREVIOUS_DEVICES_MAX)
        return;
    struct previous_device *to = &list->devices[list->count];
    if (!str_copy(str_of(device->name), to->name, sizeof(to->name)))
        return; /* cut: it would be mistaken for another */
    to->in = device->in_total;
    to->out = device->out_total;
    list->count++;
}

static bool is_wanting(const struct device *device)
{
    return (device->in_total.has && !device->in->has) || (device->out_total.has && !device->out->has);
}

/* key: what a recording that has the amounts itself has, even as null. */
static bool is_needed(
    void *items, size_t count, struct device (*at)(void *items, size_t i), struct str line, struct str key)
{
    for (size_t i = 0; i < count; i++) {
        struct device device = at(items, i);
        if (is_wanting(&device))
            return !memmem(line.p, line.n, key.p, key.n);
    }
    return false;
}

static void complete_all(struct previous_list *list, void *items, size_t count,
    struct device (*at)(void *items, size_t i), struct opt_f64 secs)
{
    for (size_t i = 0; i < count; i++) {
        struct device device = at(items, i);
        complete(list, &device, i, secs);
    }
    list->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct device device = at(items, i);
        keep_totals(list, &device);
    }
}

void previous_complete(struct previous *previous, const struct json_line *json, struct str line, struct opt_f64 secs,
    struct sample *sample)
{
    size_t disks = sample->disk.present ? sample->disk.count : 0;
    size_t interfaces = sample->network.present ? sample->network.count : 0;
    void *disk_items = disks > 0 ? json_line_items(json, &sample->disk) : NULL;
    void *interface_items = interfaces > 0 ? json_line_items(json, &sample->network) : NULL;
    if (is_needed(disk_items, disks, disk_at, line, STR("\"read_bytes\"")))
        complete_all(&previous->disks, disk_items, disks, disk_at, secs);
    if (is_needed(interface_items, interfaces, interface_at, line, STR("\"rx_bytes\"")))
        complete_all(&previous->interfaces, interface_items, interfaces, interface_at, secs);
    previous->disks.is_known = previous->interfaces.is_known = true;
}
