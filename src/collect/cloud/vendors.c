/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clouds we know, a row each, in the order in which the first match wins; which of them are worth asking; and how
 * values are taken out of their answers. What the machine says of itself without any network are the tables of its
 * firmware (SMBIOS, by way of /sys/class/dmi/id) and the flags of its processor: a physical machine that names no cloud
 * is never probed. Of an answer only identifiers and tokens get through, never a login page or an error in prose.
 */
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/text.h"
#include "collect/cloud/cloud.h"
#include "collect/host/host.h"

/* clang-format off */
#define VENDORS(row) \
    row(aws) \
    row(gcp) \
    row(azure) \
    row(hetzner) \
    row(upcloud) \
    row(vultr) \
    row(alibaba) \
    row(ovh)
/* clang-format on */

#define DECLARE(vendor) extern const struct cloud_vendor cloud_##vendor;
#define ADDRESS(vendor) &cloud_##vendor,

VENDORS(DECLARE)

const struct cloud_vendor *const cloud_vendors[] = {VENDORS(ADDRESS)};

const size_t cloud_vendor_count = sizeof(cloud_vendors) / sizeof(cloud_vendors[0]);

_Static_assert(sizeof(cloud_vendors) / sizeof(cloud_vendors[0]) <= CLOUD_VENDORS_MAX, "there is space for all");

enum { STATUS_OK = 200 };

static void read_line(int sys_fd, const char *path, char *out, size_t size)
{
    if (file_read_line_at(sys_fd, path, out, size) < 0)
        out[0] = '\0';
}

/* Names of hypervisors as they stand for the maker or the product of a machine. */
static bool is_hypervisor(const char *text)
{
    static const char names[][21] = {"QEMU", "KVM", "Xen", "OpenStack", "Bochs", "VMware", "VirtualBox", "innotek",
        "Parallels", "bhyve", "Nutanix", "oVirt", "Red Hat", "RHEV", "Virtual Machine", "Apple Virtualization",
        "Cloud Hypervisor", "Firecracker"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (cloud_has_text(text, names[i]))
            return true;
    }
    return false;
}

static bool is_virtual(const struct sysroot *root, const struct cloud_evidence *evidence)
{
    AUTO_BUF struct buf text = {.max = HOST_CPUINFO_BYTES_MAX};
    struct cpuinfo info = {0};
    (void)host_read_cpuinfo(root, &text, &info);
    if (info.is_virtual.has)
        return info.is_virtual.v;
    return !evidence->has_dmi || is_hypervisor(evidence->sys_vendor) || is_hypervisor(evidence->product_name);
}

void cloud_read_evidence(const struct sysroot *root, struct cloud_evidence *ret_evidence)
{
    struct cloud_evidence evidence = {0};
    read_line(root->sys_fd, "class/dmi/id/sys_vendor", evidence.sys_vendor, sizeof(evidence.sys_vendor));
    read_line(root->sys_fd, "class/dmi/id/product_name", evidence.product_name, sizeof(evidence.product_name));
    read_line(root->sys_fd, "class/dmi/id/bios_vendor", evidence.bios_vendor, sizeof(evidence.bios_vendor));
    read_line(
        root->sys_fd, "class/dmi/id/chassis_asset_tag", evidence.chassis_asset_tag, sizeof(evidence.chassis_asset_tag));
    evidence.has_dmi = evidence.sys_vendor[0] || evidence.product_name[0] || evidence.bios_vendor[0];
    evidence.is_virtual = is_virtual(root, &evidence);
    *ret_evidence = evidence;
}

bool cloud_is_worth_asking(const struct cloud_evidence *evidence, const struct cloud_vendor *vendor)
{
    for (size_t i = 0; i < cloud_vendor_count; i++) {
        if (cloud_vendors[i]->is_named(evidence))
            return vendor->is_named(evidence);
    }
    return evidence->is_virtual;
}

const char *cloud_path(const struct cloud_vendor *vendor, const struct cloud_probe *probe)
{
    const char *path = vendor->paths;
    for (int step = 0; step < probe->step && *path; step++)
        path += strlen(path) + 1;
    return *path ? path : NULL;
}

void cloud_put_request(
    struct buf *buf, const struct cloud_vendor *vendor, const struct cloud_probe *probe, struct str address)
{
    bool is_for_token = vendor->token_header && probe->step == 0;
    struct str host = vendor->host ? str_of(vendor->host) : address;
    buf_printf(buf, "%s %s HTTP/1.1\r\nHost: %.*s\r\n", is_for_token ? "PUT" : "GET", cloud_path(vendor, probe),
        (int)host.n, host.p);
    buf_puts(buf, "User-Agent: resource-tracker\r\nAccept: */*\r\nConnection: close\r\n");
    if (vendor->header)
        buf_printf(buf, "%s\r\n", vendor->header);
    if (is_for_token)
        buf_printf(buf, "%s-ttl-seconds: 21600\r\nContent-Length: 0\r\n", vendor->token_header);
    else if (vendor->token_header)
        buf_printf(buf, "%s: %s\r\n", vendor->token_header, probe->token);
    buf_puts(buf, "\r\n");
}

static bool is_value_char(char c)
{
    return ascii_is_alnum(c) || (c != '\0' && strchr("._:/-", c));
}

static bool is_filler(const char *value)
{
    static const char fillers[][10] = {"unknown", "none", "null", "undefined", "n/a"};
    for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++) {
        if (str_is_nocase(value, fillers[i]))
            return true;
    }
    return false;
}

bool cloud_copy_value(struct str text, char ret_value[static CLOUD_VALUE_BYTES])
{
    ret_value[0] = '\0';
    if (text.n == 0 || text.n >= CLOUD_VALUE_BYTES)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (!is_value_char(text.p[i]))
            return false;
    }
    (void)str_copy(text, ret_value, CLOUD_VALUE_BYTES);
    if (is_filler(ret_value))
        ret_value[0] = '\0';
    return ret_value[0] != '\0';
}

struct str cloud_answer_body(const struct http_answer *answer)
{
    if (!answer || answer->status != STATUS_OK)
        return STR("");
    return str_trim(buf_str(&answer->body));
}

bool cloud_copy_body(const struct http_answer *answer, char ret_value[static CLOUD_VALUE_BYTES])
{
    return cloud_copy_value(cloud_answer_body(answer), ret_value);
}

bool cloud_copy_last_part(const struct http_answer *answer, char ret_value[static CLOUD_VALUE_BYTES])
{
    char whole[CLOUD_VALUE_BYTES];
    ret_value[0] = '\0';
    if (!cloud_copy_body(answer, whole))
        return false;
    const char *slash = strrchr(whole, '/');
    return cloud_copy_value(str_of(slash ? slash + 1 : whole), ret_value);
}

bool cloud_copy_string(const struct json_value *value, char ret_value[static CLOUD_VALUE_BYTES])
{
    char text[CLOUD_VALUE_BYTES];
    ret_value[0] = '\0';
    return json_string_copy(value, text, sizeof(text)) && cloud_copy_value(str_of(text), ret_value);
}

bool cloud_copy_token(const struct http_answer *answer, struct cloud_probe *probe)
{
    struct str token = cloud_answer_body(answer);
    return text_is_visible(token) && str_copy(token, probe->token, sizeof(probe->token));
}

bool cloud_parse_json(const struct http_answer *answer, struct json_doc *ret_doc)
{
    *ret_doc = (struct json_doc){0};
    struct str body = cloud_answer_body(answer);
    return body.n > 0 && json_doc_parse(body, ret_doc) == 0;
}

bool cloud_has_text(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}
