/* SPDX-License-Identifier: BSL-1.0 */
/* plan_job.c -- see plan_job.h. */
#include "sort/plan_job.h"

#include <string.h>

#include "base/workers.h"
#include "block/packer.h"
#include "sort/plan_memory.h"
#include "sort/plan_vary.h"

#define LEAST_FROM ((uint64_t)64 << 10)
#define LEAST_STEP ((uint64_t)4 << 10)  /* how exactly the least memory is found */
#define FEW_THREADS 2u          /* so many sort records of one size in any memory, ... */
#define THREAD_SHARE ((uint64_t)320 << 10) /* ... and one more for so many bytes of it */
#define FEW_BLOCK ((size_t)64 << 10) /* bytes of a batch of few records */
#define FEWER_SHARE 8u          /* where so many threads do not fit, fewer by this part are tried */

/* Bytes that the context has left beside so many threads that are not there yet. */
static uint64_t left_over(const emi_job *job, uint32_t threads)
{
	const uint64_t used = em_ctx_memory_used(job->ctx) - job->lent + emi_workers_memory(job->ctx, threads),
		       all = em_ctx_memory(job->ctx);

	return used < all ? all - used : 0;
}

/* The memory that there is for a job with so many threads: the caller's share, a fair one, or what is left. */
static uint64_t job_memory(const emi_job *job, const emi_needs *needs, uint32_t threads)
{
	uint64_t memory = left_over(job, threads);

	if (job->opts.memory != 0)
		memory = job->opts.memory < memory ? job->opts.memory : memory;
	else if (needs->fair)
		memory = emi_fair_share(job->ctx, memory);
	/* In whole pages, so that what is rounded elsewhere is not the reason why there is a plan for less. */
	return memory / EMI_PAGE * EMI_PAGE;
}

/* The most threads that are worth having: what each needs to work with is to be a small part of the memory, too. */
static uint32_t most_threads(const emi_job *job, const emi_needs *needs)
{
	const uint64_t memory = emi_plan_memory(job, needs, job_memory(job, needs, 1));
	const uint64_t fed = job->by.vary != NULL ? emi_vary_threads(memory) : FEW_THREADS + memory / THREAD_SHARE;
	uint32_t most = emi_order_on_caller(job->by.order) ? 1 : emi_workers_fed(job->ctx, 0);

	if (needs->threads != 0 && needs->threads < most)
		most = needs->threads;
	return fed < most ? (uint32_t)fed : most;
}

/* Are runs compressed?  Sorts of records of one size are mostly short of the processor: there the caller must ask. */
static int packs(const emi_job *job)
{
	if (job->opts.compress == EM_COMPRESS_ALWAYS)
		return 2;
	return job->opts.compress == EM_COMPRESS_AUTO && job->by.vary != NULL && emi_packer_supported();
}

/* What a plan for so much memory and so many threads is made from. */
static void plan_input(emi_job *job, const emi_needs *wanted, uint64_t memory, uint32_t threads, int thrifty)
{
	emi_plan_input *in = &job->plan_input;
	emi_needs needs = *wanted;

	memset(in, 0, sizeof *in);
	in->memory = memory;
	if (job->by.vary != NULL)
		in->longest_record = emi_vary_longest_in(job, memory);
	if (needs.scale != NULL)
		needs.scale(&needs, job, memory, threads);
	in->n = needs.n;
	in->files_bytes = needs.files * emi_file_memory(job->ctx) + needs.later;
	/* The last record that went out, which the next one is compared with. */
	if ((job->flags & EM_SORT_UNIQUE) != 0)
		in->files_bytes += job->by.codec->record_bytes;
	in->scratch_bytes = emi_scratch_memory(job->ctx);
	in->disks = emi_scratch_disks(job->ctx);
	/* What the caller holds is gone from the context's memory, but counts in the sort's own share. */
	if (job->opts.memory != 0)
		in->files_bytes += needs.held + needs.open * emi_file_memory(job->ctx);
	in->threads = threads;
	in->pushed = needs.pushed;
	in->codec = job->by.codec;
	in->packs = packs(job);
	in->mixes = emi_collation_mixes(&job->by);
	in->run_records = job->opts.run_records;
	in->block_bytes = job->opts.block_bytes;
	in->usual_block = job->ctx->block_bytes;
	in->fan_in = job->opts.fan_in;
	in->read_buffers = job->opts.read_buffers;
	in->naive = job->opts.fetch == EM_FETCH_NAIVE;
	in->prefetch_buffers = job->opts.prefetch_buffers;
	in->write_buffers = job->opts.write_buffers;
	in->spare_blocks = needs.spare;
	in->form_blocks = needs.form;
	in->min_records = needs.have;
	if (job->by.vary != NULL)
		emi_plan_vary(job, &needs, thrifty);
	else if (needs.n == EMI_UNKNOWN && needs.bytes != EMI_UNKNOWN)
		in->expect_bytes = needs.bytes;
}

/* Is there a plan for so much memory and so many threads?  Then job->plan_input is for one. */
static int try_input(emi_job *job, const emi_needs *needs, uint64_t memory, uint32_t threads)
{
	/* A small input of records of any length makes do with little, if options do not ask for more. */
	plan_input(job, needs, memory, threads, 1);
	if (emi_plan_fits(&job->plan_input))
		return 1;
	if (job->plan_input.memory == memory)
		return 0;
	plan_input(job, needs, memory, threads, 0);
	return emi_plan_fits(&job->plan_input);
}

uint64_t emi_job_least(emi_job *job, const emi_needs *needs)
{
	const emi_plan_input kept = job->plan_input;
	uint64_t lo = 0, hi;

	/* What is needed beside the plan grows with the memory, so the whole of it is tried. */
	for (hi = LEAST_FROM; hi < UINT64_MAX / 4 && !try_input(job, needs, hi, 1); hi *= 2)
		lo = hi;
	while (hi - lo > LEAST_STEP) {
		const uint64_t middle = lo + (hi - lo) / 2;

		if (try_input(job, needs, middle, 1))
			hi = middle;
		else
			lo = middle;
	}
	job->plan_input = kept;
	return hi < UINT64_MAX / 4 ? hi : UINT64_MAX;
}

/* Not even one thread has a plan: have the memory raised to what does, or tell how much that is. */
static em_status too_little(emi_job *job, const emi_needs *needs, em_errinfo *err)
{
	const uint64_t memory = job_memory(job, needs, 1), used = em_ctx_memory_used(job->ctx) - job->lent,
		       all = em_ctx_memory(job->ctx);
	const uint64_t least = emi_job_least(job, needs);

	if (job->opts.memory != 0 && least <= (used < all ? all - used : 0))
		return emi_fail_memory(err, least, "%llu bytes of memory are too few for this sort",
				       (unsigned long long)memory);
	/* What a caller named is raised for what is needed in any case, and not for long records. */
	if (least < UINT64_MAX - used && (job->opts.memory == 0 || least <= job->opts.memory) &&
	    (job->line == 0 || !job->ctx->memory_given) && emi_plan_raise(job->ctx, least + used))
		return EM_OK;
	return emi_fail_memory(err, least < UINT64_MAX - used ? least + used : UINT64_MAX,
			       "%llu bytes of memory, of which %llu are in use, are too few for this sort",
			       (unsigned long long)all, (unsigned long long)used);
}

/* Is there a plan for so many threads?  In moderate memory if that does, and else in more. */
static int try_threads(emi_job *job, const emi_needs *needs, uint32_t threads, uint64_t *left)
{
	const uint64_t most = job_memory(job, needs, threads);
	uint64_t memory = emi_plan_memory(job, needs, most);

	while (!try_input(job, needs, memory, threads)) {
		if (memory == most)
			return 0;
		memory = memory > most / 2 ? most : 2 * memory;
	}
	*left = most - memory;
	return 1;
}

/* As many threads as there is a plan for; *left: the memory that it leaves.  Where there is none for a single one,
 * files do with one each, too. */
static int choose_threads(emi_job *job, const emi_needs *needs, uint64_t *left)
{
	uint32_t threads = most_threads(job, needs);

	while (!try_threads(job, needs, threads, left)) {
		if (threads == 1 && needs->fair)
			return 0;
		if (threads == 1) {
			emi_queues_limit(job->ctx, 1);
			return try_threads(job, needs, 1, left);
		}
		threads -= (threads + FEWER_SHARE - 1) / FEWER_SHARE;
	}
	return 1;
}

/* What cannot be is refused before anything is made of it. */
static em_status check_forced(emi_job *job, const emi_needs *needs, em_errinfo *err)
{
	plan_input(job, needs, job_memory(job, needs, 1), 1, 1);
	return emi_plan_check(&job->plan_input, err);
}

em_status emi_job_few_share(emi_job *job, const emi_needs *needs, uint64_t *share, em_errinfo *err)
{
	const em_status st = check_forced(job, needs, err);
	uint64_t memory;

	*share = 0;
	if (st != EM_OK || job->opts.run_records != 0)
		return st;
	emi_plan_price(job, needs);
	memory = emi_plan_memory(job, needs, job_memory(job, needs, 1));
	if (try_input(job, needs, memory, 1))
		*share = memory;
	return EM_OK;
}

emi_plan_input emi_job_merging(const emi_job *job)
{
	emi_plan_input in = job->plan_input;
	uint64_t i;

	for (i = 0; i < job->runs.n; i++)
		if (job->runs.run[i].longest > in.longest)
			in.longest = job->runs.run[i].longest;
	emi_plan_vary_merging(job, &in);
	return in;
}

void emi_job_few_plan(emi_job *job)
{
	const size_t bytes = job->by.codec->record_bytes;
	emi_plan *p = &job->plan;

	memset(p, 0, sizeof *p);
	p->memory = job->plan_input.memory;
	p->threads = p->tasks = 1;
	p->elem_arrays = emi_codec_in_place(job->by.codec) ? 1 : 2;
	p->block_bytes = FEW_BLOCK;
	p->block_records = bytes != 0 ? FEW_BLOCK / bytes : 0;
	if (bytes > FEW_BLOCK) {
		p->block_bytes = (bytes + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
		p->block_records = 1;
	}
}

em_status emi_job_plan(emi_job *job, const emi_needs *wanted, em_errinfo *err)
{
	emi_needs copy = *wanted;
	const emi_needs *needs = &copy;
	uint64_t left;
	em_status st = check_forced(job, needs, err);

	emi_plan_price(job, needs);
	while (st == EM_OK && !choose_threads(job, needs, &left)) {
		if (!copy.fair)
			st = too_little(job, needs, err);
		copy.fair = 0;
	}
	if (st != EM_OK)
		return st;
	if (job->shares)
		emi_sharers_leave(job->ctx);
	job->shares = 0;
	emi_plan_tell(job->ctx, em_ctx_memory(job->ctx));
	st = emi_plan_make(&job->plan, &job->plan_input, err);
	if (st == EM_OK && needs->once && job->by.vary != NULL)
		left -= emi_vary_beyond(job, left);
	if (st != EM_OK || job->plan.max_runs == 0)
		return st;
	emi_run_memory_init(&job->runs.memory, job->ctx, left, job->plan.block_bytes, emi_scratch_disks(job->ctx));
	job->runs.slack = job->plan.memory / EMI_SLACK_SHARE;
	return emi_runs_reserve(&job->runs, job->plan.max_runs, err);
}
