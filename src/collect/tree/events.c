/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tree/events.h"

#include <asm/byteorder.h>
#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/err.h"
#include "kernel/process_events.h"

/* Of the kernel's memory, for what is not read yet: ten thousand messages. */
enum { RECEIVE_BYTES = 8 * 1024 * 1024, ANSWERS_MAX = 64 };

enum {
    WHAT_AT = offsetof(struct process_message, event),
    DATA_AT = WHAT_AT + offsetof(struct proc_event, event_data),
    FORKED = offsetof(struct fork_proc_event, child_pid),
};

#define LOAD(mode, at) BPF_STMT(BPF_LD | BPF_W | BPF_##mode, at)
#define IF(what, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __constant_htonl((uint32_t)(what)), yes, no)

/*
 * Threads are born and end far more often than processes, and their messages would fill the memory: they never come
 * here. A filter compares words as the network has them; X is where the two numbers of a thread are.
 */
static int leave_out_threads(int fd)
{
    /* Never written; the kernel takes no pointer to const. */
    static struct sock_filter code[] = {
        LOAD(ABS, WHAT_AT),
        IF(PROC_EVENT_EXEC, 10, 0),
        IF(PROC_EVENT_NONE, 9, 0),
        BPF_STMT(BPF_LDX | BPF_IMM, 0),
        IF(PROC_EVENT_EXIT, 2, 0),
        BPF_STMT(BPF_LDX | BPF_IMM, FORKED),
        IF(PROC_EVENT_FORK, 0, 6),
        LOAD(IND, DATA_AT),
        BPF_STMT(BPF_ST, 0),
        LOAD(IND, DATA_AT + sizeof(pid_t)),
        BPF_STMT(BPF_LDX | BPF_MEM, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, sizeof(struct process_message)),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* The answer is there when the request was sent. In other namespaces there is none. */
static int receive_answer(int fd)
{
    struct process_message message;
    struct process_event event;
    for (int i = 0; i < ANSWERS_MAX; i++) {
        ssize_t n = recv(fd, &message, sizeof(message), MSG_DONTWAIT);
        if (n < 0)
            break;
        if (process_event_parse(&message, (size_t)n, &event) == 0 && event.kind == PROCESS_ANSWER)
            return -event.status;
    }
    return -ENOTSUP;
}

int events_open(void)
{
    const int bytes = RECEIVE_BYTES;
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    struct process_request request;
    AUTO_FD int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
    process_request_init(&request);
    if (fd < 0 || leave_out_threads(fd) < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return err_last();
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) < 0)
        return err_last();
    int r = receive_answer(fd);
    return r < 0 ? r : fd_take(&fd);
}
