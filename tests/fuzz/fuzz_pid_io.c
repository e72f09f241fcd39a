/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/io: both lines are there where it is accepted, and a line to come changes nothing. */
#include "fuzz.h"

#include <errno.h>

#include "kernel/pid.h"

static void check_longer(struct str text, int r, const struct pid_io *io)
{
    static const struct str more = {"new: 1\n", 7};
    char *longer = fuzz_join(more, text);
    if (!longer)
        return;
    struct pid_io again;
    check(pid_io_parse((struct str){longer, more.n + text.n}, &again) == r);
    check(r < 0 || (again.read_bytes == io->read_bytes && again.write_bytes == io->write_bytes));
    free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct pid_io io = {0};
    int r = pid_io_parse(text, &io);
    check(r == 0 || (r == -EINVAL && io.read_bytes == 0 && io.write_bytes == 0));
    if (r == 0) {
        check(memmem(copy, size, "read_bytes: ", 12) && memmem(copy, size, "write_bytes: ", 13));
        check(memchr(copy, '\n', size));
    }
    check_longer(text, r, &io);
    free(copy);
    return 0;
}
