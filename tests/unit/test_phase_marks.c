/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "summary/rows.h"
#include "tally_scenario.h"

static struct sample_mark mark(double secs, const char *kind, const char *name)
{
    return (struct sample_mark){some_f64(secs), kind, name};
}

/* A second with marks. */
static void add_marked(
    struct accumulator *tally, unsigned i, double cores, double rss, const struct sample_mark *marks, size_t count)
{
    struct sample sample = second(i, cores, rss);
    sample.cpu.process_disk_read_bytes = some_u64(1000);
    sample.cpu.process_disk_write_bytes = some_u64(500);
    sample.marks = (struct sample_list){count > 0, count, marks};
    add_sample(tally, &sample);
}

static void add_seconds(struct accumulator *tally, unsigned from, unsigned to, double cores, double rss)
{
    for (unsigned i = from; i <= to; i++)
        add_marked(tally, i, cores, rss, NULL, 0);
}

static const struct summary_phase *phases_of(const struct summary *summary, size_t count)
{
    assert_string_equal(summary->phases_source, SUMMARY_PHASES_MARKS);
    assert_true(summary->phases.present);
    assert_int_equal(summary->phases.count, count);
    return summary->phases.items;
}

static void assert_near(struct opt_f64 value, double wanted)
{
    assert_true(value.has);
    if (!(value.v - wanted < 1e-4 && wanted - value.v < 1e-4))
        fail_msg("%.17g instead of %.17g", value.v, wanted);
}

/* Ten seconds of a core, then, at a sample, ten of four; with what is to be asked for in each. */
static void test_marks_at_samples(void **state)
{
    const struct sample_mark load = mark(0, "mark", "load"), train = mark(9.998, "mark", "train");
    add_marked(*state, 1, 1, 100, &load, 1);
    add_seconds(*state, 2, 9, 1, 100);
    add_marked(*state, 10, 1, 300, &train, 1);
    add_seconds(*state, 11, 20, 4, 200);
    const struct summary_phase *phase = phases_of(accumulate_finish(*state), 2);
    assert_string_equal(phase[0].name, "load");
    assert_int_equal(phase[0].times.v, 1);
    assert_f64(phase[0].start_secs, 0);
    assert_f64(phase[0].end_secs, 9.998);
    assert_near(phase[0].wall_secs, 9.998);
    assert_near(phase[0].cpu_secs, 9.998);
    assert_near(phase[0].cores_mean, 1);
    assert_f64(phase[0].cores_peak, 1);
    assert_f64(phase[0].wanted_p95, 1);
    assert_f64(phase[0].memory_peak_mib, 300); /* the sample at the mark */
    assert_int_equal(phase[0].vcpus.v, 1);
    assert_int_equal(phase[0].memory_mib.v, 384);
    assert_string_equal(phase[1].name, "train");
    assert_near(phase[1].wall_secs, 10.002);
    assert_near(phase[1].cpu_secs, 40.002);
    assert_f64(phase[1].memory_peak_mib, 200);
    assert_int_equal(phase[1].vcpus.v, 4);
    assert_int_equal(phase[1].memory_mib.v, 240);
    assert_int_equal(phase[0].read_bytes.v + phase[1].read_bytes.v, 20000);
    assert_int_equal(phase[0].write_bytes.v + phase[1].write_bytes.v, 10000);
}

/* What lies inside an interval is shared out by time; before the first mark is a phase of its own. */
static void test_marks_inside(void **state)
{
    const struct sample_mark marks[] = {mark(2.25, "mark", "a"), mark(2.75, "mark", "b")};
    add_seconds(*state, 1, 2, 1, 100);
    add_marked(*state, 3, 4, 500, marks, 2);
    add_seconds(*state, 4, 5, 1, 100);
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_phase *phase = phases_of(summary, 3);
    assert_string_equal(phase[0].name, "start");
    assert_near(phase[0].wall_secs, 2.25);
    assert_near(phase[0].cpu_secs, 3);
    assert_f64(phase[0].memory_peak_mib, 100);
    assert_near(phase[1].wall_secs, 0.5);
    assert_near(phase[1].cpu_secs, 2);
    assert_false(phase[1].memory_peak_mib.has); /* no sample lies in it */
    assert_false(phase[1].vcpus.has);
    assert_near(phase[2].wall_secs, 2.25);
    assert_near(phase[2].cpu_secs, 3);
    assert_f64(phase[2].memory_peak_mib, 500);
    const struct summary_phase_span *span = summary->phase_spans.items;
    assert_int_equal(summary->phase_spans.count, 3);
    assert_int_equal(span[2].phase, 2);
    assert_true(span[2].from_secs > 2.74 && span[2].to_secs > 4.99);
}

/* Energy and network, by time; unknown where they are. */
static void test_energy_and_network(void **state)
{
    const struct sample_mark a = mark(0, "mark", "a"), b = mark(1.5, "mark", "b");
    for (unsigned i = 1; i <= 4; i++) {
        struct sample sample = second(i, 1, 100);
        sample.energy = (struct sample_energy){.present = true, .process_joules = some_f64(8)};
        sample.cpu.process_net_recv_bytes = (struct opt_u64){i <= 1, 1000};
        sample.cpu.process_net_sent_bytes = some_u64(i * 100);
        if (i <= 2)
            sample.marks = (struct sample_list){true, 1, i == 1 ? &a : &b};
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_phase *phase = phases_of(summary, 2);
    assert_near(phase[0].process_joules, 12);
    assert_near(phase[1].process_joules, 20);
    assert_true(phase[0].received_bytes.has && phase[0].received_bytes.v == 1000);
    assert_false(phase[1].received_bytes.has);
    assert_int_equal(phase[0].sent_bytes.v, 200);
    assert_int_equal(phase[1].sent_bytes.v, 800);
    AUTO_BUF struct buf text = {.max = 1024};
    for (unsigned column = SUMMARY_PHASE_DISK; column < SUMMARY_PHASE_SIZES; column++) {
        bool is_there = summary_has_phase_column(summary, (enum summary_phase_column)column);
        assert_int_equal(is_there, column != SUMMARY_PHASE_DISK);
        for (size_t i = 0; is_there && i <= summary->phases.count; i++) {
            summary_put_phase(&text, summary, i - 1, (enum summary_phase_column)column);
            buf_putc(&text, i < 2 ? ' ' : '|');
        }
    }
    assert_string_equal(buf_cstr(&text), "network 1.2 kB -|energy 12 J 20 J|");
}

/* One without length used nothing, of what is known at all. */
static void test_no_length(void **state)
{
    const struct sample_mark marks[] = {mark(2.5, "begin", "a"), mark(2.5, "end", "a")};
    add_seconds(*state, 1, 2, 1, 100);
    add_marked(*state, 3, 1, 100, marks, 2);
    const struct summary_phase *phase = phases_of(accumulate_finish(*state), 1);
    assert_f64(phase->wall_secs, 0);
    assert_f64(phase->cpu_secs, 0);
    assert_true(phase->read_bytes.has && phase->read_bytes.v == 0);
    assert_false(phase->gpu_usage_mean.has || phase->cores_mean.has || phase->memory_peak_mib.has);
}

/* Nested, overlapping, repeated, ended twice, never ended. */
static void test_begin_and_end(void **state)
{
    const struct sample_mark outer = mark(1, "begin", "outer"), inner = mark(2, "begin", "inner"),
                             ended[] = {mark(3, "end", "inner"), mark(3, "begin", "open")},
                             over = mark(4, "end", "outer"),
                             again[] = {mark(5, "end", "inner"), mark(5, "begin", "inner")},
                             last = mark(6, "end", "inner");
    add_marked(*state, 1, 1, 100, &outer, 1);
    add_marked(*state, 2, 2, 200, &inner, 1);
    add_marked(*state, 3, 3, 300, ended, 2);
    add_marked(*state, 4, 4, 400, &over, 1);
    add_marked(*state, 5, 5, 500, again, 2);
    add_marked(*state, 6, 6, 600, &last, 1);
    add_seconds(*state, 7, 7, 7, 50);
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_phase *phase = phases_of(summary, 3);
    assert_string_equal(phase[0].name, "outer");
    assert_near(phase[0].cpu_secs, 9);
    assert_f64(phase[0].memory_peak_mib, 400);
    assert_string_equal(phase[1].name, "inner");
    assert_int_equal(phase[1].times.v, 2);
    assert_near(phase[1].wall_secs, 2);
    assert_near(phase[1].cpu_secs, 9);
    assert_f64(phase[1].start_secs, 2);
    assert_f64(phase[1].end_secs, 6);
    assert_f64(phase[1].memory_peak_mib, 600);
    assert_string_equal(phase[2].name, "open");
    assert_f64(phase[2].end_secs, 7);
    assert_near(phase[2].cpu_secs, 22);
    assert_int_equal(summary->phase_spans.count, 4);
    assert_int_equal(summary->notes.count, 1);
    assert_string_equal(*(const char *const *)summary->notes.items, "1 end of a phase has no begin: it is ignored");
}

/* A peak between two samples belongs to the phase in which the highest so far grew. */
static void test_peak_between_samples(void **state)
{
    const struct sample_mark first = mark(0, "begin", "first"),
                             change[] = {mark(4, "end", "first"), mark(4, "begin", "second")};
    for (unsigned i = 1; i <= 8; i++) {
        struct sample sample = second(i, 1, 100);
        sample.cpu.process_peak_rss_mib = some_f64(i < 3 ? 100 : i < 7 ? 900 : 950);
        sample.marks = (struct sample_list){i == 1 || i == 4, i == 1 ? 1 : 2, i == 1 ? &first : change};
        add_sample(*state, &sample);
    }
    const struct summary_phase *phase = phases_of(accumulate_finish(*state), 2);
    assert_f64(phase[0].memory_peak_mib, 900);
    assert_f64(phase[1].memory_peak_mib, 950);
}

/* What a child had that ended between two samples is known when its parent has ended: in which phase that was is not.
 */
static void test_peak_that_is_known_at_the_end(void **state)
{
    (void)state;
    static const struct {
        double end_mib;
        bool is_known;
    } cases[] = {{900, false}, {119, false}, {117, true}, {100, true}};
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct accumulator *tally;
        assert_int_equal(accumulate_new(&tally), 0);
        const struct sample_mark first = mark(0, "mark", "first"), second_mark = mark(4, "mark", "second");
        for (unsigned i = 1; i <= 8; i++) {
            struct sample sample = second(i, 1, 100);
            sample.cpu.process_peak_rss_mib = some_f64(i < 8 ? 100 : cases[k].end_mib);
            sample.end.present = i == 8;
            sample.marks = (struct sample_list){i == 1 || i == 4, 1, i == 1 ? &first : &second_mark};
            add_sample(tally, &sample);
        }
        const struct summary_phase *phase = phases_of(accumulate_finish(tally), 2);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(phase[i].memory_peak_mib.has, cases[k].is_known);
            assert_int_equal(phase[i].memory_mib.has, cases[k].is_known);
        }
        accumulate_free(tally);
    }
}

/* Files in tmpfs count in the phase in which they are there. */
static void test_shared_memory(void **state)
{
    const struct sample_mark a = mark(0, "mark", "a"), b = mark(4, "mark", "b");
    for (unsigned i = 1; i <= 8; i++) {
        struct sample sample = second(i, 1, 100);
        sample.cgroup = (struct sample_cgroup){.present = true, .shmem_unmapped_mib = some_f64(i < 4 ? 300 : 0)};
        sample.cpu.process_pss_mib = (struct opt_f64){i == 2, 90};
        sample.marks = (struct sample_list){i == 1 || i == 4, 1, i == 1 ? &a : &b};
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_phase *phase = phases_of(summary, 2);
    assert_f64(summary->memory.need_mib, 400);
    assert_f64(phase[0].memory_peak_mib, 400);
    assert_f64(phase[1].memory_peak_mib, 100);
}

/* A phase that the job has named "start" is not the time before it. */
static void test_phase_named_start(void **state)
{
    const struct sample_mark marks[] = {mark(3, "begin", "start"), mark(5, "end", "start"), mark(6, "mark", "train")};
    for (unsigned i = 1; i <= 8; i++)
        add_marked(*state, i, 1, 100, i == 3 ? &marks[0] : &marks[1], i == 3 ? 1 : i == 6 ? 2 : 0);
    const struct summary_phase *phase = phases_of(accumulate_finish(*state), 3);
    assert_string_equal(phase[0].name, "before the first mark");
    assert_near(phase[0].wall_secs, 6);
    assert_string_equal(phase[1].name, "start");
    assert_near(phase[1].wall_secs, 2);
}

/* Names beyond the 64th are summed; names of any bytes and length are kept harmless. */
static void test_many_names(void **state)
{
    char names[80][16], longest[400];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    for (unsigned i = 1; i <= 80; i++) {
        (void)snprintf(names[i - 1], sizeof(names[0]), "epoch %u", i);
        const struct sample_mark marks[] = {mark(i, "mark", i == 1 ? longest : i == 2 ? "\xff" : names[i - 1])};
        add_marked(*state, i, 1, 100, marks, 1);
    }
    add_seconds(*state, 81, 81, 1, 100);
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_phase *phase = phases_of(summary, 66);
    assert_string_equal(phase[0].name, "start");
    assert_int_equal(strlen(phase[1].name), SAMPLE_MARK_BYTES - 1);
    assert_string_equal(phase[2].name, "\xef\xbf\xbd");
    assert_string_equal(phase[64].name, "epoch 64");
    assert_string_equal(phase[65].name, "others");
    assert_int_equal(phase[65].times.v, 16);
    assert_near(phase[65].wall_secs, 16);
    assert_string_equal(*(const char *const *)summary->notes.items,
        "there are more than 64 names of phases: the further ones are summed as others");
}

/* Over several runs: names are summed, and no changes are looked for. */
static void test_several_runs(void **state)
{
    const struct sample_mark work = mark(1, "begin", "work");
    for (unsigned run = 0; run < 2; run++) {
        add_marked(*state, 1, 1, 100, &work, 1);
        add_seconds(*state, 2, 5, 2, run > 0 ? 300 : 100);
        accumulate_next_run(*state);
    }
    add_seconds(*state, 1, 40, 1, 100);
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_phase *phase = phases_of(summary, 1);
    assert_string_equal(phase[0].name, "work");
    assert_int_equal(phase[0].times.v, 2);
    assert_near(phase[0].wall_secs, 8);
    assert_near(phase[0].cpu_secs, 16);
    assert_f64(phase[0].memory_peak_mib, 300);
    assert_false(phase[0].start_secs.has);
    assert_false(summary->phase_spans.present);
}

static void test_changes_of_one_run_only(void **state)
{
    for (unsigned run = 0; run < 2; run++) {
        add_seconds(*state, 1, 30, 1, 100);
        add_seconds(*state, 31, 60, 4, 100);
        accumulate_next_run(*state);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_null(summary->phases_source);
    assert_false(summary->phases.present);
}

static void test_changes(void **state)
{
    add_seconds(*state, 1, 30, 1, 100);
    add_seconds(*state, 31, 60, 4, 1000);
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_phase *phase = summary->phases.items;
    assert_string_equal(summary->phases_source, SUMMARY_PHASES_CHANGES);
    assert_int_equal(summary->phases.count, 2);
    assert_string_equal(phase[0].name, "CPU, 1 core");
    assert_f64(phase[0].end_secs, 30);
    assert_string_equal(phase[1].name, "CPU, 4 cores");
    assert_f64(phase[1].start_secs, 30);
    assert_near(phase[1].cpu_secs, 120);
    assert_int_equal(phase[0].vcpus.v, 1);
    assert_int_equal(phase[1].vcpus.v, 4);
    assert_int_equal(phase[0].memory_mib.v, 128);
}

/* Marks that are not in order, without a time, a kind or a name. */
static void test_odd_marks(void **state)
{
    const struct sample_mark marks[] = {
        mark(9, "mark", "late"), mark(0.5, "mark", NULL), {{0}, NULL, "x"}, mark(-3, "end", NULL)};
    add_marked(*state, 1, 1, 100, marks, 4);
    struct sample sample = second(2, 1, 100);
    sample.elapsed_secs = (struct opt_f64){0};
    add_sample(*state, &sample);
    add_marked(*state, 1, 1, 100, marks, 4);
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_phase *phase = phases_of(summary, summary->phases.count);
    double wall = 0;
    for (size_t i = 0; i < summary->phases.count; i++)
        wall += phase[i].wall_secs.v;
    assert_true(wall <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_marks_at_samples),
        TEST(test_marks_inside),
        TEST(test_energy_and_network),
        TEST(test_no_length),
        TEST(test_begin_and_end),
        TEST(test_peak_between_samples),
        TEST(test_peak_that_is_known_at_the_end),
        TEST(test_shared_memory),
        TEST(test_phase_named_start),
        TEST(test_many_names),
        TEST(test_several_runs),
        TEST(test_changes_of_one_run_only),
        TEST(test_changes),
        TEST(test_odd_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
