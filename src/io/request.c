/* SPDX-License-Identifier: BSL-1.0 */
/*
 * request.c -- one transfer: making it whole, waiting for it, counting it.
 *
 * A backend may move less than it was asked to, be interrupted, or have no resources for the moment; a
 * request hides all three.  The rest of a short transfer is made with the backend's blocking functions, by whatever
 * thread noticed: short transfers are so rare that nothing faster is worth its code.
 *
 * A direct transfer can be continued only where a page begins.  When one ends elsewhere, a read is at
 * the end of the file or, like a write, is repeated from the beginning of that page.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/queue.h"

/* Attempts in a row that may move nothing. */
enum { PATIENCE = 1000 };

static int over(emi_request *rq, em_status status, int sys_errno)
{
	rq->status = status;
	rq->sys_errno = sys_errno;
	return 1;
}

static int failed(emi_request *rq, int sys_errno)
{
	return over(rq, emi_status_of_errno(sys_errno), sys_errno);
}

static void nap(void)
{
	struct timespec t = {0, 1000000};

	(void)nanosleep(&t, NULL);
}

/* A direct transfer stopped within a page: 1 when it is the file's last. */
static int at_end(const em_file *f, const emi_request *rq)
{
	uint64_t size = 0;

	return rq->kind == EMI_READ && f->be->get_size(f->handle, &size) == 0 && rq->offset + rq->done >= size;
}

/* Account for what one attempt moved; 1 when the transfer is over. */
static int advance(const em_file *f, emi_request *rq, int64_t result, unsigned *idle)
{
	size_t before = rq->done;

	if (result < 0 && result != -EINTR && result != -EAGAIN)
		return failed(rq, result < -INT32_MAX ? EIO : (int)-result);
	if (result == 0 && rq->kind == EMI_READ)
		return over(rq, EM_OK, 0);
	if (result > 0) {
		if ((uint64_t)result > rq->bytes - rq->done)
			return failed(rq, EIO);
		rq->done += (size_t)result;
		if (rq->done == rq->bytes || (f->direct && rq->done % EMI_PAGE != 0 && at_end(f, rq)))
			return over(rq, EM_OK, 0);
		if (f->direct)
			rq->done -= rq->done % EMI_PAGE;
	}
	if (rq->done > before) {
		*idle = 0;
		return 0;
	}
	if (++*idle >= PATIENCE)
		return failed(rq, result < 0 ? (int)-result : EIO);
	if (result == -EAGAIN)
		nap();
	return 0;
}

static void go_on(const em_file *f, emi_request *rq, unsigned idle)
{
	int64_t r;

	do {
		char *at = (char *)rq->buf + rq->done;
		size_t rest = rq->bytes - rq->done;
		uint64_t offset = rq->offset + rq->done;

		r = rq->kind == EMI_WRITE ? f->be->write(f->handle, at, rest, offset)
					  : f->be->read(f->handle, at, rest, offset);
	} while (!advance(f, rq, r, &idle));
}

/* Give one extent after the other back. */
static void discard(const em_file *f, emi_request *rq)
{
	const emi_extent *list = rq->buf;
	size_t n = rq->bytes / sizeof *list;
	int e = 0, tries = 0;

	while (rq->done < n && e == 0) {
		e = f->be->discard(f->handle, list[rq->done].offset, list[rq->done].bytes);
		if (e == 0)
			rq->done++;
		else if (e == EINTR && ++tries < PATIENCE)
			e = 0;
	}
	(void)(e == 0 ? over(rq, EM_OK, 0) : failed(rq, e));
}

/* Direct transfers are of whole pages. */
static int is_aligned(const emi_request *rq)
{
	return (((uintptr_t)rq->buf | rq->bytes | rq->offset) & (EMI_PAGE - 1)) == 0;
}

int emi_request_is_chore(const emi_request *rq)
{
	return rq->kind == EMI_DISCARD || (rq->file->direct && !is_aligned(rq));
}

static void transfer(em_file *f, emi_request *rq)
{
	if (rq->kind == EMI_WRITE && f->in_memory)
		emi_huge_make(&f->huge, emi_file_fd(f), rq->offset, rq->bytes);
	go_on(f, rq, 0);
}

/* It is over: before anybody hears of it, whoever knows what it was for has a say. */
static void judge(emi_request *rq)
{
	if (rq->calls.judge)
		rq->calls.judge(rq, rq->calls.judge_arg);
}

/* Of one that nobody waits for it is done at once. */
static void judge_now(emi_request *rq)
{
	if (rq->calls.drop)
		judge(rq);
}

void emi_request_run(emi_request *rq)
{
	em_file *f = rq->file;

	if (rq->kind == EMI_DISCARD)
		discard(f, rq);
	else if (f->direct && !is_aligned(rq))
		emi_request_run_unaligned(rq);
	else
		transfer(f, rq);
	judge_now(rq);
}

void emi_request_settle(emi_request *rq, int64_t result)
{
	unsigned idle = 0;

	if (!advance(rq->file, rq, result, &idle))
		go_on(rq->file, rq, idle);
	judge_now(rq);
}

/* The bytes of the file that nobody may touch meanwhile.  A write that is not aligned reads and writes whole pages, and
 * may cut off what it wrote behind the end. */
static void take_range(emi_request *rq)
{
	emi_range *r = &rq->range;

	r->begin = rq->offset;
	r->end = rq->offset + rq->bytes;
	r->write = rq->kind == EMI_WRITE;
	if (r->write && emi_request_is_chore(rq)) {
		r->begin -= r->begin % EMI_PAGE;
		r->end = UINT64_MAX;
	}
}

/* Fill rq in; 1 when there is something to do, else it is done. */
static int prepare(em_file *f, emi_request *rq, emi_request_kind kind, const void *buf, size_t bytes)
{
	/* One field serves all kinds; only a read stores through it. */
	union {
		const void *from;
		void *any;
	} u;

	u.from = buf;
	rq->file = f;
	rq->kind = kind;
	rq->buf = u.any;
	rq->bytes = bytes;
	rq->done = 0;
	rq->sys_errno = 0;
	rq->why = NULL;
	rq->next = rq->waiting = rq->blocker = NULL;
	rq->watched = rq->awaited = 0;
	if (rq->bytes == 0)
		over(rq, EM_OK, 0);
	else if (rq->offset > INT64_MAX || rq->bytes > (uint64_t)INT64_MAX - rq->offset)
		over(rq, EM_ERR_RANGE, EFBIG);
	else if (emi_ctx_forked(f->object.ctx))
		over(rq, EM_ERR_FORK, 0);
	else {
		__atomic_store_n(&rq->state, EMI_QUEUED, __ATOMIC_RELAXED);
		take_range(rq);
		return 1;
	}
	__atomic_store_n(&rq->state, EMI_DONE, __ATOMIC_RELEASE);
	return 0;
}

void emi_submit(em_file *f, emi_request *rq, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset,
		const emi_request_calls *calls)
{
	rq->offset = offset;
	rq->calls = *calls;
	if (prepare(f, rq, kind, buf, bytes)) {
		emi_queue_submit(rq);
	} else {
		if (rq->calls.fn)
			rq->calls.fn(rq, rq->calls.user);
		if (rq->calls.drop)
			rq->calls.drop(rq, rq->calls.user);
	}
}

static void submit_plain(em_file *f, emi_request *rq, emi_request_kind kind, const void *buf, size_t bytes,
			 uint64_t offset, emi_io_stats *stats)
{
	const emi_request_calls calls = { NULL, NULL, NULL, NULL, NULL, stats };

	emi_submit(f, rq, kind, buf, bytes, offset, &calls);
}

/* By the calling thread, unless something overlaps it. */
static void run_now(em_file *f, emi_request *rq, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset,
		    const emi_request_calls *calls)
{
	rq->offset = offset;
	rq->calls = *calls;
	if (prepare(f, rq, kind, buf, bytes) && !emi_queue_run_now(rq))
		emi_queue_submit(rq);
}

void emi_read(em_file *f, emi_request *rq, void *buf, size_t bytes, uint64_t offset, emi_io_stats *stats)
{
	submit_plain(f, rq, EMI_READ, buf, bytes, offset, stats);
}

void emi_write(em_file *f, emi_request *rq, const void *buf, size_t bytes, uint64_t offset, emi_io_stats *stats)
{
	submit_plain(f, rq, EMI_WRITE, buf, bytes, offset, stats);
}

void emi_read_now(em_file *f, emi_request *rq, void *buf, size_t bytes, uint64_t offset, emi_io_stats *stats)
{
	const emi_request_calls calls = { NULL, NULL, NULL, NULL, NULL, stats };

	if (emi_ctx_canceled(f->object.ctx))
		emi_read(f, rq, buf, bytes, offset, stats);
	else
		run_now(f, rq, EMI_READ, buf, bytes, offset, &calls);
}

void emi_refuse(em_file *f, emi_request *rq, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset,
		em_status status, const char *why)
{
	/* Of no bytes it never begins. */
	submit_plain(f, rq, kind, buf, 0, offset, NULL);
	rq->bytes = bytes;
	rq->why = why;
	(void)over(rq, status, 0);
}

void emi_discard(em_file *f, emi_request *rq, const emi_extent *list, size_t n)
{
	submit_plain(f, rq, EMI_DISCARD, list, n * sizeof *list, 0, NULL);
}

void emi_discard_later(em_file *f, emi_request *rq, const emi_extent *list, size_t n)
{
	rq->offset = 0;
	memset(&rq->calls, 0, sizeof rq->calls);
	if (prepare(f, rq, EMI_DISCARD, list, n * sizeof *list))
		emi_queue_list(rq);
}

em_status emi_transfer(em_file *f, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset, size_t *done,
		       em_errinfo *err)
{
	const emi_request_calls calls = { NULL, NULL, NULL, NULL, NULL, NULL };
	emi_request rq;
	em_status status;

	run_now(f, &rq, kind, buf, bytes, offset, &calls);
	status = emi_wait(&rq, err);
	if (done)
		*done = rq.done;
	return status;
}

int emi_cancel(emi_request *rq)
{
	if (__atomic_load_n(&rq->state, __ATOMIC_ACQUIRE) != EMI_QUEUED || emi_ctx_forked(rq->file->object.ctx))
		return 0;
	return emi_queue_cancel(rq);
}

static int settled(const emi_request *rq)
{
	return __atomic_load_n(&rq->state, __ATOMIC_ACQUIRE) != EMI_QUEUED;
}

void emi_request_fail(const emi_request *rq, em_errinfo *err)
{
	const em_file *f = rq->file;
	const char *op = rq->kind == EMI_WRITE ? "write" : "read";

	if (rq->kind == EMI_DISCARD)
		emi_fail_on(err, rq->status, rq->sys_errno, NULL, "discard", f->noun, f->path, EMI_NO_OFFSET, 0);
	else
		emi_fail_on(err, rq->status, rq->sys_errno, rq->why, op, f->noun, f->path,
			    rq->offset + (rq->why ? 0 : rq->done), rq->bytes);
}

static em_status await(emi_request *rq, int alone, em_errinfo *err)
{
	/* The file of an idle request may be gone. */
	if (__atomic_load_n(&rq->state, __ATOMIC_RELAXED) == EMI_IDLE)
		return rq->status;
	if (!settled(rq)) {
		/* In a child the threads that would finish it do not exist. */
		if (emi_ctx_forked(rq->file->object.ctx))
			return emi_fail(err, EM_ERR_FORK, "%s: the transfer was started by the parent process",
					rq->file->path);
		if (alone)
			emi_queue_wait_alone(rq);
		else
			emi_queue_wait(rq->file, rq, -1.0);
	}
	if (!rq->calls.drop)
		judge(rq);
	__atomic_store_n(&rq->state, EMI_IDLE, __ATOMIC_RELAXED);
	if (rq->status != EM_OK)
		emi_request_fail(rq, err);
	return rq->status;
}

em_status emi_wait(emi_request *rq, em_errinfo *err)
{
	return await(rq, 0, err);
}

em_status emi_wait_alone(emi_request *rq, em_errinfo *err)
{
	return await(rq, 1, err);
}

int emi_is_over(const emi_request *rq)
{
	return settled(rq) || emi_ctx_forked(rq->file->object.ctx);
}

int emi_done(const emi_request *rq)
{
	if (emi_is_over(rq))
		return 1;
	emi_queue_poll(rq->file->queue);
	return settled(rq);
}

int emi_wait_for(emi_request *rq, double seconds)
{
	if (settled(rq))
		return 1;
	if (emi_ctx_forked(rq->file->object.ctx))
		return 1;
	/* More than any clock will show, and within what one can represent. */
	if (seconds > 1e8)
		seconds = 1e8;
	return emi_queue_wait(rq->file, rq, emi_now() + (seconds > 0 ? seconds : 0));
}
