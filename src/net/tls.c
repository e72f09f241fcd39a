/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TLS client with mbedTLS 3.6, or 2.28 where nothing newer is at hand (that one has no TLS 1.3 and is not trusted
 * with numeric addresses). Sockets are non-blocking: mbedTLS says what it waits for, struct net_wait does the waiting.
 */
#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <mbedtls/x509.h>
#include <mbedtls/x509_crt.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/syscalls.h"
#include "net/tls_internal.h"

#ifndef MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION /* the name of 2.28 */
#define MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION
#endif

struct flag_texts {
    uint32_t flags;
    char text[72];
};

static const struct flag_texts flag_texts[] = {
    {MBEDTLS_X509_BADCERT_EXPIRED, "it has expired (by this machine's clock)"},
    {MBEDTLS_X509_BADCERT_FUTURE, "it is not yet valid (by this machine's clock)"},
    {MBEDTLS_X509_BADCERT_CN_MISMATCH, "it is made out to another host name"},
    {MBEDTLS_X509_BADCERT_NOT_TRUSTED, "its issuer is unknown (SSL_CERT_FILE can name more CA certificates)"},
    {MBEDTLS_X509_BADCERT_REVOKED, "it was revoked"},
    {MBEDTLS_X509_BADCERT_BAD_MD, "it is signed with a weak hash"},
    {MBEDTLS_X509_BADCERT_BAD_KEY | MBEDTLS_X509_BADCERT_BAD_PK, "it has a weak key"},
    {MBEDTLS_X509_BADCERT_KEY_USAGE | MBEDTLS_X509_BADCERT_EXT_KEY_USAGE | MBEDTLS_X509_BADCERT_NS_CERT_TYPE,
        "it is not for servers"},
    {MBEDTLS_X509_BADCERT_MISSING, "there is none"},
    {MBEDTLS_X509_BADCERT_OTHER, "a CA above it must not vouch for this name (name constraints)"},
};

static void put_reason(struct buf *reasons, const char *text)
{
    if (reasons->len > 0)
        buf_puts(reasons, ", ");
    buf_puts(reasons, text);
}

int tls_err_refused(uint32_t flags, const char *host, struct err *err)
{
    enum { REASONS_BYTES = 512 };
    struct buf reasons;
    buf_init(&reasons, REASONS_BYTES);
    uint32_t rest = flags;
    for (size_t i = 0; i < sizeof(flag_texts) / sizeof(flag_texts[0]); i++) {
        if (flags & flag_texts[i].flags)
            put_reason(&reasons, flag_texts[i].text);
        rest &= ~flag_texts[i].flags;
    }
    if (rest || flags == 0)
        put_reason(&reasons, "it cannot be verified");
    int code = err_set(err, -EKEYREJECTED, "the certificate of %.100s is refused: %s", host, buf_cstr(&reasons));
    buf_fini(&reasons);
    return code;
}

/* mbedTLS puts the module's error into bits 7 to 14, and of some modules a detail below them. */
static bool is_of_certificates(int result)
{
    unsigned number = (unsigned)-result;
    return (number >= 0x2080 && number <= 0x2980) || (number >= 0x3900 && number <= 0x3f80);
}

struct result_texts {
    int result;
    int code;
    char text[60];
};

static const struct result_texts result_texts[] = {
    {MBEDTLS_ERR_SSL_ALLOC_FAILED, -ENOMEM, "out of memory"},
    {MBEDTLS_ERR_X509_ALLOC_FAILED, -ENOMEM, "out of memory"},
    {MBEDTLS_ERR_SSL_CONN_EOF, -ECONNRESET, "the server hung up"},
    {MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY, -ECONNRESET, "the server hung up"},
    {MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE, -EPROTO, "the server sent an alert (no version or cipher in common?)"},
    {MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION, -EPROTO, "no version of TLS that both sides know"},
    {MBEDTLS_ERR_SSL_INVALID_RECORD, -EPROTO, "what came is no TLS (a plain HTTP server?)"},
    {MBEDTLS_ERR_SSL_INVALID_MAC, -EPROTO, "a record was damaged on its way"},
    {MBEDTLS_ERR_SSL_BAD_INPUT_DATA, -EPROTO, "a message is too long (too many certificates?)"},
    {MBEDTLS_ERR_ERROR_CORRUPTION_DETECTED, -EPROTO, "a message is too long (too many certificates?)"},
};

int tls_err_failed(int result, const char *doing, struct err *err)
{
    for (size_t i = 0; i < sizeof(result_texts) / sizeof(result_texts[0]); i++) {
        if (result == result_texts[i].result)
            return err_set(err, result_texts[i].code, "%s: %s", doing, result_texts[i].text);
    }
    if (is_of_certificates(result))
        return err_set(
            err, -EKEYREJECTED, "%s: the certificate cannot be read (mbedTLS error -0x%04x)", doing, (unsigned)-result);
    return err_set(err, -EPROTO, "%s failed (mbedTLS error -0x%04x)", doing, (unsigned)-result);
}

/*
 * getrandom(2) by its number, since older C libraries have no function for it; /dev/urandom on kernels before 3.17.
 * mbedTLS itself would read /dev/random there, which may block and is missing in a bare chroot.
 */

#if defined(MBEDTLS_PSA_CRYPTO_EXTERNAL_RNG) || defined(MBEDTLS_SSL_PROTO_TLS1_3)
#include <psa/crypto.h>
#endif

static ssize_t fill_some(int urandom, unsigned char *bytes, size_t n)
{
    return urandom >= 0 ? read(urandom, bytes, n) : (ssize_t)syscall(SYS_getrandom, bytes, n, 0);
}

int tls_entropy_fill(void *context, unsigned char *bytes, size_t n)
{
    (void)context;
    AUTO_FD int urandom = -1;
    while (n > 0) {
        ssize_t got = fill_some(urandom, bytes, n);
        if (got > 0) {
            bytes += got;
            n -= (size_t)got;
        } else if (got < 0 && errno == EINTR) {
            continue;
        } else if (urandom >= 0 || (urandom = file_open_at(AT_FDCWD, "/dev/urandom", O_RDONLY)) < 0) {
            return MBEDTLS_ERR_ENTROPY_SOURCE_FAILED;
        }
    }
    return 0;
}

#ifdef MBEDTLS_PSA_CRYPTO_EXTERNAL_RNG
psa_status_t mbedtls_psa_external_get_random(
    mbedtls_psa_external_random_context_t *context, uint8_t *output, size_t output_size, size_t *output_length)
{
    (void)context;
    if (tls_entropy_fill(NULL, output, output_size) != 0)
        return PSA_ERROR_INSUFFICIENT_ENTROPY;
    *output_length = output_size;
    return PSA_SUCCESS;
}
#endif

/* What one call may take in without a byte for the caller: handshake messages, tickets, alerts. */
enum { TLS_INPUT_MAX = 256 * 1024 };

struct tls {
    mbedtls_ssl_context ssl;
    mbedtls_ssl_config config;
    mbedtls_x509_crt roots; /* empty after the handshake */
    struct tls_names names; /* of the handshake */
    struct net_wait wait;
    int fd; /* the caller's */
    int io_code; /* why a callback failed */
    size_t taken; /* bytes of this call */
};

static int on_receive(void *context, unsigned char *bytes, size_t size)
{
    struct tls *tls = context;
    if (tls->taken > TLS_INPUT_MAX) {
        tls->io_code = -EPROTO;
        return MBEDTLS_ERR_NET_RECV_FAILED;
    }
    ssize_t n = recv(tls->fd, bytes, size < INT_MAX ? size : INT_MAX, MSG_DONTWAIT);
    if (n >= 0) {
        tls->taken += (size_t)n;
        return (int)n;
    }
    if (errno == EAGAIN || errno == EINTR)
        return MBEDTLS_ERR_SSL_WANT_READ;
    tls->io_code = err_last();
    return MBEDTLS_ERR_NET_RECV_FAILED;
}

static int on_send(void *context, const unsigned char *bytes, size_t size)
{
    struct tls *tls = context;
    ssize_t n = send(tls->fd, bytes, size < INT_MAX ? size : INT_MAX, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0)
        return (int)n;
    if (errno == EAGAIN || errno == EINTR)
        return MBEDTLS_ERR_SSL_WANT_WRITE;
    tls->io_code = errno == EPIPE ? -ECONNRESET : err_last();
    return MBEDTLS_ERR_NET_SEND_FAILED;
}

/* After a call of mbedTLS that did not do it: 0 when it is worth calling again, else a negative errno. */
static int tls_go_on(struct tls *tls, int result, int64_t deadline_ns, const char *doing, struct err *err)
{
    if (result == MBEDTLS_ERR_SSL_WANT_READ || result == MBEDTLS_ERR_SSL_WANT_WRITE) {
        short events = result == MBEDTLS_ERR_SSL_WANT_READ ? POLLIN : POLLOUT;
        int code = net_wait_until(&tls->wait, tls->fd, events, deadline_ns);
        return code < 0 ? err_sys(err, code, "%s", doing) : 0;
    }
    if (tls->io_code < 0)
        return err_sys(err, tls->io_code, "%s", doing);
    return tls_err_failed(result, doing, err);
}

#if MBEDTLS_VERSION_NUMBER < 0x03000000
static void set_versions(mbedtls_ssl_config *config)
{
    mbedtls_ssl_conf_min_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
}
#else
static void set_versions(mbedtls_ssl_config *config)
{
    mbedtls_ssl_conf_min_tls_version(config, MBEDTLS_SSL_VERSION_TLS1_2);
#if MBEDTLS_VERSION_NUMBER < 0x03060700
    /* Up to 3.6.6 a TLS 1.2 server that picks RSA-PSS is misunderstood; the first that fits is what servers pick. */
    static const uint16_t signatures[] = {
        MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256,
        MBEDTLS_TLS1_3_SIG_ECDSA_SECP384R1_SHA384,
        MBEDTLS_TLS1_3_SIG_ECDSA_SECP521R1_SHA512,
        MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA256,
        MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA384,
        MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA512,
        MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA256,
        MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA384,
        MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA512,
        MBEDTLS_TLS1_3_SIG_NONE,
    };
    mbedtls_ssl_conf_sig_algs(config, signatures);
#endif
}
#endif

static int tls_prepare(struct tls *tls, const char *host, struct err *err)
{
    static const char doing[] = "preparing TLS";
    int result = mbedtls_ssl_config_defaults(
        &tls->config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
    if (result != 0)
        return tls_err_failed(result, doing, err);
    set_versions(&tls->config);
    mbedtls_ssl_conf_authmode(&tls->config, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_ca_chain(&tls->config, &tls->roots, NULL);
    mbedtls_ssl_conf_verify(&tls->config, tls_names_verify, &tls->names);
    mbedtls_ssl_conf_rng(&tls->config, tls_entropy_fill, NULL);
#ifdef MBEDTLS_SSL_PROTO_TLS1_3
    if (psa_crypto_init() != PSA_SUCCESS)
        return err_set(err, -ENOMEM, "%s: the cryptography cannot be set up", doing);
#endif
    result = mbedtls_ssl_setup(&tls->ssl, &tls->config);
    /* A name is sent as SNI and compared by mbedTLS; an address must not be sent (RFC 6066) and is compared by us. */
    if (result == 0)
        result = mbedtls_ssl_set_hostname(&tls->ssl, tls->names.address_bytes ? NULL : host);
    if (result != 0)
        return tls_err_failed(result, doing, err);
    mbedtls_ssl_set_bio(&tls->ssl, tls, on_send, on_receive, NULL);
    return 0;
}

static int tls_shake_hands(struct tls *tls, const char *host, int64_t deadline_ns, struct err *err)
{
    int result;
    while ((result = mbedtls_ssl_handshake(&tls->ssl)) != 0) {
        uint32_t flags = mbedtls_ssl_get_verify_result(&tls->ssl);
        if (result == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED || (flags != 0 && flags != UINT32_MAX))
            return tls_err_refused(flags, host, err);
        int code = tls_go_on(tls, result, deadline_ns, "TLS handshake", err);
        if (code < 0)
            return code;
    }
    return tls->names.has_verified ? 0 : tls_err_refused(0, host, err);
}

/* 2.28 compares host names only, and would take an address for a name. */
static bool is_unsupported(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    return MBEDTLS_VERSION_NUMBER < 0x03060000 &&
           (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1);
}

int tls_open(struct tls **ret_tls, const struct tls_peer *peer, const struct net_wait *wait, int64_t deadline_ns,
    struct err *err)
{
    if (is_unsupported(peer->host))
        return err_set(err, -EKEYREJECTED, "%s cannot check the certificate of a numeric address (%.64s)",
            tls_library(), peer->host);
    struct tls *tls = calloc(1, sizeof(*tls));
    if (!tls)
        return err_sys(err, -ENOMEM, "preparing TLS");
    tls->fd = peer->fd;
    tls->wait = *wait;
    mbedtls_ssl_init(&tls->ssl);
    mbedtls_ssl_config_init(&tls->config);
    mbedtls_x509_crt_init(&tls->roots);
    tls_names_init(&tls->names, peer->host);
    struct tls_trust_count count;
    int code = tls_trust_load(peer->trust, &tls->roots, &count, err);
    if (code == 0)
        code = tls_prepare(tls, peer->host, err);
    if (code == 0)
        code = tls_shake_hands(tls, peer->host, deadline_ns, err);
    if (code < 0) {
        tls_close(tls);
        return code;
    }
    mbedtls_ssl_conf_ca_chain(&tls->config, NULL, NULL); /* there is no second handshake: the roots can go */
    mbedtls_x509_crt_free(&tls->roots);
    *ret_tls = tls;
    return 0;
}

/* Something that is neither an error nor data, while more may already lie in mbedTLS's own buffer. */
static bool is_only_news(const struct tls *tls, int result)
{
#ifdef MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
    if (result == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET)
        return true;
#endif
    return result == MBEDTLS_ERR_SSL_WANT_READ && mbedtls_ssl_check_pending(&tls->ssl);
}

ssize_t tls_read(struct tls *tls, void *bytes, size_t size, int64_t deadline_ns, struct err *err)
{
    tls->taken = 0;
    for (;;) {
        int result = mbedtls_ssl_read(&tls->ssl, bytes, size);
        if (result > 0)
            return result;
        if (result == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY)
            return 0;
        if (result == 0) /* the end of the connection without TLS's own: it may have been cut */
            result = MBEDTLS_ERR_SSL_CONN_EOF;
        if (is_only_news(tls, result))
            continue;
        int code = tls_go_on(tls, result, deadline_ns, "reading over TLS", err);
        if (code < 0)
            return code;
    }
}

int tls_write(struct tls *tls, struct str bytes, int64_t deadline_ns, struct err *err)
{
    while (bytes.n > 0) {
        int result = mbedtls_ssl_write(&tls->ssl, (const unsigned char *)bytes.p, bytes.n);
        if (result > 0) {
            bytes.p += result;
            bytes.n -= (size_t)result;
            continue;
        }
        int code = tls_go_on(tls, result, deadline_ns, "writing over TLS", err);
        if (code < 0)
            return code;
    }
    return 0;
}

void tls_close(struct tls *tls)
{
    if (!tls)
        return;
    (void)mbedtls_ssl_close_notify(&tls->ssl);
    mbedtls_ssl_free(&tls->ssl);
    mbedtls_ssl_config_free(&tls->config);
    mbedtls_x509_crt_free(&tls->roots);
    free(tls);
}

const char *tls_library(void)
{
    return "mbedTLS " MBEDTLS_VERSION_STRING;
}
