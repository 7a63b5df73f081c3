/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_queue.c -- sorting with a priority queue, which goes to disk when there are too many numbers.
 *
 * Numbers are pushed one by one, and come out in batches, the least first.  Halfway some more are pushed, which a
 * sorter (sort_numbers.c) would not take any more; who needs no such thing has less work with one.  Build it against an
 * installed library with
 *
 *	cc -O2 sort_queue.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 1000000u
#define LATER 1000u                     /* are pushed when half of them is out */

static void check(em_status status, const char *what, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "sort_queue: %s: %s\n", what, err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static void check_queue(em_status status, const char *what, const em_pq *queue)
{
	em_errinfo err;

	if (status >= 0)
		return;
	em_pq_error(queue, &err);
	check(status, what, &err);
}

/* A generator that is good enough for this: xorshift. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Push so many numbers that are no less than some other; their sum. */
static uint64_t push(em_pq *queue, uint64_t n, uint64_t least, uint64_t *state)
{
	uint64_t sum = 0, x;

	while (n != 0) {
		x = draw(state);
		if (x < least)
			continue;
		check_queue(em_pq_push(queue, &x), "push", queue);
		sum += x;
		n--;
	}
	return sum;
}

int main(void)
{
	em_pq_stats stats = EM_PQ_STATS_INIT;
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	em_pq_opts opts = EM_PQ_OPTS_INIT;
	em_errinfo err = EM_ERRINFO_INIT;
	uint64_t state = 88172645463325252u, sum, out = 0, last = 0, x;
	const em_batch *batch;
	em_order *order;
	em_status status;
	em_pq *queue;
	em_ctx *ctx;
	em_key key;
	int late = 0;
	size_t i;

	ctx_opts.memory = (uint64_t)32 << 20;
	ctx_opts.errinfo = &err;
	check(em_ctx_open(&ctx, &ctx_opts), "context", &err);
	check(em_key_parse(&key, "0:u64", &err), "key", &err);
	check(em_order_keys(&order, ctx, sizeof x, &key, 1, &err), "order", &err);

	opts.order = order;
	opts.records = NUMBERS;
	opts.memory_bytes = (uint64_t)4 << 20; /* half of what a million numbers take */
	opts.errinfo = &err;
	check(em_pq_open(&queue, ctx, &opts), "queue", &err);
	em_order_close(order);

	sum = push(queue, NUMBERS, 0, &state);
	while ((status = em_pq_next(queue, &batch)) == EM_OK) {
		for (i = 0; i < batch->n; i++) {
			memcpy(&x, (const char *)batch->records + i * sizeof x, sizeof x);
			if (x < last) {
				fprintf(stderr, "sort_queue: %" PRIu64 " comes after %" PRIu64 "\n", x, last);
				return EXIT_FAILURE;
			}
			last = x;
			sum -= x;
			out++;
		}
		/* From here on the batch is valid no more. */
		if (out >= NUMBERS / 2 && !late) {
			sum += push(queue, LATER, last, &state);
			late = 1;
		}
	}
	check_queue(status, "next", queue);
	if (sum != 0 || out != NUMBERS + LATER) {
		fprintf(stderr, "sort_queue: other numbers came out\n");
		return EXIT_FAILURE;
	}
	check(em_pq_stats_get(queue, &stats), "statistics", &err);
	printf("%" PRIu64 " numbers are in order; %.1f MiB went to disk\n", out,
	       (double)(stats.writes * stats.block_bytes) / 1048576);
	em_pq_close(queue);
	em_ctx_close(ctx);
	return EXIT_SUCCESS;
}
