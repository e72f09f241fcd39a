/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masking against two collections of command lines of our own invention (tests/data/mask): ones with secrets, of which
 * nothing may be left, and ones without, which must stay as they are. What strict and off do, and the bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "codec/json_read.h"
#include "mask/mask_internal.h"

enum { LINE_MAX_BYTES = 64 * 1024, ARGUMENTS_MAX = 128, FALSE_MASKS_MAX = 1 };

/* One line of a collection. */
struct vector {
    char *argv[ARGUMENTS_MAX + 1];
    char *secrets[ARGUMENTS_MAX + 1];
    char kind[64];
};

static void read_list(const struct json_value *list, char **out)
{
    size_t count = 0;
    for (const struct json_value *item; count < ARGUMENTS_MAX && (item = json_at(list, count, NULL));) {
        struct buf text;
        buf_init(&text, LINE_MAX_BYTES);
        assert_true(json_string(item, &text));
        out[count++] = strdup(buf_cstr(&text));
        buf_fini(&text);
    }
    out[count] = NULL;
}

static void free_list(char **list)
{
    for (; *list; list++)
        free(*list);
}

static bool next_vector(FILE *file, struct vector *ret_vector)
{
    static char line[LINE_MAX_BYTES];
    if (!fgets(line, sizeof(line), file))
        return false;
    struct json_doc doc = {0};
    struct str text = str_trim(str_of(line));
    assert_int_equal(json_doc_parse(text, &doc), 0);
    const struct json_value *root = &doc.items[0];
    ret_vector->secrets[0] = NULL;
    ret_vector->kind[0] = '\0';
    read_list(json_get(root, "argv"), ret_vector->argv);
    if (json_get(root, "secrets"))
        read_list(json_get(root, "secrets"), ret_vector->secrets);
    (void)json_string_copy(json_get(root, "kind"), ret_vector->kind, sizeof(ret_vector->kind));
    json_doc_fini(&doc);
    return true;
}

/* Is the secret, or eight bytes of one that is long, in one of the arguments? */
static bool is_left(const struct mask_command *command, const char *secret)
{
    enum { PIECE = 8, LONG = 12 };
    size_t n = strlen(secret);
    for (size_t i = 0; i < command->count; i++) {
        const char *argument = command->items[i];
        if (strstr(argument, secret))
            return true;
        for (size_t at = 0; n >= LONG && at + PIECE <= n; at++) {
            /* The marks of a PEM block are no secret. */
            if (memchr(secret + at, '-', PIECE) && strstr(secret, "-----"))
                continue;
            if (memmem(argument, strlen(argument), secret + at, PIECE))
                return true;
        }
    }
    return false;
}

static bool is_unchanged(const struct mask_command *command, char *const *argv)
{
    size_t i = 0;
    for (; argv[i] && i < command->count; i++) {
        if (strcmp(command->items[i], argv[i]) != 0) {
            print_message("# %s -> %s\n", argv[i], command->items[i]);
            return false;
        }
    }
    return !argv[i] && i == command->count;
}

static void check_again(const struct mask_command *command, enum mask_mode mode)
{
    struct mask_command again;
    assert_int_equal(mask_command(command->items, mode, &again), 0);
    assert_true(is_unchanged(&again, command->items));
    mask_command_fini(&again);
}

/* Returns how many vectors were masked wrongly: with a secret left, or without one and changed. */
static int count_wrong(const char *name, enum mask_mode mode, int *ret_count)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), SOURCE_ROOT "/tests/data/mask/%s.jsonl", name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    int wrong = 0;
    struct vector vector;
    for (*ret_count = 0; next_vector(file, &vector); ++*ret_count) {
        struct mask_command command;
        assert_int_equal(mask_command(vector.argv, mode, &command), 0);
        bool is_wrong = !vector.secrets[0] && !is_unchanged(&command, vector.argv);
        for (size_t i = 0; vector.secrets[i]; i++) {
            if (is_left(&command, vector.secrets[i])) {
                print_message("# %s: %s is left\n", vector.kind, vector.secrets[i]);
                is_wrong = true;
            }
        }
        wrong += is_wrong;
        check_again(&command, mode);
        mask_command_fini(&command);
        free_list(vector.argv);
        free_list(vector.secrets);
    }
    (void)fclose(file);
    return wrong;
}

static size_t count_texts(const char *text)
{
    size_t count = 0;
    for (; *text; text = rule_next(text))
        count++;
    return count;
}

static void test_every_subcommand_has_a_bit(void **state)
{
    (void)state;
    assert_int_equal(1 << (count_texts(rule_subcommands) - 1), SUBCOMMAND_ENCRYPT_STRING);
}

static void test_no_secret_is_left(void **state)
{
    (void)state;
    int count;
    int wrong = count_wrong("secrets", MASK_AUTO, &count);
    print_message("# secrets: %d command lines, %d leaks\n", count, wrong);
    assert_int_equal(wrong, 0);
    assert_true(count >= 400);
    assert_int_equal(count_wrong("secrets", MASK_STRICT, &count), 0);
}

static void test_what_is_no_secret_stays(void **state)
{
    (void)state;
    int count;
    int wrong = count_wrong("innocent", MASK_AUTO, &count);
    print_message("# innocent: %d command lines, %d false masks\n", count, wrong);
    assert_true(wrong <= FALSE_MASKS_MAX);
    assert_true(count >= 350);
}

static void check_masked(enum mask_mode mode, const char *const *argv, const char *const *want)
{
    struct mask_command command;
    assert_int_equal(mask_command((char *const *)(uintptr_t)argv, mode, &command), 0);
    for (size_t i = 0; want[i]; i++) {
        assert_true(i < command.count);
        assert_string_equal(command.items[i], want[i]);
    }
    check_again(&command, mode);
    mask_command_fini(&command);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A script, as the kernel starts it: its interpreter stands before it. */
static void test_scripts(void **state)
{
    (void)state;
    check_masked(MASK_AUTO, LIST("/bin/sh", "/opt/bin/mysql", "-phunter2", "db"),
        LIST("/bin/sh", "/opt/bin/mysql", "-p[SECRET]", "db"));
    check_masked(MASK_AUTO, LIST("/usr/bin/python3.11", "-I", "/opt/bin/curl", "-u", "bob:pw9", "x"),
        LIST("/usr/bin/python3.11", "-I", "/opt/bin/curl", "-u", "bob:[SECRET]", "x"));
    check_masked(MASK_AUTO, LIST("/usr/bin/perl", "/opt/bin/sudo", "mysql", "-phunter2"),
        LIST("/usr/bin/perl", "/opt/bin/sudo", "mysql", "-p[SECRET]"));
    /* What is no program, and what stands further on. */
    check_masked(
        MASK_AUTO, LIST("python3", "train.py", "mysql", "-plain"), LIST("python3", "train.py", "mysql", "-plain"));
    check_masked(MASK_AUTO, LIST("bash", "run.sh", "-print"), LIST("bash", "run.sh", "-print"));
}

static void test_placeholders(void **state)
{
    (void)state;
    check_masked(MASK_AUTO, LIST("mysql", "-phunter2", "--password=x y", "--token", "hunter2", "db"),
        LIST("mysql", "-p[SECRET]", "--password=[SECRET]", "--token", "[SECRET]", "db"));
    check_masked(MASK_AUTO,
        LIST("curl", "-H", "Authorization: Bearer abc99def", "https://u:p@h.example/a/b?token=x1&n=2"),
        LIST("curl", "-H", "Authorization: Bearer [SECRET]", "https://[SECRET]@h.example/a/b?token=[SECRET]&n=2"));
    check_masked(MASK_AUTO,
        LIST("curl", "-sE", "a.pem:pw9", "--cert", "b.pem:pw9", "--proxy-cert=c.pem:pw9", "-E", "d.pem"),
        LIST(
            "curl", "-sE", "a.pem:[SECRET]", "--cert", "b.pem:[SECRET]", "--proxy-cert=c.pem:[SECRET]", "-E", "d.pem"));
    check_masked(MASK_AUTO, LIST("sh", "-c", "PGPASSWORD='a b' psql -h db | curl -u bob:pw9 $URL --password \"$PW\""),
        LIST("sh", "-c", "PGPASSWORD='[SECRET]' psql -h db | curl -u bob:[SECRET] $URL --password \"$PW\""));
    check_masked(MASK_AUTO, LIST("x", "-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END X-----\ntail"),
        LIST("x", "[KEY]\ntail"));
}

static void test_strict_hides_addresses_and_numbers(void **state)
{
    (void)state;
    const char *const argv[] = {"app", "mail bob.x@example.co.uk now", "10.0.0.1:80", "+36 30 555 0100",
        "(301) 555-0100", "301-555-0100", "4111 1111 1111 1111", "078-05-1120", "10737418240", "lib-1.2.3.4", "1.2.3",
        "session-2", NULL};
    check_masked(MASK_STRICT, argv,
        LIST("app", "mail [EMAIL] now", "[IP]:80", "[PHONE]", "[PHONE]", "[PHONE]", "[CC]", "[SSN]", "10737418240",
            "lib-[IP]", "1.2.3", "session-2"));
    check_masked(MASK_AUTO, argv, argv);
    check_masked(
        MASK_OFF, LIST("app", "--password=x", "bob@example.org"), LIST("app", "--password=x", "bob@example.org"));
}

/* Any bytes, any number and any length: bounded, whole arguments, and the cut is the last one. */
static void test_bounds(void **state)
{
    (void)state;
    enum { MANY = 100000, LONG = 1000000 };
    char **argv = calloc(MANY + 1, sizeof(*argv));
    char *text = malloc(LONG + 1);
    assert_true(argv && text);
    char empty[] = "";
    for (size_t i = 0; i < MANY; i++)
        argv[i] = empty;
    struct mask_command command;
    assert_int_equal(mask_command(argv, MASK_AUTO, &command), 0);
    assert_true(command.count <= MASK_ARGUMENTS_MAX + 1);
    assert_string_equal(command.items[command.count - 1], MASK_CUT);
    check_again(&command, MASK_AUTO);
    mask_command_fini(&command);

    memset(text, 'x', LONG);
    text[LONG] = '\0';
    argv[0] = (char[]){"--password"};
    argv[1] = text;
    argv[2] = NULL;
    assert_int_equal(mask_command(argv, MASK_AUTO, &command), 0);
    assert_int_equal(command.count, 2);
    assert_string_equal(command.items[1], MASK_CUT);
    check_again(&command, MASK_AUTO);
    mask_command_fini(&command);

    check_masked(MASK_AUTO, LIST("\xff\xfe", "--password=\xc3", "\xed\xa0\x80=x", "--näme=wért"),
        LIST("\xff\xfe", "--password=[SECRET]", "\xed\xa0\x80=x", "--näme=wért"));
    assert_int_equal(mask_command((char *const[]){NULL}, MASK_AUTO, &command), 0);
    assert_int_equal(command.count, 0);
    mask_command_fini(&command);
    free(text);
    free(argv);
}

/* Texts that make a careless search start over at every byte. */
static void test_time(void **state)
{
    (void)state;
    static const char *const pieces[] = {"token=", "token:\"", "key=", "glpat-", "eyJ-", "$(", "-----BEGIN", "a@",
        "x://a:b@", "sk-", "Ab3-", "token=/", "token=[", "auth=('", "<token>x<", "sh -c '", "--token ", "\\\"",
        "1.2.3.4 ", "jdbc:oracle:a:b/", "set password '", "machine a login ", "secret,data=", "s/token=", "token=$(",
        "ab:C1@d ", "/token=a/", "\"token\" \n:\n", "\"auth\":{\"", "--password-command 'echo ", "password=\"\"\""};
    enum { BYTES = MASK_BYTES_MAX - 64 };
    char *text = malloc(BYTES + 1);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        size_t n = strlen(pieces[i]);
        for (size_t at = 0; at < BYTES; at++)
            text[at] = pieces[i][at % n];
        text[BYTES] = '\0';
        int64_t start_ns = clock_read(&clock_system, CLOCK_KIND_OWN_CPU);
        struct mask_command command;
        assert_int_equal(
            mask_command((char *const[]){(char[]){"sh"}, (char[]){"-c"}, text, NULL}, MASK_STRICT, &command), 0);
        int64_t spent_ns = clock_read(&clock_system, CLOCK_KIND_OWN_CPU) - start_ns;
        if (spent_ns > 5 * NS_PER_SEC) /* a quadratic one takes tens of them; sanitizers are slow */
            fail_msg("\"%s\" takes %.1f s", pieces[i], (double)spent_ns / 1e9);
        check_again(&command, MASK_STRICT);
        mask_command_fini(&command);
    }
    free(text);
}

static void test_names_in_messages(void **state)
{
    (void)state;
    char name[16];
    mask_argument("PASSWORD=hunter2", MASK_AUTO, name, sizeof(name));
    assert_string_equal(name, "PASSWORD=[SECRE");
    mask_argument("train", MASK_AUTO, name, sizeof(name));
    assert_string_equal(name, "train");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_subcommand_has_a_bit),
        cmocka_unit_test(test_no_secret_is_left),
        cmocka_unit_test(test_what_is_no_secret_stays),
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_placeholders),
        cmocka_unit_test(test_strict_hides_addresses_and_numbers),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_names_in_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
