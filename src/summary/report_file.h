/* SPDX-License-Identifier: Apache-2.0 */
/* The HTML report as one text; who calls it writes the file. */
#ifndef SUMMARY_REPORT_FILE_H
#define SUMMARY_REPORT_FILE_H

#include "base/buf.h"
#include "summary/series.h"
#include "summary/summary.h"

/* More than any report has: 21 lines and 512 cores at all points come to half of it. */
enum { REPORT_FILE_BYTES_MAX = 4 * 1024 * 1024 };

/* Appends the page with its data. Returns 0, -ENOBUFS (the buffer cannot take it) or -ENOMEM (to unpack the page). */
int report_file_put(struct buf *buf, const struct summary *summary, const struct series *series);

#endif
