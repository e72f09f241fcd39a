/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hetzner Cloud (docs: "Server metadata"), lines that are YAML, of which only those at the left margin are read:
 *   availability-zone: fsn1-dc14
 *   instance-id: 42
 *   region: eu-central
 * The type of the server is not in it.
 */
#include <string.h>

#include "collect/cloud/cloud.h"

static bool is_named(const struct cloud_evidence *evidence)
{
    return cloud_has_text(evidence->sys_vendor, "Hetzner");
}

static struct str unquote(struct str text)
{
    if (text.n >= 2 && (text.p[0] == '"' || text.p[0] == '\'') && text.p[text.n - 1] == text.p[0])
        return (struct str){text.p + 1, text.n - 2};
    return text;
}

static enum cloud_verdict classify(struct cloud_probe *probe, const struct http_answer *answer)
{
    char instance[CLOUD_VALUE_BYTES] = "";
    const struct {
        struct str key;
        char *value;
    } wanted[] = {{STR("instance-id"), instance}, {STR("region"), probe->facts.region_id},
        {STR("availability-zone"), probe->facts.zone_id}};
    struct str rest = cloud_answer_body(answer);
    struct str line;
    while (str_line(&rest, &line)) {
        const char *colon = line.n > 0 ? memchr(line.p, ':', line.n) : NULL;
        if (!colon)
            continue;
        struct str key = {line.p, (size_t)(colon - line.p)};
        struct str value = unquote(str_trim((struct str){colon + 1, line.n - key.n - 1}));
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
            if (str_eq(key, wanted[i].key) && !wanted[i].value[0])
                (void)cloud_copy_value(value, wanted[i].value);
        }
    }
    bool has_region = probe->facts.region_id[0] || probe->facts.zone_id[0];
    return instance[0] && has_region ? CLOUD_ACCEPT : CLOUD_REJECT;
}

const struct cloud_vendor cloud_hetzner = {
    .id = "hcloud", .paths = {"/hetzner/v1/metadata"}, .is_named = is_named, .classify = classify};
