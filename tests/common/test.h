/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test.h -- what all tests share.
 *
 * Seeds.  A random test starts with
 *
 *	test_rng rng = test_rng_make(test_seed());
 *
 * test_seed() is EXTMEM_TEST_SEED where that is set and otherwise drawn from the clock; it is
 * printed once, so that a failure can be replayed.
 *
 * Sweeps.  What lets one thing after the other fail goes from each to the next by test_nth_after():
 *
 *	for (nth = test_nth_after(0, 1); failed; nth = test_nth_after(nth, 1))
 *
 * A sweep that would take too long takes one of n, as its author says by the second argument.  EXTMEM_TEST_SPARSE=N
 * makes that one of N times as many, by the seed.  The first ones are taken in any case, then fewer and fewer, so that
 * of a short sweep most is left.  With EXTMEM_TEST_SPARSE=0, as make check-large has it, a sweep takes all; with
 * EXTMEM_TEST_SPARSE=1000000000 it is gone through once, with nothing that fails.  A test that counts failures asks
 * test_sweeps() whether there are any.
 *
 * Slow builds.
 *
 * EXTMEM_TEST_FEWER=N lets tests that compare many cases with a model take about one of N, by the seed, so that other
 * runs take others:
 *
 *	for (i = 0; i < CASES; i += test_step())
 *
 * or, in loops within others, whose first case should not be taken each time,
 *
 *	if (test_left_out())
 *		continue;
 *
 * Memory.  test_memory is an allocator for em_ctx_opts.allocator that counts, checks the sizes
 * given back, fills what it hands out with garbage and fails the Nth allocation:
 *
 *	test_memory mem;
 *	test_memory_init(&mem, 0);              (0: never fail; N: fail the Nth and only that one)
 *	opts.allocator = &mem.allocator;
 *	...
 *	test_memory_assert_clean(&mem);         (everything was released)
 *
 * A sweep repeats the work with N = 1, 2, ... until test_memory_failed(&mem) says that N was never
 * reached.  Where that takes too long, it lets allocations fail by their place: see place.h.
 *
 * Directories.  test_dir_make() makes one under $TMPDIR, /var/tmp or the current directory, whose name has the process
 * in it: what others left that were killed more than an hour ago is removed first.  test_dir_remove() removes it and
 * all in it, assert_dir_empty(path) says that nothing was left behind.
 */
#ifndef EM_TEST_H
#define EM_TEST_H

#include <stddef.h>
#include <stdint.h>

#include <extmem/sys/allocator.h>

#include "common/place.h"

/* 1 under the thread sanitizer, with which a child of a process with threads can do little. */
#if defined(__SANITIZE_THREAD__)
#define TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_TSAN 1
#endif
#endif
#ifndef TEST_TSAN
#define TEST_TSAN 0
#endif

/* 1 under a sanitizer that takes terabytes of addresses: there limits on memory can mean nothing. */
#if defined(__SANITIZE_ADDRESS__)
#define TEST_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_SHADOW 1
#endif
#endif
#ifndef TEST_SHADOW
#define TEST_SHADOW TEST_TSAN
#endif

/* The seed of this run. */
uint64_t test_seed(void);

/* The nth of this never comes. */
#define TEST_NEVER (UINT64_MAX / 4)

/* Does anything fail in a sweep? */
int test_sweeps(void);
/* What is to fail after the nth, counted from 1; 0: nothing did yet.  TEST_NEVER where nothing is to fail; else one of
 * `every' times EXTMEM_TEST_SPARSE, on average, and all of the first ones. */
uint64_t test_nth_after(uint64_t nth, uint64_t every);
/* EXTMEM_TEST_SPARSE, or 1. */
uint64_t test_sparse(void);
/* n: one of so many is taken; but 1 where EXTMEM_TEST_SPARSE is 0. */
uint64_t test_every(uint64_t n);
/* In [0, n), by the seed: which of n things is the first that is taken, of one of n. */
uint64_t test_first_of(uint64_t n);
/* EXTMEM_TEST_FEWER, or 1. */
unsigned test_fewer(void);
/* How far it is to the next case: 1, or, with EXTMEM_TEST_FEWER, that on average. */
unsigned test_step(void);
/* Is this case one of those that are left out?  The first that is asked about at each place is not. */
int test_left_out_at(int line);
#define test_left_out() test_left_out_at(__LINE__)

/* splitmix64: any seed will do. */
typedef struct test_rng {
	uint64_t state;
} test_rng;

test_rng test_rng_make(uint64_t seed);
uint64_t test_random(test_rng *rng);
/* in [0, n), n > 0 */
uint64_t test_below(test_rng *rng, uint64_t n);
void test_fill(test_rng *rng, void *buf, size_t bytes);

/* CMocka compares byte by byte, which took a sixth of some tests.  cmocka.h comes before this file. */
void test_assert_same(const void *a, const void *b, size_t bytes, const char *file, int line);
#undef assert_memory_equal
#define assert_memory_equal(a, b, bytes) test_assert_same(a, b, bytes, __FILE__, __LINE__)

/* All fields but allocator are atomic: allocations come from any thread. */
typedef struct test_memory {
	em_allocator allocator; /* for em_ctx_opts.allocator */
	uint64_t fail_at;       /* this allocation fails, counted from 1; 0: none */
	test_places *places;    /* or the one that these say; NULL: none; set after test_memory_init() */
	uint64_t calls;         /* allocations asked for */
	uint64_t blocks;        /* not yet released */
	uint64_t bytes;         /* in them */
	uint64_t peak;          /* most bytes at a time */
	uint64_t errors;        /* wrong sizes and stray pointers given back */
} test_memory;

void test_memory_init(test_memory *mem, uint64_t fail_at);
/* Was the allocation that is to fail reached? */
int test_memory_failed(const test_memory *mem);
/* Fail the test when something was not released, or released wrongly. */
void test_memory_assert_clean(const test_memory *mem);

/* A new directory, as an absolute or relative path; for test_dir_remove(). */
char *test_dir_make(void);
/* dir/name, for free(). */
char *test_path(const char *dir, const char *name);
/* Remove it with all in it, and free the name; where that cannot be done, the test fails.  NULL is allowed. */
void test_dir_remove(char *dir);
/* Fail the test, naming the file, when something is in the directory. */
void test_assert_dir_empty(const char *dir, const char *file, int line);
#define assert_dir_empty(dir) test_assert_dir_empty(dir, __FILE__, __LINE__)

#endif
