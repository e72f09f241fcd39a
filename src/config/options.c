/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows, in the order of --help. Durations are given in nanoseconds (ranges) and as text (defaults). ROW only keeps
 * a row to a few lines.
 */
#include "config/options.h"

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
    [GROUP_PEOPLE] = {"Summary and report", NULL},
    [GROUP_WRAPPER] = {"Running a command", NULL},
    [GROUP_JOB] = {"About the job", "The job name is part of every sample; the rest goes to streaming targets."},
    [GROUP_COLLECT] = {"Collectors", NULL},
    [GROUP_STREAM] = {"Streaming", "Network traffic begins only when one of the targets is set."},
    [GROUP_GENERAL] = {"General", NULL},
};

const char *const option_tables[] = {"tracker", "job", "collect", "sentinel", "s3", "http", NULL};

/* What is told about the machine and its cloud, and may be kept back. */
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
        .fallback = "false", .group = GROUP_TRACK, .help = "with --pid: end when the tracked processes have ended",
        .modes = MODE_PID, AT(stop_with_pid)),
    ROW(.flag = "duration", .envs = {"TRACKER_DURATION"}, .key = "tracker.duration_secs", .type = OPTION_DURATION,
        .min = 10 * NS_PER_MS, .max = 365 * DAY_NS, .metavar = "TIME", .group = GROUP_TRACK,
        .help = "without a command: end after this time, such as 90, 30s, 10m, 8h", .unset = "until SIGINT or SIGTERM",
        .modes = MODE_PID | MODE_HOST, AT(duration_ns)),
    ROW(.flag = "from", .type = OPTION_STRING, .metavar = "FILE", .group = GROUP_TRACK,
        .help =
            "replay recorded samples (JSON lines or CSV, also gzip) through the outputs; may be given several times",
        .props = OPTION_NONEMPTY, AT(from)),

    ROW(.flag = "interval", .letter = 'i', .envs = {"TRACKER_INTERVAL"}, .key = "tracker.interval_secs",
        .type = OPTION_DURATION, .min = 10 * NS_PER_MS, .max = DAY_NS, .fallback = "1", .metavar = "SECS",
        .group = GROUP_OUTPUT, .help = "time between two samples: seconds or with a unit, such as 0.25, 250ms, 2s, 1m",
        AT(interval_ns)),
    ROW(.flag = "format", .letter = 'f', .envs = {"TRACKER_FORMAT"}, .key = "tracker.format", .type = OPTION_CHOICE,
        .words = ENCODE_FORMAT_WORDS, .fallback = "json", .metavar = ENCODE_FORMAT_METAVAR, .group = GROUP_OUTPUT,
        .help = "write one JSON object or one CSV row per sample", AT(format)),
    ROW(.flag = "csv-columns", .envs = {"TRACKER_CSV_COLUMNS"}, .key = "tracker.csv_columns", .type = OPTION_CHOICE,
        .words = "auto\0system\0full\0python\0", .fallback = "auto", .metavar = "SET", .group = GROUP_OUTPUT,
        .help = "CSV columns: system (of the host), full (of host and process), auto (full when a process is tracked) "
                "or python (auto with the names of the Python package)",
        AT(csv_columns)),
    ROW(.flag = "output", .letter = 'o', .envs = {"TRACKER_OUTPUT"}, .key = "tracker.output", .type = OPTION_STRING,
        .unset = "stderr with a command, or where it is a file and stdout is not; else stdout when it is captured, "
                 "else stderr",
        .metavar = "FILE", .group = GROUP_OUTPUT,
        .help = "where samples go, - is stdout; the name may hold {job}, {host}, {pid}, {datetime}",
        .props = OPTION_NONEMPTY, AT(output)),
    ROW(.flag = "append", .envs = {"TRACKER_APPEND"}, .key = "tracker.append", .type = OPTION_BOOL, .fallback = "false",
        .group = GROUP_OUTPUT, .help = "add to the output file instead of replacing it", AT(append)),
    ROW(.flag = "quiet", .letter = 'q', .envs = {"TRACKER_QUIET"}, .key = "tracker.quiet", .type = OPTION_BOOL,
        .fallback = "false", .group = GROUP_OUTPUT, .help = "write no samples", AT(quiet)),
    ROW(.flag = "live", .type = OPTION_BOOL, .fallback = "false", .group = GROUP_OUTPUT,
        .help = "show what is used at the bottom of the terminal (stderr), instead of samples there", AT(live)),
    ROW(.flag = "renice", .letter = 'r', .envs = {"TRACKER_RENICE"}, .key = "tracker.renice",
        .type = OPTION_OPT_INTEGER, .min = -20, .max = 19, .bare = "19", .metavar = "N", .group = GROUP_OUTPUT,
        .help = "niceness of the tracker itself, never of the command: -20 to 19; without a number 19",
        .unset = "5 less than the command where that is permitted", .modes = MODE_COMMAND | MODE_PID | MODE_HOST,
        AT(renice)),
    ROW(.flag = "sysroot", .envs = {"TRACKER_SYSROOT"}, .key = "tracker.sysroot", .type = OPTION_STRING,
        .fallback = "/", .metavar = "DIR", .group = GROUP_OUTPUT, .help = "read proc and sys below this directory",
        .props = OPTION_NONEMPTY, AT(sysroot)),

    ROW(.flag = "summary", .envs = {"TRACKER_SUMMARY"}, .key = "tracker.summary", .type = OPTION_CHOICE,
        .words = "auto\0always\0never\0", .fallback = "auto", .bare = "always", .metavar = "WHEN",
        .group = GROUP_PEOPLE,
        .help = "print a summary at the end: always, never or auto (when stderr is a terminal that gets no samples)",
        AT(summary)),
    ROW(.flag = "summary-json", .envs = {"TRACKER_SUMMARY_JSON"}, .key = "tracker.summary_json", .type = OPTION_STRING,
        .metavar = "FILE", .group = GROUP_PEOPLE, .help = "write the summary as JSON", .props = OPTION_NONEMPTY,
        AT(summary_json)),
    ROW(.flag = "summary-markdown", .envs = {"TRACKER_SUMMARY_MARKDOWN"}, .key = "tracker.summary_markdown",
        .type = OPTION_STRING, .metavar = "FILE", .group = GROUP_PEOPLE,
        .help = "append the summary as Markdown, for example to $GITHUB_STEP_SUMMARY", .props = OPTION_NONEMPTY,
        AT(summary_markdown)),
    ROW(.flag = "report", .envs = {"TRACKER_REPORT"}, .key = "tracker.report", .type = OPTION_STRING,
        .metavar = "FILE.html", .group = GROUP_PEOPLE, .help = "write a self-contained HTML page with charts",
        .props = OPTION_NONEMPTY, AT(report)),

    ROW(.flag = "grace", .envs = {"TRACKER_GRACE"}, .key = "tracker.grace_secs", .type = OPTION_DURATION, .min = 0,
        .max = 3600 * NS_PER_SEC, .fallback = "5", .metavar = "SECS", .group = GROUP_WRAPPER,
        .help = "longest time that streaming may hold up the exit", AT(grace_ns)),
    ROW(.flag = "cgroup", .envs = {"TRACKER_CGROUP"}, .key = "tracker.cgroup", .type = OPTION_BOOL, .fallback = "false",
        .group = GROUP_WRAPPER, .help = "run the command in a cgroup of its own where that is permitted",
        .modes = MODE_COMMAND, AT(cgroup)),
    ROW(.flag = "subreaper", .envs = {"TRACKER_SUBREAPER"}, .key = "tracker.subreaper", .type = OPTION_BOOL,
        .fallback = "true", .group = GROUP_WRAPPER, .help = "adopt descendants whose parent has ended",
        .modes = MODE_COMMAND, AT(subreaper)),

    ROW(.flag = "job-name", .letter = 'n', .envs = {"TRACKER_JOB_NAME"}, .key = "job.name", .type = OPTION_STRING,
        .metavar = "NAME", .group = GROUP_JOB, .help = "name of the job", AT(job_name)),
    JOB_TEXT("project-name", "TRACKER_PROJECT_NAME", "job.project_name", project_name, "project the job belongs to"),
    JOB_TEXT("stage-name", "TRACKER_STAGE_NAME", "job.stage_name", stage_name, "stage of the pipeline"),
    JOB_TEXT("task-name", "TRACKER_TASK_NAME", "job.task_name", task_name, "task within the stage"),
    JOB_TEXT("team", "TRACKER_TEAM", "job.team", team, "team that owns the job"),
    JOB_TEXT("env", "TRACKER_ENV", "job.env", env, "environment, such as dev or prod"),
    JOB_TEXT("language", "TRACKER_LANGUAGE", "job.language", language, "programming language of the job"),
    JOB_TEXT(
        "orchestrator", "TRACKER_ORCHESTRATOR", "job.orchestrator", orchestrator, "what planned it, such as airflow"),
    JOB_TEXT("executor", "TRACKER_EXECUTOR", "job.executor", executor, "what runs it, such as slurm"),
    JOB_TEXT("external-run-id", "TRACKER_EXTERNAL_RUN_ID", "job.external_run_id", external_run_id,
        "id of the run in another system"),
    JOB_TEXT(
        "container-image", "TRACKER_CONTAINER_IMAGE", "job.container_image", container_image, "image the job runs in"),
    ROW(.flag = "tag", .envs = {"TRACKER_TAGS"}, .key = "job.tags", .type = OPTION_PAIRS, .metavar = "KEY=VALUE",
        .group = GROUP_JOB, .help = "a tag; may be given several times; the variable takes a list separated by commas",
        AT(tags)),
    ROW(.envs = {"TRACKER_AUTO_METADATA"}, .key = "job.auto_metadata", .type = OPTION_BOOL, .fallback = "true",
        .group = GROUP_JOB, .help = "take what is not given from well-known variables of schedulers and CI systems",
        AT(auto_metadata)),
    ROW(.envs = {"TRACKER_RECORD_COMMAND"}, .key = "job.record_command", .type = OPTION_BOOL, .fallback = "true",
        .group = GROUP_JOB,
        .help = "record the command and its arguments; false: no output and no streaming target gets them",
        AT(record_command)),
    ROW(.flag = "mask-command", .envs = {"TRACKER_MASK_COMMAND"}, .key = "job.mask_command", .type = OPTION_CHOICE,
        .words = "auto\0strict\0off\0", .fallback = "auto", .metavar = "HOW", .group = GROUP_JOB,
        .help = "secrets in the recorded command: auto (masked), strict (also e-mail and IP addresses, telephone and "
                "card numbers) or off",
        AT(mask_command)),

    COLLECT_SWITCH("TRACKER_COLLECT_GPU", "collect.gpu", collect_gpu, "sample GPUs and NPUs"),
    ROW(.envs = {"TRACKER_NVML_PATH"}, .key = "collect.nvml_path", .type = OPTION_STRING, .metavar = "FILE",
        .group = GROUP_COLLECT,
        .help = "the NVIDIA management library, where the system does not find libnvidia-ml.so.1 by itself",
        .props = OPTION_NAMED_FILE, AT(nvml_path)),
    COLLECT_SWITCH("TRACKER_COLLECT_DISK", "collect.disk", collect_disk, "sample disks and mounted filesystems"),
    COLLECT_SWITCH("TRACKER_COLLECT_NETWORK", "collect.network", collect_network, "sample network interfaces"),
    COLLECT_SWITCH("TRACKER_COLLECT_CLOUD", "collect.cloud", collect_cloud,
        "when streaming: ask the cloud's metadata server about this machine"),
    ROW(.flag = "aggregate-cpu-steal", .envs = {"TRACKER_AGGREGATE_CPU_STEAL"}, .key = "tracker.aggregate_cpu_steal",
        .type = OPTION_BOOL, .fallback = "true", .metavar = "BOOL", .group = GROUP_COLLECT,
        .help = "stolen CPU time of all CPUs together (true), or in JSON also of each CPU (false)",
        AT(aggregate_cpu_steal)),
    ROW(.envs = {"TRACKER_COLLECT_PSS"}, .key = "collect.pss", .type = OPTION_CHOICE, .words = "auto\0always\0never\0",
        .fallback = "auto", .metavar = "WHEN", .group = GROUP_COLLECT,
        .help = "measure proportional memory (PSS): always, never or auto (as far as it is cheap)", AT(collect_pss)),

    /* The token travels by environment only: argv is public and files get committed. The address goes with it, so that
       a file in a working directory cannot send the token elsewhere. */
    ROW(.envs = {"SENTINEL_API_TOKEN", "SENTINEL_API_KEY"}, .type = OPTION_STRING, .metavar = "TOKEN",
        .group = GROUP_STREAM, .help = "stream to Sentinel with this token", .props = OPTION_SECRET,
        AT(sentinel_token)),
    ROW(.envs = {"SENTINEL_API_URL"}, .type = OPTION_STRING, .fallback = "https://api.sentinel.sparecores.net",
        .metavar = "URL", .group = GROUP_STREAM, .help = "address of the Sentinel API",
        .props = OPTION_URL | OPTION_NONEMPTY, AT(sentinel_url)),
    ROW(.envs = {"TRACKER_SENTINEL_INLINE"}, .key = "sentinel.inline", .type = OPTION_CHOICE,
        .words = "auto\0base64\0plain\0", .fallback = "auto", .metavar = "FORM", .group = GROUP_STREAM,
        .help = "form of the samples in the finish call of a short run: base64, plain or auto (what the API takes)",
        AT(sentinel_inline)),
    ROW(.envs = {"TRACKER_SEND_COMMAND"}, .key = "sentinel.send_command", .type = OPTION_BOOL, .fallback = "true",
        .group = GROUP_STREAM, .help = "send the recorded command to streaming targets", AT(sentinel_send_command)),
    ROW(.envs = {"TRACKER_OMIT"}, .key = "sentinel.omit", .type = OPTION_LIST, .words = MACHINE_FIELDS,
        .metavar = "NAME,...", .group = GROUP_STREAM,
        .help = "facts about this machine that are not sent, such as host_ip,host_hostname", AT(sentinel_omit)),
    ROW(.envs = {"TRACKER_UPLOAD_INTERVAL"}, .key = "tracker.upload_interval_secs", .type = OPTION_DURATION,
        .min = NS_PER_SEC, .max = DAY_NS, .fallback = "60", .metavar = "SECS", .group = GROUP_STREAM,
        .help = "time between two uploads", AT(upload_interval_ns)),
    ROW(.envs = {"TRACKER_S3_URI"}, .key = "s3.uri", .type = OPTION_STRING, .metavar = "URI", .group = GROUP_STREAM,
        .help = "upload batches below s3://bucket/prefix", .props = OPTION_URL, AT(s3_uri)),
    ROW(.envs = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, .key = "s3.endpoint", .type = OPTION_STRING,
        .metavar = "URL", .group = GROUP_STREAM, .help = "address of an S3-compatible store", .unset = "Amazon S3",
        .props = OPTION_URL, AT(s3_endpoint)),
    ROW(.envs = {"AWS_REGION", "AWS_DEFAULT_REGION"}, .key = "s3.region", .type = OPTION_STRING, .metavar = "REGION",
        .group = GROUP_STREAM, .help = "region of the bucket", AT(s3_region)),
    ROW(.envs = {"TRACKER_S3_PATH_STYLE"}, .key = "s3.path_style", .type = OPTION_BOOL, .fallback = "false",
        .group = GROUP_STREAM, .help = "put the bucket into the path instead of the host name", AT(s3_path_style)),
    HOOK_URL("TRACKER_HTTP_START_URL", "http.start_url", http_start_url, "POST a small JSON object here at the start"),
    HOOK_URL(
        "TRACKER_HTTP_HEARTBEAT_URL", "http.heartbeat_url", http_heartbeat_url, "POST one here at every heartbeat"),
    HOOK_URL("TRACKER_HTTP_STOP_URL", "http.stop_url", http_stop_url, "POST one here at the end"),
    ROW(.envs = {"TRACKER_HTTP_HEARTBEAT_SECS"}, .key = "http.heartbeat_secs", .type = OPTION_DURATION,
        .min = NS_PER_SEC, .max = DAY_NS, .fallback = "300", .metavar = "SECS", .group = GROUP_STREAM,
        .help = "time between two heartbeats", AT(http_heartbeat_ns)),
    ROW(.envs = {"TRACKER_HTTP_HEADERS"}, .key = "http.headers", .type = OPTION_PAIRS, .metavar = "KEY=VALUE",
        .group = GROUP_STREAM, .help = "headers of these requests: KEY=VALUE, separated by commas",
        .props = OPTION_SECRET | OPTION_HEADERS, AT(http_headers)),
    ROW(.envs = {"TRACKER_ALLOW_HTTP"}, .key = "tracker.allow_http", .type = OPTION_BOOL, .fallback = "false",
        .group = GROUP_STREAM, .help = "permit plain http to other hosts than this one", AT(allow_http)),
    ROW(.envs = {"TRACKER_SPOOL"}, .key = "tracker.spool", .type = OPTION_STRING,
        .unset = "resource-tracker/spool below $XDG_STATE_HOME or ~/.local/state", .metavar = "DIR",
        .group = GROUP_STREAM, .help = "where batches wait that could not be delivered", .props = OPTION_NONEMPTY,
        AT(spool)),
    ROW(.envs = {"TRACKER_SPOOL_MAX_MIB"}, .key = "tracker.spool_max_mib", .type = OPTION_INTEGER, .min = 1,
        .max = 1048576, .fallback = "256", .metavar = "MIB", .group = GROUP_STREAM,
        .help = "largest size of the spool in MiB", AT(spool_max_mib)),

    ROW(.flag = "config", .letter = 'c', .envs = {"TRACKER_CONFIG"}, .type = OPTION_STRING,
        .fallback = "resource-tracker.toml", .metavar = "FILE", .group = GROUP_GENERAL,
        .help = "read settings from this TOML file", .props = OPTION_NONEMPTY, AT(config_path)),
    ROW(.flag = "print-config", .type = OPTION_ACTION, .action = CONFIG_PRINT, .group = GROUP_GENERAL,
        .help = "print the effective settings as TOML with the origin of each, and exit"),
    ROW(.flag = "doctor", .type = OPTION_ACTION, .action = CONFIG_DOCTOR, .words = "online\0", .metavar = "online",
        .group = GROUP_GENERAL,
        .help = "say what can be measured on this host, and exit; online: test the streaming targets too"),
    ROW(.flag = "upload-spool", .type = OPTION_ACTION, .action = CONFIG_UPLOAD_SPOOL, .group = GROUP_GENERAL,
        .help = "deliver what earlier runs left in the spool, and exit"),
    ROW(.flag = "licenses", .type = OPTION_ACTION, .action = CONFIG_LICENSES, .group = GROUP_GENERAL,
        .help = "print the licenses of what is built in, and exit"),
    ROW(.flag = "verbose", .letter = 'v', .type = OPTION_COUNT, .fallback = "0", .max = 2, .group = GROUP_GENERAL,
        .help = "say more on stderr; -vv says most", AT(verbosity)),
    ROW(.flag = "help", .letter = 'h', .type = OPTION_ACTION, .action = CONFIG_HELP, .group = GROUP_GENERAL,
        .help = "print this text, and exit"),
    ROW(.flag = "version", .letter = 'V', .type = OPTION_ACTION, .action = CONFIG_VERSION, .group = GROUP_GENERAL,
        .help = "print the version, and exit; with -v before it also what is built in"),
};

const size_t options_count = sizeof(options) / sizeof(options[0]);

_Static_assert(sizeof(options) / sizeof(options[0]) <= OPTIONS_MAX, "raise OPTIONS_MAX");
