/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of the spool: where it is found, when it is refused, what is left of it, and which runs are in it. */
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
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "skip.h"
#include "stream/spool/spool.h"
#include "tree.h"

enum { MAX_BYTES = 1024 * 1024, TEXT_BYTES = PATH_MAX };

static const char *path_in(const struct tree *tree, const char *path)
{
    static char text[TEXT_BYTES];
    assert_true(snprintf(text, sizeof(text), "%s/%s", tree->path, path) < TEXT_BYTES);
    return text;
}

static bool is_there(const struct tree *tree, const char *path)
{
    struct stat st;
    return lstat(path_in(tree, path), &st) == 0;
}

static unsigned mode_of(const struct tree *tree, const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path_in(tree, path), &st), 0);
    return st.st_mode & 07777u;
}

static void set_up(struct tree *tree, char real[static TEXT_BYTES])
{
    tree_make(tree);
    assert_non_null(realpath(tree->path, real));
}

static void assert_at(const struct spool *spool, const char *real, const char *below)
{
    char expected[2 * TEXT_BYTES];
    (void)snprintf(expected, sizeof(expected), "%s/%s", real, below);
    assert_string_equal(spool->path, expected);
    assert_true(spool->dir_fd >= 0);
    assert_int_equal(fcntl(spool->dir_fd, F_GETFD), FD_CLOEXEC);
}

static void test_given_is_made_and_removed(void **state)
{
    (void)state;
    struct tree tree;
    char real[TEXT_BYTES];
    struct spool spool;
    struct err err = {0};
    set_up(&tree, real);
    tree_directory(&tree, "there");
    char given[TEXT_BYTES];
    (void)str_copy(str_of(path_in(&tree, "there//a/./b/")), given, sizeof(given));
    const struct spool_paths places = {.given = given, .home = "/"};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, &err), 0);
    assert_at(&spool, real, "there/a/b");
    assert_int_equal(mode_of(&tree, "there/a"), 0700);
    assert_int_equal(mode_of(&tree, "there/a/b"), 0700);
    assert_int_equal(spool.max_bytes, MAX_BYTES);
    spool_close(&spool);
    assert_int_equal(spool.dir_fd, -1);
    assert_false(is_there(&tree, "there/a"));
    assert_true(is_there(&tree, "there"));
    spool_close(&spool);
    tree_free(&tree);
}

static void test_existing_stays(void **state)
{
    (void)state;
    struct tree tree;
    char real[TEXT_BYTES];
    struct spool spool;
    set_up(&tree, real);
    tree_directory(&tree, "spool");
    char given[TEXT_BYTES];
    (void)str_copy(str_of(path_in(&tree, "spool")), given, sizeof(given));
    const struct spool_paths places = {.given = given};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    spool_close(&spool);
    assert_true(is_there(&tree, "spool"));

    /* What we made stays where it is not empty. */
    (void)str_copy(str_of(path_in(&tree, "new/spool")), given, sizeof(given));
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    tree_write(&tree, "new/spool/note", "x");
    spool_close(&spool);
    assert_true(is_there(&tree, "new/spool/note"));
    tree_free(&tree);
}

static void test_not_wanted(void **state)
{
    (void)state;
    struct tree tree;
    char real[TEXT_BYTES];
    struct spool spool;
    struct err err = {0};
    set_up(&tree, real);
    char given[TEXT_BYTES];
    (void)str_copy(str_of(path_in(&tree, "none")), given, sizeof(given));
    const struct spool_paths places = {.given = given};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, false, &err), -ENOENT);
    assert_int_equal(spool.dir_fd, -1);
    assert_non_null(strstr(err.msg, given));
    assert_false(is_there(&tree, "none"));
    struct spool_entry *entries = NULL;
    assert_int_equal(spool_list(&spool, &entries, &err), 0);
    free(entries);
    spool_close(&spool);
    tree_directory(&tree, "none");
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, false, &err), 0);
    spool_close(&spool);
    assert_true(is_there(&tree, "none"));
    tree_free(&tree);
}

static void test_usual_places(void **state)
{
    (void)state;
    struct tree tree;
    char real[TEXT_BYTES];
    char home[TEXT_BYTES];
    char state_home[TEXT_BYTES];
    struct spool spool;
    set_up(&tree, real);
    tree_directory(&tree, "home");
    (void)str_copy(str_of(path_in(&tree, "home")), home, sizeof(home));
    (void)str_copy(str_of(path_in(&tree, "state")), state_home, sizeof(state_home));
    struct spool_paths places = {.given = "", .state_home = state_home, .home = home};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    assert_at(&spool, real, "state/resource-tracker/spool");
    spool_close(&spool);
    assert_false(is_there(&tree, "state"));

    places.state_home = "relative/state";
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    assert_at(&spool, real, "home/.local/state/resource-tracker/spool");
    spool_close(&spool);
    assert_false(is_there(&tree, "home/.local"));
    assert_true(is_there(&tree, "home"));
    assert_int_not_equal(access("relative", F_OK), 0);

    /* A place that cannot be had is passed over. */
    tree_write(&tree, "file", "x");
    (void)str_copy(str_of(path_in(&tree, "file/below")), state_home, sizeof(state_home));
    places.state_home = state_home;
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    assert_at(&spool, real, "home/.local/state/resource-tracker/spool");
    spool_close(&spool);
    tree_free(&tree);
}

static void test_no_home(void **state)
{
    (void)state;
    struct spool spool;
    char expected[128];
    (void)snprintf(expected, sizeof(expected), "resource-tracker-%u/spool", (unsigned)geteuid());
    const struct spool_paths places = {.home = "/proc/none", .state_home = ""};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    assert_non_null(strstr(spool.path, expected));
    assert_true(spool.is_shared);
    spool_close(&spool);
}

static void assert_refused(const char *given, int expected, const char *word)
{
    struct spool spool;
    struct err err = {0};
    const struct spool_paths places = {.given = given};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, &err), expected);
    assert_int_equal(err.code, expected);
    assert_int_equal(spool.dir_fd, -1);
    if (!strstr(err.msg, given) || !strstr(err.msg, word))
        fail_msg("'%s' names neither '%s' nor '%s'", err.msg, given, word);
    spool_close(&spool);
}

static void test_unsafe_mode(void **state)
{
    (void)state;
    struct tree tree;
    char real[TEXT_BYTES];
    char given[2 * TEXT_BYTES];
    set_up(&tree, real);
    tree_directory(&tree, "spool");
    (void)snprintf(given, sizeof(given), "%s/spool", real);
    static const mode_t unsafe[] = {0770, 0720, 0702, 0777, 01777};
    for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++) {
        assert_int_equal(chmod(given, unsafe[i]), 0);
        assert_refused(given, -EPERM, "chmod 700 ");
    }
    assert_int_equal(chmod(given, 0755), 0);
    struct spool spool;
    const struct spool_paths places = {.given = given};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    spool_close(&spool);
    tree_free(&tree);
}

/* An unsafe directory of the user's own is not silently replaced by another place. */
static void test_unsafe_state_home(void **state)
{
    (void)state;
    struct tree tree;
    char real[TEXT_BYTES];
    char state_home[TEXT_BYTES];
    struct spool spool;
    struct err err = {0};
    set_up(&tree, real);
    tree_directory(&tree, "resource-tracker/spool");
    assert_int_equal(chmod(path_in(&tree, "resource-tracker/spool"), 0777), 0);
    (void)str_copy(str_of(tree.path), state_home, sizeof(state_home));
    const struct spool_paths places = {.state_home = state_home};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, &err), -EPERM);
    assert_non_null(strstr(err.msg, "chmod 700"));
    assert_int_equal(spool.dir_fd, -1);
    tree_free(&tree);
}

static void test_not_a_directory(void **state)
{
    (void)state;
    struct tree tree;
    char given[TEXT_BYTES];
    tree_make(&tree);
    tree_write(&tree, "file", "x");
    tree_link(&tree, "dangling", "nowhere");
    (void)str_copy(str_of(path_in(&tree, "file")), given, sizeof(given));
    assert_refused(given, -ENOTDIR, "directory");
    (void)str_copy(str_of(path_in(&tree, "dangling")), given, sizeof(given));
    assert_refused(given, -ENOTDIR, "directory");
    assert_false(is_there(&tree, "nowhere"));
    /* What was made on the way to a failure goes again. */
    (void)str_copy(str_of(path_in(&tree, "new/directory/")), given, sizeof(given));
    memset(given + strlen(given), 'x', 300);
    given[strlen(tree.path) + 12 + 300] = '\0';
    assert_refused(given, -ENAMETOOLONG, "long");
    assert_false(is_there(&tree, "new"));
    tree_free(&tree);
}

static void test_link_to_a_directory(void **state)
{
    (void)state;
    struct tree tree;
    char real[TEXT_BYTES];
    char given[TEXT_BYTES];
    struct spool spool;
    set_up(&tree, real);
    tree_directory(&tree, "target");
    tree_link(&tree, "link", "target");
    (void)str_copy(str_of(path_in(&tree, "link")), given, sizeof(given));
    const struct spool_paths places = {.given = given};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    assert_at(&spool, real, "target");
    spool_close(&spool);
    (void)str_copy(str_of(path_in(&tree, "link/made")), given, sizeof(given));
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    assert_at(&spool, real, "target/made");
    spool_close(&spool);
    assert_true(is_there(&tree, "target"));
    assert_false(is_there(&tree, "target/made"));
    tree_free(&tree);
}

static void test_foreign_owner(void **state)
{
    (void)state;
    struct tree tree;
    char real[TEXT_BYTES];
    char given[2 * TEXT_BYTES];
    set_up(&tree, real);
    tree_directory(&tree, "spool");
    tree_directory(&tree, "home");
    (void)snprintf(given, sizeof(given), "%s/spool", real);
    assert_int_equal(chown(given, 12345, 12345), 0);
    assert_refused(given, -EPERM, "12345");

    /* The home of another user gets nothing from us. */
    assert_int_equal(chown(path_in(&tree, "home"), 12345, 12345), 0);
    (void)str_copy(str_of(path_in(&tree, "home")), given, sizeof(given));
    struct spool spool;
    const struct spool_paths places = {.home = given};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    assert_true(spool.is_shared);
    spool_close(&spool);
    assert_false(is_there(&tree, "home/.local"));
    tree_free(&tree);
}

/* In a child that runs as the user nobody, where we are root. */
SKIPPABLE_TEST(test_unreachable);
static void test_unreachable(void **state)
{
    (void)state;
    struct tree tree;
    char given[TEXT_BYTES];
    tree_make(&tree);
    tree_directory(&tree, "closed");
    assert_int_equal(chmod(path_in(&tree, "closed"), 0), 0);
    (void)str_copy(str_of(path_in(&tree, "closed/spool")), given, sizeof(given));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
            _exit(77);
        struct spool spool;
        struct err err = {0};
        const struct spool_paths places = {.given = given};
        int r = spool_open(&spool, &places, MAX_BYTES, true, &err);
        _exit(r == -EACCES && spool.dir_fd == -1 && strstr(err.msg, given) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod(path_in(&tree, "closed"), 0700), 0);
    tree_free(&tree);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        SKIP_TEST(test_unreachable, "only root may become another user");
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Many short runs at once: one that ends removes an empty spool while another begins, and no run fails. */
static void test_many_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 6, ROUNDS = 40 };
    struct tree tree;
    char given[TEXT_BYTES];
    pid_t children[PROCESSES];
    tree_make(&tree);
    (void)str_copy(str_of(path_in(&tree, "above/spool")), given, sizeof(given));
    const struct spool_paths places = {.given = given};
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        for (int round = 0; children[i] == 0 && round < ROUNDS; round++) {
            struct spool spool;
            struct spool_run run;
            struct err err = {0};
            char name[SPOOL_NAME_BYTES];
            (void)snprintf(name, sizeof(name), "run-%d-%d", i, round);
            if (spool_open(&spool, &places, MAX_BYTES, true, &err) < 0 ||
                spool_run_create(&run, &spool, name, &err) < 0 || spool_run_remove(&run, &err) < 0) {
                (void)fprintf(stderr, "%s\n", err.msg);
                _exit(1);
            }
            spool_close(&spool);
        }
        if (children[i] == 0)
            _exit(0);
    }
    int failed = 0;
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        failed += status != 0;
    }
    assert_int_equal(failed, 0);
    tree_free(&tree);
}

static void make_old(const struct tree *tree, const char *path)
{
    const struct timespec when[2] = {{.tv_sec = time(NULL) - 3700}, {.tv_sec = time(NULL) - 3700}};
    assert_int_equal(utimensat(AT_FDCWD, path_in(tree, path), when, AT_SYMLINK_NOFOLLOW), 0);
}

static void test_list(void **state)
{
    (void)state;
    struct tree tree;
    char given[TEXT_BYTES];
    struct spool spool;
    struct spool_entry *entries = NULL;
    tree_make(&tree);
    (void)str_copy(str_of(tree.path), given, sizeof(given));
    const struct spool_paths places = {.given = given};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    assert_int_equal(spool_list(&spool, &entries, NULL), 0);
    free(entries);
    static const char *const directories[] = {"b-run", "a_run.1", "20261115T093000Z-ab", ".young", "with blank",
        "x\xc3\xa4", "a23456789012345678901234567890123456789012345678901234567890123",
        "a234567890123456789012345678901234567890123456789012345678901234"};
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
        tree_directory(&tree, directories[i]);
    tree_write(&tree, "file", "x");
    tree_link(&tree, "link", "b-run");
    assert_int_equal(spool_list(&spool, &entries, NULL), 4);
    assert_string_equal(entries[0].name, "20261115T093000Z-ab");
    assert_string_equal(entries[1].name, directories[6]);
    assert_string_equal(entries[2].name, "a_run.1");
    assert_string_equal(entries[3].name, "b-run");
    free(entries);
    assert_true(is_there(&tree, ".young"));
    spool_close(&spool);
    tree_free(&tree);
}

static void test_list_sweeps(void **state)
{
    (void)state;
    struct tree tree;
    char given[TEXT_BYTES];
    struct spool spool;
    struct spool_entry *entries = NULL;
    tree_make(&tree);
    (void)str_copy(str_of(tree.path), given, sizeof(given));
    const struct spool_paths places = {.given = given};
    assert_int_equal(spool_open(&spool, &places, MAX_BYTES, true, NULL), 0);
    tree_directory(&tree, ".bare");
    tree_write(&tree, ".cut/lock", "");
    tree_write(&tree, ".cut/state.json", "{}");
    tree_write(&tree, ".cut/000003.csv.gz", "x");
    tree_write(&tree, ".held/lock", "");
    tree_write(&tree, ".other/photo.jpg", "x");
    static const char *const hidden[] = {".bare", ".cut", ".held", ".other"};
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        make_old(&tree, hidden[i]);
    int held = open(path_in(&tree, ".held/lock"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(spool_list(&spool, &entries, NULL), 0);
    free(entries);
    assert_false(is_there(&tree, ".bare"));
    assert_false(is_there(&tree, ".cut"));
    assert_true(is_there(&tree, ".held/lock"));
    assert_true(is_there(&tree, ".other/photo.jpg"));
    assert_int_equal(close(held), 0);
    make_old(&tree, ".held");
    assert_int_equal(spool_list(&spool, &entries, NULL), 0);
    free(entries);
    assert_false(is_there(&tree, ".held"));
    spool_close(&spool);
    tree_free(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given_is_made_and_removed), cmocka_unit_test(test_existing_stays),
        cmocka_unit_test(test_not_wanted), cmocka_unit_test(test_usual_places), cmocka_unit_test(test_no_home),
        cmocka_unit_test(test_unsafe_mode), cmocka_unit_test(test_unsafe_state_home),
        cmocka_unit_test(test_not_a_directory), cmocka_unit_test(test_link_to_a_directory),
        skippable_unit_test(test_unreachable), cmocka_unit_test(test_many_at_once), cmocka_unit_test(test_list),
        cmocka_unit_test(test_list_sweeps),
        cmocka_unit_test(test_foreign_owner), /* the last: only root can give a directory away */
    };
    size_t count = sizeof(tests) / sizeof(tests[0]) - (geteuid() == 0 ? 0 : 1);
    return _cmocka_run_group_tests("spool", tests, count, NULL, NULL);
}
