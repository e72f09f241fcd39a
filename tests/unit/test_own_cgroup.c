/* SPDX-License-Identifier: Apache-2.0 */
/* The group made for the command: its names, what is swept and what is not, moving members, on plain directories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_env.h"
#include "run/session_internal.h"

/* Above what the kernel gives out, so that it never exists. */
#define NO_PID "2147483647"
#define NOW_SECS INT64_C(2000000000)

static void assert_pid(const char *name, pid_t want)
{
    pid_t pid = -1;
    assert_true(own_cgroup_name_parse(name, &pid));
    assert_int_equal(pid, want);
}

static void test_names(void **unused)
{
    (void)unused;
    assert_pid("resource-tracker-1", 1);
    assert_pid("resource-tracker-4194303", 4194303);
    assert_pid("resource-tracker-" NO_PID, INT32_MAX);
    assert_pid("resource-tracker-77-2", 77);
    assert_pid("resource-tracker-77-64", 77);
    static const char *const others[] = {
        "",
        "resource-tracker",
        "resource-tracker-",
        "resource-tracker-0",
        "resource-tracker--5",
        "resource-tracker-+5",
        "resource-tracker- 5",
        "resource-tracker-5x",
        "resource-tracker-5-",
        "resource-tracker-5-x",
        "resource-tracker-5-2-3",
        "resource-tracker-5.scope",
        "resource-tracker-2147483648",
        "resource-tracker-99999999999999999999999",
        "Resource-tracker-5",
        "my-resource-tracker-5",
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        pid_t pid = -7;
        assert_false(own_cgroup_name_parse(others[i], &pid));
        assert_int_equal(pid, -7);
    }
}

static void age(struct fake_env *fake, const char *path, int64_t secs)
{
    const struct timespec then = {.tv_sec = NOW_SECS - secs};
    const struct timespec times[2] = {then, then};
    assert_int_equal(utimensat(fake->root.root_fd, path, times, 0), 0);
}

static void put_group(struct fake_env *fake, const char *name, int64_t age_secs)
{
    char path[160];
    assert_in_range(snprintf(path, sizeof(path), "g/%s", name), 1, sizeof(path) - 1);
    fake_env_mkdir(fake, path);
    age(fake, path, age_secs);
}

static bool exists(struct fake_env *fake, const char *name)
{
    char path[160];
    assert_in_range(snprintf(path, sizeof(path), "g/%s", name), 1, sizeof(path) - 1);
    return faccessat(fake->root.root_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_groups(struct fake_env *fake)
{
    int fd = openat(fake->root.root_fd, "g", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void test_sweep(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    char ours[64], living[64];
    (void)snprintf(ours, sizeof(ours), "resource-tracker-%jd", (intmax_t)getpid());
    (void)snprintf(living, sizeof(living), "resource-tracker-%jd", (intmax_t)getppid());
    put_group(&fake, "resource-tracker-" NO_PID, OWN_CGROUP_LEFTOVER_SECS + 1);
    put_group(&fake, "resource-tracker-" NO_PID "-2", 100000);
    /* Of one before us that had our number. */
    put_group(&fake, ours, OWN_CGROUP_LEFTOVER_SECS + 1);

    put_group(&fake, "resource-tracker-" NO_PID "-3", OWN_CGROUP_LEFTOVER_SECS);
    put_group(&fake, "resource-tracker-" NO_PID "-4", -1000);
    put_group(&fake, living, 100000);
    put_group(&fake, "resource-tracker-" NO_PID "x", 100000);
    put_group(&fake, "user.slice", 100000);
    put_group(&fake, "resource-tracker-" NO_PID "-5", 0);
    /* A directory with a file in it cannot be removed, like a group below that is in use. */
    fake_env_write(&fake, "g/resource-tracker-" NO_PID "-5/below/member", "");
    age(&fake, "g/resource-tracker-" NO_PID "-5", 100000);
    fake_env_write(&fake, "g/resource-tracker-" NO_PID "-6", "");
    age(&fake, "g/resource-tracker-" NO_PID "-6", 100000);
    fake_env_link(&fake, "g/resource-tracker-" NO_PID "-7", "user.slice");

    put_group(&fake, "resource-tracker-" NO_PID "-8", 0);
    fake_env_mkdir(&fake, "g/resource-tracker-" NO_PID "-8/below/deeper");
    age(&fake, "g/resource-tracker-" NO_PID "-8", 100000);

    int fd = open_groups(&fake), before = fake_env_open_count();
    assert_int_equal(own_cgroup_sweep(fd, NOW_SECS), 4);
    assert_false(exists(&fake, "resource-tracker-" NO_PID "-8"));
    assert_int_equal(fake_env_open_count(), before);
    assert_false(exists(&fake, "resource-tracker-" NO_PID));
    assert_false(exists(&fake, "resource-tracker-" NO_PID "-2"));
    assert_false(exists(&fake, ours));
    for (int i = 3; i <= 7; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "resource-tracker-" NO_PID "-%d", i);
        assert_true(exists(&fake, name));
    }
    assert_true(exists(&fake, living));
    assert_true(exists(&fake, "resource-tracker-" NO_PID "x"));
    assert_true(exists(&fake, "user.slice"));
    assert_int_equal(own_cgroup_sweep(fd, NOW_SECS), 0);
    assert_int_equal(own_cgroup_sweep(fd, NOW_SECS + 1), 1);
    assert_false(exists(&fake, "resource-tracker-" NO_PID "-3"));
    assert_int_equal(own_cgroup_sweep(-1, NOW_SECS), 0);
    assert_int_equal(close(fd), 0);
    fake_env_fini(&fake);
}

static void test_sweep_is_bounded(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    for (int i = 1; i <= OWN_CGROUP_SWEEP_MAX + 6; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "resource-tracker-" NO_PID "-%d", i);
        put_group(&fake, name, 1000);
    }
    int fd = open_groups(&fake);
    assert_int_equal(own_cgroup_sweep(fd, NOW_SECS), OWN_CGROUP_SWEEP_MAX);
    assert_int_equal(own_cgroup_sweep(fd, NOW_SECS), 6);
    assert_int_equal(close(fd), 0);
    fake_env_fini(&fake);
}

static void test_make_and_remove(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    fake_env_mkdir(&fake, "g");
    int before = fake_env_open_count();
    char first[64], second[64], dir[64];
    (void)snprintf(first, sizeof(first), "resource-tracker-%jd", (intmax_t)getpid());
    (void)snprintf(second, sizeof(second), "%.60s-2", first);
    (void)snprintf(dir, sizeof(dir), "a/%.60s", second);
    static struct own_cgroup one, two;
    struct err err = {0};
    assert_int_equal(own_cgroup_make(open_groups(&fake), "", &one, &err), 0);
    assert_int_equal(own_cgroup_make(open_groups(&fake), "a", &two, &err), 0);
    assert_int_equal(err.code, 0);
    assert_string_equal(one.name, first);
    assert_string_equal(one.dir, first);
    assert_string_equal(two.name, second);
    assert_string_equal(two.dir, dir);
    struct stat info, opened;
    assert_int_equal(fstatat(two.parent_fd, two.name, &info, 0), 0);
    assert_int_equal(fstat(two.dir_fd, &opened), 0);
    assert_int_equal(info.st_ino, opened.st_ino);
    assert_int_equal(info.st_mode & 0777 & ~0755U, 0);

    own_cgroup_remove(&one);
    assert_false(exists(&fake, first));
    assert_true(exists(&fake, second));
    own_cgroup_remove(&one);
    assert_int_equal(one.dir_fd, -1);
    /* What does not go is left, but not its descriptors. */
    char file[64];
    (void)snprintf(file, sizeof(file), "g/%.50s/kept", second);
    fake_env_write(&fake, file, "");
    own_cgroup_remove(&two);
    assert_true(exists(&fake, second));
    assert_int_equal(fake_env_open_count(), before);

    one = (struct own_cgroup){0};
    own_cgroup_remove(&one);
    one = (struct own_cgroup){.dir_fd = -1, .parent_fd = -1};
    own_cgroup_remove(&one);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

static void test_make_fails(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    fake_env_mkdir(&fake, "g");
    int fd = open_groups(&fake), before = fake_env_open_count();
    static struct own_cgroup group;
    memset(&group, 0xa5, sizeof(group));
    static struct own_cgroup untouched;
    memset(&untouched, 0xa5, sizeof(untouched));
    static char long_dir[PATH_MAX];
    memset(long_dir, 'x', sizeof(long_dir) - 10);
    struct err err = {0};
    assert_int_equal(own_cgroup_make(fd, long_dir, &group, &err), -ENAMETOOLONG);
    assert_int_equal(err.code, -ENAMETOOLONG);
    assert_int_equal(fake_env_open_count(), before);
    /* Nothing is left of it: the directory can go. */
    fake_env_remove(&fake, "g");
    assert_int_equal(own_cgroup_make(fd, "g", &group, &err), -ENOENT);
    assert_string_equal(err.msg, "cgroup: cannot create a group in /g: No such file or directory");
    assert_memory_equal(&group, &untouched, sizeof(group));
    assert_int_equal(close(fd), 0);

    /* A captured machine. */
    assert_int_equal(own_cgroup_create(&group, &fake.root, &err), -ENOTSUP);
    assert_non_null(strstr(err.msg, fake.dir));
    assert_memory_equal(&group, &untouched, sizeof(group));
    fake_env_fini(&fake);
}

static void test_all_names_taken(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    fake_env_mkdir(&fake, "g");
    struct err err = {0};
    static struct own_cgroup group;
    int fd = open_groups(&fake), made = 0;
    for (; made < 1000; made++) {
        if (own_cgroup_make(fd, "g", &group, &err) < 0)
            break;
        assert_int_equal(close(group.dir_fd), 0);
    }
    assert_in_range(made, 2, 100);
    assert_int_equal(err.code, -EEXIST);
    assert_int_equal(close(fd), 0);
    fake_env_fini(&fake);
}

static void assert_text(struct fake_env *fake, const char *path, const char *want)
{
    char text[256];
    int fd = openat(fake->root.root_fd, path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(text, want);
    assert_int_equal(close(fd), 0);
}

static void test_move(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    /* 0: outside of our namespace; the last line is cut. */
    fake_env_write(&fake, "from/cgroup.procs", "12\n0\n345\nx\n\n6789\n10\n11");
    fake_env_write(&fake, "to/cgroup.procs", "");
    int from = openat(fake.root.root_fd, "from", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int to = openat(fake.root.root_fd, "to", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(from >= 0 && to >= 0);
    int before = fake_env_open_count();
    assert_int_equal(own_cgroup_move(from, to, 1000), 4);
    assert_text(&fake, "to/cgroup.procs", "12\n345\n6789\n10\n");
    fake_env_write(&fake, "to/cgroup.procs", "");
    assert_int_equal(own_cgroup_move(from, to, 2), 2);
    assert_text(&fake, "to/cgroup.procs", "12\n345\n");
    assert_int_equal(own_cgroup_move(from, to, 0), 0);

    /* More than is read at once: whole lines of the beginning. */
    static char many[80 * 1024];
    for (size_t i = 0; i + 5 <= sizeof(many) - 1; i += 5)
        memcpy(many + i, "4321\n", 5);
    fake_env_write(&fake, "from/cgroup.procs", many);
    assert_int_equal(own_cgroup_move(from, to, OWN_CGROUP_MOVES_MAX), OWN_CGROUP_MOVES_MAX);
    assert_int_equal(own_cgroup_move(from, to, SIZE_MAX), 64 * 1024 / 5);

    fake_env_remove(&fake, "to/cgroup.procs");
    assert_int_equal(own_cgroup_move(from, to, 10), 0);
    fake_env_remove(&fake, "from/cgroup.procs");
    assert_int_equal(own_cgroup_move(from, to, 10), 0);
    assert_int_equal(fake_env_open_count(), before);
    assert_int_equal(close(from), 0);
    assert_int_equal(close(to), 0);
    fake_env_fini(&fake);
}

/* No process comes of it, whether or not the kernel knows the call. */
static void test_clone_into_nothing(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    assert_int_equal(clone_into_cgroup(-1), -EBADF);
    assert_in_range(-(int64_t)clone_into_cgroup(fake.root.proc_fd), 1, 4095);
    fake_env_fini(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_sweep_is_bounded),
        cmocka_unit_test(test_make_and_remove),
        cmocka_unit_test(test_make_fails),
        cmocka_unit_test(test_all_names_taken),
        cmocka_unit_test(test_move),
        cmocka_unit_test(test_clone_into_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
