/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_btree_file.c -- B+-trees that are saved and opened again, against a model; what fails meanwhile; and files that
 * are no such trees.
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
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "container/btree_file.h"
#include "container/btree_saved.h"

enum { CURSORS = 6, RANGES = 5 };

/* The tree is now that of its file. */
static void save_and_open(saved *s)
{
	btree_case_check(&s->c);
	assert_btree_ok(&s->c, em_btree_save(s->c.t, s->path));
	btree_case_check(&s->c);
	em_btree_close(s->c.t);
	s->c.t = NULL;
	assert_btree_ok(&s->c, saved_open_tree(s));
}

/* Whatever would change it is refused, and changes nothing. */
static void refuse_changes(saved *s)
{
	em_btree_load_opts load = EM_BTREE_LOAD_OPTS_INIT;
	em_btree_loader *loader;
	em_btree_cursor *cursor;
	em_btree *t = s->c.t;
	em_errinfo err;
	uint64_t n;

	btree_case_record(&s->c, s->c.buf, 77, 77);
	btree_case_key(&s->c, 77);
	assert_int_equal(em_btree_insert(t, s->c.buf), EM_ERR_ACCESS);
	em_btree_error(t, &err);
	assert_string_equal(err.path, s->path);
	assert_non_null(strstr(err.text, "reading only"));
	assert_int_equal(em_btree_upsert(t, s->c.buf), EM_ERR_ACCESS);
	assert_int_equal(em_btree_erase(t, s->c.key, NULL), EM_ERR_ACCESS);
	assert_int_equal(em_btree_erase_range(t, NULL, NULL, &n), EM_ERR_ACCESS);
	assert_int_equal(em_btree_erase_equal(t, s->c.key, &n), EM_ERR_ACCESS);
	assert_int_equal(em_btree_erase_many(t, s->c.key, 1, &n), EM_ERR_ACCESS);
	assert_int_equal(em_btree_pop_min(t, NULL), EM_ERR_ACCESS);
	assert_int_equal(em_btree_pop_max(t, NULL), EM_ERR_ACCESS);
	assert_int_equal(em_btree_insert_many(t, s->c.buf, 1, &n), EM_ERR_ACCESS);
	assert_int_equal(em_btree_upsert_many(t, s->c.buf, 1, &n), EM_ERR_ACCESS);
	assert_int_equal(em_btree_clear(t), EM_ERR_ACCESS);
	assert_int_equal(em_btree_loader_open(&loader, t, &load), EM_ERR_ACCESS);
	assert_btree_ok(&s->c, em_btree_cursor_open(&cursor, t));
	assert_int_equal(em_btree_cursor_insert(cursor, s->c.buf), EM_ERR_ACCESS);
	(void)!em_btree_cursor_seek(cursor, NULL, EM_BTREE_GE);
	assert_int_equal(em_btree_cursor_put(cursor, s->c.buf), EM_ERR_ACCESS);
	assert_int_equal(em_btree_cursor_erase(cursor), EM_ERR_ACCESS);
	em_btree_cursor_close(cursor);
	assert_btree_ok(&s->c, em_btree_flush(t));
	assert_int_equal(em_btree_size(t), s->c.n);
}

/* All of them, and some that are not there. */
static void get_many(saved *s)
{
	const uint64_t n = 2 * s->c.n + 3, keys = s->c.n != 0 ? s->c.entry[s->c.n - 1].key + 2 : 2;
	const size_t key = (size_t)em_btree_key_bytes(s->c.t);
	char *list = malloc(n * BTREE_RECORD_MOST), *records = malloc(n * s->c.record);
	uint64_t *number = malloc(n * sizeof *number), found, i, should = 0;
	uint8_t *there = malloc(n);

	assert_true(list != NULL && records != NULL && number != NULL && there != NULL);
	for (i = 0; i < n; i++) {
		number[i] = test_below(&s->c.f.rng, keys);
		memcpy(list + i * key, btree_case_key(&s->c, number[i]), key);
	}
	assert_btree_ok(&s->c, em_btree_get_many(s->c.t, list, n, records, there, &found));
	for (i = 0; i < n; i++) {
		const size_t at = btree_case_bound(&s->c, number[i], 0);
		const int is = at < s->c.n && s->c.entry[at].key == number[i];

		assert_int_equal(there[i], is);
		if (is)
			btree_case_is(&s->c, records + i * s->c.record, at);
		should += (uint64_t)is;
	}
	assert_int_equal(found, should);
	free(list);
	free(records);
	free(number);
	free(there);
}

static void read_all(saved *s)
{
	const uint64_t keys = s->c.n != 0 ? s->c.entry[s->c.n - 1].key + 2 : 2;
	uint64_t from[RANGES], to[RANGES];
	unsigned i, k;

	btree_case_check(&s->c);
	get_many(s);
	btree_case_cursors(&s->c, CURSORS);
	for (i = 0; i < 60; i++) {
		const uint64_t key = test_below(&s->c.f.rng, keys);

		k = i % CURSORS;
		assert_btree_ok(&s->c, btree_case_seek(&s->c, k, key, (uint32_t)(key % 5)));
		assert_btree_ok(&s->c, btree_case_stand(&s->c, k));
		assert_btree_ok(&s->c, btree_case_steps(&s->c, k, (int)(i / 7 % 2), test_below(&s->c.f.rng, 40)));
		assert_btree_ok(&s->c, btree_case_step(&s->c, k, (int)(i % 2)));
		assert_btree_ok(&s->c, btree_case_get(&s->c, key));
		assert_btree_ok(&s->c, btree_case_count(&s->c, key, key + 30));
		assert_btree_ok(&s->c, btree_case_visit(&s->c, key, key + 30, UINT64_MAX));
		from[i % RANGES] = key;
		to[i % RANGES] = key + 20;
		if (i % RANGES == RANGES - 1)
			assert_btree_ok(&s->c, btree_case_visit_many(&s->c, from, to, RANGES, UINT64_MAX));
	}
	assert_btree_ok(&s->c, btree_case_end(&s->c, 0, 0));
	assert_btree_ok(&s->c, btree_case_end(&s->c, 1, 0));
	while (s->c.stands != 0)
		em_btree_cursor_close(s->c.stand[--s->c.stands].cursor);
}

static void assert_same_file(const char *path, const char *bytes, size_t n)
{
	char *other;

	assert_int_equal(saved_read(path, &other), n);
	assert_memory_equal(bytes, other, n);
	free(other);
}

/* What an opened one is saved as is the same file; so is what it is read from and replaces. */
static void save_again(saved *s)
{
	char *bytes, *other = test_path(s->dir, "other");
	const size_t n = saved_read(s->path, &bytes);

	assert_btree_ok(&s->c, em_btree_save(s->c.t, other));
	assert_same_file(other, bytes, n);
	assert_btree_ok(&s->c, em_btree_save(s->c.t, s->path));
	assert_same_file(s->path, bytes, n);
	assert_btree_ok(&s->c, em_btree_verify(s->c.t));
	free(bytes);
	free(other);
}

/* A tree that can be changed, with the same records: the order is that of the file, and a cursor goes along it. */
static void copy_to_new(saved *s)
{
	enum { SOME = 50 };
	char *records = malloc(SOME * s->c.record);
	em_btree *from = s->c.t;
	em_btree_loader *loader;
	em_btree_cursor *cursor;
	uint64_t got;
	em_status st;

	assert_non_null(records);
	assert_btree_ok(&s->c, em_btree_open(&s->c.t, s->c.f.ctx, em_btree_order(from), &s->c.opts));
	assert_btree_ok(&s->c, em_btree_loader_open(&loader, s->c.t, NULL));
	assert_int_equal(em_btree_save(s->c.t, s->path), EM_ERR_STATE);
	assert_int_equal(em_btree_cursor_open(&cursor, from), EM_OK);
	while ((st = em_btree_cursor_next_many(cursor, records, SOME, &got)) == EM_OK)
		assert_btree_ok(&s->c, em_btree_loader_push(loader, records, got, NULL));
	assert_int_equal(st, EM_END);
	assert_btree_ok(&s->c, em_btree_loader_finish(loader));
	em_btree_loader_close(loader);
	em_btree_cursor_close(cursor);
	em_btree_close(from);
	btree_case_check(&s->c);
	if (s->c.opts.flags == 0)
		assert_btree_ok(&s->c, btree_case_insert(&s->c, 1));
	free(records);
}

static void test_model(void **state)
{
	static const size_t sizes[] = { 0, 1, 3, 40, 700, 4000 };
	unsigned shape, k;

	(void)state;
	for (shape = 0; shape < BTREE_SHAPES; shape++)
		for (k = 0; k < 2 * sizeof sizes / sizeof *sizes; k++) {
			const size_t n = sizes[k / 2];
			em_btree_stats before, after;
			saved s;

			if (n >= 700 && (shape + k) % 2 != test_first_of(2))
				continue;
			if (test_left_out() || (n > 1000 && shape != BTREE_BYTES && shape != BTREE_LARGE_FUNCTION))
				continue;
			saved_open(&s, (btree_shape)shape, k % 2 != 0 ? EM_BTREE_DUPLICATES : 0);
			saved_grow(&s, n);
			before = btree_case_stats(&s.c);
			save_and_open(&s);
			after = btree_case_stats(&s.c);
			if (n != 0)
				assert_int_equal(before.height, after.height);
			assert_true(n < 1000 || shape != BTREE_BYTES || after.height >= 5);
			assert_int_equal(before.records, after.records);
			assert_int_equal(before.leaves, after.leaves);
			assert_int_equal(before.nodes, after.nodes);
			read_all(&s);
			refuse_changes(&s);
			save_again(&s);
			copy_to_new(&s);
			saved_close(&s);
		}
}

static uint64_t get_le(const char *from, unsigned bytes)
{
	uint64_t x = 0;

	while (bytes-- != 0)
		x = x << 8 | (unsigned char)from[bytes];
	return x;
}

/* The file is what it is said to be, on all machines. */
static void test_layout(void **state)
{
	static const struct { unsigned at, bytes; uint64_t is; } numbers[] = {
		{ 8, 4, 1 }, { 12, 4, 3 }, { 24, 8, BLOCK }, { 40, 8, 1000 }, { 48, 8, 8 }, { 56, 8, 8 },
		{ 64, 8, BLOCK }, { 72, 8, BLOCK }, { 112, 4, 254 }, { 116, 4, 1 }, { 120, 4, 8 }
	};
	char *bytes;
	uint64_t leaves, i, n = 0;
	size_t k, all;
	saved s;

	(void)state;
	saved_open(&s, BTREE_U64, EM_BTREE_DUPLICATES);
	while (s.c.n < 1000)
		assert_btree_ok(&s.c, btree_case_insert(&s.c, s.c.n));
	assert_btree_ok(&s.c, em_btree_save(s.c.t, s.path));
	all = saved_read(s.path, &bytes);
	assert_memory_equal(bytes, "EXTMEMBT", 8);
	for (k = 0; k < sizeof numbers / sizeof *numbers; k++)
		if (get_le(bytes + numbers[k].at, numbers[k].bytes) != numbers[k].is)
			fail_msg("byte %u: %llu", numbers[k].at,
				 (unsigned long long)get_le(bytes + numbers[k].at, numbers[k].bytes));
	assert_int_equal(get_le(bytes + 32, 8), all);
	leaves = get_le(bytes + 128, 8);
	assert_int_equal(get_le(bytes + 136, 8), 1);
	assert_int_equal(all, (2 + leaves) * BLOCK);
	assert_string_equal(bytes + 520, em_order_name(s.c.order));
	for (i = 0; i < leaves; i++) {
		const char *leaf = bytes + (1 + i) * BLOCK;

		assert_int_equal(get_le(leaf + 8, 8), i - 1);
		assert_int_equal(get_le(leaf + 16, 8), i + 1 < leaves ? i + 1 : UINT64_MAX);
		assert_memory_equal(leaf + 32, btree_case_key(&s.c, n), 8);
		n += get_le(leaf, 4);
	}
	assert_int_equal(n, 1000);
	assert_int_equal(get_le(bytes + all - BLOCK, 4), leaves);
	free(bytes);
	saved_close(&s);
}

/* Two reads are all that opening takes, however many blocks there are. */
static void test_opening_reads(void **state)
{
	em_btree_stats stats;
	saved s;

	(void)state;
	saved_open(&s, BTREE_BYTES, 0);
	saved_grow(&s, 500);
	saved_save(&s);
	em_fault_set(&s.c.f.fault[0], EM_FAULT_READ, 1000, 1);
	assert_btree_ok(&s.c, saved_open_tree(&s));
	assert_int_equal(s.c.f.fault[0].count, 2);
	stats = btree_case_stats(&s.c);
	assert_int_equal(stats.leaf_reads + stats.node_reads, 0);
	/* The way down: a block on each level that is not in memory. */
	assert_btree_ok(&s.c, btree_case_get(&s.c, 1));
	assert_true(s.c.f.fault[0].count <= 2 + 2 * stats.height);
	s.c.f.fault[0].ops = 0;
	saved_close(&s);
}

/* An old file of that name is as it was, and there is nothing else. */
static void is_unharmed(const saved *s, const char *bytes, size_t n)
{
	assert_same_file(s->path, bytes, n);
	assert_int_equal(unlink(s->path), 0);
	assert_dir_empty(s->dir);
}

static void put_old(const saved *s, const char *bytes, size_t n)
{
	const int fd = open(s->path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	close(fd);
}

/* Each transfer and each other call fails, and each allocation, while a tree is saved; then it works. */
static void test_saving_fails(void **state)
{
	static const uint32_t ops[] = { EM_FAULT_READ, EM_FAULT_WRITE, EM_FAULT_OPEN | EM_FAULT_SIZE | EM_FAULT_RESIZE |
				        EM_FAULT_RESERVE | EM_FAULT_SYNC, 0 };
	const char old[] = "an old file";
	unsigned k;

	(void)state;
	for (k = 0; k < sizeof ops / sizeof *ops; k++) {
		uint64_t nth, failures = 0;
		int failed = 1;

		for (nth = test_nth_after(0, 1); failed; nth = test_nth_after(nth, 1)) {
			em_status st;
			saved s;

			saved_open(&s, BTREE_BYTES, 0);
			saved_grow(&s, 120);
			assert_btree_ok(&s.c, em_btree_flush(s.c.t));
			put_old(&s, old, sizeof old);
			if (ops[k] != 0)
				em_fault_set(&s.c.f.fault[0], ops[k], nth, 1);
			else
				s.c.f.mem.fail_at = s.c.f.mem.calls + nth;
			st = em_btree_save(s.c.t, s.path);
			failed = ops[k] != 0 ? s.c.f.fault[0].count >= nth : test_memory_failed(&s.c.f.mem);
			s.c.f.fault[0].ops = 0;
			s.c.f.mem.fail_at = 0;
			if (st != EM_OK) {
				assert_true(failed);
				assert_true(st < EM_OK);
				failures++;
				is_unharmed(&s, old, sizeof old);
				assert_btree_ok(&s.c, em_btree_save(s.c.t, s.path));
			}
			btree_case_check(&s.c);
			em_btree_close(s.c.t);
			assert_btree_ok(&s.c, saved_open_tree(&s));
			btree_case_check(&s.c);
			saved_close(&s);
		}
		assert_true(failures != 0 || !test_sweeps());
		print_message("kind %u: %llu failures of %llu\n", k, (unsigned long long)failures,
			      (unsigned long long)nth);
	}
}

/* The same while one is opened and read. */
static void test_opening_fails(void **state)
{
	static const uint32_t ops[] = { EM_FAULT_READ, EM_FAULT_OPEN | EM_FAULT_SIZE, 0 };
	unsigned k;
	saved s;

	(void)state;
	saved_open(&s, BTREE_LARGE_FUNCTION, EM_BTREE_DUPLICATES);
	saved_grow(&s, 120);
	saved_save(&s);
	for (k = 0; k < sizeof ops / sizeof *ops; k++) {
		uint64_t nth;
		int failed = 1;

		for (nth = test_nth_after(0, 1); failed; nth = test_nth_after(nth, 1)) {
			const uint64_t bytes = s.c.f.mem.bytes, calls = s.c.f.mem.calls;
			em_errinfo err;
			em_status st;

			if (ops[k] != 0)
				em_fault_set(&s.c.f.fault[0], ops[k], nth, 1);
			else
				s.c.f.mem.fail_at = calls + nth;
			st = saved_look(&s, &err);
			failed = ops[k] != 0 ? s.c.f.fault[0].count >= nth : s.c.f.mem.calls - calls >= nth;
			s.c.f.fault[0].ops = 0;
			s.c.f.mem.fail_at = 0;
			assert_true(st == EM_OK || (failed && (st == EM_ERR_IO || st == EM_ERR_NOMEM)));
			assert_int_equal(s.c.f.mem.bytes, bytes);
		}
		assert_true(nth > 2);
	}
	/* One that fails once it is open: the next call works. */
	assert_btree_ok(&s.c, saved_open_tree(&s));
	em_fault_set(&s.c.f.fault[0], EM_FAULT_READ, 5, UINT64_MAX);
	assert_int_equal(em_btree_verify(s.c.t), EM_ERR_IO);
	s.c.f.fault[0].ops = 0;
	btree_case_check(&s.c);
	saved_close(&s);
}

/* Open it with these, and expect a failure that says so. */
static void refuse_open(saved *s, const em_order *order, const em_btree_opts *o, em_status status, const char *text)
{
	em_btree_opts opts = *o;
	em_btree *t;

	opts.errinfo = &s->c.err;
	opts.cache_bytes = s->c.opts.cache_bytes;
	assert_int_equal(em_btree_open_file(&t, s->c.f.ctx, s->path, order, &opts), status);
	assert_null(t);
	assert_int_equal(s->c.err.status, status);
	if (strstr(s->c.err.text, text) == NULL)
		fail_msg("%s", s->c.err.text);
}

static void test_wrong_order(void **state)
{
	static const em_key other = { 8, 0, EM_KEY_U64, 0, { 0 } };
	const em_btree_opts plain = EM_BTREE_OPTS_INIT;
	em_btree_opts opts = plain;
	em_order *order;
	saved s, f;

	(void)state;
	saved_open(&s, BTREE_U64, 0);
	saved_grow(&s, 300);
	assert_btree_ok(&s.c, em_btree_save(s.c.t, s.path));
	assert_int_equal(em_order_keys(&order, s.c.f.ctx, 16, &other, 1, NULL), EM_OK);
	refuse_open(&s, order, &plain, EM_ERR_FORMAT, "order");
	em_order_close(order);
	assert_int_equal(em_order_parse(&order, s.c.f.ctx, 24, em_order_name(s.c.order), NULL), EM_OK);
	refuse_open(&s, order, &plain, EM_ERR_FORMAT, "records of 16 bytes, and not of 24");
	em_order_close(order);
	opts.flags = EM_BTREE_DUPLICATES;
	refuse_open(&s, NULL, &opts, EM_ERR_FORMAT, "one record for each key");
	opts = plain;
	opts.leaf_bytes = 8192;
	refuse_open(&s, NULL, &opts, EM_ERR_FORMAT, "leaves of 4096 bytes");
	opts = plain;
	opts.node_bytes = 8192;
	refuse_open(&s, NULL, &opts, EM_ERR_FORMAT, "nodes of 4096 bytes");
	opts = plain;
	opts.key_bytes = 9;
	refuse_open(&s, NULL, &opts, EM_ERR_FORMAT, "keys of 8 bytes");
	opts = plain;
	opts.flags = 64;
	refuse_open(&s, NULL, &opts, EM_ERR_INVAL, "flags");
	saved_open(&f, BTREE_FUNCTION, 0);
	saved_grow(&f, 30);
	assert_btree_ok(&f.c, em_btree_save(f.c.t, f.path));
	refuse_open(&f, NULL, &plain, EM_ERR_INVAL, "function \"compared\"");
	refuse_open(&f, s.c.order, &plain, EM_ERR_INVAL, "another context");
	saved_close(&s);
	saved_close(&f);
}

static void test_wrong_file(void **state)
{
	const em_btree_opts plain = EM_BTREE_OPTS_INIT;
	static const char text[8192] = "no tree";
	char *path;
	saved s;

	(void)state;
	saved_open(&s, BTREE_U64, 0);
	saved_grow(&s, 30);
	refuse_open(&s, NULL, &plain, EM_ERR_NOENT, "tree");
	put_old(&s, text, sizeof text);
	refuse_open(&s, NULL, &plain, EM_ERR_FORMAT, "no saved B+-tree");
	put_old(&s, text, 3);
	refuse_open(&s, NULL, &plain, EM_ERR_FORMAT, "no saved B+-tree");
	put_old(&s, EMI_BTREE_FILE_MAGIC, 8);
	refuse_open(&s, NULL, &plain, EM_ERR_CORRUPT, "ends too early");
	assert_int_equal(unlink(s.path), 0);
	assert_int_equal(em_btree_save(s.c.t, s.dir), EM_ERR_INVAL);
	assert_int_equal(em_btree_save(s.c.t, "/dev/null"), EM_ERR_NOTSUP);
	assert_int_equal(em_btree_save(s.c.t, "-"), EM_ERR_NOTSUP);
	/* A pipe is not waited for. */
	assert_int_equal(mkfifo(s.path, 0600), 0);
	assert_int_equal(em_btree_save(s.c.t, s.path), EM_ERR_NOTSUP);
	refuse_open(&s, NULL, &plain, EM_ERR_FORMAT, "no saved B+-tree");
	assert_int_equal(unlink(s.path), 0);
	assert_int_equal(mkdir(s.path, 0700), 0);
	refuse_open(&s, NULL, &plain, EM_ERR_FORMAT, "no saved B+-tree");
	assert_int_equal(rmdir(s.path), 0);
	path = test_path(s.path, "none");
	assert_int_equal(em_btree_save(s.c.t, path), EM_ERR_NOENT);
	free(path);
	/* A directory in which nothing may be made; who may do everything cannot try that. */
	assert_int_equal(chmod(s.dir, 0500), 0);
	if (access(s.dir, W_OK) != 0)
		assert_int_equal(em_btree_save(s.c.t, s.path), EM_ERR_ACCESS);
	assert_int_equal(chmod(s.dir, 0700), 0);
	assert_dir_empty(s.dir);
	/* The mode of a file that is replaced stays. */
	put_old(&s, text, 3);
	assert_int_equal(chmod(s.path, 0640), 0);
	assert_btree_ok(&s.c, em_btree_save(s.c.t, s.path));
	{
		struct stat sb;

		assert_int_equal(stat(s.path, &sb), 0);
		assert_int_equal(sb.st_mode & 0777, 0640);
	}
	btree_case_check(&s.c);
	saved_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_opening_reads),
		cmocka_unit_test(test_saving_fails),
		cmocka_unit_test(test_opening_fails),
		cmocka_unit_test(test_wrong_order),
		cmocka_unit_test(test_wrong_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
