/* SPDX-License-Identifier: BSL-1.0 */
/* runs.c -- see runs.h. */
#include "sort/runs.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

#define LEAST_ROOM 16u

void emi_runs_init(emi_runs *r, em_ctx *ctx, const emi_collation *by, emi_io_stats *io, emi_watch *watch)
{
	memset(r, 0, sizeof *r);
	r->ctx = ctx;
	r->by = by;
	r->io = io;
	r->watch = watch;
}

/* Those that were not read are not missed. */
static void leave_disks(emi_runs *r)
{
	if (r->scratch == NULL)
		return;
	if (r->expected != 0)
		emi_disk_expect(r->scratch, 0);
	r->peak = emi_disk_peak(r->scratch);
	r->held_peak = emi_disk_held_peak(r->scratch);
	emi_disk_abandon(r->scratch);
	emi_scratch_release(r->ctx, r->scratch);
	r->scratch = NULL;
}

void emi_runs_release(emi_runs *r)
{
	const uint64_t kept = r->memory.kept;

	if (r->ctx == NULL)
		return;
	emi_free_array(r->ctx, r->run, r->room, sizeof *r->run);
	r->run = NULL;
	r->n = r->room = 0;
	emi_run_memory_free(&r->memory);
	r->memory.kept = kept;
	leave_disks(r);
}

em_status emi_runs_scratch(emi_runs *r, em_errinfo *err)
{
	em_status st;

	if (r->scratch != NULL)
		return EM_OK;
	st = emi_scratch_acquire(r->ctx, &r->scratch, err);
	if (st == EM_OK)
		st = emi_disk_account(r->scratch, err);
	if (st == EM_OK && r->slack != 0)
		emi_disk_slack(r->scratch, r->slack);
	if (st == EM_OK && r->expected != 0)
		emi_disk_expect(r->scratch, r->expected);
	return st;
}

em_status emi_runs_reserve(emi_runs *r, uint64_t room, em_errinfo *err)
{
	emi_run *run;

	if (room <= r->room)
		return EM_OK;
	run = emi_alloc_array(r->ctx, room, sizeof *run, err);
	if (run == NULL)
		return err->status;
	if (r->n != 0)
		memcpy(run, r->run, (size_t)r->n * sizeof *run);
	emi_free_array(r->ctx, r->run, r->room, sizeof *run);
	r->run = run;
	r->room = room;
	return EM_OK;
}

em_status emi_runs_add(emi_runs *r, const emi_run *run, em_errinfo *err)
{
	const em_status st = r->n < r->room ? EM_OK : emi_runs_reserve(r, r->room != 0 ? 2 * r->room : LEAST_ROOM, err);

	if (st == EM_OK)
		r->run[r->n++] = *run;
	return st;
}

uint64_t emi_run_bytes(const emi_run *run, uint64_t k)
{
	uint64_t i, n = 0;

	for (i = 0; i < k; i++)
		n += run[i].bytes;
	return n;
}

/* The k neighbours with the fewest bytes: only neighbours, as equal records keep the order of their runs. */
static uint64_t smallest_group(const emi_runs *r, uint32_t k)
{
	uint64_t sum = emi_run_bytes(r->run, k), best_sum = sum, best = 0, i;

	for (i = k; i < r->n; i++) {
		sum += r->run[i].bytes - r->run[i - k].bytes;
		if (sum < best_sum) {
			best_sum = sum;
			best = i - k + 1;
		}
	}
	return best;
}

uint32_t emi_runs_group(const emi_runs *r, uint32_t fan_in, uint64_t most, uint64_t *first)
{
	/* A merge takes only as many runs as leave the last one full (Knuth, vol. 3, 5.4.9). */
	const uint64_t excess = r->n - most + 1;
	const uint32_t k = excess < fan_in ? (uint32_t)excess : fan_in;

	if (r->n <= most)
		return 0;
	*first = smallest_group(r, k);
	return k;
}

em_status emi_runs_tick(const emi_runs *r)
{
	return r->watch != NULL ? emi_tick(r->watch) : EM_OK;
}

em_status emi_runs_wait(const emi_runs *r, emi_request *rq, em_errinfo *err)
{
	return r->watch != NULL ? emi_watch_wait(r->watch, rq, err) : emi_wait(rq, err);
}

uint64_t emi_runs_peak(const emi_runs *r)
{
	return r->scratch != NULL ? emi_disk_peak(r->scratch) : r->peak;
}

uint64_t emi_runs_held_peak(const emi_runs *r)
{
	return r->scratch != NULL ? emi_disk_held_peak(r->scratch) : r->held_peak;
}
