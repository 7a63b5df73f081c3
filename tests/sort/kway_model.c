/* SPDX-License-Identifier: BSL-1.0 */
/* kway_model.c -- see kway_model.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <extmem/gen/order.h>

#include "key/key_model.h"
#include "sort/kway_model.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef struct kway_medium {
	uint64_t key, rest[2];
} kway_medium;

#define EM_GEN_NAME kway_by_medium
#define EM_GEN_RECORD kway_medium
#define EM_GEN_LESS(a, b) ((a)->key < (b)->key)
#include <extmem/gen/order.h>

enum { BY_KEYS, BY_COMPARISON, BY_COMPUTED, BY_TEMPLATE };

/* Functions compare the bytes that the first key names. */
static const struct {
	int how;
	size_t bytes;
	uint32_t nkeys;
	em_key key[2];
} orders[] = {
	{ BY_KEYS, 1, 1, { { 0, 0, EM_KEY_U8, 0, { 0 } } } },
	{ BY_KEYS, 4, 1, { { 0, 0, EM_KEY_U32, 0, { 0 } } } },
	{ BY_KEYS, 4, 1, { { 0, 0, EM_KEY_I32, EM_KEY_DESCENDING, { 0 } } } },
	{ BY_KEYS, 8, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } },
	{ BY_KEYS, 8, 1, { { 0, 0, EM_KEY_F64, EM_KEY_DESCENDING, { 0 } } } },
	{ BY_KEYS, 12, 1, { { 4, 0, EM_KEY_U32, 0, { 0 } } } },
	{ BY_KEYS, 16, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } },
	{ BY_KEYS, 16, 1, { { 8, 0, EM_KEY_I64, EM_KEY_BIG_ENDIAN, { 0 } } } },
	{ BY_KEYS, 16, 2, { { 0, 0, EM_KEY_U64, 0, { 0 } }, { 8, 0, EM_KEY_U64, 0, { 0 } } } },
	{ BY_KEYS, 40, 1, { { 3, 20, EM_KEY_BYTES, 0, { 0 } } } },
	{ BY_KEYS, 100, 1, { { 0, 10, EM_KEY_BYTES, 0, { 0 } } } },
	{ BY_KEYS, 100, 1, { { 7, 0, EM_KEY_U64, 0, { 0 } } } },
	{ BY_KEYS, 100, 2, { { 0, 80, EM_KEY_BYTES, 0, { 0 } }, { 90, 0, EM_KEY_I16, EM_KEY_DESCENDING, { 0 } } } },
	{ BY_COMPARISON, 8, 1, { { 0, 4, EM_KEY_BYTES, 0, { 0 } } } },
	{ BY_COMPARISON, 16, 1, { { 1, 2, EM_KEY_BYTES, 0, { 0 } } } },
	{ BY_COMPARISON, 17, 1, { { 1, 9, EM_KEY_BYTES, 0, { 0 } } } },
	{ BY_COMPUTED, 8, 1, { { 2, 1, EM_KEY_BYTES, 0, { 0 } } } },
	{ BY_COMPUTED, 33, 1, { { 2, 1, EM_KEY_BYTES, 0, { 0 } } } },
	{ BY_TEMPLATE, sizeof(kway_medium), 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } },
};

const size_t kway_orders = COUNT(orders);

static int compare_bytes(size_t which, const void *a, const void *b)
{
	const em_key *key = &orders[which].key[0];

	return memcmp((const unsigned char *)a + key->offset, (const unsigned char *)b + key->offset,
		      (size_t)key->width);
}

static int compare_called(const void *a, const void *b, void *user)
{
	kway_calls *c = user;

	return ++c->n == c->fail_at ? EM_CMP_ERROR : compare_bytes(c->which, a, b);
}

static int compute_called(const void *records, size_t n, uint64_t *keys, void *user)
{
	kway_calls *c = user;
	const unsigned char *at = records;
	size_t i;

	for (i = 0; i < n; i++, at += orders[c->which].bytes)
		keys[i] = at[orders[c->which].key[0].offset];
	return ++c->n == c->fail_at;
}

em_order *kway_order(em_ctx *ctx, size_t which, kway_calls *calls)
{
	const size_t bytes = orders[which].bytes;
	em_order *o = NULL;
	em_status st;

	calls->which = which;
	switch (orders[which].how) {
	case BY_KEYS:
		st = em_order_keys(&o, ctx, bytes, orders[which].key, orders[which].nkeys, NULL);
		break;
	case BY_COMPARISON:
		st = em_order_cmp(&o, ctx, bytes, "cmp", compare_called, 0, calls, NULL, NULL);
		break;
	case BY_COMPUTED:
		st = em_order_key_fn(&o, ctx, bytes, "fn", compute_called, 0, calls, NULL, NULL);
		break;
	default:
		st = kway_by_medium_order(&o, ctx, NULL);
	}
	assert_int_equal(st, EM_OK);
	return o;
}

size_t kway_bytes(size_t which)
{
	return orders[which].bytes;
}

int kway_compare(size_t which, const void *a, const void *b)
{
	uint64_t x, y;

	switch (orders[which].how) {
	case BY_KEYS:
		return model_compare(orders[which].key, orders[which].nkeys, a, b);
	case BY_TEMPLATE:
		memcpy(&x, a, sizeof x);
		memcpy(&y, b, sizeof y);
		return (x > y) - (x < y);
	default:
		return compare_bytes(which, a, b);
	}
}

static size_t sorting;

static int compare_sorting(const void *a, const void *b)
{
	return kway_compare(sorting, a, b);
}

unsigned char *kway_records(test_rng *rng, size_t which, size_t n, size_t few)
{
	const size_t bytes = orders[which].bytes;
	unsigned char *records = malloc(n * bytes + 1);
	size_t i;
	uint32_t k;

	assert_non_null(records);
	test_fill(rng, records, n * bytes);
	for (i = few; few != 0 && i < n; i++) {
		const unsigned char *like = records + test_below(rng, few) * bytes;

		for (k = 0; k < orders[which].nkeys; k++) {
			const em_key *key = &orders[which].key[k];

			memcpy(records + i * bytes + key->offset, like + key->offset, model_width(key));
		}
	}
	/* What equal ones look like is no matter: the input is what it is. */
	sorting = which;
	qsort(records, n, bytes, compare_sorting);
	return records;
}

kway_part *kway_next_part(size_t which, kway_part *part, size_t n)
{
	const size_t bytes = orders[which].bytes;
	kway_part *best = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		kway_part *p = &part[i];
		int c;

		if (!p->live || p->at == p->n)
			continue;
		if (best != NULL) {
			c = kway_compare(which, p->records + p->at * bytes, best->records + best->at * bytes);
			if (c > 0 || (c == 0 && (p->rank > best->rank ||
						 (p->rank == best->rank && p->number > best->number))))
				continue;
		}
		best = p;
	}
	return best;
}

static em_status next_piece(emi_sorted_source *s, em_errinfo *err)
{
	kway_pieces *p = (kway_pieces *)(void *)s;
	size_t n = 1 + (size_t)test_below(p->rng, p->most);

	free(p->lent);
	p->lent = NULL;
	s->at = s->end = NULL;
	p->windows++;
	if (p->windows == p->fail_at) {
		err->status = EM_ERR_IO;
		return EM_ERR_IO;
	}
	if (p->at == p->n)
		return EM_END;
	n = n < p->n - p->at ? n : p->n - p->at;
	/* Nothing is behind the last one. */
	p->lent = malloc(n * p->bytes + (size_t)p->odd);
	assert_non_null(p->lent);
	memcpy(p->lent + p->odd, p->records + p->at * p->bytes, n * p->bytes);
	s->at = (const char *)p->lent + p->odd;
	s->end = s->at + n * p->bytes;
	p->at += n;
	return EM_OK;
}

static void close_pieces(emi_sorted_source *s)
{
	kway_pieces *p = (kway_pieces *)(void *)s;

	free(p->lent);
	memset(p, 0, sizeof *p);
}

void kway_pieces_open(kway_pieces *p, test_rng *rng, const unsigned char *records, size_t n, size_t bytes, size_t most,
		      int odd)
{
	static const emi_sorted_ops ops = { next_piece, close_pieces };

	memset(p, 0, sizeof *p);
	p->source.ops = &ops;
	p->rng = rng;
	p->records = records;
	p->n = n;
	p->bytes = bytes;
	p->most = most;
	p->odd = odd;
}
