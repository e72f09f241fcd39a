/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network interfaces: counters and rates from /proc/net/dev, identity and link state from /sys/class/net. A sysfs
 * belongs to the network namespace of the process that mounted it: one that shows interfaces unknown to our
 * /proc/net/dev is another's and is not believed.
 */
#include "kernel/devices.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "collect/collect_internal.h"
#include "collect/probe/probe.h"

enum {
    NET_DEV_BYTES_MAX = 2 * 1024 * 1024,
    LIST_BYTES = 2048, /* of sys/class/net at once */
    LIST_TRIES = 3, /* at the samples that follow a list that does not match; then seldom */
};

enum sysfs_owner { OWNER_UNKNOWN, OWNER_OURS, OWNER_OTHER };

struct network_state {
    const struct collect_env *env;
    struct kept_file net_dev;
    struct buf text;
    struct net_dev dev;
    struct {
        struct network_interface *items; /* sorted by name */
        size_t count, cap;
    } interfaces;
    struct {
        struct sample_network *items;
        size_t count, cap;
    } out;
    struct network_interface_shared shared;
    uint64_t pass;
    int64_t read_ns;
    bool set_changed; /* since sys/class/net was listed last */
    bool list_matches;
    unsigned list_tries; /* without a match */
    int list_failure; /* 0 or a negative errno */
    int64_t list_due_ns;
    enum sysfs_owner owner;
};

static int interface_compare(const void *a, const void *b)
{
    return strcmp(((const struct network_interface *)a)->row.name, ((const struct network_interface *)b)->row.name);
}

static int interface_compare_name(const void *name, const void *interface)
{
    return strcmp(name, ((const struct network_interface *)interface)->row.name);
}

/* Sorts what was added and removes what this pass has not seen. */
__attribute__((cold)) static void interfaces_settle(struct network_state *state, size_t known)
{
    struct network_interface *items = state->interfaces.items;
    size_t count = state->interfaces.count;
    if (count > known) {
        qsort(items, count, sizeof(*items), interface_compare);
        state->set_changed = true;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool twice = kept > 0 && interface_compare(&items[kept - 1], &items[i]) == 0;
        if (items[i].pass != state->pass || twice) {
            network_interface_fini(&state->shared, &items[i]);
            state->set_changed = true;
            continue;
        }
        if (kept != i)
            items[kept] = items[i];
        kept++;
    }
    state->interfaces.count = kept;
}

/* Brings the interfaces in line with the rows just read; on failure none is added or removed. */
static int interfaces_update(struct network_state *state)
{
    size_t known = state->interfaces.count;
    state->pass++;
    for (size_t i = 0; i < state->dev.count; i++) {
        const struct net_dev_row *row = &state->dev.items[i];
        if (strcmp(row->name, "lo") == 0)
            continue;
        struct network_interface *items = state->interfaces.items;
        struct network_interface *found =
            known > 0 ? bsearch(row->name, items, known, sizeof(*items), interface_compare_name) : NULL;
        if (found && found->pass != state->pass) {
            /* Counters that begin anew: another interface under the same name. */
            if (row->rx_bytes < found->row.rx_bytes || row->tx_bytes < found->row.tx_bytes)
                network_interface_reset(&state->shared, found);
            found->row = *row;
            found->pass = state->pass;
        }
        if (found)
            continue;
        size_t need = state->interfaces.count + 1;
        /* Those about to be removed are still in the array. */
        int r = VEC_GROW(&state->interfaces, need, (size_t)2 * NET_DEV_ROWS_MAX);
        if (r < 0) {
            state->interfaces.count = known;
            return r;
        }
        network_interface_init(&state->interfaces.items[state->interfaces.count++], row, state->pass);
    }
    interfaces_settle(state, known);
    return 0;
}

/* Can a line of net/dev hold this name? One that cannot says nothing when it is missing there. */
static bool sysfs_name_counts(const char *name)
{
    for (const char *p = name; *p; p++) {
        if ((unsigned char)*p <= ' ')
            return false;
    }
    return strcmp(name, "lo") != 0;
}

/* Returns 0 where sys/class/net lists just our interfaces, 1 where it does not, or a negative errno. */
static int sysfs_compare(const struct network_state *state)
{
    AUTO_FD int fd = file_open_at(state->env->root->sys_fd, "class/net", O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fd;
    size_t known = 0;
    size_t unknown = 0;
    char entries[LIST_BYTES];
    long n;
    while ((n = dir_read_some(fd, entries, sizeof(entries))) > 0) {
        struct dir_entry entry;
        for (size_t at = 0; dir_next(entries, (size_t)n, &at, &entry);) {
            /* Interfaces are links; bonding_masters is a file. */
            if (entry.type != DT_LNK || !sysfs_name_counts(entry.name))
                continue;
            bool ours = bsearch(entry.name, state->interfaces.items, state->interfaces.count,
                sizeof(*state->interfaces.items), interface_compare_name);
            known += ours;
            unknown += !ours;
        }
    }
    if (n < 0)
        return (int)n;
    /* A captured tree may hold less than there was. */
    bool lacks_ours = state->env->root->is_host && known < state->interfaces.count;
    return unknown > 0 || lacks_ours;
}

/* Decides whose sysfs this is when there are interfaces to identify, and again while that is not settled. */
__attribute__((cold)) static void sysfs_check_owner(struct network_state *state, int64_t now_ns)
{
    if (state->interfaces.count == 0 || (!state->set_changed && (state->list_matches || now_ns < state->list_due_ns)))
        return;
    int r = sysfs_compare(state);
    state->set_changed = false;
    state->list_failure = r < 0 && !network_interface_is_absence(r) ? r : 0;
    state->list_matches = r <= 0 && state->list_failure == 0;
    if (state->list_matches) {
        state->list_tries = 0;
        state->owner = OWNER_OURS;
        return;
    }
    state->list_tries++;
    state->list_due_ns = state->list_tries <= LIST_TRIES ? now_ns : now_ns + COLLECT_SLOW_NS;
    /* Where the lists matched before, an interface may have come between reading the one and the other. */
    if (r < 0 || (state->owner == OWNER_OURS && state->list_tries == 1))
        return;
    state->owner = OWNER_OTHER;
    for (size_t i = 0; i < state->interfaces.count; i++)
        network_interface_reset(&state->shared, &state->interfaces.items[i]);
}

/* Reports facts that are missing though the interfaces have them. */
static void network_report_failure(const struct network_state *state, struct err *err)
{
    const char *root = state->env->root->path;
    int failure = state->list_failure;
    for (size_t i = 0; i < state->interfaces.count && failure == 0; i++)
        failure = state->interfaces.items[i].failure < 0 ? state->interfaces.items[i].failure
                                                         : state->interfaces.items[i].speed_failure;
    if (failure != 0)
        (void)err_sys(err, failure, "network: some facts are missing, cannot read %s/sys/class/net", root);
    else if (state->owner == OWNER_OTHER && state->interfaces.count > 0)
        (void)err_set(
            err, -EXDEV, "network: %s/sys is of another network namespace, nothing is known of the interfaces", root);
}

static const char *known_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static void interface_derive(const struct network_interface *interface, int64_t elapsed_ns, struct sample_network *ret)
{
    const struct net_dev_row *row = &interface->row;
    struct opt_u64 rx = counter_delta_opt(interface->prev_rx_bytes, some_u64(row->rx_bytes));
    struct opt_u64 tx = counter_delta_opt(interface->prev_tx_bytes, some_u64(row->tx_bytes));
    *ret = (struct sample_network){
        .interface = row->name,
        .mac_address = known_or_null(interface->mac_address),
        .driver = known_or_null(interface->driver),
        .operstate = known_or_null(interface->operstate),
        .speed_mbps = interface->speed_mbps,
        .mtu = interface->mtu,
        .rx_bytes_per_sec = rate_per_sec(rx, elapsed_ns),
        .tx_bytes_per_sec = rate_per_sec(tx, elapsed_ns),
        .rx_bytes_total = some_u64(row->rx_bytes),
        .tx_bytes_total = some_u64(row->tx_bytes),
        .rx_errors = some_u64(row->rx_errors),
        .tx_errors = some_u64(row->tx_errors),
        .rx_dropped = some_u64(row->rx_dropped),
        .tx_dropped = some_u64(row->tx_dropped),
        .is_virtual = interface->is_virtual,
        .rx_bytes_delta = rx,
        .tx_bytes_delta = tx,
    };
}

static void network_refresh(
    struct network_state *state, struct network_interface *interface, int64_t now_ns, bool is_brief)
{
    if (state->owner != OWNER_OURS || now_ns < interface->due_ns)
        return;
    if (interface->in_sysfs)
        network_interface_refresh(&state->shared, interface, now_ns);
    if (interface->in_sysfs || !state->list_matches)
        return;
    if (is_brief)
        network_interface_classify(&state->shared, interface);
    else
        network_interface_identify(&state->shared, interface, now_ns);
}

static void network_refresh_all(struct network_state *state, int64_t now_ns, bool is_brief)
{
    sysfs_check_owner(state, now_ns);
    for (size_t i = 0; i < state->interfaces.count; i++)
        network_refresh(state, &state->interfaces.items[i], now_ns, is_brief);
}

/* Asks for what takes longer while the command starts; the rest is read with the first sample. */
static void network_prepare(struct network_state *state)
{
    for (size_t i = 0; i < state->interfaces.count; i++) {
        state->interfaces.items[i].wants_speed = true;
        network_interface_update_speed(&state->shared, &state->interfaces.items[i]);
    }
}

static int network_report(
    struct network_state *state, const struct tick *tick, int64_t now_ns, struct sample *sample, struct err *err)
{
    size_t count = state->interfaces.count;
    int r = VEC_GROW(&state->out, count, (size_t)NET_DEV_ROWS_MAX);
    if (r < 0)
        return r;
    network_refresh_all(state, now_ns, probe_is_too_late(state->env, tick));
    for (size_t i = 0; i < count; i++) {
        struct network_interface *interface = &state->interfaces.items[i];
        if (interface->in_sysfs)
            network_interface_update_speed(&state->shared, interface);
        interface_derive(interface, now_ns - state->read_ns, &state->out.items[i]);
    }
    state->out.count = count;
    network_report_failure(state, err);
    sample->network = (struct sample_list){.present = true, .count = count, .items = state->out.items};
    return 0;
}

__attribute__((cold)) static int network_open(void *opaque, const struct collect_env *env, struct err *err)
{
    (void)err;
    struct network_state *state = opaque;
    *state = (struct network_state){.env = env, .shared = {.env = env, .sys_fd = env->root->sys_fd, .near_fd = -1}};
    kept_file_init(&state->net_dev, env->root->proc_fd, "net/dev", FILE_RECORDS);
    buf_init(&state->text, NET_DEV_BYTES_MAX);
    return 0;
}

static int network_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct network_state *state = opaque;
    int r = kept_file_read(&state->net_dev, &state->text);
    int64_t now_ns = clock_read(state->env->clock, CLOCK_KIND_MONOTONIC);
    bool is_read = r >= 0;
    if (is_read)
        r = net_dev_parse(buf_str(&state->text), &state->dev);
    if (!is_read || r == -EINVAL || r == -EBADMSG)
        return collect_fail(err, r, "network", state->env->root, "proc/net/dev");
    if (r >= 0)
        r = interfaces_update(state);
    if (r >= 0 && tick->baseline && probe_is_late(state->env))
        network_prepare(state);
    if (r >= 0 && !tick->baseline)
        r = network_report(state, tick, now_ns, sample, err);
    if (r < 0)
        return err_sys(err, r, "network: cannot store the interfaces of %s/proc/net/dev", state->env->root->path);
    for (size_t i = 0; i < state->interfaces.count; i++) {
        struct network_interface *interface = &state->interfaces.items[i];
        interface->prev_rx_bytes = some_u64(interface->row.rx_bytes);
        interface->prev_tx_bytes = some_u64(interface->row.tx_bytes);
    }
    state->read_ns = now_ns;
    return 0;
}

__attribute__((cold)) static void network_close(void *opaque)
{
    struct network_state *state = opaque;
    for (size_t i = 0; i < state->interfaces.count; i++)
        network_interface_fini(&state->shared, &state->interfaces.items[i]);
    free(state->interfaces.items);
    free(state->out.items);
    net_dev_fini(&state->dev);
    buf_fini(&state->text);
    kept_file_fini(&state->net_dev);
}

const struct collector collector_network = {
    .name = "network",
    .fills = {COLLECT_FILLS(network)},
    .state_bytes = sizeof(struct network_state),
    .open = network_open,
    .collect = network_collect,
    .close = network_close,
};
