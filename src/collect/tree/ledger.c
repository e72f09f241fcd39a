/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tree/ledger.h"

#include <string.h>

#include "base/opt.h"

void ledger_begin(struct ledger_account *account)
{
    account->is_fresh = false;
    account->is_chain_fresh = true;
    for (int i = 0; i < FLOWS; i++) {
        account->owed[i] += account->owed_new[i];
        account->owed_new[i] = 0;
        account->stray[i] += account->stray_new[i];
        account->stray_new[i] = 0;
        account->growth[i] = 0;
    }
}

bool ledger_is_owed(const struct ledger_account *account)
{
    uint64_t any = 0;
    for (int i = 0; i < FLOWS; i++)
        any |= account->owed[i] | account->owed_new[i] | account->stray[i] | account->stray_new[i];
    return any != 0;
}

void ledger_update(struct ledger_account *account, const struct ledger_reading *reading)
{
    account->is_fresh = true;
    for (int i = 0; i < FLOWS; i++) {
        account->known[i] = reading->known[i];
        if (!reading->known[i])
            continue;
        account->growth[i] += counter_delta(account->intake[i], reading->intake[i]);
        account->value[i] = reading->value[i];
        account->intake[i] = reading->intake[i];
        account->settled[i] = reading->settled[i];
    }
}

void ledger_close(struct ledger *ledger, const struct ledger_account *account, struct ledger_account *payee)
{
    for (int i = 0; i < FLOWS; i++) {
        uint64_t rest = account->settled[i] + account->owed[i] + account->owed_new[i];
        uint64_t strays = account->stray[i] + account->stray_new[i];
        if (payee) {
            payee->owed_new[i] += rest;
            payee->stray_new[i] += strays;
        } else {
            ledger->lost[i] += rest + strays;
        }
    }
}

void ledger_close_stray(const struct ledger_account *account, struct ledger_account *nearest)
{
    for (int i = 0; i < FLOWS; i++)
        nearest->stray_new[i] +=
            account->settled[i] + account->owed[i] + account->owed_new[i] + account->stray[i] + account->stray_new[i];
}

static void pay(uint64_t *owed, uint64_t *growth)
{
    uint64_t paid = *owed < *growth ? *owed : *growth;
    *owed -= paid;
    *growth -= paid;
}

void ledger_settle(struct ledger *ledger, struct ledger_account *account)
{
    for (int i = 0; i < FLOWS; i++) {
        pay(&account->owed[i], &account->growth[i]);
        pay(&account->owed_new[i], &account->growth[i]);
        /* Where the intake was not seen, nobody knows what was paid: it stays owed. */
        if (account->known[i] && account->is_fresh) {
            ledger->lost[i] += account->owed[i];
            account->owed[i] = 0;
        }
        ledger->sum[i] += account->value[i] + account->owed[i] + account->owed_new[i];
    }
}

void ledger_pay_strays(struct ledger_account *debtor, struct ledger_account *payer)
{
    debtor->is_chain_fresh &= payer->is_fresh;
    for (int i = 0; i < FLOWS; i++) {
        pay(&debtor->stray[i], &payer->growth[i]);
        pay(&debtor->stray_new[i], &payer->growth[i]);
    }
}

void ledger_settle_strays(struct ledger *ledger, struct ledger_account *debtor)
{
    for (int i = 0; i < FLOWS; i++) {
        if (debtor->known[i] && debtor->is_chain_fresh) {
            ledger->lost[i] += debtor->stray[i];
            debtor->stray[i] = 0;
        }
        ledger->sum[i] += debtor->stray[i] + debtor->stray_new[i];
    }
}

void ledger_take(struct ledger *ledger, uint64_t ret_growth[FLOWS])
{
    for (int i = 0; i < FLOWS; i++) {
        uint64_t total = ledger->sum[i] + ledger->lost[i];
        ret_growth[i] = counter_delta(ledger->mark[i], total);
        ledger->mark[i] += ret_growth[i];
        ledger->sum[i] = 0;
    }
}
