/* SPDX-License-Identifier: BSL-1.0 */
/* share.c -- see share.h. */
#include "block/share.h"

#include <inttypes.h>

#include "base/context.h"

void *emi_share_new(em_disks *d, size_t bytes, uint32_t flags, void (*release)(void *object), em_errinfo *err)
{
	emi_share *s = emi_object_new(d->share.object.ctx, bytes, flags, release, err);

	if (s == NULL)
		return NULL;
	__atomic_add_fetch(&d->users, 1, __ATOMIC_ACQ_REL);
	s->disks = d;
	s->set = d->share.set;
	return s;
}

void emi_share_free(void *object, size_t bytes)
{
	em_disks *d = ((emi_share *)object)->disks;

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

uint64_t emi_share_block_bytes(const emi_share *s, uint64_t bytes)
{
	const uint64_t usual = s->object.ctx->block_bytes;

	if (bytes != 0)
		return bytes;
	return usual != 0 ? usual : EM_BLOCK_USUAL;
}

em_status emi_share_check(const emi_share *s, em_bid bid, em_errinfo *err)
{
	if (bid.disk < emi_disk_count(s->set))
		return EM_OK;
	return emi_fail(err, EM_ERR_INVAL, "there is no block at %" PRIu64 " of disk %" PRIu32 ": there are %" PRIu32
			" disks", bid.offset, bid.disk, emi_disk_count(s->set));
}
