/* SPDX-License-Identifier: Apache-2.0 */
/* The faults that people meet get a sentence each; the others their number, which mbedTLS's headers explain. */
#include "net/tls_words.h"

#include <errno.h>
#include <mbedtls/error.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509.h>
#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"

#ifndef MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION /* the name of 2.28 */
#define MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION
#endif

struct flag_words {
    uint32_t flags;
    char words[72];
};

static const struct flag_words flag_words[] = {
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

static void put_reason(struct buf *reasons, const char *words)
{
    if (reasons->len > 0)
        buf_puts(reasons, ", ");
    buf_puts(reasons, words);
}

int tls_words_refused(uint32_t flags, const char *host, struct err *err)
{
    enum { REASONS_BYTES = 512 };
    struct buf reasons;
    buf_init(&reasons, REASONS_BYTES);
    uint32_t rest = flags;
    for (size_t i = 0; i < sizeof(flag_words) / sizeof(flag_words[0]); i++) {
        if (flags & flag_words[i].flags)
            put_reason(&reasons, flag_words[i].words);
        rest &= ~flag_words[i].flags;
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

struct result_words {
    int result;
    int code;
    char words[60];
};

static const struct result_words result_words[] = {
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

int tls_words_failed(int result, const char *doing, struct err *err)
{
    for (size_t i = 0; i < sizeof(result_words) / sizeof(result_words[0]); i++) {
        if (result == result_words[i].result)
            return err_set(err, result_words[i].code, "%s: %s", doing, result_words[i].words);
    }
    if (is_of_certificates(result))
        return err_set(
            err, -EKEYREJECTED, "%s: the certificate cannot be read (mbedTLS error -0x%04x)", doing, (unsigned)-result);
    return err_set(err, -EPROTO, "%s failed (mbedTLS error -0x%04x)", doing, (unsigned)-result);
}
