/* SPDX-License-Identifier: BSL-1.0 */
/* test_btree_many.c -- calls on B+-trees for many records are what as many single ones would be, with fewer
 * transfers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "container/btree_case.h"
#include "container/fault_trials.h"
#include "container/held.h"

enum { BLOCK = 4096, ROOM = 60000, MANY = 3000, CASES = 2 * BTREE_SHAPES, TRIES = 500 };

typedef em_status change_fn(em_btree *t, const void *items, uint64_t n, uint64_t *changed);

static uint64_t below(btree_case *c, uint64_t n)
{
	return test_below(&c->f.rng, n);
}

/* n keys side by side; which they are is in key[]. */
static char *draw_keys(btree_case *c, uint64_t *key, size_t n, uint64_t most)
{
	const size_t bytes = (size_t)em_btree_key_bytes(c->t);
	char *keys = malloc((n + 1) * bytes);
	size_t i;

	assert_non_null(keys);
	for (i = 0; i < n; i++) {
		key[i] = below(c, most);
		memcpy(keys + i * bytes, btree_case_key(c, key[i]), bytes);
	}
	return keys;
}

static char *draw_records(btree_case *c, uint64_t *key, size_t n, uint64_t most)
{
	char *records = malloc((n + 1) * c->record);
	size_t i;

	assert_non_null(records);
	for (i = 0; i < n; i++) {
		key[i] = below(c, most);
		btree_case_record(c, records + i * c->record, key[i], c->inserts + 1 + (uint32_t)i);
	}
	return records;
}

/* Look up n keys, or what is not less.  When the call fails, what it says that it has found is right.  has: of
 * n + 1. */
static em_status look_up(btree_case *c, const char *keys, const uint64_t *key, size_t n, int bound, char *records,
			 uint8_t *has)
{
	uint64_t found = 77, should = 0;
	em_status st;
	size_t i;

	memset(has, 7, n + 1);
	st = bound ? em_btree_lower_bound_many(c->t, keys, n, records, has, &found)
		   : em_btree_get_many(c->t, keys, n, records, has, &found);
	for (i = 0; i < n; i++) {
		const size_t at = btree_case_bound(c, key[i], 0);
		const int there = at < c->n && (bound || c->entry[at].key == key[i]);

		assert_true(has[i] == there || (st < EM_OK && has[i] == 0));
		should += has[i];
		if (has[i])
			btree_case_is(c, records + i * c->record, at);
	}
	assert_int_equal(found, should);
	assert_int_equal(has[n], 7);
	return st;
}

static void get(btree_case *c, size_t n, uint64_t most)
{
	uint64_t *key = malloc((n + 1) * sizeof *key);
	char *keys = draw_keys(c, key, n, most), *records = malloc((n + 1) * c->record);
	uint8_t *has = malloc(n + 1);
	int bound;

	assert_non_null(records);
	assert_non_null(has);
	for (bound = 0; bound < 2; bound++)
		assert_btree_ok(c, look_up(c, keys, key, n, bound, records, has));
	free(has);
	free(records);
	free(keys);
	free(key);
}

/* Those that were drawn last have entered the model. */
static void have_inserted(btree_case *c, const uint64_t *key, size_t n, int upsert)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const size_t at = btree_case_bound(c, key[i], 0);
		const int there = at < c->n && c->entry[at].key == key[i];
		const uint32_t number = c->inserts + 1 + (uint32_t)i;

		if (there && upsert)
			c->entry[at].number = number;
		else if (!there || c->opts.flags != 0)
			btree_case_put(c, key[i], number);
	}
	c->inserts += (uint32_t)n;
}

static void have_erased(btree_case *c, const uint64_t *key, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const size_t at = btree_case_bound(c, key[i], 0);

		if (at < c->n && c->entry[at].key == key[i])
			btree_case_drop(c, at, 1);
	}
}

static void insert(btree_case *c, size_t n, uint64_t most, int upsert)
{
	uint64_t *key = malloc((n + 1) * sizeof *key), inserted = 77, before = c->n;
	char *records = draw_records(c, key, n, most);

	assert_btree_ok(c, upsert ? em_btree_upsert_many(c->t, records, n, &inserted)
				  : em_btree_insert_many(c->t, records, n, &inserted));
	have_inserted(c, key, n, upsert);
	assert_int_equal(inserted, c->n - before);
	free(records);
	free(key);
}

static void erase(btree_case *c, size_t n, uint64_t most)
{
	uint64_t *key = malloc((n + 1) * sizeof *key), erased = 77, before = c->n;
	char *keys = draw_keys(c, key, n, most);

	assert_btree_ok(c, em_btree_erase_many(c->t, keys, n, &erased));
	have_erased(c, key, n);
	assert_int_equal(erased, before - c->n);
	free(keys);
	free(key);
}

static void test_model(void **state)
{
	static const uint64_t most[] = { 100000, 1000, 60 };
	unsigned i, k;

	(void)state;
	for (i = 0; i < CASES; i += test_step()) {
		const uint64_t keys = most[i % 3];
		btree_case c;

		btree_case_open(&c, em_backend_find("memory"), (btree_shape)(i % BTREE_SHAPES), ROOM, 0);
		c.opts.flags = i >= BTREE_SHAPES ? EM_BTREE_DUPLICATES : 0;
		if (i % 2 != 0)
			c.opts.cache_bytes = c.opts.node_cache_bytes = (uint64_t)100 * BLOCK;
		btree_case_make(&c);
		get(&c, 10, keys);
		btree_case_cursors(&c, i % 4);
		for (k = 0; k < 24; k++) {
			const size_t n = (size_t)(below(&c, 3) == 0 ? below(&c, 40) : below(&c, MANY));

			switch (below(&c, 6)) {
			case 0:
			case 1:
				insert(&c, n, keys, 0);
				break;
			case 2:
				insert(&c, n, keys, 1);
				break;
			case 3:
				erase(&c, n, keys);
				break;
			case 4:
				if (c.stands != 0)
					(void)btree_case_seek(&c, 0, below(&c, keys), EM_BTREE_EQ);
				break;
			default:
				get(&c, n, keys);
				break;
			}
			if (k % 6 == 0)
				btree_case_check(&c);
		}
		btree_case_check(&c);
		btree_case_close(&c);
	}
}

/* What they save: each leaf is read once, and many at a time. */
static void test_transfers(void **state)
{
	const size_t n = 20000;
	uint64_t *key = malloc((n + 1) * sizeof *key), reads, i;
	em_btree_stats before, after;
	double together;
	char *keys, *records;
	held h;
	btree_case c;

	(void)state;
	assert_non_null(key);
	held_init(&h, em_backend_find("syscall"));
	h.block = BLOCK;
	btree_case_open(&c, &h.backend, BTREE_U64, 1, 0);
	c.opts.cache_bytes = (uint64_t)512 * BLOCK;
	c.opts.node_cache_bytes = (uint64_t)64 * BLOCK;
	btree_case_make(&c);
	for (i = 0; i < 400000; i++) {
		btree_case_record(&c, c.buf, i, (uint32_t)i);
		assert_btree_ok(&c, em_btree_insert(c.t, c.buf));
	}
	assert_btree_ok(&c, em_btree_flush(c.t));
	keys = draw_keys(&c, key, n, 400000);
	records = malloc(n * c.record);
	assert_non_null(records);
	before = btree_case_stats(&c);
	(void)held_average(&h, NULL);
	assert_btree_ok(&c, em_btree_get_many(c.t, keys, n, records, NULL, NULL));
	together = held_average(&h, &reads);
	after = btree_case_stats(&c);
	print_message("get: %llu reads of %llu leaves, %.1f at a time\n", (unsigned long long)reads,
		      (unsigned long long)after.leaves, together);
	assert_true(after.leaf_reads - before.leaf_reads <= after.leaves);
	assert_true(together > 32);
	/* To insert where there is something already changes nothing, but looks. */
	before = after;
	for (i = 0; i < n; i++)
		btree_case_record(&c, records + i * c.record, key[i], 1);
	assert_btree_ok(&c, em_btree_insert_many(c.t, records, n, &i));
	assert_int_equal(i, 0);
	together = held_average(&h, &reads);
	after = btree_case_stats(&c);
	print_message("insert: %llu reads, %.1f at a time\n", (unsigned long long)reads, together);
	assert_true(after.leaf_reads - before.leaf_reads <= after.leaves);
	assert_int_equal(after.leaf_writes, before.leaf_writes);
	assert_true(together > 8);
	free(records);
	free(keys);
	free(key);
	btree_case_close(&c);
	held_end(&h);
}

/* What fails may be tried again. */
static void test_failures(void **state)
{
	unsigned what;

	(void)state;
	for (what = 0; what < 3; what++) {
		uint64_t nth, all = 0, failures = 0;
		int more = 1;

		for (nth = test_nth_after(0, 1); more; nth = test_nth_after(nth, 1 + all / 200)) {
			uint64_t key[200], before, erased = 0, n;
			char *keys, *records, *got;
			unsigned tries;
			size_t i, left;
			em_status st;
			btree_case c;

			btree_case_open(&c, em_backend_find("memory"), BTREE_BYTES, ROOM, 0);
			btree_case_make(&c);
			for (i = 0; i < 100; i++)
				assert_btree_ok(&c, btree_case_insert(&c, below(&c, 1000)));
			records = draw_records(&c, key, 200, 1000);
			keys = malloc(200 * 700);
			got = malloc(200 * c.record);
			assert_non_null(keys);
			assert_non_null(got);
			before = c.f.mem.calls;
			if (what == 0)
				c.f.mem.fail_at = before + nth;
			else
				em_fault_set(&c.f.fault[0], what == 1 ? EM_FAULT_WRITE : EM_FAULT_READ, nth,
					     1 + nth % 3);
			for (tries = 0; (st = em_btree_insert_many(c.t, records, 200, NULL)) != EM_OK; tries++) {
				failures++;
				if (tries > 3)
					(void)!em_btree_flush(c.t);
				assert_true(tries < TRIES);
			}
			for (i = 0; i < 200; i++) {
				const size_t at = btree_case_bound(&c, key[i], 0);

				if (at == c.n || c.entry[at].key != key[i])
					btree_case_put(&c, key[i], c.inserts + 1 + (uint32_t)i);
				memcpy(keys + 700 * i, btree_case_key(&c, key[i]), 700);
			}
			for (tries = 0; (st = em_btree_get_many(c.t, keys, 200, got, NULL, &n)) != EM_OK; tries++) {
				failures++;
				if (tries > 3)
					(void)!em_btree_flush(c.t);
				assert_true(tries < TRIES);
			}
			assert_int_equal(n, 200);
			for (left = c.n, tries = 0; (st = em_btree_erase_many(c.t, keys, 200, &n)) != EM_OK; tries++) {
				erased += n;
				failures++;
				if (tries > 3)
					(void)!em_btree_flush(c.t);
				assert_true(tries < TRIES);
			}
			erased += n;
			for (i = 0; i < 200; i++) {
				const size_t at = btree_case_bound(&c, key[i], 0);

				if (at < c.n && c.entry[at].key == key[i])
					btree_case_drop(&c, at, 1);
			}
			assert_int_equal(erased, left - c.n);
			/* A write that is under way may fail yet. */
			for (tries = 0; em_btree_flush(c.t) != EM_OK; tries++)
				assert_true(tries < TRIES);
			all = what == 0 ? c.f.mem.calls - before : c.f.fault[0].count;
			more = nth <= all;
			c.f.mem.fail_at = 0;
			c.f.fault[0].ops = 0;
			btree_case_check(&c);
			free(got);
			free(keys);
			free(records);
			btree_case_close(&c);
		}
		print_message("%u: %llu failures of %llu\n", what, (unsigned long long)failures,
			      (unsigned long long)all);
		assert_true(failures != 0 || what == 1 || !test_sweeps());
	}
}

/* Insert n duplicates that were drawn by a call that may fail, and those that did not enter, which are the last ones in
 * order, by further ones.  Returns how often some had entered. */
static uint64_t insert_the_rest(btree_case *c, const char *records, const uint64_t *key, size_t n)
{
	uint64_t *number = malloc((n + 1) * sizeof *number), inserted, halves = 0;
	char *sorted = malloc((n + 1) * c->record);
	unsigned tries = 0;
	size_t i, j, at = 0;
	em_status st;

	assert_non_null(number);
	assert_non_null(sorted);
	for (i = 0; i < n; i++) {
		for (j = i; j != 0 && key[number[j - 1]] > key[i]; j--)
			number[j] = number[j - 1];
		number[j] = i;
	}
	for (i = 0; i < n; i++)
		memcpy(sorted + i * c->record, records + number[i] * c->record, c->record);
	st = em_btree_insert_many(c->t, records, n, &inserted);
	for (;;) {
		for (i = 0; i < inserted; i++, at++)
			btree_case_put(c, key[number[at]], c->inserts + 1 + (uint32_t)number[at]);
		assert_int_equal(em_btree_size(c->t), c->n);
		if (st == EM_OK)
			break;
		halves += at != 0;
		assert_true(++tries < TRIES);
		(void)!em_btree_flush(c->t);
		st = em_btree_insert_many(c->t, sorted + at * c->record, n - at, &inserted);
	}
	assert_int_equal(at, n);
	c->inserts += (uint32_t)n;
	free(sorted);
	free(number);
	return halves;
}

/* Do so while a transfer fails.  *all: transfers. */
static uint64_t insert_by_halves(size_t n, uint32_t ops, uint64_t nth, uint64_t *all)
{
	uint64_t key[200], halves;
	unsigned tries;
	char *records;
	btree_case c;
	size_t i;

	btree_case_open(&c, em_backend_find("memory"), BTREE_BYTES, ROOM, 0);
	c.opts.flags = EM_BTREE_DUPLICATES;
	btree_case_make(&c);
	for (i = 0; i < 200; i++)
		assert_btree_ok(&c, btree_case_insert(&c, below(&c, 60)));
	records = draw_records(&c, key, n, 60);
	em_fault_set(&c.f.fault[0], ops, nth, 1 + nth % 3);
	halves = insert_the_rest(&c, records, key, n);
	/* A write that is under way may fail yet. */
	for (tries = 0; em_btree_flush(c.t) != EM_OK; tries++)
		assert_true(tries < TRIES);
	*all = c.f.fault[0].count;
	c.f.fault[0].ops = 0;
	btree_case_check(&c);
	free(records);
	btree_case_close(&c);
	return halves;
}

/* Of duplicates a call says how many have entered, and none is there twice when the others are inserted again. */
static void test_repeated(void **state)
{
	static const size_t many[] = { 20, 200 };
	unsigned what, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		for (what = 0; what < 2; what++) {
			uint64_t nth = 0, all = 0, halves = 0;

			do {
				nth = test_nth_after(nth, 1 + all / 50);
				halves += insert_by_halves(many[k], what == 0 ? EM_FAULT_WRITE : EM_FAULT_READ, nth,
							   &all);
			} while (nth <= all);
			print_message("%u: %llu by halves, of %llu\n", what, (unsigned long long)halves,
				      (unsigned long long)all);
			assert_true(halves != 0 || what == 0 || !test_sweeps());
		}
	}
}

/* Batches while any transfer fails by chance. */
typedef struct trial {
	btree_case c;
	em_status failed;       /* the last failure */
	uint64_t failures;
} trial;

/* A piece of so many has failed, or not: how many of `left' the next one has.  A whole batch would not come to its end
 * while leaves are read in vain. */
static size_t next_piece(trial *t, em_status st, size_t piece, size_t left)
{
	if (st >= EM_OK)
		return 2 * piece < left ? 2 * piece : left;
	assert_int_equal(st, EM_ERR_IO);
	t->failed = st;
	assert_true(++t->failures < 100000);
	/* A block that could not be written keeps its frame until it is tried again. */
	(void)!em_btree_flush(t->c.t);
	return (piece + 1) / 2;
}

/* Do a batch by pieces.  Each time the tree has as many more or fewer records as the call says.  Returns how many they
 * were in all. */
static uint64_t by_pieces(trial *t, change_fn *change, const char *items, size_t bytes, size_t n)
{
	uint64_t all = 0, changed;
	size_t at = 0, piece = n;
	em_btree *tree = t->c.t;

	while (at < n) {
		const uint64_t before = em_btree_size(tree);
		const em_status st = change(tree, items + at * bytes, piece, &changed);

		all += changed;
		assert_int_equal(em_btree_size(tree),
				 change == em_btree_erase_many ? before - changed : before + changed);
		at += st >= EM_OK ? piece : 0;
		piece = next_piece(t, st, piece, n - at);
	}
	return all;
}

static void insert_anyhow(trial *t, size_t n, uint64_t most, int upsert)
{
	uint64_t *key = malloc((n + 1) * sizeof *key), inserted, before = t->c.n;
	char *records = draw_records(&t->c, key, n, most);

	if (t->c.opts.flags != 0) {
		t->failures += insert_the_rest(&t->c, records, key, n);
	} else {
		inserted = by_pieces(t, upsert ? em_btree_upsert_many : em_btree_insert_many, records, t->c.record, n);
		have_inserted(&t->c, key, n, upsert);
		assert_int_equal(inserted, t->c.n - before);
	}
	free(records);
	free(key);
}

static void erase_anyhow(trial *t, size_t n, uint64_t most)
{
	uint64_t *key = malloc((n + 1) * sizeof *key), erased, before = t->c.n;
	char *keys = draw_keys(&t->c, key, n, most);

	erased = by_pieces(t, em_btree_erase_many, keys, (size_t)em_btree_key_bytes(t->c.t), n);
	have_erased(&t->c, key, n);
	assert_int_equal(erased, before - t->c.n);
	free(keys);
	free(key);
}

static void get_anyhow(trial *t, size_t n, uint64_t most)
{
	uint64_t *key = malloc((n + 1) * sizeof *key);
	char *keys = draw_keys(&t->c, key, n, most), *records = malloc((n + 1) * t->c.record);
	const int bound = (int)below(&t->c, 2);
	uint8_t *has = malloc(n + 1);
	size_t at = 0, piece = n;

	assert_non_null(records);
	assert_non_null(has);
	while (at < n) {
		const em_status st = look_up(&t->c, keys + at * (size_t)em_btree_key_bytes(t->c.t), key + at, piece,
					     bound, records, has);

		at += st >= EM_OK ? piece : 0;
		piece = next_piece(t, st, piece, n - at);
	}
	free(has);
	free(records);
	free(keys);
	free(key);
}

static void open_trial(void *what, unsigned number)
{
	static const struct { btree_shape shape; uint32_t flags; } of[] = {
		{ BTREE_BYTES, 0 }, { BTREE_BYTES, EM_BTREE_DUPLICATES }, { BTREE_LARGE_FUNCTION, 0 },
	};
	trial *t = what;

	memset(t, 0, sizeof *t);
	btree_case_open(&t->c, em_backend_find("memory"), of[number].shape, ROOM, 0);
	t->c.opts.flags = of[number].flags;
	btree_case_make(&t->c);
}

/* Where there are duplicates, nobody knows which of them an erasure that fails has taken. */
static void work(void *what)
{
	enum { BATCHES = 80, BATCH = 150, KEYS = 800 };
	trial *t = what;
	unsigned i;

	for (i = 0; i < BATCHES; i++) {
		const size_t n = (size_t)(below(&t->c, 3) == 0 ? below(&t->c, 40) : below(&t->c, BATCH));

		/* An empty tree is loaded, unless a cursor is in it. */
		if (i % 16 == 15)
			btree_case_clear(&t->c);
		if (i == BATCHES / 2)
			btree_case_cursors(&t->c, 4);
		switch (below(&t->c, 6)) {
		case 0:
		case 1:
			insert_anyhow(t, n, KEYS, 0);
			break;
		case 2:
			insert_anyhow(t, n, KEYS, t->c.opts.flags == 0);
			break;
		case 3:
			if (t->c.opts.flags == 0)
				erase_anyhow(t, n, KEYS);
			break;
		case 4:
			if (t->c.stands != 0)
				(void)btree_case_seek(&t->c, 0, below(&t->c, KEYS), EM_BTREE_EQ);
			break;
		default:
			get_anyhow(t, n, KEYS);
			break;
		}
	}
	/* Writes may be under way. */
	em_fault_set(&t->c.f.fault[0], 0, 0, 0);
	for (i = 0; em_btree_flush(t->c.t) != EM_OK; i++)
		assert_true(i < TRIES);
}

static void close_trial(void *what)
{
	trial *t = what;

	btree_case_check(&t->c);
	btree_case_close(&t->c);
}

static void test_chance(void **state)
{
	unsigned number;

	(void)state;
	for (number = 0; number < 3; number += test_step()) {
		trial t;
		const fault_trials trials = { &t, open_trial, work, close_trial, &t.c.f, &t.failures, &t.failed };

		assert_true(fault_trials_random(&trials, number) != 0);
	}
}

/* Take what the context has left, but for so many bytes; returns how many that was. */
static uint64_t take_all_but(btree_case *c, uint64_t left, void **taken)
{
	const uint64_t bytes = em_ctx_memory(c->f.ctx) - em_ctx_memory_used(c->f.ctx) - left;

	*taken = emi_alloc(c->f.ctx, (size_t)bytes, &c->err);
	assert_non_null(*taken);
	return bytes;
}

/* A call for many is refused by its sort: nothing has changed, and a few at a time need none. */
static void refuse_many(btree_case *c, const char *records, const char *keys, size_t n)
{
	const uint64_t size = em_btree_size(c->t);
	uint64_t inserted = 77, upserted = 77, erased = 77;

	assert_int_equal(em_btree_insert_many(c->t, records, n, &inserted), EM_ERR_MEMLIMIT);
	em_btree_error(c->t, &c->err);
	assert_int_equal(c->err.status, EM_ERR_MEMLIMIT);
	assert_non_null(strstr(c->err.text, "at least"));
	assert_int_equal(em_btree_upsert_many(c->t, records, n, &upserted), EM_ERR_MEMLIMIT);
	assert_int_equal(em_btree_erase_many(c->t, keys, n, &erased), EM_ERR_MEMLIMIT);
	assert_true(inserted == 0 && upserted == 0 && erased == 0);
	assert_int_equal(em_btree_size(c->t), size);
	btree_case_check(c);
}

/* Sorting takes memory of the context's that the tree has not counted: without it nothing happens, and with some
 * all does.  The tree itself may grow meanwhile, by a block or an array: a step is left for that. */
static void test_little_memory(void **state)
{
	enum { N = 500, STEP = 50 * 1024, FEW = 32 };
	unsigned shape;

	(void)state;
	for (shape = 0; shape < BTREE_SHAPES; shape += test_step()) {
		uint64_t key[N], left, bytes;
		char *records, *keys;
		btree_case c;
		uint32_t first;
		void *taken;
		size_t i;

		btree_case_open(&c, em_backend_find("memory"), (btree_shape)shape, ROOM, 0);
		btree_case_make(&c);
		/* The tree has all its memory, and leaves on a disk. */
		for (i = 0; i < 20; i++)
			insert(&c, MANY, ROOM, 0);
		keys = draw_keys(&c, key, N, ROOM);
		first = c.inserts + 1;
		records = draw_records(&c, key, N, ROOM);
		c.inserts += N;
		for (left = STEP;; left += STEP) {
			uint64_t inserted = 77;
			em_status st;

			bytes = take_all_but(&c, left, &taken);
			if (left == STEP) {
				refuse_many(&c, records, keys, N);
				erase(&c, FEW, ROOM);
				insert(&c, FEW, ROOM, 0);
				insert(&c, FEW, ROOM, 1);
			}
			st = em_btree_upsert_many(c.t, records, N, &inserted);
			if (st == EM_OK)
				break;
			/* Where the tree needs more than the step, some may have entered. */
			assert_int_equal(st, EM_ERR_MEMLIMIT);
			assert_true(inserted < N);
			emi_free(c.f.ctx, taken, (size_t)bytes);
		}
		print_message("shape %u: %llu bytes left\n", shape, (unsigned long long)left);
		assert_true(left != STEP && left < 1 << 20);
		for (i = 0; i < N; i++) {
			const size_t at = btree_case_bound(&c, key[i], 0);

			if (at < c.n && c.entry[at].key == key[i])
				c.entry[at].number = first + (uint32_t)i;
			else
				btree_case_put(&c, key[i], first + (uint32_t)i);
		}
		emi_free(c.f.ctx, taken, (size_t)bytes);
		bytes = take_all_but(&c, left + STEP, &taken);
		erase(&c, N, ROOM);
		insert(&c, N, ROOM, 0);
		emi_free(c.f.ctx, taken, (size_t)bytes);
		btree_case_check(&c);
		free(records);
		free(keys);
		btree_case_close(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
