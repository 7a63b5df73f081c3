/* SPDX-License-Identifier: BSL-1.0 */
/* files.c -- see files.h. */
#include "sort/files.h"

#include <string.h>

em_status emi_files_check(const char *call, const em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			  const char *output, const em_sort_stats *stats, em_errinfo *err)
{
	memset(err, 0, sizeof *err);
	if (ctx == NULL || order == NULL || inputs == NULL || ninputs == 0 || output == NULL)
		return emi_fail(err, EM_ERR_INVAL, "an argument of %s() is NULL or empty", call);
	return stats != NULL ? EMI_STRUCT_CHECK(em_sort_stats, stats, err) : EM_OK;
}
