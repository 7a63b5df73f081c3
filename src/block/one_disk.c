/* SPDX-License-Identifier: BSL-1.0 */
/*
 * one_disk.c -- see one_disk.h.
 *
 * Space in the file is reserved ahead, in steps in proportion to the
 * disk, so that writes stay within the file, where they are fastest, and a full file system is noticed
 * when a block is allocated, not when its write fails.  A step that does not fit is halved until it does or
 * not even the block fits.
 *
 * A block is looked for among freed ones first (space.c).  The lock guards space and reservation; transfers
 * go straight to the file.  Who has it waits for the batch at most, and collects nothing of others meanwhile: who
 * collects a write that had no room finds another place for its block, and needs the locks of disks (block_transfer.c).
 *
 * What is free behind the last block is not needed to keep blocks apart, so it goes back whoever works here; but only
 * when it is much, and a step stays, so that blocks that come and go at the end have none of it.  It goes with a batch
 * like any other, and whoever needs it meanwhile waits for that.
 *
 * Gaps that are too small for any block are no use: when they add up, some go back to the file system.  And who is
 * going to free blocks and allocate none has all space given back (emi_one_disk_give_back()).  It goes in batches: a
 * file system makes holes only while it lets nobody read, so for each batch the disk falls idle for a moment, and what
 * that costs depends on how many batches there are and not on how much is in one.  Gaps of a batch are cut out of the
 * space before their holes are made, so no block can get there meanwhile, nor later: it is new space that would have to
 * be reserved.
 *
 * The disk's capacity and what all disks may take together are limits on what the file system has set aside.  When one
 * is reached, all gaps are given back before a block is refused.
 */
#include <inttypes.h>
#include <pthread.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/disk_file.h"
#include "block/one_disk.h"
#include "block/space.h"

#define BATCH 128
#define PIECE_MOST (((uint64_t)64 << 20) / EMI_UNIT)

struct emi_one_disk {
	em_ctx *ctx;
	emi_disk_file at;
	em_file *file;          /* of that */
	emi_allowance *all;
	pthread_mutex_t lock;
	emi_space space;
	uint64_t peak;          /* most units that were between the first and the last block, what was cut out aside */
	uint64_t blocks;        /* in use */
	uint64_t blocks_peak, used_peak; /* most of them, and most units in use */
	uint64_t held_peak;     /* most bytes that were set aside */
	uint64_t reserved;      /* bytes of the file that were set aside ... */
	uint64_t returned;      /* ... and bytes of them that went back */
	uint64_t leaving;       /* bytes behind those that are going back with the batch, as its last extent */
	uint64_t expected;      /* bytes that somebody said are still to come */
	int ragged;             /* pages were written in part */

	uint32_t givers;        /* users that free blocks and allocate none */
	int keeps;              /* space cannot go back */
	uint64_t lag;           /* bytes to be freed before the next batch */
	uint64_t slack;         /* units that gaps may have that nobody fills */
	uint64_t piece;         /* units of the smallest gap that went back last time */
	uint64_t freed;         /* bytes freed since the last batch */
	int more;               /* that had no room for all gaps */
	emi_request rq;         /* the batch on its way: gaps that are cut out */
	int sent;               /* a batch was put on the file's queue, and nobody was told */
	size_t gaps;
	emi_extent gap[BATCH + 1];
};

/* Reserve about 3 % of the disk ahead, within these; of what is known to come anyway, as much as that. */
#define STEP_LEAST ((uint64_t)1 << 20)
#define STEP_MOST ((uint64_t)64 << 20)
#define STEP_EXPECTED ((uint64_t)256 << 20)

/* What is free behind the last block goes back when it is more than this, and more than an eighth of the file. */
#define REST_LEAST ((uint64_t)64 << 20)

static uint64_t held(const emi_one_disk *d)
{
	return d->reserved + d->leaving - d->returned;
}

static void raise_to(uint64_t *peak, uint64_t now)
{
	uint64_t before = __atomic_load_n(peak, __ATOMIC_RELAXED);

	while (now > before && !__atomic_compare_exchange_n(peak, &before, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		continue;
}

/* So many bytes have gone back to the file system. */
static void give_up(emi_one_disk *d, uint64_t bytes)
{
	__atomic_sub_fetch(&d->all->held, bytes, __ATOMIC_RELAXED);
}

em_status emi_one_disk_open(emi_one_disk **out, em_ctx *ctx, emi_disk_choice *choice, emi_allowance *all,
			    em_errinfo *err)
{
	emi_one_disk *d = emi_alloc(ctx, sizeof *d, err);
	em_status status;

	*out = NULL;
	if (!d)
		return err->status;
	d->ctx = ctx;
	d->all = all;
	status = emi_disk_file_open(&d->at, ctx, choice, err);
	if (status != EM_OK) {
		emi_free(ctx, d, sizeof *d);
		return status;
	}
	d->file = d->at.file;
	d->keeps = d->at.fixed || !emi_file_discards(d->file);
	d->slack = UINT64_MAX / 2;
	d->piece = PIECE_MOST;
	pthread_mutex_init(&d->lock, NULL);
	emi_space_init(&d->space, ctx);
	*out = d;
	return EM_OK;
}

void emi_one_disk_close(emi_one_disk *d, int forked)
{
	give_up(d, held(d));
	emi_disk_file_close(&d->at, forked);
	emi_space_free(&d->space);
	if (!forked)
		pthread_mutex_destroy(&d->lock);
	emi_free(d->ctx, d, sizeof *d);
}

uint64_t emi_one_disk_memory(const em_ctx *ctx, uint64_t memory, const emi_disk_choice *choice, uint64_t bytes)
{
	return sizeof(emi_one_disk) + emi_disk_file_memory(ctx, memory, choice) +
	       emi_space_memory(bytes / EMI_UNIT + 1);
}

/* Release the lock.  Now the queue may go on, also with what others asked of it. */
static void leave(emi_one_disk *d)
{
	const int sent = d->sent;

	d->sent = 0;
	pthread_mutex_unlock(&d->lock);
	if (sent)
		emi_file_go_on(d->file);
}

em_file *emi_one_disk_file(const emi_one_disk *d)
{
	return d->file;
}

/* A batch has ended.  What did not go is free as before. */
static void settle(emi_one_disk *d)
{
	size_t i;

	if (d->gaps == 0)
		return;
	if (emi_wait_alone(&d->rq, NULL) != EM_OK) {
		emi_log(d->ctx, EM_LOG_INFO, "%s: scratch space that is free stays with the file (errno %d)",
			emi_file_path(d->file), (int)d->rq.sys_errno);
		d->keeps = 1;
	}
	for (i = 0; i < d->gaps; i++) {
		if (d->leaving != 0 && i == d->gaps - 1) {
			if (i < d->rq.done)
				give_up(d, d->leaving);
			else
				d->reserved += d->leaving;
			d->leaving = 0;
		} else if (i >= d->rq.done) {
			emi_space_mend(&d->space, d->gap[i].offset / EMI_UNIT, d->gap[i].bytes / EMI_UNIT);
		} else {
			d->returned += d->gap[i].bytes;
			give_up(d, d->gap[i].bytes);
		}
	}
	d->gaps = 0;
}

/* Units that are free and kept. */
static uint64_t kept(const emi_one_disk *d)
{
	return d->space.high - d->space.used - d->space.cut;
}

/* Put gaps of at least piece units in the batch, until so many units are left. */
static void collect(emi_one_disk *d, uint64_t piece, uint64_t left)
{
	uint64_t n, unit = 0;

	while (d->gaps < BATCH && kept(d) > left && (n = emi_space_cut(&d->space, piece, &unit)) != 0) {
		d->gap[d->gaps].offset = unit * EMI_UNIT;
		d->gap[d->gaps].bytes = n * EMI_UNIT;
		d->gaps++;
	}
}

/* Put what is set aside behind the last block in the batch, as its last extent, but for so many bytes. */
static void collect_rest(emi_one_disk *d, uint64_t ahead)
{
	const uint64_t end = d->space.high * EMI_UNIT + ahead;

	if (d->reserved <= end)
		return;
	d->leaving = d->reserved - end;
	d->reserved = end;
	d->gap[d->gaps].offset = end;
	d->gap[d->gaps].bytes = d->leaving;
	d->gaps++;
}

static void send_batch(emi_one_disk *d)
{
	if (d->gaps == 0)
		return;
	emi_discard_later(d->file, &d->rq, d->gap, d->gaps);
	d->sent = !emi_is_over(&d->rq);
}

/* Put in a batch about the largest gaps there are, after which so many units are left.  How large those
 * are is known from last time. */
static void fill_batch(emi_one_disk *d, uint64_t left)
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
}

/* Give everything back that is free, and wait until it is. */
static void give_all(emi_one_disk *d)
{
	settle(d);
	while (!d->keeps) {
		collect(d, 1, 0);
		collect_rest(d, 0);
		if (d->gaps == 0)
			break;
		send_batch(d);
		settle(d);
	}
}

/* The disk grows, as no gap is large enough.  If there are too many of that kind, half of what they have goes back. */
static void thin_out(emi_one_disk *d)
{
	if (d->givers != 0 || d->keeps || kept(d) <= d->slack || !emi_is_over(&d->rq))
		return;
	settle(d);
	if (d->keeps)
		return;
	fill_batch(d, d->slack / 2);
	send_batch(d);
}

/* How many bytes more a limit of `most' leaves, of which so many are taken. */
static uint64_t left(uint64_t most, uint64_t taken)
{
	return most == 0 ? UINT64_MAX : taken < most ? most - taken : 0;
}

/* What may be set aside beside what is, by this disk and by all together. */
static uint64_t room(const emi_one_disk *d)
{
	const uint64_t own = left(d->at.capacity, held(d));
	const uint64_t all = left(d->all->most, __atomic_load_n(&d->all->held, __ATOMIC_RELAXED));

	return own < all ? own : all;
}

static em_status refuse(const emi_one_disk *d, uint64_t bytes, em_errinfo *err)
{
	if (bytes > left(d->at.capacity, held(d)))
		return emi_fail_scratch(err, emi_file_path(d->file), d->at.capacity, held(d) + bytes);
	return emi_fail_scratch(err, d->ctx->dir, d->all->most,
				__atomic_load_n(&d->all->held, __ATOMIC_RELAXED) + bytes);
}

/* Take so many bytes of what all disks may have: 0 if others were first. */
static int take(emi_one_disk *d, uint64_t bytes)
{
	uint64_t taken = __atomic_load_n(&d->all->held, __ATOMIC_RELAXED);

	do
		if (bytes > left(d->all->most, taken))
			return 0;
	while (!__atomic_compare_exchange_n(&d->all->held, &taken, taken + bytes, 1, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return 1;
}

static void note_peak(emi_one_disk *d)
{
	raise_to(&d->all->peak, __atomic_load_n(&d->all->held, __ATOMIC_RELAXED));
	raise_to(&d->held_peak, held(d));
}

/* Have the file system set aside so many bytes more. */
static em_status set_aside(emi_one_disk *d, uint64_t bytes, em_errinfo *err)
{
	em_status status;

	if (!take(d, bytes))
		return refuse(d, bytes, err);
	status = emi_file_set_aside(d->file, d->reserved, bytes, err);
	if (status != EM_OK) {
		give_up(d, bytes);
		return status;
	}
	d->reserved += bytes;
	if (emi_is_over(&d->rq))
		settle(d);
	note_peak(d);
	return EM_OK;
}

/* What is reserved ahead when so many bytes are in use. */
static uint64_t usual_step(uint64_t end)
{
	const uint64_t step = end / 32 / EMI_UNIT * EMI_UNIT;

	return step < STEP_LEAST ? STEP_LEAST : step > STEP_MOST ? STEP_MOST : step;
}

/* How many bytes from `end' on are to be there when at least bytes are wanted and the limits leave so many. */
static uint64_t wanted_step(const emi_one_disk *d, uint64_t end, uint64_t bytes, uint64_t most)
{
	const uint64_t expected = (d->expected < STEP_EXPECTED ? d->expected : STEP_EXPECTED) / EMI_UNIT * EMI_UNIT;
	uint64_t step = usual_step(end);

	if (step < expected)
		step = expected;
	if (end + step > d->reserved && end + step - d->reserved > most)
		step = (most + d->reserved - end) / EMI_UNIT * EMI_UNIT;
	return step < bytes ? bytes : step;
}

/* Set aside at least bytes behind the end of what is in use. */
static em_status reserve(emi_one_disk *d, uint64_t bytes, em_errinfo *err)
{
	const uint64_t end = d->space.high * EMI_UNIT;
	uint64_t step;

	if (end + bytes <= d->reserved)
		return EM_OK;
	/* What is on its way back must have gone before it comes again, or it stays. */
	if (d->leaving != 0)
		settle(d);
	if (end + bytes <= d->reserved)
		return EM_OK;
	if (end + bytes - d->reserved > room(d))
		give_all(d);
	if (end + bytes - d->reserved > room(d))
		return refuse(d, end + bytes - d->reserved, err);
	step = wanted_step(d, end, bytes, room(d));
	for (;;) {
		em_errinfo own = EM_ERRINFO_INIT;
		const em_status status = set_aside(d, end + step - d->reserved, &own);

		if (status == EM_OK)
			return EM_OK;
		if (status != EM_ERR_NOSPACE || step == bytes) {
			*err = own;
			return status;
		}
		step = step / 2 / EMI_UNIT * EMI_UNIT;
		if (end + step <= d->reserved || step < bytes)
			step = bytes;
	}
}

static em_status alloc_units(emi_one_disk *d, uint64_t n, uint64_t *unit, em_errinfo *err)
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

static void count_in(emi_one_disk *d, uint64_t bytes, uint64_t n)
{
	d->blocks += n;
	d->expected -= bytes < d->expected ? bytes : d->expected;
	if (d->blocks > d->blocks_peak)
		d->blocks_peak = d->blocks;
	if (d->space.used > d->used_peak)
		d->used_peak = d->space.used;
	raise_to(&d->all->blocks_peak, __atomic_add_fetch(&d->all->blocks, n, __ATOMIC_RELAXED));
	raise_to(&d->all->bytes_peak, __atomic_add_fetch(&d->all->bytes, bytes, __ATOMIC_RELAXED));
}

em_status emi_one_disk_alloc(emi_one_disk *d, size_t bytes, uint64_t n, uint64_t *offset, em_errinfo *err)
{
	uint64_t unit = 0;
	em_status status;

	pthread_mutex_lock(&d->lock);
	status = alloc_units(d, bytes / EMI_UNIT * n, &unit, err);
	if (status == EM_OK)
		count_in(d, bytes * n, n);
	leave(d);
	*offset = unit * EMI_UNIT;
	return status;
}

/* Start giving back what is due after a block was freed.  A batch that is late is waited for: nobody is to get far
 * ahead of it. */
static void give_due(emi_one_disk *d)
{
	const uint64_t end = d->space.high * EMI_UNIT, ahead = d->reserved - end;
	const int gaps = d->givers != 0 && (d->freed >= d->lag || d->more);
	const int rest = ahead > REST_LEAST + usual_step(end) && ahead > d->reserved / 8 && d->leaving == 0;

	if (d->keeps || !(gaps || rest) || !(emi_is_over(&d->rq) || (gaps && d->freed >= 2 * d->lag)))
		return;
	settle(d);
	if (d->keeps)
		return;
	if (gaps) {
		d->freed = 0;
		fill_batch(d, d->slack);
	}
	if (gaps || rest)
		collect_rest(d, d->givers != 0 ? 0 : usual_step(end));
	send_batch(d);
}

em_status emi_one_disk_admit(emi_one_disk *d, emi_request_kind kind, uint64_t offset, size_t bytes, const char **why)
{
	const uint64_t unit = offset / EMI_UNIT, n = bytes / EMI_UNIT + (bytes % EMI_UNIT != 0);
	em_status status = EM_OK;

	pthread_mutex_lock(&d->lock);
	if (kind == EMI_READ ? !emi_space_in_use(&d->space, unit, n) : !emi_space_write(&d->space, unit, n)) {
		status = EM_ERR_STATE;
		*why = "no block is allocated there";
	} else if (kind == EMI_READ && !emi_space_written(&d->space, unit, n)) {
		status = EM_ERR_STATE;
		*why = emi_never_written;
	}
	d->ragged |= kind == EMI_WRITE && bytes % EMI_UNIT != 0;
	leave(d);
	return status;
}

void emi_one_disk_fill(emi_one_disk *d)
{
	uint64_t end;

	pthread_mutex_lock(&d->lock);
	end = d->space.high * EMI_UNIT;
	if (!d->at.fixed && d->reserved > end) {
		give_up(d, d->reserved - end);
		d->reserved = end;
	}
	leave(d);
}

int emi_one_disk_wrote(emi_one_disk *d, uint64_t offset, size_t bytes)
{
	const uint64_t end = (offset + bytes + EMI_UNIT - 1) / EMI_UNIT;
	uint64_t first;
	int wrote;

	pthread_mutex_lock(&d->lock);
	/* Where pages are written as a whole, one that is there in part was cut. */
	first = (offset + (d->ragged ? EMI_UNIT - 1 : 0)) / EMI_UNIT;
	wrote = first < end && emi_space_in_use(&d->space, first, end - first) &&
		emi_space_written(&d->space, first, end - first);
	leave(d);
	return wrote;
}

em_status emi_one_disk_free(emi_one_disk *d, uint64_t offset, size_t bytes, uint64_t n, em_errinfo *err)
{
	em_status status = EM_OK;

	pthread_mutex_lock(&d->lock);
	if (!emi_space_in_use(&d->space, offset / EMI_UNIT, bytes / EMI_UNIT)) {
		status = emi_fail_refused(err, EM_ERR_STATE, "nothing is allocated there", "free",
					  emi_file_path(d->file), offset, bytes);
	} else {
		emi_space_drop(&d->space, offset / EMI_UNIT, bytes / EMI_UNIT);
		/* What was allocated as one block may be freed as two, where nobody checks that. */
		if (n > d->blocks)
			n = d->blocks;
		d->blocks -= n;
		__atomic_sub_fetch(&d->all->blocks, n, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&d->all->bytes, bytes, __ATOMIC_RELAXED);
		d->freed += bytes;
		give_due(d);
	}
	leave(d);
	return status;
}

void emi_one_disk_expect(emi_one_disk *d, uint64_t bytes)
{
	pthread_mutex_lock(&d->lock);
	d->expected = bytes;
	leave(d);
}

void emi_one_disk_slack(emi_one_disk *d, uint64_t bytes)
{
	pthread_mutex_lock(&d->lock);
	d->slack = bytes / EMI_UNIT;
	leave(d);
}

void emi_one_disk_give_back(emi_one_disk *d, uint64_t lag)
{
	pthread_mutex_lock(&d->lock);
	d->givers++;
	d->lag = lag;
	d->piece = PIECE_MOST;
	d->freed = 0;
	settle(d);
	if (!d->keeps) {
		collect_rest(d, 0);
		send_batch(d);
		settle(d);
	}
	if (!d->keeps) {
		fill_batch(d, d->slack);
		send_batch(d);
	}
	leave(d);
}

void emi_one_disk_keep(emi_one_disk *d)
{
	pthread_mutex_lock(&d->lock);
	d->givers--;
	leave(d);
}

int emi_one_disk_give_all(emi_one_disk *d)
{
	uint64_t before;
	int gave;

	pthread_mutex_lock(&d->lock);
	before = held(d);
	give_all(d);
	gave = held(d) != before;
	leave(d);
	return gave;
}

void emi_one_disk_settle(emi_one_disk *d)
{
	pthread_mutex_lock(&d->lock);
	if (emi_is_over(&d->rq))
		settle(d);
	leave(d);
}

void emi_one_disk_usage(emi_one_disk *d, emi_disk_usage *usage)
{
	pthread_mutex_lock(&d->lock);
	if (emi_is_over(&d->rq))
		settle(d);
	usage->blocks = d->blocks;
	usage->blocks_peak = d->blocks_peak;
	usage->bytes = d->space.used * EMI_UNIT;
	usage->bytes_peak = d->used_peak * EMI_UNIT;
	usage->held = held(d);
	usage->held_peak = d->held_peak;
	leave(d);
}

uint64_t emi_one_disk_peak(emi_one_disk *d)
{
	uint64_t bytes;

	pthread_mutex_lock(&d->lock);
	bytes = d->peak * EMI_UNIT;
	leave(d);
	return bytes;
}
