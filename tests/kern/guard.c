/* SPDX-License-Identifier: BSL-1.0 */
/* guard.c -- see guard.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guard.h"

#define PATTERN 0xa5
#define BESIDE ((size_t)64)     /* bytes on either side of an array that are looked at */

void guard_init(guard *g, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map;

	memset(g, 0, sizeof *g);
	/* One page more than is asked for makes room for a skew. */
	g->map_bytes = (bytes + page - 1) / page * page + 3 * page;
	map = mmap(NULL, g->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(map != MAP_FAILED);
	g->map = map;
	g->begin = g->map + page;
	g->end = g->map + g->map_bytes - page;
	g->at = g->begin;
	assert_int_equal(mprotect(g->map, page, PROT_NONE), 0);
	assert_int_equal(mprotect(g->end, page, PROT_NONE), 0);
	memset(g->begin, PATTERN, (size_t)(g->end - g->begin));
}

void guard_free(guard *g)
{
	assert_int_equal(munmap(g->map, g->map_bytes), 0);
	memset(g, 0, sizeof *g);
}

/* What is looked at beside the array. */
static const unsigned char *look_begin(const guard *g)
{
	return (size_t)(g->at - g->begin) > BESIDE ? g->at - BESIDE : g->begin;
}

static const unsigned char *look_end(const guard *g)
{
	const unsigned char *end = g->at + g->bytes;

	return (size_t)(g->end - end) > BESIDE ? end + BESIDE : g->end;
}

void *guard_take(guard *g, size_t bytes, int place, size_t skew)
{
	const int at_end = place == GUARD_END || place == GUARD_END_SKEWED;

	assert_true(bytes + 2 * skew <= (size_t)(g->end - g->begin));
	/* What the array before left behind. */
	memset(g->begin + (look_begin(g) - g->begin), PATTERN, (size_t)(look_end(g) - look_begin(g)));
	g->at = at_end ? g->end - bytes : g->begin;
	g->bytes = bytes;
	if (place == GUARD_END_SKEWED || place == GUARD_BEGIN_SKEWED) {
		/* Next to the page as far as the alignment lets it be. */
		while ((uintptr_t)g->at % (2 * skew) != skew)
			g->at += at_end ? -1 : 1;
	}
	memset(g->begin + (look_begin(g) - g->begin), PATTERN, (size_t)(look_end(g) - look_begin(g)));
	return g->at;
}

void guard_check(const guard *g)
{
	const unsigned char *p;

	for (p = look_begin(g); p < g->at; p++)
		assert_int_equal(*p, PATTERN);
	for (p = g->at + g->bytes; p < look_end(g); p++)
		assert_int_equal(*p, PATTERN);
}
