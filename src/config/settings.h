/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The finished, validated settings: what the rest of the program sees of configuration. Filled from the option table
 * (option_rows.h) by flags, environment, TOML file and defaults; strings are owned by the struct and freed with it.
 */
#ifndef CONFIG_SETTINGS_H
#define CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "encode/formats.h"

enum { SETTINGS_VARIABLES = 2 }; /* that a run adds for its command: TRACKER_SOCKET, TRACEPARENT */
enum settings_layout { LAYOUT_PLAIN, LAYOUT_HIVE };
enum settings_when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };
enum settings_mask { MASK_COMMAND_AUTO, MASK_COMMAND_STRICT, MASK_COMMAND_OFF };
enum settings_energy { COLLECT_ENERGY_AUTO, COLLECT_ENERGY_OFF, COLLECT_ENERGY_ESTIMATE };
enum settings_inline { INLINE_AUTO, INLINE_BASE64, INLINE_PLAIN };

/* An ordered list of KEY=VALUE pairs; a later pair with the same key replaces the earlier one. */
struct settings_pairs {
    struct settings_pair {
        char *key, *value;
    } * items;
    size_t count, cap;
};

struct settings {
    /* what to track */
    struct opt_i64 pid;
    char *attach_cgroup; /* a path, unit:NAME or a container's ID; NULL: none */
    bool attaches; /* one of the two was given */
    bool stop_with_pid;
    int64_t duration_ns; /* 0: no end of its own */
    char *from; /* --from FILE, the last one; NULL: none */
    const char **sources; /* all of them, in their order; the list is owned, the texts are not */
    size_t source_count;
    bool parts; /* they are of one run */

    /* sampling and output */
    int64_t interval_ns;
    char *config_path;
    int format; /* enum encode_format */
    bool is_format_given; /* not the default */
    char *output; /* NULL: by the stream rules; "-": stdout */
    bool append;
    bool quiet;
    bool live;
    struct opt_i64 renice; /* niceness of the tracker; none: a little ahead of the command */
    const char *term, *locale; /* TERM and the locale of the caller; NULL: not set. Not owned. */
    bool has_colour; /* by TERM there are colours, and NO_COLOR is not set */
    int csv_columns; /* enum encode_columns */
    char *sysroot;
    int64_t verbosity; /* 0, 1 (-v), 2 (-vv) */

    /* the job */
    char *job_name, *project_name, *stage_name, *task_name, *team, *env, *language, *orchestrator, *executor,
        *external_run_id, *container_image, *rank, *world_size, *node;
    struct settings_pairs tags;
    bool auto_metadata, record_command;
    int mask_command; /* enum settings_mask */
    bool is_job_name_given; /* explicitly, not by automatic metadata */

    /* summary and report */
    int summary; /* enum settings_when */
    char *summary_json, *summary_markdown, *report, *metrics_file, *snakemake_benchmark;
    int64_t carbon_ng_per_kwh; /* nanograms of CO2 for a kWh; 0: unknown */

    /* the wrapper */
    int64_t grace_ns;
    bool cgroup;
    bool subreaper;
    char *on; /* --on RULE, the last one; NULL: none */
    const char **on_rules; /* all of them, in their order; the list is owned, the texts are not */
    size_t on_count;

    /* collectors */
    bool collect_gpu, collect_disk, collect_network, collect_job_network, collect_cloud;
    char *nvml_path; /* NULL: where the system has it */
    int collect_pss; /* enum settings_when */
    int collect_energy; /* enum settings_energy */
    bool exact_processes; /* every process by the kernel's messages, where permitted */
    bool aggregate_cpu_steal; /* false: steal time of each CPU as well */

    /* streaming */
    char *sentinel_token, *sentinel_url;
    int sentinel_inline; /* enum settings_inline */
    bool send_command;
    char *omit; /* names of fields joined with commas, each once: "host_ip,host_id"; NULL: none */
    int64_t upload_interval_ns;
    char *s3_uri, *s3_endpoint, *s3_region;
    bool s3_path_style;
    int s3_layout; /* enum settings_layout */
    char *http_start_url, *http_heartbeat_url, *http_stop_url;
    int64_t http_heartbeat_ns;
    struct settings_pairs http_headers;
    char *otlp; /* a URL, or a word for yes or no */
    bool otlp_host;
    char *pushgateway;
    bool allow_http;
    char *spool;
    int64_t spool_max_mib;

    /* the command and its arguments as they stand in argv, NULL-terminated; NULL: no command. Not owned. */
    char *const *command;
    char **environment; /* the caller's without our secrets, with space for SETTINGS_VARIABLES more, NULL-terminated;
                           the list is owned, the texts are not */
};

#endif
