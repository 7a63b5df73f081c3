/* SPDX-License-Identifier: BSL-1.0 */
/*
 * account.h -- which space of the disks is one user's, for those who may leave blocks that others should not have to
 * live with.
 *
 * All functions but opening, emptying and closing may be called by any thread.
 */
#ifndef EMI_ACCOUNT_H
#define EMI_ACCOUNT_H

#include "block/disk.h"

typedef struct emi_account emi_account;

em_status emi_account_open(emi_account **out, em_ctx *ctx, uint32_t disks, em_errinfo *err);
void emi_account_close(emi_account *a, int forked);

/* Most bytes of memory when it has so many bytes on each of the disks, in pieces with so many ends. */
uint64_t emi_account_memory(uint32_t disks, uint64_t bytes, uint64_t ends);

/* n blocks were allocated, one behind the other, of so many bytes together.  EM_ERR_NOMEM; where only the context's
 * memory is spent they are not entered, and the account is not complete. */
em_status emi_account_enter(emi_account *a, em_bid bid, uint64_t bytes, uint64_t n, em_errinfo *err);
int emi_account_complete(const emi_account *a);

/* A block is to be freed: 0 if it is not this user's. */
int emi_account_strike(emi_account *a, em_bid bid, uint64_t bytes);

/* Hand out all that it has, in pieces; n is the number of blocks to count as freed with one, which may be none. */
typedef void emi_account_piece(void *arg, em_bid bid, size_t bytes, uint64_t n);
void emi_account_empty(emi_account *a, emi_account_piece *piece, void *arg);

#endif
