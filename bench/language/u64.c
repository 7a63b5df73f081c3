/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Numbers through a sorter and back, beside the same in other languages: u64.js, u64.go, U64.java.
 *
 *   u64 N MEMORY DIRECTORY
 *
 * N random numbers are pushed in batches of 1 MiB, the first number of which is another one each time, and read back
 * into an array of 1 MiB.  Printed are how many they were, and their sum.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem.h>

enum { BATCH = 1 << 17 };

static uint64_t numbers[BATCH];

static em_status copy_out(em_sorter *sorter, uint64_t *count, uint64_t *sum)
{
	const em_batch *batch;
	em_status s;

	while ((s = em_sorter_next(sorter, &batch)) == EM_OK) {
		const char *from = batch->records;
		uint64_t left = batch->bytes;

		while (left) {
			const size_t some = left < sizeof numbers ? (size_t)left : sizeof numbers;

			memcpy(numbers, from, some);
			*sum += numbers[0];
			from += some;
			left -= some;
		}
		*count += batch->n;
	}
	return s == EM_END ? EM_OK : s;
}

int main(int argc, char **argv)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	const uint64_t n = argc == 4 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t x = 88172645463325252u, i, count = 0, sum = 0;
	em_ctx *ctx = NULL;
	em_order *order = NULL;
	em_sorter *sorter = NULL;
	em_errinfo err;
	char text[4200];
	em_status s;

	if (argc != 4) {
		fprintf(stderr, "usage: u64 N MEMORY DIRECTORY\n");
		return 2;
	}
	for (i = 0; i < BATCH; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		numbers[i] = x;
	}
	snprintf(text, sizeof text, "memory=%s,dir=%s", argv[2], argv[3]);
	s = em_ctx_open_text(&ctx, text, NULL);
	if (s == EM_OK)
		s = em_order_keys(&order, ctx, sizeof *numbers, &key, 1, &err);
	if (s == EM_OK)
		s = em_sorter_open(&sorter, ctx, order, NULL);
	for (i = 0; s == EM_OK && i < n; i += BATCH) {
		numbers[0] = i * UINT64_C(0x9e3779b97f4a7c15);
		s = em_sorter_push(sorter, numbers, n - i < BATCH ? n - i : BATCH);
	}
	if (s == EM_OK)
		s = em_sorter_finish(sorter);
	if (s == EM_OK)
		s = copy_out(sorter, &count, &sum);
	em_sorter_close(sorter);
	em_order_close(order);
	em_ctx_close(ctx);
	if (s != EM_OK)
		fprintf(stderr, "u64: %s\n", em_status_text(s));
	printf("%llu %llu\n", (unsigned long long)count, (unsigned long long)sum);
	return s != EM_OK;
}
