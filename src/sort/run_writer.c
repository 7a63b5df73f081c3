/* SPDX-License-Identifier: BSL-1.0 */
/* run_writer.c -- see run_writer.h. */
#include "sort/run_writer.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/meter.h"
#include "sort/block_vary.h"

#define SEED 1u                 /* of the places of blocks: the same input is spread in the same way */

em_status emi_run_writer_init(emi_run_writer *w, emi_runs *runs, em_errinfo *err)
{
	int i;

	memset(w, 0, sizeof *w);
	w->runs = runs;
	for (i = 0; i < 2; i++) {
		w->page[i] = emi_buffer_alloc(runs->ctx, EMI_DIR_BYTES, err);
		if (w->page[i] == NULL) {
			emi_run_writer_free(w);
			return err->status;
		}
		memset(w->page[i], 0, EMI_DIR_BYTES);
	}
	return EM_OK;
}

void emi_run_writer_free(emi_run_writer *w)
{
	int i;

	for (i = 0; i < 2 && w->runs != NULL; i++) {
		if (w->page[i] == NULL)
			continue;
		if (!emi_ctx_forked(w->runs->ctx))
			emi_wait(&w->rq[i], NULL);
		emi_buffer_free(w->runs->ctx, w->page[i], EMI_DIR_BYTES);
	}
	memset(w, 0, sizeof *w);
}

/* A page of the directory: in memory, if blocks may be there. */
static em_status alloc_page(emi_run_writer *w, em_bid *bid, em_errinfo *err)
{
	em_status st;

	if (emi_run_memory_page(&w->runs->memory, bid))
		return EM_OK;
	st = emi_runs_scratch(w->runs, err);
	return st == EM_OK ? emi_bid_alloc(w->runs->scratch, EMI_DIR_BYTES, bid, err) : st;
}

em_status emi_run_writer_begin(emi_run_writer *w, em_errinfo *err)
{
	em_status st = emi_wait(&w->rq[w->cur], err);

	if (st != EM_OK)
		return st;
	memset(&w->run, 0, sizeof w->run);
	w->records = 0;
	st = em_placement_init(&w->place,
			       w->runs->place == EM_PLACE_RUNS_STRIPING ? EM_PLACE_STRIPING : EM_PLACE_CYCLING,
			       emi_scratch_disks(w->runs->ctx), 0, SEED, w->begun++);
	memset(w->page[w->cur], 0, EMI_DIR_BYTES);
	if (st == EM_OK)
		st = alloc_page(w, &w->at, err);
	w->run.dir = w->at;
	return st;
}

/* Send the page that is full on its way, and begin the next one at `next'. */
static em_status turn_page(emi_run_writer *w, em_bid next, em_errinfo *err)
{
	char *memory = emi_run_memory_at(&w->runs->memory, w->at);
	em_status st;

	w->page[w->cur]->next = next.offset;
	w->page[w->cur]->next_disk = next.disk;
	w->page[w->cur]->sum = emi_dir_sum(w->page[w->cur]);
	if (memory != NULL)
		memcpy(memory, w->page[w->cur], EMI_DIR_BYTES);
	else
		emi_block_write(w->runs->scratch, &w->rq[w->cur], w->page[w->cur], EMI_DIR_BYTES, w->at,
				w->runs->io);
	w->cur ^= 1;
	st = emi_wait(&w->rq[w->cur], err);
	memset(w->page[w->cur], 0, EMI_DIR_BYTES);
	return st;
}

static em_status add_entry(emi_run_writer *w, const emi_outblock *b, em_bid bid, em_errinfo *err)
{
	emi_dir_page *page = w->page[w->cur];

	if (page->count == EMI_DIR_ENTRIES) {
		em_bid next;
		em_status st = alloc_page(w, &next, err);

		if (st == EM_OK)
			st = turn_page(w, next, err);
		if (st != EM_OK)
			return st;
		w->at = next;
		page = w->page[w->cur];
	}
	page->entry[page->count].key = b->key;
	page->entry[page->count].place = emi_dir_place(bid);
	page->entry[page->count].bytes = b->buf.len;
	page->entry[page->count].packed = (uint32_t)b->packed;
	page->entry[page->count].sum = b->sum;
	page->count++;
	return EM_OK;
}

static const void *first_record(const emi_runs *runs, const char *block)
{
	return runs->by->vary != NULL ? (const void *)emi_block_first(block) : block;
}

static void pack_block(emi_outseq *q, emi_outblock *b)
{
	const uint64_t begin = emi_thread_ns();

	b->packed = emi_packer_pack(&q->packer, &b->buf.base, b->buf.len);
	b->packing = emi_thread_ns() - begin;
}

/* Once a block is packed nobody can look at its records. */
static void seal_block(void *arg, emi_outseq *q, emi_outblock *b)
{
	const emi_run_writer *w = arg;
	const emi_runs *runs = w->runs;

	b->key = runs->by->codec->key(runs->by->order, first_record(runs, b->buf.base));
	b->frames = runs->by->vary != NULL ? emi_block_frames(b->buf.base) : b->buf.len;
	/* Packing takes time, too: so blocks are only packed while the disk has more to do than we have. */
	if (b->own == NULL && !emi_run_memory_stays(&runs->memory) &&
	    (runs->compress == EM_COMPRESS_ALWAYS || emi_outseq_is_behind(q)))
		pack_block(q, b);
	b->sum = emi_block_sum(b->buf.base, b->packed != 0 ? b->packed : b->buf.len,
			       (runs->ctx->flags & EM_CTX_CHECKED) != 0);
}

/* The block may stay in memory: then it has a fresh buffer. */
static int keep_block(emi_run_writer *w, emi_outblock *b, em_bid *bid)
{
	if (b->own != NULL || !emi_run_memory_keep(&w->runs->memory, &b->buf.base, b->buf.len, bid))
		return 0;
	b->clean = 0;
	return 1;
}

static em_status alloc_on_disk(emi_run_writer *w, size_t bytes, em_bid *bid, em_errinfo *err)
{
	emi_runs *runs = w->runs;
	em_status st = emi_runs_scratch(runs, err);

	return st == EM_OK ? emi_bid_alloc_on(runs->scratch, em_placement_disk(&w->place, w->run.blocks), bytes, bid,
					      err)
			   : st;
}

/* Where the block is going to be: in memory if that is cheaper, or if there is no other place. */
static em_status place_block(emi_run_writer *w, emi_outblock *b, size_t bytes, em_bid *bid, em_errinfo *err)
{
	emi_run_memory *memory = &w->runs->memory;
	em_errinfo why;
	em_status st;

	if (emi_run_memory_wants(memory, bytes, b->packing,
				 __atomic_load_n(&w->runs->io->bytes_written, __ATOMIC_RELAXED)) &&
	    keep_block(w, b, bid))
		return EM_OK;
	memset(&why, 0, sizeof why);
	st = alloc_on_disk(w, bytes, bid, &why);
	if (st == EM_OK) {
		emi_run_memory_sent(memory, bytes);
		return EM_OK;
	}
	memory->no_disks = 1;
	if (keep_block(w, b, bid))
		return EM_OK;
	*err = why;
	return st;
}

static em_status put_block(void *arg, emi_outblock *b, em_errinfo *err)
{
	emi_run_writer *w = arg;
	emi_runs *runs = w->runs;
	const size_t data = b->packed != 0 ? b->packed : b->buf.len,
		     bytes = (data + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
	const char *base = b->buf.base;
	em_bid bid;
	em_status st = place_block(w, b, bytes, &bid, err);

	if (st == EM_OK)
		st = add_entry(w, b, bid, err);
	if (st != EM_OK)
		return st;
	if (bid.disk != EMI_IN_MEMORY)
		emi_block_write(runs->scratch, &b->buf.rq, base, bytes, bid, runs->io);
	w->run.blocks++;
	w->records += b->records;
	w->run.bytes += b->frames;
	if (b->packed != 0) {
		runs->packed_from += b->buf.len;
		runs->packed_to += b->packed;
	}
	if (b->buf.len > w->run.longest)
		w->run.longest = b->buf.len;
	return EM_OK;
}

emi_dest emi_run_dest(emi_run_writer *w)
{
	emi_dest d = { put_block, NULL, w, 0, 0, seal_block };

	return d;
}

em_status emi_run_writer_finish(emi_run_writer *w, emi_run *run, em_errinfo *err)
{
	const em_bid none = { 0, 0, EMI_DIR_END };
	em_status st = turn_page(w, none, err);

	*run = w->run;
	return st;
}

em_status emi_run_writer_end(emi_run_writer *w, em_errinfo *err)
{
	em_status a = emi_runs_wait(w->runs, &w->rq[0], err);
	em_status b = emi_runs_wait(w->runs, &w->rq[1], err);

	return a != EM_OK ? a : b;
}
