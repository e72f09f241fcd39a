/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a run before its first sample. */
#ifndef MODEL_RUN_INFO_H
#define MODEL_RUN_INFO_H

#include <stdint.h>

#include "base/opt.h"

struct run_info {
    const char *version;
    const char *job_name; /* NULL: none */
    struct opt_u64 tracked_pid; /* absent: the host alone */
    int64_t interval_ns;
    struct opt_i64 start_ns; /* monotonic, when the command was started; absent: when the first counters are read */
};

#endif
