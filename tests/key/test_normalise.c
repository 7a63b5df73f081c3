/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_normalise.c -- the prefix of a key as a number: known values of every type, its order against that
 * of the values, and the way back.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "key/normalise.h"
#include "key_model.h"

#define RANDOM_ROUNDS 3000

static emi_field field_of(const em_key *key)
{
	emi_field f;

	f.offset = (size_t)key->offset;
	f.width = model_width(key);
	f.type = key->type;
	f.flags = key->flags;
	return f;
}

static uint64_t prefix_of(const em_key *key, const unsigned char *record)
{
	const emi_field f = field_of(key);
	emi_prefix p;

	emi_prefix_make(&p, &f, 1, 0);
	return emi_prefix_get(&p, record);
}

static void test_types(void **state)
{
	static const char *const names[] = { "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64",
					     "bytes" };
	static const size_t widths[] = { 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1 };
	int32_t t;

	(void)state;
	for (t = EM_KEY_U8; t <= EM_KEY_BYTES; t++) {
		assert_string_equal(emi_type_name(t), names[t - EM_KEY_U8]);
		assert_int_equal(emi_type_width(t), widths[t - EM_KEY_U8]);
	}
	assert_null(emi_type_name(0));
	assert_null(emi_type_name(EM_KEY_BYTES + 1));
	assert_null(emi_type_name(-1));
	assert_int_equal(emi_type_width(0), 0);
	assert_int_equal(emi_type_width(EM_KEY_BYTES + 1), 0);
	assert_int_equal(emi_type_width(INT32_MIN), 0);
	assert_int_equal(emi_type_width(INT32_MAX), 0);
}

/* Numbers at odd addresses in both byte orders. */
static void test_get_and_put(void **state)
{
	static const unsigned char bytes[] = { 0xaa, 0x81, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0xf8, 0xaa };
	static const unsigned widths[] = { 1, 2, 4, 8 };
	static const uint64_t big[] = { 0x81, 0x8102, 0x81020304, 0x81020304050607f8u };
	static const uint64_t little[] = { 0x81, 0x0281, 0x04030281, 0xf807060504030281u };
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		unsigned char copy[sizeof(bytes)];

		assert_true(emi_get(bytes + 1, widths[i], EMI_BIG_ENDIAN == 0) == big[i]);
		assert_true(emi_get(bytes + 1, widths[i], EMI_BIG_ENDIAN != 0) == little[i]);
		memset(copy, 0xaa, sizeof(copy));
		emi_put(copy + 1, widths[i], EMI_BIG_ENDIAN == 0, big[i]);
		assert_memory_equal(copy, bytes, 1 + widths[i]);
		assert_int_equal(copy[1 + widths[i]], 0xaa);
		memset(copy, 0xaa, sizeof(copy));
		emi_put(copy + 1, widths[i], EMI_BIG_ENDIAN != 0, little[i]);
		assert_memory_equal(copy, bytes, 1 + widths[i]);
		assert_int_equal(copy[1 + widths[i]], 0xaa);
	}
}

/* What one value becomes, written out by hand. */
static void test_known_values(void **state)
{
	static const struct {
		int32_t type;
		uint64_t bits, key;
	} known[] = {
		{ EM_KEY_U8, 0x12, 0x12 },
		{ EM_KEY_I8, 0x12, 0x92 },
		{ EM_KEY_I8, 0x80, 0x00 },
		{ EM_KEY_U16, 0x1234, 0x1234 },
		{ EM_KEY_I16, 0xffff, 0x7fff },
		{ EM_KEY_U32, 0xfedcba98, 0xfedcba98 },
		{ EM_KEY_I32, 0, 0x80000000 },
		{ EM_KEY_I32, 0xffffffff, 0x7fffffff },
		{ EM_KEY_U64, 0x0123456789abcdefu, 0x0123456789abcdefu },
		{ EM_KEY_I64, 0x8000000000000000u, 0 },
		{ EM_KEY_F32, 0x3f800000, 0xbf800000 },                         /* 1 */
		{ EM_KEY_F32, 0xbf800000, 0x407fffff },                         /* -1 */
		{ EM_KEY_F64, 0x3ff0000000000000u, 0xbff0000000000000u },       /* 1 */
		{ EM_KEY_F64, 0xbff0000000000000u, 0x400fffffffffffffu },       /* -1 */
		{ EM_KEY_F64, 0, 0x8000000000000000u },                         /* 0 */
		{ EM_KEY_F64, 0x8000000000000000u, 0x7fffffffffffffffu },       /* -0 */
	};
	unsigned char record[16];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		em_key key = { 3, 0, known[i].type, 0, { 0 } };
		const unsigned bits = 8 * (unsigned)model_width(&key);
		const uint64_t all = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
		uint32_t flags;

		for (flags = 0; flags < 4; flags++) {
			key.flags = flags;
			memset(record, 0x55, sizeof(record));
			model_write(&key, record, known[i].bits);
			if ((flags & EM_KEY_DESCENDING) != 0)
				assert_true(prefix_of(&key, record) == (known[i].key ^ all));
			else
				assert_true(prefix_of(&key, record) == known[i].key);
		}
	}
}

/* The special values of a type, in order, and both ways. */
static void check_values(int32_t type, uint32_t flags)
{
	uint64_t bits[MODEL_MAX_VALUES];
	const size_t n = model_values(type, bits);
	const em_key key = { 1, 0, type, flags, { 0 } };
	const emi_field f = field_of(&key);
	const size_t width = f.width;
	unsigned char a[9], b[9], back[9];
	emi_prefix p;
	size_t i, j;

	assert_true(n > 0);
	emi_prefix_make(&p, &f, 1, 0);
	assert_int_equal(p.key.n, width);
	for (i = 0; i < n; i++) {
		memset(a, 0x77, sizeof(a));
		model_write(&key, a, bits[i]);
		memset(back, 0x77, sizeof(back));
		emi_prefix_put(&p, back, emi_prefix_get(&p, a));
		assert_memory_equal(back, a, sizeof(a));
		for (j = 0; j < n; j++) {
			const int up = (i > j) - (i < j);
			const int expected = (flags & EM_KEY_DESCENDING) != 0 ? -up : up;
			uint64_t x, y;

			memset(b, 0x88, sizeof(b));
			model_write(&key, b, bits[j]);
			x = emi_prefix_get(&p, a);
			y = emi_prefix_get(&p, b);
			assert_int_equal((x > y) - (x < y), expected);
			assert_int_equal(emi_field_compare(&f, a, b), expected);
			assert_int_equal(model_compare_key(&key, a, b), expected);
		}
	}
}

static void test_values_of_all_types(void **state)
{
	int32_t type;
	uint32_t flags;

	(void)state;
	for (type = EM_KEY_U8; type <= EM_KEY_F64; type++) {
		for (flags = 0; flags < 4; flags++)
			check_values(type, flags);
	}
}

/* The processor's own idea of floats agrees, where it has one. */
static void test_floats_as_c_has_them(void **state)
{
	static const double ascending[] = { -INFINITY, -1e300, -2.5, -1.0, -1e-300, -0.0, 0.0, 1e-300, 1.0, 2.5, 1e300,
					    INFINITY };
	const size_t n = sizeof(ascending) / sizeof(ascending[0]);
	const em_key key64 = { 0, 0, EM_KEY_F64, EMI_BIG_ENDIAN ? EM_KEY_BIG_ENDIAN : 0, { 0 } };
	const em_key key32 = { 0, 0, EM_KEY_F32, EMI_BIG_ENDIAN ? EM_KEY_BIG_ENDIAN : 0, { 0 } };
	test_rng rng = test_rng_make(test_seed());
	unsigned char a[8], b[8];
	size_t i;

	(void)state;
	for (i = 1; i < n; i++) {
		memcpy(a, &ascending[i - 1], sizeof(a));
		memcpy(b, &ascending[i], sizeof(b));
		assert_true(prefix_of(&key64, a) < prefix_of(&key64, b));
	}
	for (i = 0; i < RANDOM_ROUNDS; i++) {
		double x, y;
		float s, t;

		test_fill(&rng, &x, sizeof(x));
		test_fill(&rng, &y, sizeof(y));
		memcpy(a, &x, sizeof(x));
		memcpy(b, &y, sizeof(y));
		if (x < y)
			assert_true(prefix_of(&key64, a) < prefix_of(&key64, b));
		test_fill(&rng, &s, sizeof(s));
		test_fill(&rng, &t, sizeof(t));
		memcpy(a, &s, sizeof(s));
		memcpy(b, &t, sizeof(t));
		if (s < t)
			assert_true(prefix_of(&key32, a) < prefix_of(&key32, b));
	}
}

/* Several fields, also such that a float is cut by the end of the prefix: never the wrong way round, and all the
 * order there is when the key fits. */
static void test_several_fields(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	unsigned round, cut = 0, whole = 0;

	(void)state;
	for (round = 0; round < RANDOM_ROUNDS; round++) {
		unsigned char a[24], b[24];
		em_key keys[4];
		emi_field fields[4];
		const uint32_t n = 1 + (uint32_t)test_below(&rng, 4);
		emi_prefix p;
		size_t width = 0;
		uint64_t x, y;
		uint32_t i;
		int c;

		for (i = 0; i < n; i++) {
			keys[i] = model_random_key(&rng, sizeof(a), 10);
			fields[i] = field_of(&keys[i]);
			width += fields[i].width;
		}
		model_fill(&rng, a, sizeof(a));
		memcpy(b, a, sizeof(b));
		b[test_below(&rng, sizeof(b))] ^= (unsigned char)(1u << test_below(&rng, 8));
		b[test_below(&rng, sizeof(b))] ^= (unsigned char)test_below(&rng, 256);
		emi_prefix_make(&p, fields, n, 0);
		assert_int_equal(p.key.n, width < 8 ? width : 8);
		assert_int_equal(p.rest.n, 0);
		x = emi_prefix_get(&p, a);
		y = emi_prefix_get(&p, b);
		c = model_compare(keys, n, a, b);
		if (width <= 8)
			assert_int_equal((x > y) - (x < y), c);
		else if (x != y)
			assert_int_equal(x > y ? 1 : -1, c);
		*(width <= 8 ? &whole : &cut) += 1;
	}
	assert_true(cut > 100 && whole > 100);
}

/* u8, f64: seven bytes of the float are in the prefix, and its sign still turns them. */
static void test_cut_float(void **state)
{
	const em_key keys[] = { { 0, 0, EM_KEY_U8, 0, { 0 } }, { 1, 0, EM_KEY_F64, 0, { 0 } } };
	const emi_field fields[] = { field_of(&keys[0]), field_of(&keys[1]) };
	unsigned char record[9];
	emi_prefix p;

	(void)state;
	emi_prefix_make(&p, fields, 2, 0);
	model_write(&keys[0], record, 0x2a);
	model_write(&keys[1], record, 0xbff0000000000012u);
	assert_true(emi_prefix_get(&p, record) == 0x2a400fffffffffffu);
	model_write(&keys[1], record, 0x3ff0000000001200u);
	assert_true(emi_prefix_get(&p, record) == 0x2abff00000000012u);
}

/* The bytes behind the prefix go on where it ends, in whichever field that is. */
static void test_behind(void **state)
{
	const em_key keys[] = { { 0, 0, EM_KEY_I32, 0, { 0 } }, { 4, 6, EM_KEY_BYTES, EM_KEY_DESCENDING, { 0 } },
		{ 10, 0, EM_KEY_F32, 0, { 0 } } };
	const emi_field fields[] = { field_of(&keys[0]), field_of(&keys[1]), field_of(&keys[2]) };
	const unsigned char record[14] = { 1, 2, 3, 4, 0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0, 0, 0x80, 0x3f };
	emi_prefix p;

	(void)state;
	emi_prefix_make(&p, fields, 3, 0);
	assert_true(emi_prefix_get(&p, record) == 0x840302010f0e0d0cu);
	emi_prefix_make(&p, fields, 3, 8);
	assert_int_equal(p.key.n, 6);
	assert_true(emi_prefix_get(&p, record) == 0x0b0abf800000u);
	emi_prefix_make(&p, fields, 3, 14);
	assert_int_equal(p.key.n, 0);
	assert_false(emi_cuts_float(fields, 3, 8));
	assert_false(emi_cuts_float(fields, 3, 10));
	assert_true(emi_cuts_float(fields, 3, 11));
	assert_true(emi_cuts_float(fields, 3, 13));
	assert_false(emi_cuts_float(fields, 3, 14));
}

static void test_no_fields(void **state)
{
	const unsigned char record[8] = { 7 };
	emi_prefix p;

	(void)state;
	emi_prefix_make(&p, NULL, 0, 0);
	assert_int_equal(p.key.n, 0);
	assert_true(emi_prefix_get(&p, record) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_get_and_put),
		cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_values_of_all_types),
		cmocka_unit_test(test_floats_as_c_has_them),
		cmocka_unit_test(test_several_fields),
		cmocka_unit_test(test_cut_float),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_no_fields),
	};

	return cmocka_run_group_tests_name("key/normalise", tests, NULL, NULL);
}
