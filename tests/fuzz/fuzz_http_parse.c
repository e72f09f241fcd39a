/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of HTTP servers: cut at any places they give the same result, the bounds hold, and what is left over is never
 * part of the answer. The first byte chooses the kind of request and the cuts.
 */
#include "fuzz.h"

#include <errno.h>

#include "net/http.h"

enum { ANSWER_MAX = 512 };

struct outcome {
    int code;
    size_t used;
    bool is_kept;
    struct http_answer answer;
};

/* Pieces of 1 to 16 bytes, or everything at once for a cut of 0. */
static struct outcome feed(const char *text, size_t size, bool is_head, unsigned cut)
{
    struct http_parse parse;
    struct outcome outcome = {0};
    http_parse_init(&parse, is_head, ANSWER_MAX);
    while (outcome.code == 0 && outcome.used < size && parse.state != HTTP_PARSE_DONE) {
        size_t n = cut == 0 ? size : 1 + (outcome.used * 7 + cut) % 16;
        n = n < size - outcome.used ? n : size - outcome.used;
        char *piece = fuzz_copy((const uint8_t *)text + outcome.used, n);
        if (!piece)
            break;
        ssize_t r = http_parse_add(&parse, piece, n);
        free(piece);
        check(r <= (ssize_t)n && (r < 0 || (size_t)r == n || parse.state == HTTP_PARSE_DONE));
        if (r < 0)
            outcome.code = (int)r;
        else
            outcome.used += (size_t)r;
    }
    if (outcome.code == 0)
        outcome.code = http_parse_end(&parse);
    outcome.is_kept = parse.is_kept;
    http_parse_take(&parse, &outcome.answer);
    check(!parse.answer.body.data && !parse.line.data);
    return outcome;
}

static void check_answer(const struct http_answer *answer, bool is_head)
{
    check(answer->status >= 200 && answer->status <= 599 && answer->body.len <= ANSWER_MAX);
    check(answer->head.len <= 2 * (size_t)HTTP_HEAD_BYTES_MAX);
    check((!is_head && answer->status != 204 && answer->status != 304) || answer->body.len == 0);
    struct str rest = {answer->head.data, answer->head.len};
    struct str line;
    while (str_line(&rest, &line)) {
        const char *colon = memchr(line.p, ':', line.n);
        check(colon && colon > line.p && !memchr(line.p, '\r', line.n) && !memchr(line.p, '\0', line.n));
    }
    int64_t after = http_answer_retry_after(answer, 1794735000, 300);
    check(after >= -1 && after <= 300);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool is_head = data[0] & 1;
    unsigned cut = 1 + (data[0] >> 1) % 64;
    const char *text = (const char *)data + 1;
    struct outcome whole = feed(text, size - 1, is_head, 0);
    struct outcome pieces = feed(text, size - 1, is_head, cut);
    check(whole.code == pieces.code);
    check(whole.code == 0 || whole.code == -EPROTO || whole.code == -EMSGSIZE || whole.code == -ECONNRESET);
    if (whole.code == 0) {
        check(whole.used == pieces.used && whole.is_kept == pieces.is_kept);
        check(whole.answer.status == pieces.answer.status);
        check(str_eq((struct str){whole.answer.head.data, whole.answer.head.len},
            (struct str){pieces.answer.head.data, pieces.answer.head.len}));
        check(str_eq((struct str){whole.answer.body.data, whole.answer.body.len},
            (struct str){pieces.answer.body.data, pieces.answer.body.len}));
        check_answer(&whole.answer, is_head);
    }
    http_answer_fini(&whole.answer);
    http_answer_fini(&pieces.answer);
    return 0;
}
