/* SPDX-License-Identifier: BSL-1.0 */
/* top_files.c -- em_top_files(): the first records of files into a file. */
#include "sort/files.h"
#include "sort/pass.h"

typedef struct call {
	em_ctx *ctx;
	const em_order *order;
	const char *const *inputs;
	uint32_t ninputs;
	uint64_t from, k;
	const char *output;
	const em_sort_opts *opts;
	em_sort_stats *stats;
} call;

static em_status attempt(void *arg, emi_trial *t, em_errinfo *err)
{
	const call *c = arg;
	emi_pass *p = emi_alloc(c->ctx, sizeof *p, err);
	em_status st;

	t->again = 0;
	if (p == NULL)
		return err->status;
	p->paths = c->inputs;
	p->npaths = c->ninputs;
	p->record_bytes = em_order_record_size(c->order);
	st = emi_pass_open(p, c->ctx, c->order, c->from, c->k, c->opts, err);
	if (st == EM_OK) {
		emi_pass_try(p, t);
		st = emi_pass_run(p, c->output, err);
		emi_pass_tried(p, t, st, err);
	}
	emi_pass_close(p, p->only_plan ? NULL : c->stats);
	emi_free(c->ctx, p, sizeof *p);
	return st;
}

em_status em_top_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs, uint64_t from,
		       uint64_t k, const char *output, const em_sort_opts *opts, em_sort_stats *stats)
{
	const emi_user watching = emi_job_user(opts);
	em_errinfo own, *err = emi_job_errinfo(opts, &own);
	call c = { ctx, order, inputs, ninputs, from, k, output, opts, stats };
	em_status st = emi_files_check(ctx, inputs, ninputs, output, stats, err);

	if (st == EM_OK)
		st = emi_given(order, "order", err);
	if (st == EM_OK)
		st = emi_trials(attempt, &c, err);
	emi_user_free(&watching);
	return st;
}
