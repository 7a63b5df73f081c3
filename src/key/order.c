/* SPDX-License-Identifier: BSL-1.0 */
/*
 * order.c -- making, sharing and asking orders.
 *
 * An order is one piece of memory: the fields stand behind the struct.  It holds a reference on its context and is
 * released, through the allocator of that context, by whoever drops the last reference on it.
 *
 * The constructors fail into a detail of their own and hand it over at the end, because the caller's may
 * be uninitialised or hold an older failure.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "key/order_impl.h"

/* Room for one field in a name: ",bytes", "@", ":r", a zero and two numbers of up to 20 digits. */
#define FIELD_TEXT 52u

/* Bytes of an order with n fields, or 0 when that is more than there can be. */
static size_t order_bytes(uint64_t n)
{
	if (n > (SIZE_MAX - sizeof(em_order)) / sizeof(emi_field))
		return 0;
	return sizeof(em_order) + (size_t)n * sizeof(emi_field);
}

em_status emi_order_check(em_order **out, const em_ctx *ctx, uint64_t record_size, em_errinfo *err)
{
	em_status status;

	if (out == NULL)
		return emi_fail(err, EM_ERR_INVAL, "order: out is NULL");
	if (ctx == NULL)
		return emi_fail(err, EM_ERR_INVAL, "order: ctx is NULL");
	status = emi_ctx_check(ctx, err);
	if (status != EM_OK)
		return status;
	if (record_size == 0)
		return emi_fail(err, EM_ERR_INVAL, "order: record size is 0");
	/* No object is larger than half of the address space. */
	if (record_size > SIZE_MAX / 2)
		return emi_fail(err, EM_ERR_RANGE, "order: a record of %" PRIu64 " bytes does not fit in memory",
				record_size);
	return EM_OK;
}

em_status emi_order_check_flags(uint32_t flags, em_errinfo *err)
{
	if ((flags & ~EM_FN_THREADS) != 0)
		return emi_fail(err, EM_ERR_INVAL, "order: unknown flags 0x%" PRIx32, flags & ~EM_FN_THREADS);
	return EM_OK;
}

em_status emi_order_make(em_order **out, em_ctx *ctx, uint64_t record_size, uint32_t n, em_errinfo *err)
{
	const size_t bytes = order_bytes(n);
	em_order *o;

	if (bytes == 0)
		return emi_fail(err, EM_ERR_NOMEM, "order: %" PRIu32 " keys do not fit in memory", n);
	o = emi_alloc(ctx, bytes, err);
	if (o == NULL)
		return err->status;
	emi_ctx_ref(ctx);
	o->ctx = ctx;
	o->refs = 1;
	o->nfields = n;
	o->record_bytes = (size_t)record_size;
	*out = o;
	return EM_OK;
}

em_status emi_order_make_named(em_order **out, em_ctx *ctx, uint64_t record_size, const char *name, em_errinfo *err)
{
	em_status status = emi_order_make(out, ctx, record_size, 0, err);

	if (status != EM_OK)
		return status;
	(*out)->name = emi_strdup(ctx, name != NULL ? name : "", err);
	return (*out)->name != NULL ? EM_OK : err->status;
}

/* Check what the caller says about a field, and keep it. */
static em_status take_key(emi_field *field, const em_key *key, uint32_t i, uint64_t record_size, em_errinfo *err)
{
	const uint32_t unknown = key->flags & ~(EM_KEY_BIG_ENDIAN | EM_KEY_DESCENDING);
	uint64_t width = emi_type_width(key->type);

	if ((key->reserved[0] | key->reserved[1]) != 0)
		return emi_fail(err, EM_ERR_INVAL, "keys[%" PRIu32 "]: what is reserved is not 0: use EM_KEY_INIT", i);
	if (width == 0)
		return emi_fail(err, EM_ERR_INVAL, "keys[%" PRIu32 "]: unknown type %" PRId32, i, key->type);
	if (unknown != 0)
		return emi_fail(err, EM_ERR_INVAL, "keys[%" PRIu32 "]: unknown flags 0x%" PRIx32, i, unknown);
	if (key->type == EM_KEY_BYTES ? key->width == 0 : key->width != 0 && key->width != width)
		return emi_fail(err, EM_ERR_INVAL, "keys[%" PRIu32 "]: width %" PRIu64 " does not fit type %s", i,
				key->width, emi_type_name(key->type));
	if (key->type == EM_KEY_BYTES)
		width = key->width;
	if (key->offset > record_size || width > record_size - key->offset)
		return emi_fail(err, EM_ERR_RANGE,
				"keys[%" PRIu32 "]: %" PRIu64 " bytes at offset %" PRIu64
				" reach past the end of the record of %" PRIu64 " bytes",
				i, width, key->offset, record_size);
	field->offset = (size_t)key->offset;
	field->width = (size_t)width;
	field->type = key->type;
	field->flags = key->flags;
	return EM_OK;
}

static int has_byte_order(const emi_field *f)
{
	return f->type != EM_KEY_BYTES && f->width > 1;
}

/* The name of a field, as "i32be@8:r"; the length of it. */
static size_t field_name(char text[FIELD_TEXT], const emi_field *f, const char *before)
{
	const char *order = !has_byte_order(f) ? "" : (f->flags & EM_KEY_BIG_ENDIAN) != 0 ? "be" : "le";
	const char *direction = (f->flags & EM_KEY_DESCENDING) != 0 ? ":r" : "";
	char width[24] = "";

	if (f->type == EM_KEY_BYTES)
		snprintf(width, sizeof(width), "%" PRIu64, (uint64_t)f->width);
	return (size_t)snprintf(text, FIELD_TEXT, "%s%s%s%s@%" PRIu64 "%s", before, emi_type_name(f->type), width,
				order, (uint64_t)f->offset, direction);
}

/* Name a key order after its fields: once to measure, once to write. */
static em_status name_fields(em_order *o, em_errinfo *err)
{
	char text[FIELD_TEXT];
	size_t bytes = 1, at = 0;
	uint32_t i;

	for (i = 0; i < o->nfields; i++) {
		const size_t n = field_name(text, &o->fields[i], i > 0 ? "," : "");

		if (n > SIZE_MAX - bytes)
			return emi_fail(err, EM_ERR_NOMEM, "order: the name does not fit in memory");
		bytes += n;
	}
	o->name = emi_alloc(o->ctx, bytes, err);
	if (o->name == NULL)
		return err->status;
	for (i = 0; i < o->nfields; i++) {
		const size_t n = field_name(text, &o->fields[i], i > 0 ? "," : "");

		memcpy(o->name + at, text, n);
		at += n;
	}
	return EM_OK;
}

em_status emi_order_leave(em_order **out, em_order *o, em_status status, const em_errinfo *detail, em_errinfo *err)
{
	if (status != EM_OK) {
		em_order_close(o);
		o = NULL;
		if (err != NULL)
			*err = *detail;
	}
	if (out != NULL)
		*out = o;
	return status;
}

em_status em_order_keys(em_order **out, em_ctx *ctx, uint64_t record_size, const em_key *keys, uint32_t n,
			em_errinfo *err)
{
	const em_key all = { 0, record_size, EM_KEY_BYTES, 0, { 0 } };
	em_errinfo detail = { 0 };
	em_order *o = NULL;
	em_status status;
	uint32_t i;

	status = emi_order_check(out, ctx, record_size, &detail);
	if (status != EM_OK)
		goto out;
	if (n > 0 && keys == NULL) {
		status = emi_fail(&detail, EM_ERR_INVAL, "order: keys is NULL");
		goto out;
	}
	if (n == 0) {
		keys = &all;
		n = 1;
	}
	status = emi_order_make(&o, ctx, record_size, n, &detail);
	for (i = 0; status == EM_OK && i < n; i++)
		status = take_key(&o->fields[i], &keys[i], i, record_size, &detail);
	if (status == EM_OK)
		status = name_fields(o, &detail);
	if (status == EM_OK)
		emi_codec_choose(o);
out:
	return emi_order_leave(out, o, status, &detail, err);
}

em_status em_order_cmp(em_order **out, em_ctx *ctx, uint64_t record_size, const char *name, em_cmp_fn cmp,
		       uint32_t flags, void *user, void (*user_free)(void *user), em_errinfo *err)
{
	em_errinfo detail = { 0 };
	em_order *o = NULL;
	em_status status;

	status = emi_order_check(out, ctx, record_size, &detail);
	if (status != EM_OK)
		goto out;
	if (cmp == NULL) {
		status = emi_fail(&detail, EM_ERR_INVAL, "order: cmp is NULL");
		goto out;
	}
	status = emi_order_check_flags(flags, &detail);
	if (status == EM_OK)
		status = emi_order_make_named(&o, ctx, record_size, name, &detail);
	if (status != EM_OK)
		goto out;
	o->cmp = cmp;
	o->fn_flags = flags;
	o->user = user;
	o->own = emi_cmp_kernels(o->record_bytes);
	emi_codec_choose(o);
	/* Last: until here a failure leaves user to be freed below, by nobody else. */
	o->user_free = user_free;
out:
	if (status != EM_OK && user_free != NULL)
		user_free(user);
	return emi_order_leave(out, o, status, &detail, err);
}

void emi_order_ref(em_order *o)
{
	__atomic_add_fetch(&o->refs, 1, __ATOMIC_RELAXED);
}

void em_order_close(em_order *order)
{
	em_ctx *ctx;

	if (order == NULL || __atomic_sub_fetch(&order->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	ctx = order->ctx;
	if (order->user_free != NULL)
		order->user_free(order->user);
	emi_strfree(ctx, order->name);
	emi_order_free_text(order);
	emi_free(ctx, order, order_bytes(order->nfields));
	emi_ctx_unref(ctx);
}

uint64_t em_order_record_size(const em_order *order)
{
	return order != NULL ? order->record_bytes : 0;
}

const char *em_order_name(const em_order *order)
{
	return order != NULL ? order->name : "";
}

em_ctx *emi_order_ctx(const em_order *o)
{
	return o->ctx;
}

size_t emi_order_reach(const em_order *o)
{
	size_t reach = o->nfields == 0 ? o->record_bytes : 0;
	uint32_t i;

	for (i = 0; i < o->nfields; i++)
		if (o->fields[i].offset + o->fields[i].width > reach)
			reach = o->fields[i].offset + o->fields[i].width;
	return reach;
}

int emi_order_number(const em_order *o, emi_number *number)
{
	const emi_bytes *key = &o->prefix.key;
	const int kind = key->piece[0].kind, width = kind < 0 ? -kind : kind;

	if (o->nfields == 0 || key->npieces != 1 || key->piece[0].shift != 0 || width < 4 || o->prefix.nsigns != 0)
		return 0;
	number->at = key->piece[0].at;
	number->width = (unsigned)width;
	number->swap = kind < 0;
	number->flip = o->prefix.flip;
	return 1;
}

int emi_order_by_fields(const em_order *o)
{
	return o->nfields != 0;
}

const emi_codec *emi_order_codec(const em_order *o)
{
	return &o->codec;
}

const em_kernels *emi_order_own(const em_order *o)
{
	return o->own;
}

void *emi_order_own_arg(const em_order *o, emi_compare *cmp)
{
	return o->cmp != NULL ? cmp : o->own_arg;
}

int emi_order_calls(const em_order *o)
{
	return o->nfields == 0 && o->text == NULL;
}

int emi_order_on_caller(const em_order *o)
{
	return (o->cmp != NULL || o->key_fn != NULL) && (o->fn_flags & EM_FN_THREADS) == 0;
}

uint32_t emi_order_key_failures(const em_order *o)
{
	return __atomic_load_n(&o->key_failures, __ATOMIC_RELAXED);
}
