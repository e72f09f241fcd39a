/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/loadavg: loads are finite and not negative; a PID is only read from a whole line. */
#include "fuzz.h"

#include "kernel/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct loadavg load;
    if (loadavg_parse(text, &load) == 0) {
        check(load.load1 >= 0 && load.load1 <= 1e9 + 1);
        check(load.load5 >= 0 && load.load5 <= 1e9 + 1);
        check(load.load15 >= 0 && load.load15 <= 1e9 + 1);
        check(!load.last_pid.has || (memchr(copy, '\n', size) && memchr(copy, '/', size)));
        check(load.last_pid.has || load.last_pid.v == 0);
    }
    free(copy);
    return 0;
}
