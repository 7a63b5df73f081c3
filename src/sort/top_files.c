/* SPDX-License-Identifier: BSL-1.0 */
/* top_files.c -- em_top_files(): the first records of files into a file. */
#include "sort/files.h"
#include "sort/pass.h"

em_status em_top_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs, uint64_t from, uint64_t k,
		       const char *output, const em_sort_opts *opts, em_sort_stats *stats)
{
	em_errinfo own, *err = emi_job_errinfo(opts, &own);
	emi_pass *p;
	em_status st;

	st = emi_files_check("em_top_files", ctx, order, inputs, ninputs, output, stats, err);
	if (st != EM_OK)
		return st;
	p = emi_alloc(ctx, sizeof *p, err);
	if (p == NULL)
		return err->status;
	p->paths = inputs;
	p->npaths = ninputs;
	p->record_bytes = em_order_record_size(order);
	st = emi_pass_open(p, ctx, order, from, k, opts, err);
	if (st == EM_OK)
		st = emi_pass_run(p, output, err);
	emi_pass_close(p, stats);
	emi_free(ctx, p, sizeof *p);
	return st;
}
