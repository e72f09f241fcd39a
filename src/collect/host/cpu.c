/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processor is called, and how many are online. x86 has a name. Arm has the board in the device tree
 * (small machines) and the numbers of its main ID register, by way of /proc/cpuinfo or of sysfs
 * (Documentation/ABI/testing/sysfs-devices-system-cpu).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "collect/host/host.h"
#include "collect/host/host_internal.h"
#include "kernel/proc.h"

/*
 * Names for the numbers of Arm's main ID register: implementers are in the Arm Architecture Reference Manual
 * (MIDR_EL1), parts in the technical reference manual of each core.
 */
static const struct {
    uint16_t implementer;
    char name[10];
} makers[] = {
    {0x41, "ARM"},
    {0x42, "Broadcom"},
    {0x43, "Cavium"},
    {0x46, "Fujitsu"},
    {0x48, "HiSilicon"},
    {0x4e, "NVIDIA"},
    {0x50, "APM"},
    {0x51, "Qualcomm"},
    {0x53, "Samsung"},
    {0x56, "Marvell"},
    {0x61, "Apple"},
    {0x6d, "Microsoft"},
    {0x70, "Phytium"},
    {0xc0, "Ampere"},
};

static const struct {
    uint16_t implementer, part;
    char name[17]; /* the maker's name comes before it */
} cores[] = {
    {0x41, 0xb76, "ARM1176"},
    {0x41, 0xc05, "Cortex-A5"},
    {0x41, 0xc07, "Cortex-A7"},
    {0x41, 0xc08, "Cortex-A8"},
    {0x41, 0xc09, "Cortex-A9"},
    {0x41, 0xc0d, "Cortex-A12"},
    {0x41, 0xc0e, "Cortex-A17"},
    {0x41, 0xc0f, "Cortex-A15"},
    {0x41, 0xd01, "Cortex-A32"},
    {0x41, 0xd02, "Cortex-A34"},
    {0x41, 0xd03, "Cortex-A53"},
    {0x41, 0xd04, "Cortex-A35"},
    {0x41, 0xd05, "Cortex-A55"},
    {0x41, 0xd06, "Cortex-A65"},
    {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},
    {0x41, 0xd09, "Cortex-A73"},
    {0x41, 0xd0a, "Cortex-A75"},
    {0x41, 0xd0b, "Cortex-A76"},
    {0x41, 0xd0c, "Neoverse-N1"},
    {0x41, 0xd0d, "Cortex-A77"},
    {0x41, 0xd0e, "Cortex-A76AE"},
    {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd41, "Cortex-A78"},
    {0x41, 0xd42, "Cortex-A78AE"},
    {0x41, 0xd43, "Cortex-A65AE"},
    {0x41, 0xd44, "Cortex-X1"},
    {0x41, 0xd46, "Cortex-A510"},
    {0x41, 0xd47, "Cortex-A710"},
    {0x41, 0xd48, "Cortex-X2"},
    {0x41, 0xd49, "Neoverse-N2"},
    {0x41, 0xd4a, "Neoverse-E1"},
    {0x41, 0xd4b, "Cortex-A78C"},
    {0x41, 0xd4c, "Cortex-X1C"},
    {0x41, 0xd4d, "Cortex-A715"},
    {0x41, 0xd4e, "Cortex-X3"},
    {0x41, 0xd4f, "Neoverse-V2"},
    {0x41, 0xd80, "Cortex-A520"},
    {0x41, 0xd81, "Cortex-A720"},
    {0x41, 0xd82, "Cortex-X4"},
    {0x41, 0xd83, "Neoverse-V3AE"},
    {0x41, 0xd84, "Neoverse-V3"},
    {0x41, 0xd85, "Cortex-X925"},
    {0x41, 0xd87, "Cortex-A725"},
    {0x41, 0xd8e, "Neoverse-N3"},
    {0x42, 0x516, "ThunderX2"},
    {0x43, 0x0a1, "ThunderX"},
    {0x43, 0x0af, "ThunderX2"},
    {0x46, 0x001, "A64FX"},
    {0x48, 0xd01, "TaiShan-V110"},
    {0x48, 0xd02, "TaiShan-V120"},
    {0x4e, 0x003, "Denver 2"},
    {0x4e, 0x004, "Carmel"},
    {0x4e, 0x010, "Olympus"},
    {0x50, 0x000, "X-Gene"},
    {0x51, 0x001, "Oryon"},
    {0x51, 0xc00, "Falkor"},
    {0x61, 0x022, "M1 Icestorm"},
    {0x61, 0x023, "M1 Firestorm"},
    {0x61, 0x024, "M1 Pro Icestorm"},
    {0x61, 0x025, "M1 Pro Firestorm"},
    {0x61, 0x028, "M1 Max Icestorm"},
    {0x61, 0x029, "M1 Max Firestorm"},
    {0x61, 0x032, "M2 Blizzard"},
    {0x61, 0x033, "M2 Avalanche"},
    {0x6d, 0xd49, "Azure Cobalt 100"},
    {0x70, 0x662, "FTC662"},
    {0x70, 0x663, "FTC663"},
    {0xc0, 0xac3, "AmpereOne"},
    {0xc0, 0xac4, "AmpereOne A"},
};

static const char *find_core(struct cpuinfo_core core)
{
    for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
        if (cores[i].implementer == core.implementer && cores[i].part == core.part)
            return cores[i].name;
    }
    return NULL;
}

/* "Neoverse-N1" and its maker; "" for what the tables do not know. */
static void name_core(struct cpuinfo_core core, char *out, size_t size)
{
    out[0] = '\0';
    const char *name = find_core(core);
    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
        if (makers[i].implementer != core.implementer)
            continue;
        if (name)
            (void)snprintf(out, size, "%s %s", makers[i].name, name);
        else
            (void)snprintf(out, size, "%s part 0x%03x", makers[i].name, (unsigned)core.part);
    }
}

enum { STAT_BYTES_MAX = 4 * 1024 * 1024, TREE_MODEL_BYTES_MAX = 1024 };

/* 32-bit Arm, and 64-bit Arm for 32-bit programs, name the architecture only: "ARMv7 Processor rev 4 (v7l)". */
static bool is_model_name(struct str name)
{
    return name.n > 0 && !str_starts(name, STR("ARMv")) && !str_starts(name, STR("AArch64 Processor"));
}

/* On x86 the first processor says it all; elsewhere others may be of another kind. */
static bool has_all(struct str text)
{
    struct cpuinfo info = {0};
    cpuinfo_parse(text, &info);
    return is_model_name(info.model_name) && info.is_virtual.has;
}

int host_read_cpuinfo(const struct sysroot *root, struct buf *buf, struct cpuinfo *ret_info)
{
    AUTO_FD int fd = file_open_at(root->proc_fd, "cpuinfo", O_RDONLY);
    if (fd < 0)
        return fd;
    buf_clear(buf);
    if (!buf_reserve(buf, HOST_CPUINFO_BYTES_MAX))
        return -ENOMEM;
    /* The whole of it takes long on large machines: the kernel asks every processor for its clock. */
    bool is_enough = false;
    while (buf->len < HOST_CPUINFO_BYTES_MAX && !is_enough) {
        ssize_t n = read(fd, buf->data + buf->len, HOST_CPUINFO_BYTES_MAX - buf->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_last();
        if (n == 0)
            break;
        bool is_start = buf->len == 0;
        buf->len += (size_t)n;
        if (is_start)
            is_enough = has_all((struct str){buf->data, buf->len});
    }
    cpuinfo_parse(buf_str(buf), ret_info);
    return 0;
}

/* All kinds of cores, "ARM Cortex-A55 + ARM Cortex-A76". */
static bool name_kinds(const struct cpuinfo *info, char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < info->kind_count; i++) {
        char name[64];
        name_core(info->kinds[i], name, sizeof(name));
        int more = name[0] ? snprintf(out + n, size - n, "%s%s", n > 0 ? " + " : "", name) : 0;
        if (more < 0 || (size_t)more >= size - n) {
            out[n] = '\0';
            break;
        }
        n += (size_t)more;
    }
    return n > 0;
}

static bool read_midr(const struct sysroot *root, char *out, size_t size)
{
    char line[32];
    struct cpuinfo_core core;
    if (file_read_line_at(root->sys_fd, "devices/system/cpu/cpu0/regs/identification/midr_el1", line, sizeof(line)) <=
            0 ||
        cpuinfo_parse_midr(str_of(line), &core) < 0)
        return false;
    name_core(core, out, size);
    return out[0] != '\0';
}

/* "Raspberry Pi 4 Model B Rev 1.4", with a NUL; virtual machines have only a name for their kind. */
static bool read_tree_model(const struct sysroot *root, char *out, size_t size)
{
    AUTO_BUF struct buf text = {.max = TREE_MODEL_BYTES_MAX};
    if (file_read_at(root->proc_fd, "device-tree/model", &text) < 0 &&
        file_read_at(root->sys_fd, "firmware/devicetree/base/model", &text) < 0)
        return false;
    return host_clean_text(buf_str(&text), out, size) && strcmp(out, "linux,dummy-virt") != 0 &&
           !str_is_nocase(out, "unknown");
}

void host_read_cpu_model(const struct sysroot *root, char *out, size_t size)
{
    AUTO_BUF struct buf text = {.max = HOST_CPUINFO_BYTES_MAX};
    struct cpuinfo info = {0};
    (void)host_read_cpuinfo(root, &text, &info);
    if (is_model_name(info.model_name) && host_clean_text(info.model_name, out, size))
        return;
    if (read_tree_model(root, out, size) || name_kinds(&info, out, size) || read_midr(root, out, size))
        return;
    (void)host_clean_text(info.model_name, out, size);
}

/* "8" or "0-3" */
static bool parse_range(struct str text, uint64_t *ret_first, uint64_t *ret_last)
{
    const char *dash = text.n > 0 ? memchr(text.p, '-', text.n) : NULL;
    size_t n = dash ? (size_t)(dash - text.p) : text.n;
    if (num_parse_u64((struct str){text.p, n}, ret_first) < 0)
        return false;
    *ret_last = *ret_first;
    return !dash || num_parse_u64((struct str){dash + 1, text.n - n - 1}, ret_last) == 0;
}

int host_count_cpu_list(struct str text, uint64_t *ret_count)
{
    uint64_t count = 0;
    uint64_t lowest = 0; /* number that may follow */
    text = str_trim(text);
    for (bool has_more = true; has_more;) {
        const char *comma = text.n > 0 ? memchr(text.p, ',', text.n) : NULL;
        size_t n = comma ? (size_t)(comma - text.p) : text.n;
        uint64_t first;
        uint64_t last;
        if (!parse_range((struct str){text.p, n}, &first, &last) || first < lowest || last < first ||
            last >= PROC_STAT_CPUS_MAX)
            return -EINVAL;
        count += last - first + 1;
        lowest = last + 1;
        has_more = comma;
        text = has_more ? (struct str){comma + 1, text.n - n - 1} : (struct str){0};
    }
    *ret_count = count;
    return 0;
}

struct opt_u64 host_count_cpus(const struct sysroot *root)
{
    AUTO_BUF struct buf text = {.max = STAT_BYTES_MAX};
    uint64_t count;
    if (file_read_at(root->sys_fd, "devices/system/cpu/online", &text) == 0 &&
        host_count_cpu_list(buf_str(&text), &count) == 0)
        return some_u64(count);
    struct proc_stat stat = {0};
    struct opt_u64 found = {0};
    if (file_read_at(root->proc_fd, "stat", &text) == 0 && proc_stat_parse(buf_str(&text), &stat) == 0 &&
        stat.cores.count > 0)
        found = some_u64(stat.cores.count);
    proc_stat_fini(&stat);
    return found;
}

struct opt_u64 host_count_usable_cpus(void)
{
    enum { SETS = 8 }; /* more CPUs than any kernel has */
    cpu_set_t sets[SETS];
    if (sched_getaffinity(0, sizeof(sets), sets) < 0)
        return (struct opt_u64){0};
    return some_u64((uint64_t)CPU_COUNT_S(sizeof(sets), sets));
}
