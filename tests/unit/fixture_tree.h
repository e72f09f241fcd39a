/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a fixture: copied over a directory so that collectors with open descriptors see what the kernel shows.
 */
#ifndef TESTS_UNIT_FIXTURE_TREE_H
#define TESTS_UNIT_FIXTURE_TREE_H

/*
 * Puts the directory `from` over the directory `to`. A file that is there already keeps its inode. Files named .keep
 * (they hold an empty directory in git) and REMOVED are not copied.
 */
void fixture_tree_apply(const char *from, const char *to);

/*
 * Removes a file, a link or a directory with all below it. Descriptors that are open on a removed file fail from then
 * on, as those of a sysfs file do whose device is gone.
 */
void fixture_tree_remove(const char *path);

#endif
