/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pieces.c -- see pieces.h.
 *
 * The context has a short list of pieces, the newest last.  Who frees one appends it, and has the oldest freed while
 * there are too many; who wants one takes the newest of that size.  The lock is never waited for where there is
 * another way: a piece that cannot be kept is freed, one that cannot be looked for is allocated.  So a child of a fork,
 * in which nobody may ever unlock it, gets along, too.
 */
#include "base/pieces.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

/* What is kept in memory must not be touched: the address sanitizer can be told. */
#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#if defined(WATCHED)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

#define KEPT_MOST ((uint64_t)1 << 20)   /* bytes that are kept, or this part of the memory if that is less, ... */
#define KEPT_SHARE 16u
#define ONE_SHARE 4u                    /* ... of which one piece is no more than this part */

static uint64_t most_kept(const em_ctx *ctx)
{
	const uint64_t share = em_ctx_memory(ctx) / KEPT_SHARE;

	return share < KEPT_MOST ? share : KEPT_MOST;
}

static size_t whole_pages(size_t bytes)
{
	return bytes > SIZE_MAX - EMI_PAGE ? bytes : (bytes + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
}

/* Take entry i out of the list. */
static void *take_out(emi_pieces *p, uint32_t i)
{
	void *at = p->piece[i].at;

	__atomic_sub_fetch(&p->bytes, p->piece[i].bytes, __ATOMIC_RELAXED);
	p->n--;
	memmove(p->piece + i, p->piece + i + 1, (p->n - i) * sizeof *p->piece);
	return at;
}

static void drop_oldest(em_ctx *ctx)
{
	const size_t bytes = ctx->pieces.piece[0].bytes;
	void *at = take_out(&ctx->pieces, 0);

	ASAN_UNPOISON_MEMORY_REGION(at, bytes);
	emi_buffer_release(ctx, at, bytes);
}

void emi_pieces_drop(em_ctx *ctx)
{
	emi_pieces *p = &ctx->pieces;

	if (emi_ctx_forked(ctx) ? pthread_mutex_trylock(&p->lock) : pthread_mutex_lock(&p->lock))
		return;
	while (p->n != 0)
		drop_oldest(ctx);
	pthread_mutex_unlock(&p->lock);
}

/* A piece of so many bytes that is kept, no longer counted as such; NULL: there is none. */
static void *find(em_ctx *ctx, size_t bytes)
{
	emi_pieces *p = &ctx->pieces;
	void *at = NULL;
	uint32_t i;

	if (__atomic_load_n(&p->bytes, __ATOMIC_RELAXED) < bytes || pthread_mutex_trylock(&p->lock) != 0)
		return NULL;
	for (i = p->n; i != 0 && at == NULL; i--)
		if (p->piece[i - 1].bytes == bytes)
			at = take_out(p, i - 1);
	pthread_mutex_unlock(&p->lock);
	if (at != NULL)
		ASAN_UNPOISON_MEMORY_REGION(at, bytes);
	return at;
}

void *emi_piece_alloc(em_ctx *ctx, size_t bytes, em_errinfo *err)
{
	const size_t whole = whole_pages(bytes);
	void *at = find(ctx, whole);

	if (at == NULL)
		return emi_buffer_alloc(ctx, bytes, err);
	if (emi_memory_take(ctx, whole, err) == EM_OK)
		return at;
	emi_buffer_release(ctx, at, whole);
	return NULL;
}

/* Keep a piece if there is room for it, or can be: it is counted as kept before it no longer is as used. */
static int keep(em_ctx *ctx, void *at, size_t bytes)
{
	const uint64_t most = most_kept(ctx);
	emi_pieces *p = &ctx->pieces;

	if (bytes > most / ONE_SHARE || pthread_mutex_trylock(&p->lock) != 0)
		return 0;
	while (p->n == EMI_PIECES_MOST || p->bytes + bytes > most)
		drop_oldest(ctx);
	ASAN_POISON_MEMORY_REGION(at, bytes);
	p->piece[p->n].at = at;
	p->piece[p->n++].bytes = bytes;
	__atomic_add_fetch(&p->bytes, bytes, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&p->lock);
	return 1;
}

void emi_piece_free(em_ctx *ctx, void *piece, size_t bytes)
{
	if (piece == NULL)
		return;
	if (keep(ctx, piece, whole_pages(bytes)))
		emi_memory_drop(ctx, whole_pages(bytes));
	else
		emi_buffer_free(ctx, piece, bytes);
}

size_t emi_piece_bytes(size_t least)
{
	size_t bytes = EMI_PAGE;

	while (bytes < least && bytes <= SIZE_MAX / 2)
		bytes *= 2;
	return bytes < least ? least : bytes;
}

em_status emi_piece_grow(em_ctx *ctx, void **piece, size_t *bytes, size_t used, size_t wanted, em_errinfo *err)
{
	void *larger = emi_piece_alloc(ctx, wanted, err);

	if (larger == NULL)
		return err != NULL ? err->status : EM_ERR_NOMEM;
	if (*piece != NULL)
		memcpy(larger, *piece, used);
	emi_piece_free(ctx, *piece, *bytes);
	*piece = larger;
	*bytes = wanted;
	return EM_OK;
}
