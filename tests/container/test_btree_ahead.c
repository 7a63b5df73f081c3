/* SPDX-License-Identifier: BSL-1.0 */
/* test_btree_ahead.c -- leaves of B+-trees that are read ahead: enough of them are under way, and few in vain. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/btree_case.h"
#include "container/held.h"

enum { BLOCK = 4096, SCAN = 200000, COLD_LEAVES = 1600, COLD_FRAMES = 1280 };

/* A scan has several reads under way, either way. */
static void test_ahead(void **state)
{
	uint64_t i;
	int forward;
	held h;
	btree_case c;

	(void)state;
	held_init(&h, em_backend_find("syscall"));
	h.block = BLOCK;
	btree_case_open(&c, &h.backend, BTREE_U64, 1, 0);
	c.opts.cache_bytes = (uint64_t)160 * BLOCK;
	c.opts.node_cache_bytes = (uint64_t)64 * BLOCK;
	btree_case_make(&c);
	btree_case_cursors(&c, 1);
	for (i = 0; i < SCAN; i++) {
		btree_case_record(&c, c.buf, i, (uint32_t)i);
		assert_btree_ok(&c, em_btree_insert(c.t, c.buf));
	}
	assert_btree_ok(&c, em_btree_flush(c.t));
	for (forward = 0; forward < 2; forward++) {
		uint64_t reads, n = 0;
		double together;

		assert_int_equal(em_btree_cursor_seek(c.stand[0].cursor, NULL, forward ? EM_BTREE_GE : EM_BTREE_LE),
				 EM_OK);
		(void)held_average(&h, NULL);
		do {
			assert_int_equal(em_btree_cursor_get(c.stand[0].cursor, c.got), EM_OK);
			assert_int_equal(btree_case_entry(&c, c.got).key, forward ? n : SCAN - 1 - n);
			n++;
		} while ((forward ? em_btree_cursor_next(c.stand[0].cursor, NULL)
				  : em_btree_cursor_prev(c.stand[0].cursor, NULL)) == EM_OK);
		assert_int_equal(n, SCAN);
		together = held_average(&h, &reads);
		print_message("%llu reads, %.1f at a time\n", (unsigned long long)reads, together);
		assert_true(reads >= 600 && reads <= SCAN / 254 + 2);
		assert_true(together > 5);
	}
	btree_case_close(&c);
	held_end(&h);
}

/* A tree of full leaves in a file, of which nothing is in memory, and how many leaves were read. */
typedef struct cold {
	btree_case c;
	held h;
	char *dir, *path;
	uint32_t frames;        /* of its cache */
	uint64_t per;           /* records in a leaf */
	uint64_t nodes;         /* of them that were read before */
	uint64_t last;          /* of the leaves that nothing else reads */
	uint64_t first, visited; /* records */
} cold;

static void cold_open(cold *k)
{
	const uint64_t n = (uint64_t)COLD_LEAVES * 254;
	em_btree_load_opts opts = EM_BTREE_LOAD_OPTS_INIT;
	em_btree_loader *l;
	btree_case *c = &k->c;
	uint64_t i;

	k->frames = COLD_FRAMES;
	held_init(&k->h, em_backend_find("syscall"));
	k->h.block = BLOCK;
	btree_case_open(c, &k->h.backend, BTREE_U64, 1, 0);
	k->dir = test_dir_make();
	k->path = test_path(k->dir, "tree");
	btree_case_make(c);
	opts.leaf_fill = 100;
	assert_int_equal(em_btree_loader_open(&l, c->t, &opts), EM_OK);
	for (i = 0; i < n; i++) {
		btree_case_record(c, c->buf, i, (uint32_t)i);
		assert_int_equal(em_btree_loader_push(l, c->buf, 1, NULL), EM_OK);
	}
	assert_int_equal(em_btree_loader_finish(l), EM_OK);
	em_btree_loader_close(l);
	assert_btree_ok(c, em_btree_save(c->t, k->path));
	k->per = n / btree_case_stats(c).leaves;
}

static void cold_close(cold *k)
{
	free(k->path);
	test_dir_remove(k->dir);
	btree_case_close(&k->c);
	held_end(&k->h);
}

/* It is cold, and its cursor stands on the first record of a leaf, or, backward, on the last one. */
static void cold_begin(cold *k, uint64_t leaf, int forward)
{
	btree_case *c = &k->c;
	em_btree_opts opts = c->opts;

	em_btree_cursor_close(c->stand[0].cursor);
	em_btree_close(c->t);
	c->t = NULL;
	c->stands = 0;
	opts.cache_bytes = (uint64_t)k->frames * BLOCK;
	opts.node_cache_bytes = (uint64_t)64 * BLOCK;
	assert_btree_ok(c, em_btree_open_file(&c->t, c->f.ctx, k->path, c->order, &opts));
	btree_case_cursors(c, 1);
	(void)held_average(&k->h, NULL);
	assert_int_equal(em_btree_cursor_seek(c->stand[0].cursor,
					      btree_case_key(c, forward ? leaf * k->per : (leaf + 1) * k->per - 1),
					      EM_BTREE_EQ),
			 EM_OK);
}

/* A call for many. */
static void cold_go(cold *k, int forward, uint64_t n)
{
	em_btree_cursor *cursor = k->c.stand[0].cursor;
	uint64_t got;

	assert_int_equal(forward ? em_btree_cursor_next_many(cursor, NULL, n, &got)
				 : em_btree_cursor_prev_many(cursor, NULL, n, &got),
			 EM_OK);
	assert_int_equal(got, n);
}

/* Leaves that were read, or are on their way, which is as good: the oldest are done first. */
static uint64_t cold_reads(cold *k)
{
	uint64_t reads;

	assert_int_equal(em_btree_max(k->c.t, k->c.got), EM_OK);
	(void)held_average(&k->h, &reads);
	return reads - 1 - btree_case_stats(&k->c).node_reads;
}

/* A look-up reads one leaf, a call for many as many as it needs, and what goes on guesses no more than it has passed.
 */
static void test_reads(void **state)
{
	int forward;
	cold k;

	(void)state;
	memset(&k, 0, sizeof k);
	cold_open(&k);
	for (forward = 0; forward < 2; forward++) {
		const uint64_t from = COLD_LEAVES / 2;
		uint64_t i, reads;

		cold_begin(&k, from, forward);
		assert_int_equal(em_btree_cursor_get(k.c.stand[0].cursor, k.c.got), EM_OK);
		assert_int_equal(cold_reads(&k), 1);
		/* All of a range by one call. */
		for (i = 1; i <= 70; i = i * 2 + 1) {
			cold_begin(&k, from, forward);
			cold_go(&k, forward, i * k.per - 1);
			assert_int_equal(cold_reads(&k), i);
		}
		/* By calls of the same size, of which the last is for fewer. */
		cold_begin(&k, from, forward);
		cold_go(&k, forward, 4 * k.per - 1);
		assert_int_equal(cold_reads(&k), 4);
		cold_begin(&k, from, forward);
		cold_go(&k, forward, 4 * k.per - 1);
		for (i = 0; i < 9; i++)
			cold_go(&k, forward, 4 * k.per);
		cold_go(&k, forward, k.per);
		reads = cold_reads(&k);
		print_message("41 leaves by calls for 4: %llu were read\n", (unsigned long long)reads);
		assert_in_range(reads, 41, 41 + 41 / 4);
		/* Record by record. */
		for (i = 1; i <= 50; i += i / 2 + 1) {
			uint64_t left;

			cold_begin(&k, from, forward);
			for (left = i * k.per - 1; left != 0; left--)
				assert_int_equal((forward ? em_btree_cursor_next : em_btree_cursor_prev)(
							 k.c.stand[0].cursor, NULL),
						 EM_OK);
			reads = cold_reads(&k);
			assert_in_range(reads, i, 2 * i - 1);
			assert_true(reads <= i + 32);
		}
	}
	cold_close(&k);
}

/* Who goes on for long has as much under way as the cache may have for that. */
static void test_far_ahead(void **state)
{
	int forward, many;
	cold k;

	(void)state;
	memset(&k, 0, sizeof k);
	cold_open(&k);
	for (forward = 0; forward < 2; forward++) {
		for (many = 0; many < 2; many++) {
			uint64_t i, reads;
			double together;

			cold_begin(&k, forward ? 0 : COLD_LEAVES - 1, forward);
			for (i = 0; i < 500; i++)
				cold_go(&k, forward, k.per - (i == 0));
			(void)held_average(&k.h, NULL);
			k.nodes = btree_case_stats(&k.c).node_reads;
			for (; i < COLD_LEAVES; i += many ? 4 : 1)
				cold_go(&k, forward, many ? 4 * k.per : k.per);
			together = held_average(&k.h, &reads);
			reads -= btree_case_stats(&k.c).node_reads - k.nodes;
			print_message("%llu reads, %.1f at a time\n", (unsigned long long)reads, together);
			assert_in_range(reads, COLD_LEAVES - 500 - COLD_FRAMES / 16 - 2, COLD_LEAVES - 500 + 2);
			assert_true(together > COLD_FRAMES / 16 / 2);
		}
	}
	cold_close(&k);
}

/* Pass through so many leaves from there on: those that were read. */
static uint64_t cold_range(cold *k, uint64_t leaf, uint64_t leaves)
{
	uint64_t reads;

	k->nodes = btree_case_stats(&k->c).node_reads;
	(void)held_average(&k->h, NULL);
	assert_int_equal(em_btree_cursor_seek(k->c.stand[0].cursor, btree_case_key(&k->c, leaf * k->per), EM_BTREE_GE),
			 EM_OK);
	cold_go(k, 1, leaves * k->per - 1);
	assert_int_equal(em_btree_max(k->c.t, k->c.got), EM_OK);
	(void)held_average(&k->h, &reads);
	return reads - (btree_case_stats(&k->c).node_reads - k->nodes);
}

/* A range that is passed for the first time does not stay in a full cache.  One that is passed again does, but for
 * leaves whose marks or frames others took. */
static void test_ranges(void **state)
{
	enum { FRAMES = 320, RANGE = 40, OTHERS = 60 };
	uint64_t i, reads[3];
	unsigned round;
	cold k;

	(void)state;
	memset(&k, 0, sizeof k);
	cold_open(&k);
	k.frames = FRAMES;
	cold_begin(&k, 0, 1);
	for (i = 0; i < FRAMES; i++)
		assert_int_equal(em_btree_get(k.c.t, btree_case_key(&k.c, i * k.per), k.c.got), EM_OK);
	for (round = 0; round < 3; round++) {
		reads[round] = cold_range(&k, 1000, RANGE);
		assert_int_equal(cold_range(&k, 1100 + round * OTHERS, OTHERS), OTHERS);
	}
	print_message("of %d leaves %llu, %llu and %llu were read\n", RANGE, (unsigned long long)reads[0],
		      (unsigned long long)reads[1], (unsigned long long)reads[2]);
	assert_in_range(reads[0], RANGE, RANGE + 1);
	assert_in_range(reads[1], RANGE / 2, RANGE);
	assert_in_range(reads[2], 0, RANGE / 2);
	cold_close(&k);
}

/* Take a range of so many leaves by calls for a part of a leaf: leaves that were read, and how many at a time. */
static uint64_t cold_parts(cold *k, uint64_t leaf, uint64_t leaves, unsigned parts, double *together)
{
	uint64_t reads, i;

	k->nodes = btree_case_stats(&k->c).node_reads;
	(void)held_average(&k->h, NULL);
	assert_int_equal(em_btree_cursor_seek(k->c.stand[0].cursor, btree_case_key(&k->c, leaf * k->per), EM_BTREE_GE),
			 EM_OK);
	for (i = 0; i < leaves * parts; i++)
		cold_go(k, 1, k->per / parts - (i == 0));
	/* What is on its way was read when a leaf is that comes behind it. */
	k->last--;
	assert_int_equal(em_btree_get(k->c.t, btree_case_key(&k->c, k->last * k->per), k->c.got), EM_OK);
	*together = held_average(&k->h, &reads);
	reads -= 1 + btree_case_stats(&k->c).node_reads - k->nodes;
	print_message("%llu leaves of %llu were read, %.1f at a time\n", (unsigned long long)reads,
		      (unsigned long long)leaves, *together);
	return reads;
}

/* Who took two long ranges by calls for some records has the third read ahead as a whole, and nothing else.  Who took
 * two short ones has not. */
static void test_usual_range(void **state)
{
	enum { LONG = 40, SHORT = 4, ROUNDS = 4 };
	uint64_t reads, leaf = LONG;
	double together;
	unsigned round, parts;
	cold k;

	(void)state;
	memset(&k, 0, sizeof k);
	cold_open(&k);
	cold_begin(&k, 0, 1);
	k.last = COLD_LEAVES;
	for (parts = 1; parts <= 4; parts *= 4) {
		for (round = 0; round < ROUNDS; round++, leaf += LONG + LONG / 4) {
			reads = cold_parts(&k, leaf, LONG, parts, &together);
			assert_in_range(reads, LONG, round < 2 ? LONG + LONG / 4 : LONG + 1);
			assert_true(round < 2 || together > 8);
		}
		for (round = 0; round < ROUNDS; round++, leaf += LONG + LONG / 4) {
			reads = cold_parts(&k, leaf, SHORT, parts, &together);
			assert_in_range(reads, SHORT, round == 0 ? SHORT + LONG : SHORT + 2);
		}
	}
	cold_close(&k);
}

static int visited(void *user, uint64_t i, const void *records, uint64_t n)
{
	cold *k = user;
	uint64_t j;

	for (j = 0; j < n; j++)
		assert_int_equal(btree_case_entry(&k->c, (const char *)records + j * k->c.record).key,
				 k->first + i + j);
	k->visited = i + n;
	return 0;
}

/* Visit some records from one on: leaves that were read, and how many at a time. */
static uint64_t cold_visit(cold *k, uint64_t from, uint64_t n, double *together)
{
	char first[BTREE_RECORD_MOST];
	uint64_t reads;

	cold_begin(k, COLD_LEAVES - 1, 1);
	assert_int_equal(em_btree_max(k->c.t, k->c.got), EM_OK);
	k->nodes = btree_case_stats(&k->c).node_reads;
	(void)held_average(&k->h, NULL);
	k->first = from;
	k->visited = 0;
	memcpy(first, btree_case_key(&k->c, from), sizeof first);
	assert_btree_ok(&k->c, em_btree_for_each(k->c.t, first, btree_case_key(&k->c, from + n), visited, k));
	assert_int_equal(k->visited, n);
	*together = held_average(&k->h, &reads);
	return reads - (btree_case_stats(&k->c).node_reads - k->nodes);
}

/* Of a range whose ends are known all leaves are read ahead, and no other one. */
static void test_visit(void **state)
{
	static const unsigned length[] = { 1, 2, 3, 20, 79, 80, 81, 700 };
	double together;
	unsigned i;
	cold k;

	(void)state;
	memset(&k, 0, sizeof k);
	cold_open(&k);
	for (i = 0; i < sizeof length / sizeof *length; i++) {
		const uint64_t n = length[i] * k.per;

		/* Whole leaves, of which the last one is that before the end's; and parts of the first and the last. */
		assert_in_range(cold_visit(&k, 7 * k.per, n, &together), length[i], length[i] + 1);
		assert_int_equal(cold_visit(&k, 7 * k.per + 1, n, &together), length[i] + 1);
		assert_true(length[i] < 20 || together > 8);
		assert_int_equal(cold_visit(&k, 7 * k.per + 1, n - 2, &together), length[i]);
	}
	/* An end before the beginning is known, too. */
	assert_int_equal(cold_visit(&k, 7 * k.per, 0, &together), 0);
	cold_close(&k);
}

static int visited_many(void *user, uint64_t i, const void *records, uint64_t n)
{
	(void)i;
	(void)records;
	((cold *)user)->visited += n;
	return 0;
}

/* Visit some ranges, of which each has so many leaves: leaves that were read, and how many at a time. */
static uint64_t cold_visit_many(cold *k, uint64_t *leaf, uint64_t leaves, size_t n, double *together)
{
	uint64_t *to = leaf + n, reads;
	size_t i;

	cold_begin(k, COLD_LEAVES - 1, 1);
	assert_int_equal(em_btree_max(k->c.t, k->c.got), EM_OK);
	k->nodes = btree_case_stats(&k->c).node_reads;
	(void)held_average(&k->h, NULL);
	k->visited = 0;
	for (i = 0; i < n; i++) {
		leaf[i] *= k->per;
		to[i] = leaf[i] + leaves * k->per - 1;
	}
	assert_btree_ok(&k->c, btree_case_ranges(&k->c, leaf, to, n, visited_many, k));
	assert_int_equal(k->visited, n * (leaves * k->per - 1));
	*together = held_average(&k->h, &reads);
	reads -= btree_case_stats(&k->c).node_reads - k->nodes;
	print_message("%llu leaves were read, %.1f at a time\n", (unsigned long long)reads, *together);
	return reads;
}

/* Of many ranges each leaf is read once, and those of the ranges that come next are under way with it. */
static void test_visit_many(void **state)
{
	enum { RANGES = 100 };
	uint64_t leaf[2 * RANGES];
	double together;
	unsigned i;
	cold k;

	(void)state;
	memset(&k, 0, sizeof k);
	cold_open(&k);
	/* Apart from each other, in no order. */
	for (i = 0; i < RANGES; i++)
		leaf[i] = 5 + i * 37 % RANGES * 10;
	assert_int_equal(cold_visit_many(&k, leaf, 1, RANGES, &together), RANGES);
	assert_true(together > 8);
	for (i = 0; i < RANGES; i++)
		leaf[i] = 5 + i * 37 % RANGES * 10;
	assert_int_equal(cold_visit_many(&k, leaf, 3, RANGES, &together), 3 * RANGES);
	assert_true(together > 8);
	/* Each overlaps the next ones: all have 99 * 5 + 20 leaves. */
	for (i = 0; i < RANGES; i++)
		leaf[i] = 7 + i * 37 % RANGES * 5;
	assert_int_equal(cold_visit_many(&k, leaf, 20, RANGES, &together), (RANGES - 1) * 5 + 20);
	assert_true(together > 8);
	/* All are the same. */
	for (i = 0; i < RANGES; i++)
		leaf[i] = 300;
	assert_int_equal(cold_visit_many(&k, leaf, 2, RANGES, &together), 2);
	cold_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_far_ahead),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_usual_range),
		cmocka_unit_test(test_visit),
		cmocka_unit_test(test_visit_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
