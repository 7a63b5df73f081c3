/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_btree_damage.c -- files of B+-trees that are damaged: each bit, blocks that were not written, and an end that is
 * missing are found by who looks at them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "container/btree_saved.h"

/* A scan finds it, too, unless it is a node that it does not come to. */
static em_status scan(saved *s)
{
	em_btree_cursor *cursor;
	em_status st = saved_open_tree(s);

	if (st != EM_OK)
		return st;
	assert_btree_ok(&s->c, em_btree_cursor_open(&cursor, s->c.t));
	while ((st = em_btree_cursor_next(cursor, s->c.got)) == EM_OK)
		continue;
	em_btree_cursor_close(cursor);
	em_btree_close(s->c.t);
	s->c.t = NULL;
	return st;
}

static void is_found(saved *s, uint64_t at, unsigned bit)
{
	em_errinfo err;
	const em_status st = saved_look(s, &err);
	/* A name that is none, another version. */
	const int known = st == EM_ERR_CORRUPT || (at < 8 && st == EM_ERR_FORMAT) ||
			  (at >= 8 && at < 12 && st == EM_ERR_VERSION);

	if (!known)
		fail_msg("byte %llu, bit %u: %s", (unsigned long long)at, bit, em_status_name(st));
	assert_true(strstr(err.text, "tree") != NULL);
	if (st == EM_ERR_CORRUPT) {
		assert_string_equal(err.path, s->path);
		assert_true(err.offset <= at || at < BLOCK);
	}
}

static void flip(int fd, uint64_t at, unsigned bit)
{
	unsigned char byte;

	assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= (unsigned char)(1u << bit);
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
}

/* Each bit of a file, or some of them. */
static void flip_all(saved *s, uint64_t every)
{
	const int fd = open(s->path, O_RDWR);
	const uint64_t bits = 8 * (uint64_t)lseek(fd, 0, SEEK_END);
	em_errinfo err;
	uint64_t i, runs = 0;

	for (i = test_first_of(every); i < bits; i += 1 + test_below(&s->c.f.rng, 2 * every - 1)) {
		flip(fd, i / 8, (unsigned)(i % 8));
		is_found(s, i / 8, (unsigned)(i % 8));
		flip(fd, i / 8, (unsigned)(i % 8));
		runs++;
	}
	assert_int_equal(saved_look(s, &err), EM_OK);
	print_message("%llu bits of %llu\n", (unsigned long long)runs, (unsigned long long)bits);
	close(fd);
}

static void test_flips(void **state)
{
	static const struct { btree_shape shape; size_t n; } trees[] = {
		{ BTREE_SET, 0 }, { BTREE_U64, 2 }, { BTREE_BYTES, 20 }, { BTREE_LARGE_FUNCTION, 15 },
		{ BTREE_U64, 400 }
	};
	unsigned k;

	(void)state;
	for (k = 0; k < sizeof trees / sizeof *trees; k++) {
		saved s;

		saved_open(&s, trees[k].shape, k % 2 != 0 ? EM_BTREE_DUPLICATES : 0);
		saved_grow(&s, trees[k].n);
		saved_save(&s);
		flip_all(&s, test_every(500 * test_sparse()));
		saved_close(&s);
	}
}

/* Each block is zeros, or another one: what a lost write leaves. */
static void test_lost_writes(void **state)
{
	const uint64_t every = test_every(6 * test_sparse());
	char *bytes, block[BLOCK];
	size_t n, at, from;
	int fd;
	saved s;

	(void)state;
	saved_open(&s, BTREE_BYTES, 0);
	saved_grow(&s, 60);
	saved_save(&s);
	n = saved_read(s.path, &bytes);
	fd = open(s.path, O_RDWR);
	assert_true(n >= 15 * BLOCK);
	for (at = BLOCK; at < n; at += BLOCK)
		for (from = 0; from < n; from += BLOCK * (1 + test_below(&s.c.f.rng, 2 * every - 1))) {
			em_errinfo err;

			if (from == at)
				continue;
			memset(block, 0, sizeof block);
			if (from != 0)
				memcpy(block, bytes + from, BLOCK);
			assert_int_equal(pwrite(fd, block, BLOCK, (off_t)at), BLOCK);
			assert_int_equal(saved_look(&s, &err), EM_ERR_CORRUPT);
			assert_int_equal(err.offset, at);
			assert_int_equal(scan(&s), EM_ERR_CORRUPT);
			assert_int_equal(pwrite(fd, bytes + at, BLOCK, (off_t)at), BLOCK);
		}
	assert_int_equal(scan(&s), EM_END);
	close(fd);
	free(bytes);
	saved_close(&s);
}

/* Of a leaf that is damaged others know nothing, and it is read again by who tries again. */
static void test_damaged_leaf(void **state)
{
	uint64_t failed = 0, i;
	int fd;
	saved s;

	(void)state;
	saved_open(&s, BTREE_U64, 0);
	saved_grow(&s, 3000);
	saved_save(&s);
	fd = open(s.path, O_RDWR);
	flip(fd, 3 * BLOCK + 1000, 3);
	assert_btree_ok(&s.c, saved_open_tree(&s));
	for (i = 0; i < s.c.n; i++) {
		const em_status st = btree_case_get(&s.c, s.c.entry[i].key);
		em_errinfo err;

		em_btree_error(s.c.t, &err);
		if (st != EM_OK) {
			assert_int_equal(st, EM_ERR_CORRUPT);
			assert_int_equal(err.offset, 3 * BLOCK);
			assert_non_null(strstr(err.text, "tree"));
			failed++;
		}
	}
	/* A split at the end of keys that came in order leaves few records in one half. */
	assert_true(failed != 0 && failed < 260);
	flip(fd, 3 * BLOCK + 1000, 3);
	close(fd);
	btree_case_check(&s.c);
	saved_close(&s);
}

static void test_cut(void **state)
{
	const uint64_t every = test_every(60 * test_sparse());
	char *bytes;
	size_t n, at;
	em_errinfo err;
	int fd;
	saved s;

	(void)state;
	saved_open(&s, BTREE_BYTES, 0);
	saved_grow(&s, 25);
	saved_save(&s);
	n = saved_read(s.path, &bytes);
	fd = open(s.path, O_RDWR);
	for (at = n; at-- > 0; at -= at < 2 * every ? at : (size_t)test_below(&s.c.f.rng, 2 * every - 1)) {
		assert_int_equal(ftruncate(fd, (off_t)at), 0);
		assert_int_equal(saved_look(&s, &err), at != 0 ? EM_ERR_CORRUPT : EM_ERR_FORMAT);
		assert_string_equal(err.path, s.path);
		if (err.offset != at)
			fail_msg("%zu: %s", at, err.text);
	}
	assert_int_equal(pwrite(fd, bytes, n, 0), (ssize_t)n);
	assert_int_equal(saved_look(&s, &err), EM_OK);
	assert_int_equal(pwrite(fd, "", 1, (off_t)n), 1);
	assert_int_equal(saved_look(&s, &err), EM_ERR_CORRUPT);
	assert_int_equal(err.offset, n);
	/* While it is open. */
	assert_int_equal(ftruncate(fd, (off_t)n), 0);
	assert_btree_ok(&s.c, saved_open_tree(&s));
	assert_int_equal(ftruncate(fd, 2 * BLOCK), 0);
	assert_int_equal(em_btree_verify(s.c.t), EM_ERR_SHORT);
	close(fd);
	free(bytes);
	saved_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_lost_writes),
		cmocka_unit_test(test_damaged_leaf),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
