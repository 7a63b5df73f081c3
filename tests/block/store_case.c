/* SPDX-License-Identifier: BSL-1.0 */
/* store_case.c -- see store_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "block/store_case.h"

char *store_case_block(store_case *s, uint32_t i)
{
	return s->mem + (size_t)i * CASE_BLOCK;
}

size_t store_case_there(const store_case *s, uint32_t i)
{
	const uint64_t begin = (uint64_t)i * CASE_BLOCK;

	if (begin >= s->length)
		return 0;
	return s->length - begin < CASE_BLOCK ? (size_t)(s->length - begin) : CASE_BLOCK;
}

int store_case_changes(const store_case *s)
{
	return s->kind != STORE_READ_ONLY;
}

void store_case_change(store_case *s, uint32_t i, char *buf)
{
	test_fill(&s->f.rng, store_case_block(s, i), store_case_there(s, i));
	memcpy(buf, store_case_block(s, i), CASE_BLOCK);
}

void store_case_check(store_case *s, uint32_t i, const char *buf)
{
	if (memcmp(buf, store_case_block(s, i), CASE_BLOCK) != 0)
		fail_msg("block %u of %u is not what it should be", i, s->n);
}

emi_span store_case_span(const store_case *s, uint32_t first, uint32_t *n)
{
	emi_span span = {s->bid[first], CASE_BLOCK};
	uint32_t k = 1;

	while (k < *n && s->bid[first + k].disk == span.at.disk &&
	       s->bid[first + k].offset == span.at.offset + (uint64_t)k * CASE_BLOCK)
		k++;
	*n = k;
	span.bytes = (uint64_t)k * CASE_BLOCK;
	return span;
}

void store_case_check_store(store_case *s, uint32_t first, uint32_t n)
{
	uint32_t i;

	for (i = first; i < first + n; i++) {
		char *buf = s->buf + (size_t)i * CASE_BLOCK;
		emi_request rq;

		if (store_case_there(s, i) == 0)
			continue;
		assert_int_equal(emi_store_check(s->store, EMI_READ, s->bid[i], CASE_BLOCK, &s->f.err), EM_OK);
		(void)emi_store_read(s->store, &rq, buf, CASE_BLOCK, s->bid[i], NULL);
		if (emi_wait(&rq, &s->f.err) != EM_OK)
			fail_msg("%s", s->f.err.text);
		store_case_check(s, i, buf);
	}
}

em_status store_case_resize(store_case *s, uint64_t length)
{
	const em_status st = emi_store_resize(s->store, length, NULL);

	if (st != EM_OK)
		return st;
	assert_int_equal(emi_store_length(s->store), length);
	if (length < s->length)
		memset(s->mem + length, 0, (size_t)(s->length - length));
	s->length = length;
	return EM_OK;
}

static void make_file(store_case *s)
{
	const unsigned flags = s->kind == STORE_READ_ONLY ? EMI_OPEN_READ : EMI_OPEN_READ | EMI_OPEN_WRITE;
	FILE *f;

	s->dir = test_dir_make();
	s->path = test_path(s->dir, "blocks");
	if (s->kind != STORE_FILE)
		s->length -= 1 + test_below(&s->f.rng, CASE_BLOCK - 1);
	test_fill(&s->f.rng, s->mem, (size_t)s->length);
	f = fopen(s->path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(s->mem, 1, (size_t)s->length, f), s->length);
	fclose(f);
	if (emi_file_open(&s->file, s->f.ctx, s->path, flags, &s->f.err) != EM_OK)
		fail_msg("%s", s->f.err.text);
	assert_int_equal(emi_store_open_file(&s->store, s->file, &s->f.err), EM_OK);
	assert_int_equal(emi_store_length(s->store), s->length);
	assert_int_equal(emi_store_read_only(s->store), s->kind == STORE_READ_ONLY);
}

/* Half of them. */
static void write_some(store_case *s)
{
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		char *buf = s->buf + (size_t)i * CASE_BLOCK;
		emi_request rq;

		if (test_below(&s->f.rng, 2))
			continue;
		store_case_change(s, i, buf);
		assert_int_equal(emi_store_write(s->store, &rq, buf, CASE_BLOCK, s->bid[i], NULL, NULL), EM_OK);
		assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	}
}

void store_case_open(store_case *s, store_kind kind, uint32_t n)
{
	const em_backend *memory = em_backend_find("memory");
	const em_backend *backends[FIXTURE_DISKS] = {memory, memory, memory};
	uint32_t i;

	memset(s, 0, sizeof *s);
	fixture_open_on(&s->f, backends, kind == STORE_DISKS ? FIXTURE_DISKS : 1);
	s->kind = kind;
	s->n = n;
	s->length = (uint64_t)n * CASE_BLOCK;
	s->mem = calloc(n, CASE_BLOCK);
	s->buf = emi_buffer_alloc_array(s->f.ctx, n, CASE_BLOCK, NULL);
	assert_non_null(s->mem);
	assert_non_null(s->buf);
	for (i = 0; i < n; i++)
		s->bid[i].offset = (uint64_t)i * CASE_BLOCK;
	if (kind >= STORE_FILE) {
		make_file(s);
		return;
	}
	if (kind == STORE_ARRAY) {
		assert_int_equal(emi_store_open_array(&s->store, s->f.ctx, CASE_BLOCK, NULL, &s->f.err), EM_OK);
		assert_int_equal(emi_store_resize(s->store, s->length, &s->f.err), EM_OK);
	} else {
		assert_int_equal(emi_store_open_scratch(&s->store, s->f.ctx, &s->f.err), EM_OK);
		assert_int_equal(emi_store_alloc(s->store, NULL, 0, CASE_BLOCK, s->bid, n, &s->f.err), EM_OK);
	}
	write_some(s);
}

static void check_file(const store_case *s)
{
	char *all = malloc((size_t)s->length + 1);
	FILE *f = fopen(s->path, "rb");

	assert_non_null(all);
	assert_non_null(f);
	assert_int_equal(fread(all, 1, (size_t)s->length + 1, f), s->length);
	assert_memory_equal(all, s->mem, (size_t)s->length);
	fclose(f);
	free(all);
}

void store_case_close(store_case *s)
{
	if (s->store != NULL)
		store_case_check_store(s, 0, s->n);
	emi_store_close(s->store);
	emi_file_close(s->file);
	if (s->file != NULL)
		check_file(s);
	emi_buffer_free_array(s->f.ctx, s->buf, s->n, CASE_BLOCK);
	free(s->mem);
	fixture_close(&s->f);
	free(s->path);
	test_dir_remove(s->dir);
}
