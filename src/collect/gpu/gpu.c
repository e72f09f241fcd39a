/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs and other accelerators of all vendors as one list, and what the tracked tree uses of them. On a machine without
 * any, nothing is done but a rescan every half minute: a driver may be loaded while the job runs.
 */
#include "collect/gpu/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "base/vec.h"
#include "collect/gpu/drm/fdinfo.h"

#define RESCAN_NS (30 * NS_PER_SEC)

struct gpu_stage {
    void *state; /* NULL: this vendor has nothing here */
    bool reports_usage, reports_vram; /* of the tree: once it did, absence is an error and not inability */
};

/* What one device becomes in the sample. */
struct gpu_row {
    struct str_pair details[GPU_DETAILS_MAX];
};

struct gpu_state {
    const struct collect_env *env;
    struct gpu_stage stages[GPU_VENDORS_MAX];
    size_t open_count;
    struct opt_i64 scanned_ns;
    bool is_unsure; /* of a vendor it could not be found out whether it has anything here */
    bool is_energy_lost; /* a vendor has gone, with what it counted */
    struct fdinfo *clients; /* NULL: no vendor needs them */
    struct sample_gpu *items;
    size_t item_cap;
    struct gpu_row *rows;
    size_t row_cap;
    size_t count; /* of this tick */
    struct {
        struct job_member *items; /* a copy: this collector may be stuck while the tree goes on */
        size_t count, cap;
    } members;
};

/* Sums over all devices; those of use are the tree's, taken from the items of the sample. */
struct gpu_sums {
    bool is_incomplete; /* of a vendor it is not known which devices it has, or they are not all listed */
    double usage_pct, joules;
    uint64_t vram_bytes, utilized;
    bool has_usage, has_vram, has_joules; /* a vendor reported it */
    bool lacks_usage, lacks_vram, lacks_joules; /* a vendor should have reported it */
};

void gpu_add_detail(struct gpu_facts *facts, const char *key, const char *value)
{
    if (value[0] == '\0' || facts->detail_count == GPU_DETAILS_MAX)
        return;
    struct gpu_detail *detail = &facts->details[facts->detail_count++];
    detail->key = key;
    (void)str_copy(str_of(value), detail->value, sizeof(detail->value));
}

static bool is_tracking(const struct gpu_state *state)
{
    const struct tracked *tracked = state->env->tracked;
    return tracked && tracked->root > 0 && state->env->root->names_us;
}

static void close_stage(struct gpu_state *state, size_t i)
{
    struct gpu_stage *stage = &state->stages[i];
    if (!stage->state)
        return;
    gpu_vendors[i]->close(stage->state);
    free(stage->state);
    *stage = (struct gpu_stage){0};
    state->open_count--;
}

static void open_stage(struct gpu_state *state, size_t i, struct err *err)
{
    void *vendor = calloc(1, gpu_vendors[i]->state_bytes);
    struct err why = {0};
    int r = vendor ? gpu_vendors[i]->open(vendor, state->env, &why) : err_set(&why, -ENOMEM, "gpu: out of memory");
    if (r == 0) {
        state->stages[i] = (struct gpu_stage){.state = vendor};
        state->open_count++;
        return;
    }
    free(vendor);
    if (r != -ENODATA) {
        *err = why;
        state->is_unsure = true;
    }
}

static void rescan(struct gpu_state *state, int64_t now_ns, struct err *err)
{
    state->scanned_ns = some_i64(now_ns);
    state->is_unsure = false;
    for (size_t i = 0; i < gpu_vendor_count; i++) {
        if (!state->stages[i].state)
            open_stage(state, i, err);
    }
    if (state->env->gpu_status)
        state->env->gpu_status->has_no_device = state->open_count == 0;
}

static int gpu_open(void *opaque, const struct collect_env *env, struct err *err)
{
    struct gpu_state *state = opaque;
    (void)err;
    *state = (struct gpu_state){.env = env};
    return 0;
}

static void gpu_close(void *opaque)
{
    struct gpu_state *state = opaque;
    for (size_t i = 0; i < gpu_vendor_count; i++)
        close_stage(state, i);
    fdinfo_free(state->clients);
    free(state->items);
    free(state->rows);
    free(state->members.items);
}

static enum gpu_clients clients_wanted(const struct gpu_state *state)
{
    enum gpu_clients wanted = GPU_CLIENTS_NONE;
    for (size_t i = 0; i < gpu_vendor_count; i++) {
        const struct gpu_stage *stage = &state->stages[i];
        enum gpu_clients clients =
            stage->state && gpu_vendors[i]->clients ? gpu_vendors[i]->clients(stage->state) : GPU_CLIENTS_NONE;
        wanted = clients > wanted ? clients : wanted;
    }
    return wanted == GPU_CLIENTS_TREE && !is_tracking(state) ? GPU_CLIENTS_NONE : wanted;
}

static void read_clients(struct gpu_state *state, struct gpu_tick *tick, struct err *err)
{
    enum gpu_clients wanted = clients_wanted(state);
    if (wanted == GPU_CLIENTS_NONE)
        return;
    int r = state->clients ? 0 : fdinfo_new(state->env, &state->clients);
    if (r < 0) {
        (void)err_sys(err, r, "gpu: cannot read the clients of GPUs");
        return;
    }
    fdinfo_tick(state->clients, tick->members, tick->member_count, wanted == GPU_CLIENTS_ALL, tick->now_ns);
    tick->clients = state->clients;
    if (tick->is_tracking && !fdinfo_is_tree_known(state->clients))
        (void)err_set(err, -EACCES, "gpu: no permission to read a process of the command: its GPU use is unknown");
}

static struct opt_f64 percentage(struct opt_u64 part, struct opt_u64 whole)
{
    if (!part.has || !whole.has || whole.v == 0)
        return (struct opt_f64){0};
    return some_f64(num_to_f64(part.v) * 100 / num_to_f64(whole.v));
}

static const char *text_or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static void fill_item(const struct gpu_card *card, struct gpu_row *row, struct sample_gpu *ret_item)
{
    const struct gpu_facts *facts = &card->facts;
    const struct gpu_reading *reading = &card->reading;
    const struct gpu_use *use = &card->use;
    for (size_t i = 0; i < facts->detail_count; i++)
        row->details[i] = (struct str_pair){facts->details[i].key, facts->details[i].value};
    *ret_item = (struct sample_gpu){
        .uuid = text_or_null(facts->uuid),
        .name = text_or_null(facts->name),
        .device_type = facts->device_type,
        .host_id = text_or_null(facts->host_id),
        .detail = {.present = true, .count = facts->detail_count, .items = row->details},
        .utilization_pct = reading->utilization_pct,
        .vram_total_bytes = reading->vram_total_bytes,
        .vram_used_bytes = reading->vram_used_bytes,
        .vram_used_pct = percentage(reading->vram_used_bytes, reading->vram_total_bytes),
        .temperature_celsius = reading->temperature_celsius,
        .power_watts = reading->power_watts,
        .frequency_mhz = reading->frequency_mhz,
        .core_count = facts->core_count,
        .memory_utilization_pct = reading->memory_utilization_pct,
        .throttle_reasons = {.present = reading->has_reasons,
            .count = reading->reason_count,
            .items = reading->reasons},
        .process_vram_bytes = use->vram_bytes,
        .process_utilization_pct = {.has = use->usage.has, .v = use->usage.v * 100},
    };
}

static int fill_items(struct gpu_state *state, const struct gpu_list *list)
{
    size_t need = state->count + list->count;
    int r = vec_grow(&state->items, &state->item_cap, need, sizeof(*state->items), GPU_CARDS_MAX * GPU_VENDORS_MAX);
    if (r == 0)
        r = vec_grow(&state->rows, &state->row_cap, need, sizeof(*state->rows), GPU_CARDS_MAX * GPU_VENDORS_MAX);
    if (r < 0)
        return r;
    /* The items of this tick point at rows, which may have moved. */
    for (size_t i = 0; i < state->count; i++)
        state->items[i].detail.items = state->rows[i].details;
    for (size_t i = 0; i < list->count; i++)
        fill_item(&list->cards[i], &state->rows[state->count + i], &state->items[state->count + i]);
    state->count = need;
    return 0;
}

static void add_use(const struct gpu_stage *stage, const struct sample_gpu *item, struct gpu_sums *sums)
{
    struct opt_f64 pct = item->process_utilization_pct;
    struct opt_u64 bytes = item->process_vram_bytes;
    sums->has_usage |= pct.has;
    sums->has_vram |= bytes.has;
    sums->lacks_usage |= !pct.has && stage->reports_usage;
    sums->lacks_vram |= !bytes.has && stage->reports_vram;
    sums->usage_pct += pct.has ? pct.v : 0;
    sums->utilized += pct.has && pct.v > 0;
    sums->lacks_vram |= bytes.has && __builtin_add_overflow(sums->vram_bytes, bytes.v, &sums->vram_bytes);
}

static void add_energy(const struct gpu_card *card, struct gpu_sums *sums)
{
    sums->has_joules |= card->energy_joules.has;
    sums->lacks_joules |= card->has_energy && !card->energy_joules.has;
    sums->joules += card->energy_joules.has ? card->energy_joules.v : 0;
}

/* The devices of a vendor as items of the sample, and the sums over them. */
static int add_list(struct gpu_state *state, size_t vendor, const struct gpu_list *list, const struct gpu_tick *tick,
    struct gpu_sums *sums)
{
    struct gpu_stage *stage = &state->stages[vendor];
    if (tick->is_tracking && gpu_vendors[vendor]->attribute)
        gpu_vendors[vendor]->attribute(stage->state, tick);
    for (size_t i = 0; i < list->count; i++)
        add_energy(&list->cards[i], sums);
    size_t first = state->count;
    int r = fill_items(state, list);
    for (size_t i = first; i < state->count; i++) {
        stage->reports_usage |= state->items[i].process_utilization_pct.has;
        stage->reports_vram |= state->items[i].process_vram_bytes.has;
    }
    for (size_t i = first; i < state->count; i++)
        add_use(stage, &state->items[i], sums);
    sums->is_incomplete |= r < 0 || !list->is_known;
    return r;
}

static void read_stage(
    struct gpu_state *state, size_t i, const struct gpu_tick *tick, struct gpu_sums *sums, struct err *err)
{
    struct gpu_list list = {0};
    struct err why = {0};
    int r = gpu_vendors[i]->read(state->stages[i].state, tick, &list, &why);
    if (why.code < 0 && err->code == 0)
        *err = why;
    if (r == -ENODEV) {
        state->is_energy_lost = true;
        close_stage(state, i);
        return;
    }
    if (add_list(state, i, &list, tick, sums) < 0)
        (void)err_set(err, -ENOMEM, "gpu: out of memory for the list of devices");
}

static void fill_tree(const struct gpu_state *state, const struct gpu_sums *sums, struct sample_cpu *cpu)
{
    struct gpu_status *status = state->env->gpu_status;
    if (sums->has_joules && !sums->lacks_joules && !state->is_energy_lost && status)
        status->joules = some_f64(sums->joules);
    if (!is_tracking(state) || sums->is_incomplete)
        return;
    /* Where there is no GPU at all, none is used: that is known. One that was there and has gone cannot be asked. */
    bool is_none = state->count == 0 && !state->is_unsure && !state->is_energy_lost && state->env->root->sys_fd >= 0;
    if (is_none) {
        cpu->process_gpu_usage = cpu->process_gpu_vram_mib = some_f64(0);
        cpu->process_gpu_utilized = some_u64(0);
    }
    if (sums->has_usage && !sums->lacks_usage) {
        cpu->process_gpu_usage = some_f64(sums->usage_pct / 100);
        cpu->process_gpu_utilized = some_u64(sums->utilized);
    }
    if (sums->has_vram && !sums->lacks_vram)
        cpu->process_gpu_vram_mib = some_f64(num_to_f64(sums->vram_bytes) / BYTES_PER_MIB);
}

static void copy_members(struct gpu_state *state)
{
    const struct tree_status *tree = state->env->tree;
    size_t count = tree ? tree->members.count : 0;
    state->members.count = VEC_GROW(&state->members, count, count) == 0 ? count : 0;
    if (state->members.count > 0)
        memcpy(state->members.items, tree->members.items, count * sizeof(state->members.items[0]));
}

static int gpu_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct gpu_state *state = opaque;
    copy_members(state);
    if (!state->scanned_ns.has || tick->mono_ns - state->scanned_ns.v >= RESCAN_NS)
        rescan(state, tick->mono_ns, err);
    /* Without sysfs it is not known what there is. */
    bool is_known = state->env->root->sys_fd >= 0;
    sample->gpu = (struct sample_list){.present = is_known && !tick->baseline};
    struct gpu_sums sums = {0};
    state->count = 0;
    if (state->open_count == 0) {
        if (!tick->baseline)
            fill_tree(state, &sums, &sample->cpu);
        return 0;
    }
    struct gpu_tick gpu_tick = {.baseline = tick->baseline,
        .is_final = tick->is_final,
        .now_ns = clock_read(state->env->clock, CLOCK_KIND_MONOTONIC),
        .slot_ns = tick->mono_ns - tick->late_ns,
        .is_tracking = is_tracking(state)};
    if (gpu_tick.is_tracking) {
        gpu_tick.members = state->members.items;
        gpu_tick.member_count = state->members.count;
    }
    read_clients(state, &gpu_tick, err);
    for (size_t i = 0; i < gpu_vendor_count; i++) {
        if (state->stages[i].state)
            read_stage(state, i, &gpu_tick, &sums, err);
    }
    if (tick->baseline)
        return 0;
    is_known &= !sums.is_incomplete;
    sample->gpu =
        (struct sample_list){.present = is_known || state->count > 0, .count = state->count, .items = state->items};
    fill_tree(state, &sums, &sample->cpu);
    return 0;
}

static int gpu_watch_fd(const void *opaque)
{
    const struct gpu_state *state = opaque;
    int fd = -1;
    for (size_t i = 0; i < gpu_vendor_count && fd < 0; i++) {
        if (state->stages[i].state && gpu_vendors[i]->watch_fd)
            fd = gpu_vendors[i]->watch_fd(state->stages[i].state);
    }
    return fd;
}

static void gpu_woken(void *opaque)
{
    struct gpu_state *state = opaque;
    for (size_t i = 0; i < gpu_vendor_count; i++) {
        if (state->stages[i].state && gpu_vendors[i]->woken)
            gpu_vendors[i]->woken(state->stages[i].state);
    }
}

const struct collector collector_gpu = {
    .name = "gpu",
    .has_helper = true,
    .fills = {COLLECT_FILLS(gpu), COLLECT_FILLS(cpu.process_gpu_usage), COLLECT_FILLS(cpu.process_gpu_vram_mib),
        COLLECT_FILLS(cpu.process_gpu_utilized)},
    .state_bytes = sizeof(struct gpu_state),
    .open = gpu_open,
    .collect = gpu_collect,
    .close = gpu_close,
    .watch_fd = gpu_watch_fd,
    .woken = gpu_woken,
    .watches_input = true,
};
