/* SPDX-License-Identifier: BSL-1.0 */
/* radix_heap_plan.c -- see radix_heap_plan.h. */
#include "container/radix_heap_plan.h"

#include <inttypes.h>
#include <string.h>

#include <extmem/sys/block.h>

#include "base/error.h"
#include "base/workers.h"
#include "block/suffice.h"
#include "container/radix_heap.h"

#define RECORD_MOST ((uint64_t)1 << 24)
#define MEMORY_USUAL ((uint64_t)64 << 20)
#define MEMORY_SHARE 8u         /* at most this part of the context's memory, unasked */
#define BLOCK_LEAST ((uint64_t)32 << 10) /* of sizes that are chosen where there is memory enough, ... */
#define BLOCK_USUAL ((uint64_t)64 << 10) /* ... this if that costs no level, ... */
#define BLOCK_MOST ((uint64_t)1 << 20)   /* ... and more if all buckets have it in this part of the memory */
#define BLOCK_SHARE 4u
#define FRONT_MOST 8192u        /* records: a power of two */
#define FRONT_LEAST 16u
#define FRONT_SHARE 8u          /* the front has at most this part of the memory */
#define LARGE 4096u             /* bytes of a record of which the front need not have so many */
#define RUN_SHARE 8u            /* runs have at most this part of the memory, ... */
#define RUN_MOST ((uint64_t)8 << 20) /* ... and each so many bytes: they are sorted in a cache, best of all */
#define THREADS_MOST 2u         /* the caller's, and one that sorts */
#define WRITES_MOST 16u         /* buffers, and no more than this part of the memory has */
#define READS_MOST 64u          /* so that the next run is read while one is popped */
#define BUFFERS_LEAST 2u
#define BUFFERS_SHARE 32u

/* What is chosen beside r and h. */
typedef struct room {
	size_t block;
	uint32_t front;
	uint32_t writes, reads; /* buffers */
	uint64_t run;
} room;

static em_status take_key(emi_radix_plan *p, const em_radix_heap_opts *o, em_errinfo *err)
{
	emi_radix_key *k = &p->key;
	const int32_t type = o->key_type != 0 ? o->key_type : EM_KEY_U64;
	const int is_float = type == EM_KEY_F32 || type == EM_KEY_F64;

	if (!is_float && (type < EM_KEY_U8 || type > EM_KEY_U64))
		return emi_fail(err, EM_ERR_INVAL, "a key of type %" PRId32 " is no unsigned integer and no float",
				type);
	if ((o->key_flags & ~EM_KEY_BIG_ENDIAN) != 0 || o->reserved != 0)
		return emi_fail(err, EM_ERR_INVAL, "flags 0x%" PRIx32 " of a key are not known here",
				o->reserved != 0 ? o->reserved : o->key_flags);
	if (is_float && o->range != 0)
		return emi_fail(err, EM_ERR_INVAL, "a range of floats");
	k->width = (unsigned)emi_type_width(type);
	p->by.offset = o->key_offset;
	p->by.type = type;
	p->by.flags = o->key_flags;
	if (o->key_offset > o->record_bytes || k->width > o->record_bytes - o->key_offset)
		return emi_fail(err, EM_ERR_RANGE, "a key of %u bytes at %" PRIu64 " of records of %" PRIu64, k->width,
				o->key_offset, o->record_bytes);
	k->offset = (size_t)o->key_offset;
	k->swap = k->width > 1 && ((o->key_flags & EM_KEY_BIG_ENDIAN) != 0) != EMI_BIG_ENDIAN;
	k->sign = is_float ? (uint64_t)1 << (8 * k->width - 1) : 0;
	k->last = UINT64_MAX >> (64 - 8 * k->width);
	if (is_float)
		k->last = type == EM_KEY_F32 ? (uint64_t)0x7f800000 : (uint64_t)0x7ff << 52;
	return EM_OK;
}

static em_status check_sizes(const em_radix_heap_opts *o, em_errinfo *err)
{
	if (o->record_bytes == 0 || o->record_bytes > RECORD_MOST)
		return emi_fail(err, EM_ERR_RANGE, "records of %" PRIu64 " bytes", o->record_bytes);
	if (o->block_bytes % EM_BLOCK_UNIT != 0)
		return emi_fail(err, EM_ERR_INVAL, "blocks of %" PRIu64 " bytes, which is no multiple of %u",
				o->block_bytes, EM_BLOCK_UNIT);
	if (o->block_bytes > UINT32_MAX || (o->block_bytes != 0 && o->block_bytes < o->record_bytes))
		return emi_fail(err, EM_ERR_RANGE, "blocks of %" PRIu64 " bytes for records of %" PRIu64,
				o->block_bytes, o->record_bytes);
	return EM_OK;
}

/* A power of two, by the part of the memory. */
static uint32_t front_of(uint64_t memory, size_t record)
{
	const uint64_t each = 3 * sizeof(emi_radix_pair) + (record > 8 ? 2 * record : 0);
	const uint32_t least = record < LARGE ? FRONT_LEAST : 2;
	uint32_t n = FRONT_MOST;

	while (n > least && n * each > memory / FRONT_SHARE)
		n /= 2;
	return n;
}

static uint32_t buffers_of(uint64_t memory, size_t block, uint32_t most)
{
	const uint64_t n = memory / BUFFERS_SHARE / block;

	return n < BUFFERS_LEAST ? BUFFERS_LEAST : n > most ? most : (uint32_t)n;
}

/* Records of a run; 0: the front does as well. */
static uint64_t run_of(const emi_radix_plan *p, uint64_t memory)
{
	const uint64_t fixed = emi_radix_runs_memory(p->record, p->key.width, 0), has = memory / RUN_SHARE;
	const uint64_t each = emi_radix_runs_memory(p->record, p->key.width, 1) - fixed;
	uint64_t n = has > fixed ? (has - fixed) / each : 0;

	if (n > RUN_MOST / p->record)
		n = RUN_MOST / p->record;
	return n > front_of(memory, p->record) ? n : 0;
}

/* Bytes of a heap beside its buckets. */
static uint64_t beside(const emi_radix_plan *p, const room *m)
{
	return sizeof(em_radix_heap) + emi_radix_front_memory(p->record, m->front) +
	       (m->run != 0 ? emi_radix_runs_memory(p->record, p->key.width, m->run) : 0) +
	       emi_radix_buckets_memory(m->block, m->writes, m->reads);
}

/* The least memory with blocks of a size. */
static uint64_t least_of(const emi_radix_plan *p, size_t block)
{
	const room m = { block, front_of(0, p->record), BUFFERS_LEAST, BUFFERS_LEAST, 0 };
	uint64_t least = UINT64_MAX;
	uint32_t h;

	for (h = 1; h <= EMI_RADIX_LEVELS; h++)
		if ((uint64_t)h * p->radix_least[h] < least)
			least = (uint64_t)h * p->radix_least[h];
	return beside(p, &m) + (least + EMI_RADIX_TOP) * emi_radix_bucket_memory(block);
}

/* Have the fewest levels with blocks of a size: 1, or 0 if there is no memory for any. */
static int choose(emi_radix_plan *p, uint64_t memory, const room *m)
{
	const uint64_t rest = beside(p, m), each = emi_radix_bucket_memory(m->block);
	uint64_t most = rest < memory ? (memory - rest) / each : 0, power = 2;
	uint32_t h = 1;

	most = most < EMI_RADIX_NONE ? most : EMI_RADIX_NONE;
	while (h <= EMI_RADIX_LEVELS && (uint64_t)h * p->radix_least[h] + EMI_RADIX_TOP > most)
		h++;
	if (h > EMI_RADIX_LEVELS)
		return 0;
	while (power < p->radix_least[h])
		power *= 2;
	p->levels = h;
	p->radix = h * power + EMI_RADIX_TOP <= most ? (uint32_t)power : p->radix_least[h];
	p->block_bytes = m->block;
	p->front = m->front;
	p->run = m->run;
	p->write_buffers = m->writes;
	p->read_buffers = m->reads;
	p->takes = rest + ((uint64_t)h * p->radix + EMI_RADIX_TOP) * each;
	return 1;
}

/* The same, with as much beside buckets as suits the memory, or as little as there must be.  Runs are not worth a
 * level. */
static int choose_with(emi_radix_plan *p, uint64_t memory, uint64_t block)
{
	room usual = { (size_t)block, front_of(memory, p->record),
			     buffers_of(memory, (size_t)block, WRITES_MOST),
			     buffers_of(memory, (size_t)block, READS_MOST), run_of(p, memory) };
	const room least = { (size_t)block, front_of(0, p->record), BUFFERS_LEAST, BUFFERS_LEAST, 0 };

	emi_radix_plan plain = *p;
	int found = choose(p, memory, &usual);

	if (usual.run != 0) {
		usual.run = 0;
		if (choose(&plain, memory, &usual) && (!found || plain.levels < p->levels)) {
			*p = plain;
			found = 1;
		}
	}
	return found || choose(p, memory, &least);
}

/* The size of blocks that nobody has said. */
static int choose_block(emi_radix_plan *p, uint64_t memory, uint64_t smallest)
{
	uint64_t block = BLOCK_USUAL > smallest ? BLOCK_USUAL : smallest;
	emi_radix_plan other = *p;
	int found = choose_with(p, memory, block);

	while (block / 2 >= smallest && (!found || block / 2 >= BLOCK_LEAST)) {
		block /= 2;
		if (choose_with(&other, memory, block) &&
		    (!found || other.levels < p->levels ||
		     (other.levels == p->levels && other.run != 0 && p->run == 0))) {
			*p = other;
			found = 1;
		}
	}
	while (found && 2 * p->block_bytes <= BLOCK_MOST && p->takes <= memory / BLOCK_SHARE &&
	       choose_with(&other, memory, 2 * p->block_bytes) && other.levels == p->levels)
		*p = other;
	return found;
}

/* Will the context have the memory, when some blocks are on disks? */
static em_status check_memory(const emi_radix_plan *p, const em_ctx *ctx, em_errinfo *err)
{
	const emi_wants w = { p->memory, p->memory / p->block_bytes + EMI_BLOCKS_SURE, p->block_bytes,
			      EMI_RADIX_IDS_BYTES, 1, 0 };

	return ctx == NULL ? EM_OK : emi_suffice_check(ctx, &w, err, "memory_bytes of %" PRIu64, p->memory);
}

em_status emi_radix_plan_make(emi_radix_plan *p, em_ctx *ctx, const em_radix_heap_opts *o, em_errinfo *err)
{
	const uint64_t whole = (o->record_bytes + EM_BLOCK_UNIT - 1) / EM_BLOCK_UNIT * EM_BLOCK_UNIT;
	const uint64_t has = ctx != NULL ? em_ctx_memory(ctx) : UINT64_MAX;
	em_status st = check_sizes(o, err);
	uint64_t memory = o->memory_bytes;

	memset(p, 0, sizeof *p);
	if (st == EM_OK)
		st = take_key(p, o, err);
	if (st != EM_OK)
		return st;
	p->record = (size_t)o->record_bytes;
	p->threads = ctx != NULL ? emi_workers_fed(ctx, 0) : 1;
	p->threads = p->threads < THREADS_MOST ? p->threads : THREADS_MOST;
	p->most = o->range != 0 && o->range < p->key.last ? o->range : p->key.last;
	emi_radix_least(p->most, p->radix_least);
	p->least = least_of(p, (size_t)(o->block_bytes != 0 ? o->block_bytes : whole));
	if (memory == 0) {
		memory = has / MEMORY_SHARE < MEMORY_USUAL ? has / MEMORY_SHARE : MEMORY_USUAL;
		memory = memory < p->least ? p->least : memory;
	}
	p->memory = memory;
	if (memory < p->least)
		return emi_fail_memory(err, p->least, "memory_bytes of %" PRIu64
				       " are too few for a radix heap of records of %" PRIu64 " bytes",
				       memory, o->record_bytes);
	if (!(o->block_bytes != 0 ? choose_with(p, memory, o->block_bytes) : choose_block(p, memory, whole)))
		return emi_fail(err, EM_ERR_INTERNAL, "there is no plan for %" PRIu64 " bytes of memory", memory);
	return check_memory(p, ctx, err);
}
