/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of systems and the walk through it. Ids are those of the whole run (pipeline, build, DAG run), so that jobs
 * of one run can be found together; numbers within an array go to task_name. Deliberately not taken: HOSTNAME of
 * Kubernetes, which the host facts have, and the work directory of Nextflow, which is no name.
 */

#include "base/auto.h"
#include "base/text.h"
#include "config/config_internal.h"

#define IN(member) .offset = offsetof(struct settings, member)
#define CONSTANT(member, text_)                                                                                        \
    {                                                                                                                  \
        IN(member), .text = text_, .is_constant = true                                                                 \
    }
#define VARIABLE(member, name)                                                                                         \
    {                                                                                                                  \
        IN(member), .text = name                                                                                       \
    }
#define JOINED(member, name, second_name)                                                                              \
    {                                                                                                                  \
        IN(member), .text = name, .second = second_name                                                                \
    }
#define PART(member, name, number)                                                                                     \
    {                                                                                                                  \
        IN(member), .text = name, .part = number                                                                       \
    }
#define FACTS(...)                                                                                                     \
    (const struct metadata_fact[])                                                                                     \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            .text = ""                                                                                                 \
        }                                                                                                              \
    }

const struct metadata_system metadata_systems[] = {
    /* NXF_TASK_WORKDIR is exported by the script around every task. */
    {"Nextflow", {"NXF_TASK_WORKDIR"}, "", FACTS(CONSTANT(orchestrator, "nextflow"))},
    /* MF_PATHSPEC is "HelloFlow/1234/start/1" in every task that runs remotely; the others are set by some schedulers
       only, and the run's id may lack its prefix there. */
    {"Metaflow", {"MF_PATHSPEC", "METAFLOW_FLOW_NAME"}, "",
        FACTS(CONSTANT(orchestrator, "metaflow"), PART(job_name, "MF_PATHSPEC", 1),
            VARIABLE(job_name, "METAFLOW_FLOW_NAME"), PART(external_run_id, "MF_PATHSPEC", 2),
            VARIABLE(external_run_id, "METAFLOW_RUN_ID"), PART(stage_name, "MF_PATHSPEC", 3),
            VARIABLE(stage_name, "METAFLOW_STEP_NAME"), PART(task_name, "MF_PATHSPEC", 4),
            VARIABLE(task_name, "METAFLOW_TASK_ID"))},
    {"Airflow", {"AIRFLOW_CTX_DAG_ID"}, "",
        FACTS(CONSTANT(orchestrator, "airflow"), VARIABLE(job_name, "AIRFLOW_CTX_DAG_ID"),
            VARIABLE(task_name, "AIRFLOW_CTX_TASK_ID"), VARIABLE(external_run_id, "AIRFLOW_CTX_DAG_RUN_ID"))},
    {"GitHub Actions", {"GITHUB_ACTIONS"}, "",
        FACTS(CONSTANT(orchestrator, "github-actions"), VARIABLE(project_name, "GITHUB_REPOSITORY"),
            VARIABLE(stage_name, "GITHUB_WORKFLOW"), VARIABLE(job_name, "GITHUB_JOB"),
            VARIABLE(external_run_id, "GITHUB_RUN_ID"))},
    {"GitLab CI", {"GITLAB_CI"}, "",
        FACTS(CONSTANT(orchestrator, "gitlab-ci"), VARIABLE(project_name, "CI_PROJECT_PATH"),
            VARIABLE(stage_name, "CI_JOB_STAGE"), VARIABLE(job_name, "CI_JOB_NAME"),
            VARIABLE(external_run_id, "CI_PIPELINE_ID"), VARIABLE(container_image, "CI_JOB_IMAGE"))},
    {"Buildkite", {"BUILDKITE"}, "BUILDKITE_BUILD_ID",
        FACTS(CONSTANT(orchestrator, "buildkite"), VARIABLE(project_name, "BUILDKITE_PIPELINE_SLUG"),
            VARIABLE(job_name, "BUILDKITE_STEP_KEY"), VARIABLE(job_name, "BUILDKITE_LABEL"),
            VARIABLE(external_run_id, "BUILDKITE_BUILD_ID"))},
    /* JOB_NAME, STAGE_NAME and BUILD_ID are common names; BUILD_TAG is "jenkins-JOB-NUMBER", BUILD_ID only the number.
     */
    {"Jenkins", {"JENKINS_URL", "JENKINS_HOME"}, "BUILD_ID",
        FACTS(CONSTANT(orchestrator, "jenkins"), VARIABLE(job_name, "JOB_NAME"), VARIABLE(stage_name, "STAGE_NAME"),
            VARIABLE(external_run_id, "BUILD_TAG"), VARIABLE(external_run_id, "BUILD_ID"))},
    /* The id of a job in an array holds its index: "parent:7". */
    {"AWS Batch", {"AWS_BATCH_JOB_ID"}, "",
        FACTS(CONSTANT(executor, "aws-batch"), VARIABLE(external_run_id, "AWS_BATCH_JOB_ID"),
            VARIABLE(task_name, "AWS_BATCH_JOB_ARRAY_INDEX"))},
    {"Slurm", {"SLURM_JOB_ID"}, "",
        FACTS(CONSTANT(executor, "slurm"), VARIABLE(job_name, "SLURM_JOB_NAME"),
            JOINED(external_run_id, "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"),
            VARIABLE(external_run_id, "SLURM_JOB_ID"), VARIABLE(task_name, "SLURM_ARRAY_TASK_ID"))},
    {"Kubernetes", {"KUBERNETES_SERVICE_HOST"}, "",
        FACTS(CONSTANT(executor, "kubernetes"), VARIABLE(task_name, "JOB_COMPLETION_INDEX"))},
};

const size_t metadata_system_count = sizeof(metadata_systems) / sizeof(metadata_systems[0]);

/* The variable that says that this system is there; NULL where none does. */
static const char *find_sign(const struct metadata_system *system, char *const *environ_)
{
    if (system->also[0] && !env_get(environ_, system->also))
        return NULL;
    for (size_t i = 0; i < METADATA_SIGNS && system->signs[i][0]; i++) {
        const char *value = env_get(environ_, system->signs[i]);
        if (value && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
            return system->signs[i];
    }
    return NULL;
}

/* Piece `number`, from 1, of "A/B/C"; empty where there are not so many. */
static struct str piece_of(struct str text, unsigned number)
{
    for (; number > 1; number--) {
        const char *slash = text.n > 0 ? memchr(text.p, '/', text.n) : NULL;
        if (!slash)
            return (struct str){text.p, 0};
        text.n -= (size_t)(slash + 1 - text.p);
        text.p = slash + 1;
    }
    const char *slash = text.n > 0 ? memchr(text.p, '/', text.n) : NULL;
    return (struct str){text.p, slash ? (size_t)(slash - text.p) : text.n};
}

/* Puts the fact's value; nothing where there is none. */
static void put_value(struct buf *buf, const struct metadata_fact *fact, char *const *environ_)
{
    if (fact->is_constant) {
        buf_puts(buf, fact->text);
        return;
    }
    const char *first = env_get(environ_, fact->text);
    const char *second = fact->second ? env_get(environ_, fact->second) : NULL;
    if (!first || (fact->second && !second))
        return;
    struct str text = fact->part > 0 ? piece_of(str_of(first), fact->part) : str_of(first);
    buf_append(buf, text.p, text.n);
    if (second)
        buf_printf(buf, "_%s", second);
}

static size_t row_of(const struct metadata_fact *fact)
{
    size_t i = 0;
    while (i < options_count && !(options[i].type == OPTION_STRING && options[i].offset == fact->offset))
        i++;
    return i;
}

static int apply_fact(
    struct config *config, const struct metadata_fact *fact, const char *sign, char *const *environ_, struct err *err)
{
    size_t i = row_of(fact);
    if (i >= options_count || config->origins[i].source != SOURCE_DEFAULT)
        return 0;
    AUTO_BUF struct buf value = {.max = METADATA_VALUE_MAX};
    put_value(&value, fact, environ_);
    struct str text = buf_str(&value);
    if (!buf_ok(&value) || text.n == 0 || !text_is_plain(text))
        return 0;
    struct option_origin origin = {.source = SOURCE_AUTO, .env = fact->is_constant ? sign : fact->text};
    struct value_target target = load_target(config, i, &origin);
    int r = value_set_string(&options[i], text, &target, err);
    if (r == 0)
        config->origins[i] = origin;
    return r;
}

int metadata_fill(struct config *config, char *const *environ_, struct err *err)
{
    for (size_t i = 0; config->settings.auto_metadata && i < metadata_system_count; i++) {
        const struct metadata_system *system = &metadata_systems[i];
        const char *sign = find_sign(system, environ_);
        for (const struct metadata_fact *fact = system->facts; sign && fact->text[0]; fact++) {
            int r = apply_fact(config, fact, sign, environ_, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static void put_fact(struct buf *buf, const struct metadata_fact *fact, bool again)
{
    if (!again)
        buf_printf(buf, "`%s` = ", option_name(&options[row_of(fact)]));
    if (fact->is_constant) {
        buf_printf(buf, "\"%s\"", fact->text);
        return;
    }
    static const char *const pieces[] = {
        "", "first piece of ", "second piece of ", "third piece of ", "fourth piece of "};
    buf_printf(buf, "%s`%s`", pieces[fact->part], fact->text);
    if (fact->second)
        buf_printf(buf, " and `%s`, joined with `_`", fact->second);
}

void metadata_docs(struct buf *buf)
{
    for (size_t i = 0; i < metadata_system_count; i++) {
        const struct metadata_system *system = &metadata_systems[i];
        buf_printf(buf, "- **%s** (`%s`", system->name, system->signs[0]);
        if (system->signs[1][0])
            buf_printf(buf, " or `%s`", system->signs[1]);
        if (system->also[0])
            buf_printf(buf, ", with `%s`", system->also);
        buf_puts(buf, "): ");
        for (const struct metadata_fact *fact = system->facts; fact->text[0]; fact++) {
            bool first = fact == system->facts;
            bool again = !first && fact[-1].offset == fact->offset;
            buf_puts(buf, again ? ", else " : first ? "" : "; ");
            put_fact(buf, fact, again);
        }
        buf_puts(buf, "\n");
    }
}
