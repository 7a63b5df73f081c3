/* SPDX-License-Identifier: BSL-1.0 */
/* memory_price.c -- see memory_price.h. */
#include "base/memory_price.h"

#include "base/context.h"
#include "base/memory.h"
#include "base/meter.h"

#define STEP ((size_t)4 << 20)
#define CHEAP 0.5               /* nanoseconds of the processor for a byte */
#define DEAR_STEPS 2u           /* one step may be dear by chance, as where the host had its processor elsewhere */

/* Nanoseconds for a byte that is used for the first time. */
static double price_of(volatile char *bytes, size_t n)
{
	const uint64_t begin = emi_thread_ns();
	size_t at;

	for (at = 0; at < n; at += EMI_PAGE)
		bytes[at] = 0;
	return (double)(emi_thread_ns() - begin) / (double)n;
}

int emi_memory_is_cheap(em_ctx *ctx, uint64_t bytes)
{
	const size_t n = bytes > EMI_PRICE_BYTES ? (size_t)(bytes / STEP) * STEP : EMI_PRICE_BYTES;
	char *tried = emi_buffer_alloc(ctx, n, NULL);
	unsigned dear = 0;
	size_t at;

	if (tried == NULL)
		return 0;
	for (at = 0; at < n && dear < DEAR_STEPS; at += STEP)
		dear += price_of(tried + at, STEP) >= CHEAP;
	emi_buffer_free(ctx, tried, n);
	return dear < DEAR_STEPS;
}
