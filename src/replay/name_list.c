/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/name_list.h"

void name_list_add(struct name_list *list, struct str name)
{
    char text[NAME_LIST_BYTES];
    if (name.n == 0)
        return;
    (void)str_copy(name, text, sizeof(text));
    for (char *p = text; *p; p++) {
        if (*p < ' ' || *p > '~') /* signed or not: everything above ASCII as well */
            *p = '?';
    }
    for (unsigned i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], text) == 0)
            return;
    }
    if (list->count == NAME_LIST_MAX) {
        list->has_more = true;
        return;
    }
    memcpy(list->names[list->count++], text, sizeof(text));
}

void name_list_put(const struct name_list *list, struct buf *buf)
{
    for (unsigned i = 0; i < list->count; i++) {
        bool is_last = i + 1 == list->count && !list->has_more;
        if (i > 0)
            buf_puts(buf, is_last ? " and " : ", ");
        buf_puts(buf, list->names[i]);
    }
    if (list->has_more)
        buf_puts(buf, " and others");
}
