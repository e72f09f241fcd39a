/* SPDX-License-Identifier: Apache-2.0 */
/* Each system with the variables a job of it really sees, secrets among them; combinations; who may overrule them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/config_internal.h"
#include "config_given.h"

enum { VARIABLES_MAX = 32 };

/* Texts that stay NULL must not be filled. */
struct expected {
    const char *job_name, *project_name, *stage_name, *task_name, *orchestrator, *executor, *external_run_id,
        *container_image, *rank, *world_size, *node;
};

static void assert_text(const char *name, const char *got, const char *want)
{
    if (!got != !want || (want && strcmp(got, want) != 0))
        fail_msg("%s is \"%s\", wanted \"%s\"", name, got ? got : "(none)", want ? want : "(none)");
}

static void assert_settings(const struct settings *s, const struct expected *want)
{
    assert_text("job_name", s->job_name, want->job_name);
    assert_text("project_name", s->project_name, want->project_name);
    assert_text("stage_name", s->stage_name, want->stage_name);
    assert_text("task_name", s->task_name, want->task_name);
    assert_text("orchestrator", s->orchestrator, want->orchestrator);
    assert_text("executor", s->executor, want->executor);
    assert_text("external_run_id", s->external_run_id, want->external_run_id);
    assert_text("container_image", s->container_image, want->container_image);
    assert_text("rank", s->rank, want->rank);
    assert_text("world_size", s->world_size, want->world_size);
    assert_text("node", s->node, want->node);
    assert_text("team", s->team, NULL);
    assert_text("env", s->env, NULL);
    assert_text("language", s->language, NULL);
    assert_int_equal(s->tags.count, 0);
}

static void load(const char *const *variables, struct config *ret_config)
{
    char name[] = "resource-tracker";
    char *argv[] = {name, NULL};
    struct err err = {0};
    if (config_load(1, argv, (char *const *)(uintptr_t)variables, ret_config, &err) < 0)
        fail_msg("refused: %s", err.msg);
}

/* Everything that --print-config says holds no secret, and every automatic value names its variable. */
static void assert_printed(const struct config *config)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    config_print(config, &text);
    assert_null(strstr(buf_cstr(&text), "hush"));
    size_t automatic = 0;
    for (const char *at = buf_cstr(&text); (at = strstr(at, " (automatic)\n")); at++)
        automatic++;
    size_t filled = 0;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (config->origins[i].source == SOURCE_AUTO) {
            filled++;
            assert_int_equal(options[i].group, GROUP_JOB);
            assert_non_null(config->origins[i].env);
        }
    }
    assert_int_equal(automatic, filled);
    buf_fini(&text);
}

static void assert_taken(const char *const *variables, const struct expected *want)
{
    struct config config;
    load(variables, &config);
    assert_settings(&config.settings, want);
    assert_printed(&config);
    config_fini(&config);
    const char *off[VARIABLES_MAX] = {"TRACKER_AUTO_METADATA=0"};
    for (size_t i = 0; variables[i]; i++)
        off[i + 1] = variables[i];
    load(off, &config);
    assert_settings(&config.settings, &(struct expected){0});
    config_fini(&config);
}

#define TAKEN(want, ...) assert_taken((const char *const[VARIABLES_MAX]){__VA_ARGS__}, &(struct expected)want)
#define WANT(...)                                                                                                      \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void test_nothing(void **state)
{
    (void)state;
    TAKEN(WANT(.job_name = NULL), "HOME=/root", "PATH=/bin", "JOB_NAME=x", "STAGE_NAME=x", "HOSTNAME=h", "CI=true",
        "JOB_COMPLETION_INDEX=3", "CI_JOB_NAME=x", "SLURM_JOB_NAME=x", "JENKINS_HOME=/j2", "BUILDKITE=true",
        "BUILD_ID=");
}

static void test_slurm(void **state)
{
    (void)state;
    TAKEN(WANT(.job_name = "train", .executor = "slurm", .external_run_id = "4711"), "SLURM_JOB_ID=4711",
        "SLURM_JOBID=4711", "SLURM_JOB_NAME=train", "SLURM_JOB_USER=ann", "SLURM_JOB_PARTITION=gpu",
        "SLURM_JOB_ACCOUNT=physics", "SLURM_NTASKS=1", "SLURM_PROCID=0", "SLURM_STEP_ID=0",
        "SLURM_SUBMIT_DIR=/home/ann", "SLURM_CLUSTER_NAME=alps", "SLURM_JOB_NODELIST=n1", "SLURM_JWT=hush");
    TAKEN(WANT(.job_name = "sweep", .executor = "slurm", .external_run_id = "4700_12", .task_name = "12"),
        "SLURM_JOB_ID=4713", "SLURM_ARRAY_JOB_ID=4700", "SLURM_ARRAY_TASK_ID=12", "SLURM_ARRAY_TASK_COUNT=20",
        "SLURM_JOB_NAME=sweep");
    TAKEN(WANT(.executor = "slurm", .external_run_id = "4713"), "SLURM_JOB_ID=4713", "SLURM_ARRAY_JOB_ID=4700");
}

static void test_ranks(void **state)
{
    (void)state;
    TAKEN(WANT(.executor = "slurm", .external_run_id = "7", .rank = "3", .world_size = "8", .node = "n2"),
        "SLURM_JOB_ID=7", "SLURM_STEP_NUM_TASKS=8", "SLURM_PROCID=3", "SLURMD_NODENAME=n2");
    /* mpirun within a step: its ranks, and the node of Slurm. */
    TAKEN(WANT(.rank = "0", .world_size = "4", .node = "n2"), "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=0",
        "SLURM_STEP_NUM_TASKS=1", "SLURM_PROCID=0", "SLURMD_NODENAME=n2");
    TAKEN(WANT(.rank = "1", .world_size = "2"), "PMI_SIZE=2", "PMI_RANK=1");
    TAKEN(WANT(.rank = "5", .world_size = "16", .node = "1"), "TORCHELASTIC_RUN_ID=0", "RANK=5", "WORLD_SIZE=16",
        "GROUP_RANK=1", "LOCAL_RANK=1");
    TAKEN(WANT(.orchestrator = "ray", .external_run_id = "01000000"), "RAY_JOB_ID=01000000");
    TAKEN(WANT(.orchestrator = "spark", .external_run_id = "spark-1", .rank = "2"), "SPARK_APPLICATION_ID=spark-1",
        "SPARK_EXECUTOR_ID=2");
    TAKEN(WANT(.job_name = NULL), "RANK=5", "WORLD_SIZE=16", "SLURM_PROCID=3", "OMPI_COMM_WORLD_RANK=0");
}

static void test_kubernetes(void **state)
{
    (void)state;
    TAKEN(WANT(.executor = "kubernetes"), "KUBERNETES_SERVICE_HOST=10.0.0.1", "KUBERNETES_SERVICE_PORT=443",
        "KUBERNETES_PORT=tcp://10.0.0.1:443", "HOSTNAME=train-x7k2p", "HOME=/root", "DB_SERVICE_HOST=10.0.0.7",
        "DB_PASSWORD=hush");
    TAKEN(WANT(.executor = "kubernetes", .task_name = "3", .rank = "3"), "KUBERNETES_SERVICE_HOST=10.0.0.1",
        "HOSTNAME=train-3-x7k2p", "JOB_COMPLETION_INDEX=3");
    TAKEN(WANT(.executor = "kubernetes", .task_name = "0", .rank = "0"), "KUBERNETES_SERVICE_HOST=fd00::1",
        "JOB_COMPLETION_INDEX=0");
}

static void test_github_actions(void **state)
{
    (void)state;
    TAKEN(WANT(.job_name = "test", .project_name = "octo/app", .stage_name = "Build & Test",
              .orchestrator = "github-actions", .external_run_id = "1658821493"),
        "CI=true", "GITHUB_ACTIONS=true", "GITHUB_JOB=test", "GITHUB_RUN_ID=1658821493", "GITHUB_RUN_NUMBER=3",
        "GITHUB_RUN_ATTEMPT=1", "GITHUB_REPOSITORY=octo/app", "GITHUB_WORKFLOW=Build & Test", "GITHUB_ACTION=__run",
        "GITHUB_ACTOR=octocat", "GITHUB_TOKEN=hush", "ACTIONS_RUNTIME_TOKEN=hush",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN=hush", "GITHUB_SHA=ffac537e", "GITHUB_REF=refs/heads/main", "RUNNER_OS=Linux",
        "RUNNER_NAME=r1");
    TAKEN(WANT(.job_name = NULL), "GITHUB_ACTIONS=false", "GITHUB_JOB=test", "GITHUB_RUN_ID=1");
    TAKEN(WANT(.job_name = NULL), "GITHUB_ACTIONS=", "GITHUB_JOB=test", "GITHUB_RUN_ID=1");
}

static void test_gitlab_ci(void **state)
{
    (void)state;
    TAKEN(WANT(.job_name = "unit tests", .project_name = "group/sub/app", .stage_name = "test",
              .orchestrator = "gitlab-ci", .external_run_id = "1212", .container_image = "ruby:3.2"),
        "CI=true", "GITLAB_CI=true", "CI_JOB_ID=50", "CI_JOB_NAME=unit tests", "CI_JOB_STAGE=test",
        "CI_PROJECT_PATH=group/sub/app", "CI_PROJECT_NAME=app", "CI_PIPELINE_ID=1212", "CI_PIPELINE_IID=10",
        "CI_JOB_IMAGE=ruby:3.2", "CI_JOB_TOKEN=hush", "CI_REGISTRY_PASSWORD=hush", "CI_DEPLOY_PASSWORD=hush",
        "CI_REPOSITORY_URL=https://gitlab-ci-token:hush@example.com/group/app.git", "CI_COMMIT_SHA=1ecfd275",
        "GITLAB_USER_EMAIL=ann@example.com", "CI_ENVIRONMENT_NAME=production");
}

static void test_buildkite(void **state)
{
    (void)state;
    TAKEN(WANT(.job_name = "unit", .project_name = "my-app", .orchestrator = "buildkite",
              .external_run_id = "4735ba57-80d0-46e2-8fa0-b28223a86586"),
        "BUILDKITE=true", "CI=true", "BUILDKITE_BUILD_ID=4735ba57-80d0-46e2-8fa0-b28223a86586",
        "BUILDKITE_BUILD_NUMBER=1514", "BUILDKITE_JOB_ID=e44f9784-e20e-4b93-a21d-f41fd5869db9",
        "BUILDKITE_PIPELINE_SLUG=my-app", "BUILDKITE_LABEL=:hammer: Tests", "BUILDKITE_STEP_KEY=unit",
        "BUILDKITE_ORGANIZATION_SLUG=acme", "BUILDKITE_AGENT_ACCESS_TOKEN=hush", "BUILDKITE_COMMAND=make",
        "BUILDKITE_BUILD_CREATOR_EMAIL=ann@example.com");
    TAKEN(WANT(.job_name = ":hammer: Tests", .orchestrator = "buildkite", .external_run_id = "47"), "BUILDKITE=true",
        "BUILDKITE_BUILD_ID=47", "BUILDKITE_LABEL=:hammer: Tests", "BUILDKITE_STEP_KEY=");
}

static void test_jenkins(void **state)
{
    (void)state;
    TAKEN(WANT(.job_name = "team/app/main", .stage_name = "Deploy", .orchestrator = "jenkins",
              .external_run_id = "jenkins-team-app-main-17"),
        "JENKINS_URL=https://ci.example.com/", "JENKINS_HOME=/var/jenkins_home", "BUILD_ID=17", "BUILD_NUMBER=17",
        "JOB_NAME=team/app/main", "JOB_BASE_NAME=main", "BUILD_TAG=jenkins-team-app-main-17", "STAGE_NAME=Deploy",
        "EXECUTOR_NUMBER=1", "NODE_NAME=built-in", "WORKSPACE=/w", "GIT_COMMIT=1ecfd275", "API_TOKEN=hush");
    TAKEN(WANT(.job_name = "app", .orchestrator = "jenkins", .external_run_id = "17"), "JENKINS_HOME=/var/jenkins_home",
        "BUILD_ID=17", "JOB_NAME=app");
    TAKEN(WANT(.job_name = NULL), "JENKINS_HOME=/var/jenkins_home", "JOB_NAME=app", "STAGE_NAME=x");
}

static void test_aws_batch(void **state)
{
    (void)state;
    TAKEN(WANT(.executor = "aws-batch", .external_run_id = "b1f6b0a2-6d6d-4c8d-9a55-1f7e7f3c1a11"),
        "AWS_BATCH_JOB_ID=b1f6b0a2-6d6d-4c8d-9a55-1f7e7f3c1a11", "AWS_BATCH_JQ_NAME=queue", "AWS_BATCH_CE_NAME=spot",
        "AWS_BATCH_JOB_ATTEMPT=1", "AWS_DEFAULT_REGION=eu-1", "AWS_SECRET_ACCESS_KEY=hush",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/hush");
    TAKEN(WANT(.executor = "aws-batch", .external_run_id = "b1f6:7", .task_name = "7"), "AWS_BATCH_JOB_ID=b1f6:7",
        "AWS_BATCH_JOB_ARRAY_INDEX=7", "AWS_BATCH_JOB_ARRAY_SIZE=10");
}

static void test_airflow(void **state)
{
    (void)state;
    TAKEN(WANT(.job_name = "daily_etl", .task_name = "load.users", .orchestrator = "airflow",
              .external_run_id = "scheduled__2026-11-15T00:00:00+00:00"),
        "AIRFLOW_CTX_DAG_ID=daily_etl", "AIRFLOW_CTX_TASK_ID=load.users",
        "AIRFLOW_CTX_EXECUTION_DATE=2026-11-15T00:00:00+00:00", "AIRFLOW_CTX_TRY_NUMBER=1",
        "AIRFLOW_CTX_DAG_RUN_ID=scheduled__2026-11-15T00:00:00+00:00", "AIRFLOW_CTX_DAG_OWNER=ann",
        "AIRFLOW_CTX_DAG_EMAIL=ann@example.com", "AIRFLOW_HOME=/opt/airflow", "AIRFLOW__CORE__FERNET_KEY=hush",
        "AIRFLOW_CONN_DB=postgres://u:hush@db/x");
}

static void test_metaflow(void **state)
{
    (void)state;
    TAKEN(WANT(.job_name = "HelloFlow", .stage_name = "train", .task_name = "42", .orchestrator = "metaflow",
              .external_run_id = "sfn-9f3"),
        "MF_PATHSPEC=HelloFlow/sfn-9f3/train/42", "MF_ATTEMPT=0", "MF_DATASTORE=s3", "MFLOG_STDOUT=/logs/mflog_stdout",
        "METAFLOW_FLOW_NAME=HelloFlow", "METAFLOW_STEP_NAME=train", "METAFLOW_RUN_ID=9f3", "METAFLOW_USER=ann",
        "METAFLOW_CODE_URL=s3://b/code", "METAFLOW_SERVICE_HEADERS={\"x-api-key\": \"hush\"}",
        "METAFLOW_PRODUCTION_TOKEN=hush", "METAFLOW_SERVICE_AUTH_KEY=hush");
    TAKEN(WANT(.job_name = "HelloFlow", .stage_name = "train", .task_name = "t-1", .orchestrator = "metaflow",
              .external_run_id = "argo-x"),
        "METAFLOW_FLOW_NAME=HelloFlow", "METAFLOW_STEP_NAME=train", "METAFLOW_RUN_ID=argo-x", "METAFLOW_TASK_ID=t-1");
    /* Pieces that are missing or empty are looked for elsewhere. */
    TAKEN(WANT(.job_name = "HelloFlow", .stage_name = "train", .orchestrator = "metaflow", .external_run_id = "7"),
        "MF_PATHSPEC=HelloFlow//train", "METAFLOW_RUN_ID=7");
    TAKEN(WANT(.job_name = NULL), "METAFLOW_USER=ann", "METAFLOW_PROFILE=p", "METAFLOW_RUN_ID=7");
}

static void test_nextflow(void **state)
{
    (void)state;
    TAKEN(WANT(.orchestrator = "nextflow"), "NXF_TASK_WORKDIR=/scratch/work/8d/4e3739526e64f6d4cea84e25ea7788",
        "NXF_BOXID=nxf-abc", "NXF_DEBUG=0", "NXF_SCRATCH=", "NXF_VER=24.10.0", "TOWER_ACCESS_TOKEN=hush");
    TAKEN(WANT(.job_name = NULL), "NXF_VER=24.10.0", "NXF_HOME=/home/ann/.nextflow");
}

static void test_several_at_once(void **state)
{
    (void)state;
    /* Airflow on Kubernetes */
    TAKEN(WANT(.job_name = "etl", .task_name = "load", .orchestrator = "airflow", .executor = "kubernetes",
              .external_run_id = "manual__1", .rank = "5"),
        "KUBERNETES_SERVICE_HOST=10.0.0.1", "HOSTNAME=etl-load-1", "AIRFLOW_CTX_DAG_ID=etl", "AIRFLOW_CTX_TASK_ID=load",
        "AIRFLOW_CTX_DAG_RUN_ID=manual__1", "JOB_COMPLETION_INDEX=5");
    /* GitHub Actions with a runner on Kubernetes */
    TAKEN(WANT(.job_name = "test", .project_name = "octo/app", .stage_name = "CI", .orchestrator = "github-actions",
              .executor = "kubernetes", .external_run_id = "16"),
        "GITHUB_ACTIONS=true", "GITHUB_JOB=test", "GITHUB_RUN_ID=16", "GITHUB_REPOSITORY=octo/app",
        "GITHUB_WORKFLOW=CI", "KUBERNETES_SERVICE_HOST=10.0.0.1", "HOSTNAME=runner-1");
    /* Nextflow on Slurm */
    TAKEN(WANT(.job_name = "nf-ALIGN_(1)", .orchestrator = "nextflow", .executor = "slurm", .external_run_id = "99"),
        "NXF_TASK_WORKDIR=/w/8d/4e37", "SLURM_JOB_ID=99", "SLURM_JOB_NAME=nf-ALIGN_(1)");
    /* Metaflow on AWS Batch on Kubernetes */
    TAKEN(WANT(.job_name = "F", .stage_name = "s", .task_name = "3", .orchestrator = "metaflow",
              .executor = "aws-batch", .external_run_id = "2"),
        "KUBERNETES_SERVICE_HOST=10.0.0.1", "AWS_BATCH_JOB_ID=b1", "MF_PATHSPEC=F/2/s/3");
    /* A job sent to Slurm from GitLab, which has a job name of its own */
    TAKEN(WANT(.job_name = "sim", .stage_name = "test", .orchestrator = "gitlab-ci", .executor = "slurm",
              .external_run_id = "12"),
        "GITLAB_CI=true", "CI_JOB_NAME=sim", "CI_JOB_STAGE=test", "CI_PIPELINE_ID=12", "SLURM_JOB_ID=99",
        "SLURM_JOB_NAME=wrap");
}

static void test_odd_values(void **state)
{
    (void)state;
    TAKEN(WANT(.executor = "slurm", .external_run_id = "7"), "SLURM_JOB_ID=7", "SLURM_JOB_NAME=a\nb");
    TAKEN(WANT(.executor = "slurm", .external_run_id = "7"), "SLURM_JOB_ID=7", "SLURM_JOB_NAME=a\x1b[0m");
    TAKEN(WANT(.executor = "slurm", .external_run_id = "7"), "SLURM_JOB_ID=7", "SLURM_JOB_NAME=a\x7f");
    TAKEN(WANT(.executor = "slurm", .external_run_id = "7"), "SLURM_JOB_ID=7", "SLURM_JOB_NAME=\xc2\x9b");
    TAKEN(WANT(.executor = "slurm", .external_run_id = "7"), "SLURM_JOB_ID=7", "SLURM_JOB_NAME=\xff");
    TAKEN(WANT(.executor = "slurm", .external_run_id = "7"), "SLURM_JOB_ID=7", "SLURM_JOB_NAME=");
    TAKEN(WANT(.executor = "slurm", .external_run_id = "7", .job_name = "n\xc3\xa4me \xe2\x82\xac"), "SLURM_JOB_ID=7",
        "SLURM_JOB_NAME=n\xc3\xa4me \xe2\x82\xac");
    /* One that is passed over leaves room for the next. */
    TAKEN(WANT(.orchestrator = "buildkite", .external_run_id = "1", .job_name = "label"), "BUILDKITE=true",
        "BUILDKITE_BUILD_ID=1", "BUILDKITE_STEP_KEY=a\tb", "BUILDKITE_LABEL=label");
    char variable[METADATA_VALUE_MAX + 64] = "SLURM_JOB_NAME=";
    size_t n = strlen(variable);
    memset(variable + n, 'x', METADATA_VALUE_MAX);
    TAKEN(WANT(.executor = "slurm", .external_run_id = "7", .job_name = variable + n), "SLURM_JOB_ID=7", variable);
    variable[n + METADATA_VALUE_MAX] = 'x';
    TAKEN(WANT(.executor = "slurm", .external_run_id = "7"), "SLURM_JOB_ID=7", variable);
}

static void test_precedence(void **state)
{
    (void)state;
    static const char file[] = "[job]\nname = \"file\"\nexecutor = \"\"\n";
    size_t row = ROW_job_name;
    static const struct {
        struct given given;
        const char *name;
        enum option_source source;
    } cases[] = {
        {{.env = {"SLURM_JOB_ID=7", "SLURM_JOB_NAME=auto"}}, "auto", SOURCE_AUTO},
        {{.env = {"SLURM_JOB_ID=7", "SLURM_JOB_NAME=auto", "TRACKER_JOB_NAME="}}, "auto", SOURCE_AUTO},
        {{.file = file, .env = {"SLURM_JOB_ID=7", "SLURM_JOB_NAME=auto"}}, "file", SOURCE_FILE},
        {{.env = {"SLURM_JOB_ID=7", "SLURM_JOB_NAME=auto", "TRACKER_JOB_NAME=env"}}, "env", SOURCE_ENV},
        {{.env = {"SLURM_JOB_ID=7", "SLURM_JOB_NAME=auto"}, .args = {"-nflag"}}, "flag", SOURCE_FLAG},
        {{.env = {"SLURM_JOB_ID=7", "SLURM_JOB_NAME=auto"}, .args = {"--job-name="}}, NULL, SOURCE_FLAG},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct config config;
        given_ok(&cases[i].given, &config);
        assert_text("job_name", config.settings.job_name, cases[i].name);
        assert_int_equal(config.origins[row].source, cases[i].source);
        assert_text("executor", config.settings.executor, cases[i].given.file ? NULL : "slurm");
        assert_text("external_run_id", config.settings.external_run_id, "7");
        config_fini(&config);
    }
}

static void test_switched_off(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.file = "[job]\nauto_metadata = false\nteam = \"t\"",
                 .env = {"SLURM_JOB_ID=7", "SLURM_JOB_NAME=auto", "TRACKER_ENV=prod"}),
        &config);
    assert_null(config.settings.job_name);
    assert_null(config.settings.executor);
    assert_string_equal(config.settings.team, "t");
    assert_string_equal(config.settings.env, "prod");
    config_fini(&config);
    given_ok(
        GIVEN(.file = "[job]\nauto_metadata = false", .env = {"SLURM_JOB_ID=7", "TRACKER_AUTO_METADATA=1"}), &config);
    assert_string_equal(config.settings.executor, "slurm");
    config_fini(&config);
}

static void test_origins(void **state)
{
    (void)state;
    struct config config;
    struct buf text;
    buf_init(&text, 1 << 20);
    given_ok(GIVEN(.env = {"JENKINS_HOME=/j", "BUILD_ID=17", "SLURM_JOB_ID=7", "SLURM_ARRAY_JOB_ID=5",
                       "SLURM_ARRAY_TASK_ID=2"}),
        &config);
    config_print(&config, &text);
    static const char *const lines[] = {"\norchestrator = \"jenkins\"  # JENKINS_HOME (automatic)\n",
        "\nexecutor = \"slurm\"  # SLURM_JOB_ID (automatic)\n", "\nexternal_run_id = \"17\"  # BUILD_ID (automatic)\n",
        "\ntask_name = \"2\"  # SLURM_ARRAY_TASK_ID (automatic)\n", "\n# name = \"\"  # default\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (!strstr(buf_cstr(&text), lines[i]))
            fail_msg("no line %s in:\n%s", lines[i], buf_cstr(&text));
    }
    config_fini(&config);
    buf_fini(&text);
}

/* Every fact goes to a text of the job, and no variable in the table can hold a secret. */
static void test_table(void **state)
{
    (void)state;
    static const char *const words[] = {"TOKEN", "PASS", "SECRET", "KEY_ID", "AUTH", "URL", "EMAIL", "USER"};
    const char *text = metadata_texts;
    for (size_t i = 0; i < metadata_row_count; i++, text = text_next(text)) {
        const struct metadata_row *row = &metadata_rows[i];
        assert_true(text[0]);
        assert_int_equal(row->kind == METADATA_SECOND, i > 0 && metadata_rows[i - 1].kind == METADATA_JOINED);
        assert_true(row->kind != METADATA_SIGN || metadata_rows[i - 1].kind <= METADATA_SIGN);
        assert_true(row->kind != METADATA_ALSO || metadata_rows[i - 1].kind == METADATA_SIGN);
        if (row->kind <= METADATA_SECOND)
            continue;
        bool known = false;
        for (size_t k = 0; k < OPTIONS_COUNT; k++)
            known = known || (options[k].offset == row->offset && options[k].group == GROUP_JOB &&
                                 options[k].type == OPTION_STRING);
        assert_true(known);
        for (size_t k = 0; row->kind != METADATA_CONSTANT && k < sizeof(words) / sizeof(words[0]); k++)
            assert_null(strstr(text, words[k]));
    }
}

static void test_docs(void **state)
{
    (void)state;
    struct buf docs;
    buf_init(&docs, 1 << 20);
    config_docs(&docs);
    const char *text = buf_cstr(&docs);
    const char *name = metadata_texts;
    for (size_t i = 0; i < metadata_row_count; i++, name = text_next(name))
        assert_non_null(strstr(text, name));
    assert_non_null(strstr(text,
        "\n- **Slurm** (`SLURM_JOB_ID`): `executor` = \"slurm\"; `name` = `SLURM_JOB_NAME`; `external_run_id` = "
        "`SLURM_ARRAY_JOB_ID` and `SLURM_ARRAY_TASK_ID`, joined with `_`, else `SLURM_JOB_ID`; `task_name` = "
        "`SLURM_ARRAY_TASK_ID`\n"));
    buf_fini(&docs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_slurm),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_kubernetes),
        cmocka_unit_test(test_github_actions),
        cmocka_unit_test(test_gitlab_ci),
        cmocka_unit_test(test_buildkite),
        cmocka_unit_test(test_jenkins),
        cmocka_unit_test(test_aws_batch),
        cmocka_unit_test(test_airflow),
        cmocka_unit_test(test_metaflow),
        cmocka_unit_test(test_nextflow),
        cmocka_unit_test(test_several_at_once),
        cmocka_unit_test(test_odd_values),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_docs),
    };
    return cmocka_run_group_tests(tests, given_enter_directory, given_leave_directory);
}
