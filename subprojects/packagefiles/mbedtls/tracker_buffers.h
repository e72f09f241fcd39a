/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included before ssl_msg.c and ssl_tls.c. mbedTLS puts a handshake message that came in several records together in
 * its input buffer, which has room for one: a chain of certificates above 16 KiB fails. Ours has room for 48 KiB. A
 * single record may have 16 KiB as before.
 */
#include "ssl_misc.h"

#undef MBEDTLS_SSL_IN_BUFFER_LEN
#define MBEDTLS_SSL_IN_BUFFER_LEN                                                                                      \
    (MBEDTLS_SSL_HEADER_LEN + MBEDTLS_SSL_PAYLOAD_OVERHEAD + 3 * MBEDTLS_SSL_IN_CONTENT_LEN)
