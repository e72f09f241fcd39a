/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tree/demand.h"

#include "base/clock.h"

#define HISTORY_NS (1.0 * NS_PER_SEC)
#define READY_NS (8.0 * NS_PER_SEC)
#define READY_WEIGHT_MAX 0.5 /* of the newest sample */

double demand_share(struct demand_history *history, const struct demand_reading *reading, int64_t slack_ns)
{
    double length_ns = reading->length_ns > 0 ? (double)reading->length_ns : 0;
    double kept = length_ns < HISTORY_NS / 2 ? 1 - length_ns / HISTORY_NS : 0.5;
    double run_ns = (double)history->run_ns * kept + (double)reading->run_ns;
    double wait_ns = (double)history->wait_ns * kept + (double)reading->wait_ns;
    double waits = (double)history->waits * kept + (double)reading->waits;
    length_ns += (double)history->length_ns * kept;
    *history = (struct demand_history){(float)run_ns, (float)wait_ns, (float)length_ns, (float)waits};
    double slept_ns = length_ns - run_ns - wait_ns - (double)slack_ns;
    if (waits >= 1)
        slept_ns -= wait_ns / waits / 2;
    return slept_ns > 0 ? run_ns / (run_ns + slept_ns) : 1;
}

double demand_ready_pop(struct demand_ready *ready, int64_t elapsed_ns)
{
    double weight = (double)elapsed_ns / READY_NS;
    weight = weight < READY_WEIGHT_MAX ? weight : READY_WEIGHT_MAX;
    double mean = ready->mean.has ? ready->mean.v + (ready->now - ready->mean.v) * weight : ready->now;
    *ready = (struct demand_ready){.mean = some_f64(mean)};
    return mean;
}
