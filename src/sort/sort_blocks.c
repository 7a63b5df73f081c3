/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_blocks.c -- see sort_blocks.h.
 *
 * Blocks are read ahead into buffers of their own and pushed from there, as records do not lie one behind the other where a block has room left.  While
 * a run is sorted, the disks fill these buffers and write what was sorted before; that must last as long as a partition takes, in
 * which nothing else is there for them to do.  The last merge puts the blocks of the output, as it puts those of runs.
 */
#include "sort/sort_blocks.h"

#include <string.h>

#include <extmem/sys/placement.h>

#include "block/block_reader.h"
#include "sort/front.h"

#define AHEAD_SHARE 8u          /* this part of the memory is for reading ahead: twice what disks do while two threads partition the rest ... */
#define AHEAD_MOST 4u           /* ... or, where blocks are large, this part, ... */
#define AHEAD 2u                /* ... if each disk has no more than so many blocks on its way in then */
#define LIST_BYTES 48u          /* what each block takes in a list that grows */

typedef struct block_sort {
	emi_front f;
	emi_block_reader in;
	emi_block_list out;
	em_placement place;    /* of the blocks of out */
	size_t block_bytes;
	uint32_t ahead;         /* buffers of the reader */
} block_sort;

static em_status put_block(void *arg, emi_outblock *b, em_errinfo *err)
{
	block_sort *s = arg;
	emi_job *job = &s->f.e.job;
	em_bid bid;
	em_status st = emi_block_alloc_on(job->scratch, em_placement_disk(&s->place, s->out.blocks), s->block_bytes, &bid, err);

	if (st != EM_OK)
		return st;
	st = emi_block_list_add(&s->out, job->ctx, bid, err);
	if (st != EM_OK) {
		emi_block_free(job->scratch, bid, s->block_bytes);
		return st;
	}
	s->out.records += b->records;
	emi_block_write(job->scratch, &b->buf.rq, b->buf.base, s->block_bytes, bid, &job->io);
	return EM_OK;
}

/* Read the input to its end, and form runs of what does not fit. */
static em_status push_all(block_sort *s, em_errinfo *err)
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
			emi_watch_add(&job->watch, n * job->codec->record_bytes);
	}
	return st == EM_END ? EM_OK : st;
}

/* All was pushed; the buffers of the input are the merge's now. */
static em_status write_all(block_sort *s, em_errinfo *err)
{
	const emi_dest dest = { put_block, NULL, s, 0, 0, NULL };
	emi_engine *e = &s->f.e;
	em_status st;

	e->job.records_out = e->job.records_in;
	if (e->job.nruns == 0)
		return s->f.n != 0 ? emi_engine_sort_to(e, s->f.area, s->f.n, &dest, err) : EM_OK;
	emi_block_reader_close(&s->in);
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

/* Divide the memory: what the input is read into, and the list that is to be, beside the sort. */
static em_status plan(block_sort *s, const emi_block_list *in, em_errinfo *err)
{
	emi_job *job = &s->f.e.job;
	emi_needs needs;

	s->ahead = blocks_ahead(in->blocks, emi_job_memory(job) / s->block_bytes, emi_scratch_disks(job->ctx));
	memset(&needs, 0, sizeof needs);
	needs.n = in->records;
	needs.pushed = 1;
	needs.spare = 1 + (uint32_t)(in->blocks * LIST_BYTES / s->block_bytes);
	needs.form = s->ahead;
	needs.held = sizeof *s;
	return emi_job_plan(job, &needs, err);
}

static em_status check(const block_sort *s, const em_order *order, em_errinfo *err)
{
	const em_sort_opts *opts = &s->f.e.job.opts;

	if (emi_order_vary(order) != NULL)
		return emi_fail(err, EM_ERR_INVAL, "lists of blocks are of records of one size, and the order of any length");
	if ((opts->flags & EM_SORT_UNIQUE) != 0)
		return emi_fail(err, EM_ERR_NOTSUP, "a sort of blocks keeps equal records");
	if (opts->block_bytes != 0 && opts->block_bytes != s->block_bytes)
		return emi_fail(err, EM_ERR_INVAL, "block size %llu, and the list has blocks of %llu", (unsigned long long)opts->block_bytes,
				(unsigned long long)s->block_bytes);
	return EM_OK;
}

static em_status run(block_sort *s, const emi_block_list *in, int frees, em_errinfo *err)
{
	emi_job *job = &s->f.e.job;
	em_status st = EM_OK;

	job->opts.block_bytes = s->block_bytes;
	job->reuses = 1;
	/* Threads first: their stacks count, and the plan divides what is left. */
	if (em_ctx_threads(job->ctx) > 1)
		st = emi_workers_start(job->ctx, err);
	if (st == EM_OK)
		st = plan(s, in, err);
	if (st == EM_OK)
		st = emi_job_scratch(job, err);
	if (st != EM_OK)
		return st;
	em_placement_init(&s->place, EM_PLACE_STRIPING, emi_disk_count(job->scratch), 0, 0, 0);
	emi_watch_phase(&job->watch, EM_PHASE_RUNS, in->records * job->codec->record_bytes);
	st = emi_block_reader_open(&s->in, job->ctx, job->scratch, s->block_bytes, job->codec->record_bytes, s->ahead, in, EMI_FORWARD, frees,
				   &job->io, err);
	if (st == EM_OK)
		st = emi_front_prepare(&s->f, err);
	if (st == EM_OK)
		st = push_all(s, err);
	if (st == EM_OK)
		st = write_all(s, err);
	emi_watch_settle(&job->watch);
	return st;
}

/* What is under way ends before blocks of the list are freed. */
static void finish(block_sort *s, em_status st, emi_block_list *out)
{
	emi_job *job = &s->f.e.job;

	emi_block_reader_close(&s->in);
	emi_merger_close(&s->f.e.merger);
	emi_outseq_free(&s->f.e.out);
	if (st == EM_OK) {
		*out = s->out;
	} else {
		emi_block_list_free_blocks(&s->out, job->scratch, s->block_bytes, 0, s->out.blocks);
		emi_block_list_release(&s->out, job->ctx);
	}
	emi_front_close(&s->f);
}

em_status emi_sort_blocks(em_ctx *ctx, const em_order *order, const emi_block_list *in, size_t block_bytes, int frees, const em_sort_opts *opts,
			  emi_block_list *out, em_sort_stats *stats, em_errinfo *err)
{
	block_sort *s = emi_alloc(ctx, sizeof *s, err);
	em_status st;

	memset(out, 0, sizeof *out);
	if (s == NULL)
		return err->status;
	s->block_bytes = block_bytes;
	st = emi_engine_open(&s->f.e, ctx, order, opts, err);
	if (st == EM_OK) {
		st = check(s, order, err);
		if (st == EM_OK && in->records != 0)
			st = run(s, in, frees, err);
		if (stats != NULL)
			emi_job_stats(&s->f.e.job, stats);
		finish(s, st, out);
	}
	emi_free(ctx, s, sizeof *s);
	return st;
}
