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

static em_status open_disks(em_disks **out, em_ctx *ctx, const em_disks_opts *o, em_errinfo *err)
{
	em_disks *d;
	emi_disk *set;

	if (ctx == NULL)
		return emi_fail(err, EM_ERR_INVAL, "ctx is NULL");
	if (o->flags & ~EM_DISKS_ABANDON)
		return emi_fail(err, EM_ERR_INVAL, "flags 0x%x are not known", (unsigned)o->flags);
	if (emi_scratch_acquire(ctx, &set, err) != EM_OK)
		return err->status;
	d = emi_alloc(ctx, sizeof *d, err);
	if (d == NULL) {
		emi_scratch_release(ctx, set);
		return err->status;
	}
	if (o->flags & EM_DISKS_ABANDON)
		emi_disk_abandon(set);
	emi_ctx_ref(ctx);
	d->share.disks = d;
	d->share.ctx = ctx;
	d->share.set = set;
	d->users = 1;
	*out = d;
	return EM_OK;
}

em_status em_disks_open(em_disks **out, em_ctx *ctx, const em_disks_opts *opts)
{
	em_disks_opts o;
	em_errinfo err;
	em_status st;

	if (out == NULL)
		return EM_ERR_INVAL;
	*out = NULL;
	st = emi_share_opts(&o, sizeof o, opts, "em_disks_opts", &err);
	if (st == EM_OK)
		st = open_disks(out, ctx, &o, &err);
	return emi_share_opened(st, o.errinfo, &err);
}

void em_disks_close(em_disks *d)
{
	em_ctx *ctx;

	if (d == NULL || __atomic_sub_fetch(&d->users, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	ctx = d->share.ctx;
	emi_scratch_release(ctx, d->share.set);
	emi_free(ctx, d, sizeof *d);
	emi_ctx_unref(ctx);
}

uint32_t em_disks_count(const em_disks *d)
{
	return d != NULL ? emi_disk_count(d->share.set) : 0;
}

uint32_t em_disks_owner(const em_disks *d)
{
	return d != NULL ? emi_disk_owner(d->share.set) : 0;
}

uint64_t em_disks_block_bytes(const em_disks *d)
{
	return d != NULL ? emi_share_block_bytes(&d->share, 0) : 0;
}

const char *em_disks_path(const em_disks *d, uint32_t i)
{
	return i < em_disks_count(d) ? emi_scratch_path(d->share.ctx, i) : "";
}

em_status em_disks_stats_get(em_disks *d, uint32_t disk, em_disks_stats *stats)
{
	em_disks_stats s = EM_DISKS_STATS_INIT;
	emi_disk_usage usage;

	if (d == NULL || (disk != EM_DISKS_ALL && disk >= em_disks_count(d)))
		return EM_ERR_INVAL;
	if (disk == EM_DISKS_ALL)
		emi_disk_usage_all(d->share.set, &usage);
	else
		emi_disk_usage_of(d->share.set, disk, &usage);
	s.disks = disk == EM_DISKS_ALL ? em_disks_count(d) : 1;
	s.blocks = usage.blocks;
	s.blocks_peak = usage.blocks_peak;
	s.bytes = usage.bytes;
	s.bytes_peak = usage.bytes_peak;
	s.held = usage.held;
	s.held_peak = usage.held_peak;
	return emi_opts_give(stats, &s, sizeof s);
}

void em_disks_expect(em_disks *d, uint64_t bytes)
{
	if (d != NULL && !emi_ctx_forked(d->share.ctx))
		emi_disk_expect(d->share.set, bytes);
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

static em_status check_ids(const em_bid *bid, size_t n, size_t bytes, em_errinfo *err)
{
	if (bid == NULL && n != 0)
		return emi_fail(err, EM_ERR_INVAL, "bid is NULL");
	return check_size(bytes, err);
}

/* What was or was not allocated. */
static em_status allocated(em_disks *d, em_bid *bid, size_t n, em_status st, const em_errinfo *err)
{
	size_t i;

	for (i = 0; st != EM_OK && bid != NULL && i < n; i++)
		bid[i] = em_bid_none();
	return emi_share_told(&d->share, st, err);
}

em_status em_bids_alloc(em_disks *d, em_bid *bid, size_t n, size_t bytes, const em_placement *place, uint64_t first)
{
	em_errinfo err;
	em_status st;

	if (d == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = check_ids(bid, n, bytes, &err);
	if (st == EM_OK && place != NULL && place->disks != em_disks_count(d))
		st = emi_fail(&err, EM_ERR_INVAL, "a placement on %" PRIu32 " disks: there are %" PRIu32, place->disks, em_disks_count(d));
	if (st == EM_OK)
		st = emi_bids_alloc(d->share.set, place, first, bytes, bid, n, &err);
	return allocated(d, bid, n, st, &err);
}

em_status em_bids_alloc_row(em_disks *d, em_bid *bid, size_t n, size_t bytes, uint32_t disk)
{
	em_errinfo err;
	em_status st;

	if (d == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = check_ids(bid, n, bytes, &err);
	if (st == EM_OK && disk >= em_disks_count(d))
		st = emi_fail(&err, EM_ERR_INVAL, "there is no disk %" PRIu32 ": there are %" PRIu32, disk, em_disks_count(d));
	if (st == EM_OK)
		st = emi_bids_alloc_row(d->share.set, disk, bytes, bid, n, &err);
	return allocated(d, bid, n, st, &err);
}

em_status em_bids_free(em_disks *d, const em_bid *bid, size_t n, size_t bytes)
{
	em_errinfo err;
	em_status st;
	size_t i;

	if (d == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = check_ids(bid, n, bytes, &err);
	for (i = 0; st == EM_OK && i < n; i++)
		if (!em_bid_is_none(bid[i]) && emi_share_check(&d->share, bid[i], &err) == EM_OK)
			(void)emi_bids_free(d->share.set, &bid[i], 1, bytes, &err);
	return emi_share_told(&d->share, err.status, &err);
}

/* The file of a block that may be transferred, or NULL with the detail kept. */
static em_status admit(em_disks *d, emi_request_kind kind, em_bid bid, const void *buf, size_t bytes, em_file **file)
{
	em_errinfo err;
	const char *why;
	em_status st;

	if (d == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	if (buf == NULL || bytes == 0)
		st = emi_fail(&err, EM_ERR_INVAL, "%s", buf == NULL ? "buf is NULL" : "a block of 0 bytes");
	else
		st = emi_share_check(&d->share, bid, &err);
	if (st == EM_OK) {
		st = emi_block_admit(d->share.set, kind, bid, bytes, file, &why);
		if (st != EM_OK)
			emi_fail_refused(&err, st, why, kind == EMI_READ ? "read" : "write", emi_file_path(*file), bid.offset, bytes);
	}
	return emi_share_told(&d->share, st, &err);
}

static em_status start(em_disks *d, emi_request_kind kind, em_bid bid, const void *buf, size_t bytes, em_request_fn fn,
		       void *user, em_request **out)
{
	emi_request_calls calls;
	em_file *file;
	const em_status st = admit(d, kind, bid, buf, bytes, &file);

	if (out != NULL)
		*out = NULL;
	if (st != EM_OK)
		return st;
	calls = emi_block_calls(d->share.set);
	return emi_submit_public(file, kind, buf, bytes, bid.offset, &calls, fn, user, out);
}

em_status em_block_read(em_disks *d, em_bid bid, void *buf, size_t bytes, em_request_fn fn, void *user,
			em_request **out)
{
	return start(d, EMI_READ, bid, buf, bytes, fn, user, out);
}

em_status em_block_write(em_disks *d, em_bid bid, const void *buf, size_t bytes, em_request_fn fn, void *user,
			 em_request **out)
{
	return start(d, EMI_WRITE, bid, buf, bytes, fn, user, out);
}

em_status em_buffer_alloc(void **out, em_ctx *ctx, uint64_t n, size_t bytes, em_errinfo *err)
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

void em_buffer_free(em_ctx *ctx, void *blocks, uint64_t n, size_t bytes)
{
	if (ctx == NULL || blocks == NULL)
		return;
	emi_buffer_free_array(ctx, blocks, n, bytes);
	emi_ctx_unref(ctx);
}
