/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_collation.c -- loading, comparing, sorting, merging and mixing by every kind of order.
 *
 * All kernels that this processor runs are compared with qsort() by the public comparison.  Functions of the caller's
 * fail, too, and are stopped.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <extmem/gen/order.h>
#include <extmem/text.h>

#include "key/collation.h"
#include "key_model.h"

#define MOST 700u               /* records */
#define LONGEST 40u             /* bytes of a record of any length */
#define FRAME 512u              /* room for its frame, and ... */
#define SLACK 8u                /* ... for what may be read behind it */
#define OWN_MIX 256u            /* records that kernels of an order mix at a time */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef struct medium {
	uint64_t key, rest[2];
} medium;

#define EM_GEN_NAME by_medium
#define EM_GEN_RECORD medium
#define EM_GEN_LESS(a, b) ((a)->key % 64 < (b)->key % 64)
#include <extmem/gen/order.h>

enum { BY_KEYS, BY_COMPARISON, BY_COMPUTED, BY_TEMPLATE, BY_TEXT };

/* An order, and the bytes of its records. */
static const struct {
	int how;
	uint32_t flags;         /* EM_FN_... or EM_TEXT_... */
	size_t bytes;
	uint32_t nkeys;
	em_key key[2];
	const char *text[2];
} orders[] = {
	{ BY_KEYS, 0, 4, 1, { { 0, 0, EM_KEY_U32, 0, { 0 } } }, { NULL } },
	{ BY_KEYS, 0, 3, 1, { { 1, 0, EM_KEY_U16, EM_KEY_DESCENDING, { 0 } } }, { NULL } },
	{ BY_KEYS, 0, 8, 1, { { 0, 0, EM_KEY_I64, 0, { 0 } } }, { NULL } },
	{ BY_KEYS, 0, 16, 1, { { 8, 0, EM_KEY_F64, 0, { 0 } } }, { NULL } },
	{ BY_KEYS, 0, 16, 2, { { 0, 0, EM_KEY_U64, 0, { 0 } }, { 8, 0, EM_KEY_U64, 0, { 0 } } }, { NULL } },
	{ BY_KEYS, 0, 40, 1, { { 7, 0, EM_KEY_U32, 0, { 0 } } }, { NULL } },
	{ BY_KEYS, 0, 40, 1, { { 3, 20, EM_KEY_BYTES, 0, { 0 } } }, { NULL } },
	{ BY_KEYS, 0, 100, 2, { { 0, 80, EM_KEY_BYTES, 0, { 0 } },
	  { 90, 0, EM_KEY_I16, EM_KEY_DESCENDING, { 0 } } }, { NULL } },
	{ BY_COMPARISON, 0, 16, 1, { { 1, 2, EM_KEY_BYTES, 0, { 0 } } }, { NULL } },
	{ BY_COMPARISON, EM_FN_THREADS, 16, 1, { { 1, 2, EM_KEY_BYTES, 0, { 0 } } }, { NULL } },
	{ BY_COMPARISON, 0, 17, 1, { { 1, 2, EM_KEY_BYTES, 0, { 0 } } }, { NULL } },
	{ BY_COMPARISON, EM_FN_THREADS, 17, 1, { { 1, 2, EM_KEY_BYTES, 0, { 0 } } }, { NULL } },
	{ BY_COMPUTED, 0, 8, 1, { { 2, 1, EM_KEY_BYTES, 0, { 0 } } }, { NULL } },
	{ BY_COMPUTED, EM_FN_THREADS, 33, 1, { { 2, 1, EM_KEY_BYTES, 0, { 0 } } }, { NULL } },
	{ BY_TEMPLATE, 0, sizeof(medium), 0, { { 0, 0, 0, 0, { 0 } } }, { NULL } },
	{ BY_TEXT, 0, 0, 0, { { 0, 0, 0, 0, { 0 } } }, { NULL } },
	{ BY_TEXT, EM_TEXT_LAST_REVERSE, 0, 0, { { 0, 0, 0, 0, { 0 } } }, { NULL } },
	{ BY_TEXT, 0, 0, 1, { { 0, 0, 0, 0, { 0 } } }, { "2" } },
	{ BY_TEXT, EM_TEXT_KEYS_ONLY, 0, 2, { { 0, 0, 0, 0, { 0 } } }, { "2,2nr", "1,1" } },
};

static const char *const isas[] = { "scalar", "avx2", "avx512" };

static __attribute__((aligned(4096))) unsigned char work[EMI_KERN_WORK];

/* What functions of a caller's are given. */
typedef struct calls {
	size_t which;           /* of the orders */
	uint64_t n;             /* calls so far; ... */
	uint64_t fail_at;       /* ... this one fails; 0: none */
	uint64_t ticks;
	uint64_t stop_at;       /* this tick says that it is enough; 0: none */
} calls;

/* Records, their elements, and the order in which they should come. */
typedef struct bench {
	calls calls;
	em_order *order;
	emi_collation by;
	int apart;              /* elements refer to emi_frames */
	size_t n;
	unsigned char *records; /* n of `bytes' each */
	size_t bytes;
	size_t length[MOST];    /* of records of any length, which have frames ... */
	unsigned char *frames;  /* ... of FRAME bytes each, ... */
	emi_frame frame[MOST];  /* ... taken apart */
	size_t sorted[MOST];
	void *elems, *tmp, *made;
} bench;

static void *need(size_t bytes)
{
	void *p = malloc(bytes != 0 ? bytes : 1);

	assert_non_null(p);
	return p;
}

static int compare_called(const void *a, const void *b, void *user)
{
	calls *c = user;
	const em_key *key = &orders[c->which].key[0];

	if (++c->n == c->fail_at)
		return EM_CMP_ERROR;
	return memcmp((const unsigned char *)a + key->offset, (const unsigned char *)b + key->offset,
		      (size_t)key->width);
}

static int compute_called(const void *records, size_t n, uint64_t *keys, void *user)
{
	calls *c = user;
	const unsigned char *at = records;
	size_t i;

	for (i = 0; i < n; i++, at += orders[c->which].bytes)
		keys[i] = at[orders[c->which].key[0].offset];
	return ++c->n == c->fail_at;
}

static em_status tick_called(void *arg)
{
	calls *c = arg;

	return ++c->ticks == c->stop_at ? EM_ERR_CANCELED : EM_OK;
}

static em_status make_order(em_order **out, size_t which, calls *c)
{
	const em_text_opts opts = { sizeof opts, orders[which].flags, EM_TEXT_BLANKS, 0 };
	em_text_key key[2];
	uint32_t i;

	switch (orders[which].how) {
	case BY_KEYS:
		return em_order_keys(out, &key_ctx, orders[which].bytes, orders[which].key, orders[which].nkeys, NULL);
	case BY_COMPARISON:
		return em_order_cmp(out, &key_ctx, orders[which].bytes, "cmp", compare_called, orders[which].flags, c,
				    NULL, NULL);
	case BY_COMPUTED:
		return em_order_key_fn(out, &key_ctx, orders[which].bytes, "fn", compute_called, orders[which].flags, c,
				       NULL, NULL);
	case BY_TEMPLATE:
		return by_medium_order(out, &key_ctx, NULL);
	default:
		for (i = 0; i < orders[which].nkeys; i++)
			assert_int_equal(em_text_key_parse(&key[i], NULL, orders[which].text[i], NULL), EM_OK);
		return em_order_text(out, &key_ctx, key, orders[which].nkeys, &opts, NULL);
	}
}

static unsigned char *record_at(const bench *b, size_t i)
{
	return b->records + i * b->bytes;
}

static unsigned char *frame_at(const bench *b, size_t i)
{
	return b->frames + i * FRAME;
}

/* What collations compare: a record of one size, or a frame. */
static const void *item(const bench *b, size_t i)
{
	return b->by.vary != NULL ? frame_at(b, i) : record_at(b, i);
}

static int model(const bench *b, size_t i, size_t j)
{
	const unsigned char *x = record_at(b, i), *y = record_at(b, j);
	int c;

	if (b->by.vary == NULL)
		return em_order_compare(b->order, x, y);
	assert_int_equal(em_text_compare(b->order, x, b->length[i], y, b->length[j], &c), EM_OK);
	return c;
}

static const bench *sorting;

static int compare_stably(const void *a, const void *b)
{
	const size_t i = *(const size_t *)a, j = *(const size_t *)b;
	const int c = model(sorting, i, j);

	return c != 0 ? c : (i > j) - (i < j);
}

/* Half of the records are like another one, all of them or but for a byte. */
static void draw_records(bench *b)
{
	const int text = b->by.vary != NULL;
	size_t i, k;

	model_fill(&key_rng, b->records, b->n * b->bytes);
	for (i = 0; i < b->n; i++) {
		const size_t from = (size_t)test_below(&key_rng, i + 1);
		const int copy = from != i && test_below(&key_rng, 2) == 0;
		const uint64_t most = test_below(&key_rng, 4) != 0 ? 8 : LONGEST;

		b->length[i] = copy ? b->length[from] : (size_t)test_below(&key_rng, most + 1);
		for (k = 0; text && k < b->bytes; k++)
			record_at(b, i)[k] = (unsigned char)" ab17\t"[test_below(&key_rng, 6)];
		if (copy)
			memcpy(record_at(b, i), record_at(b, from), b->bytes);
		if (copy && test_below(&key_rng, 4) != 0)
			record_at(b, i)[test_below(&key_rng, b->bytes)] =
				(unsigned char)"a \x80"[test_below(&key_rng, 3)];
	}
}

static void make_frames(bench *b)
{
	size_t i;

	for (i = 0; i < b->n; i++) {
		unsigned char *to = frame_at(b, i);

		assert_true(emi_frame_make(b->by.vary, record_at(b, i), b->length[i], to, FRAME - SLACK, NULL) != 0);
		b->frame[i] = emi_frame_get(b->by.vary, to);
	}
}

static void bench_open(bench *b, size_t which, size_t n)
{
	size_t i;

	memset(b, 0, sizeof *b);
	b->calls.which = which;
	b->n = n;
	assert_int_equal(make_order(&b->order, which, &b->calls), EM_OK);
	assert_int_equal(emi_collation_open(&b->by, b->order, tick_called, &b->calls, NULL), EM_OK);
	assert_ptr_equal(b->by.vary, emi_order_vary(b->order));
	assert_true((b->by.own != NULL) != (b->by.kern != NULL));
	b->bytes = b->by.vary != NULL ? LONGEST : orders[which].bytes;
	b->records = need(n * b->bytes);
	b->frames = need(n * FRAME);
	b->elems = need(n * b->by.codec->elem_bytes);
	b->tmp = need(n * b->by.codec->elem_bytes);
	b->made = need(n * b->by.codec->elem_bytes);
	draw_records(b);
	if (b->by.vary != NULL)
		make_frames(b);
	for (i = 0; i < n; i++)
		b->sorted[i] = i;
	sorting = b;
	qsort(b->sorted, n, sizeof b->sorted[0], compare_stably);
	b->calls.n = 0;
}

static void bench_close(bench *b)
{
	emi_collation_close(&b->by);
	em_order_close(b->order);
	free(b->records);
	free(b->frames);
	free(b->elems);
	free(b->tmp);
	free(b->made);
}

static emi_tie tie_of(const bench *b)
{
	return b->apart ? emi_collation_frames(&b->by) : b->by.tie;
}

static char *elem_at(const bench *b, void *elems, size_t i)
{
	return (char *)elems + i * b->by.codec->elem_bytes;
}

static void load(bench *b)
{
	emi_pair *e = b->elems;
	size_t i;

	if (b->by.vary == NULL)
		emi_collation_load(&b->by, b->records, b->n, b->elems);
	for (i = 0; b->by.vary != NULL && i < b->n; i++) {
		const emi_pair whole = { emi_collation_key(&b->by, frame_at(b, i)), (uintptr_t)frame_at(b, i) };

		e[i] = b->apart ? emi_frame_elem(b->by.vary, &b->frame[i]) : whole;
	}
}

/* Is this the element of that record? */
static void assert_elem(const bench *b, const void *elem, size_t i)
{
	const void *refers = b->apart ? (const void *)&b->frame[i] : frame_at(b, i);
	unsigned char room[128];

	if (b->by.vary != NULL) {
		assert_ptr_equal((const void *)(uintptr_t)((const emi_pair *)elem)->val, refers);
		return;
	}
	emi_collation_store(&b->by, elem, 1, room);
	assert_memory_equal(room, record_at(b, i), b->bytes);
}

static void assert_sorted(const bench *b, void *elems)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		assert_elem(b, elem_at(b, elems, i), b->sorted[i]);
}

static void sort_part(bench *b, size_t begin, size_t end)
{
	const emi_tie tie = tie_of(b);

	emi_collation_sort(&b->by, &tie, elem_at(b, b->elems, begin), b->tmp, end - begin, work);
}

/* Two sorted halves, in windows. */
static void make_windows(bench *b, emi_window win[2])
{
	const size_t half = b->n / 3;

	load(b);
	sort_part(b, 0, half);
	sort_part(b, half, b->n);
	win[0].cur = b->elems;
	win[0].end = win[1].cur = elem_at(b, b->elems, half);
	win[1].end = elem_at(b, b->elems, b->n);
}

/* Merge them, some at a time; returns how many came out. */
static size_t merge(bench *b, emi_window win[2], const emi_tie *tie, emi_recode_fn recode)
{
	uint64_t tree[16];
	emi_merging m;
	size_t done = 0, n, cap;
	uint32_t dry;

	assert_true(emi_merge_tree_bytes(2) <= sizeof tree);
	emi_merging_start(&m, &b->by, 2, win, tree, tie, recode);
	do {
		cap = 1 + (size_t)test_below(&key_rng, 50);
		cap = cap < b->n - done ? cap : b->n - done;
		n = emi_merging_run(&m, elem_at(b, b->made, done), cap, &dry);
		done += n;
	} while (done < b->n && (dry != EMI_NONE || n == cap));
	return done;
}

static void check_merge(bench *b)
{
	const emi_tie tie = tie_of(b), by_codes = { .arg = &b->by.codes };
	emi_window win[2];

	make_windows(b, win);
	assert_true(merge(b, win, &tie, NULL) == b->n);
	assert_sorted(b, b->made);
	if (b->by.codes.n == 0)
		return;
	make_windows(b, win);
	emi_codes_make(&b->by.codes, b->elems, b->n / 3, NULL);
	emi_codes_make(&b->by.codes, (emi_pair *)b->elems + b->n / 3, b->n - b->n / 3, NULL);
	assert_true(merge(b, win, &by_codes, emi_codes_recode) == b->n);
	assert_sorted(b, b->made);
}

static void check_mix(bench *b)
{
	const size_t most = b->by.own != NULL ? OWN_MIX : EMI_MIX;
	unsigned char *out, *tmp;
	emi_window win[2];
	size_t taken[2], done = 0, n, i;
	emi_mixing m;

	if (!emi_collation_mixes(&b->by))
		return;
	out = need(most * b->by.codec->elem_bytes);
	tmp = need(most * b->by.codec->elem_bytes);
	make_windows(b, win);
	emi_mixing_start(&m, &b->by, 2, win, taken, most);
	while ((n = emi_mixing_run(&m, out, tmp)) != 0) {
		assert_true(n <= most && n <= b->n - done);
		for (i = 0; i < n; i++)
			assert_elem(b, elem_at(b, out, i), b->sorted[done + i]);
		done += n;
	}
	assert_true(done == b->n);
	free(out);
	free(tmp);
}

static int sign(int c)
{
	return (c > 0) - (c < 0);
}

static void check_compare(bench *b)
{
	const emi_tie tie = tie_of(b);
	size_t k;

	load(b);
	for (k = 0; k < 500; k++) {
		const size_t i = (size_t)test_below(&key_rng, b->n), j = (size_t)test_below(&key_rng, b->n);
		const int c = model(b, i, j);

		assert_int_equal(sign(emi_collation_compare(&b->by, item(b, i), item(b, j))), c);
		assert_int_equal(sign(emi_elem_compare(&b->by, &tie, elem_at(b, b->elems, i), elem_at(b, b->elems, j))),
				 c);
	}
}

static void check_all(bench *b)
{
	em_errinfo err = { 0 };

	check_compare(b);
	load(b);
	sort_part(b, 0, b->n);
	assert_sorted(b, b->elems);
	check_merge(b);
	check_mix(b);
	assert_int_equal(emi_collation_check(&b->by, &err), EM_OK);
}

/* Every order, with every kernel. */
static void test_orders(void **state)
{
	static const size_t sizes[] = { 1, 2, 9, 100, MOST };
	size_t isa, which, k;

	(void)state;
	for (isa = 0; isa < COUNT(isas); isa++) {
		key_ctx.isa = isas[isa];
		if (emi_kernels_for(EMI_ELEM_U64, key_ctx.isa) == NULL)
			continue;
		for (which = 0; which < COUNT(orders); which++) {
			for (k = 0; k < COUNT(sizes); k++) {
				bench b;

				bench_open(&b, which, sizes[k]);
				check_all(&b);
				b.apart = 1;
				if (b.by.vary != NULL)
					check_all(&b);
				b.apart = 0;
				bench_close(&b);
			}
		}
	}
	key_ctx.isa = NULL;
}

/* Orders differ in what decides: keys alone, or ties; and only what is long has codes. */
static void test_shapes(void **state)
{
	size_t which;

	(void)state;
	for (which = 0; which < COUNT(orders); which++) {
		const size_t width = orders[which].nkeys == 0 ? 0 : model_width(&orders[which].key[0]);
		const int by_keys = orders[which].how == BY_KEYS;
		bench b;

		bench_open(&b, which, 1);
		assert_int_equal(b.by.tie.fn == NULL,
				 orders[which].how == BY_COMPUTED || (by_keys && width <= 8 && which != 4));
		assert_int_equal(b.by.codes.n != 0, by_keys && width > 8);
		assert_int_equal(b.by.own != NULL,
				 orders[which].how == BY_TEMPLATE ||
					 (orders[which].how == BY_COMPARISON && orders[which].bytes == 16));
		bench_close(&b);
	}
}

/* The function fails at this call: everything comes to an end, and only the collation that called it knows. */
static void fail_comparison(size_t which, uint64_t at, int merges)
{
	em_errinfo err = { 0 };
	emi_collation other;
	emi_window win[2];
	emi_tie tie;
	bench b;

	bench_open(&b, which, MOST);
	tie = tie_of(&b);
	make_windows(&b, win);
	if (!merges)
		load(&b);
	assert_int_equal(emi_collation_open(&other, b.order, NULL, NULL, &err), EM_OK);
	b.calls.n = 0;
	b.calls.fail_at = at;
	if (merges)
		assert_true(merge(&b, win, &tie, NULL) == MOST);
	else
		sort_part(&b, 0, MOST);
	assert_true(b.calls.n == at);
	assert_int_equal(emi_collation_check(&b.by, &err), EM_ERR_USER);
	assert_non_null(strstr(err.text, "comparison function"));
	assert_int_equal(emi_collation_check(&other, &err), EM_OK);
	emi_collation_close(&other);
	/* It has forgotten that when it begins anew. */
	emi_collation_watch(&b.by, NULL, NULL);
	assert_int_equal(emi_collation_check(&b.by, &err), EM_OK);
	check_all(&b);
	bench_close(&b);
}

static void test_failing_comparison(void **state)
{
	size_t which;

	(void)state;
	for (which = 0; which < COUNT(orders); which++) {
		if (orders[which].how != BY_COMPARISON)
			continue;
		fail_comparison(which, 1, 0);
		fail_comparison(which, 600, 0);
		fail_comparison(which, 1, 1);
		fail_comparison(which, 200, 1);
	}
}

/* A copy that begins anew has failures of its own. */
static void test_copy(void **state)
{
	size_t which;

	(void)state;
	for (which = 0; which < COUNT(orders); which++) {
		em_errinfo err = { 0 };
		emi_collation first;
		bench b;

		if (orders[which].how != BY_COMPARISON)
			continue;
		bench_open(&b, which, MOST);
		first = b.by;
		emi_collation_watch(&first, NULL, NULL);
		load(&b);
		b.calls.fail_at = 5;
		sort_part(&b, 0, MOST);
		assert_int_equal(emi_collation_check(&b.by, &err), EM_ERR_USER);
		assert_int_equal(emi_collation_check(&first, &err), EM_OK);
		b.calls.n = b.calls.fail_at - 1;
		assert_int_equal(emi_collation_compare(&first, item(&b, 0), item(&b, 1)), 0);
		assert_int_equal(emi_collation_check(&first, &err), EM_ERR_USER);
		bench_close(&b);
	}
}

/* Failures of keys are the order's: who began before sees them, who comes later does not. */
static void test_failing_keys(void **state)
{
	size_t which;

	(void)state;
	for (which = 0; which < COUNT(orders); which++) {
		em_errinfo err = { 0 };
		emi_collation later;
		bench b;

		if (orders[which].how != BY_COMPUTED)
			continue;
		bench_open(&b, which, MOST);
		b.calls.fail_at = 2;
		load(&b);
		assert_int_equal(emi_collation_check(&b.by, &err), EM_ERR_USER);
		assert_non_null(strstr(err.text, "computes keys"));
		assert_int_equal(emi_collation_open(&later, b.order, NULL, NULL, &err), EM_OK);
		assert_int_equal(emi_collation_check(&later, &err), EM_OK);
		emi_collation_close(&later);
		bench_close(&b);
	}
}

/* A sort by a function is watched, also where the function may be called on other threads, and stopped. */
static void test_ticks(void **state)
{
	size_t which;

	(void)state;
	for (which = 0; which < COUNT(orders); which++) {
		em_errinfo err = { 0 };
		bench b;

		if (orders[which].how != BY_COMPARISON)
			continue;
		bench_open(&b, which, MOST);
		load(&b);
		sort_part(&b, 0, MOST);
		assert_sorted(&b, b.elems);
		assert_true(b.calls.ticks >= 3);
		assert_true(b.calls.n > 3000);
		b.calls.n = b.calls.ticks = 0;
		b.calls.stop_at = 1;
		emi_collation_watch(&b.by, tick_called, &b.calls);
		load(&b);
		sort_part(&b, 0, MOST);
		assert_true(b.calls.n > 0 && b.calls.n < 1100);
		/* To be stopped is no failure. */
		assert_int_equal(emi_collation_check(&b.by, &err), EM_OK);
		bench_close(&b);
	}
}

/* It needs nobody else to hold the order; and there have to be kernels, unless the order has its own. */
static void test_life(void **state)
{
	size_t which;

	(void)state;
	for (which = 0; which < COUNT(orders); which++) {
		em_errinfo err = { 0 };
		emi_collation by;
		em_order *order;
		calls c = { .which = which };

		assert_int_equal(make_order(&order, which, &c), EM_OK);
		assert_int_equal(emi_collation_open(&by, order, NULL, NULL, &err), EM_OK);
		em_order_close(order);
		assert_ptr_equal(by.order, order);
		assert_true(em_order_record_size(by.order) == orders[which].bytes);
		emi_collation_close(&by);
		emi_collation_close(&by);
		model_ctx_assert_clean(&key_ctx);

		key_ctx.isa = "none";
		assert_int_equal(make_order(&order, which, &c), EM_OK);
		if (emi_order_own(order) != NULL) {
			assert_int_equal(emi_collation_open(&by, order, NULL, NULL, &err), EM_OK);
			emi_collation_close(&by);
		} else {
			assert_int_equal(emi_collation_open(&by, order, NULL, NULL, &err), EM_ERR_NOTSUP);
			assert_non_null(strstr(err.text, "none"));
		}
		em_order_close(order);
		key_ctx.isa = NULL;
		model_ctx_assert_clean(&key_ctx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_failing_comparison),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_failing_keys),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_life),
	};

	return cmocka_run_group_tests_name("key/collation", tests, key_setup, key_teardown);
}
