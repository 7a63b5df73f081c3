/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_transfer.c -- reading and writing blocks by their ids.
 *
 * What is known of ids is asked before a transfer begins.  When it is over, and before anybody hears of it, it is
 * judged here, once for all who read blocks.  Whoever cut the file short, or has a disk that forgets, must not make a
 * block of zeros of that, or of what was in the buffer before.  And a disk without room is passed over by writing, too,
 * as it is by allocating: what a file system has set aside is not always there (moved.h).
 *
 * Transfers of callers outside are judged by whoever collects them.  That takes the locks of disks and of the queue,
 * and may wait for other transfers.  So nobody collects, or runs what others asked for, while he has the lock of a disk
 * (emi_wait_alone()), and a thread gives up its turn at collecting before it judges (queue_async.c).
 */
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "block/disk_set.h"
#include "block/space.h"

#define CUT "it is damaged: the file ends before (nobody else may change it)"
#define ALL_FULL "it is full, and no other scratch disk has room"
#define OTHER "it is damaged: what was written is not there (a failing disk, or another program)"

static uint32_t disk_of(const emi_disk_set *set, const em_file *file)
{
	uint32_t i = 0;

	while (i + 1 < set->n && emi_one_disk_file(set->disk[i]) != file)
		i++;
	return i;
}

static void cut_off(emi_request *rq)
{
	rq->status = EM_ERR_CORRUPT;
	rq->why = CUT;
}

static int is_short(const emi_request *rq)
{
	return rq->kind == EMI_READ && rq->status == EM_OK && rq->done < rq->bytes;
}

/* Make the part of the transfer that is at another place there. */
static em_status transfer_part(emi_disk_set *set, const emi_request *rq, const emi_move *part, em_errinfo *err)
{
	const uint64_t at = part->from.offset - rq->offset;
	size_t done;
	const em_status st = emi_transfer(emi_one_disk_file(set->disk[part->to.disk]), rq->kind, (char *)rq->buf + at,
					  (size_t)part->bytes, part->to.offset, &done, err);

	return st == EM_OK && done < part->bytes ? EM_ERR_CORRUPT : st;
}

/* Parts of the block that were moved are read or written where they are: what the transfer has made of them means
 * nothing. */
static void follow(emi_disk_set *set, emi_request *rq)
{
	em_bid at = { disk_of(set, rq->file), 0, rq->offset };
	const uint64_t end = rq->offset + rq->bytes;
	uint64_t moved = 0;
	emi_move part;

	while (at.offset < end && emi_moved_find(&set->moved, at, end - at.offset, &part)) {
		em_errinfo err = EM_ERRINFO_INIT;
		const em_status st = transfer_part(set, rq, &part, &err);

		at.offset = part.from.offset + part.bytes;
		if (st != EM_OK) {
			rq->status = st;
			rq->sys_errno = err.sys_errno;
			return;
		}
		moved += part.bytes;
		if (part.from.offset <= rq->offset + rq->done && at.offset > rq->offset + rq->done)
			rq->done = (size_t)(at.offset - rq->offset);
	}
	if (moved != rq->bytes)
		return;
	rq->status = EM_OK;
	rq->done = rq->bytes;
}

/* What was at other places of the block is forgotten. */
static void forget(emi_disk_set *set, em_bid at, uint64_t bytes)
{
	emi_move part;
	int whole;

	while (emi_moved_take(&set->moved, at, bytes, &part, &whole))
		(void)emi_one_disk_free(set->disk[part.to.disk], part.to.offset, (size_t)part.bytes, (uint64_t)whole,
					NULL);
}

/* Write the block to that disk, which is another one than its own: EM_ERR_NOSPACE if that has no room either. */
static em_status place_on(emi_disk_set *set, const emi_request *rq, uint32_t disk, emi_move *move)
{
	const char *why;
	size_t done;
	em_status st = emi_one_disk_alloc(set->disk[disk], (size_t)move->bytes, 1, &move->to.offset, NULL);

	if (st != EM_OK)
		return st;
	move->to.disk = disk;
	st = emi_one_disk_admit(set->disk[disk], EMI_WRITE, move->to.offset, rq->bytes, &why);
	if (st == EM_OK)
		st = emi_transfer(emi_one_disk_file(set->disk[disk]), EMI_WRITE, rq->buf, rq->bytes, move->to.offset,
				  &done, NULL);
	if (st == EM_OK && !emi_moved_add(&set->moved, move))
		st = EM_ERR_NOSPACE;
	if (st != EM_OK)
		(void)emi_one_disk_free(set->disk[disk], move->to.offset, (size_t)move->bytes, 1, NULL);
	return st;
}

/* The disk was full, whatever it said before: the block goes to the next one that has room. */
static void move_block(emi_disk_set *set, emi_request *rq)
{
	const uint32_t disk = disk_of(set, rq->file);
	emi_move move = { { disk, 0, rq->offset }, (rq->bytes + EMI_UNIT - 1) / EMI_UNIT * EMI_UNIT, { 0, 0, 0 } };
	em_status st = EM_ERR_NOSPACE;
	uint32_t i;

	emi_one_disk_fill(set->disk[disk]);
	forget(set, move.from, move.bytes);
	for (i = 1; i < set->n && st == EM_ERR_NOSPACE; i++)
		st = place_on(set, rq, (disk + i) % set->n, &move);
	if (st == EM_OK) {
		rq->status = EM_OK;
		rq->done = rq->bytes;
	} else if (set->n > 1) {
		rq->why = ALL_FULL;
	}
}

/* Before a read is told to be short, or a disk to be full. */
static void find_place(emi_disk_set *set, emi_request *rq)
{
	if (rq->status == EM_ERR_CANCELED || emi_ctx_forked(set->ctx))
		return;
	if (!emi_moved_none(&set->moved))
		follow(set, rq);
	if (rq->kind == EMI_WRITE && rq->status == EM_ERR_NOSPACE)
		move_block(set, rq);
}

/* Blocks are written as a whole before we read them. */
static void judge_block(emi_request *rq, void *arg)
{
	find_place(arg, rq);
	if (is_short(rq))
		cut_off(rq);
}

/* Others may have written a part only, and the file may end behind that. */
static void judge_part(emi_request *rq, void *arg)
{
	emi_disk_set *set = arg;

	find_place(set, rq);
	if (is_short(rq) &&
	    emi_one_disk_wrote(set->disk[disk_of(set, rq->file)], rq->offset + rq->done, rq->bytes - rq->done))
		cut_off(rq);
}

/* Then they are zeros. */
static void judge_zeros(emi_request *rq, void *arg)
{
	judge_part(rq, arg);
	if (rq->status != EM_OK)
		return;
	memset((char *)rq->buf + rq->done, 0, rq->bytes - rq->done);
	rq->done = rq->bytes;
}

emi_request_calls emi_block_calls(emi_disk *d)
{
	const emi_request_calls calls = { NULL, NULL, NULL, judge_part, d->set, NULL };

	return calls;
}

em_status emi_block_damaged(const emi_disk *d, em_bid bid, size_t bytes, em_errinfo *err)
{
	return emi_fail_on(err, EM_ERR_CORRUPT, 0, OTHER, "read", "scratch ", emi_file_path(emi_bid_file(d->set, bid)),
			   bid.offset, bytes);
}

/* Transfers of a part of a block, or of some blocks of a row, are fine without the ledger. */
em_status emi_block_admit(emi_disk *d, emi_request_kind kind, em_bid bid, size_t bytes, em_file **file,
			  const char **why)
{
	emi_ledger *ledger = d->set->ledger;
	em_status st = EM_OK;

	*file = emi_bid_file(d->set, bid);
	*why = emi_bid_flaw(d->set, bid, EMI_UNIT);
	if (*why != NULL)
		return EM_ERR_INVAL;
	if (emi_ctx_forked(d->set->ctx))
		return EM_OK;
	if (ledger != NULL)
		st = kind == EMI_READ ? emi_ledger_read(ledger, bid, bytes, why)
				      : emi_ledger_write(ledger, bid, bytes, d->owner, why);
	return st == EM_OK ? emi_one_disk_admit(d->set->disk[bid.disk], kind, bid.offset, bytes, why) : st;
}

static void transfer(emi_disk *d, emi_request *rq, emi_request_kind kind, const void *buf, size_t bytes, em_bid bid,
		     emi_request_fn judge, emi_io_stats *stats)
{
	const emi_request_calls calls = { NULL, NULL, NULL, judge, d->set, stats };
	em_file *file;
	const char *why;
	const em_status st = emi_block_admit(d, kind, bid, bytes, &file, &why);

	if (st == EM_OK)
		emi_submit(file, rq, kind, buf, bytes, bid.offset, &calls);
	else
		emi_refuse(file, rq, kind, buf, bytes, bid.offset, st, why);
}

void emi_block_read(emi_disk *d, emi_request *rq, void *buf, size_t bytes, em_bid bid, emi_io_stats *stats)
{
	transfer(d, rq, EMI_READ, buf, bytes, bid, judge_block, stats);
}

int emi_block_read_or_zero(emi_disk *d, emi_request *rq, void *buf, size_t bytes, size_t there, em_bid bid,
			   emi_io_stats *stats)
{
	const emi_request_calls calls = { NULL, NULL, NULL, judge_zeros, d->set, stats };
	em_file *file;
	const char *why;
	const em_status st = emi_block_admit(d, EMI_READ, bid, bytes, &file, &why);

	if (st == EM_ERR_STATE && why == emi_never_written) {
		memset(buf, 0, bytes);
		memset(rq, 0, sizeof *rq);
		return 0;
	}
	if (st != EM_OK) {
		emi_refuse(file, rq, EMI_READ, buf, bytes, bid.offset, st, why);
		return 1;
	}
	if (there < bytes)
		memset((char *)buf + there, 0, bytes - there);
	emi_submit(file, rq, EMI_READ, buf, there < bytes ? there : bytes, bid.offset, &calls);
	return 1;
}

void emi_block_write(emi_disk *d, emi_request *rq, const void *buf, size_t bytes, em_bid bid, emi_io_stats *stats)
{
	transfer(d, rq, EMI_WRITE, buf, bytes, bid, judge_block, stats);
}
