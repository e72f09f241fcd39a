/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payloads: one list of rows for the job, the machine and the cloud, walked flat for the registration and as three
 * objects for run.json. A key that is suppressed, or has no value, leaves no trace.
 */
#include "stream/payload.h"

#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/str.h"
#include "base/utc.h"
#include "encode/json.h"

/* Of the argv as JSON; what comes behind is shown by one last "…". */
enum { COMMAND_BYTES_MAX = 32 * 1024 };
#define COMMAND_CUT "\"\xe2\x80\xa6\""

/* An object that is being written. */
struct members {
    struct buf *buf;
    const char *omit;
    bool has_some;
};

enum row_kind { ROW_TEXT, ROW_ARRAY, ROW_U64, ROW_F64, ROW_TAGS, ROW_COMMAND };

struct row {
    char key[23];
    enum row_kind kind : 8;
    uint16_t offset; /* in its struct */
};

#define JOB(name)                                                                                                      \
    {                                                                                                                  \
#name, ROW_TEXT, offsetof(struct job_facts, name)                                                              \
    }
#define HOST(kind, name)                                                                                               \
    {                                                                                                                  \
        "host_" #name, kind, offsetof(struct host_facts, name)                                                         \
    }
#define CLOUD(kind, name)                                                                                              \
    {                                                                                                                  \
        "cloud_" #name, kind, offsetof(struct cloud_facts, name)                                                       \
    }

static const struct row job_rows[] = {
    JOB(job_name),
    JOB(project_name),
    JOB(stage_name),
    JOB(task_name),
    JOB(team),
    JOB(env),
    JOB(language),
    JOB(orchestrator),
    JOB(executor),
    JOB(external_run_id),
    JOB(container_image),
    {"tags", ROW_TAGS, 0},
    {"command", ROW_COMMAND, 0},
};

static const struct row part_rows[] = {JOB(rank), JOB(world_size), JOB(node)};

static const struct row host_rows[] = {
    HOST(ROW_ARRAY, id),
    HOST(ROW_ARRAY, hostname),
    HOST(ROW_ARRAY, ip),
    HOST(ROW_TEXT, server_allocation),
    HOST(ROW_U64, vcpus),
    HOST(ROW_ARRAY, cpu_model),
    HOST(ROW_U64, memory_mib),
    HOST(ROW_ARRAY, gpu_model),
    HOST(ROW_U64, gpu_count),
    HOST(ROW_U64, gpu_memory_mib),
    HOST(ROW_F64, storage_gb),
};

static const struct row cloud_rows[] = {
    CLOUD(ROW_TEXT, vendor_id),
    CLOUD(ROW_ARRAY, account_id),
    CLOUD(ROW_ARRAY, region_id),
    CLOUD(ROW_ARRAY, zone_id),
    CLOUD(ROW_ARRAY, instance_type),
};

bool payload_is_omitted(const char *omit, const char *key)
{
    struct str rest = str_of(omit ? omit : ""), name;
    while (str_cut(&rest, ',', &name)) {
        if (str_eq(str_trim(name), str_of(key)))
            return true;
    }
    return false;
}

static void put_key(struct members *members, const char *key)
{
    members->has_some = true;
    json_put_key(members->buf, key);
}

static void put_text(struct members *members, const char *key, const char *text)
{
    if (!text || !text[0] || payload_is_omitted(members->omit, key))
        return;
    put_key(members, key);
    json_put_string(members->buf, str_of(text));
}

static void put_u64(struct members *members, const char *key, uint64_t value)
{
    put_key(members, key);
    num_put_u64(members->buf, value);
}

static void put_f64(struct members *members, const char *key, double value)
{
    char text[NUM_TEXT_BYTES];
    const char *end = num_write_short(text, value);
    if (!end)
        return;
    put_key(members, key);
    buf_append(members->buf, text, (size_t)(end - text));
}

static void put_time(struct members *members, const char *key, int64_t unix_secs)
{
    members->has_some = true;
    json_put_time(members->buf, key, unix_secs);
}

static void put_tags(struct members *members, const char *key, const struct job_facts *job)
{
    struct members tags = {.buf = members->buf};
    for (size_t i = 0; i < job->tag_count; i++) {
        const struct job_tag *tag = &job->tags[i];
        if (!tag->key || !tag->key[0] || !tag->value)
            continue;
        if (!tags.has_some) {
            put_key(members, key);
            buf_putc(members->buf, '{');
        }
        put_key(&tags, tag->key);
        json_put_string(tags.buf, str_of(tag->value));
    }
    if (tags.has_some)
        buf_putc(members->buf, '}');
}

/* ["make","-j8"]; a command line of any length gives a bounded text. */
static void put_argv(struct buf *buf, char *const *argv)
{
    size_t limit = buf->max - sizeof("," COMMAND_CUT "]");
    buf_putc(buf, '[');
    for (size_t i = 0; argv[i]; i++) {
        size_t before = buf->len;
        if (i > 0)
            buf_putc(buf, ',');
        json_put_string(buf, str_of(argv[i]));
        if (buf_ok(buf) && buf->len <= limit)
            continue;
        buf->len = before;
        buf->failed = false;
        buf_puts(buf, &"," COMMAND_CUT[i > 0 ? 0 : 1]);
        break;
    }
    buf_putc(buf, ']');
}

static void put_command(struct members *members, const char *key, char *const *argv)
{
    if (!argv || !argv[0])
        return;
    AUTO_BUF struct buf array = {.max = COMMAND_BYTES_MAX};
    put_argv(&array, argv);
    if (!buf_ok(&array)) /* no memory: better no command than half of one */
        return;
    put_key(members, key);
    json_put_string(members->buf, buf_str(&array));
}

static void put_row(struct members *members, const struct row *row, const void *base)
{
    const void *at = (const char *)base + row->offset;
    const struct opt_u64 *number = at;
    const struct opt_f64 *real = at;
    const struct job_facts *job = base;
    if (payload_is_omitted(members->omit, row->key))
        return;
    switch (row->kind) {
    case ROW_TEXT:
        put_text(members, row->key, *(const char *const *)at);
        break;
    case ROW_ARRAY:
        put_text(members, row->key, at);
        break;
    case ROW_U64:
        if (number->has)
            put_u64(members, row->key, number->v);
        break;
    case ROW_F64:
        if (real->has)
            put_f64(members, row->key, real->v);
        break;
    case ROW_TAGS:
        put_tags(members, row->key, job);
        break;
    case ROW_COMMAND:
        put_command(members, row->key, job->command);
        break;
    }
}

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void put_rows(struct members *members, const struct row *rows, size_t count, const void *base)
{
    for (size_t i = 0; i < count; i++)
        put_row(members, &rows[i], base);
}

void payload_register(struct buf *buf, const struct run_facts *facts, const char *omit)
{
    struct members members = {.buf = buf, .omit = omit};
    buf_putc(buf, '{');
    put_rows(&members, job_rows, COUNT(job_rows), &facts->job);
    put_rows(&members, host_rows, COUNT(host_rows), &facts->host);
    put_rows(&members, cloud_rows, COUNT(cloud_rows), &facts->cloud);
    buf_putc(buf, '}');
}

static void put_outcome(struct members *members, const struct end_facts *end)
{
    if (end->exit_code.has) {
        put_key(members, "exit_code");
        num_put_i64(members->buf, end->exit_code.v);
    }
    put_text(members, "run_status", end->is_failed ? "failed" : "finished");
}

void payload_end(struct buf *buf, const struct end_facts *end)
{
    struct members members = {.buf = buf};
    put_outcome(&members, end);
    put_time(&members, "finished_at", end->finished_secs);
}

/* "key":{…}; nothing at all where the object would be empty. */
static void put_object(struct members *members, const char *key, const struct row *rows, size_t count, const void *base)
{
    struct members before = *members;
    size_t start = members->buf->len;
    put_key(members, key);
    buf_putc(members->buf, '{');
    struct members inner = {.buf = members->buf, .omit = members->omit};
    put_rows(&inner, rows, count, base);
    buf_putc(members->buf, '}');
    if (inner.has_some)
        return;
    members->buf->len = start;
    *members = before;
}

void payload_run(struct buf *buf, const struct run_facts *facts, const char *omit)
{
    struct members members = {.buf = buf};
    buf_putc(buf, '{');
    put_text(&members, "run_id", facts->run_id);
    put_time(&members, "started_at", facts->started_secs);
    put_text(&members, "version", facts->version);
    if (facts->pid > 0)
        put_u64(&members, "pid", (uint64_t)facts->pid);
    if (facts->interval_secs > 0)
        put_f64(&members, "interval_secs", facts->interval_secs);
    members.omit = omit;
    put_object(&members, "job", job_rows, COUNT(job_rows), &facts->job);
    put_object(&members, "part", part_rows, COUNT(part_rows), &facts->job);
    put_object(&members, "host", host_rows, COUNT(host_rows), &facts->host);
    put_object(&members, "cloud", cloud_rows, COUNT(cloud_rows), &facts->cloud);
    buf_putc(buf, '}');
}

void payload_put_event(
    struct buf *buf, const struct run_facts *facts, const struct payload_event *event, const char *omit)
{
    struct members members = {.buf = buf};
    buf_putc(buf, '{');
    put_text(&members, "event", event->event);
    put_text(&members, "run_id", facts->run_id);
    if (!payload_is_omitted(omit, "job_name"))
        put_text(&members, "job_name", facts->job.job_name);
    if (!payload_is_omitted(omit, "host_hostname"))
        put_text(&members, "hostname", facts->host.hostname);
    if (facts->pid > 0)
        put_u64(&members, "pid", (uint64_t)facts->pid);
    put_time(&members, "timestamp", event->now_secs);
    put_f64(&members, "elapsed_secs", event->elapsed_secs);
    if (event->end)
        put_outcome(&members, event->end);
    buf_putc(buf, '}');
}

void payload_summary(struct buf *buf, const struct summary *summary, const struct settings *settings)
{
    const struct sample_list none = {0};
    struct summary sent = *summary;
    sent.processes = sent.programs = none;
    if (!settings->send_command)
        sent.command = sent.cpu.processes = sent.memory.processes = none;
    if (payload_is_omitted(settings->omit, "host_hostname"))
        sent.hostname = NULL;
    if (payload_is_omitted(settings->omit, "host_cpu_model"))
        sent.machine.cpu_model = NULL;
    if (payload_is_omitted(settings->omit, "host_vcpus"))
        sent.machine.cpus = (struct opt_u64){0};
    if (payload_is_omitted(settings->omit, "host_memory_mib"))
        sent.machine.memory_mib = (struct opt_f64){0};
    if (payload_is_omitted(settings->omit, "host_gpu_model"))
        sent.machine.gpus = sent.gpu.names = sent.gpu.devices = none;
    json_put_object(buf, field_summary, &sent);
    if (buf_ok(buf))
        return;
    buf->failed = false;
    buf_clear(buf);
    sent.phases = sent.metadata = sent.tags = none;
    json_put_object(buf, field_summary, &sent);
}
