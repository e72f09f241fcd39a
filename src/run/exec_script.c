/* SPDX-License-Identifier: Apache-2.0 */
#include "run/exec_script.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define SHELL "/bin/sh"
#define PATH_DEFAULT "/usr/local/bin:/bin:/usr/bin" /* musl's */

enum { WORDS_MAX = 4096 };

static void exec_shell(char *path, char *const argv[], char *const environment[])
{
    char shell[] = SHELL;
    char *words[WORDS_MAX + 1] = {shell, path};
    size_t count = 2;
    for (size_t i = 1; argv[i] && count < WORDS_MAX; i++)
        words[count++] = argv[i];
    errno = E2BIG;
    if (count < WORDS_MAX)
        (void)execve(shell, words, environment);
}

static const char *search_path(char *const environment[])
{
    for (size_t i = 0; environment[i]; i++) {
        if (strncmp(environment[i], "PATH=", 5) == 0)
            return environment[i] + 5;
    }
    return PATH_DEFAULT;
}

void exec_script(char *const argv[], char *const environment[])
{
    char *name = argv[0];
    if (strchr(name, '/')) {
        exec_shell(name, argv, environment);
        return;
    }
    const size_t name_bytes = strlen(name) + 1;
    const char *folder = search_path(environment);
    for (;;) {
        char path[PATH_MAX];
        size_t length = strcspn(folder, ":");
        if (length + 1 + name_bytes <= sizeof(path)) {
            memcpy(path, folder, length);
            path[length] = '/';
            memcpy(path + length + (length > 0), name, name_bytes);
            (void)execve(path, argv, environment);
            if (errno == ENOEXEC) {
                exec_shell(path, argv, environment);
                return;
            }
        }
        if (!folder[length])
            break;
        folder += length + 1;
    }
    errno = ENOEXEC;
}
