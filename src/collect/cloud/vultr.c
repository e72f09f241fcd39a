/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vultr (docs: "Metadata API reference"), one document:
 *   {"hostname":"example","instanceid":"42872224","instance-v2-id":"xxxxxxxx-...","region":{"regioncode":"EWR"}}
 */
#include "collect/cloud/cloud.h"

static bool is_named(const struct cloud_evidence *evidence)
{
    return cloud_has_text(evidence->sys_vendor, "Vultr");
}

static enum cloud_verdict classify(struct cloud_probe *probe, const struct http_answer *answer)
{
    struct json_doc doc;
    enum cloud_verdict verdict = CLOUD_REJECT;
    char instance[CLOUD_VALUE_BYTES];
    if (cloud_parse_json(answer, &doc) && (cloud_copy_string(json_get(doc.items, "instanceid"), instance) ||
                                              cloud_copy_string(json_get(doc.items, "instance-v2-id"), instance))) {
        const struct json_value *region = json_get(doc.items, "region");
        (void)cloud_copy_string(json_get(region, "regioncode"), probe->facts.region_id);
        verdict = CLOUD_ACCEPT;
    }
    json_doc_fini(&doc);
    return verdict;
}

const struct cloud_vendor cloud_vultr = {
    .id = "vultr", .paths = "/v1.json\0", .is_named = is_named, .classify = classify};
