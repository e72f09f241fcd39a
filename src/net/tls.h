/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.2 and 1.3 as a client, over a connected non-blocking socket, in five functions; mbedTLS is behind them and
 * nowhere else. The peer's certificate must be valid for the host and lead to a trusted root; there is no way to turn
 * that off. Every wait goes through struct net_wait and has a deadline.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "net/wait.h"

/* Where roots are: NULL for both means the usual bundles of Debian, RHEL, SUSE and Alpine, first that exists. */
struct tls_trust {
    const char *file; /* PEM */
    const char *dir; /* every file in it; several directories have colons between them */
};

/* What SSL_CERT_FILE and SSL_CERT_DIR say in the environment (NULL: there is none); the texts are its own. */
struct tls_trust tls_trust_of(char *const *environment);

struct tls_peer {
    int fd; /* connected, non-blocking; stays the caller's */
    const char *host; /* a name or a numeric address, which must be in the certificate (SAN) */
    const struct tls_trust *trust;
};

struct tls;

/*
 * Shakes hands. Returns 0 or a negative errno with a message: -EKEYREJECTED (certificate refused, and
 * why), -ENOENT (no roots found, and how to give some), -EPROTO (the handshake failed), -ETIMEDOUT, -ECANCELED,
 * -ECONNRESET, -ENOMEM.
 */
int tls_open(struct tls **ret_tls, const struct tls_peer *peer, const struct net_wait *wait, int64_t deadline_ns,
    struct err *err);

/* At least one byte, 0 at the orderly end, or a negative errno with a message. */
ssize_t tls_read(struct tls *tls, void *bytes, size_t size, int64_t deadline_ns, struct err *err);

/* All of it: 0 or a negative errno with a message. */
int tls_write(struct tls *tls, struct str bytes, int64_t deadline_ns, struct err *err);

/* Says goodbye without waiting; NULL allowed. */
void tls_close(struct tls *tls);

/* "mbedTLS 3.6.7" */
const char *tls_library(void);

/* How many roots a TLS client would trust, for --doctor. */

/* Returns 0, or a negative errno with a message: -ENOENT where there is not a single one (and how to give some). */
int tls_roots_count(const struct tls_trust *trust, size_t *ret_count, struct err *err);

#endif
