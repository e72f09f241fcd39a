/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every machine of tests/fixtures through the collectors and encoders, compared with tests/golden. With UPDATE_GOLDEN=1
 * the golden files are written instead, and the tests fail so that it is not left on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "encode/encode.h"
#include "fixture.h"

#ifndef SOURCE_ROOT
#define SOURCE_ROOT "."
#endif

enum { FIXTURES_MAX = 128, TITLE_BYTES = 288, OUTPUT_BYTES_MAX = 16 * 1024 * 1024 };

static const struct {
    const char *ending;
    const struct encoder *encoder;
} formats[] = {
    {"jsonl", &encoder_jsonl},
    {"system.csv", &encoder_csv_system},
    {"full.csv", &encoder_csv_full},
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

struct golden {
    const char *fixture;
    size_t format;
    char title[TITLE_BYTES]; /* also the name of the golden file */
};

static const char *directory_from(const char *variable, const char *fallback)
{
    const char *value = getenv(variable);
    return value && value[0] ? value : fallback;
}

static const char *fixtures_dir(void)
{
    return directory_from("FIXTURES_DIR", SOURCE_ROOT "/tests/fixtures");
}

static const char *golden_dir(void)
{
    return directory_from("GOLDEN_DIR", SOURCE_ROOT "/tests/golden");
}

static void encode_fixture(const struct golden *golden, struct buf *out)
{
    const struct encoder *encoder = formats[golden->format].encoder;
    struct fixture fixture;
    fixture_open(&fixture, fixtures_dir(), golden->fixture);
    if (encoder->begin)
        encoder->begin(&fixture.info, out);
    struct sample sample;
    while (fixture_step(&fixture, &sample)) {
        const struct sample_totals totals = sample_totals_of(&sample, true);
        encoder->sample(&fixture.info, &sample, &totals, out);
    }
    fixture_close(&fixture);
    assert_true(buf_ok(out));
}

static void write_golden(const char *path, const struct buf *text)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text->data, text->len), (ssize_t)text->len);
    fail_msg("%s was written: look at it, then run again without UPDATE_GOLDEN", path);
}

/* Line by line, so that a failure shows the one line that matters. */
static void compare_lines(const char *path, const struct buf *expected, const struct buf *actual)
{
    struct str want_rest = {expected->data, expected->len};
    struct str have_rest = {actual->data, actual->len};
    for (unsigned number = 1;; number++) {
        struct str want, have;
        bool wanted = str_line(&want_rest, &want);
        bool had = str_line(&have_rest, &have);
        if (!wanted && !had)
            break;
        if (wanted && had && str_eq(want, have))
            continue;
        print_error("%s:%u\n", path, number);
        print_error("expected: %.*s\n", wanted ? (int)want.n : 4, wanted ? want.p : "none");
        print_error("actual:   %.*s\n", had ? (int)have.n : 4, had ? have.p : "none");
        fail();
    }
    assert_int_equal(expected->len, actual->len);
}

static void test_golden(void **state)
{
    const struct golden *golden = *state;
    AUTO_BUF struct buf actual, expected;
    buf_init(&actual, OUTPUT_BYTES_MAX);
    buf_init(&expected, OUTPUT_BYTES_MAX);
    encode_fixture(golden, &actual);
    char path[FIXTURE_PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%s/%s", golden_dir(), golden->title);
    assert_true(n > 0 && n < (int)sizeof(path));
    const char *update = getenv("UPDATE_GOLDEN");
    if (update && strcmp(update, "1") == 0)
        write_golden(path, &actual);
    int r = file_read_at(AT_FDCWD, path, &expected);
    if (r < 0)
        fail_msg("%s: %s (UPDATE_GOLDEN=1 makes it)", path, strerror(-r));
    compare_lines(path, &expected, &actual);
}

/* A golden file that no fixture makes any more would never be compared. */
static void test_no_orphans(void **state)
{
    (void)state;
    struct dirent **entries;
    int count = scandir(golden_dir(), &entries, NULL, alphasort);
    assert_true(count >= 0);
    unsigned orphans = 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        const char *dot = strchr(name, '.');
        char path[FIXTURE_PATH_BYTES];
        int stem = dot ? (int)(dot - name) : (int)strlen(name);
        (void)snprintf(path, sizeof(path), "%s/%.*s", fixtures_dir(), stem, name);
        /* Directories hold the goldens of others. */
        if (stem > 0 && entries[i]->d_type != DT_DIR && access(path, F_OK) != 0) {
            print_error("%s/%s has no fixture\n", golden_dir(), name);
            orphans++;
        }
        free(entries[i]);
    }
    free(entries);
    assert_int_equal(orphans, 0);
}

static int is_fixture(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "README.md") != 0;
}

int main(void)
{
    struct golden goldens[FIXTURES_MAX * FORMATS];
    struct CMUnitTest tests[FIXTURES_MAX * FORMATS + 1] = {cmocka_unit_test(test_no_orphans)};
    size_t count = 0;
    struct dirent **entries;
    int fixtures = scandir(fixtures_dir(), &entries, is_fixture, alphasort);
    if (fixtures <= 0 || fixtures > FIXTURES_MAX) {
        print_error("%s: not between 1 and %d fixtures\n", fixtures_dir(), FIXTURES_MAX);
        return 1;
    }
    log_set_level(LOG_ERROR);
    for (int i = 0; i < fixtures; i++) {
        for (size_t format = 0; format < FORMATS; format++) {
            struct golden *golden = &goldens[count++];
            *golden = (struct golden){.fixture = entries[i]->d_name, .format = format};
            (void)snprintf(golden->title, TITLE_BYTES, "%s.%s", golden->fixture, formats[format].ending);
            tests[count] =
                (struct CMUnitTest){.name = golden->title, .test_func = test_golden, .initial_state = golden};
        }
    }
    int failures = _cmocka_run_group_tests("fixtures", tests, count + 1, NULL, NULL);
    for (int i = 0; i < fixtures; i++)
        free(entries[i]);
    free(entries);
    return failures;
}
