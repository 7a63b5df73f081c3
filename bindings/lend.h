/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Batches, which languages get from the cursor of a sorter, top or stream (extmem/cursor.h): what a loop that is left
 * early has not come to goes back into its window, and is what comes next, whatever asks for it.
 */
#ifndef EMB_LEND_H
#define EMB_LEND_H

#include <stdlib.h>

#include <extmem/stream_containers.h>

#include "call.h"

/** Of records of any length, where those end of which the first were taken. */
static em_status emb_next_ends(const em_cursor *c, struct emb_lent *l)
{
	const uint64_t from = (uint64_t)(c->at - c->window);
	size_t i;

	l->batch.ends = c->ends;
	if (from == 0)
		return EM_OK;
	free(l->ends);
	l->ends = (uint64_t *)malloc(l->batch.n * sizeof *l->ends);
	if (!l->ends)
		return EM_ERR_NOMEM;
	for (i = 0; i < l->batch.n; i++)
		l->ends[i] = c->ends[i] - from;
	l->batch.ends = l->ends;
	return EM_OK;
}

/** What is left of the window, or the next one. */
static em_status emb_next_batch(em_cursor *c, const em_batch **batch)
{
	struct emb_lent *l = emb_call.lent;
	em_status st = EM_OK;

	if (c->cur == c->end && c->ends == c->last)
		st = em_cursor_refill(c);
	if (st != EM_OK)
		return st;
	memset(&l->batch, 0, sizeof l->batch);
	if (c->step) {
		l->batch.records = c->cur;
		l->batch.bytes = (size_t)(c->end - c->cur);
		l->batch.n = l->batch.bytes / (size_t)c->step;
		c->cur = c->end;
	} else {
		l->batch.records = c->at;
		l->batch.n = (size_t)(c->last - c->ends);
		st = emb_next_ends(c, l);
		if (st != EM_OK)
			return st;
		l->batch.bytes = (size_t)l->batch.ends[l->batch.n - 1];
		c->at += l->batch.bytes;
		c->ends = c->last;
	}
	l->mark++;
	*batch = &l->batch;
	return EM_OK;
}

/** The last n records of the batch with this mark are to come next; unless others came since, which have another one.
 *  *got is the mark of the last batch. */
static em_status emb_back(em_cursor *c, uint64_t mark, uint64_t n, uint64_t *got)
{
	const struct emb_lent *l = emb_call.lent;
	const em_batch *b = &l->batch;

	*got = l->mark;
	if (mark != l->mark || n == 0)
		return EM_OK;
	if (n > b->n)
		return EM_ERR_INVAL;
	/* The window may be gone, or others may have taken from the next one. */
	if (c->step && c->end && c->cur == c->end && c->end == (const char *)b->records + b->bytes) {
		c->cur -= (ptrdiff_t)n * c->step;
	} else if (!c->step && c->at && c->ends == c->last && c->at == (const char *)b->records + b->bytes) {
		c->ends -= n;
		c->at = (const char *)b->records + (n < b->n ? b->ends[b->n - n - 1] : 0);
	}
	return EM_OK;
}

#define EMB_LENDS(name, type)                                                                                          \
	static em_status emb_##name##_next(type *p, const em_batch **batch)                                            \
	{                                                                                                              \
		return emb_next_batch(type##_cursor(p), batch);                                                        \
	}                                                                                                              \
	static em_status emb_##name##_back(const type *p, uint64_t mark, uint64_t n, uint64_t *got)                    \
	{                                                                                                              \
		return emb_back(type##_cursor((type *)(uintptr_t)p), mark, n, got);                                    \
	}
EMB_LENDS(sorter, em_sorter)
EMB_LENDS(top, em_top)
EMB_LENDS(stream, em_stream)

/** A reader that goes backwards lends batches that are not turned around: the rest of one is lost. */
static em_status emb_block_reader_next(em_block_reader *r, const em_batch **batch)
{
	em_cursor *c = em_block_reader_cursor(r);

	if (c->step > 0)
		return emb_next_batch(c, batch);
	emb_call.lent->mark++;
	return em_block_reader_next(r, batch);
}

static em_status emb_block_reader_back(const em_block_reader *r, uint64_t mark, uint64_t n, uint64_t *got)
{
	em_cursor *c = em_block_reader_cursor((em_block_reader *)(uintptr_t)r);

	return emb_back(c, mark, c->step > 0 ? n : 0, got);
}

/** Takes what is left, and more windows. */
static em_status emb_sorter_pull_file(em_sorter *s, const char *path)
{
	emb_call.lent->mark++;
	return em_sorter_pull_file(s, path);
}

static em_status emb_stream_sorter(em_stream **out, em_sorter *s, em_errinfo *err)
{
	emb_call.lent->mark++;
	return em_stream_sorter(out, s, err);
}

/* For what SWIG makes. */
#define em_sorter_next emb_sorter_next
#define em_top_next emb_top_next
#define em_stream_next emb_stream_next
#define em_block_reader_next emb_block_reader_next
#define em_sorter_pull_file emb_sorter_pull_file
#define em_stream_sorter emb_stream_sorter

#endif
