/* SPDX-License-Identifier: Apache-2.0 */
/* What mbedTLS reports, in words for a person and as an errno. */
#ifndef NET_TLS_WORDS_H
#define NET_TLS_WORDS_H

#include <stdint.h>

#include "base/err.h"

/* flags: MBEDTLS_X509_BADCERT_* of a failed verification. Returns -EKEYREJECTED. */
int tls_words_refused(uint32_t flags, const char *host, struct err *err);

/* result: an error of mbedTLS that is neither a refused certificate nor a wish to wait. Returns a negative errno. */
int tls_words_failed(int result, const char *doing, struct err *err);

#endif
