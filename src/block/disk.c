/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk.c -- the set of a context's scratch disks.
 *
 * What each disk does is in one_disk.c, and what is done with blocks in block_id.c.  The disks are opened together,
 * when the first user comes, and closed with the last.  There is no lock here: the set does not change meanwhile, and
 * each disk has its own.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include <extmem/disk.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/disk_set.h"
#include "block/space.h"
#include "io/backend.h"
#include "io/path.h"

static size_t set_bytes(uint32_t n)
{
	return sizeof(emi_disk_set) + n * sizeof(emi_one_disk *);
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

static void set_close(emi_disk_set *set, int forked)
{
	em_ctx *ctx = set->ctx;
	uint32_t i;

	/* What is on its way to one may turn to another. */
	for (i = 0; i < set->n && !forked; i++)
		if (set->disk[i] != NULL)
			emi_file_settle(emi_one_disk_file(set->disk[i]));
	for (i = 0; i < set->n; i++)
		if (set->disk[i] != NULL)
			emi_one_disk_close(set->disk[i], forked);
	emi_ledger_close(set->ledger, forked);
	emi_moved_free(&set->moved, forked);
	emi_free(ctx, set, set_bytes(set->n));
}

static em_status set_open(emi_disk_set **out, em_ctx *ctx, em_errinfo *err)
{
	const uint32_t n = count(ctx);
	emi_disk_set *set = emi_alloc(ctx, set_bytes(n), err);
	em_status status = EM_OK;
	uint32_t i;

	if (!set)
		return err->status;
	set->ctx = ctx;
	set->all.most = ctx->scratch_max;
	set->n = n;
	status = emi_moved_init(&set->moved, ctx, n, err);
	if (status == EM_OK && (ctx->flags & EM_CTX_CHECKED) != 0)
		status = emi_ledger_open(&set->ledger, ctx, err);
	for (i = 0; i < n && status == EM_OK; i++) {
		emi_disk_choice one = usual(ctx);

		status =
			emi_one_disk_open(&set->disk[i], ctx, ctx->disk != NULL ? &ctx->disk[i] : &one, &set->all, err);
	}
	if (status != EM_OK)
		set_close(set, 0);
	else
		*out = set;
	return status;
}

/* Another user of the set; the first one has it opened. */
static em_status join(emi_disk **out, em_ctx *ctx, em_errinfo *err)
{
	emi_disk *d = emi_alloc(ctx, sizeof *d, err);
	em_status status = EM_OK;

	if (!d)
		return err->status;
	if (!ctx->scratch)
		status = set_open(&ctx->scratch, ctx, err);
	if (status != EM_OK) {
		emi_free(ctx, d, sizeof *d);
		return status;
	}
	d->set = ctx->scratch;
	d->owner = ++d->set->owners;
	ctx->scratch_users++;
	*out = d;
	return EM_OK;
}

em_status emi_scratch_acquire(em_ctx *ctx, emi_disk **out, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_status status = emi_ctx_check(ctx, err);

	*out = NULL;
	if (status != EM_OK)
		return status;
	pthread_mutex_lock(&ctx->lock);
	status = join(out, ctx, &own);
	pthread_mutex_unlock(&ctx->lock);
	if (status != EM_OK && err && err->status >= EM_OK)
		*err = own;
	return status;
}

static void free_piece(void *arg, em_bid bid, size_t bytes, uint64_t n)
{
	emi_disk *d = arg;

	(void)emi_disk_vacate(d->set, bid, bytes, n, NULL);
}

/* Free the blocks of a user that does not want them any more, as far as they are known: 0 when some may not be. */
static int free_all(emi_disk *d)
{
	emi_ledger *ledger = d->set->ledger;
	uint32_t at = UINT32_MAX;
	size_t bytes;
	em_bid bid;

	while (ledger != NULL && emi_ledger_next_of(ledger, d->owner, &at, &bid, &bytes))
		(void)emi_disk_free(d, bid, bytes, NULL);
	if (d->own != NULL)
		emi_account_empty(d->own, free_piece, d);
	return ledger != NULL || (d->own != NULL && emi_account_complete(d->own));
}

/* What is to be said of blocks that nobody freed: 0 when there is nothing. */
static int report(emi_disk_set *set, char *text, size_t room)
{
	char owners[160] = "";
	const uint64_t blocks = __atomic_load_n(&set->all.blocks, __ATOMIC_RELAXED);

	if (blocks == 0 || set->abandoned)
		return 0;
	if (set->ledger != NULL)
		emi_ledger_tell(set->ledger, owners, sizeof owners);
	snprintf(text, room,
		 "scratch was closed with %" PRIu64 " blocks of %" PRIu64 " bytes together still allocated%s%s%s",
		 blocks, __atomic_load_n(&set->all.bytes, __ATOMIC_RELAXED), owners[0] != '\0' ? " (" : "", owners,
		 owners[0] != '\0' ? ")" : "");
	return 1;
}

void emi_scratch_release(em_ctx *ctx, emi_disk *d)
{
	const int forked = emi_ctx_forked(ctx);
	const int32_t level = (ctx->flags & EM_CTX_CHECKED) != 0 ? EM_LOG_WARN : EM_LOG_INFO;
	int last, tell = 0, left = 0;
	emi_disk_set *set;
	char text[320];

	if (!d)
		return;
	set = d->set;
	if (d->abandons && !forked)
		left = !free_all(d);
	/* In a child the lock may be held by a thread that is no more; there are no others to fear. */
	if (!forked)
		pthread_mutex_lock(&ctx->lock);
	if (left)
		set->abandoned = 1;
	last = --ctx->scratch_users == 0;
	if (last)
		ctx->scratch = NULL;
	if (last && !forked)
		tell = report(set, text, sizeof text);
	/* A file with a name is closed before somebody opens it again. */
	if (last && ctx->disk != NULL)
		set_close(set, forked);
	if (!forked)
		pthread_mutex_unlock(&ctx->lock);
	if (last && ctx->disk == NULL)
		set_close(set, forked);
	emi_account_close(d->own, forked);
	emi_free(ctx, d, sizeof *d);
	if (tell)
		emi_log(ctx, level, "%s", text);
}

uint32_t emi_disk_owner(const emi_disk *d)
{
	return d->owner;
}

void emi_disk_abandon(emi_disk *d)
{
	d->abandons = 1;
}

em_status emi_disk_account(emi_disk *d, em_errinfo *err)
{
	return d->set->ledger == NULL && d->own == NULL ? emi_account_open(&d->own, d->set->ctx, d->set->n, err)
							: EM_OK;
}

uint64_t emi_scratch_memory_in(const em_ctx *ctx, uint64_t memory, uint32_t users, uint64_t blocks,
			       uint64_t block_bytes)
{
	const emi_disk_choice one = usual(ctx);
	const uint32_t n = count(ctx);
	/* Of one disk. */
	const uint64_t bytes = (blocks + n - 1) / n * block_bytes;
	uint64_t sum = set_bytes(n) + users * sizeof(emi_disk) + emi_moved_memory(n);
	uint32_t i;

	for (i = 0; i < n; i++)
		sum += emi_one_disk_memory(ctx, memory, ctx->disk != NULL ? &ctx->disk[i] : &one, bytes);
	if ((ctx->flags & EM_CTX_CHECKED) != 0)
		sum += emi_ledger_memory(blocks);
	else
		sum += users * emi_account_memory(n, bytes, UINT64_MAX);
	return sum;
}

uint64_t emi_scratch_memory(const em_ctx *ctx)
{
	return emi_scratch_memory_in(ctx, em_ctx_memory(ctx), 1, 0, 0);
}

uint64_t emi_scratch_bits(uint32_t disks, uint64_t bytes, uint64_t ends)
{
	const uint64_t each = bytes / disks;

	return disks * (emi_space_memory_of(each / EMI_UNIT + 1, ends) - emi_space_memory_of(1, ends)) +
	       emi_account_memory(disks, each, ends) - emi_account_memory(disks, 0, ends);
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

/* Is the i-th disk on a file system that an earlier one is on? */
static int is_counted(const em_ctx *ctx, uint32_t i, uint64_t fs)
{
	uint64_t bytes, other;
	uint32_t k;

	for (k = 0; k < i; k++)
		if (emi_path_room(emi_scratch_path(ctx, k), &bytes, &other) && other == fs)
			return 1;
	return 0;
}

int emi_scratch_room(em_ctx *ctx, uint64_t *bytes)
{
	uint32_t i;
	int fresh;

	/* What is open has room that is not free. */
	pthread_mutex_lock(&ctx->lock);
	fresh = ctx->scratch == NULL;
	pthread_mutex_unlock(&ctx->lock);
	*bytes = 0;
	for (i = 0; i < count(ctx) && fresh; i++) {
		const em_backend *be = ctx->disk != NULL ? ctx->disk[i].backend : ctx->backend;
		uint64_t room, fs;

		if (!emi_backend_is_real(be) || !emi_path_room(emi_scratch_path(ctx, i), &room, &fs))
			return 0;
		*bytes += is_counted(ctx, i, fs) ? 0 : room;
	}
	return fresh;
}

uint32_t emi_disk_count(const emi_disk *d)
{
	return d->set->n;
}

void emi_disk_gather(emi_disk *d, int on)
{
	uint32_t i;

	for (i = 0; i < d->set->n; i++)
		emi_file_gather(emi_one_disk_file(d->set->disk[i]), on);
}

void emi_disk_expect(emi_disk *d, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < d->set->n; i++)
		emi_one_disk_expect(d->set->disk[i], bytes / d->set->n);
}

void emi_disk_slack(emi_disk *d, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < d->set->n; i++)
		emi_one_disk_slack(d->set->disk[i], bytes / d->set->n);
}

void emi_disk_give_back(emi_disk *d, uint64_t lag)
{
	uint32_t i;

	for (i = 0; i < d->set->n && !emi_ctx_forked(d->set->ctx); i++)
		emi_one_disk_give_back(d->set->disk[i], lag / d->set->n);
}

int emi_disk_give_all(emi_disk *d)
{
	int gave = 0;
	uint32_t i;

	for (i = 0; i < d->set->n && !emi_ctx_forked(d->set->ctx); i++)
		gave |= emi_one_disk_give_all(d->set->disk[i]);
	return gave;
}

void emi_disk_keep(emi_disk *d)
{
	uint32_t i;

	for (i = 0; i < d->set->n && !emi_ctx_forked(d->set->ctx); i++)
		emi_one_disk_keep(d->set->disk[i]);
}

void emi_disk_usage_of(emi_disk *d, uint32_t index, emi_disk_usage *usage)
{
	emi_one_disk_usage(d->set->disk[index], usage);
}

void emi_disk_usage_all(emi_disk *d, emi_disk_usage *usage)
{
	const emi_allowance *all = &d->set->all;

	usage->held = emi_disk_held(d);
	usage->held_peak = __atomic_load_n(&all->peak, __ATOMIC_RELAXED);
	usage->blocks = __atomic_load_n(&all->blocks, __ATOMIC_RELAXED);
	usage->blocks_peak = __atomic_load_n(&all->blocks_peak, __ATOMIC_RELAXED);
	usage->bytes = __atomic_load_n(&all->bytes, __ATOMIC_RELAXED);
	usage->bytes_peak = __atomic_load_n(&all->bytes_peak, __ATOMIC_RELAXED);
}

uint64_t emi_disk_used(emi_disk *d)
{
	return __atomic_load_n(&d->set->all.bytes, __ATOMIC_RELAXED);
}

uint64_t emi_disk_peak(emi_disk *d)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < d->set->n; i++)
		bytes += emi_one_disk_peak(d->set->disk[i]);
	return bytes;
}

uint64_t emi_disk_held(emi_disk *d)
{
	uint32_t i;

	for (i = 0; i < d->set->n; i++)
		emi_one_disk_settle(d->set->disk[i]);
	return __atomic_load_n(&d->set->all.held, __ATOMIC_RELAXED);
}

uint64_t emi_disk_held_peak(emi_disk *d)
{
	return __atomic_load_n(&d->set->all.peak, __ATOMIC_RELAXED);
}
