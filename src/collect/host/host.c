/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity, name and memory of the machine; the processors, the address and the disks are next door. An asset tag
 * (SMBIOS type 2; "i-0abcd1234efgh5678" on AWS) names the machine better than machine-id(5), which images share when
 * people forget to clear it, but most makers leave a filler there.
 */
#include "collect/host/host.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/utf8.h"
#include "collect/host/host_internal.h"
#include "kernel/meminfo.h"

enum { ASSET_TAG_CHARS_MIN = 4, MACHINE_ID_CHARS = 32, MEMINFO_BYTES_MAX = 64 * 1024, KIB_PER_MIB = 1024 };

/* C0, DEL, and C1 in its two bytes. */
static bool is_control(struct str sequence)
{
    const unsigned char *p = (const unsigned char *)sequence.p;
    return (sequence.n == 1 && (p[0] < 0x20 || p[0] == 0x7f)) || (sequence.n == 2 && p[0] == 0xc2 && p[1] < 0xa0);
}

bool host_take_text(struct str text, char *out, size_t size)
{
    size_t n = 0;
    bool is_gap = false;
    while (text.n > 0) {
        size_t length = utf8_length(text);
        struct str sequence = {text.p, length > 0 ? length : 1};
        text = (struct str){text.p + sequence.n, text.n - sequence.n};
        if (length == 0)
            continue;
        if (sequence.p[0] == ' ' || is_control(sequence)) {
            is_gap = n > 0;
            continue;
        }
        if (n + is_gap + length >= size)
            break;
        if (is_gap)
            out[n++] = ' ';
        is_gap = false;
        memcpy(out + n, sequence.p, length);
        n += length;
    }
    out[n] = '\0';
    return n > 0;
}

static bool is_alphanumeric(char c)
{
    char lower = (char)(c | 0x20);
    return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z');
}

/* "0000", "....", "xx-xx": one letter or digit again and again, or none at all. */
static bool is_monotonous(const char *text)
{
    char seen = '\0';
    for (; *text; text++) {
        if (!is_alphanumeric(*text))
            continue;
        if (seen != '\0' && *text != seen)
            return false;
        seen = *text;
    }
    return true;
}

static bool is_filler(const char *text)
{
    static const char whole[][15] = {"none", "null", "empty", "invalid", "undefined", "unused", "blank", "test", "oem",
        "n.a.", "not-available", "not_available", "notavailable", "not-applicable", "not_applicable", "notapplicable"};
    static const char parts[][11] = {"assettag", "asset-tag", "asset_tag", "noasset", "no-asset", "o.e.m", "by-oem",
        "by_oem", "filled", "default", "specif", "unknown", "123456789", "987654321"};
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        if (strcasecmp(text, whole[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcasestr(text, parts[i]))
            return true;
    }
    return false;
}

bool host_is_asset_tag(struct str text)
{
    char tag[sizeof(((struct host_facts *)0)->id)];
    if (text.n < ASSET_TAG_CHARS_MIN || text.n >= sizeof(tag))
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!is_alphanumeric(c) && c != '.' && c != '_' && c != '-')
            return false;
    }
    (void)str_copy(text, tag, sizeof(tag));
    return !is_monotonous(tag) && !is_filler(tag);
}

bool host_is_machine_id(struct str text)
{
    bool is_zero = true;
    for (size_t i = 0; i < text.n; i++) {
        char lower = (char)(text.p[i] | 0x20);
        if (!is_alphanumeric(text.p[i]) || lower > 'f')
            return false;
        is_zero = is_zero && text.p[i] == '0';
    }
    return text.n == MACHINE_ID_CHARS && !is_zero;
}

static void read_id(const struct sysroot *root, char *out, size_t size)
{
    char line[256];
    int n = file_read_line_at(root->sys_fd, "class/dmi/id/board_asset_tag", line, sizeof(line));
    bool is_good = n > 0 && host_is_asset_tag(str_of(line));
    if (!is_good) {
        n = file_read_line_at(root->root_fd, "etc/machine-id", line, sizeof(line));
        is_good = n > 0 && host_is_machine_id(str_of(line));
    }
    if (is_good)
        (void)str_copy(str_of(line), out, size);
}

static void read_hostname(const struct sysroot *root, char *out, size_t size)
{
    char name[256] = "";
    if (!root->is_host)
        (void)file_read_line_at(root->root_fd, "etc/hostname", name, sizeof(name));
    else if (gethostname(name, sizeof(name)) < 0)
        return;
    name[sizeof(name) - 1] = '\0';
    if (name[0] != '#')
        (void)host_take_text(str_of(name), out, size);
}

static struct opt_u64 read_memory(const struct sysroot *root)
{
    AUTO_BUF struct buf text;
    buf_init(&text, MEMINFO_BYTES_MAX);
    struct meminfo memory;
    if (file_read_at(root->proc_fd, "meminfo", &text) < 0 ||
        meminfo_parse((struct str){text.data, text.len}, &memory) < 0)
        return (struct opt_u64){0};
    return some_u64(memory.total_kib.v / KIB_PER_MIB);
}

void host_discover(const struct sysroot *root, struct host_facts *ret_host)
{
    struct host_facts host = {0};
    read_id(root, host.id, sizeof(host.id));
    read_hostname(root, host.hostname, sizeof(host.hostname));
    /* A captured machine's address is not ours. */
    if (root->is_host)
        host_find_ip(host.ip, sizeof(host.ip));
    host_read_cpu_model(root, host.cpu_model, sizeof(host.cpu_model));
    host.vcpus = host_count_cpus(root);
    host.memory_mib = read_memory(root);
    host.storage_gb = host_read_storage(root->sys_fd);
    *ret_host = host;
}
