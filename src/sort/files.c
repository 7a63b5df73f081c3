/* SPDX-License-Identifier: BSL-1.0 */
/* files.c -- see files.h. */
#include "sort/files.h"

#include <string.h>

em_status emi_files_check(const em_ctx *ctx, const char *const *inputs, uint32_t ninputs, const char *output,
			  const em_sort_stats *stats, em_errinfo *err)
{
	em_status st;
	uint32_t i;

	emi_errinfo_clear(err);
	st = emi_given(ctx, "ctx", err);
	if (st == EM_OK && ninputs == 0)
		st = emi_fail(err, EM_ERR_INVAL, "there are no inputs");
	if (st == EM_OK)
		st = emi_given(inputs, "inputs", err);
	for (i = 0; i < ninputs && st == EM_OK; i++)
		if (inputs[i] == NULL)
			st = emi_fail(err, EM_ERR_INVAL, "inputs[%u] is NULL", (unsigned)i);
	if (st == EM_OK)
		st = emi_given(output, "output", err);
	return st == EM_OK && stats != NULL ? EMI_STRUCT_CHECK(em_sort_stats, stats, err) : st;
}
