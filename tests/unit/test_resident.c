/* SPDX-License-Identifier: Apache-2.0 */
/* Which mappings of ours may be unmapped and read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/session_internal.h"

#define MAPPING(head, anonymous, swap)                                                                                 \
    head "\nSize: 8 kB\nRss: 8 kB\nAnonymous:             " anonymous " kB\nSwap:                  " swap              \
         " kB\nVmFlags: rd ex\n"

static bool is_clean(const char *text)
{
    struct str rest = str_of(text);
    struct resident_range range;
    bool clean = false;
    assert_true(resident_next(&rest, &range, &clean));
    assert_int_equal(range.start, 0x1000);
    assert_int_equal(range.end, 0x3000);
    assert_int_equal(rest.n, 0);
    return clean;
}

static void test_what_is_clean(void **state)
{
    (void)state;
    assert_true(is_clean(MAPPING("1000-3000 r-xp 00000000 fe:00 12 /bin/x", "0", "0")));
    assert_true(is_clean(MAPPING("1000-3000 r--p 00000000 fe:00 12 /bin/x (deleted)", "0", "0")));
    assert_false(is_clean(MAPPING("1000-3000 r-xp 00000000 fe:00 12 /bin/x", "4", "0"))); /* a breakpoint */
    assert_false(is_clean(MAPPING("1000-3000 r-xp 00000000 fe:00 12 /bin/x", "0", "4")));
    assert_false(is_clean(MAPPING("1000-3000 rw-p 00000000 fe:00 12 /bin/x", "0", "0")));
    assert_false(is_clean(MAPPING("1000-3000 r-xp 00000000 00:00 0", "0", "0"))); /* code that was moved */
    assert_false(is_clean(MAPPING("1000-3000 ---p 00000000 fe:00 12 /bin/x", "0", "0")));
    assert_false(is_clean("1000-3000 r-xp 00000000 fe:00 12 /bin/x\nVmFlags: rd\n")); /* nothing is known */
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "x\n", "1000-3000 r-xp\n", "3000-1000 r-xp 0 fe:00 12\nVmFlags: rd\n",
        "1000-3000 r-xp 00000000 fe:00 12 /bin/x\nAnonymous: 0 kB\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct str rest = str_of(texts[i]);
        struct resident_range range;
        bool clean;
        assert_false(resident_next(&rest, &range, &clean));
    }
}

static void test_several(void **state)
{
    (void)state;
    struct str rest = STR(MAPPING("1000-3000 r-xp 00000000 fe:00 12 /bin/x", "0", "0")
            MAPPING("5000-6000 rw-p 00000000 00:00 0 [heap]", "4", "0"));
    struct resident_range range;
    bool clean;
    assert_true(resident_next(&rest, &range, &clean) && clean);
    assert_true(resident_next(&rest, &range, &clean) && !clean);
    assert_int_equal(range.start, 0x5000);
    assert_false(resident_next(&rest, &range, &clean));
}

/* Memory without a file, and a page of a file that was changed, keep what is in them; all of this program works on. */
static void test_nothing_is_lost(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *anonymous = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FILE *file = tmpfile();
    assert_true(anonymous != MAP_FAILED && file);
    assert_int_equal(ftruncate(fileno(file), (off_t)page), 0);
    char *changed = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
    assert_true(changed != MAP_FAILED);
    strcpy(anonymous, "anonymous");
    strcpy(changed, "changed");
    assert_int_equal(mprotect(anonymous, page, PROT_READ), 0);
    assert_int_equal(mprotect(changed, page, PROT_READ), 0);
    int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    resident_release_code(proc_fd);
    resident_release_code(-1);
    assert_string_equal(anonymous, "anonymous");
    assert_string_equal(changed, "changed");
    (void)close(proc_fd);
    (void)fclose(file);
    (void)munmap(anonymous, page);
    (void)munmap(changed, page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_clean),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
