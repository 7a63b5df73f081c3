/* SPDX-License-Identifier: BSL-1.0 */
/* survey_vary.c -- see survey_vary.h. */
#include "sort/survey_vary.h"

#include "base/workers.h"
#include "key/order.h"

#define PIECE 16384u            /* elements looked at between two looks at the clock */

typedef struct survey {
	const emi_vary *v;
	emi_partition *check;
	const emi_pair *e;
	uint64_t pairs;         /* of neighbours */
	uint32_t parts;
	int ascends, descends;  /* as far as anybody knows; atomic */
} survey;

static int compare(const emi_vary *v, const emi_pair *e)
{
	emi_frame a, b;

	if (e[0].key != e[1].key)
		return e[0].key < e[1].key ? -1 : 1;
	a = emi_frame_of(v, &e[0]);
	b = emi_frame_of(v, &e[1]);
	return emi_string_compare(v, &a, &b, 0);
}

/* Look at n pairs of neighbours: what they leave of what may be true. */
static void look(survey *s, const emi_pair *e, size_t n)
{
	int ascends = __atomic_load_n(&s->ascends, __ATOMIC_RELAXED),
	    descends = __atomic_load_n(&s->descends, __ATOMIC_RELAXED);

	for (; n > 0 && (ascends || descends); n--, e++) {
		const int c = compare(s->v, e);

		ascends &= c <= 0;
		descends &= c > 0;
	}
	if (!ascends)
		__atomic_store_n(&s->ascends, 0, __ATOMIC_RELAXED);
	if (!descends)
		__atomic_store_n(&s->descends, 0, __ATOMIC_RELAXED);
}

static void survey_part(void *arg, uint32_t part)
{
	survey *s = arg;
	const uint64_t each = s->pairs / s->parts, end = part == s->parts - 1 ? s->pairs : each * (part + 1);
	uint64_t i = each * part;

	while (i < end &&
	       (__atomic_load_n(&s->ascends, __ATOMIC_RELAXED) || __atomic_load_n(&s->descends, __ATOMIC_RELAXED)) &&
	       emi_partition_go_on(s->check, part == s->parts - 1)) {
		const size_t n = end - i < PIECE ? (size_t)(end - i) : PIECE;

		look(s, s->e + (size_t)i, n);
		i += n;
	}
}

int emi_survey_strings(const emi_job *job, emi_partition *check, const emi_pair *e, uint64_t n)
{
	survey s = { job->by.vary, check, e, n - 1, job->plan.threads, 1, n > 1 };

	/* Most inputs are neither, and the first few tell. */
	look(&s, e, n - 1 < 16 ? (size_t)(n - 1) : 16);
	if (s.ascends || s.descends)
		emi_parallel(job->ctx, s.parts, survey_part, &s);
	return s.ascends ? EMI_ASCENDS : s.descends ? EMI_DESCENDS : EMI_UNORDERED;
}
