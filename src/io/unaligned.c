/* SPDX-License-Identifier: BSL-1.0 */
/*
 * unaligned.c -- transfers of direct files that are not of whole pages.
 *
 * They go through a buffer, window by window.  A window that is written only in part is read first; where the file ends
 * in it, what is written behind the end is cut off at last.  Nobody else writes to these pages, or behind them,
 * meanwhile: the request's range sees to that.
 *
 * When there is no memory for a buffer, a page on the stack serves: slower, not wrong.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/queue.h"

#define WINDOW ((size_t)256 << 10)

typedef struct window {
	emi_request part;       /* a transfer of whole pages */
	char *room;
	size_t bytes;
} window;

/* Make an aligned transfer between the window and the file; its status. */
static em_status move(window *w, const emi_request *rq, emi_request_kind kind, void *at, uint64_t offset, size_t bytes)
{
	emi_request *p = &w->part;

	p->file = rq->file;
	p->kind = kind;
	p->buf = at;
	p->bytes = bytes;
	p->offset = offset;
	p->done = 0;
	emi_request_run(p);
	return p->status;
}

/* Read the page at that offset into the window; what the file does not have is zeros. */
static em_status fetch(window *w, const emi_request *rq, char *at, uint64_t offset)
{
	em_status status = move(w, rq, EMI_READ, at, offset, EMI_PAGE);

	if (status == EM_OK)
		memset(at + w->part.done, 0, EMI_PAGE - w->part.done);
	return status;
}

/* Read [lo, hi) through the window that begins at page; 0 at the end of the file, and after a failure. */
static int read_window(window *w, emi_request *rq, uint64_t page, uint64_t lo, uint64_t hi)
{
	const size_t whole = (size_t)((hi - page + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE), skip = (size_t)(lo - page);
	size_t there = (size_t)(hi - lo);

	if (move(w, rq, EMI_READ, w->room, page, whole) != EM_OK)
		return 0;
	if (w->part.done < skip + there)
		there = w->part.done > skip ? w->part.done - skip : 0;
	memcpy((char *)rq->buf + rq->done, w->room + skip, there);
	rq->done += there;
	return there == hi - lo;
}

/* Write [lo, hi) likewise. */
static int write_window(window *w, emi_request *rq, uint64_t page, uint64_t lo, uint64_t hi)
{
	const size_t whole = (size_t)((hi - page + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE), last = whole - EMI_PAGE;

	if (lo > page && fetch(w, rq, w->room, page) != EM_OK)
		return 0;
	if (hi < page + whole && (last > 0 || lo == page) && fetch(w, rq, w->room + last, page + last) != EM_OK)
		return 0;
	memcpy(w->room + (lo - page), (const char *)rq->buf + rq->done, (size_t)(hi - lo));
	if (move(w, rq, EMI_WRITE, w->room, page, whole) != EM_OK)
		return 0;
	rq->done += (size_t)(hi - lo);
	return 1;
}

/* Give the file the size it would have had without whole pages; the errno. */
static int cut(const emi_request *rq, uint64_t before)
{
	const uint64_t end = rq->offset + rq->done, want = end > before ? end : before;
	uint64_t size;
	int e = rq->file->be->get_size(rq->file->handle, &size);

	return e == 0 && size > want ? rq->file->be->set_size(rq->file->handle, want) : e;
}

static void run(window *w, emi_request *rq)
{
	const uint64_t end = rq->offset + rq->bytes;
	uint64_t lo = rq->offset;
	int go_on = 1;

	while (lo < end && go_on) {
		const uint64_t page = lo - lo % EMI_PAGE;
		const uint64_t hi = end - page > w->bytes ? page + w->bytes : end;

		go_on = rq->kind == EMI_WRITE ? write_window(w, rq, page, lo, hi) : read_window(w, rq, page, lo, hi);
		lo = hi;
	}
	rq->status = w->part.status;
	rq->sys_errno = w->part.sys_errno;
}

void emi_request_run_unaligned(emi_request *rq)
{
	char pages[2 * EMI_PAGE];
	em_ctx *ctx = rq->file->object.ctx;
	uint64_t before = 0;
	window w;
	int e = 0;

	memset(&w.part, 0, sizeof w.part);
	w.bytes = rq->bytes + 2 * EMI_PAGE < WINDOW ? (rq->bytes + 2 * EMI_PAGE) / EMI_PAGE * EMI_PAGE : WINDOW;
	w.room = emi_buffer_alloc(ctx, w.bytes, NULL);
	if (!w.room) {
		w.bytes = EMI_PAGE;
		w.room = pages + (EMI_PAGE - (uintptr_t)pages % EMI_PAGE) % EMI_PAGE;
	}
	if (rq->kind == EMI_WRITE)
		e = rq->file->be->get_size(rq->file->handle, &before);
	if (e == 0)
		run(&w, rq);
	if (e == 0 && rq->kind == EMI_WRITE)
		e = cut(rq, before);
	if (e != 0) {
		rq->status = emi_status_of_errno(e);
		rq->sys_errno = e;
	}
	if (w.bytes != EMI_PAGE || w.room < pages || w.room >= pages + sizeof pages)
		emi_buffer_free(ctx, w.room, w.bytes);
}
