/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_disks.c -- several scratch disks: where blocks go, what happens when disks are full, and which files disks are.
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

#include <extmem/disk.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/disk.h"
#include "common/test.h"
#include "io/conform_fs.h"

enum { PAGE = 4096, DISKS = 5, BLOCKS = 400 };

/* Disks, and a context on them. */
typedef struct set {
	char *dir;
	char *path[DISKS];
	em_disk_opts disk[DISKS];
	const em_disk_opts *list[DISKS];
	uint32_t n;
	em_ctx_opts opts;
	em_ctx *ctx;
	emi_disk *d;
	test_memory mem;
} set;

/* n disks that are kept in memory. */
static void prepare(set *s, uint32_t n)
{
	const em_ctx_opts opts = EM_CTX_OPTS_INIT;
	const em_disk_opts disk = EM_DISK_OPTS_INIT;
	char name[16];
	uint32_t i;

	memset(s, 0, sizeof *s);
	s->dir = test_dir_make();
	s->n = n;
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof name, "disk%u", (unsigned)i);
		s->path[i] = test_path(s->dir, name);
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
}

static void open_ctx(set *s, em_errinfo *err)
{
	memset(err, 0, sizeof *err);
	test_memory_init(&s->mem, 0);
	assert_int_equal(em_ctx_open(&s->ctx, &s->opts), EM_OK);
}

static void start(set *s)
{
	em_errinfo err;

	open_ctx(s, &err);
	if (emi_scratch_acquire(s->ctx, &s->d, &err) != EM_OK)
		fail_msg("%s", err.text);
}

static void stop(set *s)
{
	emi_scratch_release(s->ctx, s->d);
	em_ctx_close(s->ctx);
	test_memory_assert_clean(&s->mem);
	s->d = NULL;
	s->ctx = NULL;
}

static void clear(set *s)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		free(s->path[i]);
	test_dir_remove(s->dir);
}

static void start_fails(set *s, em_status status, const char *text)
{
	em_errinfo err;

	open_ctx(s, &err);
	assert_int_equal(emi_scratch_acquire(s->ctx, &s->d, &err), status);
	assert_int_equal(err.status, status);
	assert_non_null(strstr(err.text, text));
	assert_null(s->d);
	em_ctx_close(s->ctx);
	test_memory_assert_clean(&s->mem);
}

static void make_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : UINT64_MAX;
}

typedef struct block {
	em_bid bid;
	uint64_t stamp;         /* 0: there is none */
} block;

/* What there is on each disk. */
typedef struct model {
	set *s;
	size_t bytes;           /* of each block */
	uint64_t live[DISKS];
	block b[BLOCKS];
	uint64_t most;          /* that were there at a time */
	char *buf;
} model;

static int has_room(const model *m, uint32_t disk)
{
	const uint64_t capacity = m->s->disk[disk].capacity;

	return capacity == 0 || m->live[disk] + m->bytes <= capacity;
}

static void transfer(model *m, block *b, int write)
{
	emi_request rq;

	if (write) {
		memcpy(m->buf + m->bytes - sizeof b->stamp, &b->stamp, sizeof b->stamp);
		emi_block_write(m->s->d, &rq, m->buf, m->bytes, b->bid, NULL);
	} else {
		emi_block_read(m->s->d, &rq, m->buf, m->bytes, b->bid, NULL);
	}
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	assert_memory_equal(m->buf + m->bytes - sizeof b->stamp, &b->stamp, sizeof b->stamp);
}

static void add_block(model *m, block *b, uint32_t wanted, uint64_t stamp)
{
	em_errinfo err;
	em_status st;
	uint32_t i;

	memset(&err, 0, sizeof err);
	st = emi_bid_alloc_on(m->s->d, wanted, m->bytes, &b->bid, &err);
	for (i = 0; i < m->s->n && !has_room(m, (wanted + i) % m->s->n); i++)
		continue;
	if (i == m->s->n) {
		assert_int_equal(st, EM_ERR_NOSPACE);
		assert_int_equal(err.status, EM_ERR_NOSPACE);
		assert_non_null(strstr(err.text, m->s->disk[0].path));
		return;
	}
	assert_int_equal(st, EM_OK);
	assert_int_equal(b->bid.disk, (wanted + i) % m->s->n);
	b->stamp = stamp;
	m->live[b->bid.disk] += m->bytes;
	transfer(m, b, 1);
}

static void drop_block(model *m, block *b)
{
	transfer(m, b, 0);
	emi_bid_free(m->s->d, b->bid, m->bytes);
	m->live[b->bid.disk] -= m->bytes;
	b->stamp = 0;
}

static uint64_t sum(const model *m)
{
	uint64_t all = 0;
	uint32_t i;

	for (i = 0; i < m->s->n; i++)
		all += m->live[i];
	return all;
}

static void random_blocks(set *s, test_rng *rng)
{
	model *m = calloc(1, sizeof *m);
	unsigned i, k;

	assert_non_null(m);
	m->s = s;
	m->bytes = PAGE * (1 + (size_t)test_below(rng, 40));
	m->buf = aligned_alloc(PAGE, m->bytes);
	assert_non_null(m->buf);
	memset(m->buf, 0, m->bytes);
	start(s);
	assert_int_equal(emi_disk_count(s->d), s->n);
	for (k = 0; k < 600; k++) {
		block *b = &m->b[test_below(rng, BLOCKS)];

		if (b->stamp != 0)
			drop_block(m, b);
		else
			add_block(m, b, (uint32_t)test_below(rng, s->n), k + 1);
		if (sum(m) > m->most)
			m->most = sum(m);
		assert_int_equal(emi_disk_used(s->d), sum(m));
	}
	assert_true(emi_disk_peak(s->d) >= m->most);
	assert_true(emi_disk_held_peak(s->d) >= m->most);
	assert_true(emi_disk_held(s->d) <= emi_disk_held_peak(s->d));
	for (i = 0; i < BLOCKS; i++)
		if (m->b[i].stamp != 0)
			drop_block(m, &m->b[i]);
	assert_int_equal(emi_disk_used(s->d), 0);
	stop(s);
	free(m->buf);
	free(m);
}

/* Directories, files that are there and files that are not, with and without an end. */
static void test_model(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	uint32_t round, i;

	(void)state;
	for (round = 0; round < 20; round++) {
		set s;

		prepare(&s, 1 + round % DISKS);
		for (i = 0; i < s.n; i++) {
			const uint64_t kind = test_below(&rng, 4);

			if (kind != 0)
				s.disk[i].backend = NULL;
			if (kind >= 2)
				s.disk[i].path = s.path[i];
			if (kind == 3)
				make_file(s.path[i], "");
			if (test_below(&rng, 3) != 0)
				s.disk[i].capacity = (uint64_t)1 << (16 + test_below(&rng, 7));
		}
		random_blocks(&s, &rng);
		for (i = 0; i < s.n; i++) {
			assert_true(size_of(s.path[i]) == UINT64_MAX || size_of(s.path[i]) == 0);
			unlink(s.path[i]);
		}
		assert_dir_empty(s.dir);
		clear(&s);
	}
}

/* Without a wish blocks go round. */
static void test_round_robin(void **state)
{
	uint32_t n, i;

	(void)state;
	for (n = 1; n <= DISKS; n++) {
		uint32_t count[DISKS] = { 0 };
		em_bid bid;
		set s;

		prepare(&s, n);
		start(&s);
		for (i = 0; i < 10 * n; i++) {
			assert_int_equal(emi_bid_alloc(s.d, PAGE, &bid, NULL), EM_OK);
			count[bid.disk]++;
		}
		for (i = 0; i < n; i++)
			assert_int_equal(count[i], 10);
		stop(&s);
		clear(&s);
	}
}

/* Full disks are named, and the limit on all of them is one on the sum; gaps on another disk than the one that is to
 * grow count. */
static void test_full(void **state)
{
	em_bid bid[8], more;
	em_errinfo err;
	uint32_t i;
	set s;

	(void)state;
	prepare(&s, 2);
	s.disk[0].path = s.path[0];
	s.disk[1].path = s.path[1];
	s.disk[0].backend = s.disk[1].backend = NULL;
	s.disk[0].capacity = 4 * PAGE;
	s.disk[1].capacity = 2 * PAGE;
	start(&s);
	assert_int_equal(emi_scratch_most(s.ctx), 6 * PAGE);
	for (i = 0; i < 6; i++)
		assert_int_equal(emi_bid_alloc(s.d, PAGE, &bid[i], NULL), EM_OK);
	memset(&err, 0, sizeof err);
	assert_int_equal(emi_bid_alloc(s.d, PAGE, &more, &err), EM_ERR_NOSPACE);
	assert_non_null(strstr(err.text, s.path[0]));
	assert_non_null(strstr(err.text, s.path[1]));
	assert_int_equal(emi_disk_held(s.d), 6 * PAGE);
	stop(&s);

	s.disk[0].capacity = s.disk[1].capacity = 0;
	s.opts.scratch_max = 8 * PAGE;
	start(&s);
	assert_int_equal(emi_scratch_most(s.ctx), 8 * PAGE);
	for (i = 0; i < 8; i++)
		assert_int_equal(emi_bid_alloc_on(s.d, i / 4, PAGE, &bid[i], NULL), EM_OK);
	assert_int_equal(emi_bid_alloc(s.d, PAGE, &more, &err), EM_ERR_NOSPACE);
	assert_int_equal(emi_disk_held_peak(s.d), 8 * PAGE);
	for (i = 0; i < 4; i++)
		emi_bid_free(s.d, bid[i], PAGE);
	if (emi_bid_alloc_on(s.d, 1, 4 * PAGE, &more, NULL) == EM_OK)
		assert_in_range(more.disk, 0, 1);
	assert_true(emi_disk_held_peak(s.d) <= 8 * PAGE);
	stop(&s);
	assert_dir_empty(s.dir);
	clear(&s);
}

/* What is in a file is not overwritten unless that is wanted; what we made goes, unless it is to stay. */
static void test_files(void **state)
{
	em_bid bid;
	set s;

	(void)state;
	prepare(&s, 2);
	s.disk[1].path = s.path[1];
	s.disk[1].backend = NULL;
	make_file(s.path[1], "something");
	start_fails(&s, EM_ERR_EXIST, s.path[1]);
	assert_int_equal(size_of(s.path[1]), 9);

	s.disk[1].flags = EM_DISK_FORCE;
	start(&s);
	assert_int_equal(size_of(s.path[1]), 0);
	assert_int_equal(emi_bid_alloc_on(s.d, 1, PAGE, &bid, NULL), EM_OK);
	stop(&s);
	assert_int_equal(size_of(s.path[1]), 0);
	start(&s);
	assert_int_equal(emi_bid_alloc_on(s.d, 1, PAGE, &bid, NULL), EM_OK);
	assert_true(size_of(s.path[1]) != 0);
	em_ctx_cancel(s.ctx);
	stop(&s);
	assert_int_equal(size_of(s.path[1]), 0);

	/* One of ours may be used again by the same context. */
	unlink(s.path[1]);
	s.disk[1].flags = EM_DISK_KEEP;
	start(&s);
	assert_int_equal(emi_bid_alloc_on(s.d, 1, PAGE, &bid, NULL), EM_OK);
	emi_scratch_release(s.ctx, s.d);
	assert_int_equal(emi_scratch_acquire(s.ctx, &s.d, NULL), EM_OK);
	assert_int_equal(emi_bid_alloc_on(s.d, 1, PAGE, &bid, NULL), EM_OK);
	stop(&s);
	assert_true(size_of(s.path[1]) != UINT64_MAX);
	unlink(s.path[1]);

	s.disk[1].flags = 0;
	start(&s);
	assert_dir_empty(s.dir);
	stop(&s);
	clear(&s);
}

static void test_refused(void **state)
{
	set s;

	(void)state;
	prepare(&s, 2);
	s.disk[0].backend = s.disk[1].backend = NULL;
	s.disk[1].path = "/dev/null";
	start_fails(&s, EM_ERR_INVAL, "/dev/null");
	s.disk[1].path = "/nowhere/at/all";
	start_fails(&s, EM_ERR_NOENT, "/nowhere/at/all");
	/* Twice the same file. */
	make_file(s.path[0], "");
	s.disk[0].path = s.disk[1].path = s.path[0];
	start_fails(&s, EM_ERR_IO, s.path[0]);
	assert_int_equal(size_of(s.path[0]), 0);
	unlink(s.path[0]);
	assert_dir_empty(s.dir);
	clear(&s);
}

/* Every allocation fails once. */
static void test_no_memory(void **state)
{
	em_bid bid;
	uint64_t n;
	set s;

	(void)state;
	prepare(&s, 3);
	s.disk[1].backend = NULL;
	s.disk[2].backend = NULL;
	s.disk[2].path = s.path[2];
	for (n = test_nth_after(0, 1);; n = test_nth_after(n, 1)) {
		em_status st;

		test_memory_init(&s.mem, n);
		st = em_ctx_open(&s.ctx, &s.opts);
		if (st == EM_OK)
			st = emi_scratch_acquire(s.ctx, &s.d, NULL);
		if (st == EM_OK) {
			st = emi_bid_alloc(s.d, PAGE, &bid, NULL);
			emi_scratch_release(s.ctx, s.d);
		}
		assert_true(st == EM_OK || st == EM_ERR_NOMEM);
		em_ctx_close(s.ctx);
		s.ctx = NULL;
		test_memory_assert_clean(&s.mem);
		assert_dir_empty(s.dir);
		if (!test_memory_failed(&s.mem))
			break;
	}
	assert_true(n > 8);
	clear(&s);
}

/* Disks of a fixed size have all of it from the beginning, unless there is not so much. */
static void fixed_on_tmpfs(const char *dir)
{
	struct stat st;
	em_bid bid;
	set s;

	prepare(&s, 1);
	free(s.path[0]);
	s.path[0] = test_path(dir, "disk");
	s.disk[0].path = s.path[0];
	s.disk[0].backend = NULL;
	s.disk[0].flags = EM_DISK_FIXED | EM_DISK_KEEP;
	s.disk[0].capacity = 150 * PAGE;
	start(&s);
	assert_int_equal(stat(s.path[0], &st), 0);
	assert_int_equal(st.st_size, 150 * PAGE);
	assert_int_equal((uint64_t)st.st_blocks * 512, 150 * PAGE);
	assert_int_equal(emi_bid_alloc(s.d, 150 * PAGE, &bid, NULL), EM_OK);
	assert_int_equal(emi_bid_alloc(s.d, PAGE, &bid, NULL), EM_ERR_NOSPACE);
	stop(&s);
	unlink(s.path[0]);
	s.disk[0].capacity = 300 * PAGE;
	start_fails(&s, EM_ERR_NOSPACE, s.path[0]);
	unlink(s.path[0]);
	clear(&s);
}

static void test_fixed(void **state)
{
	(void)state;
	conform_on_tmpfs(256 * PAGE, fixed_on_tmpfs);
}

static void count_warnings(void *user, int32_t level, const char *line)
{
	unsigned *n = user;

	*n += level >= EM_LOG_WARN && strstr(line, "in memory") != NULL;
}

/* That scratch is in memory is said of the first such disk, once for each context, and not of a backend that says so by
 * its name. */
static void warn_on_tmpfs(const char *dir)
{
	unsigned warnings = 0, i;
	set s;

	prepare(&s, 3);
	s.opts.log = count_warnings;
	s.opts.log_user = &warnings;
	s.disk[1].path = s.disk[2].path = dir;
	start(&s);
	assert_int_equal(warnings, 0);
	stop(&s);
	s.disk[1].backend = s.disk[2].backend = NULL;
	for (i = 1; i <= 2; i++) {
		start(&s);
		emi_scratch_release(s.ctx, s.d);
		assert_int_equal(emi_scratch_acquire(s.ctx, &s.d, NULL), EM_OK);
		assert_int_equal(warnings, i);
		stop(&s);
	}
	clear(&s);
}

static void test_warning(void **state)
{
	(void)state;
	conform_on_tmpfs(256 * PAGE, warn_on_tmpfs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_round_robin),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
