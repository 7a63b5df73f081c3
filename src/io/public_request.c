/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_request.c -- requests as callers outside know them: on the heap, counted, with a function of theirs.
 *
 * A request has two owners, the caller and the queue, and holds its file. When both are through with it the file keeps
 * it for the next one.
 */
#include <stddef.h>
#include <string.h>

#include <extmem/sys/request.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/queue.h"

enum { SPARES = 64 };

struct em_request {
	emi_request rq;
	em_request_fn fn;
	void *user;
	uint32_t owners;        /* atomic */
	int over;               /* its end is known; atomic */
	em_request *next;       /* of the file's spare ones */
};

static em_request *from(emi_request *rq)
{
	return (em_request *)(void *)((char *)rq - offsetof(em_request, rq));
}

static em_request *take_spare(em_file *f)
{
	em_request *r;

	pthread_mutex_lock(&f->object.ctx->io_lock);
	r = f->spare;
	if (r) {
		f->spare = r->next;
		f->spares--;
	}
	pthread_mutex_unlock(&f->object.ctx->io_lock);
	return r;
}

static int keep_spare(em_file *f, em_request *r)
{
	int kept;

	pthread_mutex_lock(&f->object.ctx->io_lock);
	kept = f->spares < SPARES;
	if (kept) {
		r->next = f->spare;
		f->spare = r;
		f->spares++;
	}
	pthread_mutex_unlock(&f->object.ctx->io_lock);
	return kept;
}

void emi_file_free_spares(em_file *f)
{
	em_request *r;

	while ((r = f->spare) != NULL) {
		f->spare = r->next;
		emi_free(f->object.ctx, r, sizeof *r);
	}
}

static void disown(em_request *r)
{
	em_file *f = r->rq.file;

	if (__atomic_sub_fetch(&r->owners, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	if (emi_ctx_forked(f->object.ctx) || !keep_spare(f, r))
		emi_free(f->object.ctx, r, sizeof *r);
	emi_file_drop(f);
}

static void ended(emi_request *rq, void *user)
{
	em_request *r = from(rq);

	(void)user;
	__atomic_store_n(&r->over, 1, __ATOMIC_RELEASE);
	if (r->fn)
		r->fn(r, r->user);
}

static void dropped(emi_request *rq, void *user)
{
	(void)user;
	disown(from(rq));
}

em_status emi_submit_public(em_file *f, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset,
			    const emi_request_calls *calls, em_request_fn fn, void *user, em_request **out,
			    em_errinfo *err)
{
	emi_request_calls all = *calls;
	em_request *r = take_spare(f);

	if (!r)
		r = emi_alloc(f->object.ctx, sizeof *r, err);
	if (!r)
		return err->status;
	emi_file_hold(f);
	r->fn = fn;
	r->user = user;
	r->over = 0;
	r->owners = out ? 2 : 1;
	if (out)
		*out = r;
	all.fn = fn ? ended : NULL;
	all.drop = dropped;
	emi_submit(f, &r->rq, kind, buf, bytes, offset, &all);
	return EM_OK;
}

static const emi_request_calls no_calls = { NULL, NULL, NULL, NULL, NULL, NULL };

static em_status start(em_file *f, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset,
		       em_request_fn fn, void *user, em_request **out)
{
	em_errinfo err;
	em_status status = emi_enter(f, &err);

	if (out)
		*out = NULL;
	if (status != EM_OK)
		return status;
	if (bytes > 0)
		status = emi_given(buf, "buf", &err);
	if (status == EM_OK)
		status = emi_submit_public(f, kind, buf, bytes, offset, &no_calls, fn, user, out, &err);
	return emi_leave(f, status, &err);
}

em_status em_file_read_async(em_file *f, void *buf, size_t bytes, uint64_t offset, em_request_fn fn, void *user,
			     em_request **out)
{
	return start(f, EMI_READ, buf, bytes, offset, fn, user, out);
}

em_status em_file_write_async(em_file *f, const void *buf, size_t bytes, uint64_t offset, em_request_fn fn, void *user,
			      em_request **out)
{
	return start(f, EMI_WRITE, buf, bytes, offset, fn, user, out);
}

static int is_over(const em_request *r)
{
	return __atomic_load_n(&r->over, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&r->rq.state, __ATOMIC_ACQUIRE) != EMI_QUEUED;
}

em_status em_request_wait(em_request *r)
{
	em_errinfo err;

	if (!r)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	return emi_wait(&r->rq, &err);
}

int em_request_wait_for(em_request *r, double seconds)
{
	return !r || emi_wait_for(&r->rq, seconds);
}

int em_request_poll(em_request *r)
{
	return !r || emi_done(&r->rq);
}

em_status em_request_wait_all(em_request *const *list, uint32_t n)
{
	em_status status = list || n == 0 ? EM_OK : EM_ERR_INVAL;
	uint32_t i;

	for (i = 0; list && i < n; i++) {
		em_status one = em_request_wait(list[i]);

		if (status == EM_OK)
			status = one;
	}
	return status;
}

uint32_t em_request_wait_any(em_request *const *list, uint32_t n, double seconds)
{
	enum { FEW = 64 };
	emi_request *few[FEW], **all = few;
	em_ctx *ctx;
	uint32_t i;

	i = em_request_poll_any(list, n);
	if (!list || i < n || n == 0)
		return i;
	ctx = list[0]->rq.file->object.ctx;
	if (n > FEW) {
		all = emi_alloc_array(ctx, n, sizeof *all, NULL);
		/* Without the memory for it, the first ones are waited for, a moment at a time. */
		if (!all)
			return emi_wait_for(&list[0]->rq, seconds < 0 ? 1e8 : seconds) ? 0 : n;
	}
	for (i = 0; i < n; i++)
		all[i] = &list[i]->rq;
	i = emi_wait_any(all, n, seconds);
	if (all != few)
		emi_free_array(ctx, all, n, sizeof *all);
	return i;
}

uint32_t em_request_poll_any(em_request *const *list, uint32_t n)
{
	uint32_t i;

	for (i = 0; list && i < n; i++)
		if (em_request_poll(list[i]))
			break;
	return list ? i : n;
}

int em_request_cancel(em_request *r)
{
	return r && emi_cancel(&r->rq);
}

em_status em_request_status(const em_request *r)
{
	if (!r)
		return EM_ERR_INVAL;
	return is_over(r) ? r->rq.status : EM_ERR_STATE;
}

size_t em_request_moved(const em_request *r)
{
	return r && is_over(r) ? r->rq.done : 0;
}

void em_request_error(const em_request *r, em_errinfo *err)
{
	if (!err)
		return;
	memset(err, 0, sizeof *err);
	if (r && is_over(r) && r->rq.status != EM_OK)
		emi_request_fail(&r->rq, err);
}

void em_request_close(em_request *r)
{
	if (r)
		disown(r);
}
