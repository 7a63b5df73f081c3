/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_block_stream.c -- lists of blocks, their writers and readers, as callers outside know them.
 *
 * A list is there until it was closed and no reader needs it.  A writer makes its list when it is opened, so that finishing cannot fail for that.  A reader that consumes
 * has the blocks for itself, and the list is empty.
 */
#include <extmem/sys/block_stream.h>

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/block_reader.h"
#include "block/block_writer.h"
#include "block/share.h"

#define KNOWN (EM_BLOCKS_REVERSE | EM_BLOCKS_CONSUME)

struct em_block_list {
	emi_share share;
	emi_block_list list;
	size_t block_bytes, record;
	uint32_t users;         /* the caller and readers; atomic */
	uint32_t readers;       /* atomic */
};

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
};

static em_block_list *new_list(em_disks *d, size_t block_bytes, size_t record, em_errinfo *err)
{
	em_block_list *l = emi_share_new(d, sizeof *l, err);

	if (l != NULL) {
		l->block_bytes = block_bytes;
		l->record = record;
		l->users = 1;
	}
	return l;
}

void em_block_list_close(em_block_list *l)
{
	if (l == NULL || __atomic_sub_fetch(&l->users, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	emi_block_list_release(&l->list, l->share.ctx);
	emi_share_free(l, sizeof *l);
}

/* Sizes of blocks and records as callers give them. */
static em_status check_sizes(uint64_t block_bytes, uint64_t record, em_block_layout *layout, em_errinfo *err)
{
	if (block_bytes > SIZE_MAX || record > SIZE_MAX)
		return emi_fail(err, EM_ERR_INVAL, "blocks of %" PRIu64 " bytes with records of %" PRIu64, block_bytes, record);
	return em_block_layout_init(layout, (size_t)block_bytes, (size_t)record, 0, 0, err);
}

/* Do so many records fill so many blocks? */
static em_status check_count(const em_block_list_info *i, size_t capacity, em_errinfo *err)
{
	const uint64_t whole = i->records / capacity, end = i->skip + i->records % capacity;

	if (i->skip < capacity && (i->bids != NULL || i->blocks == 0) &&
	    (i->records == 0 ? i->blocks == 0 && i->skip == 0 : i->blocks == whole + end / capacity + (end % capacity != 0)))
		return EM_OK;
	return emi_fail(err, EM_ERR_INVAL, "a list of %" PRIu64 " blocks for %" PRIu64 " records", i->blocks, i->records);
}

static em_status make_list(em_block_list **out, em_disks *d, const em_block_list_info *info, em_errinfo *err)
{
	em_block_layout layout;
	em_status st = check_sizes(info->block_bytes, info->record_bytes, &layout, err);
	em_block_list *l;
	uint64_t i;

	if (st == EM_OK)
		st = check_count(info, layout.capacity, err);
	for (i = 0; st == EM_OK && i < info->blocks; i++)
		st = emi_share_check(&d->share, info->bids[i], err);
	if (st != EM_OK)
		return st;
	l = new_list(d, layout.bytes, layout.record, err);
	if (l == NULL)
		return err->status;
	for (i = 0; st == EM_OK && i < info->blocks; i++)
		st = emi_block_list_add(&l->list, l->share.ctx, info->bids[i], err);
	l->list.records = info->records;
	l->list.skip = (size_t)info->skip;
	if (st != EM_OK)
		em_block_list_close(l);
	else
		*out = l;
	return st;
}

em_status em_block_list_open(em_block_list **out, em_disks *d, const em_block_list_info *info)
{
	em_block_list_info i;
	em_errinfo err;
	em_status st;

	if (out == NULL)
		return EM_ERR_INVAL;
	*out = NULL;
	if (d == NULL || info == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = emi_opts_copy(&i, sizeof i, sizeof i, info, "em_block_list_info", &err);
	if (st == EM_OK)
		st = make_list(out, d, &i, &err);
	return emi_share_told(&d->share, st, &err);
}

em_status em_block_list_free_blocks(em_block_list *l)
{
	if (l == NULL)
		return EM_ERR_INVAL;
	if (__atomic_load_n(&l->readers, __ATOMIC_ACQUIRE) != 0)
		return EM_ERR_STATE;
	emi_block_list_free_blocks(&l->list, l->share.set, l->block_bytes, 0, l->list.blocks);
	emi_block_list_release(&l->list, l->share.ctx);
	return EM_OK;
}

em_status em_block_list_info_get(const em_block_list *l, em_block_list_info *info)
{
	em_block_list_info i = EM_BLOCK_LIST_INFO_INIT;

	if (l == NULL)
		return EM_ERR_INVAL;
	i.block_bytes = l->block_bytes;
	i.record_bytes = l->record;
	i.records = l->list.records;
	i.skip = l->list.skip;
	i.blocks = l->list.blocks;
	i.bids = l->list.bid;
	return emi_opts_give(info, &i, sizeof i);
}

/* 2 for each disk. */
static uint32_t buffers(const emi_share *s, uint32_t asked)
{
	return asked != 0 ? asked : 2 * emi_disk_count(s->set);
}

static emi_block_order order_of(uint32_t flags)
{
	return flags & EM_BLOCKS_REVERSE ? EMI_REVERSE : EMI_FORWARD;
}

static em_status check_flags(uint32_t flags, uint32_t known, em_errinfo *err)
{
	return flags & ~known ? emi_fail(err, EM_ERR_INVAL, "flags 0x%x are not known here", (unsigned)flags) : EM_OK;
}

static em_status open_writer(em_block_writer **out, em_disks *d, const em_block_writer_opts *o, em_errinfo *err)
{
	em_block_layout layout;
	em_status st = check_sizes(o->block_bytes, o->record_bytes, &layout, err);
	em_block_writer *w;

	if (st == EM_OK)
		st = check_flags(o->flags, EM_BLOCKS_REVERSE, err);
	if (st != EM_OK)
		return st;
	w = emi_share_new(d, sizeof *w, err);
	if (w == NULL)
		return err->status;
	st = emi_block_writer_open(&w->writer, w->share.ctx, w->share.set, layout.bytes, layout.record, buffers(&w->share, o->buffers),
				   order_of(o->flags), NULL, err);
	if (st == EM_OK) {
		w->list = new_list(d, layout.bytes, layout.record, err);
		st = w->list != NULL ? EM_OK : err->status;
	}
	if (st != EM_OK)
		em_block_writer_close(w);
	else
		*out = w;
	return st;
}

em_status em_block_writer_open(em_block_writer **out, em_disks *d, const em_block_writer_opts *opts)
{
	em_errinfo err, *theirs = NULL;
	em_block_writer_opts o;
	em_status st;

	if (out == NULL)
		return EM_ERR_INVAL;
	*out = NULL;
	if (opts == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = emi_opts_copy(&o, sizeof o, sizeof o, opts, "em_block_writer_opts", &err);
	if (st == EM_OK) {
		theirs = o.errinfo;
		st = d != NULL ? open_writer(out, d, &o, &err) : emi_fail(&err, EM_ERR_INVAL, "disks are NULL");
	}
	if (st != EM_OK && theirs != NULL)
		*theirs = err;
	return st;
}

/* May it take more? */
static em_status writable(em_block_writer *w, em_errinfo *err)
{
	memset(err, 0, sizeof *err);
	w->lent = 0;
	return w->list != NULL ? emi_ctx_check(w->share.ctx, err) : emi_fail(err, EM_ERR_STATE, "the writer of blocks is finished");
}

/* Block by block. */
static em_status put_many(emi_block_writer *w, const char *from, size_t n, em_errinfo *err)
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

em_status em_block_writer_put(em_block_writer *w, const void *records, size_t n)
{
	const char *from = records;
	em_errinfo err;
	em_status st;

	if (w == NULL || (records == NULL && n != 0))
		return EM_ERR_INVAL;
	st = writable(w, &err);
	if (st == EM_OK && n > 1 && w->writer.order == EMI_FORWARD)
		st = put_many(&w->writer, from, n, &err);
	else
		for (; st == EM_OK && n > 0; n--, from += w->writer.layout.record)
			st = emi_block_writer_put(&w->writer, from, &err);
	return emi_share_told(&w->share, st, &err);
}

em_status em_block_writer_lend(em_block_writer *w, void **records, size_t *n)
{
	em_errinfo err;
	char *room = NULL;
	em_status st;

	if (records != NULL)
		*records = NULL;
	if (n != NULL)
		*n = 0;
	if (w == NULL || records == NULL || n == NULL)
		return EM_ERR_INVAL;
	st = writable(w, &err);
	if (st == EM_OK)
		st = emi_block_writer_lend(&w->writer, &room, n, &err);
	*records = room;
	w->lent = *n;
	return emi_share_told(&w->share, st, &err);
}

em_status em_block_writer_took(em_block_writer *w, size_t n)
{
	em_errinfo err;

	if (w == NULL)
		return EM_ERR_INVAL;
	if (n <= w->lent) {
		emi_block_writer_took(&w->writer, n);
		w->lent = 0;
		return EM_OK;
	}
	memset(&err, 0, sizeof err);
	emi_fail(&err, EM_ERR_INVAL, "%" PRIu64 " records were filled and %" PRIu64 " lent", (uint64_t)n, (uint64_t)w->lent);
	return emi_share_told(&w->share, err.status, &err);
}

em_status em_block_writer_finish(em_block_writer *w, em_block_list **list)
{
	em_errinfo err;
	em_status st;

	if (list == NULL)
		return EM_ERR_INVAL;
	*list = NULL;
	if (w == NULL)
		return EM_ERR_INVAL;
	st = writable(w, &err);
	if (st == EM_OK)
		st = emi_block_writer_finish(&w->writer, &w->list->list, &err);
	if (st == EM_OK) {
		*list = w->list;
		w->list = NULL;
	}
	return emi_share_told(&w->share, st, &err);
}

void em_block_writer_close(em_block_writer *w)
{
	if (w == NULL)
		return;
	emi_block_writer_close(&w->writer);
	em_block_list_close(w->list);
	emi_share_free(w, sizeof *w);
}

const em_errinfo *em_block_writer_error(const em_block_writer *w)
{
	return w != NULL ? &w->share.err : NULL;
}

/* Have the blocks alone, or the list with others. */
static em_status take_list(em_block_reader *r, em_block_list *l, uint32_t flags, em_errinfo *err)
{
	if (!(flags & EM_BLOCKS_CONSUME)) {
		__atomic_add_fetch(&l->users, 1, __ATOMIC_ACQ_REL);
		__atomic_add_fetch(&l->readers, 1, __ATOMIC_ACQ_REL);
		r->list = l;
		return EM_OK;
	}
	if (__atomic_load_n(&l->readers, __ATOMIC_ACQUIRE) != 0)
		return emi_fail(err, EM_ERR_STATE, "the list of blocks has another reader");
	r->own = l->list;
	return EM_OK;
}

static em_status open_reader(em_block_reader **out, em_block_list *l, const em_block_reader_opts *o, em_errinfo *err)
{
	const int consumes = (o->flags & EM_BLOCKS_CONSUME) != 0;
	em_status st = check_flags(o->flags, KNOWN, err);
	em_block_reader *r;

	if (st != EM_OK)
		return st;
	r = emi_share_new(l->share.disks, sizeof *r, err);
	if (r == NULL)
		return err->status;
	st = take_list(r, l, o->flags, err);
	if (st == EM_OK)
		st = emi_block_reader_open(&r->reader, r->share.ctx, r->share.set, l->block_bytes, l->record, buffers(&r->share, o->buffers),
					   consumes ? &r->own : &l->list, order_of(o->flags), consumes, NULL, err);
	if (st != EM_OK) {
		memset(&r->own, 0, sizeof r->own);
		em_block_reader_close(r);
		return st;
	}
	if (consumes)
		memset(&l->list, 0, sizeof l->list);
	*out = r;
	return EM_OK;
}

em_status em_block_reader_open(em_block_reader **out, em_block_list *list, const em_block_reader_opts *opts)
{
	em_errinfo err, *theirs = NULL;
	em_block_reader_opts o;
	em_status st;

	if (out == NULL)
		return EM_ERR_INVAL;
	*out = NULL;
	memset(&err, 0, sizeof err);
	st = emi_opts_copy(&o, sizeof o, sizeof o, opts, "em_block_reader_opts", &err);
	if (st == EM_OK) {
		theirs = o.errinfo;
		st = list != NULL ? open_reader(out, list, &o, &err) : emi_fail(&err, EM_ERR_INVAL, "list is NULL");
	}
	if (st != EM_OK && theirs != NULL)
		*theirs = err;
	return st;
}

em_status em_block_reader_next(em_block_reader *r, const em_batch **batch)
{
	const char *records;
	em_errinfo err;
	em_status st;

	if (batch == NULL)
		return EM_ERR_INVAL;
	*batch = NULL;
	if (r == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = emi_ctx_check(r->share.ctx, &err);
	if (st == EM_OK)
		st = emi_block_reader_next(&r->reader, &records, &r->batch.n, &err);
	if (st == EM_OK) {
		r->batch.records = records;
		r->batch.bytes = r->batch.n * r->reader.layout.record;
		*batch = &r->batch;
	}
	return emi_share_told(&r->share, st, &err);
}

void em_block_reader_close(em_block_reader *r)
{
	if (r == NULL)
		return;
	emi_block_reader_close(&r->reader);
	emi_block_list_release(&r->own, r->share.ctx);
	if (r->list != NULL) {
		__atomic_sub_fetch(&r->list->readers, 1, __ATOMIC_ACQ_REL);
		em_block_list_close(r->list);
	}
	emi_share_free(r, sizeof *r);
}

const em_errinfo *em_block_reader_error(const em_block_reader *r)
{
	return r != NULL ? &r->share.err : NULL;
}
