/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --doctor: what can be measured on this host, what not, why, and what to do about it. Every check is a row of one
 * table; nothing is changed, nothing is sent unless asked for (online).
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "config/settings.h"

/*
 * Writes the findings, as a table or (settings->format is FORMAT_JSON and was asked for: is_json) as JSON. Returns 0
 * where a run can be tracked, 1 where something it needs is broken, or a negative errno with a message.
 */
int doctor_examine(const struct settings *settings, bool is_online, bool is_json, struct buf *buf, struct err *err);

#endif
