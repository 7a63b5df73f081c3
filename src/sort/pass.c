/* SPDX-License-Identifier: BSL-1.0 */
/* pass.c -- see pass.h. */
#include "sort/pass.h"

#include <string.h>

#include "sort/plan_vary.h"
#include "sort/room.h"
#include "stream/input.h"

#define CHUNK_SHARE 128u        /* a chunk is this part of the memory, within the next two */
#define CHUNK_LEAST ((uint64_t)4096)
#define CHUNK_MOST ((uint64_t)1 << 20)
#define AHEAD 2u                /* chunks that are read while others are looked at, at least */

em_status emi_pass_open(emi_pass *p, em_ctx *ctx, const em_order *order, uint64_t from, uint64_t k,
			const em_sort_opts *opts, em_errinfo *err)
{
	return emi_top_begin(&p->top, ctx, order, from, k, opts, err);
}

/* Bytes that a chunk should have, which need not be whole pages. */
static uint64_t chunk_wanted(uint64_t memory)
{
	const uint64_t want = memory / CHUNK_SHARE;

	return want < CHUNK_LEAST ? CHUNK_LEAST : want > CHUNK_MOST ? CHUNK_MOST : want;
}

/* How files are read; what is the longest record is known when there is a plan, and here the most that it can be. */
static void reading(const emi_pass *p, uint64_t memory, uint32_t threads, emi_records_opts *opts)
{
	memset(opts, 0, sizeof *opts);
	opts->format = p->top.front.e.job.format;
	opts->chunk_bytes = (size_t)chunk_wanted(memory) / EMI_PAGE * EMI_PAGE;
	opts->chunks = 2 * threads + AHEAD;
	opts->longest = emi_vary_longest_in(&p->top.front.e.job, memory);
	opts->record_bytes = p->record_bytes;
}

/* It grows evenly with the memory, so that there is a plan wherever there is one for less. */
static uint64_t later(const void *arg, uint64_t memory, uint32_t threads)
{
	const emi_pass *p = arg;
	emi_records_opts opts;

	reading(p, memory, threads, &opts);
	return emi_records_memory_evenly(&opts, chunk_wanted(memory)) + (p->extra != NULL ? p->extra(p, memory) : 0) +
	       EMI_COPIER_BUFFERS * (chunk_wanted(memory) + 2u * EMI_PAGE) + threads * sizeof *p->chunk +
	       p->npaths * (uint64_t)EMI_PAGE / 8;
}

/* Bytes in all inputs, or EMI_UNKNOWN. */
static em_status look(const emi_pass *p, uint64_t *bytes, em_errinfo *err)
{
	em_ctx *ctx = p->top.front.e.job.ctx;
	emi_inputs in;
	em_status st = emi_inputs_init(&in, ctx, p->paths, p->npaths, p->record_bytes != 0 ? p->record_bytes : 1, err);

	if (st != EM_OK)
		return st;
	*bytes = in.bytes;
	emi_inputs_free(&in, ctx);
	return EM_OK;
}

static em_status to_copier(void *arg, const void *data, size_t n, em_errinfo *err)
{
	emi_pass *p = arg;

	return emi_copier_write(&p->copier, data, n, err);
}

/* Divide the memory and open what is left to be opened. */
static em_status prepare(emi_pass *p, em_errinfo *err)
{
	emi_job *job = &p->top.front.e.job;
	emi_records_opts opts;
	emi_top_use use;
	em_status st;

	use.taken = sizeof *p + p->taken;
	use.open = emi_sink_is_file(p->sink) ? 1 : 0;
	use.later = later;
	use.arg = p;
	use.files = 2;
	st = emi_top_prepare(&p->top, &use, err);
	if (st != EM_OK)
		return st;
	if (p->only_plan)
		return emi_trial_told(job, err);
	reading(p, job->plan_input.memory, p->top.strands, &opts);
	p->header.ctx = job->ctx;
	p->header.format = &job->format;
	p->header.paths = p->paths;
	p->header.records = job->opts.header;
	p->header.to = to_copier;
	p->header.arg = p;
	p->chunk = emi_alloc_array(job->ctx, p->top.strands, sizeof *p->chunk, err);
	if (p->chunk == NULL)
		return err->status;
	if (p->record_bytes == 0) {
		const uint64_t longest = emi_vary_longest(job), less = p->strip != 0 ? p->strip + EMI_LENGTH_MAX : 0;

		opts.longest = longest > less ? longest - less : 0;
	}
	st = emi_records_open(&p->records, job->ctx, p->paths, p->npaths, &opts, &job->io, err);
	return st == EM_OK ? emi_copier_init(&p->copier, job, p->sink, opts.chunk_bytes, err) : st;
}

/* The next chunk, without what of it is a header. */
static em_status fetch_one(emi_pass *p, emi_pass_chunk *c, em_errinfo *err)
{
	em_status st = emi_records_next(p->records, &c->chunk, emi_watch_tick, &p->top.front.e.job.watch, err);

	c->at = c->end = c->chunk.data;
	if (c->chunk.bytes != 0)
		c->end += c->chunk.bytes;
	return st == EM_OK ? emi_header_take(&p->header, c->chunk.file, &c->at, c->end, &c->header, err) : st;
}

/* Get a chunk for each strand, if there are so many. */
static em_status fetch(emi_pass *p, uint32_t *n, em_errinfo *err)
{
	const uint32_t most = p->convert != NULL ? 1 : p->top.strands;
	em_status st = EM_OK;

	for (*n = 0; *n < most; ++*n) {
		st = fetch_one(p, &p->chunk[*n], err);
		/* The reader's one large buffer is with us: the chunk comes when that has gone back. */
		if (st == EM_ERR_STATE && *n != 0) {
			memset(err, 0, sizeof *err);
			return EM_OK;
		}
		if (st != EM_OK)
			break;
	}
	return st == EM_END && *n != 0 ? EM_OK : st;
}

/* The record that is too long for the memory: which is it? */
static em_status too_long(const emi_pass *p, em_errinfo *err)
{
	const em_top *t = &p->top;
	const em_format *format = &t->front.e.job.format;
	const emi_pass_chunk *c = &p->chunk[t->long_strand];
	const unsigned char *at = c->at;
	uint64_t number = c->chunk.file == p->file ? p->number : 0, n;
	uint32_t i;
	size_t bytes;

	for (i = 0; i < t->long_strand; i++)
		if (p->chunk[i].chunk.file == c->chunk.file)
			number += emi_chunk_count(&p->chunk[i].chunk, p->chunk[i].header + t->strand[i].number);
	for (n = 0; n < t->long_number; n++)
		emi_record_take(format, &at, c->end, &bytes);
	number += emi_records_count(format, c->chunk.data, at) + 1;
	return emi_fail_record(err, EM_ERR_FORMAT, p->paths[c->chunk.file], number, t->long_need,
			       "%s:%llu: line and key of %llu bytes are longer than the %llu that this memory allows",
			       p->paths[c->chunk.file], (unsigned long long)number, (unsigned long long)t->long_need,
			       (unsigned long long)emi_vary_longest(&t->front.e.job));
}

/* A chunk was used up, with so many records behind its header: it goes back. */
static void retire(emi_pass *p, emi_pass_chunk *c, uint64_t records)
{
	if (c->chunk.file != p->file) {
		p->file = c->chunk.file;
		p->number = 0;
	}
	p->number += emi_chunk_count(&c->chunk, c->header + records);
	p->top.front.e.job.records_in += records;
	p->top.read += c->chunk.bytes;
	emi_records_release(p->records, &c->chunk, c->header + records);
}

/* Take the records of one chunk. */
static em_status take_converted(emi_pass *p, em_errinfo *err)
{
	emi_pass_chunk *c = &p->chunk[0];
	uint64_t records = 0;
	em_status st = c->at != c->end ? p->convert(p, c->at, (size_t)(c->end - c->at), &records, err) : EM_OK;

	retire(p, c, records);
	return st;
}

/* Take the records of n chunks. */
static em_status take(emi_pass *p, uint32_t n, em_errinfo *err)
{
	em_top *t = &p->top;
	em_status st;
	uint32_t i;

	if (p->convert != NULL)
		return take_converted(p, err);
	for (i = 0; i < n; i++) {
		const emi_pass_chunk *c = &p->chunk[i];

		if (p->record_bytes != 0)
			emi_strand_records(&t->strand[i], c->at, c->chunk.bytes / p->record_bytes);
		else
			emi_strand_chunk(&t->strand[i], &t->front.e.job.format, c->at, (size_t)(c->end - c->at));
	}
	st = emi_top_take(t, n, err);
	if (st == EM_ERR_RANGE && err->status == EM_OK)
		st = too_long(p, err);
	for (i = 0; i < n; i++)
		retire(p, &p->chunk[i], t->strand[i].number);
	return st;
}

/* Read the input to its end. */
static em_status take_all(emi_pass *p, em_errinfo *err)
{
	em_status st;
	uint32_t n;

	for (;;) {
		st = fetch(p, &n, err);
		if (st == EM_OK)
			st = take(p, n, err);
		if (st == EM_OK)
			st = emi_job_check(&p->top.front.e.job, err);
		if (st != EM_OK)
			break;
	}
	return st == EM_END ? emi_top_finish(&p->top, err) : st;
}

/* Write a record of any length. */
static em_status write_record(emi_pass *p, const char *record, size_t n, em_errinfo *err)
{
	const em_format *format = &p->top.front.e.job.format;
	unsigned char edge[8];
	em_status st;

	st = emi_copier_write(&p->copier, edge, (size_t)(emi_record_prefix(format, edge, n) - edge), err);
	if (st == EM_OK)
		st = emi_copier_write(&p->copier, record, n, err);
	return st == EM_OK ? emi_copier_write(&p->copier, edge, (size_t)(emi_record_delimit(format, edge) - edge), err)
			   : st;
}

static em_status write_batch(emi_pass *p, const em_batch *batch, em_errinfo *err)
{
	const char *records = batch->records;
	const size_t bytes = p->top.front.e.job.by.codec->record_bytes;
	em_status st = EM_OK;
	size_t i;

	if (batch->ends == NULL && p->strip == 0)
		return emi_copier_write(&p->copier, records, batch->bytes, err);
	for (i = 0; i < batch->n && st == EM_OK; i++) {
		const size_t end = batch->ends != NULL ? (size_t)batch->ends[i] : (i + 1) * bytes;
		const size_t begin = (i == 0		    ? 0
				      : batch->ends != NULL ? (size_t)batch->ends[i - 1]
							    : i * bytes) +
				     p->strip;

		st = batch->ends != NULL ? write_record(p, records + begin, end - begin, err)
					 : emi_copier_write(&p->copier, records + begin, end - begin, err);
	}
	return st;
}

/* Pull all that is asked for and write it. */
static em_status put_all(emi_pass *p, em_errinfo *err)
{
	const em_batch *batch;
	em_status st;

	emi_room_give_back(&p->top.front.e.job);
	for (;;) {
		st = emi_top_lend(&p->top, &batch, err);
		if (st == EM_OK)
			st = write_batch(p, batch, err);
		if (st != EM_OK)
			break;
	}
	return st == EM_END ? emi_copier_flush(&p->copier, err) : st;
}

em_status emi_pass_run(emi_pass *p, const char *output, em_errinfo *err)
{
	emi_job *job = &p->top.front.e.job;
	em_status st = look(p, &p->bytes, err);

	if (st == EM_OK)
		st = emi_sink_open(&p->sink, job->ctx, output, 0, &job->io, err);
	/* What is converted is not looked at, and comes out again if all of it is asked for. */
	if (st == EM_OK && p->convert != NULL && p->top.k == UINT64_MAX && p->bytes != EMI_UNKNOWN)
		st = emi_sink_check(p->sink, p->bytes, err);
	if (st == EM_OK)
		st = prepare(p, err);
	if (st == EM_OK) {
		emi_watch_phase(&job->watch, EM_PHASE_RUNS, p->bytes == EMI_UNKNOWN ? 0 : p->bytes);
		st = take_all(p, err);
	}
	emi_records_close(p->records);
	p->records = NULL;
	if (st == EM_OK)
		st = put_all(p, err);
	if (st == EM_OK)
		st = emi_sink_commit(p->sink, err);
	emi_watch_settle(&job->watch);
	return st;
}

void emi_pass_try(emi_pass *p, const emi_trial *t)
{
	p->top.front.e.job.line = t->line;
	p->only_plan = t->only_plan;
}

void emi_pass_tried(const emi_pass *p, emi_trial *t, em_status st, const em_errinfo *err)
{
	const emi_job *job = &p->top.front.e.job;
	const int written = job->opts.header != 0 && !(p->sink != NULL && emi_sink_is_file(p->sink));

	emi_trial_next(t, job, emi_trial_repeats(p->paths, p->npaths, p->bytes, written), st, err);
}

void emi_pass_close(emi_pass *p, em_sort_stats *stats)
{
	em_ctx *ctx = p->top.front.e.job.ctx;

	if (ctx == NULL)
		return;
	if (stats != NULL)
		emi_job_stats(&p->top.front.e.job, stats);
	if (p->chunk != NULL)
		emi_free_array(ctx, p->chunk, p->top.strands, sizeof *p->chunk);
	emi_copier_free(&p->copier);
	emi_sink_close(p->sink);
	emi_top_end(&p->top);
}
