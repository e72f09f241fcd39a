/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Sentinel answers, judged without any network. Everything in an answer is foreign: what goes on into object keys,
 * URLs or headers is checked here.
 */
#ifndef STREAM_TARGETS_SENTINEL_ANSWER_H
#define STREAM_TARGETS_SENTINEL_ANSWER_H

#include "base/err.h"
#include "base/str.h"
#include "stream/targets/sentinel.h"

/*
 * The answer to a registration: run_id is needed. Without a usable upload_uri_prefix upload_prefix is "", and without
 * usable upload_credentials has_credentials is false (they are then to be had by a refresh). Returns 0, -EBADMSG with
 * what makes no sense, or -ENOMEM; *sentinel changes on success only.
 */
int sentinel_answer_read_run(struct str body, struct sentinel *sentinel, struct err *err);

/* The answer to a refresh: upload_credentials are needed. Otherwise like sentinel_answer_read_run. */
int sentinel_answer_read_credentials(struct str body, struct sentinel *sentinel, struct err *err);

#endif
