/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "summary_cases.h"

#ifndef SOURCE_ROOT
#define SOURCE_ROOT "."
#endif

#define LIST(array) ((struct sample_list){true, sizeof(array) / sizeof((array)[0]), (array)})

static void fill_rest(struct summary *summary)
{
    summary->disk = (struct summary_disk){.present = true,
        .read_bytes = some_u64(1200000000),
        .write_bytes = some_u64(340000000),
        .host_read_bytes = some_u64(1310000000),
        .host_write_bytes = some_u64(352000000)};
    summary->network = (struct summary_network){
        .present = true, .host_received_bytes = some_u64(12000000), .host_sent_bytes = some_u64(3141592)};
    summary->pressure = (struct sample_pressure){.present = true,
        .cpu_some_secs = some_f64(0.42),
        .memory_some_secs = some_f64(0),
        .memory_full_secs = some_f64(0),
        .io_some_secs = some_f64(1.234),
        .io_full_secs = some_f64(0.5)};
    summary->tracker = (struct summary_tracker){.present = true,
        .cpu_secs = some_f64(1.4),
        .cpu_pct = some_f64(0.0375),
        .rss_peak_mib = some_f64(2.43),
        .late_max_ms = some_f64(3.2)};
    summary->machine = (struct summary_machine){.present = true,
        .cpu_model = "AMD EPYC 9654 96-Core Processor",
        .cpus = some_u64(8),
        .memory_mib = some_f64(15884.5),
        .swap_mib = some_f64(2048)};
}

static void fill_base(struct summary *summary)
{
    static const char *const command[] = {"python", "train.py", "--epochs", "3"};
    static const char *const evidence[] = {"cpu.cores_p95", "cpu.limit_cores"};
    static const struct sample_process busiest[] = {
        {.pid = {true, 4711},
            .name = "python3",
            .command = "/opt/python/bin/python train.py --epochs 3",
            .cpu_secs = {true, 3512.7}},
        {.pid = {true, 4712}, .name = "worker", .cpu_secs = {true, 160.25}},
        {.pid = {true, 4713}, .name = "sh", .command = "sh -c 'exec worker'", .cpu_secs = {true, 0}},
    };
    *summary = (struct summary){.schema_version = some_u64(SUMMARY_SCHEMA_VERSION),
        .version = "1.0.0",
        .job_name = "train",
        .hostname = "node7",
        .tracked_pid = some_u64(4711),
        .command = LIST(command),
        .runs = some_u64(1),
        .runs_failed = some_u64(0),
        .wall_secs = some_f64(3733.4),
        .interval_secs = some_f64(1),
        .samples = some_u64(3733),
        .missed_samples = some_u64(0)};
    summary->result = (struct summary_result){
        .present = true, .verdict = SUMMARY_FINISHED, .detail = "exit status 0", .exit_code = some_i64(0)};
    summary->cpu = (struct summary_cpu){.present = true,
        .user_secs = some_f64(3650.1),
        .system_secs = some_f64(62.3),
        .total_secs = some_f64(3712.4),
        .cores_mean = some_f64(0.994),
        .cores_p95 = some_f64(1),
        .cores_peak = some_f64(1.0234),
        .cores_peak_at_secs = some_f64(12.04),
        .limit_cores = some_f64(2),
        .limit_source = "cgroup",
        .limit_used_pct = some_f64(50),
        .throttled_secs = some_f64(0),
        .wait_secs = some_f64(12.5),
        .wanted_mean = some_f64(0.998),
        .wanted_p95 = some_f64(1.01),
        .wanted_peak = some_f64(1.03),
        .saturated_pct = some_f64(0),
        .host_cores_mean = some_f64(1.31),
        .host_cores_p95 = some_f64(1.95),
        .host_cores_peak = some_f64(2),
        .processes_peak = some_u64(12),
        .threads_peak = some_u64(96),
        .voluntary_switches = some_u64(120034),
        .involuntary_switches = some_u64(30),
        .processes_seen = some_u64(20),
        .processes = LIST(busiest)};
    summary->verdict = (struct summary_verdict){.present = true,
        .kind = "single-threaded",
        .text = "Single-threaded: used 0.99 of 2 cores",
        .evidence = LIST(evidence)};
    fill_rest(summary);
}

static void fill_memory(struct summary *summary)
{
    static const struct sample_process processes[] = {
        {.pid = {true, 4711}, .name = "python3", .command = "python train.py --epochs 3", .rss_mib = {true, 1400.4}},
        {.pid = {true, 4712},
            .name = "worker",
            .command = "worker --rank 1 --data /srv/data/a/long/path/to/a/set/of/files --password *** --cache",
            .rss_mib = {true, 136}},
        {.pid = {true, 4713}, .name = "sh", .rss_mib = {true, 0.9}},
        {.pid = {true, 4714}, .name = "fourth", .rss_mib = {true, 0.5}},
    };
    summary->memory = (struct summary_memory){.present = true,
        .rss_peak_mib = some_f64(1562.3),
        .rss_peak_at_secs = some_f64(3120),
        .pss_peak_mib = some_f64(1536),
        .pss_peak_at_secs = some_f64(3120),
        .cgroup_peak_mib = some_f64(1930.5),
        .cgroup_is_own = some_bool(true),
        .cgroup_path = "/job_17.slice",
        .major_faults = some_u64(3),
        .minor_faults = some_u64(1234567),
        .host_used_mean_mib = some_f64(4096),
        .host_used_peak_mib = some_f64(6144),
        .host_total_mib = some_f64(15884.5),
        .host_swap_used_peak_mib = some_f64(0),
        .limit_mib = some_f64(2048),
        .limit_source = "cgroup",
        .limit_used_pct = some_f64(75),
        .processes = LIST(processes),
        .processes_at_secs = some_f64(3120)};
}

void summary_case_fill_full(struct summary *summary)
{
    static const char *const names[] = {"NVIDIA H200"};
    static const char *const notes[] = {
        "3 processes were started and ended between two samples; their memory was not seen"};
    static const struct str_pair metadata[] = {{"project_name", "vision"}, {"executor", "slurm"}};
    static const struct str_pair tags[] = {{"team", "ml"}, {"dataset", "v3"}};
    fill_base(summary);
    fill_memory(summary);
    summary->metadata = LIST(metadata);
    summary->tags = LIST(tags);
    summary->machine.gpus = LIST(names);
    summary->machine.gpu_driver = "550.54.15";
    summary->gpu = (struct summary_gpu){.present = true,
        .count = some_u64(1),
        .names = LIST(names),
        .usage_mean = some_f64(0.48),
        .usage_p95 = some_f64(0.97),
        .usage_peak = some_f64(0.99),
        .utilized_peak = some_u64(1),
        .vram_peak_mib = some_f64(3140),
        .vram_total_mib = some_f64(143771),
        .energy_joules = some_f64(412000),
        .energy_source = "counter"};
    summary->sizing = (struct summary_sizing){.present = true,
        .vcpus = some_u64(2),
        .cpu_millicores = some_u64(1010),
        .vcpus_reason = "P95 of 1.01 wanted cores, rounded up",
        .memory_mib = some_u64(2048),
        .memory_reason = "peak of 1.5 GiB (PSS) + 20 %",
        .gpus = some_u64(1),
        .gpus_reason = "the most that were used at once",
        .vram_mib = some_u64(4096),
        .vram_reason = "peak of 3.07 GiB + 20 %",
        .slurm = "#SBATCH --cpus-per-task=2 --mem=2G --gpus=1",
        .kubernetes = "resources: {requests: {cpu: \"2\", memory: 2Gi}, limits: {memory: 2Gi, nvidia.com/gpu: \"1\"}}",
        .docker = "--cpus=2 --memory=2g --gpus=1",
        .metaflow = "@resources(cpu=2, memory=2048, gpu=1)"};
    summary->notes = LIST(notes);
}

static void fill_short(struct summary *summary)
{
    static const char *const command[] = {"/usr/bin/sh", "-c", "exit 3", ""};
    static const char reason[] = "the run took 0.04 s, less than 10 s";
    *summary = (struct summary){.command = LIST(command),
        .wall_secs = some_f64(0.0421),
        .interval_secs = some_f64(0.25),
        .samples = some_u64(1),
        .missed_samples = some_u64(2)};
    summary->result = (struct summary_result){.present = true, .verdict = SUMMARY_FAILED, .exit_code = some_i64(3)};
    summary->cpu.present = true;
    summary->cpu.total_secs = some_f64(0.0012);
    summary->cpu.is_lower_bound = some_bool(true);
    summary->cpu.limit_cores = some_f64(1);
    summary->cpu.limit_source = "machine";
    summary->cpu.cores_mean = some_f64(0.0002);
    summary->memory.present = true;
    summary->memory.rss_peak_mib = some_f64(1.5);
    summary->disk.present = true;
    summary->disk.read_bytes = some_u64(0);
    summary->disk.write_bytes = some_u64(512);
    summary->disk.host_read_bytes = some_u64(0);
    summary->disk.host_write_bytes = some_u64(4096);
    summary->sizing = (struct summary_sizing){
        .present = true, .vcpus_reason = reason, .memory_reason = reason, .gpus_reason = "no GPU was seen"};
}

static void fill_host(struct summary *summary)
{
    fill_base(summary);
    summary->job_name = NULL;
    summary->tracked_pid = (struct opt_u64){0};
    summary->command = (struct sample_list){0};
    summary->result = (struct summary_result){.present = true, .verdict = SUMMARY_FINISHED, .detail = "stopped"};
    summary->cpu = (struct summary_cpu){.present = true,
        .host_cores_mean = some_f64(3.25),
        .host_cores_p95 = some_f64(6.5),
        .host_cores_peak = some_f64(7.99)};
    summary->memory = (struct summary_memory){.present = true,
        .host_used_mean_mib = some_f64(10240),
        .host_used_peak_mib = some_f64(12000),
        .host_total_mib = some_f64(15884.5),
        .host_swap_used_peak_mib = some_f64(300)};
    summary->disk.read_bytes = summary->disk.write_bytes = (struct opt_u64){0};
    summary->verdict = (struct summary_verdict){0};
    summary->sizing = (struct summary_sizing){.present = true,
        .vcpus_reason = "no job was tracked, only the host",
        .memory_reason = "no job was tracked, only the host"};
}

static void fill_out_of_memory(struct summary *summary)
{
    fill_base(summary);
    fill_memory(summary);
    summary->wall_secs = some_f64(185);
    summary->result = (struct summary_result){.present = true,
        .verdict = SUMMARY_OUT_OF_MEMORY,
        .detail = "killed by the OOM killer: the cgroup limit of 2 GiB was reached (1 process killed)",
        .exit_code = some_i64(137),
        .signal = some_i64(9),
        .oom_kills = some_u64(1)};
    summary->verdict.text = "Throttled: used all 2 cores of its limit, wanted about 4";
    summary->cpu.cores_p95 = some_f64(1.99);
    summary->cpu.limit_used_pct = some_f64(99.5);
    summary->cpu.throttled_secs = some_f64(7.5);
    summary->cpu.wait_secs = some_f64(371.4);
    summary->cpu.wanted_mean = some_f64(3.1);
    summary->cpu.wanted_p95 = some_f64(3.98);
    summary->cpu.wanted_peak = some_f64(4.02);
    summary->memory.pss_peak_mib = (struct opt_f64){0};
    summary->memory.cgroup_peak_mib = some_f64(2048);
    summary->sizing = (struct summary_sizing){.present = true,
        .vcpus = some_u64(4),
        .cpu_millicores = some_u64(3980),
        .vcpus_reason = "used all 2 cores; wanted about 4",
        .memory_reason = "it was killed by the OOM killer at 1.53 GiB: ask for more than the limit of 2 GiB",
        .slurm = "#SBATCH --cpus-per-task=4",
        .kubernetes = "resources: {requests: {cpu: \"3980m\"}}",
        .docker = "--cpus=4",
        .metaflow = "@resources(cpu=4)"};
}

static void fill_unknown(struct summary *summary)
{
    fill_base(summary);
    summary->job_name = "";
    summary->command = (struct sample_list){0};
    summary->result = (struct summary_result){.present = true,
        .verdict = SUMMARY_UNKNOWN,
        .detail = "the recording has no end: the tracker was killed, or the file was cut"};
    summary->gpu = (struct summary_gpu){.present = true, .count = some_u64(2)};
}

/* Eight GPUs, two of them idle, in a shared cgroup, beside other work. */
static void fill_gpus(struct summary *summary)
{
    static const char *const names[] = {"NVIDIA H200"};
    static struct summary_gpu_device devices[12];
    static char ids[12][4];
    summary_case_fill_full(summary);
    for (size_t i = 0; i < 12; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "%zu", i);
        bool is_used = i != 3 && i != 5;
        devices[i] = (struct summary_gpu_device){.name = names[0],
            .host_id = ids[i],
            .usage_mean_pct = some_f64(is_used ? 98.2 - (double)i : 0),
            .usage_peak_pct = some_f64(is_used ? 100 : 0),
            .vram_peak_mib = some_f64(!is_used ? 0
                                      : i == 0 ? 81920
                                               : 10240),
            .host_usage_mean_pct = some_f64(is_used ? 98.2 : 3),
            .vram_total_mib = some_f64(143771),
            .power_mean_watts = some_f64(is_used ? 612.5 : 80),
            .power_peak_watts = some_f64(700),
            .temperature_peak_celsius = some_f64(74)};
    }
    summary->gpu = (struct summary_gpu){.present = true,
        .count = some_u64(16),
        .names = LIST(names),
        .usage_mean = some_f64(9.2),
        .usage_p95 = some_f64(9.9),
        .usage_peak = some_f64(10),
        .utilized_peak = some_u64(10),
        .vram_peak_mib = some_f64(174080),
        .host_usage_mean = some_f64(10.5),
        .host_usage_peak = some_f64(14),
        .host_vram_peak_mib = some_f64(194080),
        .vram_total_mib = some_f64(2300336),
        .energy_joules = some_f64(8.04e6),
        .energy_source = "power",
        .devices = LIST(devices)};
    summary->memory.cgroup_is_own = some_bool(false);
    summary->memory.cgroup_path = "/user.slice/user-1000.slice/session-3.scope";
    summary->memory.limit_source = summary->cpu.limit_source = "machine";
    summary->disk.read_bytes = summary->disk.write_bytes = some_u64(0);
    summary->network.host_received_bytes = summary->network.host_sent_bytes = some_u64(0);
}

/* One process that waits, of which nothing is 0 but what there is none of. */
static void fill_idle(struct summary *summary)
{
    static const struct sample_process only[] = {
        {.pid = {true, 99}, .name = "sleep", .command = "sleep 3", .rss_mib = {true, 1.75}, .cpu_secs = {true, 0.001}}};
    fill_base(summary);
    fill_memory(summary);
    summary->job_name = NULL;
    summary->wall_secs = some_f64(3.002);
    summary->verdict.text = "Mostly idle: used 0.001 of 2 cores";
    summary->cpu.processes = LIST(only);
    summary->cpu.processes_seen = some_u64(1);
    summary->cpu.total_secs = some_f64(0.001);
    summary->cpu.user_secs = some_f64(0);
    summary->cpu.system_secs = some_f64(0.001);
    summary->cpu.cores_mean = summary->cpu.cores_p95 = summary->cpu.cores_peak = some_f64(0.0003);
    summary->cpu.limit_used_pct = some_f64(0.01);
    summary->cpu.wanted_p95 = some_f64(0.0004);
    summary->cpu.voluntary_switches = some_u64(2);
    summary->cpu.involuntary_switches = some_u64(0);
    summary->memory.processes = LIST(only);
    summary->memory.processes_at_secs = some_f64(1);
    summary->memory.pss_peak_mib = some_f64(0.5);
    summary->memory.rss_peak_mib = some_f64(1.75);
    summary->memory.limit_used_pct = some_f64(0.11);
    summary->memory.minor_faults = some_u64(81);
    summary->memory.major_faults = some_u64(0);
    summary->memory.cgroup_is_own = (struct opt_bool){0};
    summary->memory.cgroup_path = NULL;
    summary->memory.limit_source = "machine";
    summary->disk.read_bytes = summary->disk.write_bytes = some_u64(0);
    summary->network.host_received_bytes = summary->network.host_sent_bytes = some_u64(0);
    summary->pressure.cpu_some_secs = summary->pressure.io_some_secs = some_f64(0);
    summary->sizing = (struct summary_sizing){.present = true,
        .vcpus = some_u64(1),
        .cpu_millicores = some_u64(1),
        .vcpus_reason = "P95 of 0.0004 wanted cores, rounded up",
        .memory_mib = some_u64(128),
        .memory_reason = "peak of 512 KiB (PSS) + 20 %",
        .slurm = "#SBATCH --cpus-per-task=1 --mem=128M",
        .kubernetes = "resources: {requests: {cpu: \"1m\", memory: 128Mi}, limits: {memory: 128Mi}}",
        .docker = "--cpus=1 --memory=128m",
        .metaflow = "@resources(cpu=1, memory=128)"};
}

static void fill_runs(struct summary *summary)
{
    static const char *const names[] = {"NVIDIA H200", "NVIDIA L4"};
    static const char *const notes[] = {"first", "second", "third", "fourth", "fifth"};
    summary_case_fill_full(summary);
    summary->runs = some_u64(5);
    summary->runs_failed = some_u64(1);
    summary->result = (struct summary_result){.present = true, .verdict = SUMMARY_FINISHED};
    summary->gpu.count = some_u64(3);
    summary->gpu.names = LIST(names);
    summary->gpu.usage_mean = summary->gpu.usage_p95 = summary->gpu.usage_peak = (struct opt_f64){0};
    summary->gpu.host_usage_mean = some_f64(0.7);
    summary->gpu.host_usage_peak = some_f64(2.9);
    summary->gpu.vram_peak_mib = (struct opt_f64){0};
    summary->gpu.host_vram_peak_mib = some_f64(81920);
    summary->sizing.gpus = some_u64(2);
    summary->notes = LIST(notes);
}

void summary_case_fill_texts(struct summary *summary, const char *const *text)
{
    static struct sample_process processes[3];
    static struct summary_gpu_device devices[2];
    static struct str_pair pairs[2];
    for (size_t i = 0; i < 3; i++)
        processes[i] = (struct sample_process){.pid = some_u64(i),
            .name = *text,
            .command = i == 0 ? *text : NULL,
            .rss_mib = some_f64(1),
            .cpu_secs = some_f64(1)};
    for (size_t i = 0; i < 2; i++) {
        devices[i] = (struct summary_gpu_device){.name = *text, .host_id = *text, .usage_mean_pct = some_f64(50)};
        pairs[i] = (struct str_pair){*text, *text};
    }
    struct sample_list list = {true, 1, text};
    summary_case_fill_full(summary);
    summary->job_name = summary->hostname = summary->kernel = summary->version = *text;
    summary->command = summary->gpu.names = summary->notes = list;
    summary->gpu.devices = LIST(devices);
    summary->machine.cpu_model = summary->machine.gpu_driver = *text;
    summary->metadata = summary->tags = LIST(pairs);
    summary->verdict.kind = summary->verdict.text = *text;
    summary->result.verdict = summary->result.detail = *text;
    summary->cpu.limit_source = summary->memory.limit_source = summary->gpu.energy_source = *text;
    summary->cpu.processes = summary->memory.processes = LIST(processes);
    summary->memory.cgroup_is_own = some_bool(false);
    summary->memory.cgroup_path = *text;
    summary->sizing.vcpus_reason = summary->sizing.memory_reason = summary->sizing.gpus_reason =
        summary->sizing.vram_reason = *text;
    summary->sizing.vram_mib = (struct opt_u64){0};
    static struct summary_phase phase;
    phase = (struct summary_phase){.name = *text, .times = some_u64(2), .wall_secs = some_f64(1)};
    summary->phases_source = SUMMARY_PHASES_MARKS;
    summary->phases = (struct sample_list){true, 1, &phase};
    static const struct summary_phase_span span = {0, 0, 1};
    summary->phase_spans = (struct sample_list){true, 1, &span};
}

/* More phases than are shown, one of them with a name that is too long. */
static void fill_phases(struct summary *summary)
{
    static struct summary_phase phases[15];
    static char names[15][32];
    summary_case_fill_full(summary);
    for (size_t i = 0; i < 15; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "epoch %zu", i);
        phases[i] = (struct summary_phase){.name = i == 0   ? "load: read all of the data from the store and check it"
                                                   : i == 1 ? "evaluate"
                                                            : names[i],
            .times = some_u64(i == 1 ? 13 : 1),
            .wall_secs = some_f64(i == 0 ? 3725 : 61.5),
            .cores_mean = some_f64(0.25 * (double)(i + 1)),
            .memory_peak_mib = some_f64(100 * (double)(i + 1)),
            .read_bytes = some_u64(i == 0 ? 12345678900 : 0),
            .write_bytes = some_u64(1000 * i),
            .gpu_usage_mean = some_f64(i == 0 ? 0 : 0.9),
            .vcpus = some_u64(1 + i / 4),
            .memory_mib = some_u64(128 * (i + 1))};
    }
    phases[14].memory_peak_mib = phases[3].memory_peak_mib = (struct opt_f64){0};
    summary->phases_source = SUMMARY_PHASES_MARKS;
    summary->phases = LIST(phases);
}

static void fill_hostile(struct summary *summary)
{
    static const char *const text =
        "| a | `b` </details> [x](http://y) www.z.de _c_ *d* #1 &amp; $e$ @g h@i.de\n\x1b[31m\xff"
        "\xc2\x9b"
        "1m\xe2\x80\xae~~f~~ <script>alert(1)</script> \\";
    summary_case_fill_texts(summary, &text);
}

static void fill_nothing(struct summary *summary)
{
    *summary = (struct summary){0};
}

const struct summary_case summary_cases[] = {
    {"full", summary_case_fill_full},
    {"short", fill_short},
    {"host", fill_host},
    {"out-of-memory", fill_out_of_memory},
    {"gpus", fill_gpus},
    {"idle", fill_idle},
    {"unknown-end", fill_unknown},
    {"runs", fill_runs},
    {"phases", fill_phases},
    {"hostile", fill_hostile},
    {"nothing", fill_nothing},
};

const size_t summary_cases_count = sizeof(summary_cases) / sizeof(summary_cases[0]);

static bool is_update(void)
{
    const char *update = getenv("UPDATE_GOLDEN");
    return update && strcmp(update, "1") == 0;
}

static void write_golden(const char *path, const struct buf *text)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text->data, text->len), (ssize_t)text->len);
}

/* Line by line, so that a failure shows the one line that matters. */
static void compare_lines(const char *path, const struct buf *expected, const struct buf *actual)
{
    struct str want_rest = {expected->data, expected->len};
    struct str have_rest = {actual->data, actual->len};
    struct str want, have;
    for (unsigned number = 1; str_line(&want_rest, &want); number++) {
        if (str_line(&have_rest, &have) && str_eq(want, have))
            continue;
        fail_msg("%s:%u\nexpected: %.*s\nactual:   %.*s", path, number, (int)want.n, want.p, (int)have.n, have.p);
    }
    assert_int_equal(expected->len, actual->len);
}

void summary_case_compare(const char *name, const char *ending, const struct buf *actual)
{
    char path[512];
    int n = snprintf(path, sizeof(path), SOURCE_ROOT "/tests/golden/summary/%s.%s", name, ending);
    assert_true(n > 0 && n < (int)sizeof(path));
    assert_true(buf_ok(actual));
    if (is_update()) {
        write_golden(path, actual);
        return;
    }
    AUTO_BUF struct buf expected;
    buf_init(&expected, 1024 * 1024);
    int r = file_read_at(AT_FDCWD, path, &expected);
    if (r < 0)
        fail_msg("%s: %s (UPDATE_GOLDEN=1 makes it)", path, strerror(-r));
    compare_lines(path, &expected, actual);
}

void summary_case_end(void)
{
    if (is_update())
        fail_msg("golden files were written: look at them, then run again without UPDATE_GOLDEN");
}
