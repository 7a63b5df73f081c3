/* SPDX-License-Identifier: BSL-1.0 */
/* file_paths.c -- see file_paths.h. */
#include "flow/file_paths.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/memory.h"

void emi_file_paths_free(emi_file_paths *p, em_ctx *ctx)
{
	uint32_t i;

	for (i = 0; p->path != NULL && i < p->n; i++)
		emi_strfree(ctx, (char *)(uintptr_t)p->path[i]);
	if (p->path != NULL)
		emi_free_array(ctx, (void *)(uintptr_t)p->path, p->n, sizeof *p->path);
	p->path = NULL;
}

em_status emi_file_paths_copy(emi_file_paths *p, em_ctx *ctx, const char *const *paths, uint32_t n, em_errinfo *err)
{
	uint32_t i;

	if (n == 0)
		return EM_OK;
	p->path = emi_alloc_array(ctx, n, sizeof *p->path, err);
	if (p->path == NULL)
		return err->status;
	p->n = n;
	for (i = 0; i < n; i++) {
		if (paths[i] == NULL)
			return emi_fail(err, EM_ERR_INVAL, "paths[%" PRIu32 "] is NULL", i);
		p->path[i] = emi_strdup(ctx, paths[i], err);
		if (p->path[i] == NULL)
			return err->status;
	}
	return EM_OK;
}
