/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_codes.c -- merging elements whose keys are offset-value codes.
 *
 * A record is a few digits; its code tells how many of them it shares with the record before it in its window, and
 * the next one.  Few different digits and many records make draws of every kind.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "kern_model.h"

#define DIGITS 6u
#define MOST 3000u

typedef struct record {
	unsigned char digit[DIGITS];
	uint32_t window, pos;
} record;

static int by_digits(const void *a, const void *b)
{
	return memcmp(((const record *)a)->digit, ((const record *)b)->digit, DIGITS);
}

/* As they must come out: equal ones by window, then by place. */
static int by_all(const void *a, const void *b)
{
	const record *x = a, *y = b;
	const int c = by_digits(a, b);

	if (c != 0)
		return c;
	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	return (x->pos > y->pos) - (x->pos < y->pos);
}

static uint64_t code_at(const record *r, unsigned offset)
{
	return offset == DIGITS ? 0 : (uint64_t)(DIGITS - offset) << 8 | r->digit[offset];
}

static unsigned common(const record *a, const record *b)
{
	unsigned i = 0;

	while (i < DIGITS && a->digit[i] == b->digit[i])
		i++;
	return i;
}

static int recode(void *arg, uint64_t a, uint64_t b, uint64_t code, uint64_t *lose)
{
	const record *x = (const record *)(uintptr_t)a, *y = (const record *)(uintptr_t)b;
	const unsigned same = common(x, y), agreed = DIGITS - (unsigned)(code >> 8);
	const int c = by_digits(x, y);

	/* A draw is between records that agree in what the code says, and it is told who they are. */
	assert_true(same >= agreed);
	assert_true(code == 0 || same > agreed);
	*(size_t *)arg += 1;
	*lose = code_at(c > 0 ? x : y, same);
	return c;
}

/* Elements of the next records of a window. */
static void refill(test_rng *rng, emi_window *win, emi_pair *room, const record *records, size_t *at, size_t n,
		   size_t most)
{
	size_t i, some = 1 + (size_t)test_below(rng, most);

	if (some > n - *at)
		some = n - *at;
	for (i = 0; i < some; i++) {
		const record *r = records + *at + i;

		room[i].key = code_at(r, *at + i != 0 ? common(r - 1, r) : 0);
		room[i].val = (uintptr_t)r;
	}
	*at += some;
	win->cur = room;
	win->end = room + some;
}

/* Random records in k sorted windows, merged; returns how many draws there were. */
static size_t check(test_rng *rng, const emi_kernels *kern, uint32_t k, size_t n, unsigned digits)
{
	record *all = calloc(n + 1, sizeof *all), *expected = calloc(n + 1, sizeof *expected);
	size_t *start = calloc(k + 1, sizeof *start), *at = calloc(k, sizeof *at), i, done = 0, draws = 0;
	const size_t most = 1 + (size_t)test_below(rng, 20);
	emi_pair *room = calloc(k * most, sizeof *room), out[16];
	emi_window *win = calloc(k, sizeof *win);
	uint32_t s, dry;
	emi_merge m;

	assert_true(all && expected && start && at && room && win);
	for (i = 0; i < n; i++) {
		unsigned d;

		for (d = 0; d < DIGITS; d++)
			all[i].digit[d] = (unsigned char)test_below(rng, digits);
	}
	for (s = 0; s < k; s++)
		start[s + 1] = s + 1 == k ? n : start[s] + (size_t)test_below(rng, n - start[s] + 1);
	for (s = 0; s < k; s++) {
		qsort(all + start[s], start[s + 1] - start[s], sizeof *all, by_digits);
		for (i = start[s]; i < start[s + 1]; i++) {
			all[i].window = s;
			all[i].pos = (uint32_t)i;
		}
	}
	memcpy(expected, all, n * sizeof *all);
	qsort(expected, n, sizeof *all, by_all);

	memset(&m, 0, sizeof m);
	m.k = k;
	m.win = win;
	m.tree = malloc(emi_merge_tree_bytes(k));
	m.tie.arg = &draws;
	m.recode = recode;
	assert_non_null(m.tree);
	for (s = 0; s < k; s++)
		refill(rng, &win[s], room + s * most, all + start[s], &at[s], start[s + 1] - start[s], most);
	kern->merge_start(&m);
	for (;;) {
		const size_t cap = 1 + (size_t)test_below(rng, 16), got = kern->merge_run(&m, out, cap, &dry);

		for (i = 0; i < got; i++, done++) {
			const record *r = (const record *)(uintptr_t)out[i].val;

			assert_true(done < n);
			assert_int_equal(by_all(r, &expected[done]), 0);
		}
		if (dry != EMI_NONE)
			refill(rng, &win[dry], room + dry * most, all + start[dry], &at[dry],
			       start[dry + 1] - start[dry], most);
		else if (got < cap)
			break;
	}
	assert_int_equal(done, n);
	free(m.tree);
	free(win);
	free(room);
	free(at);
	free(start);
	free(expected);
	free(all);
	return draws;
}

static void test_codes(void **state)
{
	static const char *const isas[] = { "scalar", "avx2", "avx512" };
	test_rng rng = test_rng_make(test_seed());
	unsigned i, round, tried = 0;
	size_t draws = 0;

	(void)state;
	for (i = 0; i < 3; i++) {
		const emi_kernels *kern = emi_kernels_for(EMI_ELEM_PAIR, isas[i]);

		if (kern == NULL)
			continue;
		tried++;
		for (round = 0; round < 400; round++)
			draws += check(&rng, kern, 1 + (uint32_t)test_below(&rng, 40), (size_t)test_below(&rng, MOST),
				       1 + (unsigned)test_below(&rng, 5));
	}
	assert_true(tried > 0 && draws > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_codes) };

	return cmocka_run_group_tests_name("merge_codes", tests, NULL, NULL);
}
