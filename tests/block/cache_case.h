/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache_case.h -- blocks on scratch disks and a cache of them, for tests of caches.
 *
 * The content of a block follows from its number and its version, so that whoever gets one can say whether it is what
 * was written last.
 */
#ifndef EM_CACHE_CASE_H
#define EM_CACHE_CASE_H

#include "block/cache.h"
#include "block/fixture.h"

#define BLOCK 4096u
#define MOST_BLOCKS 200u

enum { POLICIES = 5 };

/* All that there are, and NULL for the default. */
extern const em_policy *const policies[POLICIES];

typedef struct cache_case {
	fixture f;
	emi_cache_opts opts;
	emi_store *store;
	emi_cache *c;
	uint32_t n;
	em_bid bid[MOST_BLOCKS];
	uint64_t version[MOST_BLOCKS];
} cache_case;

/* n blocks of version 0 on disks, one after the other; no cache yet.  On several disks, one, or one of a backend by its
 * name. */
void cache_case_open_disks(cache_case *b, const em_backend *const *backends, uint32_t disks, uint32_t n);
void cache_case_open_on(cache_case *b, const em_backend *backend, uint32_t n);
void cache_case_open(cache_case *b, const char *backend, uint32_t n);

/* The cache, too. */
void cache_case_close(cache_case *b);

void case_open_cache(cache_case *b, uint32_t frames, const em_policy *policy);

/* What block i should be, into a buffer or compared with one; and the same with what the disk has, past the cache. */
void case_fill(const cache_case *b, uint32_t i, char *buf);
void case_check(const cache_case *b, uint32_t i, const char *buf);
void case_write_disk(cache_case *b, uint32_t i);
void case_check_disk(cache_case *b);

/* Get block i, which is to succeed, and look at it; or try to. */
uint32_t case_get(cache_case *b, uint32_t i, uint32_t mode);
em_status case_try_get(cache_case *b, uint32_t i, uint32_t mode, uint32_t *f);

/* Get it and unpin it, unchanged or as a new version. */
void case_use(cache_case *b, uint32_t i);
void case_change(cache_case *b, uint32_t i, uint32_t mode);
em_status case_flush(cache_case *b);

/* Forget it. */
em_status case_forget(cache_case *b, uint32_t i);

#endif
