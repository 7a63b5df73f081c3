/* SPDX-License-Identifier: BSL-1.0 */
/*
 * watch.h -- progress, cancellation, and where the time of a sort goes.
 *
 * Long loops on the calling thread call emi_tick() often; it is cheap.  It calls the progress
 * function when it is due, and says whether the work is to go on: neither it nor its context was canceled.
 */
#ifndef EMI_WATCH_H
#define EMI_WATCH_H

#include <extmem/sort.h>

#include "io/file.h"

#define EMI_PHASES 3u           /* EM_PHASE_... */

typedef struct emi_watch {
	const em_ctx *ctx;
	const struct emi_watch *whole; /* what this is a part of, and ends with; or NULL */
	em_progress_fn fn;
	void *user;
	int canceled;           /* atomic: em_sorter_cancel(), or the progress function said so */
	uint32_t phase;
	uint64_t done;          /* bytes of this phase, by one thread; others may look: atomic */
	uint64_t total;         /* 0: not known */
	double last;            /* when fn was last called */
	/* the phase in progress, as it began */
	double wall0, cpu0;
	emi_io_stats io0;
	const emi_io_stats *io; /* the counters of the sort's requests */
	em_phase_stats stats[EMI_PHASES];
} emi_watch;

void emi_watch_init(emi_watch *w, const em_ctx *ctx, em_progress_fn fn, void *user, const emi_io_stats *io);

/* Have it end.  Any thread. */
void emi_watch_cancel(emi_watch *w);

/* Begin a phase; ends the one before.  total in bytes, 0 when not known. */
void emi_watch_phase(emi_watch *w, uint32_t phase, uint64_t total);

/* Account for the time and traffic up to now. */
void emi_watch_settle(emi_watch *w);

/* Count bytes as done. */
void emi_watch_add(emi_watch *w, uint64_t bytes);

/* EM_OK or EM_ERR_CANCELED; and the same for those who take any function to be called while they wait or work. */
em_status emi_tick(emi_watch *w);
em_status emi_watch_tick(void *watch);

/* Wait for a request on the calling thread, ticking meanwhile.  A failure of the tick is returned only
 * when the request is done: its buffer must not be released earlier. */
em_status emi_watch_wait(emi_watch *w, emi_request *rq, em_errinfo *err);

#endif
