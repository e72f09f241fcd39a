/* SPDX-License-Identifier: Apache-2.0 */
/* What describes a run to OpenTelemetry: its resource, and one span for the job, with its phases as events. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/text.h"
#include "net/url.h"
#include "stream/targets/otlp_internal.h"

#define SCHEMA_URL "https://opentelemetry.io/schemas/1.44.0"

#if defined(__aarch64__)
#define ARCH "arm64"
#else
#define ARCH "amd64"
#endif

enum { KEY_BYTES = 64, SECTION_BYTES = 16 };

/*
 * Attributes and where their values are: a line is SECTION, and KEY=ATTRIBUTE for each; "-" is the document itself. An
 * attribute that begins with a dot is our own (otlp_name).
 */
static const char resource_attributes[] =
    "- run_id=service.instance.id version=.version\n"
    "job project_name=service.namespace job_name=.job.name command=process.command_args "
    "env=deployment.environment.name container_image=container.image.name team=.team stage_name=.stage.name "
    "task_name=.task.name orchestrator=.orchestrator executor=.executor external_run_id=.external_run.id "
    "language=.language\n"
    "part rank=.rank world_size=.world_size node=.node\n"
    "host host_id=host.id host_hostname=host.name host_cpu_model=host.cpu.model.name\n"
    "cloud cloud_vendor_id=cloud.provider cloud_account_id=cloud.account.id cloud_region_id=cloud.region "
    "cloud_zone_id=cloud.availability_zone cloud_instance_type=host.type\n";

/* The same for jobs of certain systems: VALUE of job.orchestrator or job.executor, and what job has then. */
static const char system_attributes[] =
    "slurm external_run_id=slurm.job.id task_name=slurm.array.task.id\n"
    "github-actions stage_name=cicd.pipeline.name external_run_id=cicd.pipeline.run.id "
    "job_name=cicd.pipeline.task.name\n"
    "gitlab-ci project_name=cicd.pipeline.name external_run_id=cicd.pipeline.run.id job_name=cicd.pipeline.task.name\n"
    "buildkite project_name=cicd.pipeline.name external_run_id=cicd.pipeline.run.id job_name=cicd.pipeline.task.name\n"
    "jenkins job_name=cicd.pipeline.name external_run_id=cicd.pipeline.run.id stage_name=cicd.pipeline.task.name\n";

/* Our names of clouds that have another one in the conventions. */
static const char clouds[] = "alicloud=alibaba_cloud hcloud=hetzner";

/* Of the summary. */
static const char span_attributes[] =
    "result exit_code=process.exit.code signal=.signal oom_kills=.oom_kills\n"
    "verdict kind=.verdict.kind text=.verdict.text\n"
    "- wall_secs=.wall_secs\n"
    "cpu total_secs=.cpu.total_secs cores_mean=.cpu.cores_mean cores_p95=.cpu.cores_p95 "
    "wanted_p95=.cpu.wanted_p95\n"
    "memory rss_peak_mib=.memory.rss_peak_mib pss_peak_mib=.memory.pss_peak_mib need_mib=.memory.need_mib\n"
    "disk read_bytes=.disk.read_bytes write_bytes=.disk.write_bytes\n"
    "gpu usage_mean=.gpu.usage_mean vram_peak_mib=.gpu.vram_peak_mib\n"
    "sizing vcpus=.sizing.vcpus memory_mib=.sizing.memory_mib\n";
static const char phase_attributes[] =
    "- wall_secs=.wall_secs cpu_secs=.cpu.total_secs cores_mean=.cpu.cores_mean memory_peak_mib=.memory.peak_mib\n";

/* Of Resource, Scope, ScopeMetrics and ScopeSpans, Span, Event and Status. */
enum { RESOURCES = 1, RESOURCE = 1, SCOPES = 2, SCHEMA = 3, SCOPE = 1, RESOURCE_ATTRIBUTES = 1, NAME = 1, VERSION = 2 };
enum { SPAN = 2, TRACE_ID = 1, SPAN_ID = 2, TRACE_STATE = 3, PARENT = 4, SPAN_NAME = 5, KIND = 6, START = 7, END = 8 };
enum { SPAN_ATTRIBUTES = 9, EVENTS = 11, STATUS = 15, INTERNAL = 1 };
enum { EVENT_TIME = 1, EVENT_NAME = 2, EVENT_ATTRIBUTES = 3, MESSAGE = 2, CODE = 3, CODE_ERROR = 2 };

/* The next of "NAME=VALUE,NAME=VALUE"; values are still encoded. Pairs of which a part is missing are left out. */
static bool next_given(struct str *rest, struct str *ret_name, struct str *ret_value)
{
    while (str_cut(rest, ',', ret_value)) {
        if (str_cut(ret_value, '=', ret_name) && ret_value->n > 0 && (*ret_name = str_trim(*ret_name)).n > 0)
            return true;
    }
    return false;
}

/* p NULL: it is not there. */
static struct str find_given(const struct otlp_run *run, struct str name)
{
    struct str rest = str_of(run->attributes), key, value;
    while (next_given(&rest, &key, &value)) {
        if (str_eq(key, name))
            return value;
    }
    return (struct str){0};
}

/* What the user has given counts in place of what we know. */
static bool is_given(const struct otlp_run *run, struct str attribute)
{
    return run && find_given(run, attribute).p;
}

static void put_decoded(const struct otlp_out *out, unsigned field, struct str key, struct str encoded)
{
    AUTO_BUF struct buf text = {.max = OTLP_ATTRIBUTES_BYTES};
    if (url_decode(&text, str_trim(encoded)) == 0 && text_is_plain(buf_str(&text)))
        otlp_put_attribute(out, field, key, buf_str(&text));
}

static void put_cloud(const struct otlp_out *out, unsigned field, struct str key, const struct json_value *value)
{
    struct str rest = STR(clouds), name, ours;
    while (str_cut(&rest, ' ', &name)) {
        if (str_cut(&name, '=', &ours) && value && str_eq(value->text, ours)) {
            otlp_put_attribute(out, field, key, name);
            return;
        }
    }
    otlp_put_attribute_json(out, field, key, value);
}

/* The pairs KEY=ATTRIBUTE behind a section. run: whose given attributes come first; NULL: there are none. */
static void put_pairs(const struct otlp_out *out, unsigned field, struct str pairs, const struct json_value *section,
    const struct otlp_run *run)
{
    struct str attribute, key;
    while (str_cut(&pairs, ' ', &attribute) && str_cut(&attribute, '=', &key)) {
        char name[KEY_BYTES], full[OTLP_NAME_BYTES];
        (void)str_copy(key, name, sizeof(name));
        attribute = otlp_name(attribute, full);
        if (is_given(run, attribute))
            continue;
        if (str_eq(attribute, STR("cloud.provider")))
            put_cloud(out, field, attribute, json_get(section, name));
        else
            otlp_put_attribute_json(out, field, attribute, json_get(section, name));
    }
}

static void put_table(const struct otlp_out *out, unsigned field, struct str table, const struct json_value *document,
    const struct otlp_run *run)
{
    struct str line, section;
    while (str_line(&table, &line) && str_cut(&line, ' ', &section)) {
        char name[SECTION_BYTES];
        (void)str_copy(section, name, sizeof(name));
        put_pairs(out, field, line, name[0] == '-' ? document : json_get(document, name), run);
    }
}

/* What the systems that started the job call it. */
static void put_system(const struct otlp_out *out, const struct json_value *job, const struct otlp_run *run)
{
    const struct json_value *names[] = {json_get(job, "orchestrator"), json_get(job, "executor")};
    struct str table = STR(system_attributes), line, system;
    while (str_line(&table, &line) && str_cut(&line, ' ', &system)) {
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            if (names[i] && str_eq(names[i]->text, system))
                put_pairs(out, RESOURCE_ATTRIBUTES, line, job, run);
        }
    }
}

static void put_tags(const struct otlp_out *out, const struct json_value *tags)
{
    struct str key;
    const struct json_value *value;
    for (size_t i = 0; (value = json_at(tags, i, &key)); i++) {
        AUTO_BUF struct buf name = {.max = OTLP_ATTRIBUTES_BYTES};
        buf_puts(&name, "resource_tracker.tag.");
        buf_append(&name, key.p, key.n);
        if (buf_ok(&name))
            otlp_put_attribute_json(out, RESOURCE_ATTRIBUTES, buf_str(&name), value);
    }
}

/* The file name of the first word of ["/usr/bin/make","-j8"]; p NULL: unknown. *text holds it. */
static struct str program_of(const struct json_value *job, struct buf *text)
{
    struct json_doc doc = {0};
    AUTO_BUF struct buf list = {.max = RUN_STATE_BODY_MAX};
    bool has_program = json_string(json_get(job, "command"), &list) && json_doc_parse(buf_str(&list), &doc) == 0 &&
                       json_string(json_at(doc.items, 0, NULL), text);
    json_doc_fini(&doc);
    if (!has_program)
        return (struct str){0};
    const char *slash = memrchr(text->data, '/', text->len);
    size_t before = slash ? (size_t)(slash + 1 - text->data) : 0;
    return (struct str){text->data + before, text->len - before};
}

/* The service, and what the span is called. */
static void put_names(const struct otlp_out *out, const struct json_value *job, const struct otlp_run *run)
{
    AUTO_BUF struct buf text = {.max = RUN_STATE_BODY_MAX};
    struct str program = program_of(job, &text), given = find_given(run, STR("service.name"));
    const struct json_value *job_name = json_get(job, "job_name");
    if (program.p && !is_given(run, STR("process.executable.name")))
        otlp_put_attribute(out, RESOURCE_ATTRIBUTES, STR("process.executable.name"), program);
    if (run->service[0])
        otlp_put_attribute(out, RESOURCE_ATTRIBUTES, STR("service.name"), str_of(run->service));
    else if (given.p)
        put_decoded(out, RESOURCE_ATTRIBUTES, STR("service.name"), given);
    else if (job_name)
        otlp_put_attribute_json(out, RESOURCE_ATTRIBUTES, STR("service.name"), job_name);
    else
        otlp_put_attribute(
            out, RESOURCE_ATTRIBUTES, STR("service.name"), program.p ? program : STR("resource-tracker"));
}

static void put_given(const struct otlp_out *out, const struct otlp_run *run)
{
    struct str rest = str_of(run->attributes), key, value;
    while (next_given(&rest, &key, &value)) {
        /* Each once. */
        if (!str_eq(key, STR("service.name")) && find_given(run, key).p == value.p)
            put_decoded(out, RESOURCE_ATTRIBUTES, key, value);
    }
}

static void put_resource(const struct otlp_out *out, const struct otlp_run *run, const struct run_state *state)
{
    struct json_doc doc = {0};
    const struct json_value *root = json_doc_parse(buf_str(&state->run_body), &doc) == 0 ? doc.items : NULL;
    const struct json_value *job = json_get(root, "job");
    size_t start = otlp_open(out, RESOURCE, "resource");
    otlp_open_list(out, "attributes");
    put_names(out, job, run);
    put_given(out, run);
    if (!is_given(run, STR("host.arch")))
        otlp_put_attribute(out, RESOURCE_ATTRIBUTES, STR("host.arch"), STR(ARCH));
    if (run->pid > 0 && !is_given(run, STR("process.pid"))) {
        char pid[24];
        int n = snprintf(pid, sizeof(pid), "%lld", (long long)run->pid);
        struct json_value value = {.type = JSON_NUMBER, .text = {pid, (size_t)n}};
        otlp_put_attribute_json(out, RESOURCE_ATTRIBUTES, STR("process.pid"), &value);
    }
    /* A process that is attached to (run.json has its PID) was started before. */
    if (!json_get(root, "pid"))
        put_pairs(out, RESOURCE_ATTRIBUTES, STR("started_at=process.creation.time"), root, run);
    put_table(out, RESOURCE_ATTRIBUTES, STR(resource_attributes), root, run);
    put_system(out, job, run);
    put_tags(out, json_get(job, "tags"));
    otlp_close_list(out);
    otlp_close(out, start);
    json_doc_fini(&doc);
}

struct otlp_frame otlp_frame_open(
    const struct otlp_out *out, const struct otlp_run *run, const struct run_state *state, bool is_span)
{
    struct otlp_frame frame;
    if (out->is_json)
        buf_putc(out->buf, '{');
    otlp_open_list(out, is_span ? "resourceSpans" : "resourceMetrics");
    frame.starts[0] = otlp_open(out, RESOURCES, NULL);
    put_resource(out, run, state);
    otlp_open_list(out, is_span ? "scopeSpans" : "scopeMetrics");
    frame.starts[1] = otlp_open(out, SCOPES, NULL);
    size_t scope = otlp_open(out, SCOPE, "scope");
    otlp_put_text(out, NAME, "name", STR("resource-tracker"));
    otlp_put_text(out, VERSION, "version", STR(RT_VERSION));
    otlp_close(out, scope);
    otlp_put_text(out, SCHEMA, "schemaUrl", STR(SCHEMA_URL));
    otlp_open_list(out, is_span ? "spans" : "metrics");
    return frame;
}

void otlp_frame_close(const struct otlp_out *out, const struct otlp_frame *frame)
{
    otlp_close_list(out);
    otlp_close(out, frame->starts[1]);
    otlp_close_list(out);
    otlp_put_text(out, SCHEMA, "schemaUrl", STR(SCHEMA_URL));
    otlp_close(out, frame->starts[0]);
    otlp_close_list(out);
    if (out->is_json)
        buf_putc(out->buf, '}');
}

static void put_events(const struct otlp_out *out, const struct json_value *phases, int64_t start_ms)
{
    const struct json_value *phase;
    otlp_open_list(out, "events");
    for (size_t i = 0; (phase = json_at(phases, i, NULL)); i++) {
        double start_secs = 0;
        AUTO_BUF struct buf name = {.max = OTLP_TEXT_BYTES};
        const struct json_value *start_value = json_get(phase, "start_secs");
        if (!start_value || num_parse_f64(start_value->text, &start_secs) < 0 ||
            !json_string(json_get(phase, "name"), &name))
            continue;
        size_t event = otlp_open(out, EVENTS, NULL);
        otlp_put_time(out, EVENT_TIME, "timeUnixNano", start_ms + (int64_t)(start_secs * 1000));
        otlp_put_text(out, EVENT_NAME, "name", buf_str(&name));
        otlp_open_list(out, "attributes");
        put_table(out, EVENT_ATTRIBUTES, STR(phase_attributes), phase, NULL);
        otlp_close_list(out);
        otlp_close(out, event);
    }
    otlp_close_list(out);
}

static void put_status(const struct otlp_out *out, const struct json_value *summary, const struct run_state *state)
{
    AUTO_BUF struct buf text = {.max = 4 * OTLP_TEXT_BYTES};
    /* Of a run whose tracker was killed nothing is known. */
    if (!state->end.is_failed || (!summary && !state->end.exit_code.has))
        return;
    (void)json_string(json_get(json_get(summary, "result"), "detail"), &text);
    size_t start = otlp_open(out, STATUS, "status");
    otlp_put_text(out, MESSAGE, "message", text.len > 0 ? buf_str(&text) : STR("failed"));
    otlp_put_enum(out, CODE, "code", CODE_ERROR);
    otlp_close(out, start);
}

/* The name of the span is that of the program. */
static void put_span_name(const struct otlp_out *out, const struct run_state *state)
{
    struct json_doc doc = {0};
    AUTO_BUF struct buf text = {.max = RUN_STATE_BODY_MAX};
    const struct json_value *root = json_doc_parse(buf_str(&state->run_body), &doc) == 0 ? doc.items : NULL;
    struct str program = program_of(json_get(root, "job"), &text);
    otlp_put_text(out, SPAN_NAME, "name", program.p ? program : STR("job"));
    json_doc_fini(&doc);
}

void otlp_put_span(const struct otlp_out *out, const struct otlp_run *run, const struct run_state *state)
{
    struct json_doc doc = {0};
    const struct json_value *summary =
        state->summary.len > 0 && json_doc_parse(buf_str(&state->summary), &doc) == 0 ? doc.items : NULL;
    int64_t start_ms = run->start_ms, end_ms = state->end.finished_secs * 1000, known_ms;
    if (json_integer(json_get(summary, "started_ms"), &known_ms))
        start_ms = known_ms;
    if (json_integer(json_get(summary, "finished_ms"), &known_ms))
        end_ms = known_ms;
    struct otlp_frame frame = otlp_frame_open(out, run, state, true);
    size_t span = otlp_open(out, SPAN, NULL);
    otlp_put_id(out, TRACE_ID, "traceId", run->trace);
    otlp_put_id(out, SPAN_ID, "spanId", run->span);
    if (run->trace_state[0])
        otlp_put_text(out, TRACE_STATE, "traceState", str_of(run->trace_state));
    if (run->parent[0])
        otlp_put_id(out, PARENT, "parentSpanId", run->parent);
    put_span_name(out, state);
    otlp_put_enum(out, KIND, "kind", INTERNAL);
    otlp_put_time(out, START, "startTimeUnixNano", start_ms);
    otlp_put_time(out, END, "endTimeUnixNano", end_ms < start_ms ? start_ms : end_ms);
    otlp_open_list(out, "attributes");
    put_table(out, SPAN_ATTRIBUTES, STR(span_attributes), summary, NULL);
    if (state->end.is_failed && summary)
        otlp_put_attribute_json(
            out, SPAN_ATTRIBUTES, STR("error.type"), json_get(json_get(summary, "result"), "verdict"));
    otlp_close_list(out);
    put_events(out, json_get(summary, "phases"), start_ms);
    put_status(out, summary, state);
    otlp_close(out, span);
    otlp_frame_close(out, &frame);
    json_doc_fini(&doc);
}
