/* SPDX-License-Identifier: Apache-2.0 */
/* How many processes there are: by listing, by links where they can be trusted, and when they cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "collect/collect_internal.h"
#include "fake_env.h"
#include "skip.h"

static const char initial_namespace[] = "pid:[4026531836]";

static void assert_count(struct process_count *count, const struct fake_env *fake, uint64_t expected)
{
    struct opt_u64 got = process_count_read(count, fake->mono_ns, (struct opt_u64){0});
    assert_true(got.has);
    assert_int_equal(got.v, expected);
}

/* Three processes, files, and directories that are none. */
static void make_proc(struct fake_env *fake)
{
    fake_env_init(fake);
    fake_env_mkdir(fake, "proc/1");
    fake_env_mkdir(fake, "proc/22");
    fake_env_mkdir(fake, "proc/4194304");
    fake_env_mkdir(fake, "proc/sys");
    fake_env_mkdir(fake, "proc/12x");
    fake_env_mkdir(fake, "proc/x12");
    fake_env_write(fake, "proc/uptime", "1 1\n");
}

/* Does the filesystem below count directories in their parent's links, as procfs does? */
static bool links_are_counted(const struct fake_env *fake)
{
    struct stat st;
    assert_int_equal(fstat(fake->root.proc_fd, &st), 0);
    return st.st_nlink > 2;
}

static void test_listing(void **state)
{
    (void)state;
    struct fake_env fake;
    struct process_count count;
    make_proc(&fake);
    process_count_init(&count, &fake.env);
    assert_false(count.by_links);
    assert_count(&count, &fake, 3);
    process_count_fini(&count);
    fake_env_fini(&fake);
}

static void test_listing_at_most_once_a_second(void **state)
{
    (void)state;
    struct fake_env fake;
    struct process_count count;
    make_proc(&fake);
    process_count_init(&count, &fake.env);
    assert_count(&count, &fake, 3);
    fake_env_mkdir(&fake, "proc/23");
    fake_env_advance(&fake, NS_PER_SEC - 1);
    assert_count(&count, &fake, 3);
    fake_env_advance(&fake, 1);
    assert_count(&count, &fake, 4);
    fake_env_remove(&fake, "proc/1");
    fake_env_advance(&fake, 10 * NS_PER_SEC);
    assert_count(&count, &fake, 3);
    process_count_fini(&count);
    fake_env_fini(&fake);
}

static void test_one_descriptor_is_kept_and_given_back(void **state)
{
    (void)state;
    struct fake_env fake;
    struct process_count count;
    make_proc(&fake);
    int before = fake_env_open_count();
    process_count_init(&count, &fake.env);
    for (int i = 0; i < 3; i++) {
        assert_count(&count, &fake, 3);
        fake_env_advance(&fake, NS_PER_SEC);
        assert_int_equal(fake_env_open_count(), before + 1);
    }
    process_count_fini(&count);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

SKIPPABLE_TEST(test_links);
static void test_links(void **state)
{
    (void)state;
    struct fake_env fake;
    struct process_count count;
    make_proc(&fake);
    fake_env_link(&fake, "proc/self/ns/pid", initial_namespace);
    if (!links_are_counted(&fake)) {
        fake_env_fini(&fake);
        SKIP_TEST(test_links, "this filesystem does not count the directories in one as links");
    }
    process_count_init(&count, &fake.env);
    assert_true(count.by_links);
    assert_count(&count, &fake, 3);
    /* Always as it is now, without waiting for the next second. */
    fake_env_mkdir(&fake, "proc/23");
    assert_count(&count, &fake, 4);
    fake_env_remove(&fake, "proc/23");
    fake_env_remove(&fake, "proc/22");
    assert_count(&count, &fake, 2);
    process_count_fini(&count);
    fake_env_fini(&fake);
}

static void test_links_of_another_namespace_are_not_trusted(void **state)
{
    (void)state;
    static const char *const names[] = {"pid:[4026532198]", "pid:[40265318360]", "pid:[4026531836", "4026531836"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct fake_env fake;
        struct process_count count;
        make_proc(&fake);
        fake_env_link(&fake, "proc/self/ns/pid", names[i]);
        process_count_init(&count, &fake.env);
        assert_false(count.by_links);
        assert_count(&count, &fake, 3);
        process_count_fini(&count);
        fake_env_fini(&fake);
    }
}

/* Links that say something else than the listing (hidepid) are not trusted, nor is a listing that lies. */
static void test_links_that_disagree_are_not_trusted(void **state)
{
    (void)state;
    struct fake_env fake;
    struct process_count count;
    make_proc(&fake);
    fake_env_link(&fake, "proc/self/ns/pid", initial_namespace);
    fake_env_write(&fake, "proc/77", "a process without a directory has no link\n");
    process_count_init(&count, &fake.env);
    assert_false(count.by_links);
    assert_count(&count, &fake, 4);
    process_count_fini(&count);
    fake_env_fini(&fake);
}

static void test_no_proc(void **state)
{
    (void)state;
    struct fake_env fake;
    struct process_count count;
    fake_env_init(&fake);
    int proc_fd = fake.root.proc_fd;
    fake.root.proc_fd = -1;
    process_count_init(&count, &fake.env);
    assert_false(process_count_read(&count, fake.mono_ns, (struct opt_u64){0}).has);
    fake.root.proc_fd = proc_fd;
    assert_count(&count, &fake, 0);
    process_count_fini(&count);
    fake_env_fini(&fake);
}

struct slow_clock {
    const struct fake_env *fake;
    int64_t cpu_ns;
};

/* Every look at our own CPU time finds 10 ms more. */
static int64_t slow_read_ns(void *context, enum clock_kind kind)
{
    struct slow_clock *slow = context;
    if (kind != CLOCK_KIND_OWN_CPU)
        return slow->fake->mono_ns;
    slow->cpu_ns += 10 * NS_PER_MS;
    return slow->cpu_ns;
}

static void test_a_long_listing_happens_seldom(void **state)
{
    (void)state;
    struct fake_env fake;
    struct process_count count;
    make_proc(&fake);
    struct slow_clock slow = {.fake = &fake};
    fake.clock = (struct clock){.read_ns = slow_read_ns, .context = &slow};
    process_count_init(&count, &fake.env);
    assert_count(&count, &fake, 3);
    fake_env_mkdir(&fake, "proc/23");
    fake_env_advance(&fake, 49 * NS_PER_SEC);
    assert_count(&count, &fake, 3);
    fake_env_advance(&fake, NS_PER_SEC);
    assert_count(&count, &fake, 4);
    process_count_fini(&count);
    fake_env_fini(&fake);
}

static void test_no_listing_where_nothing_changed(void **state)
{
    (void)state;
    struct fake_env fake;
    struct process_count count;
    make_proc(&fake);
    fake.root.is_host = true;
    process_count_init(&count, &fake.env);
    assert_int_equal(process_count_read(&count, fake.mono_ns, some_u64(7)).v, 3);
    /* As many directories as before, so only a listing would show it. */
    fake_env_remove(&fake, "proc/22");
    fake_env_mkdir(&fake, "proc/x22");
    fake_env_advance(&fake, 2 * NS_PER_SEC);
    assert_int_equal(process_count_read(&count, fake.mono_ns, some_u64(7)).v, 3);
    assert_int_equal(process_count_read(&count, fake.mono_ns, some_u64(8)).v, 2);
    process_count_fini(&count);
    fake_env_fini(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_listing_at_most_once_a_second),
        cmocka_unit_test(test_one_descriptor_is_kept_and_given_back),
        skippable_unit_test(test_links),
        cmocka_unit_test(test_links_of_another_namespace_are_not_trusted),
        cmocka_unit_test(test_links_that_disagree_are_not_trusted),
        cmocka_unit_test(test_a_long_listing_happens_seldom),
        cmocka_unit_test(test_no_listing_where_nothing_changed),
        cmocka_unit_test(test_no_proc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
