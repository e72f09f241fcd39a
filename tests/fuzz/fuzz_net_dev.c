/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/net/dev: names are ended, not empty and free of blanks; a second reading gives the same. */
#include "fuzz.h"

#include "kernel/devices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct net_dev dev = {0};
    int r = net_dev_parse(text, &dev);
    check(dev.count <= dev.cap && dev.cap <= NET_DEV_ROWS_MAX && (r == 0 || dev.count == 0));
    for (size_t i = 0; i < dev.count; i++)
        check_name(dev.items[i].name, sizeof(dev.items[i].name));
    size_t count = dev.count;
    check(net_dev_parse(text, &dev) == r && dev.count == count);
    net_dev_fini(&dev);
    free(copy);
    return 0;
}
