/* SPDX-License-Identifier: BSL-1.0 */
/* sorted_run.c -- see sorted_run.h. */
#include "sort/sorted_run.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define LITTLE ((uint64_t)1024) /* bytes of what tells of one run and its buffers, ... */
#define EACH ((uint64_t)256)    /* ... and of each of these */

static size_t block_bytes(const emi_run *run)
{
	return (size_t)(run->longest + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
}

/* Blocks are packed only if some were. */
static int packs(const emi_runs *runs)
{
	return runs->packed_from != 0;
}

/* The block in hand was used; others may be read where it was. */
static em_status turn(emi_sorted_run *s, em_errinfo *err)
{
	em_status st = EM_OK;

	if (!s->at_hand) {
		st = emi_run_fetch_turn(&s->fetch, err);
		s->at_hand = 1;
	} else if (s->block != NULL) {
		emi_prefetch_return(&s->fetch.blocks, s->block);
		s->block = NULL;
		st = emi_run_fetch_advance(&s->fetch, err);
	}
	return st;
}

/* The next block is what its run says. */
static em_status check(const emi_sorted_run *s, em_errinfo *err)
{
	const emi_hint *hint = &s->block->hint;

	if (hint->data != 0 && hint->data % s->fetch.runs->by->codec->record_bytes == 0 && hint->data <= s->bytes &&
	    (s->blocks != 1 || hint->data == s->bytes))
		return EM_OK;
	return emi_hint_damaged(s->fetch.runs->scratch, hint, err);
}

static em_status next(emi_sorted_source *source, em_errinfo *err)
{
	emi_sorted_run *s = (emi_sorted_run *)(void *)source;
	em_status st;

	source->at = source->end = NULL;
	if (s->blocks == 0) {
		emi_run_fetch_close(&s->fetch);
		s->block = NULL;
		return EM_END;
	}
	st = turn(s, err);
	if (st == EM_OK)
		st = emi_prefetch_next(&s->fetch.blocks, 0, &s->block, err);
	if (st == EM_OK && s->block == NULL)
		st = emi_fail(err, EM_ERR_INTERNAL, "a run is too short");
	if (st == EM_OK)
		st = emi_runs_wait(s->fetch.runs, &s->block->rq, err);
	if (st == EM_OK)
		st = emi_run_fetch_admit(&s->fetch, s->block, err);
	if (st == EM_OK)
		st = check(s, err);
	if (st != EM_OK)
		return st;
	source->at = s->block->buf;
	source->end = source->at + s->block->hint.data;
	s->bytes -= s->block->hint.data;
	s->blocks--;
	return EM_OK;
}

static void close_source(emi_sorted_source *s)
{
	emi_sorted_run_close((emi_sorted_run *)(void *)s);
}

em_status emi_sorted_run_open(emi_sorted_run *s, emi_runs *runs, const emi_run *run, uint32_t buffers, int keeps,
			      em_errinfo *err)
{
	static const emi_sorted_ops ops = { next, close_source };
	const emi_run_fetch_opts o = { 1, buffers - 1, 0, block_bytes(run), packs(runs), 0, keeps };
	em_status st;

	memset(s, 0, sizeof *s);
	if (runs->by->vary != NULL)
		return emi_fail(err, EM_ERR_NOTSUP, "sorted sources have records of one size");
	st = emi_run_fetch_open(&s->fetch, runs, &o, err);
	if (st != EM_OK)
		return st;
	s->source.ops = &ops;
	s->run = *run;
	s->blocks = run->blocks;
	s->bytes = run->bytes;
	emi_run_fetch_expect(&s->fetch, &s->run, 1);
	return EM_OK;
}

void emi_sorted_run_close(emi_sorted_run *s)
{
	if (s->source.ops == NULL)
		return;
	emi_run_fetch_close(&s->fetch);
	memset(s, 0, sizeof *s);
}

uint64_t emi_sorted_run_memory(const emi_runs *runs, const emi_run *run, uint32_t buffers)
{
	const uint64_t blocks = (uint64_t)buffers + (packs(runs) ? 1 : 0);

	return blocks * block_bytes(run) + 2u * EMI_DIR_BYTES + LITTLE + buffers * EACH;
}
