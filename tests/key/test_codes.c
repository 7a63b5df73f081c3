/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_codes.c -- offset-value codes of records of one size: what a merge relies on, for triples of records that the
 * model put in order.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "key/codes.h"
#include "key_model.h"

#define RECORD 140u             /* bytes of the largest */
#define MAX_KEYS 4


typedef struct triple {
	const em_key *keys;
	uint32_t nkeys;
	size_t bytes;           /* of a record */
	const emi_codec *codec;
	emi_codes codes;
	em_order *order;
	unsigned char record[3][RECORD];
} triple;

static int compare(const triple *t, unsigned a, unsigned b)
{
	return model_compare(t->keys, t->nkeys, t->record[a], t->record[b]);
}

static void swap(triple *t, unsigned a, unsigned b)
{
	unsigned char kept[RECORD];

	memcpy(kept, t->record[a], RECORD);
	memcpy(t->record[a], t->record[b], RECORD);
	memcpy(t->record[b], kept, RECORD);
}

/* Records of which some differ in one byte, or in none; the first becomes the least. */
static void draw_records(triple *t)
{
	unsigned i;

	model_fill(&key_rng, t->record, sizeof t->record);
	for (i = 1; i < 3; i++) {
		if (test_below(&key_rng, 4) == 0)
			continue;
		memcpy(t->record[i], t->record[i - 1], RECORD);
		if (test_below(&key_rng, 4) != 0)
			t->record[i][test_below(&key_rng, t->bytes)] = (unsigned char)test_random(&key_rng);
	}
	for (i = 1; i < 3; i++)
		if (compare(t, 0, i) > 0)
			swap(t, 0, i);
}

static uint64_t val(const triple *t, unsigned a)
{
	return (uint64_t)(uintptr_t)t->record[a];
}

/* The code of record b in a window behind record a, or of the first one in a window. */
static uint64_t code_behind(const triple *t, unsigned a, unsigned b)
{
	emi_pair e[2];

	t->codec->load(t->order, t->record[a], 1, &e[0]);
	t->codec->load(t->order, t->record[b], 1, &e[1]);
	emi_codes_make(&t->codes, e, 2, NULL);
	assert_true(e[0].val == val(t, a) && e[1].val == val(t, b));
	return e[1].key;
}

static uint64_t code_after(const triple *t, unsigned a, unsigned b)
{
	emi_pair e;

	t->codec->load(t->order, t->record[b], 1, &e);
	emi_codes_make(&t->codes, &e, 1, t->record[a]);
	return e.key;
}

/* Records 1 and 2 are behind record 0. */
static void check_triple(triple *t)
{
	const uint64_t x = code_behind(t, 0, 1), y = code_behind(t, 0, 2);
	const int c = compare(t, 1, 2);
	uint64_t lose = 1;

	assert_true(code_after(t, 0, 1) == x && code_after(t, 0, 2) == y);
	assert_int_equal(x == 0, compare(t, 0, 1) == 0);
	assert_int_equal(y == 0, compare(t, 0, 2) == 0);
	if (x != y) {
		/* Who loses by its code need not be looked at: it has the same one behind the winner. */
		assert_int_equal(c, x < y ? -1 : 1);
		assert_true((x < y ? y : x) == (x < y ? code_behind(t, 1, 2) : code_behind(t, 2, 1)));
		return;
	}
	assert_int_equal(emi_codes_recode(&t->codes, val(t, 1), val(t, 2), x, &lose), c);
	assert_true(lose == (c <= 0 ? code_behind(t, 1, 2) : code_behind(t, 2, 1)));
}

/* Elements by the last value, if records 0, 1 and 2 agree in all that is before it. */
static void check_alike(const triple *t, size_t width)
{
	const unsigned last = (unsigned)(width - 1) / 7;
	const unsigned char *first = t->record[0] + t->keys[0].offset;
	int alike = 1;
	unsigned i;

	for (i = 1; i < 3; i++) {
		const int same = memcmp(first, t->record[i] + t->keys[0].offset, last * 7) == 0;

		assert_int_equal(emi_codes_alike(&t->codes, t->record[0], t->record[i]), same && last < EMI_CODES);
		alike = alike && same && last < EMI_CODES;
	}
	if (alike) {
		emi_pair e[3];

		assert_true(sizeof t->record[0] == t->bytes);
		emi_codes_load_last(&t->codes, t->record, 3, e);
		for (i = 1; i < 3; i++) {
			assert_true(e[i].val == val(t, i));
			assert_int_equal((e[i].key > e[0].key) - (e[i].key < e[0].key), compare(t, i, 0));
		}
	}
}

static void check_order(const em_key *keys, uint32_t nkeys, size_t bytes, int codes)
{
	triple t = { 0 };
	unsigned i;

	t.keys = keys;
	t.nkeys = nkeys;
	t.bytes = bytes;
	t.order = model_order(&key_ctx, bytes, keys, nkeys);
	t.codec = emi_order_codec(t.order);
	emi_codes_init(&t.codes, t.order);
	assert_true(codes < 0 || (t.codes.n != 0) == codes);
	for (i = 0; t.codes.n != 0 && i < 200; i++) {
		draw_records(&t);
		check_triple(&t);
		if (nkeys == 1 && keys[0].type == EM_KEY_BYTES && bytes == RECORD)
			check_alike(&t, keys[0].width);
	}
	em_order_close(t.order);
}

/* Keys that end at, in front of and behind each value, and behind all of them. */
static void test_bytes(void **state)
{
	size_t width;

	(void)state;
	for (width = 9; width <= 72; width++) {
		const em_key key = { test_below(&key_rng, 4), width, EM_KEY_BYTES,
				     width % 3 == 0 ? EM_KEY_DESCENDING : 0, { 0 } };

		check_order(&key, 1, RECORD, 1);
	}
}

static void test_random_orders(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 300; i++) {
		em_key keys[MAX_KEYS];
		const uint32_t n = 1 + (uint32_t)test_below(&key_rng, MAX_KEYS);
		const size_t bytes = 20 + test_below(&key_rng, RECORD - 20);
		uint32_t k;

		for (k = 0; k < n; k++)
			keys[k] = model_random_key(&key_rng, bytes, 60);
		check_order(keys, n, bytes, -1);
	}
}

/* Orders that compare otherwise: keys that an element holds, floats that a value would cut in two. */
static void test_none(void **state)
{
	static const em_key number[] = { { 3, 0, EM_KEY_U64, 0, { 0 } } };
	static const em_key cut[] = { { 0, 0, EM_KEY_F64, 0, { 0 } }, { 8, 0, EM_KEY_U32, 0, { 0 } } };
	static const em_key not_cut[] = { { 0, 7, EM_KEY_BYTES, 0, { 0 } }, { 8, 0, EM_KEY_F32, 0, { 0 } } };
	static const em_key whole[] = { { 0, 0, EM_KEY_U64, 0, { 0 } }, { 8, 0, EM_KEY_U64, 0, { 0 } } };

	(void)state;
	check_order(number, 1, 100, 0);
	check_order(cut, 2, 100, 0);
	check_order(not_cut, 2, 100, 1);
	check_order(whole, 2, 16, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_random_orders),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests_name("key/codes", tests, key_setup, key_teardown);
}
