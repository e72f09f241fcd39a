/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of systems and the walk through it. Ids are those of the whole run (pipeline, build, DAG run), so that jobs
 * of one run can be found together; numbers within an array go to task_name. Deliberately not taken: HOSTNAME of
 * Kubernetes, which the host facts have, and the work directory of Nextflow, which is no name.
 */

#include "base/auto.h"
#include "base/text.h"
#include "config/config_internal.h"

#define AT(member) offsetof(struct settings, member)
#define METADATA_ROWS(X)                                                                                               \
    /* NXF_TASK_WORKDIR is exported by the script around every task. */                                                \
    X(SYSTEM, 0, "Nextflow")                                                                                           \
    X(SIGN, 0, "NXF_TASK_WORKDIR")                                                                                     \
    X(CONSTANT, AT(orchestrator), "nextflow")                                                                          \
    /* MF_PATHSPEC is "HelloFlow/1234/start/1" in every task that runs remotely; the others are set by some            \
       schedulers only, and the run's id may lack its prefix there. */                                                 \
    X(SYSTEM, 0, "Metaflow")                                                                                           \
    X(SIGN, 0, "MF_PATHSPEC")                                                                                          \
    X(SIGN, 0, "METAFLOW_FLOW_NAME")                                                                                   \
    X(CONSTANT, AT(orchestrator), "metaflow")                                                                          \
    X(PART_1, AT(job_name), "MF_PATHSPEC")                                                                             \
    X(VARIABLE, AT(job_name), "METAFLOW_FLOW_NAME")                                                                    \
    X(PART_2, AT(external_run_id), "MF_PATHSPEC")                                                                      \
    X(VARIABLE, AT(external_run_id), "METAFLOW_RUN_ID")                                                                \
    X(PART_3, AT(stage_name), "MF_PATHSPEC")                                                                           \
    X(VARIABLE, AT(stage_name), "METAFLOW_STEP_NAME")                                                                  \
    X(PART_4, AT(task_name), "MF_PATHSPEC")                                                                            \
    X(VARIABLE, AT(task_name), "METAFLOW_TASK_ID")                                                                     \
    X(SYSTEM, 0, "Airflow")                                                                                            \
    X(SIGN, 0, "AIRFLOW_CTX_DAG_ID")                                                                                   \
    X(CONSTANT, AT(orchestrator), "airflow")                                                                           \
    X(VARIABLE, AT(job_name), "AIRFLOW_CTX_DAG_ID")                                                                    \
    X(VARIABLE, AT(task_name), "AIRFLOW_CTX_TASK_ID")                                                                  \
    X(VARIABLE, AT(external_run_id), "AIRFLOW_CTX_DAG_RUN_ID")                                                         \
    X(SYSTEM, 0, "GitHub Actions")                                                                                     \
    X(SIGN, 0, "GITHUB_ACTIONS")                                                                                       \
    X(CONSTANT, AT(orchestrator), "github-actions")                                                                    \
    X(VARIABLE, AT(project_name), "GITHUB_REPOSITORY")                                                                 \
    X(VARIABLE, AT(stage_name), "GITHUB_WORKFLOW")                                                                     \
    X(VARIABLE, AT(job_name), "GITHUB_JOB")                                                                            \
    X(VARIABLE, AT(external_run_id), "GITHUB_RUN_ID")                                                                  \
    X(SYSTEM, 0, "GitLab CI")                                                                                          \
    X(SIGN, 0, "GITLAB_CI")                                                                                            \
    X(CONSTANT, AT(orchestrator), "gitlab-ci")                                                                         \
    X(VARIABLE, AT(project_name), "CI_PROJECT_PATH")                                                                   \
    X(VARIABLE, AT(stage_name), "CI_JOB_STAGE")                                                                        \
    X(VARIABLE, AT(job_name), "CI_JOB_NAME")                                                                           \
    X(VARIABLE, AT(external_run_id), "CI_PIPELINE_ID")                                                                 \
    X(VARIABLE, AT(container_image), "CI_JOB_IMAGE")                                                                   \
    X(SYSTEM, 0, "Buildkite")                                                                                          \
    X(SIGN, 0, "BUILDKITE")                                                                                            \
    X(ALSO, 0, "BUILDKITE_BUILD_ID")                                                                                   \
    X(CONSTANT, AT(orchestrator), "buildkite")                                                                         \
    X(VARIABLE, AT(project_name), "BUILDKITE_PIPELINE_SLUG")                                                           \
    X(VARIABLE, AT(job_name), "BUILDKITE_STEP_KEY")                                                                    \
    X(VARIABLE, AT(job_name), "BUILDKITE_LABEL")                                                                       \
    X(VARIABLE, AT(external_run_id), "BUILDKITE_BUILD_ID")                                                             \
    /* JOB_NAME, STAGE_NAME and BUILD_ID are common names; BUILD_TAG is "jenkins-JOB-NUMBER", BUILD_ID only the        \
       number. */                                                                                                      \
    X(SYSTEM, 0, "Jenkins")                                                                                            \
    X(SIGN, 0, "JENKINS_URL")                                                                                          \
    X(SIGN, 0, "JENKINS_HOME")                                                                                         \
    X(ALSO, 0, "BUILD_ID")                                                                                             \
    X(CONSTANT, AT(orchestrator), "jenkins")                                                                           \
    X(VARIABLE, AT(job_name), "JOB_NAME")                                                                              \
    X(VARIABLE, AT(stage_name), "STAGE_NAME")                                                                          \
    X(VARIABLE, AT(external_run_id), "BUILD_TAG")                                                                      \
    X(VARIABLE, AT(external_run_id), "BUILD_ID")                                                                       \
    /* What started this rank: the innermost first. Their signs are counts, which are never 0. */                      \
    X(SYSTEM, 0, "torchrun")                                                                                           \
    X(SIGN, 0, "WORLD_SIZE")                                                                                           \
    X(ALSO, 0, "TORCHELASTIC_RUN_ID")                                                                                  \
    X(VARIABLE, AT(rank), "RANK")                                                                                      \
    X(VARIABLE, AT(world_size), "WORLD_SIZE")                                                                          \
    X(VARIABLE, AT(node), "GROUP_RANK")                                                                                \
    X(SYSTEM, 0, "Open MPI")                                                                                           \
    X(SIGN, 0, "OMPI_COMM_WORLD_SIZE")                                                                                 \
    X(VARIABLE, AT(rank), "OMPI_COMM_WORLD_RANK")                                                                      \
    X(VARIABLE, AT(world_size), "OMPI_COMM_WORLD_SIZE")                                                                \
    X(SYSTEM, 0, "MPICH")                                                                                              \
    X(SIGN, 0, "PMI_SIZE")                                                                                             \
    X(VARIABLE, AT(rank), "PMI_RANK")                                                                                  \
    X(VARIABLE, AT(world_size), "PMI_SIZE")                                                                            \
    /* Of srun alone: in a batch script the rank says nothing. */                                                      \
    X(SYSTEM, 0, "Slurm step")                                                                                         \
    X(SIGN, 0, "SLURM_STEP_NUM_TASKS")                                                                                 \
    X(VARIABLE, AT(rank), "SLURM_PROCID")                                                                              \
    X(VARIABLE, AT(world_size), "SLURM_STEP_NUM_TASKS")                                                                \
    X(VARIABLE, AT(node), "SLURMD_NODENAME")                                                                           \
    X(SYSTEM, 0, "Ray")                                                                                                \
    X(SIGN, 0, "RAY_JOB_ID")                                                                                           \
    X(CONSTANT, AT(orchestrator), "ray")                                                                               \
    X(VARIABLE, AT(external_run_id), "RAY_JOB_ID")                                                                     \
    X(SYSTEM, 0, "Spark")                                                                                              \
    X(SIGN, 0, "SPARK_APPLICATION_ID")                                                                                 \
    X(CONSTANT, AT(orchestrator), "spark")                                                                             \
    X(VARIABLE, AT(external_run_id), "SPARK_APPLICATION_ID")                                                           \
    X(VARIABLE, AT(rank), "SPARK_EXECUTOR_ID")                                                                         \
    /* The id of a job in an array holds its index: "parent:7". */                                                     \
    X(SYSTEM, 0, "AWS Batch")                                                                                          \
    X(SIGN, 0, "AWS_BATCH_JOB_ID")                                                                                     \
    X(CONSTANT, AT(executor), "aws-batch")                                                                             \
    X(VARIABLE, AT(external_run_id), "AWS_BATCH_JOB_ID")                                                               \
    X(VARIABLE, AT(task_name), "AWS_BATCH_JOB_ARRAY_INDEX")                                                            \
    X(SYSTEM, 0, "Slurm")                                                                                              \
    X(SIGN, 0, "SLURM_JOB_ID")                                                                                         \
    X(CONSTANT, AT(executor), "slurm")                                                                                 \
    X(VARIABLE, AT(job_name), "SLURM_JOB_NAME")                                                                        \
    X(JOINED, AT(external_run_id), "SLURM_ARRAY_JOB_ID")                                                               \
    X(SECOND, AT(external_run_id), "SLURM_ARRAY_TASK_ID")                                                              \
    X(VARIABLE, AT(external_run_id), "SLURM_JOB_ID")                                                                   \
    X(VARIABLE, AT(task_name), "SLURM_ARRAY_TASK_ID")                                                                  \
    X(SYSTEM, 0, "Kubernetes")                                                                                         \
    X(SIGN, 0, "KUBERNETES_SERVICE_HOST")                                                                              \
    X(CONSTANT, AT(executor), "kubernetes")                                                                            \
    X(VARIABLE, AT(task_name), "JOB_COMPLETION_INDEX")                                                                 \
    X(VARIABLE, AT(rank), "JOB_COMPLETION_INDEX")
#define METADATA_ROW(kind, offset, text) {offset, METADATA_##kind},
#define METADATA_TEXT(kind, offset, text) text "\0"

const struct metadata_row metadata_rows[] = {METADATA_ROWS(METADATA_ROW)};
const size_t metadata_row_count = sizeof(metadata_rows) / sizeof(metadata_rows[0]);
const char metadata_texts[] = METADATA_ROWS(METADATA_TEXT);

static bool is_sign(const char *value)
{
    return value && strcmp(value, "false") != 0 && strcmp(value, "0") != 0;
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
static void put_value(struct buf *buf, const struct metadata_row *fact, const char *text, char *const *environ_)
{
    if (fact->kind == METADATA_CONSTANT) {
        buf_puts(buf, text);
        return;
    }
    bool is_joined = fact->kind == METADATA_JOINED;
    const char *first = env_get(environ_, text);
    const char *second = is_joined ? env_get(environ_, text_next(text)) : NULL;
    if (!first || (is_joined && !second))
        return;
    bool is_part = fact->kind >= METADATA_PART_1;
    struct str piece = is_part ? piece_of(str_of(first), fact->kind - METADATA_PART_1 + 1U) : str_of(first);
    buf_append(buf, piece.p, piece.n);
    if (second)
        buf_printf(buf, "_%s", second);
}

static size_t row_of(const struct metadata_row *fact)
{
    size_t i = 0;
    while (i < OPTIONS_COUNT && !(options[i].type == OPTION_STRING && options[i].offset == fact->offset))
        i++;
    return i;
}

static int apply_fact(struct config *config, const struct metadata_row *fact, const char *text, const char *sign,
    char *const *environ_, struct err *err)
{
    size_t i = row_of(fact);
    if (i >= OPTIONS_COUNT || config->origins[i].source != SOURCE_DEFAULT)
        return 0;
    AUTO_BUF struct buf buf;
    buf_init(&buf, METADATA_VALUE_MAX);
    put_value(&buf, fact, text, environ_);
    struct str value = buf_str(&buf);
    if (!buf_ok(&buf) || value.n == 0 || !text_is_plain(value))
        return 0;
    struct option_origin origin = {.source = SOURCE_AUTO, .env = fact->kind == METADATA_CONSTANT ? sign : text};
    struct value_target target = load_target(config, i, &origin);
    int r = value_set_string(&options[i], value, &target, err);
    if (r == 0)
        config->origins[i] = origin;
    return r;
}

int metadata_fill(struct config *config, char *const *environ_, struct err *err)
{
    const char *text = metadata_texts, *sign = NULL; /* the variable that says that this system is there */
    int r = 0;
    for (size_t i = 0; config->settings.auto_metadata && i < metadata_row_count && r == 0; i++) {
        const struct metadata_row *row = &metadata_rows[i];
        if (row->kind == METADATA_SYSTEM)
            sign = NULL;
        else if (row->kind == METADATA_SIGN)
            sign = !sign && is_sign(env_get(environ_, text)) ? text : sign;
        else if (row->kind == METADATA_ALSO)
            sign = env_get(environ_, text) ? sign : NULL;
        else if (sign && row->kind != METADATA_SECOND)
            r = apply_fact(config, row, text, sign, environ_, err);
        text = text_next(text);
    }
    return r;
}

static void put_fact(struct buf *buf, const struct metadata_row *fact, const char *text)
{
    static const char pieces[][17] = {"first piece of ", "second piece of ", "third piece of ", "fourth piece of "};
    bool is_first = fact[-1].kind < METADATA_SECOND;
    bool again = !is_first && fact[-1].offset == fact->offset;
    buf_puts(buf, again ? ", else " : is_first ? "): " : "; ");
    if (!again)
        buf_printf(buf, "`%s` = ", option_name(&options[row_of(fact)]));
    if (fact->kind == METADATA_CONSTANT)
        buf_printf(buf, "\"%s\"", text);
    else
        buf_printf(buf, "%s`%s`", fact->kind >= METADATA_PART_1 ? pieces[fact->kind - METADATA_PART_1] : "", text);
}

void metadata_docs(struct buf *buf)
{
    const char *text = metadata_texts;
    for (size_t i = 0; i < metadata_row_count; i++) {
        const struct metadata_row *row = &metadata_rows[i];
        if (row->kind == METADATA_SYSTEM)
            buf_printf(buf, "%s- **%s** (", i > 0 ? "\n" : "", text);
        else if (row->kind == METADATA_SIGN)
            buf_printf(buf, "%s`%s`", row[-1].kind == METADATA_SIGN ? " or " : "", text);
        else if (row->kind == METADATA_ALSO)
            buf_printf(buf, ", with `%s`", text);
        else if (row->kind == METADATA_SECOND)
            buf_printf(buf, " and `%s`, joined with `_`", text);
        else
            put_fact(buf, row, text);
        text = text_next(text);
    }
    buf_putc(buf, '\n');
}
