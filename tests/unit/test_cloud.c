/* SPDX-License-Identifier: Apache-2.0 */
/* All vendors side by side, against a server on loopback that a child process plays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/cloud/cloud.h"
#include "tree.h"

/* Where the services are played: that of Alibaba, and those of all the others. */
#define REDIRECTS(link_local, alibaba)                                                                                 \
    {                                                                                                                  \
        {CLOUD_LINK_LOCAL, link_local}, {"100.100.100.200:80", alibaba},                                               \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

enum { CONNECTIONS_MAX = 64, REQUEST_BYTES = 4096, DRIP_MS = 50 };

/* What a script may say instead of an answer. */
static const char hang[] = "hang";
static const char drip[] = "drip";
static const char not_found[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\n";

typedef const char *script(const char *request);

struct counts {
    atomic_int accepted, open, open_max, malformed;
};

struct server {
    pid_t pid;
    char endpoint[32];
    struct counts *counts;
};

struct connection {
    int fd; /* -1: free */
    bool drips;
    size_t n;
    char request[REQUEST_BYTES];
};

/* Everything but a vendor's own header is the same in all requests. */
static bool is_well_formed(const char *request)
{
    const char *line_end = strstr(request, " HTTP/1.1\r\nHost: ");
    bool is_put = strncmp(request, "PUT ", 4) == 0;
    return line_end && strstr(request, "\r\nConnection: close\r\n") &&
           (is_put ? strstr(request, "\r\nContent-Length: 0\r\n") != NULL : strncmp(request, "GET ", 4) == 0);
}

static void drop(struct connection *connection, struct counts *counts)
{
    (void)close(connection->fd);
    connection->fd = -1;
    connection->drips = false;
    connection->n = 0;
    counts->open--;
}

static void serve(struct connection *connection, script *answer_to, struct counts *counts)
{
    ssize_t n =
        recv(connection->fd, connection->request + connection->n, sizeof(connection->request) - connection->n - 1, 0);
    if (n <= 0) {
        drop(connection, counts);
        return;
    }
    connection->n += (size_t)n;
    connection->request[connection->n] = '\0';
    if (!strstr(connection->request, "\r\n\r\n"))
        return;
    if (!is_well_formed(connection->request))
        counts->malformed++;
    const char *answer = answer_to(connection->request);
    connection->drips = answer == drip;
    if (answer == hang || answer == drip)
        return;
    (void)!send(connection->fd, answer, strlen(answer), MSG_NOSIGNAL);
    drop(connection, counts);
}

static void take_connection(int listener, struct connection *connections, struct counts *counts)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (connections[i].fd >= 0)
            continue;
        connections[i].fd = accept(listener, NULL, NULL);
        counts->accepted++;
        counts->open++;
        if (counts->open > counts->open_max)
            counts->open_max = counts->open;
        return;
    }
}

static void play(int listener, script *answer_to, struct counts *counts)
{
    static struct connection connections[CONNECTIONS_MAX];
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        connections[i].fd = -1;
    for (;;) {
        struct pollfd polled[CONNECTIONS_MAX + 1] = {{.fd = listener, .events = POLLIN}};
        for (size_t i = 0; i < CONNECTIONS_MAX; i++)
            polled[i + 1] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
        if (poll(polled, CONNECTIONS_MAX + 1, DRIP_MS) < 0)
            continue;
        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
            if (connections[i].drips)
                (void)!send(connections[i].fd, "H", 1, MSG_NOSIGNAL);
            if (polled[i + 1].revents)
                serve(&connections[i], answer_to, counts);
        }
        if (polled[0].revents)
            take_connection(listener, connections, counts);
    }
}

static void server_start(struct server *server, script *answer_to)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(listener, CONNECTIONS_MAX), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    (void)snprintf(server->endpoint, sizeof(server->endpoint), "127.0.0.1:%u", ntohs(address.sin_port));
    server->counts = mmap(NULL, sizeof(*server->counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(server->counts != MAP_FAILED);
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (server->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        play(listener, answer_to, server->counts);
    }
    assert_int_equal(close(listener), 0);
}

static void server_stop(struct server *server)
{
    assert_int_equal(kill(server->pid, SIGKILL), 0);
    assert_int_equal(waitpid(server->pid, NULL, 0), server->pid);
    assert_int_equal(server->counts->malformed, 0);
    assert_int_equal(munmap(server->counts, sizeof(*server->counts)), 0);
}

static int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    assert_int_equal(closedir(dir), 0);
    return count;
}

/* A virtual machine whose firmware names this vendor (NULL: none). */
static int discover_on(const char *vendor, const struct cloud_redirect *redirects, const struct net_wait *wait,
    struct cloud_facts *ret_facts)
{
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "proc/cpuinfo", "processor : 0\nflags : fpu hypervisor\n");
    if (vendor)
        tree_write(&tree, "sys/class/dmi/id/sys_vendor", vendor);
    struct sysroot root;
    assert_int_equal(sysroot_open(tree.path, &root, NULL), 0);
    root.is_host = true;
    int before = count_descriptors();
    int r = cloud_discover(&root, redirects, wait, ret_facts);
    assert_int_equal(count_descriptors(), before);
    sysroot_close(&root);
    tree_free(&tree);
    return r;
}

static int64_t now_ms(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC) / NS_PER_MS;
}

/* Plays a script and discovers; returns what came back and how long it took. */
static int discover(script *answer_to, struct cloud_facts *ret_facts, int64_t *ret_ms, int *ret_open_max)
{
    struct server server;
    server_start(&server, answer_to);
    struct cloud_redirect redirects[] = REDIRECTS(server.endpoint, server.endpoint);
    int64_t begin_ms = now_ms();
    int r = discover_on(NULL, redirects, &net_wait_plain, ret_facts);
    *ret_ms = now_ms() - begin_ms;
    *ret_open_max = server.counts->open_max;
    server_stop(&server);
    return r;
}

static bool asks(const char *request, const char *line, const char *header)
{
    return strncmp(request, line, strlen(line)) == 0 && request[strlen(line)] == ' ' &&
           (!header || strstr(request, header));
}

#define OK(body) "HTTP/1.1 200 OK\r\nServer: EC2ws\r\nConnection: close\r\n\r\n" body
#define TOKEN "\r\nX-aws-ec2-metadata-token: T0ken==\r\n"

static const char *play_aws(const char *request)
{
    if (asks(request, "PUT /latest/api/token", "\r\nX-aws-ec2-metadata-token-ttl-seconds: 21600\r\n"))
        return OK("T0ken==");
    if (asks(request, "GET /latest/meta-data/services/domain", TOKEN))
        return OK("amazonaws.com");
    if (asks(request, "GET /latest/meta-data/placement/region", TOKEN))
        return OK("eu-west-1");
    if (asks(request, "GET /latest/meta-data/placement/availability-zone", TOKEN))
        return OK("eu-west-1b");
    if (asks(request, "GET /latest/meta-data/instance-type", TOKEN))
        return OK("m5.large");
    if (asks(request, "GET /latest/meta-data/identity-credentials/ec2/info", TOKEN))
        return OK("{\"AccountId\":\"123456789012\"}");
    return not_found;
}

#define GOOGLE "HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\nTransfer-Encoding: chunked\r\n\r\n"

static const char *play_gcp(const char *request)
{
    if (!strstr(request, "\r\nHost: metadata.google.internal\r\n") ||
        !strstr(request, "\r\nMetadata-Flavor: Google\r\n"))
        return not_found;
    if (asks(request, "GET /computeMetadata/v1/instance/machine-type", NULL))
        return GOOGLE "18\r\nprojects/7/machineTypes/\r\n7\r\nn2-high\r\n0\r\n\r\n";
    if (asks(request, "GET /computeMetadata/v1/instance/zone", NULL))
        return GOOGLE "1d\r\nprojects/7/zones/us-central1-\r\n1\r\nf\r\n0\r\n\r\n";
    if (asks(request, "GET /computeMetadata/v1/project/numeric-project-id", NULL))
        return GOOGLE "1\r\n7\r\n0\r\n\r\n";
    return not_found;
}

static const char *play_vultr(const char *request)
{
    return asks(request, "GET /v1.json", NULL) ? OK("{\"instanceid\":\"42\",\"region\":{\"regioncode\":\"EWR\"}}")
                                               : not_found;
}

static const char *play_alibaba(const char *request)
{
    if (asks(request, "PUT /latest/api/token", "\r\nX-aliyun-ecs-metadata-token-ttl-seconds: 21600\r\n"))
        return OK("t");
    if (asks(request, "GET /latest/meta-data/instance/instance-type", "\r\nX-aliyun-ecs-metadata-token: t\r\n"))
        return OK("ecs.g7.large");
    if (asks(request, "GET /latest/meta-data/region-id", "\r\nX-aliyun-ecs-metadata-token: t\r\n"))
        return OK("cn-hangzhou");
    return not_found;
}

static void test_aws(void **state)
{
    (void)state;
    struct cloud_facts facts;
    int64_t ms;
    int open_max;
    assert_int_equal(discover(play_aws, &facts, &ms, &open_max), 0);
    assert_string_equal(facts.vendor_id, "aws");
    assert_string_equal(facts.account_id, "123456789012");
    assert_string_equal(facts.region_id, "eu-west-1");
    assert_string_equal(facts.zone_id, "eu-west-1b");
    assert_string_equal(facts.instance_type, "m5.large");
    assert_true(ms < 1000);
}

static void test_gcp_in_chunks(void **state)
{
    (void)state;
    struct cloud_facts facts;
    int64_t ms;
    int open_max;
    assert_int_equal(discover(play_gcp, &facts, &ms, &open_max), 0);
    assert_string_equal(facts.vendor_id, "gcp");
    assert_string_equal(facts.account_id, "7");
    assert_string_equal(facts.region_id, "us-central1");
    assert_string_equal(facts.zone_id, "us-central1-f");
    assert_string_equal(facts.instance_type, "n2-high");
}

static void test_alibaba_elsewhere(void **state)
{
    (void)state;
    struct server server;
    struct cloud_facts facts;
    server_start(&server, play_alibaba);
    /* Nothing listens on port 9 of loopback. */
    struct cloud_redirect redirects[] = REDIRECTS("127.0.0.1:9", server.endpoint);
    assert_int_equal(discover_on(NULL, redirects, &net_wait_plain, &facts), 0);
    assert_string_equal(facts.vendor_id, "alicloud");
    assert_string_equal(facts.instance_type, "ecs.g7.large");
    assert_string_equal(facts.zone_id, "");
    server_stop(&server);
}

static const char *play_gcp_and_vultr(const char *request)
{
    const char *answer = play_vultr(request);
    return answer == not_found ? play_gcp(request) : answer;
}

/* Vultr is accepted first, after one request, but stands further down. */
static void test_first_in_the_order(void **state)
{
    (void)state;
    struct cloud_facts facts;
    int64_t ms;
    int open_max;
    assert_int_equal(discover(play_gcp_and_vultr, &facts, &ms, &open_max), 0);
    assert_string_equal(facts.vendor_id, "gcp");
}

static const char *play_vultr_beside_hanging_aws(const char *request)
{
    return strstr(request, "X-aws") ? hang : play_vultr(request);
}

static void test_one_hangs(void **state)
{
    (void)state;
    struct cloud_facts facts;
    int64_t ms;
    int open_max;
    assert_int_equal(discover(play_vultr_beside_hanging_aws, &facts, &ms, &open_max), 0);
    assert_string_equal(facts.vendor_id, "vultr");
    assert_string_equal(facts.region_id, "EWR");
    assert_in_range(ms, 900, 1700);
}

static const char *play_aws_beside_hanging_ovh(const char *request)
{
    return strstr(request, "/openstack/") ? hang : play_aws(request);
}

/* One that stands further down is not waited for. */
static void test_a_later_one_hangs(void **state)
{
    (void)state;
    struct cloud_facts facts;
    int64_t ms;
    int open_max;
    assert_int_equal(discover(play_aws_beside_hanging_ovh, &facts, &ms, &open_max), 0);
    assert_string_equal(facts.vendor_id, "aws");
    assert_true(ms < 900);
}

static const char *play_hang(const char *request)
{
    (void)request;
    return hang;
}

static void test_all_hang(void **state)
{
    (void)state;
    struct cloud_facts facts = {.region_id = "kept"};
    int64_t ms;
    int open_max;
    assert_int_equal(discover(play_hang, &facts, &ms, &open_max), -ENODATA);
    assert_string_equal(facts.region_id, "kept");
    assert_in_range(ms, 900, 2000);
    assert_int_equal(open_max, cloud_vendor_count);
}

static const char *play_drip(const char *request)
{
    (void)request;
    return drip;
}

static void test_all_drip(void **state)
{
    (void)state;
    struct cloud_facts facts;
    int64_t ms;
    int open_max;
    assert_int_equal(discover(play_drip, &facts, &ms, &open_max), -ENODATA);
    assert_true(ms <= 2000);
}

static const char *play_aws_that_tires(const char *request)
{
    return strstr(request, "/placement/availability-zone") ? hang : play_aws(request);
}

static void test_hangs_behind_the_proof(void **state)
{
    (void)state;
    struct cloud_facts facts;
    int64_t ms;
    int open_max;
    assert_int_equal(discover(play_aws_that_tires, &facts, &ms, &open_max), 0);
    assert_string_equal(facts.vendor_id, "aws");
    assert_string_equal(facts.region_id, "eu-west-1");
    assert_string_equal(facts.instance_type, "");
    assert_true(ms <= 2000);
}

static const char *play_slow_aws(const char *request)
{
    struct timespec pause = {.tv_nsec = 700 * NS_PER_MS};
    (void)nanosleep(&pause, NULL);
    return play_aws(request);
}

/* Every request is in time, and all of them together are not. */
static void test_slow(void **state)
{
    (void)state;
    struct server server;
    struct cloud_facts facts;
    server_start(&server, play_slow_aws);
    struct cloud_redirect redirects[] = REDIRECTS(server.endpoint, server.endpoint);
    int64_t begin_ms = now_ms();
    assert_int_equal(discover_on("Amazon EC2\n", redirects, &net_wait_plain, &facts), 0);
    assert_in_range(now_ms() - begin_ms, 1900, 2400);
    assert_string_equal(facts.vendor_id, "aws");
    assert_string_equal(facts.region_id, "");
    server_stop(&server);
}

static const char *play_portal(const char *request)
{
    (void)request;
    return OK("<!DOCTYPE html>\n<html><body><a href=\"/login\">Log in</a></body></html>\n");
}

static const char *play_not_found(const char *request)
{
    (void)request;
    return not_found;
}

static const char *play_silence(const char *request)
{
    (void)request;
    return "";
}

static const char *play_garbage(const char *request)
{
    (void)request;
    return "SSH-2.0-OpenSSH_9.2\r\n\r\n\x01\x02";
}

static const char *play_huge(const char *request)
{
    (void)request;
    return "HTTP/1.1 200 OK\r\nContent-Length: 4294967296\r\n\r\n{";
}

static const char *play_cut(const char *request)
{
    return asks(request, "GET /v1.json", NULL) ? "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"instanceid\":\"42\"}"
                                               : not_found;
}

static const char *play_redirect(const char *request)
{
    (void)request;
    return "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/v1.json\r\nContent-Length: "
           "19\r\n\r\n{\"instanceid\":\"42\"}";
}

static void test_no_cloud(void **state)
{
    (void)state;
    script *const scripts[] = {
        play_portal, play_not_found, play_silence, play_garbage, play_huge, play_cut, play_redirect};
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct cloud_facts facts;
        int64_t ms;
        int open_max;
        assert_int_equal(discover(scripts[i], &facts, &ms, &open_max), -ENODATA);
        assert_true(ms < 900);
    }
}

static void test_no_server(void **state)
{
    (void)state;
    struct cloud_facts facts;
    static const struct cloud_redirect redirects[][3] = {
        REDIRECTS("127.0.0.1:9", "127.0.0.1:9"),
        REDIRECTS("nonsense", "127.0.0.1:0"),
        REDIRECTS("127.0.0.1:65536", "metadata.example:80"),
    };
    for (size_t i = 0; i < sizeof(redirects) / sizeof(redirects[0]); i++)
        assert_int_equal(discover_on(NULL, redirects[i], &net_wait_plain, &facts), -ENODATA);
}

static int wait_then_cancel(void *context, int fd, short events, int64_t deadline_ns)
{
    int *left = context;
    return (*left)-- > 0 ? net_wait_until(&net_wait_plain, fd, events, deadline_ns) : -ECANCELED;
}

static void test_cancel(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, play_aws_beside_hanging_ovh);
    struct cloud_redirect redirects[] = REDIRECTS(server.endpoint, server.endpoint);
    for (int waits = 0; waits < 3; waits++) {
        struct cloud_facts facts = {.zone_id = "kept"};
        int left = waits;
        struct net_wait wait = {.until = wait_then_cancel, .context = &left};
        assert_int_equal(discover_on(NULL, redirects, &wait, &facts), -ECANCELED);
        assert_string_equal(facts.zone_id, "kept");
    }
    server_stop(&server);
}

static void test_named_is_asked_alone(void **state)
{
    (void)state;
    struct server server;
    struct cloud_facts facts;
    server_start(&server, play_vultr);
    struct cloud_redirect redirects[] = REDIRECTS(server.endpoint, server.endpoint);
    assert_int_equal(discover_on("Vultr\n", redirects, &net_wait_plain, &facts), 0);
    assert_string_equal(facts.vendor_id, "vultr");
    assert_int_equal(server.counts->accepted, 1);
    assert_int_equal(discover_on("Hetzner\n", redirects, &net_wait_plain, &facts), -ENODATA);
    assert_int_equal(server.counts->accepted, 2);
    server_stop(&server);
}

/* A captured machine and a physical one are not asked at all. */
static void test_not_asked(void **state)
{
    (void)state;
    struct server server;
    struct cloud_facts facts;
    struct tree tree;
    struct sysroot root;
    server_start(&server, play_aws);
    struct cloud_redirect redirects[] = REDIRECTS(server.endpoint, server.endpoint);
    tree_make(&tree);
    tree_write(&tree, "proc/cpuinfo", "processor : 0\nflags : fpu hypervisor\n");
    assert_int_equal(sysroot_open(tree.path, &root, NULL), 0);
    assert_int_equal(cloud_discover(&root, redirects, &net_wait_plain, &facts), -ENODATA);
    tree_write(&tree, "proc/cpuinfo", "processor : 0\nflags : fpu\n");
    root.is_host = true;
    assert_int_equal(cloud_discover(&root, redirects, &net_wait_plain, &facts), -ENODATA);
    assert_int_equal(server.counts->accepted, 0);
    sysroot_close(&root);
    tree_free(&tree);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aws),
        cmocka_unit_test(test_gcp_in_chunks),
        cmocka_unit_test(test_alibaba_elsewhere),
        cmocka_unit_test(test_first_in_the_order),
        cmocka_unit_test(test_one_hangs),
        cmocka_unit_test(test_a_later_one_hangs),
        cmocka_unit_test(test_all_hang),
        cmocka_unit_test(test_all_drip),
        cmocka_unit_test(test_hangs_behind_the_proof),
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_no_cloud),
        cmocka_unit_test(test_no_server),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_named_is_asked_alone),
        cmocka_unit_test(test_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
