/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector_sort.c -- sorting ranges of vectors through the engine, and what stands on that; see extmem/vector_scan.h.
 *
 * The sorter takes a share of what memory is left.  So what is needed beside it has its memory before: a reader, a
 * writer, and frames of the cache for blocks of which other records stay.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/structs.h"
#include "container/vector_algorithm.h"
#include "sort/job.h"
#include "sort/shuffle_number.h"

#define UNDEFINED "; the range is undefined"

em_status emi_vector_order(const em_vector *v, const em_order *order, em_errinfo *err)
{
	const em_status st = emi_given(order, "order", err);

	if (st != EM_OK || em_order_record_size(order) == v->inner.layout.record)
		return st;
	return emi_fail(err, EM_ERR_INVAL, "an order of records of %" PRIu64 " bytes for a vector of %" PRIu64,
			em_order_record_size(order), v->inner.layout.record);
}

/* A sort on its way. */
typedef struct sorting {
	em_sorter *sorter;
	size_t skip;            /* bytes in front of each sorted record that are none of it */
	size_t record;
	/* of a shuffle */
	emi_shuffle_numbers numbers;
	unsigned char *stage;
	size_t stage_records;
} sorting;

static em_status sorter_failed(const sorting *s, em_status st, em_errinfo *err)
{
	if (st < EM_OK)
		em_sorter_error(s->sorter, err);
	return st;
}

static em_status feed(void *arg, uint64_t i, const char *records, uint64_t n, em_errinfo *err)
{
	sorting *s = arg;

	(void)i;
	return sorter_failed(s, em_sorter_push(s->sorter, records, n), err);
}

/* Say what has become of the range. */
static void tell_undefined(em_errinfo *err)
{
	const size_t most = sizeof err->text - sizeof UNDEFINED, n = strlen(err->text);

	memcpy(err->text + (n < most ? n : most), UNDEFINED, sizeof UNDEFINED);
}

static em_status write_sorted(sorting *s, emi_vector_writer *w, em_errinfo *err)
{
	const uint64_t from = w->at;
	const em_batch *batch;
	em_status st;

	while ((st = sorter_failed(s, em_sorter_next(s->sorter, &batch), err)) == EM_OK) {
		const char *records = batch->records;
		size_t k;

		if (s->skip == 0)
			st = emi_vector_writer_push(w, records, batch->n, err);
		for (k = 0; s->skip != 0 && k < batch->n && st == EM_OK; k++, records += s->skip + s->record)
			st = emi_vector_writer_push(w, records + s->skip, 1, err);
		if (st != EM_OK)
			break;
	}
	if (st == EM_END)
		st = emi_vector_writer_finish(w, err);
	if (st != EM_OK && w->at != from)
		tell_undefined(err);
	return st;
}

/* All that there is to read and write with is open. */
static em_status run(sorting *s, emi_vector_reader *r, emi_vector_writer *w, emi_vector_visit_fn push,
		     const em_order *order, const em_sort_opts *opts, em_errinfo *err)
{
	em_status st = emi_cache_provide(w->v->cache, 2, err);

	if (st == EM_OK)
		st = em_sorter_open(&s->sorter, w->v->ctx, order, opts);
	if (st == EM_OK)
		st = emi_vector_pass(r, r->from, push, s, err);
	if (st == EM_OK)
		st = sorter_failed(s, em_sorter_finish(s->sorter), err);
	if (st == EM_OK)
		st = write_sorted(s, w, err);
	em_sorter_close(s->sorter);
	return st;
}

/* Who watches the sort, and the vector that may be canceled meanwhile. */
typedef struct watched {
	const emi_store *store;
	em_progress_fn fn;      /* or NULL */
	void *user;
} watched;

static int watch(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	const watched *w = user;

	return emi_store_canceled(w->store) || (w->fn != NULL && w->fn(w->user, phase, done, total) != 0);
}

/* Have all records of a range sorted, and write them back. */
static em_status sort(sorting *s, emi_vector *v, uint64_t from, uint64_t n, emi_vector_visit_fn push,
		      const em_order *order, const em_sort_opts *opts, uint64_t *left, em_errinfo *err)
{
	const em_sort_opts plain = EM_SORT_OPTS_INIT;
	emi_vector_reader r;
	emi_vector_writer w;
	watched of;
	em_sort_opts o;
	em_status st = EMI_STRUCT_TAKE(em_sort_opts, &o, opts != NULL ? opts : &plain, err);

	if (st != EM_OK)
		return st;
	of.store = v->store;
	of.fn = o.progress;
	of.user = o.progress_user;
	o.progress = watch;
	o.progress_user = &of;
	o.progress_free = NULL;
	o.errinfo = err;
	memset(&r, 0, sizeof r);
	memset(&w, 0, sizeof w);
	st = emi_vector_writer_open(&w, v, from, n, 0, err);
	if (st != EM_OK)
		return st;
	st = emi_vector_reader_open(&r, v, from, n, 0, 0, err);
	if (st == EM_OK) {
		st = run(s, &r, &w, push, order, &o, err);
		emi_vector_reader_close(&r);
	}
	*left = w.at - from;
	emi_vector_writer_close(&w);
	return st;
}

em_status emi_vector_sort(emi_vector *v, uint64_t from, uint64_t n, const em_order *order, const em_sort_opts *opts,
			  uint64_t *left, em_errinfo *err)
{
	sorting s;

	memset(&s, 0, sizeof s);
	s.record = (size_t)v->layout.record;
	return sort(&s, v, from, n, feed, order, opts, left, err);
}

static em_status sort_vector(em_vector *v, uint64_t from, uint64_t n, const em_order *order, const em_sort_opts *opts,
			     uint64_t *left)
{
	uint64_t have;
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	st = emi_vector_order(v, order, &err);
	if (st == EM_OK)
		st = emi_vector_change_range(v, from, &n, &err);
	if (st == EM_OK)
		st = emi_vector_sort(&v->inner, from, n, order, opts, &have, &err);
	if (st == EM_OK && left != NULL)
		*left = have;
	return emi_leave(v, st, &err);
}

em_status em_vector_sort(em_vector *v, uint64_t from, uint64_t n, const em_order *order, const em_sort_opts *opts,
			 uint64_t *left)
{
	const emi_user watching = emi_job_user(opts);
	const em_status st = sort_vector(v, from, n, order, opts, left);

	emi_user_free(&watching);
	return st;
}

#define STAGE_BYTES ((size_t)64 << 10) /* of records with their numbers */

/* Put a number in front of each record. */
static em_status feed_numbered(void *arg, uint64_t i, const char *records, uint64_t n, em_errinfo *err)
{
	sorting *s = arg;
	em_status st = EM_OK;

	(void)i;
	while (n != 0 && st == EM_OK) {
		const size_t some = n < s->stage_records ? (size_t)n : s->stage_records;
		unsigned char *to = s->stage;
		size_t k;

		for (k = 0; k < some; k++, records += s->record) {
			to = emi_shuffle_put(&s->numbers, to);
			memcpy(to, records, s->record);
			to += s->record;
		}
		st = sorter_failed(s, em_sorter_push(s->sorter, s->stage, some), err);
		n -= some;
	}
	return st;
}

static em_status shuffle(emi_vector *v, uint64_t from, uint64_t n, uint64_t seed, const em_sort_opts *opts,
			 em_errinfo *err)
{
	const em_key key = { 0, 0, EM_KEY_U64, EM_KEY_BIG_ENDIAN, { 0 } };
	const uint64_t each = v->layout.record + EMI_SHUFFLE_BYTES;
	em_order *order = NULL;
	size_t stage;
	sorting s;
	uint64_t left;
	em_status st;

	memset(&s, 0, sizeof s);
	s.skip = EMI_SHUFFLE_BYTES;
	s.record = (size_t)v->layout.record;
	emi_shuffle_begin(&s.numbers, seed);
	s.stage_records = STAGE_BYTES / (size_t)each;
	s.stage_records += s.stage_records == 0;
	stage = (s.stage_records * (size_t)each + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
	if (opts != NULL && opts->flags != 0)
		return emi_fail(err, EM_ERR_INVAL, "flags 0x%" PRIx32 " are not for shuffling", opts->flags);
	s.stage = emi_buffer_alloc(v->ctx, stage, err);
	st = s.stage != NULL ? em_order_keys(&order, v->ctx, each, &key, 1, err) : err->status;
	if (st == EM_OK)
		st = sort(&s, v, from, n, feed_numbered, order, opts, &left, err);
	em_order_close(order);
	emi_buffer_free(v->ctx, s.stage, stage);
	return st;
}

static em_status shuffle_vector(em_vector *v, uint64_t from, uint64_t n, uint64_t seed, const em_sort_opts *opts)
{
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	st = emi_vector_change_range(v, from, &n, &err);
	return emi_leave(v, st == EM_OK ? shuffle(&v->inner, from, n, seed, opts, &err) : st, &err);
}

em_status em_vector_shuffle(em_vector *v, uint64_t from, uint64_t n, uint64_t seed, const em_sort_opts *opts)
{
	const emi_user watching = emi_job_user(opts);
	const em_status st = shuffle_vector(v, from, n, seed, opts);

	emi_user_free(&watching);
	return st;
}
