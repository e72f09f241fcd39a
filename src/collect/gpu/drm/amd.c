/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD cards through amdgpu's sysfs files (Documentation/gpu/amdgpu/driver-misc.rst, thermal.rst) and its hwmon: no
 * library is needed. What the tree uses comes from its DRM clients and, for ROCm, from KFD, whichever reports more.
 */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "collect/gpu/drm/amd_kfd.h"
#include "collect/gpu/drm/drm.h"
#include "collect/gpu/gpu.h"
#include "kernel/amdgpu.h"

enum { IDS_BYTES_MAX = 1024 * 1024 };

enum { BUSY, MEMORY_BUSY, VRAM_TOTAL, VRAM_USED, CLOCK_LEVELS }; /* attributes */

struct amd_card {
    bool is_busy_missing; /* it has no counter of how busy it is: its DRM clients say it */
};

struct amd {
    struct drm_cards cards; /* first: it is the state of drm_cards_read */
    struct amd_kfd *kfd; /* NULL: none */
};

static const char amd_drivers[] = "amdgpu", amd_compute_device[] = "/dev/kfd";

/* "6.2.0-66" or the same in quotes: without them and without the number of the build. */
static void read_rocm_version(int root_fd, char out[static GPU_TEXT_BYTES])
{
    char line[GPU_TEXT_BYTES];
    out[0] = '\0';
    if (file_read_line_at(root_fd, "opt/rocm/.info/version", line, sizeof(line)) <= 0)
        return;
    struct str version = str_of(line + strspn(line, "\"' "));
    version.n = strcspn(version.p, "\"' -");
    (void)str_copy(version, out, GPU_TEXT_BYTES);
}

static bool read_marketing_name(int root_fd, const struct drm_card *drm, char out[static GPU_TEXT_BYTES])
{
    AUTO_BUF struct buf ids = {.max = IDS_BYTES_MAX};
    struct str name;
    if (!drm->device_id.has || !drm->revision.has || file_read_at(root_fd, "usr/share/libdrm/amdgpu.ids", &ids) < 0 ||
        amdgpu_ids_find(buf_str(&ids), drm->device_id.v, drm->revision.v, &name) < 0)
        return false;
    (void)str_copy(name, out, GPU_TEXT_BYTES);
    return true;
}

static void amd_write_facts(
    const struct amd *amd, const struct collect_env *env, const struct drm_card *drm, struct gpu_facts *facts)
{
    drm_card_read_text(drm, "product_name", facts->name, sizeof(facts->name));
    if (!facts->name[0] && !read_marketing_name(env->root->root_fd, drm, facts->name))
        drm_card_write_name(drm, "AMD GPU", facts->name, sizeof(facts->name));
    char text[GPU_TEXT_BYTES];
    drm_card_read_text(drm, "unique_id", text, sizeof(text));
    gpu_add_detail(facts, "unique_id", text);
    read_rocm_version(env->root->root_fd, text);
    gpu_add_detail(facts, "rocm_version", text);
    if (amd->kfd)
        facts->core_count = amd_kfd_cu_count(amd->kfd, drm->device);
}

static void amd_init(struct drm_cards *cards, size_t index)
{
    struct amd_card *own = drm_cards_own(cards, index);
    own->is_busy_missing = !cards->drm[index].attributes[BUSY].exists;
}

static enum gpu_clients amd_clients(const void *state)
{
    const struct drm_cards *cards = state;
    for (size_t i = 0; i < cards->count; i++) {
        const struct amd_card *own = drm_cards_own(cards, i);
        if (own->is_busy_missing)
            return GPU_CLIENTS_ALL;
    }
    return GPU_CLIENTS_TREE;
}

static int read_percent(struct gpu_attribute *attribute, struct buf *text, struct opt_f64 *ret_percent)
{
    uint64_t percent;
    int r = gpu_attribute_read(attribute, text);
    *ret_percent = (struct opt_f64){0};
    if (r == 0 && num_parse_u64(str_trim(buf_str(text)), &percent) == 0 && percent <= 100)
        *ret_percent = some_f64(num_to_f64(percent));
    return r;
}

static struct opt_f64 read_busy(struct drm_cards *cards, size_t index, const struct gpu_tick *tick)
{
    struct amd_card *own = drm_cards_own(cards, index);
    if (own->is_busy_missing)
        return drm_cards_percent(drm_cards_host_use(cards, index, tick).usage);
    struct opt_f64 percent;
    /* Some models have the file and no counter behind it. */
    own->is_busy_missing = read_percent(&cards->drm[index].attributes[BUSY], &cards->text, &percent) == -EOPNOTSUPP;
    return percent;
}

static struct opt_f64 read_clock(struct gpu_attribute *levels, struct buf *text)
{
    uint64_t mhz;
    if (gpu_attribute_read(levels, text) < 0 || dpm_table_parse_current(buf_str(text), &mhz) < 0)
        return (struct opt_f64){0};
    return hwmon_check_mhz(some_f64(num_to_f64(mhz)));
}

static void amd_read(struct drm_cards *cards, size_t index, const struct gpu_tick *tick)
{
    struct gpu_attribute *attributes = cards->drm[index].attributes;
    struct buf *text = &cards->text;
    struct gpu_reading *reading = &cards->items[index].reading;
    if (tick->baseline) {
        hwmon_begin(cards, index, tick);
        return;
    }
    reading->utilization_pct = read_busy(cards, index, tick);
    (void)read_percent(&attributes[MEMORY_BUSY], text, &reading->memory_utilization_pct);
    reading->vram_total_bytes = gpu_attribute_read_u64(&attributes[VRAM_TOTAL], text);
    reading->vram_used_bytes = gpu_attribute_read_u64(&attributes[VRAM_USED], text);
    if (reading->vram_total_bytes.has && reading->vram_used_bytes.v > reading->vram_total_bytes.v)
        reading->vram_used_bytes = (struct opt_u64){0};
    hwmon_read(cards, index, tick);
    if (!reading->frequency_mhz.has)
        reading->frequency_mhz = read_clock(&attributes[CLOCK_LEVELS], text);
}

static const struct drm_cards_kind amd_kind = {
    .plural = "AMD cards",
    .drivers = amd_drivers,
    .sensor = "edge",
    .attributes = "device/gpu_busy_percent\0device/mem_busy_percent\0device/mem_info_vram_total\0"
                  "device/mem_info_vram_used\0device/pp_dpm_sclk\0",
    .own_bytes = sizeof(struct amd_card),
    .init = amd_init,
    .read = amd_read,
};

static int amd_open(void *state, const struct collect_env *env, struct err *err)
{
    struct amd *amd = state;
    int r = drm_cards_open(&amd->cards, env, &amd_kind, err);
    if (r < 0)
        return r;
    (void)amd_kfd_new(env, &amd->kfd);
    for (size_t i = 0; i < amd->cards.count; i++)
        amd_write_facts(amd, env, &amd->cards.drm[i], &amd->cards.items[i].facts);
    return 0;
}

/* What computes through KFD does so past all DRM clients, and KFD does not report of every model how busy it is. */
static void add_kfd_use(const struct amd_kfd_use *kfd, struct gpu_use *use)
{
    if (kfd->is_cut) {
        *use = (struct gpu_use){0};
        return;
    }
    if (kfd->vram_bytes.has && (!use->vram_bytes.has || kfd->vram_bytes.v > use->vram_bytes.v))
        use->vram_bytes = kfd->vram_bytes;
    if (kfd->is_silent)
        use->usage = (struct opt_f64){0};
    else if (kfd->usage.has && (!use->usage.has || kfd->usage.v > use->usage.v))
        use->usage = kfd->usage;
}

static void amd_attribute(void *state, const struct gpu_tick *tick)
{
    struct amd *amd = state;
    drm_cards_attribute(&amd->cards, tick);
    if (!amd->kfd) {
        /* In a PID namespace KFD's numbers are not ours, and what the members do is not known. */
        bool is_unknown = tick->clients && fdinfo_tree_holds(tick->clients, amd_compute_device);
        for (size_t i = 0; is_unknown && i < amd->cards.count; i++)
            amd->cards.items[i].use = (struct gpu_use){0};
        return;
    }
    if (tick->clients && !fdinfo_is_tree_known(tick->clients))
        return;
    amd_kfd_tick(amd->kfd, tick->members, tick->member_count);
    for (size_t i = 0; i < amd->cards.count; i++) {
        if (amd->cards.states[i] != DRM_AWAKE)
            continue;
        struct amd_kfd_use use = amd_kfd_read_use(amd->kfd, amd->cards.drm[i].device);
        add_kfd_use(&use, &amd->cards.items[i].use);
    }
}

static void amd_close(void *state)
{
    struct amd *amd = state;
    amd_kfd_free(amd->kfd);
    drm_cards_close(&amd->cards);
}

const struct gpu_vendor gpu_vendor_amd = {
    .name = "amd",
    .drivers = amd_drivers,
    .compute_device = amd_compute_device,
    .state_bytes = sizeof(struct amd),
    .open = amd_open,
    .clients = amd_clients,
    .read = drm_cards_read,
    .attribute = amd_attribute,
    .close = amd_close,
};
