/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/notes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void notes_add(struct replay_report *report, const char *fmt, ...)
{
    if (report->note_count == REPLAY_NOTES_MAX)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(report->notes[report->note_count++], REPLAY_NOTE_BYTES, fmt, args);
    va_end(args);
}

void notes_add_names(struct replay_report *report, const char *words, const struct name_list *names)
{
    if (names->count == 0)
        return;
    struct buf text;
    buf_init(&text, REPLAY_NOTE_BYTES);
    name_list_put(names, &text);
    notes_add(report, "%s: %s", words, buf_cstr(&text));
    buf_fini(&text);
}

/* Lines that could not be used. */
static void put_lines(const struct recording *recording, struct replay_report *report)
{
    if (recording->no_samples == 1)
        notes_add(report, "line %" PRIu64 " is no sample", recording->first_no_sample);
    if (recording->no_samples > 1)
        notes_add(report, "%" PRIu64 " lines are no samples, the first is line %" PRIu64, recording->no_samples,
            recording->first_no_sample);
    if (recording->is_cut)
        notes_add(report, "the last line is cut and left out");
    if (recording->too_long > 0)
        notes_add(report, "lines too long to be samples are left out: %" PRIu64, recording->too_long);
}

void notes_add_recording(const struct recording *recording)
{
    struct replay_report *report = recording->report;
    if (report->samples == 0)
        return;
    if (report->runs > 1)
        notes_add(report, "%" PRIu64 " runs follow each other", report->runs);
    if (recording->versions.count > 1)
        notes_add_names(report, "made by versions", &recording->versions);
    put_lines(recording, report);
    notes_add_names(report, "keys this version does not know are left out", &recording->json.unknown);
    notes_add_names(report, "columns this version does not know are left out", &recording->csv.unknown);
    if (recording->first_mistyped > 0)
        notes_add(report,
            "values of another type or size than expected are taken as unknown, the first in line %" PRIu64,
            recording->first_mistyped);
    if (recording->csv.has_process_memory)
        notes_add(report, "CSV does not tell PSS from RSS: memory of the tree is taken as PSS");
}
