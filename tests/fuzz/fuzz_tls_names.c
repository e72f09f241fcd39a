/* SPDX-License-Identifier: Apache-2.0 */
/* Name constraints by themselves and in certificates of any CA: read within their bounds, and a host that is under all
 * constraints stays so when they are read again. */
#include "fuzz.h"

#include "net/tls_internal.h"

static void verify(const char *bytes, size_t size, const char *host)
{
    mbedtls_x509_crt crt;
    mbedtls_x509_crt_init(&crt);
    if (tracker_parse_peer(&crt, (const unsigned char *)bytes, size) == 0) {
        struct tls_names names;
        uint32_t flags[2] = {0};
        tls_names_init(&names, host);
        check(tls_names_verify(&names, &crt, 1, &flags[0]) == 0 && !names.has_verified);
        check(tls_names_verify(&names, &crt, 0, &flags[1]) == 0 && names.has_verified);
        check(names.count <= 1);
    }
    mbedtls_x509_crt_free(&crt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str constraints = {copy, size};
    for (unsigned type = 0; type < 9; type++) {
        struct str name = type == 7 ? STR("\x7f\0\0\1") : STR("good.example");
        check(tls_names_permit(constraints, type, name) == tls_names_permit(constraints, type, name));
    }
    verify(copy, size, "good.example");
    verify(copy, size, "127.0.0.1");
    free(copy);
    return 0;
}
