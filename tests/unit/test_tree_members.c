/* SPDX-License-Identifier: Apache-2.0 */
/* The table of members: finding by PID, slots that are used again, the order of reading, and what is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>

#include "collect/tree/members.h"
#include "collect/tree/read.h"

static void assert_order(const struct tree_members *members, size_t count, const pid_t *pids)
{
    assert_int_equal(members->order.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tree_member_at(members, members->order.items[i])->pid, pids[i]);
}

/* Every member once, none before its parent. */
static void assert_in_order(const struct tree_members *members)
{
    assert_int_equal(members->order.count, members->live);
    unsigned char *seen = calloc(members->slots.count + 1, 1);
    assert_non_null(seen);
    for (size_t i = 0; i < members->order.count; i++) {
        size_t slot = members->order.items[i];
        const struct tree_member *member = tree_member_at(members, slot);
        assert_int_not_equal(member->pid, 0);
        assert_int_equal(seen[slot], 0);
        assert_true(member->parent == TREE_NONE || seen[member->parent]);
        seen[slot] = 1;
    }
    free(seen);
}

static size_t add(struct tree_members *members, pid_t pid, pid_t parent)
{
    size_t slot = tree_members_add(members, pid, tree_members_find(members, parent));
    assert_int_not_equal(slot, TREE_NONE);
    tree_member_at(members, slot)->parent_pid = parent;
    return slot;
}

static void test_empty(void **unused)
{
    (void)unused;
    struct tree_members members;
    tree_members_init(&members);
    assert_int_equal(tree_members_find(&members, 1), TREE_NONE);
    tree_members_sort(&members);
    assert_int_equal(members.order.count, 0);
    tree_members_fini(&members);
    tree_members_fini(&members);
}

static void test_add(void **unused)
{
    (void)unused;
    struct tree_members members;
    tree_members_init(&members);
    size_t root = tree_members_add(&members, 42, TREE_NONE);
    size_t child = tree_members_add(&members, 43, root);
    assert_int_equal(tree_members_find(&members, 42), root);
    assert_int_equal(tree_members_find(&members, 43), child);
    assert_int_equal(tree_members_find(&members, 44), TREE_NONE);
    assert_int_equal(tree_members_find(&members, 42 + 64), TREE_NONE); /* the same chain */
    const struct tree_member *member = tree_member_at(&members, child);
    assert_int_equal(member->parent, root);
    assert_int_equal(member->parent_pid, 42);
    assert_int_equal(tree_member_at(&members, root)->parent_pid, 0);
    for (int i = 0; i < TREE_KEPT_FILES; i++)
        assert_int_equal(member->fds[i], -1);
    assert_int_equal(member->threads.task_fd, -1);
    assert_true(member->has_run);
    assert_false(member->has_stat);
    assert_int_equal(member->account.value[FLOW_CPU], 0);
    assert_int_equal(members.live, 2);
    assert_order(&members, 2, (const pid_t[]){42, 43});
    tree_members_fini(&members);
}

/* PIDs of the same chain, of which any may go first. */
static void test_chains(void **unused)
{
    (void)unused;
    static const pid_t pids[] = {64, 128, 192};
    for (size_t first = 0; first < 3; first++) {
        struct tree_members members;
        tree_members_init(&members);
        for (size_t i = 0; i < 3; i++)
            add(&members, pids[i], 0);
        tree_members_remove(&members, tree_members_find(&members, pids[first]));
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(tree_members_find(&members, pids[i]) == TREE_NONE, i == first);
        assert_true(members.is_order_stale);
        tree_members_sort(&members);
        assert_in_order(&members);
        assert_false(members.is_order_stale);
        tree_members_fini(&members);
    }
}

static void test_slots_are_used_again(void **unused)
{
    (void)unused;
    struct tree_members members;
    tree_members_init(&members);
    size_t root = add(&members, 1, 0), gone = add(&members, 2, 1);
    add(&members, 3, 2);
    tree_member_at(&members, gone)->account.value[FLOW_CPU] = 5;
    tree_member_at(&members, gone)->has_stat = true;
    tree_members_remove(&members, gone);
    tree_members_sort(&members);
    assert_int_equal(members.live, 2);
    assert_int_equal(tree_member_at(&members, tree_members_find(&members, 3))->parent, TREE_NONE);
    size_t again = add(&members, 9, 1);
    assert_int_equal(again, gone);
    assert_int_equal(members.slots.count, 3);
    assert_int_equal(tree_member_at(&members, again)->account.value[FLOW_CPU], 0);
    assert_false(tree_member_at(&members, again)->has_stat);
    assert_int_equal(tree_member_at(&members, again)->parent, root);
    tree_members_sort(&members);
    assert_in_order(&members);
    tree_members_fini(&members);
}

static void test_sort(void **unused)
{
    (void)unused;
    struct tree_members members;
    tree_members_init(&members);
    add(&members, 50, 40);
    add(&members, 40, 30);
    add(&members, 30, 7);
    add(&members, 31, 30);
    add(&members, 60, 8);
    tree_members_sort(&members);
    assert_order(&members, 5, (const pid_t[]){30, 40, 31, 50, 60});
    /* 50 gets another parent. */
    tree_member_at(&members, tree_members_find(&members, 50))->parent = tree_members_find(&members, 60);
    tree_members_sort(&members);
    assert_in_order(&members);
    assert_int_equal(
        tree_member_at(&members, tree_members_find(&members, 50))->parent, tree_members_find(&members, 60));
    tree_members_fini(&members);
}

/* A parent that is gone and whose PID one below has got: none may be left out of the ticks for it. */
static void test_loop(void **unused)
{
    (void)unused;
    struct tree_members members;
    tree_members_init(&members);
    add(&members, 1, 0);
    for (pid_t pid = 2; pid <= 64; pid++)
        add(&members, pid, 1);
    tree_member_at(&members, tree_members_find(&members, 63))->parent = tree_members_find(&members, 64);
    tree_member_at(&members, tree_members_find(&members, 64))->parent = tree_members_find(&members, 63);
    tree_members_sort(&members);
    assert_int_equal(members.order.count, members.live);
    tree_members_fini(&members);
}

/* Space for all, whatever was in a loop while others came. */
static void test_loop_is_undone(void **unused)
{
    (void)unused;
    struct tree_members members;
    tree_members_init(&members);
    add(&members, 1, 0);
    for (pid_t pid = 2; pid <= 64; pid++)
        add(&members, pid, 1);
    for (pid_t pid = 33; pid <= 64; pid++)
        tree_member_at(&members, tree_members_find(&members, pid))->parent = tree_members_find(&members, pid);
    tree_members_sort(&members);
    for (pid_t pid = 65; pid <= 96; pid++)
        add(&members, pid, 1);
    for (pid_t pid = 33; pid <= 64; pid++)
        tree_member_at(&members, tree_members_find(&members, pid))->parent = tree_members_find(&members, 1);
    tree_members_sort(&members);
    assert_int_equal(members.order.count, 96);
    assert_in_order(&members);
    tree_members_fini(&members);
}

/* Children of those that are gone go to the nearest one above that is not, and know that this is a guess. */
static void test_relink(void **unused)
{
    (void)unused;
    struct tree_members members;
    tree_members_init(&members);
    size_t root = add(&members, 10, 7), child = add(&members, 11, 10), grandchild = add(&members, 12, 11);
    size_t leaf = add(&members, 13, 12), other = add(&members, 14, 10);
    tree_member_at(&members, child)->is_gone = tree_member_at(&members, grandchild)->is_gone = true;
    tree_members_relink(&members);
    assert_int_equal(tree_member_at(&members, leaf)->parent, root);
    assert_int_equal(tree_member_at(&members, leaf)->parent_pid, 10);
    assert_true(tree_member_at(&members, leaf)->is_orphan);
    assert_false(tree_member_at(&members, other)->is_orphan);
    tree_members_remove(&members, child);
    tree_members_remove(&members, grandchild);
    tree_member_at(&members, root)->is_gone = true;
    tree_members_relink(&members);
    assert_int_equal(tree_member_at(&members, leaf)->parent, TREE_NONE);
    assert_int_equal(tree_member_at(&members, leaf)->parent_pid, 7);
    assert_int_equal(tree_member_at(&members, other)->parent_pid, 7);
    assert_true(tree_member_at(&members, other)->is_orphan);
    tree_members_remove(&members, root);
    tree_members_sort(&members);
    assert_order(&members, 2, (const pid_t[]){13, 14});
    tree_members_fini(&members);
}

static void test_many(void **unused)
{
    (void)unused;
    struct tree_members members;
    tree_members_init(&members);
    for (pid_t pid = 1; pid <= TREE_MEMBERS_MAX; pid++)
        add(&members, pid, pid / 3);
    assert_int_equal(tree_members_add(&members, TREE_MEMBERS_MAX + 1, TREE_NONE), TREE_NONE);
    assert_int_equal(members.live, TREE_MEMBERS_MAX);
    assert_int_equal(tree_members_find(&members, TREE_MEMBERS_MAX + 1), TREE_NONE);
    for (pid_t pid = 2; pid <= TREE_MEMBERS_MAX; pid += 2)
        tree_members_remove(&members, tree_members_find(&members, pid));
    tree_members_sort(&members);
    assert_int_equal(members.live, TREE_MEMBERS_MAX / 2);
    assert_in_order(&members);
    for (pid_t pid = 1; pid <= TREE_MEMBERS_MAX; pid++)
        assert_int_equal(tree_members_find(&members, pid) == TREE_NONE, pid % 2 == 0);
    for (pid_t pid = 2; pid <= TREE_MEMBERS_MAX; pid += 2)
        add(&members, pid + 4 * TREE_MEMBERS_MAX, 1);
    assert_int_equal(members.slots.count, TREE_MEMBERS_MAX);
    tree_members_sort(&members);
    assert_in_order(&members);
    tree_members_fini(&members);
}

/* A thread whose file was opened and whose first read was abandoned: nothing has counted it yet. */
static void test_release_after_an_abandoned_read(void **unused)
{
    (void)unused;
    struct tree_reader reader = {.kept = 1};
    struct wait_thread *thread = calloc(1, sizeof(*thread));
    assert_non_null(thread);
    thread->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(thread->fd >= 0);
    struct tree_member member = {.wait = {.first.fd = -1, .others = {thread, 1, 1}}};
    wait_release(&reader, &member);
    assert_int_equal(reader.kept, 0);
    assert_int_equal(reader.kept_threads, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_slots_are_used_again),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_loop_is_undone),
        cmocka_unit_test(test_relink),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_release_after_an_abandoned_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
