/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold before the first file is opened and the first line is written. */
#ifndef RUN_GUARD_H
#define RUN_GUARD_H

/*
 * Descriptors 0, 1 and 2 are taken (by /dev/null where they were closed), and a broken pipe or a file size limit is an
 * error of write(2) instead of a signal that ends us; diagnostics have a way out that does not block.
 */
void guard_streams(void);

#endif
