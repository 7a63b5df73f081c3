/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_pool.c -- pools of blocks as callers outside know them.
 *
 * Memory of em_buffer_alloc() keeps its context, so a buffer takes that share along when it changes its owner.
 */
#include <extmem/sys/pool.h>

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/structs.h"
#include "block/block_pool.h"
#include "block/share.h"

struct em_block_pool {
	emi_share share;
	emi_store *store;
	emi_block_pool pool;
};

static em_status open_pool(em_block_pool **out, em_disks *d, const em_block_pool_opts *o, em_errinfo *err)
{
	const uint64_t bytes = emi_share_block_bytes(&d->share, o->block_bytes);
	em_block_pool *p;
	em_status st;

	if (bytes % EM_BLOCK_UNIT != 0 || bytes > SIZE_MAX)
		return emi_fail(err, EM_ERR_INVAL, "a pool of blocks of %" PRIu64 " bytes: it must be a multiple of %u", bytes, EM_BLOCK_UNIT);
	p = emi_share_new(d, sizeof *p, err);
	if (p == NULL)
		return err->status;
	st = emi_store_open_disks(&p->store, p->share.ctx, p->share.set, err);
	if (st == EM_OK)
		st = emi_block_pool_open(&p->pool, p->share.ctx, p->store, (size_t)bytes, o->write_buffers,
					 o->prefetch_buffers, NULL, err);
	if (st != EM_OK)
		em_block_pool_close(p);
	else
		*out = p;
	return st;
}

em_status em_block_pool_open(em_block_pool **out, em_disks *d, const em_block_pool_opts *opts)
{
	em_block_pool_opts o;
	em_errinfo err;
	em_status st;

	if (out == NULL)
		return EM_ERR_INVAL;
	*out = NULL;
	if (opts == NULL)
		return EM_ERR_INVAL;
	emi_errinfo_clear(&err);
	st = EMI_STRUCT_TAKE(em_block_pool_opts, &o, opts, &err);
	if (st == EM_OK)
		st = d != NULL ? open_pool(out, d, &o, &err) : emi_fail(&err, EM_ERR_INVAL, "disks are NULL");
	return emi_share_opened(st, EMI_ERRINFO_OF(em_block_pool_opts, opts), &err);
}

void em_block_pool_close(em_block_pool *p)
{
	uint32_t i;

	if (p == NULL)
		return;
	for (i = 0; i < p->pool.list[EMI_POOL_LENT].n; i++)
		emi_ctx_ref(p->share.ctx);
	emi_block_pool_close(&p->pool);
	emi_store_close(p->store);
	emi_share_free(p, sizeof *p);
}

em_status em_block_pool_resize(em_block_pool *p, uint32_t write_buffers, uint32_t prefetch_buffers)
{
	em_errinfo err;

	if (p == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	return emi_share_told(&p->share, emi_block_pool_resize(&p->pool, write_buffers, prefetch_buffers, &err), &err);
}

em_status em_block_pool_attach(em_block_pool *p, void *buf)
{
	em_errinfo err;
	em_status st;

	if (p == NULL || buf == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = emi_block_pool_attach(&p->pool, buf, &err);
	/* The pool's own share is what keeps the context then. */
	if (st == EM_OK)
		emi_ctx_unref(p->share.ctx);
	return emi_share_told(&p->share, st, &err);
}

/* Lend or detach a buffer. */
static em_status get(em_block_pool *p, void **buf, em_status (*how)(emi_block_pool *, char **, em_errinfo *))
{
	em_errinfo err;
	char *got = NULL;
	em_status st;

	if (buf == NULL)
		return EM_ERR_INVAL;
	*buf = NULL;
	if (p == NULL)
		return EM_ERR_INVAL;
	st = emi_share_begin(&p->share, &err);
	if (st == EM_OK)
		st = how(&p->pool, &got, &err);
	*buf = got;
	return emi_share_told(&p->share, st, &err);
}

em_status em_block_pool_detach(em_block_pool *p, void **buf)
{
	const em_status st = get(p, buf, emi_block_pool_detach);

	if (st == EM_OK)
		emi_ctx_ref(p->share.ctx);
	return st;
}

em_status em_block_pool_lend(em_block_pool *p, void **buf)
{
	return get(p, buf, emi_block_pool_lend);
}

/* May a buffer come back? */
static em_status check_lent(const em_block_pool *p, em_errinfo *err)
{
	return p->pool.list[EMI_POOL_LENT].n != 0 ? EM_OK : emi_fail(err, EM_ERR_STATE, "no buffer of the pool is lent");
}

em_status em_block_pool_write(em_block_pool *p, void *buf, em_bid bid)
{
	em_errinfo err;
	em_status st;

	if (p == NULL || buf == NULL)
		return EM_ERR_INVAL;
	st = emi_share_begin_at(&p->share, bid, &err);
	if (st == EM_OK)
		st = emi_block_pool_write(&p->pool, buf, bid, &err);
	return emi_share_told(&p->share, st, &err);
}

em_status em_block_pool_return(em_block_pool *p, void *buf)
{
	em_errinfo err;
	em_status st;

	if (p == NULL || buf == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = check_lent(p, &err);
	if (st == EM_OK)
		emi_block_pool_return(&p->pool, buf);
	return emi_share_told(&p->share, st, &err);
}

int em_block_pool_hint(em_block_pool *p, em_bid bid)
{
	if (p == NULL || emi_ctx_forked(p->share.ctx) || emi_share_check(&p->share, bid, NULL) != EM_OK)
		return 0;
	return emi_block_pool_hint(&p->pool, bid);
}

em_status em_block_pool_read(em_block_pool *p, void **buf, em_bid bid)
{
	em_errinfo err;
	em_status st;
	char *own;

	if (p == NULL || buf == NULL || *buf == NULL)
		return EM_ERR_INVAL;
	own = *buf;
	st = emi_share_begin_at(&p->share, bid, &err);
	if (st == EM_OK)
		st = emi_block_pool_read(&p->pool, &own, bid, &err);
	*buf = own;
	return emi_share_told(&p->share, st, &err);
}

em_status em_block_pool_invalidate(em_block_pool *p, em_bid bid)
{
	em_errinfo err;
	em_status st;

	if (p == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = emi_share_check(&p->share, bid, &err);
	if (st == EM_OK)
		emi_block_pool_invalidate(&p->pool, bid);
	return emi_share_told(&p->share, st, &err);
}

em_status em_block_pool_free(em_block_pool *p, em_bid bid)
{
	em_errinfo err;
	em_status st;

	if (p == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = emi_share_check(&p->share, bid, &err);
	if (st == EM_OK)
		st = emi_block_pool_free(&p->pool, bid, &err);
	return emi_share_told(&p->share, st, &err);
}

em_status em_block_pool_flush(em_block_pool *p)
{
	em_errinfo err;
	em_status st;

	if (p == NULL)
		return EM_ERR_INVAL;
	st = emi_share_begin(&p->share, &err);
	if (st == EM_OK)
		st = emi_block_pool_flush(&p->pool, &err);
	return emi_share_told(&p->share, st, &err);
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

const em_errinfo *em_block_pool_error(const em_block_pool *p)
{
	return p != NULL ? &p->share.err : NULL;
}

uint64_t em_block_pool_memory(uint64_t block_bytes, uint32_t write_buffers, uint32_t prefetch_buffers)
{
	return sizeof(em_block_pool) + emi_store_memory() + emi_block_pool_memory(block_bytes, write_buffers, prefetch_buffers);
}
