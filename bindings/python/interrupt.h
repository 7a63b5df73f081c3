/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Ctrl-C in a call that does not come back to Python by itself.
 *
 * Sorts have a function of progress, which looks for signals (emb_progress).  Other long calls have none: so while the
 * main thread, which alone is told of signals, is in one of these, a handler of ours stands before that of Python.  It
 * cancels what the call works on, which is one store, and calls the handler that was there.  When the call returns,
 * Python does what it does with the signal, and what that raises takes the place of the failure.
 *
 * Where nobody handles SIGINT, or it is ignored, nothing stands anywhere.
 */
#ifndef EMB_INTERRUPT_H
#define EMB_INTERRUPT_H

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include "objects.h"

/** A call of the main thread. */
struct emb_wait {
	struct sigaction before;
	struct emb_wait *outer;      /**< That it was made within, or NULL. */
	const struct emb_kind *kind; /**< Of what to cancel; NULL: nothing stands before Python's handler. */
	void *object;
};

static struct emb_wait *volatile emb_waiting; /* The innermost; of the main thread, which its handlers interrupt. */
static volatile sig_atomic_t emb_signaled;

static void emb_on_signal(int number, siginfo_t *info, void *machine)
{
	struct emb_wait *w = emb_waiting;

	emb_signaled = 1;
	if (!w || !w->kind)
		return;
	w->kind->cancel(w->object);
	if (w->before.sa_flags & SA_SIGINFO)
		w->before.sa_sigaction(number, info, machine);
	else
		w->before.sa_handler(number);
}

/** Is this the thread that is told of signals?  Those that threads were made for are not. */
static int emb_is_main(void)
{
	static __thread int known;

	if (!known) {
		PyObject *threading = PyImport_ImportModule("threading");
		PyObject *main = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
		PyObject *ident = main ? PyObject_GetAttrString(main, "ident") : NULL;

		known = ident && PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident() ? 1 : -1;
		PyErr_Clear();
		Py_XDECREF(ident);
		Py_XDECREF(main);
		Py_XDECREF(threading);
	}
	return known > 0;
}

/** Before the call, with the interpreter's lock.  What is watched by a function of progress needs no more. */
static void emb_wait_begin(struct emb_wait *w)
{
	struct sigaction mine;
	emb_handle *h = emb_call.kind ? emb_first : NULL;
	size_t i = 0;

	w->kind = NULL;
	while (h && !h->kind->cancel && i < emb_first->n_on)
		h = emb_first->on[i++];
	if (!h || !h->object || !h->kind->cancel || h->kind->shared || h->kind->watched || !emb_is_main())
		return;
	if (sigaction(SIGINT, NULL, &w->before) || (!(w->before.sa_flags & SA_SIGINFO) &&
	    (w->before.sa_handler == SIG_DFL || w->before.sa_handler == SIG_IGN)))
		return;
	w->object = h->object;
	w->kind = h->kind;
	w->outer = emb_waiting;
	emb_waiting = w;
	mine = w->before;
	mine.sa_sigaction = emb_on_signal;
	mine.sa_flags |= SA_SIGINFO;
	if (sigaction(SIGINT, &mine, NULL)) {
		emb_waiting = w->outer;
		w->kind = NULL;
	}
}

/** After it, with the lock. */
static void emb_wait_end(struct emb_wait *w)
{
	struct sigaction now;

	if (!w->kind)
		return;
	/* A function of the caller's may have chosen another one meanwhile. */
	if (!sigaction(SIGINT, NULL, &now) && now.sa_flags & SA_SIGINFO && now.sa_sigaction == emb_on_signal)
		sigaction(SIGINT, &w->before, NULL);
	emb_waiting = w->outer;
	if (!emb_signaled)
		return;
	emb_signaled = 0;
	if (PyErr_CheckSignals())
		emb_keep_raised();
}

#endif
