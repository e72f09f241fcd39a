/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masking: the first byte chooses the mode, the rest are arguments that end with a newline. Off changes nothing, the
 * result is bounded and masking it again changes nothing; a password that is appended is never in it.
 */
#include "fuzz.h"

#include "mask/mask.h"

enum { ARGUMENTS = 64 };

static size_t total(const struct mask_command *command)
{
    size_t bytes = 0;
    for (size_t i = 0; i < command->count; i++)
        bytes += strlen(command->items[i]) + 1;
    return bytes;
}

static bool is_same(const struct mask_command *a, char *const *argv)
{
    size_t i = 0;
    for (; argv[i] && i < a->count; i++) {
        if (strcmp(a->items[i], argv[i]) != 0)
            return false;
    }
    return !argv[i] && i == a->count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > MASK_BYTES_MAX / 4)
        return 0;
    enum mask_mode mode = (enum mask_mode)(data[0] % 3);
    char *text = fuzz_copy_string(data + 1, size - 1);
    if (!text)
        return 0;
    char *argv[ARGUMENTS + 2];
    size_t count = 0;
    for (char *at = text; at && count < ARGUMENTS; count++) {
        char *end = strchr(at, '\n');
        if (end)
            *end = '\0';
        argv[count] = at;
        at = end ? end + 1 : NULL;
    }
    char secret[] = "--password=QQWWZZ";
    argv[count++] = secret;
    argv[count] = NULL;
    struct mask_command command, again;
    if (mask_command(argv, mode, &command) < 0)
        abort();
    check(command.count <= count && !command.items[command.count] && total(&command) <= MASK_BYTES_MAX);
    if (mode == MASK_OFF)
        check(is_same(&command, argv));
    else if (command.count == count)
        check(!strstr(command.items[count - 1], "QQWWZZ"));
    check(mask_command(command.items, mode, &again) == 0 && is_same(&again, command.items));
    mask_command_fini(&again);
    mask_command_fini(&command);
    free(text);
    return 0;
}
