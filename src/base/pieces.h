/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pieces.h -- memory for what is small, from what the context keeps.
 *
 * A piece is a buffer (memory.h), and may be freed as one.  What is freed as a piece is kept by the context, up to a
 * little, for the next who wants as many bytes.  So objects that have little in them come and go without asking the
 * system for anything.  Who does not know how much is coming begins with a small piece and grows: by doubling, so that
 * no more is copied than is there in the end.
 *
 * What is kept is nobody's, and is not counted as used.  It is within the budget all the same: who needs more than the
 * rest has it freed first (emi_memory_take()).  It ends with the context.  Any thread.
 */
#ifndef EMI_PIECES_H
#define EMI_PIECES_H

#include <stddef.h>

#include <extmem/ctx.h>

#define EMI_PIECE_FIRST ((size_t)16 << 10) /* bytes to begin with */

/* As emi_buffer_alloc() and emi_buffer_free(). */
void *emi_piece_alloc(em_ctx *ctx, size_t bytes, em_errinfo *err);
void emi_piece_free(em_ctx *ctx, void *piece, size_t bytes);

/* At least so many bytes, but as many as others want, too: a power of two. */
size_t emi_piece_bytes(size_t least);

/* Have so many bytes in place of *bytes, and `used' of them as they were.  After a failure *piece is as it was. */
em_status emi_piece_grow(em_ctx *ctx, void **piece, size_t *bytes, size_t used, size_t wanted, em_errinfo *err);

/* Free all that is kept. */
void emi_pieces_drop(em_ctx *ctx);

#endif
