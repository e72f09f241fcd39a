/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the command is looked up and executed, in a process that shares our memory until then: by path and by name,
 * scripts without "#!" by the shell, with all their words; and what is known of one that cannot be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/spawn.h"

enum { PATH_BYTES = 256, NOT_RUN = 99, STATUS = 7 };

struct place {
    char directory[PATH_BYTES], script[PATH_BYTES];
};

static int make_place(void **state)
{
    static struct place place;
    (void)snprintf(place.directory, sizeof(place.directory), "/tmp/rt-exec-XXXXXX");
    assert_non_null(mkdtemp(place.directory));
    assert_true(snprintf(place.script, sizeof(place.script), "%.200s/job", place.directory) > 0);
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
    (void)rmdir(place->directory);
    return 0;
}

/* The exit status of the script, or NOT_RUN + errno where it was not run. */
static int run_script(char *name, char *path)
{
    char first[] = "a  b", second[] = "c", mark[] = "MARK=yes";
    char *words[] = {name, first, second, NULL}, *environment[] = {mark, path, NULL};
    const char *script_argv[5];
    pid_t pid = fork();
    if (pid == 0) {
        _exit(NOT_RUN + spawn_execute(words, environment, script_argv));
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
        (void)snprintf(path, sizeof(path), "PATH=%s%.200s%s", around[i][0], place->directory, around[i][1]);
        assert_int_equal(run_script(name, path), STATUS);
    }
}

static void test_not_found(void **state)
{
    (void)state;
    char longest[NAME_MAX + 2], bin[] = "PATH=/bin";
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(run_script(longest, bin), NOT_RUN + ENAMETOOLONG);
    char name[] = "rt-no-such-job", nowhere[] = "PATH=/nowhere", empty[] = "PATH=";
    assert_int_equal(run_script(name, nowhere), NOT_RUN + ENOENT);
    assert_int_equal(run_script(name, empty), NOT_RUN + ENOENT);
    assert_int_equal(run_script(name, NULL), NOT_RUN + ENOENT);
}

/* The exit status of a command that is started as the tracker does it; *ret_failure: what spawn_failure says. */
static int start(char *const words[], char *const environment[], int *ret_failure, struct err *err)
{
    sigset_t none;
    (void)sigemptyset(&none);
    struct spawn_request request = {.argv = words, .environment = environment, .mask = &none, .group_fd = -1};
    struct spawn spawn;
    errno = EDOM;
    assert_int_equal(spawn_start(&request, &spawn), 0);
    int status = 0;
    assert_int_equal(waitpid(spawn.pid, &status, 0), spawn.pid);
    assert_int_equal(errno, EDOM); /* the child's errno is not ours */
    assert_true(WIFEXITED(status));
    *ret_failure = spawn_failure(&spawn, words[0], MASK_AUTO, err);
    spawn_close(&spawn);
    return WEXITSTATUS(status);
}

/* A list of files has thousands of names. */
static void test_many_arguments(void **state)
{
    enum { COUNT = 20000 };
    struct place *place = *state;
    char first[] = "a  b", second[] = "c", other[] = "x", mark[] = "MARK=yes";
    char **words = calloc(COUNT + 1, sizeof(*words)), *environment[] = {mark, NULL};
    assert_non_null(words);
    for (size_t i = 0; i < COUNT; i++)
        words[i] = other;
    words[0] = place->script;
    words[1] = first;
    words[2] = second;
    int failure;
    struct err err = {0};
    assert_int_equal(start(words, environment, &failure, &err), STATUS);
    assert_int_equal(failure, 0);
    free(words);
}

static void test_start(void **state)
{
    struct place *place = *state;
    char first[] = "a  b", second[] = "c", mark[] = "MARK=yes";
    char *words[] = {place->script, first, second, NULL}, *environment[] = {mark, NULL};
    int failure;
    struct err err = {0};
    assert_int_equal(start(words, environment, &failure, &err), STATUS);
    assert_int_equal(failure, 0);
}

static void test_start_failures(void **state)
{
    struct place *place = *state;
    static const struct {
        const char *name, *path;
        int status;
        const char *message;
    } cases[] = {
        {"rt-no-such-job", "PATH=/nowhere:/usr/bin", 127, "cannot run rt-no-such-job: command not found"},
        {"rt-no-such-job", "PATH=", 127, "cannot run rt-no-such-job: command not found"},
        {"", "PATH=/usr/bin", 127, "cannot run '': command not found"},
        {"/nowhere/job", "PATH=/usr/bin", 127,
            "cannot run /nowhere/job: No such file or directory: the file, or the interpreter in its first line"},
        {"/etc/passwd", "PATH=/usr/bin", 126, "cannot run /etc/passwd: Permission denied; is it an executable file?"},
        {"passwd", "PATH=/etc:/nowhere", 126, "cannot run passwd: Permission denied; is it an executable file?"},
        {"/etc", "PATH=/usr/bin", 126, "cannot run /etc: Permission denied; is it an executable file?"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[64], path[64];
        (void)snprintf(name, sizeof(name), "%s", cases[i].name);
        (void)snprintf(path, sizeof(path), "%s", cases[i].path);
        char *words[] = {name, NULL}, *environment[] = {path, NULL};
        int failure;
        struct err err = {0};
        assert_int_equal(start(words, environment, &failure, &err), 127);
        assert_int_equal(failure, cases[i].status);
        assert_string_equal(err.msg, cases[i].message);
    }
    assert_int_equal(chmod(place->script, 0600), 0);
    char *words[] = {place->script, NULL}, *environment[] = {NULL};
    int failure;
    struct err err = {0};
    assert_int_equal(start(words, environment, &failure, &err), 127);
    assert_int_equal(failure, 126);
    assert_int_equal(chmod(place->script, 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_path),
        cmocka_unit_test(test_by_name),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_start_failures),
        cmocka_unit_test(test_many_arguments),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
