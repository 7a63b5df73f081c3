/* SPDX-License-Identifier: BSL-1.0 */
/*
 * blocks.c -- programming with blocks: 32 of them are allocated, filled, and written while something else is computed;
 * then read back, and freed.
 *
 * Listing 2 of Dementiev, Kettner and Sanders, "STXXL: standard template library for XXL data sets" (2007), in C:
 * blocks of a megabyte with numbers, striped over the disks.  Each block has a link to the next one, so reading follows
 * a list that is known by its first id.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <extmem.h>
#include <extmem/sys/typed_block.h>

enum { BLOCKS = 32, BLOCK_BYTES = 1 << 20 };

/* What a block has beside numbers. */
typedef struct block_info {
	uint64_t sum;
} block_info;

static double some_value(uint32_t block, size_t i)
{
	return (double)(block * i % 1000);
}

static void fill(const em_block_layout *l, void *block, uint32_t number, em_bid next)
{
	block_info *info = (block_info *)em_block_info(l, block);
	double sum = 0;
	size_t i;

	for (i = 0; i < l->capacity; i++) {
		double *value = (double *)em_block_record(l, block, i);

		*value = some_value(number, i);
		sum += *value;
	}
	*em_block_link(l, block, 0) = next;
	info->sum = (uint64_t)sum;
}

/* Something that takes a while: how many primes there are below n. */
static unsigned count_primes(unsigned n)
{
	unsigned i, k, count = 0;

	for (i = 2; i < n; i++) {
		for (k = 2; k * k <= i && i % k != 0; k++)
			continue;
		count += k * k > i;
	}
	return count;
}

/* Fill all blocks, have them written, and compute meanwhile. */
static em_status write_blocks(em_disks *disks, const em_block_layout *l, void *blocks, const em_bid *bid,
			      em_errinfo *err)
{
	em_request *rq[BLOCKS] = { NULL };
	em_status s = EM_OK, waited;
	uint32_t i, begun;

	for (i = 0; i < BLOCKS; i++)
		fill(l, em_block_at(l, blocks, i), i, i + 1 < BLOCKS ? bid[i + 1] : em_bid_none());
	for (begun = 0; begun < BLOCKS && s == EM_OK; begun++)
		s = em_block_write(disks, bid[begun], em_block_at(l, blocks, begun), l->bytes, NULL, NULL, &rq[begun]);
	printf("%u primes below 200000, found while %u blocks were written\n", count_primes(200000), begun);
	/* One that was not begun is no request. */
	if (s != EM_OK)
		begun--;
	waited = em_request_wait_all(rq, begun);
	for (i = 0; i < begun; i++) {
		if (err->status == EM_OK)
			em_request_error(rq[i], err);
		em_request_close(rq[i]);
	}
	return s != EM_OK ? s : waited;
}

/* Follow the links from the first block on, and add up what the blocks say of themselves, which is to be what is in
 * them. */
static em_status read_blocks(em_disks *disks, const em_block_layout *l, void *block, em_bid bid, uint64_t *sum,
			     uint32_t *n, em_errinfo *err)
{
	em_status s = EM_OK;

	for (*sum = *n = 0; s == EM_OK && !em_bid_is_none(bid); ++*n) {
		const block_info *info = (block_info *)em_block_info(l, block);
		em_request *rq;
		double of_block = 0;
		size_t i;

		s = em_block_read(disks, bid, block, l->bytes, NULL, NULL, &rq);
		if (s != EM_OK)
			break;
		s = em_request_wait(rq);
		em_request_error(rq, err);
		em_request_close(rq);
		if (s != EM_OK)
			break;
		for (i = 0; i < l->capacity; i++)
			of_block += *(double *)em_block_record(l, block, i);
		if ((uint64_t)of_block != info->sum)
			return EM_ERR_CORRUPT;
		*sum += info->sum;
		bid = *em_block_link(l, block, 0);
	}
	return s;
}

static em_status run(em_ctx *ctx, em_disks *disks, em_errinfo *err)
{
	void *blocks = NULL;
	em_bid bid[BLOCKS];
	em_block_layout l;
	em_placement striped;
	uint64_t sum;
	uint32_t n;
	em_status s = em_block_layout_init(&l, BLOCK_BYTES, sizeof(double), 1, sizeof(block_info), err);

	if (s == EM_OK)
		s = em_placement_init(&striped, EM_PLACE_STRIPING, em_disks_count(disks), 0, 0, 0);
	if (s == EM_OK)
		s = em_buffer_alloc(&blocks, ctx, BLOCKS, l.bytes, err);
	if (s != EM_OK)
		return s;
	s = em_bids_alloc(disks, bid, BLOCKS, l.bytes, &striped, 0);
	if (s != EM_OK) {
		em_disks_error(disks, err);
		em_buffer_free(ctx, blocks, BLOCKS, l.bytes);
		return s;
	}
	s = write_blocks(disks, &l, blocks, bid, err);
	if (s == EM_OK)
		s = read_blocks(disks, &l, blocks, bid[0], &sum, &n, err);
	if (s == EM_OK)
		printf("%" PRIu32 " blocks of %zu numbers on %" PRIu32 " disks, sum %" PRIu64 "\n", n, l.capacity,
		       em_disks_count(disks), sum);
	if (s == EM_OK && n != BLOCKS)
		s = EM_ERR_CORRUPT;
	if (em_bids_free(disks, bid, BLOCKS, l.bytes) != EM_OK && s == EM_OK) {
		em_disks_error(disks, err);
		s = err->status;
	}
	em_buffer_free(ctx, blocks, BLOCKS, l.bytes);
	return s;
}

int main(int argc, char **argv)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_disks_opts disks_opts = EM_DISKS_OPTS_INIT;
	em_errinfo err = EM_ERRINFO_INIT;
	em_disks *disks = NULL;
	em_ctx *ctx = NULL;
	em_status s;

	/* Each directory that is given is a disk. */
	if (argc > 1) {
		opts.dirs = (const char *const *)(argv + 1);
		opts.ndirs = (uint32_t)argc - 1;
	}
	opts.memory = 64u << 20;
	opts.errinfo = &err;
	disks_opts.errinfo = &err;
	s = em_ctx_open(&ctx, &opts);
	if (s == EM_OK)
		s = em_disks_open(&disks, ctx, &disks_opts);
	if (s == EM_OK)
		s = run(ctx, disks, &err);
	if (s != EM_OK)
		fprintf(stderr, "blocks: %s\n", err.text[0] != 0 ? err.text : em_status_text(s));
	em_disks_close(disks);
	em_ctx_close(ctx);
	return s == EM_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
