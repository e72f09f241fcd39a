/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows, in the order of --help; options.h and options.c include this once for each part of them.
 * ROW(member of struct settings, texts, help, unset or NULL, the rest), and ACTION without a member.
 * Durations are given in nanoseconds (ranges) and as text (defaults).
 */

/* Flag, variables, key, default, metavar; more: what the flag without a value stands for, and words. See options.h. */
#define TEXTS(flag, envs, key, fallback, metavar) TEXTS_MORE(flag, envs, key, fallback, metavar, "", "")
#define TEXTS_MORE(flag, envs, key, fallback, metavar, bare, words)                                                    \
    flag "\0" fallback "\0" envs "\0" key "\0" metavar "\0" bare "\0" words

#define JOB_TEXT(member, flag, envs, key, help)                                                                        \
    ROW(member, TEXTS(flag, envs, key, "", "TEXT"), help, NULL, .type = OPTION_STRING, .group = GROUP_JOB)

#define COLLECT_SWITCH(member, envs, key, help)                                                                        \
    ROW(member, TEXTS("", envs, key, "true", ""), help, NULL, .type = OPTION_BOOL, .group = GROUP_COLLECT)

#define HOOK_URL(member, envs, key, help)                                                                              \
    ROW(member, TEXTS("", envs, key, "", "URL"), help, NULL, .type = OPTION_STRING, .group = GROUP_STREAM,             \
        .props = OPTION_SECRET)

/* What is sent about the machine and its cloud, and may be left out. */
#define MACHINE_FIELDS                                                                                                 \
    "host_id\0host_hostname\0host_ip\0host_server_allocation\0host_vcpus\0host_cpu_model\0"                            \
    "host_memory_mib\0host_gpu_model\0host_gpu_count\0host_gpu_memory_mib\0"                                           \
    "host_storage_gb\0cloud_vendor_id\0cloud_account_id\0cloud_region_id\0cloud_zone_id\0"                             \
    "cloud_instance_type\0"

ROW(pid, TEXTS("pid", "TRACKER_PID\0", "job.pid", "", "PID"), "track this running process and its descendants", NULL,
    .letter = 'p', .type = OPTION_OPT_INTEGER, .group = GROUP_TRACK, .range = RANGE_PID)
ROW(attach_cgroup, TEXTS("attach-cgroup", "TRACKER_ATTACH_CGROUP\0", "job.attach_cgroup", "", "GROUP"),
    "track a cgroup until it is empty: a path, unit:NAME or a container ID", NULL, .type = OPTION_STRING,
    .group = GROUP_TRACK, .props = OPTION_NONEMPTY)
ROW(stop_with_pid, TEXTS("stop-with-pid", "TRACKER_STOP_WITH_PID\0", "tracker.stop_with_pid", "false", ""),
    "with --pid: exit when the tracked processes have exited", NULL, .type = OPTION_BOOL, .group = GROUP_TRACK,
    .modes = MODE_PID)
ROW(duration_ns, TEXTS("duration", "TRACKER_DURATION\0", "tracker.duration_secs", "", "TIME"),
    "without a command: stop after this time, for example 90, 30s, 10m, 8h", "until SIGINT or SIGTERM",
    .type = OPTION_DURATION, .group = GROUP_TRACK, .modes = MODE_PID | MODE_HOST, .range = RANGE_DURATION)
ROW(from, TEXTS("from", "", "", "", "FILE"),
    "replay recorded samples (JSON lines or CSV, optionally gzip) through the outputs; may be repeated", NULL,
    .type = OPTION_STRING, .group = GROUP_TRACK, .props = OPTION_NONEMPTY)

ROW(parts, TEXTS("parts", "TRACKER_PARTS\0", "tracker.parts", "false", ""),
    "with --from: the recordings are the parts (ranks, nodes) of one run", NULL, .type = OPTION_BOOL,
    .group = GROUP_TRACK, .modes = MODE_REPLAY)

ROW(interval_ns, TEXTS("interval", "TRACKER_INTERVAL\0", "tracker.interval_secs", "1", "SECS"),
    "time between samples, in seconds or with a unit: 0.25, 250ms, 2s, 1m", NULL, .letter = 'i',
    .type = OPTION_DURATION, .group = GROUP_OUTPUT, .range = RANGE_INTERVAL)
ROW(format,
    TEXTS_MORE("format", "TRACKER_FORMAT\0", "tracker.format", "json", ENCODE_FORMAT_METAVAR, "", ENCODE_FORMAT_WORDS),
    "write one JSON object or one CSV row per sample", NULL, .letter = 'f', .type = OPTION_CHOICE,
    .group = GROUP_OUTPUT)
ROW(csv_columns,
    TEXTS_MORE("csv-columns", "TRACKER_CSV_COLUMNS\0", "tracker.csv_columns", "auto", "SET", "",
        "auto\0system\0full\0python\0"),
    "CSV columns: system (host only), full (host and process), auto (full if a process is tracked) or "
    "python (auto, with the column names of the Python package)",
    NULL, .type = OPTION_CHOICE, .group = GROUP_OUTPUT)
ROW(output, TEXTS("output", "TRACKER_OUTPUT\0", "tracker.output", "", "FILE"),
    "write samples to FILE (- is stdout; compressed if it ends in .gz); the name may contain {job}, {host}, "
    "{node}, {rank}, {pid}, {datetime}",
    "stderr with a command; without one stdout if it is redirected (stderr if only that goes to a file), "
    "else stderr; with a command or --pid none if stderr is a terminal, unless a format is given",
    .letter = 'o', .type = OPTION_STRING, .group = GROUP_OUTPUT, .props = OPTION_NONEMPTY)
ROW(append, TEXTS("append", "TRACKER_APPEND\0", "tracker.append", "false", ""),
    "append to the output file instead of overwriting it", NULL, .type = OPTION_BOOL, .group = GROUP_OUTPUT)
ROW(quiet, TEXTS("quiet", "TRACKER_QUIET\0", "tracker.quiet", "false", ""), "do not write samples", NULL, .letter = 'q',
    .type = OPTION_BOOL, .group = GROUP_OUTPUT)
ROW(live, TEXTS("live", "", "", "false", ""),
    "show current usage at the bottom of the terminal (stderr) instead of samples", NULL, .type = OPTION_BOOL,
    .group = GROUP_OUTPUT)
ROW(renice, TEXTS_MORE("renice", "TRACKER_RENICE\0", "tracker.renice", "", "N", "19", ""),
    "set the niceness of the tracker itself, never of the command: -20 to 19; 19 if N is omitted",
    "5 below that of the command if permitted, to sample on time", .letter = 'r', .type = OPTION_OPT_INTEGER,
    .group = GROUP_OUTPUT, .modes = MODE_COMMAND | MODE_PID | MODE_HOST, .range = RANGE_NICENESS)
ROW(sysroot, TEXTS("sysroot", "TRACKER_SYSROOT\0", "tracker.sysroot", "/", "DIR"),
    "read proc and sys from this directory", NULL, .type = OPTION_STRING, .group = GROUP_OUTPUT,
    .props = OPTION_NONEMPTY)

ROW(summary,
    TEXTS_MORE("summary", "TRACKER_SUMMARY\0", "tracker.summary", "auto", "WHEN", "always", "auto\0always\0never\0"),
    "print a summary at the end: always (if WHEN is omitted), never or auto (if stderr is a terminal and "
    "gets no samples)",
    NULL, .type = OPTION_CHOICE, .group = GROUP_SUMMARY)
ROW(summary_json, TEXTS("summary-json", "TRACKER_SUMMARY_JSON\0", "tracker.summary_json", "", "FILE"),
    "write the summary as JSON", NULL, .type = OPTION_STRING, .group = GROUP_SUMMARY, .props = OPTION_NONEMPTY)
ROW(summary_markdown, TEXTS("summary-markdown", "TRACKER_SUMMARY_MARKDOWN\0", "tracker.summary_markdown", "", "FILE"),
    "append the summary as Markdown, for example to $GITHUB_STEP_SUMMARY", NULL, .type = OPTION_STRING,
    .group = GROUP_SUMMARY, .props = OPTION_NONEMPTY)
ROW(report, TEXTS("report", "TRACKER_REPORT\0", "tracker.report", "", "FILE.html"),
    "write a self-contained HTML page with charts, which can save them as PNG; with FILE.svg, a picture "
    "instead",
    NULL, .type = OPTION_STRING, .group = GROUP_SUMMARY, .props = OPTION_NONEMPTY)
ROW(metrics_file, TEXTS("metrics-file", "TRACKER_METRICS_FILE\0", "tracker.metrics_file", "", "FILE.prom"),
    "replace FILE with the summary as Prometheus metrics, every 15 seconds and at the end: for the "
    "textfile collector of node_exporter, or GitLab's metrics.txt",
    NULL, .type = OPTION_STRING, .group = GROUP_SUMMARY, .props = OPTION_NONEMPTY)
ROW(snakemake_benchmark,
    TEXTS("snakemake-benchmark", "TRACKER_SNAKEMAKE_BENCHMARK\0", "tracker.snakemake_benchmark", "", "FILE"),
    "write a benchmark file as Snakemake does (.jsonl: as JSON), with exact values", NULL, .type = OPTION_STRING,
    .group = GROUP_SUMMARY, .props = OPTION_NONEMPTY)
ROW(carbon_ng_per_kwh, TEXTS("carbon", "TRACKER_CARBON\0", "tracker.carbon_g_per_kwh", "", "G_PER_KWH"),
    "grams of CO2 for a kWh of electricity, for example 320 or 320g/kWh: the summary then has the CO2 "
    "of the job's energy",
    NULL, .type = OPTION_DURATION, .group = GROUP_SUMMARY, .props = OPTION_PER_KWH, .range = RANGE_CARBON)

ROW(grace_ns, TEXTS("grace", "TRACKER_GRACE\0", "tracker.grace_secs", "5", "SECS"),
    "maximum time that streaming may delay the exit", NULL, .type = OPTION_DURATION, .group = GROUP_WRAPPER,
    .range = RANGE_GRACE)
ROW(cgroup, TEXTS("cgroup", "TRACKER_CGROUP\0", "tracker.cgroup", "false", ""),
    "run the command in its own cgroup if permitted", NULL, .type = OPTION_BOOL, .group = GROUP_WRAPPER,
    .modes = MODE_COMMAND)
ROW(subreaper, TEXTS("subreaper", "TRACKER_SUBREAPER\0", "tracker.subreaper", "true", ""),
    "adopt descendants whose parent has exited", NULL, .type = OPTION_BOOL, .group = GROUP_WRAPPER,
    .modes = MODE_COMMAND)

ROW(on, TEXTS("on", "TRACKER_ON\0", "tracker.on", "", "RULE"),
    "start a command when a condition holds, for example 'memory.peak > 0.9 * memory.limit => py-spy dump "
    "--pid {pid}'; may be repeated",
    NULL, .type = OPTION_STRING, .group = GROUP_WRAPPER, .props = OPTION_NONEMPTY | OPTION_NAMED_FILE,
    .modes = MODE_COMMAND | MODE_PID | MODE_HOST)

ACTION(mark, TEXTS("mark", "", "", "", "NAME"),
    "name this moment: a phase begins that ends with the next mark, or with the command", NULL, .action = CONFIG_MARK,
    .group = GROUP_MARK)
ACTION(begin, TEXTS("begin", "", "", "", "NAME"), "a phase of this name begins; phases may overlap", NULL,
    .action = CONFIG_MARK, .group = GROUP_MARK)
ACTION(end, TEXTS("end", "", "", "", "NAME"), "the phase of this name ends", NULL, .action = CONFIG_MARK,
    .group = GROUP_MARK)

ROW(job_name, TEXTS("job-name", "TRACKER_JOB_NAME\0", "job.name", "", "NAME"), "name of the job", NULL, .letter = 'n',
    .type = OPTION_STRING, .group = GROUP_JOB)
JOB_TEXT(project_name, "project-name", "TRACKER_PROJECT_NAME\0", "job.project_name", "project the job belongs to")
JOB_TEXT(stage_name, "stage-name", "TRACKER_STAGE_NAME\0", "job.stage_name", "stage of the pipeline")
JOB_TEXT(task_name, "task-name", "TRACKER_TASK_NAME\0", "job.task_name", "task within the stage")
JOB_TEXT(team, "team", "TRACKER_TEAM\0", "job.team", "team that owns the job")
JOB_TEXT(env, "env", "TRACKER_ENV\0", "job.env", "environment, such as dev or prod")
JOB_TEXT(language, "language", "TRACKER_LANGUAGE\0", "job.language", "programming language of the job")
JOB_TEXT(orchestrator, "orchestrator", "TRACKER_ORCHESTRATOR\0", "job.orchestrator",
    "system that scheduled it, such as airflow")
JOB_TEXT(executor, "executor", "TRACKER_EXECUTOR\0", "job.executor", "system that runs it, such as slurm")
JOB_TEXT(external_run_id, "external-run-id", "TRACKER_EXTERNAL_RUN_ID\0", "job.external_run_id",
    "ID of the run in another system")
JOB_TEXT(container_image, "container-image", "TRACKER_CONTAINER_IMAGE\0", "job.container_image",
    "container image of the job")
JOB_TEXT(rank, "rank", "TRACKER_RANK\0", "job.rank", "number of this process within the job, from 0")
JOB_TEXT(world_size, "world-size", "TRACKER_WORLD_SIZE\0", "job.world_size", "number of processes of the job")
JOB_TEXT(node, "node", "TRACKER_NODE\0", "job.node", "name or number of the machine within the job")
ROW(tags, TEXTS("tag", "TRACKER_TAGS\0", "job.tags", "", "KEY=VALUE"),
    "add a tag; may be repeated; the variable takes a comma-separated list", NULL, .type = OPTION_PAIRS,
    .group = GROUP_JOB)
ROW(auto_metadata, TEXTS("", "TRACKER_AUTO_METADATA\0", "job.auto_metadata", "true", ""),
    "fill in missing values from well-known variables of schedulers and CI systems", NULL, .type = OPTION_BOOL,
    .group = GROUP_JOB)
ROW(record_command, TEXTS("", "TRACKER_RECORD_COMMAND\0", "job.record_command", "true", ""),
    "record the command and its arguments; if false, no output or streaming target gets them", NULL,
    .type = OPTION_BOOL, .group = GROUP_JOB)
ROW(mask_command,
    TEXTS_MORE("mask-command", "TRACKER_MASK_COMMAND\0", "job.mask_command", "auto", "HOW", "", "auto\0strict\0off\0"),
    "mask the recorded command: auto (secrets), strict (also e-mail and IP addresses, phone and card "
    "numbers) or off",
    NULL, .type = OPTION_CHOICE, .group = GROUP_JOB)

COLLECT_SWITCH(collect_gpu, "TRACKER_COLLECT_GPU\0", "collect.gpu", "sample GPUs and NPUs")
ROW(nvml_path, TEXTS("", "TRACKER_NVML_PATH\0", "collect.nvml_path", "", "FILE"),
    "path of the NVIDIA management library, if the system does not find libnvidia-ml.so.1", NULL, .type = OPTION_STRING,
    .group = GROUP_COLLECT, .props = OPTION_NAMED_FILE)
COLLECT_SWITCH(collect_disk, "TRACKER_COLLECT_DISK\0", "collect.disk", "sample disks and mounted filesystems")
COLLECT_SWITCH(collect_network, "TRACKER_COLLECT_NETWORK\0", "collect.network", "sample network interfaces")
ROW(collect_job_network, TEXTS("", "TRACKER_COLLECT_JOB_NETWORK\0", "collect.job_network", "false", ""),
    "measure what the job itself receives and sends: one system call per sample more", NULL, .type = OPTION_BOOL,
    .group = GROUP_COLLECT)
ROW(exact_processes, TEXTS("exact-processes", "TRACKER_EXACT_PROCESSES\0", "collect.exact_processes", "false", ""),
    "record every process of the tree with its exit status, however short its life (needs Linux 6.6 or "
    "CAP_NET_ADMIN)",
    NULL, .type = OPTION_BOOL, .group = GROUP_COLLECT, .modes = MODE_COMMAND | MODE_PID)
COLLECT_SWITCH(collect_cloud, "TRACKER_COLLECT_CLOUD\0", "collect.cloud",
    "when streaming, query the cloud's metadata server about this machine")
ROW(aggregate_cpu_steal,
    TEXTS("aggregate-cpu-steal", "TRACKER_AGGREGATE_CPU_STEAL\0", "tracker.aggregate_cpu_steal", "true", "BOOL"),
    "report CPU steal time of all CPUs together (true), or in JSON also per CPU (false)", NULL, .type = OPTION_BOOL,
    .group = GROUP_COLLECT)
ROW(collect_pss, TEXTS_MORE("", "TRACKER_COLLECT_PSS\0", "collect.pss", "auto", "WHEN", "", "auto\0always\0never\0"),
    "measure proportional memory (PSS): always, never or auto (while it is cheap)", NULL, .type = OPTION_CHOICE,
    .group = GROUP_COLLECT)
ROW(collect_energy,
    TEXTS_MORE("", "TRACKER_COLLECT_ENERGY\0", "collect.energy", "auto", "HOW", "", "auto\0off\0estimate\0"),
    "sample energy: auto (if a counter of it can be read), off or estimate (also if none can: by CPU time)", NULL,
    .type = OPTION_CHOICE, .group = GROUP_COLLECT)

/* The token travels by environment only: argv is public and files get committed. The address goes with it, so that a
   file in a working directory cannot send the token elsewhere. */
ROW(sentinel_token, TEXTS("", "SENTINEL_API_TOKEN\0SENTINEL_API_KEY\0", "", "", "TOKEN"),
    "stream to Sentinel with this token", NULL, .type = OPTION_STRING, .group = GROUP_STREAM, .props = OPTION_SECRET)
ROW(sentinel_url, TEXTS("", "SENTINEL_API_URL\0", "", "https://api.sentinel.sparecores.net", "URL"),
    "URL of the Sentinel API", NULL, .type = OPTION_STRING, .group = GROUP_STREAM,
    .props = OPTION_URL | OPTION_NONEMPTY)
ROW(sentinel_inline,
    TEXTS_MORE("", "TRACKER_SENTINEL_INLINE\0", "sentinel.inline", "auto", "FORM", "", "auto\0base64\0plain\0"),
    "encoding of the samples in the finish call of a short run: base64, plain or auto (what the API accepts)", NULL,
    .type = OPTION_CHOICE, .group = GROUP_STREAM)
ROW(send_command, TEXTS("", "TRACKER_SEND_COMMAND\0", "sentinel.send_command", "true", ""),
    "send the recorded command to streaming targets", NULL, .type = OPTION_BOOL, .group = GROUP_STREAM)
ROW(omit, TEXTS_MORE("", "TRACKER_OMIT\0", "sentinel.omit", "", "NAME,...", "", MACHINE_FIELDS),
    "fields about this machine that are not sent, for example host_ip,host_hostname", NULL, .type = OPTION_LIST,
    .group = GROUP_STREAM)
ROW(upload_interval_ns, TEXTS("", "TRACKER_UPLOAD_INTERVAL\0", "tracker.upload_interval_secs", "60", "SECS"),
    "time between uploads, in seconds or with a unit", NULL, .type = OPTION_DURATION, .group = GROUP_STREAM,
    .range = RANGE_UPLOADS)
ROW(s3_uri, TEXTS("", "TRACKER_S3_URI\0", "s3.uri", "", "URI"), "upload batches to s3://bucket/prefix", NULL,
    .type = OPTION_STRING, .group = GROUP_STREAM, .props = OPTION_URL)
ROW(s3_endpoint, TEXTS("", "AWS_ENDPOINT_URL_S3\0AWS_ENDPOINT_URL\0", "s3.endpoint", "", "URL"),
    "URL of an S3-compatible store", "Amazon S3", .type = OPTION_STRING, .group = GROUP_STREAM, .props = OPTION_URL)
ROW(s3_region, TEXTS("", "AWS_REGION\0AWS_DEFAULT_REGION\0", "s3.region", "", "REGION"), "region of the bucket", NULL,
    .type = OPTION_STRING, .group = GROUP_STREAM)
ROW(s3_path_style, TEXTS("", "TRACKER_S3_PATH_STYLE\0", "s3.path_style", "false", ""),
    "put the bucket in the path instead of the host name", NULL, .type = OPTION_BOOL, .group = GROUP_STREAM)
ROW(s3_layout, TEXTS_MORE("", "TRACKER_S3_LAYOUT\0", "s3.layout", "plain", "LAYOUT", "", "plain\0hive\0"),
    "names in the bucket: JOB/RUN/ (plain), or job=JOB/date=DATE/run=RUN/ (hive) for query engines", NULL,
    .type = OPTION_CHOICE, .group = GROUP_STREAM)
HOOK_URL(
    http_start_url, "TRACKER_HTTP_START_URL\0", "http.start_url", "POST a small JSON object to this URL at the start")
HOOK_URL(http_heartbeat_url, "TRACKER_HTTP_HEARTBEAT_URL\0", "http.heartbeat_url",
    "POST a small JSON object to this URL at every heartbeat")
HOOK_URL(http_stop_url, "TRACKER_HTTP_STOP_URL\0", "http.stop_url", "POST a small JSON object to this URL at the end")
ROW(otlp, TEXTS_MORE("otlp", "TRACKER_OTLP\0", "otlp.endpoint", "", "URL", "true", ""),
    "send metrics and a span of the job to OpenTelemetry by OTLP/HTTP: to this address, or with true "
    "(and without a value) to that of OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318",
    "nothing is sent, whatever OTEL_* variables say", .type = OPTION_STRING, .group = GROUP_STREAM, .props = OPTION_URL)
ROW(otlp_host, TEXTS("", "TRACKER_OTLP_HOST\0", "otlp.host", "false", ""), "send metrics of the host by OTLP, too",
    NULL, .type = OPTION_BOOL, .group = GROUP_STREAM)
ROW(pushgateway, TEXTS("pushgateway", "TRACKER_PUSHGATEWAY\0", "tracker.pushgateway", "", "URL"),
    "put the metrics of --metrics-file into this Prometheus Pushgateway, once, at the end", NULL, .type = OPTION_STRING,
    .group = GROUP_STREAM, .props = OPTION_URL | OPTION_NONEMPTY, .modes = MODE_COMMAND | MODE_PID | MODE_HOST)
ROW(http_heartbeat_ns, TEXTS("", "TRACKER_HTTP_HEARTBEAT_SECS\0", "http.heartbeat_secs", "300", "SECS"),
    "time between heartbeats", NULL, .type = OPTION_DURATION, .group = GROUP_STREAM, .range = RANGE_UPLOADS)
ROW(http_headers, TEXTS("", "TRACKER_HTTP_HEADERS\0", "http.headers", "", "KEY=VALUE"),
    "headers of these requests: KEY=VALUE, comma-separated", NULL, .type = OPTION_PAIRS, .group = GROUP_STREAM,
    .props = OPTION_SECRET | OPTION_HEADERS)
ROW(allow_http, TEXTS("", "TRACKER_ALLOW_HTTP\0", "tracker.allow_http", "false", ""),
    "allow plain http to hosts other than this one", NULL, .type = OPTION_BOOL, .group = GROUP_STREAM)
ROW(spool, TEXTS("", "TRACKER_SPOOL\0", "tracker.spool", "", "DIR"),
    "directory for batches that could not be delivered", "resource-tracker/spool in $XDG_STATE_HOME or ~/.local/state",
    .type = OPTION_STRING, .group = GROUP_STREAM, .props = OPTION_NONEMPTY)
ROW(spool_max_mib, TEXTS("", "TRACKER_SPOOL_MAX_MIB\0", "tracker.spool_max_mib", "256", "MIB"),
    "maximum size of the spool in MiB", NULL, .type = OPTION_INTEGER, .group = GROUP_STREAM, .range = RANGE_SPOOL)

ROW(config_path, TEXTS("config", "TRACKER_CONFIG\0", "", "resource-tracker.toml", "FILE"),
    "read settings from this TOML file", NULL, .letter = 'c', .type = OPTION_STRING, .group = GROUP_GENERAL,
    .props = OPTION_NONEMPTY)
ACTION(print_config, TEXTS("print-config", "", "", "", ""),
    "print the effective settings as TOML with the origin of each, and exit", NULL, .action = CONFIG_PRINT,
    .group = GROUP_GENERAL)
ACTION(doctor, TEXTS_MORE("doctor", "", "", "", "online", "", "online\0"),
    "check what can be measured on this host, and exit; online: also test the streaming targets", NULL,
    .action = CONFIG_DOCTOR, .group = GROUP_GENERAL)
ACTION(upload_spool, TEXTS("upload-spool", "", "", "", ""), "deliver what earlier runs left in the spool, and exit",
    NULL, .action = CONFIG_UPLOAD_SPOOL, .group = GROUP_GENERAL)
ACTION(licenses, TEXTS("licenses", "", "", "", ""), "print the licenses of the bundled libraries, and exit", NULL,
    .action = CONFIG_LICENSES, .group = GROUP_GENERAL)
ROW(verbosity, TEXTS("verbose", "", "", "0", ""), "print more on stderr; -vv prints most", NULL, .letter = 'v',
    .type = OPTION_COUNT, .group = GROUP_GENERAL, .range = RANGE_VERBOSITY)
ACTION(help, TEXTS("help", "", "", "", ""), "print this help, and exit; -h prints a short one", NULL, .letter = 'h',
    .action = CONFIG_HELP, .group = GROUP_GENERAL)
ACTION(version, TEXTS("version", "", "", "", ""),
    "print the version, and exit; with -v before it, also the bundled libraries", NULL, .letter = 'V',
    .action = CONFIG_VERSION, .group = GROUP_GENERAL)

#undef TEXTS
#undef TEXTS_MORE
#undef JOB_TEXT
#undef COLLECT_SWITCH
#undef HOOK_URL
#undef MACHINE_FIELDS
#undef ROW
#undef ACTION
