/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books of a process tree: every amount counts exactly once, although the kernel moves it. What a process used
 * itself and what it inherited from children it waited for only ever moves upward: when a process is waited for,
 * all of it appears in its parent. So a tree that is read from the top down can miss an amount for one turn, but
 * never see it twice. Pure: knows no files and no processes.
 */
#ifndef COLLECT_TREE_LEDGER_H
#define COLLECT_TREE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

/* CPU time in ns, of which user time, bytes, faults. */
enum tree_flow { FLOW_CPU, FLOW_USER, FLOW_READ, FLOW_WRITE, FLOW_FAULTS, FLOWS };

/* One reading of a process. */
struct ledger_reading {
    uint64_t value[FLOWS]; /* own and inherited */
    uint64_t intake[FLOWS]; /* the part that grows when a child is waited for */
    uint64_t settled[FLOWS]; /* what its parent's intake will grow by at least when it is waited for */
    bool known[FLOWS];
};

/* The account of a process, or of the tracker, which waits for the root and for orphans. All zeros at the start. */
struct ledger_account {
    uint64_t value[FLOWS], intake[FLOWS], settled[FLOWS];
    uint64_t growth[FLOWS]; /* of the intake in this turn */
    uint64_t owed[FLOWS]; /* of children that vanished in the turn before this one */
    uint64_t owed_new[FLOWS]; /* of children that vanished in this turn */
    uint64_t stray[FLOWS], stray_new[FLOWS]; /* the same of descendants whose parent vanished with them */
    bool known[FLOWS];
    bool is_fresh; /* read in this turn */
    bool is_chain_fresh; /* and so was everybody who was asked to pay for its strays */
};

struct ledger {
    uint64_t lost[FLOWS]; /* of those that nobody waited for */
    uint64_t sum[FLOWS]; /* of the accounts added so far in this turn */
    uint64_t mark[FLOWS]; /* the highest total so far: what was reported never shrinks */
};

/* A turn begins: what vanished in the last one is due now. For every account. */
void ledger_begin(struct ledger_account *account);

/* A new reading of this turn; a flow that is not known keeps its last value. */
void ledger_update(struct ledger_account *account, const struct ledger_reading *reading);

/* A process has vanished: payee is its parent, which is still there, or NULL where nobody will get it. */
void ledger_close(struct ledger *ledger, const struct ledger_account *account, struct ledger_account *payee);

/* The same where its parent has vanished as well: the nearest one above, or any above that, will get it. */
void ledger_close_stray(const struct ledger_account *account, struct ledger_account *nearest);

/* Is anything owed to it? Then it must be read in this turn, and whoever is above it as well. */
bool ledger_is_owed(const struct ledger_account *account);

/*
 * The turn ends for an account, after every account was closed that is gone: its growth pays for those who vanished.
 * What a reading of the turn after that has not paid was never waited for, and is kept as lost; without a reading it
 * stays owed. Adds the account to the sum of the turn.
 */
void ledger_settle(struct ledger *ledger, struct ledger_account *account);

/* After all were settled: what is left of the payer's growth pays for strays of the debtor, which is below it or the
 * same. */
void ledger_pay_strays(struct ledger_account *debtor, struct ledger_account *payer);

/* And then what was not paid for: lost where all who could have paid were read in this turn, else part of the sum. */
void ledger_settle_strays(struct ledger *ledger, struct ledger_account *debtor);

/* The growth of the total since the last call; clears the sum for the next turn. */
void ledger_take(struct ledger *ledger, uint64_t ret_growth[FLOWS]);

#endif
