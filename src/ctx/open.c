/* SPDX-License-Identifier: BSL-1.0 */
/*
 * open.c -- making a context.
 *
 * A context is a thin thing: numbers, a choice of backend and instruction set, and copies of the
 * scratch disks' names.  This file checks what the caller asked for, fills in what he left open, and
 * makes it; base/context.c releases it with its last reference.
 *
 * The context is first set up in a local variable, from which its own memory is taken and counted, and
 * then copied into that memory.  The first failure is described in a local detail and copied to the caller's
 * at the end, because what that holds before the call is nobody's business.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <extmem/ctx.h>
#include <extmem/disk.h>
#include <extmem/sys/backend.h>

#include "base/budget.h"
#include "base/condition.h"
#include "base/context.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/structs.h"
#include "base/workers.h"
#include "ctx/open.h"
#include "io/backend.h"
#include "io/queue.h"
#include "kern/kern.h"

#define MIN_MEMORY (UINT64_C(1) << 20)
#define LEFT_SHARE 8u           /* this part of what the machine has is never a budget's that is raised */
#define MIN_FDS 4u
#define MOST_BLOCK (UINT64_C(1) << 30)
#define DEFAULT_DIR "/var/tmp"
#define OTHER_DIR "/tmp"        /* where that cannot be written to, as in many containers */

/* Where scratch goes if nobody says. */
static const char *usual_dir(void)
{
	return access(DEFAULT_DIR, W_OK | X_OK) != 0 && access(OTHER_DIR, W_OK | X_OK) == 0 ? OTHER_DIR : DEFAULT_DIR;
}

static em_status check_dirs(const em_ctx_opts *o, em_errinfo *err)
{
	uint32_t i;

	if ((o->dirs == NULL) != (o->ndirs == 0))
		return emi_fail(err, EM_ERR_INVAL, "dirs and ndirs do not match");
	if ((o->disks == NULL) != (o->ndisks == 0))
		return emi_fail(err, EM_ERR_INVAL, "disks and ndisks do not match");
	if (o->ndirs > EM_DISKS_MAX || o->ndisks > EM_DISKS_MAX - o->ndirs)
		return emi_fail(err, EM_ERR_INVAL, "%" PRIu64 " directories and disks: there may be %u",
				(uint64_t)o->ndirs + o->ndisks, EM_DISKS_MAX);
	for (i = 0; i < o->ndirs; i++)
		if (o->dirs[i] == NULL || o->dirs[i][0] == '\0')
			return emi_fail(err, EM_ERR_INVAL, "dirs[%" PRIu32 "] is empty", i);
	return EM_OK;
}

/* What can be judged without asking the system. */
static em_status check_opts(const em_ctx_opts *o, em_errinfo *err)
{
	if (o->direct != EM_DIRECT_TRY && o->direct != EM_DIRECT_OFF && o->direct != EM_DIRECT_ON)
		return emi_fail(err, EM_ERR_INVAL, "direct is %" PRId32 ": it must be one of EM_DIRECT_...", o->direct);
	if (o->priority < EM_PRIORITY_WRITE || o->priority > EM_PRIORITY_NONE)
		return emi_fail(err, EM_ERR_INVAL, "priority is %" PRId32 ": it must be one of EM_PRIORITY_...",
				o->priority);
	if ((o->flags & ~(EM_CTX_CHECKED | EM_CTX_RAISE | EM_CTX_LOG_CALLER)) != 0)
		return emi_fail(err, EM_ERR_INVAL, "unknown flags 0x%" PRIx32, o->flags);
	if (o->threads > EMI_MAX_THREADS)
		return emi_fail(err, EM_ERR_INVAL, "threads is %" PRIu32 ": it must not exceed %u", o->threads,
				EMI_MAX_THREADS);
	if (o->queue_depth > EMI_IO_DEPTH_MAX)
		return emi_fail(err, EM_ERR_INVAL, "queue_depth is %" PRIu32 ": it must not exceed %d", o->queue_depth,
				EMI_IO_DEPTH_MAX);
	if (o->custom != NULL && o->backend != NULL)
		return emi_fail(err, EM_ERR_INVAL, "backend and custom are both given");
	if (o->block_bytes % EMI_PAGE != 0 || o->block_bytes > MOST_BLOCK)
		return emi_fail(err, EM_ERR_INVAL,
				"block_bytes is %" PRIu64 ": it must be a multiple of %u, up to %" PRIu64,
				o->block_bytes, EMI_PAGE, MOST_BLOCK);
	return check_dirs(o, err);
}

static em_status choose_allocator(em_ctx *ctx, const em_allocator *theirs, em_errinfo *err)
{
	em_status st;

	if (theirs == NULL)
		return EM_OK;
	st = EMI_STRUCT_TAKE(em_allocator, &ctx->allocator, theirs, err);
	if (st == EM_OK && (ctx->allocator.alloc == NULL || ctx->allocator.release == NULL))
		st = emi_fail(err, EM_ERR_INVAL, "the allocator lacks a function");
	return st;
}

/* The budget: what was asked for, or a quarter of what there is, as the tightest bound has it. */
static em_status choose_memory(em_ctx *ctx, uint64_t asked, const emi_bound bounds[EMI_BOUNDS], em_errinfo *err)
{
	/* Where nothing is known there is still an address space. */
	uint64_t there = SIZE_MAX;
	int i;

	ctx->memory_given = asked != 0;
	for (i = 0; i < EMI_BOUNDS; i++)
		if (bounds[i].bytes < there)
			there = bounds[i].bytes;
	if (asked == 0)
		asked = there / 4 < MIN_MEMORY ? MIN_MEMORY : there / 4;
	if (asked < MIN_MEMORY && (ctx->flags & EM_CTX_RAISE) == 0)
		return emi_fail_memory(err, MIN_MEMORY, "memory is %" PRIu64 " bytes", asked);
	/* It is told with what is needed for what is done first, see emi_job_plan(). */
	ctx->memory_named = asked < MIN_MEMORY ? asked : 0;
	ctx->memory = asked < MIN_MEMORY ? MIN_MEMORY : asked;
	ctx->memory_most = there / LEFT_SHARE * (LEFT_SHARE - 1);
	return EM_OK;
}

/* Threads left open: one per core.  How many of them memory feeds is for those to tell who use them. */
static void choose_threads(em_ctx *ctx, uint32_t asked)
{
	const uint32_t cores = asked != 0 ? asked : emi_usable_cores();

	ctx->threads = cores < EMI_MAX_THREADS ? cores : EMI_MAX_THREADS;
}

static em_status choose_fds(em_ctx *ctx, uint32_t asked, em_errinfo *err)
{
	uint32_t left = emi_free_descriptors();

	ctx->fds = asked != 0 ? asked : left;
	if (ctx->fds < MIN_FDS || left < MIN_FDS)
		return emi_fail(err, EM_ERR_FDLIMIT,
				"%" PRIu32 " file descriptors may be opened: at least %u are needed",
				left < ctx->fds ? left : ctx->fds, MIN_FDS);
	return EM_OK;
}

static em_status choose_backend(const em_backend **out, const em_backend *custom, const char *name, em_errinfo *err)
{
	const char *flaw, *why = NULL;
	em_backend ours;
	em_status st;

	if (custom != NULL) {
		st = EMI_STRUCT_TAKE(em_backend, &ours, custom, err);
		if (st != EM_OK)
			return st;
		flaw = emi_backend_flaw(&ours);
		if (flaw != NULL)
			return emi_fail(err, EM_ERR_INVAL, "the custom backend is incomplete: %s", flaw);
		*out = custom;
		return EM_OK;
	}
	*out = name != NULL ? emi_backend_named(name, &why) : emi_backend_find(NULL);
	if (*out != NULL)
		return EM_OK;
	if (why != NULL)
		return emi_fail(err, EM_ERR_NOTSUP, "backend '%s' does not work here: %s", name, why);
	return emi_fail(err, EM_ERR_NOTSUP, "there is no backend '%s'", name != NULL ? name : "");
}

static em_status check_disk(const em_disk_opts *o, uint32_t i, em_errinfo *err)
{
	if (o->path == NULL || o->path[0] == '\0')
		return emi_fail(err, EM_ERR_INVAL, "disks[%" PRIu32 "] has no path", i);
	if ((o->flags & ~(EM_DISK_FORCE | EM_DISK_KEEP | EM_DISK_FIXED)) != 0)
		return emi_fail(err, EM_ERR_INVAL, "disk '%s': unknown flags 0x%" PRIx32, o->path, o->flags);
	if ((o->flags & EM_DISK_FIXED) != 0 && o->capacity == 0)
		return emi_fail(err, EM_ERR_INVAL, "disk '%s': it is to have a fixed size, but no capacity is given",
				o->path);
	if (o->direct < EM_DIRECT_CONTEXT || o->direct > EM_DIRECT_ON)
		return emi_fail(err, EM_ERR_INVAL, "disk '%s': direct is %" PRId32 ": it must be one of EM_DIRECT_...",
				o->path, o->direct);
	if (o->queue_depth > EMI_IO_DEPTH_MAX)
		return emi_fail(err, EM_ERR_INVAL, "disk '%s': queue_depth is %" PRIu32 ": it must not exceed %d",
				o->path, o->queue_depth, EMI_IO_DEPTH_MAX);
	if (o->custom != NULL && o->backend != NULL)
		return emi_fail(err, EM_ERR_INVAL, "disk '%s': backend and custom are both given", o->path);
	return EM_OK;
}

static em_status choose_disk(em_ctx *ctx, uint32_t i, const em_ctx_opts *opts, em_errinfo *err)
{
	emi_disk_choice *c = &ctx->disk[i];
	em_disk_opts o = EM_DISK_OPTS_INIT;
	em_status st = EM_OK;

	if (i < opts->ndirs)
		o.path = opts->dirs[i];
	else if (opts->disks[i - opts->ndirs] == NULL)
		st = emi_fail(err, EM_ERR_INVAL, "disks[%" PRIu32 "] is NULL", i - opts->ndirs);
	else
		st = EMI_STRUCT_TAKE(em_disk_opts, &o, opts->disks[i - opts->ndirs], err);
	if (st == EM_OK)
		st = check_disk(&o, i - opts->ndirs, err);
	c->backend = ctx->backend;
	if (st == EM_OK && (o.custom != NULL || o.backend != NULL))
		st = choose_backend(&c->backend, o.custom, o.backend, err);
	if (st != EM_OK)
		return st;
	c->capacity = o.capacity;
	c->direct = o.direct == EM_DIRECT_CONTEXT ? ctx->direct : o.direct;
	c->queue_depth = o.queue_depth;
	c->flags = o.flags;
	c->directory = i < opts->ndirs;
	c->path = emi_strdup(ctx, o.path, err);
	return c->path != NULL ? EM_OK : err->status;
}

/* A single directory needs no list. */
static em_status choose_disks(em_ctx *ctx, const em_ctx_opts *o, em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t i;

	if (o->ndisks == 0 && o->ndirs <= 1)
		return EM_OK;
	ctx->ndisks = o->ndirs + o->ndisks;
	ctx->disk = emi_alloc_array(ctx, ctx->ndisks, sizeof *ctx->disk, err);
	if (ctx->disk == NULL)
		return err->status;
	for (i = 0; i < ctx->ndisks && st == EM_OK; i++)
		st = choose_disk(ctx, i, o, err);
	if (st != EM_OK)
		emi_ctx_free_disks(ctx, i - 1);
	return st;
}

static em_status choose_isa(em_ctx *ctx, const char *isa, em_errinfo *err)
{
	const emi_kernels *k = emi_kernels_for(EMI_ELEM_U64, isa);

	if (k == NULL)
		return emi_fail(err, EM_ERR_NOTSUP, "instruction set '%s' is not built in or does not run here",
				isa != NULL ? isa : "");
	ctx->isa = k->isa;
	return EM_OK;
}

static int make_locks(em_ctx *ctx)
{
	int e = pthread_mutex_init(&ctx->lock, NULL);

	if (e != 0)
		return e;
	e = emi_lock_init(&ctx->io_lock);
	if (e != 0)
		goto no_io_lock;
	e = emi_cond_init(&ctx->io_done);
	if (e != 0)
		goto no_io_done;
	e = pthread_mutex_init(&ctx->leftovers_lock, NULL);
	if (e != 0)
		goto no_leftovers;
	e = pthread_mutex_init(&ctx->pieces.lock, NULL);
	if (e == 0)
		return 0;
	pthread_mutex_destroy(&ctx->leftovers_lock);
no_leftovers:
	pthread_cond_destroy(&ctx->io_done);
no_io_done:
	pthread_mutex_destroy(&ctx->io_lock);
no_io_lock:
	pthread_mutex_destroy(&ctx->lock);
	return e;
}

/* Move the context from the local variable to memory of its own. */
static em_status settle(em_ctx **out, em_ctx *local, const em_ctx_opts *o, em_errinfo *err)
{
	const char *dir = o->dirs != NULL ? o->dirs[0] : usual_dir();
	em_ctx *ctx;

	if (choose_disks(local, o, err) != EM_OK)
		return err->status;
	if (local->disk != NULL)
		dir = local->disk[0].path;
	local->dir = emi_strdup(local, dir, err);
	if (local->dir == NULL)
		goto no_dir;
	ctx = emi_alloc(local, sizeof(*ctx), err);
	if (ctx == NULL)
		goto no_ctx;
	*ctx = *local;
	ctx->meter.shared = 1;
	if (make_locks(ctx) != 0) {
		emi_fail(err, EM_ERR_NOMEM, "out of memory: cannot make a mutex");
		goto no_mutex;
	}
	*out = ctx;
	return EM_OK;

no_mutex:
	emi_free(local, ctx, sizeof(*ctx));
no_ctx:
	emi_strfree(local, local->dir);
no_dir:
	emi_ctx_free_disks(local, local->ndisks);
	return err->status;
}

static void log_choices(const em_ctx *ctx, const emi_bound bounds[EMI_BOUNDS])
{
	int i;

	for (i = 0; i < EMI_BOUNDS; i++)
		if (ctx->memory > bounds[i].bytes)
			emi_log(ctx, EM_LOG_WARN,
				"the memory budget of %" PRIu64 " bytes exceeds the %" PRIu64 " bytes %s", ctx->memory,
				bounds[i].bytes, bounds[i].what);
	emi_log(ctx, EM_LOG_DEBUG,
		"memory %" PRIu64 ", threads %" PRIu32 ", descriptors %" PRIu32
		", backend %s, instruction set %s, scratch in %s%s",
		ctx->memory, ctx->threads, ctx->fds, ctx->backend->name, ctx->isa, ctx->dir,
		ctx->ndisks > 1 ? " and others" : "");
}

static em_status open_ctx(em_ctx **out, const em_ctx_opts *opts, em_errinfo *err)
{
	emi_bound bounds[EMI_BOUNDS];
	em_ctx_opts o;
	em_ctx ctx;
	em_status st;

	st = EMI_STRUCT_TAKE(em_ctx_opts, &o, opts, err);
	if (st != EM_OK)
		return st;
	st = check_opts(&o, err);
	if (st != EM_OK)
		return st;
	memset(&ctx, 0, sizeof(ctx));
	ctx.refs = 1;
	ctx.pid = emi_process_id();
	ctx.direct = o.direct;
	ctx.queue_depth = o.queue_depth;
	ctx.scratch_max = o.scratch_max;
	ctx.block_bytes = o.block_bytes;
	ctx.priority = o.priority;
	ctx.flags = o.flags;
	ctx.log = o.log;
	ctx.log_user = o.log_user;
	ctx.log_free = o.log_free;
	ctx.allocator_free = o.allocator_free;
	st = choose_allocator(&ctx, o.allocator, err);
	if (st != EM_OK)
		return st;
	if (o.allocator == NULL)
		ctx.allocator_free = NULL;
	emi_memory_bounds(bounds);
	st = choose_memory(&ctx, o.memory, bounds, err);
	if (st != EM_OK)
		return st;
	choose_threads(&ctx, o.threads);
	st = choose_fds(&ctx, o.fds, err);
	if (st != EM_OK)
		return st;
	st = choose_backend(&ctx.backend, o.custom, o.backend, err);
	if (st != EM_OK)
		return st;
	st = choose_isa(&ctx, o.isa, err);
	if (st != EM_OK)
		return st;
	st = settle(out, &ctx, &o, err);
	if (st != EM_OK)
		return st;
	log_choices(*out, bounds);
	return EM_OK;
}

void emi_ctx_forget(const em_ctx_opts *opts)
{
	em_allocator a = EM_ALLOCATOR_INIT;
	em_ctx_opts o;

	if (opts == NULL || EMI_STRUCT_TAKE(em_ctx_opts, &o, opts, NULL) != EM_OK ||
	    (o.allocator != NULL && EMI_STRUCT_TAKE(em_allocator, &a, o.allocator, NULL) != EM_OK))
		return;
	emi_ctx_free_users(o.log_free, o.log_user, o.allocator != NULL ? o.allocator_free : NULL, a.user);
}

em_status em_ctx_open(em_ctx **out, const em_ctx_opts *opts)
{
	em_errinfo err;
	em_status st;

	emi_errinfo_clear(&err);
	if (out != NULL)
		*out = NULL;
	st = emi_given(out, "out", &err);
	if (st == EM_OK)
		st = open_ctx(out, opts, &err);
	if (st != EM_OK)
		emi_ctx_forget(opts);
	return emi_tell(EMI_ERRINFO_OF(em_ctx_opts, opts), st, &err);
}

void em_ctx_close(em_ctx *ctx)
{
	if (ctx != NULL)
		emi_ctx_unref(ctx);
}

uint64_t em_ctx_min_memory(void)
{
	return MIN_MEMORY;
}

uint64_t em_ctx_memory_used(const em_ctx *ctx)
{
	return ctx != NULL ? __atomic_load_n(&ctx->used, __ATOMIC_RELAXED) : 0;
}

uint64_t em_ctx_memory_peak(const em_ctx *ctx)
{
	return ctx != NULL ? __atomic_load_n(&ctx->peak, __ATOMIC_RELAXED) : 0;
}

uint32_t em_ctx_threads(const em_ctx *ctx)
{
	return ctx != NULL ? ctx->threads : 0;
}

const char *em_ctx_backend(const em_ctx *ctx)
{
	return ctx != NULL ? ctx->backend->name : "";
}

const char *em_ctx_isa(const em_ctx *ctx)
{
	return ctx != NULL ? ctx->isa : "";
}
