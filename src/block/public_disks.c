/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_disks.c -- disks, ids and transfers of blocks as callers outside know them: arguments are checked, and the detail of failures is kept.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/share.h"

em_status em_disks_open(em_disks **out, em_ctx *ctx, const em_disks_opts *opts)
{
	em_errinfo err, *theirs = NULL;
	em_disks_opts o;
	em_status st;

	if (out == NULL)
		return EM_ERR_INVAL;
	*out = NULL;
	memset(&err, 0, sizeof err);
	st = emi_opts_copy(&o, sizeof o, sizeof o, opts, "em_disks_opts", &err);
	if (st == EM_OK) {
		theirs = o.errinfo;
		if (ctx == NULL)
			st = emi_fail(&err, EM_ERR_INVAL, "ctx is NULL");
		else
			*out = emi_share_new(ctx, sizeof **out, &err);
		if (*out == NULL)
			st = err.status;
	}
	if (st != EM_OK && theirs != NULL)
		*theirs = err;
	return st;
}

void em_disks_close(em_disks *d)
{
	if (d != NULL)
		emi_share_free(d, sizeof *d);
}

uint32_t em_disks_count(const em_disks *d)
{
	return d != NULL ? emi_disk_count(d->share.set) : 0;
}

const char *em_disks_path(const em_disks *d, uint32_t i)
{
	return i < em_disks_count(d) ? emi_scratch_path(d->share.ctx, i) : "";
}

em_status em_disks_stats_get(em_disks *d, em_disks_stats *stats)
{
	em_disks_stats s = EM_DISKS_STATS_INIT;

	if (d == NULL)
		return EM_ERR_INVAL;
	s.disks = emi_disk_count(d->share.set);
	s.bytes = emi_disk_used(d->share.set);
	s.bytes_peak = emi_disk_peak(d->share.set);
	s.held = emi_disk_held(d->share.set);
	s.held_peak = emi_disk_held_peak(d->share.set);
	return emi_opts_give(stats, &s, sizeof s);
}

const em_errinfo *em_disks_error(const em_disks *d)
{
	return d != NULL ? &d->share.err : NULL;
}

static em_status check_size(size_t bytes, em_errinfo *err)
{
	if (bytes != 0 && bytes % EM_BLOCK_UNIT == 0)
		return EM_OK;
	return emi_fail(err, EM_ERR_INVAL, "a block of %" PRIu64 " bytes: it must be a multiple of %u", (uint64_t)bytes, EM_BLOCK_UNIT);
}

static em_status check_ids(const em_bid *bid, uint64_t n, size_t bytes, em_errinfo *err)
{
	if (bid == NULL && n != 0)
		return emi_fail(err, EM_ERR_INVAL, "bid is NULL");
	return check_size(bytes, err);
}

static em_status alloc_ids(emi_disk *set, em_bid *bid, uint64_t n, size_t bytes, const em_placement *place, uint64_t first, em_errinfo *err)
{
	em_status st = EM_OK;
	uint64_t i;

	for (i = 0; i < n && st == EM_OK; i++)
		st = place != NULL ? emi_block_alloc_on(set, em_placement_disk(place, first + i), bytes, &bid[i], err)
				   : emi_block_alloc(set, bytes, &bid[i], err);
	if (st == EM_OK)
		return EM_OK;
	/* The last of these is the one that failed. */
	for (i--; i-- > 0; )
		emi_block_free(set, bid[i], bytes);
	return st;
}

em_status em_bids_alloc(em_disks *d, em_bid *bid, uint64_t n, size_t bytes, const em_placement *place, uint64_t first)
{
	em_errinfo err;
	em_status st;
	uint64_t i;

	if (d == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = check_ids(bid, n, bytes, &err);
	if (st == EM_OK && place != NULL && place->disks != em_disks_count(d))
		st = emi_fail(&err, EM_ERR_INVAL, "a placement on %" PRIu32 " disks: there are %" PRIu32, place->disks, em_disks_count(d));
	if (st == EM_OK)
		st = alloc_ids(d->share.set, bid, n, bytes, place, first, &err);
	for (i = 0; st != EM_OK && bid != NULL && i < n; i++)
		bid[i] = em_bid_none();
	return emi_share_told(&d->share, st, &err);
}

em_status em_bids_free(em_disks *d, const em_bid *bid, uint64_t n, size_t bytes)
{
	em_errinfo err;
	em_status st;
	uint64_t i;

	if (d == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = check_ids(bid, n, bytes, &err);
	for (i = 0; st == EM_OK && i < n; i++)
		if (!em_bid_is_none(bid[i]) && emi_share_check(&d->share, bid[i], &err) == EM_OK)
			emi_block_free(d->share.set, bid[i], bytes);
	return emi_share_told(&d->share, err.status, &err);
}

/* The file of a block, or NULL with the detail kept. */
static em_file *file_of(em_disks *d, em_bid bid, const void *buf, size_t bytes)
{
	em_errinfo err;
	em_status st;

	memset(&err, 0, sizeof err);
	st = buf == NULL || bytes == 0 ? emi_fail(&err, EM_ERR_INVAL, "%s", buf == NULL ? "buf is NULL" : "a block of 0 bytes")
				       : emi_share_check(&d->share, bid, &err);
	if (st == EM_OK)
		return emi_disk_file(d->share.set, bid.disk);
	emi_share_told(&d->share, st, &err);
	return NULL;
}

em_status em_block_read(em_disks *d, em_bid bid, void *buf, size_t bytes, em_request_fn fn, void *user, em_request **out)
{
	em_file *f = d != NULL ? file_of(d, bid, buf, bytes) : NULL;

	/* Without a file: EM_ERR_INVAL. */
	return em_file_read_async(f, buf, bytes, bid.offset, fn, user, out);
}

em_status em_block_write(em_disks *d, em_bid bid, const void *buf, size_t bytes, em_request_fn fn, void *user, em_request **out)
{
	em_file *f = d != NULL ? file_of(d, bid, buf, bytes) : NULL;

	return em_file_write_async(f, buf, bytes, bid.offset, fn, user, out);
}

em_status em_block_alloc(void **out, em_ctx *ctx, uint64_t n, size_t bytes, em_errinfo *err)
{
	em_errinfo own;
	em_status st;

	memset(&own, 0, sizeof own);
	if (out != NULL)
		*out = NULL;
	if (out == NULL || ctx == NULL || n == 0)
		st = emi_fail(&own, EM_ERR_INVAL, "%s", out == NULL ? "out is NULL" : ctx == NULL ? "ctx is NULL" : "no blocks");
	else
		st = check_size(bytes, &own);
	if (st == EM_OK) {
		*out = emi_buffer_alloc_array(ctx, n, bytes, &own);
		st = own.status;
	}
	if (st == EM_OK)
		emi_ctx_ref(ctx);
	else if (err != NULL)
		*err = own;
	return st;
}

void em_block_free(em_ctx *ctx, void *blocks, uint64_t n, size_t bytes)
{
	if (ctx == NULL || blocks == NULL)
		return;
	emi_buffer_free_array(ctx, blocks, n, bytes);
	emi_ctx_unref(ctx);
}
