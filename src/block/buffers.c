/* SPDX-License-Identifier: BSL-1.0 */
/* buffers.c -- see buffers.h. */
#include "block/buffers.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pieces.h"

#define LARGE_PAGE ((size_t)2 << 20)

/* Buffers that were made together. */
struct emi_buffers_slab {
	emi_buffers_slab *next;
	char *at;
	uint32_t n;
};

void emi_buffers_init(emi_buffers *b, em_ctx *ctx, size_t bytes, uint32_t most)
{
	memset(b, 0, sizeof *b);
	b->ctx = ctx;
	b->bytes = bytes;
	b->most = bytes < LARGE_PAGE ? most : 0;
}

void emi_buffers_limit(emi_buffers *b, uint32_t most)
{
	if (b->most != 0)
		b->most = most;
}

/* Without memory for many each may be a slab. */
uint64_t emi_buffers_memory(size_t bytes, uint32_t most)
{
	return most * ((uint64_t)bytes + sizeof(emi_buffers_slab));
}

static void put(emi_buffers *b, char *buf)
{
	memcpy(buf, &b->free, sizeof b->free);
	b->free = buf;
}

static char *take(emi_buffers *b)
{
	char *buf = b->free;

	if (buf != NULL)
		memcpy(&b->free, buf, sizeof b->free);
	return buf;
}

/* Which of those that are alone a buffer is; EMI_BUFFERS_ALONE: none. */
static uint32_t alone(const emi_buffers *b, const char *buf)
{
	uint32_t i = 0;

	while (i < EMI_BUFFERS_ALONE && b->alone[i] != buf)
		i++;
	return i;
}

static char *make_alone(emi_buffers *b, em_errinfo *err)
{
	char *buf = emi_piece_alloc(b->ctx, b->bytes, err);

	if (buf != NULL)
		b->alone[b->made++] = buf;
	return buf;
}

static void free_alone(emi_buffers *b, uint32_t i)
{
	emi_piece_free(b->ctx, b->alone[i], b->bytes);
	b->alone[i] = NULL;
	b->made--;
}

static int make_slab(emi_buffers *b, uint32_t n, em_errinfo *err)
{
	emi_buffers_slab *s = emi_alloc(b->ctx, sizeof *s, err);
	uint32_t i;

	if (s == NULL)
		return 0;
	s->at = emi_buffer_alloc_array(b->ctx, n, b->bytes, err);
	if (s->at == NULL) {
		emi_free(b->ctx, s, sizeof *s);
		return 0;
	}
	s->n = n;
	s->next = b->slabs;
	b->slabs = s;
	b->made += n;
	for (i = n; i > 0; i--)
		put(b, s->at + (size_t)(i - 1) * b->bytes);
	return 1;
}

/* As many as there are fill whole large pages; the rest, if it does not fill one. */
static uint32_t next_slab(const emi_buffers *b)
{
	const uint32_t page = (uint32_t)(LARGE_PAGE / b->bytes), left = b->most > b->made ? b->most - b->made : 0;
	const uint32_t n = b->made > page ? b->made / page * page : page;

	if (n <= left)
		return n;
	return left < page ? left : left / page * page;
}

static char *make(emi_buffers *b, em_errinfo *err)
{
	uint32_t n = next_slab(b);

	if (n == 0) {
		(void)emi_fail(err, EM_ERR_MEMLIMIT, "all buffers are in use");
		return NULL;
	}
	while (n > 1 && !make_slab(b, n, NULL))
		n /= 2;
	if (n == 1)
		(void)make_slab(b, 1, err);
	return take(b);
}

char *emi_buffers_take(emi_buffers *b, em_errinfo *err)
{
	char *buf = take(b);

	if (buf != NULL)
		return buf;
	if (b->most == 0)
		return emi_piece_alloc(b->ctx, b->bytes, err);
	if (b->slabs == NULL && b->made < EMI_BUFFERS_ALONE && b->made < b->most)
		return make_alone(b, err);
	return make(b, err);
}

void emi_buffers_give(emi_buffers *b, char *buf)
{
	const uint32_t i = b->slabs != NULL ? alone(b, buf) : EMI_BUFFERS_ALONE;

	if (i < EMI_BUFFERS_ALONE)
		free_alone(b, i);
	else
		put(b, buf);
}

static void free_slabs(emi_buffers *b)
{
	while (b->slabs != NULL) {
		emi_buffers_slab *s = b->slabs;

		b->slabs = s->next;
		b->made -= s->n;
		emi_buffer_free_array(b->ctx, s->at, s->n, b->bytes);
		emi_free(b->ctx, s, sizeof *s);
	}
}

static uint32_t count_free(const emi_buffers *b)
{
	const char *buf, *next;
	uint32_t n = 0;

	for (buf = b->free; buf != NULL; buf = next) {
		memcpy(&next, buf, sizeof next);
		n++;
	}
	return n;
}

void emi_buffers_close(emi_buffers *b)
{
	char *buf;
	uint32_t i;

	while (b->most == 0 && (buf = take(b)) != NULL)
		emi_piece_free(b->ctx, buf, b->bytes);
	b->free = NULL;
	for (i = 0; i < EMI_BUFFERS_ALONE; i++)
		if (b->alone[i] != NULL)
			free_alone(b, i);
	free_slabs(b);
}

void emi_buffers_trim(emi_buffers *b)
{
	if (b->most == 0 || count_free(b) == b->made)
		emi_buffers_close(b);
}
