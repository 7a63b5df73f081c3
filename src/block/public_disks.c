/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_disks.c -- disks, ids and transfers of blocks as callers outside know them: arguments are checked, and the detail of failures is kept.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "block/share.h"

static em_status open_disks(em_disks **out, em_ctx *ctx, const em_disks_opts *o, em_errinfo *err)
{
	em_status st;
	em_disks *d;

	if (o->flags & ~EM_DISKS_ABANDON)
		return emi_fail(err, EM_ERR_INVAL, "flags 0x%x are not known", (unsigned)o->flags);
	d = emi_object_new(ctx, sizeof *d, EMI_OBJECT_SHARED, NULL, err);
	if (d == NULL)
		return err->status;
	st = emi_scratch_acquire(ctx, &d->share.set, err);
	if (st != EM_OK) {
		emi_object_free(d, sizeof *d);
		return st;
	}
	if (o->flags & EM_DISKS_ABANDON)
		emi_disk_abandon(d->share.set);
	d->share.disks = d;
	d->users = 1;
	*out = d;
	return EM_OK;
}

em_status em_disks_open(em_disks **out, em_ctx *ctx, const em_disks_opts *opts)
{
	em_disks_opts o;
	em_errinfo err;
	em_status st;

	emi_errinfo_clear(&err);
	if (out != NULL)
		*out = NULL;
	st = emi_given(out, "out", &err);
	if (st == EM_OK)
		st = emi_given(ctx, "ctx", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_disks_opts, &o, opts, &err);
	if (st == EM_OK)
		st = open_disks(out, ctx, &o, &err);
	return emi_tell(EMI_ERRINFO_OF(em_disks_opts, opts), st, &err);
}

void em_disks_close(em_disks *d)
{
	if (d == NULL || __atomic_sub_fetch(&d->users, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	emi_scratch_release(d->share.object.ctx, d->share.set);
	emi_object_free(d, sizeof *d);
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
	return i < em_disks_count(d) ? emi_scratch_path(d->share.object.ctx, i) : "";
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
	return EMI_STRUCT_GIVE(em_disks_stats, stats, &s);
}

void em_disks_expect(em_disks *d, uint64_t bytes)
{
	if (d != NULL && !emi_ctx_forked(d->share.object.ctx))
		emi_disk_expect(d->share.set, bytes);
}

void em_disks_error(const em_disks *d, em_errinfo *err)
{
	emi_object_error(d, err);
}

static em_status check_size(size_t bytes, em_errinfo *err)
{
	if (bytes != 0 && bytes % EM_BLOCK_UNIT == 0)
		return EM_OK;
	return emi_fail(err, EM_ERR_INVAL, "a block of %" PRIu64 " bytes: it must be a multiple of %u", (uint64_t)bytes, EM_BLOCK_UNIT);
}

static em_status check_ids(const em_bid *bid, size_t n, size_t bytes, em_errinfo *err)
{
	const em_status st = n != 0 ? emi_given(bid, "bid", err) : EM_OK;

	return st == EM_OK ? check_size(bytes, err) : st;
}

/* What was or was not allocated. */
static em_status allocated(em_disks *d, em_bid *bid, size_t n, em_status st, const em_errinfo *err)
{
	size_t i;

	for (i = 0; st != EM_OK && bid != NULL && i < n; i++)
		bid[i] = em_bid_none();
	return d != NULL ? emi_leave(d, st, err) : st;
}

em_status em_bids_alloc(em_disks *d, em_bid *bid, size_t n, size_t bytes, const em_placement *place, uint64_t first)
{
	em_errinfo err;
	em_status st = emi_enter(d, &err);

	if (st == EM_OK)
		st = check_ids(bid, n, bytes, &err);
	if (st == EM_OK && place != NULL && place->disks != em_disks_count(d))
		st = emi_fail(&err, EM_ERR_INVAL, "a placement on %" PRIu32 " disks: there are %" PRIu32, place->disks,
			      em_disks_count(d));
	if (st == EM_OK)
		st = emi_bids_alloc(d->share.set, place, first, bytes, bid, n, &err);
	return allocated(d, bid, n, st, &err);
}

em_status em_bids_alloc_row(em_disks *d, em_bid *bid, size_t n, size_t bytes, uint32_t disk)
{
	em_errinfo err;
	em_status st = emi_enter(d, &err);

	if (st == EM_OK)
		st = check_ids(bid, n, bytes, &err);
	if (st == EM_OK && disk >= em_disks_count(d))
		st = emi_fail(&err, EM_ERR_INVAL, "there is no disk %" PRIu32 ": there are %" PRIu32, disk,
			      em_disks_count(d));
	if (st == EM_OK)
		st = emi_bids_alloc_row(d->share.set, disk, bytes, bid, n, &err);
	return allocated(d, bid, n, st, &err);
}

em_status em_bids_free(em_disks *d, const em_bid *bid, size_t n, size_t bytes)
{
	em_errinfo err;
	em_status st = emi_enter(d, &err);
	size_t i;

	if (st != EM_OK)
		return st;
	st = check_ids(bid, n, bytes, &err);
	for (i = 0; st == EM_OK && i < n; i++)
		if (!em_bid_is_none(bid[i]) && emi_share_check(&d->share, bid[i], &err) == EM_OK)
			(void)emi_bids_free(d->share.set, &bid[i], 1, bytes, &err);
	return emi_leave(d, err.status, &err);
}

/* The file of a block that may be transferred. */
static em_status admit(em_disks *d, emi_request_kind kind, em_bid bid, const void *buf, size_t bytes, em_file **file,
		       em_errinfo *err)
{
	em_status st = emi_given(buf, "buf", err);
	const char *why;

	if (st == EM_OK && bytes == 0)
		st = emi_fail(err, EM_ERR_INVAL, "a block of 0 bytes");
	if (st == EM_OK)
		st = emi_share_check(&d->share, bid, err);
	if (st != EM_OK)
		return st;
	st = emi_block_admit(d->share.set, kind, bid, bytes, file, &why);
	if (st != EM_OK)
		emi_fail_refused(err, st, why, kind == EMI_READ ? "read" : "write", emi_file_path(*file), bid.offset,
				 bytes);
	return st;
}

static em_status start(em_disks *d, emi_request_kind kind, em_bid bid, const void *buf, size_t bytes, em_request_fn fn,
		       void *user, em_request **out)
{
	emi_request_calls calls;
	em_file *file;
	em_errinfo err;
	em_status st = emi_enter(d, &err);

	if (out != NULL)
		*out = NULL;
	if (st != EM_OK)
		return st;
	st = admit(d, kind, bid, buf, bytes, &file, &err);
	if (st == EM_OK) {
		calls = emi_block_calls(d->share.set);
		st = emi_submit_public(file, kind, buf, bytes, bid.offset, &calls, fn, user, out, &err);
	}
	return emi_leave(d, st, &err);
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

	emi_errinfo_clear(&own);
	if (out != NULL)
		*out = NULL;
	st = emi_given(out, "out", &own);
	if (st == EM_OK)
		st = emi_given(ctx, "ctx", &own);
	if (st == EM_OK && n == 0)
		st = emi_fail(&own, EM_ERR_INVAL, "no blocks");
	if (st == EM_OK)
		st = check_size(bytes, &own);
	if (st == EM_OK) {
		*out = emi_buffer_alloc_array(ctx, n, bytes, &own);
		st = own.status;
	}
	if (st == EM_OK)
		emi_ctx_ref(ctx);
	return emi_tell(err, st, &own);
}

void em_buffer_free(em_ctx *ctx, void *blocks, uint64_t n, size_t bytes)
{
	if (ctx == NULL || blocks == NULL)
		return;
	emi_buffer_free_array(ctx, blocks, n, bytes);
	emi_ctx_unref(ctx);
}
