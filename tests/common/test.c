/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test.c -- what all tests share; see test.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

#define MAGIC UINT64_C(0x7465737420206d65)

/* Of directories, the process comes behind it. */
#define NAME "extmem-test-"
#define LEFTOVER_SECONDS 3600

/* EXTMEM_TEST_SPARSE of this means that nothing fails in a sweep. */
#define NO_SWEEPS 1000000000u
/* So many cases of a sweep are taken before the first is left out. */
#define WHOLE 32u

/* In front of each block; 16 bytes, so that the block is aligned for any C type. */
typedef struct header {
	uint64_t magic;
	uint64_t bytes;
} header;

uint64_t test_seed(void)
{
	static uint64_t seed;
	static int known;

	if (!known) {
		const char *s = getenv("EXTMEM_TEST_SEED");

		if (s != NULL && *s != '\0') {
			seed = strtoull(s, NULL, 0);
		} else {
			struct timespec t;

			clock_gettime(CLOCK_REALTIME, &t);
			seed = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
			seed ^= (uint64_t)getpid() << 40;
		}
		known = 1;
		fprintf(stderr, "# EXTMEM_TEST_SEED=%" PRIu64 "\n", seed);
	}
	return seed;
}

/* A number of the environment, 1 where there is none. */
static uint64_t number_in(const char *name)
{
	const char *s = getenv(name);
	const uint64_t n = s != NULL ? strtoull(s, NULL, 0) : 1;

	return n > 1 ? n : 1;
}

uint64_t test_sparse(void)
{
	return number_in("EXTMEM_TEST_SPARSE");
}

uint64_t test_every(uint64_t n)
{
	const char *s = getenv("EXTMEM_TEST_SPARSE");

	return s != NULL && strcmp(s, "0") == 0 ? 1 : n;
}

unsigned test_fewer(void)
{
	return (unsigned)number_in("EXTMEM_TEST_FEWER");
}

test_rng test_rng_make(uint64_t seed)
{
	test_rng rng;

	rng.state = seed;
	return rng;
}

uint64_t test_random(test_rng *rng)
{
	uint64_t z;

	rng->state += UINT64_C(0x9e3779b97f4a7c15);
	z = rng->state;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t test_below(test_rng *rng, uint64_t n)
{
	return test_random(rng) % n;
}

/* By these numbers cases are chosen. */
static uint64_t choice(uint64_t n)
{
	static test_rng rng;
	static int begun;

	if (!begun)
		rng = test_rng_make(~test_seed());
	begun = 1;
	return test_below(&rng, n);
}

uint64_t test_first_of(uint64_t n)
{
	return n == 1 ? 0 : choice(n);
}

int test_sweeps(void)
{
	return test_sparse() < NO_SWEEPS;
}

uint64_t test_nth_after(uint64_t nth, uint64_t every)
{
	const uint64_t most = test_every(every * test_sparse());
	/* What is far away is tried less often: a short sweep is taken whole, of a long one, one of so many. */
	uint64_t gap = 1 + nth * every / WHOLE;

	if (!test_sweeps())
		return TEST_NEVER;
	if (nth == 0)
		return 1;
	if (gap > most)
		gap = most;
	return nth + 1 + test_first_of(2 * gap - 1);
}

unsigned test_step(void)
{
	const unsigned fewer = test_fewer();

	return fewer == 1 ? 1 : 1 + (unsigned)choice(2 * fewer - 1);
}

int test_left_out_at(int line)
{
	static int seen[32];
	static size_t n;
	const unsigned fewer = test_fewer();
	size_t i;

	if (fewer == 1)
		return 0;
	for (i = 0; i < n; i++)
		if (seen[i] == line)
			return choice(fewer) != 0;
	assert_true(n < sizeof(seen) / sizeof(seen[0]));
	seen[n++] = line;
	return 0;
}

void test_fill(test_rng *rng, void *buf, size_t bytes)
{
	unsigned char *p = buf;

	while (bytes != 0) {
		const uint64_t x = test_random(rng);
		const size_t n = bytes < sizeof x ? bytes : sizeof x;

		memcpy(p, &x, n);
		p += n;
		bytes -= n;
	}
}

void test_assert_same(const void *a, const void *b, size_t bytes, const char *file, int line)
{
	if (bytes != 0 && memcmp(a, b, bytes) != 0)
		_assert_memory_equal(a, b, bytes, file, line);
}

static void *memory_alloc(void *user, size_t bytes)
{
	test_memory *mem = user;
	uint64_t call = __atomic_add_fetch(&mem->calls, 1, __ATOMIC_RELAXED);
	uint64_t now, peak;
	header *h;

	if (mem->places != NULL && test_place_reach(mem->places, test_place_here(0), 0))
		return NULL;
	if (call == mem->fail_at || bytes == 0)
		return NULL;
	h = malloc(sizeof(*h) + bytes);
	if (h == NULL)
		return NULL;
	h->magic = MAGIC;
	h->bytes = bytes;
	memset(h + 1, 0xa5, bytes);
	__atomic_add_fetch(&mem->blocks, 1, __ATOMIC_RELAXED);
	now = __atomic_add_fetch(&mem->bytes, bytes, __ATOMIC_RELAXED);
	peak = __atomic_load_n(&mem->peak, __ATOMIC_RELAXED);
	while (now > peak &&
	       !__atomic_compare_exchange_n(&mem->peak, &peak, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return h + 1;
}

static void memory_release(void *user, void *ptr, size_t bytes)
{
	test_memory *mem = user;
	header *h = (header *)ptr - 1;

	if (ptr == NULL || h->magic != MAGIC || h->bytes != bytes) {
		__atomic_add_fetch(&mem->errors, 1, __ATOMIC_RELAXED);
		return;
	}
	h->magic = 0;
	__atomic_sub_fetch(&mem->blocks, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&mem->bytes, bytes, __ATOMIC_RELAXED);
	free(h);
}

void test_memory_init(test_memory *mem, uint64_t fail_at)
{
	memset(mem, 0, sizeof(*mem));
	mem->allocator.size = sizeof mem->allocator;
	mem->allocator.alloc = memory_alloc;
	mem->allocator.release = memory_release;
	mem->allocator.user = mem;
	mem->fail_at = fail_at;
}

int test_memory_failed(const test_memory *mem)
{
	return mem->fail_at != 0 && __atomic_load_n(&mem->calls, __ATOMIC_RELAXED) >= mem->fail_at;
}

void test_memory_assert_clean(const test_memory *mem)
{
	assert_int_equal(__atomic_load_n(&mem->errors, __ATOMIC_RELAXED), 0);
	assert_int_equal(__atomic_load_n(&mem->blocks, __ATOMIC_RELAXED), 0);
	assert_int_equal(__atomic_load_n(&mem->bytes, __ATOMIC_RELAXED), 0);
}

char *test_path(const char *dir, const char *name)
{
	size_t n = strlen(dir) + strlen(name) + 2;
	char *path = malloc(n);

	assert_non_null(path);
	snprintf(path, n, "%s/%s", dir, name);
	return path;
}

/* The next entry that is not "." or "..", or NULL. */
static const char *next_name(DIR *d)
{
	struct dirent *e;

	while ((e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			return e->d_name;
	return NULL;
}

/* Whatever path is, with all in it; of a link, the link. */
static void remove_all(const char *path)
{
	DIR *d = NULL;
	const char *name;

	if (unlink(path) != 0 && errno != ENOENT)
		d = opendir(path);
	while (d != NULL && (name = next_name(d)) != NULL) {
		char *inner = test_path(path, name);

		remove_all(inner);
		free(inner);
	}
	if (d != NULL)
		closedir(d);
	rmdir(path);
}

void test_dir_remove(char *dir)
{
	if (dir != NULL)
		remove_all(dir);
	if (dir != NULL && access(dir, F_OK) == 0)
		fail_msg("%s cannot be removed", dir);
	free(dir);
}

/* Is that a directory of ours, made by a process that is no more?  Where processes are numbered anew, as in a
 * container, one may only seem to be: so it must be old, too. */
static int is_leftover(const char *path, const char *name)
{
	struct stat sb;
	char *end;
	long pid;

	if (strncmp(name, NAME, sizeof(NAME) - 1) != 0)
		return 0;
	pid = strtol(name + sizeof(NAME) - 1, &end, 10);
	return pid > 0 && *end == '-' && kill((pid_t)pid, 0) != 0 && errno == ESRCH && lstat(path, &sb) == 0 &&
	       S_ISDIR(sb.st_mode) && sb.st_uid == geteuid() && time(NULL) - sb.st_mtime > LEFTOVER_SECONDS;
}

/* Tests that were killed could not remove what they had made: the next one does, once. */
static void remove_leftovers(const char *parent)
{
	static int done;
	DIR *d = done ? NULL : opendir(parent);
	const char *name;

	done = 1;
	while (d != NULL && (name = next_name(d)) != NULL) {
		char *path = test_path(parent, name);

		if (is_leftover(path, name))
			remove_all(path);
		free(path);
	}
	if (d != NULL)
		closedir(d);
}

char *test_dir_make(void)
{
	const char *parents[3];
	char name[64];
	size_t i;

	parents[0] = getenv("TMPDIR");
	parents[1] = "/var/tmp";
	parents[2] = ".";
	for (i = 0; i < 3; i++) {
		char *path;

		if (parents[i] == NULL || parents[i][0] == '\0')
			continue;
		remove_leftovers(parents[i]);
		snprintf(name, sizeof(name), NAME "%ld-XXXXXX", (long)getpid());
		path = test_path(parents[i], name);
		if (mkdtemp(path) != NULL)
			return path;
		free(path);
	}
	fail_msg("cannot make a temporary directory");
	return NULL;
}

void test_assert_dir_empty(const char *dir, const char *file, int line)
{
	DIR *d = opendir(dir);
	const char *name;

	assert_non_null(d);
	name = next_name(d);
	if (name != NULL) {
		print_error("%s:%d: %s/%s was left behind\n", file, line, dir, name);
		closedir(d);
		_fail(file, line);
	}
	closedir(d);
}
