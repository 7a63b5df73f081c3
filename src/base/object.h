/* SPDX-License-Identifier: BSL-1.0 */
/*
 * object.h -- what every public object begins with: its context, the detail of its last failure, and whether a call on
 * it is in progress.
 *
 * A public call is what it does between entering and leaving:
 *
 *	em_errinfo err;
 *	em_status st = emi_enter(thing, &err);
 *
 *	return st == EM_OK ? emi_leave(thing, work(thing, &err), &err) : st;
 *
 * Entering refuses NULL, a child of a fork, and a call while another one is in progress on the same object: one from
 * within a function of the caller's, or, in a context with EM_CTX_CHECKED, from another thread.  That is a plain flag,
 * as an atomic exchange costs more than a cache hit does; checked contexts have the exchange.  An object that many
 * threads may use has no such flag.  Several objects may have one flag, that of the pool, vector or disks that they
 * share: each of them keeps whose it is until it is freed itself.
 *
 * err begins without a failure, and need not be initialised for that: emi_fail() fills all of it.
 *
 * Closing cannot fail, so what is closed while a call is in progress is released when that ends.  Releasing is a call,
 * too, and ends as such: an object that goes on for others is one that they may use then.
 */
#ifndef EMI_OBJECT_H
#define EMI_OBJECT_H

#include <extmem/ctx.h>

#include "base/error.h"

typedef struct emi_object emi_object;

struct emi_object {
	em_ctx *ctx;            /* a reference is held */
	emi_object *turn;       /* whose flag it is that tells of a call in progress: its own or another's */
	void (*release)(void *object); /* what closing ends with: frees what it has, then emi_object_free() */
	uint32_t state;         /* EMI_OBJECT_..., of its own */
	int canceled;           /* emi_object_cancel(): it stays so; atomic */
	emi_object *closing;    /* those with this flag that are to be released; under io_lock ... */
	emi_object *next;       /* ... and the next of them */
	int *freed;             /* set when it is, while one with this flag is released; or NULL */
	em_errinfo err;         /* of the last call that failed; of many threads: under io_lock */
};

#define EMI_OBJECT_BUSY 1u      /* a call is in progress */
#define EMI_OBJECT_CHECKED 2u   /* entering looks for other threads */
#define EMI_OBJECT_SHARED 4u    /* any number of threads at a time */
#define EMI_OBJECT_CLOSING 8u   /* some are to be released */

/* Make an object of zeroed bytes that begins with an emi_object, and take the reference.  flags: EMI_OBJECT_SHARED, or
 * 0. */
void emi_object_init(emi_object *o, em_ctx *ctx, uint32_t flags, void (*release)(void *object));

/* An object of so many zeroed bytes.  NULL with err filled: EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FORK. */
void *emi_object_new(em_ctx *ctx, size_t bytes, uint32_t flags, void (*release)(void *object), em_errinfo *err);

/* Free one, of which nothing else is left. */
void emi_object_free(void *object, size_t bytes);

/* Release it now, or when the call in progress ends.  NULL is allowed. */
void emi_object_close(void *object);

/* Let no call on it begin any more, and have the one in progress end soon: what moves its blocks looks at the flag
 * (emi_store_watch()).  Any thread; signal handlers: a store, and nothing else.  NULL is allowed. */
void emi_object_cancel(void *object);

/* Was it, or whose flag of a call it has? */
static inline int emi_object_canceled(const emi_object *o)
{
	return __atomic_load_n(&o->canceled, __ATOMIC_RELAXED) | __atomic_load_n(&o->turn->canceled, __ATOMIC_RELAXED);
}

/* May its work go on?  As emi_ctx_check(), or EM_ERR_CANCELED. */
em_status emi_object_check(const emi_object *o, em_errinfo *err);

/* Copy the detail of the last failure; all zero if there was none, or if object is NULL.  err may be NULL. */
void emi_object_error(const void *object, em_errinfo *err);

/* The parts of the two below that are rare. */
em_status emi_enter_slowly(emi_object *o);
void emi_leave_slowly(emi_object *o);
em_status emi_keep(emi_object *o, em_status status, const em_errinfo *err);

/* Begin a call, without a look at which process this is: for what does nothing that a child could spoil.  o is not
 * NULL.  EM_ERR_BUSY. */
static inline em_status emi_enter_quickly(emi_object *o)
{
	emi_object *turn = o->turn;

	if (__atomic_load_n(&turn->state, __ATOMIC_RELAXED) != 0)
		return emi_enter_slowly(o);
	__atomic_store_n(&turn->state, EMI_OBJECT_BUSY, __ATOMIC_RELAXED);
	return EM_OK;
}

/* Begin a call.  EM_ERR_INVAL: object is NULL; EM_ERR_FORK; EM_ERR_CANCELED; EM_ERR_BUSY.  Then the call is over. */
em_status emi_enter(void *object, em_errinfo *err);

/* The same for one that only gives back, which it may although it or the context was canceled. */
em_status emi_enter_back(void *object, em_errinfo *err);

/* End a call that succeeded, or whose failure was kept. */
static inline void emi_leave_quickly(emi_object *o)
{
	emi_object *turn = o->turn;

	if (__atomic_load_n(&turn->state, __ATOMIC_RELAXED) != EMI_OBJECT_BUSY)
		emi_leave_slowly(o);
	else
		__atomic_store_n(&turn->state, 0, __ATOMIC_RELAXED);
}

/* End a call: keep the detail of a failure, with the text of its status where nobody has filled it.  Returns the
 * status. */
em_status emi_leave(void *object, em_status status, const em_errinfo *err);

#endif
