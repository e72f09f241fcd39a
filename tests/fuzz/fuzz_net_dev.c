/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/net/dev: names are ended, not empty and free of blanks; a second reading gives the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/net_dev.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A block of exactly this size lets the sanitizer see a read behind the end. */
    char *copy = malloc(size);
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    struct str text = {copy, size};
    struct net_dev dev = {0};
    int r = net_dev_parse(text, &dev);
    check(dev.count <= dev.cap && dev.cap <= NET_DEV_ROWS_MAX && (r == 0 || dev.count == 0));
    for (size_t i = 0; i < dev.count; i++) {
        const char *name = dev.items[i].name;
        check(memchr(name, '\0', sizeof(dev.items[i].name)) && name[0] && !strpbrk(name, " \t\n"));
    }
    size_t count = dev.count;
    check(net_dev_parse(text, &dev) == r && dev.count == count);
    net_dev_fini(&dev);
    free(copy);
    return 0;
}
