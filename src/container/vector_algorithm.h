/* SPDX-License-Identifier: BSL-1.0 */
/* vector_algorithm.h -- what the algorithms on ranges of vectors share. */
#ifndef EMI_VECTOR_ALGORITHM_H
#define EMI_VECTOR_ALGORITHM_H

#include <extmem/vector_scan.h>

#include "container/public_vector.h"
#include "container/vector_stream.h"

/* n, where it is UINT64_MAX, becomes what is there; then the range is checked.  The same for what is going to change,
 * and for what may also go beyond the end. */
em_status emi_vector_range(em_vector *v, uint64_t from, uint64_t *n, em_errinfo *err);
em_status emi_vector_change_range(em_vector *v, uint64_t from, uint64_t *n, em_errinfo *err);
em_status emi_vector_grow_range(em_vector *v, uint64_t from, uint64_t n, em_errinfo *err);

/* Read a range; a function that returns EM_END stops, and that is EM_OK.  The same with a reader of it, which begins at
 * record i. */
typedef em_status (*emi_vector_visit_fn)(void *arg, uint64_t i, const char *records, uint64_t n, em_errinfo *err);
em_status emi_vector_pass(emi_vector_reader *r, uint64_t i, emi_vector_visit_fn fn, void *arg, em_errinfo *err);
em_status emi_vector_visit(emi_vector *v, uint64_t from, uint64_t n, emi_vector_visit_fn fn, void *arg,
			   em_errinfo *err);

/* From the first record to the last; of one vector: not to a place within the range. */
em_status emi_vector_copy(emi_vector *to, uint64_t at, emi_vector *v, uint64_t from, uint64_t n, em_errinfo *err);

/* Memory for a part of a range. */
typedef struct emi_vector_section {
	char *room;
	size_t bytes;
	uint64_t half;          /* twice as many records have room */
} emi_vector_section;

/* As much as half of the cache, but two records at least. */
em_status emi_vector_section_open(emi_vector_section *s, const emi_vector *v, em_errinfo *err);
void emi_vector_section_close(emi_vector_section *s, const emi_vector *v);

em_status emi_vector_partition(emi_vector *v, uint64_t from, uint64_t n, em_vector_test_fn test, void *user,
			       uint64_t *middle, em_errinfo *err);

/* As em_vector_sort(), the range being checked. */
em_status emi_vector_sort(emi_vector *v, uint64_t from, uint64_t n, const em_order *order, const em_sort_opts *opts,
			  uint64_t *left, em_errinfo *err);

/* EM_ERR_INVAL: an order of others. */
em_status emi_vector_order(const em_vector *v, const em_order *order, em_errinfo *err);

#endif
