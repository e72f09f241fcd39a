/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/io: both lines are there where it is accepted, and a line to come changes nothing. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/pid_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_longer(struct str text, int r, const struct pid_io *io)
{
    static const struct str more = {"new: 1\n", 7};
    char *longer = malloc(more.n + text.n);
    if (!longer)
        return;
    memcpy(longer, more.p, more.n);
    if (text.n > 0)
        memcpy(longer + more.n, text.p, text.n);
    struct pid_io again;
    check(pid_io_parse((struct str){longer, more.n + text.n}, &again) == r);
    check(r < 0 || (again.read_bytes == io->read_bytes && again.write_bytes == io->write_bytes));
    free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A block of exactly this size lets the sanitizer see a read behind the end. */
    char *copy = malloc(size);
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
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
