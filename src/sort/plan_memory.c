/* SPDX-License-Identifier: BSL-1.0 */
/* plan_memory.c -- see plan_memory.h. */
#include "sort/plan_memory.h"

#include "base/memory_price.h"

#define MIB ((uint64_t)1 << 20)
#define SCALE (16 * MIB)
#define SCALE_VARY (64 * MIB)           /* records of any length: runs are shorter, and blocks longer */
#define LEAST (64 * MIB)
#define WHOLE (128 * MIB)               /* of input a third of this, all can be sorted in it */
#define USUAL ((uint64_t)1 << 30)       /* bytes to be sorted, when nobody knows */
#define CHEAP_MOST ((uint64_t)1 << 30)  /* input that is sorted as a whole where memory is cheap, ... */
#define CHEAP_TIMES 4u                  /* ... in so many times as much, ... */
#define CHEAP_SHARE 16u                 /* ... of which this part is tried */

/* The integer square root, rounded down. */
static uint64_t root(uint64_t square)
{
	uint64_t r = 0, bit = (uint64_t)1 << 31;

	for (; bit != 0; bit /= 2)
		if ((r + bit) * (r + bit) <= square)
			r += bit;
	return r;
}

/* Or EMI_UNKNOWN. */
static uint64_t known_bytes(const emi_job *job, const emi_needs *needs)
{
	const uint64_t size = job->by.codec->record_bytes;

	if (needs->n == EMI_UNKNOWN || size == 0)
		return needs->bytes != 0 ? needs->bytes : EMI_UNKNOWN;
	return needs->n < UINT64_MAX / size ? needs->n * size : UINT64_MAX - 1;
}

static uint64_t input_bytes(const emi_job *job, const emi_needs *needs)
{
	const uint64_t bytes = known_bytes(job, needs);

	return bytes != EMI_UNKNOWN ? bytes : USUAL;
}

/* Is all memory used that there is? */
static int takes_all(const emi_job *job, const emi_needs *needs)
{
	return needs->all || job->ctx->memory_given || job->opts.memory != 0 || job->opts.run_records != 0;
}

void emi_plan_price(emi_job *job, const emi_needs *needs)
{
	const uint64_t bytes = known_bytes(job, needs);

	job->cheap = !takes_all(job, needs) && job->ctx->enough == 0 && bytes > WHOLE / 3 && bytes <= CHEAP_MOST &&
		     emi_memory_is_cheap(job->ctx, CHEAP_TIMES * bytes / CHEAP_SHARE);
}

uint64_t emi_plan_memory(const emi_job *job, const emi_needs *needs, uint64_t memory)
{
	const uint64_t bytes = input_bytes(job, needs);
	const int vary = job->by.vary != NULL;
	uint64_t enough, least;

	if (takes_all(job, needs))
		return memory;
	/* In MiB it is exact enough, and nothing overflows. */
	enough = root(bytes / MIB * ((vary ? SCALE_VARY : SCALE) / MIB)) * MIB;
	least = bytes <= WHOLE / 3 || vary ? WHOLE : LEAST;
	enough = enough > least ? enough : least;
	if (job->cheap && enough < CHEAP_TIMES * bytes)
		enough = CHEAP_TIMES * bytes;
	if (job->ctx->enough != 0)
		enough = job->ctx->enough;
	return enough < memory ? enough : memory;
}

void emi_plan_tell(em_ctx *ctx, uint64_t was)
{
	const uint64_t named = __atomic_exchange_n(&ctx->memory_named, 0, __ATOMIC_RELAXED);

	if (named != 0)
		was = named;
	if (was < em_ctx_memory(ctx))
		emi_log(ctx, ctx->memory_given ? EM_LOG_WARN : EM_LOG_DEBUG,
			"memory of %llu bytes is too little for this sort: it is %llu bytes", (unsigned long long)was,
			(unsigned long long)em_ctx_memory(ctx));
}

int emi_plan_raise(em_ctx *ctx, uint64_t bytes)
{
	const uint64_t all = em_ctx_memory(ctx);

	if (bytes <= all || !emi_memory_raise(ctx, bytes))
		return 0;
	emi_plan_tell(ctx, all);
	return 1;
}
