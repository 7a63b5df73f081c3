/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_conformance_shared.c -- every backend beside others: threads of its own process, other processes that have the
 * file open, children.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/conform.h"

/* Nothing is read that was read before and has changed since: by a resize, a write, or somebody else. */
static void nothing_stale(conform_case *c)
{
	size_t unit = conform_unit(c), n = unit > 1 ? unit : 100, at = unit > 1 ? 4096 : 5000, i;
	test_rng rng = test_rng_make(test_seed());
	unsigned char *out = conform_buffer(16384), *in = conform_buffer(16384);
	int other = c->kind == CONFORM_NAMED ? open(c->path, O_RDWR | O_CLOEXEC) : -1;

	conform_scribble(&rng, out, 16384);
	assert_int_equal(conform_write(c, out, 16384, 0), 16384);
	assert_int_equal(conform_read(c, in, n, at), n);
	assert_memory_equal(in, out + at, n);
	assert_int_equal(conform_resize(c, at + 10), 0);
	assert_int_equal(conform_read(c, in, n, at), 10);
	assert_int_equal(conform_resize(c, 16384), 0);
	assert_int_equal(conform_read(c, in, n, at), n);
	assert_memory_equal(in, out + at, 10);
	for (i = 10; i < n; i++)
		assert_int_equal(in[i], 0);
	assert_int_equal(conform_write(c, out, n, at), n);
	assert_int_equal(conform_read(c, in, n, at), n);
	assert_memory_equal(in, out, n);
	if (other >= 0) {
		conform_scribble(&rng, out, 16384);
		assert_int_equal(pwrite(other, out, 16384, 0), 16384);
		assert_int_equal(conform_read(c, in, n, at), n);
		assert_memory_equal(in, out + at, n);
		close(other);
	}
	free(in);
	free(out);
}

/* Another process makes the file shorter and longer: what is read is what there is. */
static void cut_by_others(conform_case *c)
{
	size_t whole = 64 << 10;
	unsigned char *out, *in;
	test_rng rng = test_rng_make(test_seed());

	if (c->kind != CONFORM_NAMED)
		return;
	out = conform_buffer(whole);
	in = conform_buffer(whole);
	conform_scribble(&rng, out, whole);
	assert_int_equal(conform_write(c, out, whole, 0), whole);
	assert_int_equal(conform_read(c, in, whole, 0), whole);
	assert_memory_equal(in, out, whole);
	assert_int_equal(truncate(c->path, 12345), 0);
	assert_int_equal(conform_size(c), 12345);
	assert_int_equal(conform_read(c, in, whole, 0), 12345);
	assert_memory_equal(in, out, 12345);
	assert_int_equal(conform_read(c, in, 4096, 16384), 0);
	assert_int_equal(truncate(c->path, 20000), 0);
	assert_int_equal(conform_read(c, in, whole, 0), 20000);
	memset(out + 12345, 0, whole - 12345);
	assert_memory_equal(in, out, 20000);
	/* A write where the file was cut off. */
	assert_int_equal(truncate(c->path, 1), 0);
	assert_int_equal(conform_write(c, out, 8192, 40960), 8192);
	assert_int_equal(conform_size(c), 49152);
	assert_int_equal(conform_read(c, in, whole, 0), 49152);
	assert_memory_equal(in + 40960, out, 8192);
	free(in);
	free(out);
}

enum { THREADS = 6, SHARE = 64, PIECE = 8192 };

typedef struct sharer {
	conform_case *c;
	unsigned i;
	int wrong;
} sharer;

/* Pieces go round, so that neighbours are written at the same time and the file grows under everybody. */
static void *share(void *arg)
{
	sharer *s = arg;
	unsigned char *out, *in;
	void *p = NULL;
	unsigned k;

	if (posix_memalign(&p, 4096, 2 * PIECE) != 0)
		return NULL;
	out = p;
	in = out + PIECE;
	s->wrong = 0;
	for (k = 0; k < SHARE; k++) {
		uint64_t at = ((uint64_t)k * THREADS + s->i) * PIECE * 37;

		memset(out, (int)(k * THREADS + s->i), PIECE);
		s->wrong |= conform_write(s->c, out, PIECE, at) != PIECE;
		s->wrong |= conform_read(s->c, in, PIECE, at) != PIECE || memcmp(in, out, PIECE) != 0;
	}
	for (k = 0; k < SHARE; k++) {
		memset(out, (int)(k * THREADS + s->i), PIECE);
		s->wrong |= conform_read(s->c, in, PIECE, ((uint64_t)k * THREADS + s->i) * PIECE * 37) != PIECE ||
			    memcmp(in, out, PIECE) != 0;
	}
	free(p);
	return s;
}

static void shared(conform_case *c)
{
	pthread_t thread[THREADS];
	sharer s[THREADS];
	unsigned i;
	void *r;

	for (i = 0; i < THREADS; i++) {
		s[i].c = c;
		s[i].i = i;
		s[i].wrong = 1;
		assert_int_equal(pthread_create(&thread[i], NULL, share, &s[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(thread[i], &r), 0);
		assert_int_equal(s[i].wrong, 0);
	}
	assert_int_equal(conform_size(c), ((uint64_t)SHARE * THREADS - 1) * PIECE * 37 + PIECE);
}

/* A child that has the file, closes it and exits as programs do leaves the parent's alone. */
static void forked(conform_case *c)
{
	test_rng rng = test_rng_make(test_seed());
	unsigned char *out = conform_buffer(16384), *in = conform_buffer(16384);
	int state = -1;
	pid_t child;

	conform_scribble(&rng, out, 16384);
	assert_int_equal(conform_write(c, out, 12288, 0), 12288);
	assert_int_equal(conform_read(c, in, 4096, 4096), 4096);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		c->be->close(c->handle, 1);
		_exit(fflush(NULL) == 0 ? 7 : 8);
	}
	assert_int_equal(waitpid(child, &state, 0), child);
	assert_true(WIFEXITED(state) && WEXITSTATUS(state) == 7);
	assert_int_equal(conform_read(c, in, 4096, 8192), 4096);
	assert_memory_equal(in, out + 8192, 4096);
	assert_int_equal(conform_write(c, out, 4096, 12288), 4096);
	assert_int_equal(conform_read(c, in, 16384, 0), 16384);
	assert_memory_equal(in, out, 12288);
	assert_memory_equal(in + 12288, out, 4096);
	free(in);
	free(out);
}

static void test_nothing_stale(void **state)
{
	(void)state;
	conform_in_new_dir(nothing_stale);
}

static void test_cut_by_others(void **state)
{
	(void)state;
	conform_in_new_dir(cut_by_others);
}

static void test_threads(void **state)
{
	(void)state;
	conform_in_new_dir(shared);
}

static void test_fork(void **state)
{
	(void)state;
	if (TEST_TSAN)
		skip();
	conform_in_new_dir(forked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_stale),
		cmocka_unit_test(test_cut_by_others),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("io/conformance_shared", tests, NULL, NULL);
}
