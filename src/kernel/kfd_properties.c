/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The properties of a KFD topology node, a GPU or a CPU, each a word and a decimal number:
 *   location_id 768
 *   domain 0
 * A line without its LF is not trusted: its number may go on.
 */
#include "kernel/kfd_properties.h"

#include <errno.h>

#include "base/num.h"

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
    struct opt_u64 location = {0}, domain = {0}, simds = {0}, per_cu = {0};
    const struct {
        struct str key;
        struct opt_u64 *number;
    } wanted[] = {{STR("location_id"), &location}, {STR("domain"), &domain}, {STR("simd_count"), &simds},
        {STR("simd_per_cu"), &per_cu}};
    const char *lf;
    while (text.n > 0 && (lf = memchr(text.p, '\n', text.n))) {
        struct str line = {text.p, (size_t)(lf - text.p)};
        struct str key = {0};
        text = (struct str){lf + 1, text.n - line.n - 1};
        (void)str_word(&line, &key);
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
            if (str_eq(key, wanted[i].key) && parse_number(line, wanted[i].number) < 0)
                return -EINVAL;
        }
    }
    if (!location.has)
        return -EINVAL;
    *ret_properties = (struct kfd_properties){
        .location_id = location.v,
        .domain = domain.v,
        .simd_count = simds,
        .simd_per_cu = per_cu,
    };
    return 0;
}
