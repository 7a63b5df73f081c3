/* SPDX-License-Identifier: BSL-1.0 */
/* public_vector.h -- what the files that check callers' arguments of vectors share. */
#ifndef EMI_PUBLIC_VECTOR_H
#define EMI_PUBLIC_VECTOR_H

#include "container/vector.h"

/* One who used it does so no more. */
void emi_vector_let(em_vector *v);

/* EM_ERR_RANGE unless there are n records from i on. */
em_status emi_vector_check(const em_vector *v, uint64_t i, uint64_t n, em_errinfo *err);

/* EM_ERR_ACCESS: it is read-only; and EM_ERR_STATE: it has a writer. */
em_status emi_vector_may_change(const em_vector *v, em_errinfo *err);
em_status emi_vector_may_push(const em_vector *v, em_errinfo *err);

#endif
