/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and reading the roots that TLS trusts. */
#ifndef NET_TLS_TRUST_H
#define NET_TLS_TRUST_H

#include <stddef.h>

#include "base/err.h"
#include "net/tls.h"

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

#endif
