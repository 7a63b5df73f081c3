/* SPDX-License-Identifier: BSL-1.0 */
/*
 * unique.c -- em_unique_files(): a sort or a merge whose output is one record of each group of equal ones.
 *
 * Where nothing depends on how many records a group has, that is what EM_SORT_UNIQUE does, which drops records as early
 * as it can.
 */
#include <extmem/unique.h>

#include "sort/files.h"

static em_status check_opts(const em_unique_opts *o, em_errinfo *err)
{
	if ((o->flags & ~(EM_UNIQUE_COUNT | EM_UNIQUE_PRESORTED)) != 0)
		return emi_fail(err, EM_ERR_INVAL, "unknown flags 0x%x of a search for groups", (unsigned)o->flags);
	if (o->max_count != 0 && o->max_count < o->min_count)
		return emi_fail(err, EM_ERR_INVAL, "no group has at least %llu and at most %llu records",
				(unsigned long long)o->min_count, (unsigned long long)o->max_count);
	return EM_OK;
}

/* Where the detail of a failure goes: as the options say, or those of the sort. */
static em_errinfo *errinfo_of(const em_unique_opts *opts, const em_unique_opts *ours, em_errinfo *own)
{
	em_errinfo *theirs = EMI_ERRINFO_OF(em_unique_opts, opts);

	return theirs != NULL ? theirs : emi_job_errinfo(ours->sort, own);
}

static em_status unique_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			      const char *output, const em_unique_opts *o, em_sort_stats *stats, em_errinfo *err)
{
	em_sort_opts sort;
	emi_group_opts groups;
	const emi_group_opts *wanted = &groups;
	em_status st = emi_files_check(ctx, inputs, ninputs, output, stats, err);
	if (st == EM_OK)
		st = emi_given(order, "order", err);
	if (st == EM_OK)
		st = check_opts(o, err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_sort_opts, &sort, o->sort, err);
	if (st != EM_OK)
		return st;
	groups.counts = (o->flags & EM_UNIQUE_COUNT) != 0;
	groups.least = o->min_count > 1 ? o->min_count : 1;
	groups.most = o->max_count != 0 ? o->max_count : UINT64_MAX;
	sort.flags &= ~EM_SORT_UNIQUE;
	if (!groups.counts && groups.least == 1 && groups.most == UINT64_MAX) {
		sort.flags |= EM_SORT_UNIQUE;
		wanted = NULL;
	}
	return ((o->flags & EM_UNIQUE_PRESORTED) != 0 ? emi_merge_files : emi_sort_files)(
		ctx, order, inputs, ninputs, output, &sort, stats, wanted, err);
}

em_status em_unique_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			  const char *output, const em_unique_opts *opts, em_sort_stats *stats)
{
	em_unique_opts o = EM_UNIQUE_OPTS_INIT;
	em_errinfo own, detail, *err;
	emi_user watching;
	em_status st;

	emi_errinfo_clear(&detail);
	st = EMI_STRUCT_TAKE(em_unique_opts, &o, opts, &detail);
	err = errinfo_of(opts, &o, &own);
	if (st != EM_OK) {
		*err = detail;
		return st;
	}
	watching = emi_job_user(o.sort);
	st = unique_files(ctx, order, inputs, ninputs, output, &o, stats, err);
	emi_user_free(&watching);
	return st;
}
