/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of JSON as a sample, through the field tables. What it needs is taken once, when it is made: no line
 * allocates.
 */
#ifndef REPLAY_JSON_LINE_H
#define REPLAY_JSON_LINE_H

#include <stdint.h>

#include "base/str.h"
#include "model/sample.h"
#include "replay/name_list.h"

struct json_line {
    char *room; /* open lists first, then texts and finished lists */
    char *open, *open_end; /* items of lists under way, one list upon the other */
    char *done, *done_end;
    const char *end; /* of the line */
    struct name_list unknown; /* keys of samples that no table has */
    uint64_t mistyped; /* values that their key cannot have, taken as unknown */
    size_t room_bytes;
    bool is_full;
};

/* room_bytes bounds what one line can hold; memory is used only as far as lines need it. Returns 0 or -ENOMEM. */
int json_line_init(struct json_line *json, size_t room_bytes);
void json_line_fini(struct json_line *json);

/*
 * Texts and lists of the sample are valid until the next call. Returns 0, -EBADMSG (no JSON object), -ENODATA (an
 * object without timestamp_secs and timestamp_ms) or -E2BIG (more than there is room for); the sample is then
 * unspecified, and nothing of the line is counted.
 */
int json_line_parse(struct json_line *json, struct str line, struct sample *sample);

/* The items of a list of the sample just parsed, to be completed. */
void *json_line_items(const struct json_line *json, const struct sample_list *list);

#endif
