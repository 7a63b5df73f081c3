/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/cursor.h  Cursors: records one by one, without a call for each.
 *
 * What lends batches (extmem/batch.h) has a cursor, too.  It is a window on records that lie one behind the other in
 * memory, and the functions here are inline: taking a record is a comparison and an addition, which a compiler puts
 * into the caller's loop.  Only at the end of a window the library is called, which has the next one come.
 *
 *     em_cursor *c = em_sorter_cursor(sorter);
 *     const void *record;
 *
 *     while ((status = em_cursor_next(c, &record)) == EM_OK)
 *             ... the record at `record' ...
 *     if (status != EM_END)
 *             ... em_sorter_error() has the detail ...
 *
 * A cursor belongs to its object, and lives as long.  There is one for each object, which begins where the object is
 * and moves on with it: a call that lends a batch lends what comes behind the window, and what is left of that is
 * passed over.  Any other call on the object leaves the window as it is, but for close, which ends it.
 *
 * A record is valid until a function of the cursor has the next window come, and has the alignment that its place in
 * the window gives it.
 *
 * One thread at a time uses an object and its cursor.  What em_cursor_refill() returns depends on the object, as does
 * what it costs: it is em_sorter_next(), em_top_next(), em_pq_next() or em_block_reader_next().
 */
#ifndef EXTMEM_CURSOR_H
#define EXTMEM_CURSOR_H

#include <extmem/status.h>

EM_BEGIN_DECLS

/**
 * The library makes it and may know more of it than stands here (see extmem/base.h): it is not to be copied.  A program
 * may look at the fields, and take records by moving `cur' up to `end', as em_cursor_next() does.
 */
typedef struct em_cursor {
	const char *cur;      /**< Records of one size: the next one. */
	const char *end;      /**< Where `cur' is when the window has no more.  Records of any length: equal to it. */
	ptrdiff_t step;       /**< From one record to the next: their size, or, where they are read backwards, minus
	                           that; 0: of any length. */
	const char *window;   /**< Records of any length: where `ends' count from, ... */
	const char *at;       /**< ... the next record, ... */
	const uint64_t *ends; /**< ... where that and those behind it end, ... */
	const uint64_t *last; /**< ... and where `ends' is when the window has no more.  Of one size: equal to it. */
	em_status status;     /**< What em_cursor_refill() returned last. */
	int32_t reserved;
} em_cursor;

/**
 * Have the next window come, with at least one record; what is left of this one is passed over.
 *
 * Returns (and keeps in c->status): EM_OK; EM_END, again and again; EM_ERR_INVAL (c is NULL); what the object's call
 * that lends a batch returns.  But with EM_OK the window is empty.
 */
EM_API EM_NODISCARD em_status em_cursor_refill(em_cursor *c);

/**
 * Copy the next records to where the caller has room: as many whole ones, at most `most', as fit into `bytes' bytes and
 * there are.  They lie one behind the other, in the order in which the cursor has them.  *n is how many they are; what
 * did not fit comes next time.  Of records of any length ends gets where each ends, an offset from `to'; it has room
 * for `most' of them.  Of one size ends is NULL.
 *
 * So this is what languages call that copy anyway, and must not see memory that goes away.
 *
 * Returns: EM_OK: *n is not 0, unless `most' is; otherwise it is 0: EM_END; EM_ERR_INVAL (c, to or n is NULL, or ends,
 * or it is not, against what records are); EM_ERR_RANGE: the next record alone has more than `bytes' bytes, and stays;
 * what em_cursor_refill() returns.  A failure behind records that were copied is told by the next call.
 */
EM_API EM_NODISCARD em_status em_cursor_read(em_cursor *c, void *to, size_t bytes, uint64_t *ends, uint64_t most,
					     uint64_t *n);

/** Is the next record, of one size, in the window?  Otherwise have it come. */
EM_NODISCARD static inline em_status em_cursor_need_(em_cursor *c)
{
	if (c->cur != c->end)
		return EM_OK;
	return c->step != 0 ? em_cursor_refill(c) : (em_status)EM_ERR_INVAL;
}

/** Look at the next record, of one size, and leave it where it is.  Returns as em_cursor_next(). */
EM_NODISCARD EM_INLINE em_status em_cursor_peek(em_cursor *c, const void **record)
{
	const em_status st = em_cursor_need_(c);

	*record = st == EM_OK ? c->cur : NULL;
	return st;
}

/**
 * Take the next record, of one size.
 *
 * Returns: EM_OK; otherwise *record is NULL: what em_cursor_refill() returns, and EM_ERR_INVAL where records have any
 * length: nothing was taken.
 */
EM_NODISCARD EM_INLINE em_status em_cursor_next(em_cursor *c, const void **record)
{
	const em_status st = em_cursor_peek(c, record);

	if (st == EM_OK)
		c->cur += c->step;
	return st;
}

/** Take the next record, of any length or of one size, which may be empty and is not followed by a delimiter.
 *  Returns as em_cursor_next(); without EM_OK *bytes is 0. */
EM_NODISCARD EM_INLINE em_status em_cursor_next_sized(em_cursor *c, const void **record, size_t *bytes)
{
	em_status st = EM_OK;

	*bytes = 0;
	if (c->step != 0) {
		st = em_cursor_next(c, record);
		if (st == EM_OK)
			*bytes = (size_t)(c->step > 0 ? c->step : -c->step);
		return st;
	}
	*record = NULL;
	if (c->ends == c->last)
		st = em_cursor_refill(c);
	if (st != EM_OK)
		return st;
	*record = c->at;
	c->at = c->window + *c->ends++;
	*bytes = (size_t)(c->at - (const char *)*record);
	return EM_OK;
}

EM_END_DECLS

#endif
