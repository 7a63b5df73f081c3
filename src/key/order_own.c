/* SPDX-License-Identifier: BSL-1.0 */
/* order_own.c -- orders that come with kernels of their own: see extmem/gen/kernels.h. */
#include <inttypes.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "key/order_impl.h"

#define MOST_ALIGN 16u          /* what memory for C types has */
#define MOST_BYTES 65536u       /* of a record */

static int is_complete(const em_kernels *k)
{
	return k->compare != NULL && k->sorted != NULL && k->sort != NULL && k->classify != NULL &&
	       k->merge_start != NULL && k->merge_run != NULL && k->name != NULL;
}

static em_status check_kernels(const em_kernels *k, em_errinfo *err)
{
	em_kernels ours;
	uint32_t align;
	em_status st;

	if (k == NULL)
		return emi_fail(err, EM_ERR_INVAL, "order: kernels is NULL");
	st = EMI_STRUCT_TAKE(em_kernels, &ours, k, err);
	if (st != EM_OK)
		return st;
	align = k->record_align;
	if (!is_complete(k))
		return emi_fail(err, EM_ERR_INVAL, "order: the table of kernels is not complete");
	if (k->record_size > MOST_BYTES)
		return emi_fail(err, EM_ERR_INVAL, "order: kernels for records of %" PRIu64 " bytes, more than %u",
				k->record_size, MOST_BYTES);
	if (align == 0 || align > MOST_ALIGN || (align & (align - 1)) != 0 || k->record_size % align != 0)
		return emi_fail(err, EM_ERR_INVAL, "order: records of %" PRIu64 " bytes cannot be aligned to %" PRIu32,
				k->record_size, align);
	return EM_OK;
}

em_status em_order_kernels(em_order **out, em_ctx *ctx, const em_kernels *kernels, void *arg, em_errinfo *err)
{
	em_errinfo detail = { 0 };
	em_order *o = NULL;
	em_status status;

	status = emi_order_check(out, ctx, 1, &detail);
	if (status == EM_OK)
		status = check_kernels(kernels, &detail);
	if (status == EM_OK)
		status = emi_order_check(out, ctx, kernels->record_size, &detail);
	if (status == EM_OK)
		status = emi_order_make_named(&o, ctx, kernels->record_size, kernels->name, &detail);
	if (status != EM_OK)
		goto out;
	o->own = kernels;
	o->own_arg = arg;
	emi_codec_choose(o);
out:
	return emi_order_leave(out, o, status, &detail, err);
}
