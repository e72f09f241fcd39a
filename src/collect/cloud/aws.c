/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Amazon EC2 (User Guide, "Instance metadata", version 2): a session token by PUT, then plain values and one document:
 *   {"Code":"Success","LastUpdated":"2026-01-01T00:00:00Z","AccountId":"123456789012"}
 * The domain of its services, "amazonaws.com" or "amazonaws.com.cn", distinguishes EC2 from services that copy its
 * paths.
 */
#include <string.h>

#include "collect/cloud/cloud.h"

enum step { STEP_TOKEN, STEP_DOMAIN, STEP_REGION, STEP_ZONE, STEP_TYPE, STEP_ACCOUNT };

static bool is_named(const struct cloud_evidence *evidence)
{
    return cloud_has_text(evidence->sys_vendor, "Amazon EC2") || cloud_has_text(evidence->bios_vendor, "Amazon EC2");
}

static void read_account(const struct http_answer *answer, struct cloud_facts *facts)
{
    struct json_doc doc;
    if (cloud_parse_json(answer, &doc))
        (void)cloud_copy_string(json_get(doc.items, "AccountId"), facts->account_id);
    json_doc_fini(&doc);
}

static bool is_domain(const struct http_answer *answer)
{
    char domain[CLOUD_VALUE_BYTES];
    return cloud_copy_body(answer, domain) && str_starts(str_of(domain), STR("amazonaws.com"));
}

static enum cloud_verdict classify(struct cloud_probe *probe, const struct http_answer *answer)
{
    /* Without an answer there is hardly time for another; what is known by then is enough. */
    if (!answer)
        return probe->step > STEP_DOMAIN ? CLOUD_ACCEPT : CLOUD_REJECT;
    switch ((enum step)probe->step) {
    case STEP_TOKEN:
        return cloud_copy_token(answer, probe) ? CLOUD_ASK_MORE : CLOUD_REJECT;
    case STEP_DOMAIN:
        return is_domain(answer) ? CLOUD_ASK_MORE : CLOUD_REJECT;
    case STEP_REGION:
        (void)cloud_copy_body(answer, probe->facts.region_id);
        return CLOUD_ASK_MORE;
    case STEP_ZONE:
        (void)cloud_copy_body(answer, probe->facts.zone_id);
        return CLOUD_ASK_MORE;
    case STEP_TYPE:
        (void)cloud_copy_body(answer, probe->facts.instance_type);
        return CLOUD_ASK_MORE;
    case STEP_ACCOUNT:
        read_account(answer, &probe->facts);
        return CLOUD_ACCEPT;
    }
    return CLOUD_REJECT;
}

const struct cloud_vendor cloud_aws = {
    .id = "aws",
    .paths = "/latest/api/token\0"
             "/latest/meta-data/services/domain\0"
             "/latest/meta-data/placement/region\0"
             "/latest/meta-data/placement/availability-zone\0"
             "/latest/meta-data/instance-type\0"
             "/latest/meta-data/identity-credentials/ec2/info\0",
    .token_header = "X-aws-ec2-metadata-token",
    .is_named = is_named,
    .classify = classify,
};
