/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roots come from PEM bundles and directories of them (SSL_CERT_FILE, SSL_CERT_DIR), or from where the distributions
 * keep theirs. One certificate that this mbedTLS cannot read does not cost the others.
 */
#include "net/tls_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mbedtls/pem.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"

/* Debian and Alpine, RHEL, SUSE, newer RHEL, Alpine and OpenSSL's own path. */
static const char usual_files[][50] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

struct tls_trust tls_trust_of(char *const *environment)
{
    return (struct tls_trust){
        .file = env_get(environment, "SSL_CERT_FILE"), .dir = env_get(environment, "SSL_CERT_DIR")};
}

struct loading {
    mbedtls_x509_crt *roots;
    size_t refused;
    int last_code; /* why the last file could not be read; 0 where it could */
};

#if MBEDTLS_VERSION_NUMBER < 0x03000000
static const unsigned char *pem_bytes(mbedtls_pem_context *pem, size_t *ret_n)
{
    *ret_n = pem->buflen;
    return pem->buf;
}
#else
static const unsigned char *pem_bytes(mbedtls_pem_context *pem, size_t *ret_n)
{
    return mbedtls_pem_get_buffer(pem, ret_n);
}
#endif

/* One certificate; like mbedtls_x509_crt_parse_der, but name constraints may be critical: tls_names.c checks them. */
static int parse_der(struct loading *loading, const unsigned char *der, size_t n)
{
    int result = mbedtls_x509_crt_parse_der_with_ext_cb(loading->roots, der, n, 1, tls_names_know, NULL);
    if (result == MBEDTLS_ERR_X509_ALLOC_FAILED)
        return -ENOMEM;
    loading->refused += result != 0;
    return 0;
}

/* Every certificate of a text, or the one that it is itself (DER). The text has a NUL behind it. */
static int parse_all(struct loading *loading, const char *text, size_t n)
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----", end[] = "-----END CERTIFICATE-----";
    if (!memmem(text, n, begin, sizeof(begin) - 1))
        return parse_der(loading, (const unsigned char *)text, n);
    int code = 0;
    while (code == 0 && (text = strstr(text, begin))) {
        mbedtls_pem_context pem;
        mbedtls_pem_init(&pem);
        size_t used = 0, size = 0;
        int result = mbedtls_pem_read_buffer(&pem, begin, end, (const unsigned char *)text, NULL, 0, &used);
        const unsigned char *der = result == 0 ? pem_bytes(&pem, &size) : NULL;
        if (result == MBEDTLS_ERR_PEM_ALLOC_FAILED)
            code = -ENOMEM;
        else if (result == 0)
            code = parse_der(loading, der, size);
        else
            loading->refused++;
        mbedtls_pem_free(&pem);
        text += result == 0 ? used : sizeof(begin) - 1;
    }
    return code;
}

/* Reads one file into the chain. Only -ENOMEM is an error: what else goes wrong is kept for the message. */
static int load_file(struct loading *loading, int dir_fd, const char *path)
{
    AUTO_BUF struct buf pem = {.max = TLS_TRUST_BYTES_MAX + 1};
    int code = file_read_at(dir_fd, path, &pem);
    if (code == -ENOMEM)
        return code;
    loading->last_code = code;
    if (code < 0 || pem.len == 0)
        return 0;
    const char *text = buf_cstr(&pem); /* with the NUL that PEM needs */
    if (text != pem.data)
        return pem.len > TLS_TRUST_BYTES_MAX ? 0 : -ENOMEM;
    return parse_all(loading, text, pem.len);
}

/* A link to a neighbour (the hashed names that c_rehash makes) only says again what the neighbour says. */
static bool is_alias(int dir_fd, const char *name)
{
    char target[256];
    ssize_t n = readlinkat(dir_fd, name, target, sizeof(target));
    return n > 0 && !memchr(target, '/', (size_t)n);
}

static int load_dir(struct loading *loading, const char *path)
{
    DIR *dir = opendir(path);
    loading->last_code = dir ? 0 : err_last();
    if (!dir)
        return 0;
    int code = 0;
    const struct dirent *entry;
    for (size_t files = 0; code == 0 && files < TLS_TRUST_FILES_MAX && (entry = readdir(dir)); files++) {
        if (entry->d_name[0] != '.' && !is_alias(dirfd(dir), entry->d_name))
            code = load_file(loading, dirfd(dir), entry->d_name);
    }
    (void)closedir(dir);
    return code;
}

/* As OpenSSL and Go have it: several directories, with colons between them. One that is missing does not cost the
 * others. */
static int load_dirs(struct loading *loading, const char *list)
{
    int code = 0, worst = -ENOENT;
    for (size_t count = 0; code == 0 && *list && count < TLS_TRUST_DIRS_MAX; count++) {
        char path[PATH_MAX];
        struct str part = {list, strcspn(list, ":")};
        if (part.n > 0 && str_copy(part, path, sizeof(path))) {
            code = load_dir(loading, path);
            worst = loading->last_code == 0 || count == 0 ? loading->last_code : worst;
        }
        list += part.n + (list[part.n] == ':');
    }
    loading->last_code = worst;
    return code;
}

static size_t count_roots(const mbedtls_x509_crt *roots)
{
    size_t count = 0;
    for (; roots && roots->raw.p; roots = roots->next)
        count++;
    return count;
}

static int load_usual(struct loading *loading)
{
    for (size_t i = 0; i < sizeof(usual_files) / sizeof(usual_files[0]); i++) {
        int code = load_file(loading, AT_FDCWD, usual_files[i]);
        if (code < 0 || count_roots(loading->roots) > 0)
            return code;
    }
    return 0;
}

static int load_given(struct loading *loading, const struct tls_trust *trust)
{
    int code = trust->file ? load_file(loading, AT_FDCWD, trust->file) : 0;
    int file_code = loading->last_code;
    if (code == 0 && trust->dir)
        code = load_dirs(loading, trust->dir);
    if (trust->file)
        loading->last_code = file_code;
    return code;
}

static int complain(const struct loading *loading, const struct tls_trust *trust, struct err *err)
{
    const char *place = trust->file ? trust->file : trust->dir;
    if (!place)
        return err_set(err, -ENOENT,
            "no CA certificates found in the default paths: install ca-certificates, or let SSL_CERT_FILE name a PEM "
            "file");
    if (loading->last_code < 0)
        return err_set(err, -ENOENT, "cannot read CA certificates from %s (%s): let SSL_CERT_FILE name a PEM file",
            place, strerror(-loading->last_code));
    return err_set(
        err, -ENOENT, "no CA certificate could be read from %s: let SSL_CERT_FILE name a PEM file with some", place);
}

int tls_trust_load(
    const struct tls_trust *trust, struct mbedtls_x509_crt *roots, struct tls_trust_count *ret_count, struct err *err)
{
    struct loading loading = {.roots = roots};
    int code = trust->file || trust->dir ? load_given(&loading, trust) : load_usual(&loading);
    if (code < 0)
        return err_sys(err, code, "cannot load CA certificates");
    size_t loaded = count_roots(roots);
    if (loaded == 0)
        return complain(&loading, trust, err);
    *ret_count = (struct tls_trust_count){.loaded = loaded, .refused = loading.refused};
    return 0;
}

int tls_roots_count(const struct tls_trust *trust, size_t *ret_count, struct err *err)
{
    mbedtls_x509_crt roots;
    struct tls_trust_count count = {0};
    mbedtls_x509_crt_init(&roots);
    int r = tls_trust_load(trust, &roots, &count, err);
    mbedtls_x509_crt_free(&roots);
    if (r == 0)
        *ret_count = count.loaded;
    return r;
}
