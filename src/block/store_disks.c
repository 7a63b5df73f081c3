/* SPDX-License-Identifier: BSL-1.0 */
/*
 * store_disks.c -- a store of blocks that are allocated on scratch disks; see store.h.
 */
#include "base/error.h"
#include "block/store_kind.h"

static int disks_read(emi_store *s, emi_request *rq, void *buf, size_t bytes, em_bid bid, emi_io_stats *io)
{
	return emi_block_read_or_zero(s->disk, rq, buf, bytes, bytes, bid, io);
}

static em_status disks_write(emi_store *s, emi_request *rq, const void *buf, size_t bytes, em_bid bid, emi_io_stats *io,
			     em_errinfo *err)
{
	(void)err;
	emi_block_write(s->disk, rq, buf, bytes, bid, io);
	return EM_OK;
}

static em_status disks_alloc(emi_store *s, const em_placement *place, uint64_t first, size_t bytes, em_bid *bid,
			     size_t n, em_errinfo *err)
{
	const em_status st = emi_store_acquire(s, err);

	return st == EM_OK ? emi_bids_alloc(s->disk, place, first, bytes, bid, n, err) : st;
}

static em_status disks_free(emi_store *s, em_bid bid, size_t bytes, em_errinfo *err)
{
	return s->disk != NULL ? emi_bids_free(s->disk, &bid, 1, bytes, err) : EM_OK;
}

static const emi_store_kind disks = { disks_read, disks_write, NULL, disks_alloc, disks_free, NULL, NULL, NULL };

em_status emi_store_open_scratch(emi_store **out, em_ctx *ctx, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;

	*out = emi_store_new(ctx, &disks, &own);
	if (*out == NULL && err != NULL && err->status >= EM_OK)
		*err = own;
	return own.status;
}

em_status emi_store_open_disks(emi_store **out, em_ctx *ctx, emi_disk *disk, em_errinfo *err)
{
	const em_status st = emi_store_open_scratch(out, ctx, err);

	if (st == EM_OK)
		(*out)->disk = disk;
	return st;
}
