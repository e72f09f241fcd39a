/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree collector against a machine on which processes are born, run, end, are waited for and orphaned at random,
 * between the ticks and in the middle of them. What was reported may never shrink or exceed the truth, and is the truth
 * when all have been waited for. Seeds are fixed: a failure comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/num.h"
#include "fake_tree.h"

enum { PROCESSES_MAX = 40, STEPS_PER_TICK = 12, STEPS_MAX_AT_CLOCK = 3 };

struct story {
    const char *name;
    uint64_t seed;
    int ticks;
    size_t descriptors;
    int pids; /* how many numbers there are to give */
    int percent_at_clock; /* how often something happens in the middle of a tick */
    bool is_attached;
    bool has_no_children_files;
    bool has_subreapers;
    bool has_deaf; /* those that ignore SIGCHLD */
};

struct player {
    struct fake_tree tree;
    const struct story *story;
    uint64_t random;
    int next_pid;
};

static uint64_t roll(struct player *player, uint64_t sides)
{
    player->random ^= player->random << 13;
    player->random ^= player->random >> 7;
    player->random ^= player->random << 17;
    return (player->random >> 11) % sides;
}

static bool is_member(const struct fake_process *process)
{
    return process->pid != 0 && !process->is_non_member;
}

static size_t count_members(const struct fake_tree *tree, bool alive_only)
{
    size_t count = 0;
    for (size_t i = 0; i < FAKE_TREE_MAX; i++)
        count += is_member(&tree->processes[i]) && !(alive_only && tree->processes[i].state == 'Z');
    return count;
}

/* Any that runs; NULL where none does. */
static struct fake_process *pick(struct player *player)
{
    size_t count = count_members(&player->tree, true);
    if (count == 0)
        return NULL;
    size_t wanted = (size_t)roll(player, count);
    for (size_t i = 0; i < FAKE_TREE_MAX; i++) {
        struct fake_process *process = &player->tree.processes[i];
        if (is_member(process) && process->state != 'Z' && wanted-- == 0)
            return process;
    }
    return NULL;
}

static pid_t free_pid(struct player *player)
{
    do {
        player->next_pid =
            player->next_pid + 1 < FAKE_ROOT + player->story->pids ? player->next_pid + 1 : FAKE_ROOT + 1;
    } while (fake_tree_find(&player->tree, (pid_t)player->next_pid));
    return (pid_t)player->next_pid;
}

static void play_fork(struct player *player, pid_t parent)
{
    if (count_members(&player->tree, false) >= PROCESSES_MAX)
        return;
    struct fake_process *child = fake_tree_fork(&player->tree, free_pid(player), parent, 0);
    child->is_subreaper = player->story->has_subreapers && roll(player, 6) == 0;
    child->ignores_sigchld = player->story->has_deaf && roll(player, 6) == 0;
    fake_tree_write(&player->tree, child);
}

static void play_run(struct player *player, pid_t pid)
{
    fake_tree_run(&player->tree, pid, roll(player, 40 * NS_PER_MS), roll(player, 15 * NS_PER_MS) + 1);
    if (roll(player, 2) == 0)
        fake_tree_io(&player->tree, pid, 512 * roll(player, 100), 512 * roll(player, 100));
    if (roll(player, 3) == 0)
        fake_tree_fault(&player->tree, pid, roll(player, 5));
}

static void play_wait(struct player *player, pid_t parent)
{
    for (size_t i = 0; i < FAKE_TREE_MAX; i++) {
        const struct fake_process *child = &player->tree.processes[i];
        if (child->pid != 0 && child->parent == parent && child->state == 'Z') {
            fake_tree_wait(&player->tree, child->pid);
            return;
        }
    }
}

static void play(struct player *player)
{
    const struct fake_process *process = pick(player);
    if (!process)
        return;
    uint64_t what = roll(player, 12);
    if (what < 3)
        play_fork(player, process->pid);
    else if (what < 7)
        play_run(player, process->pid);
    else if (what < 10)
        play_wait(player, process->pid);
    else if (process->pid != FAKE_ROOT)
        fake_tree_exit(&player->tree, process->pid);
}

static void play_at_clock(void *context, pid_t pid)
{
    struct player *player = context;
    (void)pid;
    if (roll(player, 100) >= (uint64_t)player->story->percent_at_clock)
        return;
    for (uint64_t n = 1 + roll(player, STEPS_MAX_AT_CLOCK); n > 0; n--)
        play(player);
}

static void assert_not_above(const struct player *player, const char *what, uint64_t reported, uint64_t used, int tick)
{
    if (reported > used)
        fail_msg("%s, tick %d: %s: %llu reported, %llu used", player->story->name, tick, what,
            (unsigned long long)reported, (unsigned long long)used);
}

static void check_tick(const struct player *player, const struct fake_amounts *before, int tick)
{
    const struct fake_amounts *reported = &player->tree.reported, *used = &player->tree.used;
    assert_not_above(player, "CPU time", reported->user_ns + reported->system_ns,
        used->user_ns + used->system_ns - before->user_ns - before->system_ns, tick);
    assert_not_above(player, "bytes read", reported->read_bytes, used->read_bytes - before->read_bytes, tick);
    assert_not_above(player, "bytes written", reported->write_bytes, used->write_bytes - before->write_bytes, tick);
    assert_not_above(player, "faults", reported->faults, used->faults - before->faults, tick);
}

/* All end; parents wait for some, the others are orphaned. */
static void play_to_the_end(struct player *player)
{
    for (int i = 0; i < FAKE_TREE_MAX; i++) {
        const struct fake_process *process = pick(player);
        if (!process)
            break;
        pid_t pid = process->pid;
        if (roll(player, 2) == 0)
            play_wait(player, pid);
        else
            fake_tree_exit(&player->tree, pid);
    }
    for (size_t i = 0; i < FAKE_TREE_MAX; i++) {
        const struct fake_process *process = &player->tree.processes[i];
        if (is_member(process) && process->state != 'Z')
            fake_tree_exit(&player->tree, process->pid);
    }
}

/* All records of processes together are what was reported, but for a part of a unit. */
static void check_history(const struct player *player)
{
    enum { CPU_AT = 5, COLUMNS = 12, UNIT_NS = 100000 };
    const struct fake_tree *tree = &player->tree;
    const struct sample_history *history = &tree->sample.end.history;
    uint64_t sum_ns = 0, records = 0;
    assert_true(history->present);
    for (struct str text = str_of(history->records); text.n > 0; str_skip(&text, 1), records++) {
        for (int i = 0; i < COLUMNS; i++) {
            uint64_t value = 0;
            if (text.n > 1 && text.p[1] == '-')
                str_skip(&text, 2);
            else
                assert_true(num_next_u64(&text, &value));
            sum_ns += i == CPU_AT || i == CPU_AT + 1 ? value * UNIT_NS : 0;
        }
        assert_int_equal(*text.p, ';');
    }
    uint64_t reported_ns = tree->reported.user_ns + tree->reported.system_ns;
    /* What one had used before is known to the ns, and what it had at its end to the tick. */
    uint64_t slack_ns = player->story->is_attached ? PROCESSES_MAX * FAKE_TICK_NS : 0;
    assert_not_above(player, "CPU time of processes", sum_ns, reported_ns + slack_ns, -1);
    assert_true(player->story->is_attached || reported_ns - sum_ns < UNIT_NS);
    assert_true(records > 0 && records <= tree->sample.end.processes_seen.v);
}

static void check_end(struct player *player, const struct fake_amounts *before)
{
    struct fake_tree *tree = &player->tree;
    const struct tracked_usage *reaped = &tree->tracked.reaped;
    assert_int_equal(count_members(tree, false), 0);
    assert_int_equal(tree->status.live, 0);
    assert_int_equal(tree->status.live_pid, 0);
    /* Not in every sample of a tree that is gone, but in the last one. */
    assert_false(tree->sample.end.history.present);
    tree->is_final = true;
    fake_tree_collect_after(tree, NS_PER_SEC);
    check_history(player);
    if (player->story->is_attached)
        return;
    /* wait4 cuts user and system time of each child to whole microseconds. */
    uint64_t reported_ns = tree->reported.user_ns + tree->reported.system_ns;
    uint64_t used_ns = tree->used.user_ns + tree->used.system_ns;
    assert_true(reported_ns >= (reaped->user_us + reaped->system_us) * 1000);
    if (player->story->has_deaf)
        return;
    assert_true(used_ns - reported_ns < 2000 * tree->reaps);
    assert_int_equal(tree->reported.read_bytes, tree->used.read_bytes - before->read_bytes);
    assert_int_equal(tree->reported.write_bytes, tree->used.write_bytes - before->write_bytes);
    assert_int_equal(tree->reported.faults, tree->used.faults - before->faults);
}

static void begin(struct player *player, const struct story *story)
{
    *player = (struct player){.story = story, .random = story->seed, .next_pid = FAKE_ROOT};
    struct fake_tree *tree = &player->tree;
    if (story->is_attached)
        fake_tree_init_attached(tree);
    else
        fake_tree_init(tree);
    tree->fake.env.descriptors = story->descriptors;
    tree->lists_children = !story->has_no_children_files;
    if (story->has_no_children_files) {
        fake_env_remove(&tree->fake, "proc/1/task");
        fake_env_remove(&tree->fake, "proc/10/task");
        fake_env_remove(&tree->fake, "proc/100/task");
    }
    tree->on_clock_context = player;
    tree->tracked.wants_top = tree->tracked.wants_history = true;
    fake_tree_open(tree);
}

static void test_story(void **state)
{
    const struct story *story = *state;
    struct player *player = malloc(sizeof(*player));
    assert_non_null(player);
    int descriptors = fake_env_open_count();
    begin(player, story);
    struct fake_tree *tree = &player->tree;
    struct fake_amounts before = {0};
    for (int i = 0; story->is_attached && i < 5 * STEPS_PER_TICK; i++)
        play(player);
    fake_tree_baseline(tree);
    if (story->is_attached)
        before = tree->used;
    tree->on_clock = play_at_clock;
    for (int tick = 0; tick < story->ticks; tick++) {
        for (uint64_t n = roll(player, STEPS_PER_TICK); n > 0; n--)
            play(player);
        if (roll(player, 4) != 0)
            fake_tree_reap_all(tree);
        fake_tree_collect_after(tree, roll(player, 10) == 0 ? 3 * NS_PER_SEC : 100 * NS_PER_MS);
        check_tick(player, &before, tick);
    }
    tree->on_clock = NULL;
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            play_to_the_end(player);
        fake_tree_reap_all(tree);
        fake_tree_collect_after(tree, NS_PER_SEC);
        check_tick(player, &before, story->ticks + i);
    }
    check_end(player, &before);
    fake_tree_close(tree);
    fake_tree_fini(tree);
    assert_int_equal(fake_env_open_count(), descriptors);
    free(player);
}

static const struct story stories[] = {
    {.name = "between ticks", .seed = 11, .ticks = 300, .descriptors = 64, .pids = 100000},
    {.name = "in the middle of ticks",
        .seed = 12,
        .ticks = 300,
        .descriptors = 64,
        .pids = 100000,
        .percent_at_clock = 20},
    {.name = "often in the middle",
        .seed = 13,
        .ticks = 250,
        .descriptors = 200,
        .pids = 100000,
        .percent_at_clock = 60},
    {.name = "few descriptors", .seed = 14, .ticks = 250, .descriptors = 7, .pids = 100000, .percent_at_clock = 20},
    {.name = "no descriptors", .seed = 15, .ticks = 250, .descriptors = 0, .pids = 100000, .percent_at_clock = 20},
    {.name = "few PIDs", .seed = 16, .ticks = 300, .descriptors = 64, .pids = 60, .percent_at_clock = 20},
    {.name = "few PIDs, no descriptors",
        .seed = 2000023,
        .ticks = 150,
        .descriptors = 0,
        .pids = 60,
        .percent_at_clock = 20},
    {.name = "no lists of children",
        .seed = 18,
        .ticks = 250,
        .descriptors = 64,
        .pids = 100000,
        .percent_at_clock = 20,
        .has_no_children_files = true},
    {.name = "SIGCHLD ignored",
        .seed = 19,
        .ticks = 250,
        .descriptors = 64,
        .pids = 100000,
        .percent_at_clock = 20,
        .has_deaf = true},
    {.name = "attached",
        .seed = 20,
        .ticks = 250,
        .descriptors = 64,
        .pids = 100000,
        .percent_at_clock = 20,
        .is_attached = true},
    {.name = "subreapers, between ticks",
        .seed = 4000033,
        .ticks = 300,
        .descriptors = 64,
        .pids = 100000,
        .has_subreapers = true},
    {.name = "subreapers",
        .seed = 22,
        .ticks = 300,
        .descriptors = 64,
        .pids = 100000,
        .percent_at_clock = 20,
        .has_subreapers = true},
    {.name = "subreapers, attached",
        .seed = 10000053,
        .ticks = 250,
        .descriptors = 64,
        .pids = 100000,
        .percent_at_clock = 20,
        .is_attached = true,
        .has_subreapers = true},
    {.name = "everything",
        .seed = 24,
        .ticks = 300,
        .descriptors = 20,
        .pids = 60,
        .percent_at_clock = 30,
        .has_subreapers = true,
        .has_deaf = true},
};

enum { STORIES = sizeof(stories) / sizeof(stories[0]) };

int main(void)
{
    /* Files come and go by the hundred thousand: in memory where there is such a place. */
    if (access("/dev/shm", W_OK | X_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 0);
    struct CMUnitTest tests[STORIES];
    struct story copies[STORIES];
    for (size_t i = 0; i < STORIES; i++) {
        copies[i] = stories[i];
        tests[i] = (struct CMUnitTest){.name = copies[i].name, .test_func = test_story, .initial_state = &copies[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
