/* SPDX-License-Identifier: BSL-1.0 */
/*
 * collation.h -- comparing, loading, sorting and merging the records of an order.
 *
 * An order (key/order.h) is what a caller made, and many share it.  A collation is what one user of it works with.  It
 * has the codec, the kernels, the tie function and the offset-value codes.  It also knows whether a function of the
 * caller's has failed since it was opened.
 *
 * Records become elements (kern/kern.h), which the kernels sort and merge.  Records of one size are loaded by the
 * codec.  A record of any length becomes a frame first (key/vary.h); the value of its element is an address:
 *
 *   the frame's bytes   compared by `tie'
 *   an emi_frame        made by emi_frame_elem(), compared by emi_collation_frames()
 *
 * A comparison of the caller's may take its time.  So the thread that called the library calls `tick' now and then, and
 * no comparison any more once that says so.  Other threads, if they may compare at all, do without.  Whoever is going
 * to compare much passes the argument of the tie function through emi_collation_here() first.
 *
 * A collation refers to itself, so it stays where it is.  Any number of threads may use one.
 */
#ifndef EMI_COLLATION_H
#define EMI_COLLATION_H

#include "key/codes.h"
#include "key/vary.h"

typedef struct emi_collation {
	em_order *order;        /* a reference is held */
	const emi_codec *codec;
	const emi_vary *vary;   /* NULL: records of one size */
	const emi_kernels *kern; /* NULL for elements with kernels ... */
	const em_kernels *own;  /* ... of their own: these, else NULL */
	void *own_arg;          /* of those; by `shared' if the caller's function may be called on all threads */
	emi_tie tie;            /* of elements, likewise; fn is NULL when equal keys are equal records */
	uint32_t key_failures;  /* that the order had before */
	emi_codes codes;        /* of longer keys, for merging */
	emi_compare watched;    /* of the calling thread alone */
	char apart[128];        /* that one is written at each call, and caches are not to hand it around with ... */
	emi_compare shared;     /* ... this one, of all threads */
} emi_collation;

/* tick: see emi_compare; NULL: nobody watches.  Takes a reference.  EM_ERR_NOTSUP: the context's instruction set has no
 * kernels; nothing is held then.  All zeroes need no closing. */
em_status emi_collation_open(emi_collation *c, const em_order *order, em_status (*tick)(void *arg), void *tick_arg,
			     em_errinfo *err);
void emi_collation_close(emi_collation *c);

/* Begin anew with another tick, and forget failures of comparisons.  So a copy becomes a collation with failures of its
 * own; it is not closed, and the one that it was copied from lives as long. */
void emi_collation_watch(emi_collation *c, em_status (*tick)(void *arg), void *tick_arg);

/* EM_ERR_USER: a function of the caller's has failed, and what came of comparisons and keys means nothing. */
em_status emi_collation_check(const emi_collation *c, em_errinfo *err);

/* What to take for tie.arg, or own_arg, where much is going to be compared on this thread. */
void *emi_collation_here(emi_collation *c, void *arg);

/* The tie function of elements that refer to emi_frames, if records have any length; otherwise `tie'. */
emi_tie emi_collation_frames(const emi_collation *c);

/* Can elements be mixed (emi_mixing), in the place of their records? */
int emi_collation_mixes(const emi_collation *c);

/* n records of one size to elements and back: see emi_codec. */
static inline void emi_collation_load(const emi_collation *c, const void *records, size_t n, void *elems)
{
	c->codec->load(c->order, records, n, elems);
}

static inline void emi_collation_store(const emi_collation *c, const void *elems, size_t n, void *records)
{
	c->codec->store(c->order, elems, n, records);
}

/* What a record is compared by, here and in what follows one of one size or the bytes of a frame: first its key, then
 * its value. */
static inline uint64_t emi_collation_key(const emi_collation *c, const void *record)
{
	return c->codec->key(c->order, record);
}

static inline uint64_t emi_collation_val(const emi_collation *c, const void *record)
{
	return emi_codec_val(c->codec, c->order, record);
}

/* Compare a record with one that has this key and value: <0, 0, >0. */
static inline int emi_collation_compare_to(const emi_collation *c, const void *record, uint64_t key, uint64_t val)
{
	const uint64_t mine = emi_collation_key(c, record);

	if (mine != key)
		return mine < key ? -1 : 1;
	return c->tie.fn != NULL ? c->tie.fn(c->tie.arg, emi_collation_val(c, record), val) : 0;
}

/* Compare two records. */
static inline int emi_collation_compare(const emi_collation *c, const void *a, const void *b)
{
	return emi_collation_compare_to(c, a, emi_collation_key(c, b), emi_collation_val(c, b));
}

/* Compare two elements, tie being of them. */
static inline int emi_pair_compare(const emi_tie *tie, const emi_pair *a, const emi_pair *b)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return tie->fn != NULL ? tie->fn(tie->arg, a->val, b->val) : 0;
}

static inline int emi_elem_compare(const emi_collation *c, const emi_tie *tie, const void *a, const void *b)
{
	const uint32_t *a32 = a, *b32 = b;
	const uint64_t *a64 = a, *b64 = b;

	switch (c->codec->elem) {
	case EMI_ELEM_U32:
		return (*a32 > *b32) - (*a32 < *b32);
	case EMI_ELEM_U64:
		return (*a64 > *b64) - (*a64 < *b64);
	case EMI_ELEM_OWN:
		return tie->fn(tie->arg, (uintptr_t)a, (uintptr_t)b);
	case EMI_ELEM_PAIR:
	default:
		return emi_pair_compare(tie, a, b);
	}
}

/* Sort a[0..n), with room for as many elements in tmp, and EMI_KERN_WORK bytes of scratch.  tie: of the elements. */
static inline void emi_collation_sort(emi_collation *c, const emi_tie *tie, void *a, void *tmp, size_t n, void *work)
{
	emi_tie watched = *tie;

	if (c->own != NULL) {
		c->own->sort(a, tmp, n, emi_collation_here(c, c->own_arg));
		return;
	}
	watched.arg = emi_collation_here(c, tie->arg);
	c->kern->sort(a, tmp, n, &watched, work);
}

/* A merge of k windows. */
typedef struct emi_merging {
	const emi_collation *by;
	emi_merge merge;
	em_kern_merge own;
} emi_merging;

/* Begin; tree has emi_merge_tree_bytes(k) bytes.  tie: of the elements; recode: if their keys are offset-value codes,
 * else NULL. */
static inline void emi_merging_start(emi_merging *m, emi_collation *c, uint32_t k, emi_window *win, void *tree,
				     const emi_tie *tie, emi_recode_fn recode)
{
	const emi_merge merge = { .k = k, .win = win, .tree = tree, .tie = *tie, .recode = recode };
	const em_kern_merge own = { .k = k, .win = win, .tree = tree };

	m->by = c;
	m->merge = merge;
	m->own = own;
	if (c->own != NULL) {
		m->own.arg = emi_collation_here(c, c->own_arg);
		c->own->merge_start(&m->own);
	} else {
		m->merge.tie.arg = emi_collation_here(c, tie->arg);
		c->kern->merge_start(&m->merge);
	}
}

/* As merge_run(): *dry is the window that has become empty, or EMI_NONE. */
static inline size_t emi_merging_run(emi_merging *m, void *out, size_t cap, uint32_t *dry)
{
	return m->by->own != NULL ? m->by->own->merge_run(&m->own, out, cap, dry)
				  : m->by->kern->merge_run(&m->merge, out, cap, dry);
}

/* A merge of k windows that are in memory as a whole. */
typedef struct emi_mixing {
	const emi_collation *by;
	emi_mix mix;
	em_kern_mix own;
} emi_mixing;

/* Begin; most: elements that a step may give, which is EMI_MIX unless the order has kernels of its own.  taken: k
 * numbers. */
static inline void emi_mixing_start(emi_mixing *m, emi_collation *c, uint32_t k, emi_window *win, size_t *taken,
				    size_t most)
{
	const emi_mix mix = { .k = k, .win = win, .taken = taken };
	const em_kern_mix own = { .k = k, .win = win, .taken = taken, .room = most,
				  .arg = emi_collation_here(c, c->own_arg) };

	m->by = c;
	m->mix = mix;
	m->own = own;
}

/* The next elements, of which out and tmp have room for `most' each; returns how many, 0 at the end. */
static inline size_t emi_mixing_run(emi_mixing *m, void *out, void *tmp)
{
	return m->by->own != NULL ? m->by->own->mix(&m->own, out, tmp) : m->by->kern->mix(&m->mix, out, tmp);
}

#endif
