/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/io, seven lines like this one:
 *   read_bytes: 4096
 * Any order and any unknown keys are fine; a line without its LF is not trusted.
 */
#include "kernel/pid_io.h"

#include <errno.h>

#include "base/num.h"
#include "base/opt.h"

/* The LF stands behind `line`. */
static void parse_counter(struct str line, struct str key, struct opt_u64 *counter)
{
    uint64_t value;
    if (!str_starts(line, key))
        return;
    const char *p = line.p + key.n;
    if (num_next_in_line(&p, &value) && *p == '\n')
        *counter = some_u64(value);
}

int pid_io_parse(struct str text, struct pid_io *ret)
{
    struct opt_u64 read = {0};
    struct opt_u64 written = {0};
    const char *lf;
    while (!(read.has && written.has) && text.n > 0 && (lf = memchr(text.p, '\n', text.n))) {
        struct str line = {text.p, (size_t)(lf - text.p)};
        text = (struct str){lf + 1, text.n - line.n - 1};
        if (line.p[0] == 'r')
            parse_counter(line, STR("read_bytes: "), &read);
        else if (line.p[0] == 'w')
            parse_counter(line, STR("write_bytes: "), &written);
    }
    if (!read.has || !written.has)
        return -EINVAL;
    *ret = (struct pid_io){.read_bytes = read.v, .write_bytes = written.v};
    return 0;
}
