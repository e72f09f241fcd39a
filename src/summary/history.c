/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a run: sums by program, and those with the most CPU time and the most memory by themselves. All of
 * them are kept as JSON for the page of the report.
 */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "encode/json.h"
#include "summary/summary_internal.h"

enum { PICKED = SUMMARY_HISTORY_MAX / 2, LISTED_MAX = 4096 };

/* One of those with the most of something. */
struct pick {
    double key; /* 0: none */
    double number, parent; /* of records, counted from 1 */
    struct opt_f64 parent_pid;
};

/* The next record of the text, in units of the summary; false where there is none, or it is none of ours. */
static bool next_record(struct str *text, struct opt_f64 ret_values[])
{
    static const unsigned short units[PROCESS_COLUMNS] = {[PROCESS_START] = 1000,
        [PROCESS_END] = 1000,
        [PROCESS_CPU] = FIXED4,
        [PROCESS_REAPED_CPU] = FIXED4,
        [PROCESS_RSS] = 1024};
    static const uint64_t most = UINT64_C(1) << 53;
    for (size_t i = 0; i < PROCESS_COLUMNS; i++) {
        struct opt_u64 value = {0};
        if (text->n > 1 && memcmp(text->p, " -", 2) == 0)
            str_skip(text, 2);
        else if (num_next_u64(text, &value.v) && value.v <= most)
            value.has = true;
        else
            return false;
        ret_values[i] = opt_scaled(value, units[i] > 0 ? units[i] : 1);
    }
    bool is_whole = text->n > 0 && *text->p == ';';
    str_skip(text, is_whole);
    return is_whole;
}

static const char *text_at(const struct sample_list *list, double number)
{
    const char *const *items = list->items;
    return list->present && number >= 1 && number <= (double)list->count ? items[(size_t)number - 1] : NULL;
}

/* Amounts of a process, or of several, into those of a program. */
static void add_amounts(struct opt_f64 *to, const struct opt_f64 *from)
{
    for (size_t i = 0; i < PROCESS_COLUMNS; i++) {
        double sum = i == PROCESS_RSS ? 0 : to[i].v;
        to[i].has |= from[i].has;
        if (i != PROCESS_RSS || from[i].v > to[i].v)
            to[i].v = sum + from[i].v;
    }
}

static void pick(struct pick *picks, struct pick candidate)
{
    size_t at = PICKED;
    for (; at > 0 && picks[at - 1].key < candidate.key; at--) {
        if (at < PICKED)
            picks[at] = picks[at - 1];
    }
    if (at < PICKED)
        picks[at] = candidate;
}

static double cpu_of(const struct summary_process *program)
{
    return program->values[PROCESS_CPU].v + program->values[PROCESS_REAPED_CPU].v;
}

/* Those without a process come last. */
static int compare_programs(const void *a, const void *b)
{
    const struct summary_process *x = a, *y = b;
    double more = cpu_of(y) - cpu_of(x);
    if (more == 0)
        more = y->values[PROCESS_COUNT].v - x->values[PROCESS_COUNT].v;
    return (more > 0) - (more < 0);
}

static void keep_texts(struct summary_process *shown, struct kept_texts *texts, const char *name, const char *command)
{
    keep_text(name ? name : "", texts->name, sizeof(texts->name));
    shown->name = name ? texts->name : NULL;
    keep_text(command ? command : "", texts->command, sizeof(texts->command));
    shown->command = command ? texts->command : NULL;
}

/* The first are kept, all others are one without a name. */
static void keep_programs(struct kept_history *history, struct summary_process *all, size_t count)
{
    qsort(all, count, sizeof(*all), compare_programs);
    for (size_t i = 0; i < count && all[i].values[PROCESS_COUNT].v > 0; i++) {
        bool is_last = i >= SUMMARY_PROGRAMS_MAX - 1;
        size_t at = is_last ? SUMMARY_PROGRAMS_MAX - 1 : i;
        struct summary_process *program = &history->programs[at];
        if (at == i) {
            *program = (struct summary_process){0};
            keep_texts(program, &history->program_texts[i], is_last ? NULL : all[i].name, NULL);
            history->program_count++;
        }
        add_amounts(program->values, all[i].values);
        history->cpu_secs += all[i].values[PROCESS_CPU].v;
    }
}

/* In the order of the records: parents come before their children. */
static void keep_picked(struct kept_history *history, const struct sample_history *given, struct pick picks[])
{
    struct str text = str_of(given->records);
    struct opt_f64 values[PROCESS_COLUMNS];
    for (double number = 1; next_record(&text, values); number++) {
        const struct pick *found = NULL;
        for (size_t i = 0; i < SUMMARY_HISTORY_MAX; i++) {
            if (picks[i].parent == number)
                picks[i].parent_pid = values[PROCESS_PID];
            if (picks[i].number == number)
                found = &picks[i];
        }
        if (!found)
            continue;
        struct summary_process *process = &history->processes[history->process_count];
        memcpy(process->values, values, sizeof(values));
        process->values[PROCESS_PARENT] = found->parent_pid;
        process->values[PROCESS_END].v += values[PROCESS_START].v;
        keep_texts(process, &history->process_texts[history->process_count++],
            text_at(&given->programs, values[PROCESS_PROGRAM].v), text_at(&given->commands, values[PROCESS_COMMAND].v));
    }
}

void history_add(struct kept_history *history, const struct sample_history *given)
{
    history->program_count = history->process_count = 0;
    history->cpu_secs = 0;
    buf_clear(&history->json);
    size_t named = given->programs.count < LISTED_MAX ? given->programs.count : LISTED_MAX;
    struct summary_process *all = given->records ? calloc(named + 1, sizeof(*all)) : NULL;
    if (!all)
        return;
    for (size_t i = 0; i <= named; i++)
        all[i].name = text_at(&given->programs, (double)i);
    struct pick picks[SUMMARY_HISTORY_MAX] = {0};
    struct str text = str_of(given->records);
    struct opt_f64 values[PROCESS_COLUMNS];
    for (double number = 1; next_record(&text, values); number++) {
        struct pick candidate = {
            .number = number, .parent = values[PROCESS_PARENT].v, .key = values[PROCESS_CPU].v + 1};
        size_t program = (size_t)values[PROCESS_PROGRAM].v;
        if (values[PROCESS_PID].v > 0) {
            pick(picks, candidate);
            candidate.key = values[PROCESS_RSS].v + 1;
            pick(picks + PICKED, candidate);
            values[PROCESS_COUNT].v = 1;
        } else /* a sum: as many as its parent says */
            values[PROCESS_COUNT] = values[PROCESS_PARENT];
        add_amounts(all[program <= named ? program : 0].values, values);
    }
    keep_programs(history, all, named + 1);
    keep_picked(history, given, picks);
    free(all);
    json_put_object(&history->json, field_history, given);
}

void history_fill(struct kept_history *history, struct summary *summary)
{
    if (history->program_count == 0 || summary->runs.v != 1)
        return;
    for (size_t i = 0; i < history->process_count; i++) {
        struct opt_f64 *values = history->processes[i].values;
        if (values[PROCESS_PID].v == (double)summary->tracked_pid.v && !values[PROCESS_STATUS].has &&
            values[PROCESS_END].has && summary->result.exit_code.has)
            values[PROCESS_STATUS] = some_f64((double)summary->result.exit_code.v);
    }
    summary->processes = (struct sample_list){true, history->process_count, history->processes};
    summary->programs = (struct sample_list){true, history->program_count, history->programs};
    summary->history = (struct str){history->json.data, buf_ok(&history->json) ? history->json.len : 0};
    struct opt_f64 unseen = summary->cpu.total_secs;
    unseen.v -= history->cpu_secs;
    unseen.v = unseen.v > 0 ? unseen.v : 0;
    summary->processes_unseen_cpu_secs = fixed4_rounded(unseen);
}
