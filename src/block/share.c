/* SPDX-License-Identifier: BSL-1.0 */
/* share.c -- see share.h. */
#include "block/share.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

void *emi_share_new(em_disks *d, size_t bytes, em_errinfo *err)
{
	emi_share *s = NULL;

	if (emi_ctx_check(d->share.ctx, err) == EM_OK)
		s = emi_alloc(d->share.ctx, bytes, err);
	if (s == NULL)
		return NULL;
	__atomic_add_fetch(&d->users, 1, __ATOMIC_ACQ_REL);
	s->disks = d;
	s->ctx = d->share.ctx;
	s->set = d->share.set;
	return s;
}

void emi_share_free(void *object, size_t bytes)
{
	em_disks *d = ((emi_share *)object)->disks;

	emi_free(d->share.ctx, object, bytes);
	em_disks_close(d);
}

em_status emi_share_opened(em_status status, em_errinfo *theirs, const em_errinfo *err)
{
	if (status != EM_OK && theirs != NULL)
		*theirs = *err;
	return status;
}

em_status emi_share_begin(const emi_share *s, em_errinfo *err)
{
	memset(err, 0, sizeof *err);
	return emi_ctx_check(s->ctx, err);
}

em_status emi_share_begin_at(const emi_share *s, em_bid bid, em_errinfo *err)
{
	const em_status st = emi_share_begin(s, err);

	return st == EM_OK ? emi_share_check(s, bid, err) : st;
}

em_status emi_share_told(emi_share *s, em_status status, const em_errinfo *err)
{
	/* Disks are used by several threads. */
	if (status < EM_OK) {
		pthread_mutex_lock(&s->ctx->io_lock);
		s->err = *err;
		pthread_mutex_unlock(&s->ctx->io_lock);
	}
	return status;
}

uint64_t emi_share_block_bytes(const emi_share *s, uint64_t bytes)
{
	if (bytes != 0)
		return bytes;
	return s->ctx->block_bytes != 0 ? s->ctx->block_bytes : EM_BLOCK_USUAL;
}

em_status emi_share_check(const emi_share *s, em_bid bid, em_errinfo *err)
{
	if (bid.disk < emi_disk_count(s->set))
		return EM_OK;
	return emi_fail(err, EM_ERR_INVAL, "there is no block at %" PRIu64 " of disk %" PRIu32 ": there are %" PRIu32 " disks", bid.offset, bid.disk,
			emi_disk_count(s->set));
}
