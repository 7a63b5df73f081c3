/* SPDX-License-Identifier: BSL-1.0 */
/* run_reader.c -- see run_reader.h. */
#include "sort/run_reader.h"

#include <string.h>

static void read_page(emi_run_reader *r, emi_run_cursor *c, em_bid at, emi_request *rq)
{
	c->at = at;
	c->entry = 0;
	emi_block_read(r->job->scratch, rq, c->page, EMI_DIR_BYTES, at, &r->job->io);
}

static em_status damaged(const emi_run_cursor *c, em_errinfo *err)
{
	return emi_fail(err, EM_ERR_CORRUPT, "scratch space is damaged: directory page at %llu of disk %u",
			(unsigned long long)c->at.offset, (unsigned)c->at.disk);
}

/* What was read must be a page: a damaged one must not lead us astray. */
static em_status check_page(const emi_run_reader *r, const emi_run_cursor *c, em_errinfo *err)
{
	uint64_t expected = c->blocks < EMI_DIR_ENTRIES ? c->blocks : EMI_DIR_ENTRIES;

	if (c->page->count == expected && (c->page->next == EMI_DIR_END) == (c->blocks == expected) &&
	    c->page->next_disk < r->disks)
		return EM_OK;
	return damaged(c, err);
}

em_status emi_run_reader_open(emi_run_reader *r, emi_job *job, const emi_run *runs, uint32_t k, size_t block_bytes,
			      em_errinfo *err)
{
	emi_request *rq = NULL;
	em_status st = EM_OK, waited;
	uint32_t i, sent = 0;

	memset(r, 0, sizeof *r);
	r->job = job;
	r->k = k;
	r->block_bytes = block_bytes;
	r->disks = emi_scratch_disks(job->ctx);
	r->cursor = emi_alloc_array(job->ctx, k, sizeof *r->cursor, err);
	if (r->cursor != NULL)
		rq = emi_alloc_array(job->ctx, k, sizeof *rq, err);
	if (rq == NULL) {
		st = err->status;
		goto out;
	}
	for (i = 0; i < k; i++) {
		emi_run_cursor *c = &r->cursor[i];

		c->blocks = runs[i].blocks;
		c->page = emi_buffer_alloc(job->ctx, EMI_DIR_BYTES, err);
		if (c->page == NULL) {
			st = err->status;
			break;
		}
		read_page(r, c, runs[i].dir, &rq[i]);
		sent++;
	}
	for (i = 0; i < sent; i++) {
		waited = emi_watch_wait(&job->watch, &rq[i], err);
		if (waited == EM_OK)
			waited = check_page(r, &r->cursor[i], err);
		if (st == EM_OK)
			st = waited;
	}
out:
	if (rq != NULL)
		emi_free_array(job->ctx, rq, k, sizeof *rq);
	if (st != EM_OK)
		emi_run_reader_close(r);
	return st;
}

void emi_run_reader_close(emi_run_reader *r)
{
	uint32_t i;

	if (r->cursor == NULL)
		return;
	for (i = 0; i < r->k; i++)
		if (r->cursor[i].page != NULL)
			emi_buffer_free(r->job->ctx, r->cursor[i].page, EMI_DIR_BYTES);
	emi_free_array(r->job->ctx, r->cursor, r->k, sizeof *r->cursor);
	memset(r, 0, sizeof *r);
}

/* The page is used up: free it, and read the next one if there is one. */
static em_status next_page(emi_run_reader *r, emi_run_cursor *c, em_errinfo *err)
{
	const em_bid next = { c->page->next_disk, 0, c->page->next };
	emi_request rq;
	em_status st;

	emi_block_free(r->job->scratch, c->at, EMI_DIR_BYTES);
	if (next.offset == EMI_DIR_END)
		return EM_END;
	read_page(r, c, next, &rq);
	st = emi_wait(&rq, err);
	return st == EM_OK ? check_page(r, c, err) : st;
}

em_status emi_run_hint(void *arg, uint32_t seq, emi_hint *hint, em_errinfo *err)
{
	emi_run_reader *r = arg;
	emi_run_cursor *c = &r->cursor[seq];
	const emi_dir_entry *entry;

	if (c->entry == c->page->count) {
		em_status st = next_page(r, c, err);

		if (st != EM_OK)
			return st;
	}
	entry = &c->page->entry[c->entry];
	if (entry->bytes == 0 || entry->bytes > r->block_bytes || entry->packed >= entry->bytes || entry->disk >= r->disks)
		return damaged(c, err);
	hint->key = entry->key;
	hint->bid.disk = entry->disk;
	hint->bid.reserved = 0;
	hint->bid.offset = entry->offset;
	hint->data = (size_t)entry->bytes;
	hint->packed = entry->packed;
	hint->bytes = ((hint->packed != 0 ? hint->packed : hint->data) + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
	c->entry++;
	c->blocks--;
	return EM_OK;
}
