/* SPDX-License-Identifier: BSL-1.0 */
/*
 * object.c -- see object.h.
 *
 * Who closes an object that is busy adds it to a list, and says so in the flags; who leaves clears the flag that it is
 * busy, and then looks at the flags as they were.  So one of the two sees the other, whichever threads they are.  Both
 * may, and the list, which a lock guards, tells them apart.
 */
#include "base/object.h"

#include <pthread.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "base/memory.h"

void emi_object_init(emi_object *o, em_ctx *ctx, uint32_t flags, void (*release)(void *object))
{
	emi_ctx_ref(ctx);
	o->ctx = ctx;
	o->turn = o;
	o->release = release;
	o->state = flags | ((ctx->flags & EM_CTX_CHECKED) != 0 ? EMI_OBJECT_CHECKED : 0);
}

void *emi_object_new(em_ctx *ctx, size_t bytes, uint32_t flags, void (*release)(void *object), em_errinfo *err)
{
	emi_object *o = NULL;

	emi_log_tell(ctx);
	if (emi_ctx_check(ctx, err) == EM_OK)
		o = emi_alloc(ctx, bytes, err);
	if (o != NULL)
		emi_object_init(o, ctx, flags, release);
	return o;
}

void emi_object_free(void *object, size_t bytes)
{
	emi_object *o = object;
	em_ctx *ctx = o->ctx;

	if (o->freed != NULL)
		*o->freed = 1;
	emi_free(ctx, object, bytes);
	emi_ctx_unref(ctx);
}

/* Others may mark it as busy meanwhile. */
static int is_shared(const emi_object *o)
{
	return (__atomic_load_n(&o->state, __ATOMIC_RELAXED) & EMI_OBJECT_SHARED) != 0;
}

/* What many threads look at is guarded, but for a child of a fork, which has one, and where the lock may be held for
 * ever. */
static int guard(const emi_object *o)
{
	const int guarded = o != NULL && is_shared(o) && !emi_ctx_forked(o->ctx);

	if (guarded)
		pthread_mutex_lock(&o->ctx->io_lock);
	return guarded;
}

static void unguard(const emi_object *o, int guarded)
{
	if (guarded)
		pthread_mutex_unlock(&o->ctx->io_lock);
}

/* Functions of the caller's that this calls find it busy, and whatever has the same flag.  Whose flag it is may be
 * freed here, too, with the last that has it.  In a child of a fork a call may be in progress for ever. */
static void release(emi_object *o)
{
	emi_object *turn = o->turn;
	int *outer = turn->freed, freed = 0;
	const uint32_t was = __atomic_fetch_or(&turn->state, EMI_OBJECT_BUSY, __ATOMIC_ACQUIRE);

	turn->freed = &freed;
	o->release(o);
	if (!freed) {
		turn->freed = outer;
		if ((was & EMI_OBJECT_BUSY) == 0)
			emi_leave_quickly(turn);
	} else if (outer != NULL) {
		*outer = 1;
	}
}

/* Release all that wait for it. */
static void release_closing(emi_object *turn)
{
	pthread_mutex_t *lock = &turn->ctx->io_lock;
	emi_object *o, *next;

	pthread_mutex_lock(lock);
	o = turn->closing;
	turn->closing = NULL;
	(void)__atomic_fetch_and(&turn->state, ~EMI_OBJECT_CLOSING, __ATOMIC_RELAXED);
	pthread_mutex_unlock(lock);
	for (; o != NULL; o = next) {
		next = o->next;
		release(o);
	}
}

void emi_object_close(void *object)
{
	emi_object *o = object;
	pthread_mutex_t *lock;
	emi_object *turn;

	if (o == NULL)
		return;
	turn = o->turn;
	if ((__atomic_load_n(&turn->state, __ATOMIC_ACQUIRE) & EMI_OBJECT_BUSY) == 0 || emi_ctx_forked(o->ctx)) {
		release(o);
		return;
	}
	lock = &turn->ctx->io_lock;
	pthread_mutex_lock(lock);
	o->next = turn->closing;
	turn->closing = o;
	pthread_mutex_unlock(lock);
	if ((__atomic_fetch_or(&turn->state, EMI_OBJECT_CLOSING, __ATOMIC_ACQ_REL) & EMI_OBJECT_BUSY) == 0)
		release_closing(turn);
}

void emi_object_cancel(void *object)
{
	emi_object *o = object;

	if (o != NULL)
		__atomic_store_n(&o->canceled, 1, __ATOMIC_RELAXED);
}

em_status emi_object_check(const emi_object *o, em_errinfo *err)
{
	const em_status st = emi_ctx_check(o->ctx, err);

	return st == EM_OK && emi_object_canceled(o) ? emi_fail(err, EM_ERR_CANCELED, "canceled: it was") : st;
}

void emi_object_error(const void *object, em_errinfo *err)
{
	const emi_object *o = object;
	int guarded;

	if (err == NULL)
		return;
	guarded = guard(o);
	if (o != NULL)
		*err = o->err;
	else
		memset(err, 0, sizeof *err);
	unguard(o, guarded);
}

em_status emi_enter_slowly(emi_object *o)
{
	uint32_t *state = &o->turn->state;
	const uint32_t now = __atomic_load_n(state, __ATOMIC_RELAXED);

	if ((now & EMI_OBJECT_SHARED) != 0)
		return EM_OK;
	if ((now & EMI_OBJECT_CHECKED) == 0)
		return EM_ERR_BUSY;
	return (__atomic_fetch_or(state, EMI_OBJECT_BUSY, __ATOMIC_ACQUIRE) & EMI_OBJECT_BUSY) != 0 ? EM_ERR_BUSY
												    : EM_OK;
}

/* Tell lines of the log.  The object is busy, so that it is there still when the caller's function closes it; one of
 * many threads never is. */
static void tell(const emi_object *o)
{
	if (!is_shared(o))
		emi_log_tell(o->ctx);
}

/* A busy object has its detail for the call in progress. */
em_status emi_enter(void *object, em_errinfo *err)
{
	emi_object *o = object;
	em_status st;

	if (o == NULL)
		return EM_ERR_INVAL;
	err->status = EM_OK;
	if (emi_object_check(o, err) != EM_OK)
		return emi_keep(o, err->status, err);
	st = emi_enter_quickly(o);
	if (st == EM_OK)
		tell(o);
	return st;
}

em_status emi_enter_back(void *object, em_errinfo *err)
{
	emi_object *o = object;

	if (o == NULL || emi_ctx_forked(o->ctx))
		return emi_enter(o, err);
	err->status = EM_OK;
	return emi_enter_quickly(o);
}

em_status emi_leave(void *object, em_status status, const em_errinfo *err)
{
	if (status < EM_OK)
		(void)emi_keep(object, status, err);
	tell(object);
	emi_leave_quickly(object);
	return status;
}

void emi_leave_slowly(emi_object *o)
{
	emi_object *turn = o->turn;

	if ((__atomic_load_n(&turn->state, __ATOMIC_RELAXED) & EMI_OBJECT_SHARED) == 0 &&
	    (__atomic_fetch_and(&turn->state, ~EMI_OBJECT_BUSY, __ATOMIC_ACQ_REL) & EMI_OBJECT_CLOSING) != 0)
		release_closing(turn);
}

em_status emi_keep(emi_object *o, em_status status, const em_errinfo *err)
{
	const int guarded = guard(o);

	(void)emi_tell(&o->err, status, err);
	unguard(o, guarded);
	return status;
}
