/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sorter.h -- what sorters and files have to do with each other.
 */
#ifndef EMI_SORTER_H
#define EMI_SORTER_H

#include "sort/front.h"

struct em_sorter {
	emi_front front;
	emi_user watching;      /* of progress */
};

/* Add a record of any length that is not too long. */
em_status emi_sorter_add(emi_front *f, const char *record, size_t n, em_errinfo *err);

#endif
