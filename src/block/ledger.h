/* SPDX-License-Identifier: BSL-1.0 */
/*
 * ledger.h -- what each block is, for contexts in which every use is checked: how long, whose, and whether anything was
 * written to it.
 *
 * All functions may be called by any thread.
 */
#ifndef EMI_LEDGER_H
#define EMI_LEDGER_H

#include "block/disk.h"

typedef struct emi_ledger emi_ledger;

em_status emi_ledger_open(emi_ledger **out, em_ctx *ctx, em_errinfo *err);
void emi_ledger_close(emi_ledger *l, int forked);

/* Most bytes of memory for so many blocks. */
uint64_t emi_ledger_memory(uint64_t blocks);

/* A block was allocated.  EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_ledger_enter(emi_ledger *l, em_bid bid, size_t bytes, uint32_t owner, em_errinfo *err);

/* May it be freed, written, read?  When it may, that is noted.  EM_ERR_INVAL, EM_ERR_STATE, with a reason that is
 * static. */
em_status emi_ledger_strike(emi_ledger *l, em_bid bid, size_t bytes, uint32_t owner, const char **why);
em_status emi_ledger_write(emi_ledger *l, em_bid bid, size_t bytes, uint32_t owner, const char **why);
em_status emi_ledger_read(emi_ledger *l, em_bid bid, size_t bytes, const char **why);

/* The next block of an owner below entry *at, which begins with UINT32_MAX: 0 when there is no more.  Each may be
 * struck. */
int emi_ledger_next_of(emi_ledger *l, uint32_t owner, uint32_t *at, em_bid *bid, size_t *bytes);

/* Write whose blocks there are, as far as there is room: "user 1: 3, user 7: 12". */
void emi_ledger_tell(emi_ledger *l, char *text, size_t room);

#endif
