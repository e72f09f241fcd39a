/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UpCloud (docs: "Metadata service"), one document, which names the cloud:
 *   {"cloud_name":"upcloud","instance_id":"00xxxxxx-...","hostname":"example","region":"fi-hel1"}
 */
#include <string.h>

#include "collect/cloud/cloud.h"

static bool is_named(const struct cloud_evidence *evidence)
{
    return cloud_has_text(evidence->sys_vendor, "UpCloud");
}

static enum cloud_verdict classify(struct cloud_probe *probe, const struct http_answer *answer)
{
    struct json_doc doc;
    enum cloud_verdict verdict = CLOUD_REJECT;
    char name[CLOUD_VALUE_BYTES];
    if (cloud_parse_json(answer, &doc) && cloud_copy_string(json_get(doc.items, "cloud_name"), name) &&
        strcmp(name, "upcloud") == 0) {
        (void)cloud_copy_string(json_get(doc.items, "region"), probe->facts.region_id);
        verdict = CLOUD_ACCEPT;
    }
    json_doc_fini(&doc);
    return verdict;
}

const struct cloud_vendor cloud_upcloud = {
    .id = "upcloud", .paths = "/metadata/v1.json\0", .is_named = is_named, .classify = classify};
