/* SPDX-License-Identifier: BSL-1.0 */
/* radix_case.c -- see radix_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/radix_case.h"

void radix_case_ok(radix_case *t, em_status st, int line)
{
	em_errinfo err;

	if (st == EM_OK)
		return;
	em_radix_heap_error(t->h, &err);
	fail_msg("line %d: %s: %s", line, em_status_name(st), t->h != NULL ? err.text : t->err.text);
}

void radix_case_open(radix_case *t, const em_backend *backend, uint64_t record, uint64_t pushes)
{
	radix_case_open_with(t, backend, record, pushes, 0);
}

void radix_case_open_with(radix_case *t, const em_backend *backend, uint64_t record, uint64_t pushes, uint32_t flags)
{
	const em_radix_heap_opts plain = EM_RADIX_HEAP_OPTS_INIT;

	memset(t, 0, sizeof *t);
	fixture_open_with(&t->f, &backend, 1, flags);
	t->opts = plain;
	t->opts.record_bytes = record;
	t->opts.errinfo = &t->err;
	t->opts.key_type = EM_KEY_U64;
	t->pushes_most = pushes;
	t->room = pushes;
	t->keys = malloc((size_t)(pushes + 1) * sizeof *t->keys);
	t->key_of = malloc((size_t)(pushes + 1) * sizeof *t->key_of);
	t->there = calloc((size_t)pushes + 1, 1);
	t->buf = malloc((size_t)record * RADIX_MANY);
	assert_non_null(t->keys);
	assert_non_null(t->key_of);
	assert_non_null(t->there);
	assert_non_null(t->buf);
}

uint64_t radix_case_least(radix_case *t)
{
	em_radix_heap_plan_info info = EM_RADIX_HEAP_PLAN_INFO_INIT;
	em_radix_heap_opts opts = t->opts;

	opts.memory_bytes = 0;
	assert_int_equal(em_radix_heap_plan(t->f.ctx, &opts, &info), EM_OK);
	return info.memory_min;
}

void radix_case_make(radix_case *t)
{
	static const unsigned widths[] = { 1, 2, 4, 8 };

	if (t->opts.memory_bytes == UINT64_MAX)
		t->opts.memory_bytes = radix_case_least(t);
	t->width = t->opts.key_type == EM_KEY_F32   ? 4
		   : t->opts.key_type == EM_KEY_F64 ? 8
						    : widths[t->opts.key_type - EM_KEY_U8];
	t->key_most = UINT64_MAX >> (64 - 8 * t->width);
	if (t->opts.key_type == EM_KEY_F32)
		t->key_most = 0x7f800000;
	if (t->opts.key_type == EM_KEY_F64)
		t->key_most = (uint64_t)0x7ff << 52;
	t->most = t->opts.range != 0 && t->opts.range < t->key_most ? t->opts.range : t->key_most;
	assert_radix_ok(t, em_radix_heap_open(&t->h, t->f.ctx, &t->opts));
	assert_int_equal(em_radix_heap_record_bytes(t->h), t->opts.record_bytes);
}

static int has_number(const radix_case *t)
{
	const uint64_t behind = t->opts.record_bytes - t->opts.key_offset - t->width;

	return behind >= sizeof(uint32_t) || t->opts.key_offset >= sizeof(uint32_t);
}

/* Where the number of the push is: behind the key, or before it. */
static size_t number_at(const radix_case *t)
{
	const uint64_t behind = t->opts.key_offset + t->width;

	return (size_t)(behind + sizeof(uint32_t) <= t->opts.record_bytes ? behind
									  : t->opts.key_offset - sizeof(uint32_t));
}

static void write_record(const radix_case *t, char *record, uint64_t key, uint32_t number)
{
	const int big = (t->opts.key_flags & EM_KEY_BIG_ENDIAN) != 0;
	unsigned i;
	uint64_t b;

	for (b = 0; b < t->opts.record_bytes; b++)
		record[b] = (char)(number * 7 + b);
	if (has_number(t))
		memcpy(record + number_at(t), &number, sizeof number);
	for (i = 0; i < t->width; i++)
		record[t->opts.key_offset + i] = (char)(key >> 8 * (big ? t->width - 1 - i : i));
}

static uint64_t key_in(const radix_case *t, const char *record)
{
	const int big = (t->opts.key_flags & EM_KEY_BIG_ENDIAN) != 0;
	uint64_t key = 0;
	unsigned i;

	for (i = 0; i < t->width; i++)
		key |= (uint64_t)(unsigned char)record[t->opts.key_offset + i] << 8 * (big ? t->width - 1 - i : i);
	return key;
}

void radix_case_record(radix_case *t, uint64_t i, uint64_t key)
{
	assert_true(t->pushes + i < t->pushes_most);
	write_record(t, t->buf + i * t->opts.record_bytes, key, has_number(t) ? (uint32_t)(t->pushes + i) : 0);
}

static void model_push(radix_case *t, uint64_t key)
{
	uint64_t i = t->n++;

	for (; i != 0 && key < t->keys[(i - 1) / 2]; i = (i - 1) / 2)
		t->keys[i] = t->keys[(i - 1) / 2];
	t->keys[i] = key;
}

static void model_pop(radix_case *t)
{
	const uint64_t key = t->keys[--t->n];
	uint64_t i = 0, child;

	for (; (child = 2 * i + 1) < t->n; i = child) {
		child += child + 1 < t->n && t->keys[child + 1] < t->keys[child];
		if (key <= t->keys[child])
			break;
		t->keys[i] = t->keys[child];
	}
	t->keys[i] = key;
}

void radix_case_entered(radix_case *t, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		const uint64_t key = key_in(t, t->buf + i * t->opts.record_bytes);

		t->key_of[t->pushes] = key;
		t->there[t->pushes++] = 1;
		model_push(t, key);
	}
	assert_int_equal(em_radix_heap_size(t->h), t->n);
}

void radix_case_push(radix_case *t, uint64_t n)
{
	uint64_t pushed = 77;

	if (n == 1) {
		assert_radix_ok(t, em_radix_heap_push(t->h, t->buf));
	} else {
		assert_radix_ok(t, em_radix_heap_push_many(t->h, t->buf, n, &pushed));
		assert_int_equal(pushed, n);
	}
	radix_case_entered(t, n);
}

/* The record is one with the least key, whole, and there. */
static void check(radix_case *t, const char *record, uint32_t *number)
{
	static char is[1 << 16];

	assert_true(t->n != 0);
	if (key_in(t, record) != t->keys[0])
		fail_msg("key %llu came, and %llu is the least", (unsigned long long)key_in(t, record),
			 (unsigned long long)t->keys[0]);
	*number = 0;
	if (has_number(t)) {
		memcpy(number, record + number_at(t), sizeof *number);
		assert_true(*number < t->pushes);
		assert_int_equal(t->there[*number], 1);
		assert_int_equal(t->key_of[*number], t->keys[0]);
	}
	write_record(t, is, t->keys[0], *number);
	assert_memory_equal(is, record, (size_t)t->opts.record_bytes);
}

void radix_case_came(radix_case *t, const char *record)
{
	uint32_t number;

	check(t, record, &number);
	if (has_number(t))
		t->there[number] = 0;
	t->last = t->keys[0];
	model_pop(t);
}

void radix_case_pop(radix_case *t, uint64_t n)
{
	uint64_t popped = 1, i;
	em_status st;

	if (n == 1) {
		st = em_radix_heap_pop(t->h, t->buf);
		popped = st == EM_OK;
	} else {
		st = em_radix_heap_pop_many(t->h, t->buf, n, &popped);
	}
	if (t->n == 0) {
		assert_int_equal(st, n != 0 ? EM_NOT_FOUND : EM_OK);
		assert_int_equal(popped, 0);
		return;
	}
	assert_radix_ok(t, st);
	assert_int_equal(popped, n < t->n ? n : t->n);
	for (i = 0; i < popped; i++)
		radix_case_came(t, t->buf + i * t->opts.record_bytes);
	assert_int_equal(em_radix_heap_size(t->h), t->n);
	assert_int_equal(em_radix_heap_last(t->h), t->last);
}

void radix_case_top(radix_case *t)
{
	const em_status st = em_radix_heap_top(t->h, t->buf);
	uint32_t number;

	if (t->n == 0) {
		assert_int_equal(st, EM_NOT_FOUND);
		return;
	}
	assert_radix_ok(t, st);
	check(t, t->buf, &number);
	assert_int_equal(em_radix_heap_last(t->h), t->last);
}

void radix_case_drain(radix_case *t)
{
	while (t->n != 0)
		radix_case_pop(t, 1 + test_below(&t->f.rng, RADIX_MANY));
	radix_case_pop(t, 1);
	radix_case_top(t);
}

uint64_t radix_case_key(radix_case *t, unsigned shape)
{
	const uint64_t left = t->key_most - t->last;
	uint64_t x = test_random(&t->f.rng), most = t->most < left ? t->most : left;

	/* Where any key is allowed, the end would be reached soon, and then all are equal. */
	if (t->most == t->key_most && test_below(&t->f.rng, 20000) != 0)
		most >>= 2 + x % 14;
	switch (shape % 7) {
	case 0:         /* anywhere */
		return t->last + (most == UINT64_MAX ? x : x % (most + 1));
	case 1:         /* at all scales */
		x >>= x % 64;
		return t->last + (x < most ? x : most);
	case 2:         /* near */
		return t->last + (x % 100 < most ? x % 100 : most);
	case 3:         /* at the end of what is allowed */
		return t->last + most - (x % 3 < most ? x % 3 : most);
	case 4:         /* few */
		return t->last + (most / 4) * (x % 4);
	case 5:         /* equal */
		return t->last;
	default:        /* with gaps */
		return t->last + (most == UINT64_MAX ? x : x % (most + 1)) / (most / 1000 + 1) * (most / 1000 + 1);
	}
}

em_radix_heap_stats radix_case_stats(const radix_case *t)
{
	em_radix_heap_stats s = EM_RADIX_HEAP_STATS_INIT;

	assert_int_equal(em_radix_heap_stats_get(t->h, &s), EM_OK);
	return s;
}

void radix_case_close(radix_case *t)
{
	em_radix_heap_close(t->h);
	assert_int_equal(emi_disk_used(t->f.disk), 0);
	fixture_close(&t->f);
	free(t->keys);
	free(t->key_of);
	free(t->there);
	free(t->buf);
}
