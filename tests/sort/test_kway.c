/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_kway.c -- merges over sorted sources that pause anywhere, and whose sources come and go.
 *
 * What comes is compared, record by record, with a model that looks for the smallest one among all sources each time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sort/kway.h"
#include "sort/kway_model.h"
#include "sort/sort_model.h"
#include "sort/sorted_memory.h"

#define MOST 1100u              /* sources in a case's life */

static const char *const isas[] = { "scalar", "avx2", "avx512" };

enum { MEMORY, PIECES, MERGE, KINDS };

/* A source, whatever it is, and what it has. */
typedef struct supply {
	int kind;
	emi_sorted_memory memory;
	kway_pieces pieces;
	emi_kway merge;         /* of these two */
	unsigned char *records;
	unsigned char *merged;  /* what the model has of them then */
} supply;

static emi_sorted_source *source_of(supply *s)
{
	return s->kind == MEMORY ? &s->memory.source : s->kind == PIECES ? &s->pieces.source
									 : emi_kway_source(&s->merge);
}

/* A merge and its model. */
typedef struct bench {
	test_rng rng;
	test_memory mem;
	em_ctx *ctx;
	em_order *order;
	size_t which, bytes;
	kway_calls calls;
	emi_collation by;
	emi_kway kway;
	em_errinfo err;
	supply *supply;         /* MOST */
	kway_part part[MOST];
	size_t n;               /* of both */
	uint64_t added;         /* sources, to number them */
	uint64_t lent;
	int64_t ticks_left;     /* until a tick says no; negative: none does */
} bench;

static em_status tick(void *arg)
{
	bench *b = arg;

	return b->ticks_left-- == 0 ? EM_ERR_CANCELED : EM_OK;
}

static void bench_open(bench *b, size_t which, const char *isa, const emi_kway_opts *opts, uint64_t fail_at)
{
	em_ctx_opts o = sort_ctx_opts();
	emi_kway_opts with = { 0, 0, NULL, NULL };
	uint64_t before;

	b->which = which;
	b->bytes = kway_bytes(which);
	b->n = 0;
	b->lent = 0;
	b->added = 0;
	b->ticks_left = -1;
	memset(&b->calls, 0, sizeof b->calls);
	memset(&b->err, 0, sizeof b->err);
	test_memory_init(&b->mem, 0);
	o.allocator = &b->mem.allocator;
	o.isa = isa;
	b->ctx = sort_ctx(&o);
	b->order = kway_order(b->ctx, which, &b->calls);
	assert_int_equal(emi_collation_open(&b->by, b->order, NULL, NULL, &b->err), EM_OK);
	if (opts != NULL)
		with = *opts;
	with.tick = tick;
	with.tick_arg = b;
	b->supply = calloc(MOST, sizeof *b->supply);
	assert_non_null(b->supply);
	before = em_ctx_memory_used(b->ctx);
	assert_int_equal(emi_kway_open(&b->kway, &b->by, &with, &b->err), EM_OK);
	/* That alone takes no memory. */
	assert_int_equal(em_ctx_memory_used(b->ctx), before);
	b->mem.fail_at = fail_at != 0 ? b->mem.calls + fail_at : 0;
}

static void bench_close(bench *b)
{
	size_t i;

	b->mem.fail_at = 0;
	emi_kway_close(&b->kway);
	for (i = 0; i < b->n; i++) {
		emi_sorted_close(source_of(&b->supply[i]));
		emi_sorted_close(&b->supply[i].pieces.source);
		free(b->supply[i].records);
		free(b->supply[i].merged);
	}
	free(b->supply);
	emi_collation_close(&b->by);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	test_memory_assert_clean(&b->mem);
}

/* A source of two, which is one of their records in order; the records of the model become that. */
static em_status open_merge(bench *b, supply *s, size_t n)
{
	const size_t half = n / 2;
	unsigned char *sorted = malloc(n * b->bytes + 1);
	kway_part two[2];
	size_t i;
	em_status st;

	assert_non_null(sorted);
	memset(two, 0, sizeof two);
	two[0].records = s->records;
	two[0].n = half;
	two[1].records = s->records + half * b->bytes;
	two[1].n = n - half;
	two[0].live = two[1].live = 1;
	two[1].number = 1;
	emi_sorted_memory_open(&s->memory, two[0].records, half, b->bytes);
	kway_pieces_open(&s->pieces, &b->rng, two[1].records, n - half, b->bytes, 9, 1);
	for (i = 0; i < n; i++) {
		kway_part *p = kway_next_part(b->which, two, 2);

		memcpy(sorted + i * b->bytes, p->records + p->at++ * b->bytes, b->bytes);
	}
	st = emi_kway_open(&s->merge, &b->by, NULL, &b->err);
	assert_int_equal(st, EM_OK);
	st = emi_kway_add(&s->merge, &s->memory.source, 0, &b->err);
	if (st == EM_OK)
		st = emi_kway_add(&s->merge, &s->pieces.source, 0, &b->err);
	/* The model has them in order; the sources still refer to what there was. */
	b->part[b->n].records = s->merged = sorted;
	return st;
}

/* Another source of n records of so many keys. */
static em_status add(bench *b, int kind, size_t n, size_t few, uint64_t rank)
{
	supply *s = &b->supply[b->n];
	kway_part *p = &b->part[b->n];
	em_status st = EM_OK;

	assert_true(b->n < MOST);
	memset(p, 0, sizeof *p);
	s->kind = kind;
	s->records = kway_records(&b->rng, b->which, n, few);
	p->records = s->records;
	p->n = n;
	p->rank = rank;
	p->number = b->added++;
	if (kind == MEMORY)
		emi_sorted_memory_open(&s->memory, n != 0 ? s->records : NULL, n, b->bytes);
	else if (kind == PIECES)
		kway_pieces_open(&s->pieces, &b->rng, s->records, n, b->bytes, 1 + (size_t)test_below(&b->rng, 200),
				 (int)test_below(&b->rng, 2));
	else
		st = open_merge(b, s, n);
	b->n++;
	if (st == EM_OK)
		st = emi_kway_add(&b->kway, source_of(s), rank, &b->err);
	p->live = st == EM_OK;
	return st;
}

static size_t any_size(bench *b)
{
	static const size_t most[] = { 1, 2, 20, 300, 4000 };

	return (size_t)test_below(&b->rng, most[test_below(&b->rng, 5)]);
}

static size_t any_few(bench *b)
{
	return test_below(&b->rng, 3) == 0 ? 1 + (size_t)test_below(&b->rng, 5) : 0;
}

static void add_any(bench *b, size_t n)
{
	assert_int_equal(add(b, (int)test_below(&b->rng, KINDS), n, any_few(b), test_below(&b->rng, 3)), EM_OK);
}

/* The records that were lent are the next ones of the model. */
static void assert_lent(bench *b, const char *records, size_t n, const emi_kway_stop *stop)
{
	size_t i;

	if (stop->most != 0)
		assert_true(n <= stop->most);
	for (i = 0; i < n; i++) {
		kway_part *p = kway_next_part(b->which, b->part, b->n);
		const char *record = records + i * b->bytes;

		if (p == NULL)
			fail_msg("record %llu is one too many", (unsigned long long)b->lent);
		if (memcmp(record, p->records + p->at * b->bytes, b->bytes) != 0)
			fail_msg("order %zu: record %llu, %zu of %zu that were lent, is another", b->which,
				 (unsigned long long)b->lent, i, n);
		if (stop->bound != NULL)
			assert_true(kway_compare(b->which, record, stop->bound) < (stop->upto ? 1 : 0));
		p->at++;
		b->lent++;
	}
}

/* Lend some, up to a stop.  0: all sources are over. */
static int lend(bench *b, const emi_kway_stop *stop, size_t *n)
{
	const kway_part *p;
	const char *records;
	em_status st = emi_kway_next(&b->kway, stop, &records, n, &b->err);

	if (st < 0)
		fail_msg("%s", b->err.text);
	assert_lent(b, records, *n, stop);
	if (*n != 0)
		return 1;
	p = kway_next_part(b->which, b->part, b->n);
	assert_int_equal(st, p != NULL ? EM_OK : EM_END);
	if (p == NULL)
		return 0;
	assert_non_null(stop->bound);
	assert_true(kway_compare(b->which, p->records + p->at * b->bytes, stop->bound) > (stop->upto ? 0 : -1));
	return 1;
}

/* Lend as many as there are up to that. */
static int lend_all(bench *b, const emi_kway_stop *stop)
{
	emi_kway_stop left = *stop;
	size_t n;
	int more;

	do {
		more = lend(b, &left, &n);
		if (stop->most != 0)
			left.most -= n;
	} while (more && n != 0 && (stop->most == 0 || left.most != 0));
	return more;
}

/* A record of any source, or of its own. */
static void any_bound(bench *b, unsigned char *bound)
{
	const kway_part *p = &b->part[test_below(&b->rng, b->n)];

	test_fill(&b->rng, bound, b->bytes);
	if (p->n != 0 && test_below(&b->rng, 4) != 0)
		memcpy(bound, p->records + test_below(&b->rng, p->n) * b->bytes, b->bytes);
}

static void lend_any(bench *b)
{
	unsigned char bound[128];
	emi_kway_stop stop = { 0, NULL, 0 };

	assert_true(b->bytes <= sizeof bound);
	stop.most = test_below(&b->rng, 3) == 0 ? 0 : 1 + any_size(b);
	if (b->n != 0 && test_below(&b->rng, 2) == 0) {
		any_bound(b, bound);
		stop.bound = bound;
		stop.upto = (int)test_below(&b->rng, 2);
	}
	(void)lend_all(b, &stop);
}

/* Some source leaves; what it still has comes back as another source, or nowhere. */
static void take_any(bench *b)
{
	const size_t i = (size_t)test_below(&b->rng, b->n);
	emi_sorted_source *s = source_of(&b->supply[i]);
	kway_part *p = &b->part[i];

	emi_kway_remove(&b->kway, s);
	/* It is left with what was not lent. */
	if (s->at != s->end)
		assert_memory_equal(s->at, p->records + p->at * b->bytes, b->bytes);
	p->live = 0;
	if (test_below(&b->rng, 3) == 0)
		return;
	p->rank = test_below(&b->rng, 3);
	p->number = b->added++;
	p->live = 1;
	assert_int_equal(emi_kway_add(&b->kway, s, p->rank, &b->err), EM_OK);
}

static emi_kway_opts any_opts(test_rng *rng)
{
	static const size_t batch[] = { 0, 0, 0, 1, 7, 1000, 20000 }, window[] = { 0, 0, 1, 5, 64 };
	emi_kway_opts o = { 0, 0, NULL, NULL };

	o.batch = batch[test_below(rng, 7)];
	o.window = window[test_below(rng, 5)];
	return o;
}

static const char *any_isa(test_rng *rng)
{
	const char *isa = isas[test_below(rng, 3)];

	return emi_kernels_for(EMI_ELEM_U64, isa) != NULL ? isa : "scalar";
}

/* Sources come and go, and the merge pauses anywhere. */
static void test_any(void **state)
{
	static bench b;
	const emi_kway_stop nowhere = { 0, NULL, 0 };
	size_t which;
	int i, k, steps;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (which = 0; which < kway_orders; which++) {
		for (i = 0; i < 12; i += (int)test_step()) {
			const emi_kway_opts opts = any_opts(&b.rng);

			bench_open(&b, which, any_isa(&b.rng), &opts, 0);
			for (k = (int)test_below(&b.rng, 30); k > 0; k--)
				add_any(&b, any_size(&b));
			for (steps = 30; steps > 0; steps--) {
				if (test_below(&b.rng, 5) == 0)
					add_any(&b, any_size(&b));
				else if (b.n != 0 && test_below(&b.rng, 5) == 0)
					take_any(&b);
				else
					lend_any(&b);
			}
			assert_false(lend_all(&b, &nowhere));
			/* It goes on. */
			add_any(&b, 10);
			assert_false(lend_all(&b, &nowhere));
			bench_close(&b);
		}
	}
}

/* 0, 1, 2, ... 1000 sources; as many as mixing takes, and one more. */
static void test_widths(void **state)
{
	static const size_t widths[] = { 0, 1, 2, 3, 8, 9, 255, 256, 257, 1000 };
	static bench b;
	const emi_kway_stop nowhere = { 0, NULL, 0 };
	size_t which, w, i;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (which = 0; which < kway_orders; which++) {
		for (w = 0; w < sizeof widths / sizeof *widths; w++) {
			const size_t each = 1 + 4000 / (widths[w] + 1);
			uint64_t before;

			if (test_left_out())
				continue;
			bench_open(&b, which, any_isa(&b.rng), NULL, 0);
			before = em_ctx_memory_used(b.ctx);
			assert_int_equal(emi_kway_reserve(&b.kway, (uint32_t)widths[w], &b.err), EM_OK);
			for (i = 0; i < widths[w]; i++)
				assert_int_equal(add(&b, (int)test_below(&b.rng, 2), each, any_few(&b), 0), EM_OK);
			assert_false(lend_all(&b, &nowhere));
			assert_true(em_ctx_memory_peak(b.ctx) - before <=
				    emi_kway_memory(&b.by, NULL, (uint32_t)widths[w]));
			bench_close(&b);
		}
	}
}

/* All keys are equal: source after source, by rank. */
static void test_equal(void **state)
{
	static bench b;
	size_t which, i;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (which = 0; which < kway_orders; which++) {
		unsigned char like[128];
		emi_kway_stop stop = { 0, like, 0 };
		size_t n;

		bench_open(&b, which, any_isa(&b.rng), NULL, 0);
		for (i = 0; i < 20; i++) {
			assert_int_equal(add(&b, (int)(i % 2), 500, 1, 20 - i / 3), EM_OK);
			/* kway_records() has another key for each. */
			if (i == 0)
				memcpy(like, b.supply[0].records, b.bytes);
		}
		for (i = 0; i < 20; i++) {
			size_t r;

			for (r = 0; r < b.part[i].n; r++) {
				unsigned char *at = b.supply[i].records + r * b.bytes;

				/* The whole record but a byte that no key has, if there is one. */
				memcpy(at, like, b.bytes);
				if (b.bytes == 12)
					at[0] = (unsigned char)(i * 7 + r);
				else if (b.bytes == 100 || b.bytes == 40 || b.bytes == 33 || b.bytes == 17)
					at[b.bytes - 12] = (unsigned char)(i * 7 + r);
				if (kway_compare(which, at, like) != 0)
					at[b.bytes - 12] = like[b.bytes - 12];
			}
		}
		assert_true(lend(&b, &stop, &n));
		assert_int_equal(n, 0);
		stop.upto = 1;
		stop.most = 4321;
		assert_true(lend_all(&b, &stop));
		assert_int_equal(b.lent, 4321);
		assert_int_equal(add(&b, MEMORY, 5, 1, 0), EM_OK);
		memcpy(b.supply[20].records, like, b.bytes);
		b.supply[20].memory.source.end = b.supply[20].memory.source.at + b.bytes;
		b.part[20].n = 1;
		stop.most = 0;
		assert_false(lend_all(&b, &stop));
		assert_int_equal(b.lent, 20 * 500 + 1);
		bench_close(&b);
	}
}

/* Bounds one after the other, each for some records: as queues and streams have them. */
static void test_bounds(void **state)
{
	static bench b;
	const emi_kway_stop nowhere = { 0, NULL, 0 };
	size_t which, i;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (which = 0; which < kway_orders; which++) {
		unsigned char *bounds;

		if (test_left_out())
			continue;
		bench_open(&b, which, any_isa(&b.rng), NULL, 0);
		bounds = kway_records(&b.rng, which, 100, 0);
		for (i = 0; i < 10; i++)
			add_any(&b, 300);
		for (i = 0; i < 100; i++) {
			const emi_kway_stop stop = { i % 3, bounds + i * b.bytes, (int)(i % 2) };

			(void)lend_all(&b, &stop);
		}
		assert_false(lend_all(&b, &nowhere));
		free(bounds);
		bench_close(&b);
	}
}

/* A source that is the only one is lent as it is; so is one that lies before all others, where that is looked for. */
static void test_alone(void **state)
{
	static bench b;
	const emi_kway_stop nowhere = { 0, NULL, 0 };
	const char *records;
	size_t which, n, i;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (which = 0; which < kway_orders; which++) {
		bench_open(&b, which, NULL, NULL, 0);
		assert_int_equal(add(&b, MEMORY, 10000, 0, 0), EM_OK);
		assert_int_equal(emi_kway_next(&b.kway, &nowhere, &records, &n, &b.err), EM_OK);
		assert_ptr_equal(records, b.supply[0].records);
		/* All of them, or as many as are loaded. */
		assert_true(n >= 256);
		for (i = 0; i < n; i++)
			b.part[0].at++;
		assert_false(lend_all(&b, &nowhere));
		bench_close(&b);
	}
}

/* Mixing one, and its halves as two sources. */
static void test_disjoint(void **state)
{
	static bench b;
	const emi_kway_stop nowhere = { 0, NULL, 0 };
	const size_t which = 3;
	const char *records;
	size_t n, i;

	(void)state;
	b.rng = test_rng_make(test_seed());
	bench_open(&b, which, NULL, NULL, 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(add(&b, MEMORY, 5000, 0, 0), EM_OK);
	for (i = 0; i < 4; i++) {
		uint64_t *keys = (uint64_t *)(void *)b.supply[i].records;
		size_t r;

		for (r = 0; r < 5000; r++)
			keys[r] = keys[r] >> 2 | (uint64_t)(3 - i) << 62;
	}
	for (i = 0; i < 4; i++) {
		assert_int_equal(emi_kway_next(&b.kway, &nowhere, &records, &n, &b.err), EM_OK);
		assert_ptr_equal(records, b.supply[3 - i].records);
		assert_int_equal(n, 5000);
	}
	assert_int_equal(emi_kway_next(&b.kway, &nowhere, &records, &n, &b.err), EM_END);
	bench_close(&b);
}

/* A merge of some sources that is done, whatever fails meanwhile: what was not lent comes later.  Returns the first
 * failure, or EM_OK.  Without memory for a source there is no merge, and after EM_ERR_USER nobody knows the order. */
static em_status merge_some(bench *b, int n)
{
	unsigned char bound[128];
	const emi_kway_stop stops[2] = { { 700, NULL, 0 }, { 0, bound, 1 } };
	em_status st = EM_OK, first = EM_OK;
	const char *records;
	unsigned failures = 0, turn = 0;
	size_t got;
	int i;

	for (i = 0; i < n && st == EM_OK; i++)
		st = add(b, i % KINDS, 400, 0, 0);
	if (st != EM_OK)
		return st;
	memcpy(bound, b->supply[0].records + 200 * b->bytes, b->bytes);
	for (; st != EM_END; turn++) {
		st = emi_kway_next(&b->kway, &stops[turn % 2], &records, &got, &b->err);
		assert_int_equal(b->err.status, st < 0 ? st : EM_OK);
		if (st == EM_ERR_USER)
			return st;
		assert_lent(b, records, got, &stops[turn % 2]);
		if (st >= EM_OK)
			continue;
		assert_true(++failures < 100);
		first = first == EM_OK ? st : first;
		memset(&b->err, 0, sizeof b->err);
	}
	assert_null(kway_next_part(b->which, b->part, b->n));
	return first;
}

/* Each allocation fails; the merge says so, and goes on. */
static void test_memory_faults(void **state)
{
	static bench b;
	const char *records;
	size_t which, n;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (which = 0; which < kway_orders; which++) {
		uint64_t fail_at;
		em_status st;
		int failed;

		for (fail_at = test_nth_after(0, 1);; fail_at = test_nth_after(fail_at, 1)) {
			bench_open(&b, which, NULL, NULL, fail_at);
			st = merge_some(&b, 13);
			failed = test_memory_failed(&b.mem);
			assert_int_equal(st, failed ? EM_ERR_NOMEM : EM_OK);
			bench_close(&b);
			if (!failed)
				break;
		}
		assert_true(fail_at > 3);
	}
	/* A source that could not be added changes nothing. */
	bench_open(&b, 3, NULL, NULL, 0);
	for (n = 0; n < 8; n++)
		assert_int_equal(add(&b, MEMORY, 100, 0, 0), EM_OK);
	b.mem.fail_at = b.mem.calls + 2;
	assert_int_equal(add(&b, MEMORY, 100, 0, 0), EM_ERR_NOMEM);
	memset(&b.err, 0, sizeof b.err);
	assert_false(lend_all(&b, &(const emi_kway_stop){ 0, NULL, 0 }));
	assert_int_equal(b.lent, 800);
	/* Nor does one that is not there. */
	emi_kway_remove(&b.kway, &b.supply[8].memory.source);
	assert_int_equal(emi_kway_next(&b.kway, NULL, &records, &n, &b.err), EM_END);
	bench_close(&b);
}

/* Each window fails; so does each tick, and each call of a function. */
static void test_failures(void **state)
{
	static bench b;
	size_t which;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (which = 0; which < kway_orders; which++) {
		uint64_t at;
		em_status st;

		for (at = test_nth_after(0, 5); at < 40; at = test_nth_after(at, 5)) {
			bench_open(&b, which, NULL, NULL, 0);
			assert_int_equal(add(&b, PIECES, 300, 0, 0), EM_OK);
			b.supply[0].pieces.fail_at = at;
			b.supply[0].pieces.most = 20;
			st = merge_some(&b, 3);
			/* What was merged by then is lent, then it is told, and then the source is asked again. */
			assert_int_equal(st, b.supply[0].pieces.windows < at ? EM_OK : EM_ERR_IO);
			bench_close(&b);
		}
		for (at = 0; at < 4; at++) {
			bench_open(&b, which, NULL, NULL, 0);
			b.ticks_left = (int64_t)at;
			assert_int_equal(merge_some(&b, 9), EM_ERR_CANCELED);
			bench_close(&b);
		}
		for (at = test_nth_after(0, 250);; at = test_nth_after(at, 250)) {
			uint64_t calls;

			bench_open(&b, which, NULL, NULL, 0);
			b.calls.fail_at = at;
			st = merge_some(&b, 9);
			calls = b.calls.n;
			bench_close(&b);
			if (calls < at)
				break;
			assert_int_equal(st, EM_ERR_USER);
		}
		assert_int_equal(st, EM_OK);
	}
}

/* Records of any length are no such sources. */
static void test_lines(void **state)
{
	em_ctx_opts o = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&o);
	em_errinfo err = EM_ERRINFO_INIT;
	emi_collation by;
	em_order *order;
	emi_kway k;

	(void)state;
	assert_int_equal(em_order_text(&order, ctx, NULL, 0, NULL, NULL), EM_OK);
	assert_int_equal(emi_collation_open(&by, order, NULL, NULL, &err), EM_OK);
	assert_int_equal(emi_kway_open(&k, &by, NULL, &err), EM_ERR_NOTSUP);
	emi_kway_close(&k);
	emi_collation_close(&by);
	em_order_close(order);
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_disjoint),
		cmocka_unit_test(test_memory_faults),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
