/* SPDX-License-Identifier: BSL-1.0 */
/* ends_move.c -- see ends.h: records enter and leave at the ends. */
#include "base/copy.h"
#include "base/error.h"
#include "container/ends.h"

static char *block_at(const emi_ends *e, emi_end end)
{
	return emi_ends_at(e, end == EMI_FRONT ? 0 : e->blocks - 1)->buf;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Records that the block at an end has room for, and that it has. */
static uint64_t room_of(const emi_ends *e, emi_end end)
{
	const size_t bytes = e->piece != 0 ? e->piece : e->shape.full;

	return end == EMI_FRONT ? e->front_at / e->shape.record : (bytes - e->back_at) / e->shape.record;
}

static uint64_t records_of(const emi_ends *e, emi_end end)
{
	const size_t from = end == EMI_FRONT || e->blocks == 1 ? e->front_at : 0;
	const size_t to = end == EMI_BACK || e->blocks == 1 ? e->back_at : e->shape.full;

	return (to - from) / e->shape.record;
}

em_status emi_ends_push(emi_ends *e, emi_end end, const char *records, uint64_t n, uint64_t *done, em_errinfo *err)
{
	const size_t record = e->shape.record;
	em_status st = EM_OK;
	uint64_t m;

	*done = 0;
	while (*done < n) {
		st = emi_ends_room(e, end, err);
		if (st != EM_OK)
			break;
		m = least(n - *done, room_of(e, end));
		if (end == EMI_FRONT) {
			e->front_at -= (size_t)m * record;
			emi_copy(block_at(e, end) + e->front_at, records + (size_t)(n - *done - m) * record,
				 (size_t)m * record);
		} else {
			emi_copy(block_at(e, end) + e->back_at, records + (size_t)*done * record, (size_t)m * record);
			e->back_at += (size_t)m * record;
		}
		*done += m;
	}
	e->version += *done != 0;
	return st;
}

em_status emi_ends_pop(emi_ends *e, emi_end end, char *records, uint64_t n, uint64_t *done, em_errinfo *err)
{
	const uint64_t size = emi_ends_size(e), all = least(n, size);
	const size_t record = e->shape.record;
	em_status st = EM_OK;
	uint64_t m;

	*done = 0;
	while (*done < all) {
		st = emi_ends_bring(e, end, err);
		if (st != EM_OK)
			break;
		m = least(all - *done, records_of(e, end));
		if (end == EMI_FRONT) {
			emi_copy(records + (size_t)*done * record, block_at(e, end) + e->front_at, (size_t)m * record);
			e->front_at += (size_t)m * record;
		} else {
			e->back_at -= (size_t)m * record;
			emi_copy(records + (size_t)(all - *done - m) * record, block_at(e, end) + e->back_at,
				 (size_t)m * record);
		}
		*done += m;
	}
	e->version += *done != 0;
	if (st != EM_OK && end == EMI_BACK)
		memmove(records, records + (size_t)(all - *done) * record, (size_t)*done * record);
	return st == EM_OK && n != 0 && size == 0 ? (em_status)EM_NOT_FOUND : st;
}

em_status emi_ends_peek(emi_ends *e, emi_end end, char *record, em_errinfo *err)
{
	const em_status st = emi_ends_bring(e, end, err);

	if (st == EM_OK)
		emi_copy(record, block_at(e, end) + (end == EMI_FRONT ? e->front_at : e->back_at - e->shape.record),
			 e->shape.record);
	return st;
}
