/* SPDX-License-Identifier: BSL-1.0 */
/*
 * memory.c -- counted memory.
 *
 * The count is one atomic in the context: taking adds to it unless the sum would exceed the budget,
 * so several threads together never get more than there is.
 *
 * A context without an allocator of the caller's uses the system's.  Its large buffers are mappings of their own:
 * they go back to the system when released, and from 2 MiB on they are aligned for huge pages, which saves
 * a sort much of its TLB misses.  A mapping is only as long as the buffer, so no huge page
 * reaches past its end, and what is resident never exceeds what is counted.
 *
 * From the caller's allocator, which promises alignment for C types only, a buffer takes one page more (which is
 * not counted), and the word in front of the buffer remembers where that memory began.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pieces.h"

/* Buffers from here on are mappings of their own.  malloc() is cheaper, but keeps what is released, and a sort may have
 * no other use for that. */
#define MAP_FROM ((size_t)1 << 17)
/* The size of a huge page, and of the smallest buffer that can hold one. */
#define HUGE_PAGE ((size_t)2 << 20)

/* Under the address sanitizer everything comes from malloc(), so that it can see overruns and leaks. */
#if defined(__SANITIZE_ADDRESS__)
#define USE_MMAP 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define USE_MMAP 0
#endif
#endif
#ifndef USE_MMAP
#define USE_MMAP 1
#endif

static int is_system(const em_ctx *ctx)
{
	return ctx->allocator.alloc == NULL;
}

uint64_t em_ctx_memory(const em_ctx *ctx)
{
	return ctx != NULL ? __atomic_load_n(&ctx->memory, __ATOMIC_RELAXED) : 0;
}

/* The most that may be taken now. */
static uint64_t most_taken(const em_ctx *ctx)
{
	const uint64_t memory = em_ctx_memory(ctx);

	if (__atomic_load_n(&ctx->lifted, __ATOMIC_RELAXED) == 0 || ctx->memory_most < memory)
		return memory;
	return ctx->memory_most;
}

em_status emi_memory_take(em_ctx *ctx, uint64_t bytes, em_errinfo *err)
{
	const uint64_t all = most_taken(ctx);
	uint64_t used = __atomic_load_n(&ctx->used, __ATOMIC_RELAXED);
	uint64_t peak, now;

	do {
		const uint64_t kept = __atomic_load_n(&ctx->pieces.bytes, __ATOMIC_RELAXED);

		if (kept != 0 && (used + kept > all || bytes > all - used - kept))
			emi_pieces_drop(ctx);
		if (used > all || bytes > all - used)
			return emi_fail_memory(err, bytes > UINT64_MAX - used ? UINT64_MAX : used + bytes,
					       "%" PRIu64 " of the %" PRIu64 " bytes of memory are in use, %" PRIu64
					       " more are needed", used, all, bytes);
		now = used + bytes;
	} while (!__atomic_compare_exchange_n(&ctx->used, &used, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	peak = __atomic_load_n(&ctx->peak, __ATOMIC_RELAXED);
	while (peak < now &&
	       !__atomic_compare_exchange_n(&ctx->peak, &peak, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		continue;
	return EM_OK;
}

int emi_memory_raise(em_ctx *ctx, uint64_t bytes)
{
	uint64_t all = em_ctx_memory(ctx);

	if (bytes > ctx->memory_most || (ctx->memory_given && (ctx->flags & EM_CTX_RAISE) == 0))
		return 0;
	while (all < bytes &&
	       !__atomic_compare_exchange_n(&ctx->memory, &all, bytes, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		continue;
	return 1;
}

uint64_t emi_memory_lift(em_ctx *ctx)
{
	const uint64_t memory = em_ctx_memory(ctx);

	if (ctx->memory_given || ctx->memory_most <= memory)
		return 0;
	__atomic_add_fetch(&ctx->lifted, 1, __ATOMIC_RELAXED);
	return ctx->memory_most - memory;
}

void emi_memory_lower(em_ctx *ctx)
{
	__atomic_sub_fetch(&ctx->lifted, 1, __ATOMIC_RELAXED);
}

void emi_memory_drop(em_ctx *ctx, uint64_t bytes)
{
	__atomic_sub_fetch(&ctx->used, bytes, __ATOMIC_RELAXED);
}

void emi_sharers_enter(em_ctx *ctx)
{
	__atomic_add_fetch(&ctx->sharers, 1, __ATOMIC_RELAXED);
}

void emi_sharers_leave(em_ctx *ctx)
{
	__atomic_sub_fetch(&ctx->sharers, 1, __ATOMIC_RELAXED);
}

uint64_t emi_fair_share(const em_ctx *ctx, uint64_t left)
{
	const uint32_t sharers = __atomic_load_n(&ctx->sharers, __ATOMIC_RELAXED);

	return left / (sharers > 2 ? sharers : 2);
}

/* The system gave nothing.  When a limit of the process may be why, the message says which. */
static void *out_of_memory(em_ctx *ctx, size_t bytes, em_errinfo *err)
{
	uint64_t limit;
	const char *what = emi_memory_rlimit(&limit);

	emi_memory_drop(ctx, bytes);
	if (what != NULL)
		emi_fail(err, EM_ERR_NOMEM, "out of memory: cannot allocate %" PRIu64 " bytes: em_ctx_opts.memory is "
			 "%" PRIu64 " bytes, and %s is limited to %" PRIu64, (uint64_t)bytes, ctx->memory, what, limit);
	else
		emi_fail(err, EM_ERR_NOMEM, "out of memory: cannot allocate %" PRIu64 " bytes: em_ctx_opts.memory is "
			 "%" PRIu64 " bytes", (uint64_t)bytes, ctx->memory);
	return NULL;
}

void *emi_alloc(em_ctx *ctx, size_t bytes, em_errinfo *err)
{
	void *ptr;

	if (emi_memory_take(ctx, bytes, err) != EM_OK)
		return NULL;
	if (is_system(ctx)) {
		ptr = calloc(1, bytes);
	} else {
		ptr = ctx->allocator.alloc(ctx->allocator.user, bytes);
		if (ptr != NULL)
			memset(ptr, 0, bytes);
	}
	return ptr != NULL ? ptr : out_of_memory(ctx, bytes, err);
}

void emi_free(em_ctx *ctx, void *ptr, size_t bytes)
{
	if (ptr == NULL)
		return;
	if (is_system(ctx))
		free(ptr);
	else
		ctx->allocator.release(ctx->allocator.user, ptr, bytes);
	emi_memory_drop(ctx, bytes);
}

/* Can n times bytes be addressed? */
static int addressable(uint64_t n, size_t bytes, em_errinfo *err)
{
	if (n <= SIZE_MAX / bytes)
		return 1;
	emi_fail(err, EM_ERR_NOMEM, "out of memory: cannot allocate %" PRIu64 " times %" PRIu64 " bytes", n,
		 (uint64_t)bytes);
	return 0;
}

void *emi_alloc_array(em_ctx *ctx, uint64_t n, size_t bytes, em_errinfo *err)
{
	return addressable(n, bytes, err) ? emi_alloc(ctx, (size_t)n * bytes, err) : NULL;
}

void emi_free_array(em_ctx *ctx, void *ptr, uint64_t n, size_t bytes)
{
	emi_free(ctx, ptr, (size_t)n * bytes);
}

/* A mapping, aligned for huge pages when one fits in. */
static void *map(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t length = (bytes + page - 1) & ~(page - 1);
	size_t slack = bytes >= HUGE_PAGE ? HUGE_PAGE - page : 0;
	size_t head;
	char *base;

	if (slack > SIZE_MAX - length)
		return NULL;
	base = mmap(NULL, length + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	if (slack == 0)
		return base;
	head = (HUGE_PAGE - ((uintptr_t)base & (HUGE_PAGE - 1))) & (HUGE_PAGE - 1);
	if (head > 0)
		munmap(base, head);
	if (slack > head)
		munmap(base + head + length, slack - head);
	base += head;
#ifdef MADV_HUGEPAGE
	/* A wish: where there are no huge pages it fails, and small ones do. */
	(void)madvise(base, length, MADV_HUGEPAGE);
#endif
	return base;
}

static void *system_buffer(size_t bytes)
{
	void *ptr;

	if (USE_MMAP && bytes >= MAP_FROM)
		return map(bytes);
	return posix_memalign(&ptr, EMI_PAGE, bytes) == 0 ? ptr : NULL;
}

static void system_buffer_free(void *ptr, size_t bytes)
{
	if (USE_MMAP && bytes >= MAP_FROM)
		munmap(ptr, bytes);
	else
		free(ptr);
}

/* raw is aligned for a pointer, so between it and the next page boundary above it there is room for one. */
static void *user_buffer(const em_ctx *ctx, size_t bytes)
{
	char *raw, *ptr;

	if (bytes > SIZE_MAX - EMI_PAGE)
		return NULL;
	raw = ctx->allocator.alloc(ctx->allocator.user, bytes + EMI_PAGE);
	if (raw == NULL)
		return NULL;
	ptr = raw + (EMI_PAGE - ((uintptr_t)raw & (EMI_PAGE - 1)));
	memcpy(ptr - sizeof(raw), &raw, sizeof(raw));
	return ptr;
}

static void user_buffer_free(const em_ctx *ctx, void *ptr, size_t bytes)
{
	char *raw;

	memcpy(&raw, (char *)ptr - sizeof(raw), sizeof(raw));
	ctx->allocator.release(ctx->allocator.user, raw, bytes + EMI_PAGE);
}

void *emi_buffer_alloc(em_ctx *ctx, size_t bytes, em_errinfo *err)
{
	size_t whole;
	void *ptr;

	if (bytes > SIZE_MAX - (EMI_PAGE - 1)) {
		emi_fail(err, EM_ERR_NOMEM, "out of memory: cannot allocate %" PRIu64 " bytes", (uint64_t)bytes);
		return NULL;
	}
	whole = (bytes + EMI_PAGE - 1) & ~((size_t)EMI_PAGE - 1);
	if (emi_memory_take(ctx, whole, err) != EM_OK)
		return NULL;
	ptr = is_system(ctx) ? system_buffer(whole) : user_buffer(ctx, whole);
	return ptr != NULL ? ptr : out_of_memory(ctx, whole, err);
}

void emi_buffer_release(em_ctx *ctx, void *ptr, size_t bytes)
{
	size_t whole = (bytes + EMI_PAGE - 1) & ~((size_t)EMI_PAGE - 1);

	if (is_system(ctx))
		system_buffer_free(ptr, whole);
	else
		user_buffer_free(ctx, ptr, whole);
}

void emi_buffer_free(em_ctx *ctx, void *ptr, size_t bytes)
{
	if (ptr == NULL)
		return;
	emi_buffer_release(ctx, ptr, bytes);
	emi_memory_drop(ctx, (bytes + EMI_PAGE - 1) & ~((size_t)EMI_PAGE - 1));
}

size_t emi_buffer_shrunk(const em_ctx *ctx, size_t bytes, size_t left)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t most = left < MAP_FROM ? MAP_FROM : left;

	/* Only what still looks like a mapping is freed as one. */
	if (!USE_MMAP || !is_system(ctx) || bytes < MAP_FROM || most > SIZE_MAX - page)
		return bytes;
	most = (most + page - 1) / page * page;
	return most < bytes ? most : bytes;
}

size_t emi_buffer_shrink(em_ctx *ctx, void *ptr, size_t bytes, size_t left)
{
	const size_t whole = (bytes + EMI_PAGE - 1) & ~((size_t)EMI_PAGE - 1),
		     now = emi_buffer_shrunk(ctx, bytes, left);

	if (now == bytes || munmap((char *)ptr + now, whole - now) != 0)
		return bytes;
	emi_memory_drop(ctx, whole - now);
	return now;
}

void *emi_buffer_alloc_array(em_ctx *ctx, uint64_t n, size_t bytes, em_errinfo *err)
{
	return addressable(n, bytes, err) ? emi_buffer_alloc(ctx, (size_t)n * bytes, err) : NULL;
}

void emi_buffer_free_array(em_ctx *ctx, void *ptr, uint64_t n, size_t bytes)
{
	emi_buffer_free(ctx, ptr, (size_t)n * bytes);
}

char *emi_strdup(em_ctx *ctx, const char *s, em_errinfo *err)
{
	size_t bytes = strlen(s) + 1;
	char *copy = emi_alloc(ctx, bytes, err);

	if (copy != NULL)
		memcpy(copy, s, bytes);
	return copy;
}

void emi_strfree(em_ctx *ctx, char *s)
{
	if (s != NULL)
		emi_free(ctx, s, strlen(s) + 1);
}
