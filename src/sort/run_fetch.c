/* SPDX-License-Identifier: BSL-1.0 */
/* run_fetch.c -- see run_fetch.h. */
#include "sort/run_fetch.h"

#include <string.h>

#include "base/context.h"

em_status emi_run_fetch_open(emi_run_fetch *f, emi_runs *runs, const emi_run_fetch_opts *o, em_errinfo *err)
{
	em_status st;

	memset(f, 0, sizeof *f);
	f->runs = runs;
	st = emi_run_reader_open(&f->reader, runs, o->k, o->block_bytes, err);
	f->reader.keeps = o->keeps;
	if (st == EM_OK)
		st = emi_prefetch_open(&f->blocks, runs->ctx, runs->scratch, o->k, o->extra, o->best, o->block_bytes,
				       o->packs, emi_run_hint, &f->reader, runs->io, o->scramble, err);
	if (st != EM_OK)
		emi_run_fetch_close(f);
	return st;
}

void emi_run_fetch_close(emi_run_fetch *f)
{
	if (f->runs == NULL)
		return;
	emi_prefetch_close(&f->blocks);
	emi_run_reader_close(&f->reader);
	memset(f, 0, sizeof *f);
}

void emi_run_fetch_expect(emi_run_fetch *f, const emi_run *run, uint32_t k)
{
	emi_run_reader_expect(&f->reader, run, k);
}

/* Waits for the directories if they are not there yet. */
static em_status join(emi_run_fetch *f, em_errinfo *err)
{
	const uint32_t k = f->reader.nnext;
	em_status st = emi_run_reader_turn(&f->reader, err);

	return st == EM_OK ? emi_prefetch_join(&f->blocks, k, err) : st;
}

em_status emi_run_fetch_turn(emi_run_fetch *f, em_errinfo *err)
{
	em_status st = emi_prefetch_told(&f->blocks) ? join(f, err) : EM_OK;

	if (st == EM_OK)
		st = emi_prefetch_turn(&f->blocks, err);
	return st == EM_OK ? emi_run_fetch_advance(f, err) : st;
}

em_status emi_run_fetch_advance(emi_run_fetch *f, em_errinfo *err)
{
	em_status st = emi_prefetch_advance(&f->blocks, err);

	if (st != EM_OK || !emi_prefetch_told(&f->blocks) || !emi_run_reader_ready(&f->reader))
		return st;
	st = join(f, err);
	return st == EM_OK ? emi_prefetch_advance(&f->blocks, err) : st;
}

em_status emi_run_fetch_admit(emi_run_fetch *f, emi_fetched *block, em_errinfo *err)
{
	const emi_hint *hint = &block->hint;
	const size_t bytes = hint->packed != 0 ? hint->packed : hint->data;

	if (hint->memory == NULL && !f->reader.keeps)
		emi_bid_free(f->runs->scratch, hint->bid, hint->bytes);
	if (hint->sum != emi_block_sum(block->buf, bytes, (f->runs->ctx->flags & EM_CTX_CHECKED) != 0))
		return emi_hint_damaged(f->runs->scratch, hint, err);
	return emi_prefetch_unpack(&f->blocks, block, err);
}
