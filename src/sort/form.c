/* SPDX-License-Identifier: BSL-1.0 */
/* form.c -- see form.h. */
#include "sort/form.h"

#include <string.h>

#include "base/workers.h"
#include "sort/own.h"

#define UNIT 16384u             /* elements sent off at a time when there is nothing to sort */

/* One sort in progress. */
typedef struct forming {
	emi_former *f;
	emi_job *job;
	emi_partition part;
	const char *records;    /* n of them, to be loaded */
	size_t next;            /* bucket or unit to be taken next; atomic */
	emi_outseq *q;          /* where they go, ... */
	char *room;             /* ... or there; both NULL: the elements are left as they are */
	uint64_t base;          /* progress before this sort */
} forming;

em_status emi_former_init(emi_former *f, emi_job *job, uint64_t room, em_errinfo *err)
{
	size_t eb = job->codec->elem_bytes;
	uint32_t i, first = job->plan.elem_arrays == 1 ? 1 : 0;
	em_status st;

	memset(f, 0, sizeof *f);
	f->job = job;
	f->room = room;
	if (room > SIZE_MAX / eb)
		return emi_fail(err, EM_ERR_NOMEM, "%llu records do not fit in memory", (unsigned long long)room);
	f->elems_bytes = (size_t)room * eb;
	st = emi_partition_room_init(&f->buckets, job, err);
	if (st == EM_OK && job->plan.hot_bytes != 0) {
		f->hot = emi_buffer_alloc(job->ctx, job->plan.threads * job->plan.hot_bytes, err);
		if (f->hot == NULL)
			st = err->status;
	}
	for (i = first; i < 2 && st == EM_OK; i++) {
		f->elems[i] = emi_buffer_alloc(job->ctx, f->elems_bytes, err);
		if (f->elems[i] == NULL)
			st = err->status;
	}
	if (st == EM_OK && job->own != NULL) {
		f->tags = emi_buffer_alloc(job->ctx, (size_t)room * sizeof *f->tags, err);
		if (f->tags == NULL)
			st = err->status;
	}
	if (st != EM_OK)
		emi_former_free(f);
	return st;
}

void emi_former_free(emi_former *f)
{
	uint32_t i;

	if (f->job == NULL)
		return;
	for (i = 0; i < 2; i++)
		if (f->elems[i] != NULL)
			emi_buffer_free(f->job->ctx, f->elems[i], f->elems_bytes);
	if (f->tags != NULL)
		emi_buffer_free(f->job->ctx, f->tags, (size_t)f->room * sizeof *f->tags);
	if (f->hot != NULL)
		emi_buffer_free(f->job->ctx, f->hot, f->job->plan.threads * f->job->plan.hot_bytes);
	emi_partition_room_free(&f->buckets);
	memset(f, 0, sizeof *f);
}

static void load_records(void *arg, uint64_t i, size_t n)
{
	forming *s = arg;
	const emi_codec *codec = s->job->codec;

	codec->load(s->job->order, s->records + (size_t)i * codec->record_bytes, n,
		    s->part.a + (size_t)i * codec->elem_bytes);
}

/* Store sorted elements [lo, hi) at their places in the sequence, or the room. */
static int emit(forming *s, uint64_t lo, uint64_t hi)
{
	const emi_codec *codec = s->job->codec;

	while (lo < hi) {
		size_t n = (size_t)(hi - lo);
		void *dst = s->room != NULL ? s->room + (size_t)lo * codec->record_bytes : emi_outseq_place(s->q, lo, &n);

		if (dst == NULL)
			return 0;
		codec->store(s->job->order, s->part.sorted + (size_t)lo * codec->elem_bytes, n, dst);
		if (s->room == NULL)
			emi_outseq_filled(s->q, lo, n);
		lo += n;
	}
	return 1;
}

/* Elements of the i-th bucket, or unit where there is nothing to sort; 0 when there is none. */
static int unit_range(const forming *s, size_t i, uint64_t *lo, uint64_t *hi)
{
	const uint64_t n = s->part.n;

	if (s->part.must_sort) {
		if (i >= s->part.buckets)
			return 0;
		emi_partition_bucket(&s->part, i, lo, hi);
		return 1;
	}
	if (i >= (n + UNIT - 1) / UNIT)
		return 0;
	*lo = (uint64_t)i * UNIT;
	*hi = n - *lo < UNIT ? n : *lo + UNIT;
	return 1;
}

/* Sort elements [lo, hi), with scratch that is in this thread's cache if they fit in it. */
static void sort_bucket(forming *s, uint32_t part, uint64_t lo, uint64_t hi)
{
	size_t eb = s->job->codec->elem_bytes, n = (size_t)(hi - lo), hot = s->job->plan.hot_bytes;
	char *other = s->part.sorted == s->part.a ? s->part.b : s->part.a;
	char *tmp = n <= hot / eb ? s->f->hot + part * hot : other + (size_t)lo * eb;

	emi_tie tie = s->job->tie;

	tie.depth = s->part.depth;
	emi_job_sort(s->job, &tie, s->part.sorted + (size_t)lo * eb, tmp, s->f->tags != NULL ? s->f->tags + lo : NULL, n);
}

/* Sort the buckets and send them off. */
static void finish_part(void *arg, uint32_t part)
{
	forming *s = arg;
	int mine = part == s->part.parts - 1;

	for (;;) {
		size_t i = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
		uint64_t lo, hi;

		if (!unit_range(s, i, &lo, &hi) || !emi_partition_go_on(&s->part, mine))
			return;
		if (lo == hi)
			continue;
		if (s->part.must_sort)
			sort_bucket(s, part, lo, hi);
		if ((s->q != NULL || s->room != NULL) && !emit(s, lo, hi))
			return;
		if (mine)
			s->job->watch.done = s->base + hi * s->job->codec->record_bytes;
	}
}

/* Elements that take the place of records need their alignment. */
static char *align_records(const emi_job *job, char *records, uint64_t n)
{
	size_t off = (uintptr_t)records % job->codec->align;

	if (off != 0)
		memmove(records - off, records, (size_t)n * job->codec->record_bytes);
	return records - off;
}

static void begin(forming *s, emi_former *f, char *records, uint64_t n)
{
	emi_job *job = f->job;

	memset(s, 0, sizeof *s);
	s->f = f;
	s->job = job;
	s->base = job->watch.done;
	s->part.job = job;
	s->part.room = &f->buckets;
	s->part.n = n;
	s->part.ties = job->tie.fn != NULL;
	s->part.tags = f->tags;
	s->part.b = f->elems[1];
	s->part.a = f->elems[0] == NULL ? align_records(job, records, n) : f->elems[0];
	s->records = f->elems[0] == NULL ? s->part.a : records;
	if (f->elems[0] != NULL || !job->codec->identity)
		s->part.load = load_records;
	s->part.load_arg = s;
}

static em_status finish(forming *s, em_errinfo *err)
{
	emi_job *job = s->job;
	em_status st = emi_partition_run(&s->part, err);

	if (st != EM_OK)
		return st;
	emi_parallel(job->ctx, s->part.parts, finish_part, s);
	if (s->part.status != EM_OK)
		return emi_fail(err, s->part.status, "canceled");
	if (s->q != NULL && emi_outseq_status(s->q) != EM_OK) {
		*err = s->q->err;
		return s->q->status;
	}
	job->watch.done = s->base + s->part.n * job->codec->record_bytes;
	return emi_job_check(job, err);
}

em_status emi_form_run(emi_former *f, void *records, uint64_t n, emi_outseq *q, em_errinfo *err)
{
	forming s;

	begin(&s, f, records, n);
	s.q = q;
	return finish(&s, err);
}

em_status emi_form_kept(emi_former *f, void *records, uint64_t n, char *room, char **first, em_errinfo *err)
{
	forming s;

	begin(&s, f, records, n);
	s.room = room != NULL ? room : s.f->elems[0] == NULL ? s.part.a : records;
	*first = s.room;
	return finish(&s, err);
}

/* Elements that somebody else looks at have the keys that they should have. */
static void restore_keys(const forming *s)
{
	emi_pair *e = (emi_pair *)(void *)s->part.sorted;
	uint64_t i;

	for (i = 0; s->part.depth != 0 && i < s->part.n; i++)
		e[i].key = s->part.common;
}

em_status emi_form_elems(emi_former *f, void *records, uint64_t n, const void **elems, em_errinfo *err)
{
	forming s;
	em_status st;

	begin(&s, f, records, n);
	st = finish(&s, err);
	restore_keys(&s);
	*elems = s.part.sorted;
	return st;
}
