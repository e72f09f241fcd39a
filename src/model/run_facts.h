/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is reported about a run beside its samples: the job as it was named, the machine, the cloud, and the end. Plain
 * data; an empty text or absent number is unknown and is left out of every payload.
 */
#ifndef MODEL_RUN_FACTS_H
#define MODEL_RUN_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

/* The job: texts are not owned; NULL: not given. */
struct job_facts {
    const char *job_name, *project_name, *stage_name, *task_name, *team, *env, *language, *orchestrator, *executor,
        *external_run_id, *container_image;
    const char *rank, *world_size, *node; /* of a job on many machines, of which this is a part */
    struct job_tag {
        const char *key, *value;
    } * tags;
    size_t tag_count;
    char *const *command; /* NULL-terminated; NULL: no command, or it is not to be sent */
};

/* Texts are UTF-8 without control characters. */
struct host_facts {
    char id[128], hostname[256], ip[64], cpu_model[160], gpu_model[160];
    const char *server_allocation; /* "dedicated" or "shared", known at the end; NULL: unknown */
    struct opt_u64 vcpus, memory_mib, gpu_count, gpu_memory_mib;
    struct opt_f64 storage_gb;
};

enum { CLOUD_VALUE_BYTES = 129 };

struct cloud_facts {
    const char *vendor_id; /* NULL: no cloud */
    char account_id[CLOUD_VALUE_BYTES], region_id[CLOUD_VALUE_BYTES], zone_id[CLOUD_VALUE_BYTES],
        instance_type[CLOUD_VALUE_BYTES];
};

struct end_facts {
    struct opt_i64 exit_code;
    bool is_failed; /* "failed", else "finished" */
    int64_t finished_secs; /* Unix */
    double elapsed_secs; /* from the start to the end; the spool does not keep it */
};

/* What is known of a run before its first sample. */
struct run_info {
    const char *version;
    const char *job_name; /* NULL: none */
    struct opt_u64 tracked_pid; /* absent: the host alone */
    int64_t interval_ns;
    struct opt_i64 start_ns; /* monotonic, when the command was started; absent: when the first counters are read */
};

#endif
