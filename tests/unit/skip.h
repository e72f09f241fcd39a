/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests that may find that they cannot run here. cmocka's own skip() gives no reason, and its versions
 * before 1.1.8 report it as "not ok N # SKIP", a failure to every reader of TAP. Here the test returns, and what cmocka
 * prints as its name ends with the directive: "ok N - name # SKIP reason". tools/check-sizes refuses the other one.
 */
#ifndef TESTS_UNIT_SKIP_H
#define TESTS_UNIT_SKIP_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SKIP_NAME_BYTES = 200 };

/* Before a test function that uses SKIP_TEST; the group lists it by skippable_unit_test instead of cmocka_unit_test. */
#define SKIPPABLE_TEST(test) static char test##_name[SKIP_NAME_BYTES] = #test
#define skippable_unit_test(test)                                                                                      \
    {                                                                                                                  \
        .name = test##_name, .test_func = (test)                                                                       \
    }
#define skippable_unit_test_prestate(test, state)                                                                      \
    {                                                                                                                  \
        .name = test##_name, .test_func = (test), .initial_state = (state)                                             \
    }

/* Leaves the test function; the reason has no '#' and no newline. */
#define SKIP_TEST(test, reason)                                                                                        \
    do {                                                                                                               \
        (void)snprintf(test##_name, sizeof(test##_name), "%s # SKIP %s", #test, reason);                               \
        return;                                                                                                        \
    } while (0)

/* Whether qemu-user runs the test (tools/arm64-tests), which cannot do all that a kernel does. */
static inline bool is_emulated(void)
{
    return getenv("EMULATED") != NULL;
}

#endif
