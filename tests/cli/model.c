/* SPDX-License-Identifier: BSL-1.0 */
/*
 * model.c -- what sorting means, written as plainly as possible.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model.h"

void model_key_parse(model_key *k, const char *text)
{
	char type[32] = "";
	unsigned long offset, bits;
	char *colon, *end;

	memset(k, 0, sizeof(*k));
	snprintf(k->text, sizeof(k->text), "%s", text);
	offset = strtoul(text, &end, 10);
	assert_int_equal(*end, ':');
	snprintf(type, sizeof(type), "%s", end + 1);
	k->offset = offset;
	colon = strchr(type, ':');
	if (colon) {
		assert_string_equal(colon, ":r");
		k->descending = 1;
		*colon = '\0';
	}
	k->kind = type[0];
	bits = strtoul(type + (type[0] == 'b' ? 5 : 1), &end, 10);
	k->width = type[0] == 'b' ? bits : bits / 8;
	k->big_endian = !strcmp(end, "be");
}

void model_random(model *m, test_rng *rng, size_t size)
{
	static const char *const type[] = { "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64" };
	static const char *const suffix[] = { "", "le", "be" };
	char text[48];
	size_t width;
	unsigned i;

	memset(m, 0, sizeof(*m));
	m->size = size;
	m->reverse = test_below(rng, 4) == 0;
	m->keys = (unsigned)test_below(rng, MODEL_KEYS + 1);
	for (i = 0; i < m->keys; i++) {
		const char *t = type[test_below(rng, 10)];
		const char *r = test_below(rng, 3) ? "" : ":r";

		width = (size_t)strtoul(t + 1, NULL, 10) / 8;
		if (width > size || test_below(rng, 4) == 0) {
			width = 1 + (size_t)test_below(rng, size < 40 ? size : 40);
			snprintf(text, sizeof(text), "%u:bytes%u%s", (unsigned)test_below(rng, size - width + 1),
				 (unsigned)width, r);
		} else {
			snprintf(text, sizeof(text), "%u:%s%s%s", (unsigned)test_below(rng, size - width + 1), t,
				 suffix[test_below(rng, 3)], r);
		}
		model_key_parse(&m->key[i], text);
	}
}

/* The bits of a number. */
static uint64_t bits_of(const model_key *k, const unsigned char *record)
{
	const unsigned char *p = record + k->offset;
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < k->width; i++)
		v = v << 8 | p[k->big_endian ? i : k->width - 1 - i];
	return v;
}

static int64_t sign_extended(uint64_t v, size_t width)
{
	const uint64_t sign = (uint64_t)1 << (8 * width - 1);

	return v & sign ? -(int64_t)((sign - 1) - (v & (sign - 1))) - 1 : (int64_t)v;
}

static int compare_floats(uint64_t a, uint64_t b, size_t width)
{
	const uint64_t sign = (uint64_t)1 << (8 * width - 1);
	const int na = (a & sign) != 0, nb = (b & sign) != 0;

	/* All with a sign come before all without; among those with one, the larger magnitude comes first. */
	if (na != nb)
		return na ? -1 : 1;
	if (a == b)
		return 0;
	return (a < b) != na ? -1 : 1;
}

static int compare_key(const model_key *k, const unsigned char *a, const unsigned char *b)
{
	uint64_t ua, ub;
	int64_t ia, ib;

	if (k->kind == 'b')
		return memcmp(a + k->offset, b + k->offset, k->width);
	ua = bits_of(k, a);
	ub = bits_of(k, b);
	if (k->kind == 'f')
		return compare_floats(ua, ub, k->width);
	if (k->kind == 'i') {
		ia = sign_extended(ua, k->width);
		ib = sign_extended(ub, k->width);
		return (ia > ib) - (ia < ib);
	}
	return (ua > ub) - (ua < ub);
}

int model_compare(const model *m, const unsigned char *a, const unsigned char *b)
{
	unsigned i;
	int c;

	if (!m->keys) {
		c = memcmp(a, b, m->size);
		return m->reverse ? -c : c;
	}
	for (i = 0; i < m->keys; i++) {
		c = compare_key(&m->key[i], a, b);
		if (c)
			return m->key[i].descending != m->reverse ? -c : c;
	}
	return 0;
}

/* A merge sort of record numbers, which is stable and needs no globals. */
static void sort_numbers(const model *m, const unsigned char *records, size_t *a, size_t *tmp, size_t n)
{
	const size_t half = n / 2;
	size_t i = 0, j = half, k;

	if (n < 2)
		return;
	sort_numbers(m, records, a, tmp, half);
	sort_numbers(m, records, a + half, tmp, n - half);
	for (k = 0; k < n; k++)
		if (j == n || (i < half && model_compare(m, records + a[i] * m->size, records + a[j] * m->size) <= 0))
			tmp[k] = a[i++];
		else
			tmp[k] = a[j++];
	memcpy(a, tmp, n * sizeof(*a));
}

size_t model_sort(const model *m, unsigned char *records, size_t n, int unique)
{
	unsigned char *copy;
	size_t *a, i, left = 0;

	if (!n)
		return 0;
	copy = malloc(n * m->size);
	a = malloc(2 * n * sizeof(*a));
	assert_non_null(copy);
	assert_non_null(a);
	memcpy(copy, records, n * m->size);
	for (i = 0; i < n; i++)
		a[i] = i;
	sort_numbers(m, copy, a, a + n, n);
	for (i = 0; i < n; i++) {
		if (unique && left && !model_compare(m, records + (left - 1) * m->size, copy + a[i] * m->size))
			continue;
		memcpy(records + left++ * m->size, copy + a[i] * m->size, m->size);
	}
	free(copy);
	free(a);
	return left;
}

void model_records(test_rng *rng, unsigned char *records, size_t n, size_t size, int few)
{
	size_t i;

	test_fill(rng, records, n * size);
	if (few)
		for (i = 0; i < n * size; i++)
			records[i] = (unsigned char)(records[i] & 0x81);
}
