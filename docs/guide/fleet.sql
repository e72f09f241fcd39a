-- Views over a bucket of runs (s3.layout = "hive"), for DuckDB. Where the runs are is said before this file is read:
--   SET VARIABLE runs = 's3://bucket/prefix';

-- One row per run. A run without an end is running, or its machine was lost: result is NULL then.
CREATE OR REPLACE VIEW runs AS
SELECT job,
       date,
       run,
       strptime(started_at, '%Y-%m-%dT%H:%M:%SZ') AS started,
       summary.result.verdict AS result,
       result IN ('failed', 'signaled', 'out of memory', 'maybe out of memory') AS has_failed,
       summary.result.exit_code AS exit_code,
       summary.result.signal AS signal,
       summary.result.oom_kills AS oom_kills,
       summary.verdict.kind AS verdict,
       summary.metadata AS metadata,
       summary.tags AS tags,
       summary.wall_secs AS wall_secs,
       summary.cpu.total_secs AS cpu_secs,
       summary.cpu.wanted_p95 AS cores_p95,
       summary.cpu.limit_cores AS cores_limit,
       summary.memory.need_mib AS memory_mib,
       summary.memory.limit_mib AS memory_limit_mib,
       summary.cpu.limit_source = 'machine' AS has_machine_cores,
       summary.memory.limit_source = 'machine' AS has_machine_memory
FROM read_json(getvariable('runs') || '/job=*/date=*/run=*/run.json',
    hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'date': DATE, 'run': VARCHAR},
    maximum_object_size = 16777216,
    columns = {
        started_at: 'VARCHAR',
        summary: 'STRUCT(
            wall_secs DOUBLE,
            result STRUCT(verdict VARCHAR, exit_code INTEGER, signal INTEGER, oom_kills BIGINT),
            verdict STRUCT(kind VARCHAR),
            metadata MAP(VARCHAR, VARCHAR),
            tags MAP(VARCHAR, VARCHAR),
            cpu STRUCT(total_secs DOUBLE, wanted_p95 DOUBLE, limit_cores DOUBLE, limit_source VARCHAR),
            memory STRUCT(need_mib DOUBLE, limit_mib DOUBLE, limit_source VARCHAR))'
    });

-- What each job might use against what it used, by week: in core hours and in GiB hours. Memory that was needed at the
-- peak counts as used all the time, since it had to be there. A run whose limit is not known counts in neither.
CREATE OR REPLACE VIEW waste AS
SELECT date_trunc('week', started)::DATE AS week,
       job,
       count(*) AS runs,
       count(*) FILTER (has_machine_cores OR has_machine_memory) AS runs_with_a_machine,
       sum(cores_limit * wall_secs) FILTER (cpu_secs IS NOT NULL) / 3600 AS core_hours_had,
       sum(cpu_secs) FILTER (cores_limit IS NOT NULL) / 3600 AS core_hours_used,
       sum(greatest(cores_limit * wall_secs - cpu_secs, 0)) / 3600 AS core_hours_wasted,
       sum(memory_limit_mib * wall_secs) FILTER (memory_mib IS NOT NULL) / 1024 / 3600 AS gib_hours_had,
       sum(memory_mib * wall_secs) FILTER (memory_limit_mib IS NOT NULL) / 1024 / 3600 AS gib_hours_used,
       sum(greatest(memory_limit_mib - memory_mib, 0) * wall_secs) / 1024 / 3600 AS gib_hours_wasted
FROM runs
WHERE wall_secs IS NOT NULL
GROUP BY ALL;

-- What 95 % of the runs of a job needed no more of, and what they had.
CREATE OR REPLACE VIEW needs AS
SELECT job,
       count(*) AS runs,
       quantile_cont(cores_p95, 0.95) AS cores_needed,
       max(cores_limit) AS cores_had,
       quantile_cont(memory_mib, 0.95) AS memory_needed_mib,
       max(memory_limit_mib) AS memory_had_mib,
       quantile_cont(wall_secs, 0.95) AS wall_secs
FROM runs
WHERE wall_secs IS NOT NULL
GROUP BY ALL;

-- How each job changes from week to week; growth is the week's memory by that of the week before with runs.
CREATE OR REPLACE VIEW trend AS
WITH weeks AS (
    SELECT job,
           date_trunc('week', started)::DATE AS week,
           count(*) AS runs,
           count(*) FILTER (has_failed) AS failed,
           avg(wall_secs) AS wall_secs,
           avg(cpu_secs) AS cpu_secs,
           quantile_cont(memory_mib, 0.95) AS memory_p95_mib
    FROM runs
    WHERE wall_secs IS NOT NULL
    GROUP BY ALL
)
SELECT *, memory_p95_mib / lag(memory_p95_mib) OVER (PARTITION BY job ORDER BY week) AS memory_growth
FROM weeks;

-- How runs failed, by job; of runs without an end those that began more than a day ago.
CREATE OR REPLACE VIEW failures AS
SELECT job,
       coalesce(result, 'no end') AS result,
       exit_code,
       signal,
       count(*) AS runs,
       sum(oom_kills)::BIGINT AS oom_kills,
       min(started) AS first,
       max(started) AS last,
       arg_max(run, started) AS last_run
FROM runs
WHERE has_failed
   OR (result IS NULL AND started < (now() AT TIME ZONE 'UTC') - INTERVAL 1 DAY)
GROUP BY ALL;
