/* SPDX-License-Identifier: Apache-2.0 */
/* From what was waited for a CPU to what was wanted: the arithmetic alone. */
#include "collect/tree/wait.h"

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

void demand_sleep(struct wait_process *process, int64_t elapsed_ns)
{
    process->asleep_ns += elapsed_ns;
    if ((double)process->asleep_ns < HISTORY_NS)
        return;
    if (process->burst_ns > 0 && (double)process->burst_ns < HISTORY_NS) {
        process->first.history = (struct demand_history){.run_ns = (float)process->burst_ns, .length_ns = HISTORY_NS};
        process->first.share = (double)process->burst_ns / HISTORY_NS;
    }
    process->burst_ns = 0;
}

void demand_add_late(struct wait_thread *thread, double waited_ns)
{
    demand_wait_add(&thread->late_ns, (struct demand_wait){1, thread->share}, waited_ns);
}

void demand_count(struct wait_thread *thread, double room_ns, struct demand_wait *sum)
{
    const struct demand_wait late_ns = thread->late_ns;
    /* Below 0: clocks are not read in the same moment. */
    double most_ns = room_ns > 0 ? room_ns : 0;
    double share = late_ns.waited > most_ns ? most_ns / late_ns.waited : 1;
    demand_wait_add(sum, late_ns, share);
    demand_wait_add(&thread->late_ns, late_ns, -share);
}

double demand_ready_pop(struct demand_ready *ready, int64_t elapsed_ns)
{
    double weight = (double)elapsed_ns / READY_NS;
    weight = weight < READY_WEIGHT_MAX ? weight : READY_WEIGHT_MAX;
    double mean = ready->mean.has ? ready->mean.v + (ready->now - ready->mean.v) * weight : ready->now;
    *ready = (struct demand_ready){.mean = some_f64(mean)};
    return mean;
}

double demand_pressed(double pressure, double cpus)
{
    return pressure * cpus < 1 ? pressure * cpus : 1;
}

double demand_lacking(double ready, double used, struct opt_f64 pressed)
{
    double threads = ready > 1 ? ready : 1;
    double lacking = ready > used ? ready - used : 0;
    return pressed.has && lacking > pressed.v * threads ? pressed.v * threads : lacking;
}
