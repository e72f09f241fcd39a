/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where samples are streamed to. Of an address only scheme, host and port are shown or asked (HEAD /): paths and
 * queries may be secrets, and asking for one of them may already mean something. Nothing leaves this machine unless
 * online.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>

#include "aws/chain.h"
#include "base/auto.h"
#include "base/file.h"
#include "doctor/doctor_internal.h"
#include "net/proxy.h"
#include "net/tls.h"
#include "net/url.h"
#include "stream/stream.h"

#define ANSWER_NS (5 * NS_PER_SEC)
enum { ADDRESSES_MAX = 16, BASE_BYTES = URL_HOST_MAX + 24 };

struct address {
    const struct stream_target *target;
    bool is_https;
    char base[BASE_BYTES]; /* "https://api.example.com:8443" */
};

struct addresses {
    struct address items[ADDRESSES_MAX];
    size_t count;
    struct target_clients clients; /* empty: not online */
};

/* Adds an address, unless the one before it is the same. */
static void add_address(struct addresses *addresses, const struct stream_target *target, struct str text)
{
    struct url url;
    AUTO_BUF struct buf base;
    buf_init(&base, BASE_BYTES);
    if (text.n == 0 || addresses->count == ADDRESSES_MAX || url_parse(text, &url, NULL) < 0)
        return;
    buf_puts(&base, url.is_https ? "https://" : "http://");
    url_put_host(&base, &url);
    struct address *address = &addresses->items[addresses->count];
    if (!str_copy(str_of(buf_cstr(&base)), address->base, sizeof(address->base)))
        return;
    if (addresses->count > 0 && address[-1].target == target && strcmp(address[-1].base, address->base) == 0)
        return;
    address->target = target;
    address->is_https = url.is_https;
    addresses->count++;
}

static void find_addresses(struct addresses *addresses, const struct settings *settings)
{
    AUTO_BUF struct buf url;
    buf_init(&url, URL_BYTES_MAX);
    for (size_t i = 0; i < stream_target_count; i++) {
        const struct stream_target *target = stream_targets[i];
        for (size_t k = 0; target->is_wanted(settings) && target->put_url(settings, k, &url); k++) {
            add_address(addresses, target, buf_str(&url));
            buf_clear(&url);
        }
        buf_clear(&url);
    }
}

/* " through the proxy HOST:PORT", or nothing. */
static void put_proxy(struct buf *buf, const struct address *address, char *const *environment)
{
    struct proxy_rules rules = proxy_rules_of(environment);
    struct proxy proxy;
    struct url url;
    if (url_parse(str_of(address->base), &url, NULL) < 0 || proxy_choose(&rules, &url, &proxy, NULL) < 0 ||
        !proxy.is_used)
        return;
    buf_puts(buf, " through the proxy ");
    url_put_host(buf, &proxy.url);
    proxy_fini(&proxy);
}

static void check_address(struct doctor *doctor, const struct addresses *addresses, const struct address *address)
{
    static const char remedy[] = "See that name, network, proxy and certificates are right.";
    AUTO_BUF struct buf proxy, url;
    buf_init(&proxy, BASE_BYTES + 32);
    buf_init(&url, BASE_BYTES + 2);
    put_proxy(&proxy, address, doctor->settings->environment);
    if (!addresses->clients.http) {
        doctor_say(doctor, address->target->name, DOCTOR_OK, NULL, "%s%s; --doctor=online tries it", address->base,
            buf_cstr(&proxy));
        return;
    }
    buf_puts(&url, address->base);
    buf_putc(&url, '/');
    struct http_request request = {
        .method = "HEAD",
        .url = buf_str(&url),
        .deadline_ns = clock_now() + ANSWER_NS,
    };
    struct http_answer answer;
    struct err err = {0};
    int r = http_send(
        address->target->is_s3 ? addresses->clients.http_s3 : addresses->clients.http, &request, &answer, &err);
    if (r == 0) {
        doctor_say(doctor, address->target->name, DOCTOR_OK, NULL, "%s answers%s (HTTP %d)", address->base,
            buf_cstr(&proxy), answer.status);
        http_answer_fini(&answer);
    } else
        doctor_say(
            doctor, address->target->name, DOCTOR_BROKEN, remedy, "%s%s: %s", address->base, buf_cstr(&proxy), err.msg);
}

static void check_certificates(struct doctor *doctor, const struct addresses *addresses)
{
    char *const *environment = doctor->settings->environment;
    struct tls_trust trust = tls_trust_of(environment);
    bool is_needed = false;
    for (size_t i = 0; i < addresses->count; i++) {
        const struct stream_target *target = addresses->items[i].target;
        const char *roots = target->is_s3 ? "AWS_CA_BUNDLE\0" : target->roots;
        is_needed |= addresses->items[i].is_https && !target_roots(roots, environment);
    }
    if (!is_needed && !doctor->is_online)
        return;
    struct err err = {0};
    size_t count;
    if (tls_roots_count(&trust, &count, &err) == 0)
        doctor_say(doctor, "CA certificates", DOCTOR_OK, NULL, "%zu trusted roots from %s", count,
            trust.file  ? trust.file
            : trust.dir ? trust.dir
                        : "the default path of this system");
    else
        doctor_say(doctor, "CA certificates", is_needed ? DOCTOR_BROKEN : DOCTOR_LIMITED,
            "Install ca-certificates, or let SSL_CERT_FILE name a PEM file.", "%s", err.msg);
}

struct undelivered {
    size_t runs, batches; /* of runs that have ended */
    size_t running; /* runs on which a tracker or an upload works */
};

/* Is the run's lock held? It is only read and tried, so that a run in progress notices nothing. */
static bool is_in_progress(int run_fd)
{
    AUTO_FD int fd = openat(run_fd, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* "NNNNNN.csv.gz", and "NNNNNN.csv" with the rows that a killed tracker left. */
static size_t count_batches(int run_fd)
{
    struct dir_walk walk;
    struct dir_entry entry;
    size_t count = 0;
    dir_walk_begin(&walk, run_fd);
    while (count < SPOOL_BATCHES_MAX && dir_walk_next(&walk, &entry))
        count += strspn(entry.name, "0123456789") == 6 && strncmp(entry.name + 6, ".csv", 4) == 0;
    return count;
}

static struct undelivered count_undelivered(int dir_fd)
{
    struct dir_walk walk;
    struct dir_entry entry;
    struct undelivered found = {0};
    dir_walk_begin(&walk, dir_fd);
    while (found.runs < SPOOL_RUNS_MAX && dir_walk_next(&walk, &entry)) {
        if (entry.name[0] == '.')
            continue;
        AUTO_FD int run_fd = openat(dir_fd, entry.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (run_fd < 0 && errno == ENOTDIR)
            continue;
        if (run_fd >= 0 && is_in_progress(run_fd)) {
            found.running++;
            continue;
        }
        found.runs++;
        found.batches += run_fd >= 0 ? count_batches(run_fd) : 0;
    }
    return found;
}

/* Without a target only what earlier runs left is worth a line. */
static void check_spool(struct doctor *doctor, const struct stream_options *options)
{
    struct spool spool;
    struct err err = {0};
    struct undelivered found = {0};
    bool is_used = stream_takes_samples(options->settings);
    int r = spool_open(&spool, &options->spool_paths, options->spool_max_bytes, false, &err);
    if (r == 0)
        found = count_undelivered(spool.dir_fd);
    if (r == 0 && (is_used || found.runs > 0))
        doctor_say(doctor, "spool", DOCTOR_OK, found.runs > 0 ? "resource-tracker --upload-spool delivers them." : NULL,
            "%s can be written; undelivered: %zu batches of %zu runs%s", spool.path, found.batches, found.runs,
            found.running > 0 ? ", and runs in progress" : "");
    else if (r == -ENOENT && is_used)
        doctor_say(doctor, "spool", DOCTOR_OK, NULL, "not there yet: it is made when it is needed");
    else if (r < 0 && is_used)
        doctor_say(doctor, "spool", DOCTOR_LIMITED, "Name a directory of your own (TRACKER_SPOOL).", "%s", err.msg);
    spool_close(&spool);
}

static void check_targets(struct doctor *doctor)
{
    const struct settings *settings = doctor->settings;
    struct addresses addresses = {0};
    find_addresses(&addresses, settings);
    check_certificates(doctor, &addresses);
    for (size_t i = 0; i < stream_target_count && !doctor->is_short; i++) {
        const struct stream_target *target = stream_targets[i];
        struct target_finding finding;
        if (!target->is_wanted(settings))
            continue;
        doctor->is_short =
            doctor->is_online && target_clients_init(&addresses.clients, target, settings, &net_wait_plain) < 0;
        for (size_t k = 0; k < addresses.count && !doctor->is_short; k++) {
            if (addresses.items[k].target == target)
                check_address(doctor, &addresses, &addresses.items[k]);
        }
        if (!doctor->is_short && target->doctor && target->doctor(settings, addresses.clients.http, &finding))
            doctor_say(doctor, finding.name, finding.is_broken ? DOCTOR_BROKEN : DOCTOR_OK, finding.remedy, "%s",
                finding.text);
        target_clients_fini(&addresses.clients);
    }
}

void doctor_check_streaming(struct doctor *doctor)
{
    struct stream_options options = stream_options_of(doctor->settings);
    struct err err = {0};
    int r = stream_check(doctor->settings, &err);
    if (r < 0)
        doctor_say(doctor, "targets", DOCTOR_BROKEN, "Mend the setting: no run starts with it.", "%s", err.msg);
    else if (!stream_is_wanted(doctor->settings))
        doctor_say(doctor, "targets", DOCTOR_OFF, NULL, "none configured: no network connection is made");
    else
        /* Keys may be in our memory from here on. */
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (r == 0 && (stream_is_wanted(doctor->settings) || doctor->is_online))
        check_targets(doctor);
    if (r == 0)
        check_spool(doctor, &options);
}
