/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kway.c -- see kway.h.
 *
 * A merge rests, or one of its two ways is under way.  At rest nothing is held back, and the windows alone are what
 * there is to know.  So whatever changes the sources or the bound has the merge rest first, and the next batch begins
 * anew.
 */
#include "sort/kway.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "sort/kway_impl.h"

#define BATCH_BYTES ((size_t)64 << 10)  /* of records that are merged at a time, or so many elements mixed: a cache's */
#define LEAST_MIX 1024u         /* records, with kernels of an order's own, which may be large */
#define WINDOW 256u             /* records that are loaded at a time; ... */
#define MIX_WINDOW 1024u        /* ... for mixing, as windows are to be longer than what is taken of each */
#define MADE 256u               /* elements on their way to records */
#define FEW 2u                  /* elements of each source: fewer are not worth being cut for mixing, ... */
#define A_WHILE 64u             /* ... and a tree gives so many of each before that is tried again */
#define LEAST_ROOM 8u

static size_t within(size_t x, size_t least, size_t most)
{
	return x < least ? least : x > most ? most : x;
}

/* Elements that are mixed at a time. */
static size_t mix_of(const emi_collation *by, size_t batch)
{
	size_t mix = EMI_MIX;

	if (!emi_collation_mixes(by))
		return 0;
	if (by->own != NULL)
		mix = within(BATCH_BYTES / by->codec->elem_bytes, LEAST_MIX, EMI_MIX);
	return batch == 0 || batch >= mix ? mix : 0;
}

/* Options as they are used. */
static emi_kway_opts choose(const emi_collation *by, const emi_kway_opts *opts)
{
	emi_kway_opts o;
	size_t mix;

	memset(&o, 0, sizeof o);
	if (opts != NULL)
		o = *opts;
	mix = mix_of(by, o.batch);
	if (o.batch == 0)
		o.batch = mix != 0 ? mix : within(BATCH_BYTES / by->codec->record_bytes, 1, EMI_MIX);
	if (o.window == 0)
		o.window = mix != 0 ? MIX_WINDOW : WINDOW;
	return o;
}

static size_t out_bytes(const emi_collation *by, const emi_kway_opts *used)
{
	return used->batch * by->codec->record_bytes;
}

static size_t spare_bytes(const emi_collation *by, size_t mix)
{
	if (mix != 0)
		return mix * by->codec->elem_bytes;
	return emi_codec_in_place(by->codec) ? 0 : MADE * by->codec->elem_bytes;
}

em_status emi_kway_open(emi_kway *k, emi_collation *by, const emi_kway_opts *opts, em_errinfo *err)
{
	memset(k, 0, sizeof *k);
	if (by->vary != NULL)
		return emi_fail(err, EM_ERR_NOTSUP, "sorted sources have records of one size");
	k->ctx = emi_order_ctx(by->order);
	k->by = by;
	k->opts = choose(by, opts);
	k->mix = mix_of(by, k->opts.batch);
	k->dry = EMI_NONE;
	return EM_OK;
}

/* Arrays with an entry for each source. */
static void free_arrays(const emi_kway *k)
{
	if (k->room == 0)
		return;
	emi_free_array(k->ctx, k->slot, k->room, sizeof *k->slot);
	emi_free_array(k->ctx, k->win, k->room, sizeof *k->win);
	emi_free_array(k->ctx, k->was, k->room, sizeof *k->was);
	emi_free_array(k->ctx, k->taken, k->room, sizeof *k->taken);
	emi_free(k->ctx, k->tree, emi_merge_tree_bytes(k->room));
}

/* Let nothing be held back, and no merge be under way. */
static void rest(emi_kway *k)
{
	uint32_t i;

	emi_kway_unmix(k);
	for (i = 0; i < k->k; i++)
		k->win[i].end = k->slot[i].stop;
	k->dry = EMI_NONE;
	k->last = NULL;
	k->state = EMI_KWAY_RESTS;
}

/* A source leaves, with what was not lent. */
static void drop(emi_kway *k, uint32_t i)
{
	emi_kway_slot *slot = &k->slot[i];

	slot->source->at = emi_kway_record(k, i);
	emi_free_array(k->ctx, slot->elems, k->opts.window, k->by->codec->elem_bytes);
	k->k--;
	memmove(slot, slot + 1, (k->k - i) * sizeof *slot);
	memmove(&k->win[i], &k->win[i + 1], (k->k - i) * sizeof *k->win);
}

void emi_kway_close(emi_kway *k)
{
	if (k->by == NULL)
		return;
	rest(k);
	while (k->k != 0)
		drop(k, k->k - 1);
	free_arrays(k);
	emi_buffer_free(k->ctx, k->out, out_bytes(k->by, &k->opts));
	emi_buffer_free(k->ctx, k->spare, spare_bytes(k->by, k->mix));
	emi_free(k->ctx, k->bound, k->by->codec->record_bytes);
	memset(k, 0, sizeof *k);
}

uint64_t emi_kway_memory(const emi_collation *by, const emi_kway_opts *opts, uint32_t sources)
{
	const emi_kway_opts used = choose(by, opts);
	const size_t mix = mix_of(by, used.batch);
	const uint64_t room = within(sources, LEAST_ROOM, UINT32_MAX / 2);
	uint64_t bytes = room * (sizeof(emi_kway_slot) + sizeof(emi_window) + sizeof(void *) + sizeof(size_t));

	bytes += emi_merge_tree_bytes((uint32_t)room) + (uint64_t)sources * used.window * by->codec->elem_bytes;
	bytes += (uint64_t)out_bytes(by, &used) + spare_bytes(by, mix) + 2u * EMI_PAGE;
	return bytes + by->codec->record_bytes;
}

em_status emi_kway_reserve(emi_kway *k, uint32_t sources, em_errinfo *err)
{
	emi_kway more = *k;

	if (sources <= k->room)
		return EM_OK;
	rest(k);
	more.room = sources > LEAST_ROOM ? sources : LEAST_ROOM;
	more.win = NULL;
	more.was = NULL;
	more.taken = NULL;
	more.tree = NULL;
	more.slot = emi_alloc_array(k->ctx, more.room, sizeof *more.slot, err);
	if (more.slot != NULL)
		more.win = emi_alloc_array(k->ctx, more.room, sizeof *more.win, err);
	if (more.win != NULL)
		more.was = emi_alloc_array(k->ctx, more.room, sizeof *more.was, err);
	if (more.was != NULL)
		more.taken = emi_alloc_array(k->ctx, more.room, sizeof *more.taken, err);
	if (more.taken != NULL)
		more.tree = emi_alloc(k->ctx, emi_merge_tree_bytes(more.room), err);
	if (more.tree == NULL) {
		free_arrays(&more);
		return err->status;
	}
	if (k->k != 0) {
		memcpy(more.slot, k->slot, k->k * sizeof *k->slot);
		memcpy(more.win, k->win, k->k * sizeof *k->win);
	}
	free_arrays(k);
	k->room = more.room;
	k->slot = more.slot;
	k->win = more.win;
	k->was = more.was;
	k->taken = more.taken;
	k->tree = more.tree;
	return EM_OK;
}

em_status emi_kway_add(emi_kway *k, emi_sorted_source *source, uint64_t rank, em_errinfo *err)
{
	const emi_kway_slot slot = { source, rank, NULL, NULL };
	const emi_window none = { NULL, NULL };
	uint32_t i = k->k;

	if (k->k == k->room && emi_kway_reserve(k, 2 * k->room + 1, err) != EM_OK)
		return err->status;
	rest(k);
	while (i > 0 && k->slot[i - 1].rank > rank)
		i--;
	memmove(&k->slot[i + 1], &k->slot[i], (k->k - i) * sizeof *k->slot);
	memmove(&k->win[i + 1], &k->win[i], (k->k - i) * sizeof *k->win);
	k->slot[i] = slot;
	k->win[i] = none;
	k->k++;
	return EM_OK;
}

void emi_kway_remove(emi_kway *k, emi_sorted_source *source)
{
	uint32_t i;

	for (i = 0; i < k->k && k->slot[i].source != source; i++)
		continue;
	if (i == k->k)
		return;
	rest(k);
	drop(k, i);
}

/* Buffers are there from the first batch on. */
static em_status need_buffers(emi_kway *k, em_errinfo *err)
{
	const size_t spare = spare_bytes(k->by, k->mix);

	if (k->out == NULL)
		k->out = emi_buffer_alloc(k->ctx, out_bytes(k->by, &k->opts), err);
	if (k->out != NULL && k->spare == NULL && spare != 0)
		k->spare = emi_buffer_alloc(k->ctx, spare, err);
	return k->out == NULL || (spare != 0 && k->spare == NULL) ? err->status : EM_OK;
}

/* Where to pause has changed, or has not.  Only a tree has the bound in it. */
static em_status set_bound(emi_kway *k, const emi_kway_stop *stop, em_errinfo *err)
{
	const size_t rb = k->by->codec->record_bytes;

	if (stop->bound == NULL ? !k->bounded
				: k->bounded && k->upto == stop->upto && memcmp(k->bound, stop->bound, rb) == 0)
		return EM_OK;
	if (k->state == EMI_KWAY_TREE)
		rest(k);
	k->bounded = 0;
	if (stop->bound == NULL)
		return EM_OK;
	if (k->bound == NULL)
		k->bound = emi_alloc(k->ctx, rb, err);
	if (k->bound == NULL)
		return err->status;
	memcpy(k->bound, stop->bound, rb);
	k->bounded = 1;
	k->upto = stop->upto;
	k->bound_key = emi_collation_key(k->by, k->bound);
	k->bound_val = emi_collation_val(k->by, k->bound);
	return EM_OK;
}

/* Have something in hand of each source; those that are over leave. */
static em_status load_all(emi_kway *k, em_errinfo *err)
{
	uint32_t i = 0;

	while (i < k->k) {
		em_status st = EM_OK;

		if (emi_kway_left(k, i) != 0)
			emi_kway_renew(k, i);
		else
			st = emi_kway_load(k, i, NULL, err);
		if (st == EM_END)
			drop(k, i);
		else if (st != EM_OK)
			return st;
		else
			i++;
	}
	return k->k != 0 ? EM_OK : EM_END;
}

/* Lend what is ready, or records as they lie in a source. */
static void lend_ready(emi_kway *k, size_t most, const char **records, size_t *n)
{
	*records = k->out + k->ready_at * k->by->codec->record_bytes;
	*n = emi_kway_before_bound(k, *records, most < k->ready ? most : k->ready);
	k->ready_at += *n;
	k->ready -= *n;
}

static void lend_source(emi_kway *k, uint32_t i, size_t most, const char **records, size_t *n)
{
	size_t there;

	*records = emi_kway_record(k, i);
	emi_kway_hold_bound(k, i);
	there = emi_kway_open_left(k, i);
	*n = most < there ? most : there;
	k->win[i].cur = emi_kway_skip(k, k->win[i].cur, *n);
	rest(k);
}

static void start_tree(emi_kway *k)
{
	const emi_tie by_codes = { NULL, &k->by->codes, NULL, 0 };
	const int codes = k->by->codes.n != 0;
	uint32_t i;

	for (i = 0; i < k->k; i++) {
		k->win[i].end = k->slot[i].stop;
		emi_kway_hold_bound(k, i);
	}
	emi_merging_start(&k->merging, k->by, k->k, k->win, k->tree, codes ? &by_codes : &k->by->tie,
			  codes ? emi_codes_recode : NULL);
	k->state = EMI_KWAY_TREE;
	k->tree_for = (size_t)A_WHILE * k->k;
}

/* The tree waits for a window: if that ended at the bound, it stays as it is. */
static em_status load_dry(emi_kway *k, em_errinfo *err)
{
	const uint32_t i = k->dry;
	em_status st;

	k->dry = EMI_NONE;
	if (emi_kway_left(k, i) != 0)
		return EM_OK;
	st = emi_kway_load(k, i, k->last, err);
	if (st == EM_OK)
		emi_kway_hold_bound(k, i);
	return st == EM_END ? EM_OK : st;
}

/* Let the tree give up to `most' records, in `out'. */
static em_status run_tree(emi_kway *k, size_t most, size_t *n, em_errinfo *err)
{
	const emi_codec *codec = k->by->codec;
	const int in_place = emi_codec_in_place(codec);
	em_status st = EM_OK;

	while (*n < most) {
		char *to = k->out + *n * codec->record_bytes;
		size_t some = most - *n < MADE || in_place ? most - *n : MADE;

		if (k->dry != EMI_NONE)
			st = load_dry(k, err);
		if (st != EM_OK && *n == 0)
			return st;
		/* What there is by now is lent first, and the next call tells. */
		if (st != EM_OK) {
			k->late = *err;
			emi_errinfo_clear(err);
			return EM_OK;
		}
		some = emi_merging_run(&k->merging, in_place ? to : k->spare, some, &k->dry);
		if (some == 0 && k->dry == EMI_NONE)
			break;
		/* Before the next window takes the place of one that these may be in. */
		if (!codec->identity)
			emi_collation_store(k->by, in_place ? to : k->spare, some, to);
		*n += some;
		k->last = k->out + (*n - 1) * codec->record_bytes;
	}
	return EM_OK;
}

/* Nothing is under way: begin one way or the other, or lend what only one source has. */
static em_status begin(emi_kway *k, size_t most, const char **records, size_t *n, em_errinfo *err)
{
	uint32_t sources = 1, one = 0;
	size_t cut = 0;
	em_status st = load_all(k, err);

	if (st != EM_OK)
		return st;
	if (k->k > 1 && k->mix != 0)
		cut = emi_kway_cut(k, &sources, &one);
	else
		sources = k->k;
	if (sources == 1) {
		lend_source(k, one, most, records, n);
		return EM_OK;
	}
	if (cut >= (size_t)FEW * k->k && k->k <= (k->by->own != NULL ? k->mix : EMI_MIX_MOST))
		emi_kway_mix_start(k);
	else
		start_tree(k);
	return EM_OK;
}

static em_status step(emi_kway *k, size_t most, const char **records, size_t *n, em_errinfo *err)
{
	em_status st = EM_OK;

	/* Each turn gives something, or ends what was under way. */
	while (k->ready == 0) {
		if (k->state == EMI_KWAY_RESTS) {
			st = begin(k, most, records, n, err);
			if (st != EM_OK || k->state == EMI_KWAY_RESTS)
				return st;
		}
		if (k->state == EMI_KWAY_TREE) {
			const size_t some = most < k->opts.batch ? most : k->opts.batch;

			*records = k->out;
			st = run_tree(k, some, n, err);
			if (st == EM_OK && (*n < some || (k->mix != 0 && *n >= k->tree_for)))
				rest(k);
			k->tree_for -= *n < k->tree_for ? *n : k->tree_for;
			if (st != EM_OK || *n != 0)
				return st;
			/* All that is not held back is over: is there anything else? */
			st = load_all(k, err);
			return st;
		}
		emi_kway_mix_run(k);
		if (k->ready == 0)
			rest(k);
	}
	lend_ready(k, most, records, n);
	return EM_OK;
}

em_status emi_kway_next(emi_kway *k, const emi_kway_stop *stop, const char **records, size_t *n, em_errinfo *err)
{
	const emi_kway_stop nowhere = { 0, NULL, 0 };
	em_status st = emi_ctx_check(k->ctx, err);

	*records = NULL;
	*n = 0;
	if (st == EM_OK && k->late.status != EM_OK) {
		*err = k->late;
		emi_errinfo_clear(&k->late);
		return err->status;
	}
	if (stop == NULL)
		stop = &nowhere;
	if (st == EM_OK && k->opts.tick != NULL && (st = k->opts.tick(k->opts.tick_arg)) != EM_OK)
		st = emi_fail(err, st, "%s", em_status_text(st));
	if (st == EM_OK)
		st = need_buffers(k, err);
	if (st == EM_OK)
		st = set_bound(k, stop, err);
	if (st == EM_OK)
		st = step(k, stop->most != 0 ? stop->most : SIZE_MAX, records, n, err);
	if (st >= EM_OK) {
		const em_status user = emi_collation_check(k->by, err);

		st = user != EM_OK ? user : st;
	}
	if (st != EM_OK)
		*n = 0;
	if (st < EM_OK)
		rest(k);
	return st;
}

static em_status next_window(emi_sorted_source *s, em_errinfo *err)
{
	emi_kway *k = (emi_kway *)(void *)s;
	size_t n;
	const em_status st = emi_kway_next(k, NULL, &s->at, &n, err);

	s->end = n != 0 ? s->at + n * k->by->codec->record_bytes : s->at;
	return st;
}

static void close_merge(emi_sorted_source *s)
{
	emi_kway_close((emi_kway *)(void *)s);
}

emi_sorted_source *emi_kway_source(emi_kway *k)
{
	static const emi_sorted_ops ops = { next_window, close_merge };

	k->source.ops = &ops;
	return &k->source;
}
