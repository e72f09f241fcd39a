/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of refusals: code, message and region are clean, whatever a server sends; so are credentials in XML. */
#include "fuzz.h"

#include <errno.h>

#include "aws/aws_internal.h"
#include "base/text.h"

static void check_message(struct str text)
{
    while (text.n > 0) {
        size_t n = utf8_length(text);
        check(n > 0 && !text_is_unsafe((struct str){text.p, n}));
        text = (struct str){text.p + n, text.n - n};
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str body = {copy, size};
    struct s3_error error;
    s3_error_read(body, &error);
    check(memchr(error.code, '\0', sizeof(error.code)) && !strpbrk(error.code, " <>&\"'\n"));
    check(memchr(error.message, '\0', sizeof(error.message)));
    check_message(str_of(error.message));
    check(!error.region[0] || s3_is_region(str_of(error.region)));
    struct str raw = s3_error_element(body, "Message");
    check(!raw.p || (raw.p > copy && raw.p + raw.n < copy + size && !memchr(raw.p, '<', raw.n)));
    struct s3_credentials credentials = {0};
    int r = aws_web_identity_read(body, &credentials);
    check(r == -EBADMSG || (r == 0 && credentials.secret_key[0] && credentials.expires_secs.has));
    free(copy);
    return 0;
}
