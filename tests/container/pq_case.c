/* SPDX-License-Identifier: BSL-1.0 */
/* pq_case.c -- see pq_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/pq_case.h"

#define DOWN EM_KEY_DESCENDING
#define BIG EM_KEY_BIG_ENDIAN

const pq_kind pq_kinds[] = {
	{ "u32", 4, 0, 4, EM_KEY_U32, 0, 0 },
	{ "u64", 8, 0, 8, EM_KEY_U64, 0, 0 },
	{ "u32 and 4", 8, 0, 4, EM_KEY_U32, 0, 0 },
	{ "4 and u32", 8, 4, 4, EM_KEY_U32, 0, 0 },
	{ "u16be and 4", 6, 0, 2, EM_KEY_U16, BIG, 0 },
	{ "i32 down and 4", 8, 0, 4, EM_KEY_I32, DOWN, 0 },
	{ "u64 and 8", 16, 0, 8, EM_KEY_U64, 0, 0 },
	{ "8 and u64be down", 16, 8, 8, EM_KEY_U64, BIG | DOWN, 0 },
	{ "16 bytes", 16, 0, 0, EM_KEY_BYTES, 0, 0 },
	{ "u8", 1, 0, 1, EM_KEY_U8, 0, 0 },
	{ "i64be and 4", 12, 4, 8, EM_KEY_I64, BIG, 0 },
	{ "u64 in 24", 24, 8, 8, EM_KEY_U64, 0, 0 },
	{ "10 bytes in 100", 100, 2, 8, EM_KEY_BYTES, 0, 0 },
	{ "u32 in 4096", 4096, 17, 4, EM_KEY_U32, 0, 0 },
	{ "function of 8", 8, 0, 4, 0, 0, 1 },
	{ "function of 33", 33, 0, 8, 0, 0, 1 },
	{ "computed of 8", 8, 0, 4, 0, 0, 2 },
	{ "computed of 20", 20, 0, 8, 0, 0, 2 },
};
const unsigned pq_kinds_n = sizeof pq_kinds / sizeof *pq_kinds;

enum { NUMBER = 4 };            /* bytes of the number of a push */

void pq_case_ok(pq_case *t, em_status st, int line)
{
	em_errinfo err;

	if (st == EM_OK)
		return;
	em_pq_error(t->q, &err);
	fail_msg("%s, line %d: %s: %s", t->kind->name, line, em_status_name(st), t->q != NULL ? err.text : t->err.text);
}

uint64_t pq_case_most(const pq_case *t)
{
	const uint32_t width = t->kind->width != 0 ? t->kind->width : 8;

	return UINT64_MAX >> (64 - 8 * width);
}

/* The place beside the key where the number is; UINT32_MAX: there is none. */
static uint32_t number_at(const pq_kind *k)
{
	if (k->width == 0 || k->bytes < k->width + NUMBER)
		return UINT32_MAX;
	return k->at >= NUMBER ? 0 : k->at + k->width;
}

/* The bytes of a number, the first one highest or lowest. */
static void put(char *to, uint64_t x, uint32_t width, int big)
{
	uint32_t i;

	for (i = 0; i < width; i++)
		to[big ? width - 1 - i : i] = (char)(x >> 8 * i);
}

static uint64_t get(const char *from, uint32_t width, int big)
{
	uint64_t x = 0;
	uint32_t i;

	for (i = 0; i < width; i++)
		x |= (uint64_t)(unsigned char)from[big ? width - 1 - i : i] << 8 * i;
	return x;
}

static int is_signed(const pq_kind *k)
{
	return k->type >= EM_KEY_I8 && k->type <= EM_KEY_I64;
}

static int is_big(const pq_kind *k)
{
	return k->type == EM_KEY_BYTES || (k->flags & BIG) != 0;
}

static uint64_t turned(const pq_kind *k, uint64_t value)
{
	const uint32_t width = k->width != 0 ? k->width : 8;
	const uint64_t mask = UINT64_MAX >> (64 - 8 * width);

	if ((k->flags & DOWN) != 0)
		value = ~value & mask;
	if (is_signed(k))
		value ^= (uint64_t)1 << (8 * width - 1);
	return value;
}

static uint64_t value_of(const pq_kind *k, const char *record)
{
	if (k->width == 0)
		return get(record, 8, 1);
	return turned(k, get(record + k->at, k->width, is_big(k)));
}

static void write_record(const pq_kind *k, char *to, uint64_t value, uint64_t number)
{
	const uint32_t at = number_at(k);
	uint32_t i;

	for (i = 0; i < k->bytes; i++)
		to[i] = (char)(number * 0x9e3779b97f4a7c15u >> (8 * (i % 7)));
	if (k->width == 0) {
		/* The second half is equal in groups, too. */
		put(to, value, 8, 1);
		put(to + 8, value % 3, 8, 1);
		return;
	}
	put(to + k->at, turned(k, value), k->width, is_big(k));
	if (at != UINT32_MAX)
		put(to + at, number, NUMBER, 0);
	else if (k->bytes != k->width)
		memset(to + k->at + k->width, 0, k->bytes - k->at - k->width);
}

static int compare(const void *a, const void *b, void *user)
{
	const pq_case *t = user;
	const uint64_t x = value_of(t->kind, a), y = value_of(t->kind, b);

	return t->fails ? EM_CMP_ERROR : x < y ? -1 : x > y;
}

static int compute(const void *records, size_t n, uint64_t *keys, void *user)
{
	const pq_case *t = user;
	size_t i;

	for (i = 0; i < n; i++)
		keys[i] = value_of(t->kind, (const char *)records + i * t->kind->bytes);
	return t->fails;
}

void pq_case_make_order(pq_case *t)
{
	const pq_kind *k = t->kind;
	em_key key = EM_KEY_INIT;

	key.offset = k->at;
	key.type = k->type;
	key.flags = k->flags;
	if (k->type == EM_KEY_BYTES)
		key.width = k->width != 0 ? k->width : k->bytes;
	if (k->function == 1)
		assert_int_equal(em_order_cmp(&t->order, t->f.ctx, k->bytes, "value", compare, 0, t, NULL, &t->err),
				 EM_OK);
	else if (k->function == 2)
		assert_int_equal(em_order_key_fn(&t->order, t->f.ctx, k->bytes, "value", compute, 0, t, NULL, &t->err),
				 EM_OK);
	else
		assert_int_equal(em_order_keys(&t->order, t->f.ctx, k->bytes, &key, 1, &t->err), EM_OK);
	t->opts.order = t->order;
}

void pq_case_open(pq_case *t, const em_backend *backend, const pq_kind *kind, int stable, uint64_t pushes)
{
	static uint32_t opened;
	const em_pq_opts plain = EM_PQ_OPTS_INIT;

	memset(t, 0, sizeof *t);
	/* By turns with a second thread that sorts, and without. */
	fixture_open_threads(&t->f, &backend, 1, 0, 1 + opened++ % 2);
	t->kind = kind;
	t->stable = stable;
	t->opts = plain;
	t->opts.flags = stable ? EM_PQ_STABLE : 0;
	pq_case_make_order(t);
	t->opts.errinfo = &t->err;
	t->room = pushes;
	t->heap = malloc((size_t)(pushes + 1) * sizeof *t->heap);
	t->there = calloc((size_t)pushes + 1, 1);
	t->buf = malloc((size_t)kind->bytes * PQ_MANY);
	assert_non_null(t->heap);
	assert_non_null(t->there);
	assert_non_null(t->buf);
}

uint64_t pq_case_least(pq_case *t)
{
	em_pq_plan_info info = EM_PQ_PLAN_INFO_INIT;
	em_pq_opts opts = t->opts;

	opts.memory_bytes = 0;
	assert_pq_ok(t, em_pq_plan(t->f.ctx, &opts, &info));
	return info.memory_min;
}

void pq_case_make(pq_case *t)
{
	if (t->opts.memory_bytes == UINT64_MAX)
		t->opts.memory_bytes = pq_case_least(t);
	assert_pq_ok(t, em_pq_open(&t->q, t->f.ctx, &t->opts));
}

void pq_case_record(pq_case *t, uint64_t i, uint64_t value)
{
	write_record(t->kind, t->buf + i * t->kind->bytes, value & pq_case_most(t), t->pushes + i);
}

static int before(const pq_entry *a, const pq_entry *b)
{
	return a->value != b->value ? a->value < b->value : a->number < b->number;
}

static void heap_push(pq_case *t, const pq_entry *e)
{
	uint64_t i = t->n++;

	for (; i != 0 && before(e, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
		t->heap[i] = t->heap[(i - 1) / 2];
	t->heap[i] = *e;
}

static void heap_pop(pq_case *t)
{
	const pq_entry last = t->heap[--t->n];
	uint64_t i = 0, k;

	while ((k = 2 * i + 1) < t->n) {
		k += k + 1 < t->n && before(&t->heap[k + 1], &t->heap[k]);
		if (!before(&t->heap[k], &last))
			break;
		t->heap[i] = t->heap[k];
		i = k;
	}
	t->heap[i] = last;
}

void pq_case_entered(pq_case *t, uint64_t n)
{
	uint64_t i;

	assert_true(t->pushes + n <= t->room);
	for (i = 0; i < n; i++) {
		const pq_entry e = { value_of(t->kind, t->buf + i * t->kind->bytes), t->pushes };

		t->there[t->pushes++] = 1;
		heap_push(t, &e);
	}
}

uint64_t pq_case_first(pq_case *t)
{
	return t->heap[0].value;
}

/* Which of the equal ones it was is what counts for a stable queue; for others each of them is as good, so the model
 * lets go of the first one, and knows by `there' that none comes twice. */
void pq_case_came(pq_case *t, const char *record)
{
	const uint32_t at = number_at(t->kind);
	char *same = malloc(t->kind->bytes);
	uint64_t number;

	assert_non_null(same);
	assert_true(t->n != 0);
	assert_int_equal(value_of(t->kind, record), t->heap[0].value);
	number = at != UINT32_MAX ? get(record + at, NUMBER, 0) : t->heap[0].number;
	if (t->stable)
		assert_int_equal(number, t->heap[0].number);
	assert_true(number < t->pushes && t->there[number]);
	t->there[number] = 0;
	write_record(t->kind, same, t->heap[0].value, number);
	if (at != UINT32_MAX || t->kind->bytes == t->kind->width || t->kind->width == 0)
		assert_memory_equal(record, same, t->kind->bytes);
	free(same);
	heap_pop(t);
}

uint64_t pq_case_value(pq_case *t, unsigned shape)
{
	const uint64_t most = pq_case_most(t), x = test_random(&t->f.rng) & most;

	switch (shape % PQ_SHAPES) {
	case 0:                 /* anything */
		return x;
	case 1:                 /* a few values */
		return x % 5 * (most / 4);
	case 2:                 /* ascending, near the first */
		return t->n != 0 ? pq_case_first(t) + x % 100 : x;
	case 3:                 /* below the first */
		return t->n != 0 && pq_case_first(t) != 0 ? pq_case_first(t) - 1 - x % pq_case_first(t) % 10 : 0;
	case 4:                 /* all equal */
		return most / 2;
	case 5:                 /* both ends */
		return x % 2 ? most - x / 2 % 2 : x / 2 % 2;
	case 6:                 /* descending */
		return most - t->pushes % (most < 100000 ? most : 100000) * (most / 100000 + 1);
	case 7:                 /* saw-tooth */
	default:
		return t->pushes % 97 * (most / 97);
	}
}

void pq_case_push(pq_case *t, uint64_t n)
{
	uint64_t pushed = 77;

	if (n == 1) {
		assert_pq_ok(t, em_pq_push(t->q, t->buf));
	} else {
		assert_pq_ok(t, em_pq_push_many(t->q, t->buf, n, &pushed));
		assert_int_equal(pushed, n);
	}
	pq_case_entered(t, n);
	assert_int_equal(em_pq_size(t->q), t->n);
}

void pq_case_pop(pq_case *t, uint64_t n)
{
	uint64_t popped = 77, i;

	n = n < PQ_MANY ? n : PQ_MANY;
	if (t->n == 0) {
		assert_int_equal(em_pq_pop(t->q, t->buf), EM_NOT_FOUND);
		assert_int_equal(em_pq_pop_many(t->q, t->buf, 3, &popped), EM_NOT_FOUND);
		assert_int_equal(popped, 0);
		return;
	}
	if (n == 1) {
		assert_pq_ok(t, em_pq_pop(t->q, t->buf));
		popped = 1;
	} else {
		assert_pq_ok(t, em_pq_pop_many(t->q, t->buf, n, &popped));
		assert_int_equal(popped, n < t->n ? n : t->n);
	}
	for (i = 0; i < popped; i++)
		pq_case_came(t, t->buf + i * t->kind->bytes);
	assert_int_equal(em_pq_size(t->q), t->n);
}

void pq_case_top(pq_case *t)
{
	if (t->n == 0) {
		assert_int_equal(em_pq_top(t->q, t->buf), EM_NOT_FOUND);
		return;
	}
	assert_pq_ok(t, em_pq_top(t->q, t->buf));
	assert_int_equal(value_of(t->kind, t->buf), pq_case_first(t));
	if (t->stable && number_at(t->kind) != UINT32_MAX)
		assert_int_equal(get(t->buf + number_at(t->kind), NUMBER, 0), t->heap[0].number);
}

void pq_case_drain(pq_case *t)
{
	while (t->n != 0)
		pq_case_pop(t, PQ_MANY);
	pq_case_pop(t, 1);
}

em_pq_stats pq_case_stats(const pq_case *t)
{
	em_pq_stats s = EM_PQ_STATS_INIT;

	assert_int_equal(em_pq_stats_get(t->q, &s), EM_OK);
	return s;
}

void pq_case_close(pq_case *t)
{
	em_pq_close(t->q);
	assert_int_equal(emi_disk_used(t->f.disk), 0);
	em_order_close(t->order);
	free(t->heap);
	free(t->there);
	free(t->buf);
	fixture_close(&t->f);
}
