/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every vendor of GPUs is asked as a run asks it. One that answers from a process of its own has to be waited for: a
 * while, since a driver that is not kept awake takes seconds to start.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "collect/gpu/gpu.h"
#include "doctor/doctor_internal.h"

#define ANSWER_NS (10 * NS_PER_SEC)
enum { STEP_MS = 20, ROUNDS_MIN = 2 };

/* Asks until the devices are known, or there is trouble to tell. */
static int ask(const struct doctor *doctor, const struct gpu_vendor *vendor, void *state, struct gpu_list *ret_list,
    struct err *err)
{
    const struct clock *clock = doctor->env.clock;
    int64_t now_ns = clock_read(clock, CLOCK_KIND_MONOTONIC);
    const int64_t start_ns = now_ns;
    int r = 0;
    for (int i = 0; now_ns - start_ns < ANSWER_NS; i++) {
        struct gpu_tick tick = {.baseline = i == 0, .now_ns = now_ns, .slot_ns = start_ns};
        r = vendor->read(state, &tick, ret_list, err);
        if (r < 0 || err->code < 0 || (ret_list->is_known && i + 1 >= ROUNDS_MIN))
            return r;
        (void)poll(NULL, 0, STEP_MS);
        now_ns = clock_read(clock, CLOCK_KIND_MONOTONIC);
    }
    return err_set(err, -ETIMEDOUT, "%s: the driver has not answered in 10 s", vendor->name);
}

/* "2: NVIDIA H200, driver nvidia, driver_version 570.1" */
static void say_cards(struct doctor *doctor, const struct gpu_vendor *vendor, const struct gpu_list *list)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 256);
    const struct gpu_facts *facts = list->count > 0 ? &list->cards[0].facts : NULL;
    for (size_t i = 0; facts && i < facts->detail_count; i++) {
        const struct gpu_detail *detail = &facts->details[i];
        if (strncmp(detail->key, "driver", 6) == 0)
            buf_printf(&text, ", %s %s", detail->key, detail->value);
    }
    doctor_say(doctor, vendor->name, DOCTOR_OK, NULL, "%zu found%s%s%s", list->count, facts ? ": " : "",
        facts ? facts->name[0] ? facts->name : facts->device_type : "", buf_cstr(&text));
}

/* Returns whether the machine has something of this vendor, be it out of reach. */
static bool say_remark(struct doctor *doctor, const struct gpu_vendor *vendor, bool is_found)
{
    static const enum doctor_state states[] = {
        [GPU_REMARK_LIMITED] = DOCTOR_LIMITED,
        [GPU_REMARK_OFF] = DOCTOR_OFF,
        [GPU_REMARK_MISSING] = DOCTOR_MISSING,
    };
    struct gpu_remark remark;
    if (!vendor->remark || !vendor->remark(&doctor->env, is_found, &remark))
        return is_found;
    doctor_say(doctor, remark.subject, states[remark.kind], remark.remedy, "%s", remark.text);
    return is_found || remark.kind == GPU_REMARK_MISSING;
}

/* Returns whether there is anything of this vendor. */
static bool check_vendor(struct doctor *doctor, const struct gpu_vendor *vendor)
{
    struct err err = {0};
    struct gpu_list list = {0};
    AUTO_FREE void *state = calloc(1, vendor->state_bytes);
    if (!state) {
        doctor->is_short = true;
        return false;
    }
    int opened = vendor->open(state, &doctor->env, &err), r = opened;
    if (r == -ENODATA)
        return false;
    if (r == 0)
        r = ask(doctor, vendor, state, &list, &err);
    if (r == 0 && list.is_known)
        say_cards(doctor, vendor, &list);
    if (r < 0 || err.code < 0)
        doctor_say(doctor, vendor->name, DOCTOR_LIMITED, vendor->remedy ? vendor->remedy : doctor_remedy(err.code),
            "%s", err.msg);
    (void)say_remark(doctor, vendor, true);
    if (opened == 0)
        vendor->close(state);
    return true;
}

void doctor_check_gpu(struct doctor *doctor)
{
    const struct settings *settings = doctor->settings;
    const struct sysroot *root = &doctor->root;
    if (!settings->collect_gpu) {
        doctor_say(doctor, "gpu", DOCTOR_OFF, NULL, "turned off (collect.gpu)");
        return;
    }
    if (root->is_host)
        doctor->env.gpu = (struct collect_gpu){
            .nvml_library = settings->nvml_path,
            .program = SYSROOT_OWN_PROGRAM,
            .environment = settings->environment,
        };
    uint64_t found = 0; /* a bit for each vendor */
    for (size_t i = 0; i < gpu_vendor_count; i++)
        found |= (uint64_t)check_vendor(doctor, gpu_vendors[i]) << i;
    bool is_any = found != 0;
    for (size_t i = 0; i < gpu_vendor_count; i++) {
        if (!(found >> i & 1))
            is_any |= say_remark(doctor, gpu_vendors[i], false);
    }
    if (!is_any && root->sys_fd >= 0 && faccessat(root->sys_fd, "class", F_OK, 0) == 0)
        doctor_say(doctor, "devices", DOCTOR_OK, NULL, "none found");
    else if (!is_any)
        doctor_say(doctor, "devices", DOCTOR_MISSING, DOCTOR_MOUNT_REMEDY, "unknown without /sys");
}
