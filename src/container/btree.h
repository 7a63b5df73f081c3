/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree.h -- a B+-tree inside: leaves and nodes in two caches, the root in memory, and cursors.
 *
 * Blocks.  Leaves and nodes are arrays of blocks on scratch (block/store.h), each with a cache of its own, and known by
 * their numbers (btree_ids.h).  A block gets its place on a disk when it is written for the first time, so a tree that
 * fits into its caches has none.
 *
 * The root is in memory.  As long as one leaf holds all records the root is that leaf, in memory that grows with it,
 * and there are no blocks.  Its number is EMI_BTREE_ROOT.
 *
 * Changing.  There are no pointers to parents: whoever changes the structure comes down from the root.  Each step is
 * whole: what can fail, which is reading, comparing, and memory for what is new, is done before anything is changed,
 * and after it the tree is a tree with the same records.
 *
 *   insert   comes down to the leaf.  If that is full, btree_split.c comes down again, splits whatever is full on the
 *            way, and the leaf at last; then the first is tried once more.
 *   erase    likewise: if the leaf has few records, btree_share.c comes down and shares what is lean with a neighbour.
 *
 * So no more than three blocks of a cache are pinned at a time, whatever the height.
 *
 * Cursors (btree_cursors.h) are told of each record that comes, goes or moves.
 *
 * A tree that was saved (btree_file.h) is read by the same code: its blocks are in parts of a file, in place of arrays.
 *
 * Files.  btree.c opens, closes, and has blocks; btree_find.c comes down; btree_scan.c passes through ranges;
 * btree_change.c inserts and takes out, and btree_erase.c whole leaves; btree_verify.c looks at everything;
 * btree_save.c, btree_file.c and btree_seen.c are about files.  What the public calls check is in public_btree.c and
 * its relatives.
 */
#ifndef EMI_BTREE_H
#define EMI_BTREE_H

#include "base/object.h"
#include "base/user.h"
#include "block/cache.h"
#include "container/btree_cursors.h"
#include "container/btree_ids.h"
#include "container/btree_node.h"
#include "container/btree_plan.h"

#define EMI_BTREE_ROOT (UINT64_MAX - 1) /* the number of a root that is a leaf */
#define EMI_BTREE_HEIGHT_MOST 48u
#define EMI_BTREE_UNSEEN 0x80000000u /* in the flags of a leaf, or the level of a node: see btree_file.h */

/* A block in memory. */
typedef struct emi_btree_pin {
	uint64_t id;
	uint32_t frame;         /* EM_CACHE_NONE: the root */
	union {
		void *at;       /* NULL: none is pinned */
		emi_leaf *leaf;
		emi_btree_node *node;
	} u;
} emi_btree_pin;

/* Blocks of one size. */
typedef struct emi_btree_blocks {
	emi_store *store;
	emi_cache *cache;
	emi_btree_ids ids;
	emi_io_stats io;
	size_t bytes;
} emi_btree_blocks;

/* The way from the root to a leaf: nodes by their levels, the leaf as that of level 0, and which child it goes to. */
typedef struct emi_btree_path {
	uint64_t id[EMI_BTREE_HEIGHT_MOST + 1];
	uint32_t child[EMI_BTREE_HEIGHT_MOST + 1];
} emi_btree_path;

struct em_btree {
	emi_object object;
	uint32_t users;         /* the caller, and cursors and loaders: released with the last */
	emi_btree_plan plan;
	emi_collation by;
	int sure;               /* no comparison fails, as none calls a function of the caller's */
	emi_leaf_form form;
	uint64_t n;             /* records */
	uint32_t height;        /* 0: the root is a leaf */
	uint64_t first, last;   /* leaves */
	void *root;             /* a leaf or a node; NULL: there are no records */
	size_t root_bytes;
	uint32_t root_most;     /* emi_leaf_most(), of a root that is a leaf */
	char *tmp;              /* as large as a leaf, for moving records; NULL: not needed yet */
	char *probe;            /* two records at addresses that suit functions; NULL: not needed yet */
	char *key;              /* a record with the key of a separator; NULL: not needed yet */
	emi_btree_blocks leaves, nodes;
	emi_btree_cursors cursors;
	uint64_t splits, shares, fusions; /* of leaves and nodes */
	uint64_t loaded;        /* leaves that were written past the cache */
	struct emi_btree_load *loader; /* that is making the tree; NULL: none */
	struct emi_btree_file *file; /* that it was saved to, and is read from; NULL: none */
	emi_user policy;        /* what it has, to be freed when the caches are closed */
};

/* btree.c */

/* A tree that begins zeroed.  After a failure, too, it is closed. */
em_status emi_btree_open(em_btree *t, em_ctx *ctx, const em_order *order, const em_btree_opts *o, em_errinfo *err);
void emi_btree_close(em_btree *t);

/* Most bytes of memory that a tree of so many records takes, but for its struct and cursors. */
uint64_t emi_btree_memory(const emi_btree_plan *p, uint64_t records);
/* The least that will do when both caches are full, and as many blocks on disks as are sure to have room: without what
 * writes behind, which it can go without. */
uint64_t emi_btree_memory_full(const emi_btree_plan *p);

/* Forget all records.  Cursors stand before the first one. */
em_status emi_btree_clear(em_btree *t, em_errinfo *err);

/* The probe of a key of the caller's, or of the second one (which is 0 or 1); EM_ERR_USER, EM_ERR_NOMEM. */
em_status emi_btree_probe_any(em_btree *t, const void *key, int which, emi_btree_probe *probe, em_errinfo *err);

/* The same, if keys have to be copied into memory of that size; 0: they have not, and there is none. */
size_t emi_btree_probe_bytes(const em_btree *t);
em_status emi_btree_probe_in(em_btree *t, const void *key, void *memory, emi_btree_probe *probe, em_errinfo *err);

/* Has a function of the caller's failed since?  Comparisons begin anew then. */
em_status emi_btree_compared_by_function(em_btree *t, em_errinfo *err);

static inline em_status emi_btree_compared(em_btree *t, em_errinfo *err)
{
	return t->sure ? EM_OK : emi_btree_compared_by_function(t, err);
}

static inline em_status emi_btree_probe_key(em_btree *t, const void *key, int which, emi_btree_probe *probe,
					    em_errinfo *err)
{
	if (!t->sure || !t->form.is_number)
		return emi_btree_probe_any(t, key, which, probe, err);
	probe->head = emi_leaf_head(&t->form.number, key);
	probe->val = emi_codec_val(t->by.codec, t->by.order, key);
	probe->record = key;
	return EM_OK;
}

/* Pin a leaf, or a node of a level.  All zeroes need no unpinning. */
em_status emi_btree_leaf_block(em_btree *t, uint64_t id, uint32_t mode, emi_btree_pin *pin, em_errinfo *err);
em_status emi_btree_node_of(em_btree *t, uint64_t id, uint32_t level, uint32_t mode, emi_btree_pin *pin,
			    em_errinfo *err);
void emi_btree_unpin_block(em_btree *t, emi_btree_pin *pin, int dirty);
void emi_btree_unpin_node(em_btree *t, emi_btree_pin *pin, int dirty);

static inline em_status emi_btree_leaf(em_btree *t, uint64_t id, uint32_t mode, emi_btree_pin *pin, em_errinfo *err)
{
	if (id != EMI_BTREE_ROOT)
		return emi_btree_leaf_block(t, id, mode, pin, err);
	pin->id = id;
	pin->frame = EM_CACHE_NONE;
	pin->u.at = t->root;
	return EM_OK;
}

static inline void emi_btree_unpin_leaf(em_btree *t, emi_btree_pin *pin, int dirty)
{
	if (pin->u.at != NULL && pin->frame != EM_CACHE_NONE)
		emi_btree_unpin_block(t, pin, dirty);
	pin->u.at = NULL;
}

/* The number of a new leaf, which is nowhere yet. */
em_status emi_btree_leaf_number(em_btree *t, uint64_t *id, em_errinfo *err);

/* btree_seen.c: a block has come from a file: it is marked; 0: it has the mark already, which is damage. */
int emi_btree_mark(void *block);

/* A block of a tree that was saved is pinned: if it is marked, it is what was saved, and not marked any more, or
 * EM_ERR_CORRUPT. */
em_status emi_btree_see(em_btree *t, uint32_t level, uint64_t id, void *block, em_errinfo *err);
em_status emi_btree_see_root(em_btree *t, em_errinfo *err);

/* A new block, pinned, whose contents are anything. */
em_status emi_btree_new_leaf(em_btree *t, emi_btree_pin *pin, em_errinfo *err);
em_status emi_btree_new_node(em_btree *t, emi_btree_pin *pin, em_errinfo *err);

/* A pinned block is no more. */
void emi_btree_drop_leaf(em_btree *t, emi_btree_pin *pin);
void emi_btree_drop_node(em_btree *t, emi_btree_pin *pin);

/* The memory to move records with, and for the bytes of a separator. */
em_status emi_btree_have_tmp(em_btree *t, em_errinfo *err);

/* Memory of the caller's as a leaf. */
static inline emi_leaf_place emi_btree_leaf_in(const em_btree *t, void *memory, size_t bytes)
{
	const emi_leaf_place p = { memory, (uint32_t)bytes, emi_leaf_most(bytes, t->plan.record) };

	return p;
}

/* Another root, in place of what there is. */
void emi_btree_set_root(em_btree *t, void *root, size_t bytes);

static inline emi_leaf_place emi_btree_place(const em_btree *t, const emi_btree_pin *pin)
{
	emi_leaf_place p = { pin->u.leaf, (uint32_t)t->plan.leaf_bytes, t->plan.leaf_most };

	if (pin->id == EMI_BTREE_ROOT) {
		p.bytes = (uint32_t)t->root_bytes;
		p.most = t->root_most;
	}
	return p;
}

static inline char *emi_btree_record(const em_btree *t, const emi_btree_pin *pin, uint32_t slot)
{
	return t->form.kind->record(&t->form, emi_btree_place(t, pin), slot);
}

/* The number of a child. */
static inline uint64_t emi_btree_child_id(const em_btree *t, const emi_btree_node *n, uint32_t i)
{
	return t->file == NULL ? emi_node_children(n)[i] : n->first + i;
}

/* btree_find.c */

/* The child for a probe.  Where there are no duplicates what is equal to a separator is behind it. */
static inline uint32_t emi_btree_child(const em_btree *t, const emi_btree_node *n, const emi_btree_probe *probe,
				       int upper)
{
	return emi_node_search(&t->plan, &t->by, n, probe, upper || !t->plan.duplicates);
}

/* Where a record is, or would be. */
typedef struct emi_btree_spot {
	emi_btree_pin pin;      /* of its leaf */
	uint32_t slot;          /* n: behind all of the leaf */
} emi_btree_spot;

/* The leaf for a probe. */
em_status emi_btree_way(em_btree *t, const emi_btree_probe *probe, int upper, uint64_t *leaf, em_errinfo *err);

/* As emi_btree_compared(), of what was compared in a spot: after a failure nothing is pinned. */
static inline em_status emi_btree_spot_compared(em_btree *t, emi_btree_spot *spot, em_errinfo *err)
{
	const em_status st = emi_btree_compared(t, err);

	if (st != EM_OK)
		emi_btree_unpin_leaf(t, &spot->pin, 0);
	return st;
}

/* See below; of a tree with nodes. */
em_status emi_btree_find_below(em_btree *t, const emi_btree_probe *probe, int upper, uint32_t mode,
			       emi_btree_spot *spot, em_errinfo *err);
em_status emi_btree_bound_behind(em_btree *t, uint32_t mode, emi_btree_spot *spot, em_errinfo *err);

/* The first record that is not before the probe, or, upper, the place behind those that are not behind it; its leaf is
 * pinned in that mode.  It is where such a record belongs, so it may be behind the last one of a leaf.  There is a
 * root. */
static inline em_status emi_btree_find(em_btree *t, const emi_btree_probe *probe, int upper, uint32_t mode,
				       emi_btree_spot *spot, em_errinfo *err)
{
	const emi_leaf_place root = { t->root, (uint32_t)t->root_bytes, t->root_most };

	if (t->height != 0)
		return emi_btree_find_below(t, probe, upper, mode, spot, err);
	spot->pin.id = EMI_BTREE_ROOT;
	spot->pin.frame = EM_CACHE_NONE;
	spot->pin.u.at = t->root;
	spot->slot = t->form.kind->search(&t->form, root, probe, upper);
	return emi_btree_spot_compared(t, spot, err);
}

/* The same, and what is behind the last record of a leaf is the first one of the next.  EM_NOT_FOUND: there is none,
 * and nothing is pinned. */
static inline em_status emi_btree_bound(em_btree *t, const emi_btree_probe *probe, int upper, uint32_t mode,
					emi_btree_spot *spot, em_errinfo *err)
{
	em_status st;

	spot->pin.u.at = NULL;
	if (t->n == 0)
		return EM_NOT_FOUND;
	st = emi_btree_find(t, probe, upper, mode, spot, err);
	if (st == EM_OK && spot->slot == spot->pin.u.leaf->n)
		st = emi_btree_bound_behind(t, mode, spot, err);
	return st;
}

/* Compare two probes: <0, 0, >0. */
static inline int emi_btree_probe_compare(const em_btree *t, const emi_btree_probe *a, const emi_btree_probe *b)
{
	const emi_pair first = { a->head, a->val }, second = { b->head, b->val };

	return emi_pair_compare(&t->by.tie, &first, &second);
}

/* Is a record equal to the probe? */
static inline int emi_btree_equals(const em_btree *t, const char *record, const emi_btree_probe *probe)
{
	if (t->form.is_number && t->by.tie.fn == NULL)
		return emi_leaf_head(&t->form.number, record) == probe->head;
	return emi_collation_compare_to(&t->by, record, probe->head, probe->val) == 0;
}

/* Is the record in a spot? */
static inline int emi_btree_is(const em_btree *t, const emi_btree_spot *spot, const emi_btree_probe *probe)
{
	return emi_btree_equals(t, emi_btree_record(t, &spot->pin, spot->slot), probe);
}

/* The way to a leaf of which a record is that is equal to the probe; or, NULL, to the first or last leaf, which leaf
 * is. */
em_status emi_btree_path_to(em_btree *t, const emi_btree_probe *probe, uint64_t leaf, emi_btree_path *path,
			    em_errinfo *err);

/* The way to the leaf where the first record that is not before the probe is, or would be. */
em_status emi_btree_path_of(em_btree *t, const emi_btree_probe *probe, emi_btree_path *path, em_errinfo *err);

/* The way to the first leaf; from one leaf to the next, as far as its nodes are the same.  EM_NOT_FOUND: it was the
 * last. */
em_status emi_btree_path_first(em_btree *t, emi_btree_path *path, em_errinfo *err);
em_status emi_btree_path_next(em_btree *t, emi_btree_path *path, em_errinfo *err);

/* From one leaf to the one before. */
em_status emi_btree_path_prev(em_btree *t, emi_btree_path *path, em_errinfo *err);

/* The leaf before one that is pinned; EMI_BTREE_NONE: it is the first.  What a leaf has as its link is a hint: it is
 * true if that is a leaf whose next one is this.  When a leaf is split, or becomes one with its neighbour, the one
 * behind is not told, as that would be another block to read and to write.  Then the nodes above it tell. */
em_status emi_btree_prev(em_btree *t, const emi_btree_pin *pin, uint64_t *prev, em_errinfo *err);

/* btree_split.c: have room for a record in its leaf. */
em_status emi_btree_split(em_btree *t, const emi_btree_probe *probe, int upper, em_errinfo *err);

/* The first root, which is a leaf. */
em_status emi_btree_begin(em_btree *t, em_errinfo *err);

/* btree_share.c: no node on the way to a leaf is lean, and neither is the leaf, or records have moved from it or to it;
 * as emi_btree_path_to(). */
em_status emi_btree_unlean(em_btree *t, const emi_btree_probe *probe, uint64_t leaf, em_errinfo *err);

/* The same of the nodes only, so that the leaf may be taken out of the one above it. */
em_status emi_btree_unlean_nodes(em_btree *t, const emi_btree_probe *probe, uint64_t leaf, em_errinfo *err);

/* btree_erase.c: take out all records from `from' on that are before `to', or, through, not behind it, as far as leaves
 * have no others.  *erased counts also after a failure. */
em_status emi_btree_erase_leaves(em_btree *t, const emi_btree_probe *from, const emi_btree_probe *to, int through,
				 uint64_t *erased, em_errinfo *err);

/* btree_change.c */

/* Add a record.  EM_EXISTS: there is one, which stays, or, replace, is overwritten.  cursor: NULL, or it stands on the
 * record then. */
em_status emi_btree_insert(em_btree *t, const void *record, int replace, em_btree_cursor *cursor, em_errinfo *err);

/* Take out the first record that is equal to the probe, and copy it, unless record is NULL.  EM_NOT_FOUND. */
em_status emi_btree_erase(em_btree *t, const emi_btree_probe *probe, void *record, em_errinfo *err);

/* Take out the record that a cursor stands on. */
em_status emi_btree_erase_cursor(em_btree *t, em_btree_cursor *c, em_errinfo *err);

/* Take out all records from `from' on that are before `to', or, through, not behind it; either may be NULL.  *erased
 * counts also after a failure. */
em_status emi_btree_erase_range(em_btree *t, const emi_btree_probe *from, const emi_btree_probe *to, int through,
				uint64_t *erased, em_errinfo *err);

/* Copy the first or the last record; take it out, too.  EM_NOT_FOUND. */
em_status emi_btree_end(em_btree *t, int last, int pop, void *record, em_errinfo *err);

/* The first record that is not before `from', which may be NULL.  EM_NOT_FOUND. */
em_status emi_btree_find_from(em_btree *t, const emi_btree_probe *from, uint32_t mode, emi_btree_spot *spot,
			      em_errinfo *err);

/* btree_cursor.c */

/* Go to the first record that is not before the probe, that is behind it, the last that is not behind it, that is
 * before it, or the first that is equal, as `how' says; EM_BTREE_GE of NULL is the first of all, EM_BTREE_LE the last.
 * EM_NOT_FOUND: there is none, and the cursor stands where it would be. */
em_status emi_btree_seek(em_btree_cursor *c, const emi_btree_probe *probe, uint32_t how, em_errinfo *err);

/* Copy the record that it stands on, unless NULL.  EM_NOT_FOUND: it stands on none. */
em_status emi_btree_cursor_get(em_btree_cursor *c, void *record, em_errinfo *err);

/* Go on by up to n records, one at least, and copy them, unless NULL.  EM_END: there are none that way, and it stands
 * before the first or behind the last one. */
em_status emi_btree_cursor_step(em_btree_cursor *c, int forward, void *records, uint64_t n, uint64_t *got,
				em_errinfo *err);

/* Overwrite the record that it stands on.  EM_ERR_INVAL: it has another key. */
em_status emi_btree_cursor_put(em_btree_cursor *c, const void *record, em_errinfo *err);

/* A range: the records that are not before `from' and before `to'. */
typedef struct emi_btree_range {
	emi_btree_probe from, to;
} emi_btree_range;

typedef struct emi_btree_ranges {
	const emi_btree_range *range;
	uint32_t *order;        /* their numbers in the order of their beginnings; a scan uses them up */
	uint32_t n;             /* of them */
	uint64_t first;         /* the number that number 0 has for who is told of records */
	int from, to;           /* have they beginnings, and ends?  Otherwise it is the first record, or the last one */
	int through;            /* what is equal to their ends belongs to them */
} emi_btree_ranges;

/* btree_scan.c: what is done with n > 0 records, from a spot on, that are in range i.  Anything but EM_OK ends
 * the scan. */
typedef em_status (*emi_btree_scan_fn)(em_btree *t, void *arg, uint64_t i, const emi_btree_spot *s, uint32_t n,
				       em_errinfo *err);

/* Do that with all records of ranges, leaf by leaf. */
em_status emi_btree_scan(em_btree *t, emi_btree_ranges *r, emi_btree_scan_fn fn, void *arg, em_errinfo *err);

/* The same of one range; NULL: it has not that end. */
em_status emi_btree_scan_one(em_btree *t, const emi_btree_probe *from, const emi_btree_probe *to, int through,
			     emi_btree_scan_fn fn, void *arg, em_errinfo *err);

/* btree_ranges.c: the same of n ranges in any order, of keys that lie one behind the other; NULL: all begin with the
 * first record, or end with the last one. */
em_status emi_btree_scan_many(em_btree *t, const char *from, const char *to, uint64_t n, emi_btree_scan_fn fn,
			      void *arg, em_errinfo *err);

/* btree_ahead.c */

#define EMI_BTREE_AHEAD_MOST 256u

/* How many leaves may be read ahead, which are a part of all frames, by one who has passed so many. */
uint32_t emi_btree_ahead_most(const em_btree *t, uint32_t passed);

/* When so many of the most are, there is no need for others yet. */
static inline uint32_t emi_btree_ahead_enough(uint32_t most)
{
	return most - most / 4;
}

/* What such a one passes through, when so many leaves are wanted. */
emi_cache_part emi_btree_ahead_part(const em_btree *t, uint32_t passed, uint64_t leaves);

/* The leaf that is pinned is going to be followed by so many that way, up to the most: begin to read
 * them; they are a part of what is wanted. */
void emi_btree_ahead(em_btree *t, const emi_btree_pin *pin, int forward, uint32_t n, emi_cache_part part);

/* The same of the leaf to which a probe leads, and n behind it. */
void emi_btree_ahead_from(em_btree *t, const emi_btree_probe *probe, uint32_t n, emi_cache_part part);

/* Leaves in the order of their numbers, which is that of their places on the disk. */
typedef struct emi_btree_list {
	em_bid bid[EMI_BTREE_AHEAD_MOST];
	uint32_t n;
} emi_btree_list;

/* Add one, for which there is room; begin to read all. */
void emi_btree_list_add(const em_btree *t, emi_btree_list *l, uint64_t leaf);
void emi_btree_list_read(em_btree *t, const emi_btree_list *l, emi_cache_part part);

/* Somebody goes along all leaves, and is at that which the path leads to: begin to read those that come next, as far as
 * their node is the same. */
void emi_btree_ahead_along(em_btree *t, const emi_btree_path *path);

/* btree_many.c: copy, for each of n keys, the first record that is not before it, or, upper, that is behind it, and,
 * equal, has that key, to its place; found[], which may be NULL, says for which there is one. */
em_status emi_btree_get_many(em_btree *t, const char *keys, uint64_t n, int upper, int equal, char *records,
			     unsigned char *found, uint64_t *n_found, em_errinfo *err);

/* btree_update.c */

typedef enum emi_btree_update_kind { EMI_BTREE_INSERT, EMI_BTREE_UPSERT, EMI_BTREE_ERASE } emi_btree_update_kind;

/* Do that with each of n records, or with their keys; it costs least when they are sorted.  *changed grows by those
 * that entered, or were taken out, also when there is a failure. */
em_status emi_btree_update(em_btree *t, const char *records, size_t n, emi_btree_update_kind kind, uint64_t *changed,
			   em_errinfo *err);

/* btree_verify.c: EM_ERR_CORRUPT, with what is wrong. */
em_status emi_btree_verify(em_btree *t, em_errinfo *err);

#endif
