/* SPDX-License-Identifier: BSL-1.0 */
/* store_bench.c -- see store_bench.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/workers.h"
#include "sort/block_vary.h"
#include "sort/plan_job.h"
#include "sort/store_bench.h"
#include "sort/sort_model.h"
#include "stream/records.h"

static void keep(bench *b, const void *data, size_t n)
{
	assert_true(n <= b->room - b->filled);
	memcpy(b->got + b->filled, data, n);
	b->filled += n;
}

static void bench_keep_record(bench *b, const unsigned char *record, uint64_t n)
{
	unsigned char edge[8];

	keep(b, edge, (size_t)(emi_record_prefix(&b->format, edge, n) - edge));
	keep(b, record, (size_t)n);
	keep(b, edge, (size_t)(emi_record_delimit(&b->format, edge) - edge));
}

/* What is in a block of frames; its head says the truth about it. */
static void keep_frames(bench *b, const emi_outblock *block)
{
	const unsigned char *base = (const unsigned char *)block->buf.base + block->buf.lead,
			    *at = emi_block_first(base);
	const emi_block_head *head = emi_block_get_head(base);
	const size_t before = b->filled;
	uint32_t n = 0;

	assert_true(emi_block_sound(base, block->buf.len, emi_order_vary(b->order)));
	for (; at != base + head->end; n++) {
		const emi_frame f = emi_frame_get(emi_order_vary(b->order), at);

		bench_keep_record(b, emi_frame_record(&f), f.bytes);
		at = emi_frame_end(&f);
		assert_true(at <= base + head->end);
	}
	assert_int_equal(n, head->records);
	assert_true(head->out == b->filled - before);
}

static em_status put(void *arg, emi_outblock *block, em_errinfo *err)
{
	bench *b = arg;

	assert_true(block->index == b->blocks);
	b->blocks++;
	if (b->blocks == b->fail_at)
		return emi_fail(err, EM_ERR_NOSPACE, "as ordered");
	if (b->blocks == b->cancel_at)
		__atomic_store_n(&b->job.watch.canceled, 1, __ATOMIC_RELAXED);
	if (b->dest.text)
		keep(b, block->buf.base + block->buf.lead, block->buf.len);
	else
		keep_frames(b, block);
	return EM_OK;
}

void bench_open_in(bench *b, int which, int format, uint32_t threads, const em_sort_opts *opts, uint64_t memory)
{
	const emi_needs needs = { .n = EMI_UNKNOWN, .files = 2, .bytes = EMI_UNKNOWN };
	em_ctx_opts co = sort_ctx_opts();
	em_sort_opts so = EM_SORT_OPTS_INIT;
	em_errinfo err;

	memset(b, 0, sizeof(*b));
	memset(&err, 0, sizeof(err));
	b->rng = test_rng_make(test_seed());
	if (opts != NULL)
		so = *opts;
	b->format = lines_format(format);
	so.format = &b->format;
	so.block_bytes = 16384;
	co.threads = threads;
	if (memory != 0)
		co.memory = memory;
	b->ctx = sort_ctx(&co);
	b->order = lines_order(b->ctx, which);
	assert_int_equal(emi_job_open(&b->job, b->ctx, b->order, &so, &err), EM_OK);
	b->job.out_extra = emi_record_extra(&b->format);
	assert_int_equal(emi_workers_start(b->ctx, &err), EM_OK);
	if (emi_job_plan(&b->job, &needs, &err) != EM_OK)
		fail_msg("%s", err.text);
	assert_int_equal(emi_line_store_init(&b->store, &b->job, BENCH_STORE, &err), EM_OK);
	assert_int_equal(emi_outseq_init(&b->q, &b->job.runs, 3, b->job.plan.packers, b->job.plan.block_bytes, &err),
			 EM_OK);
	b->dest.put = put;
	b->dest.arg = b;
}

void bench_open(bench *b, int which, int format, uint32_t threads, const em_sort_opts *opts)
{
	bench_open_in(b, which, format, threads, opts, 0);
}

void bench_close(bench *b)
{
	emi_outseq_free(&b->q);
	emi_line_store_free(&b->store);
	emi_job_close(&b->job);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	lines_free(&b->in);
	lines_free(&b->header);
	free(b->got);
}

void bench_resize(bench *b, size_t bytes)
{
	em_errinfo err;

	memset(&err, 0, sizeof(err));
	emi_line_store_free(&b->store);
	assert_int_equal(emi_line_store_init(&b->store, &b->job, bytes, &err), EM_OK);
}

static void make_room(bench *b)
{
	free(b->got);
	b->room = b->in.filled + 9 * b->in.n + 16;
	b->got = malloc(b->room);
	assert_non_null(b->got);
	b->filled = 0;
	b->blocks = 0;
}

em_status bench_send(bench *b, int text, uint64_t *records, em_errinfo *err)
{
	em_status st, end;

	memset(err, 0, sizeof(*err));
	make_room(b);
	b->dest.text = text;
	emi_outseq_begin(&b->q, &b->dest, 0, b->job.plan.block_bytes);
	st = emi_line_store_send(&b->store, &b->q, records, err);
	end = emi_outseq_end(&b->q, err);
	return st != EM_OK ? st : end;
}

void bench_assert_got(const bench *b, const lines *sorted)
{
	size_t bytes;
	unsigned char *expected = lines_text(sorted, 0, sorted->n, &b->format, 0, &bytes);

	assert_true(b->filled == bytes);
	assert_memory_equal(b->got, expected, bytes);
	free(expected);
}

lines bench_sorted(const bench *b, size_t first, size_t end)
{
	lines l = { 0 };
	size_t i, n;

	for (i = first; i < end; i++) {
		const unsigned char *record = lines_at(&b->in, i, &n);

		lines_add(&l, record, n);
	}
	lines_sort(b->order, &l, 0, (b->job.flags & EM_SORT_UNIQUE) != 0);
	return l;
}

void bench_add_all(bench *b)
{
	size_t i, n, need;

	emi_line_store_clear(&b->store);
	for (i = 0; i < b->in.n; i++) {
		const unsigned char *record = lines_at(&b->in, i, &n);

		assert_int_equal(emi_line_store_add(&b->store, record, n, &need), 1);
	}
	assert_true(b->store.n == b->in.n);
}

void bench_take_elems(bench *b)
{
	const emi_pair *e;
	em_errinfo err;
	size_t i;

	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_line_store_sort(&b->store, &e, &err), EM_OK);
	make_room(b);
	for (i = 0; i < b->in.n; i++) {
		const emi_frame f = emi_frame_of(emi_order_vary(b->order), e + i);

		bench_keep_record(b, emi_frame_record(&f), f.bytes);
	}
}

int bench_style(unsigned round)
{
	static const int styles[] = { LINES_ANY, LINES_FEW, LINES_WORDS };

	return styles[round % 3];
}

/* The string of a record, for free(). */
static unsigned char *string_of(const bench *b, size_t i, size_t *bytes)
{
	const emi_vary *v = emi_order_vary(b->order);
	const unsigned char *record = lines_at(&b->in, i, bytes);
	unsigned char *frame, *string;
	size_t need;
	emi_frame f;

	emi_frame_make(v, record, *bytes, NULL, 0, &need);
	frame = malloc(need + 8);
	string = malloc(need);
	assert_true(frame != NULL && string != NULL);
	assert_true(emi_frame_make(v, record, *bytes, frame, need, NULL) == need);
	f = emi_frame_get(v, frame);
	*bytes = (size_t)emi_string_bytes(v, &f);
	memcpy(string, f.string, *bytes);
	free(frame);
	return string;
}

void bench_assert_common(const bench *b, size_t first, size_t end)
{
	size_t common, n, i, k;
	unsigned char *one = string_of(b, first, &common);

	for (i = first + 1; i < end; i++) {
		unsigned char *other = string_of(b, i, &n);

		for (k = 0; k < common && k < n && one[k] == other[k]; k++)
			;
		common = k;
		free(other);
	}
	free(one);
	assert_int_equal(b->store.common, common);
}
