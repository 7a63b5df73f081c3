/* SPDX-License-Identifier: BSL-1.0 */
/*
 * percentiles.c -- percentiles of any number of measurements, each read off sorted runs that are merged no further than
 * that.
 *
 *	percentiles [FILE]
 *
 * The file has numbers of 64 bits, in the byte order of the machine.  Without one a million of them are made: numbers
 * below a million, each once, in some order, so that percentiles are known and checked.  Runs are formed once.  Each
 * percentile is a merge of its own, of one record with a given number: all but the blocks of the runs that it may be in
 * are left out.  Build it against an installed library with
 *
 *	cc -O2 percentiles.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MADE UINT64_C(1000000)
#define MEMORY ((uint64_t)4 << 20)

static void check(em_status status, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "percentiles: %s\n", err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static void check_runs(em_status status, const em_runs *runs)
{
	em_errinfo err;

	em_runs_error(runs, &err);
	check(status, &err);
}

/* Multiplying by a number that has no factor in common with MADE goes through all numbers below it. */
static int make(void *user, uint64_t i, void *records, size_t *n)
{
	uint64_t *x = (uint64_t *)records;
	size_t k;

	(void)user;
	for (k = 0; k < *n; k++)
		x[k] = (i + k) * UINT64_C(618033) % MADE;
	return 0;
}

static em_runs_info info_of(const em_runs *runs)
{
	em_runs_info info = EM_RUNS_INFO_INIT;
	const em_errinfo none = EM_ERRINFO_INIT;

	check(em_runs_info_get(runs, &info), &none);
	return info;
}

/* The number with so many before it. */
static uint64_t nth(em_runs *runs, uint64_t n)
{
	em_runs_merge_opts opts = EM_RUNS_MERGE_OPTS_INIT;
	const em_batch *batch;
	uint64_t x = 0;
	em_errinfo err;
	em_stream *s;
	em_status status;

	opts.skip = n;
	opts.take = 1;
	check(em_runs_merge(&s, runs, &opts, &err), &err);
	status = em_stream_next(s, &batch);
	em_stream_error(s, &err);
	check(status, &err);
	if (status == EM_OK)
		memcpy(&x, batch->records, sizeof x);
	em_stream_close(s);
	return x;
}

int main(int argc, char **argv)
{
	static const double parts[] = { 0, 0.5, 0.9, 0.99, 0.999, 1 };
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0, 0 } };
	const char *path = argc > 1 ? argv[1] : NULL;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	uint64_t n, at, x, before;
	em_stream *numbers;
	em_order *order;
	em_runs *runs;
	em_errinfo err;
	em_ctx *ctx;
	size_t i;

	opts.memory = MEMORY;
	opts.errinfo = &err;
	check(em_ctx_open(&ctx, &opts), &err);
	check(em_order_keys(&order, ctx, sizeof(uint64_t), &key, 1, &err), &err);
	if (path != NULL)
		check(em_stream_file(&numbers, ctx, sizeof(uint64_t), &path, 1, &err), &err);
	else
		check(em_stream_generate(&numbers, ctx, sizeof(uint64_t), MADE, make, NULL, NULL, &err), &err);
	check(em_runs_open(&runs, ctx, order, NULL, &err), &err);
	check(em_runs_feed(runs, numbers, 0, &err), &err);
	check_runs(em_runs_finish(runs), runs);
	em_stream_close(numbers);
	n = info_of(runs).records;
	printf("%" PRIu64 " numbers in %" PRIu64 " runs; written %" PRIu64 " bytes\n", n, info_of(runs).runs,
	       info_of(runs).bytes_written);
	for (i = 0; n != 0 && i < sizeof parts / sizeof parts[0]; i++) {
		before = info_of(runs).bytes_read;
		at = (uint64_t)((double)(n - 1) * parts[i]);
		x = nth(runs, at);
		printf("%5.1f%%: %" PRIu64 "; read %" PRIu64 " bytes\n", parts[i] * 100, x,
		       info_of(runs).bytes_read - before);
		if (path == NULL && x != at) {
			fprintf(stderr, "percentiles: %" PRIu64 " is expected\n", at);
			return EXIT_FAILURE;
		}
	}
	em_runs_close(runs);
	em_order_close(order);
	em_ctx_close(ctx);
	return 0;
}
