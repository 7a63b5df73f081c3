/* SPDX-License-Identifier: BSL-1.0 */
/* job.c -- see job.h. */
#include "sort/job.h"

#include <stddef.h>
#include <string.h>

#include "base/workers.h"
#include "block/packer.h"
#include "sort/phase_stats.h"
#include "sort/plan_memory.h"
#include "sort/plan_vary.h"
#include "stream/records.h"

#define LEAST_FROM ((uint64_t)64 << 10)
#define LEAST_STEP ((uint64_t)4 << 10)  /* how exactly the least memory is found */
#define FEW_THREADS 2u          /* so many sort records of one size in any memory, ... */
#define THREAD_SHARE ((uint64_t)320 << 10) /* ... and one more for so many bytes of it */
#define FEWER_SHARE 8u          /* where so many threads do not fit, fewer by this part are tried */

/* A caller's comparison runs for as long as it likes, so this is where a sort by one is watched and stopped. */
static int tick(void *arg)
{
	emi_job *job = arg;

	return emi_tick(&job->watch) != EM_OK;
}

static em_status check_opts(const em_sort_opts *o, em_errinfo *err)
{
	if ((o->flags & ~(EM_SORT_STABLE | EM_SORT_UNIQUE)) != 0)
		return emi_fail(err, EM_ERR_INVAL, "unknown flags 0x%x of a sort", (unsigned)o->flags);
	if (o->compress > EM_COMPRESS_ALWAYS)
		return emi_fail(err, EM_ERR_INVAL, "unknown way %u to compress runs", (unsigned)o->compress);
	if (o->fetch > EM_FETCH_NAIVE)
		return emi_fail(err, EM_ERR_INVAL, "unknown order %u of fetching", (unsigned)o->fetch);
	if (o->place > EM_PLACE_RUNS_STRIPING)
		return emi_fail(err, EM_ERR_INVAL, "unknown placement %u of runs", (unsigned)o->place);
	if (o->last_run > EM_LAST_RUN_KEPT)
		return emi_fail(err, EM_ERR_INVAL, "unknown place %u for the last run", (unsigned)o->last_run);
	if (o->compress == EM_COMPRESS_ALWAYS && !emi_packer_supported())
		return emi_fail(err, EM_ERR_NOTSUP, "runs cannot be compressed: the library was built without LZ4");
	return EM_OK;
}

static em_status check_format(emi_job *job, em_errinfo *err)
{
	const em_format lines = EM_FORMAT_INIT;
	em_format *f = &job->format;
	em_status st;

	*f = lines;
	if (job->opts.format == NULL && job->opts.header == 0)
		return EM_OK;
	if (emi_order_vary(job->order) == NULL)
		return emi_fail(err, EM_ERR_INVAL, "a format or a header of records that have one size");
	if (job->opts.format == NULL)
		return EM_OK;
	st = EMI_STRUCT_TAKE(em_format, f, job->opts.format, err);
	return st == EM_OK ? emi_format_check(f, err) : st;
}

em_errinfo *emi_job_errinfo(const em_sort_opts *opts, em_errinfo *own)
{
	em_errinfo *theirs = EMI_ERRINFO_OF(em_sort_opts, opts);

	return theirs != NULL ? theirs : own;
}

void emi_job_compare(emi_job *job)
{
	emi_comparing_init(&job->by, job->order, tick, job);
}

em_status emi_job_open(emi_job *job, em_ctx *ctx, const em_order *order, const em_sort_opts *opts, em_errinfo *err)
{
	em_status st;

	memset(job, 0, sizeof *job);
	if (ctx == NULL || order == NULL)
		return emi_fail(err, EM_ERR_INVAL, "%s is NULL", ctx == NULL ? "context" : "order");
	st = emi_ctx_check(ctx, err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_sort_opts, &job->opts, opts, err);
	if (st == EM_OK)
		st = check_opts(&job->opts, err);
	if (st == EM_OK && emi_order_ctx(order) != ctx)
		st = emi_fail(err, EM_ERR_INVAL, "the order belongs to another context");
	if (st != EM_OK)
		return st;
	job->order = (em_order *)(uintptr_t)order;
	job->codec = emi_order_codec(order);
	job->own = emi_order_own(order);
	if (job->own == NULL)
		job->kern = emi_kernels_for(job->codec->elem, ctx->isa);
	if (job->own == NULL && job->kern == NULL)
		return emi_fail(err, EM_ERR_NOTSUP, "no kernels for instruction set %s", ctx->isa);
	job->flags = job->opts.flags;
	st = check_format(job, err);
	if (st != EM_OK)
		return st;
	emi_job_compare(job);
	emi_codes_init(&job->codes, order);
	job->key_failures = emi_order_key_failures(order);
	emi_watch_init(&job->watch, job->opts.progress, job->opts.progress_user, &job->io);
	job->ctx = ctx;
	emi_ctx_ref(ctx);
	emi_order_ref(job->order);
	return EM_OK;
}

/* The memory that there is for a job with so many threads: the caller's share, or what the context has left beside
 * those that are not there yet. */
static uint64_t job_memory(const emi_job *job, uint32_t threads)
{
	const uint64_t used = em_ctx_memory_used(job->ctx) + emi_workers_memory(job->ctx, threads),
		       all = em_ctx_memory(job->ctx);
	const uint64_t left = used < all ? all - used : 0;

	/* In whole pages, so that what is rounded elsewhere is not the reason why there is a plan for less. */
	return (job->opts.memory != 0 && job->opts.memory < left ? job->opts.memory : left) / EMI_PAGE * EMI_PAGE;
}

/* The most threads that are worth having: what each needs to work with is to be a small part of the memory, too. */
static uint32_t most_threads(const emi_job *job, const emi_needs *needs)
{
	const uint64_t memory = emi_plan_memory(job, needs, job_memory(job, 1));
	const uint64_t fed = emi_order_vary(job->order) != NULL ? emi_vary_threads(memory)
								: FEW_THREADS + memory / THREAD_SHARE;
	uint32_t most = emi_order_on_caller(job->order) ? 1 : emi_workers_fed(job->ctx, 0);

	if (needs->threads != 0 && needs->threads < most)
		most = needs->threads;
	return fed < most ? (uint32_t)fed : most;
}

/* Are runs compressed?  Sorts of records of one size are mostly short of the processor: there the caller must ask for it. */
static int packs(const emi_job *job)
{
	if (job->opts.compress == EM_COMPRESS_ALWAYS)
		return 2;
	return job->opts.compress == EM_COMPRESS_AUTO && emi_order_vary(job->order) != NULL && emi_packer_supported();
}

/* What a plan for so much memory and so many threads is made from. */
static void plan_input(emi_job *job, const emi_needs *wanted, uint64_t memory, uint32_t threads, int thrifty)
{
	emi_plan_input *in = &job->plan_input;
	emi_needs needs = *wanted;

	memset(in, 0, sizeof *in);
	in->memory = memory;
	if (emi_order_vary(job->order) != NULL)
		in->longest_record = emi_vary_longest_in(job, memory);
	if (needs.scale != NULL)
		needs.scale(&needs, job, memory, threads);
	in->n = needs.n;
	in->files_bytes = needs.files * emi_file_memory(job->ctx) + needs.later;
	/* The last record that went out, which the next one is compared with. */
	if ((job->flags & EM_SORT_UNIQUE) != 0)
		in->files_bytes += job->codec->record_bytes;
	in->scratch_bytes = emi_scratch_memory(job->ctx, 0);
	in->disks = emi_scratch_disks(job->ctx);
	/* What the caller holds is gone from the context's memory, but counts in the sort's own share. */
	if (job->opts.memory != 0)
		in->files_bytes += needs.held + needs.open * emi_file_memory(job->ctx);
	in->threads = threads;
	in->pushed = needs.pushed;
	in->codec = job->codec;
	in->packs = packs(job);
	in->mixes = emi_codec_in_place(job->codec) &&
		    (job->own != NULL ? job->own->mix != NULL : job->by.tie.fn == NULL);
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
	if (emi_order_vary(job->order) != NULL)
		emi_plan_vary(job, &needs, thrifty);
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

/* Tell what the context's memory is now, in place of what it was, or of what the caller named if that was never
 * told. */
static void tell_memory(emi_job *job, uint64_t was)
{
	const uint64_t named = __atomic_exchange_n(&job->ctx->memory_named, 0, __ATOMIC_RELAXED);

	if (named != 0)
		was = named;
	if (was < em_ctx_memory(job->ctx))
		emi_log(job->ctx, job->ctx->memory_given ? EM_LOG_WARN : EM_LOG_DEBUG,
			"memory of %llu bytes is too little for this sort: it is %llu bytes", (unsigned long long)was,
			(unsigned long long)em_ctx_memory(job->ctx));
}

/* Have the context's memory raised to so many bytes, if it is less and that is allowed. */
static int raise_memory(emi_job *job, uint64_t bytes)
{
	const uint64_t all = em_ctx_memory(job->ctx);

	if (bytes <= all || !emi_memory_raise(job->ctx, bytes))
		return 0;
	tell_memory(job, all);
	return 1;
}

/* Not even one thread has a plan: have the memory raised to what does, or tell how much that is. */
static em_status too_little(emi_job *job, const emi_needs *needs, em_errinfo *err)
{
	const uint64_t memory = job_memory(job, 1), used = em_ctx_memory_used(job->ctx), all = em_ctx_memory(job->ctx);
	const uint64_t least = emi_job_least(job, needs);

	if (job->opts.memory != 0 && least <= (used < all ? all - used : 0))
		return emi_fail_memory(err, least, "%llu bytes of memory are too few for this sort",
				       (unsigned long long)memory);
	/* What a caller named is raised for what is needed in any case, and not for long records. */
	if (least < UINT64_MAX - used && (job->opts.memory == 0 || least <= job->opts.memory) &&
	    (job->line == 0 || !job->ctx->memory_given) && raise_memory(job, least + used))
		return EM_OK;
	return emi_fail_memory(err, least < UINT64_MAX - used ? least + used : UINT64_MAX,
			       "%llu bytes of memory, of which %llu are in use, are too few for this sort",
			       (unsigned long long)all, (unsigned long long)used);
}

/* Is there a plan for so many threads?  In moderate memory if that does, and else in more. */
static int try_threads(emi_job *job, const emi_needs *needs, uint32_t threads, uint64_t *left)
{
	const uint64_t most = job_memory(job, threads);
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
		if (threads == 1) {
			emi_queues_limit(job->ctx, 1);
			return try_threads(job, needs, 1, left);
		}
		threads -= (threads + FEWER_SHARE - 1) / FEWER_SHARE;
	}
	return 1;
}

em_status emi_job_plan(emi_job *job, const emi_needs *needs, em_errinfo *err)
{
	uint64_t left;
	em_status st;

	/* What cannot be is refused before anything is made of it. */
	plan_input(job, needs, job_memory(job, 1), 1, 1);
	st = emi_plan_check(&job->plan_input, err);
	if (st != EM_OK)
		return st;
	while (st == EM_OK && !choose_threads(job, needs, &left))
		st = too_little(job, needs, err);
	if (st != EM_OK)
		return st;
	tell_memory(job, em_ctx_memory(job->ctx));
	st = emi_plan_make(&job->plan, &job->plan_input, err);
	if (st == EM_OK && needs->once && emi_order_vary(job->order) != NULL)
		left -= emi_vary_beyond(job, left);
	if (st != EM_OK || job->plan.max_runs == 0)
		return st;
	emi_run_memory_init(&job->memory, job->ctx, left, job->plan.block_bytes, emi_scratch_disks(job->ctx));
	job->run = emi_alloc_array(job->ctx, job->plan.max_runs, sizeof *job->run, err);
	if (job->run == NULL)
		return err->status;
	job->runs_room = job->plan.max_runs;
	return EM_OK;
}

em_status emi_job_scratch(emi_job *job, em_errinfo *err)
{
	em_status st;

	if (job->scratch != NULL)
		return EM_OK;
	st = emi_scratch_acquire(job->ctx, &job->scratch, err);
	if (st == EM_OK)
		st = emi_disk_account(job->scratch, err);
	if (st == EM_OK)
		emi_disk_slack(job->scratch, job->plan.memory / EMI_SLACK_SHARE);
	if (st == EM_OK && job->expected != 0)
		emi_disk_expect(job->scratch, job->expected);
	return st;
}

void emi_job_count_run(emi_job *job, uint64_t records)
{
	job->runs_formed++;
	if (records > job->longest_run)
		job->longest_run = records;
}

em_status emi_job_more_runs(emi_job *job, em_errinfo *err)
{
	const uint64_t room = 2 * job->runs_room, before = em_ctx_memory(job->ctx);
	emi_run *run;

	/* Merges are to have what the list takes away, where there may be more. */
	if (raise_memory(job, em_ctx_memory_used(job->ctx) + room * sizeof *run))
		job->plan.memory += em_ctx_memory(job->ctx) - before;
	run = emi_alloc_array(job->ctx, room, sizeof *run, err);
	if (run == NULL)
		return err->status;
	memcpy(run, job->run, (size_t)job->nruns * sizeof *run);
	emi_free_array(job->ctx, job->run, job->runs_room, sizeof *run);
	job->run = run;
	job->runs_room = job->plan.max_runs = room;
	return EM_OK;
}

em_status emi_job_add_run(emi_job *job, const emi_run *run, uint64_t records, em_errinfo *err)
{
	em_errinfo none = { 0 };

	if (job->nruns == job->runs_room && emi_job_more_runs(job, &none) != EM_OK)
		return emi_fail_memory(err, job->plan.memory * 2,
				       "the input has more than %llu runs of %llu records: give the sort more memory",
				       (unsigned long long)job->runs_room,
				       (unsigned long long)job->plan.run_records);
	job->run[job->nruns++] = *run;
	emi_job_count_run(job, records);
	return EM_OK;
}

em_status emi_job_check(emi_job *job, em_errinfo *err)
{
	em_status st = emi_ctx_check(job->ctx, err);

	if (st != EM_OK)
		return st;
	if (emi_comparing_failed(&job->by))
		return emi_fail(err, EM_ERR_USER, "the comparison function reported an error");
	if (emi_order_key_failures(job->order) != job->key_failures)
		return emi_fail(err, EM_ERR_USER, "the function that computes keys reported an error");
	if (emi_tick(&job->watch) != EM_OK)
		return emi_fail(err, EM_ERR_CANCELED, "canceled");
	return EM_OK;
}

em_status emi_job_result(emi_job *job, em_status status)
{
	if (job->status == EM_OK && status < 0) {
		job->status = status;
		if (job->err.status == EM_OK)
			emi_fail(&job->err, status, "%s", em_status_text(status));
	}
	return job->status != EM_OK ? job->status : status;
}

void emi_job_stats(const emi_job *job, em_sort_stats *stats)
{
	em_sort_stats full = EM_SORT_STATS_INIT;
	emi_watch now = job->watch;

	emi_watch_settle(&now);
	full.passes = job->passes;
	full.records_in = job->records_in;
	full.records_out = job->records_out;
	full.runs = job->runs_formed;
	full.run_records = job->longest_run;
	full.block_bytes = job->plan.block_bytes;
	full.fan_in = job->widest_merge;
	full.threads = job->plan.threads;
	full.peak_memory = em_ctx_memory_peak(job->ctx);
	full.peak_scratch = job->scratch != NULL ? emi_disk_peak(job->scratch) : job->peak_scratch;
	full.peak_scratch_held = job->scratch != NULL ? emi_disk_held_peak(job->scratch) : 0;
	full.kept_records = job->kept_records;
	full.packed_from = job->packed_from;
	full.packed_to = job->packed_to;
	full.memory_bytes = job->memory.kept;
	emi_phases_put(&full, now.stats, EMI_PHASES);
	(void)EMI_STRUCT_GIVE(em_sort_stats, stats, &full);
}

void emi_job_close(emi_job *job)
{
	if (job->ctx == NULL)
		return;
	if (job->run != NULL)
		emi_free_array(job->ctx, job->run, job->runs_room, sizeof *job->run);
	emi_run_memory_free(&job->memory);
	if (job->gives)
		emi_disk_keep(job->scratch);
	if (job->scratch != NULL) {
		if (job->expected != 0)
			emi_disk_expect(job->scratch, 0);
		/* A sort that failed leaves runs. */
		emi_disk_abandon(job->scratch);
		emi_scratch_release(job->ctx, job->scratch);
	}
	em_order_close(job->order);
	emi_ctx_unref(job->ctx);
	memset(job, 0, sizeof *job);
}
