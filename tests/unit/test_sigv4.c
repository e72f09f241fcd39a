/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures against the published suite (canonical request, string to sign and authorization of every directory), and
 * against requests to S3 that botocore signed: S3 leaves the path alone, and signs the hash of the payload as a header.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "aws/sigv4.h"
#include "base/auto.h"
#include "base/file.h"
#include "codec/hash.h"

#ifndef SOURCE_ROOT
#define SOURCE_ROOT "."
#endif
#define SUITE SOURCE_ROOT "/../shared/testdata/aws4_testsuite"

enum { PATH_BYTES = 512, FILE_BYTES_MAX = 64 * 1024, SUITE_CASES = 34 };

static const struct sigv4_key suite_key = {
    .access_key = {"AKIDEXAMPLE", 11},
    .secret_key = {"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", 40},
    .region = {"us-east-1", 9},
    .service = {"service", 7},
    .amz_date = {"20150830T123600Z", 16},
};

/* The files of the suite have CRLF in some copies and an LF behind the last line in others. */
static struct str read_suite_file(const char *directory, const char *ending, struct buf *buf)
{
    const char *name = strrchr(directory, '/') + 1;
    char path[PATH_BYTES];
    assert_true(snprintf(path, sizeof(path), "%s/%s.%s", directory, name, ending) < (int)sizeof(path));
    buf_init(buf, FILE_BYTES_MAX);
    if (file_read_at(AT_FDCWD, path, buf) < 0)
        fail_msg("%s cannot be read", path);
    size_t kept = 0;
    for (size_t i = 0; i < buf->len; i++)
        if (buf->data[i] != '\r')
            buf->data[kept++] = buf->data[i];
    return (struct str){buf->data, kept};
}

static bool is_folded(struct str line)
{
    return line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t');
}

/* A header line, and those that continue it. */
static size_t add_header(struct str line, struct sigv4_header *headers, size_t count)
{
    if (is_folded(line)) {
        assert_true(count > 0);
        headers[count - 1].value.n = (size_t)(line.p + line.n - headers[count - 1].value.p);
        return count;
    }
    const char *colon = memchr(line.p, ':', line.n);
    assert_non_null(colon);
    assert_true(count < SIGV4_HEADERS_MAX);
    size_t name_bytes = (size_t)(colon - line.p);
    headers[count] = (struct sigv4_header){{line.p, name_bytes}, {colon + 1, line.n - name_bytes - 1}};
    return count + 1;
}

/* "GET /a b?x HTTP/1.1": the target may hold blanks. */
static void read_request_line(struct str line, struct sigv4_request *request)
{
    const char *blank = memchr(line.p, ' ', line.n);
    assert_non_null(blank);
    static const struct str version = {" HTTP/1.1", 9};
    assert_true(line.n > version.n && memcmp(line.p + line.n - version.n, version.p, version.n) == 0);
    request->method = (struct str){line.p, (size_t)(blank - line.p)};
    struct str target = {blank + 1, line.n - request->method.n - 1 - version.n};
    const char *mark = memchr(target.p, '?', target.n);
    request->path = mark ? (struct str){target.p, (size_t)(mark - target.p)} : target;
    request->query = mark ? (struct str){mark + 1, target.n - request->path.n - 1} : STR("");
}

static struct str read_suite_request(struct str rest, struct sigv4_request *request, struct sigv4_header *headers)
{
    struct str line;
    assert_true(str_line(&rest, &line));
    read_request_line(line, request);
    while (str_line(&rest, &line) && line.n > 0)
        request->header_count = add_header(line, headers, request->header_count);
    return rest;
}

/*
 * In two directories the security token is not in the request but signed all the same; the signed request of the suite
 * has it. Where it is added after signing, the canonical request is without it.
 */
static void add_token(
    struct str signed_request, struct str canonical, struct sigv4_request *request, struct sigv4_header *headers)
{
    if (!memmem(canonical.p, canonical.n, "\nx-amz-security-token:", 22))
        return;
    for (size_t i = 0; i < request->header_count; i++)
        if (str_eq(headers[i].name, STR("X-Amz-Security-Token")))
            return;
    struct str line;
    while (str_line(&signed_request, &line))
        if (str_starts(line, STR("X-Amz-Security-Token:")))
            request->header_count = add_header(line, headers, request->header_count);
}

static void assert_text(struct str got, struct str want, const char *directory, const char *what)
{
    if (!str_eq(got, want))
        fail_msg("%s: %s\ngot  %.*s\nwant %.*s", directory, what, (int)got.n, got.p, (int)want.n, want.p);
}

static void check_suite_directory(const char *directory)
{
    AUTO_BUF struct buf req, sreq, creq, sts, authz, got;
    struct str want_canonical = read_suite_file(directory, "creq", &creq);
    struct str want_string = read_suite_file(directory, "sts", &sts);
    struct str want_authorization = read_suite_file(directory, "authz", &authz);
    struct sigv4_header headers[SIGV4_HEADERS_MAX];
    struct sigv4_request request = {.headers = headers};
    struct str body = read_suite_request(read_suite_file(directory, "req", &req), &request, headers);
    add_token(read_suite_file(directory, "sreq", &sreq), want_canonical, &request, headers);
    uint8_t hash[HASH_BYTES];
    char hex[HASH_HEX_BYTES];
    assert_int_equal(hash_sha256(body, hash), 0);
    hash_hex(hash, hex);
    request.payload_sha256 = str_of(hex);

    buf_init(&got, FILE_BYTES_MAX);
    assert_int_equal(sigv4_put_canonical(&request, &got), 0);
    assert_text((struct str){got.data, got.len}, want_canonical, directory, "canonical request");
    buf_clear(&got);
    assert_int_equal(sigv4_put_string_to_sign(want_canonical, &suite_key, &got), 0);
    assert_text((struct str){got.data, got.len}, want_string, directory, "string to sign");
    buf_clear(&got);
    assert_int_equal(sigv4_sign_request(&request, &suite_key, &got), 0);
    assert_text((struct str){got.data, got.len}, want_authorization, directory, "authorization");
}

/* nftw(3) has no context of its own. */
static int *suite_count(void)
{
    static int count;
    return &count;
}

static int visit(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    size_t n = strlen(path);
    if (kind != FTW_F || n < 5 || strcmp(path + n - 5, ".creq") != 0)
        return 0;
    char directory[PATH_BYTES];
    assert_true((size_t)walk->base <= sizeof(directory));
    (void)str_copy((struct str){path, (size_t)walk->base - 1}, directory, sizeof(directory));
    check_suite_directory(directory);
    *suite_count() += 1;
    return 0;
}

static void published_suite(void **state)
{
    (void)state;
    *suite_count() = 0;
    assert_int_equal(nftw(SUITE, visit, 8, FTW_PHYS), 0);
    assert_int_equal(*suite_count(), SUITE_CASES);
}

/* Signed by botocore 1.43 (S3SigV4Auth) at 2026-11-15 09:30:00 with the example keys of the AWS documentation. */
struct s3_example {
    const char *method, *host, *path, *query, *content_type, *body, *token, *region, *signed_headers, *signature;
};

static const struct s3_example s3_examples[] = {
    {"PUT", "metrics.s3.eu-central-1.amazonaws.com", "/runs/r-1/000000.csv.gz", "", "application/gzip", "hello", NULL,
        "eu-central-1", "content-type;host;x-amz-content-sha256;x-amz-date",
        "db9417619a80ec9c6e9ca3eda227a905411bffdddf522d607a27481d57fe1a68"},
    {"PUT", "metrics.s3.eu-central-1.amazonaws.com", "/runs/r-1/000000.csv.gz", "", "application/gzip", "hello",
        "AQoDYXdzEPT//////////wEXAMPLE==", "eu-central-1",
        "content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token",
        "06a70d4f40b6769c7131dd9f99f4a36eaec6ca2364d07148f07589261cff27f0"},
    {"PUT", "s3.us-east-1.amazonaws.com", "/my.bucket/a%20b/%2B~%C3%A9//x%3D%28y%29/./..", "", "application/gzip", "",
        NULL, "us-east-1", "content-type;host;x-amz-content-sha256;x-amz-date",
        "cc92e72f6742daee5b2bbe8eab16e65f593f571416d053634033b058ba3f68b1"},
    {"PUT", "127.0.0.1:9000", "/bucket/k", "", "text/csv", "a,b\n1,2\n", NULL, "us-east-1",
        "content-type;host;x-amz-content-sha256;x-amz-date",
        "997f90c935bf2f82310e254d3c2419173a5964cb1179dd8a3531e78a8a9ec8ae"},
    {"PUT", "[::1]:9000", "/bucket/k", "", "text/csv", "a,b\n1,2\n", NULL, "us-east-1",
        "content-type;host;x-amz-content-sha256;x-amz-date",
        "5ff35bb18eebaaf9e4fff6b10597e09e3589e24fc495176cf5c728a0dc569c76"},
    {"GET", "metrics.s3.eu-central-1.amazonaws.com", "/", "prefix=runs%2F&list-type=2&delimiter=", NULL, "", NULL,
        "eu-central-1", "host;x-amz-content-sha256;x-amz-date",
        "757a896dcc76c28a24e0480da57cb732da6dcefafdd4d71aa714e2bed90f77f2"},
};

static void check_s3_example(const struct s3_example *example)
{
    uint8_t hash[HASH_BYTES];
    char hex[HASH_HEX_BYTES];
    assert_int_equal(hash_sha256(str_of(example->body), hash), 0);
    hash_hex(hash, hex);
    struct sigv4_header headers[5] = {
        {STR("X-Amz-Date"), STR("20261115T093000Z")},
        {STR("x-amz-content-sha256"), str_of(hex)},
        {STR("Host"), str_of(example->host)},
    };
    size_t count = 3;
    if (example->content_type)
        headers[count++] = (struct sigv4_header){STR("content-type"), str_of(example->content_type)};
    if (example->token)
        headers[count++] = (struct sigv4_header){STR("X-AMZ-Security-Token"), str_of(example->token)};
    struct sigv4_request request = {str_of(example->method), str_of(example->path), str_of(example->query), headers,
        count, str_of(hex), .is_s3 = true};
    struct sigv4_key key = {STR("AKIAIOSFODNN7EXAMPLE"), STR("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        str_of(example->region), STR("s3"), STR("20261115T093000Z")};
    AUTO_BUF struct buf got;
    buf_init(&got, FILE_BYTES_MAX);
    buf_puts(&got, "kept ");
    assert_int_equal(sigv4_sign_request(&request, &key, &got), 0);
    char want[512];
    assert_true(snprintf(want, sizeof(want),
                    "kept AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20261115/%s/s3/aws4_request, "
                    "SignedHeaders=%s, Signature=%s",
                    example->region, example->signed_headers, example->signature) < (int)sizeof(want));
    assert_string_equal(buf_cstr(&got), want);
}

static void s3_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(s3_examples) / sizeof(s3_examples[0]); i++)
        check_s3_example(&s3_examples[i]);
}

static int canonical_of(struct str path, struct str query, bool is_s3, struct buf *buf)
{
    static const struct sigv4_header header = {{"Host", 4}, {"h", 1}};
    struct sigv4_request request = {STR("GET"), path, query, &header, 1, STR("UNSIGNED-PAYLOAD"), .is_s3 = is_s3};
    buf_init(buf, FILE_BYTES_MAX);
    return sigv4_put_canonical(&request, buf);
}

static void paths_and_queries(void **state)
{
    (void)state;
    static const struct {
        const char *path, *query;
        bool is_s3;
        const char *want_path, *want_query;
    } cases[] = {
        {"", "", true, "/", ""},
        {"", "", false, "/", ""},
        {"//a//b/../%20/", "", true, "//a//b/../%20/", ""},
        {"//a//b/../%20/", "", false, "/a/%2520/", ""},
        {"/../../x", "", false, "/x", ""},
        {"/a/..hidden/.b", "", false, "/a/..hidden/.b", ""},
        {"/a/.", "", false, "/a", ""},
        {"/", "b&a=2&a=1&&=x", true, "/", "=x&a=1&a=2&b="},
        {"/", "a=b=c&k=x+y", true, "/", "a=b%3Dc&k=x%2By"},
        {"/", "a=%7e%2f", true, "/", "a=~%2F"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO_BUF struct buf got;
        assert_int_equal(canonical_of(str_of(cases[i].path), str_of(cases[i].query), cases[i].is_s3, &got), 0);
        char want[256];
        (void)snprintf(want, sizeof(want), "GET\n%s\n%s\nhost:h\n\nhost\nUNSIGNED-PAYLOAD", cases[i].want_path,
            cases[i].want_query);
        assert_string_equal(buf_cstr(&got), want);
    }
}

static void refusals(void **state)
{
    (void)state;
    AUTO_BUF struct buf got, query;
    assert_int_equal(canonical_of(STR("/"), STR("a=%zz"), true, &got), -EINVAL);

    buf_init(&query, FILE_BYTES_MAX);
    for (int i = 0; i < 65; i++)
        buf_puts(&query, "a=1&");
    AUTO_BUF struct buf many;
    assert_int_equal(canonical_of(STR("/"), (struct str){query.data, query.len}, true, &many), -E2BIG);

    struct sigv4_header headers[SIGV4_HEADERS_MAX + 1];
    for (size_t i = 0; i <= SIGV4_HEADERS_MAX; i++)
        headers[i] = (struct sigv4_header){STR("x"), STR("y")};
    struct sigv4_request request = {.method = STR("GET"), .headers = headers, .payload_sha256 = STR("x")};
    buf_clear(&got);
    assert_int_equal(sigv4_sign_request(&request, &suite_key, &got), -EINVAL);
    request.header_count = SIGV4_HEADERS_MAX + 1;
    assert_int_equal(sigv4_sign_request(&request, &suite_key, &got), -E2BIG);
    request.header_count = 1;
    static const char *const dates[] = {"", "20150830", "20150830T123600", "20150830T123600ZZ", "2015083 T123600Z",
        "20150830t123600Z", "2015-08-30T12:36"};
    for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
        struct sigv4_key key = suite_key;
        key.amz_date = str_of(dates[i]);
        assert_int_equal(sigv4_sign_request(&request, &key, &got), -EINVAL);
    }
    struct sigv4_key key = suite_key;
    static const char secret[600];
    key.secret_key = (struct str){secret, sizeof(secret)};
    assert_int_equal(sigv4_sign_request(&request, &key, &got), -E2BIG);
    assert_int_equal(got.len, 0);
}

/* A request that is larger than any real one is refused, and so is an output that cannot hold the header. */
static void too_large(void **state)
{
    (void)state;
    static char value[SIGV4_CANONICAL_MAX];
    memset(value, 'v', sizeof(value));
    struct sigv4_header header = {STR("host"), {value, sizeof(value)}};
    struct sigv4_request request = {STR("GET"), STR("/"), STR(""), &header, 1, STR("x"), .is_s3 = true};
    AUTO_BUF struct buf got;
    buf_init(&got, 16);
    assert_int_equal(sigv4_sign_request(&request, &suite_key, &got), -E2BIG);
    header.value.n = 4;
    assert_int_equal(sigv4_sign_request(&request, &suite_key, &got), -E2BIG);
}

#define OWN_TESTS                                                                                                      \
    cmocka_unit_test(s3_requests), cmocka_unit_test(paths_and_queries), cmocka_unit_test(refusals),                    \
        cmocka_unit_test(too_large)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(published_suite), OWN_TESTS};
    const struct CMUnitTest own_tests[] = {OWN_TESTS};
    if (access(SUITE, R_OK) == 0)
        return cmocka_run_group_tests(tests, NULL, NULL);
    (void)fprintf(stderr, "# the published suite is not at " SUITE "\n");
    return cmocka_run_group_tests(own_tests, NULL, NULL);
}
