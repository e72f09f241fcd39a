/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child begins in our own memory, on a stack of its own (CLONE_VM): copying the page tables, and every page that
 * either of us writes to afterwards, costs more than all else we do before the command is started. Unlike vfork we go
 * on at once: a program on a file system that does not answer must not keep us from passing signals on. Both use the
 * same thread-local storage until the child executes the command, so that the child must not change errno: its system
 * calls are made without the C library. Where the architecture, the kernel, an emulator or a sanitizer cannot do that,
 * it is fork, and a page that both see. There the child leaves the errno of an exec that failed before it ends.
 */
#include "run/spawn.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "base/syscalls.h"

#define INTO_CGROUP UINT64_C(0x200000000)

struct clone_request {
    uint64_t flags;
    uint64_t pidfd, child_tid, parent_tid; /* addresses */
    uint64_t exit_signal;
    uint64_t stack, stack_size, tls;
    uint64_t set_tid, set_tid_size;
    uint64_t cgroup; /* descriptor */
};

static_assert(sizeof(struct clone_request) == 88, "the kernel knows the structure by its size");

pid_t clone_into_cgroup(int dir_fd)
{
    if (dir_fd < 0)
        return -EBADF;
    struct clone_request request = {.flags = INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)dir_fd};
    long pid = syscall(SYS_clone3, &request, sizeof(request));
    return (pid_t)(pid < 0 ? err_last() : pid);
}

/* A system call of three arguments that leaves errno alone. Returns what the kernel does: a negative errno on failure.
 */
#if defined(__x86_64__) && defined(__LP64__) && !defined(SPAWN_BY_FORK)
#define CAN_SHARE_MEMORY 1
static long raw_call(long number, long first, long second, long third)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__) && defined(__LP64__) && !defined(SPAWN_BY_FORK)
#define CAN_SHARE_MEMORY 1
static long raw_call(long number, long first, long second, long third)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#else
#define CAN_SHARE_MEMORY 0
static long raw_call(long number, long first, long second, long third)
{
    long result = syscall(number, first, second, third);
    return result < 0 ? err_last() : result;
}
#endif

#define SHELL "/bin/sh"
#define PATH_DEFAULT "/bin:/usr/bin" /* execvp's */

enum { STACK_BYTES = 64 * 1024 };

/* Returns the errno, positive: execve returns only where it failed. */
static int execute(const char *path, const void *argv, char *const environment[])
{
    return (int)-raw_call(SYS_execve, (long)path, (long)argv, (long)environment);
}

static int execute_script(const char *path, char *const argv[], char *const environment[], const char **script_argv)
{
    size_t count = 0;
    script_argv[count++] = SHELL;
    script_argv[count++] = path;
    for (size_t i = 1; argv[i]; i++)
        script_argv[count++] = argv[i];
    script_argv[count] = NULL;
    int code = execute(SHELL, script_argv, environment);
    return code == ENOENT ? ENOEXEC : code;
}

static int execute_path(const char *path, char *const argv[], char *const environment[], const char **script_argv)
{
    int code = execute(path, argv, environment);
    return code == ENOEXEC ? execute_script(path, argv, environment, script_argv) : code;
}

/* The text behind "NAME="; NULL where it is not set. Unlike env_get: an empty PATH is the working directory. */
static const char *value_of(char *const environment[], struct str name)
{
    for (size_t i = 0; environment[i]; i++) {
        if (strncmp(environment[i], name.p, name.n) == 0)
            return environment[i] + name.n;
    }
    return NULL;
}

/* Does the search go on after this errno? As execvp has it: what is not there, or not to be reached. */
static bool is_absent(int code)
{
    return code == EACCES || code == ENOENT || code == ENOTDIR || code == ENODEV || code == ESTALE || code == ETIMEDOUT;
}

int spawn_execute(char *const argv[], char *const environment[], const char **script_argv)
{
    const char *name = argv[0];
    if (strchr(name, '/'))
        return execute_path(name, argv, environment, script_argv);
    const size_t name_bytes = strlen(name) + 1;
    if (name_bytes == 1)
        return ENOENT;
    if (name_bytes > NAME_MAX + 1)
        return ENAMETOOLONG;
    const char *dir = value_of(environment, STR("PATH="));
    if (!dir)
        dir = PATH_DEFAULT;
    for (int last = ENOENT, refused = 0;; dir++) {
        char path[PATH_MAX];
        size_t length = strcspn(dir, ":");
        if (length + 1 + name_bytes <= sizeof(path)) {
            memcpy(path, dir, length);
            path[length] = '/';
            memcpy(path + length + (length > 0), name, name_bytes);
            last = execute_path(path, argv, environment, script_argv);
            if (!is_absent(last))
                return last;
            if (last == EACCES)
                refused = EACCES;
        }
        dir += length;
        if (!*dir)
            return refused ? refused : last;
    }
}

/* What the child reads, and its stack, from the moment it begins until it executes something. */
struct spawn_memory {
    struct spawn_request request;
    atomic_int failure; /* the errno of its exec */
    bool is_mapped; /* a fork sees it */
    size_t bytes;
    _Alignas(16) char stack[STACK_BYTES];
    const char *script_argv[]; /* of a script without "#!": two more than the command has, with the NULL */
};

static size_t memory_bytes(const struct spawn_request *request)
{
    size_t count = 0;
    while (request->argv[count])
        count++;
    return sizeof(struct spawn_memory) + (count + 2) * sizeof(char *);
}

/* Only calls that are safe between fork and exec and cannot fail, and raw ones else. */
static int run_child(void *context)
{
    struct spawn_memory *memory = context;
    const struct spawn_request *request = &memory->request;
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    if (request->ignore_sigchld)
        (void)sigaction(SIGCHLD, &ignore, NULL);
    (void)sigprocmask(SIG_SETMASK, request->mask, NULL);
    atomic_store(&memory->failure, spawn_execute(request->argv, request->environment, memory->script_argv));
    (void)raw_call(SYS_exit_group, SPAWN_NOT_FOUND, 0, 0);
    return SPAWN_NOT_FOUND;
}

static void release(struct spawn_memory *memory)
{
    if (memory && memory->is_mapped)
        (void)munmap(memory, memory->bytes);
    else
        free(memory);
}

/* valgrind ends a program that starts a process in its own memory; it preloads libraries of its own. */
static bool is_below_valgrind(char *const environment[])
{
    const char *preloaded = value_of(environment, STR("LD_PRELOAD="));
    return preloaded && strstr(preloaded, "/vgpreload_");
}

static pid_t start_sharing(const struct spawn_request *request, struct spawn_memory **ret_memory)
{
    bool can_share = CAN_SHARE_MEMORY && request->group_fd < 0 && !is_below_valgrind(request->environment);
    struct spawn_memory *memory = can_share ? malloc(memory_bytes(request)) : NULL;
    if (!memory)
        return -ENOSYS;
    memory->request = *request;
    memory->failure = 0;
    memory->is_mapped = false;
    int before = errno;
    pid_t pid = clone(run_child, memory->stack + sizeof(memory->stack), CLONE_VM | SIGCHLD, memory);
    if (pid < 0) {
        pid = err_last();
        errno = before; /* an emulator that refuses this is no error */
        release(memory);
    } else {
        *ret_memory = memory;
    }
    return pid;
}

static pid_t start_copy(const struct spawn_request *request, struct spawn_memory **ret_memory)
{
    size_t bytes = memory_bytes(request);
    struct spawn_memory *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return err_last();
    memory->request = *request;
    memory->is_mapped = true;
    memory->bytes = bytes;
    pid_t pid = request->group_fd >= 0 ? clone_into_cgroup(request->group_fd) : fork();
    if (pid == 0)
        _exit(run_child(memory));
    if (pid < 0) {
        pid = request->group_fd >= 0 ? pid : err_last();
        release(memory);
    } else {
        *ret_memory = memory;
    }
    return pid;
}

int spawn_start(const struct spawn_request *request, struct spawn *ret_spawn)
{
    struct spawn_memory *memory = NULL;
    pid_t pid = start_sharing(request, &memory);
    if (pid < 0 && pid != -EAGAIN && pid != -ENOMEM)
        pid = start_copy(request, &memory);
    if (pid < 0)
        return pid;
    *ret_spawn = (struct spawn){.pid = pid, .memory = memory};
    return 0;
}

/* Where "env" is missing, PASSWORD=… is the program. */
void spawn_name(const char *program, enum mask_mode mode, char ret_name[static SPAWN_NAME_BYTES])
{
    if (program[0])
        mask_argument(program, mode, ret_name, SPAWN_NAME_BYTES);
    else
        (void)str_copy(STR("''"), ret_name, SPAWN_NAME_BYTES);
}

int spawn_failure(const struct spawn *spawn, const char *program, enum mask_mode mode, struct err *err)
{
    int code = spawn->memory ? atomic_load(&spawn->memory->failure) : 0;
    if (code == 0)
        return 0;
    char name[SPAWN_NAME_BYTES];
    spawn_name(program, mode, name);
    /* Which of the two is missing a file system would know, which is not asked here. */
    const char *why = code == ENOENT && strchr(program, '/')
                          ? "No such file or directory: the file, or the interpreter in its first line"
                      : code == ENOENT ? "command not found"
                      : code == EACCES ? "Permission denied; is it an executable file?"
                                       : strerror(code);
    (void)err_set(err, -code, "cannot run %s: %s", name, why);
    return code == ENOENT ? SPAWN_NOT_FOUND : SPAWN_NOT_EXECUTABLE;
}

void spawn_close(struct spawn *spawn)
{
    release(spawn->memory);
    spawn->memory = NULL;
}
