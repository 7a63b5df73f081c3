/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_blocks.c -- see extmem/sys/sort_blocks.h.
 *
 * Blocks are read ahead into buffers of their own and pushed from there, as records do not lie one behind the other
 * where a block has room left.  While a run is sorted, the disks fill these buffers and write what was sorted before;
 * that must last as long as a partition takes, in which nothing else is there for them to do.  The last merge puts the
 * blocks of the output, as it puts those of runs.
 *
 * Two users of the disks meet here.  Lists belong to the one whose they are, the output too.  Runs are the sort's own.
 */
#include <extmem/sys/sort_blocks.h>

#include <inttypes.h>
#include <string.h>

#include "block/block_reader.h"
#include "block/public_block_list.h"
#include "sort/front.h"
#include "sort/plan_job.h"

#define AHEAD_SHARE 8u          /* this part of the memory is for reading ahead: twice what disks do while two threads
                                   partition the rest ... */
#define AHEAD_MOST 4u           /* ... or, where blocks are large, this part, ... */
#define AHEAD 2u                /* ... if each disk has no more than so many blocks on its way in then */

typedef struct block_sort {
	emi_front f;
	em_block_list *const *list;
	uint32_t nlists;
	uint32_t held;          /* lists that nobody else may change */
	int consumes;           /* them */
	uint64_t n;             /* records in all lists ... */
	uint64_t blocks;        /* ... and blocks */
	uint64_t out_blocks;    /* that these records fill */
	emi_disk *disks;        /* as their owner has them, ... */
	emi_store *store;       /* ... and as the reader does */
	size_t block_bytes;
	emi_block_list *all;    /* the lists as they are when reading begins, one behind the other for the reader */
	emi_block_reader in;
	uint32_t ahead;         /* buffers of the reader */
	em_block_list *out;
	em_placement place;     /* of its blocks */
} block_sort;

static em_status put_block(void *arg, emi_outblock *b, em_errinfo *err)
{
	block_sort *s = arg;
	emi_job *job = &s->f.e.job;
	emi_block_list *out = &s->out->list;
	em_bid bid;
	em_status st = emi_bid_alloc_on(s->disks, em_placement_disk(&s->place, out->blocks), s->block_bytes, &bid, err);

	if (st != EM_OK)
		return st;
	st = emi_block_list_add(out, job->ctx, bid, err);
	if (st != EM_OK) {
		emi_bid_free(s->disks, bid, s->block_bytes);
		return st;
	}
	out->records += b->records;
	emi_block_write(s->disks, &b->buf.rq, b->buf.base, s->block_bytes, bid, &job->io);
	return EM_OK;
}

/* Read all lists to their end, and form runs of what does not fit. */
static em_status push_records(block_sort *s, em_errinfo *err)
{
	emi_job *job = &s->f.e.job;
	em_status st = EM_OK;

	while (st == EM_OK) {
		const char *records;
		size_t n;

		st = emi_job_check(job, err);
		if (st == EM_OK)
			st = emi_block_reader_next(&s->in, &records, &n, err);
		if (st == EM_OK)
			st = emi_front_push(&s->f, records, n, err);
		if (st == EM_OK)
			emi_watch_add(&job->watch, n * job->by.codec->record_bytes);
	}
	return st == EM_END ? EM_OK : st;
}

/* Lists that are consumed are the reader's from now on. */
static em_status push_all(block_sort *s, em_errinfo *err)
{
	emi_job *job = &s->f.e.job;
	const uint32_t buffers = s->blocks < s->ahead ? (uint32_t)s->blocks : s->ahead;
	em_status st = emi_block_reader_open(&s->in, job->ctx, s->store, s->block_bytes, job->by.codec->record_bytes,
					     buffers, s->all, s->nlists, EMI_FORWARD, s->consumes, &job->io, err);
	uint32_t i;

	if (st != EM_OK)
		return st;
	for (i = 0; i < s->nlists && s->consumes; i++)
		memset(&s->list[i]->list, 0, sizeof s->list[i]->list);
	st = push_records(s, err);
	emi_block_reader_close(&s->in);
	for (i = 0; i < s->nlists && s->consumes; i++)
		emi_block_list_release(&s->all[i], job->ctx);
	return st;
}

/* All was pushed, and the buffers of the input are the merge's now. */
static em_status write_all(block_sort *s, em_errinfo *err)
{
	const emi_dest dest = { put_block, NULL, s, 0, 0, NULL };
	emi_engine *e = &s->f.e;
	em_status st;

	e->job.records_out = e->job.records_in;
	if (e->job.runs.n == 0)
		return s->f.n != 0 ? emi_engine_sort_to(e, s->f.area, s->f.n, &dest, err) : EM_OK;
	st = emi_front_keep(&s->f, err);
	if (st == EM_OK)
		st = emi_front_reduce(&s->f, err);
	return st == EM_OK ? emi_engine_merge_to(e, &dest, err) : st;
}

/* Of a list of so many, with memory for so many others. */
static uint32_t blocks_ahead(uint64_t blocks, uint64_t memory, uint32_t disks)
{
	const uint64_t share = memory / AHEAD_SHARE, most = memory / AHEAD_MOST, few = AHEAD * (uint64_t)disks;
	uint64_t n = share >= few ? share : few < most ? few : most;

	if (n < 2 || blocks < 2)
		return 2;
	if (n > blocks)
		n = blocks;
	return (uint32_t)(n < UINT32_MAX / 2 ? n : UINT32_MAX / 2);
}

static uint32_t ahead_of(const block_sort *s, const emi_job *job, uint64_t memory)
{
	return blocks_ahead(s->blocks, memory / s->block_bytes, emi_scratch_disks(job->ctx));
}

static void scale(emi_needs *needs, const emi_job *job, uint64_t memory, uint32_t threads)
{
	(void)threads;
	needs->form = ahead_of(needs->arg, job, memory);
}

/* Divide the memory: what the input is read into, the list that is to be, and the blocks of runs, beside the sort. */
static em_status plan(block_sort *s, em_errinfo *err)
{
	emi_job *job = &s->f.e.job;
	emi_needs needs;
	em_status st;

	s->out_blocks = (s->n - 1) / (s->block_bytes / job->by.codec->record_bytes) + 1;
	memset(&needs, 0, sizeof needs);
	needs.n = s->n;
	needs.pushed = 1;
	needs.spare = 1 + (uint32_t)(s->out_blocks * sizeof(em_bid) / s->block_bytes);
	needs.all = 1;
	needs.scale = scale;
	needs.arg = s;
	needs.held = sizeof *s + s->nlists * (uint64_t)sizeof *s->all;
	st = emi_job_plan(job, &needs, err);
	s->ahead = ahead_of(s, job, job->plan_input.memory);
	return st;
}

static em_status run(block_sort *s, em_errinfo *err)
{
	emi_job *job = &s->f.e.job;
	em_status st;

	job->opts.block_bytes = s->block_bytes;
	job->reuses = 1;
	st = plan(s, err);
	if (st == EM_OK)
		st = emi_runs_scratch(&job->runs, err);
	if (st != EM_OK)
		return st;
	st = em_placement_init(&s->place, EM_PLACE_STRIPING, emi_disk_count(s->disks), 0, 0, 0);
	/* Now, so that it need not grow, and nothing that was sorted is lost for it. */
	if (st == EM_OK)
		st = emi_block_list_reserve(&s->out->list, job->ctx, s->out_blocks, err);
	if (st != EM_OK)
		return st;
	emi_watch_phase(&job->watch, EM_PHASE_RUNS, s->n * job->by.codec->record_bytes);
	st = emi_front_prepare(&s->f, err);
	if (st == EM_OK)
		st = push_all(s, err);
	if (st == EM_OK)
		st = write_all(s, err);
	emi_watch_settle(&job->watch);
	return st;
}

/* Lists that fit together, and that nobody changes meanwhile. */
static em_status take_lists(block_sort *s, em_errinfo *err)
{
	const em_block_list *first = s->list[0];
	em_status st = EM_OK;

	for (; s->held < s->nlists && st == EM_OK; s->held += st == EM_OK) {
		em_block_list *l = s->list[s->held];

		if (l->share.disks != first->share.disks)
			st = emi_fail(err, EM_ERR_INVAL, "list %" PRIu32 " is on other disks than the first", s->held);
		else if (l->block_bytes != first->block_bytes || l->record != first->record)
			st = emi_fail(err, EM_ERR_INVAL,
				      "list %" PRIu32 " has blocks of %" PRIu64 " bytes with records of %" PRIu64
				      ", the first of %" PRIu64 " with %" PRIu64,
				      s->held, (uint64_t)l->block_bytes, (uint64_t)l->record,
				      (uint64_t)first->block_bytes, (uint64_t)first->record);
		else
			st = emi_list_hold(l, s->consumes, err);
		if (st == EM_OK) {
			s->all[s->held] = l->list;
			s->n += l->list.records;
			s->blocks += l->list.blocks;
		}
	}
	return st;
}

static em_status check(const block_sort *s, const em_order *order, em_errinfo *err)
{
	const emi_job *job = &s->f.e.job;
	const uint64_t block = job->opts.block_bytes, record = s->list[0]->record;

	if (emi_order_vary(order) != NULL)
		return emi_fail(err, EM_ERR_INVAL,
				"lists of blocks are of records of one size, and the order of any length");
	if (job->by.codec->record_bytes != record)
		return emi_fail(err, EM_ERR_INVAL,
				"lists of records of %" PRIu64 " bytes, and an order of records of %" PRIu64, record,
				(uint64_t)job->by.codec->record_bytes);
	if ((job->flags & EM_SORT_UNIQUE) != 0)
		return emi_fail(err, EM_ERR_NOTSUP, "a sort of blocks keeps equal records");
	if (block != 0 && block != s->block_bytes)
		return emi_fail(err, EM_ERR_INVAL, "block size %" PRIu64 ", and the lists have blocks of %" PRIu64,
				block, (uint64_t)s->block_bytes);
	return EM_OK;
}

/* What is under way ends before blocks of the list are freed. */
static void finish(block_sort *s, em_status st)
{
	emi_merger_close(&s->f.e.merger);
	emi_outseq_free(&s->f.e.out);
	if (st != EM_OK)
		emi_block_list_free_blocks(&s->out->list, s->disks, s->block_bytes, 0, s->out->list.blocks);
	emi_front_close(&s->f);
}

/* What is coherent with others on these disks is read as they have it. */
static em_status open_store(block_sort *s, emi_share *share, em_errinfo *err)
{
	emi_store *all = share->disks->share.store;

	if (share->set == NULL)
		return emi_fail(err, EM_ERR_NOTSUP, "blocks of a file are not sorted");
	if (all == NULL)
		return emi_store_open_disks(&s->store, share->object.ctx, share->set, err);
	s->store = emi_store_hold(all);
	return EM_OK;
}

static em_status sort(block_sort *s, const em_order *order, const em_sort_opts *opts, em_sort_stats *stats,
		      em_errinfo *err)
{
	em_status st;

	s->all = emi_alloc_array(s->list[0]->share.object.ctx, s->nlists, sizeof *s->all, err);
	if (s->all == NULL)
		return err->status;
	st = take_lists(s, err);
	if (st == EM_OK) {
		s->disks = s->list[0]->share.set;
		s->block_bytes = s->list[0]->block_bytes;
		st = open_store(s, &s->list[0]->share, err);
	}
	if (st == EM_OK) {
		/* Now, so that nothing can fail when all is sorted. */
		s->out = emi_list_new(s->list[0]->share.disks, s->block_bytes, s->list[0]->record, err);
		st = s->out != NULL ? emi_engine_open(&s->f.e, s->list[0]->share.object.ctx, order, opts, err)
				    : err->status;
	}
	if (st != EM_OK)
		return st;
	st = check(s, order, err);
	if (st == EM_OK && s->n != 0)
		st = run(s, err);
	if (stats != NULL)
		emi_job_stats(&s->f.e.job, stats);
	finish(s, st);
	return st;
}

static em_status check_arguments(em_block_list **out, em_block_list *const *lists, uint32_t n, const em_order *order,
				 uint32_t flags, const em_sort_stats *stats, em_errinfo *err)
{
	em_status st = emi_given(out, "out", err);
	uint32_t i;

	if (st == EM_OK && n == 0)
		st = emi_fail(err, EM_ERR_INVAL, "there are no lists");
	if (st == EM_OK)
		st = emi_given(lists, "lists", err);
	for (i = 0; i < n && st == EM_OK; i++)
		if (lists[i] == NULL)
			st = emi_fail(err, EM_ERR_INVAL, "list %u is NULL", (unsigned)i);
	if (st == EM_OK)
		st = emi_given(order, "order", err);
	if (st == EM_OK && (flags & ~EM_BLOCKS_CONSUME) != 0)
		st = emi_fail(err, EM_ERR_INVAL, "flags 0x%x are not known here", (unsigned)flags);
	return st == EM_OK && stats != NULL ? EMI_STRUCT_CHECK(em_sort_stats, stats, err) : st;
}

static em_status sort_blocks(em_block_list **out, em_block_list *const *lists, uint32_t n, const em_order *order,
			     uint32_t flags, const em_sort_opts *opts, em_sort_stats *stats, em_errinfo *err)
{
	block_sort *s;
	em_status st;
	em_ctx *ctx;

	if (out != NULL)
		*out = NULL;
	emi_errinfo_clear(err);
	st = check_arguments(out, lists, n, order, flags, stats, err);
	if (st != EM_OK)
		return st;
	ctx = lists[0]->share.object.ctx;
	s = emi_alloc(ctx, sizeof *s, err);
	if (s == NULL)
		return err->status;
	s->list = lists;
	s->nlists = n;
	s->consumes = (flags & EM_BLOCKS_CONSUME) != 0;
	st = sort(s, order, opts, stats, err);
	if (st == EM_OK)
		*out = s->out;
	else
		em_block_list_close(s->out);
	emi_store_close(s->store);
	while (s->held > 0)
		emi_list_let(lists[--s->held]);
	emi_free_array(ctx, s->all, n, sizeof *s->all);
	emi_free(ctx, s, sizeof *s);
	return st;
}

em_status em_sort_blocks(em_block_list **out, em_block_list *const *lists, uint32_t n, const em_order *order,
			 uint32_t flags, const em_sort_opts *opts, em_sort_stats *stats)
{
	const emi_user watching = emi_job_user(opts);
	em_errinfo own;
	const em_status st = sort_blocks(out, lists, n, order, flags, opts, stats, emi_job_errinfo(opts, &own));

	emi_user_free(&watching);
	return st;
}
