/* SPDX-License-Identifier: Apache-2.0 */
/* fdinfo of DRM descriptors: names are names, engines are apart, and a line to come changes nothing. */
#include "fuzz.h"

#include <errno.h>

#include "kernel/drm_fdinfo.h"

static void check_info(const struct drm_fdinfo *info)
{
    check_name(info->driver, sizeof(info->driver));
    check(info->pdev[0] == '\0' || memchr(info->pdev, '\0', sizeof(info->pdev)));
    check_printable(info->pdev);
    check(info->engine_count <= DRM_ENGINES_MAX);
    for (size_t i = 0; i < info->engine_count; i++) {
        const struct drm_engine *engine = &info->engines[i];
        check_name(engine->name, sizeof(engine->name));
        check(engine->capacity > 0);
        for (size_t j = 0; j < i; j++)
            check(strcmp(engine->name, info->engines[j].name) != 0);
    }
}

static bool is_same(struct opt_u64 a, struct opt_u64 b)
{
    return a.has == b.has && a.v == b.v;
}

static void check_longer(struct str text, int r, const struct drm_fdinfo *info)
{
    static const struct str more = {"drm-new-thing:\t1 of 2\n", 22};
    char *longer = fuzz_join(more, text);
    if (!longer)
        return;
    struct drm_fdinfo again = {0};
    check(drm_fdinfo_parse((struct str){longer, more.n + text.n}, &again) == r);
    check(strcmp(again.driver, info->driver) == 0 && again.engine_count == info->engine_count);
    check(is_same(again.client_id, info->client_id) && is_same(again.vram_bytes, info->vram_bytes));
    free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct drm_fdinfo info = {0};
    int r = drm_fdinfo_parse(text, &info);
    check(r == 0 || ((r == -ENODATA || r == -EBADMSG) && info.driver[0] == '\0'));
    if (r == 0) {
        check(copy[size - 1] == '\n' && memmem(copy, size, "drm-driver:", 11));
        check_info(&info);
    }
    check_longer(text, r, &info);
    free(copy);
    return 0;
}
