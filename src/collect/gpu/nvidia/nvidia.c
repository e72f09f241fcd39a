/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA GPUs, as the helper that runs the NVIDIA library reports them. The newest answer is taken, never waited for;
 * where there is none that is fresh, the values are absent. Processes are those that the driver lists, by PID: in a PID
 * namespace it may list the host's numbers, so a match must be proven there by an open device file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/vec.h"
#include "collect/gpu/gpu.h"
#include "collect/gpu/nvidia/nvidia_internal.h"
#include "collect/gpu/nvidia/sampling.h"

/* A command that is over by then never sees the helper start. */
#define NVIDIA_DELAY_NS (30 * NS_PER_MS)

/* The search for open device files may take this share of a core, and so long in one tick. */
#define HOLDERS_SHARE 500
#define HOLDERS_TICK_NS (2 * NS_PER_MS)
#define HOLDERS_MOST_NS (3 * NS_PER_SEC)

#define ERROR_HOLD_NS (30 * NS_PER_SEC)

enum { MEMBERS_MAX = 32768 };

struct nvidia_state {
    const struct collect_env *env;
    struct nvidia_link link;
    int timer_fd; /* -1: none could be had */
    bool has_slot; /* the grid is known */
    int64_t previous_ns; /* the tick before */
    struct gpu_card *cards;
    size_t card_cap;
    struct {
        pid_t *items; /* the members of the tick before */
        size_t count, cap;
    } before;
    bool is_namespaced; /* our PIDs need not be the driver's */
    bool is_proven; /* they are */
    bool has_holders; /* a process of the tree holds a device file, as far as that is known */
    size_t holders_at; /* how many members were searched */
    bool is_foreign; /* the driver knows the tree by other numbers */
    struct err last_error; /* the last one of a helper that had worked */
    int64_t last_error_ns;
    int64_t holders_due_ns;
};

/*
 * A short wait before the helper is started; where there is no timer, the first sample starts it. Between the slots of
 * a wide grid the helper must be listened to, and replaced where need be.
 */
static void set_timer(struct nvidia_state *state)
{
    struct itimerspec delay = {.it_value = {.tv_nsec = NVIDIA_DELAY_NS}};
    if (state->env->interval_ns > NVML_PACE_MOST_NS)
        delay.it_interval.tv_sec = 1;
    state->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (state->timer_fd >= 0 && timerfd_settime(state->timer_fd, 0, &delay, NULL) < 0)
        fd_close(&state->timer_fd);
}

static int nvidia_open(void *opaque, const struct collect_env *env, struct err *err)
{
    struct nvidia_state *state = opaque;
    if (!nvidia_devices_are_there(env))
        return err_set(err, -ENODATA, "nvidia: no device file");
    *state =
        (struct nvidia_state){.env = env, .timer_fd = -1, .is_namespaced = !sysroot_in_first_pid_namespace(env->root)};
    int64_t now_ns = clock_read(env->clock, CLOCK_KIND_MONOTONIC);
    nvidia_link_open(&state->link, env, now_ns + NVIDIA_DELAY_NS);
    set_timer(state);
    /* Before the first sample only the root is known to be a member. */
    if (env->tracked && env->tracked->root > 0 && VEC_GROW(&state->before, 1, MEMBERS_MAX) == 0)
        state->before.items[state->before.count++] = env->tracked->root;
    return 0;
}

static void nvidia_close(void *opaque)
{
    struct nvidia_state *state = opaque;
    nvidia_link_close(&state->link);
    fd_close(&state->timer_fd);
    free(state->cards);
    free(state->before.items);
}

static int nvidia_watch_fd(const void *opaque)
{
    const struct nvidia_state *state = opaque;
    return state->timer_fd;
}

static void nvidia_woken(void *opaque)
{
    struct nvidia_state *state = opaque;
    uint64_t expirations;
    if (read(state->timer_fd, &expirations, sizeof(expirations)) < 0)
        return;
    nvidia_link_tick(&state->link, clock_read(state->env->clock, CLOCK_KIND_MONOTONIC));
    const struct tracked *tracked = state->env->tracked;
    if (state->link.has_facts && tracked && tracked->root > 0 && state->env->interval_ns > NVML_PACE_MOST_NS)
        nvidia_link_want_usage(&state->link, UINT64_MAX);
}

static bool is_fresh(const struct nvidia_state *state, int64_t now_ns)
{
    const struct opt_i64 read_ns = state->link.read_ns;
    return read_ns.has && now_ns - read_ns.v <= nvml_pace_patience(state->env->interval_ns);
}

static struct opt_f64 energy_of(const struct nvidia_card *card)
{
    if (!card->first_joules.has || !card->last_joules.has || card->last_joules.v < card->first_joules.v)
        return (struct opt_f64){0};
    return some_f64(card->last_joules.v - card->first_joules.v);
}

static void account_for_helper(const struct nvidia_state *state)
{
    struct helpers *helpers = state->env->helpers;
    if (!helpers)
        return;
    helpers->cpu_ns = state->link.past_cpu_ns + state->link.cpu_ns;
    helpers->rss_bytes = state->link.rss_bytes;
}

static void report_error(const struct nvidia_state *state, bool is_fresh, struct err *err)
{
    const struct nvidia_link *link = &state->link;
    if (!is_fresh && link->why.code < 0)
        *err = link->why;
    else if (!is_fresh && link->read_ns.has)
        (void)err_set(err, -ETIMEDOUT, "nvidia: the driver has not answered in time");
    else if (state->is_foreign)
        (void)err_set(err, -ESRCH,
            "nvidia: the driver lists none of the command's processes (they have other PIDs outside of this "
            "container): the GPU use of the command is unknown");
    for (size_t i = 0; is_fresh && i < link->cards.count; i++) {
        if (link->cards.items[i].current.is_lost == 1)
            (void)err_set(err, -ENODEV, "nvidia: GPU %s (%s) no longer responds", link->cards.items[i].facts.host_id,
                link->cards.items[i].facts.uuid);
    }
}

static int nvidia_read(void *opaque, const struct gpu_tick *tick, struct gpu_list *ret_list, struct err *err)
{
    struct nvidia_state *state = opaque;
    struct nvidia_link *link = &state->link;
    if (!state->has_slot)
        link->slot_ns = tick->slot_ns;
    state->has_slot = true;
    nvidia_link_tick(link, tick->now_ns);
    bool wants_energy = tick->is_final && state->env->gpu.wants_energy;
    if (wants_energy)
        nvidia_link_ask_energy(link);
    account_for_helper(state);
    size_t count = link->has_facts ? link->cards.count : 0;
    int r = vec_grow(&state->cards, &state->card_cap, count, sizeof(*state->cards), NVML_CARDS_MAX);
    if (r < 0)
        return err_sys(err, r, "nvidia: cannot list %zu cards", count);
    bool fresh = is_fresh(state, tick->now_ns);
    for (size_t i = 0; i < count; i++) {
        state->cards[i] = (struct gpu_card){.facts = link->cards.items[i].facts};
        if (fresh)
            nvml_wire_get_reading(&link->cards.items[i].current, &state->cards[i].reading);
        state->cards[i].has_energy = link->cards.items[i].first_joules.has;
        if (wants_energy && link->has_all_energy)
            state->cards[i].energy_joules = energy_of(&link->cards.items[i]);
    }
    report_error(state, fresh, err);
    /* An error that comes and goes is one error, and is over when it has stayed away for a while. */
    if (!fresh && err->code < 0 && link->read_ns.has) {
        state->last_error = *err;
        state->last_error_ns = tick->now_ns;
    } else if (err->code == 0 && state->last_error.code < 0 && tick->now_ns - state->last_error_ns < ERROR_HOLD_NS)
        *err = state->last_error;
    *ret_list = (struct gpu_list){.cards = state->cards, .count = count, .is_known = link->has_facts};
    return 0;
}

static bool is_device_file(const char *target)
{
    return strncmp(target, "/dev/nvidia", 11) == 0 || strcmp(target, "/dev/dxg") == 0;
}

static bool stop_at_device(void *context, int fd, const char *target)
{
    (void)fd;
    *(bool *)context = is_device_file(target);
    return !*(bool *)context;
}

/* Absent where it may not be read. */
static struct opt_bool holds_device(const struct nvidia_state *state, pid_t pid)
{
    bool holds = false;
    int r = pid_each_fd(state->env->root->proc_fd, pid, stop_at_device, &holds);
    bool is_hidden = r < 0 && r != -ENOENT && r != -ESRCH;
    return holds || !is_hidden ? some_bool(holds) : (struct opt_bool){0};
}

/* Where the members are too many for one tick, one is taken to be a holder until all were searched. */
static void find_holders(struct nvidia_state *state, const struct gpu_tick *tick)
{
    if (tick->now_ns < state->holders_due_ns)
        return;
    const struct clock *clock = state->env->clock;
    int64_t begin_ns = clock_read(clock, CLOCK_KIND_OWN_CPU), cost_ns = 0;
    bool holds = false;
    size_t i = state->holders_at;
    while (i < tick->member_count && !holds && cost_ns < HOLDERS_TICK_NS) {
        struct opt_bool member = holds_device(state, tick->members[i++].pid);
        holds = !member.has || member.v; /* what one does that may not be read is not known */
        cost_ns = clock_read(clock, CLOCK_KIND_OWN_CPU) - begin_ns;
    }
    state->has_holders = holds || i < tick->member_count;
    state->holders_at = holds || i >= tick->member_count ? 0 : i;
    int64_t pause_ns = cost_ns * HOLDERS_SHARE;
    pause_ns = pause_ns > NS_PER_SEC ? pause_ns : NS_PER_SEC;
    if (state->holders_at == 0)
        state->holders_due_ns = tick->now_ns + (pause_ns < HOLDERS_MOST_NS ? pause_ns : HOLDERS_MOST_NS);
}

static bool is_member(const struct nvidia_state *state, const struct gpu_tick *tick, pid_t pid, bool with_ended)
{
    for (size_t i = 0; i < tick->member_count; i++) {
        if (tick->members[i].pid == pid)
            return true;
    }
    for (size_t i = 0; with_ended && i < state->before.count; i++) {
        if (state->before.items[i] == pid)
            return true;
    }
    return false;
}

/* The sums of one card. A process that has ended since the sample before counts in the reading that still saw it. */
static struct gpu_use sum_processes(struct nvidia_state *state, const struct gpu_tick *tick,
    const struct nvml_wire_reading *reading, size_t *ret_matches)
{
    struct gpu_use use = {.usage = some_f64(0), .vram_bytes = some_u64(0)};
    bool is_new = state->link.read_ns.v > state->previous_ns;
    for (size_t i = 0; i < reading->process_count; i++) {
        const struct nvml_wire_process *process = &reading->processes[i];
        if (process->pid > INT32_MAX || !is_member(state, tick, (pid_t)process->pid, is_new))
            continue;
        if (state->is_namespaced && !state->is_proven && !holds_device(state, (pid_t)process->pid).v)
            continue;
        (*ret_matches)++;
        use.usage.has &= (process->known & NVML_WIRE_HAS_USAGE) != 0;
        use.usage.v += process->usage;
        use.vram_bytes.has &= (process->known & NVML_WIRE_HAS_VRAM) != 0;
        use.vram_bytes.v += (uint64_t)process->vram_bytes;
    }
    if (use.usage.v > 1)
        use.usage.v = 1;
    /* What the tree did between the last reading and its end is not known. */
    if (!is_new && tick->member_count == 0 && state->before.count > 0)
        use.usage = (struct opt_f64){0};
    return use;
}

/* Where no process of the tree is listed: is that because none uses a GPU, or because the numbers are other ones? */
static bool is_believed(struct nvidia_state *state, const struct gpu_tick *tick, size_t matches)
{
    if (!state->is_namespaced || state->is_proven)
        return true;
    state->is_proven = matches > 0;
    if (!state->is_proven)
        find_holders(state, tick);
    return state->is_proven || !state->has_holders;
}

static void remember_members(struct nvidia_state *state, const struct gpu_tick *tick)
{
    /* A command that has only just been started is not read yet. */
    if (tick->baseline && tick->member_count == 0)
        return;
    state->before.count = 0;
    state->previous_ns = tick->now_ns;
    if (VEC_GROW(&state->before, tick->member_count, MEMBERS_MAX) < 0)
        return;
    for (size_t i = 0; i < tick->member_count; i++)
        state->before.items[state->before.count++] = tick->members[i].pid;
}

static void nvidia_attribute(void *opaque, const struct gpu_tick *tick)
{
    struct nvidia_state *state = opaque;
    const struct nvidia_cards *known = &state->link.cards;
    size_t count = state->link.has_facts && is_fresh(state, tick->now_ns) ? known->count : 0, matches = 0;
    uint64_t used_cards = 0;
    for (size_t i = 0; i < count; i++) {
        const struct nvml_wire_reading *reading = &known->items[i].current;
        size_t before = matches;
        if (reading->has_processes == 1)
            state->cards[i].use = sum_processes(state, tick, reading, &matches);
        used_cards |= (uint64_t)(matches > before) << i;
    }
    /* On a wide grid a process may come and end between two samples; then every card must be watched. */
    if (state->env->interval_ns > NVML_PACE_MOST_NS)
        used_cards = UINT64_MAX;
    if (count > 0)
        nvidia_link_want_usage(&state->link, used_cards);
    if (count > 0)
        state->is_foreign = !is_believed(state, tick, matches);
    if (count > 0 && state->is_foreign) {
        for (size_t i = 0; i < count; i++)
            state->cards[i].use = (struct gpu_use){0};
    }
    remember_members(state, tick);
}

static bool nvidia_remark(const struct collect_env *env, bool is_found, struct gpu_remark *ret_remark)
{
    const struct sysroot *root = env->root;
    *ret_remark = (struct gpu_remark){.kind = GPU_REMARK_LIMITED,
        .subject = "nvidia processes",
        .remedy = "Use docker run --pid=host; in Kubernetes set hostPID: true.",
        .text = "running in a PID namespace: where the driver reports other PIDs, process_gpu_* are null"};
    if (is_found)
        return !sysroot_in_first_pid_namespace(root);
    *ret_remark = (struct gpu_remark){.kind = GPU_REMARK_MISSING,
        .subject = "nvidia",
        .remedy = "Use docker run --gpus all; in Kubernetes set a limit for nvidia.com/gpu.",
        .text = "the driver is loaded, but no device file is accessible"};
    return root->proc_fd >= 0 && faccessat(root->proc_fd, "driver/nvidia/version", F_OK, 0) == 0;
}

const struct gpu_vendor gpu_vendor_nvidia = {
    .name = "nvidia",
    .drivers = NVIDIA_DRIVERS,
    .state_bytes = sizeof(struct nvidia_state),
    .open = nvidia_open,
    .read = nvidia_read,
    .attribute = nvidia_attribute,
    .close = nvidia_close,
    .watch_fd = nvidia_watch_fd,
    .woken = nvidia_woken,
    .run_helper = nvml_helper_run,
    .remark = nvidia_remark,
    .remedy = "Check that nvidia-smi works here.",
};
