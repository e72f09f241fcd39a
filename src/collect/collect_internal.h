/* SPDX-License-Identifier: Apache-2.0 */
/* What single collectors of this directory are made of: network interfaces, the count of processes, memory. */
#ifndef COLLECT_COLLECT_INTERNAL_H
#define COLLECT_COLLECT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "collect/collect.h"
#include "kernel/devices.h"
#include "kernel/proc.h"
#include "model/sample.h"

/*
 * One network interface: its counters as the collector last read them, and its identity and link state from
 * /sys/class/net/NAME. The collector decides whether that sysfs is to be believed and asks when the facts are due; one
 * that cannot be read is absent.
 */

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

/*
 * How many processes the host has, by the cheapest way that is right: the link count of /proc where it can be trusted,
 * else a listing of the directory at most once a second, and less often where that takes long.
 */
struct process_count {
    const struct collect_env *env;
    int list_fd; /* kept for listing; -1: not yet opened */
    bool by_links;
    uint64_t other_links; /* st_nlink of /proc less the processes */
    int64_t calibrated_ns; /* when that was last found out */
    int64_t listed_ns; /* when the directory was last listed for a count */
    int64_t list_cost_ns; /* what that took */
    struct opt_u64 listed;
    struct opt_u64 listed_links, listed_forks; /* of the whole host then */
};

void process_count_init(struct process_count *count, const struct collect_env *env);
void process_count_fini(struct process_count *count);

/*
 * Absent where /proc cannot be read. grid_ns is when this sample was due: lateness must not make
 * one listing serve two samples. forks: processes made since boot, absent where unknown.
 */
struct opt_u64 process_count_read(struct process_count *count, int64_t grid_ns, struct opt_u64 forks);

/* The arithmetic of the memory section, apart from reading. */

/* Fills everything but `present`; what the kernel does not say stays absent. */
void memory_derive(const struct meminfo *info, struct sample_memory *ret_memory);

#endif
