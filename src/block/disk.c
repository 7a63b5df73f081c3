/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk.c -- the scratch disk of a context.
 *
 * One unnamed file in the context's directory.  Space in it is reserved ahead, in steps in proportion to the
 * disk, so that writes stay within the file, where they are fastest, and a full file system is noticed
 * when a block is allocated, not when its write fails.  A step that does not fit is halved until it does or
 * not even the block fits.
 *
 * A block is looked for among freed ones first (space.c).  The lock guards space and reservation; transfers
 * go straight to the file.
 */
#include <inttypes.h>
#include <pthread.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/disk.h"
#include "block/space.h"

struct emi_disk {
	em_ctx *ctx;
	em_file *file;
	pthread_mutex_t lock;
	emi_space space;
	uint64_t reserved;      /* bytes of the file that are set aside */
};

/* Reserve about 3 % of the disk ahead, within these. */
#define STEP_LEAST ((uint64_t)4 << 20)
#define STEP_MOST ((uint64_t)256 << 20)

static em_status disk_open(emi_disk **out, em_ctx *ctx, em_errinfo *err)
{
	emi_disk *d = emi_alloc(ctx, sizeof *d, err);
	em_status status;

	if (!d)
		return err->status;
	d->ctx = ctx;
	status = emi_file_open(&d->file, ctx, ctx->dir, EMI_OPEN_TEMP, err);
	if (status != EM_OK) {
		emi_free(ctx, d, sizeof *d);
		return status;
	}
	pthread_mutex_init(&d->lock, NULL);
	emi_space_init(&d->space, ctx);
	*out = d;
	return EM_OK;
}

static void disk_close(emi_disk *d, int forked)
{
	emi_file_close(d->file);
	emi_space_free(&d->space);
	if (!forked)
		pthread_mutex_destroy(&d->lock);
	emi_free(d->ctx, d, sizeof *d);
}

em_status emi_scratch_acquire(em_ctx *ctx, emi_disk **out, em_errinfo *err)
{
	em_errinfo own = {EM_OK, 0, 0, 0, "", "", ""};
	em_status status = emi_ctx_check(ctx, err);

	*out = NULL;
	if (status != EM_OK)
		return status;
	pthread_mutex_lock(&ctx->lock);
	if (!ctx->scratch)
		status = disk_open(&ctx->scratch, ctx, &own);
	if (status == EM_OK) {
		ctx->scratch_users++;
		*out = ctx->scratch;
	}
	pthread_mutex_unlock(&ctx->lock);
	if (status != EM_OK && err && err->status >= EM_OK)
		*err = own;
	return status;
}

void emi_scratch_release(em_ctx *ctx, emi_disk *disk)
{
	int forked = emi_ctx_forked(ctx), last;

	if (!disk)
		return;
	/* In a child the lock may be held by a thread that is no more; there are no others to fear. */
	if (!forked)
		pthread_mutex_lock(&ctx->lock);
	last = --ctx->scratch_users == 0;
	if (last)
		ctx->scratch = NULL;
	if (!forked)
		pthread_mutex_unlock(&ctx->lock);
	if (last)
		disk_close(disk, forked);
}

uint64_t emi_scratch_memory(const em_ctx *ctx, uint64_t bytes)
{
	return sizeof(emi_disk) + emi_file_memory(ctx) + emi_space_memory(bytes / EMI_UNIT + 1);
}

/* Set aside at least bytes behind the end of what is in use. */
static em_status reserve(emi_disk *d, uint64_t bytes, em_errinfo *err)
{
	uint64_t end = d->space.high * EMI_UNIT, step = end / 32 / EMI_UNIT * EMI_UNIT;
	em_status status;

	if (end + bytes <= d->reserved)
		return EM_OK;
	if (step < STEP_LEAST)
		step = STEP_LEAST;
	if (step > STEP_MOST)
		step = STEP_MOST;
	if (step < bytes)
		step = bytes;
	for (;;) {
		em_errinfo own = {EM_OK, 0, 0, 0, "", "", ""};

		status = emi_file_reserve(d->file, d->reserved, end + step - d->reserved, &own);
		if (status == EM_OK) {
			d->reserved = end + step;
			return EM_OK;
		}
		if (status != EM_ERR_NOSPACE || step == bytes) {
			*err = own;
			return status;
		}
		step = step / 2 / EMI_UNIT * EMI_UNIT;
		if (end + step <= d->reserved || step < bytes)
			step = bytes;
	}
}

static em_status alloc_units(emi_disk *d, uint64_t n, uint64_t *unit, em_errinfo *err)
{
	em_status status;

	if (emi_space_reuse(&d->space, n, unit))
		return EM_OK;
	if (d->space.high > (INT64_MAX / EMI_UNIT) - n)
		return emi_fail(err, EM_ERR_NOSPACE, "the scratch disk is as large as a file can be");
	status = reserve(d, n * EMI_UNIT, err);
	return status == EM_OK ? emi_space_extend(&d->space, n, unit, err) : status;
}

em_status emi_block_alloc(emi_disk *disk, size_t bytes, emi_bid *bid, em_errinfo *err)
{
	em_errinfo own = {EM_OK, 0, 0, 0, "", "", ""};
	em_status status = emi_ctx_check(disk->ctx, err);
	uint64_t unit = 0;

	bid->disk = 0;
	bid->reserved = 0;
	bid->offset = 0;
	if (status != EM_OK)
		return status;
	if (bytes == 0 || bytes % EMI_UNIT != 0)
		return emi_fail(err, EM_ERR_INVAL, "a block of %" PRIu64 " bytes: it must be a multiple of %u",
				(uint64_t)bytes, EMI_UNIT);
	pthread_mutex_lock(&disk->lock);
	status = alloc_units(disk, bytes / EMI_UNIT, &unit, &own);
	pthread_mutex_unlock(&disk->lock);
	if (status == EM_OK)
		bid->offset = unit * EMI_UNIT;
	else if (err && err->status >= EM_OK)
		*err = own;
	return status;
}

void emi_block_free(emi_disk *disk, emi_bid bid, size_t bytes)
{
	/* In a child nobody will ask for space, and the lock may be held for ever. */
	if (emi_ctx_forked(disk->ctx))
		return;
	pthread_mutex_lock(&disk->lock);
	emi_space_drop(&disk->space, bid.offset / EMI_UNIT, bytes / EMI_UNIT);
	pthread_mutex_unlock(&disk->lock);
}

void emi_block_read(emi_disk *disk, emi_request *rq, void *buf, size_t bytes, emi_bid bid, emi_io_stats *stats)
{
	emi_read(disk->file, rq, buf, bytes, bid.offset, stats);
}

void emi_block_write(emi_disk *disk, emi_request *rq, const void *buf, size_t bytes, emi_bid bid, emi_io_stats *stats)
{
	emi_write(disk->file, rq, buf, bytes, bid.offset, stats);
}

uint64_t emi_disk_used(emi_disk *disk)
{
	uint64_t bytes;

	pthread_mutex_lock(&disk->lock);
	bytes = disk->space.used * EMI_UNIT;
	pthread_mutex_unlock(&disk->lock);
	return bytes;
}

uint64_t emi_disk_peak(emi_disk *disk)
{
	uint64_t bytes;

	pthread_mutex_lock(&disk->lock);
	bytes = disk->space.high * EMI_UNIT;
	pthread_mutex_unlock(&disk->lock);
	return bytes;
}
