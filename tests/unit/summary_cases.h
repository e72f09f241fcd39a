/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries that text and Markdown are tried with, and the comparison with tests/golden/summary. With UPDATE_GOLDEN=1
 * the golden files are written instead, and the tests fail so that it is not left on.
 */
#ifndef TESTS_SUMMARY_CASES_H
#define TESTS_SUMMARY_CASES_H

#include "base/buf.h"
#include "summary/summary.h"

struct summary_case {
    const char *name;
    void (*fill)(struct summary *summary);
};

extern const struct summary_case summary_cases[];
extern const size_t summary_cases_count;

/* Everything known, with a GPU. */
void summary_case_fill_full(struct summary *summary);

/* Every text of it from outside is `text`. */
void summary_case_fill_texts(struct summary *summary, const char *const *text);

/* Compares with tests/golden/summary/NAME.ENDING. */
void summary_case_compare(const char *name, const char *ending, const struct buf *actual);

/* Fails where golden files were written: call it behind the last comparison. */
void summary_case_end(void);

#endif
