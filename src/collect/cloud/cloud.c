/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks all vendors side by side: one lane each, with a connection for every request, all of them behind one epoll
 * descriptor (epoll(7)), which is what we wait for. A request has a second, all together have two. A lane that was
 * accepted wins as soon as no lane before it is open.
 */
#include "collect/cloud/cloud.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/num.h"
#include "net/http.h"

enum { REQUEST_BYTES_MAX = 4096, READ_BYTES = 4096, HTTP_PORT = 80 };

static const int64_t request_ns = NS_PER_SEC;
static const int64_t total_ns = 2 * NS_PER_SEC;

enum lane_state { LANE_IDLE, LANE_SENDING, LANE_READING, LANE_ACCEPTED, LANE_OUT };

struct lane {
    const struct cloud_vendor *vendor;
    const char *endpoint; /* "169.254.169.254:80" */
    struct sockaddr_in address;
    enum lane_state state;
    struct cloud_probe probe;
    int fd;
    int64_t deadline_ns; /* of the request under way */
    struct buf out;
    size_t sent;
    struct http_parse parse;
};

struct engine {
    struct lane lanes[CLOUD_VENDORS_MAX];
    size_t count;
    int epoll_fd;
    int64_t end_ns;
};

static bool is_open(const struct lane *lane)
{
    return lane->state == LANE_SENDING || lane->state == LANE_READING;
}

/* "169.254.169.254:80" */
static bool parse_endpoint(const char *endpoint, struct sockaddr_in *ret_address)
{
    char host[INET_ADDRSTRLEN];
    uint64_t port;
    const char *colon = strrchr(endpoint, ':');
    *ret_address = (struct sockaddr_in){.sin_family = AF_INET};
    if (!colon || !str_copy((struct str){endpoint, (size_t)(colon - endpoint)}, host, sizeof(host)) ||
        num_parse_u64(str_of(colon + 1), &port) < 0 || port == 0 || port > UINT16_MAX ||
        inet_pton(AF_INET, host, &ret_address->sin_addr) != 1)
        return false;
    ret_address->sin_port = htons((uint16_t)port);
    return true;
}

static void put_request(struct lane *lane)
{
    struct str host = str_of(lane->endpoint);
    if (ntohs(lane->address.sin_port) == HTTP_PORT)
        host.n = (size_t)(strrchr(lane->endpoint, ':') - lane->endpoint);
    buf_clear(&lane->out);
    cloud_put_request(&lane->out, lane->vendor, &lane->probe, host);
}

static int watch(struct engine *engine, struct lane *lane, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = lane};
    return epoll_ctl(engine->epoll_fd, operation, lane->fd, &event) < 0 ? err_last() : 0;
}

/* 0, or a negative errno where no answer will come. */
static int start_request(struct engine *engine, struct lane *lane)
{
    if (!cloud_path(lane->vendor, &lane->probe))
        return -E2BIG;
    int64_t begin_ns = clock_now();
    if (begin_ns >= engine->end_ns)
        return -ETIMEDOUT;
    lane->deadline_ns = begin_ns + request_ns < engine->end_ns ? begin_ns + request_ns : engine->end_ns;
    put_request(lane);
    lane->sent = 0;
    if (!buf_ok(&lane->out))
        return -ENOMEM;
    lane->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (lane->fd < 0)
        return err_last();
    http_parse_init(&lane->parse, false, CLOUD_ANSWER_BYTES_MAX);
    lane->state = LANE_SENDING;
    if (connect(lane->fd, (const struct sockaddr *)&lane->address, sizeof(lane->address)) < 0 && errno != EINPROGRESS)
        return err_last();
    return watch(engine, lane, EPOLL_CTL_ADD, EPOLLOUT);
}

static void end_request(struct lane *lane)
{
    if (is_open(lane))
        http_parse_fini(&lane->parse);
    fd_close(&lane->fd);
    lane->state = LANE_IDLE;
}

/* The request is over, with an answer or (NULL) without; the lane is then decided, or idle until the next one. */
static void settle(struct lane *lane, const struct http_answer *answer)
{
    end_request(lane);
    enum cloud_verdict verdict = lane->vendor->classify(&lane->probe, answer);
    lane->probe.step++;
    if (verdict != CLOUD_ASK_MORE)
        lane->state = verdict == CLOUD_ACCEPT ? LANE_ACCEPTED : LANE_OUT;
}

static void settle_answered(struct lane *lane)
{
    struct http_answer answer;
    http_parse_take(&lane->parse, &answer);
    settle(lane, &answer);
    http_answer_fini(&answer);
}

static void send_more(struct engine *engine, struct lane *lane)
{
    ssize_t n = send(lane->fd, lane->out.data + lane->sent, lane->out.len - lane->sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        settle(lane, NULL);
        return;
    }
    lane->sent += (size_t)n;
    if (lane->sent < lane->out.len)
        return;
    lane->state = LANE_READING;
    if (watch(engine, lane, EPOLL_CTL_MOD, EPOLLIN) < 0)
        settle(lane, NULL);
}

static void read_more(struct lane *lane)
{
    char bytes[READ_BYTES];
    ssize_t n = recv(lane->fd, bytes, sizeof(bytes), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    bool is_bad = n < 0 || (n > 0 && http_parse_add(&lane->parse, bytes, (size_t)n) < 0) ||
                  (n == 0 && http_parse_end(&lane->parse) < 0);
    if (is_bad)
        settle(lane, NULL);
    else if (n == 0 || lane->parse.state == HTTP_PARSE_DONE)
        settle_answered(lane);
}

static void handle_events(struct engine *engine)
{
    struct epoll_event events[CLOUD_VENDORS_MAX];
    int n = epoll_wait(engine->epoll_fd, events, CLOUD_VENDORS_MAX, 0);
    for (int i = 0; i < n; i++) {
        struct lane *lane = events[i].data.ptr;
        if (lane->state == LANE_SENDING)
            send_more(engine, lane);
        else if (lane->state == LANE_READING)
            read_more(lane);
    }
}

/* Those behind an accepted one have no chance any more. */
static void start_idle(struct engine *engine)
{
    for (size_t i = 0; i < engine->count && engine->lanes[i].state != LANE_ACCEPTED; i++) {
        while (engine->lanes[i].state == LANE_IDLE) {
            if (start_request(engine, &engine->lanes[i]) < 0)
                settle(&engine->lanes[i], NULL);
        }
    }
}

/* Those whose time is up, and the end of the wait. */
static void expire(struct engine *engine, int64_t until_ns)
{
    for (size_t i = 0; i < engine->count; i++) {
        if (is_open(&engine->lanes[i]) && engine->lanes[i].deadline_ns <= until_ns)
            settle(&engine->lanes[i], NULL);
    }
}

/* The first lane that is not out: accepted, it has won; open, it is waited for. NULL: none is left. */
static struct lane *first_left(struct engine *engine)
{
    for (size_t i = 0; i < engine->count; i++) {
        if (engine->lanes[i].state != LANE_OUT)
            return &engine->lanes[i];
    }
    return NULL;
}

/* The next deadline of the lanes that can still win, those before an accepted one. */
static int64_t next_deadline(const struct engine *engine)
{
    int64_t next_ns = engine->end_ns;
    for (size_t i = 0; i < engine->count && engine->lanes[i].state != LANE_ACCEPTED; i++) {
        if (is_open(&engine->lanes[i]) && engine->lanes[i].deadline_ns < next_ns)
            next_ns = engine->lanes[i].deadline_ns;
    }
    return next_ns;
}

static int run(struct engine *engine, const struct net_wait *wait, struct cloud_facts *ret_facts)
{
    for (;;) {
        start_idle(engine);
        const struct lane *first = first_left(engine);
        if (!first)
            return -ENODATA;
        if (first->state == LANE_ACCEPTED) {
            *ret_facts = first->probe.facts;
            ret_facts->vendor_id = first->vendor->id;
            return 0;
        }
        int64_t deadline_ns = next_deadline(engine);
        int r = net_wait_until(wait, engine->epoll_fd, POLLIN, deadline_ns);
        if (r == -ECANCELED)
            return r;
        if (r < 0 && r != -ETIMEDOUT)
            return -ENODATA;
        if (r == 0)
            handle_events(engine);
        int64_t reached_ns = clock_now();
        expire(engine, r == 0 || reached_ns > deadline_ns ? reached_ns : deadline_ns);
    }
}

static const char *redirect(const char *address, const struct cloud_redirect *redirects)
{
    for (; redirects && redirects->from; redirects++) {
        if (strcmp(redirects->from, address) == 0)
            return redirects->to;
    }
    return address;
}

static void add_lanes(
    struct engine *engine, const struct cloud_evidence *evidence, const struct cloud_redirect *redirects)
{
    for (size_t i = 0; i < cloud_vendor_count; i++) {
        const struct cloud_vendor *vendor = cloud_vendors[i];
        struct lane *lane = &engine->lanes[engine->count];
        lane->endpoint = redirect(vendor->address ? vendor->address : CLOUD_LINK_LOCAL, redirects);
        if (!cloud_is_worth_asking(evidence, vendor) || !parse_endpoint(lane->endpoint, &lane->address))
            continue;
        lane->vendor = vendor;
        lane->fd = -1;
        buf_init(&lane->out, REQUEST_BYTES_MAX);
        engine->count++;
    }
}

int cloud_discover(const struct sysroot *root, const struct cloud_redirect *redirects, const struct net_wait *wait,
    struct cloud_facts *ret_facts)
{
    if (!root->is_host)
        return -ENODATA;
    struct cloud_evidence evidence;
    cloud_read_evidence(root, &evidence);
    struct engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return -ENOMEM;
    add_lanes(engine, &evidence, redirects);
    engine->end_ns = clock_now() + total_ns;
    engine->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int r = engine->epoll_fd < 0 ? -ENODATA : run(engine, wait, ret_facts);
    for (size_t i = 0; i < engine->count; i++) {
        end_request(&engine->lanes[i]);
        if (engine->lanes[i].out.data)
            str_wipe(engine->lanes[i].out.data, engine->lanes[i].out.len);
        buf_fini(&engine->lanes[i].out);
    }
    fd_close(&engine->epoll_fd);
    str_wipe((char *)engine, sizeof(*engine));
    free(engine);
    return r;
}
