/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_numbers.c -- push numbers in, pull them out sorted.
 *
 * Ten million random numbers, 80 MB, go through 16 MiB of memory, so most of them wait on the
 * disk for their turn.  Build it against an installed library with
 *
 *	cc sort_numbers.c $(pkg-config --cflags --libs extmem)
 */
#include <extmem.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBERS 10000000u

/* Say what went wrong, and stop. */
static void check(em_status status, const char *what, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "sort_numbers: %s: %s\n", what, err->text[0] != '\0' ? err->text : em_status_text(status));
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
	em_errinfo err = EM_ERRINFO_INIT;
	const uint16_t one = 1;
	/* Our own numbers have this machine's byte order. */
	const em_key key = { 0, 0, EM_KEY_U64, *(const uint8_t *)&one == 1 ? 0 : EM_KEY_BIG_ENDIAN, { 0 } };
	em_ctx *ctx;
	em_order *order;
	em_sorter *sorter;
	const em_batch *batch;
	em_status status;
	uint64_t state = 1, n = 0, previous = 0;
	uint32_t i;

	ctx_opts.memory = 16u << 20;
	ctx_opts.errinfo = &err;
	sort_opts.errinfo = &err;
	check(em_ctx_open(&ctx, &ctx_opts), "context", &err);
	check(em_order_keys(&order, ctx, sizeof(uint64_t), &key, 1, &err), "order", &err);
	check(em_sorter_open(&sorter, ctx, order, &sort_opts), "sorter", &err);

	for (i = 0; i < NUMBERS; i++) {
		const uint64_t number = draw(&state);

		check_sorter(em_sorter_push(sorter, &number, 1), "push", sorter);
	}
	check_sorter(em_sorter_finish(sorter), "finish", sorter);

	while ((status = em_sorter_next(sorter, &batch)) == EM_OK) {
		const uint64_t *numbers = (const uint64_t *)batch->records;
		size_t j;

		for (j = 0; j < batch->n; j++) {
			if (numbers[j] < previous) {
				fprintf(stderr, "sort_numbers: number %" PRIu64 " is out of order\n", n + j);
				return EXIT_FAILURE;
			}
			previous = numbers[j];
		}
		n += batch->n;
	}
	check_sorter(status, "next", sorter);

	printf("%" PRIu64 " numbers, the largest is %" PRIu64 ", memory at most %" PRIu64 " bytes\n", n, previous,
	       em_ctx_memory_peak(ctx));
	em_sorter_close(sorter);
	em_order_close(order);
	em_ctx_close(ctx);
	return n == NUMBERS ? EXIT_SUCCESS : EXIT_FAILURE;
}
