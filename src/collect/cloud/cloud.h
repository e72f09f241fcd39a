/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cloud is this, and which machine in it? Every vendor is a short sequence of requests to a link-local metadata
 * service and a pure classification of the answers; cloud.c asks all of them side by side, never through a proxy, for
 * at most 1 s a request and 2 s in all. A web server that happens to answer is no cloud. A vendor is one file and one
 * row in vendors.c; nothing else knows it by name (docs/adding-a-cloud-vendor.md).
 */
#ifndef COLLECT_CLOUD_CLOUD_H
#define COLLECT_CLOUD_CLOUD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "codec/json_read.h"
#include "kernel/sysroot.h"
#include "model/run_facts.h"
#include "net/http.h"
#include "net/wait.h"

enum { CLOUD_VENDORS_MAX = 16, CLOUD_ANSWER_BYTES_MAX = 64 * 1024 };

/* Where almost all services are. */
#define CLOUD_LINK_LOCAL "169.254.169.254:80"

/* For tests, which play the services on loopback: what is asked instead of an address. */
struct cloud_redirect {
    const char *from, *to; /* "169.254.169.254:80" */
};

/* What vendors are asked about this machine without any network: evidence in firmware tables. */
struct cloud_evidence {
    char sys_vendor[64], product_name[64], bios_vendor[64], chassis_asset_tag[64];
    bool has_dmi;
    bool is_virtual; /* the processor says so (x86), or nothing says that it is not */
};

/* One probe of one vendor. */
struct cloud_probe {
    int step; /* answers so far */
    char token[1024];
    struct cloud_facts facts;
};

enum cloud_verdict { CLOUD_ASK_MORE, CLOUD_ACCEPT, CLOUD_REJECT };

struct cloud_vendor {
    char id[16];
    const char *address; /* of its service, "100.100.100.200:80"; NULL: CLOUD_LINK_LOCAL */
    const char *paths; /* that are asked for, one after the other, each with a NUL behind it, and one more */
    const char *host; /* NULL: the address */
    const char *header; /* with its value, "Metadata: true", sent with every request; NULL: none */
    const char *token_header; /* the first request is a PUT for a token, which goes with the others; NULL: none */
    /* Does the firmware name this vendor? */
    bool (*is_named)(const struct cloud_evidence *evidence);
    /* Reads the answer of probe->step (NULL: none came), fills probe->facts. */
    enum cloud_verdict (*classify)(struct cloud_probe *probe, const struct http_answer *answer);
};

/* In the order in which the first match wins; see vendors.c. */
extern const struct cloud_vendor *const cloud_vendors[];
extern const size_t cloud_vendor_count;

void cloud_read_evidence(const struct sysroot *root, struct cloud_evidence *ret_evidence);

/* Which vendors are worth asking: those that are named; else all on a virtual machine; else none. */
bool cloud_is_worth_asking(const struct cloud_evidence *evidence, const struct cloud_vendor *vendor);

/* What is asked for at probe->step; NULL: nothing any more. */
const char *cloud_path(const struct cloud_vendor *vendor, const struct cloud_probe *probe);

/* Appends the request of probe->step. */
void cloud_put_request(
    struct buf *buf, const struct cloud_vendor *vendor, const struct cloud_probe *probe, struct str address);

/*
 * Returns 0 with the cloud found, -ENODATA where this is none, -ECANCELED, or -ENOMEM. redirects: ended by one without
 * an address; NULL: none.
 */
int cloud_discover(const struct sysroot *root, const struct cloud_redirect *redirects, const struct net_wait *wait,
    struct cloud_facts *ret_facts);

/*
 * What the vendors' files share: ways to take a value out of an answer. Nothing is believed that does not look like an
 * identifier.
 */

/* [A-Za-z0-9._:/-]{1,128} and not "unknown", "none", "null", "undefined" or "n/a": copied, else "". Returns whether it
 * was. */
bool cloud_copy_value(struct str text, char ret_value[static CLOUD_VALUE_BYTES]);

/* The trimmed body of a 200; n = 0 for any other answer, and for none. */
struct str cloud_answer_body(const struct http_answer *answer);

/* The same as one value; "" and false where it is none. */
bool cloud_copy_body(const struct http_answer *answer, char ret_value[static CLOUD_VALUE_BYTES]);

/* The part of the value behind its last slash: "projects/1/zones/europe-west1-b". */
bool cloud_copy_last_part(const struct http_answer *answer, char ret_value[static CLOUD_VALUE_BYTES]);

/* A string of a document. */
bool cloud_copy_string(const struct json_value *value, char ret_value[static CLOUD_VALUE_BYTES]);

/* A session token into probe->token: visible ASCII without blanks. */
bool cloud_copy_token(const struct http_answer *answer, struct cloud_probe *probe);

/* A document out of a 200, to be freed with json_doc_fini whatever comes back; it points into the answer. */
bool cloud_parse_json(const struct http_answer *answer, struct json_doc *ret_doc);

/* Does the text hold the part, in any case? */
bool cloud_has_text(const char *text, const char *part);

#endif
