/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_files.c -- merging files that are sorted already.
 *
 * As many inputs as may be open at a time are merged straight to the output: each hands out windows of elements
 * (presorted.h), which the kernels merge on the calling thread, and what comes out is copied to the buffers that are
 * written.  Where files can be divided, and there are several threads, each does so with parts of the range of keys
 * (merge_parts.h).
 *
 * More inputs than that are divided into groups of neighbours of nearly the same number.  The merge of a group is a run
 * on the scratch disk, made of blocks as the engine makes them, so that the engine does the rest.  Groups come in the
 * order of the inputs, and so do equal records.
 *
 * One process may feed several inputs that are pipes.  So all inputs that are merged at a time are open before the
 * first is waited for, and of a pipe what is there is taken.
 *
 * Memory: one half of it is for what all inputs need, the other for the records that are too long for that; a
 * record of any length may take a 32nd of all.  Should so many inputs have such records at a time that it is not
 * enough, the merge is begun anew with half as many inputs at a time, if what was read can be read again and what was
 * written can be dropped.  Likewise, when a merge in parts meets what one thread would tell better, or has the memory
 * for, that one begins anew.
 */
#include <extmem/sort.h>

#include <string.h>

#include "base/workers.h"
#include "sort/block_vary.h"
#include "sort/copier.h"
#include "sort/engine.h"
#include "sort/files.h"
#include "sort/header.h"
#include "sort/merge_inputs.h"
#include "sort/merge_parts.h"
#include "sort/merge_split.h"
#include "sort/plan_job.h"
#include "sort/plan_vary.h"
#include "sort/record_out.h"
#include "sort/room.h"
#include "sort/run_append.h"
#include "sort/trial.h"
#include "stream/input.h"

#define CHUNK_LEAST ((size_t)4096)  /* or a record of one size, and ... */
#define CHUNK_GOOD ((size_t)16384)  /* ... four of them; less than this only so that FEW inputs fit */
#define CHUNK_MOST ((size_t)512 << 10)
#define CHUNK_PART ((size_t)32768) /* or four records, of an input in a part: with less than that, one thread does it */
#define HELD_MOST ((uint64_t)64 << 20) /* of what comes out of a part that waits for its turn */
#define TURN_FILE ((uint64_t)512 << 10) /* of a file that is cut into such parts, in each */
#define TURN_MOST 4u            /* times what can be held may such a part be */
#define FEW 16u
#define FEWEST 2u

typedef struct merging {
	emi_engine e;
	const char *const *paths;
	uint32_t npaths;
	uint32_t streams;       /* of them standard input, which takes no descriptor */
	uint32_t files;         /* of them regular files, which take memory for requests */
	emi_sink *sink;
	emi_copier copier;
	emi_groups groups;      /* if there are any to be made */
	emi_header header;
	uint64_t header_bytes;  /* in front of what is merged */
	emi_presorted_opts opts;
	emi_merge_inputs inputs;
	emi_run_append append;
	int seen_stdin;         /* it is an input, ... */
	uint32_t first_stdin;   /* ... first as this one */
	uint32_t cap;           /* inputs at a time, at most; 0: as many as fit */
	uint32_t most;          /* and so many it became */
	int alone;              /* it is not to be done in parts */
	int parts;              /* it was */
	int only_plan;          /* see trial.h */
	uint64_t bytes;         /* of all inputs, or EMI_UNKNOWN */
	uint64_t memory;        /* that the merge may use; a plan for a small input uses less */
	uint64_t used;          /* memory of the context that was in use when the plan was made ... */
	uint64_t held;          /* ... and what of that is in the merge's share */
} merging;

static int varied(const merging *m)
{
	return m->e.job.by.vary != NULL;
}

static const emi_frame *frame_of(const emi_pair *elem)
{
	return (const emi_frame *)(uintptr_t)elem->val;
}

/* Elements of the inputs to the output. */
static em_status put_output(void *arg, const void *elems, size_t n, em_errinfo *err)
{
	merging *m = arg;

	if (m->groups.opts != NULL)
		return emi_groups_elems(&m->groups, elems, n, err);
	m->e.job.records_out += n;
	return emi_elems_out(&m->copier, elems, n, err);
}

/* Elements of the inputs to a run. */
static em_status put_run(void *arg, const void *elems, size_t n, em_errinfo *err)
{
	const emi_pair *elem = elems;
	merging *m = arg;
	em_status st = EM_OK;
	size_t i;

	if (!varied(m))
		return emi_run_append_elems(&m->append, elems, n, err);
	for (i = 0; st == EM_OK && i < n; i++)
		st = emi_run_append_frame(&m->append, frame_of(&elem[i]), err);
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

/* Standard input can be read once; the second time it is at its end. */
static int is_again(merging *m, uint32_t i)
{
	if (!is_stdin(m->paths[i]))
		return 0;
	if (!m->seen_stdin)
		m->first_stdin = i;
	m->seen_stdin = 1;
	return m->first_stdin != i;
}

/* Merge k inputs from the first on.  All are open before anything is waited for, as one process may feed them. */
static em_status merge_some(merging *m, uint32_t first, uint32_t k, emi_put_elems put, em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t i, at = 0;

	for (i = first; st == EM_OK && i < first + k; i++)
		if (!is_again(m, i))
			st = emi_merge_inputs_add(&m->inputs, m->paths[i], NULL, err);
	for (i = first; st == EM_OK && i < first + k; i++)
		if (!is_again(m, i))
			st = emi_presorted_header(&m->inputs.in[at++], &m->header, i, err);
	return st == EM_OK ? emi_merge_inputs_run(&m->inputs, put, m, err) : st;
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
		f = emi_frame_get(m->e.job.by.vary, p);
		st = m->groups.opts != NULL ? emi_groups_frame(&m->groups, &f, err)
					    : emi_record_out(&m->copier, &f, err);
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
		e->last_bytes = e->job.by.codec->record_bytes;
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

	if (m->e.job.runs.n != 0)
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
	if (job->runs.n == 0)
		return EM_OK;
	return emi_engine_merge_to(&m->e, &dest, err);
}

/* A group is merged; if it had no records, there is no run. */
static em_status end_run(merging *m, em_errinfo *err)
{
	emi_run run;
	const em_status st = emi_run_append_end(&m->append, &run, err);

	return st == EM_OK && run.blocks != 0 ? emi_job_add_run(&m->e.job, &run, m->e.writer.records, err) : st;
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
			st = end_run(m, err);
		first += k;
	}
	emi_run_append_free(&m->append);
	emi_merge_inputs_free(&m->inputs);
	return st == EM_OK ? merge_runs(m, err) : st;
}

/* Bytes of memory that are left for inputs, beside what is going to be needed for writing. */
static uint64_t memory_left(const merging *m, int runs)
{
	const emi_job *job = &m->e.job;
	const uint64_t all = m->memory, longest = emi_longest_record(job);
	uint64_t used = em_ctx_memory_used(job->ctx) - m->used + m->held;

	used += emi_merge_inputs_memory(job, 1) + 2u * EMI_PAGE;
	if (m->groups.opts != NULL)
		used += emi_keeper_memory(longest);
	if (runs) {
		used += ((uint64_t)job->plan.write_buffers + 1) * (job->plan.block_bytes + 2u * EMI_PAGE);
		used += 2u * EMI_DIR_BYTES;
		used += varied(m) ? emi_block_bytes(longest) + EMI_PAGE : emi_keeper_memory(longest);
		used += emi_scratch_memory(job->ctx) + all / 64;
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

/* Inputs with such chunks that have room in a share of memory. */
static uint64_t fitting(const merging *m, size_t chunk_bytes, uint64_t share)
{
	const uint64_t each = cost(m, chunk_bytes), spared = (m->npaths - m->files) * emi_file_memory(m->e.job.ctx);

	return m->npaths * each - spared <= share ? m->npaths : share / each;
}

/* Bytes of whole pages: of a chunk that is good with so many records of one size, if there are such records. */
static size_t chunk_of(const merging *m, size_t usual, size_t records)
{
	const size_t bytes = m->e.job.by.codec->record_bytes, most = SIZE_MAX / 8;

	if (varied(m) || bytes > most || bytes * records <= usual)
		return usual;
	return (bytes * records + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
}

/* Inputs that may be open at a time, as descriptors, the caller and memory permit. */
static uint32_t most_open(const merging *m, int runs, int *fds)
{
	const emi_job *job = &m->e.job;
	const uint32_t used =
		__atomic_load_n(&job->ctx->fds_used, __ATOMIC_RELAXED) + (runs ? emi_scratch_disks(job->ctx) : 0);
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
	fit = fitting(m, chunk_of(m, CHUNK_GOOD, 4), share);
	if (fit < most && fit < FEW) {
		fit = fitting(m, chunk_of(m, CHUNK_LEAST, 1), share);
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

	for (chunk = CHUNK_MOST; chunk > least && fitting(m, chunk, share) < k; chunk /= 2)
		;
	return chunk > least ? chunk : least;
}

/* Nobody knows beforehand how much comes out of a part. */
static int drops(const merging *m)
{
	return m->groups.opts != NULL || (m->e.job.flags & EM_SORT_UNIQUE) != 0;
}

/* Can parts of the files be found, and be merged apart from each other? */
static int divisible(const merging *m)
{
	const emi_job *job = &m->e.job;

	return !m->alone && m->e.job.plan.threads > 1 && m->streams == 0 && m->bytes != EMI_UNKNOWN &&
	       emi_sink_is_file(m->sink) && job->opts.header == 0 &&
	       (!varied(m) || job->format.kind == EM_FORMAT_DELIMITED) && m->bytes / m->npaths >= EMI_SPLIT_FILE;
}

/* Do so many threads have memory and descriptors for their inputs and for what comes out?  Then o is complete but for
 * the parts that take turns. */
static int choose_buffers(const merging *m, uint32_t n, emi_parts_opts *o)
{
	const emi_job *job = &m->e.job;
	const uint64_t share = memory_left(m, 0) / 2,
		       fds = (uint64_t)__atomic_load_n(&job->ctx->fds_used, __ATOMIC_RELAXED);
	const uint64_t inputs = (uint64_t)n * m->npaths,
		       rest = emi_merge_parts_memory(job, m->npaths, n, drops(m) ? EMI_SPLIT_MOST : n);
	/* What is held is to have half of it, if chunks need not be small for that. */
	const uint64_t most = drops(m) ? share / 2 : share;
	const size_t least = chunk_of(m, CHUNK_PART, 4);
	size_t chunk = CHUNK_MOST > least ? CHUNK_MOST : least;
	uint64_t used;

	while (chunk > least && rest + inputs * cost(m, chunk) > most)
		chunk = chunk / 2 > least ? chunk / 2 / EMI_PAGE * EMI_PAGE : least;
	used = rest + inputs * cost(m, chunk);
	emi_presorted_choose(job, chunk, &o->input);
	o->threads = o->parts = n;
	o->copier_bytes = job->plan.block_bytes / n / EMI_PAGE * EMI_PAGE;
	if (drops(m) && used < share)
		o->copier_bytes = (size_t)((share - used < n * HELD_MOST ? share - used : n * HELD_MOST) / n /
					   EMI_COPIER_BUFFERS / EMI_PAGE * EMI_PAGE);
	if (job->opts.fan_in != 0 && inputs > job->opts.fan_in)
		return 0;
	return fds + inputs <= job->ctx->fds && o->copier_bytes >= CHUNK_GOOD && used <= share;
}

/* Parts that take turns: what comes out of one is held, as a rule, and to cut a file is to take less time than to read
 * the part of it.  0: there are none such. */
static uint32_t choose_turns(const merging *m, const emi_parts_opts *o)
{
	const uint64_t held = (uint64_t)o->copier_bytes * EMI_COPIER_BUFFERS, files = m->bytes / m->npaths / TURN_FILE;
	uint64_t n = m->bytes / held + 1;

	n = n < 2 * o->threads ? 2 * o->threads : n;
	n = n < files ? n : files;
	/* Where to cut is found before anything is held. */
	n = n < o->threads * held / EMI_SPLIT_SAMPLE ? n : o->threads * held / EMI_SPLIT_SAMPLE;
	n = n < EMI_SPLIT_MOST ? n : EMI_SPLIT_MOST;
	return n < 2 || m->bytes / n > TURN_MOST * held ? 0 : (uint32_t)n;
}

/* How it is done in parts, as the data, descriptors and memory permit; 0: it is not worth it. */
static int choose_parts(merging *m, emi_parts_opts *o)
{
	const uint32_t threads = m->e.job.plan.threads;
	const uint64_t worth = m->bytes / EMI_SPLIT_PART;
	uint32_t n = threads < EMI_SPLIT_FEW ? threads : EMI_SPLIT_FEW;

	if (!divisible(m))
		return 0;
	memset(o, 0, sizeof *o);
	n = n < worth ? n : (uint32_t)worth;
	while (n > 1 && !choose_buffers(m, n, o))
		n--;
	if (n < 2 || !drops(m))
		return n > 1;
	o->turns = &m->copier;
	o->groups = m->groups.opts;
	o->parts = choose_turns(m, o);
	o->threads = n < o->parts ? n : o->parts;
	return o->parts != 0;
}

/* EM_END: it is one thread's. */
static em_status merge_parts(merging *m, em_errinfo *err)
{
	emi_parts_opts opts;
	em_status st;

	if (!choose_parts(m, &opts))
		return EM_END;
	/* Each thread has its own. */
	if (opts.turns == NULL)
		emi_copier_free(&m->copier);
	st = emi_merge_parts(&m->e.job, m->sink, m->paths, m->npaths, &opts, err);
	m->parts = st != EM_END;
	if (st == EM_OK && opts.turns != NULL)
		st = emi_copier_flush(&m->copier, err);
	if (st != EM_END || opts.turns != NULL)
		return st;
	st = emi_copier_init(&m->copier, &m->e.job, m->sink, m->e.job.plan.block_bytes, err);
	return st == EM_OK ? EM_END : st;
}

/* All inputs to the output. */
static em_status merge_straight(merging *m, em_errinfo *err)
{
	em_status st;

	emi_watch_phase(&m->e.job.watch, EM_PHASE_OUTPUT, m->bytes == EMI_UNKNOWN ? 0 : m->bytes);
	st = merge_parts(m, err);
	if (st != EM_END)
		return st;
	st = emi_merge_inputs_init(&m->inputs, &m->e.job, m->npaths, &m->opts, err);
	if (st == EM_OK)
		st = merge_some(m, 0, m->npaths, put_output, err);
	if (st == EM_OK)
		st = emi_groups_end(&m->groups, err);
	return st == EM_OK ? emi_copier_flush(&m->copier, err) : st;
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
			   : emi_fail(err, EM_ERR_INTERNAL,
				      "%llu bytes of memory are not what two inputs were planned to have",
				      (unsigned long long)memory_left(m, runs));
	most = most != 0 ? most : 1;
	groups = (m->npaths - 1) / most + 1;
	most = (m->npaths - 1) / groups + 1;
	m->most = most;
	emi_presorted_choose(job, chunk_for(m, most, runs), &m->opts);
	job->passes = 1;
	if (!runs)
		return merge_straight(m, err);
	st = emi_merge_inputs_init(&m->inputs, job, most, &m->opts, err);
	emi_watch_phase(&job->watch, EM_PHASE_RUNS, m->bytes == EMI_UNKNOWN ? 0 : m->bytes);
	if (st == EM_OK)
		st = emi_outseq_init(&m->e.out, &job->runs, job->plan.write_buffers, job->plan.packers,
				     job->plan.block_bytes, err);
	if (st == EM_OK)
		st = emi_run_append_init(&m->append, &job->runs, &m->e.out, &m->e.writer, job->plan.block_bytes,
					 job->out_extra, err);
	return st == EM_OK ? merge_groups(m, groups, err) : st;
}

/* Bytes of the inputs, or EMI_UNKNOWN; whatever is wrong with one of them is told before anything is done. */
static em_status look(merging *m, em_errinfo *err)
{
	em_ctx *ctx = m->e.job.ctx;
	emi_inputs in;
	em_status st = emi_inputs_init(&in, ctx, m->paths, m->npaths,
				       varied(m) ? 1 : m->e.job.by.codec->record_bytes, err);
	uint32_t i;

	if (st != EM_OK)
		return st;
	m->bytes = in.bytes;
	for (i = 0; i < m->npaths; i++) {
		m->streams += (uint32_t)is_stdin(m->paths[i]);
		m->files += in.item[i].kind == EMI_INPUT_FILE;
	}
	emi_inputs_free(&in, ctx);
	return EM_OK;
}

/* What the merge may use: all that the context has left, or a part of that, in which what it holds already counts.
 * After the plan, with its threads. */
static void share_memory(merging *m, uint64_t held)
{
	const emi_job *job = &m->e.job;
	const uint64_t all = em_ctx_memory(job->ctx);

	m->used = em_ctx_memory_used(job->ctx);
	m->memory = m->used < all ? all - m->used : 0;
	if (job->opts.memory != 0 && job->opts.memory < m->memory) {
		m->memory = job->opts.memory;
		m->held = held + job->runs.room * sizeof *job->runs.run;
	}
}

/* Threads that the merge has a use for; 0: for as many as there are.  Two inputs have none for them but in parts. */
static uint32_t useful_threads(const merging *m)
{
	if (m->npaths < 2 && !drops(m))
		return 1;
	return m->npaths <= 2 && m->bytes < 2 * EMI_SPLIT_PART ? 1 : 0;
}

/* Two inputs at a time are the least that there is memory for, in the half that is for inputs; a page for each of their
 * parts, as these are rounded. */
static void scale(emi_needs *needs, const emi_job *job, uint64_t memory, uint32_t threads)
{
	const merging *m = needs->arg;

	(void)memory;
	(void)threads;
	needs->later = 2 * FEWEST * (cost(m, chunk_of(m, CHUNK_LEAST, 1)) + 4u * EMI_PAGE) +
		       emi_merge_inputs_memory(job, FEWEST);
	if (m->groups.opts != NULL && !varied(m))
		needs->later += emi_keeper_memory(job->by.codec->record_bytes);
}

static em_status run(merging *m, const char *output, em_errinfo *err)
{
	emi_job *job = &m->e.job;
	em_status st = look(m, err);
	emi_needs needs;

	memset(&needs, 0, sizeof needs);
	if (st == EM_OK)
		st = emi_sink_open(&m->sink, job->ctx, output, 0, &job->io, err);
	if (st == EM_OK && m->bytes != EMI_UNKNOWN && !drops(m))
		st = emi_sink_check(m->sink, m->bytes, err);
	if (st != EM_OK)
		return st;
	needs.n = EMI_UNKNOWN;
	needs.bytes = m->bytes;
	needs.threads = useful_threads(m);
	needs.pushed = 1;
	needs.all = 1;
	needs.scale = scale;
	needs.arg = m;
	needs.spare = EMI_COPIER_BUFFERS;
	/* The sink is open, and there are a few structs. */
	needs.open = emi_sink_is_file(m->sink) ? 1 : 0;
	needs.held = sizeof *m + 2u * EMI_PAGE;
	st = emi_job_plan(job, &needs, err);
	if (st == EM_OK && m->only_plan)
		return emi_trial_told(job, err);
	if (st == EM_OK)
		st = emi_workers_reach(job->ctx, job->plan.threads, err);
	share_memory(m, needs.held + needs.open * emi_file_memory(job->ctx));
	if (st == EM_OK)
		st = emi_copier_init(&m->copier, job, m->sink, job->plan.block_bytes, err);
	if (st == EM_OK)
		st = merge_all(m, err);
	if (st == EM_OK)
		st = emi_sink_commit(m->sink, err);
	emi_watch_settle(&job->watch);
	return st;
}

/* How to try it. */
typedef struct trial {
	uint32_t cap;           /* inputs at a time, at most; 0: as many as fit */
	int alone;              /* on one thread */
	emi_trial line;
} trial;

/* What to try when that has failed; 0: nothing, that is how it is. */
static int next_trial(const merging *m, em_status st, const em_errinfo *err, trial *t)
{
	const int written = !emi_sink_is_file(m->sink) && m->e.job.io.bytes_written != 0;

	t->line.again = 0;
	if (m->parts) {
		/* Several inputs have many long records at once; or one thread knows a record's number, and which is
		 * the first that is wrong. */
		t->alone = 1;
		return st == EM_ERR_MEMLIMIT || st == EM_ERR_FORMAT || st == EM_ERR_FDLIMIT;
	}
	emi_trial_next(&t->line, &m->e.job, emi_trial_repeats(m->paths, m->npaths, m->bytes, written), st, err);
	if (t->line.again)
		return 1;
	if (st != EM_ERR_MEMLIMIT || m->most <= 2 || m->bytes == EMI_UNKNOWN || m->streams != 0 ||
	    !emi_sink_is_file(m->sink))
		return 0;
	t->cap = m->most / 2 > 2 ? m->most / 2 : 2;
	return 1;
}

/* *again: it is worth another one, t. */
static em_status attempt(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			 const char *output, const em_sort_opts *opts, em_sort_stats *stats,
			 const emi_group_opts *groups, trial *t, int *again, em_errinfo *err)
{
	merging *m = emi_alloc(ctx, sizeof *m, err);
	em_status st;

	*again = 0;
	if (m == NULL)
		return err->status;
	m->paths = inputs;
	m->npaths = ninputs;
	m->cap = t->cap;
	m->alone = t->alone;
	m->only_plan = t->line.only_plan;
	st = emi_engine_open(&m->e, ctx, order, opts, err);
	if (st == EM_OK && groups != NULL)
		st = emi_groups_init(&m->groups, &m->e.job, groups, &m->copier, err);
	if (st == EM_OK) {
		m->e.job.line = t->line.line;
		m->e.job.out_extra = emi_record_extra(&m->e.job.format);
		m->header.ctx = ctx;
		m->header.format = &m->e.job.format;
		m->header.paths = inputs;
		m->header.records = m->e.job.opts.header;
		m->header.to = to_copier;
		m->header.arg = m;
		st = run(m, output, err);
		if (stats != NULL)
			emi_job_stats(&m->e.job, stats);
	}
	*again = m->e.job.ctx != NULL && m->sink != NULL && next_trial(m, st, err, t);
	emi_run_append_free(&m->append);
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

em_status emi_merge_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			  const char *output, const em_sort_opts *opts, em_sort_stats *stats,
			  const emi_group_opts *groups, em_errinfo *err)
{
	trial t = { 0, 0, { 0, 0, 0 } };
	em_errinfo first = { 0 };
	em_status st;
	int again;

	do {
		memset(err, 0, sizeof *err);
		st = attempt(ctx, order, inputs, ninputs, output, opts, stats, groups, &t, &again, err);
		if (t.line.again)
			first = *err;
	} while (again);
	/* Memory for a long record is too much: what was wrong is that record. */
	if (st == EM_ERR_MEMLIMIT && t.line.line != 0 && first.status != EM_OK) {
		first.bytes = err->bytes;
		*err = first;
		st = EM_ERR_FORMAT;
	}
	return st;
}

em_status em_merge_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			 const char *output, const em_sort_opts *opts, em_sort_stats *stats)
{
	const emi_user watching = emi_job_user(opts);
	em_errinfo own, *err = emi_job_errinfo(opts, &own);
	em_status st = emi_files_check(ctx, inputs, ninputs, output, stats, err);

	if (st == EM_OK)
		st = emi_given(order, "order", err);
	if (st == EM_OK)
		st = emi_merge_files(ctx, order, inputs, ninputs, output, opts, stats, NULL, err);
	emi_user_free(&watching);
	return st;
}
