/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fdinfo of DRM and accel descriptors (Documentation/gpu/drm-usage-stats.rst): "key:<tab>value" a line, the keys every
 * descriptor has (pos, flags, …) first:
 *   drm-engine-gfx:	123 ns
 * Keys that we do not know are let through unread; names are taken where they are printable and fit.
 */
#include "kernel/drm_fdinfo.h"

#include <errno.h>

#include "base/num.h"
#include "base/text.h"

struct drm_parser {
    struct drm_fdinfo info;
    struct opt_u64 resident_bytes, memory_bytes;
    bool has_regions; /* the driver reports memory of some kind */
    struct drm_engine overflow; /* for engines beyond the maximum */
};

/* value: trimmed. suffix: what stands behind the prefix of the key. */
typedef int drm_parse(struct drm_parser *parser, struct str suffix, struct str value);

static bool is_name(struct str text)
{
    return text.n < DRM_NAME_BYTES && text_is_visible(text);
}

static bool drop_prefix(struct str *text, struct str prefix)
{
    if (!str_starts(*text, prefix))
        return false;
    *text = (struct str){text->p + prefix.n, text->n - prefix.n};
    return true;
}

/* "123" or "123 ns": *ret_unit is the word behind the number, empty where there is none. */
static int parse_amount(struct str value, uint64_t *ret_amount, struct str *ret_unit)
{
    struct str number = {0};
    *ret_unit = (struct str){0};
    if (!str_word(&value, &number) || num_parse_u64(number, ret_amount) < 0)
        return -EBADMSG;
    (void)str_word(&value, ret_unit);
    struct str more;
    return str_word(&value, &more) ? -EBADMSG : 0;
}

/* A number whose unit must be this one. */
static int parse_counter(struct str value, struct str wanted_unit, struct opt_u64 *counter)
{
    uint64_t amount;
    struct str unit;
    if (parse_amount(value, &amount, &unit) < 0 || !str_eq(unit, wanted_unit))
        return -EBADMSG;
    *counter = some_u64(amount);
    return 0;
}

static int parse_bytes(struct str value, uint64_t *ret_bytes)
{
    static const struct {
        struct str name;
        uint64_t bytes;
    } units[] = {{{"", 0}, 1}, {{"KiB", 3}, 1024}, {{"MiB", 3}, 1024 * 1024}, {{"GiB", 3}, 1024 * 1024 * 1024}};
    uint64_t amount;
    struct str unit;
    if (parse_amount(value, &amount, &unit) < 0)
        return -EBADMSG;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (str_eq(unit, units[i].name))
            return __builtin_mul_overflow(amount, units[i].bytes, ret_bytes) ? -EBADMSG : 0;
    }
    return -EBADMSG;
}

/* Adds it at its first mention. */
static struct drm_engine *find_engine(struct drm_parser *parser, struct str name)
{
    struct drm_fdinfo *info = &parser->info;
    for (size_t i = 0; i < info->engine_count; i++) {
        if (str_eq(str_of(info->engines[i].name), name))
            return &info->engines[i];
    }
    if (info->engine_count == DRM_ENGINES_MAX || !is_name(name))
        return &parser->overflow;
    struct drm_engine *engine = &info->engines[info->engine_count++];
    *engine = (struct drm_engine){.capacity = 1};
    (void)str_copy(name, engine->name, sizeof(engine->name));
    return engine;
}

static int parse_name(struct str suffix, struct str value, char out[static DRM_NAME_BYTES])
{
    if (suffix.n > 0)
        return 0;
    if (!is_name(value))
        return -EBADMSG;
    (void)str_copy(value, out, DRM_NAME_BYTES);
    return 0;
}

static int parse_driver(struct drm_parser *parser, struct str suffix, struct str value)
{
    return parse_name(suffix, value, parser->info.driver);
}

static int parse_pdev(struct drm_parser *parser, struct str suffix, struct str value)
{
    return parse_name(suffix, value, parser->info.pdev);
}

static int parse_client_id(struct drm_parser *parser, struct str suffix, struct str value)
{
    return suffix.n > 0 ? 0 : parse_counter(value, STR(""), &parser->info.client_id);
}

static int parse_busy(struct drm_parser *parser, struct str suffix, struct str value)
{
    return parse_counter(value, STR("ns"), &find_engine(parser, suffix)->busy_ns);
}

static int parse_cycles(struct drm_parser *parser, struct str suffix, struct str value)
{
    return parse_counter(value, STR(""), &find_engine(parser, suffix)->cycles);
}

static int parse_total_cycles(struct drm_parser *parser, struct str suffix, struct str value)
{
    return parse_counter(value, STR(""), &find_engine(parser, suffix)->total_cycles);
}

static int parse_capacity(struct drm_parser *parser, struct str suffix, struct str value)
{
    struct opt_u64 capacity = {0};
    if (parse_counter(value, STR(""), &capacity) < 0)
        return -EBADMSG;
    find_engine(parser, suffix)->capacity = capacity.v > 0 ? capacity.v : 1;
    return 0;
}

/* vram, vram0, local1: the memory of the device itself, perhaps one piece of several. */
static bool is_device_memory(struct str region)
{
    if (!drop_prefix(&region, STR("vram")) && !drop_prefix(&region, STR("local")))
        return false;
    uint64_t piece;
    return region.n == 0 || num_parse_u64(region, &piece) == 0;
}

static int parse_resident(struct drm_parser *parser, struct str suffix, struct str value)
{
    uint64_t bytes;
    parser->has_regions = true;
    if (!is_device_memory(suffix))
        return 0;
    if (parse_bytes(value, &bytes) < 0)
        return -EBADMSG;
    struct opt_u64 *sum = &parser->resident_bytes;
    sum->has = true;
    return __builtin_add_overflow(sum->v, bytes, &sum->v) ? -EBADMSG : 0;
}

static int parse_memory(struct drm_parser *parser, struct str suffix, struct str value)
{
    uint64_t bytes;
    if (!str_eq(suffix, STR("vram")))
        return 0;
    if (parse_bytes(value, &bytes) < 0)
        return -EBADMSG;
    parser->memory_bytes = some_u64(bytes);
    return 0;
}

static int parse_line(struct drm_parser *parser, struct str line)
{
    static const struct {
        char prefix[24];
        drm_parse *parse;
    } keys[] = {
        {"drm-driver", parse_driver},
        {"drm-pdev", parse_pdev},
        {"drm-client-id", parse_client_id},
        {"drm-engine-capacity-", parse_capacity}, /* before drm-engine-, which it begins with */
        {"drm-engine-", parse_busy},
        {"drm-cycles-", parse_cycles},
        {"drm-total-cycles-", parse_total_cycles},
        {"drm-resident-", parse_resident},
        {"drm-memory-", parse_memory},
    };
    const char *colon = str_starts(line, STR("drm-")) ? memchr(line.p, ':', line.n) : NULL;
    if (!colon)
        return 0;
    struct str key = {line.p, (size_t)(colon - line.p)};
    struct str value = str_trim((struct str){colon + 1, line.n - key.n - 1});
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (drop_prefix(&key, str_of(keys[i].prefix)))
            return keys[i].parse(parser, key, value);
    }
    return 0;
}

int drm_fdinfo_parse(struct str text, struct drm_fdinfo *ret_info)
{
    if (text.n > 0 && text.p[text.n - 1] != '\n')
        return -EBADMSG;
    struct drm_parser parser = {0};
    for (struct str line; str_line(&text, &line);) {
        int r = parse_line(&parser, line);
        if (r < 0)
            return r;
    }
    if (!parser.info.driver[0])
        return -ENODATA;
    parser.info.vram_bytes = parser.resident_bytes.has ? parser.resident_bytes : parser.memory_bytes;
    /* A driver that reports memory, but of none on the device, has a device without any. */
    if (!parser.info.vram_bytes.has && parser.has_regions)
        parser.info.vram_bytes = some_u64(0);
    *ret_info = parser.info;
    return 0;
}
