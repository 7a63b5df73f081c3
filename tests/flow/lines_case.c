/* SPDX-License-Identifier: BSL-1.0 */
/* lines_case.c -- see lines_case.h. */
#include "flow/lines_case.h"

#include <stdio.h>

void lines_add(lines_model *m, const char *line, size_t bytes)
{
	if (m->n == m->most) {
		m->most = 2 * m->most + 16;
		m->ends = realloc(m->ends, m->most * sizeof *m->ends);
		assert_non_null(m->ends);
	}
	if (m->bytes + bytes > m->room || m->text == NULL) {
		m->room = 2 * m->room + bytes + 64;
		m->text = realloc(m->text, m->room);
		assert_non_null(m->text);
	}
	if (bytes != 0)
		memcpy(m->text + m->bytes, line, bytes);
	m->bytes += bytes;
	m->ends[m->n++] = m->bytes;
}

const char *lines_at(const lines_model *m, size_t i, size_t *bytes)
{
	const uint64_t begin = i != 0 ? m->ends[i - 1] : 0;

	*bytes = (size_t)(m->ends[i] - begin);
	return m->text + begin;
}

void lines_free(lines_model *m)
{
	free(m->text);
	free(m->ends);
	memset(m, 0, sizeof *m);
}

void lines_random(flow_case *t, lines_model *m, size_t n, size_t longest)
{
	char *line = malloc(longest + 1);
	size_t i, k;

	assert_non_null(line);
	memset(m, 0, sizeof *m);
	for (i = 0; i < n; i++) {
		const size_t most = test_below(&t->rng, 20) == 0 ? longest : 12 < longest ? 12 : longest;
		const size_t bytes = (size_t)test_below(&t->rng, most + 1);

		for (k = 0; k < bytes; k++)
			line[k] = (char)('a' + test_below(&t->rng, 4));
		lines_add(m, line, bytes);
	}
	free(line);
}

void lines_write(const char *path, const lines_model *m, unsigned width, int last)
{
	FILE *f = fopen(path, "wb");
	size_t i, k;

	assert_non_null(f);
	for (i = 0; i < m->n; i++) {
		size_t bytes;
		const char *line = lines_at(m, i, &bytes);

		for (k = 0; k < width; k++)
			assert_int_not_equal(putc((int)(bytes >> 8 * k & 255), f), EOF);
		assert_int_equal(fwrite(line, 1, bytes, f), bytes);
		if (width == 0 && (last || i + 1 != m->n))
			assert_int_not_equal(putc('\n', f), EOF);
	}
	assert_int_equal(fclose(f), 0);
}

static const lines_model *sorted_lines;
static const em_order *sorted_order;

static int by_order(const void *a, const void *b)
{
	size_t na, nb;
	const char *x = lines_at(sorted_lines, *(const size_t *)a, &na);
	const char *y = lines_at(sorted_lines, *(const size_t *)b, &nb);
	int c;

	assert_int_equal(em_text_compare(sorted_order, x, na, y, nb, &c), EM_OK);
	return c;
}

void lines_sorted(flow_case *t, const em_order *order, size_t n, size_t longest, const char *path, lines_model *m)
{
	size_t *place = malloc((n + 1) * sizeof *place), i, bytes;
	lines_model drawn;

	assert_non_null(place);
	lines_random(t, &drawn, n, longest);
	for (i = 0; i < n; i++)
		place[i] = i;
	sorted_lines = &drawn;
	sorted_order = order;
	qsort(place, n, sizeof *place, by_order);
	memset(m, 0, sizeof *m);
	for (i = 0; i < n; i++) {
		const char *line = lines_at(&drawn, place[i], &bytes);

		lines_add(m, line, bytes);
	}
	lines_write(path, m, 0, 1);
	lines_free(&drawn);
	free(place);
}

em_status lines_more(flow_case *t, em_stream *s, lines_model *m, size_t limit)
{
	em_status st = EM_OK;

	while (m->n < limit) {
		em_cursor *c = em_stream_cursor(s);
		const em_batch *b;
		const void *line;
		size_t i, bytes;
		uint64_t begin = 0;

		if (test_below(&t->rng, 2) == 0) {
			for (i = (size_t)test_below(&t->rng, 600); i != 0; i--) {
				st = em_cursor_next_sized(c, &line, &bytes);
				if (st != EM_OK)
					return st;
				lines_add(m, line, bytes);
			}
			/* A batch passes over what is left of a window. */
			while (c->ends != c->last) {
				assert_int_equal(em_cursor_next_sized(c, &line, &bytes), EM_OK);
				lines_add(m, line, bytes);
			}
			continue;
		}
		st = em_stream_next(s, &b);
		if (st != EM_OK)
			return st;
		assert_true(b->n != 0);
		assert_non_null(b->ends);
		assert_int_equal(b->bytes, b->ends[b->n - 1]);
		for (i = 0; i < b->n; begin = b->ends[i++])
			lines_add(m, (const char *)b->records + begin, (size_t)(b->ends[i] - begin));
	}
	return st;
}

em_status lines_drain(flow_case *t, em_stream *s, lines_model *m, size_t limit)
{
	memset(m, 0, sizeof *m);
	return lines_more(t, s, m, limit);
}

void lines_assert_same(const lines_model *a, const lines_model *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->bytes, b->bytes);
	if (a->n == 0)
		return;
	assert_memory_equal(a->ends, b->ends, a->n * sizeof *a->ends);
	if (a->bytes != 0)
		assert_memory_equal(a->text, b->text, a->bytes);
}

void lines_assert(flow_case *t, em_stream *s, const lines_model *want)
{
	lines_model got;

	assert_int_equal(lines_drain(t, s, &got, SIZE_MAX), EM_END);
	lines_assert_same(&got, want);
	lines_free(&got);
	em_stream_close(s);
}
