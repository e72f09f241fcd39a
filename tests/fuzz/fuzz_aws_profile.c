/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of AWS tools: what is found is made of words that fit into headers, and nothing is found on failure. The first
 * line is the name of the profile; its first byte chooses the file.
 */
#include "fuzz.h"

#include <errno.h>

#include "aws/aws_internal.h"
#include "base/text.h"

static void check_word(const char *text, size_t size)
{
    const char *end = memchr(text, '\0', size);
    check(end);
    check(end == text || text_is_visible((struct str){text, (size_t)(end - text)}));
}

static void check_profile(const struct aws_profile *profile)
{
    const struct s3_credentials *got = &profile->credentials;
    check_word(got->access_key, sizeof(got->access_key));
    check_word(got->secret_key, sizeof(got->secret_key));
    check_word(got->session_token, sizeof(got->session_token));
    check(!got->region[0] || s3_is_region(str_of(got->region)));
    check(!got->expires_secs.has);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size}, name;
    if (str_line(&text, &name) && name.n > 0) {
        enum aws_profile_file file = name.p[0] == 'c' ? AWS_PROFILE_CONFIG : AWS_PROFILE_CREDENTIALS;
        name = (struct str){name.p + 1, name.n - 1};
        struct aws_profile profile = {.has_foreign_source = true};
        struct err err = {0};
        int r = aws_profile_read(text, file, name, &profile, &err);
        check(r == 0 || r == -ENOENT || r == -EINVAL);
        check((r == -EINVAL) == (err.msg[0] != '\0'));
        check_printable(err.msg);
        if (r == 0)
            check_profile(&profile);
        else
            check(profile.has_foreign_source && !profile.credentials.access_key[0]);
    }
    free(copy);
    return 0;
}
