/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_elements.c -- streams of elements against a model: the bytes in memory.
 *
 * All kinds must make the same file of the same elements and read the same elements from it, whatever the sizes; and
 * move what they say they will.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem/sys/element_stream.h>

#include "stream/stream_test.h"

#define MOST 200000u            /* bytes of a file */
#define KINDS 4u

typedef struct fixture {
	char *dir, *path, *data;
	em_ctx *ctx;
} fixture;

static int set_up(void **state)
{
	fixture *f = calloc(1, sizeof(*f));
	test_rng rng = test_rng_make(test_seed());

	f->dir = test_dir_make();
	f->path = test_path(f->dir, "elements");
	f->data = malloc(MOST);
	test_fill(&rng, f->data, MOST);
	f->ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	*state = f;
	return f->ctx == NULL;
}

static int tear_down(void **state)
{
	fixture *f = *state;

	em_ctx_close(f->ctx);
	free(f->data);
	free(f->path);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

static em_element_opts options(uint32_t kind, uint64_t element, uint64_t buffer)
{
	em_element_opts o = EM_ELEMENT_OPTS_INIT;

	o.kind = kind;
	o.element_bytes = element;
	o.buffer_bytes = buffer;
	return o;
}

/* What was counted is what was predicted; with the GNU library also of stdio, as long as elements go through its
 * buffer. */
static void check_stats(const em_element_opts *o, uint64_t n, const em_element_stats *got)
{
	em_element_stats want;

	memset(&want, 0, sizeof(want));
	want.size = sizeof(want);
	assert_int_equal(em_element_predict(o, n, &want), EM_OK);
	assert_int_equal(got->kind, o->kind);
	assert_int_equal(got->kind, want.kind);
	assert_int_equal(got->elements, n);
	assert_int_equal(got->buffer_bytes, want.buffer_bytes);
	assert_int_equal(got->bytes, want.bytes);
#ifdef __GLIBC__
	if (o->kind != EM_ELEMENT_BUFFER || o->element_bytes < BUFSIZ)
#else
	if (o->kind != EM_ELEMENT_BUFFER)
#endif
		assert_int_equal(got->ios, want.ios);
}

static void write_all(const fixture *f, const em_element_opts *o, uint64_t n)
{
	const size_t r = (size_t)o->element_bytes;
	em_element_stats stats;
	em_element_writer *w;
	uint64_t i;

	assert_int_equal(em_element_writer_open(&w, f->ctx, f->path, o), EM_OK);
	for (i = 0; i < n; i++)
		assert_int_equal(em_element_writer_push(w, f->data + i * r), EM_OK);
	assert_int_equal(em_element_writer_finish(w), EM_OK);
	assert_int_equal(em_element_writer_finish(w), EM_OK);
	assert_int_equal(em_element_writer_push(w, f->data), EM_ERR_STATE);
	stats.size = sizeof(stats);
	assert_int_equal(em_element_writer_stats_get(w, &stats), EM_OK);
	check_stats(o, n, &stats);
	em_element_writer_close(w);
	stream_assert_file(f->path, f->data, (size_t)n * r);
}

static void read_all(const fixture *f, const em_element_opts *o, uint64_t n)
{
	const size_t r = (size_t)o->element_bytes;
	char *element = malloc(r + 1);
	em_element_stats stats;
	em_element_reader *s;
	uint64_t i;

	assert_int_equal(em_element_reader_open(&s, f->ctx, f->path, o), EM_OK);
	assert_int_equal(em_element_reader_elements(s), n);
	for (i = 0; i < n; i++) {
		assert_int_equal(em_element_reader_at_end(s), 0);
		element[r] = 'x';
		assert_int_equal(em_element_reader_next(s, element), EM_OK);
		assert_memory_equal(element, f->data + i * r, r);
		assert_int_equal(element[r], 'x');
	}
	assert_int_equal(em_element_reader_at_end(s), 1);
	assert_int_equal(em_element_reader_next(s, element), EM_END);
	assert_int_equal(em_element_reader_next(s, element), EM_END);
	stats.size = sizeof(stats);
	assert_int_equal(em_element_reader_stats_get(s, &stats), EM_OK);
	check_stats(o, n, &stats);
	em_element_reader_close(s);
	free(element);
}

static void round_trip(const fixture *f, uint64_t element, uint64_t buffer, uint64_t n)
{
	const uint64_t before = em_ctx_memory_used(f->ctx);
	em_element_opts o;
	uint32_t kind;

	for (kind = 1; kind <= KINDS; kind++) {
		o = options(kind, element, buffer);
		write_all(f, &o, n);
		read_all(f, &o, n);
	}
	assert_int_equal(em_ctx_memory_used(f->ctx), before);
}

/* Every size of element with every buffer, and as many elements as there are in a buffer, one fewer, one more. */
static void test_round_trips(void **state)
{
	static const uint64_t sizes[] = { 1, 4, 7, 16, 100, 5000, 12345 };
	static const uint64_t buffers[] = { 1, 4, 5, 16, 100, 4095, 4096, 4097, 8192, 10000, 65536, 1 << 20 };
	const fixture *f = *state;
	size_t i, b, c;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (b = 0; b < sizeof(buffers) / sizeof(buffers[0]); b++) {
			const uint64_t most = MOST / 4 / sizes[i];
			const uint64_t in = (buffers[b] + sizes[i] - 1) / sizes[i];
			const uint64_t counts[] = { 0, 1, in - 1, in, in + 1, 3 * in + 2 };

			for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
				if (counts[c] <= most)
					round_trip(f, sizes[i], buffers[b], counts[c]);
		}
	round_trip(f, 4, 1 << 20, MOST / 4);
	round_trip(f, 7, 300, MOST / 7);
	round_trip(f, 100, 1 << 16, MOST / 100);
	round_trip(f, 5000, 1 << 14, MOST / 5000);
}

static void test_random_sizes(void **state)
{
	const fixture *f = *state;
	test_rng rng = test_rng_make(test_seed());
	int round;

	for (round = 0; round < 300; round++) {
		const uint64_t element = 1 + test_below(&rng, test_below(&rng, 2) ? 20 : 9000);
		const uint64_t buffer = 1 + test_below(&rng, test_below(&rng, 2) ? 50 : 20000);

		round_trip(f, element, buffer, test_below(&rng, MOST / 8 / element + 1));
	}
}

/* Some readers of one file, each of another kind, and a writer of another, all a step at a time. */
static void test_interleaved(void **state)
{
	const fixture *f = *state;
	test_rng rng = test_rng_make(test_seed());
	char *other = test_path(f->dir, "other");
	uint32_t kind, i;
	em_element_opts o;

	for (kind = 1; kind <= KINDS; kind++) {
		enum { N = 5000, R = 12, READERS = 12 };
		em_element_reader *r[READERS];
		uint64_t at[READERS] = { 0 }, written = 0;
		em_element_writer *w;
		char element[R];

		stream_write_file(f->path, f->data, N * R);
		o = options(kind, R, 1000);
		assert_int_equal(em_element_writer_open(&w, f->ctx, other, &o), EM_OK);
		for (i = 0; i < READERS; i++) {
			o = options(1 + i % KINDS, R, 1 + test_below(&rng, 9000));
			assert_int_equal(em_element_reader_open(&r[i], f->ctx, f->path, &o), EM_OK);
		}
		while (written < N) {
			i = (uint32_t)test_below(&rng, READERS);
			if (em_element_reader_at_end(r[i])) {
				assert_int_equal(em_element_reader_next(r[i], element), EM_END);
				continue;
			}
			assert_int_equal(em_element_reader_next(r[i], element), EM_OK);
			assert_memory_equal(element, f->data + R * at[i], R);
			if (at[i]++ == written) {
				assert_int_equal(em_element_writer_push(w, element), EM_OK);
				written++;
			}
		}
		assert_int_equal(em_element_writer_finish(w), EM_OK);
		em_element_writer_close(w);
		for (i = 0; i < READERS; i++)
			em_element_reader_close(r[i]);
		stream_assert_file(other, f->data, N * R);
	}
	unlink(other);
	free(other);
}

/* Kinds have names; the defaults are 4 bytes and bufferb with 64 KiB. */
static void test_names_and_defaults(void **state)
{
	static const char *const names[KINDS] = { "simple", "buffer", "bufferb", "mapping" };
	const fixture *f = *state;
	em_element_stats stats;
	em_element_writer *w;
	em_element_reader *r;
	char element[4];
	uint32_t i;

	for (i = 0; i < KINDS; i++) {
		assert_int_equal(em_element_kind_find(names[i]), i + 1);
		assert_string_equal(em_element_kind_name(i + 1), names[i]);
	}
	assert_int_equal(em_element_kind_find("Simple"), 0);
	assert_int_equal(em_element_kind_find(NULL), 0);
	assert_null(em_element_kind_name(0));
	assert_null(em_element_kind_name(KINDS + 1));

	assert_int_equal(em_element_writer_open(&w, f->ctx, f->path, NULL), EM_OK);
	assert_int_equal(em_element_writer_push(w, "abcd"), EM_OK);
	assert_int_equal(em_element_writer_finish(w), EM_OK);
	stats.size = sizeof(stats);
	assert_int_equal(em_element_writer_stats_get(w, &stats), EM_OK);
	assert_int_equal(stats.kind, EM_ELEMENT_BUFFERB);
	assert_int_equal(stats.buffer_bytes, 65536);
	em_element_writer_close(w);
	assert_int_equal(em_element_reader_open(&r, f->ctx, f->path, NULL), EM_OK);
	assert_int_equal(em_element_reader_next(r, element), EM_OK);
	assert_memory_equal(element, "abcd", 4);
	em_element_reader_close(r);
	em_element_reader_close(NULL);
	em_element_writer_close(NULL);
}

/* Numbers beyond 32 bits, of which nobody makes a file here. */
static void test_large_predictions(void **state)
{
	em_element_opts o = options(EM_ELEMENT_SIMPLE, 4, 0);
	em_element_stats stats;
	em_errinfo err;

	(void)state;
	memset(&err, 0x99, sizeof(err));
	o.errinfo = &err;
	memset(&stats, 0, sizeof(stats));
	assert_int_equal(em_element_predict(&o, 1, &stats), EM_ERR_VERSION);
	assert_int_equal(err.status, EM_ERR_VERSION);
	assert_non_null(strstr(err.text, "em_element_stats"));
	stats.size = sizeof(stats);
	assert_int_equal(em_element_predict(&o, (uint64_t)1 << 40, &stats), EM_OK);
	assert_true(stats.ios == (uint64_t)1 << 40 && stats.bytes == (uint64_t)1 << 42);
	assert_int_equal(em_element_predict(&o, (uint64_t)1 << 61, &stats), EM_ERR_RANGE);
	assert_int_equal(err.status, EM_ERR_RANGE);
	o = options(EM_ELEMENT_BUFFERB, 7, 65536);
	assert_int_equal(em_element_predict(&o, (uint64_t)1 << 40, &stats), EM_OK);
	assert_true(stats.buffer_bytes == 65541 && stats.ios == ((uint64_t)7 << 40) / 65541 + 1);
	o.kind = 5;
	o.errinfo = &err;
	assert_int_equal(em_element_predict(&o, 1, &stats), EM_ERR_INVAL);
	assert_int_equal(err.status, EM_ERR_INVAL);
	o.errinfo = NULL;
	assert_int_equal(em_element_predict(&o, 1, &stats), EM_ERR_INVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trips, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_random_sizes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_interleaved, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names_and_defaults, set_up, tear_down),
		cmocka_unit_test(test_large_predictions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
