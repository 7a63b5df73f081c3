/* SPDX-License-Identifier: BSL-1.0 */
/*
 * shuffle.c -- em_shuffle_files(): records in random order.
 *
 * On its way in each record gets eight bytes in front of it, a number that seed and record number determine
 * (shuffle_number.h); on its way out it loses them.  In between the records are sorted by these bytes.
 */
#include <extmem/shuffle.h>

#include <stddef.h>
#include <string.h>

#include <extmem/text.h>

#include "base/copy.h"
#include "sort/files.h"
#include "sort/pass.h"
#include "sort/plan_vary.h"
#include "sort/shuffle_number.h"

#define STAGE_BYTES ((size_t)64 << 10) /* of records with their numbers */
#define STAGE_RECORDS ((size_t)2048)

typedef struct shuffle {
	emi_pass pass;
	em_shuffle_opts opts;
	emi_shuffle_numbers numbers;
	unsigned char *stage;
	size_t stage_bytes;
	uint64_t ends[STAGE_RECORDS];
} shuffle;

static em_status convert_fixed(emi_pass *p, const unsigned char *data, size_t bytes, uint64_t *records, em_errinfo *err)
{
	shuffle *s = (shuffle *)(void *)p;
	const size_t each = (size_t)p->record_bytes, most = s->stage_bytes / (each + EMI_SHUFFLE_BYTES);
	size_t left = bytes / each;
	em_status st = EM_OK;

	while (left != 0 && st == EM_OK) {
		const size_t n = left < most ? left : most;
		unsigned char *to = s->stage;
		size_t i;

		for (i = 0; i < n; i++, data += each) {
			to = emi_shuffle_put(&s->numbers, to);
			emi_copy(to, data, each);
			to += each;
		}
		emi_strand_records(&p->top.strand[0], s->stage, n);
		st = emi_top_take(&p->top, 1, err);
		*records += n;
		left -= n;
	}
	return st;
}

/* Send what is in the stage. */
static em_status send(shuffle *s, size_t n, em_errinfo *err)
{
	em_batch batch;

	if (n == 0)
		return EM_OK;
	batch.records = s->stage;
	batch.n = n;
	batch.bytes = (size_t)s->ends[n - 1];
	batch.ends = s->ends;
	emi_strand_batch(&s->pass.top.strand[0], &batch, 0, n);
	return emi_top_take(&s->pass.top, 1, err);
}

/* Make the stage larger, nothing being in it; the plan knows of the longest record. */
static em_status grow(shuffle *s, size_t bytes, em_errinfo *err)
{
	em_ctx *ctx = s->pass.top.front.e.job.ctx;

	emi_buffer_free(ctx, s->stage, s->stage_bytes);
	s->stage = emi_buffer_alloc(ctx, bytes, err);
	s->stage_bytes = bytes;
	return s->stage != NULL ? EM_OK : err->status;
}

static em_status convert_vary(emi_pass *p, const unsigned char *data, size_t bytes, uint64_t *records, em_errinfo *err)
{
	shuffle *s = (shuffle *)(void *)p;
	const unsigned char *at = data, *end = data + bytes;
	em_status st = EM_OK;
	size_t n = 0, filled = 0;

	while (at != end) {
		const unsigned char *record;
		size_t length;

		record = emi_record_take(&p->top.front.e.job.format, &at, end, &length);
		if (n == STAGE_RECORDS || length + EMI_SHUFFLE_BYTES > s->stage_bytes - filled) {
			st = send(s, n, err);
			n = filled = 0;
			if (st == EM_OK && length + EMI_SHUFFLE_BYTES > s->stage_bytes)
				st = grow(s, length + EMI_SHUFFLE_BYTES, err);
			if (st != EM_OK)
				return st;
		}
		memcpy(emi_shuffle_put(&s->numbers, s->stage + filled), record, length);
		filled += length + EMI_SHUFFLE_BYTES;
		s->ends[n++] = filled;
		++*records;
	}
	return send(s, n, err);
}

/* The order of records that have their numbers in front. */
static em_status make_order(em_order **out, em_ctx *ctx, uint64_t record_size, em_errinfo *err)
{
	const em_key key = { 0, 0, EM_KEY_U64, EM_KEY_BIG_ENDIAN, { 0 } };

	if (record_size == 0)
		return em_order_text(out, ctx, NULL, 0, NULL, err);
	if (record_size > UINT64_MAX - EMI_SHUFFLE_BYTES)
		return emi_fail(err, EM_ERR_RANGE, "a record of %llu bytes does not fit in memory",
				(unsigned long long)record_size);
	return em_order_keys(out, ctx, record_size + EMI_SHUFFLE_BYTES, &key, 1, err);
}

static void sort_opts(const em_shuffle_opts *opts, em_sort_opts *sort)
{
	const em_sort_opts init = EM_SORT_OPTS_INIT;

	*sort = init;
	sort->memory = opts->memory;
	sort->run_records = opts->run_records;
	sort->block_bytes = opts->block_bytes;
	sort->fan_in = opts->fan_in;
	sort->progress = opts->progress;
	sort->progress_user = opts->progress_user;
	sort->format = opts->format;
	sort->header = opts->header;
}

/* The longest record, with its number. */
static uint64_t grown_stage(const emi_pass *p, uint64_t memory)
{
	return p->record_bytes == 0 ? emi_vary_longest_in(&p->top.front.e.job, memory) + 2u * EMI_PAGE : 0;
}

/* Memory for records with their numbers, one at least. */
static em_status make_stage(shuffle *s, em_errinfo *err)
{
	emi_pass *p = &s->pass;

	s->stage_bytes = STAGE_BYTES;
	if (p->record_bytes + EMI_SHUFFLE_BYTES > STAGE_BYTES)
		s->stage_bytes = (size_t)p->record_bytes + EMI_SHUFFLE_BYTES;
	p->taken = sizeof *s + s->stage_bytes;
	p->extra = grown_stage;
	s->stage = emi_buffer_alloc(p->top.front.e.job.ctx, s->stage_bytes, err);
	return s->stage != NULL ? EM_OK : err->status;
}

static em_status run(shuffle *s, em_ctx *ctx, const char *output, emi_trial *t, em_errinfo *err)
{
	emi_pass *p = &s->pass;
	em_order *order = NULL;
	em_sort_opts sort;
	em_status st = make_order(&order, ctx, p->record_bytes, err);

	if (st != EM_OK)
		return st;
	if (p->record_bytes != 0 && (s->opts.format != NULL || s->opts.header != 0)) {
		st = emi_fail(err, EM_ERR_INVAL, "a format or a header of records that have one size");
		goto out;
	}
	sort_opts(&s->opts, &sort);
	p->convert = p->record_bytes != 0 ? convert_fixed : convert_vary;
	p->strip = EMI_SHUFFLE_BYTES;
	emi_shuffle_begin(&s->numbers, s->opts.seed);
	st = emi_pass_open(p, ctx, order, 0, s->opts.count != 0 ? s->opts.count : UINT64_MAX, &sort, err);
	if (st == EM_OK) {
		emi_pass_try(p, t);
		st = make_stage(s, err);
	}
	if (st == EM_OK) {
		st = emi_pass_run(p, output, err);
		emi_pass_tried(p, t, st, err);
	}
	if (s->stage != NULL)
		emi_buffer_free(ctx, s->stage, s->stage_bytes);
out:
	em_order_close(order);
	return st;
}

typedef struct call {
	em_ctx *ctx;
	uint64_t record_size;
	const char *const *inputs;
	uint32_t ninputs;
	const char *output;
	const em_shuffle_opts *opts;
	em_sort_stats *stats;
} call;

static em_status attempt(void *arg, emi_trial *t, em_errinfo *err)
{
	const call *c = arg;
	shuffle *s = emi_alloc(c->ctx, sizeof *s, err);
	em_status st;

	t->again = 0;
	if (s == NULL)
		return err->status;
	s->pass.paths = c->inputs;
	s->pass.npaths = c->ninputs;
	s->pass.record_bytes = c->record_size;
	st = EMI_STRUCT_TAKE(em_shuffle_opts, &s->opts, c->opts, err);
	if (st == EM_OK)
		st = run(s, c->ctx, c->output, t, err);
	emi_pass_close(&s->pass, s->pass.only_plan ? NULL : c->stats);
	emi_free(c->ctx, s, sizeof *s);
	return st;
}

em_status em_shuffle_files(em_ctx *ctx, uint64_t record_size, const char *const *inputs, uint32_t ninputs,
			   const char *output, const em_shuffle_opts *opts, em_sort_stats *stats)
{
	em_errinfo own, *theirs = EMI_ERRINFO_OF(em_shuffle_opts, opts), *err = theirs != NULL ? theirs : &own;
	call c = { ctx, record_size, inputs, ninputs, output, opts, stats };
	em_status st = emi_files_check(ctx, inputs, ninputs, output, stats, err);
	em_shuffle_opts o;
	emi_user watching;

	/* What options of no version hold is nobody's. */
	(void)EMI_STRUCT_TAKE(em_shuffle_opts, &o, opts, NULL);
	watching.user = o.progress_user;
	watching.free = o.progress_free;
	if (st == EM_OK)
		st = emi_trials(attempt, &c, err);
	emi_user_free(&watching);
	return st;
}
