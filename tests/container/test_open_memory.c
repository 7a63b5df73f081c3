/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_open_memory.c -- what can be opened works: with the memory that a refusal names, and no other object in the
 * context, everything has a full life, and with one byte less it is refused, too.
 *
 * That holds for as many blocks on disk as headers promise.  Whoever has more than there is memory for is told what
 * would do.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <extmem/sys/cache.h>
#include <extmem/sys/pool.h>

#include "common/test.h"
#include "container/kinds.h"

enum {
	BLOCK = 4096,
	PER = BLOCK / 8,
	BUFFERS = 1024,         /* of named memory */
	BLOCKS = 1000,          /* more than that is for: headers promise 1024 */
	SAVED = 800000,         /* records of a tree in a file: more than a cache has */
	CHUNK = 1000            /* records */
};

#define MEMORY ((uint64_t)BUFFERS * BLOCK)

/* An object in a context of its own; records are numbers. */
typedef struct life {
	em_ctx *ctx;
	em_order *order;
	em_disks *disks;
	const struct kind *kind;
	void *object;
	char *path;             /* of a file */
	em_errinfo err;
	uint64_t buf[CHUNK];
	test_rng rng;
} life;

/* A kind of object: how one with MEMORY is opened and closed; and what is done with it, for the first failure. */
typedef struct kind {
	const char *name;
	em_status (*open)(life *l);
	em_status (*live)(life *l);
	void (*close)(life *l);
	const char *option;     /* that a refusal names */
	const container_kind *container; /* if it is one, ... */
	uint64_t blocks;        /* ... blocks of records that it has, ... */
	uint64_t many;          /* ... and how many records a call has: many are sorted for a tree */
} kind;

static em_status container_open(life *l)
{
	const container_how how = { MEMORY, BLOCK, NULL, l->path, &l->err };

	return l->kind->container->open(&l->object, l->ctx, &how);
}

/* All records enter and leave by chunks. */
static em_status container_live(life *l)
{
	const container_kind *k = l->kind->container;
	const uint64_t many = l->kind->many, n = l->kind->blocks * PER / many * many;
	em_status st = EM_OK;
	uint64_t i, j;

	for (i = 0; st == EM_OK && i < n; i += many) {
		for (j = 0; j < many; j++)
			l->buf[j] = test_random(&l->rng) >> 1;
		st = k->push(l->object, l->buf, many);
	}
	for (i = 0; st == EM_OK && i < 5000 && k->touch != NULL; i++)
		st = k->touch(l->object, test_below(&l->rng, n));
	for (i = 0; st == EM_OK && i < n; i += many)
		st = k->pop(l->object, l->buf, many);
	if (st != EM_OK)
		k->error(l->object, &l->err);
	return st;
}

static void container_close(life *l)
{
	l->kind->container->close(l->object);
}

/* A tree in a file, which is made if it is not there. */
static void save(life *l)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_order *order;
	em_ctx *ctx;
	em_btree *t;
	uint64_t i;
	em_key key = EM_KEY_INIT;

	key.type = EM_KEY_U64;
	o.memory = 4 * MEMORY;
	assert_int_equal(em_ctx_open(&ctx, &o), EM_OK);
	assert_int_equal(em_order_keys(&order, ctx, 8, &key, 1, NULL), EM_OK);
	assert_int_equal(em_btree_open(&t, ctx, order, NULL), EM_OK);
	for (i = 0; i < SAVED; i++)
		assert_int_equal(em_btree_insert(t, &i), EM_OK);
	assert_int_equal(em_btree_save(t, l->path), EM_OK);
	em_btree_close(t);
	em_order_close(order);
	em_ctx_close(ctx);
}

static em_status saved_open(life *l)
{
	em_btree_opts o = EM_BTREE_OPTS_INIT;
	em_btree *t;
	em_status st;

	if (access(l->path, F_OK) != 0)
		save(l);
	o.cache_bytes = MEMORY;
	o.node_cache_bytes = MEMORY / 16;
	o.errinfo = &l->err;
	st = em_btree_open_file(&t, l->ctx, l->path, l->order, &o);
	l->object = t;
	return st;
}

static em_status saved_live(life *l)
{
	em_status st = EM_OK;
	uint64_t i, x;

	for (i = 0; st == EM_OK && i < SAVED; i++)
		st = em_btree_get(l->object, &i, &x);
	if (st != EM_OK)
		em_btree_error(l->object, &l->err);
	return st;
}

static void saved_close(life *l)
{
	em_btree_close(l->object);
}

static em_status cache_open(life *l)
{
	em_cache_opts o = EM_CACHE_OPTS_INIT;
	em_cache *c;
	em_status st;

	o.frames = BUFFERS / 2;
	o.block_bytes = BLOCK;
	o.errinfo = &l->err;
	st = em_cache_open(&c, l->disks, &o);
	l->object = c;
	return st;
}

static em_status cache_live(life *l)
{
	enum { N = BUFFERS / 2 + BLOCKS };
	em_bid bid[N];
	em_status st = em_bids_alloc(l->disks, bid, N, BLOCK, NULL, 0);
	uint64_t i;

	for (i = 0; st == EM_OK && i < 3 * N; i++) {
		void *block;

		st = em_cache_get(l->object, bid[i % N], i < N ? EM_CACHE_FRESH : EM_CACHE_WRITE, &block);
		if (st == EM_OK)
			st = em_cache_unpin(l->object, block, 1);
	}
	if (st != EM_OK)
		em_cache_error(l->object, &l->err);
	return st;
}

static void cache_close(life *l)
{
	em_cache_close(l->object);
}

static em_status pool_open(life *l)
{
	em_block_pool_opts o = EM_BLOCK_POOL_OPTS_INIT;
	em_block_pool *p;
	em_status st;

	o.write_buffers = BUFFERS / 2;
	o.prefetch_buffers = BUFFERS / 2;
	o.block_bytes = BLOCK;
	o.errinfo = &l->err;
	st = em_block_pool_open(&p, l->disks, &o);
	l->object = p;
	return st;
}

static em_status pool_live(life *l)
{
	enum { N = BUFFERS / 2 + BLOCKS };
	em_bid bid[N];
	em_status st = em_bids_alloc(l->disks, bid, N, BLOCK, NULL, 0);
	uint64_t i;

	for (i = 0; st == EM_OK && i < 3 * N; i++) {
		void *block;

		(void)em_block_pool_hint(l->object, bid[test_below(&l->rng, i + 1) % N]);
		st = em_block_pool_lend(l->object, &block);
		if (st != EM_OK)
			continue;
		memset(block, 1, BLOCK);
		st = em_block_pool_write(l->object, block, bid[i % N]);
	}
	if (st != EM_OK)
		em_block_pool_error(l->object, &l->err);
	return st;
}

static void pool_close(life *l)
{
	em_block_pool_close(l->object);
}

#define CONTAINER container_open, container_live, container_close

static const kind kinds[] = {
	{ "vector", CONTAINER, "cache_bytes", &container_kinds[CONTAINER_VECTOR], BUFFERS + BLOCKS, CHUNK },
	{ "btree", CONTAINER, "cache_bytes", &container_kinds[CONTAINER_BTREE], (BUFFERS + BLOCKS) / 2, 1 },
	{ "stack", CONTAINER, "memory_bytes", &container_kinds[CONTAINER_STACK], BUFFERS / 2 + BLOCKS, CHUNK },
	{ "queue", CONTAINER, "memory_bytes", &container_kinds[CONTAINER_QUEUE], BUFFERS / 2 + BLOCKS, CHUNK },
	{ "deque", CONTAINER, "memory_bytes", &container_kinds[CONTAINER_DEQUE], BUFFERS / 4 + BLOCKS, CHUNK },
	{ "pq", CONTAINER, "memory_bytes", &container_kinds[CONTAINER_PQ], BUFFERS + BLOCKS, CHUNK },
	{ "radix heap", CONTAINER, "memory_bytes", &container_kinds[CONTAINER_RADIX_HEAP], BUFFERS + BLOCKS, CHUNK },
	{ "cache", cache_open, cache_live, cache_close, "frames", NULL, 0, 0 },
	{ "pool", pool_open, pool_live, pool_close, "write_buffers", NULL, 0, 0 },
};

static const kind saved = { "saved tree", saved_open, saved_live, saved_close, "cache_bytes", NULL, 0, 0 };

enum { KINDS = sizeof kinds / sizeof *kinds };

/* The way a context is made, but for its memory. */
typedef struct place {
	const char *backend;
	uint32_t disks;
	uint32_t threads;
	uint32_t flags;
	int file;               /* a vector is bound to one */
} place;

static void begin(life *l, const kind *k, const place *p, const char *dir, uint64_t memory)
{
	const char *const dirs[] = { dir, dir, dir };
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_key key = EM_KEY_INIT;

	memset(l, 0, sizeof *l);
	l->kind = k;
	l->rng = test_rng_make(test_seed());
	o.memory = memory;
	o.threads = p->threads;
	o.backend = p->backend;
	o.direct = EM_DIRECT_OFF;
	o.flags = p->flags;
	o.dirs = dirs;
	o.ndirs = p->disks;
	key.type = EM_KEY_U64;
	assert_int_equal(em_ctx_open(&l->ctx, &o), EM_OK);
	assert_int_equal(em_order_keys(&l->order, l->ctx, 8, &key, 1, NULL), EM_OK);
	assert_int_equal(em_disks_open(&l->disks, l->ctx, NULL), EM_OK);
	l->path = p->file ? test_path(dir, "records") : NULL;
}

static void end(life *l)
{
	em_disks_close(l->disks);
	em_order_close(l->order);
	em_ctx_close(l->ctx);
	free(l->path);
}

/* Open one in a context of so much memory: 0, or the memory that would do. */
static uint64_t refused(const kind *k, const place *p, const char *dir, uint64_t memory)
{
	char named[64];
	em_status st;
	life l;

	begin(&l, k, p, dir, memory);
	st = k->open(&l);
	if (st == EM_OK) {
		k->close(&l);
	} else {
		assert_int_equal(st, EM_ERR_MEMLIMIT);
		assert_null(l.object);
		snprintf(named, sizeof named, "memory of %llu bytes: at least %llu", (unsigned long long)memory,
			 (unsigned long long)l.err.bytes);
		assert_non_null(strstr(l.err.text, k->option));
		assert_non_null(strstr(l.err.text, named));
		assert_true(l.err.bytes > memory);
	}
	end(&l);
	return st == EM_OK ? 0 : l.err.bytes;
}

static void check(const kind *k, const place *p)
{
	char *dir = test_dir_make();
	const uint64_t least = refused(k, p, dir, em_ctx_min_memory());
	em_status st;
	life l;

	assert_true(least != 0);
	assert_true(refused(k, p, dir, least - 1) == least);
	begin(&l, k, p, dir, least);
	assert_int_equal(k->open(&l), EM_OK);
	st = k->live(&l);
	if (st != EM_OK)
		fail_msg("%s on %u disks of '%s': %s", k->name, (unsigned)p->disks, p->backend, l.err.text);
	k->close(&l);
	end(&l);
	test_dir_remove(dir);
}

static void test_least_does(void **state)
{
	static const place places[] = {
		{ "memory", 1, 1, 0, 0 },
		{ "syscall", 1, 2, 0, 0 },
		{ "memory", 3, 4, 0, 0 },
		{ "memory", 2, 1, EM_CTX_CHECKED, 0 },
		{ NULL, 1, 0, 0, 0 },
	};
	size_t k, i;

	(void)state;
	for (k = 0; k < KINDS; k++)
		for (i = 0; i < sizeof places / sizeof *places; i += test_step())
			check(&kinds[k], &places[i]);
}

static void test_file(void **state)
{
	static const place p = { "syscall", 1, 1, 0, 1 };

	(void)state;
	check(&kinds[0], &p);
	check(&saved, &p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least_does),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
