/* SPDX-License-Identifier: BSL-1.0 */
/* form.c -- see form.h. */
#include "sort/form.h"

#include <string.h>

#include "base/workers.h"

#define PIECE 65536u            /* elements handled between two looks at the clock; they stay in the cache */
#define BUCKET_ELEMS 8192u      /* wanted per bucket */
#define MIN_PARALLEL 32768u     /* fewer elements than this are not worth waking threads for */
#define BUCKETS ((size_t)1 << EMI_MAX_RADIX_BITS)

/* One sort in progress. */
typedef struct forming {
	emi_former *f;
	emi_job *job;
	const emi_kernels *kern;
	const char *records;    /* n of them, to be loaded; NULL when they are elements already */
	char *a;                /* the elements */
	char *b;                /* as many again */
	char *sorted;           /* where they end up: a or b */
	uint64_t n;
	uint32_t parts;         /* contiguous parts, one per thread */
	struct survey {
		uint64_t first, last, diff;
		int sorted;
	} *survey;              /* of each part */
	unsigned shift, bits;   /* of the digit that partitions; bits 0: one bucket */
	size_t buckets;
	int must_sort;
	uint64_t unit;          /* elements per unit when there is nothing to sort */
	size_t next;            /* bucket or unit to be taken next; atomic */
	emi_outseq *q;          /* NULL: leave the elements */
	uint64_t base;          /* progress before this sort */
	em_status status;       /* atomic; first failure of a tick */
} forming;

em_status emi_former_init(emi_former *f, emi_job *job, uint64_t room, em_errinfo *err)
{
	size_t eb = job->codec->elem_bytes;
	uint32_t i, first = job->plan.elem_arrays == 1 ? 1 : 0;
	em_status st = EM_OK;

	memset(f, 0, sizeof *f);
	f->job = job;
	f->room = room;
	if (room > SIZE_MAX / eb)
		return emi_fail(err, EM_ERR_NOMEM, "%llu records do not fit in memory", (unsigned long long)room);
	f->elems_bytes = (size_t)room * eb;
	f->count = emi_alloc_array(job->ctx, job->plan.threads * (uint64_t)BUCKETS, sizeof *f->count, err);
	if (f->count != NULL)
		f->bound = emi_alloc_array(job->ctx, BUCKETS + 1, sizeof *f->bound, err);
	if (f->bound == NULL)
		st = err->status;
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
	if (f->hot != NULL)
		emi_buffer_free(f->job->ctx, f->hot, f->job->plan.threads * f->job->plan.hot_bytes);
	if (f->bound != NULL)
		emi_free_array(f->job->ctx, f->bound, BUCKETS + 1, sizeof *f->bound);
	if (f->count != NULL)
		emi_free_array(f->job->ctx, f->count, f->job->plan.threads * (uint64_t)BUCKETS, sizeof *f->count);
	memset(f, 0, sizeof *f);
}

static uint64_t elem_key(const forming *s, uint64_t i)
{
	const char *e = s->a + (size_t)i * s->kern->elem_bytes;

	if (s->kern->elem_bytes == sizeof(uint32_t))
		return *(const uint32_t *)(const void *)e;
	return *(const uint64_t *)(const void *)e;
}

static uint64_t part_begin(const forming *s, uint32_t part)
{
	return s->n / s->parts * part + (part < s->n % s->parts ? part : s->n % s->parts);
}

/* The part that runs on the calling thread ticks. */
static int go_on(forming *s, int ticks)
{
	if (ticks) {
		em_status st = emi_tick(&s->job->watch);

		if (st != EM_OK)
			__atomic_store_n(&s->status, st, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&s->status, __ATOMIC_RELAXED) == EM_OK;
}

/* Step 1: records to elements, and what their keys look like. */
static void survey_part(void *arg, uint32_t part)
{
	forming *s = arg;
	struct survey *v = &s->survey[part];
	uint64_t i = part_begin(s, part), end = part_begin(s, part + 1);
	size_t rb = s->job->codec->record_bytes, eb = s->kern->elem_bytes;
	int order;

	v->sorted = 1;
	for (; i < end && go_on(s, part == s->parts - 1); i += PIECE) {
		size_t n = end - i < PIECE ? (size_t)(end - i) : PIECE;
		uint64_t first;

		if (s->records != NULL)
			s->job->codec->load(s->job->order, s->records + (size_t)i * rb, n, s->a + (size_t)i * eb);
		first = elem_key(s, i);
		if (i == part_begin(s, part))
			v->first = v->last = first;
		v->diff |= (v->first ^ first) | s->kern->survey(s->a + (size_t)i * eb, n, &order);
		v->sorted &= order == 1 && v->last <= first;
		v->last = elem_key(s, i + n - 1);
	}
}

/* Step 2: how many elements of each part go to each bucket. */
static void count_part(void *arg, uint32_t part)
{
	forming *s = arg;
	uint64_t i = part_begin(s, part), end = part_begin(s, part + 1);
	size_t *count = s->f->count + part * BUCKETS;

	memset(count, 0, s->buckets * sizeof *count);
	for (; i < end && go_on(s, part == s->parts - 1); i += 16 * PIECE) {
		size_t n = end - i < 16 * PIECE ? (size_t)(end - i) : 16 * PIECE;

		s->kern->histogram(s->a + (size_t)i * s->kern->elem_bytes, n, s->shift, s->bits, count);
	}
}

/* Counts become places: the elements of a bucket lie together, those of an earlier part first. */
static void place_buckets(forming *s)
{
	size_t bucket, at = 0;
	uint32_t part;

	for (bucket = 0; bucket < s->buckets; bucket++) {
		s->f->bound[bucket] = at;
		for (part = 0; part < s->parts; part++) {
			size_t *count = &s->f->count[part * BUCKETS + bucket], n = *count;

			*count = at;
			at += n;
		}
	}
	s->f->bound[s->buckets] = at;
}

/* Step 3: move them there. */
static void scatter_part(void *arg, uint32_t part)
{
	forming *s = arg;
	uint64_t i = part_begin(s, part), end = part_begin(s, part + 1);
	size_t *pos = s->f->count + part * BUCKETS;

	for (; i < end && go_on(s, part == s->parts - 1); i += 16 * PIECE) {
		size_t n = end - i < 16 * PIECE ? (size_t)(end - i) : 16 * PIECE;

		s->kern->scatter(s->a + (size_t)i * s->kern->elem_bytes, n, s->shift, s->bits, s->b, pos);
	}
}

/* Store sorted elements [lo, hi) at their places in the sequence. */
static int emit(forming *s, uint64_t lo, uint64_t hi)
{
	while (lo < hi) {
		size_t n = (size_t)(hi - lo);
		void *dst = emi_outseq_place(s->q, lo, &n);

		if (dst == NULL)
			return 0;
		s->job->codec->store(s->job->order, s->sorted + (size_t)lo * s->kern->elem_bytes, n, dst);
		emi_outseq_filled(s->q, lo, n);
		lo += n;
	}
	return 1;
}

/* Elements of the i-th bucket, or unit where there is nothing to sort. */
static int unit_range(const forming *s, size_t i, uint64_t *lo, uint64_t *hi)
{
	if (s->must_sort && s->bits != 0) {
		if (i >= s->buckets)
			return 0;
		*lo = s->f->bound[i];
		*hi = s->f->bound[i + 1];
		return 1;
	}
	if (i >= (s->n + s->unit - 1) / s->unit)
		return 0;
	*lo = i * s->unit;
	*hi = s->n - *lo < s->unit ? s->n : *lo + s->unit;
	return 1;
}

/* Sort elements [lo, hi), with scratch that is in this thread's cache if they fit in it. */
static void sort_bucket(forming *s, uint32_t part, uint64_t lo, uint64_t hi)
{
	size_t eb = s->kern->elem_bytes, n = (size_t)(hi - lo), hot = s->job->plan.hot_bytes;
	char *other = s->sorted == s->a ? s->b : s->a;
	char *tmp = n <= hot / eb ? s->f->hot + part * hot : other + (size_t)lo * eb;

	s->kern->sort(s->sorted + (size_t)lo * eb, tmp, n, &s->job->tie);
}

/* Step 4: sort the buckets and send them off. */
static void finish_part(void *arg, uint32_t part)
{
	forming *s = arg;
	int mine = part == s->parts - 1;

	for (;;) {
		size_t i = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
		uint64_t lo, hi;

		if (!unit_range(s, i, &lo, &hi) || !go_on(s, mine))
			return;
		if (lo == hi)
			continue;
		if (s->must_sort)
			sort_bucket(s, part, lo, hi);
		if (s->q != NULL && !emit(s, lo, hi))
			return;
		if (mine)
			s->job->watch.done = s->base + hi * s->job->codec->record_bytes;
	}
}

static unsigned bits_of(uint64_t x)
{
	unsigned n = 0;

	for (; x != 0; x >>= 1)
		n++;
	return n;
}

/* What the surveys say together, and how to go about it. */
static void choose_method(forming *s)
{
	uint64_t diff = 0;
	uint32_t part;
	unsigned top;
	int sorted = 1;

	for (part = 0; part < s->parts; part++) {
		const struct survey *v = &s->survey[part];

		diff |= v->diff | (v->first ^ s->survey[0].first);
		sorted &= v->sorted && (part == 0 || s->survey[part - 1].last <= v->first);
	}
	s->sorted = s->a;
	s->must_sort = !sorted || s->job->tie.fn != NULL;
	s->unit = s->must_sort ? s->n : PIECE / 4;
	top = bits_of(diff);
	s->bits = bits_of(s->n / BUCKET_ELEMS);
	if (s->bits > EMI_MAX_RADIX_BITS)
		s->bits = EMI_MAX_RADIX_BITS;
	if (s->bits > top)
		s->bits = top;
	if (!s->must_sort || s->n < MIN_PARALLEL)
		s->bits = 0;
	s->shift = top - s->bits;
	s->buckets = (size_t)1 << s->bits;
}

static em_status run_steps(forming *s)
{
	em_ctx *ctx = s->job->ctx;

	emi_parallel(ctx, s->parts, survey_part, s);
	if (s->status != EM_OK)
		return s->status;
	choose_method(s);
	if (s->bits != 0) {
		emi_parallel(ctx, s->parts, count_part, s);
		place_buckets(s);
		emi_parallel(ctx, s->parts, scatter_part, s);
		s->sorted = s->b;
	}
	if (s->status == EM_OK)
		emi_parallel(ctx, s->parts, finish_part, s);
	return s->status;
}

/* Elements that take the place of records need their alignment. */
static char *align_records(const emi_job *job, char *records, uint64_t n)
{
	size_t align = job->codec->elem == EMI_ELEM_U32 ? sizeof(uint32_t) : sizeof(uint64_t);
	size_t off = (uintptr_t)records % align;

	if (off != 0)
		memmove(records - off, records, (size_t)n * job->codec->record_bytes);
	return records - off;
}

static em_status form(emi_former *f, char *records, uint64_t n, emi_outseq *q, const void **elems, em_errinfo *err)
{
	emi_job *job = f->job;
	forming s;
	em_status st;

	memset(&s, 0, sizeof s);
	s.f = f;
	s.job = job;
	s.kern = job->kern;
	s.n = n;
	s.q = q;
	s.base = job->watch.done;
	s.parts = n < MIN_PARALLEL ? 1 : job->plan.threads;
	s.b = f->elems[1];
	if (f->elems[0] == NULL) {
		s.a = align_records(job, records, n);
		s.records = job->codec->identity ? NULL : s.a;
	} else {
		s.a = f->elems[0];
		s.records = records;
	}
	s.survey = emi_alloc_array(job->ctx, s.parts, sizeof *s.survey, err);
	if (s.survey == NULL)
		return err->status;
	st = run_steps(&s);
	emi_free_array(job->ctx, s.survey, s.parts, sizeof *s.survey);
	if (st != EM_OK)
		return emi_fail(err, st, "canceled");
	if (q != NULL && emi_outseq_status(q) != EM_OK) {
		*err = q->err;
		return q->status;
	}
	job->watch.done = s.base + n * job->codec->record_bytes;
	if (elems != NULL)
		*elems = s.sorted;
	return emi_job_check(job, err);
}

em_status emi_form_run(emi_former *f, void *records, uint64_t n, emi_outseq *q, em_errinfo *err)
{
	return form(f, records, n, q, NULL, err);
}

em_status emi_form_elems(emi_former *f, void *records, uint64_t n, const void **elems, em_errinfo *err)
{
	return form(f, records, n, NULL, elems, err);
}
