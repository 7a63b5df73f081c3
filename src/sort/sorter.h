/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sorter.h -- what sorters and files have to do with each other.
 */
#ifndef EMI_SORTER_H
#define EMI_SORTER_H

#include "sort/front.h"

struct em_sorter {
	emi_front front;
	uint64_t later;         /* bytes that whoever opened it is going to take beside it */
	uint64_t expected;      /* bytes of records that he expects to push, or EMI_UNKNOWN */
	emi_user watching;      /* of progress */
};

/* As em_sorter_open(), with arguments that were given; the caller is going to take `later' bytes beside it, and expects
 * to push so many bytes of records of one size, or EMI_UNKNOWN: the plan is for those, and any other number is sorted,
 * too. */
em_status emi_sorter_open(em_sorter **out, em_ctx *ctx, const em_order *order, const em_sort_opts *opts, uint64_t later,
			  uint64_t expected, em_errinfo *err);

/* Add a record of any length that is not too long. */
em_status emi_sorter_add(emi_front *f, const char *record, size_t n, em_errinfo *err);

#endif
