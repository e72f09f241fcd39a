/* SPDX-License-Identifier: Apache-2.0 */
/* A recording in a directory of its own, replayed, and what came of it. */
#ifndef TESTS_UNIT_REPLAY_SCENARIO_H
#define TESTS_UNIT_REPLAY_SCENARIO_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "encode/encode.h"
#include "replay/replay.h"
#include "scratch.h"

enum { RUNS_MAX = 8, SAMPLES_MAX = 16, TEXT_MAX = 32 * 1024 * 1024, PATH_BYTES = 512 };

/* One sample, as far as it matters here. */
struct seen {
    int64_t timestamp_ms;
    struct opt_f64 elapsed_secs, actual_interval_ms;
    struct opt_u64 disk_read, disk_write, rx;
    size_t disks;
};

struct scenario {
    char directory[SCRATCH_PATH_BYTES];
    char path[PATH_BYTES];
    struct replay_report report;
    struct err err;
    int64_t intervals_ns[RUNS_MAX];
    char versions[RUNS_MAX][16], jobs[RUNS_MAX][32];
    struct opt_u64 pids[RUNS_MAX];
    size_t runs, samples, stop_at; /* stop_at: the sample that is refused; 0: none */
    struct seen seen[SAMPLES_MAX];
    const struct encoder *encoder;
    struct run_info info;
    struct buf out;
};

static inline int set_up(void **state)
{
    struct scenario *scenario = calloc(1, sizeof(*scenario));
    *state = scenario;
    if (!scenario || scratch_make(scenario->directory) < 0)
        return -1;
    (void)snprintf(scenario->path, sizeof(scenario->path), "%s/run.jsonl", scenario->directory);
    buf_init(&scenario->out, TEXT_MAX);
    return 0;
}

static inline int tear_down(void **state)
{
    struct scenario *scenario = *state;
    buf_fini(&scenario->out);
    int r = scratch_remove(scenario->directory);
    free(scenario);
    return r;
}

static inline void take_begin(void *context, const struct run_info *info)
{
    struct scenario *scenario = context;
    scenario->info = *info;
    if (scenario->encoder) {
        if (scenario->encoder->begin && scenario->runs++ == 0)
            scenario->encoder->begin(info, &scenario->out);
        return;
    }
    size_t run = scenario->runs++;
    assert_true(run < RUNS_MAX);
    scenario->intervals_ns[run] = info->interval_ns;
    scenario->pids[run] = info->tracked_pid;
    (void)str_copy(
        str_of(info->version ? info->version : "-"), scenario->versions[run], sizeof(scenario->versions[run]));
    (void)str_copy(str_of(info->job_name ? info->job_name : "-"), scenario->jobs[run], sizeof(scenario->jobs[run]));
}

static inline int take_sample(void *context, const struct sample *sample)
{
    struct scenario *scenario = context;
    if (scenario->encoder) {
        const struct sample_totals totals = sample_totals_of(sample, true);
        scenario->encoder->sample(&scenario->info, sample, &totals, &scenario->out);
        assert_true(buf_ok(&scenario->out));
        return 0;
    }
    assert_true(scenario->runs > 0);
    if (scenario->stop_at > 0 && scenario->samples + 1 == scenario->stop_at)
        return -EBADMSG;
    if (scenario->samples < SAMPLES_MAX) {
        const struct sample_disk *disk = sample->disk.count > 0 ? sample->disk.items : NULL;
        const struct sample_network *network = sample->network.count > 0 ? sample->network.items : NULL;
        scenario->seen[scenario->samples] = (struct seen){sample->timestamp_ms.v, sample->elapsed_secs,
            sample->actual_interval_ms, disk ? disk->read_bytes_delta : (struct opt_u64){0},
            disk ? disk->write_bytes_delta : (struct opt_u64){0},
            network ? network->rx_bytes_delta : (struct opt_u64){0}, sample->disk.count};
    }
    scenario->samples++;
    return 0;
}

static inline int replay_path(struct scenario *scenario, const char *path)
{
    const struct replay_target target = {.context = scenario, .begin = take_begin, .sample = take_sample};
    scenario->runs = scenario->samples = 0;
    err_clear(&scenario->err);
    return replay_file(path, &target, &scenario->report, &scenario->err);
}

static inline int replay_bytes(struct scenario *scenario, const char *bytes, size_t n)
{
    FILE *file = fopen(scenario->path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    return replay_path(scenario, scenario->path);
}

static inline int replay_text(struct scenario *scenario, const char *text)
{
    return replay_bytes(scenario, text, strlen(text));
}

static inline bool has_note(const struct scenario *scenario, const char *text)
{
    for (unsigned i = 0; i < scenario->report.note_count; i++) {
        if (strcmp(scenario->report.notes[i], text) == 0)
            return true;
    }
    return false;
}

#endif
