/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_block_id.c -- blocks by their ids: many at once, rows, wrong ids, owners, and what is counted and reported.
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

#include <extmem/disk.h>
#include <extmem/sys/fault.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/disk.h"
#include "common/test.h"

enum { PAGE = 4096, DISKS = 3, UNITS = 1 << 16, GROUPS = 4000, MOST = 8 };

/* Slow builds try so much less. */
static unsigned slower(void)
{
	return TEST_TSAN || getenv("EXTMEM_TEST_SPARSE") != NULL ? 10 : 1;
}

/* What the log said of blocks: warnings, and the last line. */
typedef struct heard {
	unsigned warnings;
	int32_t level;
	char line[512];
} heard;

static void hear(void *user, int32_t level, const char *line)
{
	heard *h = user;

	if (level < EM_LOG_WARN && strncmp(line, "scratch was closed", 18) != 0)
		return;
	h->warnings += level >= EM_LOG_WARN;
	h->level = level;
	snprintf(h->line, sizeof h->line, "%s", line);
}

typedef struct set {
	char *dir;
	em_disk_opts disk[DISKS];
	const em_disk_opts *list[DISKS];
	em_ctx_opts opts;
	em_ctx *ctx;
	emi_disk *d;
	test_memory mem;
	heard log;
} set;

static em_errinfo clean(void)
{
	em_errinfo err;

	memset(&err, 0, sizeof err);
	return err;
}

/* n disks that are kept in memory, not opened yet. */
static void prepare(set *s, uint32_t n, uint32_t flags)
{
	const em_ctx_opts opts = EM_CTX_OPTS_INIT;
	const em_disk_opts disk = EM_DISK_OPTS_INIT;
	uint32_t i;

	memset(s, 0, sizeof *s);
	s->dir = test_dir_make();
	for (i = 0; i < n; i++) {
		s->disk[i] = disk;
		s->disk[i].path = s->dir;
		s->disk[i].backend = "memory";
		s->list[i] = &s->disk[i];
	}
	s->opts = opts;
	s->opts.memory = (uint64_t)64 << 20;
	s->opts.backend = "syscall";
	s->opts.disks = s->list;
	s->opts.ndisks = n;
	s->opts.allocator = &s->mem.allocator;
	s->opts.flags = flags;
	s->opts.log = hear;
	s->opts.log_user = &s->log;
	test_memory_init(&s->mem, 0);
}

static emi_disk *user(set *s)
{
	em_errinfo err = clean();
	emi_disk *d = NULL;

	if (emi_scratch_acquire(s->ctx, &d, &err) != EM_OK)
		fail_msg("%s", err.text);
	return d;
}

static void start(set *s)
{
	assert_int_equal(em_ctx_open(&s->ctx, &s->opts), EM_OK);
	s->d = user(s);
}

static void stop(set *s)
{
	emi_scratch_release(s->ctx, s->d);
	em_ctx_close(s->ctx);
	test_memory_assert_clean(&s->mem);
	test_dir_remove(s->dir);
}

/* Blocks that were allocated together. */
typedef struct group {
	size_t bytes;
	unsigned n;
	em_bid bid[MOST];
} group;

/* Which units are in use on each disk. */
typedef struct model {
	set s;
	test_rng rng;
	unsigned char *unit[DISKS];
	group g[GROUPS];
	unsigned groups;
	emi_disk_usage now[DISKS], all;
} model;

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void count(emi_disk_usage *u, uint64_t blocks, uint64_t bytes)
{
	u->blocks += blocks;
	u->bytes += bytes;
	u->blocks_peak = larger(u->blocks_peak, u->blocks);
	u->bytes_peak = larger(u->bytes_peak, u->bytes);
}

static void fill(model *m, const group *g, int used)
{
	static const unsigned char none[64], all[64] = {
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	};
	unsigned i;

	for (i = 0; i < g->n; i++) {
		const uint64_t at = g->bid[i].offset / PAGE;
		const size_t n = g->bytes / PAGE;

		assert_true(g->bid[i].disk < DISKS && g->bid[i].offset % PAGE == 0 && at + n <= UNITS);
		assert_memory_equal(m->unit[g->bid[i].disk] + at, used ? none : all, n);
		memset(m->unit[g->bid[i].disk] + at, used, n);
	}
}

/* The first gap of n units on a disk; where everything ends there is one. */
static uint64_t gap_of(const model *m, uint32_t disk, uint64_t n)
{
	uint64_t i, run = 0;

	for (i = 0; i < UNITS; i++) {
		run = m->unit[disk][i] ? 0 : run + 1;
		if (run == n)
			return i + 1 - n;
	}
	return UINT64_MAX;
}

static void compare(model *m)
{
	emi_disk_usage u;
	uint32_t i;

	for (i = 0; i < DISKS; i++) {
		emi_disk_usage_of(m->s.d, i, &u);
		assert_true(u.held >= u.bytes && u.held_peak >= u.bytes_peak);
		u.held = u.held_peak = 0;
		assert_memory_equal(&u, &m->now[i], sizeof u);
	}
	emi_disk_usage_all(m->s.d, &u);
	assert_true(u.held >= u.bytes && u.held_peak >= u.bytes_peak);
	u.held = u.held_peak = 0;
	assert_memory_equal(&u, &m->all, sizeof u);
	assert_int_equal(emi_disk_used(m->s.d), m->all.bytes);
}

static void take(model *m, const em_placement *place, int look)
{
	static const size_t pages[] = {1, 1, 2, 3, 5, 16, 33, 64};
	group *g = &m->g[m->groups];
	const uint64_t first = test_random(&m->rng);
	const uint32_t disk = (uint32_t)test_below(&m->rng, DISKS);
	uint64_t gap = 0;
	em_errinfo err = clean();
	unsigned i;

	g->bytes = pages[test_below(&m->rng, sizeof pages / sizeof *pages)] * PAGE;
	g->n = 1 + (unsigned)test_below(&m->rng, g->bytes < 16 * PAGE ? MOST : 2);
	if (test_below(&m->rng, 2)) {
		gap = look ? gap_of(m, disk, g->n * g->bytes / PAGE) : 0;
		assert_int_equal(emi_blocks_alloc_row(m->s.d, disk, g->bytes, g->bid, g->n, &err), EM_OK);
		for (i = 0; i < g->n; i++) {
			assert_int_equal(g->bid[i].disk, disk);
			assert_int_equal(g->bid[i].offset, g->bid[0].offset + i * g->bytes);
		}
		if (look)
			assert_int_equal(g->bid[0].offset / PAGE, gap);
	} else {
		assert_int_equal(emi_blocks_alloc(m->s.d, place, first, g->bytes, g->bid, g->n, &err), EM_OK);
		for (i = 0; i < g->n && place != NULL; i++)
			assert_int_equal(g->bid[i].disk, em_placement_disk(place, first + i));
	}
	for (i = 0; i < g->n; i++) {
		count(&m->now[g->bid[i].disk], 1, g->bytes);
		count(&m->all, 1, g->bytes);
	}
	fill(m, g, 1);
	m->groups++;
}

/* Free a group, or some of it; now and then what is not there. */
static void give(model *m, group *g)
{
	const unsigned n = test_below(&m->rng, 4) == 0 ? 1 + (unsigned)test_below(&m->rng, g->n) : g->n;
	em_errinfo err = clean();
	group gone = *g;
	unsigned i;

	gone.n = n;
	memmove(gone.bid, g->bid + g->n - n, n * sizeof *gone.bid);
	assert_int_equal(emi_blocks_free(m->s.d, gone.bid, n, g->bytes, &err), EM_OK);
	fill(m, &gone, 0);
	for (i = 0; i < n; i++) {
		m->now[gone.bid[i].disk].blocks--;
		m->now[gone.bid[i].disk].bytes -= g->bytes;
	}
	m->all.blocks -= n;
	m->all.bytes -= n * g->bytes;
	if (test_below(&m->rng, 64) == 0) {
		assert_int_equal(emi_blocks_free(m->s.d, gone.bid, 1, g->bytes, &err), EM_ERR_STATE);
		assert_int_equal(err.status, EM_ERR_STATE);
	}
	g->n -= n;
	if (g->n == 0)
		*g = m->g[--m->groups];
}

/* Blocks of several sizes, together or in rows, never overlap; each is where it was asked for, in the first gap; all is counted. */
static void model_of(uint32_t flags, uint64_t steps)
{
	model *m = calloc(1, sizeof *m);
	em_placement place;
	uint64_t k;
	uint32_t i;

	assert_non_null(m);
	prepare(&m->s, DISKS, flags);
	start(&m->s);
	m->rng = test_rng_make(test_seed());
	em_placement_init(&place, EM_PLACE_CYCLING, DISKS, 0, test_seed(), 1);
	for (i = 0; i < DISKS; i++) {
		m->unit[i] = calloc(1, UNITS);
		assert_non_null(m->unit[i]);
	}
	for (k = 0; k < steps; k++) {
		/* They become many and few in turn. */
		const unsigned bias = k * 20 / steps % 2 != 0 ? 40 : 56;

		if (m->groups > 0 && (m->groups == GROUPS || test_below(&m->rng, 100) >= bias))
			give(m, &m->g[test_below(&m->rng, m->groups)]);
		else
			take(m, k % 2 == 0 ? &place : NULL, k % 1000 < 2);
		if (k % 1000 == 0)
			compare(m);
	}
	while (m->groups > 0)
		give(m, &m->g[m->groups - 1]);
	compare(m);
	/* The ends of all disks are their beginnings again. */
	for (i = 0; i < DISKS; i++) {
		em_bid bid;

		assert_int_equal(emi_block_alloc_on(m->s.d, i, PAGE, &bid, NULL), EM_OK);
		assert_int_equal(bid.offset, 0);
		assert_int_equal(emi_block_free(m->s.d, bid, PAGE), EM_OK);
		free(m->unit[i]);
	}
	stop(&m->s);
	assert_int_equal(m->s.log.warnings, 0);
	free(m);
}

static void test_model(void **state)
{
	(void)state;
	model_of(0, 1000000 / slower());
}

static void test_model_checked(void **state)
{
	(void)state;
	model_of(EM_CTX_CHECKED, 100000 / slower());
}

static em_status transfer(emi_disk *d, int write, size_t bytes, em_bid bid, em_errinfo *err)
{
	char *buf = calloc(1, 4 * PAGE);
	emi_request rq;
	em_status st;

	memset(&rq, 0, sizeof rq);
	assert_non_null(buf);
	*err = clean();
	if (write)
		emi_block_write(d, &rq, buf, bytes, bid, NULL);
	else
		emi_block_read(d, &rq, buf, bytes, bid, NULL);
	st = emi_wait(&rq, err);
	assert_int_equal(err->status, st);
	free(buf);
	return st;
}

/* It fails, and says what is wrong with which block. */
static void transfer_fails(emi_disk *d, int write, size_t bytes, em_bid bid, em_status status, const char *why)
{
	em_errinfo err;

	assert_int_equal(transfer(d, write, bytes, bid, &err), status);
	assert_string_equal(err.op, write ? "write" : "read");
	assert_int_equal(err.offset, bid.offset);
	assert_int_equal(err.bytes, bytes);
	assert_int_equal(err.sys_errno, 0);
	assert_non_null(strstr(err.text, why));
	assert_non_null(strstr(err.text, err.path));
}

/* The same; nothing has changed then. */
static void free_fails(set *s, emi_disk *d, em_bid bid, size_t bytes, em_status status, const char *why)
{
	const unsigned warnings = s->log.warnings;
	emi_disk_usage before, after;
	em_errinfo err = clean();

	emi_disk_usage_all(d, &before);
	assert_int_equal(emi_blocks_free(d, &bid, 1, bytes, &err), status);
	assert_int_equal(err.status, status);
	assert_string_equal(err.op, "free");
	assert_int_equal(err.offset, bid.offset);
	assert_non_null(strstr(err.text, why));
	assert_non_null(strstr(err.text, s->dir));
	assert_int_equal(s->log.warnings, warnings);
	/* Who does not look has it logged. */
	assert_int_equal(emi_block_free(d, bid, bytes), status);
	assert_int_equal(s->log.warnings, warnings + 1);
	assert_non_null(strstr(s->log.line, why));
	emi_disk_usage_all(d, &after);
	assert_memory_equal(&before, &after, sizeof before);
}

static em_bid at(uint32_t disk, uint64_t offset)
{
	const em_bid bid = { disk, 0, offset };

	return bid;
}

/* What is wrong in any context. */
static void plain_errors(uint32_t flags)
{
	static const char none[] = "is allocated there";
	em_errinfo err = clean();
	em_bid bid[4];
	unsigned i;
	set s;

	prepare(&s, 2, flags);
	start(&s);
	assert_int_equal(emi_blocks_alloc_row(s.d, 0, 2 * PAGE, bid, 4, &err), EM_OK);
	free_fails(&s, s.d, at(2, 0), 2 * PAGE, EM_ERR_INVAL, "a disk that is not there");
	free_fails(&s, s.d, at(UINT32_MAX, 0), 2 * PAGE, EM_ERR_INVAL, "a disk that is not there");
	free_fails(&s, s.d, at(0, 1), 2 * PAGE, EM_ERR_INVAL, "no block can be there");
	free_fails(&s, s.d, at(0, 2 * PAGE), PAGE + 1, EM_ERR_INVAL, "no block can be there");
	free_fails(&s, s.d, at(0, 2 * PAGE), 0, EM_ERR_INVAL, "no block can be there");
	free_fails(&s, s.d, at(0, 8 * PAGE), 2 * PAGE, EM_ERR_STATE, none);
	free_fails(&s, s.d, at(0, UINT64_MAX - PAGE + 1), 2 * PAGE, EM_ERR_STATE, none);
	free_fails(&s, s.d, at(1, 0), 2 * PAGE, EM_ERR_STATE, none);
	transfer_fails(s.d, 0, PAGE, at(2, 0), EM_ERR_INVAL, "a disk that is not there");
	transfer_fails(s.d, 1, PAGE, at(0, 17), EM_ERR_INVAL, "no block can be there");
	assert_int_equal(emi_block_free(s.d, bid[1], 2 * PAGE), EM_OK);
	free_fails(&s, s.d, bid[1], 2 * PAGE, EM_ERR_STATE, none);
	/* Those of many that can be are freed. */
	assert_int_equal(emi_blocks_free(s.d, bid, 4, 2 * PAGE, &err), EM_ERR_STATE);
	assert_int_equal(err.offset, bid[1].offset);
	for (i = 0; i < 4; i++)
		free_fails(&s, s.d, bid[i], 2 * PAGE, EM_ERR_STATE, none);
	assert_int_equal(emi_disk_used(s.d), 0);
	/* No blocks are no failure; too many are one. */
	err = clean();
	assert_int_equal(emi_blocks_alloc(s.d, NULL, 0, PAGE, NULL, 0, &err), EM_OK);
	assert_int_equal(emi_blocks_alloc_row(s.d, 0, PAGE, NULL, 0, &err), EM_OK);
	assert_int_equal(emi_blocks_free(s.d, NULL, 0, PAGE, &err), EM_OK);
	assert_int_equal(emi_blocks_alloc(s.d, NULL, 0, PAGE + 1, bid, 4, &err), EM_ERR_INVAL);
	err = clean();
	assert_int_equal(emi_blocks_alloc_row(s.d, 0, 0, bid, 4, &err), EM_ERR_INVAL);
	stop(&s);
}

static void test_plain_errors(void **state)
{
	(void)state;
	plain_errors(0);
	plain_errors(EM_CTX_CHECKED);
}

/* What only the ledger knows. */
static void test_checked(void **state)
{
	em_errinfo err = clean();
	em_bid a, row[3];
	emi_disk *other;
	set s;

	(void)state;
	prepare(&s, 2, EM_CTX_CHECKED);
	start(&s);
	other = user(&s);
	assert_int_equal(emi_block_alloc_on(s.d, 1, 2 * PAGE, &a, &err), EM_OK);
	assert_int_equal(emi_blocks_alloc_row(other, 1, PAGE, row, 3, &err), EM_OK);
	transfer_fails(s.d, 0, 2 * PAGE, a, EM_ERR_STATE, "nothing was ever written");
	/* Blocks of another size, their parts, and what only looks like one. */
	free_fails(&s, s.d, a, PAGE, EM_ERR_INVAL, "has another size");
	free_fails(&s, s.d, a, 4 * PAGE, EM_ERR_INVAL, "has another size");
	free_fails(&s, s.d, at(1, a.offset + PAGE), PAGE, EM_ERR_STATE, "no block is allocated there");
	transfer_fails(s.d, 1, PAGE, a, EM_ERR_INVAL, "has another size");
	transfer_fails(s.d, 1, PAGE, at(1, a.offset + PAGE), EM_ERR_STATE, "no block is allocated there");
	/* Others' blocks can be read, and nothing else. */
	transfer_fails(other, 1, 2 * PAGE, a, EM_ERR_STATE, "belongs to another user");
	transfer_fails(other, 0, 2 * PAGE, a, EM_ERR_STATE, "nothing was ever written");
	assert_int_equal(transfer(s.d, 1, 2 * PAGE, a, &err), EM_OK);
	assert_int_equal(transfer(s.d, 0, 2 * PAGE, a, &err), EM_OK);
	assert_int_equal(transfer(other, 0, 2 * PAGE, a, &err), EM_OK);
	free_fails(&s, other, a, 2 * PAGE, EM_ERR_STATE, "belongs to another user");
	/* A block that was freed and allocated again was never written. */
	assert_int_equal(emi_block_free(s.d, a, 2 * PAGE), EM_OK);
	transfer_fails(s.d, 0, 2 * PAGE, a, EM_ERR_STATE, "no block is allocated there");
	transfer_fails(s.d, 1, 2 * PAGE, a, EM_ERR_STATE, "no block is allocated there");
	assert_int_equal(emi_block_alloc_on(other, 1, 2 * PAGE, &a, &err), EM_OK);
	transfer_fails(other, 0, 2 * PAGE, a, EM_ERR_STATE, "nothing was ever written");
	transfer_fails(s.d, 1, 2 * PAGE, a, EM_ERR_STATE, "belongs to another user");
	assert_int_equal(emi_block_free(other, a, 2 * PAGE), EM_OK);
	assert_int_equal(emi_blocks_free(other, row, 3, PAGE, &err), EM_OK);
	s.log.line[0] = '\0';
	emi_scratch_release(s.ctx, other);
	stop(&s);
	assert_string_equal(s.log.line, "");
}

/* Blocks that nobody freed are reported when the last user goes: whose they are where that is known. */
static void test_left(void **state)
{
	uint32_t flags;

	(void)state;
	for (flags = 0; flags <= EM_CTX_CHECKED; flags += EM_CTX_CHECKED) {
		em_errinfo err = clean();
		em_bid bid[5], mine;
		emi_disk *second, *third;
		set s;

		prepare(&s, 2, flags);
		start(&s);
		second = user(&s);
		third = user(&s);
		assert_int_equal(emi_block_alloc(s.d, PAGE, &mine, &err), EM_OK);
		assert_int_equal(emi_blocks_alloc(third, NULL, 0, 2 * PAGE, bid, 5, &err), EM_OK);
		emi_scratch_release(s.ctx, third);
		emi_scratch_release(s.ctx, second);
		assert_string_equal(s.log.line, "");
		stop(&s);
		assert_non_null(strstr(s.log.line, "6 blocks of 45056 bytes"));
		assert_int_equal(s.log.level, flags ? EM_LOG_WARN : EM_LOG_INFO);
		assert_true((strstr(s.log.line, "(user 1: 1, user 3: 5)") != NULL) == (flags != 0));
		/* Who said that he would leave some is not asked. */
		prepare(&s, 2, flags);
		start(&s);
		second = user(&s);
		assert_int_equal(emi_block_alloc(s.d, PAGE, &mine, &err), EM_OK);
		assert_int_equal(emi_blocks_alloc(second, NULL, 0, 2 * PAGE, bid, 5, &err), EM_OK);
		emi_disk_abandon(second);
		emi_scratch_release(s.ctx, second);
		assert_int_equal(emi_disk_used(s.d), (flags != 0 ? 1 : 11) * PAGE);
		assert_int_equal(emi_block_free(s.d, mine, PAGE), EM_OK);
		stop(&s);
		assert_string_equal(s.log.line, "");
	}
}

/* One user accounts for its blocks: what it leaves goes with it, in any context; what it freed or others have does not, and is told if it stays. */
static void test_accounted(void **state)
{
	em_errinfo err;
	uint32_t flags;

	(void)state;
	memset(&err, 0, sizeof err);
	for (flags = 0; flags <= EM_CTX_CHECKED; flags += EM_CTX_CHECKED) {
		em_bid bid[200], mine;
		emi_disk *second;
		set s;

		prepare(&s, 2, flags);
		start(&s);
		second = user(&s);
		assert_int_equal(emi_disk_account(second, &err), EM_OK);
		assert_int_equal(emi_block_alloc(s.d, PAGE, &mine, &err), EM_OK);
		assert_int_equal(emi_blocks_alloc(second, NULL, 0, 2 * PAGE, bid, 200, &err), EM_OK);
		assert_int_equal(emi_blocks_free(second, bid, 50, 2 * PAGE, &err), EM_OK);
		assert_int_equal(emi_blocks_free(second, &mine, 1, PAGE, &err), EM_ERR_STATE);
		assert_int_equal(emi_disk_used(s.d), 301 * PAGE);
		emi_disk_abandon(second);
		emi_scratch_release(s.ctx, second);
		assert_int_equal(emi_disk_used(s.d), PAGE);
		stop(&s);
		assert_non_null(strstr(s.log.line, "1 blocks of 4096 bytes"));
	}
}

/* So many owners that they are not all named. */
static void test_many_owners(void **state)
{
	enum { N = 100 };
	emi_disk *d[N];
	em_bid bid;
	unsigned i;
	set s;

	(void)state;
	prepare(&s, 1, EM_CTX_CHECKED);
	start(&s);
	for (i = 0; i < N; i++) {
		d[i] = user(&s);
		assert_int_equal(emi_block_alloc(d[i], PAGE, &bid, NULL), EM_OK);
	}
	for (i = 0; i < N; i++)
		emi_scratch_release(s.ctx, d[i]);
	stop(&s);
	assert_non_null(strstr(s.log.line, "100 blocks of 409600 bytes together still allocated (user 2: 1, user 3: 1, "));
	assert_non_null(strstr(s.log.line, ", ...)"));
}

/* Disks become full in the middle of a batch: others are taken instead, and when there are none nothing of it is left. */
static void full(uint32_t flags)
{
	em_errinfo err = clean();
	em_bid first[4], bid[64];
	emi_disk_usage before, after;
	em_placement place;
	unsigned i, on[DISKS] = {0, 0, 0};
	set s;

	prepare(&s, DISKS, flags);
	for (i = 0; i < DISKS; i++)
		s.disk[i].capacity = (uint64_t)(8 + 8 * i) * PAGE;
	start(&s);
	em_placement_init(&place, EM_PLACE_STRIPING, DISKS, 0, 1, 1);
	assert_int_equal(emi_blocks_alloc(s.d, &place, 0, PAGE, first, 4, &err), EM_OK);
	emi_disk_usage_all(s.d, &before);
	assert_int_equal(emi_blocks_alloc(s.d, &place, 0, PAGE, bid, 45, &err), EM_ERR_NOSPACE);
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	assert_non_null(strstr(err.text, "all 3 scratch disks are full"));
	for (i = 0; i < 45; i++)
		assert_true(bid[i].disk == 0 && bid[i].offset == 0);
	emi_disk_usage_all(s.d, &after);
	assert_int_equal(before.blocks, after.blocks);
	assert_int_equal(before.bytes, after.bytes);
	assert_int_equal(after.blocks_peak, 48);
	err = clean();
	assert_int_equal(emi_blocks_alloc(s.d, &place, 0, PAGE, bid, 44, &err), EM_OK);
	for (i = 0; i < 44; i++)
		on[bid[i].disk]++;
	assert_true(on[0] == 6 && on[1] == 15 && on[2] == 23);
	assert_int_equal(emi_blocks_free(s.d, bid, 44, PAGE, &err), EM_OK);
	/* A row is on one disk, and the next one that has room is taken. */
	assert_int_equal(emi_blocks_alloc_row(s.d, 0, PAGE, bid, 20, &err), EM_OK);
	for (i = 0; i < 20; i++)
		assert_true(bid[i].disk == 2 && bid[i].offset == bid[0].offset + i * PAGE);
	assert_int_equal(emi_blocks_alloc_row(s.d, 0, PAGE, bid + 20, 20, &err), EM_ERR_NOSPACE);
	assert_int_equal(emi_disk_used(s.d), 24 * PAGE);
	err = clean();
	assert_int_equal(emi_blocks_free(s.d, bid, 20, PAGE, &err), EM_OK);
	assert_int_equal(emi_blocks_free(s.d, first, 4, PAGE, &err), EM_OK);
	stop(&s);
	assert_int_equal(s.log.warnings, 0);
}

static void test_full(void **state)
{
	(void)state;
	full(0);
	full(EM_CTX_CHECKED);
}

/* What happens when a batch, a row or a user cannot be had: nothing is left of it. */
static void try_all(set *s, em_status expected)
{
	const uint64_t used = em_ctx_memory_used(s->ctx);
	em_errinfo err = clean();
	em_bid bid[70], row[4];
	em_status st;

	st = emi_scratch_acquire(s->ctx, &s->d, &err);
	if (st == EM_OK) {
		st = emi_blocks_alloc(s->d, NULL, 0, 600 * PAGE, bid, 70, &err);
		if (st == EM_OK) {
			st = emi_blocks_alloc_row(s->d, 1, 2 * PAGE, row, 4, &err);
			if (st == EM_OK)
				assert_int_equal(emi_blocks_free(s->d, row, 4, 2 * PAGE, NULL), EM_OK);
			assert_int_equal(emi_blocks_free(s->d, bid, 70, 600 * PAGE, NULL), EM_OK);
		}
		assert_int_equal(emi_disk_used(s->d), 0);
		emi_scratch_release(s->ctx, s->d);
	}
	assert_int_equal(err.status, st);
	assert_true(st == EM_OK || st == expected);
	assert_int_equal(em_ctx_memory_used(s->ctx), used);
	assert_int_equal(s->log.warnings, 0);
	assert_string_equal(s->log.line, "");
}

static void test_allocations_fail(void **state)
{
	uint32_t flags;
	uint64_t n = 1;
	int more;

	(void)state;
	for (flags = 0; flags <= EM_CTX_CHECKED; flags += EM_CTX_CHECKED)
		for (n = 1, more = 1; more; n++) {
			set s;

			prepare(&s, 2, flags);
			assert_int_equal(em_ctx_open(&s.ctx, &s.opts), EM_OK);
			s.mem.calls = 0;
			s.mem.fail_at = n;
			try_all(&s, EM_ERR_NOMEM);
			more = test_memory_failed(&s.mem);
			em_ctx_close(s.ctx);
			test_memory_assert_clean(&s.mem);
			test_dir_remove(s.dir);
		}
	assert_true(n > 10);
}

/* The same for space that cannot be set aside, each time it is asked for. */
static void test_reservations_fail(void **state)
{
	static const int kinds[] = { EIO, ENOSPC };
	unsigned k;

	(void)state;
	for (k = 0; k < 2; k++) {
		uint64_t nth;
		int more = 1;

		for (nth = 1; more; nth++) {
			em_fault fault;
			set s;

			em_fault_init(&fault, em_backend_find("memory"));
			fault.ops = EM_FAULT_RESERVE;
			fault.nth = nth;
			fault.times = UINT64_MAX;
			fault.sys_errno = kinds[k];
			prepare(&s, 2, EM_CTX_CHECKED);
			s.disk[0].backend = s.disk[1].backend = NULL;
			s.disk[0].custom = s.disk[1].custom = em_fault_backend(&fault);
			assert_int_equal(em_ctx_open(&s.ctx, &s.opts), EM_OK);
			try_all(&s, kinds[k] == EIO ? EM_ERR_IO : EM_ERR_NOSPACE);
			more = fault.injected != 0;
			em_ctx_close(s.ctx);
			test_memory_assert_clean(&s.mem);
			test_dir_remove(s.dir);
		}
		assert_true(nth > 10);
	}
}

typedef struct worker {
	set *s;
	emi_disk *d;
	uint64_t seed;
	unsigned steps;
	int wrong;
} worker;

/* Each thread is a user, writes what it has, and reads it before it frees it. */
static void *work(void *arg)
{
	enum { N = 32 };
	worker *w = arg;
	test_rng rng = test_rng_make(w->seed);
	em_bid bid[N][2];
	size_t bytes[N] = {0};
	char *page = emi_buffer_alloc(w->s->ctx, 3 * PAGE, NULL);
	unsigned k;

	for (k = 0; k < w->steps; k++) {
		const unsigned i = (unsigned)test_below(&rng, N);
		emi_request rq;

		memset(&rq, 0, sizeof rq);
		if (bytes[i] == 0) {
			bytes[i] = PAGE * (1 + (size_t)test_below(&rng, 3));
			if (k % 2 == 0)
				w->wrong |= emi_blocks_alloc_row(w->d, k, bytes[i], bid[i], 2, NULL) != EM_OK;
			else
				w->wrong |= emi_blocks_alloc(w->d, NULL, 0, bytes[i], bid[i], 2, NULL) != EM_OK;
			memset(page, (int)(w->seed + i), bytes[i]);
			emi_block_write(w->d, &rq, page, bytes[i], bid[i][1], NULL);
			w->wrong |= emi_wait(&rq, NULL) != EM_OK;
		} else {
			emi_block_read(w->d, &rq, page, bytes[i], bid[i][1], NULL);
			w->wrong |= emi_wait(&rq, NULL) != EM_OK || page[0] != (char)(w->seed + i) || memcmp(page, page + 1, bytes[i] - 1) != 0;
			emi_block_read(w->d, &rq, page, bytes[i], bid[i][0], NULL);
			w->wrong |= emi_wait(&rq, NULL) != ((w->s->opts.flags & EM_CTX_CHECKED) != 0 ? EM_ERR_STATE : EM_OK);
			w->wrong |= emi_blocks_free(w->d, bid[i], 2, bytes[i], NULL) != EM_OK;
			bytes[i] = 0;
		}
		if (k % 16 == 0) {
			emi_disk_usage usage;

			emi_disk_usage_all(w->d, &usage);
			w->wrong |= usage.bytes > usage.bytes_peak || usage.blocks > usage.blocks_peak;
		}
	}
	for (k = 0; k < N; k++)
		if (bytes[k] != 0)
			w->wrong |= emi_blocks_free(w->d, bid[k], 2, bytes[k], NULL) != EM_OK;
	emi_buffer_free(w->s->ctx, page, 3 * PAGE);
	return NULL;
}

static void test_threads(void **state)
{
	enum { THREADS = 4 };
	uint32_t flags;

	(void)state;
	for (flags = 0; flags <= EM_CTX_CHECKED; flags += EM_CTX_CHECKED) {
		pthread_t thread[THREADS];
		worker w[THREADS];
		unsigned i;
		set s;

		prepare(&s, DISKS, flags);
		start(&s);
		for (i = 0; i < THREADS; i++) {
			const worker new = { &s, user(&s), test_seed() + 100 * i, 20000 / slower(), 0 };

			w[i] = new;
			assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
		}
		for (i = 0; i < THREADS; i++) {
			pthread_join(thread[i], NULL);
			assert_false(w[i].wrong);
			emi_scratch_release(s.ctx, w[i].d);
		}
		assert_int_equal(emi_disk_used(s.d), 0);
		stop(&s);
		assert_string_equal(s.log.line, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_model_checked),
		cmocka_unit_test(test_plain_errors),
		cmocka_unit_test(test_checked),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_accounted),
		cmocka_unit_test(test_many_owners),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_allocations_fail),
		cmocka_unit_test(test_reservations_fail),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("block/block_id", tests, NULL, NULL);
}
