/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client that only verifies needs of public keys, in place of library/pk_wrap.c and library/rsa_alt_helpers.c:
 * mbedTLS's tables of key types without the entries that sign, decrypt and encrypt, through which the linker would keep
 * all that can be done with private keys. mbedTLS calls no entry that is NULL.
 */
#include "common.h"
/* The above first: it opens the members of the structures. */
#include "mbedtls/ecdsa.h"
#include "mbedtls/ecp.h"
#include "mbedtls/platform.h"
#include "mbedtls/rsa.h"
#include "pk_wrap.h"
#include "rsa_alt_helpers.h"

static int rsa_can_do(mbedtls_pk_type_t type)
{
    return type == MBEDTLS_PK_RSA || type == MBEDTLS_PK_RSASSA_PSS;
}

static size_t rsa_get_bits(mbedtls_pk_context *key)
{
    return mbedtls_rsa_get_bitlen(key->pk_ctx);
}

static int rsa_verify(mbedtls_pk_context *key, mbedtls_md_type_t kind, const unsigned char *hash, size_t hash_size,
    const unsigned char *signature, size_t size)
{
    mbedtls_rsa_context *rsa = key->pk_ctx;
    size_t wanted = mbedtls_rsa_get_len(rsa);
    if (hash_size > MBEDTLS_MD_MAX_SIZE)
        return MBEDTLS_ERR_PK_BAD_INPUT_DATA;
    if (size < wanted)
        return MBEDTLS_ERR_RSA_VERIFY_FAILED;
    int result = mbedtls_rsa_pkcs1_verify(rsa, kind, (unsigned)hash_size, hash, signature);
    return result == 0 && size > wanted ? MBEDTLS_ERR_PK_SIG_LEN_MISMATCH : result;
}

static void *rsa_new(void)
{
    mbedtls_rsa_context *rsa = mbedtls_calloc(1, sizeof(*rsa));
    if (rsa)
        mbedtls_rsa_init(rsa);
    return rsa;
}

static void rsa_free(void *rsa)
{
    mbedtls_rsa_free(rsa);
    mbedtls_free(rsa);
}

const mbedtls_pk_info_t mbedtls_rsa_info = {
    .type = MBEDTLS_PK_RSA,
    .name = "RSA",
    .get_bitlen = rsa_get_bits,
    .can_do = rsa_can_do,
    .verify_func = rsa_verify,
    .ctx_alloc_func = rsa_new,
    .ctx_free_func = rsa_free,
};

static int ec_can_do(mbedtls_pk_type_t type)
{
    return type == MBEDTLS_PK_ECKEY || type == MBEDTLS_PK_ECKEY_DH || type == MBEDTLS_PK_ECDSA;
}

static int ec_can_do_dh(mbedtls_pk_type_t type)
{
    return type == MBEDTLS_PK_ECKEY || type == MBEDTLS_PK_ECKEY_DH;
}

static int ec_can_do_ecdsa(mbedtls_pk_type_t type)
{
    return type == MBEDTLS_PK_ECDSA;
}

static size_t ec_get_bits(mbedtls_pk_context *key)
{
    const mbedtls_ecp_keypair *pair = key->pk_ctx;
    return pair->grp.pbits;
}

static int ec_verify(mbedtls_pk_context *key, mbedtls_md_type_t kind, const unsigned char *hash, size_t hash_size,
    const unsigned char *signature, size_t size)
{
    (void)kind;
    int result = mbedtls_ecdsa_read_signature(key->pk_ctx, hash, hash_size, signature, size);
    return result == MBEDTLS_ERR_ECP_SIG_LEN_MISMATCH ? MBEDTLS_ERR_PK_SIG_LEN_MISMATCH : result;
}

static void *ec_new(void)
{
    mbedtls_ecp_keypair *pair = mbedtls_calloc(1, sizeof(*pair));
    if (pair)
        mbedtls_ecp_keypair_init(pair);
    return pair;
}

static void ec_free(void *pair)
{
    mbedtls_ecp_keypair_free(pair);
    mbedtls_free(pair);
}

const mbedtls_pk_info_t mbedtls_eckey_info = {
    .type = MBEDTLS_PK_ECKEY,
    .name = "EC",
    .get_bitlen = ec_get_bits,
    .can_do = ec_can_do,
    .verify_func = ec_verify,
    .ctx_alloc_func = ec_new,
    .ctx_free_func = ec_free,
};

const mbedtls_pk_info_t mbedtls_eckeydh_info = {
    .type = MBEDTLS_PK_ECKEY_DH,
    .name = "EC_DH",
    .get_bitlen = ec_get_bits,
    .can_do = ec_can_do_dh,
    .ctx_alloc_func = ec_new,
    .ctx_free_func = ec_free,
};

const mbedtls_pk_info_t mbedtls_ecdsa_info = {
    .type = MBEDTLS_PK_ECDSA,
    .name = "ECDSA",
    .get_bitlen = ec_get_bits,
    .can_do = ec_can_do_ecdsa,
    .verify_func = ec_verify,
    .ctx_alloc_func = ec_new,
    .ctx_free_func = ec_free,
};

/* In place of mbedtls_pk_sign_ext. */
int tracker_cannot_sign(mbedtls_pk_type_t type, mbedtls_pk_context *key, mbedtls_md_type_t kind,
    const unsigned char *hash, size_t hash_size, unsigned char *signature, size_t room, size_t *ret_size,
    int (*random)(void *, unsigned char *, size_t), void *context);

int tracker_cannot_sign(mbedtls_pk_type_t type, mbedtls_pk_context *key, mbedtls_md_type_t kind,
    const unsigned char *hash, size_t hash_size, unsigned char *signature, size_t room, size_t *ret_size,
    int (*random)(void *, unsigned char *, size_t), void *context)
{
    (void)type, (void)key, (void)kind, (void)hash, (void)hash_size, (void)signature, (void)room, (void)ret_size;
    (void)random, (void)context;
    return MBEDTLS_ERR_PK_TYPE_MISMATCH;
}

/* Private keys are completed and checked only where there is a part of one. */
int mbedtls_rsa_deduce_primes(
    const mbedtls_mpi *n, const mbedtls_mpi *e, const mbedtls_mpi *d, mbedtls_mpi *ret_p, mbedtls_mpi *ret_q)
{
    (void)n, (void)e, (void)d, (void)ret_p, (void)ret_q;
    return MBEDTLS_ERR_RSA_BAD_INPUT_DATA;
}

int mbedtls_rsa_deduce_private_exponent(
    const mbedtls_mpi *p, const mbedtls_mpi *q, const mbedtls_mpi *e, mbedtls_mpi *ret_d)
{
    (void)p, (void)q, (void)e, (void)ret_d;
    return MBEDTLS_ERR_RSA_BAD_INPUT_DATA;
}

int mbedtls_rsa_deduce_crt(const mbedtls_mpi *p, const mbedtls_mpi *q, const mbedtls_mpi *d, mbedtls_mpi *ret_dp,
    mbedtls_mpi *ret_dq, mbedtls_mpi *ret_qp)
{
    (void)p, (void)q, (void)d, (void)ret_dp, (void)ret_dq, (void)ret_qp;
    return MBEDTLS_ERR_RSA_BAD_INPUT_DATA;
}

int mbedtls_rsa_validate_params(const mbedtls_mpi *n, const mbedtls_mpi *p, const mbedtls_mpi *q, const mbedtls_mpi *d,
    const mbedtls_mpi *e, int (*random)(void *, unsigned char *, size_t), void *context)
{
    (void)n, (void)p, (void)q, (void)d, (void)e, (void)random, (void)context;
    return MBEDTLS_ERR_RSA_BAD_INPUT_DATA;
}
