/* SPDX-License-Identifier: BSL-1.0 */
/* share.c -- see share.h. */
#include "block/share.h"

#include <inttypes.h>

#include "base/context.h"
#include "base/error.h"

void *emi_share_new(em_disks *d, size_t bytes, uint32_t flags, void (*release)(void *object), em_errinfo *err)
{
	emi_share *s = emi_object_new(d->share.object.ctx, bytes, flags, release, err);

	if (s == NULL)
		return NULL;
	__atomic_add_fetch(&d->users, 1, __ATOMIC_ACQ_REL);
	s->disks = d;
	s->set = d->share.set;
	s->n = d->share.n;
	return s;
}

void emi_share_turn(emi_share *s)
{
	if (s->disks->share.store != NULL)
		s->object.turn = &s->disks->share.object;
}

em_status emi_share_store(emi_share *s, em_errinfo *err)
{
	emi_store *all = s->disks->share.store;

	if (all == NULL) {
		const em_status st = emi_store_open_disks(&s->store, s->object.ctx, s->set, err);

		if (st == EM_OK)
			emi_store_watch(s->store, &s->object.canceled);
		return st;
	}
	s->store = emi_store_hold(all);
	emi_share_turn(s);
	return EM_OK;
}

void emi_share_free(void *object, size_t bytes)
{
	em_disks *d = ((emi_share *)object)->disks;

	emi_store_close(((emi_share *)object)->store);
	emi_object_free(object, bytes);
	em_disks_close(d);
}

em_status emi_share_enter_at(void *object, em_bid bid, em_errinfo *err)
{
	em_status st = emi_enter(object, err);

	if (st == EM_OK) {
		st = emi_share_check(object, bid, err);
		if (st != EM_OK)
			(void)emi_leave(object, st, err);
	}
	return st;
}

/* All who are on the disks forget them first. */
static em_status forget_all(emi_store *all, const em_bid *bid, size_t n, size_t bytes, em_errinfo *err)
{
	em_status st = EM_OK;
	size_t i;

	for (i = 0; i < n; i++) {
		const emi_span span = { bid[i], bytes };

		if (!em_bid_is_none(bid[i]) && emi_store_pins(all, &span))
			return emi_fail(err, EM_ERR_STATE, "the block at %" PRIu64 " is pinned", bid[i].offset);
	}
	for (i = 0; i < n && st == EM_OK; i++) {
		const emi_span span = { bid[i], bytes };

		if (!em_bid_is_none(bid[i]))
			st = emi_store_forget(all, NULL, &span, err);
	}
	return st;
}

em_status emi_share_free_blocks(emi_share *s, const em_bid *bid, size_t n, size_t bytes, em_errinfo *err)
{
	emi_store *all = s->disks->share.store;
	em_status first = all != NULL ? forget_all(all, bid, n, bytes, err) : EM_OK;
	size_t i;

	if (first != EM_OK || s->set == NULL)
		return first;
	for (i = 0; i < n; i++) {
		em_status st = EM_OK;

		if (!em_bid_is_none(bid[i]))
			st = emi_share_check(s, bid[i], err);
		if (st == EM_OK && !em_bid_is_none(bid[i]))
			st = emi_bids_free(s->set, &bid[i], 1, bytes, err);
		if (first == EM_OK)
			first = st;
	}
	return first;
}

uint64_t emi_share_block_bytes(const emi_share *s, uint64_t bytes)
{
	const uint64_t usual = s->object.ctx->block_bytes;

	if (bytes != 0)
		return bytes;
	return usual != 0 ? usual : EM_BLOCK_USUAL;
}

emi_wants emi_share_wants(const emi_share *s, uint64_t bytes, uint64_t blocks, uint64_t block_bytes)
{
	const emi_wants w = { bytes, blocks + EMI_BLOCKS_SURE, block_bytes, 0, s->set != NULL, s->set == NULL };

	return w;
}

em_status emi_share_check(const emi_share *s, em_bid bid, em_errinfo *err)
{
	if (bid.disk < s->n)
		return EM_OK;
	return emi_fail(err, EM_ERR_INVAL, "there is no block at %" PRIu64 " of disk %" PRIu32 ": there are %" PRIu32
			" disks", bid.offset, bid.disk, s->n);
}
