/* SPDX-License-Identifier: BSL-1.0 */
/*
 * paths.c -- paths between a tee and a node with several inputs; see paths.h.
 *
 * Streams form trees, as each has one owner; only below a tee paths come together.  A first walk from the inputs down
 * counts for each tee how many of its outputs are reached.  A second one passes a tee when it has come to all of these,
 * so each stream is visited once, whatever the graph.
 *
 * The second walk carries the place that a path comes from: an input of the new node, or the last tee that was reached
 * from two places.  Whatever is below that tee is read in one step, however many paths lead there.  So outputs of a
 * tee are in danger if they are reached from two places, and one of the paths reads to the end first.
 *
 * What is below a stage with a thread of its own that was begun is that thread's, and is not looked at.  What has no
 * more records is passed over.
 */
#include "flow/paths.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "flow/tee.h"

typedef struct walk {
	const emi_stream_kind *kind; /* of the new node */
	em_stream *const *inputs;
	uint32_t n;
	em_errinfo *err;
	em_status st;
} walk;

/* The output of a tee that a stream is, if it is one that still has to do with it. */
static emi_tee_output *output_of(em_stream *s)
{
	emi_tee_output *o = (emi_tee_output *)(void *)s;

	return s->stem != NULL && o->stem != NULL ? o : NULL;
}

static int is_passed_over(const em_stream *s)
{
	return s->retired || ((s->kind->flags & EMI_STREAM_THREAD) != 0 && s->begun);
}

/* The first walk. */
static void count(em_stream *s)
{
	emi_tee_output *o = output_of(s);
	uint32_t i;

	if (is_passed_over(s))
		return;
	if (o != NULL && o->stem->to_come++ == 0)
		count(o->stem->s.input[0]);
	for (i = 0; i < s->inputs; i++)
		count(s->input[i]);
}

/* Names on a path from an output up: at most so many bytes of them. */
static void tell_path(const walk *w, const emi_tee_output *o, char *to, size_t bytes)
{
	const em_stream *s = o->s.owner, *last = &o->s;
	size_t at = 0;
	uint32_t i;

	to[0] = '\0';
	for (; s != NULL && at < bytes; last = s, s = s->owner)
		at += (size_t)snprintf(to + at, bytes - at, "%s%s", at != 0 ? ", " : "", s->kind->name);
	for (i = 0; i < w->n; i++)
		if (w->inputs[i] == last && at < bytes)
			at += (size_t)snprintf(to + at, bytes - at, "%sinput %" PRIu32, at != 0 ? ", " : "", i);
	if (at >= bytes && bytes > 4)
		memcpy(to + bytes - 4, "...", 4);
}

/* Two outputs come together, which they must not. */
static void refuse(walk *w, const emi_tee *t, const emi_tee_output *a, const emi_tee_output *b)
{
	const int threads = ((a->path.flags | b->path.flags) & EMI_STREAM_THREAD) != 0;
	char by_a[48], by_b[48];

	tell_path(w, a, by_a, sizeof by_a);
	tell_path(w, b, by_b, sizeof by_b);
	if (threads)
		w->st = emi_fail(w->err, EM_ERR_INVAL,
				 "a %s of outputs %" PRIu32 " (%s) and %" PRIu32 " (%s) of a tee: two threads would "
				 "use the tee: put the stage with a thread below it",
				 w->kind->name, a->i, by_a, b->i, by_b);
	else
		w->st = emi_fail(w->err, EM_ERR_MEMLIMIT,
				 "a %s of outputs %" PRIu32 " (%s) and %" PRIu32 " (%s) of a tee: one is read to its "
				 "end first, and the tee holds %" PRIu64 " bytes: EM_TEE_SPILL, or more buffer_bytes",
				 w->kind->name, a->i, by_a, b->i, by_b, t->most);
}

/* Can it keep all that an output has not lent? */
static int holds_all(const emi_tee *t, em_stream *s)
{
	return t->most == UINT64_MAX || emi_stream_left_bytes(s) <= t->most;
}

static int is_dangerous(const emi_tee *t, const emi_tee_output *a, emi_tee_output *b)
{
	if (a->path.from == b->path.from)
		return 0;
	if (((a->path.flags | b->path.flags) & EMI_STREAM_THREAD) != 0)
		return 1;
	return (a->path.flags & (EMI_STREAM_BLOCKS | EMI_STREAM_IN_TURN)) != 0 && !holds_all(t, &b->s);
}

/* All outputs of a tee that are reached were: compare them, and find out how what is below is reached. */
static emi_tee_path settle(walk *w, emi_tee *t)
{
	emi_tee_path path = { NULL, 0 };
	uint32_t i, k;

	for (i = 0; i < t->n; i++) {
		emi_tee_output *a = t->output[i];

		if (a == NULL || a->path.from == NULL)
			continue;
		path.from = path.from == NULL || path.from == a->path.from ? a->path.from : t;
		path.flags |= a->path.flags;
		for (k = 0; k < t->n && w->st == EM_OK; k++)
			if (t->output[k] != NULL && t->output[k]->path.from != NULL && is_dangerous(t, a, t->output[k]))
				refuse(w, t, a, t->output[k]);
	}
	for (i = 0; i < t->n; i++)
		if (t->output[i] != NULL)
			t->output[i]->path.from = NULL;
	return path;
}

/* The second walk. */
static void pass(walk *w, em_stream *s, emi_tee_path path)
{
	emi_tee_output *o = output_of(s);
	uint32_t i;

	if (is_passed_over(s))
		return;
	path.flags |= s->kind->flags & (EMI_STREAM_BLOCKS | EMI_STREAM_THREAD);
	if (o != NULL) {
		o->path = path;
		if (--o->stem->to_come == 0) {
			path = settle(w, o->stem);
			pass(w, o->stem->s.input[0], path);
		}
	}
	for (i = 0; i < s->inputs; i++)
		pass(w, s->input[i], path);
}

em_status emi_paths_check(const emi_stream_kind *kind, em_stream *const *inputs, uint32_t n, em_errinfo *err)
{
	walk w = { kind, inputs, n, err, EM_OK };
	uint32_t i;

	for (i = 0; i < n; i++)
		count(inputs[i]);
	for (i = 0; i < n; i++) {
		const emi_tee_path path = { inputs[i], kind->flags & EMI_STREAM_IN_TURN };

		pass(&w, inputs[i], path);
	}
	return w.st;
}
