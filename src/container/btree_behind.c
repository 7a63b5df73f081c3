/* SPDX-License-Identifier: BSL-1.0 */
/* btree_behind.c -- see btree_behind.h. */
#include "container/btree_behind.h"

#include <string.h>

#include "base/memory.h"

#define PIECE_BYTES ((size_t)512 << 10)
#define MEMORY_SHARE 4u         /* pieces take no more than this part of what the cache may */

static void free_pieces(emi_btree_behind *b)
{
	em_ctx *ctx = b->tree->object.ctx;
	uint32_t k;

	for (k = 0; k < EMI_BEHIND_PIECES; k++) {
		emi_btree_piece *p = &b->piece[k];

		if (p->leaves != NULL)
			emi_buffer_free(ctx, p->leaves, b->most * b->tree->plan.leaf_bytes);
		emi_free_array(ctx, p->rq, b->most, sizeof *p->rq);
		p->leaves = NULL;
		p->rq = NULL;
	}
}

static uint32_t piece_leaves(const emi_btree_plan *p)
{
	const uint64_t cache = (uint64_t)p->leaf_frames * p->leaf_bytes;
	uint32_t most = (uint32_t)(PIECE_BYTES / p->leaf_bytes);

	while (most > 1 && (uint64_t)EMI_BEHIND_PIECES * most * p->leaf_bytes > cache / MEMORY_SHARE)
		most /= 2;
	return most;
}

uint64_t emi_btree_behind_memory(const emi_btree_plan *p)
{
	return (uint64_t)EMI_BEHIND_PIECES * piece_leaves(p) * (p->leaf_bytes + sizeof(emi_request));
}

/* Memory for the pieces, if there is some. */
static void have_pieces(emi_btree_behind *b)
{
	em_ctx *ctx = b->tree->object.ctx;
	const size_t leaf = b->tree->plan.leaf_bytes;
	uint32_t k;

	b->asked = 1;
	b->most = piece_leaves(&b->tree->plan);
	if (b->most <= 1)
		return;
	for (k = 0; k < EMI_BEHIND_PIECES; k++) {
		b->piece[k].leaves = emi_buffer_alloc(ctx, b->most * leaf, NULL);
		b->piece[k].rq = emi_alloc_array(ctx, b->most, sizeof *b->piece[k].rq, NULL);
		if (b->piece[k].leaves == NULL || b->piece[k].rq == NULL) {
			free_pieces(b);
			return;
		}
	}
	b->used = 1;
}

/* Begin to write what is left of a piece. */
static em_status send(emi_btree_behind *b, emi_btree_piece *p, em_errinfo *err)
{
	emi_btree_blocks *leaves = &b->tree->leaves;

	while (p->sent < p->n) {
		const em_bid bid = { 0, 0, (p->first + p->sent) * leaves->bytes };
		uint32_t some = p->n - p->sent;
		const char *at = p->leaves + p->sent * leaves->bytes;
		const em_status st = emi_store_write_run(leaves->store, &p->rq[p->sent], at, leaves->bytes, bid, &some,
							 &leaves->io, err);

		if (st != EM_OK)
			return st;
		p->sent += some;
	}
	return EM_OK;
}

/* Have all of a piece written.  What fails is to be written anew. */
static em_status wait(emi_btree_behind *b, emi_btree_piece *p, em_errinfo *err)
{
	em_status st = send(b, p, err);
	uint32_t i;

	for (i = 0; i < p->sent; i++) {
		const em_status one = emi_wait(&p->rq[i], st == EM_OK ? err : NULL);

		st = st == EM_OK ? one : st;
	}
	if (st != EM_OK) {
		p->sent = 0;
		return st;
	}
	b->writes += p->n;
	p->n = 0;
	p->sent = 0;
	return EM_OK;
}

em_status emi_btree_behind_leaf(emi_btree_behind *b, uint64_t n, emi_btree_pin *pin, em_errinfo *err)
{
	em_btree *t = b->tree;
	emi_btree_piece *p = &b->piece[b->at];
	em_status st;

	if (!b->asked && n >= t->plan.leaf_frames)
		have_pieces(b);
	if (!b->used)
		return emi_btree_new_leaf(t, pin, err);
	/* The piece before is complete now. */
	st = send(b, &b->piece[(b->at + EMI_BEHIND_PIECES - 1) % EMI_BEHIND_PIECES], err);
	if (st != EM_OK)
		return st;
	if (p->n == b->most) {
		p = &b->piece[(b->at + 1) % EMI_BEHIND_PIECES];
		st = wait(b, p, err);
		if (st != EM_OK)
			return st;
	}
	st = emi_btree_leaf_number(t, &pin->id, err);
	if (st != EM_OK)
		return st;
	if (p != &b->piece[b->at]) {
		b->at = (b->at + 1) % EMI_BEHIND_PIECES;
		p->first = pin->id;
	} else if (p->n == 0) {
		p->first = pin->id;
	}
	pin->frame = EM_CACHE_NONE;
	pin->u.at = p->leaves + p->n * t->plan.leaf_bytes;
	memset(pin->u.at, 0, t->plan.leaf_bytes);
	p->n++;
	return EM_OK;
}

em_status emi_btree_behind_finish(emi_btree_behind *b, em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t k;

	for (k = 1; b->used && k <= EMI_BEHIND_PIECES && st == EM_OK; k++)
		st = wait(b, &b->piece[(b->at + k) % EMI_BEHIND_PIECES], err);
	return st;
}

void emi_btree_behind_close(emi_btree_behind *b)
{
	uint32_t k, i;

	for (k = 0; b->used && k < EMI_BEHIND_PIECES; k++)
		for (i = 0; i < b->piece[k].sent; i++)
			(void)emi_wait(&b->piece[k].rq[i], NULL);
	b->tree->loaded += b->writes;
	free_pieces(b);
	b->used = 0;
}
