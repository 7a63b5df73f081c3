/* SPDX-License-Identifier: BSL-1.0 */
/*
 * key_model.c -- see key_model.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "key_model.h"

em_ctx key_ctx;
test_rng key_rng;

void model_ctx(em_ctx *ctx, const em_allocator *allocator)
{
	memset(ctx, 0, sizeof(*ctx));
	ctx->memory = (uint64_t)64 << 20;
	ctx->refs = 1;
	ctx->threads = 1;
	ctx->pid = (int64_t)getpid();
	if (allocator != NULL)
		ctx->allocator = *allocator;
}

void model_ctx_assert_clean(const em_ctx *ctx)
{
	assert_int_equal(ctx->used, 0);
	assert_int_equal(ctx->refs, 1);
}

int key_setup(void **state)
{
	(void)state;
	key_rng = test_rng_make(test_seed());
	model_ctx(&key_ctx, NULL);
	return 0;
}

int key_teardown(void **state)
{
	(void)state;
	model_ctx_assert_clean(&key_ctx);
	return 0;
}

em_order *model_order(em_ctx *ctx, uint64_t record_size, const em_key *keys, uint32_t n)
{
	em_errinfo err = { 0 };
	em_order *o = NULL;

	if (em_order_keys(&o, ctx, record_size, keys, n, &err) != EM_OK)
		fail_msg("%s", err.text);
	assert_non_null(o);
	return o;
}

size_t model_width(const em_key *key)
{
	switch (key->type) {
	case EM_KEY_U8: case EM_KEY_I8:
		return 1;
	case EM_KEY_U16: case EM_KEY_I16:
		return 2;
	case EM_KEY_U32: case EM_KEY_I32: case EM_KEY_F32:
		return 4;
	case EM_KEY_U64: case EM_KEY_I64: case EM_KEY_F64:
		return 8;
	default:
		return (size_t)key->width;
	}
}

void model_write(const em_key *key, unsigned char *record, uint64_t bits)
{
	const size_t width = model_width(key);
	size_t i;

	for (i = 0; i < width; i++) {
		const size_t place = (key->flags & EM_KEY_BIG_ENDIAN) != 0 ? width - 1 - i : i;

		record[key->offset + place] = (unsigned char)(bits & 0xff);
		bits >>= 8;
	}
}

static uint64_t read_bits(const em_key *key, size_t width, const unsigned char *record)
{
	const unsigned char *p = record + key->offset;
	uint64_t bits = 0;
	size_t i;

	if ((key->flags & EM_KEY_BIG_ENDIAN) != 0)
		for (i = 0; i < width; i++)
			bits = bits << 8 | p[i];
	else
		for (i = width; i-- > 0;)
			bits = bits << 8 | p[i];
	return bits;
}

/* Numbers of a sign and a magnitude that is compared as a number: floats, zeros and NaNs included. */
static int compare_sign_magnitude(uint64_t a, uint64_t b, size_t width)
{
	const uint64_t half = width == 8 ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
	const int a_negative = a >= half, b_negative = b >= half;

	if (a_negative && !b_negative)
		return -1;
	if (!a_negative && b_negative)
		return 1;
	if (a == b)
		return 0;
	if (a_negative)
		return a > b ? -1 : 1;
	return a < b ? -1 : 1;
}

static int64_t to_signed(uint64_t bits, size_t width)
{
	int8_t v8;
	int16_t v16;
	int32_t v32;
	int64_t v64;
	const uint8_t u8 = (uint8_t)bits;
	const uint16_t u16 = (uint16_t)bits;
	const uint32_t u32 = (uint32_t)bits;

	switch (width) {
	case 1: memcpy(&v8, &u8, sizeof(v8)); return v8;
	case 2: memcpy(&v16, &u16, sizeof(v16)); return v16;
	case 4: memcpy(&v32, &u32, sizeof(v32)); return v32;
	default: memcpy(&v64, &bits, sizeof(v64)); return v64;
	}
}

static int compare_ascending(const em_key *key, const unsigned char *a, const unsigned char *b)
{
	const size_t width = model_width(key);
	uint64_t x, y;
	size_t i;

	if (key->type == EM_KEY_BYTES) {
		for (i = 0; i < width; i++) {
			if (a[key->offset + i] != b[key->offset + i])
				return a[key->offset + i] < b[key->offset + i] ? -1 : 1;
		}
		return 0;
	}
	x = read_bits(key, width, a);
	y = read_bits(key, width, b);
	switch (key->type) {
	case EM_KEY_F32: case EM_KEY_F64:
		return compare_sign_magnitude(x, y, width);
	case EM_KEY_I8: case EM_KEY_I16: case EM_KEY_I32: case EM_KEY_I64:
		if (x == y)
			return 0;
		return to_signed(x, width) < to_signed(y, width) ? -1 : 1;
	default:
		if (x == y)
			return 0;
		return x < y ? -1 : 1;
	}
}

int model_compare_key(const em_key *key, const unsigned char *a, const unsigned char *b)
{
	return (key->flags & EM_KEY_DESCENDING) != 0 ? compare_ascending(key, b, a) : compare_ascending(key, a, b);
}

int model_compare(const em_key *keys, uint32_t n, const unsigned char *a, const unsigned char *b)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		const int c = model_compare_key(&keys[i], a, b);

		if (c != 0)
			return c;
	}
	return 0;
}

/* Unsigned: 0, 1, around the middle, the end. */
static size_t unsigned_values(unsigned bits, uint64_t *out)
{
	const uint64_t half = (uint64_t)1 << (bits - 1);
	const uint64_t max = half + (half - 1);
	const uint64_t v[] = { 0, 1, 2, half / 2, half - 1, half, half + 1, max - 1, max };

	memcpy(out, v, sizeof(v));
	return sizeof(v) / sizeof(v[0]);
}

static size_t signed_values(unsigned bits, uint64_t *out)
{
	const uint64_t half = (uint64_t)1 << (bits - 1);
	const uint64_t max = half + (half - 1);
	const uint64_t v[] = { half, half + 1, max - 1, max, 0, 1, half / 2, half - 2, half - 1 };

	memcpy(out, v, sizeof(v));
	return sizeof(v) / sizeof(v[0]);
}

/* Of a format with so many bits of fraction: -NaN ... -inf ... -0, 0 ... inf ... NaN. */
static size_t float_values(unsigned bits, unsigned fraction, uint64_t *out)
{
	const uint64_t sign = (uint64_t)1 << (bits - 1);
	const uint64_t inf = ((uint64_t)1 << (bits - 1)) - ((uint64_t)1 << fraction);
	const uint64_t one = ((inf >> fraction) / 2) << fraction;
	const uint64_t smallest = (uint64_t)1 << fraction;
	const uint64_t quiet = (uint64_t)1 << (fraction - 1);
	const uint64_t up[] = {
		0, 1, smallest - 1, smallest, one - 1, one, one + 1, inf - 1, inf, inf + 1, inf + quiet, sign - 1,
	};
	const size_t n = sizeof(up) / sizeof(up[0]);
	size_t i;

	for (i = 0; i < n; i++) {
		out[i] = sign | up[n - 1 - i];
		out[n + i] = up[i];
	}
	return 2 * n;
}

size_t model_values(int32_t type, uint64_t bits[MODEL_MAX_VALUES])
{
	switch (type) {
	case EM_KEY_U8: return unsigned_values(8, bits);
	case EM_KEY_U16: return unsigned_values(16, bits);
	case EM_KEY_U32: return unsigned_values(32, bits);
	case EM_KEY_U64: return unsigned_values(64, bits);
	case EM_KEY_I8: return signed_values(8, bits);
	case EM_KEY_I16: return signed_values(16, bits);
	case EM_KEY_I32: return signed_values(32, bits);
	case EM_KEY_I64: return signed_values(64, bits);
	case EM_KEY_F32: return float_values(32, 23, bits);
	case EM_KEY_F64: return float_values(64, 52, bits);
	default: return 0;
	}
}

void model_fill(test_rng *rng, void *records, size_t bytes)
{
	static const unsigned char ends[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	unsigned char *p = records;
	size_t i;

	test_fill(rng, records, bytes);
	for (i = 0; i < bytes; i++) {
		if (p[i] < 160)
			p[i] = ends[p[i] % sizeof(ends)];
	}
}

em_key model_random_key(test_rng *rng, size_t record_size, size_t max_bytes)
{
	em_key key = EM_KEY_INIT;

	do {
		key.type = (int32_t)(EM_KEY_U8 + test_below(rng, EM_KEY_BYTES));
		key.width = key.type == EM_KEY_BYTES ? 1 + test_below(rng, max_bytes) : 0;
	} while (model_width(&key) > record_size);
	key.offset = test_below(rng, record_size - model_width(&key) + 1);
	key.flags = (uint32_t)test_below(rng, 4);
	if (key.type == EM_KEY_BYTES)
		key.flags &= EM_KEY_DESCENDING;
	return key;
}
