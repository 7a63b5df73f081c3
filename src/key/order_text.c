/* SPDX-License-Identifier: BSL-1.0 */
/*
 * order_text.c -- orders of records of any length: making, asking and comparing.
 *
 * Such an order has no record size and no fields; its keys stand in an emi_text of its own.  Its codec knows frames
 * (vary.h): what the engine compares are addresses of frames.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "key/order_impl.h"

#define ALL_KEY_FLAGS                                                                                                  \
	(EM_TEXT_REVERSE | EM_TEXT_SKIP_START | EM_TEXT_SKIP_END | EM_TEXT_DICTIONARY | EM_TEXT_FOLD | EM_TEXT_PRINTING)
#define ALL_FLAGS (EM_TEXT_KEYS_ONLY | EM_TEXT_LAST_REVERSE | EM_TEXT_CSV)

const char emi_text_kinds[] = "bnghMV";

static int fits(uint64_t n)
{
	return n <= (SIZE_MAX - sizeof(emi_text)) / sizeof(em_text_key);
}

static size_t text_bytes(uint32_t n)
{
	return sizeof(emi_text) + (size_t)n * sizeof(em_text_key);
}

static uint64_t frame_key(const em_order *o, const void *frame)
{
	const emi_frame f = emi_frame_get(&o->vary, frame);

	return emi_string_key(&o->vary, &f, 0);
}

static em_status check_key(const em_text_key *k, uint32_t i, em_errinfo *err)
{
	if (k->kind < EM_TEXT_BYTES || k->kind > EM_TEXT_VERSION)
		return emi_fail(err, EM_ERR_INVAL, "keys[%" PRIu32 "]: unknown kind %" PRId32, i, k->kind);
	if ((k->flags & ~ALL_KEY_FLAGS) != 0)
		return emi_fail(err, EM_ERR_INVAL, "keys[%" PRIu32 "]: unknown flags 0x%" PRIx32, i,
				k->flags & ~ALL_KEY_FLAGS);
	if ((k->reserved[0] | k->reserved[1] | k->reserved[2]) != 0)
		return emi_fail(err, EM_ERR_INVAL, "keys[%" PRIu32 "]: what is reserved is not 0: use EM_TEXT_KEY_INIT",
				i);
	if (k->first_field == 0 || k->first_char == 0)
		return emi_fail(err, EM_ERR_INVAL, "keys[%" PRIu32 "]: its first %s is 0", i,
				k->first_field == 0 ? "field" : "character");
	return EM_OK;
}

static em_status check_text(const em_text_key *keys, uint32_t n, const em_text_opts *opts, em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t i;

	if ((opts->flags & ~ALL_FLAGS) != 0)
		return emi_fail(err, EM_ERR_INVAL, "text order: unknown flags 0x%" PRIx32, opts->flags & ~ALL_FLAGS);
	if (opts->reserved != 0)
		return emi_fail(err, EM_ERR_INVAL, "text order: reserved is not 0");
	if (opts->separator > EM_TEXT_BLANKS)
		return emi_fail(err, EM_ERR_INVAL, "text order: unknown separator 0x%" PRIx32, opts->separator);
	if ((opts->flags & EM_TEXT_KEYS_ONLY) != 0 && n == 0)
		return emi_fail(err, EM_ERR_INVAL, "text order: there are no keys to compare alone");
	if ((opts->flags & EM_TEXT_CSV) != 0 && opts->separator == EM_TEXT_BLANKS)
		return emi_fail(err, EM_ERR_INVAL, "text order: CSV needs a separator");
	if (n != 0 && keys == NULL)
		return emi_fail(err, EM_ERR_INVAL, "text order: keys is NULL");
	if (!fits(n))
		return emi_fail(err, EM_ERR_NOMEM, "text order: %" PRIu32 " keys do not fit in memory", n);
	for (i = 0; i < n && st == EM_OK; i++)
		st = check_key(&keys[i], i, err);
	return st;
}

/* What the order is called: its options and keys as numbers.  Returns the length, whatever the room. */
static size_t describe(const emi_text *t, char *out, size_t room)
{
	size_t at = (size_t)snprintf(out, room, EMI_TEXT_NAME "%" PRIu32 ":%" PRIu32, t->separator, t->flags);
	uint32_t i;

	for (i = 0; i < t->n; i++) {
		const em_text_key *k = &t->key[i];

		at += (size_t)snprintf(at < room ? out + at : NULL, at < room ? room - at : 0,
				       ":%" PRIu64 ".%" PRIu64 ",%" PRIu64 ".%" PRIu64 "%c%" PRIu32, k->first_field,
				       k->first_char, k->last_field, k->last_char, emi_text_kinds[k->kind], k->flags);
	}
	return at;
}

static em_status name_order(em_order *o, em_errinfo *err)
{
	const size_t bytes = describe(o->text, NULL, 0) + 1;

	o->name = emi_alloc(o->ctx, bytes, err);
	if (o->name == NULL)
		return err->status;
	describe(o->text, o->name, bytes);
	return EM_OK;
}

static em_status take_keys(em_order *o, const em_text_key *keys, uint32_t n, const em_text_opts *opts, em_errinfo *err)
{
	o->text = emi_alloc(o->ctx, text_bytes(n), err);
	if (o->text == NULL)
		return err->status;
	o->text->n = n;
	o->text->flags = opts->flags;
	o->text->separator = opts->separator;
	if (n != 0)
		memcpy(o->text->key, keys, n * sizeof *keys);
	o->vary.text = o->text;
	o->vary.keyed = n != 0;
	o->vary.line = (opts->flags & EM_TEXT_KEYS_ONLY) == 0;
	o->vary.reverse = (opts->flags & EM_TEXT_LAST_REVERSE) != 0;
	o->codec.elem = EMI_ELEM_PAIR;
	o->codec.ref = 1;
	o->codec.elem_bytes = sizeof(emi_pair);
	o->codec.align = sizeof(uint64_t);
	o->codec.key = frame_key;
	return name_order(o, err);
}

em_status em_order_text(em_order **out, em_ctx *ctx, const em_text_key *keys, uint32_t n, const em_text_opts *opts,
			em_errinfo *err)
{
	const em_text_opts defaults = EM_TEXT_OPTS_INIT;
	em_text_opts full = defaults;
	em_errinfo detail = { 0 };
	em_order *o = NULL;
	em_status st;

	if (out == NULL || ctx == NULL)
		st = emi_fail(&detail, EM_ERR_INVAL, "order: %s is NULL", out == NULL ? "out" : "ctx");
	else
		st = emi_ctx_check(ctx, &detail);
	if (st == EM_OK && opts != NULL)
		st = EMI_STRUCT_TAKE(em_text_opts, &full, opts, &detail);
	if (st == EM_OK)
		st = check_text(keys, n, &full, &detail);
	if (st == EM_OK)
		st = emi_order_make(&o, ctx, 0, 0, &detail);
	if (st == EM_OK)
		st = take_keys(o, keys, n, &full, &detail);
	return emi_order_leave(out, o, st, &detail, err);
}

void emi_order_free_text(em_order *o)
{
	if (o->text != NULL)
		emi_free(o->ctx, o->text, text_bytes(o->text->n));
}

const emi_vary *emi_order_vary(const em_order *o)
{
	return o->text != NULL ? &o->vary : NULL;
}

/* The kernels' tie: two frames by their addresses. */
int emi_tie_vary(void *arg, uint64_t a, uint64_t b)
{
	const emi_vary *v = &((const emi_compare *)arg)->order->vary;
	const emi_frame x = emi_frame_get(v, (const unsigned char *)(uintptr_t)a);
	const emi_frame y = emi_frame_get(v, (const unsigned char *)(uintptr_t)b);

	return emi_string_compare(v, &x, &y, 0);
}

/* A frame of a record, of *bytes to be released. */
static unsigned char *frame_of(const em_order *o, const void *record, size_t n, size_t *bytes, em_errinfo *err)
{
	unsigned char *frame;
	size_t need;

	if (n == 0)
		record = "";    /* it may be NULL, from which not even nothing can be copied */
	emi_frame_make(&o->vary, record, n, NULL, 0, &need);
	*bytes = need + sizeof(uint64_t);
	frame = emi_alloc(o->ctx, *bytes, err);
	if (frame != NULL)
		emi_frame_make(&o->vary, record, n, frame, need, NULL);
	return frame;
}

em_status em_text_compare(const em_order *order, const void *a, size_t na, const void *b, size_t nb, int *result)
{
	unsigned char *fa, *fb = NULL;
	size_t bytes_a, bytes_b = 0;
	em_errinfo err = { 0 };

	if (order == NULL || order->text == NULL || result == NULL || (a == NULL && na != 0) || (b == NULL && nb != 0))
		return EM_ERR_INVAL;
	fa = frame_of(order, a, na, &bytes_a, &err);
	if (fa != NULL)
		fb = frame_of(order, b, nb, &bytes_b, &err);
	if (fb != NULL) {
		const emi_frame x = emi_frame_get(&order->vary, fa), y = emi_frame_get(&order->vary, fb);
		const int c = emi_string_compare(&order->vary, &x, &y, 0);

		*result = (c > 0) - (c < 0);
		emi_free(order->ctx, fb, bytes_b);
	}
	if (fa != NULL)
		emi_free(order->ctx, fa, bytes_a);
	return err.status;
}

em_status em_text_find(const em_order *order, uint32_t i, const void *record, size_t n, size_t *begin, size_t *end)
{
	if (order == NULL || order->text == NULL || begin == NULL || end == NULL || (record == NULL && n != 0))
		return EM_ERR_INVAL;
	if (i >= order->text->n)
		return EM_ERR_RANGE;
	emi_text_find(order->text, &order->text->key[i], record, n, begin, end);
	return EM_OK;
}
