/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/btree.h  B+-trees: sorted records on disks, to look up, to pass through, and to change anywhere.
 *
 * (STXXL's map: Dementiev, Kettner and Sanders 2007, section 5.5, after Bayer and McCreight 1972.)  A tree has records
 * of one size, in the order of an em_order.  What that looks at is the key of a record, and the rest is its value; a
 * tree of records that are all key is a set.
 *
 *     em_btree *t;
 *     em_order_keys(&order, ctx, sizeof(struct entry), &key, 1, NULL);
 *     em_btree_open(&t, ctx, order, NULL);
 *     em_btree_insert(t, &entry);
 *     em_btree_get(t, &number, &entry);
 *     em_btree_close(t);
 *
 * Records and keys.  There is one order, of whole records: the same that sorts them (em_sorter), whatever it is made
 * of.  What is looked for is a key, which is the first bytes of a record: as many as the order looks at.  Where the key
 * is a number at the beginning of the record, that is a pointer to such a number; where it lies behind something else,
 * to a record of which only the key need be filled.  Of an order by key fields a tree knows how many bytes those are.
 * Of functions they are the whole record, unless em_btree_opts.key_bytes says that these look at less.  There is no
 * other order for keys, as the two could contradict each other, and no third kind of function to write.
 *
 * Duplicates.  There is one record for each key.  With EM_BTREE_DUPLICATES there may be any number: those with equal
 * keys come in the order in which they were inserted.
 *
 * Structure.  Records are in leaves, and above them are nodes with keys.  Both are blocks, of sizes of their own, and
 * both have caches: leaves of 32 KiB, as smaller ones take hardly less time to read, and nodes of 4 KiB.  The root is
 * always in memory.  Leaves know their neighbours.  A leaf that is full shares its records with a neighbour, or, when
 * that is full, too, the two become three: so leaves are two thirds full at least, as long as nothing is taken out.
 * Records that come in ascending or descending order, anywhere, leave full leaves behind.  What has lost so many that
 * it is less than a third full gets some from a neighbour, or becomes one with it.
 *
 * Small trees.  Nothing is on a disk before the caches are full, and memory grows with the records: a tree with few of
 * them has one small piece of memory.
 *
 * I/O.  N records, B in a leaf, F keys in a node (about 250 numbers): the height is log_F(N / B), and all nodes are a
 * 1/(B F) of the tree, so they are in memory nearly always.  Then a look-up reads one leaf, and a change writes it some
 * time later, too.  With caches that hold nothing it is one read more for each level.
 *
 * Files.  em_btree_save() writes a tree to a file of its own, and em_btree_open_file() opens one, without reading it.
 * It is read-only then: its blocks are read from the file as they are needed, and all calls that change nothing work as
 * they do on any tree.
 *
 * doc/btree.md tells more of the structure, of what calls cost, and of files.
 *
 * One thread at a time.  A tree keeps its context and its order.  What fails changes nothing, and may be tried again:
 * all that is needed is read and allocated before anything is changed.  What cannot be written stays in memory, as long
 * as there are other frames, and em_btree_flush() tries it again.
 */
#ifndef EXTMEM_BTREE_H
#define EXTMEM_BTREE_H

#include <extmem/ctx.h>
#include <extmem/order.h>
#include <extmem/sort.h>

EM_BEGIN_DECLS

struct em_policy;    /* extmem/sys/cache.h */
struct em_placement; /* extmem/sys/placement.h */

typedef struct em_btree em_btree;
typedef struct em_btree_cursor em_btree_cursor;
typedef struct em_btree_loader em_btree_loader;

/** In em_btree_opts.flags. */
enum {
	EM_BTREE_DUPLICATES = 1 /**< Records may have equal keys. */
};

/** The least blocks that either cache has. */
#define EM_BTREE_FRAMES_MIN 4u

typedef struct em_btree_opts {
	uint32_t size;          /**< sizeof(em_btree_opts); set by the initialiser. */
	uint32_t flags;         /**< EM_BTREE_..., combined. */
	uint64_t key_bytes;     /**< The first bytes of a record that are all the order looks at; 0: as many as its
	                             fields need, or, of a function, the whole record.  The fewer, the more keys there
	                             are in a node. */
	uint64_t leaf_bytes;    /**< Of a leaf, a multiple of EM_BLOCK_UNIT (4096) with room for 4 records, 2 bytes
	                             more for each; at most 2^30; 0: 32 KiB, or what 8 records need. */
	uint64_t node_bytes;    /**< Of a node, likewise, with room for 5 keys; 0: 4 KiB, or what 8 keys need. */
	uint64_t cache_bytes;   /**< Memory for leaves; 0: 16 MiB, or an eighth of the context's, whichever is less.  At
	                             least EM_BTREE_FRAMES_MIN leaves. */
	uint64_t node_cache_bytes; /**< Memory for nodes; 0: a 16th of that.  At least EM_BTREE_FRAMES_MIN nodes. */
	const struct em_policy *policy; /**< Which block goes: em_policy_lru(), ..., or one's own, which must live as
	                             long as the tree; NULL: em_policy_s3fifo(). */
	uint64_t seed;          /**< For a policy that draws. */
	const struct em_placement *placement; /**< Which block lies on which disk; NULL: one after the other.
	                                           Copied. */
	em_errinfo *errinfo;    /**< Filled when em_btree_open() or em_btree_open_file() fails; may be NULL. */
} em_btree_opts;
#define EM_BTREE_OPTS_INIT { sizeof(em_btree_opts), 0, 0, 0, 0, 0, 0, NULL, 0, NULL, NULL }
/** As EM_BTREE_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_btree_opts_init(em_btree_opts *out, size_t bytes);

typedef struct em_btree_stats {
	uint32_t size;          /**< sizeof(em_btree_stats); set by the initialiser. */
	uint32_t height;        /**< Levels of nodes above the leaves; 0: one leaf in memory holds all. */
	uint64_t records;       /**< N. */
	uint64_t key_bytes;     /**< Of the key of a record. */
	uint64_t leaf_bytes;    /**< Of a leaf ... */
	uint64_t node_bytes;    /**< ... and of a node. */
	uint64_t leaf_records;  /**< Records that any leaf holds; one that was filled in order may hold some more. */
	uint64_t node_children; /**< Children that a node holds. */
	uint64_t leaves;        /**< Leaves ... */
	uint64_t nodes;         /**< ... and nodes that there are, but for the root. */
	uint64_t leaf_hits;     /**< Accesses to leaves that found them in memory, or on their way, ... */
	uint64_t leaf_misses;   /**< ... and those that did not. */
	uint64_t node_hits;     /**< The same of nodes. */
	uint64_t node_misses;
	uint64_t leaf_reads;    /**< Leaves that were read ... */
	uint64_t leaf_writes;   /**< ... and written. */
	uint64_t node_reads;    /**< The same of nodes. */
	uint64_t node_writes;
	uint64_t splits;        /**< Leaves and nodes that were split, ... */
	uint64_t shares;        /**< ... that got some from a neighbour, ... */
	uint64_t fusions;       /**< ... or became one with it. */
} em_btree_stats;
#define EM_BTREE_STATS_INIT { sizeof(em_btree_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_BTREE_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_btree_stats_init(em_btree_stats *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_btree_stats_json(const em_btree_stats *of, char *to, size_t bytes);

/**
 * Open a tree, which is empty.  opts may be NULL.  No I/O.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     out, ctx or order is NULL, flags are unknown, leaf_bytes or node_bytes is no multiple of
 *                    EM_BLOCK_UNIT, a function of the policy is NULL, the placement is of another number of disks, the
 *                    order is of another context
 *   EM_ERR_NOTSUP    the order is of records of any length
 *   EM_ERR_RANGE     records are larger than 2^20 bytes, key_bytes are more than a record has or fewer than the fields
 *                    of the order need, leaf_bytes, node_bytes or the memory for either is too small or too large
 *   EM_ERR_VERSION   opts or the policy was made without its initialiser
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory; the context never has as much as the caches and the disks might take
 *                    (extmem/ctx.h)
 *   EM_ERR_FORK      the context is the parent process's
 */
EM_API EM_NODISCARD em_status em_btree_open(em_btree **out, em_ctx *ctx, const em_order *order,
					    const em_btree_opts *opts);

/** Close it; what is in it is gone.  NULL is allowed. */
EM_API void em_btree_close(em_btree *t);

/** Cancel it (extmem/ctx.h): the call in progress on it, of its cursors and loader, and every later one, is
 *  EM_ERR_CANCELED.  Any thread; signal handlers.  NULL is allowed. */
EM_API void em_btree_cancel(em_btree *t);

/** The most bytes of memory that a tree of up to `records' records takes; 0 if opts, which may be NULL, is not legal
 *  with the order.  Beside its caches these are 16 for each block on disk.  Not among them is what sorts take for calls
 *  with many records, see em_btree_insert_many(). */
EM_API uint64_t em_btree_memory(const em_order *order, const em_btree_opts *opts, uint64_t records);

/** Records in it; 0 of NULL. */
EM_API uint64_t em_btree_size(const em_btree *t);

/** Bytes of a record, and of its key; 0 of NULL. */
EM_API uint64_t em_btree_record_bytes(const em_btree *t);
EM_API uint64_t em_btree_key_bytes(const em_btree *t);

/**
 * Add a record.
 *
 * Returns (as all functions below, which only say what is different):
 *   EM_OK
 *   EM_EXISTS        there is one with an equal key, and nothing was changed; never with EM_BTREE_DUPLICATES
 *   EM_ERR_INVAL     a pointer is NULL
 *   EM_ERR_BUSY      another call is in progress
 *   EM_ERR_ACCESS    it would change a tree that was opened from a file
 *   EM_ERR_IO, EM_ERR_CORRUPT  a block could not be read, or others not be written and no frame is left but theirs
 *   EM_ERR_SHORT     the file that it was opened from is shorter than it was, by somebody else
 *   EM_ERR_NOSPACE   the disk is full, likewise
 *   EM_ERR_USER      a function of the order or of the policy has failed
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory
 *   EM_ERR_CANCELED  the context was; as long as a call needs nothing but memory it may not notice
 *   EM_ERR_FORK      the context is the parent process's; likewise
 * I/O: the way down.  A leaf that is full is split together with its neighbour, which may be read for that: one in B/3
 * inserts, or less.
 */
EM_API EM_NODISCARD em_status em_btree_insert(em_btree *t, const void *record);

/** Add a record, or overwrite that with an equal key; of duplicates the first one.  EM_EXISTS: it was overwritten. */
EM_API EM_NODISCARD em_status em_btree_upsert(em_btree *t, const void *record);

/** Copy the record with that key; of duplicates the first one.  EM_NOT_FOUND: there is none.  I/O: the way down. */
EM_API EM_NODISCARD em_status em_btree_get(em_btree *t, const void *key, void *record);

/** Copy the first record whose key is not less than that one, or that is greater.  EM_NOT_FOUND: there is none.
 *  I/O: the way down, and sometimes the next leaf. */
EM_API EM_NODISCARD em_status em_btree_lower_bound(em_btree *t, const void *key, void *record);
EM_API EM_NODISCARD em_status em_btree_upper_bound(em_btree *t, const void *key, void *record);

/** Count the records whose keys are not less than `from' and not greater than `to'; NULL: from the first one, to the
 *  last one.  With the same key for both these are its duplicates.  I/O: as em_btree_for_each(). */
EM_API EM_NODISCARD em_status em_btree_count(em_btree *t, const void *from, const void *to, uint64_t *n);

/** Look at n > 0 records, which lie one behind the other in their order; i is how many of the range came before, or,
 *  of many ranges, the number of the range.  0: go on. */
typedef int (*em_btree_visit_fn)(void *user, uint64_t i, const void *records, uint64_t n);

/**
 * Visit all records whose keys are not less than `from' and less than `to', in their order; NULL: from the first one,
 * and with the last one.
 *
 * The function gets those of a leaf at a time, where they are; they are copied only if they do not lie in their order.
 * They are valid until it returns.  It may not call the tree or its cursors: EM_ERR_BUSY.  A value that is not 0 stops
 * the call, which returns EM_ERR_USER.  What was visited before a failure was right.
 *
 * I/O: the ways down to both ends, and a scan.  All leaves of the range are read ahead, and no others: up to 120 for
 * each disk, 256, or a 16th of the cache.  So this is the fastest way to read a range whose ends are known.
 */
EM_API EM_NODISCARD em_status em_btree_for_each(em_btree *t, const void *from, const void *to, em_btree_visit_fn fn,
						void *user);

/**
 * Visit all records of n ranges: the i-th has those whose keys are not less than the i-th of n keys that lie one behind
 * the other at `from', and less than the i-th at `to'.  Either may be NULL: then all ranges begin with the first
 * record, or end with the last one.
 *
 * Ranges may come in any order, overlap, be the same, and have nothing in them.  What the function gets as i is the
 * number of the range, from 0 to n - 1; otherwise all is as em_btree_for_each() says.  The records of a range come in
 * their order.  Ranges come in the order of their beginnings.  Those that overlap take turns, as each leaf is passed
 * once, and its records go to all ranges that have them.  More than 2^16 ranges are taken in parts of so many, each as
 * above; and so are those for which there is too little memory: 56 bytes for each, and where functions compare, two
 * records.
 *
 * EM_ERR_RANGE: their keys are more bytes than fit in memory.  EM_ERR_MEMLIMIT, EM_ERR_NOMEM: there is not enough for
 * one range.
 *
 * I/O: two ways down for each part of the tree that overlapping ranges have in common, and a scan of what at least one
 * of them has.  As many leaves are read ahead as of one range, but also those of the ranges that come next.  So short
 * ranges are read as fast as all records.  (Batch filtering: Goodrich, Tsay, Vengroff and Vitter, "External-memory
 * computational geometry", FOCS 1993.)
 */
EM_API EM_NODISCARD em_status em_btree_for_each_many(em_btree *t, const void *from, const void *to, uint64_t n,
						     em_btree_visit_fn fn, void *user);

/** Take out the record with that key, of duplicates the first one, and copy it, unless record is NULL.  EM_NOT_FOUND:
 *  there is none.  I/O: the way down; a leaf that is a third full gets some from a neighbour, which is read. */
EM_API EM_NODISCARD em_status em_btree_erase(em_btree *t, const void *key, void *record);

/** Take out all records whose keys are not less than `from' and less than `to'; NULL: from the first one, and with the
 *  last one.  *erased, which may be NULL, is how many they were, also after a failure.  I/O: a scan, as only leaves
 *  know how many records they have.  Those that lose all are given back and not written, but for the one before and
 *  the one behind the range. */
EM_API EM_NODISCARD em_status em_btree_erase_range(em_btree *t, const void *from, const void *to, uint64_t *erased);

/** Take out all records with that key.  *erased likewise; none is EM_OK, too. */
EM_API EM_NODISCARD em_status em_btree_erase_equal(em_btree *t, const void *key, uint64_t *erased);

/** Copy the first or the last record.  EM_NOT_FOUND: there is none.  I/O: one leaf, without a way down. */
EM_API EM_NODISCARD em_status em_btree_min(em_btree *t, void *record);
EM_API EM_NODISCARD em_status em_btree_max(em_btree *t, void *record);

/** Take out the first or the last record, and copy it, unless record is NULL.  EM_NOT_FOUND: there is none.  I/O: one
 *  leaf; the way down only when it is a third full. */
EM_API EM_NODISCARD em_status em_btree_pop_min(em_btree *t, void *record);
EM_API EM_NODISCARD em_status em_btree_pop_max(em_btree *t, void *record);

/*
 * Many at a time.
 */

/**
 * Copy, for each of n keys that lie one behind the other, the record with that key (of duplicates the first one), or
 * the first one whose key is not less: that for the i-th key is the i-th at `records', of n.  Where there is none its
 * place stays as it was.  found[], of n, which may be NULL, is 1 where there is one, else 0; *n_found, which may be
 * NULL, is how many there are, also after a failure.  Keys may come in any order, and be equal.
 *
 * I/O: that of single look-ups, but no block is read twice for 2^16 keys, and many are read at a time: an eighth of the
 * cache, or 128, and as many ahead.  Memory: 32 bytes for each of up to 2^16 keys; if there is none, fewer at a time.
 */
EM_API EM_NODISCARD em_status em_btree_get_many(em_btree *t, const void *keys, uint64_t n, void *records,
						uint8_t *found, uint64_t *n_found);
EM_API EM_NODISCARD em_status em_btree_lower_bound_many(em_btree *t, const void *keys, uint64_t n, void *records,
							uint8_t *found, uint64_t *n_found);

/**
 * Add n records, in any order: as em_btree_insert() or em_btree_upsert() of each would, but they are sorted first, by
 * an em_sorter with what memory the context has left.  So they come to one leaf after the other, and the next ones are
 * read ahead.  An empty tree is loaded.  *inserted, which may be NULL, is how many entered; of others there was one
 * with an equal key.
 *
 * After a failure some have entered, and the tree is as if only these had come.  Without duplicates the call may be
 * tried again as it is.  With EM_BTREE_DUPLICATES a record would enter twice by that: those that have entered are the
 * first *inserted of the records in the order of the tree, equal ones in the order of the call.  So what is left is
 * known to who sorts them (stably) and leaves these out.  Of an upsert all may be tried again.
 *
 * Memory: up to 32 records are not sorted, and need none.  More need a sorter's, which neither em_btree_open() nor
 * em_btree_memory() have counted: about the least that em_sort_plan() tells for n records, some 400 KiB for few of
 * them.  Where there is less the call is EM_ERR_MEMLIMIT before anything has changed; 32 at a time still enter.
 *
 * Returns as em_sorter_open(), em_sorter_push(), em_sorter_finish(), em_sorter_next(), too.
 * I/O: that of sorting, and each leaf that is changed is read once, and written.
 */
EM_API EM_NODISCARD em_status em_btree_insert_many(em_btree *t, const void *records, uint64_t n, uint64_t *inserted);
EM_API EM_NODISCARD em_status em_btree_upsert_many(em_btree *t, const void *records, uint64_t n, uint64_t *inserted);

/** The same with all that a sorter is going to lend (em_sorter_next()), which must be sorted by the same order.  What
 *  the tree does not take in a failure the sorter may have lent. */
EM_API EM_NODISCARD em_status em_btree_insert_sorted(em_btree *t, em_sorter *sorted, uint64_t *inserted);

/** Take out, for each of n keys that lie one behind the other, the record with that key, of duplicates the first one,
 *  if there is one.  They are sorted first, likewise, as whole records, which takes memory for 64 more.  *erased, which
 *  may be NULL, is how many they were, also after a failure. */
EM_API EM_NODISCARD em_status em_btree_erase_many(em_btree *t, const void *keys, uint64_t n, uint64_t *erased);

/*
 * Cursors.
 *
 * A cursor stands on a record, and stays on it while the tree changes around it: it knows its place, and whoever moves
 * records moves their cursors.  When its record is taken out, by whatever call, it stands in the gap that is left, says
 * so (EM_NOT_FOUND), and goes on from there: the next record is the first one behind, the previous one the last before.
 * It stays in the gap when a record with the same key comes, which is behind it.  At first a cursor stands before the
 * first record.
 *
 *     em_btree_cursor_open(&c, t);
 *     status = em_btree_cursor_seek(c, &first, EM_BTREE_GE);
 *     while (status == EM_OK && em_btree_cursor_get(c, &entry) == EM_OK && entry.number <= last) {
 *             ... entry ...
 *             status = em_btree_cursor_next(c, NULL);
 *     }
 *
 * There may be any number of cursors.  Each takes some 100 bytes, and a copy of a key.  Outside of a call none has a
 * leaf pinned, and reading leaves leaves as they are: they are not written.  A cursor that goes from leaf to leaf,
 * either way, has the next ones read ahead: as many as it has passed, up to 32, then a quarter of these, up to 256, or
 * a 16th of the cache.  A call for many records has all leaves read that it needs.  When it is not the first one there
 * are a quarter of those that were passed behind these, but none if it is for fewer than the call before, as that is
 * the end of a range.  Where it went on from where it was sought for the last two times, it is taken to go as far as
 * the shorter of these, or as the longer one if they are nearly the same: EM_BTREE_GE has that read at once, and calls
 * for a part of it no more than that.  Where both ends of a range are known em_btree_for_each() need not guess.
 *
 * The time for an insertion or erasure grows with the number of cursors on the same leaf.
 *
 * A cursor keeps its tree, so they may be closed in any order, and is of one thread with it.  The detail of a failure
 * is that of the tree.
 */

/** Where em_btree_cursor_seek() goes to. */
enum {
	EM_BTREE_GE = 0,        /**< The first record whose key is not less (lower bound). */
	EM_BTREE_GT = 1,        /**< The first record whose key is greater (upper bound). */
	EM_BTREE_LE = 2,        /**< The last record whose key is not greater. */
	EM_BTREE_LT = 3,        /**< The last record whose key is less. */
	EM_BTREE_EQ = 4         /**< The first record with that key. */
};

/** Open a cursor, which stands before the first record.  As em_btree_insert(); the detail is in em_btree_error().
 *  No I/O. */
EM_API EM_NODISCARD em_status em_btree_cursor_open(em_btree_cursor **out, em_btree *t);

/** Close it.  NULL is allowed. */
EM_API void em_btree_cursor_close(em_btree_cursor *c);

/**
 * Go to a record.  With EM_BTREE_GE key may be NULL: to the first record of all; with EM_BTREE_LE likewise: to the
 * last.
 *
 * Returns (as all functions below, which only say what is different) as em_btree_insert(), and:
 *   EM_OK            it stands on that record
 *   EM_NOT_FOUND     there is none: it stands behind the last record, before the first one, or, with EM_BTREE_EQ, in
 *                    the gap where that would be, and goes on from there
 *   EM_ERR_INVAL     there is no such way to seek; key is NULL where it may not be
 * After a failure it stands where it stood.
 * I/O: the way down, and sometimes the leaf beside it.
 */
EM_API EM_NODISCARD em_status em_btree_cursor_seek(em_btree_cursor *c, const void *key, uint32_t how);

/** Copy the record that it stands on, unless record is NULL.  EM_NOT_FOUND: it stands on none, as that was taken out,
 *  or it was never on one.  I/O: at most one leaf. */
EM_API EM_NODISCARD em_status em_btree_cursor_get(em_btree_cursor *c, void *record);

/** Go to the next record, or the previous one, and copy it, unless record is NULL.  EM_END: there is none, and it
 *  stands behind the last one, or before the first; it stays there when others come, and the other way it goes on.
 *  I/O: that of a scan. */
EM_API EM_NODISCARD em_status em_btree_cursor_next(em_btree_cursor *c, void *record);
EM_API EM_NODISCARD em_status em_btree_cursor_prev(em_btree_cursor *c, void *record);

/** Go on by up to n records, and copy them in the order in which it comes to them, unless records is NULL.  *got is how
 *  many they were; it stands on the last of these.  EM_END: there are none, and n is not 0.  After a failure *got is 0:
 *  one that comes later is told by the next call. */
EM_API EM_NODISCARD em_status em_btree_cursor_next_many(em_btree_cursor *c, void *records, uint64_t n, uint64_t *got);
EM_API EM_NODISCARD em_status em_btree_cursor_prev_many(em_btree_cursor *c, void *records, uint64_t n, uint64_t *got);

/** Add a record, as em_btree_insert() does, and stand on it.  EM_EXISTS: there is one with an equal key, which is as it
 *  was, and it stands on that. */
EM_API EM_NODISCARD em_status em_btree_cursor_insert(em_btree_cursor *c, const void *record);

/** Overwrite the record that it stands on by one with an equal key.  EM_NOT_FOUND: it stands on none.  EM_ERR_INVAL:
 *  the key is another one. */
EM_API EM_NODISCARD em_status em_btree_cursor_put(em_btree_cursor *c, const void *record);

/** Take out the record that it stands on, and stand in the gap.  EM_NOT_FOUND: it stands on none. */
EM_API EM_NODISCARD em_status em_btree_cursor_erase(em_btree_cursor *c);

/** Count the records that have the key of that which it stands on.  EM_NOT_FOUND: it stands on none.  I/O: the way
 *  down, and a scan of them. */
EM_API EM_NODISCARD em_status em_btree_cursor_count(em_btree_cursor *c, uint64_t *n);

/** Copy the detail of the last failure of its tree, or of a cursor of that. */
EM_API void em_btree_cursor_error(const em_btree_cursor *c, em_errinfo *err);

/*
 * Loading.
 *
 * A tree of records that are sorted already is made from its leaves up, and each block is written once.  Records that
 * are not sorted go through an em_sorter with the order of the tree first; that is many times as fast as to insert them
 * one by one, as soon as they do not fit into memory.
 *
 *     em_sorter_open(&sorter, ctx, order, NULL);
 *     ... em_sorter_push(sorter, records, n) ...
 *     em_sorter_finish(sorter);
 *     em_btree_load_sorted(t, sorter, NULL);
 */

/** In em_btree_load_opts.flags. */
enum {
	EM_BTREE_LOAD_SKIP = 1  /**< Of records with equal keys only the first one enters, in place of
	                             EM_ERR_FORMAT.  With EM_BTREE_DUPLICATES all enter. */
};

typedef struct em_btree_load_opts {
	uint32_t size;          /**< sizeof(em_btree_load_opts); set by the initialiser. */
	uint32_t flags;         /**< EM_BTREE_LOAD_..., combined. */
	uint32_t leaf_fill;     /**< How full leaves are, in percent, 1 to 100; 0: 95.  It is a number of records, which
	                             is rounded up: so leaves of fewer than 20 are full then.  As long as a leaf has
	                             places an insertion does not split it, and those that lie one behind the other on
	                             the disk stay so.  The fewer there are, the less is read by scans, and written to a
	                             file by em_btree_save(): 100 is for a tree that is not going to change. */
	uint32_t node_fill;     /**< The same of nodes, and their children. */
	em_errinfo *errinfo;    /**< Filled when opening fails, or em_btree_load_sorted(); may be NULL. */
} em_btree_load_opts;
#define EM_BTREE_LOAD_OPTS_INIT { sizeof(em_btree_load_opts), 0, 0, 0, NULL }
/** As EM_BTREE_LOAD_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_btree_load_opts_init(em_btree_load_opts *out, size_t bytes);

/**
 * Load a tree, which is empty, with records in its order; opts may be NULL.  Until em_btree_loader_finish() the tree is
 * empty, its cursors stand before the first record, and changing it is EM_ERR_STATE; it is empty again when the loader
 * is closed before that.
 *
 * em_btree_loader_push() copies n records.  *pushed, which may be NULL, is how many of them are done with, also after a
 * failure: the same call for the others may be tried again.  EM_ERR_FORMAT: a record is less than the one before it,
 * or, without duplicates, has the same key; em_errinfo.record is its number, from 1, of all that were pushed.  Those of
 * the call that are before it may have entered, as *pushed says, and nothing else.
 *
 * em_btree_loader_finish() may be tried again, too.
 *
 * Returns: EM_ERR_STATE (the tree has records, or another loader; the loader is finished), EM_ERR_INVAL (a pointer is
 * NULL, flags are unknown), EM_ERR_RANGE (percents), EM_ERR_VERSION; and as em_btree_insert().
 * I/O: a write for each block; some reads at the end.
 */
EM_API EM_NODISCARD em_status em_btree_loader_open(em_btree_loader **out, em_btree *t, const em_btree_load_opts *opts);
EM_API EM_NODISCARD em_status em_btree_loader_push(em_btree_loader *l, const void *records, uint64_t n,
						   uint64_t *pushed);
EM_API EM_NODISCARD em_status em_btree_loader_finish(em_btree_loader *l);
EM_API void em_btree_loader_error(const em_btree_loader *l, em_errinfo *err);
EM_API void em_btree_loader_close(em_btree_loader *l);

/** Load a tree, which is empty, with all that a sorter is going to lend (em_sorter_next()), which must be sorted by the
 *  same order.  Records are copied once, from its batches into leaves.  After a failure the tree is empty, and the
 *  sorter somewhere.  As em_btree_loader_push() and em_sorter_next().  I/O: what the sorter reads, and a write for each
 *  block. */
EM_API EM_NODISCARD em_status em_btree_load_sorted(em_btree *t, em_sorter *sorted, const em_btree_load_opts *opts);

/*
 * Files.
 */

/**
 * Write the tree to a file, from which em_btree_open_file() opens it.  The tree stays as it is, and may be one that was
 * opened from a file itself, also from that one.
 *
 * The file appears at once, complete and on the disk, or not at all, and a file of that name is replaced as
 * em_sort_files() replaces its output.  It is the same on all machines.  It says which order it is in, by the name of
 * that, and how large keys, values and blocks are.  Each block has its checksum in the block above, so what is damaged
 * later, or was never written, is found by whoever comes to it.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     a pointer is NULL, path is a directory
 *   EM_ERR_STATE     the tree is being loaded
 *   EM_ERR_NOTSUP    path is no regular file, or "-", standard output
 *   EM_ERR_RANGE     the name of the order has more than 2^20 bytes
 *   EM_ERR_BUSY      another call is in progress
 *   EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_FDLIMIT  the file or its directory
 *   EM_ERR_NOSPACE   there is no room for it, or for blocks that leave a cache
 *   EM_ERR_IO, EM_ERR_CORRUPT  a block could not be read or written
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM, EM_ERR_CANCELED, EM_ERR_FORK
 * I/O: a scan, and one write of all that is in the tree, in large pieces.  Memory: up to 2 MiB, or a 16th of the
 * context's, and two nodes for each level.
 */
EM_API EM_NODISCARD em_status em_btree_save(em_btree *t, const char *path);

/**
 * Open a tree that was saved.  Only its header and its root are read.  Changing it is EM_ERR_ACCESS, and changes
 * nothing.  To have one that can be changed, load an empty tree with what a cursor of it comes to.
 *
 * order may be NULL if that of the tree is by key fields: it is made of its name again, and em_btree_order() lends it.
 * If the order is of a function, that cannot be in a file: order must be one of the same name.
 *
 * Of opts, which may be NULL, caches and policy are as those of any tree.  Flags, key_bytes, leaf_bytes and node_bytes
 * are the file's, and must be the same, or 0; the placement means nothing.
 *
 * A block is looked at when it is read: EM_ERR_CORRUPT if it is not what was saved, with its place in the detail.
 * em_btree_verify() comes to all of them.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     a pointer is NULL, the order is of another context, order is NULL and that of the tree is of a
 *                    function
 *   EM_ERR_FORMAT    it is no saved tree; it is in another order, or opts say what it is not
 *   EM_ERR_CORRUPT   it is damaged, too short, or not complete; the detail names the file and the offset
 *   EM_ERR_VERSION   it was saved by a later version of the library; opts or the policy was made without its
 *                    initialiser
 *   EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO, EM_ERR_FDLIMIT  the file
 *   EM_ERR_RANGE     the memory for a cache is too small or too large
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM, EM_ERR_CANCELED, EM_ERR_FORK
 * I/O: two reads.
 */
EM_API EM_NODISCARD em_status em_btree_open_file(em_btree **out, em_ctx *ctx, const char *path, const em_order *order,
						 const em_btree_opts *opts);

/** The order of a tree; lives as long as the tree.  NULL of NULL. */
EM_API const em_order *em_btree_order(const em_btree *t);

/* The tree as a whole. */

/** Take out all records, and give back disks and memory, but for that of the caches' frames.  No I/O. */
EM_API EM_NODISCARD em_status em_btree_clear(em_btree *t);

/** Write all blocks that were changed, and wait.  What could not be written before is tried again.  The first failure.
 *  I/O: one write for each of them. */
EM_API EM_NODISCARD em_status em_btree_flush(em_btree *t);

/** Look at all of it: EM_ERR_CORRUPT, with what is wrong in the detail, unless it is a tree with these records in
 *  order.  I/O: a scan. */
EM_API EM_NODISCARD em_status em_btree_verify(em_btree *t);

/** Fill stats.  EM_OK, EM_ERR_INVAL, EM_ERR_VERSION. */
EM_API EM_NODISCARD em_status em_btree_stats_get(const em_btree *t, em_btree_stats *stats);

/** Copy the detail of the last failure; all zero when there was none. */
EM_API void em_btree_error(const em_btree *t, em_errinfo *err);

EM_END_DECLS

#endif
