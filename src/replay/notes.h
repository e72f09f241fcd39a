/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of a replay: one line each, for people. */
#ifndef REPLAY_NOTES_H
#define REPLAY_NOTES_H

#include "replay/name_list.h"
#include "replay/recording.h"

/* One more note, cut where it is too long; nothing where there is no room for it. */
__attribute__((format(printf, 2, 3))) void notes_add(struct replay_report *report, const char *fmt, ...);

/* "words: foo and bar"; nothing without names. */
void notes_add_names(struct replay_report *report, const char *words, const struct name_list *names);

/* What there is to say of the lines of a recording, in its report. */
void notes_add_recording(const struct recording *recording);

#endif
