/* SPDX-License-Identifier: Apache-2.0 */
/* The clouds we know, in the order in which the first match wins. */
#include "collect/cloud/vendor.h"

const struct cloud_vendor *const cloud_vendors[] = {
    &cloud_aws,
    &cloud_gcp,
    &cloud_azure,
    &cloud_hetzner,
    &cloud_upcloud,
    &cloud_vultr,
    &cloud_alibaba,
    &cloud_ovh,
};

const size_t cloud_vendor_count = sizeof(cloud_vendors) / sizeof(cloud_vendors[0]);
