/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where net/snmp says that nothing was connected and nothing of the tree's can have moved, one read is all. A list of
 * all sockets takes the kernel half a millisecond where memory is large, however few there are, so it is asked for only
 * where something was connected, and then descriptors of the tree are scanned for what is new in it. In between the
 * kernel is asked for the sockets of the tree one by one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/vec.h"
#include "collect/traffic/traffic.h"
#include "collect/traffic/traffic_internal.h"

enum { SNMP_BYTES_MAX = 64 * 1024 };

int traffic_open_sock_diag(void *context)
{
    (void)context;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_INET_DIAG);
    return fd < 0 ? err_last() : fd;
}

void sockets_open(struct sockets *sockets, const struct collect_env *env)
{
    *sockets = (struct sockets){
        .env = env, .fd = -1, .failure = env->open_sock_diag ? 0 : -ENOTSUP, .bank_ns = SOCKETS_BANK_NS};
    kept_file_init(&sockets->snmp, env->root->proc_fd, "net/snmp", FILE_RECORDS);
    buf_init(&sockets->text, SNMP_BYTES_MAX);
}

void sockets_close(struct sockets *sockets)
{
    fd_close(&sockets->fd);
    kept_file_fini(&sockets->snmp);
    buf_fini(&sockets->text);
    free(sockets->list.items);
    free(sockets->answer);
}

static int compare_inodes(const void *a, const void *b)
{
    uint32_t x = ((const struct traffic_socket *)a)->inode, y = ((const struct traffic_socket *)b)->inode;
    return x < y ? -1 : x > y;
}

static struct traffic_socket *find_inode(const struct sockets *sockets, uint32_t inode)
{
    struct traffic_socket wanted = {.inode = inode};
    if (sockets->sorted == 0)
        return NULL;
    return bsearch(&wanted, sockets->list.items, sockets->sorted, sizeof(wanted), compare_inodes);
}

/* One that is closed on our side has no inode any more, and may still have bytes on their way. */
static struct traffic_socket *find_closed(const struct sockets *sockets, const struct tcp_row *row)
{
    for (size_t i = 0; sockets->members > 0 && i < sockets->sorted; i++) {
        struct traffic_socket *socket = &sockets->list.items[i];
        if (socket->owner == SOCKET_MEMBER && tcp_name_is_same(&socket->name, &row->name))
            return socket;
    }
    return NULL;
}

static void add_bytes(struct traffic_bytes *sum, const struct traffic_socket *socket)
{
    if (socket->owner != SOCKET_MEMBER)
        return;
    sum->received += counter_delta(socket->before.received, socket->bytes.received);
    sum->sent += counter_delta(socket->before.sent, socket->bytes.sent);
}

static void note_row(struct sockets *sockets, const struct tcp_row *row)
{
    struct traffic_socket *socket = row->inode != 0 ? find_inode(sockets, row->inode) : find_closed(sockets, row);
    sockets->lacks_bytes |= !row->has_bytes && row->is_connected;
    if (!socket && row->inode == 0) {
        sockets->has_unaccepted |= row->is_connected;
        return;
    }
    bool is_first = !socket && sockets->is_cut;
    if (socket && !tcp_name_is_same(&socket->name, &row->name)) {
        add_bytes(&sockets->gone, socket);
        *socket = (struct traffic_socket){.name = row->name, .inode = row->inode};
    } else if (!socket) {
        if (VEC_GROW(&sockets->list, sockets->list.count + 1, SOCKETS_MAX) < 0) {
            sockets->is_cut = true;
            return;
        }
        socket = &sockets->list.items[sockets->list.count++];
        *socket = (struct traffic_socket){.name = row->name, .inode = row->inode};
    }
    socket->missed = 0;
    if (!row->has_bytes)
        return;
    socket->bytes = (struct traffic_bytes){row->received, row->sent};
    /* What was there before an attached tree was tracked does not count. */
    const struct tracked *tracked = sockets->env->tracked;
    if ((!sockets->has_scanned || is_first) && tracked && tracked->attached)
        socket->before = socket->bytes;
}

/* A list may lack a socket, as others come and go while it is made: only those that are missing twice are closed. */
static void settle(struct sockets *sockets)
{
    struct traffic_socket *items = sockets->list.items;
    size_t kept = 0, before = sockets->sorted;
    for (size_t i = 0; i < sockets->list.count; i++) {
        if (items[i].missed >= SOCKETS_MISSED)
            add_bytes(&sockets->gone, &items[i]);
        else
            items[kept++] = items[i];
    }
    bool has_more = sockets->list.count > before;
    sockets->list.count = sockets->sorted = kept;
    if (has_more)
        qsort(items, kept, sizeof(*items), compare_inodes);
}

/* One datagram; returns what ended it. */
static int receive(struct sockets *sockets)
{
    struct tcp_row row;
    int r;
    ssize_t n = recv(sockets->fd, sockets->answer, SOCKETS_ANSWER_BYTES, MSG_DONTWAIT);
    if (n <= 0)
        return n < 0 ? err_last() : -EBADMSG;
    for (size_t at = 0; (r = tcp_answer_next(sockets->answer, (size_t)n, sockets->sequence, &at, &row)) == TCP_ROW;)
        note_row(sockets, &row);
    return r;
}

/* The sockets of the tree alone. */
static void ask_one_by_one(struct sockets *sockets)
{
    struct tcp_request_one requests[SOCKETS_ONE_BY_ONE] = {0};
    size_t count = 0;
    sockets->sequence++;
    for (size_t i = 0; i < sockets->list.count && count < SOCKETS_ONE_BY_ONE; i++) {
        if (sockets->list.items[i].owner == SOCKET_MEMBER)
            tcp_request_one_init(&requests[count++], &sockets->list.items[i].name, sockets->sequence);
    }
    if (count == 0 || sockets->fd < 0 || send(sockets->fd, requests, count * sizeof(requests[0]), MSG_NOSIGNAL) < 0)
        return;
    /* One that is gone is an error, and the next list lacks it. */
    for (int r = 0; count > 0 && r != -EAGAIN; count--)
        r = receive(sockets);
}

static int list_sockets(struct sockets *sockets)
{
    struct tcp_request request;
    if (sockets->fd < 0) {
        int fd = sockets->env->open_sock_diag(sockets->env->sock_diag_context);
        if (fd < 0)
            return fd;
        sockets->fd = fd;
    }
    if (!sockets->answer)
        sockets->answer = malloc(SOCKETS_ANSWER_BYTES);
    if (!sockets->answer)
        return -ENOMEM;
    tcp_request_init(&request, ++sockets->sequence);
    if (send(sockets->fd, &request, sizeof(request), MSG_NOSIGNAL) < 0)
        return err_last();
    for (size_t i = 0; i < sockets->list.count; i++)
        sockets->list.items[i].missed++;
    sockets->has_unaccepted = false;
    const struct clock *clock = sockets->env->clock;
    int64_t end_ns = clock_read(clock, CLOCK_KIND_OWN_CPU) + SOCKETS_LIST_NS;
    bool is_late = false;
    int r;
    for (unsigned i = 1; (r = receive(sockets)) == TCP_END && !is_late; i++)
        is_late = i % SOCKETS_CLOCK_EVERY == 0 && clock_read(clock, CLOCK_KIND_OWN_CPU) > end_ns;
    for (size_t i = 0; r != TCP_DONE && i < sockets->list.count; i++)
        sockets->list.items[i].missed = 0;
    settle(sockets);
    /* The rest of it goes with the socket. What was seen counts: at least that was received and sent. */
    sockets->is_cut |= r == TCP_END;
    if (r != TCP_DONE)
        fd_close(&sockets->fd);
    return r == TCP_DONE || r == TCP_END ? 0 : r;
}

static void note_link(struct sockets *sockets, struct str text)
{
    uint64_t inode;
    if (!str_starts(text, STR("socket:[")))
        return;
    str_skip(&text, sizeof("socket:[") - 1);
    struct traffic_socket *socket =
        num_next_u64(&text, &inode) && inode <= UINT32_MAX ? find_inode(sockets, (uint32_t)inode) : NULL;
    if (socket && socket->owner == SOCKET_UNKNOWN) {
        socket->owner = SOCKET_MEMBER;
        socket->is_new = true;
    }
}

struct scan {
    struct sockets *sockets;
    pid_t pid;
    struct blocking_thread *bracket;
    bool is_abandoned; /* another thread has taken over: this one may touch nothing */
};

static void enter(struct scan *scan)
{
    scan->bracket = blocking_enter(scan->sockets->env->blocking, scan->pid, "fd");
}

/* Each link is read in a bracket, and noted outside of it. */
static bool visit_fd(void *context, int fd, const char *target)
{
    (void)fd;
    struct scan *scan = context;
    scan->is_abandoned = !blocking_leave(scan->bracket);
    if (scan->is_abandoned)
        return false;
    note_link(scan->sockets, str_of(target));
    enter(scan);
    return true;
}

/* False where the process hangs. */
static bool scan_process(struct sockets *sockets, pid_t pid)
{
    struct scan scan = {.sockets = sockets, .pid = pid};
    if (blocking_is_stuck(sockets->env->blocking, pid, NULL))
        return false;
    enter(&scan);
    (void)pid_each_fd(sockets->env->root->proc_fd, pid, visit_fd, &scan);
    if (scan.is_abandoned || !blocking_leave(scan.bracket))
        blocking_return(scan.bracket);
    return true;
}

static void set_internal(struct sockets *sockets, struct traffic_socket *socket)
{
    socket->is_new = false;
    for (size_t i = 0; i < sockets->list.count; i++) {
        struct traffic_socket *other = &sockets->list.items[i];
        if (other->owner == SOCKET_MEMBER && tcp_name_is_other_end(&socket->name, &other->name))
            socket->owner = other->owner = SOCKET_INTERNAL;
    }
}

/* What we have open ourselves, the command may have inherited with all that came before. */
static void leave_out_ours(struct sockets *sockets)
{
    const struct tracked *tracked = sockets->env->tracked;
    if ((sockets->has_scanned && !sockets->is_cut) || tracked->attached)
        return;
    (void)scan_process(sockets, tracked->tracker);
    for (size_t i = 0; i < sockets->list.count; i++) {
        struct traffic_socket *socket = &sockets->list.items[i];
        socket->owner = socket->is_new ? SOCKET_OTHER : socket->owner;
        socket->is_new = false;
    }
}

static void scan_members(struct sockets *sockets, const struct job_member *members, size_t count, bool is_sample)
{
    const struct clock *clock = sockets->env->clock;
    int64_t begin_ns = clock_read(clock, CLOCK_KIND_OWN_CPU);
    size_t done = 0, left_out = 0;
    leave_out_ours(sockets);
    for (; done < count && clock_read(clock, CLOCK_KIND_OWN_CPU) - begin_ns <= SOCKETS_SCAN_NS; done++)
        left_out += !scan_process(sockets, members[sockets->at++ % count].pid);
    for (size_t i = 0; i < sockets->list.count; i++) {
        struct traffic_socket *socket = &sockets->list.items[i];
        if (socket->is_new)
            set_internal(sockets, socket);
        /* A process that was born after its tree was read is found with the next sample. */
        if (socket->owner == SOCKET_UNKNOWN && done == count && left_out == 0 && (is_sample || socket->tries == 0)) {
            socket->tries = (unsigned char)(socket->tries + (is_sample ? 2 : 1));
            socket->owner = socket->tries >= SOCKETS_TRIES ? SOCKET_OTHER : SOCKET_UNKNOWN;
        }
    }
    sockets->has_scanned = true;
}

static bool has_unknown(const struct sockets *sockets, bool is_sample)
{
    for (size_t i = 0; i < sockets->list.count; i++) {
        const struct traffic_socket *socket = &sockets->list.items[i];
        if (socket->owner == SOCKET_UNKNOWN && (is_sample || socket->tries == 0))
            return true;
    }
    return false;
}

static void sum_up(struct sockets *sockets, int64_t now_ns)
{
    struct traffic_bytes before = sockets->total;
    size_t members = sockets->members;
    sockets->total = sockets->gone;
    sockets->members = 0;
    for (size_t i = 0; i < sockets->list.count; i++) {
        add_bytes(&sockets->total, &sockets->list.items[i]);
        sockets->members += sockets->list.items[i].owner == SOCKET_MEMBER;
    }
    if (sockets->members > members)
        sockets->newest_ns = now_ns;
    if (memcmp(&before, &sockets->total, sizeof(before)) != 0)
        sockets->moved_ns = now_ns;
}

enum due { DUE_NOTHING, DUE_OPEN_ONES, DUE_LIST };

/* What can have changed since sockets were listed last. */
static enum due find_due(struct sockets *sockets, bool is_sample, struct tcp_counters *ret_counters)
{
    *ret_counters = (struct tcp_counters){0};
    if (kept_file_read(&sockets->snmp, &sockets->text) < 0 ||
        tcp_counters_parse(buf_str(&sockets->text), ret_counters) < 0 ||
        !(sockets->has_scanned || sockets->has_baseline))
        return DUE_LIST;
    if (has_unknown(sockets, is_sample) || sockets->has_unaccepted || ret_counters->opens != sockets->counters.opens)
        return DUE_LIST;
    return sockets->members > 0 && ret_counters->segments != sockets->counters.segments ? DUE_OPEN_ONES : DUE_NOTHING;
}

bool sockets_has_opened(struct sockets *sockets)
{
    struct tcp_counters now;
    return sockets->failure == 0 && kept_file_read(&sockets->snmp, &sockets->text) == 0 &&
           tcp_counters_parse(buf_str(&sockets->text), &now) == 0 && now.opens != sockets->counters.opens;
}

static bool may_spend(struct sockets *sockets, int64_t now_ns)
{
    int64_t more_ns = (int64_t)((double)(now_ns - sockets->banked_ns) * SOCKETS_SHARE);
    sockets->bank_ns += sockets->banked_ns == 0 || more_ns < 0 ? 0 : more_ns;
    if (sockets->bank_ns > SOCKETS_BANK_NS)
        sockets->bank_ns = SOCKETS_BANK_NS;
    sockets->banked_ns = now_ns;
    return sockets->bank_ns > 0;
}

/* The list has changed meanwhile, or something is used up for a moment. */
static bool is_passing(int r)
{
    return r == -EINTR || r == -EAGAIN || r == -EBUSY || r == -ENOBUFS || r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

static int update_list(
    struct sockets *sockets, const struct job_member *members, size_t count, int64_t now_ns, bool is_sample)
{
    int64_t begin_ns = clock_read(sockets->env->clock, CLOCK_KIND_OWN_CPU);
    int r = list_sockets(sockets);
    sockets->listed_ns = now_ns;
    sockets->list_cost_ns = clock_read(sockets->env->clock, CLOCK_KIND_OWN_CPU) - begin_ns;
    sockets->is_known |= r == 0;
    /* Where it never worked, it never will: not permitted, or not in this kernel. */
    if (r < 0 && !sockets->has_scanned && !is_passing(r))
        sockets->failure = r;
    /* The first time to learn what was there already. */
    if (r == 0 && (!sockets->has_scanned || has_unknown(sockets, is_sample)))
        scan_members(sockets, members, count, is_sample);
    return r;
}

void sockets_baseline(struct sockets *sockets)
{
    sockets->has_baseline = sockets->failure == 0 && kept_file_read(&sockets->snmp, &sockets->text) == 0 &&
                            tcp_counters_parse(buf_str(&sockets->text), &sockets->counters) == 0;
    sockets->is_known = sockets->has_baseline;
}

void sockets_update(
    struct sockets *sockets, const struct job_member *members, size_t count, int64_t now_ns, bool is_sample)
{
    struct tcp_counters counters;
    enum due due = sockets->failure < 0 ? DUE_NOTHING : find_due(sockets, is_sample, &counters);
    if (due == DUE_NOTHING || !may_spend(sockets, now_ns))
        return;
    int64_t begin_ns = clock_read(sockets->env->clock, CLOCK_KIND_OWN_CPU);
    bool is_too_soon = !is_sample && now_ns - sockets->listed_ns < sockets->list_cost_ns * SOCKETS_LIST_SHARE;
    if (sockets->members > SOCKETS_ONE_BY_ONE && !is_too_soon)
        due = DUE_LIST;
    if (due == DUE_LIST && !is_too_soon && update_list(sockets, members, count, now_ns, is_sample) == 0)
        sockets->counters = counters;
    else if (sockets->members > 0 && sockets->members <= SOCKETS_ONE_BY_ONE) {
        ask_one_by_one(sockets);
        sockets->counters.segments = counters.segments;
    }
    sum_up(sockets, now_ns);
    sockets->bank_ns -= clock_read(sockets->env->clock, CLOCK_KIND_OWN_CPU) - begin_ns;
}

int traffic_check(const struct collect_env *env)
{
    AUTO_FREE struct sockets *sockets = calloc(1, sizeof(*sockets));
    if (!sockets)
        return -ENOMEM;
    sockets_open(sockets, env);
    int r = sockets->failure < 0 ? sockets->failure : list_sockets(sockets);
    if (r == 0 && sockets->lacks_bytes)
        r = -ENOSYS;
    sockets_close(sockets);
    return r;
}
