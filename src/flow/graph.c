/* SPDX-License-Identifier: BSL-1.0 */
/* graph.c -- see graph.h. */
#include "flow/graph.h"

#include "base/context.h"
#include "base/structs.h"

#define INTERVAL 0.1            /* seconds between two calls of the function of progress */

static em_stream *above(const em_stream *s)
{
	return s->owner != NULL ? s->owner : s->above;
}

static const em_stream *top_of(const em_stream *s)
{
	while (above(s) != NULL)
		s = above(s);
	return s;
}

/* The stem of a tee is one of what is below the output that has to do with it. */
static uint32_t below_n(const em_stream *s)
{
	return s->inputs + (s->stem != NULL && s->stem->above == s);
}

static const em_stream *below(const em_stream *s, uint32_t i)
{
	return i < s->inputs ? s->input[i] : s->stem;
}

static void add(emi_graph_phase *to, const emi_graph_phase *p)
{
	to->claims = p->claims > UINT64_MAX - to->claims ? UINT64_MAX : to->claims + p->claims;
	to->sorts += p->sorts;
}

static void widen(emi_graph_phase *to, const emi_graph_phase *p)
{
	to->claims = p->claims > to->claims ? p->claims : to->claims;
	to->sorts = p->sorts > to->sorts ? p->sorts : to->sorts;
}

static emi_graph_phase lending(const em_stream *s);

/* What lives below a node while that is pulled: all inputs, or one after the other. */
static emi_graph_phase feeding(const em_stream *s)
{
	emi_graph_phase all = { 0, 0 };
	uint32_t i;

	for (i = 0; i < below_n(s); i++) {
		const emi_graph_phase one = lending(below(s, i));

		if (s->in_turn)
			widen(&all, &one);
		else
			add(&all, &one);
	}
	return all;
}

/* What lives while a node lends records: itself, and what is below it down to the sorts that merge. */
static emi_graph_phase lending(const em_stream *s)
{
	emi_graph_phase all = { s->claim, s->sorts && !s->named };

	if (!s->sorts) {
		const emi_graph_phase fed = feeding(s);

		add(&all, &fed);
	}
	return all;
}

/* The phase in which a sort forms its runs. */
static emi_graph_phase forming(const em_stream *sort)
{
	emi_graph_phase all = { sort->claim, !sort->named };
	const emi_graph_phase fed = feeding(sort);

	add(&all, &fed);
	return all;
}

/* The phase in which its runs are merged: the next sort above forms its own, or the last node is pulled. */
static emi_graph_phase merging(const em_stream *sort)
{
	const em_stream *s = sort;

	while (above(s) != NULL) {
		s = above(s);
		if (s->sorts)
			return forming(s);
	}
	return lending(s);
}

/* What the graph may have: what was left when that was asked for first. */
static uint64_t budget(const em_stream *s)
{
	em_stream *top = (em_stream *)(uintptr_t)top_of(s);
	uint64_t bytes = __atomic_load_n(&top->budget, __ATOMIC_RELAXED);

	if (bytes == 0) {
		const uint64_t memory = em_ctx_memory(s->object.ctx), used = em_ctx_memory_used(s->object.ctx);

		bytes = used < memory ? memory - used : 1;
		__atomic_store_n(&top->budget, bytes, __ATOMIC_RELAXED);
	}
	return bytes;
}

static uint64_t divide(uint64_t bytes, const emi_graph_phase *p)
{
	return p->sorts != 0 && bytes > p->claims ? (bytes - p->claims) / p->sorts : 0;
}

uint64_t emi_graph_share(em_stream *sort, uint64_t *later)
{
	emi_graph_phase most = forming(sort), other = merging(sort);
	uint64_t share;

	widen(&most, &other);
	*later = 0;
	if (most.sorts > 1) {
		/* Where claims leave nothing the sort says how much it needs. */
		share = divide(budget(sort), &most);
		return share != 0 ? share : 1;
	}
	*later = most.claims;
	return 0;
}

/* What is below a stage with a thread of its own is not to be asked how far it got. */
static int is_apart(const em_stream *s)
{
	return s->apart && s->begun;
}

/* All phases of what is below a node, and at the end itself. */
static void look(const em_stream *s, int apart, em_stream_graph_info *g, emi_graph_phase *most)
{
	uint32_t i;

	for (i = 0; i < below_n(s); i++)
		look(below(s, i), apart || is_apart(s), g, most);
	if (s->sorts) {
		const emi_graph_phase p = forming(s);

		widen(most, &p);
		g->phases++;
		g->phase += !apart && s->formed;
	}
}

/* What is being read to its end: by a sort, or else by whoever pulls the last node. */
static const em_stream *read_now(const em_stream *s)
{
	uint32_t i;

	for (i = 0; i < below_n(s) && !is_apart(s); i++) {
		const em_stream *deeper = read_now(below(s, i));

		if (deeper != NULL)
			return deeper;
	}
	return s->sorts && s->begun && !s->formed ? s->input[0] : NULL;
}

static void fill(const em_stream *s, em_stream_graph_info *g)
{
	const em_stream *top = top_of(s), *now = read_now(top);
	emi_graph_phase most = lending(top);
	const uint64_t memory = em_ctx_memory(s->object.ctx), used = em_ctx_memory_used(s->object.ctx);
	uint64_t left, may = __atomic_load_n(&top->budget, __ATOMIC_RELAXED);

	g->phase = g->phases = 1;
	look(top, 0, g, &most);
	g->sorts = most.sorts;
	g->claimed = most.claims;
	if (may == 0)
		may = used < memory ? memory - used : 0;
	g->share = divide(may, &most);
	now = now != NULL ? now : top;
	left = now->retired ? 0 : emi_stream_left(now);
	g->done = now->lent;
	g->total = left == EM_STREAM_UNKNOWN ? left : g->done + left;
}

/* Who is listening: the first one from s upwards.  What is below a stage with a thread of its own is not pulled by the
 * thread that would be told. */
static em_stream *listener(const em_stream *s)
{
	for (; s != NULL && s->progress.fn == NULL; s = above(s))
		if (above(s) != NULL && above(s)->apart)
			return NULL;
	return (em_stream *)(uintptr_t)s;
}

int emi_graph_listens(const em_stream *s)
{
	return listener(s) != NULL;
}

em_status emi_graph_tick(em_stream *s, em_errinfo *err)
{
	em_stream *to = listener(s);
	em_stream_graph_info g = EM_STREAM_GRAPH_INFO_INIT;
	double now;

	if (to == NULL)
		return EM_OK;
	now = emi_now();
	if (now - to->progress.last < INTERVAL)
		return EM_OK;
	to->progress.last = now;
	fill(to, &g);
	if (to->progress.fn(to->progress.user.user, g.phase, g.done, g.total == EM_STREAM_UNKNOWN ? 0 : g.total) == 0)
		return EM_OK;
	return emi_fail(err, EM_ERR_CANCELED, "canceled");
}

static int tick_of_sort(void *watcher, uint32_t phase, uint64_t done, uint64_t total)
{
	const emi_graph_watcher *w = watcher;
	em_errinfo err;

	if (w->fn != NULL && w->fn(w->user, phase, done, total) != 0)
		return 1;
	return emi_graph_tick(w->s, &err) != EM_OK;
}

void emi_graph_watch(em_stream *s, em_sort_opts *opts, emi_graph_watcher *w)
{
	if (!emi_graph_listens(s))
		return;
	w->s = s;
	w->fn = opts->progress;
	w->user = opts->progress_user;
	opts->progress = tick_of_sort;
	opts->progress_user = w;
}

static em_status set_progress(em_stream *s, em_progress_fn fn, const emi_user *user, em_errinfo *err)
{
	if (s->owner != NULL)
		return emi_fail(err, EM_ERR_STATE, "the stream is an input of a node");
	if (s->begun)
		return emi_fail(err, EM_ERR_STATE, "the stream was pulled already");
	emi_user_free(&s->progress.user);
	s->progress.fn = fn;
	s->progress.user = *user;
	s->progress.last = emi_now();
	return EM_OK;
}

em_status em_stream_progress(em_stream *s, em_progress_fn fn, void *user, void (*user_free)(void *user))
{
	const emi_user u = { user, user_free };
	em_errinfo err;
	em_status st = emi_enter(s, &err);

	if (st == EM_OK)
		st = emi_leave(s, set_progress(s, fn, &u, &err), &err);
	if (st != EM_OK)
		emi_user_free(&u);
	return st;
}

em_status em_stream_graph_info_get(const em_stream *s, em_stream_graph_info *info)
{
	em_stream_graph_info g = EM_STREAM_GRAPH_INFO_INIT;
	const em_status st = s != NULL ? EMI_STRUCT_CHECK(em_stream_graph_info, info, NULL) : EM_ERR_INVAL;

	if (st != EM_OK)
		return st;
	fill(s, &g);
	return EMI_STRUCT_GIVE(em_stream_graph_info, info, &g);
}
