/* SPDX-License-Identifier: Apache-2.0 */
/* Control group files: the pieces of a line lie inside the text, cores are a positive number. */
#include "fuzz.h"

#include "kernel/cgroup_files.h"

static void check_lines(struct str text)
{
    struct str rest = text;
    struct cgroup_line line;
    while (cgroup_line_next(&rest, &line)) {
        check(line.controllers.p > text.p && line.controllers.p + line.controllers.n < line.path.p);
        check(line.path.n > 0 && line.path.p[0] == '/' && !memchr(line.path.p, '\n', line.path.n));
        check(line.path.p + line.path.n < text.p + text.n);
        (void)cgroup_list_has(line.controllers, STR("memory"));
        check(line.controllers.n == 0 || memchr(line.controllers.p, ',', line.controllers.n) ||
              cgroup_list_has(line.controllers, line.controllers));
    }
    check(rest.n == 0 || !memchr(rest.p, '\n', rest.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    check_lines(text);
    (void)cgroup_keyed_u64(text, STR("usage_usec"));
    check(!cgroup_keyed_u64(text, STR("no such key\n")).has);
    (void)cgroup_single_u64(text);
    struct opt_f64 cores = cgroup_cpu_max_cores(text);
    check(!cores.has || cores.v > 0);
    cores = cgroup_cfs_cores(text, STR("100000\n"));
    check(!cores.has || cores.v > 0);
    cores = cgroup_cfs_cores(STR("50000\n"), text);
    check(!cores.has || cores.v > 0);
    free(copy);
    return 0;
}
