/* SPDX-License-Identifier: BSL-1.0 */
/* share.c -- see share.h. */
#include "block/share.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

void *emi_share_new(em_ctx *ctx, size_t bytes, em_errinfo *err)
{
	emi_share *s;
	emi_disk *set;

	if (emi_scratch_acquire(ctx, &set, err) != EM_OK)
		return NULL;
	s = emi_alloc(ctx, bytes, err);
	if (s == NULL) {
		emi_scratch_release(ctx, set);
		return NULL;
	}
	emi_ctx_ref(ctx);
	s->ctx = ctx;
	s->set = set;
	return s;
}

void emi_share_free(void *object, size_t bytes)
{
	const emi_share s = *(emi_share *)object;

	emi_scratch_release(s.ctx, s.set);
	emi_free(s.ctx, object, bytes);
	emi_ctx_unref(s.ctx);
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

em_status emi_share_check(const emi_share *s, em_bid bid, em_errinfo *err)
{
	if (bid.disk < emi_disk_count(s->set))
		return EM_OK;
	return emi_fail(err, EM_ERR_INVAL, "there is no block at %" PRIu64 " of disk %" PRIu32 ": there are %" PRIu32 " disks", bid.offset, bid.disk,
			emi_disk_count(s->set));
}
