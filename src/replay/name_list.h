/* SPDX-License-Identifier: Apache-2.0 */
/* The first few different names of something, for a note: "foo, bar and others". */
#ifndef REPLAY_NAME_LIST_H
#define REPLAY_NAME_LIST_H

#include "base/buf.h"
#include "base/str.h"

enum { NAME_LIST_MAX = 4, NAME_LIST_BYTES = 40 };

struct name_list {
    unsigned count;
    bool has_more;
    char names[NAME_LIST_MAX][NAME_LIST_BYTES]; /* cut where they are longer, and printable */
};

/* Nothing happens where it is there already, or empty. */
void name_list_add(struct name_list *list, struct str name);

void name_list_put(const struct name_list *list, struct buf *buf);

#endif
