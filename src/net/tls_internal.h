/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of TLS share: which names a chain may vouch for, the trusted roots, errors, random bytes. */
#ifndef NET_TLS_INTERNAL_H
#define NET_TLS_INTERNAL_H

#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "net/tls.h"

enum { TLS_NAMES_DEPTH_MAX = 16 };

struct tls_names {
    struct str host; /* without a dot at its end */
    unsigned char address[16]; /* of a host that is a numeric address: 4 or 16 bytes */
    size_t address_bytes; /* 0: the host is a name */
    struct str constraints[TLS_NAMES_DEPTH_MAX]; /* of the CAs seen so far; they point into the certificates */
    size_t count;
    bool has_verified; /* the server's own certificate was seen */
};

/* Before a handshake. The host must live as long. */
void tls_names_init(struct tls_names *names, const char *host);

/* A verify callback of mbedTLS, whose context is a struct tls_names: called from the trust anchor down to the server's
 * certificate; adds MBEDTLS_X509_BADCERT_OTHER (constraints) or _CN_MISMATCH (address) to the flags. */
int tls_names_verify(void *context, mbedtls_x509_crt *crt, int depth, uint32_t *flags);

/* An extension callback of mbedTLS: of the extensions that it does not know, name constraints are ours. */
int tls_names_know(void *context, const mbedtls_x509_crt *crt, const mbedtls_x509_buf *oid, int is_critical,
    const unsigned char *p, const unsigned char *end);

/* Our build of mbedTLS parses the certificates of a peer with this: mbedtls_x509_crt_parse_der with tls_names_know. */
int tracker_parse_peer(mbedtls_x509_crt *chain, const unsigned char *der, size_t n);

/*
 * The pure part: may the name (type: the number of its form in GeneralName, 2 dNSName, 4 directoryName, 7 iPAddress) be
 * under these constraints, the DER of a NameConstraints? What cannot be read or compared is refused.
 */
bool tls_names_permit(struct str constraints, unsigned type, struct str name);

/* Finding and reading the roots that TLS trusts. */

enum { TLS_TRUST_BYTES_MAX = 4 * 1024 * 1024, TLS_TRUST_FILES_MAX = 4096, TLS_TRUST_DIRS_MAX = 16 };

struct mbedtls_x509_crt;

struct tls_trust_count {
    size_t loaded;
    size_t refused; /* certificates that could not be read; of a file without any: 1 */
};

/*
 * Appends the roots to an initialized chain, which stays the caller's to free, also after a failure. Certificates that
 * cannot be read are left out. Returns 0, -ENOENT where not a single one is good (with a message that says how to give
 * some), or -ENOMEM.
 */
int tls_trust_load(
    const struct tls_trust *trust, struct mbedtls_x509_crt *roots, struct tls_trust_count *ret_count, struct err *err);

/* What mbedTLS reports, as a message and an errno. */

/* flags: MBEDTLS_X509_BADCERT_* of a failed verification. Returns -EKEYREJECTED. */
int tls_err_refused(uint32_t flags, const char *host, struct err *err);

/* result: an error of mbedTLS that is neither a refused certificate nor a wish to wait. Returns a negative errno. */
int tls_err_failed(int result, const char *doing, struct err *err);

/* Random bytes for TLS, straight from the kernel: no generator of our own that could be copied by a fork. */

/* In the shape that mbedTLS wants: context is not used, the result is 0 or an error of mbedTLS. */
int tls_entropy_fill(void *context, unsigned char *bytes, size_t n);

#endif
