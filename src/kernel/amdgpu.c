/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/amdgpu.h"

#include <errno.h>

#include "base/num.h"

enum { HEX_DIGITS_MAX = 8 };

static bool is_hex(struct str text, uint64_t wanted)
{
    uint64_t value;
    return text.n <= HEX_DIGITS_MAX && num_parse_hex(text, &value) == 0 && value == wanted;
}

int amdgpu_ids_find(struct str text, uint64_t device, uint64_t revision, struct str *ret_name)
{
    struct str line, field;
    while (str_line(&text, &line)) {
        if (line.n > 0 && line.p[0] == '#')
            continue;
        if (!str_cut(&line, ',', &field) || !is_hex(str_trim(field), device) || !str_cut(&line, ',', &field) ||
            !is_hex(str_trim(field), revision))
            continue;
        struct str name = str_trim(line);
        if (name.n == 0)
            continue;
        *ret_name = name;
        return 0;
    }
    return -ENOENT;
}

static int parse_level(struct str line, uint64_t *ret_mhz)
{
    struct str level, clock, none;
    if (!str_word(&line, &level) || level.n < 2 || level.p[level.n - 1] != ':')
        return -EINVAL;
    if (!str_word(&line, &clock) || str_word(&line, &none))
        return -EINVAL;
    uint64_t mhz;
    if (clock.p[0] < '0' || clock.p[0] > '9' || !num_next_u64(&clock, &mhz))
        return -EINVAL;
    if (!str_eq_nocase(clock, STR("mhz")))
        return -EINVAL;
    *ret_mhz = mhz;
    return 0;
}

int dpm_table_parse_current(struct str text, uint64_t *ret_mhz)
{
    struct str line;
    while (str_line(&text, &line)) {
        line = str_trim(line);
        if (line.n > 0 && line.p[line.n - 1] == '*')
            return parse_level((struct str){line.p, line.n - 1}, ret_mhz);
    }
    return -ENODATA;
}

static int parse_number(struct str remainder, struct opt_u64 *number)
{
    uint64_t value;
    if (num_parse_u64(str_trim(remainder), &value) < 0)
        return -EINVAL;
    if (!number->has)
        *number = some_u64(value);
    return 0;
}

int kfd_properties_parse(struct str text, struct kfd_properties *ret_properties)
{
    enum { LOCATION, DOMAIN, SIMDS, PER_CU, KEYS };
    static const char keys[KEYS][12] = {"location_id", "domain", "simd_count", "simd_per_cu"};
    struct opt_u64 found[KEYS] = {{0}};
    struct str line;
    while (str_whole_line(&text, &line)) {
        struct str key = {0};
        (void)str_word(&line, &key);
        for (size_t i = 0; i < KEYS; i++) {
            if (str_eq(key, str_of(keys[i])) && parse_number(line, &found[i]) < 0)
                return -EINVAL;
        }
    }
    if (!found[LOCATION].has)
        return -EINVAL;
    *ret_properties = (struct kfd_properties){
        .location_id = found[LOCATION].v,
        .domain = found[DOMAIN].v,
        .simd_count = found[SIMDS],
        .simd_per_cu = found[PER_CU],
    };
    return 0;
}
