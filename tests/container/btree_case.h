/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_case.h -- a B+-tree and what should be in it, for tests of B+-trees.
 *
 * The model is a sorted array.  A record has a key, which stands for a number, and, where it has room, the number of
 * the insertion and bytes that follow from both.  How a number becomes a key depends on the order: see shapes.
 */
#ifndef EM_BTREE_CASE_H
#define EM_BTREE_CASE_H

#include <extmem/btree.h>

#include "block/fixture.h"

/* Orders and records. */
typedef enum btree_shape {
	BTREE_SET,              /* a number of 4 bytes, and nothing else */
	BTREE_U64,              /* a number of 8 bytes before 8 others */
	BTREE_FIELDS,           /* two fields behind others, one descending: 9 bytes of 30 */
	BTREE_BYTES,            /* bytes: 700 of 1000, so that 4 records are in a leaf and 5 children in a node */
	BTREE_WIDE,             /* 16 bytes that are all key */
	BTREE_FUNCTION,         /* a comparison of records of 24 bytes, which looks at 12 of them */
	BTREE_LARGE_FUNCTION,   /* the same of 900 */
	BTREE_KEY_FUNCTION,     /* a number that is computed of 21 bytes */
	BTREE_SHAPES
} btree_shape;

typedef struct btree_entry {
	uint64_t key;
	uint32_t number;
} btree_entry;

enum { BTREE_RECORD_MOST = 1024, BTREE_CURSORS = 24 };

/* A cursor, and where it should stand. */
typedef enum btree_where { BTREE_AT_BEGIN, BTREE_AT_END, BTREE_ON, BTREE_IN_GAP } btree_where;

typedef struct btree_stand {
	em_btree_cursor *cursor;
	btree_where where;
	size_t i;               /* the entry that it is on, or that is next */
	uint64_t key;           /* of a gap */
} btree_stand;

typedef struct btree_case {
	fixture f;
	btree_shape shape;
	size_t record;
	em_order *order;
	em_btree_opts opts;
	em_btree *t;
	em_errinfo err;
	int fails;              /* functions of the order report a failure */
	/* the model */
	btree_entry *entry;
	size_t n, room;
	uint32_t inserts;
	btree_stand stand[BTREE_CURSORS];
	unsigned stands;
	char buf[BTREE_RECORD_MOST], key[BTREE_RECORD_MOST], got[BTREE_RECORD_MOST];
} btree_case;

/* A context, an order, and room for so many records in the model.  Blocks are of 4 KiB and caches as small as may
 * be. */
void btree_case_open(btree_case *c, const em_backend *backend, btree_shape shape, size_t room, uint32_t ctx_flags);

/* The tree, as c->opts say. */
void btree_case_make(btree_case *c);

/* The record of an entry, in c->buf, and a key, in c->key. */
void btree_case_record(btree_case *c, void *to, uint64_t key, uint32_t number);
const void *btree_case_key(btree_case *c, uint64_t key);

/* What the record of an entry says; fails the test if it is none. */
btree_entry btree_case_entry(btree_case *c, const void *record);

/* Is that the record of the i-th entry? */
void btree_case_is(btree_case *c, const void *record, size_t i);

/* The first entry that is not less than a key, or, upper, that is greater. */
size_t btree_case_bound(const btree_case *c, uint64_t key, int upper);

/* Of the model only. */
size_t btree_case_put(btree_case *c, uint64_t key, uint32_t number);
void btree_case_drop(btree_case *c, size_t from, size_t n);

/* Calls and the model. */
em_status btree_case_insert(btree_case *c, uint64_t key);
em_status btree_case_upsert(btree_case *c, uint64_t key);
em_status btree_case_get(btree_case *c, uint64_t key);
em_status btree_case_look(btree_case *c, uint64_t key, int upper);
em_status btree_case_erase(btree_case *c, uint64_t key);
em_status btree_case_erase_range(btree_case *c, uint64_t from, uint64_t to);
em_status btree_case_erase_equal(btree_case *c, uint64_t key);
em_status btree_case_count(btree_case *c, uint64_t from, uint64_t to);
/* Visit those that are not before `from' and before `to'; UINT64_MAX: all from the first one, to the last one.  The
 * function stops at that record of the range. */
em_status btree_case_visit(btree_case *c, uint64_t from, uint64_t to, uint64_t stop);
/* The same of n ranges by one call; NULL: all from the first one, or to the last one.  The function stops at that
 * record of all. */
em_status btree_case_visit_many(btree_case *c, const uint64_t *from, const uint64_t *to, size_t n, uint64_t stop);
/* em_btree_for_each_many() with keys of such numbers. */
em_status btree_case_ranges(btree_case *c, const uint64_t *from, const uint64_t *to, size_t n, em_btree_visit_fn fn,
			    void *user);
em_status btree_case_end(btree_case *c, int last, int pop);

/* Cursors, and calls on one of them. */
void btree_case_cursors(btree_case *c, unsigned n);
em_status btree_case_seek(btree_case *c, unsigned k, uint64_t key, uint32_t how);
em_status btree_case_stand(btree_case *c, unsigned k);
em_status btree_case_step(btree_case *c, unsigned k, int forward);
em_status btree_case_steps(btree_case *c, unsigned k, int forward, uint64_t n);
em_status btree_case_cursor_insert(btree_case *c, unsigned k, uint64_t key);
em_status btree_case_cursor_put(btree_case *c, unsigned k);
em_status btree_case_cursor_erase(btree_case *c, unsigned k);
em_status btree_case_cursor_count(btree_case *c, unsigned k);

/* All is gone. */
void btree_case_clear(btree_case *c);

/* All is there, and the tree is whole. */
void btree_case_check(btree_case *c);

em_btree_stats btree_case_stats(const btree_case *c);

/* Close it: then all blocks of the disk are given back. */
void btree_case_close(btree_case *c);

/* It is no failure. */
#define assert_btree_ok(c, call) btree_case_ok(c, call, __LINE__)
void btree_case_ok(btree_case *c, em_status st, int line);

#endif
