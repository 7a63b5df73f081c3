/* SPDX-License-Identifier: BSL-1.0 */
/*
 * through.c -- numbers through a sorter and back, as a program in C does it: what those in other languages are beside.
 *
 *	through sorter N MEMORY DIRECTORY       batches are looked at where they are
 *	through copy N MEMORY DIRECTORY         they are copied to an array
 *
 * N 64-bit numbers in arrays of 1 MiB, one of which changes from array to array, are pushed, and come back in batches.
 * It prints one line: how many they were, the last of them, and seconds of the processor.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <extmem.h>

#define EACH 131072u

static uint64_t numbers[EACH];

static int failed(const char *what, em_status st)
{
	if (st >= EM_OK)
		return 0;
	fprintf(stderr, "through: %s: %s\n", what, em_status_text(st));
	return 1;
}

static double processor(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* All of a batch, an array at a time. */
static void copy_out(const em_batch *batch)
{
	const char *from = batch->records;
	size_t left, some;

	for (left = batch->bytes; left != 0; left -= some, from += some) {
		some = left < sizeof numbers ? left : sizeof numbers;
		memcpy(numbers, from, some);
	}
}

static int run(em_sorter *s, uint64_t n, int copy)
{
	const em_batch *batch;
	uint64_t i, back = 0, last = 0, state = 1;
	em_status st = EM_OK;

	for (i = 0; i < EACH; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		numbers[i] = state;
	}
	for (i = 0; i < n / EACH && st == EM_OK; i++) {
		numbers[i % EACH] = i;
		st = em_sorter_push(s, numbers, EACH);
	}
	if (st == EM_OK)
		st = em_sorter_finish(s);
	while (st == EM_OK && (st = em_sorter_next(s, &batch)) == EM_OK) {
		memcpy(&last, (const char *)batch->records + batch->bytes - sizeof last, sizeof last);
		back += batch->n;
		if (copy)
			copy_out(batch);
	}
	if (failed("sort", st))
		return 2;
	printf("n=%" PRIu64 " check=%" PRIu64 " cpu=%.3f\n", back, last, processor());
	return 0;
}

int main(int argc, char **argv)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx = NULL;
	em_order *order = NULL;
	em_sorter *s = NULL;
	int result = 2;

	if (argc != 5 || (strcmp(argv[1], "sorter") != 0 && strcmp(argv[1], "copy") != 0)) {
		fprintf(stderr, "usage: through sorter|copy N MEMORY DIRECTORY\n");
		return 2;
	}
	opts.memory = strtoull(argv[3], NULL, 10);
	opts.dirs = (const char *const *)&argv[4];
	opts.ndirs = 1;
	if (!failed("context", em_ctx_open(&ctx, &opts)) &&
	    !failed("order", em_order_parse(&order, ctx, 8, "u64@0", NULL)) &&
	    !failed("sorter", em_sorter_open(&s, ctx, order, NULL)))
		result = run(s, strtoull(argv[2], NULL, 10), argv[1][0] == 'c');
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
	return result;
}
