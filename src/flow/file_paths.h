/* SPDX-License-Identifier: BSL-1.0 */
/* file_paths.h -- copies of the paths of files that a stream is going to read. */
#ifndef EMI_FLOW_FILE_PATHS_H
#define EMI_FLOW_FILE_PATHS_H

#include <extmem/ctx.h>

typedef struct emi_file_paths {
	const char **path;      /* NULL: there are none */
	uint32_t n;
} emi_file_paths;

/* EM_ERR_INVAL (one is NULL), EM_ERR_NOMEM, EM_ERR_MEMLIMIT.  It is to be freed after a failure, too. */
em_status emi_file_paths_copy(emi_file_paths *p, em_ctx *ctx, const char *const *paths, uint32_t n, em_errinfo *err);
void emi_file_paths_free(emi_file_paths *p, em_ctx *ctx);

#endif
