/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_files.c -- merging files that are sorted already.
 *
 * As many inputs as may be open at a time are merged straight to the output: each hands out windows of elements (presorted.h), which
 * the kernels merge on the calling thread, and what comes out is copied to the buffers that are written.
 *
 * More inputs than that are divided into groups of neighbours of nearly the same number.  The merge of a group is a run on the scratch
 * disk, made of blocks as the engine makes them, so that the engine does the rest.  Groups come in the order of the
 * inputs, and so do equal records.
 *
 * Memory: one half of it is for what all inputs need, the other for the records that are too long for that; a
 * record of any length may take a 32nd of all.  Should so many inputs have such records at a time that it is not enough, the merge is begun anew with
 * half as many inputs at a time, if what was read can be read again and what was written can be dropped.
 */
#include <extmem/sort.h>

#include <string.h>

#include "base/workers.h"
#include "sort/block_vary.h"
#include "sort/copier.h"
#include "sort/files.h"
#include "sort/merge_inputs.h"
#include "sort/plan_vary.h"
#include "sort/record_out.h"
#include "sort/room.h"
#include "sort/run_stage.h"
#include "stream/input.h"

#define CHUNK_LEAST ((size_t)4096)  /* or a record of one size, and ... */
#define CHUNK_GOOD ((size_t)16384)  /* ... four of them; less than this only so that FEW inputs fit */
#define CHUNK_MOST ((size_t)512 << 10)
#define FEW 16u

typedef struct merging {
	emi_engine e;
	const char *const *paths;
	uint32_t npaths;
	uint32_t streams;       /* of them standard input, which takes no descriptor */
	emi_sink *sink;
	emi_copier copier;
	emi_groups groups;      /* if there are any to be made */
	uint64_t header_bytes;  /* in front of what is merged */
	emi_presorted_opts opts;
	emi_merge_inputs inputs;
	emi_run_stage stage;
	int seen_stdin;
	uint32_t cap;           /* inputs at a time, at most; 0: as many as fit */
	uint32_t most;          /* and so many it became */
	uint64_t bytes;         /* of all inputs, or EMI_UNKNOWN */
	uint64_t memory;        /* that the merge may use; a plan for a small input uses less */
	uint64_t used;          /* memory of the context that was in use when the plan was made ... */
	uint64_t held;          /* ... and what of that is in the merge's share */
} merging;

static int varied(const merging *m)
{
	return emi_order_vary(m->e.job.order) != NULL;
}

static const emi_frame *frame_of(const emi_pair *elem)
{
	return (const emi_frame *)(uintptr_t)elem->val;
}

/* Records of any length to the output. */
static em_status put_frames(merging *m, const emi_pair *elem, size_t n, em_errinfo *err)
{
	/* Without keys they still lie where they were read, their delimiters behind them. */
	const int whole = m->e.job.format.kind == EM_FORMAT_DELIMITED && !emi_order_vary(m->e.job.order)->keyed;
	em_status st = EM_OK;
	size_t i;

	for (i = 0; st == EM_OK && i < n; i++) {
		const emi_frame *f = frame_of(&elem[i]);

		st = whole ? emi_copier_write(&m->copier, f->string, (size_t)f->bytes + 1, err)
			   : emi_record_out(&m->copier, f, err);
	}
	return st;
}

/* Records of one size to the output. */
static em_status put_records(merging *m, const void *elems, size_t n, em_errinfo *err)
{
	const emi_codec *codec = m->e.job.codec;
	const char *elem = elems;
	em_status st = EM_OK;

	if (codec->identity)
		return emi_copier_write(&m->copier, elems, n * codec->record_bytes, err);
	for (; st == EM_OK && n != 0; n--, elem += codec->elem_bytes)
		st = emi_elem_out(&m->copier, elem, err);
	return st;
}

/* Elements of the inputs to the output. */
static em_status put_output(void *arg, const void *elems, size_t n, em_errinfo *err)
{
	merging *m = arg;

	if (m->groups.opts != NULL)
		return emi_groups_elems(&m->groups, elems, n, err);
	m->e.job.records_out += n;
	return varied(m) ? put_frames(m, elems, n, err) : put_records(m, elems, n, err);
}

/* Elements of the inputs to a run. */
static em_status put_run(void *arg, const void *elems, size_t n, em_errinfo *err)
{
	const emi_pair *elem = elems;
	merging *m = arg;
	em_status st = EM_OK;
	size_t i;

	if (!varied(m))
		return emi_run_stage_put_elems(&m->stage, elems, n, err);
	for (i = 0; st == EM_OK && i < n; i++)
		st = emi_run_stage_put(&m->stage, frame_of(&elem[i]), err);
	return st;
}

static em_status to_copier(void *arg, const void *data, size_t n, em_errinfo *err)
{
	merging *m = arg;

	return emi_copier_write(&m->copier, data, n, err);
}

static int is_stdin(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* Merge k inputs from the first on. */
static em_status merge_some(merging *m, uint32_t first, uint32_t k, emi_put_elems put, em_errinfo *err)
{
	uint64_t header = first == 0 ? m->e.job.opts.header : 0;
	em_status st = EM_OK;
	uint32_t i;

	for (i = first; st == EM_OK && i < first + k; i++) {
		/* It can be read once; the second time it is at its end. */
		if (is_stdin(m->paths[i]) && m->seen_stdin)
			continue;
		m->seen_stdin |= is_stdin(m->paths[i]);
		st = emi_merge_inputs_add(&m->inputs, m->paths[i], err);
	}
	while (st == EM_OK && header-- != 0)
		st = emi_presorted_skip(&m->inputs.in[0], to_copier, m, err);
	return st == EM_OK || st == EM_END ? emi_merge_inputs_run(&m->inputs, put, m, err) : st;
}

/* Pull frames of the runs that are left, until EM_END. */
static em_status pull_frames(merging *m, em_errinfo *err)
{
	em_status st = emi_engine_pull_vary(&m->e, err);

	emi_room_give_back(&m->e.job);
	while (st == EM_OK) {
		const unsigned char *p;
		emi_frame f;

		st = emi_engine_pull_frame(&m->e, &p, err);
		if (st != EM_OK)
			break;
		f = emi_frame_get(emi_order_vary(m->e.job.order), p);
		st = m->groups.opts != NULL ? emi_groups_frame(&m->groups, &f, err) : emi_record_out(&m->copier, &f, err);
	}
	return st;
}

/* Likewise records of one size. */
static em_status pull_records(merging *m, em_errinfo *err)
{
	emi_engine *e = &m->e;
	em_status st = emi_engine_pull_begin(e, NULL, 0, err);

	emi_room_give_back(&e->job);
	if (st == EM_OK && (e->job.flags & EM_SORT_UNIQUE) != 0) {
		e->last_bytes = e->job.codec->record_bytes;
		e->last = emi_alloc(e->job.ctx, e->last_bytes, err);
		st = e->last != NULL ? EM_OK : err->status;
	}
	while (st == EM_OK) {
		const em_batch *batch;

		st = emi_engine_pull(e, &batch, err);
		if (st == EM_OK)
			st = m->groups.opts != NULL ? emi_groups_records(&m->groups, batch->records, batch->n, err)
						    : emi_copier_write(&m->copier, batch->records, batch->bytes, err);
	}
	return st;
}

/* Pull the records of the runs that are left, and copy them, or make groups of them. */
static em_status pull_all(merging *m, em_errinfo *err)
{
	em_status st = EM_END;

	if (m->e.job.nruns != 0)
		st = varied(m) ? pull_frames(m, err) : pull_records(m, err);
	if (st == EM_END)
		st = emi_groups_end(&m->groups, err);
	return st == EM_OK ? emi_copier_flush(&m->copier, err) : st;
}

static em_status put_sink(void *arg, emi_outblock *block, em_errinfo *err)
{
	merging *m = arg;

	return emi_sink_put(m->sink, &block->buf, err);
}

static size_t lead_sink(void *arg, uint64_t position)
{
	merging *m = arg;

	return emi_sink_lead(m->sink, m->header_bytes + position);
}

/* All runs are there. */
static em_status merge_runs(merging *m, em_errinfo *err)
{
	const emi_dest dest = { put_sink, lead_sink, m, 0, varied(m), NULL };
	emi_job *job = &m->e.job;
	em_status st = emi_engine_reduce(&m->e, err);

	if (st != EM_OK)
		return st;
	if ((job->flags & EM_SORT_UNIQUE) != 0 || m->groups.opts != NULL || !emi_sink_is_file(m->sink))
		return pull_all(m, err);
	st = emi_copier_flush(&m->copier, err);
	if (st != EM_OK)
		return st;
	m->header_bytes = m->copier.at;
	job->records_out = job->records_in;
	if (job->nruns == 0)
		return EM_OK;
	return emi_engine_merge_to(&m->e, &dest, err);
}

/* Merge groups of inputs into runs, and those. */
static em_status merge_groups(merging *m, uint32_t groups, em_errinfo *err)
{
	uint32_t i, first = 0;
	em_status st = EM_OK;

	for (i = 0; st == EM_OK && i < groups; i++) {
		const uint32_t k = m->npaths / groups + (i < m->npaths % groups);

		st = merge_some(m, first, k, put_run, err);
		if (st == EM_OK)
			st = emi_run_stage_end(&m->stage, err);
		first += k;
	}
	emi_run_stage_free(&m->stage);
	emi_merge_inputs_free(&m->inputs);
	return st == EM_OK ? merge_runs(m, err) : st;
}

/* Bytes of memory that are left for inputs, beside what is going to be needed for writing. */
static uint64_t memory_left(const merging *m, int runs)
{
	const emi_job *job = &m->e.job;
	const uint64_t all = m->memory;
	uint64_t used = em_ctx_memory_used(job->ctx) - m->used + m->held;

	used += emi_merge_inputs_memory(job, 1) + 2u * EMI_PAGE;
	if (varied(m) && m->groups.opts != NULL)
		used += emi_keeper_memory(job);
	if (runs) {
		used += ((uint64_t)job->plan.write_buffers + 1) * (job->plan.block_bytes + 2u * EMI_PAGE);
		used += 2u * EMI_DIR_BYTES;
		used += varied(m) ? emi_block_bytes(emi_vary_longest(job)) + EMI_PAGE : emi_keeper_memory(job);
		used += emi_scratch_memory(job->ctx, 0) + all / 64;
	}
	return used < all ? all - used : 0;
}

/* Bytes that an input takes. */
static uint64_t cost(const merging *m, size_t chunk_bytes)
{
	const emi_job *job = &m->e.job;
	emi_presorted_opts opts;

	emi_presorted_choose(job, chunk_bytes, &opts);
	return emi_presorted_memory(job, &opts) + emi_merge_inputs_memory(job, 3) - emi_merge_inputs_memory(job, 2);
}

/* Bytes of whole pages: of a chunk that is good with so many records of one size, if there are such records. */
static size_t chunk_of(const merging *m, size_t usual, size_t records)
{
	const size_t bytes = m->e.job.codec->record_bytes, most = SIZE_MAX / 8;

	if (varied(m) || bytes > most || bytes * records <= usual)
		return usual;
	return (bytes * records + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
}

/* Inputs that may be open at a time, as descriptors, the caller and memory permit. */
static uint32_t most_open(const merging *m, int runs, int *fds)
{
	const emi_job *job = &m->e.job;
	const uint32_t used = __atomic_load_n(&job->ctx->fds_used, __ATOMIC_RELAXED) + (runs ? emi_scratch_disks(job->ctx) : 0);
	const uint64_t share = memory_left(m, runs) / 2;
	uint64_t most = used < job->ctx->fds ? job->ctx->fds - used : 0, fit;

	most += m->streams;
	*fds = most < 2;
	if (job->opts.fan_in != 0 && most > job->opts.fan_in)
		most = job->opts.fan_in;
	if (m->cap != 0 && most > m->cap)
		most = m->cap;
	if (most > m->npaths)
		most = m->npaths;
	fit = share / cost(m, chunk_of(m, CHUNK_GOOD, 4));
	if (fit < most && fit < FEW) {
		fit = share / cost(m, chunk_of(m, CHUNK_LEAST, 1));
		fit = fit < FEW ? fit : FEW;
	}
	return (uint32_t)(fit < most ? fit : most);
}

/* Chunks as large as memory permits for k inputs. */
static size_t chunk_for(const merging *m, uint32_t k, int runs)
{
	const uint64_t share = memory_left(m, runs) / 2;
	const size_t least = chunk_of(m, CHUNK_LEAST, 1);
	size_t chunk;

	for (chunk = CHUNK_MOST; chunk > least && k * cost(m, chunk) > share; chunk /= 2)
		;
	return chunk > least ? chunk : least;
}

static em_status merge_all(merging *m, em_errinfo *err)
{
	emi_job *job = &m->e.job;
	int runs = 0, fds;
	uint32_t most = most_open(m, 0, &fds), groups;
	em_status st;

	if (most < m->npaths) {
		runs = 1;
		most = most_open(m, 1, &fds);
	}
	if (m->npaths > 1 && most < 2)
		return fds ? emi_fail(err, EM_ERR_FDLIMIT, "fewer than two inputs can be open at a time")
			   : emi_fail_memory(err, m->memory * 2, "%llu bytes of memory are too few for this merge",
					     (unsigned long long)m->memory);
	most = most != 0 ? most : 1;
	groups = (m->npaths - 1) / most + 1;
	most = (m->npaths - 1) / groups + 1;
	m->most = most;
	emi_presorted_choose(job, chunk_for(m, most, runs), &m->opts);
	st = emi_merge_inputs_init(&m->inputs, job, most, &m->opts, err);
	emi_watch_phase(&job->watch, runs ? EM_PHASE_RUNS : EM_PHASE_OUTPUT, m->bytes == EMI_UNKNOWN ? 0 : m->bytes);
	job->passes = 1;
	if (st == EM_OK && !runs) {
		st = merge_some(m, 0, m->npaths, put_output, err);
		if (st == EM_OK)
			st = emi_groups_end(&m->groups, err);
		return st == EM_OK ? emi_copier_flush(&m->copier, err) : st;
	}
	if (st == EM_OK)
		st = emi_outseq_init(&m->e.out, job, job->plan.write_buffers, job->plan.block_bytes, err);
	if (st == EM_OK)
		st = emi_run_stage_init(&m->stage, &m->e, err);
	return st == EM_OK ? merge_groups(m, groups, err) : st;
}

/* Bytes of the inputs, or EMI_UNKNOWN; whatever is wrong with one of them is told before anything is done. */
static em_status look(merging *m, em_errinfo *err)
{
	em_ctx *ctx = m->e.job.ctx;
	emi_inputs in;
	em_status st = emi_inputs_init(&in, ctx, m->paths, m->npaths, varied(m) ? 1 : m->e.job.codec->record_bytes, err);
	uint32_t i;

	if (st != EM_OK)
		return st;
	m->bytes = in.bytes;
	emi_inputs_free(&in, ctx);
	for (i = 0; i < m->npaths; i++)
		if (is_stdin(m->paths[i]))
			m->streams++;
	return EM_OK;
}

/* What the merge may use: all that the context has left, or a part of that, in which what it holds already counts. */
static void share_memory(merging *m, uint64_t held)
{
	const emi_job *job = &m->e.job;
	const uint64_t all = em_ctx_memory(job->ctx);

	m->used = em_ctx_memory_used(job->ctx);
	m->memory = m->used < all ? all - m->used : 0;
	if (job->opts.memory != 0 && job->opts.memory < m->memory) {
		m->memory = job->opts.memory;
		m->held = held;
	}
}

static em_status run(merging *m, const char *output, em_errinfo *err)
{
	emi_job *job = &m->e.job;
	em_status st = EM_OK;
	emi_needs needs;

	memset(&needs, 0, sizeof needs);
	/* Threads first: their stacks count, and the plan divides what is left. */
	if (em_ctx_threads(job->ctx) > 1 && m->npaths > 2)
		st = emi_workers_start(job->ctx, err);
	if (st == EM_OK)
		st = look(m, err);
	if (st == EM_OK)
		st = emi_sink_open(&m->sink, job->ctx, output, 0, &job->io, err);
	if (st != EM_OK)
		return st;
	needs.n = EMI_UNKNOWN;
	needs.bytes = m->bytes;
	needs.pushed = 1;
	needs.spare = EMI_COPIER_BUFFERS;
	/* The sink is open, and there are a few structs. */
	needs.held = (emi_sink_is_file(m->sink) ? emi_file_memory(job->ctx) : 0) + sizeof *m + 2u * EMI_PAGE;
	if (m->groups.opts != NULL && !varied(m))
		needs.held += emi_keeper_memory(job);
	share_memory(m, needs.held);
	st = emi_job_plan(job, &needs, err);
	if (st == EM_OK)
		st = emi_copier_init(&m->copier, job, m->sink, job->plan.block_bytes, err);
	if (st == EM_OK)
		st = merge_all(m, err);
	if (st == EM_OK)
		st = emi_sink_commit(m->sink, err);
	emi_watch_settle(&job->watch);
	return st;
}

/* Merge with up to cap inputs at a time (0: as many as fit).  *again: how many to try when that was too much, or 0. */
static em_status attempt(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs, const char *output,
			 const em_sort_opts *opts, em_sort_stats *stats, const emi_group_opts *groups, uint32_t cap, uint32_t *again,
			 em_errinfo *err)
{
	merging *m = emi_alloc(ctx, sizeof *m, err);
	em_status st;

	*again = 0;
	if (m == NULL)
		return err->status;
	m->paths = inputs;
	m->npaths = ninputs;
	m->cap = cap;
	st = emi_engine_open(&m->e, ctx, order, opts, err);
	if (st == EM_OK && groups != NULL)
		st = emi_groups_init(&m->groups, &m->e.job, groups, &m->copier, err);
	if (st == EM_OK) {
		m->e.job.out_extra = emi_record_extra(&m->e.job.format);
		st = run(m, output, err);
		if (stats != NULL)
			emi_job_stats(&m->e.job, stats);
	}
	if (st == EM_ERR_MEMLIMIT && m->most > 2 && m->bytes != EMI_UNKNOWN && m->streams == 0 && emi_sink_is_file(m->sink))
		*again = m->most / 2 > 2 ? m->most / 2 : 2;
	emi_run_stage_free(&m->stage);
	emi_merge_inputs_free(&m->inputs);
	emi_groups_free(&m->groups);
	/* Output buffers of the engine may be on their way to the sink: waiting for them comes first. */
	emi_merger_close(&m->e.merger);
	emi_outseq_free(&m->e.out);
	emi_copier_free(&m->copier);
	emi_sink_close(m->sink);
	emi_engine_close(&m->e);
	emi_free(ctx, m, sizeof *m);
	return st;
}

em_status emi_merge_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs, const char *output,
			  const em_sort_opts *opts, em_sort_stats *stats, const emi_group_opts *groups, em_errinfo *err)
{
	uint32_t again = 0;
	em_status st;

	do {
		memset(err, 0, sizeof *err);
		st = attempt(ctx, order, inputs, ninputs, output, opts, stats, groups, again, &again, err);
	} while (again != 0);
	return st;
}

em_status em_merge_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs, const char *output,
			 const em_sort_opts *opts, em_sort_stats *stats)
{
	em_errinfo own, *err = emi_job_errinfo(opts, &own);
	const em_status st = emi_files_check("em_merge_files", ctx, order, inputs, ninputs, output, stats, err);

	return st == EM_OK ? emi_merge_files(ctx, order, inputs, ninputs, output, opts, stats, NULL, err) : st;
}
