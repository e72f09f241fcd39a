/* SPDX-License-Identifier: Apache-2.0 */
/* All stream targets, in the order in which they are reported and written into state.json. */
#include "stream/target.h"

extern const struct stream_target sentinel_target, bucket_target, otlp_target, hooks_target, pushgateway_target;

const struct stream_target *const stream_targets[] = {
    &sentinel_target, &bucket_target, &otlp_target, &hooks_target, &pushgateway_target};
const size_t stream_target_count = sizeof(stream_targets) / sizeof(stream_targets[0]);
