/* SPDX-License-Identifier: BSL-1.0 */
/*
 * record_out.h -- records to a copier, as they stand in files.
 */
#ifndef EMI_RECORD_OUT_H
#define EMI_RECORD_OUT_H

#include "sort/copier.h"

/* A record of any length, with its delimiter or prefix. */
em_status emi_record_out(emi_copier *c, const emi_frame *f, em_errinfo *err);

/* The same with a count, as extmem/unique.h says.  EM_ERR_RANGE: a prefix cannot tell the length of both. */
em_status emi_record_out_counted(emi_copier *c, const emi_frame *f, uint64_t count, em_errinfo *err);

/* The record of an element of records of one size, and likewise with a count. */
em_status emi_elem_out(emi_copier *c, const void *elem, em_errinfo *err);
em_status emi_elem_out_counted(emi_copier *c, const void *elem, uint64_t count, em_errinfo *err);

/* The records of n elements that a merge of inputs has put (merge_inputs.h), of one size or of any length. */
em_status emi_elems_out(emi_copier *c, const void *elems, size_t n, em_errinfo *err);

#endif
