/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_mix_sizes.c -- merging windows by digits that are in memory as a whole, of every instruction set, against
 * qsort(): of every size up to 2000 keys, and of some that take several steps.  Few windows lie each between pages that
 * nobody may touch, many are one array between such pages.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "kern_model.h"

#define MOST ((size_t)2000)
#define LARGE ((size_t)40000)
#define APART 16u               /* so many windows have pages of their own */

typedef struct mixing {
	test_rng rng;
	emi_elem elem;
	size_t bytes;           /* of an element */
	model_pattern how;
	size_t n;
	uint32_t k;
	emi_pair *in;
	char *raw;              /* the windows, one behind the other */
	char *want;
	size_t start[EMI_MIX_MOST + 1];
	guard window[APART];
	guard all, out, tmp, list, taken;
} mixing;

static size_t below(mixing *m, size_t n)
{
	return (size_t)test_below(&m->rng, n);
}

static void mixing_fail(const mixing *m, const char *what, const emi_kernels *k)
{
	fprintf(stderr, "%s: isa %s, element %s, %u windows, n %zu, pattern %s, EXTMEM_TEST_SEED=%llu\n", what, k->isa,
		model_elem_name(m->elem), (unsigned)m->k, m->n, model_pattern_names[m->how],
		(unsigned long long)test_seed());
	fail();
}

static void mixing_init(mixing *m, emi_elem elem)
{
	uint32_t s;

	memset(m, 0, sizeof *m);
	m->rng = test_rng_make(test_seed());
	m->elem = elem;
	m->bytes = elem == EMI_ELEM_U32 ? 4 : elem == EMI_ELEM_U64 ? 8 : sizeof(emi_pair);
	m->in = malloc(LARGE * sizeof *m->in);
	m->raw = malloc(LARGE * m->bytes);
	m->want = malloc(LARGE * m->bytes);
	assert_true(m->in != NULL && m->raw != NULL && m->want != NULL);
	for (s = 0; s < APART; s++)
		guard_init(&m->window[s], LARGE * m->bytes);
	guard_init(&m->all, LARGE * m->bytes);
	guard_init(&m->out, EMI_MIX * m->bytes);
	guard_init(&m->tmp, EMI_MIX * m->bytes);
	guard_init(&m->list, EMI_MIX_MOST * sizeof(emi_window));
	guard_init(&m->taken, EMI_MIX_MOST * sizeof(size_t));
}

static void mixing_free(mixing *m)
{
	uint32_t s;

	for (s = 0; s < APART; s++)
		guard_free(&m->window[s]);
	guard_free(&m->all);
	guard_free(&m->out);
	guard_free(&m->tmp);
	guard_free(&m->list);
	guard_free(&m->taken);
	free(m->in);
	free(m->raw);
	free(m->want);
}

static int by_size(const void *a, const void *b)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

/* n keys in sorted windows; sometimes these do not overlap, as runs of sorted input do. */
static void make_input(mixing *m, size_t n)
{
	const int apart = below(m, 8) == 0;
	uint32_t s;
	size_t i;

	m->n = n;
	m->how = (model_pattern)below(m, P_COUNT);
	m->k = 1 + (uint32_t)below(m, below(m, 2) == 0 ? APART : EMI_MIX_MOST);
	model_keys(&m->rng, m->how, m->elem, m->in, n);
	if (apart)
		qsort(m->in, n, sizeof *m->in, model_by_all);
	m->start[0] = 0;
	for (s = 1; s < m->k; s++)
		m->start[s] = below(m, 6) == 0 ? n : below(m, n + 1);
	m->start[m->k] = n;
	qsort(m->start + 1, m->k, sizeof *m->start, by_size);
	for (s = 0; s < m->k; s++)
		qsort(m->in + m->start[s], m->start[s + 1] - m->start[s], sizeof *m->in, model_by_all);
	/* Values are places among the windows: equal keys keep their order. */
	for (i = 0; i < n; i++)
		m->in[i].val = i;
	for (i = 0; i < n; i++)
		model_put(m->elem, m->raw, i, &m->in[i]);
	qsort(m->in, n, sizeof *m->in, model_by_all);
	for (i = 0; i < n; i++)
		model_put(m->elem, m->want, i, &m->in[i]);
}

/* Put the windows where they are read. */
static void place_windows(mixing *m, emi_window *win)
{
	char *all = m->k > APART ? guard_take(&m->all, m->n * m->bytes, (int)below(m, GUARD_PLACES), m->bytes) : NULL;
	uint32_t s;

	for (s = 0; s < m->k; s++) {
		const size_t at = m->start[s] * m->bytes, bytes = m->start[s + 1] * m->bytes - at;
		char *a = all != NULL ? all + at
				      : guard_take(&m->window[s], bytes, (int)below(m, GUARD_PLACES), m->bytes);

		if (bytes != 0)
			memcpy(a, m->raw + at, bytes);
		win[s].cur = a;
		win[s].end = a + bytes;
	}
}

static void check_mix(mixing *m, const emi_kernels *k)
{
	emi_mix mix;
	size_t done = 0, got;
	uint32_t s;

	memset(&mix, 0, sizeof mix);
	mix.k = m->k;
	mix.win = guard_take(&m->list, m->k * sizeof *mix.win, (int)below(m, 2), sizeof(void *));
	mix.taken = guard_take(&m->taken, m->k * sizeof *mix.taken, (int)below(m, 2), sizeof(size_t));
	place_windows(m, mix.win);
	do {
		void *out = guard_take(&m->out, EMI_MIX * m->bytes, (int)below(m, GUARD_PLACES), m->bytes);
		void *tmp = guard_take(&m->tmp, EMI_MIX * m->bytes, (int)below(m, GUARD_PLACES), m->bytes);

		got = k->mix(&mix, out, tmp);
		if (got > EMI_MIX || got > m->n - done || memcmp(out, m->want + done * m->bytes, got * m->bytes) != 0)
			mixing_fail(m, "mix", k);
		done += got;
		guard_check(&m->out);
		guard_check(&m->tmp);
		guard_check(&m->list);
		guard_check(&m->taken);
	} while (got != 0);
	if (done != m->n)
		mixing_fail(m, "mix ended early", k);
	for (s = 0; s < m->k; s++)
		assert_ptr_equal(mix.win[s].cur, mix.win[s].end);
}

static void check_all(emi_elem elem)
{
	mixing *m = malloc(sizeof *m);
	size_t n, i;
	int tried = 0;

	assert_non_null(m);
	mixing_init(m, elem);
	for (n = 0; n <= MOST + 50; n++) {
		make_input(m, n <= MOST ? n : MOST + below(m, LARGE - MOST));
		for (i = 0; model_isas[i] != NULL; i++) {
			const emi_kernels *k = emi_kernels_for(elem, model_isas[i]);

			if (k == NULL)
				continue;
			check_mix(m, k);
			tried++;
		}
	}
	assert_true(tried > (int)MOST);
	mixing_free(m);
	free(m);
}

static void test_u32(void **state)
{
	(void)state;
	check_all(EMI_ELEM_U32);
}

static void test_u64(void **state)
{
	(void)state;
	check_all(EMI_ELEM_U64);
}

static void test_pair(void **state)
{
	(void)state;
	check_all(EMI_ELEM_PAIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u32),
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_pair),
	};

	return cmocka_run_group_tests_name("mix sizes", tests, NULL, NULL);
}
