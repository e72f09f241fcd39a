/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TLS 1.3 asks of PSA, on top of mbedTLS's own hashes and curves, in place of library/psa_crypto*.c, which are for
 * all that PSA can. Like those without MBEDTLS_THREADING_C it has no locks: one thread at a time shakes hands.
 */
#include "common.h"
/* The above first: it opens the members of the structures. */
#include "mbedtls/ecdh.h"
#include "mbedtls/error.h"
#include "mbedtls/hkdf.h"
#include "mbedtls/platform.h"
#include "mbedtls/platform_util.h"
#include "mbedtls/psa_util.h"
#include "psa/crypto.h"
#include "psa_util_internal.h"

static psa_status_t status_of(int result)
{
    switch (result) {
    case 0:
        return PSA_SUCCESS;
    case MBEDTLS_ERR_MPI_ALLOC_FAILED:
    case MBEDTLS_ERR_ECP_ALLOC_FAILED:
    case MBEDTLS_ERR_MD_ALLOC_FAILED:
        return PSA_ERROR_INSUFFICIENT_MEMORY;
    case MBEDTLS_ERR_ECP_BAD_INPUT_DATA:
    case MBEDTLS_ERR_ECP_INVALID_KEY:
        return PSA_ERROR_INVALID_ARGUMENT;
    case MBEDTLS_ERR_ECP_FEATURE_UNAVAILABLE:
        return PSA_ERROR_NOT_SUPPORTED;
    default:
        return PSA_ERROR_GENERIC_ERROR;
    }
}

psa_status_t psa_crypto_init(void)
{
    return PSA_SUCCESS;
}

static int fill_random(void *context, unsigned char *bytes, size_t n)
{
    (void)context;
    size_t got;
    psa_status_t status = mbedtls_psa_external_get_random(NULL, bytes, n, &got);
    return status == PSA_SUCCESS ? 0 : MBEDTLS_ERR_ECP_RANDOM_FAILED;
}

/* The hash of an algorithm that is one, or is made of one. */
static const mbedtls_md_info_t *hash_of(psa_algorithm_t algorithm)
{
    return mbedtls_md_info_from_type(mbedtls_md_type_from_psa_alg(PSA_ALG_GET_HASH(algorithm)));
}

psa_status_t psa_hash_compute(
    psa_algorithm_t algorithm, const uint8_t *bytes, size_t n, uint8_t *hash, size_t room, size_t *ret_n)
{
    const mbedtls_md_info_t *md = hash_of(algorithm);
    *ret_n = mbedtls_md_get_size(md);
    return *ret_n > room ? PSA_ERROR_BUFFER_TOO_SMALL : status_of(mbedtls_md(md, bytes, n, hash));
}

/* A key of one of two kinds. */
struct key {
    mbedtls_ecdh_context pair;
    size_t bits; /* of the curve */
    unsigned char secret[PSA_HASH_MAX_SIZE]; /* of HMAC */
    size_t secret_bytes;
};

/* The number of a key is that of its place, from 1: 0 means none. */
static struct key *keys[MBEDTLS_PSA_KEY_SLOT_COUNT];

static struct key *key_of(psa_key_id_t id)
{
    return id > 0 && id <= MBEDTLS_PSA_KEY_SLOT_COUNT ? keys[id - 1] : NULL;
}

static struct key *new_key(psa_key_id_t *ret_id)
{
    psa_key_id_t id = 1;
    while (id <= MBEDTLS_PSA_KEY_SLOT_COUNT && keys[id - 1])
        id++;
    struct key *key = id <= MBEDTLS_PSA_KEY_SLOT_COUNT ? mbedtls_calloc(1, sizeof(*key)) : NULL;
    if (!key)
        return NULL;
    mbedtls_ecdh_init(&key->pair);
    keys[id - 1] = key;
    *ret_id = id;
    return key;
}

psa_status_t psa_destroy_key(psa_key_id_t id)
{
    struct key *key = key_of(id);
    if (key) {
        mbedtls_ecdh_free(&key->pair);
        mbedtls_zeroize_and_free(key, sizeof(*key));
        keys[id - 1] = NULL;
    }
    return key || id == 0 ? PSA_SUCCESS : PSA_ERROR_INVALID_HANDLE;
}

psa_status_t psa_import_key(
    const psa_key_attributes_t *attributes, const uint8_t *bytes, size_t n, psa_key_id_t *ret_id)
{
    (void)attributes;
    struct key *key = n <= PSA_HASH_MAX_SIZE ? new_key(ret_id) : NULL;
    if (!key)
        return PSA_ERROR_INSUFFICIENT_MEMORY;
    memcpy(key->secret, bytes, n);
    key->secret_bytes = n;
    return PSA_SUCCESS;
}

psa_status_t psa_mac_compute(psa_key_id_t id, psa_algorithm_t algorithm, const uint8_t *bytes, size_t n, uint8_t *mac,
    size_t room, size_t *ret_n)
{
    const struct key *key = key_of(id);
    const mbedtls_md_info_t *md = hash_of(algorithm);
    if (!key)
        return PSA_ERROR_INVALID_HANDLE;
    *ret_n = mbedtls_md_get_size(md);
    return *ret_n > room ? PSA_ERROR_BUFFER_TOO_SMALL
                         : status_of(mbedtls_md_hmac(md, key->secret, key->secret_bytes, bytes, n, mac));
}

psa_status_t psa_generate_key(const psa_key_attributes_t *attributes, psa_key_id_t *ret_id)
{
    psa_key_type_t type = psa_get_key_type(attributes);
    size_t bits = psa_get_key_bits(attributes);
    struct key *key = new_key(ret_id);
    if (!key)
        return PSA_ERROR_INSUFFICIENT_MEMORY;
    key->bits = bits;
    mbedtls_ecdh_context_mbed *pair = &key->pair.ctx.mbed_ecdh;
    int result = mbedtls_ecdh_setup(&key->pair, mbedtls_ecc_group_from_psa(PSA_KEY_TYPE_ECC_GET_FAMILY(type), bits));
    if (result == 0)
        result = mbedtls_ecdh_gen_public(&pair->grp, &pair->d, &pair->Q, fill_random, NULL);
    if (result != 0) {
        (void)psa_destroy_key(*ret_id);
        *ret_id = 0;
    }
    return status_of(result);
}

psa_status_t psa_get_key_attributes(psa_key_id_t id, psa_key_attributes_t *attributes)
{
    const struct key *key = key_of(id);
    if (!key)
        return PSA_ERROR_INVALID_HANDLE;
    psa_set_key_bits(attributes, key->bits);
    return PSA_SUCCESS;
}

psa_status_t psa_export_public_key(psa_key_id_t id, uint8_t *bytes, size_t room, size_t *ret_n)
{
    struct key *key = key_of(id);
    if (!key)
        return PSA_ERROR_INVALID_HANDLE;
    const mbedtls_ecdh_context_mbed *pair = &key->pair.ctx.mbed_ecdh;
    int result = mbedtls_ecp_point_write_binary(&pair->grp, &pair->Q, MBEDTLS_ECP_PF_UNCOMPRESSED, ret_n, bytes, room);
    return result == MBEDTLS_ERR_ECP_BUFFER_TOO_SMALL ? PSA_ERROR_BUFFER_TOO_SMALL : status_of(result);
}

/* mbedtls_ecdh_calc_secret checks that the point of the peer lies on the curve. */
psa_status_t psa_raw_key_agreement(psa_algorithm_t algorithm, psa_key_id_t id, const uint8_t *peer, size_t n,
    uint8_t *secret, size_t room, size_t *ret_n)
{
    (void)algorithm;
    struct key *key = key_of(id);
    if (!key)
        return PSA_ERROR_INVALID_HANDLE;
    mbedtls_ecdh_context_mbed *pair = &key->pair.ctx.mbed_ecdh;
    int result = mbedtls_ecp_point_read_binary(&pair->grp, &pair->Qp, peer, n);
    if (result == 0)
        result = mbedtls_ecdh_calc_secret(&key->pair, ret_n, secret, room, fill_random, NULL);
    return status_of(result);
}

/*
 * HKDF (RFC 5869), one of its two halves at a time. Each is given two inputs and then asked once. The inputs of TLS are
 * never longer than prk (a salt or a secret, of the length of a hash), or lie where they are until the end (the info).
 */
psa_status_t psa_key_derivation_setup(psa_key_derivation_operation_t *operation, psa_algorithm_t algorithm)
{
    *operation = (psa_key_derivation_operation_t){.alg = algorithm};
    return PSA_SUCCESS;
}

psa_status_t psa_key_derivation_input_bytes(
    psa_key_derivation_operation_t *operation, psa_key_derivation_step_t step, const uint8_t *bytes, size_t n)
{
    psa_hkdf_key_derivation_t *hkdf = &operation->ctx.hkdf;
    const mbedtls_md_info_t *md = hash_of(operation->alg);
    if (step == PSA_KEY_DERIVATION_INPUT_INFO) {
        hkdf->info = (uint8_t *)bytes;
        hkdf->info_length = n;
        return PSA_SUCCESS;
    }
    if (step == PSA_KEY_DERIVATION_INPUT_SECRET && PSA_ALG_IS_HKDF_EXTRACT(operation->alg))
        return status_of(mbedtls_md_hmac(md, hkdf->prk, mbedtls_md_get_size(md), bytes, n, hkdf->prk));
    if (n != mbedtls_md_get_size(md))
        return PSA_ERROR_INVALID_ARGUMENT;
    memcpy(hkdf->prk, bytes, n);
    return PSA_SUCCESS;
}

psa_status_t psa_key_derivation_output_bytes(psa_key_derivation_operation_t *operation, uint8_t *bytes, size_t n)
{
    const psa_hkdf_key_derivation_t *hkdf = &operation->ctx.hkdf;
    const mbedtls_md_info_t *md = hash_of(operation->alg);
    if (!PSA_ALG_IS_HKDF_EXTRACT(operation->alg))
        return status_of(
            mbedtls_hkdf_expand(md, hkdf->prk, mbedtls_md_get_size(md), hkdf->info, hkdf->info_length, bytes, n));
    if (n > mbedtls_md_get_size(md))
        return PSA_ERROR_INSUFFICIENT_DATA;
    memcpy(bytes, hkdf->prk, n);
    return PSA_SUCCESS;
}

psa_status_t psa_key_derivation_abort(psa_key_derivation_operation_t *operation)
{
    mbedtls_platform_zeroize(operation, sizeof(*operation));
    return PSA_SUCCESS;
}
