/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "summary/summary_internal.h"

/* Ten seconds on a machine of 4 CPUs and 8 GiB, nothing of which was short: used 0.5 cores, P95 0.9. */
static struct summary usual(void)
{
    struct summary summary = {.tracked_pid = some_u64(7), .wall_secs = some_f64(10), .samples = some_u64(10)};
    summary.runs = some_u64(1);
    summary.result = (struct summary_result){.present = true, .verdict = SUMMARY_FINISHED, .exit_code = some_i64(0)};
    summary.cpu = (struct summary_cpu){.present = true,
        .cores_mean = some_f64(0.5),
        .cores_p95 = some_f64(0.9),
        .cores_peak = some_f64(1),
        .wait_secs = some_f64(0.1),
        .wanted_mean = some_f64(0.51),
        .wanted_p95 = some_f64(0.92),
        .wanted_peak = some_f64(1),
        .saturated_pct = some_f64(0),
        .limit_cores = some_f64(4),
        .limit_source = "machine",
        .throttled_secs = some_f64(0),
        .host_cores_mean = some_f64(0.7)};
    summary.memory = (struct summary_memory){.present = true,
        .rss_peak_mib = some_f64(500),
        .need_mib = some_f64(500),
        .limit_mib = some_f64(8192),
        .limit_source = "machine",
        .limit_used_pct = some_f64(6.1),
        .host_swap_growth_mib = some_f64(0),
        .major_faults = some_u64(0)};
    summary.disk = (struct summary_disk){.present = true,
        .read_bytes = some_u64(0),
        .write_bytes = some_u64(0),
        .host_read_bytes = some_u64(0),
        .host_write_bytes = some_u64(0),
        .host_iowait_secs = some_f64(0)};
    summary.pressure =
        (struct sample_pressure){.present = true, .memory_some_secs = some_f64(0), .io_some_secs = some_f64(0)};
    return summary;
}

/* With the same cores used, wanted and at the most in all intervals. */
static void busy(struct summary *summary, double cores)
{
    summary->cpu.cores_mean = summary->cpu.cores_p95 = summary->cpu.cores_peak = some_f64(cores);
    summary->cpu.wanted_mean = summary->cpu.wanted_p95 = summary->cpu.wanted_peak = some_f64(cores);
    summary->cpu.host_cores_mean = some_f64(cores);
    summary->cpu.busiest_mean = some_f64(cores < 1 ? cores : 1); /* of one process */
    summary->cpu.saturated_pct = some_f64(cores >= summary->cpu.limit_cores.v * 0.95 ? 100 : 0);
}

static void with_gpu(struct summary *summary, double usage_mean)
{
    static struct summary_gpu_device device = {.driver = "nvidia", .usage_peak_pct = {true, 100}};
    summary->gpu = (struct summary_gpu){.present = true,
        .count = some_u64(8),
        .usage_mean = some_f64(usage_mean),
        .usage_peak = some_f64(1),
        .utilized_peak = some_u64(1)};
    summary->gpu.devices = (struct sample_list){true, 1, &device};
}

static void assert_kind(struct summary *summary, const char *kind)
{
    struct verdict_texts texts;
    verdict_fill(summary, &texts);
    assert_true(summary->verdict.present);
    assert_string_equal(summary->verdict.kind, kind);
    const char *text = summary->verdict.text;
    assert_true(strlen(text) > 10 && text[strlen(text) - 1] == '.');
    assert_true(summary->verdict.evidence.present);
    assert_true(summary->verdict.evidence.count <= VERDICT_EVIDENCE_MAX);
}

static void assert_verdict(struct summary *summary, const char *kind, const char *text)
{
    static struct verdict_texts texts;
    verdict_fill(summary, &texts);
    assert_string_equal(summary->verdict.text, text);
    assert_string_equal(summary->verdict.kind, kind);
    assert_true(summary->verdict.evidence.count > 0);
}

static void test_mixed(void **state)
{
    (void)state;
    struct summary summary = usual();
    assert_verdict(
        &summary, "mixed", "Mixed: used 0.5 of 4 cores on average, P95 0.9; no single resource held it back.");
}

static void test_host(void **state)
{
    (void)state;
    struct summary summary = {.samples = some_u64(100), .wall_secs = some_f64(100)};
    summary.cpu.host_cores_mean = some_f64(3);
    assert_verdict(&summary, "host", "No job was tracked, only the host.");
    summary.samples = some_u64(0);
    assert_verdict(&summary, "unknown", "Not known: there is no sample.");
    const char *const *keys = summary.verdict.evidence.items;
    assert_string_equal(keys[0], "samples");
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct summary summary = usual();
    summary.memory.limit_mib = some_f64(100);
    summary.memory.need_mib = some_f64(98);
    summary.result = (struct summary_result){.present = true, .verdict = SUMMARY_OUT_OF_MEMORY, .signal = some_i64(9)};
    assert_verdict(
        &summary, "out-of-memory", "Out of memory: it was killed at 98 MiB; it needs more than the limit of 100 MiB.");
    summary.samples = some_u64(1); /* however short */
    assert_kind(&summary, "out-of-memory");
    summary = usual();
    summary.result.oom_kills = some_u64(2);
    assert_verdict(&summary, "out-of-memory",
        "Out of memory: 2 processes of its cgroup were killed at 500 MiB; it needs more than the limit of 8 GiB.");
    /* Near: the kill has no sign of memory. */
    summary = usual();
    summary.result = (struct summary_result){.present = true, .verdict = SUMMARY_SIGNALED, .signal = some_i64(9)};
    summary.result.oom_kills = some_u64(0);
    assert_kind(&summary, "mixed");
}

static void test_too_short(void **state)
{
    (void)state;
    struct summary summary = usual();
    summary.wall_secs = some_f64(1.99);
    assert_verdict(&summary, "too-short", "Too short to say what held it back: 1.99 s and 10 samples.");
    summary.wall_secs = some_f64(2);
    assert_kind(&summary, "mixed");
    summary.samples = some_u64(2);
    assert_kind(&summary, "too-short");
}

static void test_unknown(void **state)
{
    (void)state;
    struct summary summary = usual();
    summary.cpu = (struct summary_cpu){0};
    assert_verdict(&summary, "unknown", "Not known: the recording has no CPU time of the job.");
}

static void test_swapping(void **state)
{
    (void)state;
    struct summary summary = usual();
    busy(&summary, 1); /* what it did meanwhile does not matter */
    summary.memory.host_swap_growth_mib = some_f64(300);
    summary.pressure.memory_some_secs = some_f64(4.2);
    assert_verdict(&summary, "swapping",
        "Swapping: swap in use on the host grew by 300 MiB, and tasks waited for memory for 4.2 s of 10 s.");
    /* Near: swapped out without waiting; waiting without swap. */
    summary.pressure.memory_some_secs = some_f64(0.49);
    assert_kind(&summary, "single-threaded");
    summary.pressure.memory_some_secs = some_f64(4.2);
    summary.memory.host_swap_growth_mib = some_f64(15);
    assert_kind(&summary, "single-threaded");
    /* No pressure stall information: major faults. */
    summary.memory.host_swap_growth_mib = some_f64(300);
    summary.pressure = (struct sample_pressure){0};
    summary.memory.major_faults = some_u64(99);
    assert_kind(&summary, "single-threaded");
    summary.memory.major_faults = some_u64(100);
    assert_kind(&summary, "swapping");
}

static void test_gpu_bound(void **state)
{
    (void)state;
    struct summary summary = usual();
    with_gpu(&summary, 0.93);
    assert_verdict(&summary, "gpu-bound", "GPU-bound: it kept its GPU busy for 93 % of the time.");
    summary.gpu.utilized_peak = some_u64(2);
    summary.gpu.usage_mean = some_f64(1.5);
    assert_verdict(&summary, "gpu-bound", "GPU-bound: it kept its 2 GPUs busy for 75 % of the time.");
    /* The start of a framework takes a while before a GPU is used at all. */
    summary.gpu.usage_mean = some_f64(0.9);
    summary.gpu.active_usage_mean = some_f64(1.9);
    assert_verdict(&summary, "gpu-bound", "GPU-bound: it kept its 2 GPUs busy for 95 % of the time in use.");
    /* Near: most of the run was something else. */
    summary.gpu.usage_mean = some_f64(0.78);
    assert_kind(&summary, "mixed");
    summary.gpu.active_usage_mean = (struct opt_f64){0};
    /* Near: a GPU that is busy less often, with a core that is full while it is. */
    summary.gpu.usage_mean = some_f64(1.48);
    busy(&summary, 1);
    assert_verdict(&summary, "mixed",
        "Mixed: used 1 of 4 cores on average, P95 1, and 74 % of its 2 GPUs; no single resource held it back.");
}

static void test_gpu_starved(void **state)
{
    (void)state;
    struct summary summary = usual();
    with_gpu(&summary, 0.15);
    busy(&summary, 1);
    assert_verdict(&summary, "gpu-starved",
        "GPU starved: its GPU was idle 85 % of the time while one core was full: data loading.");
    busy(&summary, 3.6);
    assert_verdict(&summary, "gpu-starved",
        "GPU starved: its GPU was idle 85 % of the time while 3.6 of 4 cores were busy: data loading.");
    /* Near: no core is full, so nothing of this machine fed it too slowly. */
    busy(&summary, 0.84);
    assert_kind(&summary, "mixed");
    busy(&summary, 0.05);
    assert_verdict(&summary, "mixed",
        "Mixed: used 0.05 of 4 cores on average, P95 0.05, and 15 % of its GPU; no single resource held it back.");
    with_gpu(&summary, 0.02);
    assert_verdict(&summary, "idle", "Mostly idle: used 0.05 of 4 cores and 2 % of its GPU.");
    /* The GPUs of the machine, but not of the job. */
    summary = usual();
    busy(&summary, 1);
    summary.gpu = (struct summary_gpu){.present = true, .count = some_u64(2), .usage_mean = some_f64(0)};
    summary.gpu.usage_peak = some_f64(0);
    summary.gpu.utilized_peak = some_u64(0);
    assert_kind(&summary, "single-threaded");
}

static void throttle(struct summary *summary, double limit, double throttled_secs, double wanted)
{
    busy(summary, limit);
    summary->cpu.limit_cores = some_f64(limit);
    summary->cpu.limit_source = "cgroup";
    summary->cpu.throttled_secs = some_f64(throttled_secs);
    summary->cpu.wanted_mean = summary->cpu.wanted_p95 = some_f64(wanted);
    summary->cpu.wait_secs = some_f64((wanted - limit) * summary->wall_secs.v);
    summary->cpu.saturated_pct = some_f64(100);
}

static void test_throttled(void **state)
{
    (void)state;
    struct summary summary = usual();
    summary.wall_secs = some_f64(5);
    throttle(&summary, 0.3, 1.88, 2);
    assert_verdict(&summary, "throttled",
        "Throttled: the CPU limit of 0.3 cores held it back for 1.88 s of 5 s; it wanted about 2 cores.");
    const char *const *keys = summary.verdict.evidence.items;
    assert_string_equal(keys[0], "cpu.throttled_secs");
    assert_string_equal(keys[3], "cpu.wanted_p95");
    throttle(&summary, 1, 12.5, 4);
    assert_verdict(&summary, "throttled",
        "Throttled: the CPU limit of 1 core held it back for 12.5 s, summed over CPUs; it wanted about 4 cores.");
    summary.cpu.wanted_mean.has = summary.cpu.wanted_p95.has = summary.cpu.wait_secs.has = false;
    assert_verdict(
        &summary, "throttled", "Throttled: the CPU limit of 1 core held it back for 12.5 s, summed over CPUs.");
    assert_int_equal(summary.verdict.evidence.count, 2); /* what is not known is no evidence */
    /* Near: for less than a twentieth of the time; or others of its cgroup were. */
    throttle(&summary, 2, 0.24, 2.1);
    assert_kind(&summary, "cpu-bound");
    throttle(&summary, 2, 3, 2.04);
    busy(&summary, 0.5);
    summary.cpu.wait_secs = some_f64(0.2);
    assert_kind(&summary, "mixed");
}

static void test_memory_limit(void **state)
{
    (void)state;
    struct summary summary = usual();
    summary.memory.need_mib = some_f64(950);
    summary.memory.limit_mib = some_f64(1024);
    summary.memory.limit_source = "cgroup";
    summary.memory.limit_used_pct = some_f64(92.8);
    assert_verdict(&summary, "memory-limit", "Memory close to its limit: 950 MiB of 1 GiB (cgroup).");
    /* RSS counts shared memory more than once. */
    summary.memory.need_mib = some_f64(1536);
    summary.memory.limit_used_pct = some_f64(150);
    assert_verdict(&summary, "memory-limit", "Memory at its limit: 1.5 GiB of 1 GiB (cgroup).");
    summary.memory.limit_used_pct = some_f64(89.9);
    assert_kind(&summary, "mixed");
}

static void starve(struct summary *summary, double used, double wanted, double host)
{
    busy(summary, used);
    summary->cpu.wanted_mean = summary->cpu.wanted_p95 = some_f64(wanted);
    summary->cpu.wait_secs = some_f64((wanted - used) * 10);
    summary->cpu.host_cores_mean = some_f64(host);
}

static void test_starved(void **state)
{
    (void)state;
    struct summary summary = usual();
    starve(&summary, 1, 2, 4);
    assert_verdict(
        &summary, "starved", "Starved by other work: it got 1 of the 2 cores it wanted, and waited 10 s for a CPU.");
    summary.cpu.host_cores_mean.has = false; /* whether there was other work is not known */
    assert_kind(&summary, "mixed");
    /* Near: little was missing. */
    starve(&summary, 0.95, 1.04, 4);
    assert_kind(&summary, "single-threaded");
    starve(&summary, 0.02, 0.09, 4);
    assert_kind(&summary, "idle");
    /* It had all there is, and its own threads waited for each other. */
    starve(&summary, 4, 8, 4);
    summary.cpu.saturated_pct = some_f64(98);
    assert_verdict(&summary, "cpu-bound", "CPU-bound on 4 of 4 cores; it wanted about 8 cores.");
    /* It wants more than there is, and others have most of what there is. */
    starve(&summary, 0.6, 8, 4);
    assert_verdict(&summary, "starved",
        "Starved by other work: it got 0.6 of the 8 cores it wanted (it may use 4), and waited 1 min 14 s for a "
        "CPU.");
    starve(&summary, 3.5, 8, 4);
    assert_kind(&summary, "cpu-bound");
    /* No other work: it was bound to fewer CPUs by itself. */
    starve(&summary, 1, 2, 1.2);
    assert_kind(&summary, "mixed");
}

/* CPUs were idle while it waited: a limit that only some of its processes have. */
static void test_held_back_by_a_limit_that_is_not_seen(void **state)
{
    (void)state;
    struct summary summary = usual();
    starve(&summary, 0.5, 1, 1.5);
    summary.cpu.lacked_idle_mean = some_f64(0.45);
    assert_verdict(&summary, "throttled",
        "Throttled: it got 0.5 of the 1 core it wanted, and waited 5 s for a CPU while others were idle: a quota or "
        "affinity of some of its processes.");
    /* Near: no CPU was idle in most of that time; so little was missing; its affinity is known. */
    summary.cpu.lacked_idle_mean = some_f64(0.37);
    assert_kind(&summary, "starved");
    starve(&summary, 0.8, 1, 1.5);
    summary.cpu.lacked_idle_mean = some_f64(0.2);
    assert_kind(&summary, "starved");
    starve(&summary, 0.5, 1, 1.5);
    summary.cpu.lacked_idle_mean = some_f64(0.45);
    summary.cpu.limit_source = "affinity";
    assert_kind(&summary, "starved");
}

/* What it waited for is not known: a machine without an idle CPU is evidence. */
static void test_starved_without_waiting(void **state)
{
    (void)state;
    struct summary summary = usual();
    summary.machine.cpus = some_u64(4);
    starve(&summary, 0.76, 2, 3.96);
    summary.cpu.wanted_mean.has = summary.cpu.wanted_p95.has = summary.cpu.wait_secs.has = false;
    summary.cpu.busiest_mean = some_f64(0.2);
    assert_verdict(&summary, "starved",
        "Starved by other work: of the 4 CPUs, which were all busy, it got 0.76 and other work 3.2; how long it waited "
        "is not known.");
    /* Near: a CPU was idle; it slept; its thread had a core of its own. */
    summary.cpu.host_cores_mean = some_f64(3.75);
    assert_verdict(
        &summary, "mixed", "Mixed: used 0.76 of 4 cores on average, P95 0.76; what it waited for a CPU is not known.");
    starve(&summary, 0.05, 2, 3.96);
    summary.cpu.wanted_mean.has = summary.cpu.wanted_p95.has = summary.cpu.wait_secs.has = false;
    assert_kind(&summary, "mixed"); /* not idle: it may have waited */
    summary.cpu.host_cores_mean = some_f64(1);
    assert_kind(&summary, "idle");
    starve(&summary, 1, 2, 4);
    summary.cpu.wanted_mean.has = summary.cpu.wanted_p95.has = summary.cpu.wait_secs.has = false;
    assert_kind(&summary, "single-threaded");
}

/* Most of its processes were too short to be read. */
static void test_starved_by_an_estimate(void **state)
{
    (void)state;
    struct summary summary = usual();
    starve(&summary, 0.8, 4.04, 4);
    summary.cpu.wanted_is_estimate = some_bool(true);
    summary.cpu.wait_secs.has = false;
    assert_verdict(&summary, "starved",
        "Starved by other work: it got 0.8 of about 4 cores it wanted (estimated: its processes were too short to be "
        "read).");
    starve(&summary, 0.6, 0.62, 4);
    summary.cpu.wait_secs.has = false;
    assert_verdict(&summary, "mixed",
        "Mixed: used 0.6 of 4 cores on average, P95 0.6; no single resource is known to have held it back (what it "
        "waited for a CPU is estimated).");
}

/* It waited for both: the longer wait counts. */
static void test_starved_or_disk(void **state)
{
    (void)state;
    struct summary summary = usual();
    starve(&summary, 0.3, 0.5, 4);
    summary.disk.write_bytes = summary.disk.host_write_bytes = some_u64(800000000);
    summary.pressure.io_some_secs = some_f64(2.6);
    assert_kind(&summary, "disk");
    starve(&summary, 0.3, 0.57, 4);
    assert_kind(&summary, "starved");
    summary.pressure.io_some_secs = some_f64(2.4); /* too little to count, whatever it is compared with */
    starve(&summary, 0.3, 0.5, 4);
    assert_kind(&summary, "starved");
}

static void test_disk(void **state)
{
    (void)state;
    struct summary summary = usual();
    busy(&summary, 0.2);
    summary.disk.write_bytes = some_u64(800000000);
    summary.disk.host_write_bytes = some_u64(900000000);
    summary.pressure.io_some_secs = some_f64(7.3);
    assert_verdict(&summary, "disk", "Waits for disk: read 0 B, wrote 800 MB; tasks waited for I/O for 7.3 s of 10 s.");
    /* Near: nothing waited; the waiting was of others; CPU time set the pace. */
    summary.pressure.io_some_secs = some_f64(2.4);
    assert_kind(&summary, "mixed");
    summary.pressure.io_some_secs = some_f64(7.3);
    summary.disk.write_bytes = some_u64(600000);
    assert_kind(&summary, "mixed");
    summary.disk.write_bytes = some_u64(80000000);
    assert_kind(&summary, "mixed");
    summary.disk.write_bytes = some_u64(800000000);
    busy(&summary, 0.95);
    assert_kind(&summary, "single-threaded");
    /* No pressure stall information: time in which CPUs were idle with I/O pending. */
    busy(&summary, 0.05);
    summary.pressure = (struct sample_pressure){0};
    assert_kind(&summary, "idle");
    summary.disk.host_iowait_secs = some_f64(6);
    assert_verdict(&summary, "disk", "Waits for disk: read 0 B, wrote 800 MB; tasks waited for I/O for 6 s of 10 s.");
    summary.disk.host_iowait_secs = some_f64(40);
    assert_verdict(
        &summary, "disk", "Waits for disk: read 0 B, wrote 800 MB; tasks waited for I/O for 40 s, summed over CPUs.");
}

static void test_growing(void **state)
{
    (void)state;
    struct summary summary = usual();
    busy(&summary, 1);
    summary.memory.rss_peak_mib = some_f64(1024);
    summary.memory.growth_mib = some_f64(400);
    assert_verdict(&summary, "memory-growing",
        "Memory grew to the end: by 400 MiB in the second half, to 1 GiB; a longer run needs more.");
    summary.memory.growth_mib.has = false;
    assert_kind(&summary, "single-threaded");
}

static void test_cpu_bound(void **state)
{
    (void)state;
    struct summary summary = usual();
    busy(&summary, 3.97);
    assert_verdict(&summary, "cpu-bound", "CPU-bound on 4 of 4 cores.");
    /* A steady number of cores, though there are more. */
    busy(&summary, 2);
    assert_verdict(&summary, "cpu-bound", "CPU-bound on 2 of 4 cores.");
    summary.cpu.limit_cores.has = false;
    assert_verdict(&summary, "cpu-bound", "CPU-bound on 2 cores.");
    summary.cpu.limit_cores = some_f64(8);
    busy(&summary, 1.82);
    assert_verdict(&summary, "cpu-bound", "CPU-bound on 1.82 of 8 cores.");
    summary.cpu.limit_cores = some_f64(2.4);
    busy(&summary, 2.38);
    assert_verdict(&summary, "cpu-bound", "CPU-bound on 2.4 of 2.4 cores.");
    /* All of a limit of less than a core, and of one core. */
    summary = usual();
    summary.cpu.limit_cores = some_f64(0.5);
    busy(&summary, 0.49);
    assert_verdict(&summary, "cpu-bound", "CPU-bound on 0.5 of 0.5 cores.");
    summary.cpu.limit_cores = some_f64(1);
    busy(&summary, 1);
    assert_verdict(&summary, "cpu-bound", "CPU-bound on 1 of 1 core.");
    /* Half of the time. */
    summary = usual();
    busy(&summary, 4);
    summary.cpu.cores_mean = summary.cpu.wanted_mean = some_f64(2.2);
    summary.cpu.saturated_pct = some_f64(50);
    assert_kind(&summary, "cpu-bound");
    summary.cpu.saturated_pct = some_f64(49);
    assert_kind(&summary, "mixed");
    busy(&summary, 2);
    summary.cpu.cores_mean = summary.cpu.wanted_mean = some_f64(1.69);
    assert_kind(&summary, "mixed");
}

static void test_single_threaded(void **state)
{
    (void)state;
    struct summary summary = usual();
    busy(&summary, 0.99);
    assert_verdict(
        &summary, "single-threaded", "Single-threaded: one core was full (0.99 of 4 cores); more cores do not help.");
    summary.cpu.cores_mean = summary.cpu.wanted_mean = some_f64(0.79);
    assert_kind(&summary, "mixed");
    busy(&summary, 0.99);
    summary.cpu.cores_p95 = some_f64(1.06);
    assert_kind(&summary, "mixed");
    busy(&summary, 0.99);
    summary.cpu.cores_peak = some_f64(1.4);
    assert_kind(&summary, "mixed");
    busy(&summary, 0.99);
    summary.cpu.wanted_p95 = some_f64(1.3);
    assert_kind(&summary, "mixed");
}

/* Many that use a little each are no single thread. */
static void test_single_threaded_needs_a_full_process(void **state)
{
    (void)state;
    struct sample_process first = {.cpu_secs = some_f64(1)};
    struct summary summary = usual();
    busy(&summary, 0.92);
    summary.cpu.busiest_mean = some_f64(0.1);
    assert_verdict(
        &summary, "mixed", "Mixed: used 0.92 of 4 cores on average, P95 0.92; no single resource held it back.");
    summary.cpu.busiest_mean = some_f64(0.69);
    assert_kind(&summary, "mixed");
    summary.cpu.busiest_mean = some_f64(0.7);
    assert_kind(&summary, "single-threaded");
    /* Recordings of older versions: CPU time over the run, or the number of processes. */
    summary.cpu.busiest_mean.has = false;
    assert_kind(&summary, "mixed");
    summary.cpu.total_secs = some_f64(9.2);
    summary.cpu.processes = (struct sample_list){true, 1, &first};
    assert_kind(&summary, "mixed");
    first.cpu_secs = some_f64(8);
    assert_kind(&summary, "single-threaded");
    summary.cpu.processes = (struct sample_list){0};
    summary.cpu.processes_peak = some_u64(10);
    assert_kind(&summary, "mixed");
    summary.cpu.processes_peak = some_u64(1);
    assert_kind(&summary, "single-threaded");
}

static void test_idle(void **state)
{
    (void)state;
    struct summary summary = usual();
    busy(&summary, 0.004);
    assert_verdict(&summary, "idle", "Mostly idle: used 0.004 of 4 cores.");
    busy(&summary, 0.1);
    assert_kind(&summary, "mixed");
    busy(&summary, 0.05);
    summary.cpu.wanted_mean = some_f64(0.12);
    assert_kind(&summary, "mixed");
}

/* GPUs were busy, and what of that was the job is not known: it may have waited for them. */
static void test_unknown_use_of_gpus(void **state)
{
    (void)state;
    static const struct {
        double cores;
        const char *kind;
    } cases[] = {{0.01, "idle"}, {0.99, "single-threaded"}};
    for (size_t i = 0; i < 2; i++) {
        struct summary summary = usual();
        busy(&summary, cases[i].cores);
        summary.gpu = (struct summary_gpu){.present = true, .count = some_u64(1), .host_usage_mean = some_f64(0.1)};
        assert_kind(&summary, "mixed");
        summary.gpu.host_usage_mean = some_f64(0.09);
        assert_kind(&summary, cases[i].kind);
        summary.gpu.host_usage_mean = some_f64(0.9); /* of others */
        summary.gpu.usage_mean = some_f64(0);
        assert_kind(&summary, cases[i].kind);
    }
}

/* Of two that apply, the one that is first in the table. */
static void test_order(void **state)
{
    (void)state;
    struct summary summary = usual();
    throttle(&summary, 0.3, 5, 2);
    summary.memory.limit_used_pct = some_f64(97);
    assert_kind(&summary, "throttled");
    with_gpu(&summary, 0.9);
    assert_kind(&summary, "gpu-bound");
    summary.memory.host_swap_growth_mib = some_f64(100);
    summary.pressure.memory_some_secs = some_f64(2);
    assert_kind(&summary, "swapping");
    summary = usual();
    starve(&summary, 1, 2, 4);
    with_gpu(&summary, 0.2);
    assert_kind(&summary, "starved");
}

/* Numbers of a recording that is made up. */
static void test_huge_numbers(void **state)
{
    (void)state;
    struct summary summary = usual();
    busy(&summary, 1e300);
    assert_kind(&summary, "cpu-bound");
    summary.cpu.limit_cores = some_f64(1e308);
    summary.cpu.limit_source = NULL;
    summary.cpu.throttled_secs = summary.cpu.wait_secs = some_f64(1e300);
    assert_kind(&summary, "throttled");
    summary = usual();
    busy(&summary, __builtin_nan(""));
    struct verdict_texts texts;
    verdict_fill(&summary, &texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_too_short),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_swapping),
        cmocka_unit_test(test_gpu_bound),
        cmocka_unit_test(test_gpu_starved),
        cmocka_unit_test(test_throttled),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_starved),
        cmocka_unit_test(test_held_back_by_a_limit_that_is_not_seen),
        cmocka_unit_test(test_starved_without_waiting),
        cmocka_unit_test(test_starved_by_an_estimate),
        cmocka_unit_test(test_starved_or_disk),
        cmocka_unit_test(test_single_threaded_needs_a_full_process),
        cmocka_unit_test(test_disk),
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_cpu_bound),
        cmocka_unit_test(test_single_threaded),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_unknown_use_of_gpus),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_huge_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
