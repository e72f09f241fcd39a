/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/loadavg: "0.20 0.18 0.12 1/80 11206". The kernel prints whole and hundredths; read as such, this needs no
 * strtod. The byte behind each number must be there, so a cut text is noticed.
 */
#include "kernel/loadavg.h"

#include <errno.h>

#include "base/num.h"

enum { FRACTION_DIGITS_MAX = 6, WHOLE_MAX = 1000000000 };

static bool next_load(struct str *rest, double *ret_load)
{
    uint64_t value;
    if (!num_next_u64(rest, &value) || value > WHOLE_MAX || rest->n == 0 || rest->p[0] != '.')
        return false;
    uint64_t scale = 1;
    size_t i = 1;
    for (; i < rest->n && rest->p[i] >= '0' && rest->p[i] <= '9'; i++) {
        if (i > FRACTION_DIGITS_MAX)
            return false;
        value = value * 10 + (uint64_t)(rest->p[i] - '0');
        scale *= 10;
    }
    if (i == 1 || i == rest->n || (rest->p[i] != ' ' && rest->p[i] != '\n'))
        return false;
    *rest = (struct str){rest->p + i, rest->n - i};
    *ret_load = (double)value / (double)scale;
    return true;
}

/* " 1/80 11206\n", whole through its LF */
static struct opt_u64 parse_last_pid(struct str rest)
{
    uint64_t running, all, pid;
    if (rest.n == 0 || rest.p[rest.n - 1] != '\n')
        return (struct opt_u64){0};
    const char *p = rest.p;
    if (!num_next_in_line(&p, &running) || *p++ != '/' || *p == ' ' || !num_next_in_line(&p, &all) || *p != ' ' ||
        !num_next_in_line(&p, &pid) || (*p != '\n' && *p != ' '))
        return (struct opt_u64){0};
    return some_u64(pid);
}

int loadavg_parse(struct str text, struct loadavg *ret)
{
    struct loadavg load;
    if (!next_load(&text, &load.load1) || !next_load(&text, &load.load5) || !next_load(&text, &load.load15))
        return -EINVAL;
    load.last_pid = parse_last_pid(text);
    *ret = load;
    return 0;
}
