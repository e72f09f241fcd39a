/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/nvidia/nvml_pace.h"

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

void nvml_pace_init(struct nvml_pace *pace, int64_t start_ns, int64_t interval_ns, int64_t now_ns)
{
    int64_t place_ns = interval_ns * divide_up(NVML_PACE_LEAST_NS, interval_ns);
    int64_t steps = divide_up(place_ns, NVML_PACE_MOST_NS);
    *pace = (struct nvml_pace){
        .start_ns = start_ns, .place_ns = place_ns, .step_ns = place_ns / steps, .steps_per_place = steps};
    nvml_pace_advance(pace, now_ns);
}

/* Steps need not divide a place evenly, so they are counted from the last one on. */
struct nvml_step nvml_pace_next(const struct nvml_pace *pace, int64_t lead_ns)
{
    int64_t places = pace->next / pace->steps_per_place, steps = pace->next % pace->steps_per_place;
    return (struct nvml_step){
        .due_ns = pace->start_ns + places * pace->place_ns + steps * pace->step_ns - lead_ns,
        .is_place = steps == 0,
    };
}

void nvml_pace_advance(struct nvml_pace *pace, int64_t now_ns)
{
    int64_t passed_ns = now_ns > pace->start_ns ? now_ns - pace->start_ns : 0;
    int64_t steps = passed_ns % pace->place_ns / pace->step_ns;
    if (steps >= pace->steps_per_place)
        steps = pace->steps_per_place - 1;
    int64_t passed = passed_ns / pace->place_ns * pace->steps_per_place + steps;
    pace->next = passed > pace->next ? passed + 1 : pace->next + 1;
}

int64_t nvml_pace_patience(int64_t interval_ns)
{
    int64_t reading_ns = interval_ns < NVML_PACE_LEAST_NS ? NVML_PACE_LEAST_NS : interval_ns;
    return (reading_ns < NVML_PACE_MOST_NS ? reading_ns : NVML_PACE_MOST_NS) + NS_PER_SEC;
}
