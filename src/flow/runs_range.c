/* SPDX-License-Identifier: BSL-1.0 */
/*
 * runs_range.c -- where a range of runs that stay begins; see kept_runs.h.
 *
 * An entry of a directory has the key of its block's first record.  If the next entry of the run has a key below K, so
 * have all records of the block, and it may be left out when records from K on are wanted.
 *
 * By number it is the same with a key that is looked for.  Let U(K) be the records of all blocks whose first key is
 * below K.  No other record has a key below K, so at most U(K) records come before it.  The largest K with U(K) of at
 * most `records' is found by going through the entries of all runs in the order of their keys.  What is left out for
 * that K comes before the record with that number, and the rest is counted as it is passed over.
 */
#include <string.h>

#include "base/memory.h"
#include "flow/kept_runs.h"
#include "sort/run_reader.h"

/* The directories of all runs, read from the beginning. */
typedef struct index_scan {
	em_runs *r;
	emi_run_reader reader;
	emi_hint *hint;         /* of each run: its next entry; bytes 0: there is none */
	uint32_t k;
} index_scan;

static void close_scan(index_scan *s)
{
	emi_run_reader_close(&s->reader);
	emi_free_array(emi_kept_job(s->r)->ctx, s->hint, s->k, sizeof *s->hint);
}

/* The next entry of a run. */
static em_status next_entry(index_scan *s, uint32_t i, em_errinfo *err)
{
	em_status st;

	memset(&s->hint[i], 0, sizeof s->hint[i]);
	st = emi_run_hint(&s->reader, i, &s->hint[i], err);
	if (st == EM_END)
		memset(&s->hint[i], 0, sizeof s->hint[i]);
	return st == EM_END ? EM_OK : st;
}

static em_status open_scan(index_scan *s, em_runs *r, em_errinfo *err)
{
	emi_job *job = emi_kept_job(r);
	em_status st;
	uint64_t i, longest = 0;

	memset(s, 0, sizeof *s);
	s->r = r;
	s->k = (uint32_t)job->runs.n;
	for (i = 0; i < s->k; i++)
		longest = job->runs.run[i].longest > longest ? job->runs.run[i].longest : longest;
	s->hint = emi_alloc_array(job->ctx, s->k, sizeof *s->hint, err);
	if (s->hint == NULL)
		return err->status;
	st = emi_run_reader_open(&s->reader, &job->runs, s->k, (size_t)longest, err);
	if (st != EM_OK)
		return st;
	s->reader.keeps = 1;
	emi_run_reader_expect(&s->reader, job->runs.run, s->k);
	st = emi_run_reader_turn(&s->reader, err);
	for (i = 0; i < s->k && st == EM_OK; i++)
		st = next_entry(s, (uint32_t)i, err);
	return st;
}

/* The run with the smallest key of an entry; k: all are at their end. */
static uint32_t smallest(const index_scan *s)
{
	uint32_t best = s->k, i;

	for (i = 0; i < s->k; i++)
		if (s->hint[i].bytes != 0 && (best == s->k || s->hint[i].key < s->hint[best].key))
			best = i;
	return best;
}

em_status emi_kept_rank_key(em_runs *r, uint64_t records, uint64_t *key, em_errinfo *err)
{
	const size_t record = emi_kept_job(r)->by.codec->record_bytes;
	uint64_t below = 0, before = 0;
	index_scan s;
	em_status st = open_scan(&s, r, err);
	uint32_t i;

	*key = 0;
	/* before: records of blocks whose keys are below *key; below: of all that were seen. */
	while (st == EM_OK && (i = smallest(&s)) != s.k) {
		if (s.hint[i].key != *key)
			before = below;
		if (before > records)
			break;
		*key = s.hint[i].key;
		below += s.hint[i].data / record;
		st = next_entry(&s, i, err);
		if (st == EM_OK)
			st = emi_job_check(emi_kept_job(r), err);
	}
	close_scan(&s);
	return st;
}

/* Leave out blocks of one run. */
static em_status cut_run(index_scan *s, uint32_t i, uint64_t key, emi_run *run, uint64_t *left_out, em_errinfo *err)
{
	const size_t record = emi_kept_job(s->r)->by.codec->record_bytes;
	em_status st = EM_OK;

	while (st == EM_OK) {
		/* The entry that was told last, and where it is. */
		const emi_run_cursor *c = &s->reader.cursor[i];
		const em_bid page = c->at;
		const uint32_t entry = c->entry - 1;
		const uint64_t bytes = s->hint[i].data;

		run->dir = page;
		run->from = entry;
		st = next_entry(s, i, err);
		if (st != EM_OK || s->hint[i].bytes == 0 || s->hint[i].key >= key)
			break;
		run->blocks--;
		run->bytes -= bytes;
		*left_out += bytes / record;
	}
	return st;
}

em_status emi_kept_from_key(em_runs *r, uint64_t key, emi_run *runs, uint64_t *left_out, em_errinfo *err)
{
	index_scan s;
	em_status st = open_scan(&s, r, err);
	uint32_t i;

	for (i = 0; i < s.k && st == EM_OK; i++) {
		st = cut_run(&s, i, key, &runs[i], left_out, err);
		if (st == EM_OK)
			st = emi_job_check(emi_kept_job(r), err);
	}
	close_scan(&s);
	return st;
}
