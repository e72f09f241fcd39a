/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles as users write them by hand: sections of both files, comments, indentation, CRLF, keys that come twice; and
 * what is refused. Where botocore reads the same text, the result is the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "aws/aws_internal.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int read_text(struct str text, enum aws_profile_file file, const char *name, struct aws_profile *ret)
{
    struct err err = {0};
    return aws_profile_read(text, file, str_of(name), ret, &err);
}

static struct aws_profile profile_of(const char *text, enum aws_profile_file file, const char *name)
{
    struct aws_profile profile;
    if (read_text(str_of(text), file, name, &profile) != 0)
        fail_msg("no %s in: %s", name, text);
    return profile;
}

static void usual_file(void **state)
{
    (void)state;
    static const char text[] = "# made by hand\n"
                               "[default]\n"
                               "aws_access_key_id = AKIADEFAULT\n"
                               "aws_secret_access_key=secret/default+1==\n"
                               "\n"
                               "; the pipeline\n"
                               "[ci]\n"
                               "aws_access_key_id\t=\tAKIACI  \n"
                               "aws_secret_access_key =  secret-ci # not part of it\n"
                               "AWS_Session_Token = token=;x#y ;comment\n"
                               "region = eu-west-1";
    struct aws_profile profile = profile_of(text, AWS_PROFILE_CREDENTIALS, "default");
    assert_string_equal(profile.credentials.access_key, "AKIADEFAULT");
    assert_string_equal(profile.credentials.secret_key, "secret/default+1==");
    assert_string_equal(profile.credentials.session_token, "");
    assert_string_equal(profile.credentials.region, "");
    assert_false(profile.credentials.expires_secs.has);
    assert_false(profile.has_foreign_source);
    profile = profile_of(text, AWS_PROFILE_CREDENTIALS, "ci");
    assert_string_equal(profile.credentials.access_key, "AKIACI");
    assert_string_equal(profile.credentials.secret_key, "secret-ci");
    assert_string_equal(profile.credentials.session_token, "token=;x#y");
    assert_string_equal(profile.credentials.region, "eu-west-1");
}

static void sections(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum aws_profile_file file;
        const char *name;
        int want;
    } cases[] = {
        {"[ci]", AWS_PROFILE_CREDENTIALS, "ci", 0},
        {"[ ci ] # note", AWS_PROFILE_CREDENTIALS, "ci", 0},
        {"[a b]", AWS_PROFILE_CREDENTIALS, "a b", 0},
        {"\xef\xbb\xbf[ci]\r\n", AWS_PROFILE_CREDENTIALS, "ci", 0},
        {"[profile ci]", AWS_PROFILE_CREDENTIALS, "ci", -ENOENT},
        {"[CI]", AWS_PROFILE_CREDENTIALS, "ci", -ENOENT},
        {"[cix]", AWS_PROFILE_CREDENTIALS, "ci", -ENOENT},
        {"", AWS_PROFILE_CREDENTIALS, "ci", -ENOENT},
        {"# [ci]", AWS_PROFILE_CREDENTIALS, "ci", -ENOENT},
        {"[ci]", AWS_PROFILE_CONFIG, "ci", -ENOENT},
        {"[profile ci]", AWS_PROFILE_CONFIG, "ci", 0},
        {"[profile   ci  ]", AWS_PROFILE_CONFIG, "ci", 0},
        {"[profile\tci]", AWS_PROFILE_CONFIG, "ci", 0},
        {"[profile \"my ci\"]", AWS_PROFILE_CONFIG, "my ci", 0},
        {"[profile 'my ci']", AWS_PROFILE_CONFIG, "my ci", 0},
        {"[profileci]", AWS_PROFILE_CONFIG, "ci", -ENOENT},
        {"[profile]", AWS_PROFILE_CONFIG, "profile", -ENOENT},
        {"[sso-session ci]", AWS_PROFILE_CONFIG, "ci", -ENOENT},
        {"[default]", AWS_PROFILE_CONFIG, "default", 0},
        {"[default]", AWS_PROFILE_CONFIG, "ci", -ENOENT},
        {"[profile default]", AWS_PROFILE_CONFIG, "default", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct aws_profile profile = {.has_foreign_source = true};
        int r = read_text(str_of(cases[i].text), cases[i].file, cases[i].name, &profile);
        if (r != cases[i].want)
            fail_msg("%s for %s gives %d", cases[i].text, cases[i].name, r);
        assert_int_equal(profile.has_foreign_source, r != 0);
    }
}

static void indentation(void **state)
{
    (void)state;
    struct aws_profile profile = profile_of("[profile ci]\n"
                                            "s3 =\n"
                                            "  region = us-west-2\n"
                                            "\taws_access_key_id = NESTED\n"
                                            "\n"
                                            "  ; still of s3\n"
                                            "  [default]\n"
                                            "region = eu-west-1\n",
        AWS_PROFILE_CONFIG, "ci");
    assert_string_equal(profile.credentials.region, "eu-west-1");
    assert_string_equal(profile.credentials.access_key, "");
    /* A section that is indented as a whole. */
    profile =
        profile_of("[default]\n  aws_access_key_id = A1\n  aws_secret_access_key = B\n    region = no\n region = x-1\n",
            AWS_PROFILE_CREDENTIALS, "default");
    assert_string_equal(profile.credentials.access_key, "A1");
    assert_string_equal(profile.credentials.secret_key, "B");
    assert_string_equal(profile.credentials.region, "x-1");
}

static void twice(void **state)
{
    (void)state;
    struct aws_profile profile =
        profile_of("[a]\r\nregion=\r\nregion = one\r\nregion = two\r\n[b]\r\nregion = b\r\n"
                   "aws_access_key_id = B\r\n[a]\r\nregion = three\r\naws_access_key_id = A\r\n",
            AWS_PROFILE_CREDENTIALS, "a");
    assert_string_equal(profile.credentials.region, "one");
    assert_string_equal(profile.credentials.access_key, "A");
}

static void foreign_sources(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "role_arn", "sso_session", "sso_start_url", "Credential_Process", "web_identity_token_file", "login_session"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        char text[128];
        (void)snprintf(text, sizeof(text), "[default]\noutput = json\n%s = some thing\n", keys[i]);
        assert_true(profile_of(text, AWS_PROFILE_CONFIG, "default").has_foreign_source);
    }
    assert_false(profile_of("[default]\nsource_profile = x\n[profile b]\nrole_arn = x", AWS_PROFILE_CONFIG, "default")
                     .has_foreign_source);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[ci\nregion = x", "line 1: no ']'"},
        {"[ci]\n\nregion", "line 3: no '='"},
        {"[ci]\naws_access_key_id = two words", "line 2: aws_access_key_id is no such value"},
        {"[ci]\naws_secret_access_key = \x01", "line 2: aws_secret_access_key is no such value"},
        {"[ci]\naws_session_token = \xc3\xa9", "line 2: aws_session_token is no such value"},
        {"[ci]\nregion = EU/../", "line 2: region is no such value"},
        {"[ci]\nregion = abcdefghijklmnopqrstuvwxyz0123456", "line 2: region is no such value"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct aws_profile profile = {.has_foreign_source = true};
        struct err err = {0};
        assert_int_equal(
            aws_profile_read(str_of(cases[i].text), AWS_PROFILE_CREDENTIALS, STR("ci"), &profile, &err), -EINVAL);
        assert_string_equal(err.msg, cases[i].message);
        assert_true(profile.has_foreign_source);
    }
    /* Errors in other profiles do not matter. */
    (void)profile_of("[other]\nnonsense\naws_access_key_id = a b\n[ci]\n", AWS_PROFILE_CREDENTIALS, "ci");
    static char text[300] = "[ci]\naws_secret_access_key=";
    memset(text + 27, 's', 255);
    struct aws_profile profile = profile_of(text, AWS_PROFILE_CREDENTIALS, "ci");
    assert_int_equal(strlen(profile.credentials.secret_key), 255);
    text[27 + 255] = 's';
    assert_int_equal(read_text(str_of(text), AWS_PROFILE_CREDENTIALS, "ci", &profile), -EINVAL);
    struct str with_nul = STR("[ci]\naws_access_key_id = A\0B\n");
    assert_int_equal(read_text(with_nul, AWS_PROFILE_CREDENTIALS, "ci", &profile), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_file),
        cmocka_unit_test(sections),
        cmocka_unit_test(indentation),
        cmocka_unit_test(twice),
        cmocka_unit_test(foreign_sources),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
