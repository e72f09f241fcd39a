/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers by RFC 9112: "HTTP/1.1 200 OK", header lines, an empty line, a body. Lines may end with a bare LF. What an
 * intermediary could read differently than we do is refused rather than interpreted.
 */

#include <errno.h>

#include "base/num.h"
#include "net/http.h"

enum { LINE_MAX_BYTES = 16 * 1024, CHUNK_LINE_MAX_BYTES = 1024 };

void http_parse_init(struct http_parse *parse, bool is_head, size_t answer_max)
{
    *parse = (struct http_parse){.is_head = is_head, .answer_max = answer_max, .framing = HTTP_BODY_TO_END};
    /* "a:b" becomes "a: b\n"; the body keeps room for buf_cstr's NUL. */
    buf_init(&parse->answer.head, (size_t)HTTP_HEAD_BYTES_MAX * 2);
    buf_init(&parse->answer.body, answer_max < SIZE_MAX ? answer_max + 1 : answer_max);
    buf_init(&parse->line, LINE_MAX_BYTES);
}

void http_parse_fini(struct http_parse *parse)
{
    http_answer_fini(&parse->answer);
    buf_fini(&parse->line);
}

void http_parse_take(struct http_parse *parse, struct http_answer *ret_answer)
{
    *ret_answer = parse->answer;
    parse->answer = (struct http_answer){0};
    http_parse_fini(parse);
}

static int put(struct buf *buf, struct str bytes)
{
    if (bytes.n > buf->max - buf->len)
        return -EMSGSIZE;
    buf_append(buf, bytes.p, bytes.n);
    return buf_ok(buf) ? 0 : -ENOMEM;
}

static int parse_status(struct http_parse *parse, struct str line)
{
    if (http_text_has_control(line) || line.n < STR("HTTP/1.1 200").n || !str_starts(line, STR("HTTP/1.")) ||
        line.p[8] != ' ')
        return -EPROTO;
    const char *digits = line.p + 9;
    if (!ascii_is_digit(line.p[7]) || !ascii_is_digit(digits[0]) || !ascii_is_digit(digits[1]) ||
        !ascii_is_digit(digits[2]))
        return -EPROTO;
    if (line.n > STR("HTTP/1.1 200").n && digits[3] != ' ')
        return -EPROTO;
    int status = (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');
    /* 101 would be another protocol, which was not asked for. */
    if (status < 100 || status > 599 || status == 101)
        return -EPROTO;
    parse->answer.status = status;
    parse->is_old = line.p[7] == '0';
    return 0;
}

/* "close, Upgrade": a list of words. */
static void take_connection(struct http_parse *parse, struct str value)
{
    struct str word;
    while (str_cut(&value, ',', &word)) {
        word = str_trim(word);
        if (str_eq_nocase(word, STR("close")))
            parse->says_close = true;
        if (str_eq_nocase(word, STR("keep-alive")))
            parse->says_keep = true;
    }
}

static int take_framing(struct http_parse *parse, struct str name, struct str value)
{
    if (str_eq_nocase(name, STR("Content-Length"))) {
        if (parse->has_length || num_parse_u64(value, &parse->left) < 0)
            return -EPROTO;
        parse->has_length = true;
    } else if (str_eq_nocase(name, STR("Transfer-Encoding"))) {
        if (parse->has_coding || parse->is_old || !str_eq_nocase(value, STR("chunked")))
            return -EPROTO;
        parse->has_coding = true;
    } else if (str_eq_nocase(name, STR("Connection"))) {
        take_connection(parse, value);
    }
    return parse->has_length && parse->has_coding ? -EPROTO : 0;
}

/* Cuts "Name: value"; a line that begins with a blank (folded) has no name and is refused with the rest. */
static int cut_header(struct str line, struct str *ret_name, struct str *ret_value)
{
    const char *colon = memchr(line.p, ':', line.n);
    if (!colon || http_text_has_control(line))
        return -EPROTO;
    struct str name = {line.p, (size_t)(colon - line.p)};
    if (!http_text_is_token(name))
        return -EPROTO;
    *ret_name = name;
    *ret_value = str_trim((struct str){colon + 1, line.n - name.n - 1});
    return 0;
}

static int parse_header(struct http_parse *parse, struct str line)
{
    struct str name;
    struct str value;
    if (cut_header(line, &name, &value) < 0)
        return -EPROTO;
    int r = take_framing(parse, name, value);
    const struct str pieces[] = {name, STR(": "), value, STR("\n")};
    for (size_t i = 0; r == 0 && i < sizeof(pieces) / sizeof(pieces[0]); i++)
        r = put(&parse->answer.head, pieces[i]);
    return r;
}

static void finish(struct http_parse *parse)
{
    parse->state = HTTP_PARSE_DONE;
    parse->is_kept = parse->framing != HTTP_BODY_TO_END && !parse->says_close && (!parse->is_old || parse->says_keep);
    buf_fini(&parse->line);
}

/* The empty line behind the header lines. */
static int end_head(struct http_parse *parse)
{
    int status = parse->answer.status;
    if (status < 200) {
        parse->answer.status = 0;
        buf_clear(&parse->answer.head);
        parse->has_length = parse->has_coding = parse->says_close = parse->says_keep = false;
        parse->left = 0;
        return 0;
    }
    parse->state = HTTP_PARSE_BODY;
    if (parse->is_head || status == 204 || status == 304) {
        parse->framing = HTTP_BODY_LENGTH;
        parse->left = 0;
    } else if (parse->has_coding) {
        parse->framing = HTTP_BODY_CHUNKED;
    } else if (parse->has_length) {
        parse->framing = HTTP_BODY_LENGTH;
        if (parse->left > parse->answer_max)
            return -EMSGSIZE;
    }
    if (parse->framing == HTTP_BODY_LENGTH && parse->left == 0)
        finish(parse);
    return 0;
}

/* "1a;name=value", where blanks may stand before the semicolon. */
static int parse_chunk_size(struct http_parse *parse, struct str line)
{
    uint64_t size = 0;
    size_t i = 0;
    for (; i < line.n; i++) {
        int digit = ascii_hex_value(line.p[i]);
        if (digit < 0)
            break;
        if (size > UINT64_MAX >> 4)
            return -EPROTO;
        size = size << 4 | (unsigned)digit;
    }
    struct str rest = str_trim((struct str){line.p + i, line.n - i});
    if (i == 0 || http_text_has_control(line) || (rest.n > 0 && rest.p[0] != ';'))
        return -EPROTO;
    if (size > parse->answer_max - parse->answer.body.len)
        return -EMSGSIZE;
    parse->left = size;
    parse->chunk_step = size > 0 ? HTTP_CHUNK_DATA : HTTP_CHUNK_TRAILER;
    return 0;
}

static int take_chunk_line(struct http_parse *parse, struct str line)
{
    struct str name;
    struct str value;
    if (parse->chunk_step == HTTP_CHUNK_SIZE)
        return parse_chunk_size(parse, line);
    if (parse->chunk_step == HTTP_CHUNK_END) {
        parse->chunk_step = HTTP_CHUNK_SIZE;
        return line.n == 0 ? 0 : -EPROTO;
    }
    if (line.n > 0)
        return cut_header(line, &name, &value);
    finish(parse);
    return 0;
}

static int take_line(struct http_parse *parse, struct str line)
{
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (parse->state == HTTP_PARSE_BODY)
        return take_chunk_line(parse, line);
    if (parse->answer.status == 0)
        return parse_status(parse, line);
    return line.n > 0 ? parse_header(parse, line) : end_head(parse);
}

/* Sizes and ends of chunks are not counted as head: their number grows with the body. */
static int count_line(struct http_parse *parse, size_t n)
{
    if (parse->state == HTTP_PARSE_BODY && parse->chunk_step != HTTP_CHUNK_TRAILER)
        return parse->line.len + n > CHUNK_LINE_MAX_BYTES ? -EMSGSIZE : 0;
    parse->head_bytes += n;
    return parse->head_bytes > HTTP_HEAD_BYTES_MAX ? -EMSGSIZE : 0;
}

static ssize_t add_line(struct http_parse *parse, struct str bytes)
{
    const char *lf = memchr(bytes.p, '\n', bytes.n);
    size_t used = lf ? (size_t)(lf - bytes.p) + 1 : bytes.n;
    int r = count_line(parse, used);
    if (r == 0)
        r = put(&parse->line, (struct str){bytes.p, lf ? used - 1 : used});
    if (r == 0 && lf) {
        r = take_line(parse, (struct str){parse->line.data ? parse->line.data : "", parse->line.len});
        buf_clear(&parse->line);
    }
    return r < 0 ? r : (ssize_t)used;
}

static ssize_t add_body(struct http_parse *parse, struct str bytes)
{
    struct buf *body = &parse->answer.body;
    if (parse->framing == HTTP_BODY_TO_END) {
        if (bytes.n > parse->answer_max - body->len)
            return -EMSGSIZE;
    } else if (bytes.n > parse->left) {
        bytes.n = (size_t)parse->left;
    }
    int r = put(body, bytes);
    if (r < 0)
        return r;
    if (parse->framing == HTTP_BODY_TO_END)
        return (ssize_t)bytes.n;
    parse->left -= bytes.n;
    if (parse->left == 0 && parse->framing == HTTP_BODY_LENGTH)
        finish(parse);
    else if (parse->left == 0)
        parse->chunk_step = HTTP_CHUNK_END;
    return (ssize_t)bytes.n;
}

ssize_t http_parse_add(struct http_parse *parse, const char *bytes, size_t n)
{
    size_t used = 0;
    while (used < n && parse->state != HTTP_PARSE_DONE) {
        struct str rest = {bytes + used, n - used};
        bool is_line = parse->state == HTTP_PARSE_HEAD ||
                       (parse->framing == HTTP_BODY_CHUNKED && parse->chunk_step != HTTP_CHUNK_DATA);
        ssize_t r = is_line ? add_line(parse, rest) : add_body(parse, rest);
        if (r < 0)
            return r;
        used += (size_t)r;
    }
    return (ssize_t)used;
}

int http_parse_end(struct http_parse *parse)
{
    if (parse->state == HTTP_PARSE_BODY && parse->framing == HTTP_BODY_TO_END)
        finish(parse);
    return parse->state == HTTP_PARSE_DONE ? 0 : -ECONNRESET;
}
