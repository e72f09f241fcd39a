/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as humans and protocols write them, always UTC: ISO 8601, the compact form of signatures and file names, and
 * the dates of HTTP (RFC 9110, 5.6.7). Independent of locale and time zone.
 */
#ifndef BASE_UTC_H
#define BASE_UTC_H

#include <stdint.h>

#include "base/str.h"

enum { UTC_ISO_BYTES = 24, UTC_BASIC_BYTES = 20 };

/* "2026-11-15T09:30:00Z" and "20261115T093000Z". Years 0 to 9999; what lies outside becomes the nearest of them. */
void utc_format_iso(int64_t unix_secs, char ret_text[static UTC_ISO_BYTES]);
void utc_format_basic(int64_t unix_secs, char ret_text[static UTC_BASIC_BYTES]);

unsigned utc_days_in_month(unsigned year, unsigned month); /* months from 1 on */

/*
 * "2026-11-15T09:30:00Z", "2026-11-15 09:30:00.123456+01:00", "20261115T093000Z": a date and a time with an offset;
 * without one it is taken for UTC. Fractions are cut. Returns 0 or -EINVAL.
 */
int utc_parse_iso(struct str text, int64_t *ret_unix_secs);

/*
 * The three forms that RFC 9110 wants read: "Sun, 15 Nov 2026 09:30:00 GMT", "Sunday, 15-Nov-26 09:30:00 GMT" and
 * "Sun Nov 15 09:30:00 2026". A year of two digits is the one that is not more than 50 years after now_unix_secs.
 * Returns 0 or -EINVAL.
 */
int utc_parse_http(struct str text, int64_t now_unix_secs, int64_t *ret_unix_secs);

#endif
