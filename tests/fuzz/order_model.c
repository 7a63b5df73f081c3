/* SPDX-License-Identifier: BSL-1.0 */
/* order_model.c -- see order_model.h. */
#include <string.h>

#include "fuzz/order_model.h"

static uint64_t width_of(const em_key *key)
{
	switch (key->type) {
	case EM_KEY_U8:
	case EM_KEY_I8:
		return 1;
	case EM_KEY_U16:
	case EM_KEY_I16:
		return 2;
	case EM_KEY_U32:
	case EM_KEY_I32:
	case EM_KEY_F32:
		return 4;
	case EM_KEY_U64:
	case EM_KEY_I64:
	case EM_KEY_F64:
		return 8;
	case EM_KEY_BYTES:
		return key->width;
	default:
		return 0;
	}
}

em_key order_key_any(const unsigned char *p)
{
	em_key key = EM_KEY_INIT;

	key.offset = p[0] < 250 ? p[0] : UINT64_MAX - (p[0] - 250u);
	key.type = p[1] % 14 - 1;
	key.flags = p[2] % 8 != 0 ? p[2] % 4 : p[2] / 8u;
	key.width = p[3] < 250 ? p[3] % 32 : UINT64_MAX - (p[3] - 250u);
	if (key.type != EM_KEY_BYTES && p[3] % 3 != 0)
		key.width = 0;
	return key;
}

em_key order_key_right(const unsigned char *p, size_t record_bytes)
{
	em_key key = EM_KEY_INIT;

	key.type = 1 + p[1] % 11;
	key.flags = p[2] % 4;
	key.width = key.type == EM_KEY_BYTES ? 1 + p[3] % record_bytes : 0;
	if (width_of(&key) > record_bytes) {
		key.type = EM_KEY_BYTES;
		key.width = record_bytes;
	}
	key.offset = p[0] % (record_bytes - width_of(&key) + 1);
	return key;
}

em_status order_verdict(const em_key *key, uint32_t n, uint64_t record_bytes, uint32_t *wrong)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		const uint64_t width = width_of(&key[i]);

		*wrong = i;
		if (width == 0 || key[i].flags > 3)
			return EM_ERR_INVAL;
		if (key[i].type != EM_KEY_BYTES && key[i].width != 0 && key[i].width != width)
			return EM_ERR_INVAL;
		if (width > record_bytes || key[i].offset > record_bytes - width)
			return EM_ERR_RANGE;
	}
	return EM_OK;
}

/* Byte i of a number, from the most significant one. */
static unsigned byte_of(const em_key *key, const unsigned char *record, uint64_t i)
{
	const uint64_t width = width_of(key);

	return record[key->offset +
		      ((key->flags & EM_KEY_BIG_ENDIAN) != 0 || key->type == EM_KEY_BYTES ? i : width - 1 - i)];
}

/* As numbers without a sign, or as bytes: which is the same. */
static int compare_magnitude(const em_key *key, const unsigned char *a, const unsigned char *b, unsigned first_mask)
{
	uint64_t i;

	for (i = 0; i < width_of(key); i++) {
		const unsigned mask = i == 0 ? first_mask : 255;
		const unsigned x = byte_of(key, a, i) & mask, y = byte_of(key, b, i) & mask;

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

static int compare_field(const em_key *key, const unsigned char *a, const unsigned char *b)
{
	const int is_float = key->type == EM_KEY_F32 || key->type == EM_KEY_F64;
	const int is_signed = key->type >= EM_KEY_I8 && key->type <= EM_KEY_I64;
	const int na = byte_of(key, a, 0) >= 128, nb = byte_of(key, b, 0) >= 128;

	if (!is_float && !is_signed)
		return compare_magnitude(key, a, b, 255);
	if (na != nb)
		return na ? -1 : 1;
	/* Two's complement ascends within either sign; the magnitude of a float is behind its sign. */
	return is_float && na ? compare_magnitude(key, b, a, 127) : compare_magnitude(key, a, b, 127);
}

int order_compare(const em_key *key, uint32_t n, size_t record_bytes, const unsigned char *a, const unsigned char *b)
{
	uint32_t i;
	int c;

	if (n == 0) {
		c = memcmp(a, b, record_bytes);
		return (c > 0) - (c < 0);
	}
	for (i = 0; i < n; i++) {
		c = (key[i].flags & EM_KEY_DESCENDING) != 0 ? compare_field(&key[i], b, a)
							    : compare_field(&key[i], a, b);
		if (c != 0)
			return c;
	}
	return 0;
}
