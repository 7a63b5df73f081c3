/* SPDX-License-Identifier: BSL-1.0 */
/* cache_case.c -- see cache_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/memory.h"
#include "block/cache_case.h"
#include "block/policy.h"

#define WORDS (BLOCK / sizeof(uint64_t))

const em_policy *const policies[POLICIES] = {&emi_policy_lru, &emi_policy_clock, &emi_policy_random, &emi_policy_s3fifo,
					     NULL};

static uint64_t word(uint32_t i, uint64_t version, size_t w)
{
	return ((uint64_t)i << 48) + (version << 16) + w;
}

void case_fill(const cache_case *b, uint32_t i, char *buf)
{
	uint64_t *words = (uint64_t *)(void *)buf;
	size_t w;

	for (w = 0; w < WORDS; w++)
		words[w] = word(i, b->version[i], w);
}

void case_check(const cache_case *b, uint32_t i, const char *buf)
{
	const uint64_t *words = (const uint64_t *)(const void *)buf;
	size_t w;

	for (w = 0; w < WORDS; w++)
		if (words[w] != word(i, b->version[i], w))
			fail_msg("block %u: word %u is %llx in place of %llx", i, (unsigned)w,
				 (unsigned long long)words[w], (unsigned long long)word(i, b->version[i], w));
}

static void transfer(cache_case *b, uint32_t i, int write)
{
	char *buf = emi_buffer_alloc(b->f.ctx, BLOCK, NULL);
	emi_request rq;

	assert_non_null(buf);
	if (write) {
		case_fill(b, i, buf);
		emi_block_write(b->f.disk, &rq, buf, BLOCK, b->bid[i], NULL);
	} else {
		emi_block_read(b->f.disk, &rq, buf, BLOCK, b->bid[i], NULL);
	}
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	if (!write)
		case_check(b, i, buf);
	emi_buffer_free(b->f.ctx, buf, BLOCK);
}

void case_write_disk(cache_case *b, uint32_t i)
{
	transfer(b, i, 1);
}

/* The blocks of version 0. */
void cache_case_open_disks(cache_case *b, const em_backend *const *backends, uint32_t disks, uint32_t n)
{
	uint32_t i;

	memset(b, 0, sizeof *b);
	fixture_open_on(&b->f, backends, disks);
	b->n = n;
	for (i = 0; i < n; i++) {
		assert_int_equal(emi_bid_alloc(b->f.disk, BLOCK, &b->bid[i], &b->f.err), EM_OK);
		case_write_disk(b, i);
	}
	assert_int_equal(emi_store_open_disks(&b->store, b->f.ctx, b->f.disk, &b->f.err), EM_OK);
	b->opts.store = b->store;
	b->opts.block_bytes = BLOCK;
	b->opts.io = &b->f.io;
}

void cache_case_open_on(cache_case *b, const em_backend *backend, uint32_t n)
{
	cache_case_open_disks(b, &backend, 1, n);
}

void cache_case_open(cache_case *b, const char *backend, uint32_t n)
{
	cache_case_open_on(b, em_backend_find(backend), n);
}

void case_open_cache(cache_case *b, uint32_t frames, const em_policy *policy)
{
	b->opts.frames = frames;
	b->opts.policy = policy;
	b->opts.seed = test_random(&b->f.rng);
	if (emi_cache_open(&b->c, b->f.ctx, &b->opts, &b->f.err) != EM_OK)
		fail_msg("%s", b->f.err.text);
}

void cache_case_close(cache_case *b)
{
	emi_cache_close(b->c);
	emi_store_close(b->store);
	fixture_close(&b->f);
}

/* Get block i, which is to succeed, and look at it. */
uint32_t case_get(cache_case *b, uint32_t i, uint32_t mode)
{
	uint32_t f = EM_CACHE_NONE;

	memset(&b->f.err, 0, sizeof(b->f.err));
	if (emi_cache_get(b->c, b->bid[i], mode, &f, &b->f.err) != EM_OK)
		fail_msg("%s", b->f.err.text);
	assert_int_not_equal(f, EM_CACHE_NONE);
	if (mode != EM_CACHE_FRESH)
		case_check(b, i, emi_cache_buf(b->c, f));
	return f;
}

em_status case_try_get(cache_case *b, uint32_t i, uint32_t mode, uint32_t *f)
{
	em_status st;

	memset(&b->f.err, 0, sizeof(b->f.err));
	st = emi_cache_get(b->c, b->bid[i], mode, f, &b->f.err);
	assert_int_equal(st == EM_OK, *f != EM_CACHE_NONE);
	assert_int_equal(b->f.err.status, st);
	return st;
}

void case_use(cache_case *b, uint32_t i)
{
	emi_cache_unpin(b->c, case_get(b, i, EM_CACHE_READ), 0);
}

void case_change(cache_case *b, uint32_t i, uint32_t mode)
{
	const uint32_t f = case_get(b, i, mode);

	b->version[i]++;
	case_fill(b, i, emi_cache_buf(b->c, f));
	emi_cache_unpin(b->c, f, 1);
}

em_status case_flush(cache_case *b)
{
	memset(&b->f.err, 0, sizeof(b->f.err));
	return emi_cache_flush(b->c, &b->f.err);
}

em_status case_forget(cache_case *b, uint32_t i)
{
	const emi_span span = { b->bid[i], BLOCK };

	memset(&b->f.err, 0, sizeof(b->f.err));
	return emi_cache_forget_range(b->c, &span, &b->f.err);
}

void case_check_disk(cache_case *b)
{
	uint32_t i;

	for (i = 0; i < b->n; i++)
		transfer(b, i, 0);
}
