/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/process_events.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(offsetof(struct process_message, event) == 36, "as it travels");
static_assert(sizeof(struct process_request) == 40, "as it travels");

void process_request_init(struct process_request *request)
{
    *request = (struct process_request){
        .header = {.nlmsg_len = sizeof(*request), .nlmsg_type = NLMSG_DONE},
        .connector = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .bytes = sizeof(request->operation)},
        .operation = PROC_CN_MCAST_LISTEN,
    };
}

int process_event_parse(const struct process_message *message, size_t n, struct process_event *ret_event)
{
    struct proc_event event = {0};
    if (n < sizeof(*message) || message->connector.id.idx != CN_IDX_PROC || message->connector.id.val != CN_VAL_PROC)
        return -EBADMSG;
    memcpy(&event, message->event, sizeof(event));
    struct process_event found = {.at_ns = (int64_t)event.timestamp_ns};
    pid_t thread = 0;
    switch ((uint32_t)event.what) {
    case PROC_EVENT_NONE:
        found.kind = PROCESS_ANSWER;
        found.status = (int)event.event_data.ack.err;
        break;
    case PROC_EVENT_FORK:
        found.kind = PROCESS_FORK;
        thread = event.event_data.fork.child_pid;
        found.pid = event.event_data.fork.child_tgid;
        found.parent = event.event_data.fork.parent_tgid;
        break;
    case PROC_EVENT_EXEC:
        found.kind = PROCESS_EXEC;
        thread = found.pid = event.event_data.exec.process_tgid;
        break;
    case PROC_EVENT_EXIT:
        found.kind = PROCESS_EXIT;
        thread = event.event_data.exit.process_pid;
        found.pid = event.event_data.exit.process_tgid;
        found.status = (int)event.event_data.exit.exit_code;
        break;
    default:
        break;
    }
    if (thread != found.pid)
        found.kind = PROCESS_OTHER;
    *ret_event = found;
    return 0;
}
