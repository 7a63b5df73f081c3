/* SPDX-License-Identifier: BSL-1.0 */
/*
 * own_order.c -- sort records by an order that no list of keys can tell, at the speed of one that can.
 *
 * Offers, by their price for a kilogram: the cheapest first, as fractions, which are compared without dividing; of
 * equally cheap ones those of more first.  The comparison becomes part of the code that sorts.  Build it against an
 * installed library with
 *
 *	cc -O2 own_order.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define OFFERS 1000000u

typedef struct offer {
	uint32_t cents, grams;
	uint64_t number;
} offer;

/* cents / grams of a is less than that of b; & and | rather than && and ||, as there is nothing to be saved by not
 * comparing. */
#define PRICE(a, b) ((uint64_t)(a)->cents * (b)->grams)
#define EM_GEN_NAME by_price
#define EM_GEN_RECORD offer
#define EM_GEN_LESS(a, b) ((PRICE(a, b) < PRICE(b, a)) | ((PRICE(a, b) == PRICE(b, a)) & ((a)->grams > (b)->grams)))
#include <extmem/gen/order.h>

/* Say what went wrong, and stop. */
static void check(em_status status, const char *what, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "own_order: %s: %s\n", what, err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

/* Sorters keep the detail of a failure themselves. */
static void check_sorter(em_status status, const char *what, const em_sorter *sorter)
{
	em_errinfo err;

	if (status >= 0)
		return;
	em_sorter_error(sorter, &err);
	check(status, what, &err);
}

/* A generator that is good enough to shuffle with: xorshift. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

int main(void)
{
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	em_sort_opts sort_opts = EM_SORT_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx;
	em_order *order;
	em_sorter *sorter;
	const em_batch *batch;
	em_status status;
	uint64_t state = 1, n = 0;
	offer previous = { 0, UINT32_MAX, 0 };

	ctx_opts.memory = 8 << 20;
	ctx_opts.errinfo = &err;
	sort_opts.errinfo = &err;
	check(em_ctx_open(&ctx, &ctx_opts), "context", &err);
	check(by_price_order(&order, ctx, &err), "order", &err);
	check(em_sorter_open(&sorter, ctx, order, &sort_opts), "sorter", &err);
	for (n = 0; n < OFFERS; n++) {
		const offer o = { (uint32_t)(draw(&state) % 10000), (uint32_t)(1 + draw(&state) % 5000), n };

		check_sorter(em_sorter_push(sorter, &o, 1), "push", sorter);
	}
	check_sorter(em_sorter_finish(sorter), "finish", sorter);
	for (n = 0; (status = em_sorter_next(sorter, &batch)) == EM_OK; n += batch->n) {
		const offer *o = (const offer *)batch->records;
		size_t i;

		for (i = 0; i < batch->n; previous = o[i++])
			if (by_price_less(&o[i], &previous, NULL)) {
				fprintf(stderr, "own_order: offer %" PRIu64 " is out of order\n", o[i].number);
				return EXIT_FAILURE;
			}
	}
	check_sorter(status, "next", sorter);
	printf("%" PRIu64 " offers, the dearest costs %" PRIu32 " cents for %" PRIu32 " grams\n", n, previous.cents,
	       previous.grams);
	em_sorter_close(sorter);
	em_order_close(order);
	em_ctx_close(ctx);
	return n == OFFERS ? EXIT_SUCCESS : EXIT_FAILURE;
}
