/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of TLS can be seen without a server: random bytes, the words for refusals, roots that are not there, and a peer
 * at the other end of a socket pair that says nothing or nonsense. Real servers are in tests/e2e/test_tls.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509.h>
#include <mbedtls/x509_crt.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/tls.h"
#include "net/tls_internal.h"
#include "scratch.h"

/* A self-signed certificate, which is a root as good as any. */
static const char root_pem[] = "-----BEGIN CERTIFICATE-----\n"
                               "MIIBdDCCARugAwIBAgIUWM4k+kt8Q/sEcCADNL6vhmiK9m4wCgYIKoZIzj0EAwIw\n"
                               "DzENMAsGA1UEAwwEcm9vdDAgFw0yNjExMTUxNzQ4MzBaGA8yMTAwMTAxODE3NDgz\n"
                               "MFowDzENMAsGA1UEAwwEcm9vdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABH2Y\n"
                               "Qf1OGggvv4IYQRWQzVdUW8yjLKLvrXyomOKs2yBoMa1uG13BaeTXOGgT0pkGhzy6\n"
                               "U/bKx2gewsCD1/n+JzijUzBRMB0GA1UdDgQWBBTjNkZafw1ENph8KM5AgNulBI/+\n"
                               "bTAfBgNVHSMEGDAWgBTjNkZafw1ENph8KM5AgNulBI/+bTAPBgNVHRMBAf8EBTAD\n"
                               "AQH/MAoGCCqGSM49BAMCA0cAMEQCIANs3rMsNhNIEscvEKvW4SGkbLr7tK3tFC64\n"
                               "qzgyXmCvAiArsa5xxiegRQmrPkSfmGsrFZOK8/sEeSI6vbnntWUIwA==\n"
                               "-----END CERTIFICATE-----\n";

/* Counts how often it is asked to wait, and answers from the third time on with `code`. */
struct fake_wait {
    int calls;
    int code;
    short events;
};

static int fake_until(void *context, int fd, short events, int64_t deadline_ns)
{
    (void)fd;
    assert_int_equal(deadline_ns, 12345);
    struct fake_wait *wait = context;
    wait->events = events;
    return ++wait->calls < 3 ? 0 : wait->code;
}

static void write_file(const char *directory, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Opens against the other end of a pair on which `said` was said; closed where is_closed. */
static int open_against(struct str said, bool is_closed, struct fake_wait *wait, struct err *err)
{
    char directory[SCRATCH_PATH_BYTES];
    char path[256];
    assert_int_equal(scratch_make(directory), 0);
    write_file(directory, "root.pem", root_pem);
    (void)snprintf(path, sizeof(path), "%s/root.pem", directory);
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(write(ends[1], said.p, said.n), said.n);
    if (is_closed)
        (void)close(ends[1]);
    struct tls *tls = NULL;
    const struct tls_peer peer = {.fd = ends[0], .host = "good.example", .trust = &(struct tls_trust){.file = path}};
    int code = tls_open(&tls, &peer, &(struct net_wait){.until = fake_until, .context = wait}, 12345, err);
    assert_null(tls);
    assert_true(fcntl(ends[0], F_GETFD) >= 0);
    (void)close(ends[0]);
    if (!is_closed)
        (void)close(ends[1]);
    assert_int_equal(scratch_remove(directory), 0);
    return code;
}

static void test_entropy(void **state)
{
    (void)state;
    unsigned char bytes[2][1000] = {{0}};
    assert_int_equal(tls_entropy_fill(NULL, bytes[0], sizeof(bytes[0])), 0);
    assert_int_equal(tls_entropy_fill(NULL, bytes[1], sizeof(bytes[1])), 0);
    assert_memory_not_equal(bytes[0], bytes[1], sizeof(bytes[0]));
    size_t counts[256] = {0};
    for (size_t i = 0; i < sizeof(bytes[0]); i++)
        counts[bytes[0][i]]++;
    for (size_t i = 0; i < 256; i++)
        assert_true(counts[i] < 40); /* about 4 are expected */
    unsigned char none = 7;
    assert_int_equal(tls_entropy_fill(NULL, &none, 0), 0);
    assert_int_equal(none, 7);
}

static void test_words_of_refusals(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(tls_err_refused(MBEDTLS_X509_BADCERT_EXPIRED, "a.example", &err), -EKEYREJECTED);
    assert_int_equal(err.code, -EKEYREJECTED);
    assert_string_equal(err.msg, "the certificate of a.example is refused: it has expired (by this machine's clock)");
    tls_err_refused(MBEDTLS_X509_BADCERT_CN_MISMATCH | MBEDTLS_X509_BADCERT_BAD_KEY, "a.example", &err);
    assert_string_equal(
        err.msg, "the certificate of a.example is refused: it is made out to another host name, it has a weak key");
    tls_err_refused(MBEDTLS_X509_BADCERT_OTHER, "a.example", &err);
    assert_string_equal(err.msg, "the certificate of a.example is refused: a CA above it must not vouch for this name "
                                 "(name constraints)");
    tls_err_refused(0, "a.example", &err);
    assert_string_equal(err.msg, "the certificate of a.example is refused: it cannot be verified");
    /* All at once, and a host name of any length: still one line that is not cut in the middle of its head. */
    char host[300];
    memset(host, 'h', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    tls_err_refused(0xffff, host, &err);
    assert_true(strlen(err.msg) < sizeof(err.msg));
    assert_non_null(strstr(err.msg, "hhh is refused: it has expired"));
    assert_null(strchr(err.msg, '\n'));
    assert_int_equal(tls_err_refused(MBEDTLS_X509_BADCERT_FUTURE, "a.example", NULL), -EKEYREJECTED);
}

static void test_words_of_failures(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(tls_err_failed(MBEDTLS_ERR_SSL_CONN_EOF, "TLS handshake", &err), -ECONNRESET);
    assert_string_equal(err.msg, "TLS handshake: the server hung up");
    assert_int_equal(tls_err_failed(MBEDTLS_ERR_SSL_ALLOC_FAILED, "TLS handshake", &err), -ENOMEM);
    assert_int_equal(tls_err_failed(MBEDTLS_ERR_X509_INVALID_FORMAT, "TLS handshake", &err), -EKEYREJECTED);
    assert_string_equal(err.msg, "TLS handshake: the certificate cannot be read (mbedTLS error -0x2180)");
    assert_int_equal(tls_err_failed(-0x6600, "TLS handshake", &err), -EPROTO);
    assert_string_equal(err.msg, "TLS handshake failed (mbedTLS error -0x6600)");
}

static int load(const struct tls_trust *trust, struct tls_trust_count *ret_count, struct err *err)
{
    mbedtls_x509_crt roots;
    mbedtls_x509_crt_init(&roots);
    int code = tls_trust_load(trust, &roots, ret_count, err);
    mbedtls_x509_crt_free(&roots);
    return code;
}

static void check_no_roots(const struct tls_trust *trust, const char *words)
{
    struct err err = {0};
    struct tls_trust_count count = {77, 77};
    assert_int_equal(load(trust, &count, &err), -ENOENT);
    assert_int_equal(err.code, -ENOENT);
    assert_non_null(strstr(err.msg, words));
    assert_non_null(strstr(err.msg, "SSL_CERT_FILE"));
    assert_int_equal(count.loaded, 77);
}

static void test_no_roots(void **state)
{
    (void)state;
    check_no_roots(&(struct tls_trust){.file = "/nonexistent"}, "/nonexistent (No such file or directory)");
    check_no_roots(&(struct tls_trust){.dir = "/nonexistent"}, "/nonexistent (No such file or directory)");
    check_no_roots(&(struct tls_trust){.file = "/"}, "/ (Is a directory)");
    check_no_roots(&(struct tls_trust){.file = "/dev/null"}, "could be read from /dev/null");
    check_no_roots(&(struct tls_trust){.dir = "/dev/null"}, "/dev/null (Not a directory)");
}

static void test_roots_of_a_directory(void **state)
{
    (void)state;
    char directory[SCRATCH_PATH_BYTES];
    char path[256];
    assert_int_equal(scratch_make(directory), 0);
    check_no_roots(&(struct tls_trust){.dir = directory}, "could be read from");
    write_file(directory, "root.pem", root_pem);
    write_file(directory, "words.txt", "no certificate");
    write_file(directory, "empty", "");
    (void)snprintf(path, sizeof(path), "%s/alias.0", directory);
    assert_int_equal(symlink("root.pem", path), 0);
    (void)snprintf(path, sizeof(path), "%s/inner", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    struct tls_trust_count count;
    assert_int_equal(load(&(struct tls_trust){.dir = directory}, &count, NULL), 0);
    assert_int_equal(count.loaded, 1);
    assert_int_equal(count.refused, 1);
    (void)snprintf(path, sizeof(path), "%s/root.pem", directory);
    assert_int_equal(load(&(struct tls_trust){.file = path, .dir = directory}, &count, NULL), 0);
    assert_int_equal(count.loaded, 2);
    assert_int_equal(scratch_remove(directory), 0);
}

static void test_file_that_is_too_large(void **state)
{
    (void)state;
    char directory[SCRATCH_PATH_BYTES];
    char path[256];
    assert_int_equal(scratch_make(directory), 0);
    write_file(directory, "root.pem", root_pem);
    (void)snprintf(path, sizeof(path), "%s/root.pem", directory);
    for (off_t over = 0; over < 3; over++) {
        assert_int_equal(truncate(path, TLS_TRUST_BYTES_MAX + over), 0);
        struct tls_trust_count count;
        struct err err = {0};
        int code = load(&(struct tls_trust){.file = path}, &count, &err);
        assert_int_equal(code, over == 0 ? 0 : -ENOENT);
    }
    assert_int_equal(scratch_remove(directory), 0);
}

/* A NameConstraints of one list: 0xa0 permitted, 0xa1 excluded; short forms only. */
static struct str constraints_of(char *room, unsigned char list, unsigned char tag, struct str base)
{
    char *p = room;
    unsigned char inner = (unsigned char)(base.n + 2);
    const unsigned char head[] = {
        0x30, (unsigned char)(inner + 4), list, (unsigned char)(inner + 2), 0x30, inner, tag, (unsigned char)base.n};
    memcpy(p, head, sizeof(head));
    memcpy(p + sizeof(head), base.p, base.n);
    return (struct str){room, sizeof(head) + base.n};
}

static void test_name_constraints(void **state)
{
    (void)state;
    enum { PERMITTED = 0xa0, EXCLUDED = 0xa1, DNS = 2, DIRECTORY = 4, ADDRESS = 7, MAIL = 1 };
    const struct {
        unsigned char list, tag;
        struct str base;
        unsigned type;
        struct str name;
        bool is_permitted;
    } cases[] = {
        {PERMITTED, 0x82, STR("a.org"), DNS, STR("a.org"), true},
        {PERMITTED, 0x82, STR("a.org"), DNS, STR("B.A.ORG"), true},
        {PERMITTED, 0x82, STR("a.org"), DNS, STR("*.a.org"), true},
        {PERMITTED, 0x82, STR("a.org"), DNS, STR("ba.org"), false},
        {PERMITTED, 0x82, STR("a.org"), DNS, STR("a.org.evil"), false},
        {PERMITTED, 0x82, STR("a.org"), DNS, STR("a.com"), false},
        {PERMITTED, 0x82, STR("a.org"), DNS, STR(""), false},
        {PERMITTED, 0x82, STR(".a.org"), DNS, STR("b.a.org"), true},
        {PERMITTED, 0x82, STR(".a.org"), DNS, STR("a.org"), false},
        {PERMITTED, 0x82, STR(""), DNS, STR("any.example"), true},
        {EXCLUDED, 0x82, STR("a.org"), DNS, STR("b.a.org"), false},
        {EXCLUDED, 0x82, STR("a.org"), DNS, STR("a.com"), true},
        {EXCLUDED, 0x82, STR(""), DNS, STR("any.example"), false},
        /* Of another form there is nothing to keep. */
        {PERMITTED, 0x82, STR("a.org"), ADDRESS, STR("\x7f\0\0\1"), true},
        {PERMITTED, 0x87, STR("\x7f\0\0\0\xff\0\0\0"), ADDRESS, STR("\x7f\1\2\3"), true},
        {PERMITTED, 0x87, STR("\x7f\0\0\0\xff\0\0\0"), ADDRESS, STR("\x80\0\0\1"), false},
        {EXCLUDED, 0x87, STR("\0\0\0\0\0\0\0\0"), ADDRESS, STR("\x7f\0\0\1"), false},
        {PERMITTED, 0x87, STR("\x7f\0\0\0\xff\0\0\0"), ADDRESS, STR("0123456789abcdef"), false},
        {PERMITTED, 0x87, STR("\x7f\0\0\0"), ADDRESS, STR("\x7f\0\0\0"), false},
        /* O=Ab below O=ab, whatever the kind of string; not CN=ab, and not with UTF-16 of which one half is NUL. */
        {PERMITTED, 0xa4, STR("\x30\x0d\x31\x0b\x30\x09\x06\x03\x55\x04\x0a\x13\x02\x61\x62"), DIRECTORY,
            STR("\x30\x0d\x31\x0b\x30\x09\x06\x03\x55\x04\x0a\x0c\x02\x41\x62"), true},
        {PERMITTED, 0xa4, STR("\x30\x0d\x31\x0b\x30\x09\x06\x03\x55\x04\x0a\x13\x02\x61\x62"), DIRECTORY,
            STR("\x30\x0d\x31\x0b\x30\x09\x06\x03\x55\x04\x03\x13\x02\x61\x62"), false},
        {PERMITTED, 0xa4, STR("\x30\x0d\x31\x0b\x30\x09\x06\x03\x55\x04\x0a\x1e\x02\x00\x62"), DIRECTORY,
            STR("\x30\x0d\x31\x0b\x30\x09\x06\x03\x55\x04\x0a\x1e\x02\x00\x63"), false},
        {PERMITTED, 0xa4, STR("\x30\x00"), DIRECTORY,
            STR("\x30\x0d\x31\x0b\x30\x09\x06\x03\x55\x04\x03\x13\x02\x61\x62"), true},
        /* What cannot be compared is refused: names to exclude that may be written in several ways, and other forms. */
        {EXCLUDED, 0xa4, STR("\x30\x0d\x31\x0b\x30\x09\x06\x03\x55\x04\x0a\x13\x02\x61\x62"), DIRECTORY,
            STR("\x30\x00"), false},
        {PERMITTED, 0x81, STR("a.org"), MAIL, STR("x@a.org"), false},
        {PERMITTED, 0x81, STR("a.org"), DNS, STR("b.com"), true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char room[128];
        struct str constraints = constraints_of(room, cases[i].list, cases[i].tag, cases[i].base);
        if (tls_names_permit(constraints, cases[i].type, cases[i].name) != cases[i].is_permitted)
            fail_msg("case %zu", i);
        /* Cut anywhere, it permits nothing. */
        for (size_t n = 0; n < constraints.n; n++)
            assert_false(tls_names_permit((struct str){room, n}, DNS, STR("a.org")));
    }
    /* A minimum beside the base, a list of neither kind, and bytes behind the end. */
    assert_false(tls_names_permit(STR("\x30\x0c\xa0\x0a\x30\x08\x82\x01\x61\x80\x01\x00\x81\x00"), DNS, STR("a")));
    assert_false(tls_names_permit(STR("\x30\x07\xa2\x05\x30\x03\x82\x01\x61"), DNS, STR("a")));
    assert_true(tls_names_permit(STR("\x30\x07\xa0\x05\x30\x03\x82\x01\x61"), DNS, STR("a")));
    assert_false(tls_names_permit(STR("\x30\x07\xa0\x05\x30\x03\x82\x01\x61\x00"), DNS, STR("a")));
}

static void test_waits_are_bounded(void **state)
{
    (void)state;
    struct err err;
    struct fake_wait wait = {.code = -ETIMEDOUT};
    assert_int_equal(open_against(STR(""), false, &wait, &err), -ETIMEDOUT);
    assert_int_equal(wait.calls, 3);
    assert_int_equal(wait.events, POLLIN);
    assert_string_equal(err.msg, "TLS handshake: Connection timed out");
    wait = (struct fake_wait){.code = -ECANCELED};
    assert_int_equal(open_against(STR(""), false, &wait, &err), -ECANCELED);
}

static void test_peers_without_manners(void **state)
{
    (void)state;
    struct err err;
    struct fake_wait wait = {.code = -ETIMEDOUT};
    assert_int_equal(open_against(STR("HTTP/1.1 400 Bad Request\r\n\r\n"), false, &wait, &err), -EPROTO);
    assert_int_equal(wait.calls, 0);
    assert_int_equal(open_against(STR(""), true, &wait, &err), -ECONNRESET);
    /* A fatal alert: handshake_failure. */
    assert_int_equal(open_against(STR("\x15\x03\x03\0\x02\x02\x28"), false, &wait, &err), -EPROTO);
    assert_non_null(strstr(err.msg, "alert"));
}

static void test_library(void **state)
{
    (void)state;
    assert_int_equal(strncmp(tls_library(), "mbedTLS ", 8), 0);
    assert_true(tls_library()[8] >= '2' && tls_library()[8] <= '3' && tls_library()[9] == '.');
    tls_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entropy),
        cmocka_unit_test(test_words_of_refusals),
        cmocka_unit_test(test_words_of_failures),
        cmocka_unit_test(test_no_roots),
        cmocka_unit_test(test_roots_of_a_directory),
        cmocka_unit_test(test_file_that_is_too_large),
        cmocka_unit_test(test_name_constraints),
        cmocka_unit_test(test_waits_are_bounded),
        cmocka_unit_test(test_peers_without_manners),
        cmocka_unit_test(test_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
