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
 *
 * Gaps that are too small for any block are no use: when they add up, some go back to the file system.  And who is going to
 * free blocks and allocate none has all space given back (emi_disk_give_back()).  It goes in batches: a file system makes
 * holes only while it lets nobody read, so for each batch the disk falls idle for a moment, and what that costs
 * depends on how many batches there are and not on how much is in one.  Gaps of a batch are cut out of the space before
 * their holes are made, so no block can get there meanwhile, nor later: it is new space that would have to be reserved.
 *
 * A limit of the context's is one on what the file system has set aside.  When it is reached, all gaps are given back
 * before a block is refused.
 */
#include <inttypes.h>
#include <pthread.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/disk.h"
#include "block/space.h"

#define BATCH 128
#define PIECE_MOST (((uint64_t)64 << 20) / EMI_UNIT)

struct emi_disk {
	em_ctx *ctx;
	em_file *file;
	pthread_mutex_t lock;
	emi_space space;
	uint64_t peak;          /* most units that were between the first and the last block, what was cut out aside */
	uint64_t reserved;      /* bytes of the file that were set aside ... */
	uint64_t returned;      /* ... and bytes of them that went back */
	uint64_t held_peak;     /* most of their difference */

	uint32_t givers;        /* users that free blocks and allocate none */
	int keeps;              /* space cannot go back */
	uint64_t lag;           /* bytes to be freed before the next batch */
	uint64_t slack;         /* units that gaps may have that nobody fills */
	uint64_t piece;         /* units of the smallest gap that went back last time */
	uint64_t freed;         /* bytes freed since the last batch */
	int more;               /* that had no room for all gaps */
	emi_request rq;         /* the batch on its way: gaps that are cut out */
	size_t gaps;
	emi_extent gap[BATCH];
};

/* Reserve about 3 % of the disk ahead, within these. */
#define STEP_LEAST ((uint64_t)1 << 20)
#define STEP_MOST ((uint64_t)64 << 20)

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
	d->keeps = !emi_file_discards(d->file);
	d->slack = UINT64_MAX / 2;
	d->piece = PIECE_MOST;
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

static uint64_t held(const emi_disk *d)
{
	return d->reserved - d->returned;
}

/* A batch has ended.  What did not go is free as before. */
static void settle(emi_disk *d)
{
	size_t i;

	if (d->gaps == 0)
		return;
	if (emi_wait(&d->rq, NULL) != EM_OK) {
		emi_log(d->ctx, EM_LOG_INFO, "%s: scratch space that is free stays with the file (errno %d)", d->ctx->dir,
			(int)d->rq.sys_errno);
		d->keeps = 1;
	}
	for (i = 0; i < d->gaps; i++) {
		if (i < d->rq.done)
			d->returned += d->gap[i].bytes;
		else
			emi_space_mend(&d->space, d->gap[i].offset / EMI_UNIT, d->gap[i].bytes / EMI_UNIT);
	}
	d->gaps = 0;
}

/* Units that are free and kept. */
static uint64_t kept(const emi_disk *d)
{
	return d->space.high - d->space.used - d->space.cut;
}

/* Put gaps of at least piece units in the batch, until so many units are left. */
static void collect(emi_disk *d, uint64_t piece, uint64_t left)
{
	uint64_t n, unit = 0;

	d->space.cutter = 0;
	while (d->gaps < BATCH && kept(d) > left && (n = emi_space_cut(&d->space, piece, &unit)) != 0) {
		d->gap[d->gaps].offset = unit * EMI_UNIT;
		d->gap[d->gaps].bytes = n * EMI_UNIT;
		d->gaps++;
	}
}

/* Send a batch on its way, about the largest gaps there are, after which so many units are left.  How large those
 * are is known from last time. */
static void start_batch(emi_disk *d, uint64_t left)
{
	if (kept(d) <= left)
		return;
	d->piece = d->piece < PIECE_MOST ? d->piece + d->piece / 3 + 1 : PIECE_MOST;
	collect(d, d->piece, left);
	while (d->gaps < BATCH && kept(d) > left && d->piece > 1) {
		d->piece -= (d->piece + 3) / 4;
		collect(d, d->piece, left);
	}
	d->more = d->gaps == BATCH;
	if (d->gaps != 0)
		emi_discard(d->file, &d->rq, d->gap, d->gaps);
}

/* Give all gaps back, and wait until they are. */
static void give_all(emi_disk *d)
{
	settle(d);
	while (!d->keeps) {
		collect(d, 1, 0);
		if (d->gaps == 0)
			break;
		emi_discard(d->file, &d->rq, d->gap, d->gaps);
		settle(d);
	}
}

/* The disk grows, as no gap is large enough.  If there are too many of that kind, half of what they have goes back. */
static void thin_out(emi_disk *d)
{
	if (d->givers != 0 || d->keeps || kept(d) <= d->slack || !emi_done(&d->rq))
		return;
	settle(d);
	if (d->keeps)
		return;
	start_batch(d, d->slack / 2);
}

/* Give back what is set aside behind the last block. */
static void give_rest(emi_disk *d)
{
	const uint64_t end = d->space.high * EMI_UNIT;
	emi_extent rest;

	settle(d);
	if (d->keeps || d->reserved <= end)
		return;
	rest.offset = end;
	rest.bytes = d->reserved - end;
	emi_discard(d->file, &d->rq, &rest, 1);
	if (emi_wait(&d->rq, NULL) == EM_OK)
		d->reserved = end;
	else
		d->keeps = 1;
}

/* May so many bytes more be set aside?  How many may in *room. */
static em_status allow(emi_disk *d, uint64_t bytes, uint64_t *room, em_errinfo *err)
{
	const uint64_t most = d->ctx->scratch_max;

	*room = UINT64_MAX;
	if (most == 0)
		return EM_OK;
	if (held(d) > most || bytes > most - held(d))
		give_all(d);
	*room = held(d) < most ? most - held(d) : 0;
	return bytes <= *room ? EM_OK : emi_fail_scratch(err, d->ctx->dir, most, held(d) + bytes);
}

/* Set aside at least bytes behind the end of what is in use. */
static em_status reserve(emi_disk *d, uint64_t bytes, em_errinfo *err)
{
	uint64_t end = d->space.high * EMI_UNIT, step = end / 32 / EMI_UNIT * EMI_UNIT, room;
	em_status status;

	if (end + bytes <= d->reserved)
		return EM_OK;
	status = allow(d, end + bytes - d->reserved, &room, err);
	if (status != EM_OK)
		return status;
	if (step < STEP_LEAST)
		step = STEP_LEAST;
	if (step > STEP_MOST)
		step = STEP_MOST;
	if (end + step > d->reserved && end + step - d->reserved > room)
		step = (room + d->reserved - end) / EMI_UNIT * EMI_UNIT;
	if (step < bytes)
		step = bytes;
	for (;;) {
		em_errinfo own = {EM_OK, 0, 0, 0, "", "", ""};

		status = emi_file_set_aside(d->file, d->reserved, end + step - d->reserved, &own);
		if (status == EM_OK) {
			d->reserved = end + step;
			if (emi_done(&d->rq))
				settle(d);
			if (held(d) > d->held_peak)
				d->held_peak = held(d);
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
	thin_out(d);
	status = reserve(d, n * EMI_UNIT, err);
	if (status == EM_OK)
		status = emi_space_extend(&d->space, n, unit, err);
	if (d->space.high - d->space.cut > d->peak)
		d->peak = d->space.high - d->space.cut;
	return status;
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
	disk->freed += bytes;
	/* A batch that is late is waited for: nobody is to get far ahead of it. */
	if (disk->givers != 0 && !disk->keeps && (disk->freed >= disk->lag || disk->more) &&
	    (emi_done(&disk->rq) || disk->freed >= 2 * disk->lag)) {
		disk->freed = 0;
		settle(disk);
		if (!disk->keeps)
			start_batch(disk, disk->slack);
	}
	pthread_mutex_unlock(&disk->lock);
}

void emi_disk_slack(emi_disk *disk, uint64_t bytes)
{
	pthread_mutex_lock(&disk->lock);
	disk->slack = bytes / EMI_UNIT;
	pthread_mutex_unlock(&disk->lock);
}

void emi_disk_give_back(emi_disk *disk, uint64_t lag)
{
	if (emi_ctx_forked(disk->ctx))
		return;
	pthread_mutex_lock(&disk->lock);
	disk->givers++;
	disk->lag = lag;
	disk->piece = PIECE_MOST;
	disk->freed = 0;
	give_rest(disk);
	if (!disk->keeps)
		start_batch(disk, disk->slack);
	pthread_mutex_unlock(&disk->lock);
}

int emi_disk_give_all(emi_disk *disk)
{
	uint64_t before;
	int gave;

	if (emi_ctx_forked(disk->ctx))
		return 0;
	pthread_mutex_lock(&disk->lock);
	before = disk->returned;
	give_all(disk);
	gave = disk->returned != before;
	pthread_mutex_unlock(&disk->lock);
	return gave;
}

void emi_disk_keep(emi_disk *disk)
{
	if (emi_ctx_forked(disk->ctx))
		return;
	pthread_mutex_lock(&disk->lock);
	disk->givers--;
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
	bytes = disk->peak * EMI_UNIT;
	pthread_mutex_unlock(&disk->lock);
	return bytes;
}

uint64_t emi_disk_held(emi_disk *disk)
{
	uint64_t bytes;

	pthread_mutex_lock(&disk->lock);
	if (emi_done(&disk->rq))
		settle(disk);
	bytes = held(disk);
	pthread_mutex_unlock(&disk->lock);
	return bytes;
}

uint64_t emi_disk_held_peak(emi_disk *disk)
{
	uint64_t bytes;

	pthread_mutex_lock(&disk->lock);
	bytes = disk->held_peak;
	pthread_mutex_unlock(&disk->lock);
	return bytes;
}
