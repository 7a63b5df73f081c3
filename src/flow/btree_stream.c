/* SPDX-License-Identifier: BSL-1.0 */
/* btree_stream.c -- ranges of B+-trees as streams, and loading them as a sink. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "container/btree.h"
#include "flow/container_stream.h"

static const em_btree *tree_of(const emi_from *f)
{
	return f->container;
}

/* The cursor stands on the last record before the range. */
static em_status open_cursor(emi_from *f)
{
	em_btree_cursor *c;
	em_status st = em_btree_cursor_open(&c, f->container);

	f->reader = c;
	if (st == EM_OK && f->has_from) {
		st = em_btree_cursor_seek(c, f->key, EM_BTREE_LT);
		if (st == EM_NOT_FOUND)
			st = EM_OK;
	}
	return st;
}

/* How many of n records are before the end of the range? */
static uint64_t before_end(const emi_from *f, const char *records, uint64_t n, int *failed)
{
	const em_order *order = tree_of(f)->by.order;
	const char *end = f->key + f->s.record;
	uint64_t low = 0, high = n;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (emi_order_compare(order, records + (size_t)middle * f->s.record, end, failed) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static em_status take(emi_from *f, void *records, uint64_t n, uint64_t *got)
{
	em_status st = f->over ? EM_END : em_btree_cursor_next_many(f->reader, records, n, got);
	int failed = 0;

	if (st != EM_OK || !f->has_to)
		return st;
	n = before_end(f, records, *got, &failed);
	f->over = n != *got;
	*got = n;
	return failed ? EM_ERR_USER : st;
}

static void error(const emi_from *f, em_errinfo *err)
{
	em_btree_error(f->container, err);
}

static void close_cursor(emi_from *f)
{
	em_btree_cursor_close(f->reader);
	if (f->key != NULL)
		emi_free(f->s.object.ctx, f->key, 2 * f->s.record);
	f->key = NULL;
}

/* Keys are the first bytes of records; functions of orders get whole ones. */
static em_status copy_keys(emi_from *f, const void *from, const void *to, em_errinfo *err)
{
	const size_t bytes = (size_t)em_btree_key_bytes(f->container);

	if (from == NULL && to == NULL)
		return EM_OK;
	f->key = emi_alloc(f->s.object.ctx, 2 * f->s.record, err);
	if (f->key == NULL)
		return err->status;
	if (from != NULL)
		memcpy(f->key, from, bytes);
	if (to != NULL)
		memcpy(f->key + f->s.record, to, bytes);
	f->has_from = from != NULL;
	f->has_to = to != NULL;
	return EM_OK;
}

em_status em_stream_btree(em_stream **out, em_btree *tree, const void *from, const void *to, em_errinfo *theirs)
{
	static const emi_from_kind how = { open_cursor, NULL, take, error, close_cursor, 0 };
	em_errinfo err;
	em_status st = emi_stream_begin(out, &err);
	emi_from *f = NULL;

	if (st == EM_OK)
		st = emi_given(tree, "tree", &err);
	if (st == EM_OK) {
		f = emi_from_new(tree, &how, em_btree_record_bytes(tree),
				 from == NULL && to == NULL ? em_btree_size(tree) : EM_STREAM_UNKNOWN, &err);
		if (f != NULL && (st = copy_keys(f, from, to, &err)) != EM_OK)
			emi_stream_drop(&f->s);
	}
	return emi_from_made(f, out, st, theirs, &err);
}

static em_status open_loader(emi_to *t)
{
	em_btree_loader *l;
	const em_status st = em_btree_loader_open(&l, t->container, &t->load);

	t->writer = l;
	return st;
}

static em_status push(emi_to *t, const void *records, uint64_t n, uint64_t *pushed)
{
	return em_btree_loader_push(t->writer, records, n, pushed);
}

static em_status finish(emi_to *t)
{
	return em_btree_loader_finish(t->writer);
}

static void push_error(const emi_to *t, em_errinfo *err)
{
	if (t->writer != NULL)
		em_btree_loader_error(t->writer, err);
	else
		em_btree_error(t->container, err);
}

static void close_loader(emi_to *t)
{
	em_btree_loader_close(t->writer);
}

em_status em_sink_btree(em_sink **out, em_btree *tree, const em_btree_load_opts *opts, em_errinfo *theirs)
{
	static const emi_to_kind how = { open_loader, push, finish, push_error, close_loader };
	em_btree_load_opts o;
	em_errinfo err;
	em_status st = emi_sink_begin(out, &err);
	emi_to *t = NULL;

	if (st == EM_OK)
		st = emi_given(tree, "tree", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_btree_load_opts, &o, opts, &err);
	if (st == EM_OK) {
		t = emi_to_new(tree, &how, em_btree_record_bytes(tree), &err);
		st = t != NULL ? EM_OK : err.status;
	}
	if (t != NULL) {
		o.errinfo = NULL;
		t->load = o;
		*out = &t->k;
	}
	return emi_tell(theirs, st, &err);
}
