/* SPDX-License-Identifier: BSL-1.0 */
/* btree_plan.c -- see btree_plan.h. */
#include "container/btree_plan.h"

#include <inttypes.h>
#include <string.h>

#include <extmem/sys/block.h>

#include "base/error.h"
#include "container/btree_leaf.h"
#include "container/btree_node.h"
#include "key/order.h"

#define RECORD_MOST ((uint64_t)1 << 20)
#define LEAF_USUAL ((uint64_t)32 << 10) /* larger ones take longer to read, and smaller ones hardly less */
#define NODE_USUAL ((uint64_t)4 << 10)
#define BLOCK_MOST ((uint64_t)1 << 30)
#define CACHE_USUAL ((uint64_t)16 << 20)
#define CACHE_SHARE 8u          /* at most this part of the context's memory, unasked */
#define NODE_SHARE 16u          /* nodes have this part of what leaves have, unasked */
#define FRAMES_MOST ((uint64_t)1 << 24)
#define FAN_LEAST 5u            /* so that of two nodes with few children one or two become that have enough */
#define ALIGN 16u               /* of keys that functions look at, as of records */

static uint64_t pages(uint64_t bytes)
{
	return (bytes + EM_BLOCK_UNIT - 1) / EM_BLOCK_UNIT * EM_BLOCK_UNIT;
}

static em_status take_key(emi_btree_plan *p, const em_order *order, const em_btree_opts *o, em_errinfo *err)
{
	const uint64_t record = em_order_record_size(order);
	uint64_t reach;

	if (record == 0)
		return emi_fail(err, EM_ERR_NOTSUP, "records of any length");
	if (record > RECORD_MOST)
		return emi_fail(err, EM_ERR_RANGE, "records of %" PRIu64 " bytes", record);
	p->record = (size_t)record;
	p->by_fields = emi_order_by_fields(order);
	reach = p->by_fields ? emi_order_reach(order) : 1;
	p->key = o->key_bytes != 0 ? (size_t)o->key_bytes : emi_order_reach(order);
	if (o->key_bytes > record || p->key < reach)
		return emi_fail(err, EM_ERR_RANGE,
				"a key of the first %" PRIu64 " bytes of %" PRIu64 "; the order looks at %" PRIu64,
				o->key_bytes, record, reach);
	p->exact = emi_order_codec(order)->exact;
	return EM_OK;
}

/* As many children as there is room for. */
static void lay_out_node(emi_btree_plan *p)
{
	const size_t align = p->by_fields ? 1 : ALIGN;
	const size_t behind = p->by_fields || p->exact ? 0 : p->record - p->key;
	const size_t each = 2 * sizeof(uint64_t);
	size_t rest = p->node_bytes - sizeof(emi_btree_node), fan;

	p->key_step = p->exact ? 0 : (p->key + align - 1) / align * align;
	/* Behind the last key there is as much as a record has. */
	rest = rest > behind + align ? rest - behind - align : 0;
	fan = rest / (each + p->key_step);
	p->fan = (uint32_t)fan;
	p->fan_least = p->fan / 3 > 2 ? p->fan / 3 : 2;
	p->head_at = sizeof(emi_btree_node) + fan * sizeof(uint64_t);
	p->key_at = (p->head_at + fan * sizeof(uint64_t) + align - 1) / align * align;
}

static em_status lay_out(emi_btree_plan *p, const em_btree_opts *o, em_errinfo *err)
{
	const uint64_t node_least = pages(sizeof(emi_btree_node) + 8 * (16 + p->key + ALIGN) + p->record + ALIGN);
	uint64_t leaf = pages(sizeof(emi_leaf) + 8 * (uint64_t)(p->record + 2));

	leaf = o->leaf_bytes != 0 ? o->leaf_bytes : leaf > LEAF_USUAL ? leaf : LEAF_USUAL;
	p->leaf_bytes = (size_t)leaf;
	p->node_bytes = (size_t)(o->node_bytes != 0 ? o->node_bytes
				 : p->exact || node_least < NODE_USUAL ? NODE_USUAL : node_least);
	if (o->leaf_bytes % EM_BLOCK_UNIT != 0 || o->node_bytes % EM_BLOCK_UNIT != 0)
		return emi_fail(err, EM_ERR_INVAL,
				"leaves of %" PRIu64 " bytes and nodes of %" PRIu64 ": not both are multiples of %u",
				o->leaf_bytes, o->node_bytes, EM_BLOCK_UNIT);
	if (leaf > BLOCK_MOST || o->node_bytes > BLOCK_MOST)
		return emi_fail(err, EM_ERR_RANGE, "leaves of %" PRIu64 " bytes and nodes of %" PRIu64, leaf,
				o->node_bytes);
	lay_out_node(p);
	p->leaf_most = emi_leaf_most(p->leaf_bytes, p->record);
	p->leaf_least = p->leaf_most / 3 > 1 ? p->leaf_most / 3 : 1;
	if (p->leaf_most < EMI_LEAF_LEAST)
		return emi_fail(err, EM_ERR_RANGE, "leaves of %" PRIu64 " bytes hold %" PRIu32 " records, less than %u",
				leaf, p->leaf_most, EMI_LEAF_LEAST);
	if (p->fan < FAN_LEAST)
		return emi_fail(err, EM_ERR_RANGE, "nodes of %" PRIu64 " bytes hold %" PRIu32 " keys, less than %u",
				(uint64_t)p->node_bytes, p->fan, FAN_LEAST);
	return EM_OK;
}

static em_status size_caches(emi_btree_plan *p, uint64_t memory, const em_btree_opts *o, em_errinfo *err)
{
	const uint64_t share = memory / CACHE_SHARE;
	uint64_t leaves = o->cache_bytes, nodes = o->node_cache_bytes;

	if (leaves == 0)
		leaves = share < CACHE_USUAL ? share : CACHE_USUAL;
	if (nodes == 0)
		nodes = leaves / NODE_SHARE;
	leaves /= p->leaf_bytes;
	nodes /= p->node_bytes;
	if (o->cache_bytes == 0 && leaves < EM_BTREE_FRAMES_MIN)
		leaves = EM_BTREE_FRAMES_MIN;
	if (o->node_cache_bytes == 0 && nodes < 2 * EM_BTREE_FRAMES_MIN)
		nodes = 2 * EM_BTREE_FRAMES_MIN;
	if (leaves < EM_BTREE_FRAMES_MIN || nodes < EM_BTREE_FRAMES_MIN || leaves > FRAMES_MOST || nodes > FRAMES_MOST)
		return emi_fail(err, EM_ERR_RANGE,
				"caches of %" PRIu64 " leaves and %" PRIu64 " nodes: each has from %u to 2^24", leaves,
				nodes, EM_BTREE_FRAMES_MIN);
	p->leaf_frames = (uint32_t)leaves;
	p->node_frames = (uint32_t)nodes;
	return EM_OK;
}

em_status emi_btree_plan_make(emi_btree_plan *p, uint64_t memory, const em_order *order, const em_btree_opts *o,
			      em_errinfo *err)
{
	em_status st;

	memset(p, 0, sizeof *p);
	if ((o->flags & ~(uint32_t)EM_BTREE_DUPLICATES) != 0)
		return emi_fail(err, EM_ERR_INVAL, "flags 0x%" PRIx32 " are not known here", o->flags);
	p->duplicates = (o->flags & EM_BTREE_DUPLICATES) != 0;
	st = take_key(p, order, o, err);
	if (st == EM_OK)
		st = lay_out(p, o, err);
	return st == EM_OK ? size_caches(p, memory, o, err) : st;
}
