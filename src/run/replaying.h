/* SPDX-License-Identifier: Apache-2.0 */
/* --from: recorded samples instead of new ones, through the same outputs. */
#ifndef RUN_REPLAYING_H
#define RUN_REPLAYING_H

#include "base/err.h"
#include "config/settings.h"

/*
 * Reads every file of settings->sources. Samples are written where a file or a format was asked for, or where stdout is
 * captured and nothing else was asked for. Returns 0, or a negative errno with a message where a file could not be read
 * or an output could not be written.
 */
int replaying_run(const struct settings *settings, struct err *err);

#endif
