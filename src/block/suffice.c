/* SPDX-License-Identifier: BSL-1.0 */
/* suffice.c -- see suffice.h. */
#include "block/suffice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/context.h"
#include "block/disk.h"
#include "io/file.h"

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a <= UINT64_MAX - b ? a + b : UINT64_MAX;
}

/* In a context of so much memory. */
static uint64_t needed(const em_ctx *ctx, uint64_t memory, const emi_wants *w)
{
	uint64_t beside = w->files * emi_file_memory_in(ctx, memory) + w->place_bytes * w->blocks;

	if (w->users != 0)
		beside += emi_scratch_memory_in(ctx, memory, w->users, w->blocks, w->block_bytes);
	return sum(w->bytes, beside);
}

uint64_t emi_suffice_least(const em_ctx *ctx, uint64_t memory, const emi_wants *w)
{
	uint64_t least;

	/* In more memory disks have more threads, until they have as many as they may. */
	while ((least = needed(ctx, memory, w)) > memory)
		memory = least;
	return memory;
}

static em_status refuse(const em_ctx *ctx, uint64_t least, em_errinfo *err, const char *fmt, va_list ap)
	EMI_PRINTF(4, 0);

static em_status refuse(const em_ctx *ctx, uint64_t least, em_errinfo *err, const char *fmt, va_list ap)
{
	char options[128];

	vsnprintf(options, sizeof options, fmt, ap);
	return emi_fail_memory(err, least, "%s and what is needed beside are more than the context's memory of %" PRIu64
			       " bytes", options, em_ctx_memory(ctx));
}

em_status emi_suffice_refuse(const em_ctx *ctx, uint64_t least, em_errinfo *err, const char *fmt, ...)
{
	em_status st;
	va_list ap;

	va_start(ap, fmt);
	st = refuse(ctx, least, err, fmt, ap);
	va_end(ap);
	return st;
}

em_status emi_suffice_check(const em_ctx *ctx, const emi_wants *w, em_errinfo *err, const char *fmt, ...)
{
	const uint64_t memory = em_ctx_memory(ctx), least = emi_suffice_least(ctx, memory, w);
	em_status st = EM_OK;
	va_list ap;

	if (least <= memory)
		return EM_OK;
	va_start(ap, fmt);
	st = refuse(ctx, least, err, fmt, ap);
	va_end(ap);
	return st;
}
