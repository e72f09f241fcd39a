/* SPDX-License-Identifier: Apache-2.0 */
/* Which names a chain of certificates may vouch for: name constraints (RFC 5280) and numeric addresses (RFC 6125). */
#include "net/tls_internal.h"

#include <arpa/inet.h>
#include <mbedtls/asn1.h>
#include <string.h>

/* Forms of a GeneralName, and the constructed tags of a subtree's two lists. */
enum { FORM_DNS = 2, FORM_DIRECTORY = 4, FORM_ADDRESS = 7 };
enum { TAG_SEQUENCE = MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE, TAG_PERMITTED = 0xa0, TAG_EXCLUDED = 0xa1 };

static const char oid_constraints[] = "\x55\x1d\x1e"; /* 2.5.29.30 */
static const char oid_alternative_name[] = "\x55\x1d\x11"; /* 2.5.29.17 */

/* Cuts the next element off DER: its tag, and its content. False at the end and where it is malformed. */
static bool next_element(struct str *rest, unsigned *ret_tag, struct str *ret_content)
{
    enum { HEAD_BYTES = 2, LONG_FORM = 0x80, LONG_BYTES_MAX = 3 };
    if (rest->n < HEAD_BYTES)
        return false;
    const unsigned char *p = (const unsigned char *)rest->p;
    size_t head = HEAD_BYTES, n = p[1];
    if (n >= LONG_FORM) {
        head += n - LONG_FORM;
        if (n == LONG_FORM || n > LONG_FORM + LONG_BYTES_MAX || rest->n < head)
            return false;
        n = 0;
        for (size_t i = HEAD_BYTES; i < head; i++)
            n = n << 8 | p[i];
    }
    if (rest->n - head < n)
        return false;
    *ret_tag = p[0];
    *ret_content = (struct str){rest->p + head, n};
    str_skip(rest, head + n);
    return true;
}

/* The content of the one element of this tag that the text is. */
static bool open_element(struct str text, unsigned tag, struct str *ret_content)
{
    unsigned found;
    return next_element(&text, &found, ret_content) && found == tag && text.n == 0;
}

/* The value of an extension; false where the certificate has none. */
static bool find_extension(const mbedtls_x509_crt *crt, const char *oid, struct str *ret_value)
{
    struct str list, extension;
    unsigned tag;
    if (!open_element((struct str){(const char *)crt->v3_ext.p, crt->v3_ext.len}, TAG_SEQUENCE, &list))
        return false;
    while (next_element(&list, &tag, &extension)) {
        struct str id, value;
        if (!next_element(&extension, &tag, &id) || tag != MBEDTLS_ASN1_OID || !str_eq(id, (struct str){oid, 3}))
            continue;
        /* The criticality, if it is there, comes before. */
        while (next_element(&extension, &tag, &value)) {
            if (tag == MBEDTLS_ASN1_OCTET_STRING) {
                *ret_value = value;
                return true;
            }
        }
    }
    return false;
}

/* All of it, NUL bytes too: they are half of a text in UTF-16. */
static bool is_same_text(struct str a, struct str b)
{
    size_t i = 0;
    while (i < a.n && i < b.n && ascii_to_lower(a.p[i]) == ascii_to_lower(b.p[i]))
        i++;
    return i == a.n && i == b.n;
}

static bool ends_like(struct str text, struct str end)
{
    return text.n >= end.n && is_same_text((struct str){text.p + text.n - end.n, end.n}, end);
}

/* "example.org" is itself and every name below it; with a dot in front, those below only; "" is every name. */
static bool is_dns_below(struct str name, struct str base)
{
    if (!ends_like(name, base))
        return false;
    return base.n == 0 || base.p[0] == '.' || name.n == base.n || name.p[name.n - base.n - 1] == '.';
}

/* The base is an address and a mask; IPv4 is not below IPv6. */
static bool is_address_below(struct str name, struct str base)
{
    if (base.n != 2 * name.n)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        if ((name.p[i] ^ base.p[i]) & base.p[name.n + i])
            return false;
    }
    return true;
}

/* Attributes of the same kind whose texts differ at most in case and in the kind of string. */
static bool is_same_attribute(struct str a, struct str b)
{
    struct str kind[2], value[2];
    unsigned tag;
    for (int i = 0; i < 2; i++) {
        struct str attribute;
        if (!open_element(i ? b : a, TAG_SEQUENCE, &attribute) || !next_element(&attribute, &tag, &kind[i]) ||
            tag != MBEDTLS_ASN1_OID || !next_element(&attribute, &tag, &value[i]) || attribute.n > 0)
            return false;
    }
    return str_eq(kind[0], kind[1]) && is_same_text(value[0], value[1]);
}

/* Do the parts of the name begin with those of the base? Both are DER of a Name. */
static bool is_directory_below(struct str name, struct str base)
{
    unsigned tags[2];
    struct str parts[2];
    if (!open_element(name, TAG_SEQUENCE, &name) || !open_element(base, TAG_SEQUENCE, &base))
        return false;
    while (next_element(&base, &tags[0], &parts[0])) {
        if (!next_element(&name, &tags[1], &parts[1]))
            return false;
        if (!str_eq(parts[0], parts[1]) && !is_same_attribute(parts[0], parts[1]))
            return false;
    }
    return base.n == 0;
}

enum verdict { OUTSIDE, BELOW, UNKNOWN };

static enum verdict compare(unsigned form, struct str name, struct str base, bool is_excluded)
{
    switch (form) {
    case FORM_DNS:
        return is_dns_below(name, base) ? BELOW : OUTSIDE;
    case FORM_ADDRESS:
        return is_address_below(name, base) ? BELOW : OUTSIDE;
    case FORM_DIRECTORY:
        /* Equal names may be written in ways that are not compared here: good enough to permit, not to exclude. */
        return is_excluded ? UNKNOWN : is_directory_below(name, base) ? BELOW : OUTSIDE;
    default:
        return UNKNOWN;
    }
}

/* Goes through one list of subtrees; false where one cannot be read or compared. */
static bool check_subtrees(
    struct str list, unsigned form, struct str name, bool is_excluded, bool *ret_any, bool *ret_below)
{
    unsigned tag;
    struct str subtree, base;
    while (list.n > 0) {
        if (!next_element(&list, &tag, &subtree) || tag != TAG_SEQUENCE || !next_element(&subtree, &tag, &base))
            return false;
        if (subtree.n > 0) /* a minimum or a maximum, which RFC 5280 does not permit */
            return false;
        if ((tag & MBEDTLS_ASN1_TAG_VALUE_MASK) != form)
            continue;
        enum verdict verdict = compare(form, name, base, is_excluded);
        if (verdict == UNKNOWN)
            return false;
        *ret_any = true;
        *ret_below |= verdict == BELOW;
    }
    return true;
}

bool tls_names_permit(struct str constraints, unsigned type, struct str name)
{
    struct str lists, list;
    unsigned tag;
    if (!open_element(constraints, TAG_SEQUENCE, &lists))
        return false;
    while (lists.n > 0) {
        if (!next_element(&lists, &tag, &list) || (tag != TAG_PERMITTED && tag != TAG_EXCLUDED))
            return false;
        bool has_any = false, is_below = false;
        if (!check_subtrees(list, type, name, tag == TAG_EXCLUDED, &has_any, &is_below))
            return false;
        if (tag == TAG_PERMITTED ? has_any && !is_below : is_below)
            return false;
    }
    return true;
}

static bool permit_by_all(const struct tls_names *names, unsigned form, struct str name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (!tls_names_permit(names->constraints[i], form, name))
            return false;
    }
    return true;
}

static struct str address_of(const struct tls_names *names)
{
    return (struct str){(const char *)names->address, names->address_bytes};
}

/* Every name of the certificate, and the one that it is asked about: a wildcard may cover what is excluded. */
static bool is_permitted(const struct tls_names *names, const mbedtls_x509_crt *crt, bool is_server)
{
    struct str list, name, value;
    unsigned tag;
    struct str subject = {(const char *)crt->subject_raw.p, crt->subject_raw.len};
    enum { EMPTY_NAME_BYTES = 2 };
    if (subject.n > EMPTY_NAME_BYTES && !permit_by_all(names, FORM_DIRECTORY, subject))
        return false;
    if (is_server && !permit_by_all(names, names->address_bytes ? FORM_ADDRESS : FORM_DNS,
                         names->address_bytes ? address_of(names) : names->host))
        return false;
    if (!find_extension(crt, oid_alternative_name, &value))
        return true;
    if (!open_element(value, TAG_SEQUENCE, &list))
        return false;
    while (list.n > 0) {
        if (!next_element(&list, &tag, &name) || !permit_by_all(names, tag & MBEDTLS_ASN1_TAG_VALUE_MASK, name))
            return false;
    }
    return true;
}

static bool has_address(const mbedtls_x509_crt *crt, struct str address)
{
    struct str list, name, value;
    unsigned tag;
    if (!find_extension(crt, oid_alternative_name, &value) || !open_element(value, TAG_SEQUENCE, &list))
        return false;
    while (next_element(&list, &tag, &name)) {
        if ((tag & MBEDTLS_ASN1_TAG_VALUE_MASK) == FORM_ADDRESS && str_eq(name, address))
            return true;
    }
    return false;
}

void tls_names_init(struct tls_names *names, const char *host)
{
    *names = (struct tls_names){.host = str_of(host)};
    if (names->host.n > 1 && host[names->host.n - 1] == '.')
        names->host.n--;
    if (inet_pton(AF_INET, host, names->address) == 1)
        names->address_bytes = 4;
    else if (inet_pton(AF_INET6, host, names->address) == 1)
        names->address_bytes = 16;
}

int tls_names_verify(void *context, mbedtls_x509_crt *crt, int depth, uint32_t *flags)
{
    struct tls_names *names = context;
    bool is_self_issued = crt->subject_raw.len == crt->issuer_raw.len &&
                          memcmp(crt->subject_raw.p, crt->issuer_raw.p, crt->issuer_raw.len) == 0;
    bool is_server = depth == 0;
    if ((is_server || !is_self_issued) && !is_permitted(names, crt, is_server))
        *flags |= MBEDTLS_X509_BADCERT_OTHER;
    if (is_server && names->address_bytes && !has_address(crt, address_of(names)))
        *flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
    names->has_verified |= is_server;
    struct str constraints;
    if (is_server || !find_extension(crt, oid_constraints, &constraints))
        return 0;
    if (names->count < TLS_NAMES_DEPTH_MAX)
        names->constraints[names->count++] = constraints;
    else
        *flags |= MBEDTLS_X509_BADCERT_OTHER;
    return 0;
}

int tls_names_know(void *context, const mbedtls_x509_crt *crt, const mbedtls_x509_buf *oid, int is_critical,
    const unsigned char *p, const unsigned char *end)
{
    (void)context, (void)crt, (void)is_critical, (void)p, (void)end;
    bool is_ours = oid->len == sizeof(oid_constraints) - 1 && memcmp(oid->p, oid_constraints, oid->len) == 0;
    return is_ours ? 0 : MBEDTLS_ERR_X509_INVALID_EXTENSIONS + MBEDTLS_ERR_ASN1_UNEXPECTED_TAG;
}

int tracker_parse_peer(mbedtls_x509_crt *chain, const unsigned char *der, size_t n)
{
    return mbedtls_x509_crt_parse_der_with_ext_cb(chain, der, n, 1, tls_names_know, NULL);
}
