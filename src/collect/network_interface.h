/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One network interface: its counters as the collector last read them, and its identity and link state from
 * /sys/class/net/NAME. The collector decides whether that sysfs is to be believed and asks when the facts are due; one
 * that cannot be read is absent.
 */
#ifndef COLLECT_NETWORK_INTERFACE_H
#define COLLECT_NETWORK_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "collect/collect.h"
#include "kernel/devices.h"

enum { NETWORK_INTERFACE_LINKS = 4, NETWORK_INTERFACE_MAC_BYTES = 100 };

/* What the interfaces of one collector have in common. Starts as zeros but for the descriptors and env. */
struct network_interface_shared {
    const struct collect_env *env; /* borrowed */
    int sys_fd; /* borrowed */
    size_t kept_count; /* interfaces whose links stay open */
    uint64_t spread; /* grows with every interface identified */
    uint64_t hardware_changes; /* grows when the link of a piece of hardware changes, or goes */
    int near_fd; /* directory of the interface that is being identified; -1: none is */
};

struct network_interface {
    struct net_dev_row row;
    struct opt_u64 prev_rx_bytes, prev_tx_bytes;
    uint64_t pass; /* of the reading that saw it last */
    bool in_sysfs, keeps_links;
    int links[NETWORK_INTERFACE_LINKS]; /* descriptors; negative: not open */
    int failure; /* 0, or why a fact that may exist is missing */
    int64_t due_ns; /* when its facts are read next */
    struct opt_bool is_virtual;
    struct opt_i64 speed_mbps;
    bool wants_speed; /* it is being asked for */
    uint32_t ticket; /* of the probe */
    uint32_t seen_news; /* of the probe, when it was last asked */
    int speed_failure; /* as failure, of the speed alone */
    int64_t speed_due_ns; /* when it is asked for next though the link did not change */
    uint64_t hardware_changes; /* up to which it was asked for */
    struct opt_u64 mtu;
    char operstate[24], driver[64], mac_address[NETWORK_INTERFACE_MAC_BYTES]; /* "": unknown */
    char carrier_changes[24];
};

/* Nothing is known of it yet but the row, and its facts are due at once. */
void network_interface_init(struct network_interface *interface, const struct net_dev_row *row, uint64_t pass);
void network_interface_fini(struct network_interface_shared *shared, struct network_interface *interface);

/* Drops what sysfs said of it; its facts are due at once. */
void network_interface_reset(struct network_interface_shared *shared, struct network_interface *interface);

/* Finds out only whether there is hardware below an interface that is not in_sysfs. */
void network_interface_classify(struct network_interface_shared *shared, struct network_interface *interface);

/*
 * Reads all facts of an interface that is not in_sysfs. Sets in_sysfs where sysfs has it, failure where that is not
 * known, and when it is due next: never where sysfs does not have it.
 */
void network_interface_identify(
    struct network_interface_shared *shared, struct network_interface *interface, int64_t now_ns);

/* Reads the link state of an interface that is in_sysfs; one replaced by another device of its name is reset. */
void network_interface_refresh(
    struct network_interface_shared *shared, struct network_interface *interface, int64_t now_ns);

/* Picks up the speed of an interface that is in_sysfs, where it has come. */
void network_interface_update_speed(struct network_interface_shared *shared, struct network_interface *interface);

/* What is not there is an answer; any other errno (no descriptor left, no permission) hides one. */
bool network_interface_is_absence(int r);

#endif
