/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Amounts and times in readable units, the same in text, Markdown and live view, independent of the locale: three
 * figures, a decimal point, a comma before each group of three digits. "?" stands for what is no number (NaN, beyond
 * 64 bits). Buffers get the text appended.
 */
#ifndef SUMMARY_UNITS_H
#define SUMMARY_UNITS_H

#include <stdint.h>

#include "base/buf.h"

enum { UNITS_FOREIGN_BYTES = 400 };

/* 0.042, 1.5, 12.3, 4,711; "<0.001" for what is less than that but not nothing. Counts: 12,345,678, all digits. */
void units_put_figure(struct buf *buf, double value);
void units_put_whole(struct buf *buf, uint64_t number);

/* Files and wires in powers of ten: 512 B, 1.2 GB. Memory in powers of two: 4 KiB, 136 MiB, 1.5 GiB. */
void units_put_bytes(struct buf *buf, double bytes);
void units_put_mib(struct buf *buf, double mib);

/*
 * 0.42 s, 12.3 s, 3 min 5 s, 1 h 2 min, 2 d 3 h, 1 h: rounded to whole seconds from a minute on, then the two largest
 * units, what is below them cut off, and no unit of 0.
 */
void units_put_secs(struct buf *buf, double secs);

void units_put_pct(struct buf *buf, double pct);

/* "1 core", "2.5 cores": the noun, with an s where it is not one. */
void units_put_count(struct buf *buf, double count, const char *noun);

/*
 * As the unit with that letter: f (a figure alone), m (MiB), b (bytes), t (seconds), p (98.5 %), n (2.5 cores), G (2
 * GPUs), w (114 W), d (71 °C), g (1.2 kg, of grams), j (812 J, 3.1 kJ, from 3600 J on 114 Wh, 1.2 kWh).
 */
void units_put_as(struct buf *buf, char unit, double value);

/*
 * The format, with amounts in place of its parts: a double for %f and the other letters of units_put_as, a double and
 * its noun for %c, a uint64_t for %u, a text for %s, and one of the data for %x; %% is a percent sign.
 */
void units_put(struct buf *buf, const char *format, ...);

/*
 * A text of the data, any bytes: control bytes and broken UTF-8 as \xNN, characters that would hide or reverse the text
 * around them as ?, and at most UNITS_FOREIGN_BYTES of it. NULL: nothing.
 */
void units_put_foreign(struct buf *buf, const char *text);

#endif
