/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_block_stream.c -- writers and readers of lists of blocks as callers outside know them.
 *
 * A writer makes its list when it is opened, so that finishing cannot fail for that.  A reader that consumes has the
 * blocks for itself, and the list is empty.
 */
#include <extmem/sys/block_stream.h>

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/structs.h"
#include "block/block_reader.h"
#include "block/block_writer.h"
#include "block/public_block_list.h"

#define KNOWN (EM_BLOCKS_REVERSE | EM_BLOCKS_CONSUME)

struct em_block_writer {
	emi_share share;
	emi_block_writer writer;
	em_block_list *list;    /* NULL: it is finished */
	size_t lent;            /* records that there is room for at the caller's */
};

struct em_block_reader {
	emi_share share;
	emi_block_reader reader;
	em_block_list *list;    /* NULL: it consumes, ... */
	emi_block_list own;     /* ... this one */
	em_batch batch;
	emi_cursor cursor;
};

/* 2 for each disk. */
static uint32_t buffers(const emi_share *s, uint32_t asked)
{
	return asked != 0 ? asked : 2 * s->n;
}

static emi_block_order order_of(uint32_t flags)
{
	return flags & EM_BLOCKS_REVERSE ? EMI_REVERSE : EMI_FORWARD;
}

static em_status check_flags(uint32_t flags, uint32_t known, em_errinfo *err)
{
	return flags & ~known ? emi_fail(err, EM_ERR_INVAL, "flags 0x%x are not known here", (unsigned)flags) : EM_OK;
}

static void release_writer(void *writer)
{
	em_block_writer *w = writer;

	emi_block_writer_close(&w->writer);
	em_block_list_close(w->list);
	emi_share_free(w, sizeof *w);
}

static em_status open_writer(em_block_writer **out, em_disks *d, const em_block_writer_opts *o, em_errinfo *err)
{
	em_block_layout layout;
	em_status st = emi_list_sizes(d, o->block_bytes, o->record_bytes, &layout, err);
	em_block_writer *w;

	if (st == EM_OK)
		st = check_flags(o->flags, EM_BLOCKS_REVERSE, err);
	if (st != EM_OK)
		return st;
	w = emi_share_new(d, sizeof *w, 0, release_writer, err);
	if (w == NULL)
		return err->status;
	st = emi_share_store(&w->share, err);
	if (st == EM_OK)
		st = emi_block_writer_open(&w->writer, w->share.object.ctx, w->share.store, layout.bytes, layout.record,
					   buffers(&w->share, o->buffers), order_of(o->flags), o->offset, NULL, err);
	if (st == EM_OK) {
		w->list = emi_list_new(d, layout.bytes, layout.record, err);
		st = w->list != NULL ? EM_OK : err->status;
	}
	if (st != EM_OK)
		release_writer(w);
	else
		*out = w;
	return st;
}

em_status em_block_writer_open(em_block_writer **out, em_disks *d, const em_block_writer_opts *opts)
{
	em_block_writer_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, d, "d", &err);
	if (st == EM_OK)
		st = emi_given(opts, "opts", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_block_writer_opts, &o, opts, &err);
	if (st == EM_OK)
		st = open_writer(out, d, &o, &err);
	return emi_tell(EMI_ERRINFO_OF(em_block_writer_opts, opts), st, &err);
}

/* Begin a call that needs the writer to take more. */
static em_status enter_writer(em_block_writer *w, em_errinfo *err)
{
	const em_status st = emi_enter(w, err);

	if (st != EM_OK || w->list != NULL)
		return st;
	return emi_leave(w, emi_fail(err, EM_ERR_STATE, "the writer of blocks is finished"), err);
}

/* Block by block. */
static em_status push_many(emi_block_writer *w, const char *from, size_t n, em_errinfo *err)
{
	const size_t record = w->layout.record;

	while (n > 0) {
		size_t room;
		char *to;
		em_status st = emi_block_writer_lend(w, &to, &room, err);

		if (st != EM_OK)
			return st;
		if (room > n)
			room = n;
		memcpy(to, from, room * record);
		emi_block_writer_took(w, room);
		from += room * record;
		n -= room;
	}
	return EM_OK;
}

em_status em_block_writer_push(em_block_writer *w, const void *records, size_t n)
{
	const char *from = records;
	em_errinfo err;
	em_status st = enter_writer(w, &err);

	if (st != EM_OK)
		return st;
	if (n != 0)
		st = emi_given(records, "records", &err);
	if (st == EM_OK)
		w->lent = 0;
	if (st == EM_OK && n > 1 && w->writer.order == EMI_FORWARD)
		st = push_many(&w->writer, from, n, &err);
	else
		for (; st == EM_OK && n > 0; n--, from += w->writer.layout.record)
			st = emi_block_writer_push(&w->writer, from, &err);
	return emi_leave(w, st, &err);
}

em_status em_block_writer_lend(em_block_writer *w, void **records, size_t *n)
{
	char *room = NULL;
	em_errinfo err;
	em_status st = enter_writer(w, &err);

	if (records != NULL)
		*records = NULL;
	if (n != NULL)
		*n = 0;
	if (st != EM_OK)
		return st;
	st = emi_given(records, "records", &err);
	if (st == EM_OK)
		st = emi_given(n, "n", &err);
	if (st == EM_OK) {
		w->lent = 0;
		st = emi_block_writer_lend(&w->writer, &room, n, &err);
	}
	if (st == EM_OK) {
		*records = room;
		w->lent = *n;
	}
	return emi_leave(w, st, &err);
}

em_status em_block_writer_took(em_block_writer *w, size_t n)
{
	em_errinfo err;
	em_status st = emi_enter(w, &err);

	if (st != EM_OK)
		return st;
	if (n > w->lent)
		st = emi_fail(&err, EM_ERR_INVAL, "%" PRIu64 " records were filled and %" PRIu64 " lent", (uint64_t)n,
			      (uint64_t)w->lent);
	if (st == EM_OK) {
		emi_block_writer_took(&w->writer, n);
		w->lent = 0;
	}
	return emi_leave(w, st, &err);
}

em_status em_block_writer_finish(em_block_writer *w, em_block_list **list)
{
	em_errinfo err;
	em_status st = enter_writer(w, &err);

	if (list != NULL)
		*list = NULL;
	if (st != EM_OK)
		return st;
	st = emi_given(list, "list", &err);
	if (st == EM_OK) {
		w->lent = 0;
		st = emi_block_writer_finish(&w->writer, &w->list->list, &err);
	}
	if (st == EM_OK) {
		*list = w->list;
		w->list = NULL;
	}
	return emi_leave(w, st, &err);
}

void em_block_writer_close(em_block_writer *w)
{
	emi_object_close(w);
}

void em_block_writer_error(const em_block_writer *w, em_errinfo *err)
{
	emi_object_error(w, err);
}

/* Have the blocks alone, or the list with others. */
static em_status take_list(em_block_reader *r, em_block_list *l, uint32_t flags, em_errinfo *err)
{
	const int alone = (flags & EM_BLOCKS_CONSUME) != 0;
	const em_status st = emi_list_hold(l, alone, err);

	if (st != EM_OK)
		return st;
	if (alone) {
		emi_list_let(l);
		r->own = l->list;
	} else {
		r->list = l;
	}
	return EM_OK;
}

static void release_reader(void *reader)
{
	em_block_reader *r = reader;

	emi_block_reader_close(&r->reader);
	emi_block_list_release(&r->own, r->share.object.ctx);
	if (r->list != NULL)
		emi_list_let(r->list);
	emi_share_free(r, sizeof *r);
}

static em_status fill_cursor(emi_cursor *c, void *reader)
{
	const em_batch *batch;
	const em_status st = em_block_reader_next(reader, &batch);

	if (st == EM_OK)
		emi_cursor_show(c, batch);
	return st;
}

static em_status open_reader(em_block_reader **out, em_block_list *l, const em_block_reader_opts *o, em_errinfo *err)
{
	const int consumes = (o->flags & EM_BLOCKS_CONSUME) != 0;
	em_status st = check_flags(o->flags, KNOWN, err);
	em_block_reader *r;

	if (st != EM_OK)
		return st;
	r = emi_share_new(l->share.disks, sizeof *r, 0, release_reader, err);
	if (r == NULL)
		return err->status;
	st = take_list(r, l, o->flags, err);
	if (st == EM_OK)
		st = emi_share_store(&r->share, err);
	if (st == EM_OK)
		st = emi_block_reader_open(&r->reader, r->share.object.ctx, r->share.store, l->block_bytes, l->record,
					   buffers(&r->share, o->buffers), consumes ? &r->own : &l->list, 1,
					   order_of(o->flags), consumes, NULL, err);
	if (st != EM_OK) {
		memset(&r->own, 0, sizeof r->own);
		release_reader(r);
		return st;
	}
	if (consumes)
		memset(&l->list, 0, sizeof l->list);
	emi_cursor_init(&r->cursor, r->reader.step, fill_cursor, r);
	*out = r;
	return EM_OK;
}

em_status em_block_reader_open(em_block_reader **out, em_block_list *list, const em_block_reader_opts *opts)
{
	em_block_reader_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, list, "list", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_block_reader_opts, &o, opts, &err);
	if (st == EM_OK)
		st = open_reader(out, list, &o, &err);
	return emi_tell(EMI_ERRINFO_OF(em_block_reader_opts, opts), st, &err);
}

em_status em_block_reader_next(em_block_reader *r, const em_batch **batch)
{
	const char *records;
	em_errinfo err;
	em_status st = emi_enter(r, &err);

	if (batch != NULL)
		*batch = NULL;
	if (st != EM_OK)
		return st;
	st = emi_given(batch, "batch", &err);
	if (st == EM_OK)
		emi_cursor_clear(&r->cursor);
	if (st == EM_OK)
		st = emi_block_reader_next(&r->reader, &records, &r->batch.n, &err);
	if (st == EM_OK) {
		r->batch.records = records;
		r->batch.bytes = r->batch.n * r->reader.layout.record;
		*batch = &r->batch;
	}
	return emi_leave(r, st, &err);
}

em_cursor *em_block_reader_cursor(em_block_reader *r)
{
	return r != NULL ? &r->cursor.c : NULL;
}

void em_block_reader_close(em_block_reader *r)
{
	emi_object_close(r);
}

void em_block_reader_error(const em_block_reader *r, em_errinfo *err)
{
	emi_object_error(r, err);
}
