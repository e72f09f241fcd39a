/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a fixture: copied over a folder so that collectors with open descriptors see what the kernel shows. */
#ifndef TESTS_UNIT_FIXTURE_TREE_H
#define TESTS_UNIT_FIXTURE_TREE_H

/*
 * Puts the folder `from` over the folder `to`. A file that is there already keeps its inode. Files named .keep
 * (they hold an empty folder in git) and REMOVED are not copied.
 */
void fixture_tree_apply(const char *from, const char *to);

/*
 * Removes a file, a link or a folder with all below it. Descriptors that are open on a removed file fail from then on,
 * as those of a sysfs file do whose device is gone.
 */
void fixture_tree_remove(const char *path);

#endif
