/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every process of the tree that was seen, for the end of the run. What a parent has inherited and what was never seen
 * of the child it came from is in the record of the parent, so that all records together are what the tree used.
 */
#include "collect/tree/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/vec.h"
#include "kernel/process_events.h"

enum {
    PIDS_MAX = 4194304, /* PID_MAX_LIMIT of 64-bit kernels */
    RECEIVE_MAX = 65536, /* messages at once */
    SIGNALLED = 128, /* what a signal's number is added to for an exit status */
    START_PRECISION_MS = 20,
    READS_MAX = 4, /* of command lines in one tick */
    TEXT_BYTES_MAX = 2 * 1024 * 1024, /* of all records */
    LONG_ROW_BYTES = 120, /* a day, a hundred cores, terabytes */
    COMMANDS_BYTES_MAX = 256 * 1024,
    NS_PER_UNIT = 100000, /* CPU time is written in tenths of a millisecond, as samples have it */
    COLUMNS = 12,
    ROW_BYTES = COLUMNS * NUM_TEXT_BYTES,
};

_Static_assert(TEXT_BYTES_MAX - ROW_BYTES >= (TREE_RECORDS_MAX + TREE_PROGRAMS_MAX + 1) * LONG_ROW_BYTES,
    "the sums by program, which are the last records, fit behind all others");

/* With so much CPU time the command line of a process is read; those of the largest are anyway. */
#define BUSY_NS (20 * NS_PER_MS)

void tree_history_open(struct tree_history *history, const struct collect_env *env)
{
    buf_init(&history->commands, COMMANDS_BYTES_MAX);
    buf_init(&history->text, TEXT_BYTES_MAX);
    history->events_fd = env->events_fd > 0 ? env->events_fd : -1;
    /* Of these pages only those with a process of the tree are ever there. */
    if (history->events_fd >= 0 && env->tracked->wants_history)
        history->by_pid = calloc(PIDS_MAX, sizeof(*history->by_pid));
    if (!history->by_pid)
        fd_close(&history->events_fd);
}

void tree_history_close(struct tree_history *history)
{
    free(history->records.items);
    free(history->programs.items);
    free(history->texts.items);
    free(history->by_pid);
    fd_close(&history->events_fd);
    buf_fini(&history->commands);
    buf_fini(&history->text);
}

static uint32_t narrow(int64_t value)
{
    return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static uint32_t since_start_ms(const struct tree_reader *reader, int64_t now_ns)
{
    return narrow((now_ns - reader->env->tracked->start_ns) / NS_PER_MS);
}

/* Its number, counted from 1; 0 where there are too many. */
static uint16_t program_of(struct tree_history *history, const char *name)
{
    size_t i = 0;
    while (i < history->programs.count && strcmp(history->programs.items[i].name, name) != 0)
        i++;
    if (i == history->programs.count) {
        if (VEC_GROW(&history->programs, i + 1, TREE_PROGRAMS_MAX) < 0)
            return 0;
        (void)str_copy(str_of(name), history->programs.items[i].name, PID_NAME_BYTES);
        history->programs.count++;
    }
    return (uint16_t)(i + 1);
}

/* The number of a new record, counted from 1; 0 where there are too many. */
static uint32_t add_record(struct tree_history *history, size_t max, struct tree_record record)
{
    if (history->records.count >= max || VEC_GROW(&history->records, history->records.count + 1, max) < 0)
        return 0;
    history->records.items[history->records.count++] = record;
    return (uint32_t)history->records.count;
}

/* Where its number in exact mode is kept. */
static uint32_t *place_of(struct tree_history *history, pid_t pid)
{
    return history->by_pid && pid > 0 && pid < PIDS_MAX ? &history->by_pid[pid] : NULL;
}

/* Was it reported when there were too many records? Those of sums have no PID. */
static bool is_in_sum(struct tree_history *history, pid_t pid)
{
    const uint32_t *number = place_of(history, pid);
    return number && *number > 0 && history->records.items[*number - 1].pid == 0;
}

/* What was reported of a process that is seen for the first time; 0: nothing. Its number may have been another's. */
static uint32_t find_reported(struct tree_history *history, const struct tree_record *seen)
{
    const uint32_t *number = place_of(history, seen->pid);
    if (!number || *number == 0)
        return 0;
    int64_t apart_ms = (int64_t)seen->start_ms - history->records.items[*number - 1].start_ms;
    return apart_ms <= START_PRECISION_MS && apart_ms >= -START_PRECISION_MS ? *number : 0;
}

/* The record of a member, new where it has none; NULL where there are too many. */
static struct tree_record *record_of(
    const struct tree_reader *reader, const struct tree_members *members, struct tree_member *member, int64_t now_ns)
{
    const struct collect_env *env = reader->env;
    struct tree_history *history = reader->history;
    if (member->record == 0 && !member->has_no_record) {
        struct tree_record record = {.pid = member->pid, .is_sampled = true};
        int64_t start_ns = now_ns;
        /* Both clocks of one moment: a walk over thousands of processes takes its time. */
        if (member->has_stat)
            start_ns = clock_read(env->clock, CLOCK_KIND_MONOTONIC) - clock_read(env->clock, CLOCK_KIND_BOOT) +
                       (int64_t)member->stat.start_ticks * (NS_PER_SEC / env->ticks_per_sec);
        record.start_ms = since_start_ms(reader, start_ns < now_ns ? start_ns : now_ns);
        if (member->parent != TREE_NONE)
            record.parent = tree_member_at(members, member->parent)->record;
        member->record = find_reported(history, &record);
        if (member->record > 0)
            history->records.items[member->record - 1].is_sampled = true;
        else
            member->record = add_record(history, TREE_RECORDS_MAX, record);
        member->has_no_record = member->record == 0;
        history->unlisted_unseen -= member->has_no_record && is_in_sum(history, member->pid);
        if (member->pid == env->tracked->root && history->root == 0)
            history->root = member->record;
    }
    uint32_t *number = place_of(history, member->pid);
    if (number && member->record > 0)
        *number = member->record; /* again, where messages were lost */
    return member->record > 0 ? &history->records.items[member->record - 1] : NULL;
}

/* What has come from processes that it waited for and is not that of members. */
static void add_growth(struct tree_record *record, struct ledger_account *account)
{
    record->reaped_ns += account->growth[FLOW_CPU];
    record->read_bytes += account->growth[FLOW_READ];
    record->write_bytes += account->growth[FLOW_WRITE];
    /* It may be called again for this tick. */
    memset(account->growth, 0, sizeof(account->growth));
}

static void keep_pages(struct tree_record *record, uint64_t pages)
{
    if (pages > record->rss_pages)
        record->rss_pages = narrow((int64_t)pages);
}

/* It may wait to be waited for, and then be gone: the first time counts. */
static void end_record(struct tree_record *record, const struct tree_reader *reader, int64_t now_ns)
{
    uint32_t now_ms = since_start_ms(reader, now_ns);
    if (record->end_ms == 0)
        record->end_ms = now_ms > 0 ? now_ms : 1;
}

/* Of all that it has used: what is its own, and of the run. */
static uint64_t own_ns(const struct tree_member *member, const uint64_t amounts[FLOWS])
{
    uint64_t life_ns = counter_delta(member->account.intake[FLOW_CPU], amounts[FLOW_CPU]);
    return counter_delta(member->cpu_before_ns, life_ns);
}

static bool can_be_read(const struct tree_reader *reader, const struct tree_member *member, int64_t now_ns)
{
    const struct tracked *tracked = reader->env->tracked;
    if (member->is_hidden || member->has_ended || pid_stat_is_leader_dead(&member->stat))
        return false;
    /* Before its exec a child has the command line of what made it: the command has ours. */
    if (member->stat.has_not_execed && member->pid == tracked->root && !tracked->attached)
        return false;
    return member->first_ns != now_ns || !member->stat.has_not_execed;
}

void tree_history_describe(struct tree_history *history, const struct tree_member *member, const char *command)
{
    size_t bytes = strlen(command) + 1;
    if (member->record == 0)
        return;
    struct tree_record *record = &history->records.items[member->record - 1];
    if (record->is_read && record->command > 0)
        return;
    record->is_read = true;
    record->is_copy = member->stat.has_not_execed;
    if (bytes == 1 || history->commands.len + bytes > COMMANDS_BYTES_MAX)
        return;
    buf_append(&history->commands, command, bytes);
    record->command = buf_ok(&history->commands) ? ++history->command_count : 0;
}

/* After an exec it is another program. */
static void name_record(struct tree_history *history, struct tree_record *record, const struct tree_member *member)
{
    const struct pid_stat *stat = &member->stat;
    bool is_same = record->program > 0 && strcmp(history->programs.items[record->program - 1].name, stat->name) == 0;
    if (!is_same)
        record->program = program_of(history, stat->name);
    /* One that ends has no memory left to read; what was known of it holds. */
    if ((is_same && record->is_copy == stat->has_not_execed) || stat->vsize_bytes == 0)
        return;
    record->is_read = false;
    record->command = 0;
}

void tree_history_update(struct tree_reader *reader, const struct tree_members *members, struct tree_member *member,
    int64_t now_ns, bool is_baseline)
{
    struct tree_history *history = reader->history;
    struct ledger_account *account = &member->account;
    struct tree_record *record = record_of(reader, members, member, now_ns);
    if (!record)
        return;
    if (!is_baseline) {
        add_growth(record, account);
        record->cpu_ns = own_ns(member, account->value);
    }
    record->has_io |= member->has_io;
    keep_pages(record, member->memory.rss_pages);
    /* Its other threads go on, and what they end with is not reported. */
    if (member->has_stat && pid_stat_is_leader_dead(&member->stat) && member->stat.threads > 1)
        record->end_ms = record->status = 0;
    if (member->has_ended || (member->has_stat && pid_stat_is_dead(&member->stat)))
        end_record(record, reader, now_ns);
    if (!member->has_stat)
        return;
    name_record(history, record, member);
    if (record->is_read || record->cpu_ns < BUSY_NS || history->reads == READS_MAX || !reader->env->describe_command ||
        !can_be_read(reader, member, now_ns))
        return;
    char command[SAMPLE_PROCESS_BYTES] = "";
    history->reads++;
    int r = tree_read_described(reader, member->pid, command, sizeof(command));
    if (r != -ETIMEDOUT)
        tree_history_describe(history, member, r == 0 ? command : "");
}

/* Where there are too many records, processes that have ended are summed by program. */
static struct tree_record *sum_of(struct tree_history *history, const char *name)
{
    uint16_t program = program_of(history, name);
    if (program == 0)
        return NULL;
    uint32_t *sum = &history->programs.items[program - 1].sum;
    if (*sum == 0)
        *sum = add_record(history, TREE_RECORDS_MAX + TREE_PROGRAMS_MAX, (struct tree_record){.program = program});
    return *sum > 0 ? &history->records.items[*sum - 1] : NULL;
}

void tree_history_end(
    const struct tree_reader *reader, const struct tree_members *members, struct tree_member *member, int64_t now_ns)
{
    struct tree_history *history = reader->history;
    struct tree_record *record = record_of(reader, members, member, now_ns);
    uint32_t *number = place_of(history, member->pid);
    bool is_counted = is_in_sum(history, member->pid);
    if (number)
        *number = 0; /* its end was reported, or never will be */
    if (record) {
        record->cpu_ns = own_ns(member, member->account.settled);
        end_record(record, reader, now_ns);
        if (record->program == 0 && member->has_stat)
            record->program = program_of(history, member->stat.name);
        return;
    }
    record = sum_of(history, member->stat.name);
    if (!record)
        return;
    record->parent += !is_counted;
    record->cpu_ns += own_ns(member, member->account.settled);
    record->end_ms = narrow((int64_t)record->end_ms + (now_ns - member->first_ns) / NS_PER_MS);
    keep_pages(record, member->memory.rss_pages);
}

void tree_history_tick(struct tree_history *history, struct ledger_account *tracker)
{
    history->reads = 0;
    add_growth(&history->orphans, tracker);
}

/* Where there are too many records, one more of its program. */
static void count_unlisted(struct tree_history *history, uint32_t *number, const char *name)
{
    struct tree_record *sum = sum_of(history, name);
    *number = sum ? (uint32_t)(sum - history->records.items) + 1 : 0;
    if (sum)
        sum->parent++;
}

/* Of what a process does that is known to be of the tree. */
static void note_birth(struct tree_reader *reader, const struct process_event *event, uint32_t at_ms)
{
    struct tree_history *history = reader->history;
    const struct tracked *tracked = reader->env->tracked;
    const uint32_t *parent = place_of(history, event->parent);
    uint32_t *number = place_of(history, event->pid);
    struct tree_record record = {.pid = event->pid, .start_ms = at_ms, .is_reported = true};
    if (!number || !parent)
        return;
    if (*number > 0 && !history->records.items[*number - 1].is_reported) {
        /* It was seen before its birth was read. */
        history->records.items[*number - 1].is_reported = true;
        return;
    }
    *number = 0;
    bool is_root = event->pid == tracked->root && event->parent == tracked->tracker && history->root == 0;
    if (*parent == 0 && !is_root)
        return;
    record.parent = *parent;
    if (*parent > 0)
        record.program = history->records.items[*parent - 1].program;
    *number = add_record(history, TREE_RECORDS_MAX, record);
    if (*number == 0) {
        count_unlisted(history, number, record.program > 0 ? history->programs.items[record.program - 1].name : "");
        history->unlisted_unseen++;
    }
    if (is_root)
        history->root = *number;
}

/* Of one that counts in the sum of its program. */
static void note_unlisted(struct tree_reader *reader, const struct process_event *event, uint32_t *number)
{
    struct tree_history *history = reader->history;
    struct pid_stat stat;
    if (event->kind == PROCESS_EXEC && tree_read_candidate(reader, event->pid, &stat) == 0) {
        history->records.items[*number - 1].parent--;
        count_unlisted(history, number, stat.name);
    } else if (event->kind == PROCESS_EXIT) {
        *number = 0;
    }
}

static void note_event(struct tree_reader *reader, const struct process_event *event)
{
    struct tree_history *history = reader->history;
    uint32_t at_ms = since_start_ms(reader, event->at_ns);
    uint32_t *number = place_of(history, event->pid);
    if (event->kind == PROCESS_FORK) {
        note_birth(reader, event, at_ms);
        return;
    }
    if (!number || *number == 0)
        return;
    struct tree_record *record = &history->records.items[*number - 1];
    if (record->pid == 0) {
        note_unlisted(reader, event, number);
    } else if (event->kind == PROCESS_EXIT) {
        int status = event->status;
        record->is_reported = true;
        record->end_ms = at_ms > record->start_ms ? at_ms : record->start_ms > 0 ? record->start_ms : 1;
        record->status =
            (uint16_t)(1 + (WIFEXITED(status) ? WEXITSTATUS(status) : (SIGNALLED + WTERMSIG(status)) & 0xff));
    } else if (event->kind == PROCESS_EXEC) {
        struct pid_stat stat;
        /* A thread other than the first may have executed it: what ended was the first thread. */
        record->end_ms = record->status = record->program = 0;
        /* Only what lives for a moment longer has a name. */
        if (tree_read_candidate(reader, event->pid, &stat) == 0)
            record->program = program_of(history, stat.name);
    }
}

/* PIDs may be those of others by now, whose births were lost: the next walk knows which are not. */
static void release_numbers(struct tree_history *history)
{
    history->has_gaps = true;
    free(history->by_pid);
    history->by_pid = calloc(PIDS_MAX, sizeof(*history->by_pid));
}

void tree_history_receive(struct tree_reader *reader)
{
    struct tree_history *history = reader->history;
    struct process_message message;
    struct process_event event;
    for (int i = 0; history && history->events_fd >= 0 && i < RECEIVE_MAX; i++) {
        ssize_t n = recv(history->events_fd, &message, sizeof(message), MSG_DONTWAIT);
        if (n < 0 && errno == ENOBUFS)
            release_numbers(history);
        else if (n < 0)
            break;
        else if (process_event_parse(&message, (size_t)n, &event) == 0)
            note_event(reader, &event);
    }
}

/* The root of a run that was over before its first sample. */
static void add_root(struct tree_history *history, const struct tree_reader *reader, int64_t now_ns)
{
    const struct tracked *tracked = reader->env->tracked;
    char name[PID_NAME_BYTES];
    if (!tracked->root_program || (history->root > 0 && history->records.items[history->root - 1].is_sampled))
        return;
    if (history->root == 0)
        history->root =
            add_record(history, TREE_RECORDS_MAX + TREE_PROGRAMS_MAX, (struct tree_record){.pid = tracked->root});
    if (history->root == 0)
        return;
    struct tree_record *record = &history->records.items[history->root - 1];
    tree_root_name(tracked, name);
    record->program = program_of(history, name);
    record->is_sampled = true;
    end_record(record, reader, now_ns);
}

/* What we have waited for ourselves and not seen is the root's: its own up to what it has used in all. */
static void settle_root(struct tree_history *history, const struct collect_env *env)
{
    const struct tracked *tracked = env->tracked;
    struct tree_record *record = &history->records.items[history->root - 1];
    struct tree_record *more = &history->orphans;
    uint64_t own_ns = tracked->root_cpu_ns.has ? counter_delta(record->cpu_ns, tracked->root_cpu_ns.v) : 0;
    if (own_ns > more->reaped_ns)
        own_ns = more->reaped_ns;
    record->cpu_ns += own_ns;
    record->reaped_ns += more->reaped_ns - own_ns;
    record->read_bytes += more->read_bytes;
    record->write_bytes += more->write_bytes;
    *more = (struct tree_record){0};
    record->has_io |= tracked->has_root_usage;
    keep_pages(record, tracked->root_peak_bytes / (uint64_t)env->page_bytes);
}

static uint64_t known(bool is_known, uint64_t value)
{
    return is_known ? value : UINT64_MAX;
}

static void put_record(struct buf *buf, const struct tree_record *record, uint64_t page_kib)
{
    const uint64_t columns[] = {(uint64_t)record->pid, record->parent, record->start_ms,
        known(record->end_ms > 0, record->end_ms - record->start_ms), record->program, record->cpu_ns / NS_PER_UNIT,
        record->reaped_ns / NS_PER_UNIT, known(record->rss_pages > 0, record->rss_pages * page_kib),
        known(record->has_io, record->read_bytes), known(record->has_io, record->write_bytes),
        known(record->status > 0, record->status - 1U), record->command};
    for (size_t i = 0; i < COLUMNS; i++) {
        if (columns[i] == UINT64_MAX)
            buf_putc(buf, '-');
        else
            num_put_u64(buf, columns[i]);
        buf_putc(buf, i + 1 < COLUMNS ? ' ' : ';');
    }
}

void tree_history_fill(const struct tree_reader *reader, int64_t now_ns, struct sample_end *end)
{
    const struct collect_env *env = reader->env;
    struct tree_history *history = reader->history;
    add_root(history, reader, now_ns);
    size_t programs = history->programs.count, commands = history->command_count;
    if (VEC_GROW(&history->texts, programs + commands + 1, SIZE_MAX / sizeof(char *)) < 0)
        return;
    if (history->root > 0)
        settle_root(history, env);
    const char **texts = history->texts.items, *command = history->commands.data;
    for (size_t i = 0; i < programs; i++)
        texts[i] = history->programs.items[i].name;
    for (size_t i = 0; i < commands; i++, command += strlen(command) + 1)
        texts[programs + i] = command;
    buf_clear(&history->text);
    uint64_t unseen = history->unlisted_unseen;
    for (size_t i = 0; i < history->records.count && history->text.len < TEXT_BYTES_MAX - ROW_BYTES; i++) {
        unseen += history->records.items[i].is_reported && !history->records.items[i].is_sampled;
        put_record(&history->text, &history->records.items[i], (uint64_t)env->page_bytes / 1024);
    }
    end->processes_unseen = (struct opt_u64){history->by_pid && !history->has_gaps, unseen};
    end->history = (struct sample_history){.present = true,
        .records = buf_cstr(&history->text),
        .programs = {true, programs, texts},
        .commands = {true, commands, texts + programs}};
}
