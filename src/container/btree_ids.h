/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_ids.h -- which of the blocks of an array are in use: a bit for each.
 *
 * A number is taken before anything is changed, as that may need memory; giving one back never fails.
 */
#ifndef EMI_BTREE_IDS_H
#define EMI_BTREE_IDS_H

#include <extmem/ctx.h>

typedef struct emi_btree_ids {
	uint64_t *word;         /* a bit is set for each number that is free; NULL: none was ever given back */
	uint64_t words;
	uint64_t n;             /* numbers that were ever taken are less */
	uint64_t free;          /* of them, those that are free */
	uint64_t hint;          /* no word before this one has a free number */
} emi_btree_ids;

/* Take a number, the least that is free: EM_OK, EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_btree_ids_take(emi_btree_ids *ids, em_ctx *ctx, uint64_t *id, em_errinfo *err);
void emi_btree_ids_give(emi_btree_ids *ids, uint64_t id);

/* Is it one that is in use? */
int emi_btree_ids_used(const emi_btree_ids *ids, uint64_t id);

/* In use. */
static inline uint64_t emi_btree_ids_count(const emi_btree_ids *ids)
{
	return ids->n - ids->free;
}

/* Forget all. */
void emi_btree_ids_end(emi_btree_ids *ids, em_ctx *ctx);

/* Bytes for so many numbers. */
uint64_t emi_btree_ids_memory(uint64_t n);

#endif
