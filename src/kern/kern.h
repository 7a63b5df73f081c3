/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kern.h -- block kernels: sorting and merging of normalised elements.
 *
 * Above this layer a record is anything; here it is one of three elements, whose
 * keys are unsigned integers in native byte order (src/key normalises them):
 *
 *   EMI_ELEM_U32   a bare 32-bit key; the key is the whole record
 *   EMI_ELEM_U64   a bare 64-bit key
 *   EMI_ELEM_PAIR  a 64-bit key and 64 bits that travel with it: the rest of a
 *                  small record, or the address of a large one
 *
 * A fourth one has no kernels here, as they come with its order (extmem/gen/kernels.h): EMI_ELEM_OWN, a record as it
 * is.
 *
 * When a key does not fit in 64 bits the element's key is a prefix of it, and a
 * tie function compares the two records that the values point to.  An order that
 * is only a callback is the same thing with a prefix of no bits: all keys are 0
 * and everything is a tie.
 *
 * Every kernel is stable, so results depend neither on how the input was cut into
 * runs nor on the number of threads.  The whole domain of every key is legal:
 * nothing here reserves a sentinel.
 */
#ifndef EMI_KERN_H
#define EMI_KERN_H

#include <stddef.h>
#include <stdint.h>

#include <extmem/gen/kernels.h>

typedef enum emi_elem { EMI_ELEM_U32, EMI_ELEM_U64, EMI_ELEM_PAIR, EMI_ELEM_OWN } emi_elem;

typedef struct emi_pair {
	uint64_t key;
	uint64_t val;
} emi_pair;

/* Full comparison of two records whose prefixes are equal: <0, 0, >0. */
typedef int (*emi_tie_fn)(void *arg, uint64_t a, uint64_t b);

/*
 * For many elements whose keys are equal prefixes: replace each key by what follows it in the whole one, the eight
 * bytes behind the first 8 * depth.  Positive: done; 0: nothing follows, they are equal; negative: this cannot be done.
 * n == 0 only asks.
 */
typedef int (*emi_deepen_fn)(void *arg, emi_pair *e, size_t n, unsigned depth);

#define EMI_DEEPEST 8u          /* the most depth there is: beyond it, records are compared */

typedef struct emi_tie {
	emi_tie_fn fn;          /* NULL: equal prefixes are equal keys */
	void *arg;
	emi_deepen_fn deepen;   /* NULL: there is none */
	unsigned depth;         /* of the keys that elements have now */
} emi_tie;

/* The tie function of elements whose values are numbers, the second halves of their keys: sort() does not call it but
 * sorts by them. */
int emi_tie_numbers(void *arg, uint64_t a, uint64_t b);

/*
 * As a tie function, for merging elements whose keys are offset-value codes: they tell where a record differs from the
 * one before it in its window, and with what (Conner 1977; Graefe and Do, "Offset-value coding in database query
 * processing", EDBT 2023).  In a tree of losers they may be compared like any keys, as all that meet are relative to
 * the same record.  Only a draw looks at the records; *lose is then the code of the one that comes second, relative to
 * the first.
 */
typedef int (*emi_recode_fn)(void *arg, uint64_t a, uint64_t b, uint64_t code, uint64_t *lose);

/* A sorted sequence of elements that is in memory: [cur, end). */
typedef em_kern_window emi_window;

#define EMI_NONE 0xffffffffu    /* "no window" */

/*
 * A merge of k windows in progress.  The caller owns all arrays: win has k
 * entries, tree emi_merge_tree_bytes(k) bytes.  Order of calls: fill win, start,
 * then run until it returns with *dry == EMI_NONE and less than cap written.  A
 * window that has been closed stays empty.  What is in the tree is up to the kernels.
 */
typedef struct emi_merge {
	uint32_t k;
	uint32_t leaves;        /* power of two >= k */
	uint32_t pending;       /* window whose next element the tree lacks, or EMI_NONE */
	uint32_t live;          /* windows not yet closed */
	uint32_t tail;          /* only the largest keys are left */
	emi_window *win;
	void *tree;             /* aligned to 8 */
	emi_tie tie;
	emi_recode_fn recode;   /* keys are offset-value codes: in place of tie.fn, with its argument; else NULL */
} emi_merge;

/*
 * A merge of k windows, without ties, that are in memory as a whole, some thousand elements at a time.  The caller owns
 * the arrays: win and taken have k entries.  reach is 0 at first and the kernel's then.
 */
typedef struct emi_mix {
	uint32_t k;             /* 1 to EMI_MIX_MOST */
	emi_window *win;
	size_t *taken;
	size_t reach;
} emi_mix;

#define EMI_MIX ((size_t)8192)
#define EMI_MIX_MOST 256u       /* windows; more of them are left to the tree */

/* The number of buckets a partition can make, as a power of two.  A scatter to so many costs hardly more than one to a
 * quarter of them, as long as what it collects for them (a line each) is in the second-level cache. */
#define EMI_MAX_RADIX_BITS 10

/* Scratch of a thread for sort() and scatter(), which need too much of it for a stack; aligned as buffers are.  What is
 * in it means nothing before and after a call; best it is the same one for each call of a thread. */
#define EMI_KERN_WORK ((size_t)92 * 1024)

/* A digit of keys, from 0 to 2^bits - 1, in their order. */
typedef struct emi_digit {
	unsigned shift;         /* less than the key has bits */
	unsigned bits;
	int clamps;             /* 0: it is these bits of the key, and all keys agree in those above them.  1: it is how
				 * many times 2^shift a key is above the base, and the first or the last one for keys
				 * beyond. */
	uint64_t base;
} emi_digit;

/* The table of block kernels for one element and one instruction set. */
typedef struct emi_kernels {
	const char *isa;        /* "scalar", "avx2", "avx512" */
	size_t elem_bytes;

	/* Bitwise or of (key ^ first key) over n > 0 elements: which key bits differ
	 * at all.  *order: 1 when the elements are sorted already, -1 when every key is
	 * strictly smaller than the one before it, 0 otherwise; 1 if n == 1. */
	uint64_t (*survey)(const void *a, size_t n, int *order);

	/* Count the keys by digit; adds to count[].  Returns which key bits differ, as survey(); 0 if n == 0. */
	uint64_t (*histogram)(const void *a, size_t n, const emi_digit *digit, size_t *count);

	/* Move every element to dst[pos[digit]++], in input order.  dst does not overlap a.  work: EMI_KERN_WORK
	 * bytes. */
	void (*scatter)(const void *a, size_t n, const emi_digit *digit, void *dst, size_t *pos, void *work);

	/* Sort a[0..n) in place, stably, by the whole key and then by the tie function.
	 * tmp has room for n elements and does not overlap a; it is fastest when it is the
	 * same for one block after the other, so that it stays in the cache.  work: EMI_KERN_WORK bytes. */
	void (*sort)(void *a, void *tmp, size_t n, const emi_tie *tie, void *work);

	/* Number of elements of the window that come before (key, tie against val); when
	 * `inclusive', also those equal to it. */
	size_t (*bound)(const void *a, size_t n, uint64_t key, uint64_t val, int inclusive, const emi_tie *tie);

	/* Build the tree; a window that is empty now counts as closed. */
	void (*merge_start)(emi_merge *m);

	/*
	 * The windowed merge.  Write elements in order, ties by (key, tie, window,
	 * position), to out until cap are written, or a window has become empty, or all
	 * are closed; return how many were written.  *dry is the window that is empty
	 * and must be refilled (set win[*dry]) or left empty to close it before the
	 * next call, or EMI_NONE.
	 */
	size_t (*merge_run)(emi_merge *m, void *out, size_t cap, uint32_t *dry);

	/*
	 * Merge the next elements to out and return how many: EMI_MIX at most, 0 at the end.  out and tmp have room for
	 * EMI_MIX each; what is behind those that are returned keeps what it has in out.  Faster than merge_run(),
	 * which works for windows that are not in memory as a whole, and for ties.
	 */
	size_t (*mix)(emi_mix *m, void *out, void *tmp);
} emi_kernels;

/* Bytes of emi_merge.tree for k windows. */
size_t emi_merge_tree_bytes(uint32_t k);

/* The kernels for an element other than EMI_ELEM_OWN.  isa: NULL or "auto" for the best this processor
 * runs, otherwise a name; NULL is returned for a name that is unknown or that
 * this processor cannot run. */
const emi_kernels *emi_kernels_for(emi_elem elem, const char *isa);

#endif
