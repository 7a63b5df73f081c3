/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lines_model.c -- records of any length in memory; see lines_model.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sort/lines_model.h"
#include "sort/sort_model.h"

void lines_add(lines *l, const void *record, size_t n)
{
	if (l->room - l->filled < n + 1) {
		l->room = (l->room + n + 1) * 2;
		l->bytes = realloc(l->bytes, l->room);
		assert_non_null(l->bytes);
	}
	if (l->n == l->n_room) {
		l->n_room = l->n_room * 2 + 16;
		l->end = realloc(l->end, l->n_room * sizeof(*l->end));
		assert_non_null(l->end);
	}
	if (n != 0)
		memcpy(l->bytes + l->filled, record, n);
	l->filled += n;
	l->end[l->n++] = l->filled;
}

void lines_free(lines *l)
{
	free(l->bytes);
	free(l->end);
	memset(l, 0, sizeof(*l));
}

const unsigned char *lines_at(const lines *l, size_t i, size_t *n)
{
	const size_t begin = i != 0 ? l->end[i - 1] : 0;

	*n = l->end[i] - begin;
	return l->bytes + begin;
}

void lines_add_random(lines *l, test_rng *rng, int style, size_t n)
{
	static const char letters[] = "aab \t019.-Z\r\x01\xff\xc3";
	unsigned char record[128];

	for (; n != 0; n--) {
		size_t bytes = (size_t)test_below(rng, test_below(rng, 8) == 0 ? 120 : 20), i, at = 0;

		if (style == LINES_WORDS) {
			memcpy(record, "http://the.same/", 16);
			at = 16;
		}
		if (style == LINES_FEW)
			bytes = (size_t)test_below(rng, 3);
		for (i = at; i < bytes; i++)
			record[i] = (unsigned char)letters[test_below(rng, sizeof(letters) - 1)];
		lines_add(l, record, bytes > at ? bytes : at);
	}
}

void lines_append(lines *l, const lines *from, size_t first, size_t end)
{
	for (; first < end; first++) {
		size_t n;
		const unsigned char *record = lines_at(from, first, &n);

		lines_add(l, record, n);
	}
}

/* Bytes of a record of one kind; i counts records. */
static size_t make_record(unsigned char *out, test_rng *rng, int pattern, size_t i, size_t most)
{
	const uint64_t all = test_below(rng, 4);
	size_t n, at = 0;

	if (pattern == LINES_MIXED)
		pattern = (int)test_below(rng, LINES_MIXED);
	if (pattern == LINES_EMPTY)
		return 0;
	if (pattern == LINES_EQUAL || pattern == LINES_ALIKE) {
		for (; at < (pattern == LINES_ALIKE ? 45u : 20u); at++)
			out[at] = (unsigned char)("the same\t17 "[at % 12]);
		if (pattern == LINES_EQUAL)
			return at;
	}
	if (pattern == LINES_SORTED || pattern == LINES_REVERSED) {
		const size_t number = pattern == LINES_SORTED ? i : (size_t)1000000 - i;

		/* Each twice. */
		return (size_t)snprintf((char *)out, 64, "%08u %08u", (unsigned)(number / 2), (unsigned)(number / 2));
	}
	n = at + (size_t)test_below(rng, test_below(rng, 30) == 0 ? most - at + 1 : 24);
	for (; at < n; at++)
		out[at] = (unsigned char)(all == 0 ? test_random(rng) >> 56
						   : (uint64_t)(unsigned char)" a0\x00\xff-"[test_below(rng, 6)]);
	return n;
}

void lines_add_pattern(lines *l, test_rng *rng, int pattern, size_t n, const em_format *f, size_t most)
{
	unsigned char *record;
	size_t i, k, bytes;

	if (most < 128)
		most = 128;
	if (f->kind == EM_FORMAT_PREFIXED && f->width == 1 && most > UINT8_MAX)
		most = UINT8_MAX;
	record = malloc(most);
	assert_non_null(record);
	for (i = 0; i < n; i++) {
		bytes = make_record(record, rng, pattern, i, most);
		for (k = 0; k < bytes && f->kind != EM_FORMAT_PREFIXED; k++)
			if (record[k] == f->delimiter || (f->kind == EM_FORMAT_CSV && record[k] == '"'))
				record[k] ^= 1;
		if (pattern == LINES_GARBAGE || pattern == LINES_MIXED)
			lines_quote(record, bytes, rng, f);
		lines_add(l, record, bytes);
	}
	free(record);
}

em_order *lines_order(em_ctx *ctx, int which)
{
	static const struct {
		const char *key[2];
		uint32_t flags;
	} orders[LINES_ORDERS] = {
		{ { NULL, NULL }, 0 },
		{ { NULL, NULL }, EM_TEXT_LAST_REVERSE },
		{ { "2", NULL }, 0 },
		{ { "2,2n", "1,1" }, EM_TEXT_KEYS_ONLY },
		{ { "1.2,1.3r", NULL }, EM_TEXT_KEYS_ONLY },
		{ { "2,2n", "1,1" }, EM_TEXT_LAST_REVERSE },
	};
	em_text_opts opts = EM_TEXT_OPTS_INIT;
	em_text_key key[2];
	em_order *order;
	uint32_t n = 0;

	opts.flags = orders[which].flags;
	while (n < 2 && orders[which].key[n] != NULL) {
		assert_int_equal(em_text_key_parse(&key[n], NULL, orders[which].key[n], NULL), EM_OK);
		n++;
	}
	assert_int_equal(em_order_text(&order, ctx, key, n, &opts, NULL), EM_OK);
	return order;
}

int lines_compare(const em_order *order, const lines *l, size_t i, size_t j)
{
	size_t ni, nj;
	const unsigned char *a = lines_at(l, i, &ni), *b = lines_at(l, j, &nj);
	int c;

	assert_int_equal(em_text_compare(order, a, ni, b, nj, &c), EM_OK);
	return c;
}

static void sort_numbers(const em_order *order, const lines *l, size_t *a, size_t *tmp, size_t n)
{
	const size_t half = n / 2;
	size_t i = 0, j = half, k = 0;

	if (n < 2)
		return;
	sort_numbers(order, l, a, tmp, half);
	sort_numbers(order, l, a + half, tmp, n - half);
	while (i < half || j < n)
		tmp[k++] = j == n || (i < half && lines_compare(order, l, a[i], a[j]) <= 0) ? a[i++] : a[j++];
	memcpy(a, tmp, n * sizeof(*a));
}

void lines_sort(const em_order *order, lines *l, size_t first, int unique)
{
	size_t *a = malloc((2 * l->n + 1) * sizeof(*a)), i, n;
	lines sorted = { 0 };

	assert_non_null(a);
	for (i = 0; i < l->n; i++)
		a[i] = i;
	sort_numbers(order, l, a + first, a + l->n, l->n - first);
	for (i = 0; i < l->n; i++) {
		const unsigned char *record = lines_at(l, a[i], &n);

		if (!unique || i <= first || lines_compare(order, l, a[i - 1], a[i]) != 0)
			lines_add(&sorted, record, n);
	}
	free(a);
	lines_free(l);
	*l = sorted;
}

em_format lines_format(int which)
{
	em_format f = EM_FORMAT_INIT;

	if (which == 1)
		f.delimiter = 0;
	if (which >= 10) {
		f.kind = EM_FORMAT_CSV;
		f.delimiter = which == 10 ? '\n' : 0;
		f.separator = which == 10 ? ',' : 'a';
	} else if (which >= 2) {
		f.kind = EM_FORMAT_PREFIXED;
		f.delimiter = 0;
		f.width = 1u << (which - 2) % 4;
		f.flags = which >= 6 ? EM_FORMAT_BIG_ENDIAN : 0;
	}
	return f;
}

unsigned char *lines_text(const lines *l, size_t first, size_t end, const em_format *f, int cut, size_t *bytes)
{
	unsigned char *text = malloc(l->filled + 9 * l->n + 1), *p = text;
	size_t i, n;
	uint32_t w;

	assert_non_null(text);
	for (i = first; i < end; i++) {
		const unsigned char *record = lines_at(l, i, &n);

		if (f->kind == EM_FORMAT_PREFIXED)
			for (w = 0; w < f->width; w++)
				*p++ = (unsigned char)((uint64_t)n >> 8 * (f->flags != 0 ? f->width - 1 - w : w));
		memcpy(p, record, n);
		p += n;
		if (f->kind != EM_FORMAT_PREFIXED)
			*p++ = (unsigned char)f->delimiter;
	}
	/* An empty last record needs its delimiter to be there at all. */
	if (cut && f->kind != EM_FORMAT_PREFIXED && end > first && l->end[end - 1] != (end > 1 ? l->end[end - 2] : 0))
		p--;
	*bytes = (size_t)(p - text);
	return text;
}

void lines_quote(unsigned char *record, size_t n, test_rng *rng, const em_format *f)
{
	size_t from = 0, i;

	if (f->kind != EM_FORMAT_CSV || n < 2 || test_below(rng, 2) == 0)
		return;
	/* The first field is all of it, or the second one begins somewhere, or a quote stands where it is none. */
	if (n > 3 && test_below(rng, 2) == 0) {
		from = 1 + (size_t)test_below(rng, n - 2);
		record[from - 1] = (unsigned char)f->separator;
	}
	if (n - from < 2 || test_below(rng, 4) == 0) {
		if (from != 0)
			record[from - 1] = 'x';
		record[n - 1] = n > 1 && record[n - 2] != f->separator ? '"' : 'x';
		return;
	}
	record[from] = record[n - 1] = '"';
	for (i = from + 1; i + 1 < n; i++) {
		if (test_below(rng, 3) == 0)
			record[i] = (unsigned char)(test_below(rng, 2) == 0 ? f->delimiter : f->separator);
		else if (i + 2 < n && test_below(rng, 8) == 0)
			record[i] = record[i + 1] = '"', i++;
	}
}

void lines_quote_some(lines *l, test_rng *rng, const em_format *f)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		const size_t begin = i != 0 ? l->end[i - 1] : 0;

		lines_quote(l->bytes + begin, l->end[i] - begin, rng, f);
	}
}

uint64_t lines_number(const lines *l, size_t first, size_t i, const em_format *f)
{
	const size_t begin = first != 0 ? l->end[first - 1] : 0, end = i != 0 ? l->end[i - 1] : 0;
	uint64_t number = i - first + 1;
	size_t k;

	for (k = begin; f->kind == EM_FORMAT_CSV && k < end; k++)
		number += l->bytes[k] == f->delimiter;
	return number;
}

void lines_add_file(lines *all, size_t *header_records, const lines *l, size_t first, size_t end, uint64_t header)
{
	const size_t skip = header < end - first ? (size_t)header : end - first;

	if (all->n == 0)
		*header_records = skip;
	lines_append(all, l, all->n == 0 ? first : first + skip, end);
}

void lines_write(const char *path, const lines *l, size_t first, size_t end, const em_format *f, int cut)
{
	size_t bytes;
	unsigned char *text = lines_text(l, first, end, f, cut, &bytes);

	sort_write_file(path, text, bytes);
	free(text);
}
