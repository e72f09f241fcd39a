/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that are started when a condition holds (--on 'memory.peak > 0.9 * memory.limit => py-spy dump --pid
 * {pid}'): asked with every sample, once per rule, or again after a pause ("... every 60s => ..."). The command is
 * split into words here, without a shell, and is killed after ON_SECS_MAX. Its stdin is empty, and what it writes goes
 * to our stderr. A process of ours, the guard, is between it and us: it executes the command, which may take any time,
 * it adopts and waits for what that leaves behind, which therefore never belongs to the tree, and it ends with the last
 * of these. Before that the rule does not start another one.
 */
#ifndef RUN_ON_H
#define RUN_ON_H

#include <stdint.h>

#include "base/err.h"
#include "collect/helper.h"
#include "config/settings.h"
#include "summary/accumulate.h"

enum { ON_RULES_MAX = 8, ON_STARTS_MAX = 100, ON_SECS_MAX = 60 };

struct on_rules {
    struct on_rule *items; /* NULL: there are none */
    size_t count;
    char *const *environment;
};

/* Returns 0 or -EINVAL with a message. */
int on_open(struct on_rules *rules, const struct settings *settings, struct err *err);

/* What still runs has a second to end, and is then killed: it holds our stderr open. */
void on_close(struct on_rules *rules);

/* After a sample, which the accumulator has. root: the tracked process; 0: there is none any more. */
void on_sample(
    struct on_rules *rules, const struct accumulator *acc, pid_t root, int64_t now_ns, struct helpers *helpers);

/* The guard: this program, started with a channel that it closes when the command has ended. */
bool on_guard_is_meant(int argc, char **argv);
int on_guard_main(char **argv);

/* For tests: the words of a command, in memory that *ret_words alone holds, NULL-terminated; {pid} is replaced. Returns
 * 0, -EINVAL for a quote that is not closed, no word at all or an empty one as the program, or -ENOMEM. */
int on_split(const char *text, pid_t pid, char ***ret_words);

#endif
