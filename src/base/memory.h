/* SPDX-License-Identifier: BSL-1.0 */
/*
 * memory.h -- counted memory.
 *
 * Everything the library allocates is taken from a context and counted against its budget,
 * in bytes asked for (a buffer: rounded up to whole pages).  Releasing needs the size again, as the count
 * must go down by the same amount and no header is kept.  Releasing NULL does nothing.  Any thread.
 */
#ifndef EMI_MEMORY_H
#define EMI_MEMORY_H

#include <extmem/ctx.h>

#define EMI_PAGE 4096u          /* alignment of buffers and of direct I/O */

/* bytes of zeroed memory, or NULL with err filled: EM_ERR_MEMLIMIT or EM_ERR_NOMEM.  bytes > 0. */
void *emi_alloc(em_ctx *ctx, size_t bytes, em_errinfo *err);
void emi_free(em_ctx *ctx, void *ptr, size_t bytes);

/* The same for n items of a size, with overflow checked. */
void *emi_alloc_array(em_ctx *ctx, uint64_t n, size_t bytes, em_errinfo *err);
void emi_free_array(em_ctx *ctx, void *ptr, uint64_t n, size_t bytes);

/* A buffer for transfers: aligned to EMI_PAGE, not zeroed; large ones on huge pages where there are any. */
void *emi_buffer_alloc(em_ctx *ctx, size_t bytes, em_errinfo *err);
void emi_buffer_free(em_ctx *ctx, void *ptr, size_t bytes);

/* Free one that is not counted any more. */
void emi_buffer_release(em_ctx *ctx, void *ptr, size_t bytes);

/* Give back the end of a large buffer, from byte `left' on, where the system takes it.  Returns how many bytes it has
 * now, with which it is freed; and how many that would be. */
size_t emi_buffer_shrink(em_ctx *ctx, void *ptr, size_t bytes, size_t left);
size_t emi_buffer_shrunk(const em_ctx *ctx, size_t bytes, size_t left);

/* n of them side by side, bytes a multiple of EMI_PAGE: blocks that are too small for huge pages each are not
 * together. */
void *emi_buffer_alloc_array(em_ctx *ctx, uint64_t n, size_t bytes, em_errinfo *err);
void emi_buffer_free_array(em_ctx *ctx, void *ptr, uint64_t n, size_t bytes);

/* Count, and no longer count, bytes that are allocated elsewhere, such as thread stacks.  EM_OK or EM_ERR_MEMLIMIT. */
em_status emi_memory_take(em_ctx *ctx, uint64_t bytes, em_errinfo *err);

/*
 * An object whose memory nobody named, and which has taken none yet, is going to want a fair share; until it took that
 * or is closed.  What that is of so many bytes that are left: as much as each of those who wait for theirs, and no more
 * than half.
 */
void emi_sharers_enter(em_ctx *ctx);
void emi_sharers_leave(em_ctx *ctx);
uint64_t emi_fair_share(const em_ctx *ctx, uint64_t left);

/* Allow so many bytes from now on, if what the caller of em_ctx_open() wanted and what the machine has permit that: are
 * they allowed now? */
int emi_memory_raise(em_ctx *ctx, uint64_t bytes);

void emi_memory_drop(em_ctx *ctx, uint64_t bytes);

/* As much may be taken as the machine has, where nobody named a size, until emi_memory_lower(): returns how many bytes
 * more than the context's memory that is, or 0 if none, and then there is nothing to lower.  What the context's memory
 * is said to be stays. */
uint64_t emi_memory_lift(em_ctx *ctx);
void emi_memory_lower(em_ctx *ctx);

/* a copy of a string */
char *emi_strdup(em_ctx *ctx, const char *s, em_errinfo *err);
void emi_strfree(em_ctx *ctx, char *s);

#endif
