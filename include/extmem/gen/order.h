/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/gen/order.h  A template: generates an order from a comparison, as fast as if it were written for it.
 *
 * Define the parameters and include this file; it may be included any number of times, also in different files of a
 * program.
 *
 *	#define EM_GEN_NAME by_price
 *	#define EM_GEN_RECORD struct offer
 *	#define EM_GEN_LESS(a, b) ((a)->price < (b)->price)
 *	#include <extmem/gen/order.h>
 *
 *	em_order *order;
 *	em_status st = by_price_order(&order, ctx, &err);
 *
 * Parameters, which are undefined at the end:
 *
 *   EM_GEN_NAME        what the names of all that is generated begin with; also the name of the order
 *   EM_GEN_RECORD      the type of records, at most 65536 bytes; it is copied by assignment (in C++: trivially
 *                      copyable)
 *   EM_GEN_LESS(a, b)  does *a come before *b?  0 or 1 (or a bool).  a and b are expressions of type const
 *                      EM_GEN_RECORD *, which may be evaluated several times and have no side effects.  `arg', a void
 *                      *, is what em_order_kernels() was given, and NULL with the generated constructor.  It must be a
 *                      strict weak order (not both a < b and b < a; a < b and b < c imply a < c; likewise for "neither
 *                      before the other"), and depend on nothing but a, b and arg: it is evaluated on any thread.  The
 *                      fastest are those without a branch: & rather than &&.
 *
 * What is generated, all of it static:
 *
 *   em_status NAME_order(em_order **out, em_ctx *ctx, em_errinfo *err)     see em_order_kernels(), which it calls
 *   const em_kernels NAME_kernels                                          for em_order_kernels(), when there is an arg
 *   int NAME_less(const EM_GEN_RECORD *a, const EM_GEN_RECORD *b, void *arg)   the comparison
 *
 * The code is ordinary C99, and C++11: a debugger steps through it, and a profiler names its lines.  Compiling with -O2
 * makes it as fast as it gets; wider instruction sets help little, and -O3 not at all (GCC: pairs are a tenth slower).
 *
 * Without EM_GEN_NAME nothing is generated.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0 (see extmem/base.h).
 *
 * How it sorts arrays: gen/sort.inc, by merging two and two.  How it divides them into classes: gen/array.inc.  How it
 * merges sorted windows: gen/merge.inc.
 */
#include <string.h>

#include <extmem/gen/kernels.h>

#ifdef EM_GEN_NAME

#ifndef EM_GEN_RECORD
#error "define EM_GEN_RECORD, the type of the records"
#endif
#ifndef EM_GEN_LESS
#error "define EM_GEN_LESS(a, b): does *a come before *b?"
#endif

#define EM_GEN_CAT2(a, b) a##_##b
#define EM_GEN_CAT(a, b) EM_GEN_CAT2(a, b)
#define EM_GEN_FN(f) EM_GEN_CAT(EM_GEN_NAME, f)
#define EM_GEN_TEXT2(a) #a
#define EM_GEN_TEXT(a) EM_GEN_TEXT2(a)

#if defined(__GNUC__)
#define EM_GEN_INLINE static inline __attribute__((always_inline, unused))
#define EM_GEN_UNUSED __attribute__((unused))
#else
#define EM_GEN_INLINE static inline
#define EM_GEN_UNUSED
#endif

/* Larger records are sorted by references, and then moved once. */
#define EM_GEN_DIRECT 48u

/* So many items, and more, are merged by four strands. */
#define EM_GEN_STRANDS 128u

/* One word for what is sorted, whatever words it takes, and for references to it; and how it is aligned. */
typedef EM_GEN_RECORD EM_GEN_FN(type);
typedef EM_GEN_RECORD *EM_GEN_FN(ref);
#define EM_GEN_TYPE EM_GEN_FN(type)

struct EM_GEN_FN(aligned) {
	char before;
	EM_GEN_TYPE record;
};

/* Does *a come before *b? */
EM_GEN_INLINE int EM_GEN_FN(less)(const EM_GEN_TYPE *a, const EM_GEN_TYPE *b, void *arg)
{
	(void)arg;
	return EM_GEN_LESS(a, b) ? 1 : 0;
}

/* Choose one of two addresses, or numbers in their form, without a branch, as nobody can foresee which it is going to
 * be.  Compilers that see what is meant make a branch of it, so they must not. */
EM_GEN_INLINE uintptr_t EM_GEN_FN(pick)(int second, uintptr_t a, uintptr_t b)
{
	uintptr_t mask = (uintptr_t)0 - (uintptr_t)(unsigned)second;

#if defined(__GNUC__)
	__asm__("" : "+r"(mask));
#endif
	return a ^ ((a ^ b) & mask);
}

EM_GEN_INLINE void EM_GEN_FN(copy)(EM_GEN_TYPE *to, const EM_GEN_TYPE *from, size_t n)
{
	if (n != 0)
		memcpy(to, from, n * sizeof(EM_GEN_TYPE));
}

/* Records themselves ... */
#define EM_GEN_ITEM EM_GEN_TYPE
#define EM_GEN_OF(f) EM_GEN_FN(f)
#define EM_GEN_BEFORE(a, b) EM_GEN_FN(less)(a, b, arg)
#include <extmem/gen/sort.inc>

/* ... and references to them. */
#define EM_GEN_ITEM EM_GEN_FN(ref)
#define EM_GEN_OF(f) EM_GEN_FN(ref_##f)
#define EM_GEN_BEFORE(a, b) EM_GEN_FN(less)(*(a), *(b), arg)
#include <extmem/gen/sort.inc>

#include <extmem/gen/array.inc>
#include <extmem/gen/merge.inc>

static EM_GEN_UNUSED const em_kernels EM_GEN_FN(kernels) = {
	(uint32_t)sizeof(em_kernels),
	(uint32_t)offsetof(struct EM_GEN_FN(aligned), record),
	sizeof(EM_GEN_TYPE),
	EM_GEN_TEXT(EM_GEN_NAME),
	EM_GEN_FN(compare),
	EM_GEN_FN(sorted),
	EM_GEN_FN(sort),
	EM_GEN_FN(classify),
	EM_GEN_FN(merge_start),
	EM_GEN_FN(merge_run),
	sizeof(EM_GEN_TYPE) <= EM_GEN_DIRECT ? EM_GEN_FN(mix) : NULL
};

static EM_GEN_UNUSED em_status EM_GEN_FN(order)(em_order **out, em_ctx *ctx, em_errinfo *err)
{
	return em_order_kernels(out, ctx, &EM_GEN_FN(kernels), NULL, err);
}

#undef EM_GEN_CAT2
#undef EM_GEN_CAT
#undef EM_GEN_FN
#undef EM_GEN_TEXT2
#undef EM_GEN_TEXT
#undef EM_GEN_INLINE
#undef EM_GEN_UNUSED
#undef EM_GEN_DIRECT
#undef EM_GEN_STRANDS
#undef EM_GEN_NAME
#undef EM_GEN_TYPE
#undef EM_GEN_RECORD
#undef EM_GEN_LESS

#endif
