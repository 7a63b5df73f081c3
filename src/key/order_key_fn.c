/* SPDX-License-Identifier: BSL-1.0 */
/*
 * order_key_fn.c -- orders by a key that a function of the caller's computes.
 *
 * The function is asked for the keys of many records at a time, so that calling it costs little, also from a language
 * where a call takes long.  A record cannot be made again from such a key: one of up to 8 bytes travels with it, others
 * are referred to.
 */
#include "base/error.h"
#include "key/order_impl.h"

#define AT_ONCE 512u            /* keys: 4 KiB of a worker's stack */

/* A sort whose function failed is lost, whatever the keys; but they must be something. */
static void failed(const em_order *o, size_t n, uint64_t *keys)
{
	memset(keys, 0, n * sizeof *keys);
	__atomic_add_fetch((uint32_t *)(uintptr_t)&o->key_failures, 1, __ATOMIC_RELAXED);
}

static void compute(const em_order *o, const void *records, size_t n, uint64_t *keys)
{
	if (o->key_fn(records, n, keys, o->user) != 0)
		failed(o, n, keys);
}

static uint64_t key_of_one(const em_order *o, const void *record)
{
	uint64_t key;

	compute(o, record, 1, &key);
	return key;
}

static void load_ref(const em_order *o, const void *records, size_t n, void *elems)
{
	const unsigned char *record = records;
	const size_t step = o->record_bytes;
	emi_pair *e = elems, *const end = e + n;
	uint64_t key[AT_ONCE];

	while (e < end) {
		const size_t some = (size_t)(end - e) < AT_ONCE ? (size_t)(end - e) : AT_ONCE;
		size_t i;

		compute(o, record, some, key);
		for (i = 0; i < some; i++, e++, record += step) {
			e->key = key[i];
			e->val = (uint64_t)(uintptr_t)record;
		}
	}
}

static void load_small(const em_order *o, const void *records, size_t n, void *elems)
{
	const size_t step = o->record_bytes;
	emi_pair *e = elems;
	size_t i;

	load_ref(o, records, n, elems);
	for (i = 0; i < n; i++) {
		const void *record = (const void *)(uintptr_t)e[i].val;

		e[i].val = 0;
		memcpy(&e[i].val, record, step);
	}
}

static void store_small(const em_order *o, const void *elems, size_t n, void *records)
{
	const size_t step = o->record_bytes;
	const emi_pair *e = elems;
	unsigned char *record = records;
	size_t i;

	for (i = 0; i < n; i++, record += step)
		memcpy(record, &e[i].val, step);
}

void emi_codec_key_fn(const em_order *o, emi_codec *c)
{
	c->elem = EMI_ELEM_PAIR;
	c->elem_bytes = sizeof(emi_pair);
	c->align = sizeof(uint64_t);
	c->exact = 1;
	c->ref = o->record_bytes > sizeof(uint64_t);
	c->load = c->ref ? load_ref : load_small;
	c->store = c->ref ? emi_store_ref : store_small;
	c->key = key_of_one;
}

em_status em_order_key_fn(em_order **out, em_ctx *ctx, uint64_t record_size, const char *name, em_key_fn fn,
			  uint32_t flags, void *user, void (*user_free)(void *user), em_errinfo *err)
{
	em_errinfo detail = { 0 };
	em_order *o = NULL;
	em_status status = emi_order_check(out, ctx, record_size, &detail);

	if (status == EM_OK && fn == NULL)
		status = emi_fail(&detail, EM_ERR_INVAL, "order: fn is NULL");
	if (status == EM_OK)
		status = emi_order_check_flags(flags, &detail);
	if (status == EM_OK)
		status = emi_order_make_named(&o, ctx, record_size, name, &detail);
	if (status == EM_OK) {
		o->key_fn = fn;
		o->fn_flags = flags;
		o->user = user;
		o->user_free = user_free;
		emi_codec_choose(o);
	} else if (user_free != NULL) {
		user_free(user);
	}
	return emi_order_leave(out, o, status, &detail, err);
}
