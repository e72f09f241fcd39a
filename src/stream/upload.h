/* SPDX-License-Identifier: Apache-2.0 */
/* --upload-spool: delivers what earlier runs left behind, one run after the other. */
#ifndef STREAM_UPLOAD_H
#define STREAM_UPLOAD_H

#include "base/buf.h"
#include "base/err.h"
#include "stream/target.h"

/*
 * Of the options the token, the address of the API, the environment and the spool count; everything else is in the
 * state of each run. Runs that somebody works on are left alone. The report gets a line for each run. Returns how many
 * runs could not be delivered, or a negative errno with a message.
 */
int upload_spool(const struct stream_options *options, struct buf *report, struct err *err);

#endif
