/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines of processes: the first byte chooses the mode and whether the text was cut, the rest is what the kernel
 * has. The result is bounded; masking it again gives something bounded, too; half an argument is never shown.
 */
#include "fuzz.h"

#include "model/sample.h"
#include "run/command_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 2 * SAMPLE_COMMAND_BYTES)
        return 0;
    enum mask_mode mode = (enum mask_mode)(data[0] % 3);
    bool is_cut = data[0] & 0x80;
    char *text = fuzz_copy(data + 1, size - 1);
    if (!text)
        return 0;
    char out[SAMPLE_PROCESS_BYTES], again[SAMPLE_PROCESS_BYTES];
    if (command_text_mask((struct str){text, size - 1}, is_cut, mode, out, sizeof(out)) == 0) {
        check(memchr(out, '\0', sizeof(out)) != NULL);
        check(mode != MASK_AUTO || !strstr(out, "--password=QQWWZZ"));
        if (is_cut && size > 1 && text[size - 2] != '\0' && strlen(out) < sizeof(out) - 4)
            check(strlen(out) >= 3 && strcmp(out + strlen(out) - 3, "...") == 0);
        if (command_text_mask_again(out, mode, again, sizeof(again)) == 0)
            check(memchr(again, '\0', sizeof(again)) != NULL);
    }
    free(text);
    return 0;
}
