/* SPDX-License-Identifier: BSL-1.0 */
/*
 * store.c -- see store.h: what all kinds of stores have in common.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/store_kind.h"

emi_store *emi_store_new(em_ctx *ctx, const emi_store_kind *kind, em_errinfo *err)
{
	emi_store *s = NULL;

	if (emi_ctx_check(ctx, err) == EM_OK)
		s = emi_alloc(ctx, sizeof *s, err);
	if (s == NULL)
		return NULL;
	emi_ctx_ref(ctx);
	s->kind = kind;
	s->ctx = ctx;
	s->users = 1;
	s->length = UINT64_MAX;
	return s;
}

uint64_t emi_store_memory(void)
{
	return sizeof(emi_store);
}

emi_store *emi_store_hold(emi_store *s)
{
	s->users++;
	return s;
}

void emi_store_close(emi_store *s)
{
	em_ctx *ctx;

	if (s == NULL || --s->users != 0)
		return;
	ctx = s->ctx;
	if (s->kind->close != NULL)
		s->kind->close(s);
	if (s->owns)
		emi_scratch_release(ctx, s->disk);
	emi_free(ctx, s, sizeof *s);
	emi_ctx_unref(ctx);
}

em_status emi_store_acquire(emi_store *s, em_errinfo *err)
{
	em_status st;

	if (s->disk != NULL)
		return EM_OK;
	st = emi_scratch_acquire(s->ctx, &s->disk, err);
	if (st != EM_OK)
		return st;
	emi_disk_abandon(s->disk);
	st = emi_disk_account(s->disk, err);
	if (st == EM_OK) {
		s->owns = 1;
		return EM_OK;
	}
	emi_scratch_release(s->ctx, s->disk);
	s->disk = NULL;
	return st;
}

void emi_store_watch(emi_store *s, const int *canceled)
{
	s->canceled = canceled;
}

int emi_store_canceled(const emi_store *s)
{
	return s->canceled != NULL && __atomic_load_n(s->canceled, __ATOMIC_RELAXED);
}

em_status emi_store_check_work(const emi_store *s, em_errinfo *err)
{
	const em_status st = emi_ctx_check(s->ctx, err);

	return st == EM_OK && emi_store_canceled(s) ? emi_fail(err, EM_ERR_CANCELED, "canceled: it was") : st;
}

static int gather(emi_store *s, int on)
{
	if (emi_ctx_forked(s->ctx) || (s->file == NULL && s->disk == NULL))
		return 0;
	if (s->file != NULL)
		emi_file_gather(s->file, on);
	else
		emi_disk_gather(s->disk, on);
	return 1;
}

int emi_store_gather(emi_store *s)
{
	return gather(s, 1);
}

void emi_store_gathered(emi_store *s)
{
	(void)gather(s, 0);
}

emi_disk *emi_store_disk(const emi_store *s)
{
	return s->disk;
}

int emi_store_read_only(const emi_store *s)
{
	return s->read_only;
}

uint32_t emi_store_disks(const emi_store *s)
{
	return s->kind->alloc != NULL ? emi_scratch_disks(s->ctx) : 1;
}

uint64_t emi_store_length(const emi_store *s)
{
	return s->length;
}

size_t emi_store_step(const emi_store *s, size_t block_bytes)
{
	return s->kind->alloc != NULL ? EMI_PAGE : block_bytes;
}

/* What messages call it. */
static const char *name_of(const emi_store *s)
{
	return s->file != NULL ? emi_file_path(s->file) : "scratch";
}

em_status emi_store_check(const emi_store *s, emi_request_kind kind, em_bid bid, size_t bytes, em_errinfo *err)
{
	if (bid.disk >= emi_store_disks(s))
		return emi_fail(err, EM_ERR_INVAL,
				"there is no block at %" PRIu64 " of disk %" PRIu32 ": there are %" PRIu32 " disks",
				bid.offset, bid.disk, emi_store_disks(s));
	if (kind == EMI_WRITE && s->read_only)
		return emi_fail_refused(err, EM_ERR_INVAL, "it was opened for reading only", "write", name_of(s),
					bid.offset, bytes);
	if (s->kind->alloc != NULL && s->disk == NULL)
		return emi_fail(err, EM_ERR_STATE, "no block is allocated there");
	if (bid.offset >= s->length)
		return emi_fail_refused(err, EM_ERR_RANGE, "it ends before", kind == EMI_WRITE ? "write" : "read",
					name_of(s), bid.offset, bytes);
	return EM_OK;
}

em_status emi_store_check_block(const emi_store *s, emi_request_kind kind, em_bid bid, size_t bytes, em_errinfo *err)
{
	if (bid.offset % emi_store_step(s, bytes) != 0 || (s->array.block_bytes != 0 && s->array.block_bytes != bytes))
		return emi_fail(err, EM_ERR_INVAL, "there is no block of %" PRIu64 " bytes at %" PRIu64,
				(uint64_t)bytes, bid.offset);
	return emi_store_check(s, kind, bid, bytes, err);
}

static em_status check_resize(const emi_store *s, uint64_t bytes, em_errinfo *err)
{
	const int gives_back = bytes < s->length && !emi_ctx_forked(s->ctx);
	const em_status st = gives_back ? EM_OK : emi_store_check_work(s, err);

	if (st != EM_OK)
		return st;
	if (s->kind->resize == NULL)
		return emi_fail(err, EM_ERR_NOTSUP, "scratch disks have no length");
	if (s->read_only)
		return emi_fail_refused(err, EM_ERR_INVAL, "it was opened for reading only", "resize", name_of(s),
					bytes, 0);
	return EM_OK;
}

em_status emi_store_trim(emi_store *s, uint64_t bytes, em_errinfo *err)
{
	const em_bid end = {0, 0, bytes < s->length ? bytes : s->length};
	em_status st = check_resize(s, bytes, err);

	if (st == EM_OK)
		st = s->kind->resize(s, bytes, err);
	if (st != EM_OK)
		return st;
	s->length = bytes;
	/* What was in memory behind the old end must not appear when there is more. */
	emi_store_cut(s, end);
	if (s->kind->resized != NULL)
		s->kind->resized(s);
	return EM_OK;
}

em_status emi_store_resize(emi_store *s, uint64_t bytes, em_errinfo *err)
{
	const emi_span off = {{0, 0, bytes}, UINT64_MAX};
	const em_status st = check_resize(s, bytes, err);

	if (st == EM_OK && bytes < s->length && emi_store_pins(s, &off))
		return emi_fail(err, EM_ERR_STATE, "%s: a block behind byte %" PRIu64 " is pinned", name_of(s), bytes);
	return st == EM_OK ? emi_store_trim(s, bytes, err) : st;
}

em_status emi_store_alloc(emi_store *s, const em_placement *place, uint64_t first, size_t bytes, em_bid *bid, size_t n,
			  em_errinfo *err)
{
	if (s->kind->alloc == NULL)
		return emi_fail(err, EM_ERR_NOTSUP, "%s: its length says which blocks there are", name_of(s));
	return s->kind->alloc(s, place, first, bytes, bid, n, err);
}

em_status emi_store_free(emi_store *s, const emi_holder *me, em_bid bid, size_t bytes, em_errinfo *err)
{
	const emi_span span = {bid, bytes};
	const em_status st = emi_store_forget(s, me, &span, err);

	return st == EM_OK && s->kind->free != NULL ? s->kind->free(s, bid, bytes, err) : st;
}

int emi_store_zero(emi_request *rq, void *buf, size_t bytes)
{
	memset(buf, 0, bytes);
	memset(rq, 0, sizeof *rq);
	return 0;
}

/* There is no transfer, and the request is idle. */
static void fail(emi_request *rq, em_status st)
{
	memset(rq, 0, sizeof *rq);
	rq->status = st;
}

/* A read that is not made, as it would be if it had been begun and then canceled.  0: there are no disks yet. */
static int cancel_read(emi_store *s, emi_request *rq, void *buf, size_t bytes, em_bid bid)
{
	const char *why;
	em_file *file = s->file;

	if (file == NULL && s->disk == NULL)
		return 0;
	if (file == NULL)
		(void)emi_block_admit(s->disk, EMI_READ, bid, bytes, &file, &why);
	emi_refuse(file, rq, EMI_READ, buf, bytes, bid.offset, EM_ERR_CANCELED, "canceled: it was");
	return 1;
}

int emi_store_read(emi_store *s, emi_request *rq, void *buf, size_t bytes, em_bid bid, emi_io_stats *io)
{
	if (emi_store_canceled(s) && cancel_read(s, rq, buf, bytes, bid))
		return 1;
	return s->kind->read(s, rq, buf, bytes, bid, io);
}

void emi_store_read_written(emi_store *s, emi_request *rq, void *buf, size_t bytes, em_bid bid, emi_io_stats *io)
{
	if (s->kind->alloc != NULL && !emi_store_canceled(s))
		emi_block_read(s->disk, rq, buf, bytes, bid, io);
	else
		(void)emi_store_read(s, rq, buf, bytes, bid, io);
}

em_status emi_store_write(emi_store *s, emi_request *rq, const void *buf, size_t bytes, em_bid bid, emi_io_stats *io,
			  em_errinfo *err)
{
	const em_status st = emi_store_canceled(s) ? emi_fail(err, EM_ERR_CANCELED, "canceled: it was")
						   : s->kind->write(s, rq, buf, bytes, bid, io, err);

	if (st != EM_OK)
		fail(rq, st);
	return st;
}

em_status emi_store_write_run(emi_store *s, emi_request *rq, const void *buf, size_t block_bytes, em_bid bid,
			      uint32_t *n, emi_io_stats *io, em_errinfo *err)
{
	const em_status st = s->kind->side_by_side != NULL ? s->kind->side_by_side(s, bid, n, err) : EM_OK;

	if (st != EM_OK) {
		fail(rq, st);
		return st;
	}
	return emi_store_write(s, rq, buf, *n * block_bytes, bid, io, err);
}

em_status emi_store_fetch(emi_store *s, void *buf, size_t bytes, em_bid bid, emi_io_stats *io, em_errinfo *err)
{
	const emi_span span = {bid, bytes};
	emi_request rq;
	em_status st = emi_store_check(s, EMI_READ, bid, bytes, err);

	if (st != EM_OK)
		return st;
	(void)emi_store_read(s, &rq, buf, bytes, bid, io);
	st = emi_wait(&rq, err);
	if (st == EM_OK)
		emi_store_overlay(s, NULL, &span, buf);
	return st;
}

em_status emi_store_sync(emi_store *s, em_errinfo *err)
{
	return s->file != NULL ? emi_file_sync(s->file, err) : EM_OK;
}
