/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pure half of the client: bytes of an answer as they come, in pieces of any size, into status, headers and body.
 * Strict where laxness is dangerous (two lengths, length and chunked, folded lines), lenient about a missing reason.
 * Used by the blocking client and by the cloud probes, which run side by side.
 */
#ifndef NET_HTTP_PARSE_H
#define NET_HTTP_PARSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/http.h"

enum http_parse_state { HTTP_PARSE_HEAD, HTTP_PARSE_BODY, HTTP_PARSE_DONE };

struct http_parse {
    struct http_answer answer;
    enum http_parse_state state;
    bool is_head; /* the request was HEAD: no body follows */
    bool is_kept; /* after DONE: the connection may be used again */
    size_t answer_max;
    struct buf line; /* of the head, and of chunk sizes and trailers */
    size_t head_bytes; /* all lines taken so far, of 1xx answers and trailers too */
    bool is_old; /* HTTP/1.0 */
    bool has_length, has_coding, says_close, says_keep; /* of the head that is being read */
    enum { HTTP_BODY_LENGTH, HTTP_BODY_CHUNKED, HTTP_BODY_TO_END } framing;
    uint64_t left; /* of the body, or of the chunk */
    enum { HTTP_CHUNK_SIZE, HTTP_CHUNK_DATA, HTTP_CHUNK_END, HTTP_CHUNK_TRAILER } chunk_step;
};

void http_parse_init(struct http_parse *parse, bool is_head, size_t answer_max);
void http_parse_fini(struct http_parse *parse);

/*
 * Takes bytes. Returns how many it used (fewer than n only when it is done: what is left is not part of it), or
 * -EPROTO, -EMSGSIZE, -ENOMEM.
 */
ssize_t http_parse_add(struct http_parse *parse, const char *bytes, size_t n);

/* The connection was closed: 0 where that completes the answer, else -ECONNRESET. */
int http_parse_end(struct http_parse *parse);

/* Hands the answer over (the parser is empty afterwards). */
void http_parse_take(struct http_parse *parse, struct http_answer *ret_answer);

#endif
