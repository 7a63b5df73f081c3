/* SPDX-License-Identifier: BSL-1.0 */
/* groups.c -- see groups.h. */
#include "sort/groups.h"

#include <string.h>

#include "sort/record_out.h"

em_status emi_groups_init(emi_groups *g, emi_job *job, const emi_group_opts *opts, emi_copier *out, em_errinfo *err)
{
	memset(g, 0, sizeof *g);
	g->job = job;
	g->opts = opts;
	g->out = out;
	emi_keeper_init(&g->first, &job->by);
	job->keeps = 1;
	/* How long a record of any length may be follows from the plan. */
	return g->first.v == NULL && (job->by.codec->ref || job->by.own != NULL)
		       ? emi_keeper_reserve(&g->first, job->by.codec->record_bytes, err)
		       : EM_OK;
}

void emi_groups_free(emi_groups *g)
{
	if (g->job == NULL)
		return;
	emi_keeper_free(&g->first);
	memset(g, 0, sizeof *g);
}

/* The group at hand is complete. */
static em_status put_group(emi_groups *g, em_errinfo *err)
{
	const emi_keeper *first = &g->first;

	if (g->count < g->opts->least || g->count > g->opts->most)
		return EM_OK;
	g->written++;
	if (g->opts->counts)
		return first->v != NULL ? emi_record_out_counted(g->out, &first->frame, g->count, err)
					: emi_elem_out_counted(g->out, emi_keeper_elem(first), g->count, err);
	return first->v != NULL ? emi_record_out(g->out, &first->frame, err)
				: emi_elem_out(g->out, emi_keeper_elem(first), err);
}

em_status emi_groups_elems(emi_groups *g, const void *elems, size_t n, em_errinfo *err)
{
	const size_t elem_bytes = g->job->by.codec->elem_bytes;
	const char *elem = elems;
	em_status st = EM_OK;

	for (; st == EM_OK && n != 0; n--, elem += elem_bytes) {
		if (g->count != 0 && emi_keeper_same(&g->first, elem)) {
			g->count++;
			continue;
		}
		if (g->count != 0)
			st = put_group(g, err);
		emi_keeper_hold(&g->first, elem);
		g->count = 1;
	}
	g->job->records_out = g->written;
	return st == EM_OK ? emi_keeper_settle(&g->first, err) : st;
}

em_status emi_groups_records(emi_groups *g, const void *records, size_t n, em_errinfo *err)
{
	const emi_codec *codec = g->job->by.codec;
	const char *record = records;
	em_status st = EM_OK;

	if (g->job->by.own != NULL)
		return emi_groups_elems(g, records, n, err);
	while (st == EM_OK && n != 0) {
		const size_t some = n < EMI_GROUPS_WINDOW ? n : EMI_GROUPS_WINDOW;

		emi_collation_load(&g->job->by, record, some, g->window);
		st = emi_groups_elems(g, g->window, some, err);
		record += some * codec->record_bytes;
		n -= some;
	}
	return st;
}

em_status emi_groups_frame(emi_groups *g, const emi_frame *f, em_errinfo *err)
{
	const emi_pair elem = emi_frame_elem(g->job->by.vary, f);

	return emi_groups_elems(g, &elem, 1, err);
}

em_status emi_groups_end(emi_groups *g, em_errinfo *err)
{
	em_status st = EM_OK;

	if (g->opts == NULL)
		return EM_OK;
	if (g->count != 0)
		st = put_group(g, err);
	g->count = 0;
	g->job->records_out = g->written;
	return st;
}
