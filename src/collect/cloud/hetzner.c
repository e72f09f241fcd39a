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
    static const char keys[][18] = {"instance-id", "region", "availability-zone"};
    char *const values[] = {instance, probe->facts.region_id, probe->facts.zone_id};
    struct str rest = cloud_answer_body(answer);
    struct str line;
    while (str_line(&rest, &line)) {
        const char *colon = line.n > 0 ? memchr(line.p, ':', line.n) : NULL;
        if (!colon)
            continue;
        struct str key = {line.p, (size_t)(colon - line.p)};
        struct str value = unquote(str_trim((struct str){colon + 1, line.n - key.n - 1}));
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            if (str_eq(key, str_of(keys[i])) && !values[i][0])
                (void)cloud_copy_value(value, values[i]);
        }
    }
    bool has_region = probe->facts.region_id[0] || probe->facts.zone_id[0];
    return instance[0] && has_region ? CLOUD_ACCEPT : CLOUD_REJECT;
}

const struct cloud_vendor cloud_hetzner = {
    .id = "hcloud", .paths = "/hetzner/v1/metadata\0", .is_named = is_named, .classify = classify};
