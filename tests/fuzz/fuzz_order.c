/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fuzz_order.c -- key fields of records of one size: which are refused, how records compare by the others, and what
 * elements they become.
 *
 * The input is
 *
 *	byte 0     how many fields, and whether they are to be right
 *	byte 1     bytes of a record
 *	byte 2     how records are made of the rest: one behind the other, or with most bytes as in the first
 *	then       four bytes for each field, and the records
 *
 * A field-by-field comparison, the order's own, that of normalised keys and the order in which the kernels put
 * elements are to be the same; and records can be made again from their elements.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem.h>

#include "fuzz/order_model.h"
#include "key/order.h"

#define HEADER 3u
#define RECORDS_MOST 24u
#define RECORD_MOST 48u

#define CHECK(what) check((what) != 0, #what, __LINE__)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(int fine, const char *what, int line)
{
	if (fine)
		return;
	fprintf(stderr, "fuzz_order.c:%d: %s\n", line, what);
	abort();
}

typedef struct records {
	em_key key[ORDER_KEYS_MOST];
	uint32_t keys;
	size_t bytes;                   /* of a record */
	size_t n;
	unsigned char *data;            /* with nothing in front and behind */
} records;

static unsigned char *record_at(const records *r, size_t i)
{
	return r->data + i * r->bytes;
}

static void make_records(records *r, int alike, const uint8_t *p, size_t left)
{
	size_t i, k;

	r->n = alike ? left / 3 + 1 : left / r->bytes;
	if (r->n > RECORDS_MOST)
		r->n = RECORDS_MOST;
	r->data = calloc(r->n + (r->n == 0), r->bytes);
	CHECK(r->data);
	if (!alike) {
		if (r->n != 0)
			memcpy(r->data, p, r->n * r->bytes);
		return;
	}
	/* The first, and the others with one byte changed in one before them. */
	for (k = 0; k < r->bytes && k < left; k++)
		r->data[k] = p[k];
	for (i = 1; i < r->n; i++) {
		memcpy(record_at(r, i), record_at(r, p[3 * i - 3] % i), r->bytes);
		record_at(r, i)[p[3 * i - 2] % r->bytes] = p[3 * i - 1];
	}
}

static int sign(int c)
{
	return (c > 0) - (c < 0);
}

static int model_compare(const records *r, const unsigned char *a, const unsigned char *b)
{
	return order_compare(r->key, r->keys, r->bytes, a, b);
}

/* Key and value of an element. */
static emi_pair element(const emi_codec *c, const void *elems, size_t i)
{
	emi_pair e = { 0, 0 };

	if (c->elem == EMI_ELEM_U32)
		e.key = ((const uint32_t *)elems)[i];
	else if (c->elem == EMI_ELEM_U64)
		e.key = ((const uint64_t *)elems)[i];
	else
		e = ((const emi_pair *)elems)[i];
	return e;
}

/* Each with each: the comparison, and what the elements say. */
static void check_pairs(const records *r, const em_order *order, const void *elems)
{
	const emi_codec *c = emi_order_codec(order);
	emi_compare compare = { 0 };
	const emi_tie tie = emi_order_tie(order, &compare);
	size_t i, j;

	CHECK((tie.fn == NULL) == c->exact);
	for (i = 0; i < r->n; i++) {
		const emi_pair x = element(c, elems, i);

		CHECK(x.key == c->key(order, record_at(r, i)));
		for (j = 0; j < r->n; j++) {
			const emi_pair y = element(c, elems, j);
			const int want = model_compare(r, record_at(r, i), record_at(r, j));

			CHECK(em_order_compare(order, record_at(r, i), record_at(r, j)) == want);
			if (x.key != y.key)
				CHECK((x.key < y.key ? -1 : 1) == want);
			else if (c->exact)
				CHECK(want == 0);
			else
				CHECK(sign(tie.fn(tie.arg, x.val, y.val)) == want);
		}
	}
}

/* The kernels put the elements in order, stably; records are made of them. */
static void check_sort(const records *r, const em_order *order, void *elems)
{
	const emi_codec *c = emi_order_codec(order);
	const emi_kernels *kern = emi_kernels_for(c->elem, "scalar");
	emi_compare compare = { 0 };
	const emi_tie tie = emi_order_tie(order, &compare);
	unsigned char *out = malloc(r->n * r->bytes + 1), *want = malloc(r->n * r->bytes + 1);
	void *tmp = malloc(r->n * c->elem_bytes + 1), *work = NULL;
	size_t i, j;

	CHECK(out && want && tmp && posix_memalign(&work, 4096, EMI_KERN_WORK) == 0);
	if (r->n != 0)
		c->store(order, elems, r->n, out);
	CHECK(memcmp(out, r->data, r->n * r->bytes) == 0);
	for (i = 0; i < r->n; i++) {
		for (j = i; j > 0 && model_compare(r, want + (j - 1) * r->bytes, record_at(r, i)) > 0; j--)
			memcpy(want + j * r->bytes, want + (j - 1) * r->bytes, r->bytes);
		memcpy(want + j * r->bytes, record_at(r, i), r->bytes);
	}
	kern->sort(elems, tmp, r->n, &tie, work);
	free(work);
	if (r->n != 0)
		c->store(order, elems, r->n, out);
	CHECK(memcmp(out, want, r->n * r->bytes) == 0);
	free(out);
	free(want);
	free(tmp);
}

static void check_order(const records *r, em_order *order)
{
	const emi_codec *c = emi_order_codec(order);
	void *elems = malloc(r->n * c->elem_bytes + 1);

	CHECK(elems);
	CHECK(em_order_record_size(order) == r->bytes);
	CHECK(em_order_name(order)[0] != '\0');
	c->load(order, r->data, r->n, elems);
	check_pairs(r, order, elems);
	check_sort(r, order, elems);
	free(elems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_order *order;
	em_status want;
	em_ctx *ctx;
	uint32_t i, wrong = 0;
	records r;
	size_t at = HEADER;

	if (bytes < HEADER)
		return 0;
	memset(&r, 0, sizeof r);
	r.bytes = 1 + data[1] % RECORD_MOST;
	for (i = data[0] % (ORDER_KEYS_MOST + 1); i > 0 && bytes - at >= ORDER_KEY_BYTES; i--, at += ORDER_KEY_BYTES)
		r.key[r.keys++] = data[0] >= 128 ? order_key_any(data + at) : order_key_right(data + at, r.bytes);
	make_records(&r, data[2] % 2, data + at, bytes - at);

	opts.memory = 1u << 20;
	opts.threads = 1;
	opts.backend = "memory";
	CHECK(em_ctx_open(&ctx, &opts) == EM_OK);
	memset(&err, 0, sizeof err);
	want = order_verdict(r.key, r.keys, r.bytes, &wrong);
	CHECK(data[0] >= 128 || want == EM_OK);
	CHECK(em_order_keys(&order, ctx, r.bytes, r.key, r.keys, &err) == want);
	if (want == EM_OK) {
		check_order(&r, order);
	} else {
		char text[16];

		CHECK(order == NULL && err.status == want);
		snprintf(text, sizeof text, "keys[%u]", (unsigned)wrong);
		CHECK(strncmp(err.text, text, strlen(text)) == 0);
	}
	em_order_close(order);
	em_ctx_close(ctx);
	free(r.data);
	return 0;
}
