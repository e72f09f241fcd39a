/* SPDX-License-Identifier: Apache-2.0 */
/* What the status of an HTTP answer is called (RFC 9110, 15): the client does not keep the server's own phrase. */
#ifndef NET_HTTP_STATUS_H
#define NET_HTTP_STATUS_H

#include <stdbool.h>

/* "Not Found"; for numbers without a name of their own, the name of their hundred. */
const char *http_status_words(int status);

/* Asking again may help: 408, 429 and 5xx. */
bool http_status_may_pass(int status);

#endif
