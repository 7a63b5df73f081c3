/* SPDX-License-Identifier: BSL-1.0 */
/* vector_stream.c -- the buffers of readers and writers; see vector_stream.h. */
#include "container/vector_stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

#define BUFFERS_USUAL 32u       /* for a disk, so transfers under way are 31; ... */
#define BYTES_USUAL ((uint64_t)8 << 20) /* ... or more, until they are so many bytes, ... */
#define BUFFERS_MANY 128u       /* ... but no more than these, which small blocks would be */
#define BYTES_MOST ((uint64_t)32 << 20)
#define MEMORY_SHARE 8u
#define BUFFERS_MOST (1u << 16)

static uint32_t usual(const emi_vector *v)
{
	const uint64_t share = em_ctx_memory(v->ctx) / MEMORY_SHARE, most = share < BYTES_MOST ? share : BYTES_MOST;
	const uint64_t fit = most / v->layout.block_bytes;
	const uint32_t disks = v->file != NULL ? 1 : emi_scratch_disks(v->ctx);
	const uint64_t deep = BYTES_USUAL / v->layout.block_bytes, many = deep < BUFFERS_MANY ? deep : BUFFERS_MANY;
	const uint64_t each = many > BUFFERS_USUAL ? many : BUFFERS_USUAL;
	const uint64_t n = disks * each < fit ? disks * each : fit;

	return n < 2 ? 2 : (uint32_t)n;
}

/* Buffers for a range of so many blocks, and bytes of each. */
static uint32_t shape(const emi_vector *v, uint32_t asked, uint64_t blocks, size_t *bytes)
{
	const uint32_t n = v->layout.straddles ? 1 : asked != 0 ? asked : usual(v);

	*bytes = v->layout.block_bytes;
	if (*bytes < v->layout.record)
		*bytes = ((size_t)v->layout.record + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
	if (n > blocks)
		return blocks != 0 ? (uint32_t)blocks : 1;
	return n;
}

uint64_t emi_vector_ring_memory(const emi_vector *v, uint64_t records)
{
	const uint64_t each = v->layout.block_bytes / v->layout.record;
	const uint64_t blocks = each > 1 ? records / each + 2 : UINT64_MAX;
	size_t bytes;
	const uint64_t n = shape(v, 0, blocks, &bytes);

	return n * (bytes + sizeof(emi_request) + sizeof(uint32_t)) + EMI_PAGE;
}

em_status emi_vector_ring_open(emi_vector_ring *ring, const emi_vector *v, uint32_t asked, uint64_t blocks,
			       em_errinfo *err)
{
	uint32_t n;

	if (asked == 1 || asked > BUFFERS_MOST)
		return emi_fail(err, EM_ERR_RANGE, "%" PRIu32 " buffers", asked);
	n = shape(v, asked, blocks, &ring->bytes);
	ring->buffers = n;
	ring->rq = emi_alloc_array(v->ctx, n, sizeof *ring->rq, err);
	if (ring->rq != NULL)
		ring->state = emi_alloc_array(v->ctx, n, sizeof *ring->state, err);
	if (ring->state != NULL)
		ring->room = emi_buffer_alloc_array(v->ctx, n, ring->bytes, err);
	return ring->room != NULL ? EM_OK : err->status;
}

void emi_vector_ring_close(emi_vector_ring *ring, const emi_vector *v)
{
	uint32_t i;

	for (i = 0; ring->rq != NULL && i < ring->buffers && !emi_ctx_forked(v->ctx); i++)
		(void)emi_wait(&ring->rq[i], NULL);
	emi_buffer_free_array(v->ctx, ring->room, ring->buffers, ring->bytes);
	emi_free_array(v->ctx, ring->state, ring->buffers, sizeof *ring->state);
	emi_free_array(v->ctx, ring->rq, ring->buffers, sizeof *ring->rq);
	memset(ring, 0, sizeof *ring);
}
