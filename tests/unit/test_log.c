/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on stderr, caught through a pipe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

struct capture {
    int saved_fd, read_fd;
    char text[4096];
};

static void capture_begin(struct capture *capture)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    capture->saved_fd = dup(STDERR_FILENO);
    assert_true(capture->saved_fd >= 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    (void)close(ends[1]);
    capture->read_fd = ends[0];
}

/* Puts stderr back, which closes the writing end, and reads what came. */
static const char *capture_end(struct capture *capture)
{
    assert_int_equal(dup2(capture->saved_fd, STDERR_FILENO), STDERR_FILENO);
    (void)close(capture->saved_fd);
    size_t used = 0;
    ssize_t n;
    while ((n = read(capture->read_fd, capture->text + used, sizeof(capture->text) - 1 - used)) > 0)
        used += (size_t)n;
    (void)close(capture->read_fd);
    capture->text[used] = '\0';
    return capture->text;
}

static void test_prefix_and_level(void **state)
{
    (void)state;
    struct capture capture;
    log_set_level(LOG_DEBUG);
    capture_begin(&capture);
    log_error("a %d", 1);
    log_warning("b");
    log_info("c");
    log_debug("d");
    assert_string_equal(capture_end(&capture), "resource-tracker: error: a 1\n"
                                               "resource-tracker: warning: b\n"
                                               "resource-tracker: info: c\n"
                                               "resource-tracker: debug: d\n");
    log_set_level(LOG_WARNING);
}

static void test_lines_above_the_level_are_not_written(void **state)
{
    (void)state;
    struct capture capture;
    capture_begin(&capture);
    log_info("no");
    log_debug("no");
    assert_string_equal(capture_end(&capture), "");
    log_set_level(LOG_ERROR);
    capture_begin(&capture);
    log_warning("no");
    log_error("yes");
    assert_string_equal(capture_end(&capture), "resource-tracker: error: yes\n");
    log_set_level(LOG_WARNING);
}

static void test_control_bytes_are_replaced(void **state)
{
    (void)state;
    struct capture capture;
    capture_begin(&capture);
    log_warning("%s", "a\nb\rc\x1b[31md\te\x7f \xc3\xa9");
    assert_string_equal(capture_end(&capture), "resource-tracker: warning: a?b?c?[31md?e? \xc3\xa9\n");
}

/* C1 controls, what changes the direction of writing, and bytes that are no UTF-8. */
static void test_other_tricks_are_replaced(void **state)
{
    (void)state;
    struct capture capture;
    capture_begin(&capture);
    log_warning("%s", "a\xc2\x9b"
                      "31mb\xe2\x80\xae"
                      "c\xe2\x81\xa6"
                      "d\x9b"
                      "e\xef\xbb\xbf"
                      "f\xd8\x9cg\xe2\x80\xa8h \xe2\x80\xa6\xc3\xa9\xf0\x9f\x98\x80 \xe2\x82");
    assert_string_equal(capture_end(&capture),
        "resource-tracker: warning: a?31mb?c?d?e?f?g?h \xe2\x80\xa6\xc3\xa9\xf0\x9f\x98\x80 ??\n");
}

static void test_no_character_is_cut_in_the_middle(void **state)
{
    (void)state;
    char text[1400];
    for (size_t i = 0; i + 2 < sizeof(text); i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    for (int before = 0; before < 3; before++) {
        struct capture capture;
        capture_begin(&capture);
        log_warning("%.*s%.*s", before, "xyz", 1398, text);
        const char *got = capture_end(&capture);
        size_t n = strlen(got);
        assert_null(strchr(got, '?'));
        assert_memory_equal(got + n - 4, "\xe2\x82\xac\n", 4);
    }
}

static void test_long_message_is_cut(void **state)
{
    (void)state;
    struct capture capture;
    char text[3000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    capture_begin(&capture);
    log_warning("%s", text);
    const char *got = capture_end(&capture);
    size_t n = strlen(got);
    assert_in_range(n, 900, 1024);
    assert_memory_equal(got, "resource-tracker: warning: xxx", 30);
    assert_int_equal(got[n - 1], '\n');
    assert_ptr_equal(strchr(got, '\n'), got + n - 1);
    assert_int_equal(got[n - 2], 'x');
}

static void test_lengths_around_the_cut(void **state)
{
    (void)state;
    char text[1100];
    memset(text, 'x', sizeof(text));
    for (int length = 985; length < 1030; length++) {
        struct capture capture;
        capture_begin(&capture);
        log_warning("%.*s", length, text);
        const char *got = capture_end(&capture);
        size_t n = strlen(got);
        assert_int_equal(got[n - 1], '\n');
        assert_int_equal(got[n - 2], 'x');
        assert_true(n <= 1024);
    }
}

static void test_errno_survives(void **state)
{
    (void)state;
    struct capture capture;
    int closed_fd = dup(STDERR_FILENO);
    assert_true(closed_fd >= 0);
    capture_begin(&capture);
    (void)close(STDERR_FILENO);
    errno = EXDEV;
    log_warning("this goes nowhere");
    int after = errno;
    (void)capture_end(&capture);
    (void)close(closed_fd);
    assert_int_equal(after, EXDEV);
}

static void test_complaint_is_said_once_and_taken_back(void **state)
{
    (void)state;
    struct capture capture;
    struct complaint complaint = {0};
    capture_begin(&capture);
    complaint_over(&complaint, "not said yet");
    complaint_say(&complaint, "%s is missing", "file");
    complaint_say(&complaint, "%s is missing", "file");
    complaint_say(&complaint, "something else");
    complaint_over(&complaint, "%s is back", "file");
    complaint_over(&complaint, "%s is back", "file");
    complaint_say(&complaint, "missing again");
    assert_string_equal(capture_end(&capture), "resource-tracker: warning: file is missing\n"
                                               "resource-tracker: warning: file is back\n"
                                               "resource-tracker: warning: missing again\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefix_and_level),
        cmocka_unit_test(test_lines_above_the_level_are_not_written),
        cmocka_unit_test(test_control_bytes_are_replaced),
        cmocka_unit_test(test_other_tricks_are_replaced),
        cmocka_unit_test(test_no_character_is_cut_in_the_middle),
        cmocka_unit_test(test_long_message_is_cut),
        cmocka_unit_test(test_lengths_around_the_cut),
        cmocka_unit_test(test_errno_survives),
        cmocka_unit_test(test_complaint_is_said_once_and_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
