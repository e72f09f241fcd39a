/* SPDX-License-Identifier: Apache-2.0 */
/* How many roots a TLS client would trust, for people who ask before it matters. */
#ifndef NET_TLS_ROOTS_H
#define NET_TLS_ROOTS_H

#include <stddef.h>

#include "base/err.h"
#include "net/tls.h"

/* Returns 0, or a negative errno with a message: -ENOENT where there is not a single one (and how to give some). */
int tls_roots_count(const struct tls_trust *trust, size_t *ret_count, struct err *err);

#endif
