/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/gen/kernels.h  Orders whose code is the caller's own: a table of functions over arrays of records.
 *
 * Where key fields cannot tell the order, and calling a function for each comparison is too slow, the engine works with
 * a table of functions that sort, classify and merge whole arrays.  Nobody writes these by hand: <extmem/gen/order.h>
 * generates them, with the comparison inlined, and the constructor, too.  This header is what the generated code and
 * the library agree upon.
 *
 * Records of such an order are moved as they are: nothing is normalised and nothing is added to them.  What holds for
 * all functions:
 *
 *   - Arrays are of whole records of record_size bytes, one behind the other, at addresses that are multiples of
 *     record_align.  Arrays that are written do not overlap those that are read, unless it is said.
 *   - `arg' is what em_order_kernels() was given.
 *   - They are called on any thread, on several at a time.
 *   - They allocate nothing, and never fail.  A comparison that contradicts itself may lead to any order of the
 *     records, but to no other access to memory than a right one does, and no record is lost.
 *   - Equal records keep their order.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0 (see extmem/base.h).
 */
#ifndef EXTMEM_GEN_KERNELS_H
#define EXTMEM_GEN_KERNELS_H

#include <extmem/order.h>

EM_BEGIN_DECLS

/** No window. */
#define EM_KERN_NO_WINDOW 0xffffffffu

/** Sorted records in memory: [cur, end). */
typedef struct em_kern_window {
	const void *cur;
	const void *end;
} em_kern_window;

/**
 * A merge of k windows in progress.  All memory is the caller's.  Fill in win, tree and arg; start; then run until it
 * returns with *dry == EM_KERN_NO_WINDOW and less than what there was room for.
 */
typedef struct em_kern_merge {
	uint32_t k;          /**< Windows, at least 1. */
	uint32_t leaves;     /**< The kernel's. */
	uint32_t pending;    /**< The kernel's: the window that ran dry, or EM_KERN_NO_WINDOW. */
	uint32_t reserved;
	em_kern_window *win; /**< k windows. */
	uint32_t *tree;      /**< The kernel's: 2 * k numbers. */
	void *arg;
} em_kern_merge;

/** A merge of k windows that are in memory as a whole, some records at a time.  All memory is the caller's. */
typedef struct em_kern_mix {
	uint32_t k;          /**< Windows, at least 1 and at most `room'. */
	uint32_t reserved;
	em_kern_window *win; /**< k windows. */
	size_t *taken;       /**< The kernel's: k numbers. */
	size_t reach;        /**< 0 at first, and the kernel's then. */
	size_t room;         /**< Records that are merged at a time, at most. */
	void *arg;
} em_kern_mix;

/** Records that divide others into classes.  There are 2^levels - 1 of them, sorted; the last ones may be equal. */
typedef struct em_kern_splitters {
	uint32_t levels;    /**< 1 to 15. */
	int32_t equal;      /**< Are there classes of records that are equal to a splitter? */
	const void *tree;   /**< tree[1] is the one in the middle, tree[2 * i] and tree[2 * i + 1] are those in the
			     *   middle of what is before and behind tree[i]; tree[0] is not looked at. */
	const void *sorted; /**< The same in order, from sorted[0] on. */
} em_kern_splitters;

/** The functions of an order.  Size first: later versions of the library know what an older table has. */
typedef struct em_kernels {
	uint32_t size;         /**< sizeof(em_kernels) */
	uint32_t record_align; /**< Alignment of records, a power of two, at most 16; divides record_size. */
	uint64_t record_size;  /**< Bytes of a record, at most 65536. */
	const char *name;      /**< What files and messages call the order. */

	/** Negative, 0, positive as a comes before, with, after b. */
	int (*compare)(const void *a, const void *b, void *arg);

	/** 1 if a[0..n) is in order, otherwise 0; it stops looking where it is not. */
	int (*sorted)(const void *a, size_t n, void *arg);

	/** Sort a[0..n).  tmp has room for n records.  O(n log n) comparisons, O(n) for what is sorted, strictly
	 *  descending, or all equal. */
	void (*sort)(void *a, void *tmp, size_t n, void *arg);

	/** Set tag[i] to the class of a[i].  Without `equal' that is the number of splitters that are not behind it;
	 *  with it, twice that, and one less if it is equal to the last of those.  So classes are in order, and tags
	 *  are less than 2^(levels + 1). */
	void (*classify)(const void *a, size_t n, const em_kern_splitters *s, uint16_t *tag, void *arg);

	/** Begin a merge; a window that is empty now counts as ended. */
	void (*merge_start)(em_kern_merge *m);

	/**
	 * Write records in order, equal ones in the order of their windows, to out until `cap' are written, or a window
	 * has become empty, or all have ended.  Returns how many were written.  *dry is the window that is empty:
	 * refill it, or leave it empty, which ends it, before the next call; or EM_KERN_NO_WINDOW.
	 */
	size_t (*merge_run)(em_kern_merge *m, void *out, size_t cap, uint32_t *dry);

	/** Write the next records of the windows in order, equal ones in the order of their windows, to out; returns
	 *  how many, 0 at the end.  out and tmp have room for m->room records each; of out, what is behind those that
	 *  are returned keeps what it has.  NULL: there is no such function, and merge_run() does it. */
	size_t (*mix)(em_kern_mix *m, void *out, void *tmp);
} em_kernels;

/**
 * An order by a table of functions, for records of kernels->record_size bytes.  The table, its name and what arg points
 * to must stay as they are until the order, and every object that it was given to, is closed; the code must stay
 * loaded.  Sorting uses all threads of the context.
 *
 * Records that callers hand in as whole arrays (em_sorter_push() and the like) may be at any address; those that are
 * handed to em_order_compare() must be aligned.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_VERSION the table has no size
 *   EM_ERR_INVAL   out, ctx, kernels, its name or a function other than mix is NULL, the size of a record is
 *                  wrong, record_align is not a power of two up to 16 or does not divide record_size
 *   EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FORK
 *
 * err may be NULL.
 */
EM_API EM_NODISCARD em_status em_order_kernels(em_order **out, em_ctx *ctx, const em_kernels *kernels, void *arg,
					       em_errinfo *err);

EM_END_DECLS

#endif
