/* SPDX-License-Identifier: Apache-2.0 */
/*
 * INI files as AWS tools write and read them ("Configuration and credential file settings" of the CLI's user guide):
 *   [profile ci]
 *   region = eu-west-1
 *   s3 =
 *     addressing_style = path
 */
#include "aws/aws_internal.h"

#include <errno.h>

#include "base/text.h"

enum slot { SLOT_ACCESS_KEY, SLOT_SECRET_KEY, SLOT_SESSION_TOKEN, SLOT_REGION, SLOTS };

/* Where the reader stands. */
struct reading {
    enum aws_profile_file file;
    struct str name;
    unsigned line;
    bool is_inside; /* the section is the one */
    bool is_found;
    bool has_key; /* a key came since the section began */
    size_t indent; /* of that key */
};

/* "  name " and "'my name'" */
static struct str unquote(struct str text)
{
    text = str_trim(text);
    if (text.n >= 2 && (text.p[0] == '"' || text.p[0] == '\'') && text.p[text.n - 1] == text.p[0])
        return (struct str){text.p + 1, text.n - 2};
    return text;
}

/* Is what stands between the brackets the profile? */
static bool is_profile(const struct reading *reading, struct str section)
{
    static const struct str word = {"profile", 7};
    section = str_trim(section);
    if (reading->file == AWS_PROFILE_CREDENTIALS)
        return str_eq(section, reading->name);
    if (str_eq(section, STR("default")))
        return str_eq(reading->name, section);
    if (!str_starts(section, word) || section.n == word.n || !ascii_is_blank(section.p[word.n]))
        return false;
    return str_eq(unquote((struct str){section.p + word.n, section.n - word.n}), reading->name);
}

static int read_section(struct reading *reading, struct str line, struct err *err)
{
    const char *end = memchr(line.p, ']', line.n);
    if (!end)
        return err_set(err, -EINVAL, "line %u: no ']'", reading->line);
    reading->is_inside = is_profile(reading, (struct str){line.p + 1, (size_t)(end - line.p) - 1});
    reading->is_found |= reading->is_inside;
    reading->has_key = false;
    return 0;
}

/* Up to a comment, which begins behind a blank. */
static struct str cut_comment(struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if ((value.p[i] == '#' || value.p[i] == ';') && (i == 0 || ascii_is_blank(value.p[i - 1])))
            value.n = i;
    return str_trim(value);
}

static bool is_foreign_source(struct str key)
{
    static const char names[][24] = {
        "role_arn", "sso_session", "sso_start_url", "credential_process", "web_identity_token_file", "login_session"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (str_eq_nocase(key, str_of(names[i])))
            return true;
    return false;
}

/* Takes a value into its place, unless an earlier line did. */
static int take_value(
    struct reading *reading, struct str key, struct str value, struct aws_profile *profile, struct err *err)
{
    struct s3_credentials *to = &profile->credentials;
    const struct {
        const char *name;
        char *out;
        size_t size;
    } places[SLOTS] = {
        [SLOT_ACCESS_KEY] = {"aws_access_key_id", to->access_key, sizeof(to->access_key)},
        [SLOT_SECRET_KEY] = {"aws_secret_access_key", to->secret_key, sizeof(to->secret_key)},
        [SLOT_SESSION_TOKEN] = {"aws_session_token", to->session_token, sizeof(to->session_token)},
        [SLOT_REGION] = {"region", to->region, sizeof(to->region)},
    };
    for (size_t i = 0; i < SLOTS; i++) {
        if (!str_eq_nocase(key, str_of(places[i].name)) || value.n == 0 || places[i].out[0])
            continue;
        if (value.n >= places[i].size || !text_is_visible(value) || (i == SLOT_REGION && !s3_is_region(value)))
            return err_set(err, -EINVAL, "line %u: %s is no such value", reading->line, places[i].name);
        (void)str_copy(value, places[i].out, places[i].size);
    }
    profile->has_foreign_source |= is_foreign_source(key);
    return 0;
}

static int read_line(struct reading *reading, struct str line, struct aws_profile *profile, struct err *err)
{
    size_t indent = 0;
    while (indent < line.n && ascii_is_blank(line.p[indent]))
        indent++;
    line = str_trim(line);
    if (line.n == 0 || line.p[0] == '#' || line.p[0] == ';')
        return 0;
    if (reading->has_key && indent > reading->indent)
        return 0;
    reading->indent = indent;
    if (line.p[0] == '[')
        return read_section(reading, line, err);
    reading->has_key = true;
    if (!reading->is_inside)
        return 0;
    const char *equals = memchr(line.p, '=', line.n);
    if (!equals)
        return err_set(err, -EINVAL, "line %u: no '='", reading->line);
    size_t n = (size_t)(equals - line.p);
    struct str value = {equals + 1, line.n - n - 1};
    return take_value(reading, str_trim((struct str){line.p, n}), cut_comment(str_trim(value)), profile, err);
}

int aws_profile_read(
    struct str text, enum aws_profile_file file, struct str name, struct aws_profile *ret_profile, struct err *err)
{
    static const struct str byte_order_mark = {"\xef\xbb\xbf", 3};
    struct reading reading = {.file = file, .name = name};
    struct aws_profile profile = {0};
    if (str_starts(text, byte_order_mark))
        text = (struct str){text.p + byte_order_mark.n, text.n - byte_order_mark.n};
    struct str line;
    int r = 0;
    while (r == 0 && str_line(&text, &line)) {
        reading.line++;
        r = read_line(&reading, line, &profile, err);
    }
    if (r == 0 && !reading.is_found)
        r = -ENOENT;
    if (r == 0)
        *ret_profile = profile;
    s3_credentials_wipe(&profile.credentials);
    return r;
}
