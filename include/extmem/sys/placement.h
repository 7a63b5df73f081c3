/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/placement.h  On which disk the i-th block of a sequence goes.
 *
 * A placement is a function of the number of the block and of what was drawn when the sequence began, so nothing has to
 * be remembered for each block, and the same seed gives the same places. em_bids_alloc() (extmem/sys/block.h) takes
 * one; it also works without any disk, for simulations.
 *
 * Lists that are written side by side, a block of each in turn, are interleaved: one placement for all of them has a
 * kind of its own (EM_PLACE_INTERLEAVED). Lists of the other kinds have placements of their own, of which number j
 * differs by its number or its first disk: block i is on em_placement_disk(&p[i % n], i / n).
 *
 * This is the extension tier: weaker promises between minor versions until 1.0.
 */
#ifndef EXTMEM_SYS_PLACEMENT_H
#define EXTMEM_SYS_PLACEMENT_H

#include <extmem/disk.h>

EM_BEGIN_DECLS

/** Kinds of placement. */
enum {
	EM_PLACE_STRIPING = 0, /**< Block i on disk (first + i) mod D: perfectly balanced for whoever reads one
	                            sequence. */
	EM_PLACE_SIMPLE = 1,   /**< Simple random: the same from a random disk on. */
	EM_PLACE_CYCLING = 2,  /**< Randomised cycling: disk perm(i mod D), perm being random: balanced within a
	                            sequence, and the blocks that a merge of many of them asks for are spread at least
	                            as well as if each were anywhere (Vitter and Hutchinson 2001; Dementiev and Sanders
	                            2003, section 2.4). */
	EM_PLACE_RANDOM = 3,   /**< Fully random: each block anywhere. */
	EM_PLACE_SINGLE = 4,   /**< All on one disk, `first'. */
	EM_PLACE_OWN = 5,      /**< What the caller's function says. */
	EM_PLACE_INTERLEAVED = 6 /**< n lists in turn: block i of all is block i / n of list i mod n, and that on disk
	                            (first + i / n + i mod n) mod D. So each list is striped, and list j is offset by j
	                            disks: the blocks that are written or read at the same time, one of each list, are
	                            spread evenly. (Striped as one sequence, a list would have few of the disks, or one,
	                            where n and D have a common divisor.) */
};

/** The disk of block i of D; what is not less than D is taken modulo D. Called by whoever asks for the placement, on
 *  any thread that does. */
typedef uint32_t (*em_place_fn)(void *user, uint64_t i, uint32_t disks);

/** In the caller's memory, nothing to close. Filled by em_placement_init(), _own() or _interleaved(), read by anyone,
 *  changed by nobody. */
typedef struct em_placement {
	uint32_t kind;          /**< EM_PLACE_... */
	uint32_t disks;         /**< D */
	uint32_t first;
	uint32_t lists;         /**< EM_PLACE_INTERLEAVED: n; 0 for the others. */
	uint64_t seed;          /**< Of this sequence: mixed from the seed and the number that were given. */
	em_place_fn fn;         /**< EM_PLACE_OWN */
	void *user;
	uint8_t perm[EM_DISKS_MAX]; /**< EM_PLACE_CYCLING */
	uint64_t reserved[2];
} em_placement;

/**
 * Begin a sequence on 1 to EM_DISKS_MAX disks. Sequences of one seed differ by their number. first: less than D, for
 * those kinds that have one; 0 for the others.
 *
 * Returns EM_OK; EM_ERR_INVAL (p is NULL, kind is none of the above, or EM_PLACE_OWN or EM_PLACE_INTERLEAVED);
 * EM_ERR_RANGE (disks or first). Any thread. No I/O.
 */
EM_API EM_NODISCARD em_status em_placement_init(em_placement *p, uint32_t kind, uint32_t disks, uint32_t first,
						uint64_t seed, uint64_t number);

/** The same by the caller's function. EM_OK; EM_ERR_INVAL (p or fn is NULL); EM_ERR_RANGE (disks). */
EM_API EM_NODISCARD em_status em_placement_own(em_placement *p, uint32_t disks, em_place_fn fn, void *user);

/** Begin n >= 1 lists that are interleaved, the first of them on disk `first', less than D. EM_OK; EM_ERR_INVAL (p is
 *  NULL); EM_ERR_RANGE (disks, first, n). Any thread. No I/O. */
EM_API EM_NODISCARD em_status em_placement_interleaved(em_placement *p, uint32_t disks, uint32_t first, uint32_t n);

/** The disk of block i: less than D. 0 for a placement that is NULL or was not begun. Any thread. */
EM_API uint32_t em_placement_disk(const em_placement *p, uint64_t i);

EM_END_DECLS

#endif
