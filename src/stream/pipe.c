/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pipe.c -- read() and write() with everything that may come back from them.
 *
 * A write to a pipe without a reader raises SIGPIPE, which kills by default.  A library may neither change
 * the disposition of a signal, which belongs to the process, nor die from it; so the signal is blocked in the
 * calling thread around the write, and if the write raised one it is taken back from the queue before the mask is
 * restored.  SIGPIPE is sent to the thread that wrote, so no other thread can be hit meanwhile.  One that was pending
 * before is not ours and is left alone.
 *
 * Descriptors may be non-blocking, our own and those that we were given (a terminal shared with another program):
 * EAGAIN means poll().  A FIFO that was opened without waiting for a writer is at its end only when one came and went.
 * Until then read() returns 0, too, but poll() knows: so it is asked before each read.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "stream/pipe.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"

/* The kernel moves no more at a time, and 32-bit systems have a small ssize_t. */
#define MOST ((size_t)1 << 30)
/* Seconds between calls of a ticker: twice as often as promised. */
#define TICK 0.1

void emi_ticker_init(emi_ticker *t, em_status (*fn)(void *arg), void *arg)
{
	t->fn = fn;
	t->arg = arg;
	t->last = emi_now();
	t->status = EM_OK;
}

em_status emi_ticker_run(emi_ticker *t)
{
	double now;

	if (t == NULL || t->fn == NULL)
		return EM_OK;
	if (t->status != EM_OK)
		return t->status;
	now = emi_now();
	if (now - t->last >= TICK) {
		t->last = now;
		t->status = t->fn(t->arg);
	}
	return t->status;
}

/* Wait until something can be moved, or for a tick's time. */
static void wait_ready(int fd, short events)
{
	struct pollfd pfd;

	pfd.fd = fd;
	pfd.events = events;
	pfd.revents = 0;
	/* Whatever poll() says, the transfer that follows says it better. */
	(void)poll(&pfd, 1, (int)(TICK * 1000));
}

/* Wait until there is something to read, or its end; or for a tick's time, if somebody wants to be called. */
static int readable(int fd, int watched)
{
	struct pollfd pfd;

	pfd.fd = fd;
	pfd.events = POLLIN;
	pfd.revents = 0;
	return poll(&pfd, 1, watched ? (int)(TICK * 1000) : -1) > 0;
}

static void count(emi_pipe *p, int is_write, size_t bytes, double since)
{
	uint64_t ns;

	if (p->stats == NULL)
		return;
	ns = (uint64_t)((emi_now() - since) * 1e9);
	__atomic_fetch_add(is_write ? &p->stats->bytes_written : &p->stats->bytes_read, bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(is_write ? &p->stats->ios_written : &p->stats->ios_read, 1u, __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->stats->wait_ns, ns, __ATOMIC_RELAXED);
}

em_status emi_pipe_read(emi_pipe *p, void *buf, size_t bytes, size_t *done, emi_ticker *ticker, em_errinfo *err)
{
	const double since = emi_now();
	const int watched = ticker != NULL && ticker->fn != NULL;
	em_status st = EM_OK;

	*done = 0;
	while (*done < bytes) {
		size_t want = bytes - *done;
		ssize_t got;

		if ((st = emi_ticker_run(ticker)) != EM_OK)
			break;
		if (!readable(p->fd, watched))
			continue;
		got = read(p->fd, (char *)buf + *done, want < MOST ? want : MOST);
		if (got == 0) {
			p->ended = 1;
			break;
		}
		if (got > 0) {
			*done += (size_t)got;
			p->pos += (size_t)got;
			if (p->prompt)
				break;
			continue;
		}
		if (errno == EAGAIN) {
			wait_ready(p->fd, POLLIN);
		} else if (errno != EINTR) {
			st = emi_fail_io(err, EM_OK, errno, "read", p->name, p->pos, want);
			break;
		}
	}
	count(p, 0, *done, since);
	return st;
}

/* Write with SIGPIPE blocked; 0 or an errno. */
static int write_all(emi_pipe *p, const char *buf, size_t bytes)
{
	while (bytes > 0) {
		ssize_t put = write(p->fd, buf, bytes < MOST ? bytes : MOST);

		if (put > 0) {
			buf += put;
			bytes -= (size_t)put;
			p->pos += (size_t)put;
		} else if (put == 0) {
			/* It takes nothing and says nothing: it might do so for ever. */
			return EIO;
		} else if (errno == EAGAIN) {
			if (emi_ctx_canceled(p->ctx))
				return ECANCELED;
			wait_ready(p->fd, POLLOUT);
		} else if (errno != EINTR) {
			return errno;
		}
	}
	return 0;
}

em_status emi_pipe_write(emi_pipe *p, const void *buf, size_t bytes, em_errinfo *err)
{
	const double since = emi_now();
	const uint64_t begin = p->pos;
	sigset_t pipe_set, old, pending;
	int failed, was_pending;

	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	sigemptyset(&pending);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
	failed = write_all(p, buf, bytes);
	if (failed == EPIPE && !was_pending) {
		const struct timespec now = { 0, 0 };

		while (sigtimedwait(&pipe_set, NULL, &now) < 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);

	count(p, 1, (size_t)(p->pos - begin), since);
	if (failed == 0)
		return EM_OK;
	if (failed == ECANCELED)
		return emi_ctx_check(p->ctx, err);
	return emi_fail_io(err, failed == EPIPE ? EM_ERR_PIPE : EM_OK, failed, "write", p->name, p->pos,
			   bytes - (p->pos - begin));
}
