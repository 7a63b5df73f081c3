/* SPDX-License-Identifier: BSL-1.0 */
/* run_reader.c -- see run_reader.h. */
#include "sort/run_reader.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

static void read_page(emi_run_reader *r, emi_run_cursor *c, em_bid at, emi_request *rq)
{
	const char *memory = emi_run_memory_at(&r->runs->memory, at);

	c->at = at;
	c->entry = 0;
	memset(rq, 0, sizeof *rq);
	if (memory != NULL)
		memcpy(c->page, memory, EMI_DIR_BYTES);
	else
		emi_block_read(r->runs->scratch, rq, c->page, EMI_DIR_BYTES, at, r->runs->io);
}

/* In memory pages stay where they are, and so do those of runs that are read again. */
static void free_page(const emi_run_reader *r, const emi_run_cursor *c)
{
	if (!r->keeps && c->at.disk != EMI_IN_MEMORY)
		emi_bid_free(r->runs->scratch, c->at, EMI_DIR_BYTES);
}

static em_status damaged(const emi_run_reader *r, const emi_run_cursor *c, em_errinfo *err)
{
	if (c->at.disk == EMI_IN_MEMORY)
		return emi_fail(err, EM_ERR_CORRUPT, "a page of a run's directory in memory is damaged");
	return emi_block_damaged(r->runs->scratch, c->at, EMI_DIR_BYTES, err);
}

/* What was read must be a page: a damaged one must not lead us astray. */
static em_status check_page(const emi_run_reader *r, const emi_run_cursor *c, em_errinfo *err)
{
	const uint64_t blocks = c->blocks + c->entry, expected = blocks < EMI_DIR_ENTRIES ? blocks : EMI_DIR_ENTRIES;

	if (emi_dir_sum(c->page) == c->page->sum && c->page->count == expected &&
	    (c->page->next == EMI_DIR_END) == (blocks == expected) &&
	    (c->page->next_disk < r->disks || c->page->next_disk == EMI_IN_MEMORY))
		return EM_OK;
	return damaged(r, c, err);
}

/* Nor must an entry. */
static int is_sound(const emi_run_reader *r, const emi_dir_entry *e)
{
	return e->bytes <= r->block_bytes && e->packed < e->bytes;
}

em_status emi_run_reader_open(emi_run_reader *r, emi_runs *runs, uint32_t k, size_t block_bytes, em_errinfo *err)
{
	uint32_t i;

	memset(r, 0, sizeof *r);
	r->runs = runs;
	r->room = k;
	r->block_bytes = block_bytes;
	r->disks = emi_scratch_disks(runs->ctx);
	r->cursor = emi_alloc_array(runs->ctx, k, sizeof *r->cursor, err);
	if (r->cursor != NULL)
		r->pages = emi_buffer_alloc_array(runs->ctx, k, EMI_DIR_BYTES, err);
	if (r->pages == NULL) {
		emi_run_reader_close(r);
		return err->status;
	}
	for (i = 0; i < k; i++)
		r->cursor[i].page = (void *)(r->pages + (size_t)i * EMI_DIR_BYTES);
	return EM_OK;
}

void emi_run_reader_close(emi_run_reader *r)
{
	uint32_t i;

	if (r->cursor == NULL)
		return;
	for (i = 0; i < r->room && !emi_ctx_forked(r->runs->ctx); i++)
		emi_wait(&r->cursor[i].rq, NULL);
	if (r->pages != NULL)
		emi_buffer_free_array(r->runs->ctx, r->pages, r->room, EMI_DIR_BYTES);
	emi_free_array(r->runs->ctx, r->cursor, r->room, sizeof *r->cursor);
	memset(r, 0, sizeof *r);
}

/* The page of cursor i is free: it is the next merge's, if there is one. */
static void pass_on(emi_run_reader *r, uint32_t i)
{
	emi_run_cursor *c = &r->cursor[i];

	if (r->next == NULL || i >= r->nnext)
		return;
	c->coming = 1;
	c->blocks = r->next[i].blocks;
	read_page(r, c, r->next[i].dir, &c->rq);
	c->entry = r->next[i].from;
}

void emi_run_reader_expect(emi_run_reader *r, const emi_run *runs, uint32_t k)
{
	uint32_t i;

	r->next = runs;
	r->nnext = k;
	r->arrived = 0;
	for (i = 0; i < k; i++)
		if (r->cursor[i].blocks == 0)
			pass_on(r, i);
}

int emi_run_reader_ready(emi_run_reader *r)
{
	if (r->next == NULL)
		return 0;
	while (r->arrived < r->nnext && r->cursor[r->arrived].coming && emi_done(&r->cursor[r->arrived].rq))
		r->arrived++;
	return r->arrived == r->nnext;
}

em_status emi_run_reader_turn(emi_run_reader *r, em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t i;

	for (i = 0; i < r->nnext && st == EM_OK; i++) {
		emi_run_cursor *c = &r->cursor[i];

		st = emi_runs_wait(r->runs, &c->rq, err);
		if (st == EM_OK)
			st = check_page(r, c, err);
		c->coming = 0;
	}
	r->next = NULL;
	return st;
}

/* The page is used up: free it, and read the next one. */
static em_status next_page(emi_run_reader *r, emi_run_cursor *c, em_errinfo *err)
{
	const em_bid next = { c->page->next_disk, 0, c->page->next };
	emi_request rq;
	em_status st;

	free_page(r, c);
	read_page(r, c, next, &rq);
	st = emi_wait(&rq, err);
	return st == EM_OK ? check_page(r, c, err) : st;
}

em_status emi_run_hint(void *arg, uint32_t seq, emi_hint *hint, em_errinfo *err)
{
	emi_run_reader *r = arg;
	emi_run_cursor *c = &r->cursor[seq];
	const emi_dir_entry *entry;

	/* A run of the next merge may have taken its place. */
	if (c->blocks == 0 || c->coming)
		return EM_END;
	if (c->entry == c->page->count) {
		em_status st = next_page(r, c, err);

		if (st != EM_OK)
			return st;
	}
	entry = &c->page->entry[c->entry];
	hint->bid = emi_dir_bid(entry);
	hint->memory = emi_run_memory_at(&r->runs->memory, hint->bid);
	if (!is_sound(r, entry) || (hint->memory == NULL && hint->bid.disk >= r->disks))
		return damaged(r, c, err);
	/* The order of fetching wants some disk of every block. */
	if (hint->memory != NULL)
		hint->bid.disk = (uint32_t)(hint->bid.offset / EMI_DIR_BYTES % r->disks);
	hint->key = entry->key;
	hint->data = (size_t)entry->bytes;
	hint->packed = entry->packed;
	hint->sum = entry->sum;
	hint->bytes = ((hint->packed != 0 ? hint->packed : hint->data) + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
	c->entry++;
	c->blocks--;
	if (c->blocks == 0) {
		free_page(r, c);
		pass_on(r, seq);
	}
	return EM_OK;
}
