/* SPDX-License-Identifier: BSL-1.0 */
/*
 * order_impl.h -- what an em_order consists of; for src/key only.
 */
#ifndef EMI_ORDER_IMPL_H
#define EMI_ORDER_IMPL_H

#include "key/normalise.h"
#include "key/order.h"
#include "key/vary.h"

struct em_order {
	em_ctx *ctx;                    /* a reference is held */
	uint32_t refs;                  /* atomic */
	uint32_t nfields;               /* 0: cmp, key_fn, own or text */
	size_t record_bytes;            /* 0: records of any length */
	emi_codec codec;
	emi_prefix prefix;
	emi_prefix low;                 /* the key's bytes behind the prefix, where elements hold them, too */
	char *name;
	const em_kernels *own;          /* NULL: those of src/kern */
	void *own_arg;
	em_cmp_fn cmp;                  /* NULL: fields, key_fn, or own */
	em_key_fn key_fn;
	uint32_t fn_flags;              /* EM_FN_..., of cmp or key_fn */
	uint32_t key_failures;          /* of key_fn; atomic */
	void *user;
	void (*user_free)(void *user);
	emi_text *text;                 /* the keys of records of any length; NULL for others */
	emi_vary vary;
	emi_field fields[];             /* most significant first; every width is set, so none is 0 */
};

/* Fill codec and prefix from what the order says about itself. */
void emi_codec_choose(em_order *o);

/* The bytes of the key that its fields make, or SIZE_MAX when it is that or more. */
size_t emi_key_width(const em_order *o);

/* codec_ref.c: the store of every codec whose elements are references. */
void emi_store_ref(const em_order *o, const void *elems, size_t n, void *records);

/* codec_any.c: codecs that take any prefix and any rest.  Fills key, load and store according to elem and ref. */
void emi_codec_any(emi_codec *c);

/* codec_wide.c: keys of 9 to 16 bytes that are the whole record.  Fills codec and `low'; returns 0, with nothing
 * filled, when this is not such a record. */
int emi_codec_wide(em_order *o, size_t width);

/* Faster ones, for records whose prefix is one number (codec_number.c) or two of 4 bytes (codec_halves.c).  Return 0,
 * with nothing filled, when this is not such a record; emi_codec_any() takes it then. */
int emi_codec_number(const em_order *o, emi_codec *c);
int emi_codec_halves(const em_order *o, emi_codec *c);

/* order_key_fn.c: the codec of keys that are computed. */
void emi_codec_key_fn(const em_order *o, emi_codec *c);

/* order.c: an order with room for n fields, holding the references it needs; one without fields that has a name (NULL:
 * ""); and what all constructors do last: hand over the order, or take it back. */
em_status emi_order_make(em_order **out, em_ctx *ctx, uint64_t record_size, uint32_t n, em_errinfo *err);
em_status emi_order_make_named(em_order **out, em_ctx *ctx, uint64_t record_size, const char *name, em_errinfo *err);
em_status emi_order_leave(em_order **out, em_order *o, em_status status, const em_errinfo *detail, em_errinfo *err);

/* order_cmp.c: the kernels for an order by a function, of records of so many bytes; NULL: there are none. */
const em_kernels *emi_cmp_kernels(size_t record_bytes);

/* compare.c: what is to be done every now and then before a function is called, and when it has failed. */
void emi_compare_tick(emi_compare *cmp);
void emi_compare_failed(emi_compare *cmp);

/* Call the function of cmp.  Inline, as a sort does little else.  What is not watched is not written either, so threads
 * that share it do not wait for one another. */
EMI_INLINE int emi_compare_call(emi_compare *cmp, const void *a, const void *b)
{
	int c;

	if (cmp->tick != NULL && --cmp->calls == 0)
		emi_compare_tick(cmp);
	c = __atomic_load_n(&cmp->fn, __ATOMIC_RELAXED)(a, b, cmp->user);
	if (c != EM_CMP_ERROR)
		return c;
	emi_compare_failed(cmp);
	return 0;
}

/* order.c: what all constructors look at first, and those that take flags. */
em_status emi_order_check(em_order **out, const em_ctx *ctx, uint64_t record_size, em_errinfo *err);
em_status emi_order_check_flags(uint32_t flags, em_errinfo *err);

/* order_text.c: release the keys; compare two frames by their addresses (arg is an emi_compare). */
void emi_order_free_text(em_order *o);
int emi_tie_vary(void *arg, uint64_t a, uint64_t b);

#endif
