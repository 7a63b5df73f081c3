/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pq_sort.h -- sorting some items of a priority queue where they are, now or behind the caller's back.
 *
 * The kernels do it, with scratch that is kept from one time to the next.  Records that are items are referred to by
 * elements, which are sorted; then the records are copied in their order, and back.
 *
 * There is scratch for one sort at a time: who begins another one waits for the one before.  So a second thread sorts a
 * piece while its caller fills the next one, and no more memory is needed for that.
 */
#ifndef EMI_PQ_SORT_H
#define EMI_PQ_SORT_H

#include "base/workers.h"
#include "container/pq_item.h"

typedef struct emi_pq_sorting {
	em_ctx *ctx;
	emi_pq_items *items;
	void *tmp;              /* or NULL */
	size_t tmp_bytes;
	void *work;             /* of the kernels; or NULL */
	uint32_t threads;       /* 2: one of the context's may sort, too */
	emi_task task;          /* the sort that goes on ... */
	char *at;               /* ... of these items */
	size_t n;
} emi_pq_sorting;

/* Takes no memory yet. */
void emi_pq_sorting_init(emi_pq_sorting *s, em_ctx *ctx, emi_pq_items *items, uint32_t threads);
void emi_pq_sorting_drop(emi_pq_sorting *s);

/* Most bytes of memory with so many bytes of items at a time. */
uint64_t emi_pq_sorting_memory(const emi_pq_items *items, uint64_t bytes);

/* Sort n items, stably.  EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_USER: all are there, in some order. */
em_status emi_pq_sort(emi_pq_sorting *s, char *items, size_t n, em_errinfo *err);

/* Likewise, but it may go on after this: until emi_pq_sort_end() nobody looks at the items.  If this fails, nothing has
 * begun. */
em_status emi_pq_sort_begin(emi_pq_sorting *s, char *items, size_t n, em_errinfo *err);
void emi_pq_sort_end(emi_pq_sorting *s);

#endif
