/* SPDX-License-Identifier: BSL-1.0 */
/* pq_insertion.c -- see pq_insertion.h. */
#include "container/pq_insertion.h"

#include "base/memory.h"
#include "base/pieces.h"

void emi_pq_insertion_init(emi_pq_insertion *in, em_ctx *ctx, emi_pq_items *items, emi_buffers *pieces,
			   uint32_t threads)
{
	memset(in, 0, sizeof *in);
	in->pieces = pieces;
	in->whole = pieces->bytes;
	emi_pq_sorting_init(&in->sorting, ctx, items, threads);
}

/* There is no piece any more. */
static void let_go(emi_pq_insertion *in)
{
	in->buf = in->at = in->end = in->tail = NULL;
	in->bytes = 0;
	in->runs = 0;
}

void emi_pq_insertion_empty(emi_pq_insertion *in)
{
	in->at = in->tail = in->buf;
	in->runs = 0;
}

void emi_pq_insertion_drop(emi_pq_insertion *in)
{
	if (in->buf != NULL && in->bytes == in->whole)
		emi_buffers_give(in->pieces, in->buf);
	else
		emi_piece_free(in->sorting.ctx, in->buf, in->bytes);
	let_go(in);
	emi_pq_sorting_drop(&in->sorting);
}

static size_t left(const emi_sorted_memory *run)
{
	return run->source.at != run->source.end ? (size_t)(run->source.end - run->source.at) : 0;
}

size_t emi_pq_insertion_used(const emi_pq_insertion *in)
{
	size_t bytes = in->at != in->tail ? (size_t)(in->at - in->tail) : 0;
	uint32_t i;

	for (i = 0; i < in->runs; i++)
		bytes += left(&in->run[i]);
	return bytes;
}

/* Everything lies in another piece now. */
static void move_to(emi_pq_insertion *in, char *buf, size_t bytes)
{
	const size_t item = in->sorting.items->bytes;
	uint32_t i;

	for (i = 0; i < in->runs; i++) {
		in->run[i].source.at = buf + (in->run[i].source.at - in->buf);
		in->run[i].source.end = buf + (in->run[i].source.end - in->buf);
	}
	in->at = buf + (in->at - in->buf);
	in->tail = buf + (in->tail - in->buf);
	in->end = buf + bytes / item * item;
	in->buf = buf;
	in->bytes = bytes;
}

static char *take(emi_pq_insertion *in, size_t bytes, em_errinfo *err)
{
	return bytes == in->whole ? emi_buffers_take(in->pieces, err) : emi_piece_alloc(in->sorting.ctx, bytes, err);
}

em_status emi_pq_insertion_grow(emi_pq_insertion *in, em_errinfo *err)
{
	const size_t item = in->sorting.items->bytes, first = item > EMI_PIECE_FIRST ? item : EMI_PIECE_FIRST;
	size_t bytes = in->buf != NULL ? 2 * in->bytes : emi_piece_bytes(first), old_bytes;
	char *buf, *old;

	if (bytes > in->whole)
		bytes = in->whole;
	buf = take(in, bytes, err);
	if (buf == NULL)
		return err->status;
	if (in->buf == NULL) {
		in->at = in->tail = in->buf = buf;
		move_to(in, buf, bytes);
		return EM_OK;
	}
	old = in->buf;
	old_bytes = in->bytes;
	memcpy(buf, old, (size_t)(in->at - old));
	move_to(in, buf, bytes);
	emi_piece_free(in->sorting.ctx, old, old_bytes);
	return EM_OK;
}

/* What is behind a run goes to its end, so that nothing is between them. */
static void close_gap(char *end, char **from, char **to)
{
	const size_t bytes = (size_t)(*to - *from);

	if (*from == end)
		return;
	memmove(end, *from, bytes);
	*from = end;
	*to = end + bytes;
}

/* What was appended since the last run, and the runs that are to be sorted with it, are behind the tail then.  1: they
 * are sorted. */
static int gather(emi_pq_insertion *in, int whole)
{
	char *from = in->tail, *to = in->at;
	int sorted = from == to;

	while (in->runs != 0) {
		emi_sorted_memory *top = &in->run[in->runs - 1];
		const size_t mine = left(top), others = (size_t)(to - from);

		if (mine != 0 && !whole && in->runs < EMI_PQ_RUNS && (others == 0 || mine / 2 > others))
			break;
		in->runs--;
		if (mine == 0)
			continue;
		close_gap((char *)(uintptr_t)top->source.end, &from, &to);
		sorted = others == 0;
		from = (char *)(uintptr_t)top->source.at;
	}
	if (from == to && in->runs != 0)
		from = to = (char *)(uintptr_t)in->run[in->runs - 1].source.end;
	if (in->runs == 0 && (whole || from == to || !sorted))
		close_gap(in->buf, &from, &to);
	in->tail = from;
	in->at = to;
	return sorted;
}

static size_t gathered(const emi_pq_insertion *in)
{
	return (size_t)(in->at - in->tail) / in->sorting.items->bytes;
}

em_status emi_pq_insertion_sort(emi_pq_insertion *in, int whole, em_errinfo *err)
{
	em_status st = EM_OK;

	if (in->buf == NULL)
		return EM_OK;
	if (!gather(in, whole))
		st = emi_pq_sort(&in->sorting, in->tail, gathered(in), err);
	if (st != EM_OK || in->tail == in->at)
		return st;
	emi_sorted_memory_open(&in->run[in->runs++], in->tail, gathered(in), in->sorting.items->bytes);
	in->tail = in->at;
	return EM_OK;
}

em_status emi_pq_insertion_give(emi_pq_insertion *in, char **piece, const char **from, const char **to, em_errinfo *err)
{
	em_status st = EM_OK;

	if (!gather(in, 1))
		st = emi_pq_sort_begin(&in->sorting, in->tail, gathered(in), err);
	if (st != EM_OK)
		return st;
	*piece = in->buf;
	*from = in->tail;
	*to = in->at;
	let_go(in);
	return EM_OK;
}
