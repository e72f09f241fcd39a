/* SPDX-License-Identifier: Apache-2.0 */
#include "phase_series.h"

#define P(...)                                                                                                         \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* secs, cores, MiB at the start and at the end, MB/s, GPUs */
const struct labelled_series labelled_series[] = {
    {"flat", 0, WHITE, {P(300, 1, 500, 500, 0, 0)}},
    {"flat with noise", 0.2, WHITE, {P(600, 4, 800, 800, 10, 0)}},
    {"flat with much noise", 0.5, WHITE, {P(200, 2, 800, 800, 0, 0)}},
    {"idle", 0.1, WHITE, {P(100, 0.01, 20, 20, 0, 0)}},
    {"step up", 0.05, WHITE, {P(60, 1, 500, 500, 0, 0), P(60, 4, 500, 500, 0, 0)}},
    {"step down", 0.1, WHITE, {P(300, 8, 500, 500, 0, 0), P(300, 1, 500, 500, 0, 0)}},
    {"load, compute, write", 0.1, WHITE,
        {P(60, 0.4, 500, 2000, 120, 0), P(240, 7.8, 2200, 2200, 0, 0), P(40, 0.5, 1000, 1000, 200, 0)}},
    {"load, train, save", 0.1, WHITE,
        {P(120, 1, 1000, 8000, 80, 0), P(600, 1.2, 8000, 8000, 5, 0.95), P(60, 0.9, 8200, 8200, 150, 0)}},
    {"steps of memory", 0.05, WHITE,
        {P(200, 1, 500, 500, 0, 0), P(200, 1, 1500, 1500, 0, 0), P(200, 1, 4000, 4000, 0, 0)}},
    {"ramp of memory", 0.05, WHITE, {P(400, 1, 100, 4000, 0, 0)}},
    {"flat, then a ramp", 0.05, WHITE, {P(200, 1, 500, 500, 0, 0), P(200, 1, 500, 5000, 0, 0)}},
    {"ramp, then flat", 0.05, WHITE, {P(150, 2, 100, 3000, 0, 0), P(250, 2, 3000, 3000, 0, 0)}},
    {"spikes", 0.05, SPIKES, {P(600, 1, 500, 500, 2, 0)}},
    {"step with spikes", 0.05, SPIKES, {P(300, 1, 500, 500, 0, 0), P(300, 5, 500, 500, 0, 0)}},
    {"30 s", 0.05, WHITE, {P(15, 1, 200, 200, 0, 0), P(15, 4, 200, 200, 0, 0)}},
    {"20 s", 0.02, WHITE, {P(10, 0.2, 200, 200, 0, 0), P(10, 2, 900, 900, 0, 0)}},
    {"40 s of three", 0.05, WHITE, {P(12, 1, 200, 200, 90, 0), P(14, 4, 200, 200, 0, 0), P(14, 0.05, 200, 200, 0, 0)}},
    {"3,000 s", 0.15, WHITE, {P(1000, 1, 500, 500, 0, 0), P(1000, 6, 500, 500, 0, 0), P(1000, 2, 700, 700, 0, 0)}},
    {"90 min of five", 0.1, WHITE,
        {P(600, 0.3, 500, 3000, 150, 0), P(1500, 15, 4000, 4000, 0, 0), P(300, 1, 4000, 4000, 220, 0),
            P(2400, 15.5, 6000, 6000, 0, 0), P(600, 1, 2000, 2000, 100, 0)}},
    {"20,000 s", 0.1, WHITE,
        {P(4000, 2, 500, 500, 0, 0), P(9000, 8, 900, 900, 0, 0), P(2000, 0.1, 900, 900, 0, 0),
            P(5000, 4, 900, 900, 30, 0)}},
    {"short pause", 0.1, WHITE, {P(400, 2, 500, 500, 0, 0), P(30, 0.05, 500, 500, 0, 0), P(400, 2, 500, 500, 0, 0)}},
    {"CPU and idle", 0.1, WHITE,
        {P(60, 3, 500, 500, 0, 0), P(60, 0.02, 500, 500, 0, 0), P(60, 3, 500, 500, 0, 0), P(60, 0.02, 500, 500, 0, 0),
            P(60, 3, 500, 500, 0, 0), P(60, 0.02, 500, 500, 0, 0)}},
    {"ten phases", 0.1, WHITE,
        {P(80, 1, 500, 500, 0, 0), P(80, 3, 500, 500, 0, 0), P(80, 1, 500, 500, 0, 0), P(80, 3, 500, 500, 0, 0),
            P(80, 1, 500, 500, 0, 0), P(80, 3, 500, 500, 0, 0), P(80, 1, 500, 500, 0, 0), P(80, 3, 500, 500, 0, 0),
            P(80, 1, 500, 500, 0, 0), P(80, 3, 500, 500, 0, 0)}},
    {"flat with slow noise", 0.1, SLOW, {P(500, 3, 500, 500, 0, 0)}},
    {"step with slow noise", 0.1, SLOW, {P(300, 3, 500, 500, 0, 0), P(300, 6, 500, 500, 0, 0)}},
    {"bursts", 0.05, BURSTS, {P(400, 4, 500, 500, 0, 0)}},
    {"bursts, then idle", 0.05, BURSTS, {P(200, 4, 500, 500, 0, 0), P(200, 0.05, 500, 500, 0, 0)}},
    {"epochs", 0.05, EPOCHS, {P(900, 1.2, 4000, 4000, 0, 0.9)}},
    {"load, then epochs", 0.05, EPOCHS, {P(150, 3.5, 500, 4000, 100, 0), P(900, 1.2, 4000, 4000, 0, 0.9)}},
    {"sawtooth of memory", 0.05, SAWTOOTH, {P(600, 1, 800, 800, 0, 0)}},
    {"disk with a heavy tail", 0.1, HEAVY_TAIL, {P(500, 0.5, 400, 400, 30, 0)}},
    {"read, with a heavy tail", 0.1, HEAVY_TAIL, {P(120, 0.5, 400, 400, 250, 0), P(400, 2, 400, 400, 1, 0)}},
    {"small step", 0.05, WHITE, {P(300, 1, 500, 500, 0, 0), P(300, 1.3, 500, 500, 0, 0)}},
    {"60, 4 and 1 cores", 0.05, WHITE,
        {P(300, 60, 500, 500, 0, 0), P(300, 4, 500, 500, 0, 0), P(300, 1, 500, 500, 0, 0)}},
    {"more GPU", 0.1, WHITE, {P(200, 1, 3000, 3000, 0, 0.3), P(200, 1, 3000, 3000, 0, 0.9)}},
    {"step in a gap", 0.05, GAP, {P(200, 1, 500, 500, 0, 0), P(200, 4, 500, 500, 0, 0)}},
    {"ramp of cores", 0.05, CPU_RAMP, {P(400, 8, 500, 500, 0, 0)}},
    {"memory falls", 0.05, WHITE, {P(250, 2, 6000, 6000, 0, 0), P(250, 2, 900, 900, 0, 0)}},
    {"much noise, large step", 0.4, WHITE, {P(300, 2, 500, 500, 0, 0), P(300, 8, 500, 500, 0, 0)}},
    {"compile, link, test", 0.3, WHITE,
        {P(180, 7, 3000, 3000, 5, 0), P(40, 1, 5000, 5000, 60, 0), P(120, 3.5, 800, 800, 1, 0)}},
};

const size_t labelled_series_count = sizeof(labelled_series) / sizeof(labelled_series[0]);

/* From -1 to 1, the sum of three: about a bell. */
static double noise(uint64_t *state)
{
    double sum = 0;
    for (unsigned i = 0; i < 3; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (double)(*state >> 33) / 1073741824.0 - 1;
    }
    return sum;
}

static double not_below_0(double value)
{
    return value > 0 ? value : 0;
}

static void shape(struct series_state *state, const struct series_part *part, struct series_point *point)
{
    unsigned secs = state->secs;
    switch (state->series->kind) {
    case SLOW:
        state->slow = state->slow * 0.7 + noise(&state->random) * 0.2;
        point->cores *= 1 + state->slow;
        break;
    case SPIKES:
        point->cores += secs % 190 == 100 || secs % 190 == 101 ? 8 : 0;
        point->bytes += secs % 250 == 60 ? 400e6 : 0;
        break;
    case BURSTS:
        point->cores *= noise(&state->random) > 0 ? 1 : 0.1;
        break;
    case EPOCHS:
        if (part->gpus > 0 && secs % 15 >= 12)
            point->gpus = 0;
        break;
    case SAWTOOTH:
        point->mib += secs % 20 * 30.0;
        break;
    case HEAVY_TAIL: {
        double tail = noise(&state->random);
        point->bytes *= tail > 1.5 ? 6 : tail < 0 ? 0.3 : 1;
        break;
    }
    case CPU_RAMP:
        point->cores *= (double)state->at / series_part_secs(state->series, state->part, state->variant);
        break;
    case WHITE:
    case GAP:
        break;
    }
}

unsigned series_part_secs(const struct labelled_series *series, size_t part, unsigned variant)
{
    static const unsigned tenths[SERIES_VARIANTS] = {10, 9, 12, 15, 20};
    return part < SERIES_PARTS_MAX ? (series->parts[part].secs * tenths[variant] + 9) / 10 : 0;
}

bool series_next(struct series_state *state, struct series_point *ret_point)
{
    if (state->secs == 0)
        state->random = (uint64_t)(state->series - labelled_series + 1) * UINT64_C(0x9e3779b97f4a7c15) + state->variant;
    unsigned part_secs;
    do {
        part_secs = series_part_secs(state->series, state->part, state->variant);
        if (state->at == part_secs) {
            state->at = 0;
            part_secs = series_part_secs(state->series, ++state->part, state->variant);
            if (part_secs == 0)
                return false;
        }
        state->at++;
        state->secs++;
    } while (state->series->kind == GAP && state->secs > 160 && state->secs < 200);
    const struct series_part *part = &state->series->parts[state->part];
    double done = (double)state->at / part_secs, level = state->series->noise;
    *ret_point = (struct series_point){
        .secs = state->secs,
        .interval_secs = state->secs - state->before_secs,
        .cores = not_below_0(part->cores * (1 + level * noise(&state->random))),
        .mib = (part->mib + (part->last_mib - part->mib) * done) * (1 + 0.003 * noise(&state->random)),
        .bytes = not_below_0(part->mb_per_sec * 1e6 * (1 + 3 * level * noise(&state->random))),
        .gpus = not_below_0(part->gpus * (1 + level * noise(&state->random))),
    };
    ret_point->gpus = ret_point->gpus < 1 ? ret_point->gpus : 1;
    shape(state, part, ret_point);
    ret_point->bytes *= ret_point->interval_secs;
    state->before_secs = state->secs;
    return true;
}
