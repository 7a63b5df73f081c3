/* SPDX-License-Identifier: BSL-1.0 */
/*
 * async_read.c -- reading a file while computing: two buffers, and a function that is told when a block has come.
 *
 * Usage: async_read [FILE]; prints the sum of its bytes (without FILE: of this program's).  Reads the next block while
 * the sum of the last one is made.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <extmem.h>
#include <extmem/sys/request.h>

enum { BLOCK = 1 << 20 };

/* Called by whichever thread noticed that the block is there. */
static void arrived(em_request *rq, void *user)
{
	uint64_t *bytes = (uint64_t *)user;

	if (em_request_status(rq) == EM_OK)
		*bytes += em_request_moved(rq);
}

static uint64_t sum_of(const unsigned char *block, size_t bytes)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < bytes; i++)
		sum += block[i];
	return sum;
}

/* Read one block ahead of the computation. */
static em_status sum_file(em_file *f, unsigned char *block[2], uint64_t *sum, uint64_t *bytes, em_errinfo *err)
{
	em_request *rq = NULL, *next = NULL;
	em_status s = em_file_read_async(f, block[0], BLOCK, 0, arrived, bytes, &rq);
	uint64_t at = 0;
	size_t there;
	int i = 0;

	*sum = 0;
	while (s == EM_OK && (s = em_request_wait(rq)) == EM_OK && (there = em_request_moved(rq)) > 0) {
		em_request_close(rq);
		at += there;
		s = em_file_read_async(f, block[!i], BLOCK, at, arrived, bytes, &next);
		*sum += sum_of(block[i], there);
		rq = next;
		i = !i;
	}
	em_request_error(rq, err);
	em_request_close(rq);
	return s;
}

int main(int argc, char **argv)
{
	unsigned char *block[2] = { (unsigned char *)malloc(BLOCK), (unsigned char *)malloc(BLOCK) };
	em_file_opts opts = EM_FILE_OPTS_INIT;
	uint64_t sum = 0, bytes = 0;
	em_errinfo err = EM_ERRINFO_INIT;
	em_ctx *ctx = NULL;
	em_file *f = NULL;
	em_status s;

	if (argc > 2 || block[0] == NULL || block[1] == NULL) {
		fprintf(stderr, "usage: async_read [FILE]\n");
		return 2;
	}
	opts.errinfo = &err;
	s = em_ctx_open(&ctx, NULL);
	if (s == EM_OK)
		s = em_file_open(&f, ctx, argv[argc - 1], &opts);
	if (s == EM_OK) {
		s = sum_file(f, block, &sum, &bytes, &err);
		if (s == EM_OK)
			printf("%" PRIu64 " bytes, sum %" PRIu64 "\n", bytes, sum);
	}
	if (s != EM_OK)
		fprintf(stderr, "async_read: %s\n", err.text[0] != 0 ? err.text : em_status_text(s));
	em_file_close(f);
	em_ctx_close(ctx);
	free(block[0]);
	free(block[1]);
	return s == EM_OK ? 0 : 1;
}
