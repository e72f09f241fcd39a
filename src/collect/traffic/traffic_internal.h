/* SPDX-License-Identifier: Apache-2.0 */
/* What the tree received and sent: by network namespaces of its own, and by TCP sockets in ours. */
#ifndef COLLECT_TRAFFIC_TRAFFIC_INTERNAL_H
#define COLLECT_TRAFFIC_TRAFFIC_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "collect/collect.h"
#include "kernel/devices.h"
#include "kernel/tcp.h"

/* Bytes since the start. */
struct traffic_bytes {
    uint64_t received, sent;
};

/*
 * TCP sockets of our network namespace, those that processes of the tree have open known by the inodes of
 * their descriptors. A socket between two processes of the tree does not count, nor does one that we have open too.
 */

#define SOCKETS_SHARE 0.005 /* of a core, that lists and scans of descriptors may take */
#define SOCKETS_BANK_NS (20 * NS_PER_MS) /* what may be saved up */
#define SOCKETS_SCAN_NS (4 * NS_PER_MS) /* what one scan of descriptors may take */
#define SOCKETS_LIST_NS (10 * NS_PER_MS) /* what one list may take: it is cut then */
enum {
    SOCKETS_MAX = 16384,
    SOCKETS_TRIES = 3,
    SOCKETS_MISSED = 2,
    SOCKETS_ONE_BY_ONE = 32,
    SOCKETS_CLOCK_EVERY = 4, /* datagrams */
    SOCKETS_ANSWER_BYTES = 16 * 1024
};
enum { SOCKETS_LIST_SHARE = 64 }; /* between samples, lists may take this part of the time */

enum socket_owner { SOCKET_UNKNOWN, SOCKET_MEMBER, SOCKET_INTERNAL, SOCKET_OTHER };

struct traffic_socket {
    struct tcp_name name;
    uint32_t inode;
    unsigned char owner; /* enum socket_owner */
    unsigned char tries; /* scans in which no member had it, two for those with a sample */
    unsigned char missed; /* lists in a row without it */
    bool is_new; /* not compared with the others yet */
    struct traffic_bytes bytes, before; /* before: the tree was tracked */
};

struct sockets {
    const struct collect_env *env;
    int fd; /* of the kernel's lists; -1: not open */
    int failure; /* why there is no list; 0: there is, or it was not asked for yet */
    bool is_known; /* it was asked for, and came */
    bool lacks_bytes; /* this kernel does not count them */
    bool is_cut; /* a list was, so that sockets may be older than the list they are found in */
    uint32_t sequence;
    struct kept_file snmp;
    struct buf text;
    struct tcp_counters counters; /* when sockets were listed last */
    struct {
        struct traffic_socket *items; /* the first `sorted` by inode */
        size_t count, cap;
    } list;
    size_t sorted;
    size_t members; /* sockets of the tree */
    size_t at; /* of the members of the tree: where the next scan begins */
    bool has_scanned;
    bool has_baseline; /* counters are those of the start of the command */
    bool has_unaccepted; /* one that no process has accepted yet */
    struct traffic_bytes gone; /* of sockets that are closed */
    struct traffic_bytes total;
    int64_t moved_ns, newest_ns; /* when bytes moved last, and when the newest socket was found */
    int64_t bank_ns, banked_ns;
    int64_t list_cost_ns, listed_ns;
    char *answer; /* SOCKETS_ANSWER_BYTES */
};

void sockets_open(struct sockets *sockets, const struct collect_env *env);
void sockets_close(struct sockets *sockets);

/* At the start of a command: nothing is listed before something was connected. */
void sockets_baseline(struct sockets *sockets);

/* is_sample: members are all there are. Brings the total up to now, as far as the budget goes. */
void sockets_update(
    struct sockets *sockets, const struct job_member *members, size_t count, int64_t now_ns, bool is_sample);

/* Was anything connected since sockets were listed last? */
bool sockets_has_opened(struct sockets *sockets);

/*
 * Network namespaces that the tree alone is in. Each is read through a descriptor on its net/dev, which keeps the
 * namespace until it was read once more after its last process ended.
 */

#define NAMESPACES_CHECKS_NS (4 * NS_PER_MS) /* what the search for processes of others may take in an update */
enum { NAMESPACES_MAX = 16, NAMESPACES_CACHE = 1024, NAMESPACES_CHECKS = 3 };

enum namespace_owner { NAMESPACE_UNDECIDED, NAMESPACE_TREES, NAMESPACE_SHARED };

struct traffic_namespace {
    uint64_t inode; /* 0: a free slot */
    int fd;
    unsigned char owner; /* enum namespace_owner */
    unsigned char checks;
    pid_t checked; /* the last process that was asked in a check that is not over; 0: there is none */
    bool has_member;
    struct traffic_bytes bytes, before;
};

struct namespaces {
    const struct collect_env *env;
    uint64_t ours; /* the inode of our own; 0: not known */
    struct traffic_namespace items[NAMESPACES_MAX];
    size_t used; /* of them */
    int64_t checks_ns; /* what is left for checks in this update */
    size_t rechecks; /* that the next update may make: members that were there before, each a system call */
    struct namespace_of {
        pid_t pid;
        uint64_t start_ticks, inode;
        int64_t first_ns, read_ns;
    } * cache; /* NAMESPACES_CACHE, by PID; NULL: none before the first process, or out of memory */
    struct buf text;
    struct net_dev dev;
    struct pid_list list;
    struct traffic_bytes gone, total;
    size_t in_ours, in_own, elsewhere; /* live members, of which namespace; elsewhere: shared with others, or unknown */
    bool has_any; /* one of the tree's own was seen */
    bool is_lossy; /* in this interval bytes may be missing */
};

void namespaces_open(struct namespaces *namespaces, const struct collect_env *env);
void namespaces_close(struct namespaces *namespaces);

void namespaces_update(struct namespaces *namespaces, const struct job_member *members, size_t count, int64_t now_ns);

#endif
