/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: what a datagram means, where the socket lies, and what happens to too many of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/marks.h"

struct fixture {
    struct marks marks;
    char home[8], other[64];
    char *environment[4];
    int64_t start_ns;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->marks.fd = -1;
    (void)snprintf(fixture->home, sizeof(fixture->home), "HOME=/");
    (void)snprintf(fixture->other, sizeof(fixture->other), "TRACKER_SOCKET=/of/another/tracker");
    fixture->environment[0] = fixture->home;
    fixture->environment[1] = fixture->other;
    fixture->start_ns = clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
    marks_open(&fixture->marks, fixture->environment);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    marks_close(&fixture->marks);
    free(fixture);
    return 0;
}

static const char *path_of(const struct fixture *fixture)
{
    assert_ptr_equal(fixture->environment[1], fixture->marks.variable); /* instead of the other one */
    assert_null(fixture->environment[2]);
    return strchr(fixture->marks.variable, '=') + 1;
}

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text, *kind, *name;
    } cases[] = {
        {"mark epoch 3", "mark", "epoch 3"},
        {"begin load\n", "begin", "load"},
        {"end  load ", "end", "load"},
        {"mark \033[31mred\a", "mark", "[31mred"},
        {"mark a\nb", "mark", "a b"},
        {"mark \xff\xfe x", "mark", "x"},
        {"mark", NULL, NULL},
        {"mark ", NULL, NULL},
        {"mark \n", NULL, NULL},
        {"marked x", NULL, NULL},
        {"Mark x", NULL, NULL},
        {"", NULL, NULL},
        {"hello", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *kind = NULL;
        char name[SAMPLE_MARK_BYTES];
        assert_int_equal(marks_parse(str_of(cases[i].text), &kind, name), cases[i].kind != NULL);
        if (!cases[i].kind)
            continue;
        assert_string_equal(kind, cases[i].kind);
        assert_string_equal(name, cases[i].name);
    }
    char text[400], name[SAMPLE_MARK_BYTES];
    const char *kind;
    (void)snprintf(text, sizeof(text), "mark %0*d", 300, 7);
    assert_true(marks_parse(str_of(text), &kind, name));
    assert_int_equal(strlen(name), SAMPLE_MARK_BYTES - 1);
    assert_string_equal(name + SAMPLE_MARK_BYTES - 4, "...");
}

static void test_from_end_to_end(void **state)
{
    struct fixture *fixture = *state;
    struct marks *marks = &fixture->marks;
    struct sample sample = {0};
    assert_int_equal(marks_receive(marks, fixture->start_ns, 0), 0);
    marks_fill(marks, &sample);
    assert_false(sample.marks.present);
    assert_int_equal(marks_send(path_of(fixture), "begin", "load"), 0);
    assert_int_equal(marks_send(path_of(fixture), "nonsense", "load"), 0);
    assert_int_equal(marks_send(path_of(fixture), "end", "load"), 0);
    assert_int_equal(marks_receive(marks, fixture->start_ns, 0), 2);
    marks_fill(marks, &sample);
    assert_true(sample.marks.present);
    assert_int_equal(sample.marks.count, 2);
    const struct sample_mark *items = sample.marks.items;
    double now = (double)(clock_read(&clock_system, CLOCK_KIND_MONOTONIC) - fixture->start_ns) / 1e9;
    assert_string_equal(items[0].kind, "begin");
    assert_string_equal(items[1].kind, "end");
    assert_string_equal(items[1].name, "load");
    assert_true(items[0].elapsed_secs.v >= 0 && items[0].elapsed_secs.v <= items[1].elapsed_secs.v);
    assert_true(items[1].elapsed_secs.v <= now);
    marks_clear(marks);
    assert_int_equal(marks_receive(marks, fixture->start_ns, 0), 0);
}

/* A command may write whatever its umask is, and so may one that runs as another user. */
static void test_others_may_write(void **state)
{
    struct fixture *fixture = *state;
    marks_close(&fixture->marks);
    mode_t before = umask(0777);
    marks_open(&fixture->marks, fixture->environment);
    (void)umask(before);
    struct stat status;
    char path[MARKS_VARIABLE_BYTES];
    (void)snprintf(path, sizeof(path), "%s", path_of(fixture));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0666);
    *strrchr(path, '/') = '\0';
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0711);
    marks_close(&fixture->marks);
    assert_int_equal(stat(path, &status), -1);
    marks_close(&fixture->marks); /* harmless */
}

/* No more than fit into a sample, and none of it waits. */
static void test_too_many(void **state)
{
    struct fixture *fixture = *state;
    char name[32];
    for (int i = 0; i < SAMPLE_MARKS_MAX + 50; i++) {
        (void)snprintf(name, sizeof(name), "number %d", i);
        assert_int_equal(marks_send(path_of(fixture), "mark", name), 0);
        (void)marks_receive(&fixture->marks, fixture->start_ns, 0);
    }
    struct sample sample = {0};
    marks_fill(&fixture->marks, &sample);
    assert_int_equal(sample.marks.count, SAMPLE_MARKS_MAX);
    assert_true(fixture->marks.too_many.said);
    assert_int_equal(sample.end.marks_dropped.v, 50);
    int r = 0;
    for (int i = 0; i < 10000 && r == 0; i++)
        r = marks_send(path_of(fixture), "mark", "nothing reads it");
    assert_int_equal(r, -EAGAIN);
}

static void test_no_tracker(void **state)
{
    struct fixture *fixture = *state;
    char path[MARKS_VARIABLE_BYTES], longer[300];
    (void)snprintf(path, sizeof(path), "%s", path_of(fixture));
    marks_close(&fixture->marks);
    assert_int_equal(marks_send(path, "mark", "x"), -ENOENT);
    (void)snprintf(longer, sizeof(longer), "/%0*d", 200, 0);
    assert_int_equal(marks_send(longer, "mark", "x"), -ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test_setup_teardown(test_from_end_to_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_others_may_write, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_tracker, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
