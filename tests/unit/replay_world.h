/* SPDX-License-Identifier: Apache-2.0 */
/* A recording in a folder of its own, replayed, and what came of it. */
#ifndef TESTS_UNIT_REPLAY_WORLD_H
#define TESTS_UNIT_REPLAY_WORLD_H

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

struct world {
    char folder[SCRATCH_PATH_BYTES];
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
    struct world *world = calloc(1, sizeof(*world));
    *state = world;
    if (!world || scratch_make(world->folder) < 0)
        return -1;
    (void)snprintf(world->path, sizeof(world->path), "%s/run.jsonl", world->folder);
    buf_init(&world->out, TEXT_MAX);
    return 0;
}

static inline int tear_down(void **state)
{
    struct world *world = *state;
    buf_fini(&world->out);
    int r = scratch_remove(world->folder);
    free(world);
    return r;
}

static inline void take_begin(void *context, const struct run_info *info)
{
    struct world *world = context;
    world->info = *info;
    if (world->encoder) {
        if (world->encoder->begin && world->runs++ == 0)
            world->encoder->begin(info, &world->out);
        return;
    }
    size_t run = world->runs++;
    assert_true(run < RUNS_MAX);
    world->intervals_ns[run] = info->interval_ns;
    world->pids[run] = info->tracked_pid;
    (void)str_copy(str_of(info->version ? info->version : "-"), world->versions[run], sizeof(world->versions[run]));
    (void)str_copy(str_of(info->job_name ? info->job_name : "-"), world->jobs[run], sizeof(world->jobs[run]));
}

static inline int take_sample(void *context, const struct sample *sample)
{
    struct world *world = context;
    if (world->encoder) {
        const struct sample_totals totals = sample_totals_of(sample, true);
        world->encoder->sample(&world->info, sample, &totals, &world->out);
        assert_true(buf_ok(&world->out));
        return 0;
    }
    assert_true(world->runs > 0);
    if (world->stop_at > 0 && world->samples + 1 == world->stop_at)
        return -EBADMSG;
    if (world->samples < SAMPLES_MAX) {
        const struct sample_disk *disk = sample->disk.count > 0 ? sample->disk.items : NULL;
        const struct sample_network *network = sample->network.count > 0 ? sample->network.items : NULL;
        world->seen[world->samples] = (struct seen){sample->timestamp_ms.v, sample->elapsed_secs,
            sample->actual_interval_ms, disk ? disk->read_bytes_delta : (struct opt_u64){0},
            disk ? disk->write_bytes_delta : (struct opt_u64){0},
            network ? network->rx_bytes_delta : (struct opt_u64){0}, sample->disk.count};
    }
    world->samples++;
    return 0;
}

static inline int replay_path(struct world *world, const char *path)
{
    const struct replay_target target = {world, take_begin, take_sample};
    world->runs = world->samples = 0;
    err_clear(&world->err);
    return replay_file(path, &target, &world->report, &world->err);
}

static inline int replay_bytes(struct world *world, const char *bytes, size_t n)
{
    FILE *file = fopen(world->path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    return replay_path(world, world->path);
}

static inline int replay_text(struct world *world, const char *text)
{
    return replay_bytes(world, text, strlen(text));
}

static inline bool has_note(const struct world *world, const char *text)
{
    for (unsigned i = 0; i < world->report.note_count; i++) {
        if (strcmp(world->report.notes[i], text) == 0)
            return true;
    }
    return false;
}

#endif
