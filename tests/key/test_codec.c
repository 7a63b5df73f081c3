/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_codec.c -- records to elements and back, against the model's comparison, for every shape of record.
 *
 * Records lie at odd addresses, in allocations of their exact size, so that AddressSanitizer sees a look
 * behind their end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "key/normalise.h"
#include "key/order.h"
#include "key_model.h"

#define MAX_KEYS 5
#define RECORDS 40


static void *must_alloc(size_t bytes)
{
	void *p = malloc(bytes);

	assert_non_null(p);
	return p;
}

/* Records at an odd address: the memory to free is one byte before them. */
static unsigned char *odd_records(size_t n, size_t record_size)
{
	return (unsigned char *)must_alloc(n * record_size + 1) + 1;
}

static void odd_free(unsigned char *records)
{
	free(records - 1);
}

static emi_pair element(const emi_codec *c, const void *elems, size_t i)
{
	emi_pair e = { 0, 0 };

	if (c->elem == EMI_ELEM_U32)
		e.key = ((const uint32_t *)elems)[i];
	else if (c->elem == EMI_ELEM_U64)
		e.key = ((const uint64_t *)elems)[i];
	else
		e = ((const emi_pair *)elems)[i];
	return e;
}

/* Loaded elements against the model: key(), (key, tie) for all pairs of records, where references point. */
static void check_elements(const em_order *o, const em_key *keys, uint32_t nkeys, const unsigned char *records,
			   size_t n, const void *elems)
{
	const emi_codec *c = emi_order_codec(o);
	emi_compare compare = { 0 };
	const emi_tie tie = emi_order_tie(o, &compare);
	size_t i, j;

	assert_int_equal(tie.fn == NULL, c->exact);
	for (i = 0; i < n; i++) {
		const unsigned char *a = records + i * c->record_bytes;
		const emi_pair x = element(c, elems, i);

		assert_true(c->key(o, a) == x.key);
		if (!c->exact)
			assert_true(emi_codec_val(c, o, a) == x.val);
		if (c->ref)
			assert_true(x.val == (uint64_t)(uintptr_t)a);
		for (j = 0; j < n; j++) {
			const unsigned char *b = records + j * c->record_bytes;
			const emi_pair y = element(c, elems, j);
			const int expected = model_compare(keys, nkeys, a, b);
			int got = (x.key > y.key) - (x.key < y.key);

			if (got == 0 && tie.fn != NULL) {
				got = tie.fn(tie.arg, x.val, y.val);
				got = (got > 0) - (got < 0);
			}
			assert_int_equal(got, expected);
			assert_int_equal(em_order_compare(o, a, b), expected);
		}
	}
	assert_int_equal(compare.failed, 0);
}

/* Store in another order than loaded; then in place. */
static void check_store(const em_order *o, const unsigned char *records, size_t n, const void *elems)
{
	const emi_codec *c = emi_order_codec(o);
	unsigned char *shuffled = must_alloc(n * c->elem_bytes);
	unsigned char *out = odd_records(n, c->record_bytes);
	size_t *at = must_alloc(n * sizeof(*at));
	size_t i;

	for (i = 0; i < n; i++) {
		const size_t j = (size_t)test_below(&key_rng, i + 1);

		at[i] = at[j];
		at[j] = i;
	}
	for (i = 0; i < n; i++)
		memcpy(shuffled + i * c->elem_bytes, (const unsigned char *)elems + at[i] * c->elem_bytes,
		       c->elem_bytes);
	memset(out, 0xa5, n * c->record_bytes);
	c->store(o, shuffled, 0, out);
	assert_int_equal(out[0], 0xa5);
	c->store(o, shuffled, n, out);
	for (i = 0; i < n; i++)
		assert_memory_equal(out + i * c->record_bytes, records + at[i] * c->record_bytes, c->record_bytes);
	if (c->elem_bytes == c->record_bytes) {
		c->store(o, shuffled, n, shuffled);
		assert_memory_equal(shuffled, out, n * c->record_bytes);
	}
	free(at);
	odd_free(out);
	free(shuffled);
}

static void check_load_in_place(const em_order *o, const unsigned char *records, size_t n, const void *elems)
{
	const emi_codec *c = emi_order_codec(o);
	unsigned char *same;

	if (c->elem_bytes != c->record_bytes || c->ref)
		return;
	same = must_alloc(n * c->elem_bytes);
	memcpy(same, records, n * c->record_bytes);
	c->load(o, same, n, same);
	assert_memory_equal(same, elems, n * c->elem_bytes);
	free(same);
}

static void check_records(em_order *o, const em_key *keys, uint32_t nkeys, unsigned char *records, size_t n)
{
	const emi_codec *c = emi_order_codec(o);
	unsigned char *elems = must_alloc(n * c->elem_bytes);

	memset(elems, 0xa5, n * c->elem_bytes);
	c->load(o, records, 0, elems);
	assert_int_equal(elems[0], 0xa5);
	c->load(o, records, n, elems);
	if (c->identity)
		assert_memory_equal(elems, records, n * c->record_bytes);
	check_elements(o, keys, nkeys, records, n, elems);
	check_store(o, records, n, elems);
	check_load_in_place(o, records, n, elems);
	free(elems);
}

/* n random records, among them equal ones and some that differ in one byte only. */
static void fill_records(unsigned char *records, size_t n, size_t record_size)
{
	size_t i;

	model_fill(&key_rng, records, n * record_size);
	for (i = 1; i < n; i++) {
		unsigned char *record = records + i * record_size;
		const uint64_t how = test_below(&key_rng, 4);

		if (how == 0)
			continue;
		memcpy(record, record - record_size, record_size);
		if (how > 1)
			record[test_below(&key_rng, record_size)] ^= (unsigned char)(1u << test_below(&key_rng, 8));
	}
}

static void check_random_records(em_order *o, const em_key *keys, uint32_t nkeys)
{
	const size_t record_size = (size_t)em_order_record_size(o);
	unsigned char *records = odd_records(RECORDS, record_size);

	fill_records(records, RECORDS, record_size);
	check_records(o, keys, nkeys, records, RECORDS);
	check_records(o, keys, nkeys, records, 1);
	odd_free(records);
}

static void check_order(size_t record_size, const em_key *keys, uint32_t nkeys)
{
	em_order *o = model_order(&key_ctx, record_size, keys, nkeys);

	check_random_records(o, keys, nkeys);
	em_order_close(o);
}

/* Every numeric type, byte order, direction and place in records of up to 17 bytes and in some larger ones. */
static void test_one_number(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24, 33 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		em_key key = EM_KEY_INIT;

		for (key.type = EM_KEY_U8; key.type <= EM_KEY_F64; key.type++) {
			for (key.flags = 0; key.flags < 4; key.flags++) {
				for (key.offset = 0; key.offset + model_width(&key) <= sizes[i]; key.offset++)
					check_order(sizes[i], &key, 1);
			}
		}
	}
}

/* The values that are special to each type, in the shapes that have loops of their own. */
static void test_special_values(void **state)
{
	uint64_t bits[MODEL_MAX_VALUES];
	size_t record_size, i;

	(void)state;
	for (record_size = 1; record_size <= 40; record_size++) {
		em_key key = EM_KEY_INIT;

		for (key.type = EM_KEY_U8; key.type <= EM_KEY_F64; key.type++) {
			const size_t n = model_values(key.type, bits);

			if (model_width(&key) > record_size)
				continue;
			for (key.flags = 0; key.flags < 4; key.flags++) {
				unsigned char *records = odd_records(n, record_size);
				em_order *o;

				key.offset = test_below(&key_rng, 2) * (record_size - model_width(&key));
				o = model_order(&key_ctx, record_size, &key, 1);
				test_fill(&key_rng, records, n * record_size);
				for (i = 0; i < n; i++)
					model_write(&key, records + i * record_size, bits[i]);
				check_records(o, &key, 1, records, n);
				em_order_close(o);
				odd_free(records);
			}
		}
	}
}

/* Two numbers of 4 bytes, signed or not, in both directions and byte orders, at any places: those that have loops of
 * their own among them. */
static void test_two_numbers(void **state)
{
	static const size_t sizes[] = { 8, 9, 12, 13, 16, 17, 24 };
	size_t i, a, b;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (a = 0; a + 4 <= sizes[i]; a++) {
			for (b = 0; b + 4 <= sizes[i]; b++) {
				const uint32_t flags = (uint32_t)test_below(&key_rng, 4);
				em_key keys[2] = { { a, 0, EM_KEY_U32, flags, { 0 } },
						   { b, 0, EM_KEY_U32, flags, { 0 } } };

				keys[0].type = test_below(&key_rng, 2) == 0 ? EM_KEY_I32 : EM_KEY_U32;
				keys[1].flags ^= test_below(&key_rng, 4) == 0 ? EM_KEY_DESCENDING : 0;
				check_order(sizes[i], keys, 2);
			}
		}
	}
}

static void test_byte_strings(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 20, 32, 100 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		em_key key = { 0, 0, EM_KEY_BYTES, 0, { 0 } };

		for (key.width = 1; key.width <= sizes[i] && key.width <= 12; key.width++) {
			for (key.flags = 0; key.flags <= EM_KEY_DESCENDING; key.flags += EM_KEY_DESCENDING) {
				key.offset = 0;
				check_order(sizes[i], &key, 1);
				key.offset = sizes[i] - key.width;
				check_order(sizes[i], &key, 1);
				key.offset = key.offset / 2;
				check_order(sizes[i], &key, 1);
			}
		}
	}
}

/* No keys: all bytes, for records from 1 to 4097. */
static void test_whole_records(void **state)
{
	static const size_t sizes[] = { 63, 64, 65, 80, 96, 99, 100, 101, 127, 128, 255, 256, 257, 1000, 4095, 4096,
					4097 };
	size_t i;

	(void)state;
	for (i = 0; i < 48 + sizeof(sizes) / sizeof(sizes[0]); i++) {
		const size_t size = i < 48 ? i + 1 : sizes[i - 48];
		const em_key all = { 0, size, EM_KEY_BYTES, 0, { 0 } };
		em_order *o = model_order(&key_ctx, size, NULL, 0);

		check_random_records(o, &all, 1);
		em_order_close(o);
	}
}

/* Random fields: gaps, overlaps, more and less than fits in an element. */
static void test_random_fields(void **state)
{
	unsigned bare = 0, pair = 0, ref = 0, inexact = 0, round;

	(void)state;
	for (round = 0; round < 2500; round++) {
		const size_t record_size = 1 + (size_t)test_below(&key_rng, test_below(&key_rng, 10) == 0 ? 4097 : 24);
		const uint32_t nkeys = 1 + (uint32_t)test_below(&key_rng, MAX_KEYS);
		const emi_codec *c;
		em_key keys[MAX_KEYS];
		em_order *o;
		uint32_t i;

		for (i = 0; i < nkeys; i++)
			keys[i] = model_random_key(&key_rng, record_size, record_size > 12 ? 12 : record_size);
		o = model_order(&key_ctx, record_size, keys, nkeys);
		c = emi_order_codec(o);
		*(c->ref ? &ref : c->elem == EMI_ELEM_PAIR ? &pair : &bare) += 1;
		inexact += !c->exact;
		check_random_records(o, keys, nkeys);
		em_order_close(o);
	}
	assert_true(bare > 5 && pair > 50 && ref > 50 && inexact > 50);
}

/* Small records that the fields divide among themselves, in any order: these are made again from their keys. */
static void test_partitions(void **state)
{
	unsigned round, bare = 0;

	(void)state;
	for (round = 0; round < 1500; round++) {
		em_key keys[MAX_KEYS];
		uint64_t offset = 0, width = 0;
		uint32_t n = 0, i;
		size_t record_size;
		em_order *o;

		while (n < MAX_KEYS) {
			em_key key = model_random_key(&key_rng, 8, 5);

			offset += test_below(&key_rng, 3) == 0 ? test_below(&key_rng, 3) : 0;
			if (offset + model_width(&key) > 8)
				break;
			key.offset = offset;
			offset += model_width(&key);
			width += model_width(&key);
			i = (uint32_t)test_below(&key_rng, n + 1);
			keys[n++] = keys[i];
			keys[i] = key;
		}
		if (n == 0)
			continue;
		record_size = (size_t)(offset + test_below(&key_rng, 3) * test_below(&key_rng, 3));
		if (record_size - width > 8)
			record_size = (size_t)width + 8;
		o = model_order(&key_ctx, record_size, keys, n);
		assert_false(emi_order_codec(o)->ref);
		assert_true(emi_order_codec(o)->exact);
		bare += emi_order_codec(o)->elem != EMI_ELEM_PAIR;
		check_random_records(o, keys, n);
		em_order_close(o);
	}
	assert_true(bare > 50);
}

/* Records of 9 to 16 bytes that are all key, in fields of any type and order: elements hold them, but for floats in the
 * middle. */
static void test_wide(void **state)
{
	unsigned round, wide = 0, same = 0;

	(void)state;
	for (round = 0; round < 1500; round++) {
		em_key keys[MAX_KEYS];
		uint64_t offset = 0;
		uint32_t n = 0, i;
		em_order *o;

		while (n < MAX_KEYS && offset < 16) {
			em_key key = model_random_key(&key_rng, 16, 16);

			if (offset + model_width(&key) > 16)
				break;
			key.offset = offset;
			offset += model_width(&key);
			i = (uint32_t)test_below(&key_rng, n + 1);
			keys[n++] = keys[i];
			keys[i] = key;
		}
		if (offset <= 8)
			continue;
		o = model_order(&key_ctx, (size_t)offset, keys, n);
		assert_false(emi_order_codec(o)->exact);
		assert_true(emi_order_codec(o)->ref != (emi_order_codec(o)->low != NULL));
		wide += emi_order_codec(o)->low != NULL;
		same += emi_codec_in_place(emi_order_codec(o)) != 0;
		check_random_records(o, keys, n);
		em_order_close(o);
	}
	assert_true(wide > 100 && same > 10);
}

/* Which element is chosen. */
static void test_choice(void **state)
{
	const uint32_t native = EMI_BIG_ENDIAN ? EM_KEY_BIG_ENDIAN : 0;
	const uint32_t foreign = native ^ EM_KEY_BIG_ENDIAN;
	const struct {
		size_t record_size;
		em_key keys[2];
		uint32_t n;
		emi_elem elem;
		int ref, exact, identity;
	} cases[] = {
		{ 4, { { 0, 0, EM_KEY_U32, native, { 0 } } }, 1, EMI_ELEM_U32, 0, 1, 1 },
		{ 4, { { 0, 0, EM_KEY_U32, foreign, { 0 } } }, 1, EMI_ELEM_U32, 0, 1, 0 },
		{ 4, { { 0, 0, EM_KEY_I32, native, { 0 } } }, 1, EMI_ELEM_U32, 0, 1, 0 },
		{ 1, { { 0, 0, EM_KEY_U8, 0, { 0 } } }, 1, EMI_ELEM_U32, 0, 1, 0 },
		{ 3, { { 0, 3, EM_KEY_BYTES, 0, { 0 } } }, 1, EMI_ELEM_U32, 0, 1, 0 },
		{ 5, { { 0, 5, EM_KEY_BYTES, 0, { 0 } } }, 1, EMI_ELEM_U64, 0, 1, 0 },
		{ 8, { { 0, 0, EM_KEY_U64, native, { 0 } } }, 1, EMI_ELEM_U64, 0, 1, 1 },
		{ 8, { { 0, 0, EM_KEY_U64, native | EM_KEY_DESCENDING, { 0 } } }, 1, EMI_ELEM_U64, 0, 1, 0 },
		{ 8, { { 0, 0, EM_KEY_F64, native, { 0 } } }, 1, EMI_ELEM_U64, 0, 1, 0 },
		/* Two numbers, the higher one first, are one where the highest byte is the first. */
		{ 8, { { 0, 0, EM_KEY_U32, native, { 0 } },
			{ 4, 0, EM_KEY_U32, native, { 0 } } }, 2, EMI_ELEM_U64, 0, 1, EMI_BIG_ENDIAN },
		{ 8, { { 4, 0, EM_KEY_U32, native, { 0 } },
			{ 0, 0, EM_KEY_U32, native, { 0 } } }, 2, EMI_ELEM_U64, 0, 1, !EMI_BIG_ENDIAN },
		{ 8, { { 0, 0, EM_KEY_U32, native, { 0 } } }, 1, EMI_ELEM_PAIR, 0, 1, 0 },
		{ 16, { { 0, 0, EM_KEY_U64, native, { 0 } } }, 1, EMI_ELEM_PAIR, 0, 1, 1 },
		{ 16, { { 8, 0, EM_KEY_U64, native, { 0 } } }, 1, EMI_ELEM_PAIR, 0, 1, 0 },
		{ 16, { { 4, 0, EM_KEY_U64, native, { 0 } } }, 1, EMI_ELEM_PAIR, 0, 1, 0 },
		{ 16, { { 0, 0, EM_KEY_U32, native, { 0 } } }, 1, EMI_ELEM_PAIR, 1, 1, 0 },
		{ 17, { { 0, 0, EM_KEY_U64, native, { 0 } } }, 1, EMI_ELEM_PAIR, 1, 1, 0 },
		{ 9, { { 0, 0, EM_KEY_U8, 0, { 0 } } }, 1, EMI_ELEM_PAIR, 0, 1, 0 },
		{ 10, { { 0, 0, EM_KEY_U8, 0, { 0 } } }, 1, EMI_ELEM_PAIR, 1, 1, 0 },
		/* The whole record is key, of more than 8 bytes. */
		{ 16, { { 0, 0, EM_KEY_U64, native, { 0 } },
			{ 8, 0, EM_KEY_U64, native, { 0 } } }, 2, EMI_ELEM_PAIR, 0, 0, 1 },
		{ 16, { { 8, 0, EM_KEY_U64, native, { 0 } },
			{ 0, 0, EM_KEY_U64, native, { 0 } } }, 2, EMI_ELEM_PAIR, 0, 0, 0 },
		{ 16, { { 0, 0, EM_KEY_U64, native, { 0 } },
			{ 8, 0, EM_KEY_I64, native, { 0 } } }, 2, EMI_ELEM_PAIR, 0, 0, 0 },
		{ 16, { { 0, 0, EM_KEY_U64, native, { 0 } },
			{ 8, 0, EM_KEY_U64, foreign, { 0 } } }, 2, EMI_ELEM_PAIR, 0, 0, 0 },
		{ 16, { { 0, 16, EM_KEY_BYTES, 0, { 0 } } }, 1, EMI_ELEM_PAIR, 0, 0, EMI_BIG_ENDIAN },
		{ 9, { { 0, 9, EM_KEY_BYTES, EM_KEY_DESCENDING, { 0 } } }, 1, EMI_ELEM_PAIR, 0, 0, 0 },
		{ 17, { { 0, 17, EM_KEY_BYTES, 0, { 0 } } }, 1, EMI_ELEM_PAIR, 1, 0, 0 },
		{ 16, { { 0, 0, EM_KEY_F64, 0, { 0 } }, { 8, 0, EM_KEY_F64, 0, { 0 } } }, 2, EMI_ELEM_PAIR, 0, 0, 0 },
		/* A float would be cut in two; a byte is told twice, and another not at all. */
		{ 12, { { 0, 0, EM_KEY_U32, native, { 0 } },
			{ 4, 0, EM_KEY_F64, 0, { 0 } } }, 2, EMI_ELEM_PAIR, 1, 0, 0 },
		{ 12, { { 0, 0, EM_KEY_U64, native, { 0 } },
			{ 7, 0, EM_KEY_U32, native, { 0 } } }, 2, EMI_ELEM_PAIR, 1, 0, 0 },
		{ 16, { { 0, 0, EM_KEY_U64, native, { 0 } },
			{ 8, 0, EM_KEY_U8, 0, { 0 } } }, 2, EMI_ELEM_PAIR, 1, 0, 0 },
		{ 100, { { 0, 10, EM_KEY_BYTES, 0, { 0 } } }, 1, EMI_ELEM_PAIR, 1, 0, 0 },
		{ 100, { { 0, 8, EM_KEY_BYTES, 0, { 0 } } }, 1, EMI_ELEM_PAIR, 1, 1, 0 },
		/* Overlaps. */
		{ 8, { { 0, 0, EM_KEY_U32, native, { 0 } },
			{ 2, 0, EM_KEY_U32, native, { 0 } } }, 2, EMI_ELEM_PAIR, 1, 1, 0 },
		{ 4, { { 0, 0, EM_KEY_U32, native, { 0 } },
			{ 0, 0, EM_KEY_U32, native, { 0 } } }, 2, EMI_ELEM_PAIR, 1, 1, 0 },
		{ 2, { { 0, 0, EM_KEY_U8, 0, { 0 } }, { 0, 0, EM_KEY_U8, 0, { 0 } } }, 2, EMI_ELEM_PAIR, 1, 1, 0 },
		{ 14, { { 0, 0, EM_KEY_U32, native, { 0 } },
			{ 3, 0, EM_KEY_U32, native, { 0 } } }, 2, EMI_ELEM_PAIR, 1, 1, 0 },
		{ 16, { { 0, 0, EM_KEY_U32, native, { 0 } },
			{ 3, 0, EM_KEY_U32, native, { 0 } } }, 2, EMI_ELEM_PAIR, 1, 1, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		em_order *o = model_order(&key_ctx, cases[i].record_size, cases[i].keys, cases[i].n);
		const emi_codec *c = emi_order_codec(o);

		assert_int_equal(c->elem, cases[i].elem);
		assert_int_equal(c->ref, cases[i].ref);
		assert_int_equal(c->exact, cases[i].exact);
		assert_int_equal(c->identity, cases[i].identity);
		assert_int_equal(c->record_bytes, cases[i].record_size);
		assert_int_equal(c->elem_bytes, c->elem == EMI_ELEM_U32 ? 4 : c->elem == EMI_ELEM_U64 ? 8 : 16);
		check_random_records(o, cases[i].keys, cases[i].n);
		em_order_close(o);
	}
}

/* The keys of elements as numbers: what runs hold and what survey and radix digits see. */
static void test_known_elements(void **state)
{
	static const unsigned char record[12] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b,
						  0x0c };
	static const em_key u32be[] = { { 2, 0, EM_KEY_U32, EM_KEY_BIG_ENDIAN, { 0 } } };
	static const em_key bytes10[] = { { 1, 10, EM_KEY_BYTES, 0, { 0 } } };
	static const em_key two[] = { { 4, 0, EM_KEY_U16, 0, { 0 } }, { 0, 0, EM_KEY_U8, EM_KEY_DESCENDING, { 0 } } };
	em_order *o;

	(void)state;
	o = model_order(&key_ctx, sizeof(record), u32be, 1);
	assert_true(emi_order_codec(o)->key(o, record) == 0x03040506);
	em_order_close(o);
	o = model_order(&key_ctx, sizeof(record), bytes10, 1);
	assert_true(emi_order_codec(o)->key(o, record) == 0x0203040506070809u);
	em_order_close(o);
	o = model_order(&key_ctx, sizeof(record), two, 2);
	assert_true(emi_order_codec(o)->key(o, record) == 0x0605fe);
	em_order_close(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_known_elements),
		cmocka_unit_test(test_one_number),
		cmocka_unit_test(test_special_values),
		cmocka_unit_test(test_two_numbers),
		cmocka_unit_test(test_byte_strings),
		cmocka_unit_test(test_whole_records),
		cmocka_unit_test(test_random_fields),
		cmocka_unit_test(test_partitions),
		cmocka_unit_test(test_wide),
	};

	return cmocka_run_group_tests_name("key/codec", tests, key_setup, key_teardown);
}
