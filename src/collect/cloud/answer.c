/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values out of answers of metadata services: identifiers and tokens, or nothing. A login page, a greeting or an error
 * in prose never gets through.
 */
#include <string.h>
#include <strings.h>

#include "collect/cloud/vendor.h"

enum { STATUS_OK = 200 };

static bool is_value_char(char c)
{
    char lower = (char)(c | 0x20);
    return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z') || (c != '\0' && strchr("._:/-", c));
}

static bool is_filler(const char *value)
{
    static const char fillers[][10] = {"unknown", "none", "null", "undefined", "n/a"};
    for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++) {
        if (strcasecmp(value, fillers[i]) == 0)
            return true;
    }
    return false;
}

bool cloud_take_value(struct str text, char ret_value[static CLOUD_VALUE_BYTES])
{
    ret_value[0] = '\0';
    if (text.n == 0 || text.n >= CLOUD_VALUE_BYTES)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (!is_value_char(text.p[i]))
            return false;
    }
    (void)str_copy(text, ret_value, CLOUD_VALUE_BYTES);
    if (is_filler(ret_value))
        ret_value[0] = '\0';
    return ret_value[0] != '\0';
}

struct str cloud_answer_body(const struct http_answer *answer)
{
    if (!answer || answer->status != STATUS_OK)
        return STR("");
    return str_trim((struct str){answer->body.data, answer->body.len});
}

bool cloud_take_body(const struct http_answer *answer, char ret_value[static CLOUD_VALUE_BYTES])
{
    return cloud_take_value(cloud_answer_body(answer), ret_value);
}

bool cloud_take_last_part(const struct http_answer *answer, char ret_value[static CLOUD_VALUE_BYTES])
{
    char whole[CLOUD_VALUE_BYTES];
    ret_value[0] = '\0';
    if (!cloud_take_body(answer, whole))
        return false;
    const char *slash = strrchr(whole, '/');
    return cloud_take_value(str_of(slash ? slash + 1 : whole), ret_value);
}

bool cloud_take_string(const struct json_value *value, char ret_value[static CLOUD_VALUE_BYTES])
{
    char text[CLOUD_VALUE_BYTES];
    ret_value[0] = '\0';
    return json_string_copy(value, text, sizeof(text)) && cloud_take_value(str_of(text), ret_value);
}

bool cloud_take_token(const struct http_answer *answer, struct cloud_probe *probe)
{
    struct str token = cloud_answer_body(answer);
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] < 0x21 || token.p[i] > 0x7e)
            return false;
    }
    return token.n > 0 && str_copy(token, probe->token, sizeof(probe->token));
}

bool cloud_parse_json(const struct http_answer *answer, struct json_doc *ret_doc)
{
    *ret_doc = (struct json_doc){0};
    struct str body = cloud_answer_body(answer);
    return body.n > 0 && json_doc_parse(body, ret_doc) == 0;
}

bool cloud_has_words(const char *text, const char *words)
{
    return strcasestr(text, words) != NULL;
}
