/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names a chain of certificates may vouch for, beyond what mbedTLS checks: name constraints of every CA above a
 * certificate, trust anchors included (RFC 5280, 4.2.1.10), and numeric addresses, which an iPAddress of the
 * certificate must hold and no dNSName can (RFC 6125).
 */
#ifndef NET_TLS_NAMES_H
#define NET_TLS_NAMES_H

#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

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

#endif
