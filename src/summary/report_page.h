/* SPDX-License-Identifier: Apache-2.0 */
/* The page of src/summary/page as tools/embed-page made it at build time. */
#ifndef SUMMARY_REPORT_PAGE_H
#define SUMMARY_REPORT_PAGE_H

#include <stddef.h>

extern const unsigned char report_page_gz[]; /* a gzip file */
extern const size_t report_page_gz_bytes;
extern const size_t report_page_data_at; /* where the data belongs in the unpacked page */

#endif
