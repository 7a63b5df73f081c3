/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_backend_mmap.c -- what is particular to mapped files: that they are mapped, and not more of them than was said.  What
 * they do is in test_conformance.c.
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
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/backend.h"
#include "io/conform.h"

/* Far enough apart for a window each, wherever pointers are. */
#define STRIDE ((uint64_t)32 << 20)

enum { PLACES = 9, WINDOWS = 4 };

/* Bytes of the file that are mapped into this process, in how many pieces; at least 1 piece, or none. */
static uint64_t mapped(const char *path, unsigned *pieces)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long long from, to;
	uint64_t bytes = 0;
	char line[4500];

	*pieces = 0;
	if (!maps)
		skip();
	while (fgets(line, sizeof line, maps)) {
		char *name = strchr(line, '/');

		if (!name || strncmp(name, path, strlen(path)) != 0 || sscanf(line, "%llx-%llx", &from, &to) != 2)
			continue;
		bytes += to - from;
		++*pieces;
	}
	fclose(maps);
	return bytes;
}

static void test_windows(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "file"), out[5000], in[5000];
	test_rng rng = test_rng_make(test_seed());
	conform_case c;
	unsigned i, pieces;

	(void)state;
	memset(&c, 0, sizeof c);
	test_fill(&rng, out, sizeof out);
	assert_int_equal(conform_open(&c, &emi_backend_mmap, EM_DIRECT_OFF, path, EM_OPEN_CREATE | EM_OPEN_WRITE), 1);
	if (path[0] == '/')
		assert_int_equal(mapped(path, &pieces), 0);
	for (i = 0; i < PLACES; i++) {
		assert_int_equal(conform_write(&c, out + i, 4000, i * STRIDE - (i > 0 ? 1000 : 0)), 4000);
		if (path[0] == '/')
			assert_true(mapped(path, &pieces) <= (uint64_t)64 << 20);
	}
	for (i = PLACES; i-- > 0;) {
		assert_int_equal(conform_read(&c, in, 4000, i * STRIDE - (i > 0 ? 1000 : 0)), 4000);
		assert_memory_equal(in, out + i, 4000);
	}
	if (path[0] == '/') {
		uint64_t bytes = mapped(path, &pieces);

		assert_true(bytes > 0 && bytes <= (uint64_t)64 << 20);
		assert_true(pieces <= WINDOWS);
	}
	conform_close(&c);
	if (path[0] == '/')
		assert_int_equal(mapped(path, &pieces), 0);
	assert_int_equal(unlink(path), 0);
	free(path);
	test_dir_remove(dir);
}

enum { THREADS = 12, ROUNDS = 200 };

typedef struct visitor {
	conform_case *c;
	unsigned i;
	int wrong;
} visitor;

/* Each has its own bytes in every place. */
static void *visit(void *arg)
{
	visitor *v = arg;
	test_rng rng = test_rng_make(test_seed() + v->i);
	unsigned char out[3000], in[3000];
	unsigned round;

	v->wrong = 0;
	for (round = 0; round < ROUNDS; round++) {
		uint64_t at = test_below(&rng, PLACES) * STRIDE + v->i * sizeof out;

		memset(out, (int)(round + v->i), sizeof out);
		v->wrong |= conform_write(v->c, out, sizeof out, at) != sizeof out;
		v->wrong |= conform_read(v->c, in, sizeof in, at) != sizeof in || memcmp(in, out, sizeof in) != 0;
	}
	return NULL;
}

/* More threads, in more places, than there are windows: they take turns. */
static void test_more_threads_than_windows(void **state)
{
	char *dir = test_dir_make();
	pthread_t thread[THREADS];
	visitor v[THREADS];
	conform_case c;
	unsigned i;

	(void)state;
	memset(&c, 0, sizeof c);
	assert_int_equal(conform_open(&c, &emi_backend_mmap, EM_DIRECT_OFF, dir, EM_OPEN_TEMP | EM_OPEN_WRITE), 1);
	for (i = 0; i < THREADS; i++) {
		v[i].c = &c;
		v[i].i = i;
		v[i].wrong = 1;
		assert_int_equal(pthread_create(&thread[i], NULL, visit, &v[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_int_equal(v[i].wrong, 0);
	}
	conform_close(&c);
	test_dir_remove(dir);
}

/* What cannot be mapped is read and written all the same. */
static void test_not_mappable(void **state)
{
	em_backend_open how;
	char buf[100];

	(void)state;
	memset(&how, 0, sizeof how);
	how.size = sizeof how;
	how.path = "/dev/zero";
	how.flags = EM_OPEN_WRITE;
	how.want_direct = EM_DIRECT_OFF;
	memset(buf, 1, sizeof buf);
	assert_int_equal(emi_backend_mmap.open(NULL, &how), 0);
	assert_int_equal(emi_backend_mmap.read(how.handle, buf, sizeof buf, 12345), sizeof buf);
	assert_int_equal(buf[0] | buf[99], 0);
	assert_int_equal(emi_backend_mmap.write(how.handle, buf, sizeof buf, 12345), sizeof buf);
	emi_backend_mmap.close(how.handle, 0);
	/* Its size is said to be 0. */
	how.path = "/proc/self/stat";
	how.flags = EM_OPEN_READ;
	if (emi_backend_mmap.open(NULL, &how) != 0)
		skip();
	assert_true(emi_backend_mmap.read(how.handle, buf, sizeof buf, 0) > 0);
	emi_backend_mmap.close(how.handle, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_more_threads_than_windows),
		cmocka_unit_test(test_not_mappable),
	};

	return cmocka_run_group_tests_name("io/backend_mmap", tests, NULL, NULL);
}
