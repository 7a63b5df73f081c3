/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_disks.c -- disks, ids and transfers of blocks as callers outside know them: arguments are checked, and the
 * detail of failures is kept.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "block/share.h"

#define KNOWN (EM_DISKS_ABANDON | EM_DISKS_COHERENT | EM_DISKS_READ_ONLY | EM_DISKS_CREATE)

static em_status check_opts(const em_disks_opts *o, em_errinfo *err)
{
	if (o->flags & ~KNOWN)
		return emi_fail(err, EM_ERR_INVAL, "flags 0x%x are not known", (unsigned)o->flags);
	if (o->path == NULL && (o->flags & (EM_DISKS_READ_ONLY | EM_DISKS_CREATE)) != 0)
		return emi_fail(err, EM_ERR_INVAL, "flags 0x%x are for a file, and there is no path",
				(unsigned)o->flags);
	if ((o->flags & EM_DISKS_READ_ONLY) != 0 && (o->flags & EM_DISKS_CREATE) != 0)
		return emi_fail(err, EM_ERR_INVAL, "a file cannot be made for reading only");
	return EM_OK;
}

static void free_disks(em_disks *d)
{
	emi_store_close(d->share.store);
	emi_file_close(d->file);
	if (d->share.set != NULL)
		emi_scratch_release(d->share.object.ctx, d->share.set);
	emi_object_free(d, sizeof *d);
}

static em_status open_file(em_disks *d, const em_disks_opts *o, em_errinfo *err)
{
	const unsigned how = EMI_OPEN_READ | ((o->flags & EM_DISKS_READ_ONLY) != 0 ? 0 : EMI_OPEN_WRITE);
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st;

	if (!emi_file_has_places(o->path))
		return emi_fail_record(err, EM_ERR_NOTSUP, o->path, 0, 0, "%s: no file that can be read at any place",
				       o->path);
	st = emi_file_open(&d->file, d->share.object.ctx, o->path, how, &own);
	if (st == EM_ERR_NOENT && (o->flags & EM_DISKS_CREATE) != 0) {
		own.status = EM_OK;
		st = emi_file_open(&d->file, d->share.object.ctx, o->path, how | EMI_OPEN_CREATE | EMI_OPEN_SHARED,
				   &own);
	}
	if (st == EM_OK)
		st = emi_store_open_file(&d->share.store, d->file, &own);
	if (st != EM_OK && err->status >= EM_OK)
		*err = own;
	d->share.n = 1;
	return st;
}

static em_status open_scratch(em_disks *d, const em_disks_opts *o, em_errinfo *err)
{
	const em_status st = emi_scratch_acquire(d->share.object.ctx, &d->share.set, err);

	if (st != EM_OK)
		return st;
	d->share.n = emi_disk_count(d->share.set);
	if (o->flags & EM_DISKS_ABANDON)
		emi_disk_abandon(d->share.set);
	if ((o->flags & EM_DISKS_COHERENT) == 0)
		return EM_OK;
	return emi_store_open_disks(&d->share.store, d->share.object.ctx, d->share.set, err);
}

static em_status open_disks(em_disks **out, em_ctx *ctx, const em_disks_opts *o, em_errinfo *err)
{
	const uint32_t flags = o->path != NULL || (o->flags & EM_DISKS_COHERENT) != 0 ? 0 : EMI_OBJECT_SHARED;
	em_status st = check_opts(o, err);
	em_disks *d;

	if (st != EM_OK)
		return st;
	d = emi_object_new(ctx, sizeof *d, flags, NULL, err);
	if (d == NULL)
		return err->status;
	d->share.disks = d;
	d->users = 1;
	st = o->path != NULL ? open_file(d, o, err) : open_scratch(d, o, err);
	if (st != EM_OK)
		free_disks(d);
	else
		*out = d;
	return st;
}

em_status em_disks_open(em_disks **out, em_ctx *ctx, const em_disks_opts *opts)
{
	em_disks_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, ctx, "ctx", &err);
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
	free_disks(d);
}

uint32_t em_disks_count(const em_disks *d)
{
	return d != NULL ? d->share.n : 0;
}

uint32_t em_disks_owner(const em_disks *d)
{
	return d != NULL && d->share.set != NULL ? emi_disk_owner(d->share.set) : 0;
}

uint64_t em_disks_block_bytes(const em_disks *d)
{
	return d != NULL ? emi_share_block_bytes(&d->share, 0) : 0;
}

const char *em_disks_path(const em_disks *d, uint32_t i)
{
	if (i >= em_disks_count(d))
		return "";
	return d->file != NULL ? emi_file_path(d->file) : emi_scratch_path(d->share.object.ctx, i);
}

em_status em_disks_stats_get(em_disks *d, uint32_t disk, em_disks_stats *stats)
{
	em_disks_stats s = EM_DISKS_STATS_INIT;
	emi_disk_usage usage;

	if (d == NULL || (disk != EM_DISKS_ALL && disk >= em_disks_count(d)))
		return EM_ERR_INVAL;
	if (d->share.set == NULL)
		return EM_ERR_NOTSUP;
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
	if (d != NULL && d->share.set != NULL && !emi_ctx_forked(d->share.object.ctx))
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
	return emi_fail(err, EM_ERR_INVAL, "a block of %" PRIu64 " bytes: it must be a multiple of %u", (uint64_t)bytes,
			EM_BLOCK_UNIT);
}

static em_status check_ids(const em_bid *bid, size_t n, size_t bytes, em_errinfo *err)
{
	const em_status st = n != 0 ? emi_given(bid, "bid", err) : EM_OK;

	return st == EM_OK ? check_size(bytes, err) : st;
}

/* Of a file the length says which blocks there are. */
static em_status check_scratch(const em_disks *d, em_errinfo *err)
{
	if (d->share.set != NULL)
		return EM_OK;
	return emi_fail(err, EM_ERR_NOTSUP, "%s is a file: there is no such call for its blocks",
			emi_file_path(d->file));
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
	if (st == EM_OK)
		st = check_scratch(d, &err);
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
	if (st == EM_OK)
		st = check_scratch(d, &err);
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
	em_status st = emi_enter_back(d, &err);

	if (st != EM_OK)
		return st;
	st = check_ids(bid, n, bytes, &err);
	if (st == EM_OK)
		st = emi_share_free_blocks(&d->share, bid, n, bytes, &err);
	return emi_leave(d, st, &err);
}

/* The file of a block that may be transferred. */
static em_status admit(em_disks *d, emi_request_kind kind, em_bid bid, const void *buf, size_t bytes, em_file **file,
		       em_errinfo *err)
{
	const emi_span span = { bid, bytes };
	em_status st = emi_given(buf, "buf", err);
	const char *why;

	if (st == EM_OK)
		st = check_scratch(d, err);
	if (st == EM_OK && bytes == 0)
		st = emi_fail(err, EM_ERR_INVAL, "a block of 0 bytes");
	if (st == EM_OK)
		st = emi_share_check(&d->share, bid, err);
	if (st == EM_OK && d->share.store != NULL)
		st = kind == EMI_READ ? emi_store_flush(d->share.store, &span, err)
				      : emi_store_forget(d->share.store, NULL, &span, err);
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

uint64_t em_disks_length(const em_disks *d)
{
	return d != NULL && d->file != NULL ? emi_store_length(d->share.store) : 0;
}

em_status em_disks_resize(em_disks *d, uint64_t bytes)
{
	em_errinfo err;
	em_status st = emi_enter(d, &err);

	if (st != EM_OK)
		return st;
	if (d->file == NULL)
		st = emi_fail(&err, EM_ERR_NOTSUP, "scratch disks have no length");
	if (st == EM_OK)
		st = emi_store_resize(d->share.store, bytes, &err);
	return emi_leave(d, st, &err);
}

/* Begin a call that is for those on disks, as a whole or in a span. */
static em_status enter_all(em_disks *d, em_errinfo *err)
{
	const em_status st = emi_enter(d, err);

	if (st != EM_OK || d->share.store != NULL)
		return st;
	return emi_leave(d, emi_fail(err, EM_ERR_NOTSUP, "disks without EM_DISKS_COHERENT do not know what is on them"),
			 err);
}

em_status em_disks_flush(em_disks *d)
{
	emi_span span = { { 0, 0, 0 }, UINT64_MAX };
	em_errinfo err;
	em_status st = enter_all(d, &err), first = EM_OK;

	if (st != EM_OK)
		return st;
	for (; span.at.disk < d->share.n; span.at.disk++) {
		st = emi_store_flush(d->share.store, &span, &err);
		if (first == EM_OK)
			first = st;
	}
	if (first == EM_OK)
		first = emi_store_sync(d->share.store, &err);
	return emi_leave(d, first, &err);
}

em_status em_blocks_flush(em_disks *d, em_bid bid, uint64_t bytes)
{
	const emi_span span = { bid, bytes };
	em_errinfo err;
	em_status st = enter_all(d, &err);

	if (st != EM_OK)
		return st;
	st = emi_share_check(&d->share, bid, &err);
	if (st == EM_OK)
		st = emi_store_flush(d->share.store, &span, &err);
	return emi_leave(d, st, &err);
}

em_status em_blocks_forget(em_disks *d, em_bid bid, uint64_t bytes)
{
	const emi_span span = { bid, bytes };
	em_errinfo err;
	em_status st = enter_all(d, &err);

	if (st != EM_OK)
		return st;
	st = emi_share_check(&d->share, bid, &err);
	if (st == EM_OK)
		st = emi_store_forget(d->share.store, NULL, &span, &err);
	return emi_leave(d, st, &err);
}

em_status em_blocks_fetch(em_disks *d, em_bid bid, void *buf, size_t bytes)
{
	em_errinfo err;
	em_status st = enter_all(d, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(buf, "buf", &err);
	if (st == EM_OK)
		st = check_size(bytes, &err);
	if (st == EM_OK)
		st = emi_store_fetch(d->share.store, buf, bytes, bid, NULL, &err);
	return emi_leave(d, st, &err);
}

em_status em_buffer_alloc(void **out, em_ctx *ctx, uint64_t n, size_t bytes, em_errinfo *err)
{
	em_errinfo own;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, ctx, "ctx", &own);
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
