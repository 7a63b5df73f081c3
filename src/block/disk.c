/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk.c -- the set of a context's scratch disks.
 *
 * What each disk does is in one_disk.c; here blocks are spread over them.  Who does not say where a block is to be has them go round.  A
 * disk without room is passed over, so the set is full when all are.
 *
 * The disks are opened together, when the first user comes, and closed with the last.  There is no lock here: the set does not change
 * meanwhile, and each disk has its own.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <extmem/disk.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/disk.h"
#include "block/one_disk.h"
#include "block/space.h"

struct emi_disk {
	em_ctx *ctx;
	emi_allowance all;
	uint32_t n;
	uint32_t next;          /* where the next block goes that may go anywhere; atomic */
	emi_one_disk *disk[];
};

static size_t set_bytes(uint32_t n)
{
	return sizeof(emi_disk) + n * sizeof(emi_one_disk *);
}

static uint32_t count(const em_ctx *ctx)
{
	return ctx->disk != NULL ? ctx->ndisks : 1;
}

/* The only disk of a context that was told of none. */
static emi_disk_choice usual(const em_ctx *ctx)
{
	const emi_disk_choice c = { ctx->dir, 0, ctx->backend, ctx->direct, 0, 0, 1, 0 };

	return c;
}

static void set_close(emi_disk *set, int forked)
{
	em_ctx *ctx = set->ctx;
	uint32_t i;

	for (i = 0; i < set->n; i++)
		if (set->disk[i] != NULL)
			emi_one_disk_close(set->disk[i], forked);
	emi_free(ctx, set, set_bytes(set->n));
}

static em_status set_open(emi_disk **out, em_ctx *ctx, em_errinfo *err)
{
	const uint32_t n = count(ctx);
	emi_disk *set = emi_alloc(ctx, set_bytes(n), err);
	em_status status = EM_OK;
	uint32_t i;

	if (!set)
		return err->status;
	set->ctx = ctx;
	set->all.most = ctx->scratch_max;
	set->n = n;
	for (i = 0; i < n && status == EM_OK; i++) {
		emi_disk_choice one = usual(ctx);

		status = emi_one_disk_open(&set->disk[i], ctx, ctx->disk != NULL ? &ctx->disk[i] : &one, &set->all, err);
	}
	if (status != EM_OK)
		set_close(set, 0);
	else
		*out = set;
	return status;
}

em_status emi_scratch_acquire(em_ctx *ctx, emi_disk **out, em_errinfo *err)
{
	em_errinfo own = {EM_OK, 0, 0, 0, "", "", ""};
	em_status status = emi_ctx_check(ctx, err);

	*out = NULL;
	if (status != EM_OK)
		return status;
	pthread_mutex_lock(&ctx->lock);
	if (!ctx->scratch)
		status = set_open(&ctx->scratch, ctx, &own);
	if (status == EM_OK) {
		ctx->scratch_users++;
		*out = ctx->scratch;
	}
	pthread_mutex_unlock(&ctx->lock);
	if (status != EM_OK && err && err->status >= EM_OK)
		*err = own;
	return status;
}

void emi_scratch_release(em_ctx *ctx, emi_disk *set)
{
	int forked = emi_ctx_forked(ctx), last;

	if (!set)
		return;
	/* In a child the lock may be held by a thread that is no more; there are no others to fear. */
	if (!forked)
		pthread_mutex_lock(&ctx->lock);
	last = --ctx->scratch_users == 0;
	if (last)
		ctx->scratch = NULL;
	/* A file with a name is closed before somebody opens it again. */
	if (last && ctx->disk != NULL)
		set_close(set, forked);
	if (!forked)
		pthread_mutex_unlock(&ctx->lock);
	if (last && ctx->disk == NULL)
		set_close(set, forked);
}

uint64_t emi_scratch_memory(const em_ctx *ctx, uint64_t bytes)
{
	const emi_disk_choice one = usual(ctx);
	const uint32_t n = count(ctx);
	uint64_t sum = set_bytes(n);
	uint32_t i;

	for (i = 0; i < n; i++)
		sum += emi_one_disk_memory(ctx, ctx->disk != NULL ? &ctx->disk[i] : &one, bytes / n);
	return sum;
}

uint32_t emi_scratch_disks(const em_ctx *ctx)
{
	return count(ctx);
}

const char *emi_scratch_path(const em_ctx *ctx, uint32_t disk)
{
	return ctx->disk != NULL ? ctx->disk[disk].path : ctx->dir;
}

uint64_t emi_scratch_most(const em_ctx *ctx)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < count(ctx); i++) {
		const uint64_t capacity = ctx->disk != NULL ? ctx->disk[i].capacity : 0;

		if (capacity == 0 || sum > UINT64_MAX - capacity)
			return ctx->scratch_max;
		sum += capacity;
	}
	return ctx->scratch_max != 0 && ctx->scratch_max < sum ? ctx->scratch_max : sum;
}

uint32_t emi_disk_count(const emi_disk *set)
{
	return set->n;
}

em_file *emi_disk_file(const emi_disk *set, uint32_t index)
{
	return emi_one_disk_file(set->disk[index]);
}

/* Several disks are full: the detail of the first one, and the names of as many as there is room for. */
static void name_disks(const emi_disk *set, em_errinfo *err)
{
	static const char end[] = ", ...";
	em_errinfo all = {EM_OK, 0, 0, 0, "", "", ""};
	char list[sizeof err->text - 64];
	size_t at = 0;
	uint32_t i;

	list[0] = '\0';
	for (i = 0; i < set->n; i++) {
		const char *path = emi_file_path(emi_one_disk_file(set->disk[i]));

		if (strlen(path) + sizeof end + 4 > sizeof list - at) {
			memcpy(list + at, end, sizeof end);
			break;
		}
		at += (size_t)snprintf(list + at, sizeof list - at, "%s'%s'", i == 0 ? "" : ", ", path);
	}
	emi_fail(&all, EM_ERR_NOSPACE, "all %" PRIu32 " scratch disks are full: %s", set->n, list);
	memcpy(err->text, all.text, sizeof err->text);
}

/* The disks in their order, beginning with `first', until one has room. */
static em_status alloc_somewhere(emi_disk *set, uint32_t first, size_t bytes, emi_bid *bid, em_errinfo *err)
{
	em_status status = EM_ERR_NOSPACE;
	uint32_t i;

	for (i = 0; i < set->n && status == EM_ERR_NOSPACE; i++) {
		em_errinfo own = {EM_OK, 0, 0, 0, "", "", ""};

		bid->disk = (first + i) % set->n;
		status = emi_one_disk_alloc(set->disk[bid->disk], bytes, &bid->offset, &own);
		if (status != EM_OK && (i == 0 || status != EM_ERR_NOSPACE))
			*err = own;
	}
	return status;
}

/* What limits all disks together may be taken by gaps of others than the one that was to grow. */
static int make_room(emi_disk *set)
{
	return set->n > 1 && set->all.most != 0 && emi_disk_give_all(set);
}

em_status emi_block_alloc_on(emi_disk *set, uint32_t disk, size_t bytes, emi_bid *bid, em_errinfo *err)
{
	em_errinfo own = {EM_OK, 0, 0, 0, "", "", ""};
	em_status status = emi_ctx_check(set->ctx, err);

	bid->disk = 0;
	bid->reserved = 0;
	bid->offset = 0;
	if (status != EM_OK)
		return status;
	if (bytes == 0 || bytes % EMI_UNIT != 0)
		return emi_fail(err, EM_ERR_INVAL, "a block of %" PRIu64 " bytes: it must be a multiple of %u",
				(uint64_t)bytes, EMI_UNIT);
	status = alloc_somewhere(set, disk, bytes, bid, &own);
	if (status == EM_ERR_NOSPACE && make_room(set))
		status = alloc_somewhere(set, disk, bytes, bid, &own);
	if (status == EM_OK)
		return EM_OK;
	if (status == EM_ERR_NOSPACE && set->n > 1 && set->all.most == 0)
		name_disks(set, &own);
	bid->disk = 0;
	if (err && err->status >= EM_OK)
		*err = own;
	return status;
}

em_status emi_block_alloc(emi_disk *set, size_t bytes, emi_bid *bid, em_errinfo *err)
{
	const uint32_t disk = set->n > 1 ? __atomic_fetch_add(&set->next, 1, __ATOMIC_RELAXED) % set->n : 0;

	return emi_block_alloc_on(set, disk, bytes, bid, err);
}

void emi_block_free(emi_disk *set, emi_bid bid, size_t bytes)
{
	/* In a child nobody will ask for space, and the lock may be held for ever. */
	if (!emi_ctx_forked(set->ctx))
		emi_one_disk_free(set->disk[bid.disk], bid.offset, bytes);
}

void emi_block_read(emi_disk *set, emi_request *rq, void *buf, size_t bytes, emi_bid bid, emi_io_stats *stats)
{
	emi_read(emi_one_disk_file(set->disk[bid.disk]), rq, buf, bytes, bid.offset, stats);
}

void emi_block_write(emi_disk *set, emi_request *rq, const void *buf, size_t bytes, emi_bid bid, emi_io_stats *stats)
{
	emi_write(emi_one_disk_file(set->disk[bid.disk]), rq, buf, bytes, bid.offset, stats);
}

void emi_disk_slack(emi_disk *set, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < set->n; i++)
		emi_one_disk_slack(set->disk[i], bytes / set->n);
}

void emi_disk_give_back(emi_disk *set, uint64_t lag)
{
	uint32_t i;

	for (i = 0; i < set->n && !emi_ctx_forked(set->ctx); i++)
		emi_one_disk_give_back(set->disk[i], lag / set->n);
}

int emi_disk_give_all(emi_disk *set)
{
	int gave = 0;
	uint32_t i;

	for (i = 0; i < set->n && !emi_ctx_forked(set->ctx); i++)
		gave |= emi_one_disk_give_all(set->disk[i]);
	return gave;
}

void emi_disk_keep(emi_disk *set)
{
	uint32_t i;

	for (i = 0; i < set->n && !emi_ctx_forked(set->ctx); i++)
		emi_one_disk_keep(set->disk[i]);
}

uint64_t emi_disk_used(emi_disk *set)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < set->n; i++)
		bytes += emi_one_disk_used(set->disk[i]);
	return bytes;
}

uint64_t emi_disk_peak(emi_disk *set)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < set->n; i++)
		bytes += emi_one_disk_peak(set->disk[i]);
	return bytes;
}

uint64_t emi_disk_held(emi_disk *set)
{
	uint32_t i;

	for (i = 0; i < set->n; i++)
		emi_one_disk_settle(set->disk[i]);
	return __atomic_load_n(&set->all.held, __ATOMIC_RELAXED);
}

uint64_t emi_disk_held_peak(emi_disk *set)
{
	return __atomic_load_n(&set->all.peak, __ATOMIC_RELAXED);
}
