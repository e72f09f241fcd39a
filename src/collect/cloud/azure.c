/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Microsoft Azure (docs: "Azure Instance Metadata Service"), one document:
 *   {"compute":{"location":"westeurope","subscriptionId":"xxxxxxxx-...","vmSize":"Standard_D4s_v5","zone":"1"}}
 */
#include <string.h>

#include "collect/cloud/cloud.h"

static bool is_named(const struct cloud_evidence *evidence)
{
    return strcmp(evidence->chassis_asset_tag, "7783-7084-3265-9085-8269-3286-77") == 0 ||
           (cloud_has_text(evidence->sys_vendor, "Microsoft Corporation") &&
               cloud_has_text(evidence->product_name, "Virtual Machine"));
}

static enum cloud_verdict classify(struct cloud_probe *probe, const struct http_answer *answer)
{
    struct json_doc doc;
    enum cloud_verdict verdict = CLOUD_REJECT;
    if (cloud_parse_json(answer, &doc)) {
        const struct json_value *compute = json_get(doc.items, "compute");
        struct cloud_facts *facts = &probe->facts;
        if (cloud_copy_string(json_get(compute, "vmSize"), facts->instance_type)) {
            (void)cloud_copy_string(json_get(compute, "location"), facts->region_id);
            (void)cloud_copy_string(json_get(compute, "zone"), facts->zone_id);
            (void)cloud_copy_string(json_get(compute, "subscriptionId"), facts->account_id);
            verdict = CLOUD_ACCEPT;
        }
    }
    json_doc_fini(&doc);
    return verdict;
}

const struct cloud_vendor cloud_azure = {
    .id = "azure",
    .paths = "/metadata/instance?api-version=2021-02-01\0",
    .header = "Metadata: true",
    .is_named = is_named,
    .classify = classify,
};
