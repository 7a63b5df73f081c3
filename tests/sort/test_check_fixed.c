/* SPDX-License-Identifier: BSL-1.0 */
/* test_check_fixed.c -- looking whether records of one size are in order, against the model: all kinds of elements, one
 * thread and several. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <extmem/gen/order.h>
#include <extmem/sys/fault.h>

#include "key/normalise.h"
#include "sort/record_hash.h"
#include "sort/sort_model.h"

#define MIB ((uint64_t)1 << 20)
#define NATIVE (EMI_BIG_ENDIAN ? EM_KEY_BIG_ENDIAN : 0)

typedef struct medium {
	uint64_t key, rest[2];
} medium;

#define EM_GEN_NAME by_medium
#define EM_GEN_RECORD medium
#define EM_GEN_LESS(a, b) ((a)->key < (b)->key)
#include <extmem/gen/order.h>

enum { BY_KEYS, BY_TEMPLATE, BY_COMPARISON, BY_SHARED_COMPARISON, BY_COMPUTED };

/* Records and how their order is made. */
static const struct {
	sort_shape shape;
	int how;
} orders[] = {
	{ { 4, 1, { { 0, 0, EM_KEY_U32, NATIVE, { 0 } } } }, BY_KEYS },
	{ { 3, 1, { { 1, 0, EM_KEY_U16, 0, { 0 } } } }, BY_KEYS },
	{ { 8, 1, { { 0, 0, EM_KEY_U64, NATIVE, { 0 } } } }, BY_KEYS },
	{ { 8, 1, { { 0, 0, EM_KEY_F64, EM_KEY_DESCENDING, { 0 } } } }, BY_KEYS },
	{ { 16, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } }, BY_KEYS },
	{ { 11, 1, { { 2, 0, EM_KEY_I32, 0, { 0 } } } }, BY_KEYS },
	{ { 16, 0, { EM_KEY_INIT } }, BY_KEYS },
	{ { 100, 1, { { 0, 10, EM_KEY_BYTES, 0, { 0 } } } }, BY_KEYS },
	{ { 100, 2, { { 90, 0, EM_KEY_U64, 0, { 0 } }, { 3, 0, EM_KEY_I8, EM_KEY_DESCENDING, { 0 } } } }, BY_KEYS },
	{ { 24, 1, { { 0, 0, EM_KEY_U64, NATIVE, { 0 } } } }, BY_TEMPLATE },
	{ { 16, 1, { { 0, 0, EM_KEY_I64, 0, { 0 } } } }, BY_COMPARISON },
	{ { 17, 1, { { 5, 0, EM_KEY_U32, 0, { 0 } } } }, BY_COMPARISON },
	{ { 16, 1, { { 0, 0, EM_KEY_I64, 0, { 0 } } } }, BY_SHARED_COMPARISON },
	{ { 17, 1, { { 5, 0, EM_KEY_U32, 0, { 0 } } } }, BY_SHARED_COMPARISON },
	{ { 8, 1, { { 0, 8, EM_KEY_BYTES, 0, { 0 } } } }, BY_COMPUTED },
	{ { 40, 1, { { 32, 8, EM_KEY_BYTES, 0, { 0 } } } }, BY_COMPUTED },
};

#define ORDERS (sizeof orders / sizeof *orders)

static int by_shape(const void *a, const void *b, void *user)
{
	return sort_compare(user, a, b);
}

static int compute(const void *records, size_t n, uint64_t *keys, void *user)
{
	const sort_shape *s = user;
	const unsigned char *at = (const unsigned char *)records + s->key[0].offset;
	size_t i, k;

	for (i = 0; i < n; i++, at += s->bytes)
		for (keys[i] = 0, k = 0; k < 8; k++)
			keys[i] = keys[i] << 8 | at[k];
	return 0;
}

static em_order *make_order(em_ctx *ctx, size_t i)
{
	const sort_shape *s = &orders[i].shape;
	void *user = (void *)(uintptr_t)s;
	em_errinfo err = { 0 };
	em_order *order = NULL;
	em_status st = EM_OK;

	if (orders[i].how == BY_KEYS)
		return sort_order(ctx, s);
	if (orders[i].how == BY_TEMPLATE)
		st = by_medium_order(&order, ctx, &err);
	else if (orders[i].how == BY_COMPARISON)
		st = em_order_cmp(&order, ctx, s->bytes, "by_shape", by_shape, 0, user, NULL, &err);
	else if (orders[i].how == BY_SHARED_COMPARISON)
		st = em_order_cmp(&order, ctx, s->bytes, "by_shape", by_shape, EM_FN_THREADS, user, NULL, &err);
	else
		st = em_order_key_fn(&order, ctx, s->bytes, "computed", compute, EM_FN_THREADS, user, NULL, &err);
	if (st != EM_OK)
		fail_msg("%s", err.text);
	return order;
}

/* The first disorder, as it was told. */
typedef struct told {
	unsigned calls;
	uint64_t number;
	unsigned char record[128];
	size_t n;
} told;

static void note(void *user, uint64_t number, const void *record, size_t n)
{
	told *t = user;

	t->calls++;
	t->number = number;
	t->n = n;
	memcpy(t->record, record, n < sizeof t->record ? n : sizeof t->record);
}

static em_check_info expect(const sort_shape *s, const unsigned char *records, size_t n, uint32_t flags)
{
	unsigned char slack[128 + 8] = { 0 };
	em_check_info x;
	size_t i;

	memset(&x, 0, sizeof x);
	for (i = 0; i < n; i++, records += s->bytes) {
		const int c = i > 0 ? sort_compare(s, records - s->bytes, records) : -1;

		memcpy(slack, records, s->bytes);
		x.records++;
		x.bytes += s->bytes;
		x.checksum += emi_record_hash(slack, s->bytes);
		x.duplicates += c == 0;
		if (c < 0 || (c == 0 && (flags & EM_CHECK_UNIQUE) == 0))
			continue;
		if (x.disorders++ == 0)
			x.first_disorder = i + 1;
		if ((flags & EM_CHECK_FIRST) != 0)
			break;
	}
	return x;
}

static void assert_check(em_ctx *ctx, const em_order *order, const char *path, const sort_shape *s,
			 const unsigned char *records, size_t n, uint32_t flags)
{
	const em_check_info want = expect(s, records, n, flags);
	em_check_opts opts = EM_CHECK_OPTS_INIT;
	em_check_info info;
	em_errinfo err;
	told t = { 0 };

	memset(&info, 0xff, sizeof info);
	info.size = sizeof info;
	opts.flags = flags;
	opts.errinfo = &err;
	if (em_check_file(ctx, order, path, &opts, &info, note, &t) != EM_OK)
		fail_msg("%s", err.text);
	assert_int_equal(info.records, want.records);
	assert_int_equal(info.bytes, want.bytes);
	assert_true(info.checksum == want.checksum);
	assert_int_equal(info.duplicates, want.duplicates);
	assert_int_equal(info.disorders, want.disorders);
	assert_int_equal(info.first_disorder, want.first_disorder);
	assert_int_equal(t.calls, want.disorders != 0);
	assert_int_equal(t.number, want.first_disorder);
	if (t.calls != 0) {
		assert_int_equal(t.n, s->bytes);
		assert_memory_equal(t.record, records + (want.first_disorder - 1) * s->bytes, s->bytes);
	}
}

/* Sorted records, but for a few that are copies of others, and, if only the first of equal ones was to be kept, a rest
 * at the end. */
static unsigned char *nearly_sorted(test_rng *rng, const sort_shape *s, size_t n)
{
	static const sort_pattern pattern[] = { SORT_RANDOM, SORT_RANDOM, SORT_FEW, SORT_ENDS, SORT_EQUAL };
	uint64_t left = n;
	unsigned char *records = sort_records(rng, s, pattern[test_below(rng, 5)], n), *sorted;
	unsigned times = (unsigned)test_below(rng, 3);

	sorted = sort_expected(s, records, &left, (int)test_below(rng, 2));
	memcpy(records, sorted, (size_t)left * s->bytes);
	free(sorted);
	for (; n > 1 && times > 0; times--) {
		const size_t from = (size_t)test_below(rng, n), to = (size_t)test_below(rng, n);

		if (from != to)
			memcpy(records + to * s->bytes, records + from * s->bytes, s->bytes);
	}
	return records;
}

/* Chunks are 512 KiB in the larger context, which several threads share, and 32 KiB in the smaller one. */
static void test_model(void **state)
{
	static const size_t bytes[] = { 0, 1, 2, 700, 40000, 300000, 700000 };
	test_rng rng = test_rng_make(test_seed());
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	size_t i, k;

	(void)state;
	for (i = 0; i < ORDERS; i++) {
		const sort_shape *s = &orders[i].shape;

		for (k = 0; k < 7; k++) {
			em_ctx_opts o = sort_ctx_opts();
			const size_t n = k < 3 ? bytes[k] : bytes[k] / s->bytes + (size_t)test_below(&rng, 3);
			unsigned char *records = nearly_sorted(&rng, s, n);
			em_order *order;
			em_ctx *ctx;

			o.memory = k % 2 != 0 ? MIB : 64 * MIB;
			o.threads = 1 + (uint32_t)(i + k) % 3;
			ctx = sort_ctx(&o);
			order = make_order(ctx, i);
			sort_write_file(path, records, n * s->bytes);
			assert_check(ctx, order, path, s, records, n, (uint32_t)test_below(&rng, 4));
			assert_check(ctx, order, path, s, records, n, 0);
			em_order_close(order);
			em_ctx_close(ctx);
			free(records);
		}
	}
	free(path);
	test_dir_remove(dir);
}

/* A record that is equal to the one before, or comes before it, at places around the ends of chunks and of threads'
 * parts. */
static void test_every_place(void **state)
{
	const sort_shape s = sort_shape_of(EM_KEY_U64, 8, 0, 8);
	const size_t n = 200000, chunk = (512 << 10) / 8;
	uint64_t *records = malloc(n * sizeof *records);
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	em_ctx_opts o = sort_ctx_opts();
	em_order *order;
	em_ctx *ctx;
	size_t i, k;

	(void)state;
	assert_non_null(records);
	o.threads = 2;
	ctx = sort_ctx(&o);
	order = sort_order(ctx, &s);
	for (k = 1; k < 8; k++) {
		for (i = 0; i < n; i++)
			records[i] = EMI_BIG_ENDIAN ? i << 40 : i * 2;
		for (i = 0; i < 3; i++) {
			const size_t at = k * chunk / 4 + i - 1;

			if (at > 0 && at < n && i == k % 3)
				records[at] = records[at - 1] - (k % 2 != 0);
		}
		sort_write_file(path, records, n * sizeof *records);
		assert_check(ctx, order, path, &s, (unsigned char *)records, n,
			     EM_CHECK_UNIQUE | (k % 2 != 0 ? EM_CHECK_FIRST : 0));
	}
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
	free(path);
	test_dir_remove(dir);
}

static pthread_t caller;
static int others;

/* The caller's thread waits for another one to be here, too; it gives up late. */
static void wait_for_others(void)
{
	const struct timespec nap = { 0, 1000000 };
	int k;

	if (!pthread_equal(pthread_self(), caller))
		__atomic_store_n(&others, 1, __ATOMIC_RELAXED);
	for (k = 0; k < 20000 && !__atomic_load_n(&others, __ATOMIC_RELAXED); k++)
		nanosleep(&nap, NULL);
}

static int compute_together(const void *records, size_t n, uint64_t *keys, void *user)
{
	(void)records;
	(void)user;
	memset(keys, 0, n * sizeof *keys);
	wait_for_others();
	return 0;
}

static int compare_together(const void *a, const void *b, void *user)
{
	(void)user;
	wait_for_others();
	return memcmp(a, b, 16);
}

/* All threads work, if there is memory for them; otherwise the caller's does alone. */
static void test_threads(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	unsigned char *records = calloc(1, MIB);
	em_check_info info = { 0 };
	int way;

	(void)state;
	assert_non_null(records);
	sort_write_file(path, records, MIB);
	info.size = sizeof info;
	caller = pthread_self();
	for (way = 0; way < 4; way++) {
		const int little = way / 2;
		em_ctx_opts o = sort_ctx_opts();
		em_order *order;
		em_ctx *ctx;

		o.threads = little ? 64 : 2;
		o.memory = little ? 8 * MIB : 64 * MIB;
		others = little;
		ctx = sort_ctx(&o);
		if (way % 2 != 0)
			assert_int_equal(em_order_cmp(&order, ctx, 16, "waits", compare_together, EM_FN_THREADS, NULL,
						      NULL, NULL),
					 EM_OK);
		else
			assert_int_equal(em_order_key_fn(&order, ctx, 16, "waits", compute_together, EM_FN_THREADS,
							 NULL, NULL, NULL),
					 EM_OK);
		assert_int_equal(em_check_file(ctx, order, path, NULL, &info, NULL, NULL), EM_OK);
		assert_int_equal(info.records, MIB / 16);
		assert_int_equal(info.duplicates, MIB / 16 - 1);
		assert_true(others);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	free(records);
	free(path);
	test_dir_remove(dir);
}

/* A function that fails after so many records. */
static size_t good;             /* atomic */

static int compare_or_fail(const void *a, const void *b, void *user)
{
	(void)user;
	return __atomic_sub_fetch(&good, 1, __ATOMIC_RELAXED) == 0 ? EM_CMP_ERROR : memcmp(a, b, 17);
}

static int compute_or_fail(const void *records, size_t n, uint64_t *keys, void *user)
{
	(void)records;
	(void)user;
	memset(keys, 0, n * sizeof *keys);
	if (good < n)
		return 1;
	good -= n;
	return 0;
}

static void test_refused(void **state)
{
	const sort_shape s = sort_shape_of(EM_KEY_U64, 8, 0, 17);
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	const em_format lines = EM_FORMAT_INIT;
	em_check_opts opts = EM_CHECK_OPTS_INIT;
	em_ctx_opts o = sort_ctx_opts();
	unsigned char *records = calloc(1000, 17);
	em_check_info info = { 0 };
	uint32_t flags;
	em_order *order;
	em_errinfo err;
	em_ctx *ctx = sort_ctx(&o);

	(void)state;
	info.size = sizeof info;
	opts.errinfo = &err;
	order = sort_order(ctx, &s);
	sort_write_file(path, records, 999 * 17 + 4);
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_FORMAT);
	assert_non_null(strstr(err.text, path));
	sort_write_file(path, records, 1000 * 17);
	opts.header = 1;
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_INVAL);
	opts.header = 0;
	opts.format = &lines;
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_INVAL);
	opts.format = NULL;
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_OK);
	em_order_close(order);

	for (flags = 0; flags <= EM_FN_THREADS; flags++) {
		assert_int_equal(em_order_cmp(&order, ctx, 17, "fails", compare_or_fail, flags, NULL, NULL, NULL),
				 EM_OK);
		good = 500;
		assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_USER);
		good = SIZE_MAX;
		assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_OK);
		em_order_close(order);
	}
	assert_int_equal(em_order_key_fn(&order, ctx, 17, "fails", compute_or_fail, 0, NULL, NULL, NULL), EM_OK);
	good = 500;
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_ERR_USER);
	good = SIZE_MAX;
	assert_int_equal(em_check_file(ctx, order, path, &opts, &info, NULL, NULL), EM_OK);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
	free(path);
	test_dir_remove(dir);
}

/* A check of which the nth allocation or transfer fails. */
static em_status attempt(const char *path, size_t which, test_memory *mem, em_fault *fault)
{
	const unsigned fds = sort_open_fds();
	em_check_opts opts = EM_CHECK_OPTS_INIT;
	em_ctx_opts o = sort_ctx_opts();
	em_check_info info = { 0 };
	em_order *order = NULL;
	em_errinfo err = { 0 };
	em_ctx *ctx = NULL;
	em_status st;

	info.size = sizeof info;
	o.threads = 2;
	o.allocator = &mem->allocator;
	o.backend = NULL;
	o.custom = em_fault_backend(fault);
	o.direct = EM_DIRECT_OFF;
	o.errinfo = &err;
	opts.errinfo = &err;
	st = em_ctx_open(&ctx, &o);
	if (st == EM_OK) {
		const sort_shape *s = &orders[which].shape;

		st = em_order_keys(&order, ctx, s->bytes, s->key, s->keys, &err);
		if (st == EM_OK)
			st = em_check_file(ctx, order, path, &opts, &info, NULL, NULL);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	test_memory_assert_clean(mem);
	assert_int_equal(sort_open_fds(), fds);
	assert_int_equal(err.status, st);
	if (st == EM_OK)
		assert_int_equal(info.bytes, 400000);
	return st;
}

static void test_failures(void **state)
{
	static const size_t which[] = { 2, 7 };
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	unsigned char *records = calloc(1, 400000);
	test_memory mem;
	em_fault fault;
	uint64_t nth;
	size_t i;

	(void)state;
	assert_non_null(records);
	sort_write_file(path, records, 400000);
	for (i = 0; i < 2; i++) {
		unsigned alone = 0;

		for (nth = test_nth_after(0, 1);; nth = test_nth_after(nth, 1)) {
			em_status st;

			test_memory_init(&mem, nth);
			assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("syscall")), EM_OK);
			st = attempt(path, which[i], &mem, &fault);
			if (!test_memory_failed(&mem))
				break;
			/* Without memory for another thread one does. */
			alone += st == EM_OK;
			assert_true(st == EM_ERR_NOMEM || st == EM_OK);
		}
		assert_true(nth > 8 && (alone > 0 || !test_sweeps()));
		for (nth = test_nth_after(0, 1);; nth = test_nth_after(nth, 1)) {
			em_status st;

			test_memory_init(&mem, 0);
			assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("syscall")), EM_OK);
			fault.ops = EM_FAULT_OPEN | EM_FAULT_READ;
			fault.nth = nth;
			st = attempt(path, which[i], &mem, &fault);
			if (fault.injected == 0) {
				assert_int_equal(st, EM_OK);
				break;
			}
			assert_int_equal(st, EM_ERR_IO);
		}
		assert_true(nth > 2);
	}
	free(records);
	free(path);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),   cmocka_unit_test(test_every_place), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
