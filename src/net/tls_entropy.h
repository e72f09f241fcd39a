/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes for TLS, straight from the kernel: no generator of our own that could be copied by a fork. */
#ifndef NET_TLS_ENTROPY_H
#define NET_TLS_ENTROPY_H

#include <stddef.h>

/* In the shape that mbedTLS wants: context is not used, the result is 0 or an error of mbedTLS. */
int tls_entropy_fill(void *context, unsigned char *bytes, size_t n);

#endif
