/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_transfer.c -- reading and writing blocks by their ids.
 *
 * What is known of ids is asked before a transfer begins.  When it is over, and before anybody hears of it, it is judged here, once for
 * all who read blocks: whoever cut the file short, or has a disk that forgets, must not make a block of zeros of that, or of what was in the
 * buffer before.
 */
#include "base/context.h"
#include "base/error.h"
#include "block/disk_set.h"
#include "block/space.h"

#define CUT "scratch space is damaged: the file ends before; nobody else may change it while it is in use"

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

/* Blocks are written as a whole before we read them. */
static void judge_block(emi_request *rq, void *arg)
{
	(void)arg;
	if (is_short(rq))
		cut_off(rq);
}

/* Others may have written a part only, and the file may end behind that. */
static void judge_part(emi_request *rq, void *arg)
{
	const emi_disk_set *set = arg;

	if (is_short(rq) && emi_one_disk_wrote(set->disk[disk_of(set, rq->file)], rq->offset + rq->done, rq->bytes - rq->done))
		cut_off(rq);
}

emi_request_calls emi_block_calls(emi_disk *d)
{
	const emi_request_calls calls = { NULL, NULL, NULL, judge_part, d->set, NULL };

	return calls;
}

em_status emi_block_damaged(const emi_disk *d, em_bid bid, size_t bytes, const char *why, em_errinfo *err)
{
	return emi_fail_refused(err, EM_ERR_CORRUPT, why, "read", emi_file_path(emi_bid_file(d->set, bid)), bid.offset, bytes);
}

/* Transfers of a part of a block, or of some blocks of a row, are fine without the ledger. */
em_status emi_block_admit(emi_disk *d, emi_request_kind kind, em_bid bid, size_t bytes, em_file **file, const char **why)
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
		st = kind == EMI_READ ? emi_ledger_read(ledger, bid, bytes, why) : emi_ledger_write(ledger, bid, bytes, d->owner, why);
	return st == EM_OK ? emi_one_disk_admit(d->set->disk[bid.disk], kind, bid.offset, bytes, why) : st;
}

static void transfer(emi_disk *d, emi_request *rq, emi_request_kind kind, const void *buf, size_t bytes, em_bid bid, emi_request_fn judge,
		     emi_io_stats *stats)
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

void emi_block_read_part(emi_disk *d, emi_request *rq, void *buf, size_t bytes, em_bid bid, emi_io_stats *stats)
{
	transfer(d, rq, EMI_READ, buf, bytes, bid, judge_part, stats);
}

void emi_block_write(emi_disk *d, emi_request *rq, const void *buf, size_t bytes, em_bid bid, emi_io_stats *stats)
{
	transfer(d, rq, EMI_WRITE, buf, bytes, bid, judge_block, stats);
}
