/* SPDX-License-Identifier: Apache-2.0 */
/* `zpool list -Hp`: all pools sorted with whole names or none, the same again where the array is reused. */
#include "fuzz.h"

#include <errno.h>

#include "collect/disk/disk.h"

static size_t count_lines(const char *text, size_t size)
{
    size_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

static void check_pools(const struct zfs_pools *pools)
{
    for (size_t i = 0; i < pools->count; i++) {
        const struct zfs_pool *pool = &pools->items[i];
        size_t n = strnlen(pool->device, sizeof(pool->device));
        check(n > 4 && n < sizeof(pool->device) && memcmp(pool->device, "zfs:", 4) == 0);
        for (size_t k = 0; k < n; k++)
            check(pool->device[k] >= ' ' && pool->device[k] < 0x7f && pool->device[k] != '/');
        check(i == 0 || strcmp(pools->items[i - 1].device, pool->device) <= 0);
        check(!pool->mount_point);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct zfs_pools pools = {0};
    int r = zfs_parse_list(text, &pools);
    check(r == 0 || r == -EBADMSG || r == -E2BIG || r == -ENOMEM);
    check(pools.count <= pools.cap && pools.cap <= ZFS_POOLS_MAX);
    check(pools.count == (r == 0 ? count_lines(copy, size) : 0));
    check_pools(&pools);
    size_t count = pools.count;
    check(zfs_parse_list(text, &pools) == r && pools.count == count);
    check_pools(&pools);
    free(pools.items);
    free(copy);
    return 0;
}
