/* SPDX-License-Identifier: BSL-1.0 */
/*
 * open.c -- making a context.
 *
 * A context is a thin thing: numbers, a choice of backend and instruction set, and a copy of the
 * scratch directory's name.  This file checks what the caller asked for, fills in what he left open, and
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
#include <extmem/sys/backend.h>

#include "base/budget.h"
#include "base/context.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/workers.h"
#include "io/backend.h"
#include "io/queue.h"
#include "kern/kern.h"

#define MIN_MEMORY (UINT64_C(1) << 20)
#define MIN_FDS 4u
#define DEFAULT_DIR "/var/tmp"

/* The first version of the options ended here. */
#define LEAST_OPTS offsetof(em_ctx_opts, custom)
/* A size beyond this is no size, and errinfo no pointer. */
#define MOST_OPTS (sizeof(em_ctx_opts) + 4096)

/* The caller's detail, if the options are sound enough to trust the pointer. */
static em_errinfo *errinfo_of(const em_ctx_opts *opts)
{
	if (opts == NULL || opts->size < LEAST_OPTS || opts->size > MOST_OPTS)
		return NULL;
	return opts->errinfo;
}

static em_status check_dirs(const em_ctx_opts *o, em_errinfo *err)
{
	if ((o->dirs == NULL) != (o->ndirs == 0))
		return emi_fail(err, EM_ERR_INVAL, "dirs and ndirs do not match");
	if (o->ndirs > 1)
		return emi_fail(err, EM_ERR_INVAL, "ndirs is %" PRIu32 ": only one directory is supported", o->ndirs);
	if (o->dirs != NULL && (o->dirs[0] == NULL || o->dirs[0][0] == '\0'))
		return emi_fail(err, EM_ERR_INVAL, "dirs[0] is empty");
	return EM_OK;
}

/* What can be judged without asking the system. */
static em_status check_opts(const em_ctx_opts *o, em_errinfo *err)
{
	if (o->direct != EM_DIRECT_TRY && o->direct != EM_DIRECT_OFF && o->direct != EM_DIRECT_ON)
		return emi_fail(err, EM_ERR_INVAL, "direct is %" PRId32 ": it must be one of EM_DIRECT_...", o->direct);
	if (o->priority < EM_PRIORITY_WRITE || o->priority > EM_PRIORITY_NONE)
		return emi_fail(err, EM_ERR_INVAL, "priority is %" PRId32 ": it must be one of EM_PRIORITY_...", o->priority);
	if (o->threads > EMI_MAX_THREADS)
		return emi_fail(err, EM_ERR_INVAL, "threads is %" PRIu32 ": it must not exceed %u", o->threads,
				EMI_MAX_THREADS);
	if (o->queue_depth > EMI_IO_DEPTH_MAX)
		return emi_fail(err, EM_ERR_INVAL, "queue_depth is %" PRIu32 ": it must not exceed %d", o->queue_depth,
				EMI_IO_DEPTH_MAX);
	if (o->allocator != NULL && (o->allocator->alloc == NULL || o->allocator->release == NULL))
		return emi_fail(err, EM_ERR_INVAL, "the allocator lacks a function");
	if (o->custom != NULL && o->backend != NULL)
		return emi_fail(err, EM_ERR_INVAL, "backend and custom are both given");
	return check_dirs(o, err);
}

/* The budget: what was asked for, or a quarter of what there is. */
static em_status choose_memory(em_ctx *ctx, uint64_t asked, uint64_t physical, uint64_t limit, em_errinfo *err)
{
	uint64_t there = physical < limit ? physical : limit;

	if (asked == 0) {
		/* Where neither is known there is still an address space. */
		asked = (there < SIZE_MAX ? there : SIZE_MAX) / 4;
		if (asked < MIN_MEMORY)
			asked = MIN_MEMORY;
	}
	if (asked < MIN_MEMORY)
		return emi_fail_memory(err, MIN_MEMORY, "memory is %" PRIu64 " bytes", asked);
	ctx->memory = asked;
	return EM_OK;
}

/* Threads left open: one per core, unless their stacks would take more than an eighth of the memory. */
static void choose_threads(em_ctx *ctx, uint32_t asked)
{
	uint64_t most = 1 + ctx->memory / 8 / EMI_STACK_BYTES;

	if (asked == 0) {
		asked = emi_usable_cores();
		if (asked > EMI_MAX_THREADS)
			asked = EMI_MAX_THREADS;
		if (asked > most)
			asked = (uint32_t)most;
	}
	ctx->threads = asked;
}

static em_status choose_fds(em_ctx *ctx, uint32_t asked, em_errinfo *err)
{
	uint32_t left = emi_free_descriptors();

	ctx->fds = asked != 0 ? asked : left;
	if (ctx->fds < MIN_FDS || left < MIN_FDS)
		return emi_fail(err, EM_ERR_FDLIMIT, "%" PRIu32 " file descriptors may be opened: at least %u are needed",
				left < ctx->fds ? left : ctx->fds, MIN_FDS);
	return EM_OK;
}

static em_status choose_backend(em_ctx *ctx, const em_ctx_opts *o, em_errinfo *err)
{
	const char *flaw, *why = NULL;

	if (o->custom != NULL) {
		flaw = emi_backend_flaw(o->custom);
		if (flaw != NULL)
			return emi_fail(err, EM_ERR_INVAL, "the custom backend is incomplete: %s", flaw);
		ctx->backend = o->custom;
		return EM_OK;
	}
	ctx->backend = o->backend != NULL ? emi_backend_named(o->backend, &why) : emi_backend_find(NULL);
	if (ctx->backend != NULL)
		return EM_OK;
	if (why != NULL)
		return emi_fail(err, EM_ERR_NOTSUP, "backend '%s' does not work here: %s", o->backend, why);
	return emi_fail(err, EM_ERR_NOTSUP, "there is no backend '%s'", o->backend != NULL ? o->backend : "");
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
	pthread_condattr_t attr;
	int e = pthread_mutex_init(&ctx->lock, NULL);

	if (e != 0)
		return e;
	e = emi_lock_init(&ctx->io_lock);
	if (e != 0)
		goto no_io_lock;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	e = pthread_cond_init(&ctx->io_done, &attr);
	pthread_condattr_destroy(&attr);
	if (e == 0)
		return 0;
	pthread_mutex_destroy(&ctx->io_lock);
no_io_lock:
	pthread_mutex_destroy(&ctx->lock);
	return e;
}

/* Move the context from the local variable to memory of its own. */
static em_status settle(em_ctx **out, em_ctx *local, const char *dir, em_errinfo *err)
{
	em_ctx *ctx;

	local->dir = emi_strdup(local, dir, err);
	if (local->dir == NULL)
		return err->status;
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
	return err->status;
}

static void log_choices(const em_ctx *ctx, uint64_t physical, uint64_t limit)
{
	if (ctx->memory > physical)
		emi_log(ctx, EM_LOG_WARN, "the memory budget of %" PRIu64 " bytes exceeds the %" PRIu64
			" bytes of physical memory", ctx->memory, physical);
	if (ctx->memory > limit)
		emi_log(ctx, EM_LOG_WARN, "the memory budget of %" PRIu64 " bytes exceeds the control group's limit of %"
			PRIu64 " bytes", ctx->memory, limit);
	emi_log(ctx, EM_LOG_DEBUG, "memory %" PRIu64 ", threads %" PRIu32 ", descriptors %" PRIu32
		", backend %s, instruction set %s, scratch in %s", ctx->memory, ctx->threads, ctx->fds, ctx->backend->name,
		ctx->isa, ctx->dir);
}

static em_status open_ctx(em_ctx **out, const em_ctx_opts *opts, em_errinfo *err)
{
	uint64_t physical, limit;
	em_ctx_opts o;
	em_ctx ctx;
	em_status st;

	st = emi_opts_copy(&o, sizeof(o), LEAST_OPTS, opts, "em_ctx_opts", err);
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
	ctx.priority = o.priority;
	ctx.log = o.log;
	ctx.log_user = o.log_user;
	if (o.allocator != NULL)
		ctx.allocator = *o.allocator;
	physical = emi_physical_memory();
	limit = emi_cgroup_memory("");
	st = choose_memory(&ctx, o.memory, physical, limit, err);
	if (st != EM_OK)
		return st;
	choose_threads(&ctx, o.threads);
	st = choose_fds(&ctx, o.fds, err);
	if (st != EM_OK)
		return st;
	st = choose_backend(&ctx, &o, err);
	if (st != EM_OK)
		return st;
	st = choose_isa(&ctx, o.isa, err);
	if (st != EM_OK)
		return st;
	st = settle(out, &ctx, o.dirs != NULL ? o.dirs[0] : DEFAULT_DIR, err);
	if (st != EM_OK)
		return st;
	log_choices(*out, physical, limit);
	return EM_OK;
}

em_status em_ctx_open(em_ctx **out, const em_ctx_opts *opts)
{
	em_errinfo *theirs = errinfo_of(opts);
	em_errinfo err;
	em_status st;

	memset(&err, 0, sizeof(err));
	if (out != NULL) {
		*out = NULL;
		st = open_ctx(out, opts, &err);
	} else {
		st = emi_fail(&err, EM_ERR_INVAL, "out is NULL");
	}
	if (st != EM_OK && theirs != NULL)
		*theirs = err;
	return st;
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

uint64_t em_ctx_memory(const em_ctx *ctx)
{
	return ctx->memory;
}

uint64_t em_ctx_memory_used(const em_ctx *ctx)
{
	return __atomic_load_n(&ctx->used, __ATOMIC_RELAXED);
}

uint64_t em_ctx_memory_peak(const em_ctx *ctx)
{
	return __atomic_load_n(&ctx->peak, __ATOMIC_RELAXED);
}

uint32_t em_ctx_threads(const em_ctx *ctx)
{
	return ctx->threads;
}

const char *em_ctx_backend(const em_ctx *ctx)
{
	return ctx->backend->name;
}

const char *em_ctx_isa(const em_ctx *ctx)
{
	return ctx->isa;
}
