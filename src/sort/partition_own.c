/* SPDX-License-Identifier: BSL-1.0 */
/*
 * partition_own.c -- the same as partition.c for records that have kernels of their own and no keys.
 *
 * In place of a digit it is splitters that tell the buckets: a sample of the records is sorted, and evenly spaced ones
 * of it are taken.  When some of these are equal, there are many records like that: then there are half as many
 * splitters, and what is equal to one of them gets a bucket for itself, which is sorted as soon as somebody looks at
 * it.
 */
#include "sort/partition.h"

#include <string.h>

#include "base/workers.h"
#include "kern/tags.h"

#define PIECE 65536u            /* records handled between two looks at the clock */
#define SAMPLE 16u              /* records of it for each splitter */
#define BUCKET_BYTES 65536u     /* wanted per bucket */
#define MIN_BUCKET 64u          /* records */

/* Is each of n records less than the one before: are no two neighbours in order? */
static int descends(const emi_job *job, void *arg, const char *a, size_t n)
{
	const size_t rb = job->by.codec->elem_bytes;

	for (; n > 1; n--, a += rb)
		if (job->by.own->sorted(a, 2, arg))
			return 0;
	return 1;
}

/* Step 1: are they in order, or in reverse?  Each part looks at the record before its own, too. */
static void survey_part(void *arg, uint32_t part)
{
	emi_partition *p = arg;
	struct emi_survey *v = &p->survey[part];
	emi_job *job = p->job;
	void *own_arg = emi_collation_here(&job->by, job->by.own_arg);
	const size_t rb = job->by.codec->elem_bytes;
	uint64_t i = emi_partition_begin(p, part), end = emi_partition_begin(p, part + 1);

	v->sorted = 1;
	v->reversed = p->turns;
	for (; i < end && (v->sorted || v->reversed) && emi_partition_go_on(p, part == p->parts - 1); i += PIECE) {
		const uint64_t first = i != 0 ? i - 1 : 0, last = end - i < PIECE ? end : i + PIECE;
		const char *from = p->a + (size_t)first * rb;
		const size_t n = (size_t)(last - first);

		v->sorted = v->sorted && job->by.own->sorted(from, n, own_arg);
		v->reversed = v->reversed && descends(job, own_arg, from, n);
	}
}

/* What the surveys say together. */
static void look_at_surveys(emi_partition *p)
{
	int sorted = 1, reversed = p->n > 1;
	uint32_t part;

	for (part = 0; part < p->parts; part++) {
		sorted &= p->survey[part].sorted;
		reversed &= p->survey[part].reversed;
	}
	p->reversed = reversed;
	p->must_sort = !sorted && !reversed;
}

static unsigned wanted_bits(const emi_partition *p)
{
	const size_t fit = BUCKET_BYTES / p->job->by.codec->elem_bytes, each = fit > MIN_BUCKET ? fit : MIN_BUCKET;
	unsigned bits = 0;

	while (bits < EMI_BUCKET_BITS && p->n >> (bits + 1) >= each)
		bits++;
	return bits;
}

/* A sorted sample to where the records will go, which is still free; returns how many there are. */
static size_t take_sample(emi_partition *p, unsigned levels)
{
	const size_t rb = p->job->by.codec->elem_bytes, n = (size_t)SAMPLE << levels;
	const uint64_t step = p->n / n;
	uint64_t random = 0x9e3779b97f4a7c15u;
	size_t i;

	for (i = 0; i < n; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		memcpy(p->b + i * rb, p->a + (size_t)(i * step + (random >> 33) % step) * rb, rb);
	}
	p->job->by.own->sort(p->b, p->b + n * rb, n, emi_collation_here(&p->job->by, p->job->by.own_arg));
	return n;
}

/* Splitters from a sorted sample, in order and as a tree, behind the sample.  Returns whether some are equal. */
static int take_splitters(emi_partition *p, size_t sample, unsigned levels, em_kern_splitters *s)
{
	const emi_job *job = p->job;
	const size_t rb = job->by.codec->elem_bytes, n = (size_t)1 << levels, each = sample / n;
	char *sorted = p->b + sample * rb, *tree = sorted + n * rb;
	size_t i, level;
	int equal = 0;

	for (i = 0; i + 1 < n; i++) {
		memcpy(sorted + i * rb, p->b + ((i + 1) * each - 1) * rb, rb);
		equal |= i != 0 && job->by.own->compare(sorted + (i - 1) * rb, sorted + i * rb, job->by.own_arg) == 0;
	}
	for (level = 0; level < levels; level++)
		for (i = 0; i >> level == 0; i++)
			memcpy(tree + (((size_t)1 << level) + i) * rb,
			       sorted + ((2 * i + 1) * (n >> (level + 1)) - 1) * rb, rb);
	s->levels = levels;
	s->equal = equal;
	s->sorted = sorted;
	s->tree = tree;
	return equal;
}

/* Step 2: to which bucket each record goes, and how many of each part go to each. */
static void count_part(void *arg, uint32_t part)
{
	emi_partition *p = arg;
	emi_job *job = p->job;
	void *own_arg = emi_collation_here(&job->by, job->by.own_arg);
	uint64_t i = emi_partition_begin(p, part), end = emi_partition_begin(p, part + 1);
	size_t *count = p->room->count + part * EMI_MOST_BUCKETS;

	memset(count, 0, p->buckets * sizeof *count);
	for (; i < end && emi_partition_go_on(p, part == p->parts - 1); i += PIECE) {
		const size_t n = end - i < PIECE ? (size_t)(end - i) : PIECE;

		job->by.own->classify(p->a + (size_t)i * job->by.codec->elem_bytes, n, &p->splitters, p->tags + i,
				      own_arg);
		emi_count_tags(p->tags + i, n, count);
	}
}

/* Step 3: move them there. */
static void scatter_part(void *arg, uint32_t part)
{
	emi_partition *p = arg;
	uint64_t i = emi_partition_begin(p, part), end = emi_partition_begin(p, part + 1);
	size_t *pos = p->room->count + part * EMI_MOST_BUCKETS, rb = p->job->by.codec->elem_bytes;

	for (; i < end && emi_partition_go_on(p, part == p->parts - 1); i += 16 * PIECE) {
		const size_t n = end - i < 16 * PIECE ? (size_t)(end - i) : 16 * PIECE;

		emi_scatter_tags(p->a + (size_t)i * rb, p->tags + i, n, rb, p->bits, p->b, pos,
				 p->work + part * EMI_KERN_WORK);
	}
}

em_status emi_partition_own(emi_partition *p)
{
	em_ctx *ctx = p->job->ctx;
	unsigned levels;
	size_t sample;

	emi_parallel(ctx, p->parts, survey_part, p);
	if (p->status != EM_OK)
		return p->status;
	p->sorted = p->a;
	p->buckets = 1;
	look_at_surveys(p);
	if (p->reversed)
		emi_partition_turn(p);
	levels = emi_partition_small(p) ? 0 : wanted_bits(p);
	if (!p->must_sort || levels < 2)
		return EM_OK;
	sample = take_sample(p, levels);
	/* Buckets for equal records are as many again. */
	if (take_splitters(p, sample, levels, &p->splitters) && levels == EMI_BUCKET_BITS)
		take_splitters(p, sample, --levels, &p->splitters);
	p->bits = levels + (p->splitters.equal != 0);
	p->buckets = (size_t)1 << p->bits;
	emi_parallel(ctx, p->parts, count_part, p);
	emi_partition_place(p);
	if (p->status == EM_OK)
		emi_parallel(ctx, p->parts, scatter_part, p);
	p->sorted = p->b;
	return p->status;
}
