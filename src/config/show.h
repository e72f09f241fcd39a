/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign text made fit for a message or for TOML: always one line, always UTF-8, never longer than wanted.
 */
#ifndef CONFIG_SHOW_H
#define CONFIG_SHOW_H

#include "base/buf.h"
#include "base/str.h"
#include "config/options.h"

enum { SHOW_VALUE_MAX = 48, SHOW_PATH_MAX = 48 };

/* Is it UTF-8 without control characters? */
bool show_is_plain(struct str text);

/* At most max bytes of output; control bytes and what is not UTF-8 as \xNN; cut at the end with "...". */
void show_text(struct buf *buf, struct str text, size_t max);

/* The same, cut at the front: the end of a path says more. */
void show_path(struct buf *buf, struct str path, size_t max);

/* "--interval", "TRACKER_INTERVAL", "resource-tracker.toml:2:17" (without the column where it is 0), "SLURM_JOB_NAME
 * (automatic)", "default". */
void show_origin(
    struct buf *buf, const struct option_row *row, const struct option_origin *origin, const char *config_path);

/* A TOML basic string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void show_toml_string(struct buf *buf, struct str text);

/* A TOML key: bare where that is allowed, else quoted. */
void show_toml_key(struct buf *buf, struct str key);

/*
 * The URL without what may be secret: user:password@ (up to the last @ of the authority, RFC 3986), and the query and
 * fragment, which become "?...".
 */
void show_url(struct buf *buf, struct str url);

#endif
