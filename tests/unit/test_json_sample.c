/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole sample as a JSON line: every key of every section, in the order of the contract, each from its own member.
 * Every member gets a value of its own, so a row that points at a neighbour is noticed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "encode/encode.h"

static const struct run_info info = {.version = "9.8.7", .interval_ns = 1000000000};

static struct sample empty_sample(void)
{
    return (struct sample){
        .timestamp_secs = some_i64(1700000000),
        .timestamp_ms = some_i64(1700000000123),
        .elapsed_secs = some_f64(12.5),
        .version = "9.8.7",
    };
}

static const char *encode(struct buf *buf, const struct sample *sample)
{
    buf_clear(buf);
    assert_null(encoder_jsonl.begin);
    encoder_jsonl.sample(&info, sample, NULL, buf);
    assert_true(buf_ok(buf));
    const char *text = buf_cstr(buf);
    size_t n = strlen(text);
    assert_int_equal(n, buf->len);
    assert_true(n > 0 && text[n - 1] == '\n');
    assert_ptr_equal(strchr(text, '\n'), text + n - 1);
    return text;
}

/* The line must hold this text, once. */
static void assert_holds(const char *text, const char *part)
{
    const char *found = strstr(text, part);
    if (!found)
        print_error("missing: %s\nin: %s\n", part, text);
    assert_non_null(found);
    assert_null(strstr(found + 1, part));
}

static void test_nothing_known(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    struct sample sample = empty_sample();
    assert_string_equal(encode(&buf, &sample),
        "{\"timestamp_secs\":1700000000,\"timestamp_ms\":1700000000123,\"elapsed_secs\":12.5,\"job_name\":null,"
        "\"tracked_pid\":null,\"cpu\":null,\"memory\":null,\"network\":null,\"disk\":null,\"gpu\":null,"
        "\"pressure\":null,\"cgroup\":null,\"energy\":null,\"tracker\":null,\"resource-tracker-version\":\"9.8.7\"}\n");
}

static void test_top_level_values(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    struct sample sample = empty_sample();
    sample.actual_interval_ms = some_f64(1000.4375);
    sample.job_name = "a\"b\n\xff";
    sample.tracked_pid = some_u64(4194304);
    sample.network = (struct sample_list){.present = true};
    sample.disk = (struct sample_list){.present = true};
    sample.gpu = (struct sample_list){.present = true};
    assert_string_equal(encode(&buf, &sample),
        "{\"timestamp_secs\":1700000000,\"timestamp_ms\":1700000000123,\"elapsed_secs\":12.5,"
        "\"actual_interval_ms\":1000,\"job_name\":\"a\\\"b\\n\xef\xbf\xbd\",\"tracked_pid\":4194304,"
        "\"cpu\":null,\"memory\":null,\"network\":[],\"disk\":[],\"gpu\":[],\"pressure\":null,\"cgroup\":null,"
        "\"energy\":null,"
        "\"tracker\":null,\"resource-tracker-version\":\"9.8.7\"}\n");
}

static void test_cpu(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    struct sample sample = empty_sample();
    const struct opt_f64 cores[] = {some_f64(100), {0}, some_f64(0), some_f64(33.33333)};
    sample.cpu = (struct sample_cpu){
        .present = true,
        .utilization_pct = some_f64(1),
        .per_core_pct = {.present = true, .count = 4, .items = cores},
        .utime_secs = some_f64(2),
        .stime_secs = some_f64(3),
        .iowait_secs = some_f64(4),
        .irq_secs = some_f64(5),
        .steal_secs = some_f64(6),
        .steal_pct = some_f64(0.125),
        .per_core_steal_pct = {.present = true, .count = 4, .items = cores},
        .cgroup_usage_secs = some_f64(6.5),
        .cgroup_cores = some_f64(6.75),
        .process_count = some_u64(7),
        .procs_running = some_u64(8),
        .procs_blocked = some_u64(9),
        .context_switches = some_u64(10),
        .load1 = some_f64(11),
        .load5 = some_f64(12),
        .load15 = some_f64(13),
        .process_cores_used = some_f64(14),
        .process_cores_wanted = some_f64(14.5),
        .process_busiest_cores = some_f64(0.75),
        .process_child_count = some_u64(15),
        .process_thread_count = some_u64(16),
        .process_utime_secs = some_f64(17),
        .process_stime_secs = some_f64(18),
        .process_rss_mib = some_f64(19 + 4096 / BYTES_PER_MIB),
        .process_pss_mib = some_f64(20.5),
        .process_peak_rss_mib = some_f64(21),
        .process_disk_read_bytes = some_u64(22),
        .process_disk_write_bytes = some_u64(23),
        .process_net_recv_bytes = some_u64(231),
        .process_net_sent_bytes = some_u64(232),
        .process_net_source = "tcp",
        .process_major_faults = some_u64(24),
        .process_gpu_usage = some_f64(25),
        .process_gpu_vram_mib = some_f64(26.75),
        .process_gpu_utilized = some_u64(27),
    };
    assert_holds(encode(&buf, &sample),
        ",\"cpu\":{\"utilization_pct\":1.0,\"per_core_pct\":[100.0,null,0.0,33.3333],\"utime_secs\":2.0,"
        "\"stime_secs\":3.0,\"iowait_secs\":4.0,\"irq_secs\":5.0,\"steal_time_secs\":6.0,"
        "\"steal_secs\":6.0,\"steal_time_pct\":0.125,\"per_core_steal_time_pct\":[100.0,null,0.0,33.3333],"
        "\"cgroup_usage_secs\":6.5,\"cgroup_utilization_pct\":6.75,\"process_count\":7,"
        "\"procs_running\":8,\"procs_blocked\":9,\"context_switches\":10,\"load1\":11.0,\"load5\":12.0,"
        "\"load15\":13.0,\"process_cores_used\":14.0,\"process_cores_wanted\":14.5,"
        "\"process_busiest_cores\":0.75,\"process_child_count\":15,\"process_thread_count\":16,"
        "\"process_utime_secs\":17.0,\"process_stime_secs\":18.0,\"process_wait_secs\":null,\"process_rss_mib\":19,"
        "\"process_rss_bytes\":19927040,\"process_pss_mib\":20,\"process_pss_bytes\":21495808,"
        "\"process_peak_rss_mib\":21,\"process_peak_rss_bytes\":22020096,\"process_disk_read_bytes\":22,\"process_disk_"
        "write_bytes\":23,"
        "\"process_net_recv_bytes\":231,\"process_net_sent_bytes\":232,\"process_net_source\":\"tcp\","
        "\"process_major_faults\":24,\"process_gpu_usage\":25.0,\"process_gpu_vram_mib\":26,\"process_gpu_vram_bytes\":"
        "28049408,"
        "\"process_gpu_utilized\":27},\"memory\":");
}

static void test_memory(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    struct sample sample = empty_sample();
    sample.memory = (struct sample_memory){
        .present = true,
        .total_mib = some_f64(1),
        .free_mib = some_f64(2),
        .available_mib = some_f64(3),
        .unavailable_mib = some_f64(3.75),
        .used_mib = some_f64(4),
        .used_pct = some_f64(5),
        .buffers_mib = some_f64(6),
        .cached_mib = some_f64(7),
        .active_mib = some_f64(8),
        .inactive_mib = some_f64(9),
        .swap_total_mib = some_f64(10),
        .swap_used_mib = some_f64(11),
        .swap_used_pct = some_f64(12),
        .shmem_mib = some_f64(13),
        .dirty_mib = some_f64(14),
    };
    assert_holds(encode(&buf, &sample),
        ",\"memory\":{\"total_mib\":1,\"free_mib\":2,\"available_mib\":3,\"unavailable_mib\":3,\"used_mib\":4,\"used_"
        "pct\":5.0,"
        "\"buffers_mib\":6,\"cached_mib\":7,\"active_mib\":8,\"inactive_mib\":9,\"swap_total_mib\":10,"
        "\"swap_used_mib\":11,\"swap_used_pct\":12.0,\"shmem_mib\":13,\"dirty_mib\":14},\"network\":");
}

static void test_network(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    struct sample sample = empty_sample();
    const struct sample_network interfaces[] = {
        {
            .interface = "eth0",
            .mac_address = "m",
            .driver = "d",
            .operstate = "up",
            .speed_mbps = some_i64(-1),
            .mtu = some_u64(1),
            .rx_bytes_per_sec = some_f64(2),
            .tx_bytes_per_sec = some_f64(3),
            .rx_bytes_total = some_u64(4),
            .tx_bytes_total = some_u64(5),
            .rx_errors = some_u64(6),
            .tx_errors = some_u64(7),
            .rx_dropped = some_u64(8),
            .tx_dropped = some_u64(9),
            .is_virtual = some_bool(true),
            .rx_bytes_delta = some_u64(77),
            .tx_bytes_delta = some_u64(88),
        },
        {.interface = "w\"0", .is_virtual = some_bool(false)},
    };
    sample.network = (struct sample_list){.present = true, .count = 2, .items = interfaces};
    assert_holds(encode(&buf, &sample),
        ",\"network\":[{\"interface\":\"eth0\",\"mac_address\":\"m\",\"driver\":\"d\",\"operstate\":\"up\","
        "\"speed_mbps\":-1,\"mtu\":1,\"rx_bytes_per_sec\":2.0,\"tx_bytes_per_sec\":3.0,\"rx_bytes\":77,\"tx_bytes\":88,"
        "\"rx_bytes_total\":4,"
        "\"tx_bytes_total\":5,\"rx_errors\":6,\"tx_errors\":7,\"rx_dropped\":8,\"tx_dropped\":9,\"virtual\":true},"
        "{\"interface\":\"w\\\"0\",\"mac_address\":null,\"driver\":null,\"operstate\":null,\"speed_mbps\":null,"
        "\"mtu\":null,\"rx_bytes_per_sec\":null,\"tx_bytes_per_sec\":null,\"rx_bytes\":null,\"tx_bytes\":null,\"rx_"
        "bytes_total\":null,"
        "\"tx_bytes_total\":null,\"rx_errors\":null,\"tx_errors\":null,\"rx_dropped\":null,\"tx_dropped\":null,"
        "\"virtual\":false}],\"disk\":");
}

static void test_disk(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    struct sample sample = empty_sample();
    const struct sample_mount mounts[] = {
        {"/", "ext4", some_u64(1), some_u64(2), some_u64(3), some_f64(4)}, {"/a b\\c", NULL, {0}, {0}, {0}, {0}}};
    const struct sample_disk disks[] = {
        {
            .device = "sda",
            .model = "m",
            .vendor = "v",
            .serial = "s",
            .device_type = "ssd",
            .capacity_bytes = some_u64(5),
            .sector_bytes = some_u64(6),
            .mounts = {.present = true, .count = 2, .items = mounts},
            .read_bytes_per_sec = some_f64(7),
            .write_bytes_per_sec = some_f64(8),
            .read_bytes_total = some_u64(9),
            .write_bytes_total = some_u64(10),
            .reads_per_sec = some_f64(11),
            .writes_per_sec = some_f64(12),
            .busy_pct = some_f64(13),
            .stacked = some_bool(false),
            .read_bytes_delta = some_u64(77),
            .write_bytes_delta = some_u64(88),
        },
        {.device = "sdb"},
    };
    sample.disk = (struct sample_list){.present = true, .count = 2, .items = disks};
    assert_holds(encode(&buf, &sample),
        ",\"disk\":[{\"device\":\"sda\",\"model\":\"m\",\"vendor\":\"v\",\"serial\":\"s\",\"device_type\":\"ssd\","
        "\"capacity_bytes\":5,\"sector_bytes\":6,\"mounts\":[{\"mount_point\":\"/\",\"filesystem\":\"ext4\","
        "\"total_bytes\":1,\"used_bytes\":2,\"available_bytes\":3,\"used_pct\":4.0},{\"mount_point\":\"/a b\\\\c\","
        "\"filesystem\":null,\"total_bytes\":null,\"used_bytes\":null,\"available_bytes\":null,\"used_pct\":null}],"
        "\"read_bytes_per_sec\":7.0,\"write_bytes_per_sec\":8.0,\"read_bytes\":77,\"write_bytes\":88,\"read_bytes_"
        "total\":9,\"write_bytes_total\":10,"
        "\"reads_per_sec\":11.0,\"writes_per_sec\":12.0,\"busy_pct\":13.0,\"stacked\":false},{\"device\":\"sdb\","
        "\"model\":null,\"vendor\":null,\"serial\":null,\"device_type\":null,\"capacity_bytes\":null,"
        "\"sector_bytes\":null,\"mounts\":null,\"read_bytes_per_sec\":null,\"write_bytes_per_sec\":null,"
        "\"read_bytes\":null,\"write_bytes\":null,\"read_bytes_total\":null,\"write_bytes_total\":null,\"reads_per_"
        "sec\":null,\"writes_per_sec\":null,"
        "\"busy_pct\":null,\"stacked\":null}],\"gpu\":");
}

static void test_gpu(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    struct sample sample = empty_sample();
    const struct str_pair detail[] = {{"driver\"", "1.2"}, {"pci", NULL}};
    const char *const reasons[] = {"power", NULL, "heat\t"};
    const struct sample_gpu gpus[] = {
        {
            .uuid = "u",
            .name = "n",
            .device_type = "GPU",
            .host_id = "h",
            .detail = {.present = true, .count = 2, .items = detail},
            .utilization_pct = some_f64(1),
            .vram_total_bytes = some_u64(2),
            .vram_used_bytes = some_u64(3),
            .vram_used_pct = some_f64(4),
            .temperature_celsius = some_f64(-5.5),
            .power_watts = some_f64(6),
            .frequency_mhz = some_f64(7.5),
            .core_count = some_u64(8),
            .memory_utilization_pct = some_f64(9),
            .throttle_reasons = {.present = true, .count = 3, .items = reasons},
            .process_vram_bytes = some_u64(85899345920),
            .process_utilization_pct = some_f64(10.5),
        },
        {.detail = {.present = true}, .throttle_reasons = {.present = true}},
    };
    sample.gpu = (struct sample_list){.present = true, .count = 2, .items = gpus};
    assert_holds(encode(&buf, &sample),
        ",\"gpu\":[{\"uuid\":\"u\",\"name\":\"n\",\"device_type\":\"GPU\",\"host_id\":\"h\","
        "\"detail\":{\"driver\\\"\":\"1.2\",\"pci\":null},\"utilization_pct\":1.0,\"vram_total_bytes\":2,"
        "\"vram_used_bytes\":3,\"vram_used_pct\":4.0,\"temperature_celsius\":-6,\"power_watts\":6.0,"
        "\"frequency_mhz\":8,\"core_count\":8,\"memory_utilization_pct\":9.0,"
        "\"throttle_reasons\":[\"power\",null,\"heat\\t\"],\"process_vram_bytes\":85899345920,"
        "\"process_utilization_pct\":10.5},{\"uuid\":null,\"name\":null,\"device_type\":null,"
        "\"host_id\":null,\"detail\":{},\"utilization_pct\":null,\"vram_total_bytes\":null,\"vram_used_bytes\":null,"
        "\"vram_used_pct\":null,\"temperature_celsius\":null,\"power_watts\":null,\"frequency_mhz\":null,"
        "\"core_count\":null,\"memory_utilization_pct\":null,\"throttle_reasons\":[],"
        "\"process_vram_bytes\":null,\"process_utilization_pct\":null}],\"pressure\":");
}

static void test_pressure_cgroup_and_tracker(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    struct sample sample = empty_sample();
    sample.pressure = (struct sample_pressure){true, some_f64(1), some_f64(2), some_f64(3), some_f64(4), some_f64(5)};
    sample.cgroup = (struct sample_cgroup){
        .present = true,
        .cpu_limit_cores = some_f64(6),
        .cpu_usage_secs = some_f64(7),
        .throttled_secs = some_f64(8),
        .memory_limit_mib = some_f64(9),
        .memory_used_mib = some_f64(10),
        .memory_peak_mib = some_f64(11),
        .oom_kills = some_u64(12),
    };
    sample.energy =
        (struct sample_energy){true, some_f64(17), some_f64(18), some_f64(19), some_f64(20), some_f64(21), "a"};
    sample.tracker = (struct sample_tracker){true, some_f64(13), some_f64(14.25), some_f64(15), some_u64(16)};
    assert_holds(encode(&buf, &sample),
        ",\"pressure\":{\"cpu_some_secs\":1.0,\"memory_some_secs\":2.0,\"memory_full_secs\":3.0,"
        "\"io_some_secs\":4.0,\"io_full_secs\":5.0},\"cgroup\":{\"cpu_limit_cores\":6.0,\"cpu_usage_secs\":7.0,"
        "\"throttled_secs\":8.0,\"memory_limit_mib\":9,\"memory_used_mib\":10,\"memory_peak_mib\":11,"
        "\"oom_kills\":12},\"energy\":{\"package_joules\":17.0,\"dram_joules\":18.0,\"platform_joules\":19.0,"
        "\"idle_joules\":20.0,\"process_joules\":21.0,\"source\":\"a\"},\"tracker\":{\"cpu_secs\":13.0,\"rss_mib\":14,"
        "\"rss_bytes\":14942208,\"late_ms\":15.0,"
        "\"missed_samples\":16},"
        "\"resource-tracker-version\":\"9.8.7\"}\n");
}

/* What only some samples have is left out of the others (test_nothing_known). */
static void test_processes_run_and_end(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    struct sample sample = empty_sample();
    const struct sample_process processes[] = {
        {.pid = some_u64(1), .name = "a\nb", .command = "a b\xff", .rss_mib = some_f64(2.25), .cpu_secs = some_f64(3)},
        {.name = NULL}};
    const char *const command[] = {"sh", "-c", "exit 3"};
    const struct str_pair tags[] = {{"team", "\"x\""}, {"k", NULL}};
    sample.processes = (struct sample_list){true, 2, processes};
    sample.run = (struct sample_run){.present = true,
        .interval_secs = some_f64(0.25),
        .hostname = "h",
        .cpus_allowed = some_u64(4),
        .command = {true, 3, command},
        .cpu_model = "A CPU",
        .cgroup_path = "/a",
        .cgroup_is_own = some_bool(true),
        .tags = {true, 2, tags}};
    sample.end = (struct sample_end){.present = true,
        .exit_code = some_i64(137),
        .signal = some_i64(9),
        .oom_kills = some_u64(1),
        .cpu_is_lower_bound = some_bool(false),
        .target_is_running = some_bool(true),
        .minor_faults = some_u64(0),
        .voluntary_switches = some_u64(50),
        .marks_dropped = some_u64(7),
        .processes_seen = some_u64(3),
        .processes_unseen = some_u64(5),
        .processes_by_cpu = {true, 1, processes}};
    assert_holds(encode(&buf, &sample),
        ",\"processes\":[{\"pid\":1,\"name\":\"a\\nb\",\"command\":\"a b\xef\xbf\xbd\",\"rss_mib\":2,\"rss_bytes\":"
        "2359296,\"cpu_secs\":3.0},{\"pid\":null,\"name\":null,\"command\":null,\"rss_mib\":null,\"rss_bytes\":null,"
        "\"cpu_secs\":null}],"
        "\"run\":{\"interval_secs\":0.25,\"hostname\":\"h\",\"kernel\":null,\"cpus_allowed\":4,\"cgroup_peak_mib\":"
        "null,"
        "\"command\":[\"sh\",\"-c\",\"exit 3\"],\"cpu_model\":\"A CPU\",\"cgroup_path\":\"/a\",\"cgroup_is_own\":true,"
        "\"metadata\":null,\"tags\":{\"team\":\"\\\"x\\\"\",\"k\":null}},"
        "\"end\":{\"exit_code\":137,\"signal\":9,\"oom_kills\":1,\"host_oom_kills\":null,"
        "\"gpu_energy_joules\":null,\"cpu_is_lower_bound\":false,\"largest_process_mib\":null,\"largest_process_"
        "bytes\":null,\"cpus_allowed\":null,\"left_running\":null,\"target_is_running\":true,\"minor_faults\":0,"
        "\"major_faults\":null,"
        "\"voluntary_switches\":50,\"involuntary_switches\":null,\"marks_dropped\":7,\"processes_seen\":3,"
        "\"processes_unseen\":5,\"processes_by_cpu\":[{\"pid\":1,"
        "\"name\":\"a\\nb\",\"command\":\"a b\xef\xbf\xbd\",\"rss_mib\":2,\"rss_bytes\":2359296,\"cpu_secs\":3.0}]},"
        "\"resource-tracker-version\":\"9.8.7\"}\n");
}

static void test_sections_that_are_there_but_know_nothing(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    struct sample sample = empty_sample();
    sample.cpu.present = sample.memory.present = sample.pressure.present = true;
    sample.cgroup.present = sample.tracker.present = true;
    const char *text = encode(&buf, &sample);
    assert_holds(text, "\"cpu\":{\"utilization_pct\":null,\"per_core_pct\":null,\"utime_secs\":null,");
    assert_holds(text, "\"process_gpu_utilized\":null},\"memory\":{\"total_mib\":null,");
    assert_holds(text, "\"dirty_mib\":null},\"network\":null,\"disk\":null,\"gpu\":null,"
                       "\"pressure\":{\"cpu_some_secs\":null,");
    assert_holds(text, "\"io_full_secs\":null},\"cgroup\":{\"cpu_limit_cores\":null,");
    assert_holds(text, "\"oom_kills\":null},\"energy\":null,\"tracker\":{\"cpu_secs\":null,\"rss_mib\":null,\"rss_"
                       "bytes\":null,\"late_ms\":null,"
                       "\"missed_samples\":null},");
    assert_null(strstr(text, ":0"));
}

static void test_too_little_room_is_noticed(void **state)
{
    (void)state;
    struct sample sample = empty_sample();
    sample.cpu.present = true;
    AUTO_BUF struct buf whole;
    buf_init(&whole, 65536);
    size_t need = strlen(encode(&whole, &sample));
    for (size_t max = 0; max < need; max += 7) {
        AUTO_BUF struct buf buf;
        buf_init(&buf, max);
        encoder_jsonl.sample(&info, &sample, NULL, &buf);
        assert_false(buf_ok(&buf));
    }
    /* A little more than the text is enough. */
    AUTO_BUF struct buf snug;
    buf_init(&snug, need + 128);
    encoder_jsonl.sample(&info, &sample, NULL, &snug);
    assert_true(buf_ok(&snug));
    assert_int_equal(snug.len, need);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_top_level_values),
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_network),
        cmocka_unit_test(test_disk),
        cmocka_unit_test(test_gpu),
        cmocka_unit_test(test_pressure_cgroup_and_tracker),
        cmocka_unit_test(test_processes_run_and_end),
        cmocka_unit_test(test_sections_that_are_there_but_know_nothing),
        cmocka_unit_test(test_too_little_room_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
