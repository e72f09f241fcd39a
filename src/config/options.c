/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows, in the order of --help. Durations are given in nanoseconds (ranges) and as text (defaults). ROW only keeps
 * a row to a few lines.
 */
#include "config/options.h"

#include <stdint.h>

#include "base/clock.h"

#define AT(member) .offset = offsetof(struct settings, member)
#define DAY_NS (24 * 3600 * NS_PER_SEC)
#define PID_LIMIT 4194304 /* PID_MAX_LIMIT of 64-bit kernels */

#define ROW(...)                                                                                                       \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

#define JOB_TEXT(flag_, env_, key_, member_, help_)                                                                    \
    {                                                                                                                  \
        .flag = flag_, .envs = {env_}, .key = key_, .type = OPTION_STRING, .metavar = "TEXT", .group = GROUP_JOB,      \
        .help = help_, AT(member_)                                                                                     \
    }

#define COLLECT_SWITCH(env_, key_, member_, help_)                                                                     \
    {                                                                                                                  \
        .envs = {env_}, .key = key_, .type = OPTION_BOOL, .fallback = "true", .group = GROUP_COLLECT, .help = help_,   \
        AT(member_)                                                                                                    \
    }

#define HOOK_URL(env_, key_, member_, help_)                                                                           \
    {                                                                                                                  \
        .envs = {env_}, .key = key_, .type = OPTION_STRING, .metavar = "URL", .group = GROUP_STREAM, .help = help_,    \
        .props = OPTION_SECRET, AT(member_)                                                                            \
    }

const struct option_heading option_headings[GROUP_COUNT] = {
    [GROUP_TRACK] = {"What to track", NULL},
    [GROUP_OUTPUT] = {"Sampling and output", NULL},
    [GROUP_SUMMARY] = {"Summary and report", NULL},
    [GROUP_WRAPPER] = {"Running a command", NULL},
    [GROUP_JOB] = {"About the job", "The job name is part of every sample; the rest goes to streaming targets."},
    [GROUP_COLLECT] = {"Collectors", NULL},
    [GROUP_STREAM] = {"Streaming", "There is no network traffic unless one of the targets is set."},
    [GROUP_GENERAL] = {"General", NULL},
};

const char *const option_tables[] = {"tracker", "job", "collect", "sentinel", "s3", "http", NULL};

/* What is sent about the machine and its cloud, and may be left out. */
#define MACHINE_FIELDS                                                                                                 \
    "host_id\0host_hostname\0host_ip\0host_server_allocation\0host_vcpus\0host_cpu_model\0"                            \
    "host_memory_mib\0host_gpu_model\0host_gpu_count\0host_gpu_memory_mib\0"                                           \
    "host_storage_gb\0cloud_vendor_id\0cloud_account_id\0cloud_region_id\0cloud_zone_id\0"                             \
    "cloud_instance_type\0"

const struct option_row options[] = {
    ROW(.flag = "pid", .letter = 'p', .envs = {"TRACKER_PID"}, .key = "job.pid", .type = OPTION_OPT_INTEGER, .min = 1,
        .max = PID_LIMIT, .metavar = "PID", .group = GROUP_TRACK,
        .help = "track this running process and its descendants", AT(pid)),
    ROW(.flag = "stop-with-pid", .envs = {"TRACKER_STOP_WITH_PID"}, .key = "tracker.stop_with_pid", .type = OPTION_BOOL,
        .fallback = "false", .group = GROUP_TRACK, .help = "with --pid: exit when the tracked processes have exited",
        .modes = MODE_PID, AT(stop_with_pid)),
    ROW(.flag = "duration", .envs = {"TRACKER_DURATION"}, .key = "tracker.duration_secs", .type = OPTION_DURATION,
        .min = 10 * NS_PER_MS, .max = 365 * DAY_NS, .metavar = "TIME", .group = GROUP_TRACK,
        .help = "without a command: stop after this time, for example 90, 30s, 10m, 8h",
        .unset = "until SIGINT or SIGTERM", .modes = MODE_PID | MODE_HOST, AT(duration_ns)),
    ROW(.flag = "from", .type = OPTION_STRING, .metavar = "FILE", .group = GROUP_TRACK,
        .help = "replay recorded samples (JSON lines or CSV, optionally gzip) through the outputs; may be repeated",
        .props = OPTION_NONEMPTY, AT(from)),

    ROW(.flag = "interval", .letter = 'i', .envs = {"TRACKER_INTERVAL"}, .key = "tracker.interval_secs",
        .type = OPTION_DURATION, .min = 10 * NS_PER_MS, .max = DAY_NS, .fallback = "1", .metavar = "SECS",
        .group = GROUP_OUTPUT, .help = "time between samples, in seconds or with a unit: 0.25, 250ms, 2s, 1m",
        AT(interval_ns)),
    ROW(.flag = "format", .letter = 'f', .envs = {"TRACKER_FORMAT"}, .key = "tracker.format", .type = OPTION_CHOICE,
        .words = ENCODE_FORMAT_WORDS, .fallback = "json", .metavar = ENCODE_FORMAT_METAVAR, .group = GROUP_OUTPUT,
        .help = "write one JSON object or one CSV row per sample", AT(format)),
    ROW(.flag = "csv-columns", .envs = {"TRACKER_CSV_COLUMNS"}, .key = "tracker.csv_columns", .type = OPTION_CHOICE,
        .words = "auto\0system\0full\0python\0", .fallback = "auto", .metavar = "SET", .group = GROUP_OUTPUT,
        .help = "CSV columns: system (host only), full (host and process), auto (full if a process is tracked) or "
                "python (auto, with the column names of the Python package)",
        AT(csv_columns)),
    ROW(.flag = "output", .letter = 'o', .envs = {"TRACKER_OUTPUT"}, .key = "tracker.output", .type = OPTION_STRING,
        .unset = "stderr with a command, or if it is a file and stdout is not; otherwise stdout if it is captured, "
                 "else stderr; of a command or --pid none if stderr is a terminal and no format is given",
        .metavar = "FILE", .group = GROUP_OUTPUT,
        .help =
            "write samples to FILE (- is stdout; compressed if it ends in .gz); the name may contain {job}, {host}, "
            "{pid}, {datetime}",
        .props = OPTION_NONEMPTY, AT(output)),
    ROW(.flag = "append", .envs = {"TRACKER_APPEND"}, .key = "tracker.append", .type = OPTION_BOOL, .fallback = "false",
        .group = GROUP_OUTPUT, .help = "append to the output file instead of overwriting it", AT(append)),
    ROW(.flag = "quiet", .letter = 'q', .envs = {"TRACKER_QUIET"}, .key = "tracker.quiet", .type = OPTION_BOOL,
        .fallback = "false", .group = GROUP_OUTPUT, .help = "do not write samples", AT(quiet)),
    ROW(.flag = "live", .type = OPTION_BOOL, .fallback = "false", .group = GROUP_OUTPUT,
        .help = "show current usage at the bottom of the terminal (stderr) instead of samples", AT(live)),
    ROW(.flag = "renice", .letter = 'r', .envs = {"TRACKER_RENICE"}, .key = "tracker.renice",
        .type = OPTION_OPT_INTEGER, .min = -20, .max = 19, .bare = "19", .metavar = "N", .group = GROUP_OUTPUT,
        .help = "set the niceness of the tracker itself, never of the command: -20 to 19; 19 if no number is given",
        .unset = "5 less than the command if permitted", .modes = MODE_COMMAND | MODE_PID | MODE_HOST, AT(renice)),
    ROW(.flag = "sysroot", .envs = {"TRACKER_SYSROOT"}, .key = "tracker.sysroot", .type = OPTION_STRING,
        .fallback = "/", .metavar = "DIR", .group = GROUP_OUTPUT, .help = "read proc and sys from this directory",
        .props = OPTION_NONEMPTY, AT(sysroot)),

    ROW(.flag = "summary", .envs = {"TRACKER_SUMMARY"}, .key = "tracker.summary", .type = OPTION_CHOICE,
        .words = "auto\0always\0never\0", .fallback = "auto", .bare = "always", .metavar = "WHEN",
        .group = GROUP_SUMMARY,
        .help = "print a summary at the end: always, never or auto (if stderr is a terminal and gets no samples)",
        AT(summary)),
    ROW(.flag = "summary-json", .envs = {"TRACKER_SUMMARY_JSON"}, .key = "tracker.summary_json", .type = OPTION_STRING,
        .metavar = "FILE", .group = GROUP_SUMMARY, .help = "write the summary as JSON", .props = OPTION_NONEMPTY,
        AT(summary_json)),
    ROW(.flag = "summary-markdown", .envs = {"TRACKER_SUMMARY_MARKDOWN"}, .key = "tracker.summary_markdown",
        .type = OPTION_STRING, .metavar = "FILE", .group = GROUP_SUMMARY,
        .help = "append the summary as Markdown, for example to $GITHUB_STEP_SUMMARY", .props = OPTION_NONEMPTY,
        AT(summary_markdown)),
    ROW(.flag = "report", .envs = {"TRACKER_REPORT"}, .key = "tracker.report", .type = OPTION_STRING,
        .metavar = "FILE.html", .group = GROUP_SUMMARY,
        .help = "write a self-contained HTML page with charts; FILE.svg: a picture; the page saves a PNG",
        .props = OPTION_NONEMPTY, AT(report)),

    ROW(.flag = "grace", .envs = {"TRACKER_GRACE"}, .key = "tracker.grace_secs", .type = OPTION_DURATION, .min = 0,
        .max = 3600 * NS_PER_SEC, .fallback = "5", .metavar = "SECS", .group = GROUP_WRAPPER,
        .help = "maximum time that streaming may delay the exit", AT(grace_ns)),
    ROW(.flag = "cgroup", .envs = {"TRACKER_CGROUP"}, .key = "tracker.cgroup", .type = OPTION_BOOL, .fallback = "false",
        .group = GROUP_WRAPPER, .help = "run the command in its own cgroup if permitted", .modes = MODE_COMMAND,
        AT(cgroup)),
    ROW(.flag = "subreaper", .envs = {"TRACKER_SUBREAPER"}, .key = "tracker.subreaper", .type = OPTION_BOOL,
        .fallback = "true", .group = GROUP_WRAPPER, .help = "adopt descendants whose parent has exited",
        .modes = MODE_COMMAND, AT(subreaper)),

    ROW(.flag = "job-name", .letter = 'n', .envs = {"TRACKER_JOB_NAME"}, .key = "job.name", .type = OPTION_STRING,
        .metavar = "NAME", .group = GROUP_JOB, .help = "name of the job", AT(job_name)),
    JOB_TEXT("project-name", "TRACKER_PROJECT_NAME", "job.project_name", project_name, "project the job belongs to"),
    JOB_TEXT("stage-name", "TRACKER_STAGE_NAME", "job.stage_name", stage_name, "stage of the pipeline"),
    JOB_TEXT("task-name", "TRACKER_TASK_NAME", "job.task_name", task_name, "task within the stage"),
    JOB_TEXT("team", "TRACKER_TEAM", "job.team", team, "team that owns the job"),
    JOB_TEXT("env", "TRACKER_ENV", "job.env", env, "environment, such as dev or prod"),
    JOB_TEXT("language", "TRACKER_LANGUAGE", "job.language", language, "programming language of the job"),
    JOB_TEXT("orchestrator", "TRACKER_ORCHESTRATOR", "job.orchestrator", orchestrator,
        "system that scheduled it, such as airflow"),
    JOB_TEXT("executor", "TRACKER_EXECUTOR", "job.executor", executor, "system that runs it, such as slurm"),
    JOB_TEXT("external-run-id", "TRACKER_EXTERNAL_RUN_ID", "job.external_run_id", external_run_id,
        "ID of the run in another system"),
    JOB_TEXT("container-image", "TRACKER_CONTAINER_IMAGE", "job.container_image", container_image,
        "container image of the job"),
    ROW(.flag = "tag", .envs = {"TRACKER_TAGS"}, .key = "job.tags", .type = OPTION_PAIRS, .metavar = "KEY=VALUE",
        .group = GROUP_JOB, .help = "add a tag; may be repeated; the variable takes a comma-separated list", AT(tags)),
    ROW(.envs = {"TRACKER_AUTO_METADATA"}, .key = "job.auto_metadata", .type = OPTION_BOOL, .fallback = "true",
        .group = GROUP_JOB, .help = "fill in missing values from well-known variables of schedulers and CI systems",
        AT(auto_metadata)),
    ROW(.envs = {"TRACKER_RECORD_COMMAND"}, .key = "job.record_command", .type = OPTION_BOOL, .fallback = "true",
        .group = GROUP_JOB,
        .help = "record the command and its arguments; if false, no output or streaming target gets them",
        AT(record_command)),
    ROW(.flag = "mask-command", .envs = {"TRACKER_MASK_COMMAND"}, .key = "job.mask_command", .type = OPTION_CHOICE,
        .words = "auto\0strict\0off\0", .fallback = "auto", .metavar = "HOW", .group = GROUP_JOB,
        .help = "mask the recorded command: auto (secrets), strict (also e-mail and IP addresses, phone and card "
                "numbers) or off",
        AT(mask_command)),

    COLLECT_SWITCH("TRACKER_COLLECT_GPU", "collect.gpu", collect_gpu, "sample GPUs and NPUs"),
    ROW(.envs = {"TRACKER_NVML_PATH"}, .key = "collect.nvml_path", .type = OPTION_STRING, .metavar = "FILE",
        .group = GROUP_COLLECT,
        .help = "path of the NVIDIA management library, if the system does not find libnvidia-ml.so.1",
        .props = OPTION_NAMED_FILE, AT(nvml_path)),
    COLLECT_SWITCH("TRACKER_COLLECT_DISK", "collect.disk", collect_disk, "sample disks and mounted filesystems"),
    COLLECT_SWITCH("TRACKER_COLLECT_NETWORK", "collect.network", collect_network, "sample network interfaces"),
    COLLECT_SWITCH("TRACKER_COLLECT_CLOUD", "collect.cloud", collect_cloud,
        "when streaming, query the cloud's metadata server about this machine"),
    ROW(.flag = "aggregate-cpu-steal", .envs = {"TRACKER_AGGREGATE_CPU_STEAL"}, .key = "tracker.aggregate_cpu_steal",
        .type = OPTION_BOOL, .fallback = "true", .metavar = "BOOL", .group = GROUP_COLLECT,
        .help = "report CPU steal time of all CPUs together (true), or in JSON also per CPU (false)",
        AT(aggregate_cpu_steal)),
    ROW(.envs = {"TRACKER_COLLECT_PSS"}, .key = "collect.pss", .type = OPTION_CHOICE, .words = "auto\0always\0never\0",
        .fallback = "auto", .metavar = "WHEN", .group = GROUP_COLLECT,
        .help = "measure proportional memory (PSS): always, never or auto (while it is cheap)", AT(collect_pss)),

    /* The token travels by environment only: argv is public and files get committed. The address goes with it, so that
       a file in a working directory cannot send the token elsewhere. */
    ROW(.envs = {"SENTINEL_API_TOKEN", "SENTINEL_API_KEY"}, .type = OPTION_STRING, .metavar = "TOKEN",
        .group = GROUP_STREAM, .help = "stream to Sentinel with this token", .props = OPTION_SECRET,
        AT(sentinel_token)),
    ROW(.envs = {"SENTINEL_API_URL"}, .type = OPTION_STRING, .fallback = "https://api.sentinel.sparecores.net",
        .metavar = "URL", .group = GROUP_STREAM, .help = "URL of the Sentinel API",
        .props = OPTION_URL | OPTION_NONEMPTY, AT(sentinel_url)),
    ROW(.envs = {"TRACKER_SENTINEL_INLINE"}, .key = "sentinel.inline", .type = OPTION_CHOICE,
        .words = "auto\0base64\0plain\0", .fallback = "auto", .metavar = "FORM", .group = GROUP_STREAM,
        .help =
            "encoding of the samples in the finish call of a short run: base64, plain or auto (what the API accepts)",
        AT(sentinel_inline)),
    ROW(.envs = {"TRACKER_SEND_COMMAND"}, .key = "sentinel.send_command", .type = OPTION_BOOL, .fallback = "true",
        .group = GROUP_STREAM, .help = "send the recorded command to streaming targets", AT(send_command)),
    ROW(.envs = {"TRACKER_OMIT"}, .key = "sentinel.omit", .type = OPTION_LIST, .words = MACHINE_FIELDS,
        .metavar = "NAME,...", .group = GROUP_STREAM,
        .help = "fields about this machine that are not sent, for example host_ip,host_hostname", AT(omit)),
    ROW(.envs = {"TRACKER_UPLOAD_INTERVAL"}, .key = "tracker.upload_interval_secs", .type = OPTION_DURATION,
        .min = NS_PER_SEC, .max = DAY_NS, .fallback = "60", .metavar = "SECS", .group = GROUP_STREAM,
        .help = "time between uploads", AT(upload_interval_ns)),
    ROW(.envs = {"TRACKER_S3_URI"}, .key = "s3.uri", .type = OPTION_STRING, .metavar = "URI", .group = GROUP_STREAM,
        .help = "upload batches to s3://bucket/prefix", .props = OPTION_URL, AT(s3_uri)),
    ROW(.envs = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, .key = "s3.endpoint", .type = OPTION_STRING,
        .metavar = "URL", .group = GROUP_STREAM, .help = "URL of an S3-compatible store", .unset = "Amazon S3",
        .props = OPTION_URL, AT(s3_endpoint)),
    ROW(.envs = {"AWS_REGION", "AWS_DEFAULT_REGION"}, .key = "s3.region", .type = OPTION_STRING, .metavar = "REGION",
        .group = GROUP_STREAM, .help = "region of the bucket", AT(s3_region)),
    ROW(.envs = {"TRACKER_S3_PATH_STYLE"}, .key = "s3.path_style", .type = OPTION_BOOL, .fallback = "false",
        .group = GROUP_STREAM, .help = "put the bucket in the path instead of the host name", AT(s3_path_style)),
    HOOK_URL("TRACKER_HTTP_START_URL", "http.start_url", http_start_url,
        "POST a small JSON object to this URL at the start"),
    HOOK_URL("TRACKER_HTTP_HEARTBEAT_URL", "http.heartbeat_url", http_heartbeat_url,
        "POST one to this URL at every heartbeat"),
    HOOK_URL("TRACKER_HTTP_STOP_URL", "http.stop_url", http_stop_url, "POST one to this URL at the end"),
    ROW(.envs = {"TRACKER_HTTP_HEARTBEAT_SECS"}, .key = "http.heartbeat_secs", .type = OPTION_DURATION,
        .min = NS_PER_SEC, .max = DAY_NS, .fallback = "300", .metavar = "SECS", .group = GROUP_STREAM,
        .help = "time between heartbeats", AT(http_heartbeat_ns)),
    ROW(.envs = {"TRACKER_HTTP_HEADERS"}, .key = "http.headers", .type = OPTION_PAIRS, .metavar = "KEY=VALUE",
        .group = GROUP_STREAM, .help = "headers of these requests: KEY=VALUE, comma-separated",
        .props = OPTION_SECRET | OPTION_HEADERS, AT(http_headers)),
    ROW(.envs = {"TRACKER_ALLOW_HTTP"}, .key = "tracker.allow_http", .type = OPTION_BOOL, .fallback = "false",
        .group = GROUP_STREAM, .help = "allow plain http to hosts other than this one", AT(allow_http)),
    ROW(.envs = {"TRACKER_SPOOL"}, .key = "tracker.spool", .type = OPTION_STRING,
        .unset = "resource-tracker/spool in $XDG_STATE_HOME or ~/.local/state", .metavar = "DIR", .group = GROUP_STREAM,
        .help = "directory for batches that could not be delivered", .props = OPTION_NONEMPTY, AT(spool)),
    ROW(.envs = {"TRACKER_SPOOL_MAX_MIB"}, .key = "tracker.spool_max_mib", .type = OPTION_INTEGER, .min = 1,
        .max = 1048576, .fallback = "256", .metavar = "MIB", .group = GROUP_STREAM,
        .help = "maximum size of the spool in MiB", AT(spool_max_mib)),

    ROW(.flag = "config", .letter = 'c', .envs = {"TRACKER_CONFIG"}, .type = OPTION_STRING,
        .fallback = "resource-tracker.toml", .metavar = "FILE", .group = GROUP_GENERAL,
        .help = "read settings from this TOML file", .props = OPTION_NONEMPTY, AT(config_path)),
    ROW(.flag = "print-config", .type = OPTION_ACTION, .action = CONFIG_PRINT, .group = GROUP_GENERAL,
        .help = "print the effective settings as TOML with the origin of each, and exit"),
    ROW(.flag = "doctor", .type = OPTION_ACTION, .action = CONFIG_DOCTOR, .words = "online\0", .metavar = "online",
        .group = GROUP_GENERAL,
        .help = "check what can be measured on this host, and exit; online: also test the streaming targets"),
    ROW(.flag = "upload-spool", .type = OPTION_ACTION, .action = CONFIG_UPLOAD_SPOOL, .group = GROUP_GENERAL,
        .help = "deliver what earlier runs left in the spool, and exit"),
    ROW(.flag = "licenses", .type = OPTION_ACTION, .action = CONFIG_LICENSES, .group = GROUP_GENERAL,
        .help = "print the licenses of the bundled libraries, and exit"),
    ROW(.flag = "verbose", .letter = 'v', .type = OPTION_COUNT, .fallback = "0", .max = 2, .group = GROUP_GENERAL,
        .help = "print more on stderr; -vv prints most", AT(verbosity)),
    ROW(.flag = "help", .letter = 'h', .type = OPTION_ACTION, .action = CONFIG_HELP, .group = GROUP_GENERAL,
        .help = "print this help, and exit; -h prints a short one"),
    ROW(.flag = "version", .letter = 'V', .type = OPTION_ACTION, .action = CONFIG_VERSION, .group = GROUP_GENERAL,
        .help = "print the version, and exit; with -v before it, also the bundled libraries"),
};

const size_t options_count = sizeof(options) / sizeof(options[0]);

_Static_assert(sizeof(options) / sizeof(options[0]) <= OPTIONS_MAX, "raise OPTIONS_MAX");

size_t options_by_flag(struct str flag)
{
    size_t i = 0;
    while (i < options_count && !(options[i].flag && str_eq(str_of(options[i].flag), flag)))
        i++;
    return i;
}

size_t options_by_key(struct str key)
{
    size_t i = 0;
    while (i < options_count && !(options[i].key && str_eq(str_of(options[i].key), key)))
        i++;
    return i;
}

size_t options_by_letter(char letter)
{
    size_t i = 0;
    while (i < options_count && !(letter != '\0' && options[i].letter == letter))
        i++;
    return i;
}

bool options_is_table(struct str name)
{
    for (size_t i = 0; i < options_count; i++) {
        const char *key = options[i].key;
        if (key && str_starts(str_of(key), name) && key[name.n] == '.')
            return true;
    }
    return false;
}

/* A guess further away than this is no help. */
static size_t tolerance(struct str typed)
{
    return typed.n < 4 ? 1 : typed.n < 9 ? 2 : 3;
}

/* Distance of the typed word to a known one; an abbreviation of at least three letters is nearly there. */
static size_t word_distance(struct str typed, struct str known)
{
    if (typed.n >= 3 && str_starts(known, typed))
        return 1;
    return str_distance(typed, known);
}

bool options_nearest_flag(struct str typed, struct buf *ret_flag)
{
    bool negated = str_starts(typed, STR("no-"));
    struct str positive = negated ? (struct str){typed.p + 3, typed.n - 3} : typed;
    const struct option_row *best = NULL;
    size_t least = tolerance(typed) + 1;
    for (size_t i = 0; i < options_count; i++) {
        if (!options[i].flag)
            continue;
        size_t distance = word_distance(positive, str_of(options[i].flag));
        if (distance < least) {
            least = distance;
            best = &options[i];
        }
    }
    if (!best)
        return false;
    buf_printf(ret_flag, "%s%s", negated && best->type == OPTION_BOOL ? "no-" : "", best->flag);
    return true;
}

static struct str last_part(struct str key)
{
    const char *dot = memrchr(key.p, '.', key.n);
    if (!dot)
        return key;
    return (struct str){dot + 1, key.n - (size_t)(dot + 1 - key.p)};
}

static struct str table_part(const char *key)
{
    const char *dot = strchr(key, '.');
    return (struct str){key, dot ? (size_t)(dot - key) : 0};
}

bool options_nearest_key(struct str typed, bool table, struct buf *ret_key)
{
    struct str best = {0};
    size_t least = tolerance(typed) + 1;
    for (size_t i = 0; i < options_count; i++) {
        if (!options[i].key)
            continue;
        struct str known = table ? table_part(options[i].key) : str_of(options[i].key);
        size_t distance = str_distance(typed, known);
        /* "interval" for "interval_secs", and a table that is right. */
        if (!table && distance > 1 && str_starts(known, typed) && known.p[typed.n] == '_')
            distance = 1;
        /* The right key in the wrong table. */
        if (!table && distance > 1 && str_eq(last_part(typed), last_part(known)))
            distance = 1;
        if (distance < least) {
            least = distance;
            best = known;
        }
    }
    buf_append(ret_key, best.p, best.n);
    return best.n > 0;
}

bool options_has_variable(struct str name)
{
    for (size_t i = 0; i < options_count; i++) {
        for (size_t k = 0; k < OPTION_ENVS && options[i].envs[k]; k++) {
            if (str_eq(str_of(options[i].envs[k]), name))
                return true;
        }
    }
    return false;
}

bool options_nearest_variable(struct str typed, struct buf *ret_variable)
{
    const char *best = NULL;
    size_t prefix = sizeof("TRACKER_") - 1;
    size_t least = tolerance((struct str){typed.p, typed.n > prefix ? typed.n - prefix : 0}) + 1;
    for (size_t i = 0; i < options_count; i++) {
        for (size_t k = 0; k < OPTION_ENVS && options[i].envs[k]; k++) {
            size_t distance = str_distance(typed, str_of(options[i].envs[k]));
            if (distance < least) {
                least = distance;
                best = options[i].envs[k];
            }
        }
    }
    if (best)
        buf_puts(ret_variable, best);
    return best != NULL;
}

/* Is the key's last part what was typed, with dashes for underscores? */
static bool is_key_part(const char *key, struct str typed)
{
    struct str part = key ? last_part(str_of(key)) : (struct str){0};
    if (part.n != typed.n)
        return false;
    for (size_t i = 0; i < part.n; i++) {
        if (part.p[i] != (typed.p[i] == '-' ? '_' : typed.p[i]))
            return false;
    }
    return part.n > 0;
}

/* Settings without a flag are asked for as one: --no-gpu, --spool. */
static bool explain_setting(struct str typed, struct buf *ret_text)
{
    bool negated = str_starts(typed, STR("no-"));
    struct str name = negated ? (struct str){typed.p + 3, typed.n - 3} : typed;
    for (size_t i = 0; i < options_count; i++) {
        const struct option_row *row = &options[i];
        if (row->flag || !is_key_part(row->key, name) || (negated && row->type != OPTION_BOOL))
            continue;
        buf_printf(ret_text, ": it has no flag, set %s=%s or %s in the file", row->envs[0],
            row->type == OPTION_BOOL ? negated ? "0" : "1" : row->metavar, row->key);
        return true;
    }
    return false;
}

bool options_explain_flag(struct str typed, struct buf *ret_text)
{
    static const struct {
        char typed[12], instead[24];
    } others[] = {
        {"compress", "--output FILE.gz"},
        {"csv", "--format csv"},
        {"gzip", "--output FILE.gz"},
        {"html", "--report FILE.html"},
        {"json", "--format json"},
        {"markdown", "--summary-markdown FILE"},
        {"name", "--job-name NAME"},
        {"pdf", "--report FILE.html"}, /* the page makes these */
        {"png", "--report FILE.html"},
        {"stdout", "--output -"},
        {"svg", "--report FILE.svg"},
        {"timeout", "--duration TIME"},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (str_eq(typed, str_of(others[i].typed))) {
            buf_printf(ret_text, ", did you mean \"%s\"?", others[i].instead);
            return true;
        }
    }
    struct str bare = str_starts(typed, STR("no-")) ? (struct str){typed.p + 3, typed.n - 3} : typed;
    if (str_eq(bare, STR("color")) || str_eq(bare, STR("colour"))) {
        buf_puts(ret_text, ": colours are for terminals only, and NO_COLOR=1 disables them");
        return true;
    }
    return explain_setting(typed, ret_text);
}

/* "hostname" is meant as "host_hostname". */
static bool ends_with_part(struct str known, struct str part)
{
    return part.n > 0 && known.n > part.n && known.p[known.n - part.n - 1] == '_' &&
           memcmp(known.p + known.n - part.n, part.p, part.n) == 0;
}

bool options_nearest_word(const struct option_row *row, struct str typed, struct buf *ret_word)
{
    enum { COMPARED_BYTES_MAX = 63 }; /* of str_distance */
    const char *best = NULL, *word;
    size_t least = COMPARED_BYTES_MAX + 1;
    for (size_t i = 0; (word = option_word(row, i)); i++) {
        struct str known = str_of(word);
        size_t distance = ends_with_part(known, typed) ? 1 : str_distance(typed, known);
        if (distance < least) {
            least = distance;
            best = word;
        }
    }
    if (best)
        buf_puts(ret_word, best);
    return best != NULL;
}

const char *option_word(const struct option_row *row, size_t i)
{
    const char *word = row->words;
    while (word && *word && i-- > 0)
        word += strlen(word) + 1;
    return word && *word ? word : NULL;
}

bool option_is_on(const struct option_row *row)
{
    return row->type == OPTION_BOOL && !row->metavar && strcmp(row->fallback, "true") == 0;
}

const char *option_name(const struct option_row *row)
{
    if (row->key)
        return last_part(str_of(row->key)).p;
    return row->flag ? row->flag : row->envs[0];
}
