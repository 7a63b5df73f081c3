/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_conformance.c -- every backend moves bytes as its table promises: against a model of the file, at the file's
 * end, far out.  The suite goes on in test_conformance_shared.c, test_conformance_errors.c and
 * test_conformance_device.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/conform.h"

enum { REGION = 3 << 20, MOST = 1 << 20, GUARD = 64 };

/* A part of the file, of REGION bytes, of which everything is known; in front of it nothing was ever written. */
typedef struct model {
	conform_case *c;
	test_rng rng;
	uint64_t origin;        /* where it begins in the file */
	uint64_t size;          /* the file's */
	unsigned char *bytes;
	unsigned char *lost;    /* 1: given back, and may be anything */
	unsigned char *buf;     /* aligned */
	int other;              /* a descriptor of our own, or -1 */
} model;

/* 2^41 bytes are 2^32 sectors; the second is where windows of mapped files meet. */
static const uint64_t origins[] = { 0, ((uint64_t)3 << 24) - REGION / 2 / 4096 * 4096, ((uint64_t)1 << 41) - 4096 };

static size_t random_bytes(test_rng *rng, size_t unit, size_t most)
{
	static const size_t edge[] = { 1, 511, 512, 4095, 4096, 4097, 8191, 65536, 65537 };
	size_t n;

	switch (test_below(rng, 4)) {
	case 0:
		n = (size_t)test_below(rng, MOST) + 1;
		break;
	case 1:
		n = (size_t)test_below(rng, 100) + 1;
		break;
	default:
		n = edge[test_below(rng, sizeof edge / sizeof *edge)];
	}
	n = (n + unit - 1) / unit * unit;
	return n < most ? n : most;
}

/* A place in the region; often at the end of the file. */
static size_t random_place(model *m, size_t unit)
{
	uint64_t at = test_below(&m->rng, REGION);

	if (m->size > m->origin && m->size - m->origin < REGION && test_below(&m->rng, 2)) {
		at = m->size - m->origin;
		if (test_below(&m->rng, 2) && at > 5000)
			at -= test_below(&m->rng, 5000);
	}
	return (size_t)(at / unit * unit);
}

static void new_size(model *m, uint64_t size)
{
	size_t keep = size < m->origin ? 0 : size - m->origin < REGION ? (size_t)(size - m->origin) : REGION;

	if (size < m->size) {
		memset(m->bytes + keep, 0, REGION - keep);
		memset(m->lost + keep, 0, REGION - keep);
	}
	m->size = size;
}

static void random_write(model *m)
{
	size_t unit = conform_unit(m->c), at = random_place(m, unit);
	size_t n = random_bytes(&m->rng, unit, REGION - at);

	if (n == 0)
		return;
	conform_scribble(&m->rng, m->buf, n);
	assert_int_equal(conform_write(m->c, m->buf, n, m->origin + at), n);
	memcpy(m->bytes + at, m->buf, n);
	memset(m->lost + at, 0, n);
	if (m->size < m->origin + at + n)
		new_size(m, m->origin + at + n);
}

/* What was read at a place of the region: all that is known is right. */
static void check(const model *m, const unsigned char *got, size_t at, size_t n)
{
	size_t i;

	if (memcmp(got, m->bytes + at, n) == 0)
		return;
	for (i = 0; i < n; i++)
		if (!m->lost[at + i] && got[i] != m->bytes[at + i])
			fail_msg("%s: byte %zu of the region at %llu is %d and not %d (size %llu)", m->c->name, at + i,
				 (unsigned long long)m->origin, got[i], m->bytes[at + i], (unsigned long long)m->size);
}

static void random_read(model *m)
{
	size_t unit = conform_unit(m->c), at = random_place(m, unit), i;
	size_t n = random_bytes(&m->rng, unit, REGION - at);
	uint64_t offset = m->origin + at;
	uint64_t there = offset < m->size ? m->size - offset : 0;
	size_t expect = there < n ? (size_t)there : n;

	if (n == 0)
		return;
	memset(m->buf, 0xa5, n + GUARD);
	assert_int_equal(conform_read(m->c, m->buf, n, offset), expect);
	check(m, m->buf, at, expect);
	/* Of a direct transfer the kernel may use the rest of the page. */
	for (i = m->c->direct ? n : expect; i < n + GUARD; i++)
		assert_int_equal(m->buf[i], 0xa5);
}

static void random_resize(model *m)
{
	static const uint64_t edge[] = { 0, 1, 4095, 4096, 4097 };
	uint64_t size = m->origin + test_below(&m->rng, REGION + 1);

	if (test_below(&m->rng, 4) == 0)
		size = m->origin + edge[test_below(&m->rng, 5)];
	else if (test_below(&m->rng, 8) == 0)
		size = edge[test_below(&m->rng, 5)];
	assert_int_equal(conform_resize(m->c, size), 0);
	new_size(m, size);
}

static void random_reserve(model *m)
{
	size_t at = random_place(m, 1), n = random_bytes(&m->rng, 1, REGION - at);
	int e = conform_reserve(m->c, m->origin + at, n);

	if (e == EOPNOTSUPP)
		return;
	assert_int_equal(e, 0);
	if (m->size < m->origin + at + n)
		new_size(m, m->origin + at + n);
}

static void random_discard(model *m)
{
	size_t at = random_place(m, 1), n = random_bytes(&m->rng, 1, REGION - at);
	int e = conform_discard(m->c, m->origin + at, n);

	if (e == EOPNOTSUPP)
		return;
	assert_int_equal(e, 0);
	/* Behind the end there is nothing to lose. */
	if (m->origin + at + n > m->size)
		n = m->size > m->origin + at ? (size_t)(m->size - m->origin - at) : 0;
	memset(m->lost + at, 1, n);
}

/* Others see what was written, and what they write is read. */
static void others(model *m)
{
	size_t at = random_place(m, 1), n = random_bytes(&m->rng, 1, REGION - at);
	uint64_t offset = m->origin + at;
	struct stat st;

	if (m->other < 0 || offset >= m->size)
		return;
	if (n > m->size - offset)
		n = (size_t)(m->size - offset);
	assert_int_equal(fstat(m->other, &st), 0);
	assert_int_equal(st.st_size, m->size);
	assert_int_equal(pread(m->other, m->buf, n, (off_t)offset), n);
	check(m, m->buf, at, n);
	conform_scribble(&m->rng, m->buf, n);
	assert_int_equal(pwrite(m->other, m->buf, n, (off_t)offset), n);
	memcpy(m->bytes + at, m->buf, n);
	memset(m->lost + at, 0, n);
}

static void step(model *m)
{
	switch (test_below(&m->rng, 12)) {
	case 0:
		random_resize(m);
		break;
	case 1:
		random_reserve(m);
		break;
	case 2:
		random_discard(m);
		break;
	case 3:
		others(m);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		random_write(m);
		break;
	default:
		random_read(m);
	}
	assert_int_equal(conform_size(m->c), m->size);
}

/* The whole region, read by a backend that has just opened the file. */
static void check_all(model *m)
{
	size_t n = m->size <= m->origin ? 0 : m->size - m->origin < REGION ? (size_t)(m->size - m->origin) : REGION;

	assert_int_equal(conform_size(m->c), m->size);
	assert_int_equal(conform_read(m->c, m->buf, REGION, m->origin), n);
	check(m, m->buf, 0, n);
}

static void steps_at(conform_case *c, uint64_t origin, unsigned steps)
{
	model m;

	memset(&m, 0, sizeof m);
	m.c = c;
	m.rng = test_rng_make(test_seed());
	m.origin = origin;
	m.bytes = calloc(1, REGION);
	m.lost = calloc(1, REGION);
	m.buf = conform_buffer(REGION + GUARD);
	m.other = c->kind == CONFORM_NAMED ? open(c->path, O_RDWR | O_CLOEXEC) : -1;
	assert_non_null(m.bytes);
	assert_non_null(m.lost);
	assert_int_equal(conform_resize(c, 0), 0);
	while (steps-- > 0)
		step(&m);
	check_all(&m);
	if (c->kind == CONFORM_NAMED) {
		conform_close(c);
		assert_int_equal(conform_open(c, c->be, c->want_direct, c->path, EM_OPEN_READ), 1);
		check_all(&m);
		conform_close(c);
		assert_int_equal(conform_open(c, c->be, c->want_direct, c->path, EM_OPEN_WRITE), 1);
	}
	if (m.other >= 0)
		close(m.other);
	free(m.buf);
	free(m.lost);
	free(m.bytes);
}

/* Can files in the file system be so long? */
static int reaches(conform_case *c, uint64_t size)
{
	int e = conform_resize(c, size);

	if (e == EFBIG && conform_is_real(c))
		return 0;
	assert_int_equal(e, 0);
	return 1;
}

static void model_of(conform_case *c)
{
	unsigned i;

	for (i = 0; i < sizeof origins / sizeof *origins; i++)
		if (!test_left_out() && reaches(c, origins[i] + REGION))
			steps_at(c, origins[i], i == 0 ? 120 : 60);
}

/* Read n bytes, a whole number of units, about a place: what there is up to the file's end comes, which is out and then
 * zeros. */
static void read_about(conform_case *c, const unsigned char *out, unsigned char *in, size_t size, size_t at, size_t n)
{
	size_t unit = conform_unit(c), expect;

	at = at / unit * unit;
	n = (n + unit - 1) / unit * unit;
	expect = at >= size ? 0 : size - at < n ? size - at : n;
	assert_int_equal(conform_read(c, in, n, at), expect);
	assert_memory_equal(in, out + at, expect);
}

/* A file of that size: places around its beginning and end, and a read of everything and more. */
static void read_around(conform_case *c, const unsigned char *out, unsigned char *in, size_t size)
{
	const size_t place[] = { 0, 1, 4095, 4096, size / 2, size > 0 ? size - 1 : 0, size, size + 1, size + 4096 };
	size_t i;

	assert_int_equal(conform_size(c), size);
	for (i = 0; i < sizeof place / sizeof *place; i++) {
		read_about(c, out, in, size, place[i], 1);
		read_about(c, out, in, size, place[i], 4097);
		read_about(c, out, in, size, place[i], MOST + 8192);
	}
	assert_int_equal(conform_read(c, in, 4096, (uint64_t)1 << 50), 0);
}

/* Reads at, before and past the end of files of several sizes move what there is; what grows is zeros. */
static void ends_of(conform_case *c)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 8192, MOST + 13 };
	size_t unit = conform_unit(c), room = 2 * (size_t)MOST, i;
	test_rng rng = test_rng_make(test_seed());
	unsigned char *out = conform_buffer(room), *in = conform_buffer(room);

	for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t size = sizes[i], up = (size + unit - 1) / unit * unit;

		conform_scribble(&rng, out, up);
		if (up > 0)
			assert_int_equal(conform_write(c, out, up, 0), up);
		assert_int_equal(conform_resize(c, size), 0);
		memset(out + size, 0, room - size);
		read_around(c, out, in, size);
		assert_int_equal(conform_resize(c, size + 5000), 0);
		read_around(c, out, in, size + 5000);
		assert_int_equal(conform_resize(c, size / 2), 0);
		read_around(c, out, in, size / 2);
		assert_int_equal(conform_resize(c, size), 0);
		memset(out + size / 2, 0, room - size / 2);
		read_around(c, out, in, size);
		assert_int_equal(conform_resize(c, 0), 0);
	}
	free(in);
	free(out);
}

static void test_model(void **state)
{
	(void)state;
	conform_in_new_dir(model_of);
}

static void test_ends(void **state)
{
	(void)state;
	conform_in_new_dir(ends_of);
}

/* The names, and the question whether they work. */
static void test_names(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < em_backend_count(); i++)
		assert_int_equal(em_backend_supported(em_backend_at(i)->name), 1);
	assert_int_equal(em_backend_supported("mmap"), 1);
	assert_int_equal(em_backend_supported("no such backend"), 0);
	assert_int_equal(em_backend_supported(""), 0);
	assert_int_equal(em_backend_supported(NULL), 0);
	assert_int_equal(em_backend_supported("libaio"), em_backend_find("libaio") != NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests_name("io/conformance", tests, NULL, NULL);
}
