/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine says of itself without being asked over the network: the tables of its firmware (SMBIOS, by way of
 * /sys/class/dmi/id) and the flags of its processor. A physical machine that names no cloud is never probed.
 */
#include "base/auto.h"
#include "base/file.h"
#include "collect/cloud/vendor.h"
#include "collect/host/host.h"

static void read_line(int sys_fd, const char *path, char *out, size_t size)
{
    if (file_read_line_at(sys_fd, path, out, size) < 0)
        out[0] = '\0';
}

/* Names of hypervisors as they stand for the maker or the product of a machine. */
static bool is_hypervisor(const char *text)
{
    static const char words[][21] = {"QEMU", "KVM", "Xen", "OpenStack", "Bochs", "VMware", "VirtualBox", "innotek",
        "Parallels", "bhyve", "Nutanix", "oVirt", "Red Hat", "RHEV", "Virtual Machine", "Apple Virtualization",
        "Cloud Hypervisor", "Firecracker"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (cloud_has_words(text, words[i]))
            return true;
    }
    return false;
}

static bool is_virtual(const struct sysroot *root, const struct cloud_evidence *evidence)
{
    AUTO_BUF struct buf text;
    buf_init(&text, HOST_CPUINFO_BYTES_MAX);
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
    read_line(root->sys_fd, "class/dmi/id/board_vendor", evidence.board_vendor, sizeof(evidence.board_vendor));
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
