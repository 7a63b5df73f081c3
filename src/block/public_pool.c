/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_pool.c -- pools of blocks as callers outside know them.
 *
 * Memory of em_buffer_alloc() keeps its context, so a buffer takes that share along when it changes its owner.
 */
#include "block/public_pool.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/structs.h"

void emi_pool_hold(em_block_pool *p)
{
	p->users++;
}

/* A buffer that is lent stays its holder's. */
void emi_pool_let(em_block_pool *p)
{
	uint32_t i;

	if (--p->users != 0)
		return;
	for (i = 0; i < p->pool.list[EMI_POOL_LENT].n; i++)
		emi_ctx_ref(p->share.object.ctx);
	emi_block_pool_close(&p->pool);
	emi_share_free(p, sizeof *p);
}

/* With others who share it, it goes on for these. */
static void release_pool(void *pool)
{
	emi_pool_let(pool);
}

/* Can there be so many buffers, and will the context have the memory? */
static em_status check_buffers(const emi_share *s, uint64_t bytes, uint32_t nwrite, uint32_t nprefetch, em_errinfo *err)
{
	const emi_wants w = emi_share_wants(s, em_block_pool_memory(bytes, nwrite, nprefetch),
					    (uint64_t)nwrite + nprefetch, bytes);
	const em_status st = emi_block_pool_check(nwrite, nprefetch, err);

	if (st != EM_OK)
		return st;
	return emi_suffice_check(s->object.ctx, &w, err, "write_buffers of %" PRIu32 ", prefetch_buffers of %" PRIu32,
				 nwrite, nprefetch);
}

static em_status open_pool(em_block_pool **out, em_disks *d, const em_block_pool_opts *o, em_errinfo *err)
{
	const uint64_t bytes = emi_share_block_bytes(&d->share, o->block_bytes);
	em_block_pool *p;
	em_status st;

	if (bytes % EM_BLOCK_UNIT != 0 || bytes > SIZE_MAX)
		return emi_fail(err, EM_ERR_INVAL, "a pool of blocks of %" PRIu64 " bytes: it must be a multiple of %u",
				bytes, EM_BLOCK_UNIT);
	st = check_buffers(&d->share, bytes, o->write_buffers, o->prefetch_buffers, err);
	if (st != EM_OK)
		return st;
	p = emi_share_new(d, sizeof *p, 0, release_pool, err);
	if (p == NULL)
		return err->status;
	p->users = 1;
	st = emi_share_store(&p->share, err);
	if (st == EM_OK)
		st = emi_block_pool_open(&p->pool, p->share.object.ctx, p->share.store, (size_t)bytes, o->write_buffers,
					 o->prefetch_buffers, NULL, err);
	if (st != EM_OK)
		emi_share_free(p, sizeof *p);
	else
		*out = p;
	return st;
}

em_status em_block_pool_open(em_block_pool **out, em_disks *d, const em_block_pool_opts *opts)
{
	em_block_pool_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, d, "d", &err);
	if (st == EM_OK)
		st = emi_given(opts, "opts", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_block_pool_opts, &o, opts, &err);
	if (st == EM_OK)
		st = open_pool(out, d, &o, &err);
	return emi_tell(EMI_ERRINFO_OF(em_block_pool_opts, opts), st, &err);
}

void em_block_pool_close(em_block_pool *p)
{
	emi_object_close(p);
}

void em_block_pool_cancel(em_block_pool *p)
{
	emi_object_cancel(p);
}

em_status em_block_pool_resize(em_block_pool *p, uint32_t write_buffers, uint32_t prefetch_buffers)
{
	em_errinfo err;
	em_status st = emi_enter(p, &err);

	if (st != EM_OK)
		return st;
	st = check_buffers(&p->share, p->pool.block_bytes, write_buffers, prefetch_buffers, &err);
	if (st == EM_OK)
		st = emi_block_pool_resize(&p->pool, write_buffers, prefetch_buffers, &err);
	return emi_leave(p, st, &err);
}

em_status em_block_pool_attach(em_block_pool *p, void *buf)
{
	em_errinfo err;
	em_status st = emi_enter(p, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(buf, "buf", &err);
	if (st == EM_OK)
		st = emi_block_pool_attach(&p->pool, buf, &err);
	/* The pool's own share is what keeps the context then. */
	if (st == EM_OK)
		emi_ctx_unref(p->share.object.ctx);
	return emi_leave(p, st, &err);
}

/* Lend or detach a buffer. */
static em_status get(em_block_pool *p, void **buf, int detached)
{
	char *got = NULL;
	em_errinfo err;
	em_status st = emi_enter(p, &err);

	if (buf != NULL)
		*buf = NULL;
	if (st != EM_OK)
		return st;
	st = emi_given(buf, "buf", &err);
	if (st == EM_OK)
		st = (detached ? emi_block_pool_detach : emi_block_pool_lend)(&p->pool, &got, &err);
	if (st == EM_OK)
		*buf = got;
	if (st == EM_OK && detached)
		emi_ctx_ref(p->share.object.ctx);
	return emi_leave(p, st, &err);
}

em_status em_block_pool_detach(em_block_pool *p, void **buf)
{
	return get(p, buf, 1);
}

em_status em_block_pool_lend(em_block_pool *p, void **buf)
{
	return get(p, buf, 0);
}

em_status em_block_pool_write(em_block_pool *p, void *buf, em_bid bid)
{
	em_errinfo err;
	em_status st = emi_share_enter_at(p, bid, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(buf, "buf", &err);
	if (st == EM_OK)
		st = emi_block_pool_write(&p->pool, buf, bid, &err);
	return emi_leave(p, st, &err);
}

em_status em_block_pool_return(em_block_pool *p, void *buf)
{
	em_errinfo err;
	em_status st = emi_enter_back(p, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(buf, "buf", &err);
	if (st == EM_OK && p->pool.list[EMI_POOL_LENT].n == 0)
		st = emi_fail(&err, EM_ERR_STATE, "no buffer of the pool is lent");
	if (st == EM_OK)
		emi_block_pool_return(&p->pool, buf);
	return emi_leave(p, st, &err);
}

int em_block_pool_hint(em_block_pool *p, em_bid bid)
{
	em_errinfo err;
	int known;

	if (emi_share_enter_at(p, bid, &err) != EM_OK)
		return 0;
	known = emi_block_pool_hint(&p->pool, bid);
	emi_leave_quickly(&p->share.object);
	return known;
}

em_status em_block_pool_read(em_block_pool *p, void **buf, em_bid bid)
{
	em_errinfo err;
	em_status st = emi_share_enter_at(p, bid, &err);
	char *own;

	if (st != EM_OK)
		return st;
	st = emi_given(buf, "buf", &err);
	if (st == EM_OK)
		st = emi_given(*buf, "*buf", &err);
	if (st != EM_OK)
		return emi_leave(p, st, &err);
	own = *buf;
	st = emi_block_pool_read(&p->pool, &own, bid, &err);
	*buf = own;
	return emi_leave(p, st, &err);
}

em_status em_block_pool_invalidate(em_block_pool *p, em_bid bid)
{
	em_errinfo err;
	em_status st = emi_enter_back(p, &err);

	if (st != EM_OK)
		return st;
	st = emi_share_check(&p->share, bid, &err);
	if (st == EM_OK)
		emi_block_pool_invalidate(&p->pool, bid);
	return emi_leave(p, st, &err);
}

em_status em_block_pool_free(em_block_pool *p, em_bid bid)
{
	em_errinfo err;
	em_status st = emi_enter_back(p, &err);

	if (st != EM_OK)
		return st;
	st = emi_share_check(&p->share, bid, &err);
	if (st == EM_OK)
		st = emi_block_pool_free(&p->pool, bid, &err);
	return emi_leave(p, st, &err);
}

em_status em_block_pool_flush(em_block_pool *p)
{
	em_errinfo err;
	const em_status st = emi_enter(p, &err);

	return st == EM_OK ? emi_leave(p, emi_block_pool_flush(&p->pool, &err), &err) : st;
}

em_status em_block_pool_stats_get(const em_block_pool *p, em_block_pool_stats *stats)
{
	em_block_pool_stats s = EM_BLOCK_POOL_STATS_INIT;

	if (p == NULL)
		return EM_ERR_INVAL;
	s.write_buffers = p->pool.nwrite;
	s.prefetch_buffers = p->pool.nprefetch;
	s.lent = p->pool.list[EMI_POOL_LENT].n;
	s.reads = p->pool.stats.reads;
	s.hits = p->pool.stats.hits;
	s.recalled = p->pool.stats.recalled;
	s.hints = p->pool.stats.hints;
	s.writes = p->pool.stats.writes;
	s.dropped = p->pool.stats.dropped;
	s.waits = p->pool.stats.waits;
	return EMI_STRUCT_GIVE(em_block_pool_stats, stats, &s);
}

void em_block_pool_error(const em_block_pool *p, em_errinfo *err)
{
	emi_object_error(p, err);
}

uint64_t em_block_pool_memory(uint64_t block_bytes, uint32_t write_buffers, uint32_t prefetch_buffers)
{
	return sizeof(em_block_pool) + emi_store_memory() +
	       emi_block_pool_memory(block_bytes, write_buffers, prefetch_buffers);
}
