/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the process connector: none is read behind its end. */
#include "fuzz.h"

#include <errno.h>

#include "kernel/process_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct process_message message = {0};
    struct process_event event;
    size_t n = size < sizeof(message) ? size : sizeof(message);
    memcpy(&message, data, n);
    int r = process_event_parse(&message, n, &event);
    check(r < 0 ? r == -EBADMSG : event.kind <= PROCESS_EXIT);
    return 0;
}
