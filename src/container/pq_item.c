/* SPDX-License-Identifier: BSL-1.0 */
/* pq_item.c -- see pq_item.h. */
#include "container/pq_item.h"

#include "base/error.h"
#include "key/normalise.h"

/* Records that are joined or parted at a time. */
#define AT_A_TIME 256u

/* The order of elements, as numbers that this machine has. */
static em_status make_order(emi_pq_items *it, em_errinfo *err)
{
	const uint32_t flags = EMI_BIG_ENDIAN ? EM_KEY_BIG_ENDIAN : 0;
	const em_key keys[2] = { { 0, 0, it->kind == EMI_PQ_U32 ? EM_KEY_U32 : EM_KEY_U64, flags, { 0, 0 } },
				 { 8, 0, EM_KEY_U64, flags, { 0, 0 } } };
	const uint32_t n = it->form == EMI_PQ_ELEMENT && it->codec->low != NULL ? 2 : 1;

	return em_order_keys(&it->item_order, emi_order_ctx(it->order), it->bytes, keys, n, err);
}

/* Joining may be nothing but an exchange of halves, or nothing at all.  It moves bytes and inverts bits, so a record of
 * different bytes, some with the highest bit, tells. */
static emi_pq_form joined_form(const emi_pq_items *it)
{
	const uint64_t record = UINT64_C(0x8102830485068708);
	uint64_t item;

	if (it->record != sizeof record)
		return EMI_PQ_JOINED;
	emi_pq_load(it, (const char *)&record, 1, (char *)&item);
	return item == record ? EMI_PQ_AS_IS : item == emi_pq_turn(record) ? EMI_PQ_TURNED : EMI_PQ_JOINED;
}

static void choose(emi_pq_items *it, int stable)
{
	const emi_codec *c = it->codec;

	it->record = it->bytes = c->record_bytes;
	if (c->elem == EMI_ELEM_OWN || c->ref) {
		it->kind = EMI_PQ_RECORD;
		return;
	}
	it->bytes = c->elem_bytes;
	it->kind = c->elem == EMI_ELEM_U32 ? EMI_PQ_U32 : c->elem == EMI_ELEM_U64 ? EMI_PQ_U64 : EMI_PQ_PAIR;
	if (!c->identity)
		it->form = EMI_PQ_ELEMENT;
	it->rest_bits = stable ? 0 : emi_order_joined_bits(it->order);
	if (it->rest_bits == 0)
		return;
	it->kind = EMI_PQ_U64;
	it->bytes = sizeof(uint64_t);
	it->form = EMI_PQ_JOINED;
	it->form = joined_form(it);
}

em_status emi_pq_items_open(emi_pq_items *it, const em_order *order, int stable, em_errinfo *err)
{
	em_status st = EM_OK;

	memset(it, 0, sizeof *it);
	if (emi_order_vary(order) != NULL)
		return emi_fail(err, EM_ERR_NOTSUP,
				"the order is of records of any length; a priority queue has records of one size");
	it->order = (em_order *)(uintptr_t)order;
	emi_order_ref(it->order);
	it->codec = emi_order_codec(order);
	it->functions = emi_order_calls(order);
	it->key_failures = emi_order_key_failures(order);
	choose(it, stable);
	if (it->kind != EMI_PQ_RECORD)
		st = make_order(it, err);
	if (st == EM_OK)
		st = emi_collation_open(&it->by, it->item_order != NULL ? it->item_order : order, NULL, NULL, err);
	if (st != EM_OK)
		emi_pq_items_close(it);
	return st;
}

void emi_pq_items_close(emi_pq_items *it)
{
	if (it->order == NULL)
		return;
	if (it->by.order != NULL)
		emi_collation_close(&it->by);
	em_order_close(it->item_order);
	em_order_close(it->order);
	memset(it, 0, sizeof *it);
}

em_status emi_pq_items_check(emi_pq_items *it, em_errinfo *err)
{
	const uint32_t failures = emi_order_key_failures(it->order);

	if (it->kind == EMI_PQ_RECORD)
		return emi_collation_check(&it->by, err);
	if (failures == it->key_failures)
		return EM_OK;
	it->key_failures = failures;
	return emi_fail(err, EM_ERR_USER, "the function that computes keys reported an error");
}

void emi_pq_items_forget(emi_pq_items *it)
{
	emi_collation_watch(&it->by, NULL, NULL);
	it->key_failures = emi_order_key_failures(it->order);
	if (it->kind == EMI_PQ_RECORD)
		it->by.key_failures = it->key_failures;
}

static void join(const emi_pq_items *it, const char *records, size_t n, char *items)
{
	emi_pair pair[AT_A_TIME];
	size_t i, some;

	for (; n != 0; n -= some, records += some * it->record, items += some * sizeof(uint64_t)) {
		some = n < AT_A_TIME ? n : AT_A_TIME;
		it->codec->load(it->order, records, some, pair);
		for (i = 0; i < some; i++) {
			const uint64_t x = pair[i].key << it->rest_bits | pair[i].val;

			memcpy(items + i * sizeof x, &x, sizeof x);
		}
	}
}

static void part(const emi_pq_items *it, const char *items, size_t n, char *records)
{
	const uint64_t mask = ((uint64_t)1 << it->rest_bits) - 1;
	emi_pair pair[AT_A_TIME];
	size_t i, some;

	for (; n != 0; n -= some, records += some * it->record, items += some * sizeof(uint64_t)) {
		some = n < AT_A_TIME ? n : AT_A_TIME;
		for (i = 0; i < some; i++) {
			uint64_t x;

			memcpy(&x, items + i * sizeof x, sizeof x);
			pair[i].key = x >> it->rest_bits;
			pair[i].val = x & mask;
		}
		it->codec->store(it->order, pair, some, records);
	}
}

static void turn(const char *from, size_t n, char *to)
{
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t x;

		memcpy(&x, from + i * sizeof x, sizeof x);
		x = emi_pq_turn(x);
		memcpy(to + i * sizeof x, &x, sizeof x);
	}
}

void emi_pq_load(const emi_pq_items *it, const char *records, size_t n, char *items)
{
	switch (it->form) {
	case EMI_PQ_AS_IS:
		memcpy(items, records, n * it->record);
		break;
	case EMI_PQ_TURNED:
		turn(records, n, items);
		break;
	case EMI_PQ_JOINED:
		join(it, records, n, items);
		break;
	case EMI_PQ_ELEMENT:
	default:
		it->codec->load(it->order, records, n, items);
	}
}

void emi_pq_store(const emi_pq_items *it, const char *items, size_t n, char *records)
{
	switch (it->form) {
	case EMI_PQ_AS_IS:
		memcpy(records, items, n * it->record);
		break;
	case EMI_PQ_TURNED:
		turn(items, n, records);
		break;
	case EMI_PQ_JOINED:
		part(it, items, n, records);
		break;
	case EMI_PQ_ELEMENT:
	default:
		it->codec->store(it->order, items, n, records);
	}
}
