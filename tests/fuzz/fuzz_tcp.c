/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of TCP sockets and net/snmp: every step moves on, and none reads behind the end. */
#include "fuzz.h"

#include "kernel/tcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct tcp_counters counters;
    (void)tcp_counters_parse((struct str){copy, size}, &counters);
    struct tcp_row row;
    int r = TCP_ROW;
    for (size_t at = 0; r == TCP_ROW;) {
        size_t before = at;
        r = tcp_answer_next(copy, size, 1, &at, &row);
        check(r != TCP_ROW || at > before);
        check(r <= TCP_DONE && r > -4096);
        if (r == TCP_ROW)
            check(tcp_name_is_same(&row.name, &row.name) && (row.has_bytes || (row.received == 0 && row.sent == 0)));
    }
    free(copy);
    return 0;
}
