/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the kernel's process connector (Documentation/driver-api/connector.rst, linux/cn_proc.h): a datagram for
 * every process that is born, executes a program or ends.
 */
#ifndef KERNEL_PROCESS_EVENTS_H
#define KERNEL_PROCESS_EVENTS_H

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* struct cn_msg, but for what it ends with. */
struct process_connector {
    struct cb_id id;
    uint32_t sequence, answers;
    uint16_t bytes, flags;
};

/* One datagram. */
struct process_message {
    struct nlmsghdr header;
    struct process_connector connector;
    char event[sizeof(struct proc_event)];
};

enum process_event_kind {
    PROCESS_OTHER, /* of a thread, or nothing of use */
    PROCESS_ANSWER, /* to a request: status is an errno, 0 for success */
    PROCESS_FORK,
    PROCESS_EXEC,
    PROCESS_EXIT,
};

struct process_event {
    enum process_event_kind kind;
    pid_t pid;
    pid_t parent; /* of a fork */
    int status; /* of an exit: as wait has it */
    int64_t at_ns; /* monotonic */
};

/* Asks for all of them. */
struct process_request {
    struct nlmsghdr header;
    struct process_connector connector;
    uint32_t operation;
};

void process_request_init(struct process_request *request);

/* The first n bytes of a datagram. Returns 0 or -EBADMSG. */
int process_event_parse(const struct process_message *message, size_t n, struct process_event *ret_event);

#endif
