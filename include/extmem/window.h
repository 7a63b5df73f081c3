/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/window.h  Windows: records go to an end of a container, and come from there, without a call for each.
 *
 * A stack, a queue or a deque has a window for each end that is used (em_stack_window(), em_queue_push_window(),
 * em_queue_pop_window(), em_deque_front_window(), em_deque_back_window()).  It is a part of the block at that end, in
 * memory.  The functions here are inline: pushing or popping a record is two comparisons, a copy and an addition, which
 * a compiler puts into the caller's loop.  At an edge of the window the library is called.
 *
 *     em_window *w = em_stack_window(stack);
 *     uint32_t number;
 *
 *     status = em_window_push_back(w, &number, sizeof number);
 *     ...
 *     while ((status = em_window_pop_back(w, &number, sizeof number)) == EM_OK)
 *             ...
 *     if (status != EM_NOT_FOUND)
 *             ... em_stack_error() has the detail ...
 *
 * They may be mixed freely with the calls of the container, which do the same.  A window belongs to its container,
 * lives as long, and stays the same one when the container is exchanged for another (em_stack_swap()).
 *
 * One thread at a time uses a container and its windows.  In a context with EM_CTX_CHECKED windows are always empty: so
 * each record is a call, which finds second threads.  Those of a deque that has a reader are empty, too.
 */
#ifndef EXTMEM_WINDOW_H
#define EXTMEM_WINDOW_H

#include <string.h>

#include <extmem/status.h>

EM_BEGIN_DECLS

/** The library makes it and may know more of it than stands here (see extmem/base.h): it is not to be copied.  The
 *  fields are for the functions below. */
typedef struct em_window {
	char *cur;      /**< At the back: behind the last record.  At the front: the first record. */
	char *low;      /**< At the back: records from here to `cur' may be popped.  At the front: there is room from
	                     here on. */
	char *high;     /**< At the back: there is room up to here.  At the front: records up to here may be popped. */
	ptrdiff_t step; /**< Bytes of a record; at the front minus that. */
} em_window;

/** Push a record where the window has no room for it, or pop one where it has none.  For the functions below, which
 *  return what these do: what the container's push and pop return; and EM_ERR_INVAL: w or record is NULL, step is not
 *  that of the window, or it is an end of a queue that is not for this.  Costs are those of the container's calls. */
EM_API EM_NODISCARD em_status em_window_push(em_window *w, const void *record, ptrdiff_t step);
EM_API EM_NODISCARD em_status em_window_pop(em_window *w, void *record, ptrdiff_t step);

/** Push a record of so many bytes, the size of the container's records, at the back.  Returns as em_window_push(). */
EM_NODISCARD EM_INLINE em_status em_window_push_back(em_window *w, const void *record, size_t bytes)
{
	if (w->cur == w->high || w->step != (ptrdiff_t)bytes)
		return em_window_push(w, record, (ptrdiff_t)bytes);
	memcpy(w->cur, record, bytes);
	w->cur += bytes;
	return EM_OK;
}

/** Pop the last record.  Returns as em_window_pop(), among others EM_NOT_FOUND: there is none. */
EM_NODISCARD EM_INLINE em_status em_window_pop_back(em_window *w, void *record, size_t bytes)
{
	if (w->cur == w->low || w->step != (ptrdiff_t)bytes)
		return em_window_pop(w, record, (ptrdiff_t)bytes);
	w->cur -= bytes;
	memcpy(record, w->cur, bytes);
	return EM_OK;
}

/** The same at the front. */
EM_NODISCARD EM_INLINE em_status em_window_push_front(em_window *w, const void *record, size_t bytes)
{
	if (w->cur == w->low || w->step != -(ptrdiff_t)bytes)
		return em_window_push(w, record, -(ptrdiff_t)bytes);
	w->cur -= bytes;
	memcpy(w->cur, record, bytes);
	return EM_OK;
}

EM_NODISCARD EM_INLINE em_status em_window_pop_front(em_window *w, void *record, size_t bytes)
{
	if (w->cur == w->high || w->step != -(ptrdiff_t)bytes)
		return em_window_pop(w, record, -(ptrdiff_t)bytes);
	memcpy(record, w->cur, bytes);
	w->cur += bytes;
	return EM_OK;
}

EM_END_DECLS

#endif
