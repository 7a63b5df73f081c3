/* SPDX-License-Identifier: BSL-1.0 */
/* plan_vary.c -- see plan_vary.h. */
#include "sort/plan_vary.h"

#include "sort/block_vary.h"
#include "sort/line_loader.h"

#define CHUNK_SHARE 256u        /* a chunk is this part of the memory, or this one divided by the threads, ... */
#define THREAD_SHARE 72u        /* ... for each has two stages, which take four chunks and a half, ... */
#define CHUNK_LEAST ((size_t)4096) /* ... within these two */
#define CHUNK_MOST ((size_t)512 << 10)
#define CHUNK_GOOD ((uint64_t)16 << 10) /* more threads than few are not worth smaller ones */
#define FEW_THREADS 3u
#define SMALL_LEAST ((uint64_t)16 << 20)
#define SMALL_TIMES 256u        /* memory in proportion to a small input */
#define RUNS_SHARE 14u          /* runs may be as many as this when lines are of ten bytes, for as many bytes as there
                                   is memory */
#define BATCH_SHARE 64u
#define BATCH_MOST ((size_t)64 << 10)
#define BEYOND_TIMES 10u        /* a merge of two runs has their blocks, two more, one to unpack, one for the output,
                                   copies */
#define AHEAD_SHARE 25u         /* of so many parts of the memory these are for what is read while runs are sorted and
                                   written, ... */
#define AHEAD_PARTS 64u
#define AHEAD_LEAST 4u          /* ... at least for so many chunks */

/* What the planner takes records for. */
static const emi_codec usual = { EMI_ELEM_PAIR, 1, 0, 0, EMI_USUAL_RECORD, sizeof(emi_pair), NULL, NULL, NULL, NULL,
				 sizeof(uint64_t) };

uint64_t emi_vary_longest_in(const emi_job *job, uint64_t memory)
{
	const uint64_t share = memory / EMI_LONGEST_SHARE;

	return share > job->line ? share : job->line;
}

uint64_t emi_vary_longest(const emi_job *job)
{
	return job->beyond != 0 ? job->beyond : job->plan_input.longest_record;
}

uint64_t emi_longest_record(const emi_job *job)
{
	return job->by.vary != NULL ? emi_vary_longest(job) : job->by.codec->record_bytes;
}

uint64_t emi_vary_beyond(emi_job *job, uint64_t left)
{
	const uint64_t share = (job->plan.memory + left) / EMI_LONGEST_SHARE, part = left / BEYOND_TIMES;
	const uint64_t kept = part < share ? part : share;
	const uint64_t beyond = job->opts.memory == 0 ? emi_memory_lift(job->ctx) : 0;
	const uint64_t longest = job->plan_input.longest_record;

	job->lifted = beyond != 0;
	if (beyond / BEYOND_TIMES >= kept && beyond / BEYOND_TIMES > longest) {
		job->beyond = beyond / BEYOND_TIMES;
		return 0;
	}
	if (job->lifted)
		emi_memory_lower(job->ctx);
	job->lifted = 0;
	if (kept <= longest)
		return 0;
	job->beyond = kept;
	return kept * BEYOND_TIMES;
}

uint32_t emi_vary_threads(uint64_t memory)
{
	const uint64_t most = memory / (THREAD_SHARE * CHUNK_GOOD);

	return most < FEW_THREADS ? FEW_THREADS : most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

uint64_t emi_vary_left(const emi_job *job)
{
	const uint64_t longest = job->plan_input.longest;

	if (!job->lifted)
		return job->beyond * BEYOND_TIMES;
	/* Frames that a block has room for are what merges are planned for. */
	if (longest <= job->plan.block_bytes)
		return 0;
	return (longest < job->beyond ? longest : job->beyond) * BEYOND_TIMES;
}

/* Bytes that a chunk should have, which need not be whole pages. */
static uint64_t chunk_wanted(const emi_job *job)
{
	const uint64_t each = (uint64_t)THREAD_SHARE * job->plan_input.threads,
		       share = each > CHUNK_SHARE ? each : CHUNK_SHARE;
	const uint64_t want = job->plan_input.memory / share;

	return want < CHUNK_LEAST ? CHUNK_LEAST : want > CHUNK_MOST ? CHUNK_MOST : want;
}

size_t emi_vary_chunk(const emi_job *job)
{
	return (size_t)chunk_wanted(job) / EMI_PAGE * EMI_PAGE;
}

size_t emi_vary_batch(const emi_job *job)
{
	const uint64_t want = job->plan_input.memory / BATCH_SHARE;

	return want > BATCH_MOST ? BATCH_MOST : (size_t)want / 8 * 8;
}

/* What chunks of so many bytes take, that are read ahead or are in a stage. */
static uint64_t chunks_memory(const emi_job *job, uint64_t chunks, uint64_t bytes)
{
	emi_records_opts opts;

	memset(&opts, 0, sizeof opts);
	opts.longest = job->plan_input.longest_record;
	opts.chunks = (uint32_t)chunks;
	return emi_records_memory_evenly(&opts, bytes);
}

/* Memory for what is read ahead. */
static uint64_t ahead_memory(const emi_job *job)
{
	const uint64_t share = job->plan_input.memory / AHEAD_PARTS * AHEAD_SHARE;
	const uint64_t least = chunks_memory(job, AHEAD_LEAST, chunk_wanted(job)) - chunks_memory(job, 0, 0);

	return share > least ? share : least;
}

void emi_vary_reading(const emi_job *job, emi_records_opts *opts)
{
	const uint64_t bytes = emi_vary_chunk(job);

	memset(opts, 0, sizeof *opts);
	opts->format = job->format;
	opts->chunk_bytes = (size_t)bytes;
	opts->longest = emi_vary_longest(job);
	opts->chunks = emi_line_loader_chunks(job->plan_input.threads) +
		       (uint32_t)(ahead_memory(job) / (chunks_memory(job, 1, bytes) - chunks_memory(job, 0, bytes)));
}

/* Memory for what has one frame, of so many bytes: a block on the way out, and a copy that equal ones are known by. */
static uint64_t single(const emi_job *job, uint64_t longest)
{
	const uint64_t bytes = emi_block_bytes(longest) + (uint64_t)3 * EMI_PAGE;

	return (job->flags & EM_SORT_UNIQUE) != 0 || job->keeps ? bytes + longest + EMI_PAGE : bytes;
}

/* Memory beside what is planned: large blocks, and the batches that are pulled. */
static uint64_t beside(const emi_job *job, const emi_needs *needs)
{
	const uint64_t bytes = single(job, job->plan_input.longest_record);

	return needs->pushed ? bytes + 2 * (uint64_t)emi_vary_batch(job) + 2u * EMI_PAGE : bytes;
}

/*
 * Memory of the way in from files: no less than it takes, and growing evenly with the memory, by less than that.  Were
 * it to jump with the pages of a chunk, there would be no plan where there is one for less.
 */
static uint64_t way_in(const emi_job *job)
{
	const uint32_t threads = job->plan_input.threads;
	const uint64_t bytes = chunk_wanted(job);

	return chunks_memory(job, emi_line_loader_chunks(threads), bytes) + emi_line_loader_memory(threads, bytes) +
	       ahead_memory(job);
}

void emi_plan_vary_merging(const emi_job *job, emi_plan_input *in)
{
	if (in->longest_record == 0 || in->longest <= job->plan.block_bytes ||
	    in->longest <= emi_block_bytes(in->longest_record))
		return;
	in->files_bytes += single(job, in->longest) - single(job, in->longest_record);
	in->longest_record = in->longest;
}

void emi_plan_vary(emi_job *job, const emi_needs *needs, int thrifty)
{
	emi_plan_input *in = &job->plan_input;

	if (thrifty && needs->bytes < in->memory / SMALL_TIMES &&
	    in->memory > SMALL_LEAST + needs->bytes * SMALL_TIMES) {
		in->memory = SMALL_LEAST + needs->bytes * SMALL_TIMES;
		if (in->longest_record > 2 * emi_vary_longest_in(job, in->memory))
			in->longest_record = 2 * emi_vary_longest_in(job, in->memory);
	}
	/* A share of the memory is little enough for a merge not to be planned for it. */
	if (job->line != 0)
		in->longest = emi_block_bytes(in->longest_record);
	in->codec = &usual;
	in->n = EMI_UNKNOWN;
	in->run_records = 0;
	in->pushed = 1;
	in->write_behind = 1;
	in->min_records = 2 * (in->longest_record + EMI_PAGE) / (EMI_USUAL_RECORD + 2 * sizeof(emi_pair));
	if (in->min_records < needs->have / (EMI_USUAL_RECORD + 2 * sizeof(emi_pair)) + 1)
		in->min_records = needs->have / (EMI_USUAL_RECORD + 2 * sizeof(emi_pair)) + 1;
	in->files_bytes += beside(job, needs) + EMI_LINE_STORE_SLACK +
			   (uint64_t)(EMI_LINE_STORE_BUCKETS + 1) * EMI_LINE_STORE_BUCKET_BYTES;
	if (!needs->pushed)
		in->form_bytes = way_in(job);
	if (needs->bytes != EMI_UNKNOWN && in->memory != 0)
		in->expect_runs = needs->bytes / (in->memory / RUNS_SHARE + 1) + 1;
}

size_t emi_vary_store(const emi_job *job, const emi_needs *needs)
{
	const uint64_t planned = job->plan.run_records * (EMI_USUAL_RECORD + 2 * sizeof(emi_pair));
	const uint64_t each = EMI_LENGTH_MAX + 2 * sizeof(emi_pair), little = (uint64_t)64 << 10;

	/* A small input needs less than is there, even if it is nothing but empty records; keys aside. */
	if (job->by.vary->keyed || needs->bytes >= planned / each)
		return (size_t)planned;
	return (size_t)(needs->bytes * each + little < planned ? needs->bytes * each + little : planned);
}
