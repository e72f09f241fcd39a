/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV headers and rows over any bytes: what is accepted can be written, and a row that was written from a row comes
 * back to the byte.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/clock.h"
#include "encode/encode.h"
#include "replay/replay_internal.h"

enum { OUT_MAX = 64 * 1024 };

static const struct run_info info = {.interval_ns = NS_PER_MS};

/* The full row of a sample, without the header. */
static void encode(const struct sample *sample, struct buf *out)
{
    buf_clear(out);
    const struct sample_totals totals = sample_totals_of(sample, true);
    encoder_csv_full.sample(&info, sample, &totals, out);
    check(buf_ok(out));
}

static struct str text_of(const struct buf *buf)
{
    return (struct str){buf->data, buf->len};
}

static void check_sample(const struct sample *sample, struct csv_line *full, struct buf *first, struct buf *second)
{
    check(sample->timestamp_ms.has && sample->timestamp_ms.v >= 0 && sample->gpu.count <= CSV_LINE_GPUS_MAX);
    check(sample->disk.count <= 1 && sample->network.count <= 1);
    encode(sample, first);
    struct sample again;
    if (csv_line_parse(full, text_of(first), &again) < 0)
        return; /* numbers that the encoder has no word for */
    encode(&again, second);
    check(csv_line_parse(full, text_of(second), &again) == 0);
    encode(&again, first);
    check(str_eq(text_of(first), text_of(second)));
}

static void check_rows(struct csv_line *csv, struct csv_line *full, struct str rest)
{
    struct str line;
    struct buf first;
    struct buf second;
    buf_init(&first, OUT_MAX);
    buf_init(&second, OUT_MAX);
    while (str_line(&rest, &line)) {
        struct sample sample;
        check(csv_line_is_header(line) == (csv_line_set_header(csv, line) == 0));
        int r = csv->count > 0 ? csv_line_parse(csv, line, &sample) : -EBADMSG;
        check(r == 0 || r == -EBADMSG);
        if (r == 0)
            check_sample(&sample, full, &first, &second);
    }
    buf_fini(&first);
    buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_line *csv = calloc(2, sizeof(*csv));
    char *text = fuzz_copy(data, size);
    struct buf header;
    buf_init(&header, OUT_MAX);
    encoder_csv_full.begin(&info, &header);
    if (csv && text && buf_ok(&header)) {
        check(csv_line_set_header(&csv[1], text_of(&header)) == 0);
        check_rows(csv, &csv[1], (struct str){text, size});
    }
    buf_fini(&header);
    free(text);
    free(csv);
    return 0;
}
