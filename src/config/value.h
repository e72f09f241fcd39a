/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One value, from text or from TOML, checked against its row and put into its member of struct settings; and durations
 * as they are written: 0.25, 250ms, 2s, 1.5m, 1h.
 */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "codec/toml.h"
#include "config/options.h"
#include "config/settings.h"

/*
 * The whole text must be a decimal number (a digit must follow a point) with an optional unit ms, s, m or h; s without
 * one. Rounded to the nanosecond. Returns 0, -EINVAL (not a duration), -EDOM (negative) or -ERANGE (over 292 years).
 */
int duration_parse(struct str text, int64_t *ret_ns);

/* Seconds with as many decimals as needed: 1, 0.25, 86400. ns must not be negative. */
void duration_put(struct buf *buf, int64_t ns);

struct value_target {
    struct settings *settings;
    struct option_origin origin;
    struct option_origin *pair_origins; /* of OPTION_PAIRS: one per pair, SETTINGS_PAIRS_MAX of them */
};

/*
 * Set the row's member. On failure the member is as it was and err->msg holds only the reason ("must be at least 1"):
 * it never repeats the value, except for the item of a list that is unknown. An empty text unsets a string or a list.
 * Pairs are added; one with the same key is replaced. A flag holds one KEY=VALUE, every other text a list separated by
 * commas ("\," is a comma in a value), a node one entry of the TOML table.
 */
int value_set_text(const struct option_row *row, struct str text, const struct value_target *target, struct err *err);
int value_set_toml(
    const struct option_row *row, const struct toml_node *node, const struct value_target *target, struct err *err);

/* The checks behind both. */
int value_set_string(const struct option_row *row, struct str text, const struct value_target *target, struct err *err);
int value_set_pair(
    const struct option_row *row, struct str key, struct str value, const struct value_target *target, struct err *err);
int value_set_pair_text(
    const struct option_row *row, struct str text, const struct value_target *target, struct err *err);
int value_set_pair_list(
    const struct option_row *row, struct str text, const struct value_target *target, struct err *err);
int value_set_list_text(
    const struct option_row *row, struct str text, const struct value_target *target, struct err *err);
int value_set_list_toml(
    const struct option_row *row, const struct toml_node *node, const struct value_target *target, struct err *err);
int value_check_text(struct str text, struct err *err);
char *value_copy(struct str text); /* NULL where there is no memory */
int value_refuse_type(const struct toml_node *node, const char *wanted, struct err *err);

/* The member's value as TOML would have it; strings bare; nothing for what is unset, secret or pairs. */
void value_put(struct buf *buf, const struct option_row *row, const struct settings *settings);

/* "host_ip,host_id" as ["host_ip", "host_id"]. */
void value_put_list(struct buf *buf, const char *list);

/* Is an optional member unset (no string, no list, no number, no pairs)? */
bool value_is_unset(const struct option_row *row, const struct settings *settings);

/* A TOML scalar as text: 5, 0.5, true, 1979-05-27; strings with quotes where wanted; "[...]" and "{...}". */
void value_put_node(struct buf *buf, const struct toml_node *node, bool quoted);

/* Frees the member; secrets are wiped first. */
void value_free(const struct option_row *row, struct settings *settings);

#endif
