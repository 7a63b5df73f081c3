/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_radix_heap.c -- what radix heaps promise beside the order: digits, plans, how many transfers they take, what is
 * refused, what is small.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/placement.h>

#include "container/radix_case.h"
#include "container/radix_heap_digits.h"

enum { BLOCK = 4096, RUNS = 6 << 20 };

static const em_backend *memory(void)
{
	return em_backend_find("memory");
}

/* r^h, or UINT64_MAX if that is more. */
static uint64_t power(uint64_t r, uint32_t h)
{
	uint64_t p = 1;

	for (; h != 0; h--)
		p = p > UINT64_MAX / r ? UINT64_MAX : p * r;
	return p;
}

/* The least radix for any range is the least: also of ranges that are next to a power. */
static void test_radix(void **state)
{
	uint32_t least[EMI_RADIX_LEVELS + 1], h;
	test_rng rng = test_rng_make(test_seed());
	unsigned i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		uint64_t c = test_random(&rng) >> i % 64;

		if (i % 2 == 0) {
			c = power(2 + c % (i % 4 == 0 ? 300 : 70000), 1 + i / 2 % 40);
			c = c == UINT64_MAX ? c : c - 1 + i / 4 % 3;
		}
		c += c == 0;
		emi_radix_least(c, least);
		for (h = 1; h <= EMI_RADIX_LEVELS; h++) {
			const uint64_t all = power(least[h], h), fewer = power(least[h] - 1, h);

			assert_true(least[h] >= 2);
			if (least[h] == UINT32_MAX)
				continue;
			assert_true(all > c || all == UINT64_MAX);
			assert_true(least[h] == 2 || fewer <= c);
		}
	}
	emi_radix_least(UINT64_MAX, least);
	assert_int_equal(least[64], 2);
	assert_int_equal(least[32], 4);
	assert_int_equal(least[8], 256);
	emi_radix_least(255, least);
	assert_int_equal(least[1], 256);
	assert_int_equal(least[2], 16);
	emi_radix_least(256, least);
	assert_int_equal(least[1], 257);
	assert_int_equal(least[2], 17);
}

/* The bucket of a key by the definition. */
static uint32_t bucket_of(uint64_t reference, uint64_t key, uint32_t h, uint32_t r)
{
	uint64_t a = reference, b = key;
	uint32_t bucket = (uint32_t)(b % r), l;

	for (l = 0; l < h; l++, a /= r, b /= r)
		if (a % r != b % r)
			bucket = l * r + (uint32_t)(b % r);
	return a != b ? h * r + (uint32_t)(b & 1) : bucket;
}

/* Buckets are those of the definition, whatever the radix, and their last keys are. */
static void test_digits(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	unsigned i, k;

	(void)state;
	for (i = 0; i < 3000; i++) {
		const uint32_t r = 2 + (uint32_t)test_below(&rng, i % 3 == 0 ? 5 : i % 3 == 1 ? 300 : 70000);
		uint32_t h = 1 + (uint32_t)test_below(&rng, 12);
		uint64_t reference = test_random(&rng) >> test_below(&rng, 64), key, last;
		emi_radix_digits d;
		uint32_t bucket;

		while (h > 1 && power(r, h - 1) == UINT64_MAX)
			h--;
		emi_radix_digits_init(&d, h, r);
		assert_int_equal(emi_radix_count(&d), h * r + 2);
		emi_radix_refer(&d, reference, h);
		for (k = 0; k < 50; k++) {
			const uint64_t most = power(r, h), left = UINT64_MAX - reference;
			uint64_t x = test_random(&rng) >> test_below(&rng, 64);

			x = x < most ? x : most - 1;
			key = reference + (x < left ? x : left);
			bucket = emi_radix_bucket_of(&d, key, h);
			assert_int_equal(bucket, bucket_of(reference, key, h, r));
			last = emi_radix_last(&d, bucket);
			assert_true(last >= key);
			assert_int_equal(emi_radix_bucket_of(&d, last, h), bucket);
			if (last != UINT64_MAX && bucket < h * r)
				assert_int_not_equal(emi_radix_bucket_of(&d, last + 1, h), bucket);
			/* The reference may go there. */
			if (k % 8 == 7) {
				reference = key;
				emi_radix_refer(&d, key, emi_radix_level_of(&d, bucket));
			}
		}
	}
}

static em_radix_heap_plan_info plan_of(radix_case *t)
{
	em_radix_heap_plan_info info = EM_RADIX_HEAP_PLAN_INFO_INIT;

	assert_radix_ok(t, em_radix_heap_plan(t->f.ctx, &t->opts, &info));
	return info;
}

/* Plans fit into the memory and hold the range; the least memory is the least. */
static void test_plans(void **state)
{
	static const uint32_t records[] = { 8, 9, 100, 5000, 70000 };
	static const uint64_t ranges[] = { 0, 1, 255, 256, 1000, 65535, 65536, (uint64_t)1 << 31, UINT64_MAX };
	unsigned r, c, m;

	(void)state;
	for (r = 0; r < sizeof records / sizeof *records; r++) {
		for (c = 0; c < sizeof ranges / sizeof *ranges; c++) {
			em_radix_heap_plan_info info;
			uint64_t least;
			radix_case t;

			radix_case_open(&t, memory(), records[r], 1);
			t.opts.range = ranges[c];
			info = plan_of(&t);
			assert_true(info.memory >= info.memory_min || info.memory <= 4u << 20);
			least = info.memory_min;
			if (least > 24u << 20) {
				radix_case_close(&t);
				continue;
			}
			for (m = 0; m < 30; m++) {
				t.opts.memory_bytes = least + ((32u << 20) - least) / 30 * m;
				info = plan_of(&t);
				assert_true(info.memory <= t.opts.memory_bytes);
				assert_int_equal(info.memory_min, least);
				assert_true(power(info.radix, info.levels) > info.range ||
					    power(info.radix, info.levels) == UINT64_MAX);
				assert_int_equal(info.buckets, info.levels * info.radix + 2);
				assert_int_equal(info.block_records, info.block_bytes / records[r]);
				assert_true(info.front_records >= 2 && info.write_buffers >= 1);
			}
			t.opts.memory_bytes = least - 1;
			assert_int_equal(em_radix_heap_plan(t.f.ctx, &t.opts, &info), EM_ERR_MEMLIMIT);
			assert_int_equal(info.memory_min, least);
			assert_int_equal(em_radix_heap_open(&t.h, t.f.ctx, &t.opts), EM_ERR_MEMLIMIT);
			assert_null(t.h);
			radix_case_close(&t);
		}
	}
}

/* A radix that is a power of two is taken if it fits, another one if only that does. */
static void test_both_radixes(void **state)
{
	em_radix_heap_plan_info info;
	radix_case t;

	(void)state;
	radix_case_open(&t, memory(), 8, 1);
	t.opts.block_bytes = BLOCK;
	t.opts.range = 1000;
	t.opts.memory_bytes = 5u << 20;
	info = plan_of(&t);
	assert_true(info.levels == 1 && info.radix == 1024);
	t.opts.memory_bytes = 1001 * BLOCK + 200 * 1024;
	while (plan_of(&t).levels != 1)
		t.opts.memory_bytes += BLOCK;
	info = plan_of(&t);
	assert_true(info.levels == 1 && info.radix == 1001);
	t.opts.memory_bytes = 700 * 1024;
	info = plan_of(&t);
	assert_true(info.levels == 2 && info.radix == 32);
	radix_case_close(&t);
}

/* Few records: nothing is opened or written on scratch, and little memory is taken. */
static void test_small(void **state)
{
	uint64_t bytes, i;
	radix_case t;

	(void)state;
	radix_case_open(&t, memory(), 16, 5000);
	t.f.fault[0].ops = EM_FAULT_ALL;
	t.f.fault[0].count = 0;
	bytes = t.f.mem.bytes;
	radix_case_make(&t);
	for (i = 0; i < 1000; i++) {
		radix_case_record(&t, 0, radix_case_key(&t, 0));
		radix_case_push(&t, 1);
	}
	assert_true(t.f.mem.bytes - bytes <= em_radix_heap_memory(&t.opts, 1000));
	for (; i < 3000; i++) {
		radix_case_pop(&t, 1);
		radix_case_record(&t, 0, radix_case_key(&t, i % 2 ? 1 : 0));
		radix_case_push(&t, 1);
	}
	radix_case_drain(&t);
	assert_int_equal(t.f.fault[0].count, 0);
	assert_true(t.f.mem.peak - bytes < 128 * 1024);
	assert_true(em_radix_heap_memory(&t.opts, 1000) < 128 * 1024);
	radix_case_close(&t);
}

/* However many records there are, more of them take no less memory. */
static void test_memory_grows(void **state)
{
	static const uint64_t records[] = { 8, 12, 4096, 5000 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof records / sizeof *records; i++) {
		const em_radix_heap_opts plain = EM_RADIX_HEAP_OPTS_INIT;
		em_radix_heap_opts opts = plain;
		uint64_t least, before = 0, n;

		opts.record_bytes = records[i];
		opts.block_bytes = records[i] <= 4096 ? 4096 : 8192;
		for (n = 1; n != 0; n *= 2) {
			least = em_radix_heap_memory(&opts, n - 1);
			assert_true(least >= before && least != 0);
			assert_true(em_radix_heap_memory(&opts, n) >= least);
			assert_true(em_radix_heap_memory(&opts, n + 1) >= em_radix_heap_memory(&opts, n));
			before = least;
		}
		for (n = UINT64_MAX; n > UINT64_MAX - 10; n--)
			assert_true(em_radix_heap_memory(&opts, n) >= before);
		/* The id of a block is some bytes, so this many are more than can be counted. */
		if (records[i] >= 4096)
			assert_int_equal(em_radix_heap_memory(&opts, UINT64_MAX), UINT64_MAX);
	}
}

/* Push all, in some order, and pop all. */
static void run(radix_case *t, uint64_t n, unsigned order)
{
	const uint64_t most = t->most, last = t->last;
	uint64_t i, k;

	for (i = 0; i < n; i += k) {
		for (k = 0; k < RADIX_MANY && i + k < n; k++) {
			const uint64_t step = most / n, at = i + k;
			uint64_t key = 0;

			switch (order) {
			case 0:         /* ascending */
				key = at * step;
				break;
			case 1:         /* descending */
				key = most - at * step;
				break;
			case 2:         /* saw-tooth */
				key = at % 100 * (most / 100);
				break;
			case 3:         /* equal */
				key = most / 2;
				break;
			case 4:         /* at both ends */
				key = at % 2 ? most - at % 3 : at % 3;
				break;
			default:
				key = most == UINT64_MAX ? test_random(&t->f.rng) : test_below(&t->f.rng, most + 1);
			}
			key = key < most ? key : most;
			radix_case_record(t, k, last + (key < t->key_most - last ? key : t->key_most - last));
		}
		radix_case_push(t, k);
	}
	radix_case_drain(t);
}

/* Ranges that are next to r^h, from a last minimum of 0 on, and from one with which they end at the end of all keys. */
static void test_ranges(void **state)
{
	static const struct { uint32_t r, h; } of[] = {
		{ 16, 2 }, { 10, 3 }, { 2, 16 }, { 256, 1 }, { 7, 9 }, { 4, 31 }
	};
	unsigned i, order;
	int more;

	(void)state;
	for (i = 0; i < sizeof of / sizeof *of; i++) {
		for (more = -1; more <= 1; more++) {
			radix_case t;

			if (test_left_out())
				continue;
			radix_case_open(&t, memory(), 16, 200000);
			t.opts.range = power(of[i].r, of[i].h) + (uint64_t)(int64_t)more;
			t.opts.block_bytes = BLOCK;
			t.opts.memory_bytes = UINT64_MAX;
			radix_case_make(&t);
			for (order = 0; order < 6; order++)
				run(&t, 10000, order);
			radix_case_close(&t);
		}
	}
}

static void test_ends(void **state)
{
	static const uint64_t ranges[] = { 0, 1000, UINT64_MAX - 1, 1, (uint64_t)1 << 40 };
	unsigned i, order;

	(void)state;
	for (i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		radix_case t;

		radix_case_open(&t, memory(), 12, 200000);
		t.opts.range = ranges[i];
		t.opts.block_bytes = BLOCK;
		t.opts.memory_bytes = UINT64_MAX;
		radix_case_make(&t);
		/* Up to the end, in as many steps as it takes. */
		while (t.last != UINT64_MAX - 500 && t.most > UINT64_MAX / 1000) {
			const uint64_t left = UINT64_MAX - 500 - t.last;

			radix_case_record(&t, 0, t.last + (t.most < left ? t.most : left));
			radix_case_push(&t, 1);
			radix_case_pop(&t, 1);
		}
		for (order = 0; order < 6; order++)
			run(&t, 10000, order);
		radix_case_record(&t, 0, t.last);
		radix_case_push(&t, 1);
		radix_case_drain(&t);
		radix_case_close(&t);
	}
}

/* All in, all out: no more than n/B + 2hn/B transfers, whatever the order, and none if it fits into memory. */
static void test_transfers(void **state)
{
	/* Also with memory for runs. */
	static const struct { uint64_t range, memory; } of[] = {
		{ 1000, UINT64_MAX }, { (uint64_t)1 << 31, UINT64_MAX }, { 0, UINT64_MAX }, { 5, UINT64_MAX },
		{ 0, RUNS }, { (uint64_t)1 << 60, RUNS }
	};
	unsigned i, order;

	(void)state;
	for (i = 0; i < sizeof of / sizeof *of; i++) {
		for (order = 0; order < 6; order++) {
			const uint64_t n = 150000;
			em_radix_heap_stats s;
			uint64_t blocks;
			radix_case t;

			if (test_left_out())
				continue;
			radix_case_open(&t, memory(), 16, n + 1);
			t.opts.range = of[i].range;
			t.opts.block_bytes = BLOCK;
			t.opts.memory_bytes = of[i].memory;
			radix_case_make(&t);
			run(&t, n, order);
			s = radix_case_stats(&t);
			blocks = n / (BLOCK / 16);
			assert_int_equal(s.blocks, 0);
			assert_true(s.reads <= s.levels * blocks);
			assert_true(s.reads + s.writes <= blocks + 2 * s.levels * blocks);
			assert_true(s.distributed <= n * s.levels);
			assert_true(t.f.mem.peak <= em_radix_heap_memory(&t.opts, n) + (2u << 20));
			radix_case_close(&t);
		}
	}
}

/* Floats: their order, and what is none of their keys. */
static void test_floats(void **state)
{
	const double refused[] = { -1.0, -1e-300 }, zero = -0.0, some[] = { 3.5, 1e300, 0.0, 1e-310, 2.0 };
	const uint64_t infinity = (uint64_t)0x7ff << 52, none = infinity | 1, neither = (uint64_t)0xfff8 << 48;
	em_radix_heap *h;
	double got, last = 0;
	radix_case t;
	unsigned i;

	(void)state;
	radix_case_open(&t, memory(), 8, 1);
	t.opts.key_type = EM_KEY_F64;
	assert_radix_ok(&t, em_radix_heap_open(&h, t.f.ctx, &t.opts));
	for (i = 0; i < 2; i++)
		assert_int_equal(em_radix_heap_push(h, &refused[i]), EM_ERR_RANGE);
	em_radix_heap_error(h, &t.err);
	assert_non_null(strstr(t.err.text, "float"));
	assert_int_equal(em_radix_heap_push(h, &none), EM_ERR_RANGE);
	assert_int_equal(em_radix_heap_push(h, &neither), EM_ERR_RANGE);
	assert_int_equal(em_radix_heap_size(h), 0);
	for (i = 0; i < 5; i++)
		assert_int_equal(em_radix_heap_push(h, &some[i]), EM_OK);
	assert_int_equal(em_radix_heap_push(h, &infinity), EM_OK);
	assert_int_equal(em_radix_heap_push(h, &zero), EM_OK);
	for (i = 0; i < 7; i++) {
		assert_int_equal(em_radix_heap_pop(h, &got), EM_OK);
		assert_true(got >= last);
		last = got;
	}
	assert_int_equal(em_radix_heap_last(h), infinity);
	assert_int_equal(em_radix_heap_push(h, &some[1]), EM_ERR_RANGE);
	em_radix_heap_close(h);
	t.opts.key_type = EM_KEY_F32;
	t.opts.key_offset = 4;
	assert_radix_ok(&t, em_radix_heap_open(&h, t.f.ctx, &t.opts));
	em_radix_heap_close(h);
	radix_case_close(&t);
}

/* What is no heap, or cannot be. */
static void test_options(void **state)
{
	em_radix_heap_opts opts, plain;
	em_placement place;
	em_radix_heap *h;
	radix_case t;

	(void)state;
	radix_case_open(&t, memory(), 8, 1);
	plain = t.opts;
	memset(&place, 0, sizeof place);
	place.disks = 5;
#define refused(field, value, expected) \
	do { \
		opts = plain; \
		opts.field = value; \
		t.err.status = EM_OK; \
		assert_int_equal(em_radix_heap_open(&h, t.f.ctx, &opts), expected); \
		assert_null(h); \
		assert_int_equal(t.err.status, expected); \
		assert_true(t.err.text[0] != '\0'); \
	} while (0)
	refused(record_bytes, 0, EM_ERR_RANGE);
	refused(record_bytes, ((uint64_t)1 << 24) + 1, EM_ERR_RANGE);
	refused(record_bytes, 7, EM_ERR_RANGE);
	refused(key_offset, 1, EM_ERR_RANGE);
	refused(key_offset, UINT64_MAX, EM_ERR_RANGE);
	refused(key_type, EM_KEY_I64, EM_ERR_INVAL);
	refused(key_type, EM_KEY_BYTES, EM_ERR_INVAL);
	refused(key_type, -1, EM_ERR_INVAL);
	refused(key_flags, EM_KEY_DESCENDING, EM_ERR_INVAL);
	refused(reserved, 1, EM_ERR_INVAL);
	refused(block_bytes, 100, EM_ERR_INVAL);
	refused(block_bytes, (uint64_t)1 << 32, EM_ERR_RANGE);
	refused(memory_bytes, 1, EM_ERR_MEMLIMIT);
	refused(memory_bytes, (uint64_t)1 << 40, EM_ERR_MEMLIMIT);
	refused(placement, &place, EM_ERR_INVAL);
	plain.key_type = EM_KEY_F64;
	refused(range, 3, EM_ERR_INVAL);
	plain.record_bytes = 5000;
	refused(block_bytes, 4096, EM_ERR_RANGE);
	plain.record_bytes = (uint64_t)1 << 24;
	refused(key_offset, 0, EM_ERR_MEMLIMIT);
#undef refused
	assert_int_equal(em_radix_heap_open(NULL, t.f.ctx, &t.opts), EM_ERR_INVAL);
	assert_int_equal(em_radix_heap_open(&h, NULL, &t.opts), EM_ERR_INVAL);
	assert_int_equal(em_radix_heap_open(&h, t.f.ctx, NULL), EM_ERR_INVAL);
	assert_true(em_radix_heap_memory(&t.opts, 1) != 0);
	t.opts.size = 0;
	assert_int_equal(em_radix_heap_open(&h, t.f.ctx, &t.opts), EM_ERR_VERSION);
	assert_true(em_radix_heap_memory(&t.opts, 1) == 0 && em_radix_heap_memory(NULL, 1) == 0);
	radix_case_close(&t);
}

/* An empty heap says so, and goes on. */
static void test_empty(void **state)
{
	uint64_t got = 5, n = 77;
	radix_case t;

	(void)state;
	radix_case_open(&t, memory(), 8, 10);
	radix_case_make(&t);
	assert_int_equal(em_radix_heap_pop(t.h, &got), EM_NOT_FOUND);
	assert_int_equal(em_radix_heap_top(t.h, &got), EM_NOT_FOUND);
	assert_int_equal(em_radix_heap_pop_many(t.h, &got, 1, &n), EM_NOT_FOUND);
	assert_int_equal(n, 0);
	assert_int_equal(em_radix_heap_pop_many(t.h, NULL, 0, &n), EM_OK);
	em_radix_heap_error(t.h, &t.err);
	assert_int_equal(t.err.status, EM_OK);
	assert_int_equal(em_radix_heap_push_many(t.h, &got, UINT64_MAX / 2, &n), EM_ERR_RANGE);
	assert_int_equal(n, 0);
	assert_int_equal(em_radix_heap_push(t.h, &got), EM_OK);
	assert_int_equal(em_radix_heap_pop_many(t.h, &got, 1, &n), EM_OK);
	assert_int_equal(n, 1);
	radix_case_close(&t);
}

/* On three disks, with a placement. */
static void test_disks(void **state)
{
	const em_backend *backends[FIXTURE_DISKS] = { memory(), memory(), memory() };
	em_placement place;
	uint64_t x, last = 0, i;
	em_radix_heap *h;
	fixture f;
	em_radix_heap_opts opts = EM_RADIX_HEAP_OPTS_INIT;

	(void)state;
	fixture_open_on(&f, backends, FIXTURE_DISKS);
	assert_int_equal(em_placement_init(&place, EM_PLACE_CYCLING, FIXTURE_DISKS, 0, 1, 2), EM_OK);
	opts.record_bytes = 8;
	opts.block_bytes = BLOCK;
	opts.placement = &place;
	opts.memory_bytes = 2 << 20;
	assert_int_equal(em_radix_heap_open(&h, f.ctx, &opts), EM_OK);
	memset(&place, 0, sizeof place);
	for (i = 0; i < 500000; i++) {
		x = test_random(&f.rng);
		assert_int_equal(em_radix_heap_push(h, &x), EM_OK);
	}
	for (i = 0; i < 500000; i++) {
		assert_int_equal(em_radix_heap_pop(h, &x), EM_OK);
		assert_true(x >= last);
		last = x;
	}
	em_radix_heap_close(h);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_radix),
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_both_radixes),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_memory_grows),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_disks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
