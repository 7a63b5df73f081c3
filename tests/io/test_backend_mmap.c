/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_backend_mmap.c -- what is particular to mapped files: that no more of them is mapped than is being copied.  What
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
#include <sys/resource.h>
#include <unistd.h>

#include "io/backend.h"
#include "io/conform.h"

/* Far apart. */
#define STRIDE ((uint64_t)32 << 20)

#define MIB ((size_t)1 << 20)

enum { PLACES = 9 };

/* Bytes of the file that are mapped into this process. */
static uint64_t mapped(const char *path)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long long from, to;
	uint64_t bytes = 0;
	char line[4500];

	if (!maps)
		skip();
	while (fgets(line, sizeof line, maps)) {
		char *name = strchr(line, '/');

		if (!name || strncmp(name, path, strlen(path)) != 0 || sscanf(line, "%llx-%llx", &from, &to) != 2)
			continue;
		bytes += to - from;
	}
	fclose(maps);
	return bytes;
}

/* Nothing stays mapped behind a transfer, wherever it was. */
static void test_nothing_stays_mapped(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "file"), out[5000], in[5000];
	test_rng rng = test_rng_make(test_seed());
	conform_case c;
	unsigned i;

	(void)state;
	memset(&c, 0, sizeof c);
	test_fill(&rng, out, sizeof out);
	assert_int_equal(conform_open(&c, &emi_backend_mmap, EM_DIRECT_OFF, path, EM_OPEN_CREATE | EM_OPEN_WRITE), 1);
	for (i = 0; i < PLACES; i++) {
		assert_int_equal(conform_write(&c, out + i, 4000, i * STRIDE - (i > 0 ? 1000 : 0)), 4000);
		assert_int_equal(mapped(path), 0);
	}
	for (i = PLACES; i-- > 0;) {
		assert_int_equal(conform_read(&c, in, 4000, i * STRIDE - (i > 0 ? 1000 : 0)), 4000);
		assert_memory_equal(in, out + i, 4000);
		assert_int_equal(mapped(path), 0);
	}
	conform_close(&c);
	assert_int_equal(unlink(path), 0);
	free(path);
	test_dir_remove(dir);
}

/* The most that the process had resident since it began, or 0. */
static size_t most_resident(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) == 0 ? (size_t)u.ru_maxrss * 1024 : 0;
}

/* A transfer is copied by pieces, so a large one has no more resident than the buffer and a piece. */
static void test_copied_by_pieces(void **state)
{
	const size_t bytes = 64 * MIB, at = 12345;
	char *dir = test_dir_make(), *buf = malloc(bytes);
	conform_case c;
	size_t was, i;

	(void)state;
	memset(&c, 0, sizeof c);
	assert_non_null(buf);
	for (i = 0; i < bytes; i++)
		buf[i] = (char)(i % 251);
	assert_int_equal(conform_open(&c, &emi_backend_mmap, EM_DIRECT_OFF, dir, EM_OPEN_TEMP | EM_OPEN_WRITE), 1);
	was = most_resident();
	assert_int_equal(conform_write(&c, buf, bytes, at), bytes);
	memset(buf, 1, bytes);
	assert_int_equal(conform_read(&c, buf, bytes, at), bytes);
	assert_true(most_resident() - was < 4 * MIB);
	for (i = 0; i < bytes && buf[i] == (char)(i % 251); i++)
		continue;
	assert_int_equal(i, bytes);
	conform_close(&c);
	free(buf);
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

/* Threads in different places at once. */
static void test_threads(void **state)
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
		cmocka_unit_test(test_nothing_stays_mapped),
		cmocka_unit_test(test_copied_by_pieces),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_not_mappable),
	};

	return cmocka_run_group_tests_name("io/backend_mmap", tests, NULL, NULL);
}
