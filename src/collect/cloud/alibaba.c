/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alibaba Cloud ECS (docs: "Instance metadata", security hardening mode): a session token by PUT, then plain values:
 *   ecs.g7.large, cn-hangzhou, cn-hangzhou-i
 * Nothing in the answers names the cloud, so that type and region must have exactly the shape of theirs.
 */
#include <string.h>

#include "collect/cloud/cloud.h"

enum step { STEP_TOKEN, STEP_TYPE, STEP_REGION, STEP_ZONE };

static bool is_named(const struct cloud_evidence *evidence)
{
    return cloud_has_text(evidence->sys_vendor, "Alibaba Cloud");
}

/* Small letters, digits and dashes around at least one separator, which stands at neither end: "cn-hangzhou". */
static bool is_joined(const char *text, char separator)
{
    size_t n = strlen(text);
    const char *found = strchr(text, separator);
    return found && found != text && text[n - 1] != separator && text[0] >= 'a' && text[0] <= 'z' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == '\0';
}

static bool read_joined(const struct http_answer *answer, char separator, char ret_value[static CLOUD_VALUE_BYTES])
{
    if (!cloud_copy_body(answer, ret_value))
        return false;
    if (!is_joined(ret_value, separator))
        ret_value[0] = '\0';
    return ret_value[0] != '\0';
}

static enum cloud_verdict classify(struct cloud_probe *probe, const struct http_answer *answer)
{
    struct cloud_facts *facts = &probe->facts;
    if (!answer)
        return probe->step > STEP_REGION ? CLOUD_ACCEPT : CLOUD_REJECT;
    switch ((enum step)probe->step) {
    case STEP_TOKEN:
        return cloud_copy_token(answer, probe) ? CLOUD_ASK_MORE : CLOUD_REJECT;
    case STEP_TYPE:
        return read_joined(answer, '.', facts->instance_type) ? CLOUD_ASK_MORE : CLOUD_REJECT;
    case STEP_REGION:
        return read_joined(answer, '-', facts->region_id) && !strchr(facts->region_id, '.') ? CLOUD_ASK_MORE
                                                                                            : CLOUD_REJECT;
    case STEP_ZONE:
        (void)read_joined(answer, '-', facts->zone_id);
        return CLOUD_ACCEPT;
    }
    return CLOUD_REJECT;
}

const struct cloud_vendor cloud_alibaba = {
    .id = "alicloud",
    .address = "100.100.100.200:80",
    .paths = "/latest/api/token\0"
             "/latest/meta-data/instance/instance-type\0"
             "/latest/meta-data/region-id\0"
             "/latest/meta-data/zone-id\0",
    .token_header = "X-aliyun-ecs-metadata-token",
    .is_named = is_named,
    .classify = classify,
};
