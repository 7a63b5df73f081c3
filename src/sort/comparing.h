/* SPDX-License-Identifier: BSL-1.0 */
/*
 * comparing.h -- how a sort, or a check, compares whole records by a function of the caller's.
 *
 * The thread that called the library watches the function: now and then it looks at the clock, calls the progress function, and calls the
 * function no more when it is told to stop.  Other threads call it, if they may, without that.
 */
#ifndef EMI_COMPARING_H
#define EMI_COMPARING_H

#include "key/order.h"

typedef struct emi_comparing {
	emi_compare watched;    /* of the calling thread alone */
	char apart[128];        /* that one is written at each call, and caches are not to hand it around with ... */
	emi_compare shared;     /* ... this one, of all threads */
	emi_tie tie;            /* of the order, by `shared' if its function, if it has one, may be called on all threads */
	void *own_arg;          /* of its kernels, likewise */
} emi_comparing;

/* tick: see emi_compare. */
void emi_comparing_init(emi_comparing *c, const em_order *order, em_status (*tick)(void *arg), void *tick_arg);

/* What to take for tie.arg, or own_arg, where much is going to be compared on this thread. */
void *emi_comparing_here(emi_comparing *c, void *arg);

/* Has the function failed? */
int emi_comparing_failed(const emi_comparing *c);

#endif
