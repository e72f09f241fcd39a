/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Google Compute Engine (docs: "VM metadata"): a header both ways, and values that are paths:
 *   projects/123456789012/machineTypes/e2-standard-4
 * The answer's header is the proof, also where a proxy of Kubernetes hides one of the values.
 */
#include <string.h>

#include "collect/cloud/cloud.h"

enum step { STEP_TYPE, STEP_ZONE, STEP_PROJECT };

static bool is_named(const struct cloud_evidence *evidence)
{
    /* Google makes laptops too. */
    return cloud_has_text(evidence->product_name, "Google Compute Engine");
}

/* "europe-west1-b" lies in "europe-west1". */
static void derive_region(struct cloud_facts *facts)
{
    const char *dash = strrchr(facts->zone_id, '-');
    if (dash && dash != facts->zone_id)
        (void)cloud_copy_value((struct str){facts->zone_id, (size_t)(dash - facts->zone_id)}, facts->region_id);
}

static void read_project(const struct http_answer *answer, struct cloud_facts *facts)
{
    (void)cloud_copy_body(answer, facts->account_id);
    if (facts->account_id[strspn(facts->account_id, "0123456789")] != '\0')
        facts->account_id[0] = '\0';
}

static enum cloud_verdict classify(struct cloud_probe *probe, const struct http_answer *answer)
{
    if (!answer || !str_eq(http_answer_header(answer, "Metadata-Flavor"), STR("Google")))
        return probe->step > STEP_TYPE ? CLOUD_ACCEPT : CLOUD_REJECT;
    switch ((enum step)probe->step) {
    case STEP_TYPE:
        (void)cloud_copy_last_part(answer, probe->facts.instance_type);
        return CLOUD_ASK_MORE;
    case STEP_ZONE:
        if (cloud_copy_last_part(answer, probe->facts.zone_id))
            derive_region(&probe->facts);
        return CLOUD_ASK_MORE;
    case STEP_PROJECT:
        read_project(answer, &probe->facts);
        return CLOUD_ACCEPT;
    }
    return CLOUD_REJECT;
}

const struct cloud_vendor cloud_gcp = {
    .id = "gcp",
    .paths = "/computeMetadata/v1/instance/machine-type\0"
             "/computeMetadata/v1/instance/zone\0"
             "/computeMetadata/v1/project/numeric-project-id\0",
    .host = "metadata.google.internal",
    .header = "Metadata-Flavor: Google",
    .is_named = is_named,
    .classify = classify,
};
