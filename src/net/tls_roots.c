/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls_roots.h"

#include <mbedtls/x509_crt.h>

#include "net/tls_trust.h"

int tls_roots_count(const struct tls_trust *trust, size_t *ret_count, struct err *err)
{
    mbedtls_x509_crt roots;
    struct tls_trust_count count;
    mbedtls_x509_crt_init(&roots);
    int r = tls_trust_load(trust, &roots, &count, err);
    mbedtls_x509_crt_free(&roots);
    if (r == 0)
        *ret_count = count.loaded;
    return r;
}
