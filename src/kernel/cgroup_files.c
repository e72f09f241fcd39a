/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control group files. /proc/PID/cgroup is "hierarchy:controllers:path" a line ("4:memory:/a/b"); flat keyed files are
 * "key value" a line ("usage_usec 123"). In files of lines a last line without its LF is not trusted; single values
 * may come with or without one.
 */
#include "kernel/cgroup_files.h"

#include "base/num.h"

static bool parse_line(struct str line, struct cgroup_line *ret_line)
{
    const char *end = line.p + line.n;
    const char *first = memchr(line.p, ':', line.n);
    const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
    if (!second || end - second < 2 || second[1] != '/')
        return false;
    uint64_t hierarchy;
    if (num_parse_u64((struct str){line.p, (size_t)(first - line.p)}, &hierarchy) < 0)
        return false;
    *ret_line = (struct cgroup_line){
        .hierarchy = hierarchy,
        .controllers = {first + 1, (size_t)(second - first - 1)},
        .path = {second + 1, (size_t)(end - second - 1)},
    };
    return true;
}

bool cgroup_line_next(struct str *rest, struct cgroup_line *ret_line)
{
    struct str line;
    while (str_whole_line(rest, &line)) {
        if (parse_line(line, ret_line))
            return true;
    }
    return false;
}

bool cgroup_list_has(struct str list, struct str name)
{
    struct str item;
    while (str_cut(&list, ',', &item)) {
        if (item.n > 0 && str_eq(item, name))
            return true;
    }
    return false;
}

struct opt_u64 cgroup_keyed_u64(struct str text, struct str key)
{
    struct str line;
    while (str_whole_line(&text, &line)) {
        if (line.n <= key.n || line.p[key.n] != ' ' || !str_starts(line, key))
            continue;
        uint64_t value;
        if (num_parse_u64((struct str){line.p + key.n + 1, line.n - key.n - 1}, &value) < 0)
            break;
        return some_u64(value);
    }
    return (struct opt_u64){0};
}

struct opt_u64 cgroup_single_u64(struct str text)
{
    uint64_t value;
    if (num_parse_u64(str_trim(text), &value) < 0)
        return (struct opt_u64){0};
    return some_u64(value);
}

/* The kernel takes neither a quota nor a period of 0, so a 0 is no limit. */
__attribute__((cold)) static struct opt_f64 cores_of(struct opt_u64 quota, struct opt_u64 period)
{
    if (!quota.has || !period.has || quota.v == 0 || period.v == 0)
        return (struct opt_f64){0};
    return some_f64(num_to_f64(quota.v) / num_to_f64(period.v));
}

__attribute__((cold)) struct opt_f64 cgroup_cpu_max_cores(struct str text)
{
    struct str rest = str_trim(text);
    struct str quota;
    if (!str_word(&rest, &quota))
        return (struct opt_f64){0};
    return cores_of(cgroup_single_u64(quota), cgroup_single_u64(rest));
}

__attribute__((cold)) struct opt_f64 cgroup_cfs_cores(struct str quota, struct str period)
{
    return cores_of(cgroup_single_u64(quota), cgroup_single_u64(period));
}
