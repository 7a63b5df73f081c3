/* SPDX-License-Identifier: BSL-1.0 */
/* run_merge.c -- see run_merge.h. */
#include "sort/run_merge.h"

#include <string.h>

#include "sort/plan_job.h"

/* Mixing turns records into elements where they are, and a block that stays in memory is to be merged again. */
static int spoils(const emi_job *job, int keeps)
{
	return keeps && job->runs.memory.kept != 0 && !job->by.codec->identity;
}

uint64_t emi_run_merge_least(const emi_job *job, uint64_t k)
{
	const emi_plan_input in = emi_job_merging(job);

	return emi_plan_apart_least(&job->plan, &in, k);
}

int emi_run_merge_plan(const emi_job *job, uint32_t k, uint64_t memory, int keeps, emi_plan *plan)
{
	const emi_plan_input in = emi_job_merging(job);

	*plan = job->plan;
	if (spoils(job, keeps))
		plan->mix_bytes = 0;
	return emi_plan_apart(plan, &in, k, memory);
}

static em_status open_fetch(emi_run_merge *m, emi_job *job, const emi_run *runs, uint32_t k, int keeps, em_errinfo *err)
{
	const emi_plan_input in = emi_job_merging(job);
	const uint64_t most = in.longest > m->plan.block_bytes ? in.longest : m->plan.block_bytes;
	const emi_run_fetch_opts o = { k, m->plan.read_buffers, m->plan.prefetch_buffers,
				       (size_t)(most + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE, m->plan.packers != 0,
				       job->mispredict, keeps };
	const em_status st = emi_run_fetch_open(&m->fetch, &job->runs, &o, err);

	if (st == EM_OK)
		emi_run_fetch_expect(&m->fetch, runs, k);
	return st;
}

em_status emi_run_merge_open(emi_run_merge *m, emi_job *job, const emi_run *runs, uint32_t k, int keeps,
			     const emi_plan *plan, em_errinfo *err)
{
	static const emi_kept_run none;
	em_status st;

	memset(m, 0, sizeof *m);
	m->plan = *plan;
	st = emi_outseq_init(&m->out, &job->runs, plan->write_buffers, 0, plan->block_bytes, err);
	if (st == EM_OK)
		st = open_fetch(m, job, runs, k, keeps, err);
	if (st == EM_OK) {
		emi_outseq_begin(&m->out, &emi_dest_lends, emi_run_bytes(runs, k) / job->by.codec->record_bytes,
				 plan->block_records);
		st = emi_merger_open(&m->merger, job, &m->plan, &m->fetch, runs, k, &none, &m->out, err);
	}
	if (st != EM_OK)
		emi_run_merge_close(m);
	return st;
}

void emi_run_merge_close(emi_run_merge *m)
{
	/* Tasks write to `out' and read buffers of `fetch'. */
	emi_merger_close(&m->merger);
	emi_run_fetch_close(&m->fetch);
	emi_outseq_free(&m->out);
	memset(m, 0, sizeof *m);
}

em_status emi_run_merge_next(emi_run_merge *m, const char **records, size_t *n, em_errinfo *err)
{
	const emi_outblock *b;
	em_status st = emi_merger_pull(&m->merger, &m->lent, &b, err);

	if (st != EM_OK)
		return st;
	*records = b->buf.base + b->buf.lead;
	*n = b->records;
	return EM_OK;
}
