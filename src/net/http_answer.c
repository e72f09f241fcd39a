/* SPDX-License-Identifier: Apache-2.0 */
/* What callers ask of an answer: single headers, and how long the server wants to be left alone. */
#include "net/http.h"

#include <errno.h>
#include <strings.h>

#include "base/num.h"
#include "base/utc.h"

void http_answer_fini(struct http_answer *answer)
{
    buf_fini(&answer->head);
    buf_fini(&answer->body);
    answer->status = 0;
}

struct str http_answer_header(const struct http_answer *answer, const char *name)
{
    size_t n = strlen(name);
    struct str rest = {answer->head.data, answer->head.len};
    struct str line;
    while (str_line(&rest, &line)) {
        if (line.n > n && line.p[n] == ':' && strncasecmp(line.p, name, n) == 0)
            return str_trim((struct str){line.p + n + 1, line.n - n - 1});
    }
    return (struct str){0};
}

/* "Retry-After: 120" or "Retry-After: Sun, 15 Nov 2026 09:30:00 GMT" (RFC 9110, 10.2.3). */
int64_t http_answer_retry_after(const struct http_answer *answer, int64_t now_unix_secs, int64_t max_secs)
{
    struct str value = http_answer_header(answer, "Retry-After");
    uint64_t secs;
    int64_t date;
    int r = num_parse_u64(value, &secs);
    if (r == -ERANGE)
        return max_secs;
    if (r == 0)
        return secs < (uint64_t)max_secs ? (int64_t)secs : max_secs;
    if (value.n == 0 || utc_parse_http(value, now_unix_secs, &date) < 0)
        return -1;
    if (date <= now_unix_secs)
        return 0;
    return date - now_unix_secs < max_secs ? date - now_unix_secs : max_secs;
}
