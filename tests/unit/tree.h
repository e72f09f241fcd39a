/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A temporary directory that plays a machine's root. Every function fails the running test where the system does not
 * let it do its work. Paths are relative to the directory; missing directories above them are made.
 */
#ifndef TESTS_UNIT_TREE_H
#define TESTS_UNIT_TREE_H

#include <stddef.h>

struct tree {
    char path[64];
};

void tree_make(struct tree *tree);
void tree_free(struct tree *tree);

/* Replaces the content of a file in place, so that a kept descriptor sees it. */
void tree_write(const struct tree *tree, const char *path, const char *text);
void tree_write_bytes(const struct tree *tree, const char *path, const void *bytes, size_t n);

void tree_directory(const struct tree *tree, const char *path);
void tree_link(const struct tree *tree, const char *path, const char *target);

/* A file, a link or a whole directory. */
void tree_remove(const struct tree *tree, const char *path);

#endif
