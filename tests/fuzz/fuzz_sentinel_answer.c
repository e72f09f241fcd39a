/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of Sentinel from any bytes: what is accepted can go into keys, URLs and headers, what is refused changes
 * nothing, and the words for a terminal are short, whole, harmless and without the token.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/text.h"
#include "stream/targets/sentinel_internal.h"

#define TOKEN "s3cr3t"

static const struct sentinel known = {
    .run_id = "old",
    .upload_prefix = "s3://old/old",
    .credentials = {.access_key = "OLD", .secret_key = "OLDS", .session_token = "OLDT", .expires_secs = {true, 5}},
    .has_credentials = true,
    .must_refresh = true,
};

static void check_visible(const char *text, size_t size)
{
    check(memchr(text, '\0', size) != NULL);
    for (; *text; text++)
        check(*text > 0x20 && *text < 0x7f);
}

static void check_accepted(const struct sentinel *sentinel)
{
    const struct s3_credentials *keys = &sentinel->credentials;
    struct s3_bucket bucket;
    check_name(sentinel->run_id, sizeof(sentinel->run_id));
    check(!strpbrk(sentinel->run_id, "/\\%?#:") && strcmp(sentinel->run_id, "..") != 0);
    check(!sentinel->upload_prefix[0] ||
          s3_bucket_parse(str_of(sentinel->upload_prefix), NULL, false, &bucket, NULL) == 0);
    check_visible(keys->access_key, sizeof(keys->access_key));
    check_visible(keys->secret_key, sizeof(keys->secret_key));
    check_visible(keys->session_token, sizeof(keys->session_token));
    check(!keys->region[0] || s3_is_region(str_of(keys->region)));
    check(sentinel->has_credentials == (keys->access_key[0] && keys->secret_key[0]));
    check(!sentinel->must_refresh || (sentinel->has_credentials && !keys->expires_secs.has));
}

static void play(int (*read)(struct str, struct sentinel *, struct err *), struct str body)
{
    struct sentinel sentinel;
    struct err err = {0};
    memcpy(&sentinel, &known, sizeof(known)); /* padding too */
    int r = read(body, &sentinel, &err);
    if (r == 0) {
        check_accepted(&sentinel);
        return;
    }
    check((r == -EBADMSG || r == -ENOMEM) && err.code == r && err.msg[0]);
    check_printable(err.msg);
    check(memcmp(&sentinel, &known, sizeof(known)) == 0);
}

static void check_words(struct str body)
{
    char words[SENTINEL_MESSAGE_BYTES];
    sentinel_read_message(body, STR(TOKEN), words);
    check(memchr(words, '\0', sizeof(words)) != NULL);
    check_printable(words);
    check(!strstr(words, TOKEN) && !strstr(words, "  ") && words[0] != ' ');
    for (struct str rest = str_of(words); rest.n > 0;) {
        size_t length = utf8_length(rest);
        check(length > 0);
        rest = (struct str){rest.p + length, rest.n - length};
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str body = {copy, size};
    play(sentinel_answer_read_run, body);
    play(sentinel_answer_read_credentials, body);
    check_words(body);
    free(copy);
    return 0;
}
