/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_vary.h -- emi_sort_files() for records of any length.
 */
#ifndef EMI_SORT_VARY_H
#define EMI_SORT_VARY_H

#include "sort/groups.h"

em_status emi_sort_vary(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			const char *output, const em_sort_opts *opts, em_sort_stats *stats,
			const emi_group_opts *groups, em_errinfo *err);

#endif
