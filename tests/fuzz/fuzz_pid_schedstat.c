/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/schedstat and statm: what is accepted is one whole line of three numbers, and columns to come change
 * nothing. */
#include "fuzz.h"

#include <errno.h>

#include "kernel/pid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct pid_schedstat schedstat = {0};
    int r = pid_schedstat_parse(text, &schedstat);
    check(r == 0 || (r == -EINVAL && schedstat.run_ns == 0 && schedstat.wait_ns == 0 && schedstat.runs == 0));
    struct pid_statm statm = {0};
    check(pid_statm_parse(text, &statm) == r);
    check(r != 0 || (statm.resident_pages == schedstat.wait_ns && statm.file_pages == schedstat.runs));
    if (r == 0) {
        const char *lf = memchr(copy, '\n', size);
        check(lf && size >= 6);
        struct str line = {copy, (size_t)(lf - copy)};
        char *longer = fuzz_join(line, STR(" 99\n"));
        struct pid_schedstat again = {0};
        if (longer) {
            check(pid_schedstat_parse((struct str){longer, line.n + 4}, &again) == 0);
            check(
                again.run_ns == schedstat.run_ns && again.wait_ns == schedstat.wait_ns && again.runs == schedstat.runs);
        }
        free(longer);
    }
    free(copy);
    return 0;
}
