/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_check_file.c -- looking whether the records of files are in order.
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
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <extmem/sys/fault.h>

#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define MIB ((uint64_t)1 << 20)

static em_ctx *make_ctx(uint64_t memory)
{
	em_ctx_opts o = sort_ctx_opts();

	o.memory = memory;
	return sort_ctx(&o);
}

/* The hash that is documented nowhere but here and in the library, byte by byte. */
static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static uint64_t hash(const unsigned char *p, size_t n)
{
	const uint64_t k1 = UINT64_C(0x9fb21c651e98df25), k2 = UINT64_C(0xd6e8feb86659fd93),
		       k3 = UINT64_C(0xa0761d6478bd642f);
	uint64_t h = n * k1 + k3;
	size_t i, j;

	for (i = 0; i < n; i += 8) {
		uint64_t word = 0;

		for (j = i; j < n && j < i + 8; j++)
			word |= (uint64_t)p[j] << 8 * (j - i);
		h = rotate(h ^ rotate(word * k1, 31) * k2, 27) * k3 + k2;
	}
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	return h ^ (h >> 31);
}

typedef struct disorder {
	unsigned calls;
	uint64_t number;
	unsigned char *record;
	size_t n;
} disorder;

static void note(void *user, uint64_t number, const void *record, size_t n)
{
	disorder *d = user;

	d->calls++;
	d->number = number;
	d->record = malloc(n + 1);
	assert_non_null(d->record);
	memcpy(d->record, record, n);
	d->n = n;
}

/* What must be found; *first is the first record that is out of order. */
static em_check_info expect(const em_order *order, const lines *l, size_t header, const em_format *format,
			    uint32_t flags, size_t *first)
{
	em_check_info x;
	size_t i, n;

	memset(&x, 0, sizeof(x));
	x.size = sizeof(x);
	for (i = header; i < l->n; i++) {
		const unsigned char *record = lines_at(l, i, &n);
		int c = order != NULL && i > header ? lines_compare(order, l, i - 1, i) : -1;

		x.records++;
		x.bytes += n;
		x.checksum += hash(record, n);
		x.duplicates += c == 0;
		if (c < 0 || (c == 0 && (flags & EM_CHECK_UNIQUE) == 0))
			continue;
		if (x.disorders++ == 0) {
			x.first_disorder = lines_number(l, 0, i, format);
			*first = i;
		}
		if ((flags & EM_CHECK_FIRST) != 0)
			break;
	}
	return x;
}

static void assert_check(em_ctx *ctx, const em_order *order, const char *path, const lines *l, size_t header,
			 const em_format *format, uint32_t flags)
{
	size_t first = 0;
	const em_check_info want = expect(order, l, header < l->n ? header : l->n, format, flags, &first);
	em_check_opts opts = EM_CHECK_OPTS_INIT;
	em_check_info info;
	em_errinfo err;
	disorder d = { 0 };

	memset(&info, 0xff, sizeof(info));
	info.size = sizeof(info);
	opts.flags = flags;
	opts.format = format;
	opts.header = header;
	opts.errinfo = &err;
	if (em_check_file(ctx, order, path, &opts, &info, note, &d) != EM_OK)
		fail_msg("%s", err.text);
	assert_int_equal(info.records, want.records);
	assert_int_equal(info.bytes, want.bytes);
	assert_true(info.checksum == want.checksum);
	assert_int_equal(info.duplicates, want.duplicates);
	assert_int_equal(info.disorders, want.disorders);
	assert_int_equal(info.first_disorder, want.first_disorder);
	assert_int_equal(d.calls, want.disorders != 0);
	if (want.disorders != 0) {
		size_t n;
		const unsigned char *record = lines_at(l, first, &n);

		assert_int_equal(d.number, want.first_disorder);
		assert_int_equal(d.n, n);
		assert_memory_equal(d.record, record, n);
		free(d.record);
	}
}

/* Sorted, and sorted but for some records, which are appended at a random place as a second sorted sequence. */
static void test_orders(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 30, 500, 9000 };
	test_rng rng = test_rng_make(test_seed());
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	int i;

	(void)state;
	for (i = 0; i < 120; i++) {
		em_ctx *ctx = make_ctx(i % 2 != 0 ? MIB : 64 * MIB);
		em_order *order = lines_order(ctx, i % LINES_ORDERS);
		const em_format format = lines_format((int)test_below(&rng, LINES_FORMATS));
		const size_t header = test_below(&rng, 3) == 0 ? (size_t)test_below(&rng, 4) : 0;
		const int style = (int)test_below(&rng, LINES_STYLES);
		lines l = { 0 };

		lines_add_random(&l, &rng, style, header + sizes[i / 6 % 6]);
		lines_quote_some(&l, &rng, &format);
		lines_sort(order, &l, header, (int)test_below(&rng, 2));
		lines_add_random(&l, &rng, style, i % 5 == 0 ? (size_t)test_below(&rng, 6) : 0);
		lines_write(path, &l, 0, l.n, &format, (int)test_below(&rng, 2));
		assert_check(ctx, order, path, &l, header, &format, (uint32_t)test_below(&rng, 4));
		assert_check(ctx, NULL, path, &l, header, &format, 0);
		lines_free(&l);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	free(path);
	test_dir_remove(dir);
}

/* Records around the end of a chunk that are equal but for their last byte, and as long as they may be. */
static void test_long(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	const size_t most = 4 * MIB / 32;
	int which;

	(void)state;
	for (which = 0; which < 3; which += 2) {
		em_ctx *ctx = make_ctx(4 * MIB);
		em_order *order = lines_order(ctx, which);
		const em_format format = lines_format(0);
		em_check_opts opts = EM_CHECK_OPTS_INIT;
		unsigned char *record = malloc(9 * most);
		em_errinfo err;
		em_check_info info;
		lines l = { 0 };
		size_t i;

		assert_non_null(record);
		memset(record, 'a', 9 * most);
		for (i = 0; i < 40; i++) {
			const size_t n = most - 40 + i;

			record[n - 1] = i == 20 ? 'A' : 'a';
			lines_add(&l, record, n);
			record[n - 1] = 'a';
		}
		lines_add(&l, record, most);
		lines_write(path, &l, 0, l.n, &format, 1);
		assert_check(ctx, order, path, &l, 0, &format, 0);
		lines_add(&l, record, 3);
		lines_add(&l, record, 8 * most + 1);
		lines_write(path, &l, 0, l.n, &format, 1);
		opts.errinfo = &err;
		info.size = sizeof(info);
		assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_FORMAT);
		assert_non_null(strstr(err.text, path));
		assert_non_null(strstr(err.text, ":43:"));
		free(record);
		lines_free(&l);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	free(path);
	test_dir_remove(dir);
}

static void test_standard_input(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	em_ctx *ctx = make_ctx(4 * MIB);
	em_order *order = lines_order(ctx, 0);
	const int saved = dup(STDIN_FILENO);
	em_check_info info;
	int fd;

	(void)state;
	sort_write_file(path, "b\na\nc", 5);
	fd = open(path, O_RDONLY);
	assert_true(saved >= 0 && fd >= 0);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	assert_int_equal(em_check_file(ctx, order, "-", NULL, &info, NULL, NULL), EM_OK);
	assert_int_equal(info.records, 3);
	assert_int_equal(info.bytes, 3);
	assert_int_equal(info.disorders, 1);
	assert_int_equal(info.first_disorder, 2);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	close(saved);
	close(fd);
	em_order_close(order);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

static void test_refused(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	em_ctx *ctx = make_ctx(4 * MIB), *other = make_ctx(4 * MIB);
	em_order *order = lines_order(ctx, 0), *fixed, *strange = lines_order(other, 0);
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_check_opts opts = EM_CHECK_OPTS_INIT;
	em_format format = EM_FORMAT_INIT;
	em_check_info info;
	em_errinfo err;

	(void)state;
	sort_write_file(path, "b\na\n", 4);
	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	opts.errinfo = &err;
	assert_int_equal(em_order_keys(&fixed, ctx, 8, &key, 1, NULL), EM_OK);
	/* 4 bytes are no record of 8. */
	assert_int_equal(em_check_file(ctx, fixed, path, &opts, &info, NULL, NULL), EM_ERR_FORMAT);
	assert_int_equal(err.record, 1);
	assert_string_equal(err.path, path);
	em_order_close(fixed);
	assert_int_equal(em_check_file(ctx, strange, path, &opts, &info, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_check_file(NULL, order, path, &opts, &info, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_check_file(ctx, order, NULL, &opts, &info, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_check_file(ctx, order, path, &opts, NULL, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_check_file(ctx, order, dir, &opts, &info, NULL, NULL), EM_ERR_INVAL);
	opts.flags = 4;
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_INVAL);
	opts.flags = 0;
	opts.format = &format;
	format.kind = 7;
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_INVAL);
	assert_true(err.text[0] != '\0');
	format.kind = EM_FORMAT_DELIMITED;
	format.width = 4;
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_INVAL);
	format.kind = EM_FORMAT_PREFIXED;
	format.delimiter = 0;
	/* "b\na\n" as a length is far beyond the file. */
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_FORMAT);
	info.size = 0;
	opts.format = NULL;
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_VERSION);
	assert_non_null(strstr(err.text, "em_check_info"));
	info.size = sizeof(info);
	unlink(path);
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_NOENT);
	assert_non_null(strstr(err.text, path));
	em_order_close(strange);
	em_ctx_close(other);
	em_order_close(order);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

/* A check with what may go wrong. */
typedef struct trial {
	char *path;
	int which;
	const em_backend *inner;
	test_memory mem;
	em_fault fault;
	em_progress_fn progress;
	unsigned calls;
} trial;

static em_status attempt(trial *t)
{
	em_ctx_opts o = sort_ctx_opts();
	em_check_opts opts = EM_CHECK_OPTS_INIT;
	const unsigned fds = sort_open_fds();
	em_text_opts text = EM_TEXT_OPTS_INIT;
	em_text_key key;
	em_order *order = NULL;
	em_check_info info;
	em_errinfo err;
	em_status st;
	em_ctx *ctx;

	memset(&err, 0, sizeof(err));
	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	o.memory = MIB;
	o.allocator = &t->mem.allocator;
	o.backend = NULL;
	o.custom = em_fault_backend(&t->fault);
	o.direct = EM_DIRECT_OFF;
	o.errinfo = &err;
	st = em_ctx_open(&ctx, &o);
	if (st == EM_OK) {
		assert_int_equal(em_text_key_parse(&key, NULL, "2", NULL), EM_OK);
		st = em_order_text(&order, ctx, &key, t->which != 0, &text, &err);
		opts.errinfo = &err;
		opts.progress = t->progress;
		opts.progress_user = &t->calls;
		if (st == EM_OK)
			st = em_check_file(ctx, order, t->path, &opts, &info, NULL, NULL);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	test_memory_assert_clean(&t->mem);
	assert_int_equal(sort_open_fds(), fds);
	assert_int_equal(err.status, st);
	if (st == EM_OK)
		assert_int_equal(info.records, 6000);
	return st;
}

static int cancel(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	unsigned *calls = user;

	assert_int_equal(phase, EM_PHASE_RUNS);
	assert_true(done <= total);
	++*calls;
	return 1;
}

/* Opening takes longer than the progress function waits to be called. */
static int slow_open(void *user, em_backend_open *how)
{
	const em_backend *be = user;

	usleep(150000);
	return be->open(be->user, how);
}

static void test_failures(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *dir = test_dir_make();
	const em_format format = lines_format(0);
	em_backend slow;
	lines l = { 0 };
	uint64_t nth;
	trial t;

	(void)state;
	memset(&t, 0, sizeof(t));
	t.path = test_path(dir, "in");
	t.inner = em_backend_find("syscall");
	lines_add_random(&l, &rng, LINES_ANY, 5999);
	lines_add(&l, "a last line that is not empty", 29);
	lines_write(t.path, &l, 0, l.n, &format, 1);
	for (t.which = 0; t.which < 2; t.which++) {
		for (nth = test_nth_after(0, 1);; nth = test_nth_after(nth, 1)) {
			em_status st;

			test_memory_init(&t.mem, nth);
			assert_int_equal(em_fault_init(&t.fault, sizeof t.fault, t.inner), EM_OK);
			st = attempt(&t);
			if (!test_memory_failed(&t.mem)) {
				assert_int_equal(st, EM_OK);
				break;
			}
			/* Where more is asked for than is needed, less does. */
			assert_true(st == EM_ERR_NOMEM || st == EM_OK);
		}
		assert_true(nth > 8);
		for (nth = test_nth_after(0, 1);; nth = test_nth_after(nth, 1)) {
			em_status st;

			test_memory_init(&t.mem, 0);
			assert_int_equal(em_fault_init(&t.fault, sizeof t.fault, t.inner), EM_OK);
			t.fault.ops = EM_FAULT_OPEN | EM_FAULT_READ;
			t.fault.nth = nth;
			st = attempt(&t);
			if (t.fault.injected == 0) {
				assert_int_equal(st, EM_OK);
				break;
			}
			assert_int_equal(st, EM_ERR_IO);
		}
		assert_true(nth > 4);
	}
	slow = *t.inner;
	slow.user = (void *)(uintptr_t)t.inner;
	slow.open = slow_open;
	test_memory_init(&t.mem, 0);
	assert_int_equal(em_fault_init(&t.fault, sizeof t.fault, &slow), EM_OK);
	t.progress = cancel;
	assert_int_equal(attempt(&t), EM_ERR_CANCELED);
	assert_int_equal(t.calls, 1);
	lines_free(&l);
	free(t.path);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),	       cmocka_unit_test(test_long),
		cmocka_unit_test(test_standard_input), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
