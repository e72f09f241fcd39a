/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON: a document that is taken is walked whole. Its values lie in the text and add up, strings decode into
 * UTF-8, every member is found by its decoded key, and every container is a document of its own.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/text.h"
#include "codec/json_read.h"

static void check_string(const struct json_value *value)
{
    struct buf buf;
    buf_init(&buf, value->text.n + 1);
    if (json_string(value, &buf)) {
        struct str rest = {buf.data, buf.len};
        char *copy = malloc(buf.len + 1);
        check(copy && json_string_copy(value, copy, buf.len + 1) && strlen(copy) == buf.len);
        check(buf.len == 0 || !json_string_copy(value, copy, buf.len));
        free(copy);
        for (size_t n; rest.n > 0; rest = (struct str){rest.p + n, rest.n - n}) {
            n = utf8_length(rest);
            check(n > 0);
        }
    }
    check(buf_ok(&buf));
    buf_fini(&buf);
}

static void check_member(const struct json_value *object, struct str key, const struct json_value *value)
{
    const struct json_value text = {.type = JSON_STRING, .text = key};
    struct buf buf;
    buf_init(&buf, key.n + 1);
    if (json_string(&text, &buf))
        check(json_get(object, buf_cstr(&buf)) == value);
    buf_fini(&buf);
}

/* Returns the values that were walked. */
static size_t walk(const struct json_value *value, unsigned depth)
{
    check(depth <= JSON_DEPTH_MAX);
    check_string(value);
    if (value->type != JSON_ARRAY && value->type != JSON_OBJECT) {
        int64_t number;
        check(value->inside == 0 && !json_at(value, 0, NULL) && !json_get(value, ""));
        check(!json_integer(value, &number) || value->type == JSON_NUMBER);
        return 1;
    }
    size_t total = 1;
    const struct json_value *child;
    struct str key = {0};
    for (size_t i = 0; (child = json_at(value, i, &key)); i++) {
        check(child->text.p > value->text.p && child->text.p + child->text.n < value->text.p + value->text.n);
        if (value->type == JSON_OBJECT)
            check_member(value, key, child);
        total += walk(child, depth + 1) + (value->type == JSON_OBJECT ? 1 : 0);
    }
    check(total == value->inside + 1);
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct json_doc doc;
    int r = json_doc_parse((struct str){copy, size}, &doc);
    if (r == 0) {
        struct json_doc again;
        check(walk(&doc.items[0], 0) == doc.count && doc.count <= JSON_VALUES_MAX);
        for (size_t i = 0; i < doc.count && i < 64; i++) {
            if (doc.items[i].type == JSON_STRING)
                continue;
            check(json_doc_parse(doc.items[i].text, &again) == 0 && again.count == doc.items[i].inside + 1U);
            json_doc_fini(&again);
        }
    } else {
        check(r == -EBADMSG || r == -E2BIG || r == -ENOMEM);
        check(!doc.items && doc.count == 0);
    }
    json_doc_fini(&doc);
    free(copy);
    return 0;
}
