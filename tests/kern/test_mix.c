/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_mix.c -- merging windows some thousand elements at a time: what comes out, against all elements sorted by qsort.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "kern_model.h"

#define MOST 60000u
#define CANARY 0xa5

static const emi_elem elems[] = { EMI_ELEM_U32, EMI_ELEM_U64, EMI_ELEM_PAIR };
#define ELEMS (sizeof elems / sizeof *elems)

typedef struct bench {
	const emi_kernels *kern;
	emi_elem elem;
	emi_pair *p;            /* MOST */
	emi_pair *model;        /* a value is the place among the windows: equal keys keep their order */
	char *a, *out, *tmp;
	emi_window win[EMI_MIX_MOST];
	size_t taken[EMI_MIX_MOST];
	size_t end[EMI_MIX_MOST];
} bench;

static void bench_open(bench *b, const char *isa, emi_elem elem)
{
	b->kern = emi_kernels_for(elem, isa);
	b->elem = elem;
	b->p = malloc(MOST * sizeof *b->p);
	b->model = malloc(MOST * sizeof *b->model);
	b->a = malloc(MOST * sizeof(emi_pair));
	b->out = malloc((EMI_MIX + 1) * sizeof(emi_pair));
	b->tmp = malloc((EMI_MIX + 1) * sizeof(emi_pair));
	assert_true(b->p != NULL && b->model != NULL && b->a != NULL && b->out != NULL && b->tmp != NULL);
}

static void bench_close(bench *b)
{
	free(b->p);
	free(b->model);
	free(b->a);
	free(b->out);
	free(b->tmp);
}

/* Windows end at b->end[0..k); sort each, and all. */
static void make_windows(bench *b, size_t n, uint32_t k)
{
	const size_t eb = b->kern->elem_bytes;
	size_t i, from = 0;
	uint32_t w;

	for (i = 0; i < n; i++)
		model_put(b->elem, b->a, i, &b->p[i]);
	for (i = 0; i < n; i++)
		b->model[i] = model_get(b->elem, b->a, i);
	for (w = 0; w < k; from = b->end[w++]) {
		qsort(b->model + from, b->end[w] - from, sizeof *b->model, model_by_all);
		for (i = from; i < b->end[w]; i++) {
			b->model[i].val = i;
			model_put(b->elem, b->a, i, &b->model[i]);
		}
		b->win[w].cur = b->a + from * eb;
		b->win[w].end = b->a + b->end[w] * eb;
	}
	qsort(b->model, n, sizeof *b->model, model_by_all);
}

/* Is element i of what came out the one that is wanted? */
static int is(const bench *b, size_t i, const emi_pair *want)
{
	const emi_pair got = model_get(b->elem, b->out, i);

	return got.key == want->key && (b->elem != EMI_ELEM_PAIR || got.val == want->val);
}

static void check(bench *b, size_t n, uint32_t k, const char *what)
{
	const size_t eb = b->kern->elem_bytes;
	emi_mix m = { k, b->win, b->taken, 0 };
	size_t done = 0, got, i;

	for (;;) {
		memset(b->out, CANARY, (EMI_MIX + 1) * eb);
		memset(b->tmp + EMI_MIX * eb, CANARY, eb);
		got = b->kern->mix(&m, b->out, b->tmp);
		assert_true(got <= EMI_MIX);
		for (i = got * eb; i < (EMI_MIX + 1) * eb; i++)
			if ((unsigned char)b->out[i] != CANARY)
				fail_msg("%s, %u windows: written behind the %zu that came out", what, (unsigned)k,
					 got);
		for (i = EMI_MIX * eb; i < (EMI_MIX + 1) * eb; i++)
			if ((unsigned char)b->tmp[i] != CANARY)
				fail_msg("%s, %u windows: written behind the end", what, (unsigned)k);
		if (got == 0)
			break;
		if (got > EMI_MIX || got > n - done)
			fail_msg("%s, %u windows: %zu keys behind %zu of %zu", what, (unsigned)k, got, done, n);
		for (i = 0; i < got; i++)
			if (!is(b, i, &b->model[done + i]))
				fail_msg("%s, %s, %s, %u windows: element %zu of %zu is wrong", b->kern->isa,
					 model_elem_name(b->elem), what, (unsigned)k, done + i, n);
		done += got;
	}
	assert_int_equal(done, n);
}

/* Every pattern, in windows of any size, some of them empty. */
static void test_patterns(void **state)
{
	static const uint32_t ks[] = { 1, 2, 4, 7, 32, 64, 65, EMI_MIX_MOST };
	test_rng rng = test_rng_make(test_seed());
	unsigned isa, e, how, i;
	uint32_t w;

	(void)state;
	for (isa = 0; model_isas[isa] != NULL; isa++) {
		for (e = 0; e < ELEMS; e++) {
			bench b;

			if (emi_kernels_for(elems[e], model_isas[isa]) == NULL)
				continue;
			bench_open(&b, model_isas[isa], elems[e]);
			for (how = 0; how < P_COUNT; how++) {
				for (i = 0; i < sizeof ks / sizeof *ks; i++) {
					const size_t n =
						(size_t)test_below(&rng, test_below(&rng, 4) == 0 ? 50 : 20000);

					model_keys(&rng, (model_pattern)how, elems[e], b.p, n);
					for (w = 0; w < ks[i]; w++)
						b.end[w] = w + 1 == ks[i]	      ? n
							   : test_below(&rng, 3) == 0 ? (w == 0 ? 0 : b.end[w - 1])
										      : n / ks[i] * (w + 1);
					make_windows(&b, n, ks[i]);
					check(&b, n, ks[i], model_pattern_names[how]);
				}
			}
			bench_close(&b);
		}
	}
}

/* Windows that do not overlap, in order and in reverse; and one that is far larger than the others. */
static void test_apart(void **state)
{
	test_rng rng = test_rng_make(test_seed() + 1);
	unsigned isa, e, way;

	(void)state;
	for (isa = 0; model_isas[isa] != NULL; isa++) {
		for (e = 0; e < ELEMS; e++) {
			for (way = 0; way < 3; way++) {
				const uint32_t k = way == 2 ? 3 : 20;
				const size_t n = MOST;
				uint32_t w;
				size_t i;
				bench b;

				if (emi_kernels_for(elems[e], model_isas[isa]) == NULL)
					continue;
				bench_open(&b, model_isas[isa], elems[e]);
				model_keys(&rng, P_RANDOM, elems[e], b.p, n);
				for (w = 0; w < k; w++)
					b.end[w] = way < 2 || w + 1 == k ? n / k * (w + 1) : 10 * ((size_t)w + 1);
				for (i = 0; way < 2 && i < n; i++) {
					const uint64_t part = way == 0 ? i / (n / k) : k - 1 - i / (n / k);

					b.p[i].key = (b.p[i].key & 0xffffff) | part << 24;
				}
				make_windows(&b, n, k);
				check(&b, n, k, way == 0 ? "in order" : way == 1 ? "reversed" : "one is large");
				bench_close(&b);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_patterns), cmocka_unit_test(test_apart) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
