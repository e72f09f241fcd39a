/* SPDX-License-Identifier: Apache-2.0 */
/* --upload-spool: delivers runs that earlier processes left in the spool. */
#include "stream/stream_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/progress.h"
#include "stream/batch.h"
#include "stream/delivery.h"
#include "summary/units.h"

/* A target that fails so often in a row is left for another time. */
enum { UPLOAD_FAILURES_MAX = 5 };

/* The longest pause, whatever a server asks for. */
#define UPLOAD_PAUSE_NS (60 * NS_PER_SEC)
#define UPLOAD_SHOW_NS (250 * NS_PER_MS)

struct upload {
    const struct stream_options *options;
    struct target_clients *clients; /* by target; kept from run to run */
    struct exchange exchange; /* single-threaded here, but the targets send their notices to one */
    struct buf *report;
    struct spool *spool;
    struct net_wait wait; /* that shows how far it is */
    struct progress progress;
    uint64_t bytes; /* in the spool at the start */
};

/* What is still there is still to be delivered. */
static void show_progress(struct upload *upload)
{
    if (!progress_is_due(&upload->progress))
        return;
    uint64_t left = spool_count_bytes(upload->spool, "", UINT64_MAX);
    progress_show(&upload->progress, left < upload->bytes ? upload->bytes - left : 0, upload->bytes);
}

static int wait_shown(void *context, int fd, short events, int64_t deadline_ns)
{
    struct upload *upload = context;
    for (;;) {
        show_progress(upload);
        int64_t next_ns = clock_now() + UPLOAD_SHOW_NS;
        bool is_last = !upload->progress.is_enabled || next_ns >= deadline_ns;
        int r = net_wait_until(&net_wait_plain, fd, events, is_last ? deadline_ns : next_ns);
        if (r != -ETIMEDOUT || is_last)
            return r;
    }
}

/* One run. */
struct upload_run {
    struct upload *upload;
    struct spool_run run;
    struct run_state state;
    struct delivery delivery;
};

/* A killed tracker did not write down the end: when something was last written is what is known of it. */
static void guess_end(struct upload_run *run)
{
    struct stat status;
    char journal[32];
    int64_t newest = run->state.started_secs;
    (void)snprintf(journal, sizeof(journal), "%06u.csv", (unsigned)run->run.open_number);
    if (fstat(run->run.dir_fd, &status) == 0 && status.st_mtime > newest)
        newest = status.st_mtime;
    if (fstatat(run->run.dir_fd, journal, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mtime > newest)
        newest = status.st_mtime;
    run->state.end = (struct end_facts){.is_failed = true, .finished_secs = newest};
    run->state.has_end = true;
}

/* The file "end" is newer than the state, which a disk that was full may not have taken. */
static void find_end(struct upload_run *run)
{
    AUTO_BUF struct buf text = {.max = 16 * SPOOL_END_BYTES};
    struct err ignored = {0};
    if (run->state.has_end)
        return;
    if (spool_run_load_end(&run->run, &text, &ignored) < 0 || run_state_parse_end(buf_str(&text), &run->state) < 0)
        guess_end(run);
}

static int load(struct upload_run *run, struct err *err)
{
    AUTO_BUF struct buf text = {.max = SPOOL_STATE_BYTES_MAX};
    int r = spool_run_load_state(&run->run, &text, err);
    if (r == 0)
        r = run_state_parse(buf_str(&text), &run->state, err);
    if (r < 0)
        return r;
    if (run->state.made_directories > run->run.spool->made && strcmp(run->state.made_in, run->run.spool->path) == 0)
        run->run.spool->made = run->state.made_directories;
    (void)spool_run_find_journal(&run->run);
    find_end(run);
    r = batch_recover(&run->run, err);
    return r < 0 ? r : 0;
}

static void open_targets(struct upload_run *run)
{
    run->delivery = (struct delivery){
        .options = run->upload->options,
        .run = &run->run,
        .state = &run->state,
        .exchange = &run->upload->exchange,
        .is_over = true,
    };
    for (size_t i = 0; i < stream_target_count; i++)
        target_open(&run->state.targets[i], &run->delivery, &run->upload->clients[i]);
}

static const char *lack_of(const struct target_run *target)
{
    return target_is_open(target) && target->target->lack ? target->target->lack(target) : NULL;
}

static void deliver_to(struct upload *upload, struct target_run *target)
{
    if (lack_of(target))
        return;
    for (;;) {
        int64_t due_ns = target_next_due(target);
        if (due_ns == DELIVERY_NEVER || target->retry.failures >= UPLOAD_FAILURES_MAX ||
            due_ns - delivery_now(target->delivery) > UPLOAD_PAUSE_NS)
            return;
        (void)net_wait_until(&upload->wait, -1, 0, due_ns);
        target->target->step(target, delivery_now(target->delivery) + DELIVERY_REQUEST_NS);
    }
}

static void report_failure(struct upload_run *run)
{
    struct buf *report = run->upload->report;
    buf_printf(report, "%s: not delivered:", run->run.name);
    for (size_t i = 0; i < stream_target_count; i++) {
        const struct target_run *target = &run->state.targets[i];
        if (!target_is_open(target))
            continue;
        const char *lack = lack_of(target);
        buf_putc(report, ' ');
        if (lack)
            buf_puts(report, lack);
        else
            target_put_reason(target, report);
    }
    buf_putc(report, '\n');
}

/* Returns whether everything is delivered and gone. */
static bool deliver(struct upload_run *run)
{
    for (size_t i = 0; i < stream_target_count; i++)
        deliver_to(run->upload, &run->state.targets[i]);
    struct err err = {0};
    if (!run_state_is_delivered(&run->state)) {
        report_failure(run);
        (void)delivery_save(&run->delivery);
        return false;
    }
    unsigned unreadable = run->delivery.unreadable;
    int r = spool_run_remove(&run->run, &err);
    if (r < 0)
        buf_printf(run->upload->report, "%s: delivered, but %s\n", run->run.name, err.msg);
    else if (unreadable > 0)
        buf_printf(run->upload->report, "%s: delivered, but for %u batches that could not be read\n", run->run.name,
            unreadable);
    else
        buf_printf(run->upload->report, "%s: delivered\n", run->run.name);
    return r == 0 || r == -ENODATA;
}

/* A tracker that was killed before it had written anything down, or whose disk took none of it: at most journals
 * without a row, which go. */
static bool is_stillborn(struct upload_run *run, int loaded)
{
    struct err ignored = {0};
    return loaded == -ENOENT && run->run.batches.count == 0 && batch_recover(&run->run, &ignored) == 0;
}

/* 0 delivered or not ours to deliver, 1 not delivered. */
static int upload_one(struct upload *upload, struct spool *spool, const char *name)
{
    struct err err = {0};
    struct upload_run run = {.upload = upload};
    int r = spool_run_open(&run.run, spool, name, &err);
    if (r == -EBUSY) {
        buf_printf(upload->report, "%s: is still running, left alone\n", name);
        return 0;
    }
    if (r == -ENOENT)
        return 0; /* another upload was faster */
    if (r < 0) {
        buf_printf(upload->report, "%s: not delivered: %s\n", name, err.msg);
        return 1;
    }
    bool is_done = false;
    r = run_state_init(&run.state) < 0 ? err_set(&err, -ENOMEM, "out of memory") : load(&run, &err);
    if (is_stillborn(&run, r)) {
        r = spool_run_remove(&run.run, &err);
        is_done = r == 0 || r == -ENODATA;
        if (r < 0)
            buf_printf(upload->report, "%s: nothing to deliver, but %s\n", name, err.msg);
    } else if (r < 0) {
        buf_printf(upload->report, "%s: not delivered: %s\n", name, err.msg);
    } else {
        open_targets(&run);
        is_done = deliver(&run);
    }
    run_state_fini(&run.state);
    spool_run_close(&run.run);
    return is_done ? 0 : 1;
}

/* As worker.c names them; anything else in the spool is not ours. */
static bool is_run_id(const char *name)
{
    static const char shape[] = "ddddddddTddddddZ-xxxxxxxx";
    size_t i = 0;
    for (; shape[i] != '\0' && name[i] != '\0'; i++) {
        bool is_digit = ascii_is_digit(name[i]);
        bool is_hex = ascii_hex_value(name[i]) >= 0 && !ascii_is_upper(name[i]);
        if (shape[i] == 'd' ? !is_digit : shape[i] == 'x' ? !is_hex : name[i] != shape[i])
            return false;
    }
    return shape[i] == name[i];
}

static int upload_all(struct upload *upload, struct spool *spool, struct err *err)
{
    AUTO_FREE struct spool_entry *entries = NULL;
    int count = spool_list(spool, &entries, err);
    if (count <= 0) {
        if (count == 0)
            buf_printf(upload->report, "nothing waits in %s\n", spool->path);
        return count;
    }
    int failed = 0;
    progress_begin(&upload->progress, units_put_bytes, true);
    progress_part(&upload->progress, "uploading");
    if (upload->progress.is_enabled)
        upload->bytes = spool_count_bytes(spool, "", UINT64_MAX);
    for (int i = 0; i < count; i++) {
        failed += is_run_id(entries[i].name) ? upload_one(upload, spool, entries[i].name) : 0;
        progress_clear(&upload->progress);
        exchange_log(&upload->exchange);
    }
    return failed;
}

int upload_spool(const struct stream_options *options, struct buf *report, struct err *err)
{
    struct spool spool;
    struct upload upload = {.options = options, .report = report, .spool = &spool};
    upload.wait = (struct net_wait){.until = wait_shown, .context = &upload};
    /* Without its limit: rows that were left behind take less room as a batch. */
    int r = spool_open(&spool, &options->spool_paths, UINT64_MAX, false, err);
    if (r == -ENOENT) {
        err_clear(err);
        buf_puts(report, "nothing waits: there is no spool\n");
        return 0;
    }
    if (r < 0)
        return r;
    r = exchange_init(&upload.exchange, err);
    if (r < 0) {
        spool_close(&spool);
        return r;
    }
    upload.clients = calloc(stream_target_count, sizeof(*upload.clients));
    r = upload.clients ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < stream_target_count; i++)
        r = target_clients_init(&upload.clients[i], stream_targets[i], options->settings, &upload.wait);
    if (r < 0)
        (void)err_set(err, r, "streaming: out of memory");
    else
        r = upload_all(&upload, &spool, err);
    for (size_t i = 0; upload.clients && i < stream_target_count; i++)
        target_clients_fini(&upload.clients[i]);
    free(upload.clients);
    exchange_fini(&upload.exchange);
    spool_close(&spool);
    return r;
}
