/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OVHcloud, an OpenStack (nova docs: "Metadata"). Its resolver in the network data distinguishes it from all the
 * others:
 *   {"services":[{"type":"dns","address":"213.186.33.99"}],"networks":[],"links":[]}
 *   {"availability_zone":"nova","uuid":"xxxxxxxx-...","name":"example"}
 */
#include <string.h>

#include "collect/cloud/cloud.h"

enum step { STEP_NETWORK, STEP_REGION, STEP_TYPE };

static bool is_named(const struct cloud_evidence *evidence)
{
    return cloud_has_text(evidence->sys_vendor, "OpenStack") || cloud_has_text(evidence->product_name, "OpenStack");
}

static bool has_resolver(const struct json_value *services)
{
    const struct json_value *service;
    for (size_t i = 0; services && services->type == JSON_ARRAY && (service = json_at(services, i, NULL)); i++) {
        char type[CLOUD_VALUE_BYTES];
        char address[CLOUD_VALUE_BYTES];
        if (cloud_copy_string(json_get(service, "type"), type) && strcmp(type, "dns") == 0 &&
            cloud_copy_string(json_get(service, "address"), address) && strcmp(address, "213.186.33.99") == 0)
            return true;
    }
    return false;
}

/* Services stand by themselves, and with each network. */
static bool is_ovh(const struct http_answer *answer)
{
    struct json_doc doc;
    bool found = false;
    if (cloud_parse_json(answer, &doc)) {
        found = has_resolver(json_get(doc.items, "services"));
        const struct json_value *networks = json_get(doc.items, "networks");
        const struct json_value *network;
        for (size_t i = 0; !found && networks && networks->type == JSON_ARRAY && (network = json_at(networks, i, NULL));
             i++)
            found = has_resolver(json_get(network, "services"));
    }
    json_doc_fini(&doc);
    return found;
}

static void read_region(const struct http_answer *answer, struct cloud_facts *facts)
{
    struct json_doc doc;
    /* "nova" is what OpenStack says where no zone was named. */
    if (cloud_parse_json(answer, &doc) &&
        cloud_copy_string(json_get(doc.items, "availability_zone"), facts->region_id) &&
        strcmp(facts->region_id, "nova") == 0)
        facts->region_id[0] = '\0';
    json_doc_fini(&doc);
}

static enum cloud_verdict classify(struct cloud_probe *probe, const struct http_answer *answer)
{
    if (!answer)
        return probe->step > STEP_NETWORK ? CLOUD_ACCEPT : CLOUD_REJECT;
    switch ((enum step)probe->step) {
    case STEP_NETWORK:
        return is_ovh(answer) ? CLOUD_ASK_MORE : CLOUD_REJECT;
    case STEP_REGION:
        read_region(answer, &probe->facts);
        return CLOUD_ASK_MORE;
    case STEP_TYPE:
        (void)cloud_copy_body(answer, probe->facts.instance_type);
        return CLOUD_ACCEPT;
    }
    return CLOUD_REJECT;
}

const struct cloud_vendor cloud_ovh = {
    .id = "ovh",
    .paths = "/openstack/latest/network_data.json\0"
             "/openstack/latest/meta_data.json\0"
             "/latest/meta-data/instance-type\0",
    .is_named = is_named,
    .classify = classify,
};
