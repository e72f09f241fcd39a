/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the vendors' files share: the list of them, and ways to ask and to take a value out of an answer. Nothing of an
 * answer is believed that does not look like an identifier.
 */
#ifndef COLLECT_CLOUD_VENDOR_H
#define COLLECT_CLOUD_VENDOR_H

#include "codec/json_read.h"
#include "collect/cloud/cloud.h"

extern const struct cloud_vendor cloud_aws, cloud_gcp, cloud_azure, cloud_hetzner, cloud_upcloud, cloud_vultr,
    cloud_alibaba, cloud_ovh;

/* The trimmed body of a 200; n = 0 for any other answer, and for none. */
struct str cloud_answer_body(const struct http_answer *answer);

/* The same as one value; "" and false where it is none. */
bool cloud_take_body(const struct http_answer *answer, char ret_value[static CLOUD_VALUE_BYTES]);

/* The part of the value behind its last slash: "projects/1/zones/europe-west1-b". */
bool cloud_take_last_part(const struct http_answer *answer, char ret_value[static CLOUD_VALUE_BYTES]);

/* A string of a document. */
bool cloud_take_string(const struct json_value *value, char ret_value[static CLOUD_VALUE_BYTES]);

/* A session token into probe->token: visible ASCII without blanks. */
bool cloud_take_token(const struct http_answer *answer, struct cloud_probe *probe);

/* A document out of a 200, to be freed with json_doc_fini whatever comes back; it points into the answer. */
bool cloud_parse_json(const struct http_answer *answer, struct json_doc *ret_doc);

/* Does the text hold the words, in any case? */
bool cloud_has_words(const char *text, const char *words);

#endif
