/* SPDX-License-Identifier: BSL-1.0 */
/* vector_copy.c -- copying a range of a vector; see extmem/vector_scan.h. */
#include <inttypes.h>

#include "container/vector_algorithm.h"

/* To a place behind where it is, and over itself: from the end on, a section at a time. */
static em_status copy_back(emi_vector *v, uint64_t at, uint64_t from, uint64_t n, em_errinfo *err)
{
	emi_vector_section s;
	em_status st = emi_vector_section_open(&s, v, err);
	uint64_t done;

	if (st == EM_OK && at + n > v->n)
		st = emi_vector_resize(v, at + n, err);
	while (st == EM_OK && n != 0) {
		const uint64_t some = n < 2 * s.half ? n : 2 * s.half;

		n -= some;
		st = emi_vector_read(v, from + n, s.room, some, err);
		if (st == EM_OK)
			st = emi_vector_write(v, at + n, s.room, some, &done, err);
	}
	emi_vector_section_close(&s, v);
	return st;
}

static em_status copy(em_vector *to, uint64_t at, em_vector *v, uint64_t from, uint64_t n, em_errinfo *err)
{
	em_status st = emi_vector_range(v, from, &n, err);

	if (st == EM_OK)
		st = emi_vector_grow_range(to, at, n, err);
	if (st != EM_OK)
		return st;
	if (to == v && at > from && at < from + n)
		return copy_back(&v->inner, at, from, n, err);
	return emi_vector_copy(&to->inner, at, &v->inner, from, n, err);
}

em_status em_vector_copy(em_vector *to, uint64_t at, em_vector *v, uint64_t from, uint64_t n)
{
	em_errinfo err;
	em_status st = emi_enter(to, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(v, "v", &err);
	if (st == EM_OK && v->inner.layout.record != to->inner.layout.record)
		st = emi_fail(&err, EM_ERR_INVAL, "the vectors have records of %" PRIu64 " and of %" PRIu64 " bytes",
			      v->inner.layout.record, to->inner.layout.record);
	if (st == EM_OK && v->object.ctx != to->object.ctx)
		st = emi_fail(&err, EM_ERR_INVAL, "the vectors are of two contexts");
	if (st == EM_OK && v != to && emi_enter_quickly(&v->object) != EM_OK)
		st = emi_fail(&err, EM_ERR_BUSY, "another call on v is in progress");
	if (st == EM_OK) {
		st = copy(to, at, v, from, n, &err);
		if (v != to)
			emi_leave_quickly(&v->object);
	}
	return emi_leave(to, st, &err);
}
