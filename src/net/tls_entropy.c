/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getrandom(2) by its number, since older C libraries have no function for it; /dev/urandom on kernels before 3.17.
 * mbedTLS itself would read /dev/random there, which may block and is missing in a bare chroot.
 */
#include "net/tls_entropy.h"

#include <errno.h>
#include <fcntl.h>
#include <mbedtls/entropy.h>
#include <mbedtls/version.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/syscalls.h"

#ifdef MBEDTLS_PSA_CRYPTO_EXTERNAL_RNG
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
