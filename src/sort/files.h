/* SPDX-License-Identifier: BSL-1.0 */
/*
 * files.h -- em_sort_files() and em_merge_files(), whose output may be groups of equal records in place of all of them.
 *
 * The detail of a failure is in err, which is not where opts says; groups may be NULL.  With groups, opts->flags is
 * without EM_SORT_UNIQUE.
 */
#ifndef EMI_FILES_H
#define EMI_FILES_H

#include "sort/groups.h"

em_status emi_sort_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			 const char *output, const em_sort_opts *opts, em_sort_stats *stats,
			 const emi_group_opts *groups, em_errinfo *err);

/* What a sort takes for itself, beside what is planned for it. */
uint64_t emi_sort_files_memory(void);

em_status emi_merge_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			  const char *output, const em_sort_opts *opts, em_sort_stats *stats,
			  const emi_group_opts *groups, em_errinfo *err);

/* What files are sorted with can be looked at; clears err.  An order is for emi_job_open() to look at. */
em_status emi_files_check(const em_ctx *ctx, const char *const *inputs, uint32_t ninputs, const char *output,
			  const em_sort_stats *stats, em_errinfo *err);

#endif
