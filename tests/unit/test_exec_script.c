/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts without "#!" are given to the shell, by path and by name, with all their words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/spawn.h"

enum { PATH_BYTES = 256, NOT_RUN = 99, STATUS = 7 };

struct place {
    char folder[PATH_BYTES], script[PATH_BYTES];
};

static int make_place(void **state)
{
    static struct place place;
    (void)snprintf(place.folder, sizeof(place.folder), "/tmp/rt-exec-XXXXXX");
    assert_non_null(mkdtemp(place.folder));
    assert_true(snprintf(place.script, sizeof(place.script), "%.200s/job", place.folder) > 0);
    int fd = open(place.script, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    static const char text[] = "[ \"$1 $2\" = 'a  b c' ] && [ \"$MARK\" = yes ] && exit 7\nexit 1\n";
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
    *state = &place;
    return 0;
}

static int remove_place(void **state)
{
    const struct place *place = *state;
    (void)unlink(place->script);
    (void)rmdir(place->folder);
    return 0;
}

/* The exit status of the script, or NOT_RUN + errno where it was not run. */
static int run_script(char *name, char *path)
{
    char first[] = "a  b", second[] = "c", mark[] = "MARK=yes";
    char *words[] = {name, first, second, NULL}, *environment[] = {mark, path, NULL};
    pid_t pid = fork();
    if (pid == 0) {
        exec_script(words, environment);
        _exit(NOT_RUN + errno);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_by_path(void **state)
{
    struct place *place = *state;
    assert_int_equal(run_script(place->script, NULL), STATUS);
}

static void test_by_name(void **state)
{
    const struct place *place = *state;
    char name[] = "job", path[4 * PATH_BYTES];
    static const char *const around[][2] = {{"", ""}, {"/nowhere:", ""}, {"", ":/nowhere"}, {"::", ":"}};
    for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
        (void)snprintf(path, sizeof(path), "PATH=%s%.200s%s", around[i][0], place->folder, around[i][1]);
        assert_int_equal(run_script(name, path), STATUS);
    }
}

static void test_not_found(void **state)
{
    (void)state;
    char name[] = "rt-no-such-job", nowhere[] = "PATH=/nowhere", empty[] = "PATH=";
    assert_int_equal(run_script(name, nowhere), NOT_RUN + ENOEXEC);
    assert_int_equal(run_script(name, empty), NOT_RUN + ENOEXEC);
    assert_int_equal(run_script(name, NULL), NOT_RUN + ENOEXEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_path),
        cmocka_unit_test(test_by_name),
        cmocka_unit_test(test_not_found),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
