/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kway.h -- one merge over any sorted sources (sorted_source.h), which can pause anywhere and take new ones.
 *
 * The engine's merger (merge.h) has all threads, and goes to the end.  This one is for a data structure that needs its
 * next records now and then: it works on the calling thread, a batch at a time.  Between two batches it may rest for
 * ever, get other sources, or lose some.  At each pause every source is left with just what was not lent.
 *
 *   open, add..., (next..., add or remove...)..., close
 *
 * A batch is of any number of records, up to a count, or up to a bound: a record that the others are compared with.
 *
 * Equal records come in the order of the ranks of their sources, those of one rank in the order in which these were
 * added.  So a source that takes the place of others, as a run that they were merged to, has their rank.  A source that
 * is added while the merge lives may have records that come before those that were lent already.  They come next, as
 * what was lent is not looked at again.
 *
 * How it merges.  A source lends records, the kernels (kern/kern.h) merge windows of elements.  Where records are
 * elements, its window is theirs, and nothing is copied but by merging.  Otherwise some records at a time are loaded.
 * There are two ways, both are the kernels':
 *
 *   mixing   Orders without ties: what is in memory of all sources up to the first end of a window is merged in the
 *            cache, some thousand elements at a time.  Of what is more than was asked for the rest waits; if the
 *            sources change meanwhile, it is given back to them.
 *   a tree   of losers, for everything else: it stops at any record, and takes the next window of one source as that
 *            ends.  Longer keys are told apart by offset-value codes (key/codes.h).
 *
 * If only one source has anything in hand up to that end, its records are lent as they lie there.  So sources that
 * hardly overlap cost next to nothing.
 *
 * Records have one size (see sorted_source.h).  One thread at a time.
 */
#ifndef EMI_KWAY_H
#define EMI_KWAY_H

#include "key/collation.h"
#include "sort/sorted_source.h"

/* All zeroes are the defaults. */
typedef struct emi_kway_opts {
	size_t batch;           /* records that are merged at a time, at most; fewer than EMI_MIX: there is no mixing */
	size_t window;          /* records of each source that are loaded at a time, where they are no elements */
	em_status (*tick)(void *arg); /* before each batch; not EM_OK: that is how the merge ends.  NULL: nobody asks */
	void *tick_arg;
} emi_kway_opts;

/* Where to pause.  All zeroes: wherever it suits. */
typedef struct emi_kway_stop {
	size_t most;            /* after so many records; 0: any number */
	const void *bound;      /* before the first one that is not before this record; NULL: there is no bound ... */
	int upto;               /* ... or is behind it: what equals it comes, too */
} emi_kway_stop;

typedef struct emi_kway_slot {
	emi_sorted_source *source;
	uint64_t rank;
	char *elems;            /* memory for elements that are loaded; NULL: none was needed yet */
	const char *stop;       /* the end of the elements in hand; the window may end before, at a bound */
} emi_kway_slot;

typedef enum emi_kway_state { EMI_KWAY_RESTS, EMI_KWAY_TREE, EMI_KWAY_MIX } emi_kway_state;

typedef struct emi_kway {
	emi_sorted_source source; /* it is one itself: emi_kway_source() */
	em_ctx *ctx;
	emi_collation *by;
	emi_kway_opts opts;     /* as they are used */
	size_t mix;             /* elements that are mixed at a time; 0: nothing is */
	em_errinfo late;        /* a failure that the next call tells */
	uint32_t k;             /* sources */
	uint32_t room;          /* ... that there is room for */
	emi_kway_slot *slot;    /* in the order of their ranks */
	emi_window *win;        /* their elements in hand; from win[i].end to slot[i].stop they are held back */
	void *tree;
	size_t *taken;          /* for mixing: the kernel's ... */
	const void **was;       /* ... and where windows began before what is ready was taken of them */
	emi_kway_state state;
	uint32_t dry;           /* the window that the tree waits for, or EMI_NONE */
	size_t tree_for;        /* records until mixing is tried again */
	emi_merging merging;
	emi_mixing mixing;
	char *out;              /* opts.batch records, ... */
	size_t ready, ready_at; /* ... of which so many are merged and not lent, from there on */
	char *spare;            /* another mix elements for mixing, or elements on their way to records */
	const char *last;       /* the record that the tree gave last */
	int bounded;            /* there is a bound: */
	int upto;
	char *bound;            /* a copy of it, */
	uint64_t bound_key, bound_val; /* and what it is compared by */
} emi_kway;

/* A merge of no sources.  by and what opts says must live as long; opts may be NULL.  EM_ERR_NOTSUP: records of any
 * length.  err here and below is not NULL, and zeroed. */
em_status emi_kway_open(emi_kway *k, emi_collation *by, const emi_kway_opts *opts, em_errinfo *err);

/* Each source is left with what was not lent.  All zeroes need no closing. */
void emi_kway_close(emi_kway *k);

/* Bytes of memory that a merge takes beside its sources, when there was room reserved for so many of them. */
uint64_t emi_kway_memory(const emi_collation *by, const emi_kway_opts *opts, uint32_t sources);

/* Have room for so many sources, so that adding them cannot fail.  EM_ERR_MEMLIMIT, EM_ERR_NOMEM: nothing changes. */
em_status emi_kway_reserve(emi_kway *k, uint32_t sources, em_errinfo *err);

/* One source more, of records that are sorted by `by', whose size they have.  It stays the caller's, who closes it
 * when it is over or was removed, and changes nothing of it before.  Costs O(k) now and with the next batch.  Fails as
 * emi_kway_reserve(). */
em_status emi_kway_add(emi_kway *k, emi_sorted_source *source, uint64_t rank, em_errinfo *err);

/* The merge has nothing to do with a source any more, which is left with what was not lent.  One that is over, or was
 * never added, need not be removed. */
void emi_kway_remove(emi_kway *k, emi_sorted_source *source);

/*
 * Lend the next *n records, at any address.  They are valid until the next call for this merge, and no longer than
 * their sources.
 *
 *   EM_OK    *n > 0; or *n == 0, and the next record is not before the bound
 *   EM_END   all sources are over; once others are added, it goes on
 *
 * Failures: EM_ERR_FORK, EM_ERR_CANCELED, EM_ERR_MEMLIMIT and EM_ERR_NOMEM, what the tick says, what sources fail with.
 * All records that were not lent are in their sources then, and the call may be tried again.  EM_ERR_USER, a function
 * of the order's has failed, is final: nobody knows what order the records have.  stop may be NULL.
 *
 * A batch costs O(log k) comparisons for each record; a bound that differs from that of the call before O(k log w)
 * more, with windows of w elements.
 */
em_status emi_kway_next(emi_kway *k, const emi_kway_stop *stop, const char **records, size_t *n, em_errinfo *err);

/* The merge as a source of another one.  Closing that closes the merge. */
emi_sorted_source *emi_kway_source(emi_kway *k);

#endif
