/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain of credentials: environment and files in a scratch directory, the order of the sources, what is an error
 * and what falls through, and the services (STS, container, instance) played on loopback. No test looks at this
 * machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>

#include "aws/aws_internal.h"
#include "base/clock.h"
#include "loopback.h"
#include "scratch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NOW_SECS INT64_C(1794735000) /* 2026-11-15T09:30:00Z */
#define NO_INSTANCE "AWS_EC2_METADATA_DISABLED=true"
#define JSON_OK                                                                                                        \
    "{\"Code\":\"Success\",\"AccessKeyId\":\"ASIAREMOTE\",\"SecretAccessKey\":\"remote/"                               \
    "secret\",\"Token\":\"tok+en==\","                                                                                 \
    "\"Expiration\":\"2026-11-15T15:30:00Z\"}"
#define STS_OK                                                                                                         \
    "<AssumeRoleWithWebIdentityResponse "                                                                              \
    "xmlns=\"x\"><AssumeRoleWithWebIdentityResult><Credentials>\n<SessionToken>tok+en"                                 \
    "==</SessionToken><SecretAccessKey>remote/secret</SecretAccessKey><Expiration>2026-11-15T15:30:00Z</Expiration>"   \
    "<AccessKeyId>ASIAREMOTE</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>"                            \
    "</AssumeRoleWithWebIdentityResponse>"
#define EXPIRES_SECS INT64_C(1794756600)

enum { VARIABLES_MAX = 8, TEXT_BYTES = 256 };

static int64_t read_fixed(void *context, enum clock_kind kind)
{
    (void)context;
    return kind == CLOCK_KIND_REALTIME ? NOW_SECS * NS_PER_SEC : clock_read(&clock_system, kind);
}

static const struct clock fixed_clock = {.read_ns = read_fixed};

/* Surroundings of one test: variables, a home, a client. */
struct place {
    char home[SCRATCH_PATH_BYTES];
    char texts[VARIABLES_MAX][TEXT_BYTES];
    char *environment[VARIABLES_MAX + 1];
    size_t count;
    struct aws_context context;
    struct s3_credentials got;
    struct err err;
};

__attribute__((format(printf, 2, 3))) static void add(struct place *place, const char *fmt, ...)
{
    assert_true(place->count < VARIABLES_MAX);
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(place->texts[place->count], TEXT_BYTES, fmt, args);
    va_end(args);
    assert_true(n > 0 && n < TEXT_BYTES);
    place->environment[place->count] = place->texts[place->count];
    place->environment[++place->count] = NULL;
}

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    const struct http_context context = {.wait = &net_wait_plain, .user_agent = "resource-tracker/test"};
    if (!place || scratch_make(place->home) != 0)
        return -1;
    place->context = (struct aws_context){.environment = place->environment, .clock = &fixed_clock};
    add(place, "HOME=%s", place->home);
    *state = place;
    return http_client_new(&context, &place->context.http);
}

static int teardown(void **state)
{
    struct place *place = *state;
    http_client_free(place->context.http);
    int r = scratch_remove(place->home);
    free(place);
    return r;
}

static void write_file(const struct place *place, const char *name, const char *text)
{
    char path[TEXT_BYTES];
    (void)snprintf(path, sizeof(path), "%s/.aws", place->home);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof(path), "%s/%s", place->home, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int64_t soon(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC) + 10 * NS_PER_SEC;
}

static int find(struct place *place)
{
    memset(&place->got, 'x', sizeof(place->got));
    err_clear(&place->err);
    int r = aws_find_credentials(&place->context, soon(), &place->got, &place->err);
    assert_int_equal(place->err.code, r);
    if (r < 0)
        assert_int_equal(place->got.access_key[0], 'x');
    return r;
}

static void assert_found(struct place *place, const char *access_key, const char *region)
{
    int r = find(place);
    if (r != 0)
        fail_msg("%d: %s", r, place->err.msg);
    assert_string_equal(place->got.access_key, access_key);
    assert_string_equal(place->got.region, region);
}

static void assert_remote(struct place *place, const char *region)
{
    assert_found(place, "ASIAREMOTE", region);
    assert_string_equal(place->got.secret_key, "remote/secret");
    assert_string_equal(place->got.session_token, "tok+en==");
    assert_true(place->got.expires_secs.has);
    assert_int_equal(place->got.expires_secs.v, EXPIRES_SECS);
}

static void environment_lookup(void **state)
{
    (void)state;
    char first[] = "AB=1", second[] = "A=", third[] = "A=2", fourth[] = "B=x=y";
    char *const environment[] = {first, second, third, fourth, NULL};
    assert_null(env_get(environment, "A"));
    assert_string_equal(env_get(environment, "AB"), "1");
    assert_string_equal(env_get(environment, "B"), "x=y");
    assert_null(env_get(environment, "C"));
    assert_null(env_get(NULL, "C"));
}

static void from_environment(void **state)
{
    struct place *place = *state;
    add(place, "AWS_ACCESS_KEY_ID=AKIAENV");
    assert_int_equal(find(place), -EINVAL);
    add(place, "AWS_SECRET_ACCESS_KEY=secret\n");
    add(place, "AWS_REGION=eu-west-1");
    assert_found(place, "AKIAENV", "");
    assert_string_equal(place->got.secret_key, "secret");
    assert_string_equal(place->got.session_token, "");
    assert_false(place->got.expires_secs.has);
    add(place, "AWS_SESSION_TOKEN=token==");
    add(place, "AWS_CREDENTIAL_EXPIRATION=2026-11-15T15:30:00Z");
    /* What stands further down the chain does not matter. */
    add(place, "AWS_PROFILE=missing");
    add(place, "AWS_WEB_IDENTITY_TOKEN_FILE=/nowhere");
    assert_found(place, "AKIAENV", "");
    assert_string_equal(place->got.session_token, "token==");
    assert_int_equal(place->got.expires_secs.v, EXPIRES_SECS);
}

static void odd_environment(void **state)
{
    struct place *place = *state;
    add(place, "AWS_ACCESS_KEY_ID=AKIAENV");
    add(place, "AWS_SECRET_ACCESS_KEY=top secret");
    assert_int_equal(find(place), -EINVAL);
    assert_null(strstr(place->err.msg, "top"));
}

static void from_files(void **state)
{
    struct place *place = *state;
    add(place, NO_INSTANCE);
    assert_int_equal(find(place), -ENOENT);
    assert_non_null(strstr(place->err.msg, "AWS_ACCESS_KEY_ID"));
    write_file(place, ".aws/config",
        "[default]\nregion = eu-west-3\naws_access_key_id = AKIACONFIG\naws_secret_access_key = c");
    assert_found(place, "AKIACONFIG", "eu-west-3");
    write_file(place, ".aws/credentials",
        "[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = f\n"
        "aws_session_token = t\n[half]\naws_access_key_id = H\n");
    assert_found(place, "AKIAFILE", "eu-west-3");
    assert_string_equal(place->got.secret_key, "f");
    assert_string_equal(place->got.session_token, "t");
    add(place, "AWS_DEFAULT_REGION=us-west-2");
    assert_found(place, "AKIAFILE", "us-west-2");
    add(place, "AWS_DEFAULT_PROFILE=half");
    assert_int_equal(find(place), -EINVAL);
    assert_non_null(strstr(place->err.msg, "half"));
}

static void named_profile(void **state)
{
    struct place *place = *state;
    write_file(place, ".aws/credentials", "[default]\naws_access_key_id = D\naws_secret_access_key = d\n");
    write_file(place, ".aws/config", "[profile region-only]\nregion = eu-west-3\n");
    write_file(place, "mine", "[ci]\naws_access_key_id = CI\naws_secret_access_key = c\n");
    add(place, NO_INSTANCE);
    add(place, "AWS_PROFILE=ci");
    assert_int_equal(find(place), -EINVAL);
    assert_non_null(strstr(place->err.msg, "the profile ci"));
    add(place, "AWS_SHARED_CREDENTIALS_FILE=~/mine");
    assert_found(place, "CI", "");
    (void)snprintf(place->texts[2], TEXT_BYTES, "AWS_PROFILE=region-only");
    assert_int_equal(find(place), -ENOENT);
    assert_non_null(strstr(place->err.msg, "region-only"));
}

static void unusable_files(void **state)
{
    struct place *place = *state;
    add(place, NO_INSTANCE);
    write_file(place, ".aws/config", "[default]\nsso_session = corp\n");
    assert_int_equal(find(place), -EINVAL);
    assert_non_null(strstr(place->err.msg, "aws configure export-credentials --profile default"));
    write_file(place, ".aws/config", "[default]\naws_secret_access_key = hush hush\n");
    assert_int_equal(find(place), -EINVAL);
    assert_non_null(strstr(place->err.msg, ".aws/config, line 2"));
    assert_null(strstr(place->err.msg, "hush"));
    add(place, "AWS_CONFIG_FILE=%s", place->home);
    assert_int_equal(find(place), -EINVAL);
    assert_non_null(strstr(place->err.msg, "cannot be read: Is a directory"));
    (void)snprintf(place->texts[2], TEXT_BYTES, "AWS_CONFIG_FILE=%s/missing", place->home);
    assert_int_equal(find(place), -ENOENT);
}

static void regions(void **state)
{
    struct place *place = *state;
    char region[S3_REGION_BYTES] = "kept";
    add(place, NO_INSTANCE);
    assert_int_equal(aws_find_region(&place->context, soon(), region), -ENOENT);
    assert_string_equal(region, "kept");
    write_file(place, ".aws/config", "[default]\nregion = eu-west-3\n");
    assert_int_equal(aws_find_region(&place->context, soon(), region), 0);
    assert_string_equal(region, "eu-west-3");
    add(place, "AWS_DEFAULT_REGION=us-west-2");
    assert_int_equal(aws_find_region(&place->context, soon(), region), 0);
    assert_string_equal(region, "us-west-2");
    add(place, "AWS_REGION=not a region");
    assert_int_equal(aws_find_region(&place->context, soon(), region), 0);
    assert_string_equal(region, "us-west-2");
    (void)snprintf(place->texts[3], TEXT_BYTES, "AWS_REGION=ap-south-1");
    assert_int_equal(aws_find_region(&place->context, soon(), region), 0);
    assert_string_equal(region, "ap-south-1");
}

static void start(struct loopback *server, const char *const *answers, size_t count)
{
    assert_true(loopback_start(server, answers, count));
}

static const char *head_of(struct loopback *server, size_t i)
{
    assert_true(i < server->request_count);
    return buf_cstr(&server->requests[i].head);
}

static void web_identity(void **state)
{
    struct place *place = *state;
    static const char *const answers[] = {
        LOOPBACK_ANSWER("200 OK", "", STS_OK),
        LOOPBACK_ANSWER("403 Forbidden", "",
            "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>Not "
            "authorized</Message></Error>"),
        LOOPBACK_ANSWER("400 Bad", "", "<Code>InvalidIdentityToken</Code><Message>eyJ.to+ken is odd</Message>"),
        LOOPBACK_ANSWER("200 OK", "", "<SessionToken>x</SessionToken>"),
    };
    struct loopback server;
    start(&server, answers, COUNT(answers));
    write_file(place, "token", "eyJ.to+ken\n");
    write_file(place, ".aws/credentials", "[default]\naws_access_key_id = D\naws_secret_access_key = d\n");
    add(place, "AWS_WEB_IDENTITY_TOKEN_FILE=%s/token", place->home);
    assert_int_equal(find(place), -EINVAL);
    assert_non_null(strstr(place->err.msg, "AWS_ROLE_ARN"));
    add(place, "AWS_ROLE_ARN=arn:aws:iam::1:role/x");
    add(place, "AWS_ENDPOINT_URL_STS=http://127.0.0.1:%u/sts", server.port);
    add(place, "AWS_REGION=eu-west-1");
    assert_remote(place, "eu-west-1");
    assert_int_equal(find(place), -EAGAIN);
    assert_string_equal(place->err.msg, "AWS credentials: STS answers 403 AccessDenied: Not authorized");
    assert_int_equal(find(place), -EAGAIN);
    assert_string_equal(place->err.msg, "AWS credentials: STS answers 400 Bad Request");
    add(place, "AWS_ROLE_SESSION_NAME=me@here");
    assert_int_equal(find(place), -EAGAIN);
    assert_string_equal(place->err.msg, "AWS credentials: invalid answer from STS");
    loopback_stop(&server);
    assert_int_equal(strncmp(head_of(&server, 0), "POST /sts HTTP/1.1\r\n", 20), 0);
    assert_non_null(strstr(head_of(&server, 0), "\r\nContent-Type: application/x-www-form-urlencoded\r\n"));
    assert_string_equal(buf_cstr(&server.requests[0].body),
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx"
        "&RoleSessionName=resource-tracker-1794735000&WebIdentityToken=eyJ.to%2Bken");
    assert_non_null(strstr(buf_cstr(&server.requests[3].body), "&RoleSessionName=me%40here&"));
    loopback_fini(&server);
    write_file(place, "token", " \n");
    assert_int_equal(find(place), -EINVAL);
    (void)snprintf(place->texts[1], TEXT_BYTES, "AWS_WEB_IDENTITY_TOKEN_FILE=%s/none", place->home);
    assert_int_equal(find(place), -EINVAL);
    assert_non_null(strstr(place->err.msg, "No such file"));
}

static void container(void **state)
{
    struct place *place = *state;
    static const char *const answers[] = {
        LOOPBACK_ANSWER("200 OK", "", JSON_OK),
        LOOPBACK_ANSWER("404 Not Found", "", "{}"),
        LOOPBACK_ANSWER("200 OK", "", "{\"AccessKeyId\":\"A\"}"),
    };
    struct loopback server;
    start(&server, answers, COUNT(answers));
    add(place, "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:%u/creds?x=1", server.port);
    add(place, "AWS_CONTAINER_AUTHORIZATION_TOKEN=Basic abc");
    assert_remote(place, "");
    write_file(place, "token", "from the file\r\n");
    add(place, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=%s/token", place->home);
    assert_int_equal(find(place), -EAGAIN);
    assert_non_null(strstr(place->err.msg, "404"));
    assert_int_equal(find(place), -EAGAIN);
    assert_non_null(strstr(place->err.msg, "invalid answer"));
    loopback_stop(&server);
    assert_int_equal(find(place), -EAGAIN); /* nothing listens any more: no way round it */
    assert_int_equal(strncmp(head_of(&server, 0), "GET /creds?x=1 HTTP/1.1\r\n", 25), 0);
    assert_non_null(strstr(head_of(&server, 0), "\r\nAuthorization: Basic abc\r\n"));
    assert_non_null(strstr(head_of(&server, 1), "\r\nAuthorization: from the file\r\n"));
    loopback_fini(&server);
    (void)snprintf(place->texts[1], TEXT_BYTES, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=v2/x");
    assert_int_equal(find(place), -EINVAL);
    (void)snprintf(place->texts[1], TEXT_BYTES, "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://192.0.2.1/x");
    assert_int_equal(find(place), -EINVAL);
}

static void container_addresses(void **state)
{
    (void)state;
    static const char *const allowed[] = {"https://example.com/x", "http://127.0.0.1/x", "http://127.9.9.9:81",
        "http://localhost:81/x", "http://[::1]/x", "http://169.254.170.2/v2", "http://169.254.170.23/v1",
        "http://[fd00:ec2::23]/v1", "http://[FD00:0ec2:0::0:23]/v1"};
    static const char *const refused[] = {"", "example.com", "http://example.com/x", "http://169.254.170.3/",
        "http://169.254.169.254/", "http://[fd00:ec2::24]/", "http://127.0.0.1.example.com/",
        "http://169.254.170.2.example.com/", "http://169.254.170.2@example.com/", "ftp://127.0.0.1/"};
    struct err err = {0};
    for (size_t i = 0; i < COUNT(allowed); i++)
        if (aws_container_check_uri(allowed[i], &err) != 0)
            fail_msg("%s refused: %s", allowed[i], err.msg);
    for (size_t i = 0; i < COUNT(refused); i++)
        if (aws_container_check_uri(refused[i], &err) != -EINVAL)
            fail_msg("%s allowed", refused[i]);
}

static void instance(void **state)
{
    struct place *place = *state;
    static const char *const answers[] = {
        LOOPBACK_ANSWER("200 OK", "", "imds-token"),
        LOOPBACK_ANSWER("200 OK", "", "my role@x\n"),
        LOOPBACK_ANSWER("200 OK", "", "imds-token"),
        LOOPBACK_ANSWER("200 OK", "", "role@x\nother"),
        LOOPBACK_ANSWER("200 OK", "", JSON_OK),
        LOOPBACK_ANSWER("200 OK", "", "eu-north-1"),
        LOOPBACK_ANSWER("200 OK", "", "imds-token"),
        LOOPBACK_ANSWER("200 OK", "", "eu-north-1"),
    };
    struct loopback server;
    start(&server, answers, COUNT(answers));
    add(place, "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:%u/", server.port);
    assert_int_equal(find(place), -EAGAIN);
    assert_remote(place, "eu-north-1");
    char region[S3_REGION_BYTES] = "";
    assert_int_equal(aws_find_region(&place->context, soon(), region), 0);
    assert_string_equal(region, "eu-north-1");
    loopback_stop(&server);
    assert_int_equal(strncmp(head_of(&server, 2), "PUT /latest/api/token HTTP/1.1\r\n", 32), 0);
    assert_non_null(strstr(head_of(&server, 2), "\r\nX-aws-ec2-metadata-token-ttl-seconds: 300\r\n"));
    static const char directory[] = "GET /latest/meta-data/iam/security-credentials/";
    assert_int_equal(strncmp(head_of(&server, 3), directory, sizeof(directory) - 1), 0);
    assert_non_null(strstr(head_of(&server, 3), "\r\nX-aws-ec2-metadata-token: imds-token\r\n"));
    assert_int_equal(strncmp(head_of(&server, 4) + sizeof(directory) - 1, "role%40x HTTP/1.1\r\n", 19), 0);
    assert_int_equal(strncmp(head_of(&server, 5), "GET /latest/meta-data/placement/region ", 39), 0);
    loopback_fini(&server);
}

static void no_instance(void **state)
{
    struct place *place = *state;
    static const char *const answers[] = {
        LOOPBACK_ANSWER("404 Not Found", "", ""),
        LOOPBACK_ANSWER("200 OK", "", "imds-token"),
        LOOPBACK_ANSWER("404 Not Found", "", "no role"),
        LOOPBACK_ANSWER("200 OK", "", "imds-token"),
        LOOPBACK_ANSWER("200 OK", "", "role"),
        LOOPBACK_ANSWER("200 OK", "", "{\"Code\":\"AssumeRoleUnauthorizedAccess\"}"),
        LOOPBACK_ANSWER("200 OK", "", "<html>captive portal, not a word</html>"),
    };
    struct loopback server;
    start(&server, answers, COUNT(answers));
    add(place, "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:%u", server.port);
    assert_int_equal(find(place), -ENOENT); /* no metadata service */
    assert_int_equal(find(place), -ENOENT); /* an instance without a role */
    assert_int_equal(find(place), -EAGAIN); /* a role without credentials */
    assert_int_equal(find(place), -ENOENT); /* a web server that happens to answer */
    loopback_stop(&server);
    assert_int_equal(find(place), -ENOENT); /* nothing listens */
    assert_int_equal(server.request_count, 7);
    loopback_fini(&server);
    (void)snprintf(place->texts[1], TEXT_BYTES, "AWS_EC2_METADATA_SERVICE_ENDPOINT=nonsense");
    assert_int_equal(find(place), -EINVAL);
}

static void remote_json(void **state)
{
    (void)state;
    struct s3_credentials got;
    assert_int_equal(aws_remote_read_json(STR("{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\"}"), &got), 0);
    assert_string_equal(got.session_token, "");
    assert_false(got.expires_secs.has);
    assert_int_equal(
        aws_remote_read_json(
            STR("{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Token\":null,\"Expiration\":null}"), &got),
        0);
    static const char *const odd[] = {
        "",
        "[]",
        "\"x\"",
        "{}",
        "{\"AccessKeyId\":\"A\"}",
        "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":1}",
        "{\"AccessKeyId\":\"\",\"SecretAccessKey\":\"S\"}",
        "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\\r\\nX: y\"}",
        "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Token\":7}",
        "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Expiration\":\"soon\"}",
        "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Code\":\"Failed\"}",
        "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\"",
    };
    memset(&got, 'x', sizeof(got));
    for (size_t i = 0; i < COUNT(odd); i++)
        assert_int_equal(aws_remote_read_json(str_of(odd[i]), &got), -EBADMSG);
    assert_int_equal(aws_web_identity_read(STR(""), &got), -EBADMSG);
    assert_int_equal(aws_web_identity_read(STR(JSON_OK), &got), -EBADMSG);
    assert_int_equal(
        aws_web_identity_read(STR("<AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T"
                                  "</SessionToken><Expiration>soon</Expiration>"),
            &got),
        -EBADMSG);
    assert_int_equal(got.access_key[0], 'x');
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment_lookup),
        WITH_PLACE(from_environment),
        WITH_PLACE(odd_environment),
        WITH_PLACE(from_files),
        WITH_PLACE(named_profile),
        WITH_PLACE(unusable_files),
        WITH_PLACE(regions),
        WITH_PLACE(web_identity),
        WITH_PLACE(container),
        cmocka_unit_test(container_addresses),
        WITH_PLACE(instance),
        WITH_PLACE(no_instance),
        cmocka_unit_test(remote_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
