/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat: neither the name nor columns to come change what is read, and a cut line is refused. */
#include "fuzz.h"

#include <errno.h>

#include "kernel/pid.h"

static void check_same(const struct pid_stat *a, struct str text)
{
    struct pid_stat b;
    check(pid_stat_parse(text, &b) == 0);
    check(a->pid == b.pid && a->parent == b.parent);
    check(a->state == b.state && a->threads == b.threads && a->start_ticks == b.start_ticks);
    check(a->major_faults == b.major_faults && a->children_major_faults == b.children_major_faults);
    check(a->user_ticks == b.user_ticks && a->system_ticks == b.system_ticks);
    check(a->children_user_ticks == b.children_user_ticks && a->children_system_ticks == b.children_system_ticks);
    check(a->rss_pages == b.rss_pages && a->ignores_sigchld == b.ignores_sigchld);
}

/* Another name in the place of the one there, and one more column. */
static void check_variant(const struct pid_stat *stat, struct str text, struct str name)
{
    static const struct str more = {" -5\n", 4};
    const char *open = memchr(text.p, '(', text.n);
    const char *close = memrchr(text.p, ')', text.n);
    check(open && close && open < close && text.p[text.n - 1] == '\n');
    size_t head = (size_t)(open + 1 - text.p);
    size_t tail = (size_t)(text.p + text.n - 1 - close);
    char *line = malloc(head + name.n + tail + more.n);
    if (!line)
        return;
    memcpy(line, text.p, head);
    if (name.n > 0)
        memcpy(line + head, name.p, name.n);
    memcpy(line + head + name.n, close, tail);
    memcpy(line + head + name.n + tail, more.p, more.n);
    check_same(stat, (struct str){line, head + name.n + tail + more.n});
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct pid_stat stat;
    int r = pid_stat_parse(text, &stat);
    check(r == 0 || r == -EINVAL);
    if (r == 0) {
        check((stat.state >= 'A' && stat.state <= 'Z') || (stat.state >= 'a' && stat.state <= 'z'));
        check(stat.state != 'R' || !pid_stat_is_dead(&stat));
        check_variant(&stat, text, STR(""));
        check_variant(&stat, text, STR("x) Z 1\n) ("));
        check(pid_stat_parse((struct str){copy, size - 1}, &stat) == -EINVAL);
    }
    free(copy);
    return 0;
}
