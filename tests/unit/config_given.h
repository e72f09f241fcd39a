/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of config_load from what a user gives: a file in the working directory, variables, arguments. The group runs
 * in a fresh directory, so that messages hold the plain name resource-tracker.toml.
 */
#ifndef TESTS_CONFIG_GIVEN_H
#define TESTS_CONFIG_GIVEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"

#define GIVEN_FILE "resource-tracker.toml"

struct given {
    const char *file; /* NULL: there is none */
    const char *env[8];
    const char *args[16];
};

static inline int given_enter_directory(void **state)
{
    char *path = strdup("/tmp/test-config-XXXXXX");
    *state = path;
    return path && mkdtemp(path) && chdir(path) == 0 ? 0 : -1;
}

static inline int given_leave_directory(void **state)
{
    (void)unlink(GIVEN_FILE);
    int r = chdir("/") == 0 ? rmdir(*state) : -1;
    free(*state);
    return r;
}

static inline void given_write(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0644), 0); /* whatever the umask: one that others can write would not be used */
}

static inline int given_load(const struct given *given, struct config *ret_config, struct err *err)
{
    (void)unlink(GIVEN_FILE);
    if (given->file)
        given_write(GIVEN_FILE, given->file, strlen(given->file));
    /* The command that is found points into it. */
    static char *argv[20];
    memset(argv, 0, sizeof(argv));
    argv[0] = (char *)(uintptr_t) "resource-tracker";
    int argc = 1;
    for (; argc < 17 && given->args[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)given->args[argc - 1];
    err_clear(err);
    return config_load(argc, argv, (char *const *)(uintptr_t)given->env, ret_config, err);
}

/* Loads what must be accepted. */
static inline void given_ok(const struct given *given, struct config *ret_config)
{
    struct err err;
    if (given_load(given, ret_config, &err) < 0)
        fail_msg("refused: %s", err.msg);
}

/* Loads what must be refused with exactly this message. */
static inline void given_refused(const struct given *given, const char *message)
{
    struct config config;
    struct err err;
    if (given_load(given, &config, &err) == 0) {
        config_fini(&config);
        fail_msg("accepted, wanted: %s", message);
    }
    assert_string_equal(err.msg, message);
    assert_true(err.code < 0);
}

#define GIVEN(...) (&(struct given){__VA_ARGS__})

#endif
