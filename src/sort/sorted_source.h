/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sorted_source.h -- sorted records, lent window by window.
 *
 * What a merge takes its records from: memory, a file, blocks on disks, a stream, or another merge (kway.h).  A source
 * knows where its records come from, and nothing of their order.  It lends some that lie one behind the other, and
 * reads those behind them meanwhile, if it reads at all.  So whoever merges compares and copies, and waits only here.
 *
 * What is left of a window stands in the source itself.  Whoever takes records moves `at'; when there are no more,
 * emi_sorted_next() lends the next window.  The window before is gone then.  So one consumer can take some records, and
 * another one the rest.
 *
 * Records have one size.  Those of any length would be lent as frames (key/vary.h); `extmem merge' reads them its own
 * way (presorted.h).
 *
 * A source is used by one thread at a time, and stays where it is.  A failure is final: it names the file, and the
 * next call tells it again or fails anew.
 */
#ifndef EMI_SORTED_SOURCE_H
#define EMI_SORTED_SOURCE_H

#include <stddef.h>

#include <extmem/status.h>

typedef struct emi_sorted_source emi_sorted_source;

typedef struct emi_sorted_ops {
	/* Lend the next window, all of the last one being taken: set `at' and `end', which are not the same then.
	 * EM_END: there are no more. */
	em_status (*next)(emi_sorted_source *s, em_errinfo *err);
	/* Give back whatever it has, at any time. */
	void (*close)(emi_sorted_source *s);
} emi_sorted_ops;

/* The first member of each source. */
struct emi_sorted_source {
	const emi_sorted_ops *ops;
	const char *at;         /* the next record of the window ... */
	const char *end;        /* ... and its end; the same: none is in hand */
	int over;               /* there are no more windows */
};

/* Have records in hand.  EM_OK: there are, and it may be those that were left; EM_END; or a failure.  err is not NULL,
 * and zeroed. */
static inline em_status emi_sorted_next(emi_sorted_source *s, em_errinfo *err)
{
	em_status st;

	if (s->at != s->end)
		return EM_OK;
	if (s->over)
		return EM_END;
	st = s->ops->next(s, err);
	s->over = st == EM_END;
	return st;
}

/* All zeroes need no closing. */
static inline void emi_sorted_close(emi_sorted_source *s)
{
	if (s->ops != NULL)
		s->ops->close(s);
}

#endif
