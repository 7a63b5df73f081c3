/* SPDX-License-Identifier: BSL-1.0 */
/* watch.c -- see watch.h. */
#include "sort/watch.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"

#define INTERVAL 0.1            /* seconds between two calls of the progress function */

void emi_watch_init(emi_watch *w, const em_ctx *ctx, em_progress_fn fn, void *user, const emi_io_stats *io)
{
	memset(w, 0, sizeof *w);
	w->ctx = ctx;
	w->fn = fn;
	w->user = user;
	w->io = io;
	w->last = w->wall0 = emi_now();
	w->cpu0 = -1;
	w->io0 = emi_io_snapshot(io);
}

void emi_watch_cpu(emi_watch *w)
{
	w->brief = 0;
	if (w->cpu0 < 0)
		w->cpu0 = emi_cpu_now();
}

void emi_watch_settle(emi_watch *w)
{
	em_phase_stats *p = &w->stats[w->phase];
	emi_io_stats now = emi_io_snapshot(w->io);
	double wall = emi_now(), cpu = w->cpu0 < 0 ? w->cpu0 : emi_cpu_now();

	p->seconds += wall - w->wall0;
	p->cpu_seconds += cpu - w->cpu0;
	p->io_wait += (double)(now.wait_ns - w->io0.wait_ns) * 1e-9;
	p->bytes_read += now.bytes_read - w->io0.bytes_read;
	p->bytes_written += now.bytes_written - w->io0.bytes_written;
	p->ios_read += now.ios_read - w->io0.ios_read;
	p->ios_written += now.ios_written - w->io0.ios_written;
	w->wall0 = wall;
	w->cpu0 = cpu;
	w->io0 = now;
}

void emi_watch_phase(emi_watch *w, uint32_t phase, uint64_t total)
{
	emi_watch_settle(w);
	if (!w->brief)
		emi_watch_cpu(w);
	w->phase = phase;
	w->done = 0;
	w->total = total;
}

void emi_watch_add(emi_watch *w, uint64_t bytes)
{
	uint64_t done = w->done + bytes;

	if (w->total != 0 && done > w->total)
		done = w->total;
	__atomic_store_n(&w->done, done, __ATOMIC_RELAXED);
}

void emi_watch_cancel(emi_watch *w)
{
	__atomic_store_n(&w->canceled, 1, __ATOMIC_RELAXED);
}

static em_status canceled(const emi_watch *w)
{
	if (__atomic_load_n(&w->canceled, __ATOMIC_RELAXED) || emi_ctx_canceled(w->ctx))
		return EM_ERR_CANCELED;
	return w->whole != NULL ? canceled(w->whole) : EM_OK;
}

em_status emi_tick(emi_watch *w)
{
	em_status st = canceled(w);
	double now;

	if (st != EM_OK || w->fn == NULL)
		return st;
	now = emi_now();
	if (now - w->last < INTERVAL)
		return EM_OK;
	w->last = now;
	if (w->fn(w->user, w->phase, w->done, w->total) != 0)
		emi_watch_cancel(w);
	return canceled(w);
}

em_status emi_watch_tick(void *watch)
{
	return emi_tick(watch);
}

em_status emi_watch_wait(emi_watch *w, emi_request *rq, em_errinfo *err)
{
	em_status st = EM_OK, io;

	if (w->fn != NULL)
		while (!emi_wait_for(rq, INTERVAL))
			if (st == EM_OK)
				st = emi_tick(w);
	io = emi_wait(rq, err);
	if (io != EM_OK)
		return io;
	return st == EM_OK ? EM_OK : emi_fail(err, st, "canceled");
}
