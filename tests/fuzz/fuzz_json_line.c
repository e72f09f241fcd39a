/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON line over any bytes and in little room: a sample that is accepted can be written, and what was written is read
 * again as the same.
 */
#include "fuzz.h"

#include <errno.h>

#include "encode/encode.h"
#include "replay/replay_internal.h"

enum { ROOM = 16 * 1024, OUT_MAX = 1024 * 1024 };

static void encode(const struct sample *sample, struct buf *out)
{
    buf_init(out, OUT_MAX);
    encoder_jsonl.sample(NULL, sample, NULL, out);
    check(buf_ok(out));
}

static void check_round_trip(struct json_line *json, const struct sample *sample)
{
    struct buf first;
    struct buf second;
    encode(sample, &first);
    /* The encoder has no word for what does not fit into it: such a number comes back as unknown. */
    struct sample again;
    int r = json_line_parse(json, (struct str){first.data, first.len}, &again);
    check(r == 0 || r == -E2BIG);
    if (r == 0) {
        encode(&again, &second);
        check(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
        buf_fini(&second);
    }
    buf_fini(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_line json;
    struct sample sample;
    char *line = fuzz_copy(data, size);
    if (!line)
        return 0;
    if (json_line_init(&json, ROOM) == 0) {
        int r = json_line_parse(&json, (struct str){line, size}, &sample);
        check(r == 0 || r == -EBADMSG || r == -ENODATA || r == -E2BIG);
        check(r == 0 || (json.mistyped == 0 && json.unknown.count == 0 && !json.unknown.has_more));
        for (unsigned i = 0; i < json.unknown.count; i++)
            check_printable(json.unknown.names[i]);
        if (r == 0)
            check_round_trip(&json, &sample);
        json_line_fini(&json);
    }
    free(line);
    return 0;
}
