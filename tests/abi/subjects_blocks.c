/* SPDX-License-Identifier: BSL-1.0 */
/* subjects_blocks.c -- structs of disks, and blocks on them; see subjects.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/subjects_case.h"

static em_status with_disks_opts(void *theirs)
{
	em_disks *d;
	const em_status st = em_disks_open(&d, given.ctx, theirs);

	em_disks_close(d);
	return st;
}

static em_status with_disks_stats(void *theirs)
{
	return em_disks_stats_get(given.disks, EM_DISKS_ALL, theirs);
}

/* Given and taken back. */
static em_status with_list_info(void *theirs)
{
	em_block_list *l;
	em_status st = em_block_list_open(&l, given.disks, theirs, &subjects_err);

	if (st == EM_OK)
		st = em_block_list_info_get(l, theirs);
	em_block_list_close(l);
	return st;
}

static em_status with_pool_opts(void *theirs)
{
	em_block_pool *p;
	const em_status st = em_block_pool_open(&p, given.disks, theirs);

	em_block_pool_close(p);
	return st;
}

static em_status with_pool_stats(void *theirs)
{
	em_block_pool_opts o = EM_BLOCK_POOL_OPTS_INIT;
	em_block_pool *p;
	em_status st;

	o.block_bytes = 4096;
	assert_int_equal(em_block_pool_open(&p, given.disks, &o), EM_OK);
	st = em_block_pool_stats_get(p, theirs);
	em_block_pool_close(p);
	return st;
}

static em_status with_writer_opts(void *theirs)
{
	em_block_writer *w;
	const em_status st = em_block_writer_open(&w, given.disks, theirs);

	em_block_writer_close(w);
	return st;
}

static em_status with_reader_opts(void *theirs)
{
	em_block_list_info i = EM_BLOCK_LIST_INFO_INIT;
	em_block_reader *r;
	em_block_list *l;
	em_status st;

	i.record_bytes = 8;
	i.block_bytes = 4096;
	assert_int_equal(em_block_list_open(&l, given.disks, &i, NULL), EM_OK);
	st = em_block_reader_open(&r, l, theirs);
	em_block_reader_close(r);
	em_block_list_close(l);
	return st;
}

static em_status with_cache_opts(void *theirs)
{
	em_cache *c;
	const em_status st = em_cache_open(&c, given.disks, theirs);

	assert_int_equal(em_cache_memory(theirs) != 0, st == EM_OK);
	em_cache_close(c);
	return st;
}

static em_status with_policy(void *theirs)
{
	em_cache_opts o = EM_CACHE_OPTS_INIT;
	em_cache *c;
	em_status st;

	o.frames = 2;
	o.block_bytes = 4096;
	o.policy = theirs;
	o.errinfo = &subjects_err;
	st = em_cache_open(&c, given.disks, &o);
	em_cache_close(c);
	return st;
}

static em_status with_cache_stats(void *theirs)
{
	em_cache_opts o = EM_CACHE_OPTS_INIT;
	em_cache *c;
	em_status st;

	o.frames = 2;
	o.block_bytes = 4096;
	assert_int_equal(em_cache_open(&c, given.disks, &o), EM_OK);
	st = em_cache_stats_get(c, theirs);
	em_cache_close(c);
	return st;
}

size_t subjects_blocks(subject *s)
{
	size_t n = 0;

	s[n] = MAKE(em_block_list_info, with_list_info, 1);
	s[n].u.list_info = (em_block_list_info)EM_BLOCK_LIST_INFO_INIT;
	s[n].u.list_info.block_bytes = 4096;
	s[n++].u.list_info.record_bytes = 8;
	s[n] = MAKE(em_block_pool_opts, with_pool_opts, 1);
	s[n].u.pool_opts = (em_block_pool_opts)EM_BLOCK_POOL_OPTS_INIT;
	s[n].u.pool_opts.block_bytes = 4096;
	s[n++].u.pool_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_block_pool_stats, with_pool_stats, 0);
	s[n] = MAKE(em_block_reader_opts, with_reader_opts, 1);
	s[n].u.reader_opts = (em_block_reader_opts)EM_BLOCK_READER_OPTS_INIT;
	s[n++].u.reader_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_block_writer_opts, with_writer_opts, 1);
	s[n].u.writer_opts = (em_block_writer_opts)EM_BLOCK_WRITER_OPTS_INIT;
	s[n].u.writer_opts.block_bytes = 4096;
	s[n].u.writer_opts.record_bytes = 8;
	s[n++].u.writer_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_cache_opts, with_cache_opts, 1);
	s[n].u.cache_opts = (em_cache_opts)EM_CACHE_OPTS_INIT;
	s[n].u.cache_opts.block_bytes = 4096;
	s[n].u.cache_opts.frames = 2;
	s[n++].u.cache_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_cache_stats, with_cache_stats, 0);
	s[n] = MAKE(em_disks_opts, with_disks_opts, 1);
	s[n].u.disks_opts = (em_disks_opts)EM_DISKS_OPTS_INIT;
	s[n++].u.disks_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_disks_stats, with_disks_stats, 0);
	s[n] = MAKE(em_policy, with_policy, 1);
	s[n++].u.policy = *em_policy_clock();
	return n;
}
