/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "fixture_tree.h"

enum { CONTROL_BYTES_MAX = 64 * 1024 };

#define START_MONO_NS (1000 * NS_PER_SEC)
#define START_REAL_NS (INT64_C(1767225600) * NS_PER_SEC) /* 2026-01-01 00:00:00 UTC */
#define OWN_CPU_NS_PER_TICK NS_PER_MS

static int64_t read_clock(void *context, enum clock_kind kind)
{
    const struct fixture *fixture = context;
    int64_t mono_ns = fixture->mono_ns[fixture->tick];
    switch (kind) {
    case CLOCK_KIND_BOOT:
    case CLOCK_KIND_MONOTONIC:
        return mono_ns;
    case CLOCK_KIND_REALTIME:
        return START_REAL_NS + (mono_ns - fixture->mono_ns[0]);
    case CLOCK_KIND_OWN_CPU:
        return (int64_t)fixture->tick * OWN_CPU_NS_PER_TICK;
    }
    return 0;
}

static int read_space(void *context, const char *mount_point, struct fs_space *ret_space)
{
    const struct fixture *fixture = context;
    for (size_t i = 0; i < fixture->space_count; i++) {
        if (strcmp(fixture->spaces[i].mount_point, mount_point) == 0) {
            *ret_space = fixture->spaces[i].space;
            return 0;
        }
    }
    return -ENOENT;
}

__attribute__((format(printf, 3, 4))) static void path_below(
    const char *directory, char out[static FIXTURE_PATH_BYTES], const char *fmt, ...)
{
    int n = snprintf(out, FIXTURE_PATH_BYTES, "%s/", directory);
    assert_true(n > 0 && n < FIXTURE_PATH_BYTES);
    va_list args;
    va_start(args, fmt);
    int more = vsnprintf(out + n, (size_t)(FIXTURE_PATH_BYTES - n), fmt, args);
    va_end(args);
    assert_true(more > 0 && more < FIXTURE_PATH_BYTES - n);
}

/* A file beside the ticks; false where the fixture has none. */
static bool read_control(const char *directory, const char *name, struct buf *text)
{
    char path[FIXTURE_PATH_BYTES];
    path_below(directory, path, "%s", name);
    int r = file_read_at(AT_FDCWD, path, text);
    assert_true(r == 0 || r == -ENOENT);
    return r == 0;
}

/* Cuts the last word, a number, off a line. */
static void cut_number(struct str *line, uint64_t *ret_number)
{
    const char *blank = memrchr(line->p, ' ', line->n);
    assert_non_null(blank);
    struct str word = {blank + 1, (size_t)(line->p + line->n - blank - 1)};
    assert_int_equal(num_parse_u64(word, ret_number), 0);
    line->n = (size_t)(blank - line->p);
}

/* Mount points are written as in mountinfo: \040 is a blank. */
static void decode_path(struct str text, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\\' && text.n - i > 3) {
            c = (char)((text.p[i + 1] - '0') * 64 + (text.p[i + 2] - '0') * 8 + (text.p[i + 3] - '0'));
            i += 3;
        }
        assert_true(n + 1 < size);
        out[n++] = c;
    }
    out[n] = '\0';
}

static void load_spaces(struct fixture *fixture)
{
    AUTO_BUF struct buf text;
    buf_init(&text, CONTROL_BYTES_MAX);
    if (!read_control(fixture->source, "space", &text))
        return;
    struct str rest = {text.data, text.len};
    struct str line;
    while (str_line(&rest, &line)) {
        assert_true(fixture->space_count < FIXTURE_SPACES_MAX);
        struct fixture_space *entry = &fixture->spaces[fixture->space_count++];
        cut_number(&line, &entry->space.available_bytes);
        cut_number(&line, &entry->space.free_bytes);
        cut_number(&line, &entry->space.total_bytes);
        decode_path(line, entry->mount_point, sizeof(entry->mount_point));
    }
}

static void load_clock(struct fixture *fixture)
{
    for (unsigned i = 0; i < FIXTURE_TICKS_MAX; i++)
        fixture->mono_ns[i] = START_MONO_NS + (int64_t)i * NS_PER_SEC;
    AUTO_BUF struct buf text;
    buf_init(&text, CONTROL_BYTES_MAX);
    if (!read_control(fixture->source, "clock", &text))
        return;
    struct str rest = {text.data, text.len};
    struct str line;
    unsigned count = 0;
    while (str_line(&rest, &line)) {
        assert_true(count < FIXTURE_TICKS_MAX);
        assert_int_equal(num_parse_i64(line, &fixture->mono_ns[count++]), 0);
    }
    assert_int_equal(count, fixture->ticks);
}

static void count_ticks(struct fixture *fixture)
{
    char path[FIXTURE_PATH_BYTES];
    for (;; fixture->ticks++) {
        path_below(fixture->source, path, "t%u", fixture->ticks);
        if (access(path, F_OK) != 0)
            break;
        assert_true(fixture->ticks < FIXTURE_TICKS_MAX);
    }
    if (fixture->ticks < 2)
        fail_msg("%s: a fixture needs t0 and t1 at least", fixture->source);
}

static void play_tick(struct fixture *fixture)
{
    char directory[FIXTURE_PATH_BYTES];
    path_below(fixture->source, directory, "t%u", fixture->tick);
    AUTO_BUF struct buf removed;
    buf_init(&removed, CONTROL_BYTES_MAX);
    if (read_control(directory, "REMOVED", &removed)) {
        struct str rest = {removed.data, removed.len};
        struct str line;
        while (str_line(&rest, &line)) {
            char path[FIXTURE_PATH_BYTES];
            path_below(fixture->dir, path, "%.*s", (int)line.n, line.p);
            fixture_tree_remove(path);
        }
    }
    fixture_tree_apply(directory, fixture->dir);
}

void fixture_open(struct fixture *fixture, const char *fixtures_dir, const char *name)
{
    *fixture = (struct fixture){.dir = "/tmp/fixture-XXXXXX", .info = {.version = "0.0.0-test"}};
    path_below(fixtures_dir, fixture->source, "%s", name);
    count_ticks(fixture);
    load_clock(fixture);
    load_spaces(fixture);
    assert_non_null(mkdtemp(fixture->dir));
    play_tick(fixture);
    struct err err = {0};
    assert_int_equal(sysroot_open(fixture->dir, &fixture->root, &err), 0);
    fixture->clock = (struct clock){.read_ns = read_clock, .context = fixture};
    fixture->info.interval_ns = NS_PER_SEC;
    fixture->env = (struct collect_env){
        .root = &fixture->root,
        .clock = &fixture->clock,
        .ticks_per_sec = 100,
        .page_bytes = 4096,
        .space = read_space,
        .space_context = fixture,
    };
    pipeline_open(&fixture->pipeline, &fixture->env, &fixture->info, collector_registry, collector_registry_count);
}

bool fixture_step(struct fixture *fixture, struct sample *ret_sample)
{
    if (fixture->tick + 1 == fixture->ticks)
        return false;
    fixture->tick++;
    play_tick(fixture);
    struct tick tick = {.mono_ns = fixture->mono_ns[fixture->tick]};
    pipeline_sample(&fixture->pipeline, &tick);
    *ret_sample = fixture->pipeline.sample;
    return true;
}

void fixture_close(struct fixture *fixture)
{
    pipeline_close(&fixture->pipeline);
    sysroot_close(&fixture->root);
    fixture_tree_remove(fixture->dir);
}
