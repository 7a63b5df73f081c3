/* SPDX-License-Identifier: BSL-1.0 */
/*
 * placement.h -- on which disk the i-th block of a sequence goes.
 *
 * A placement is a function of the number of the block and of what was drawn when the sequence began, so nothing has to be remembered for each
 * block, and the same seed gives the same places.
 *
 *   EMI_PLACE_STRIPING   block i goes to disk (first + i) mod D: perfectly balanced for whoever reads one sequence
 *   EMI_PLACE_SIMPLE     simple random: the same from a random disk on
 *   EMI_PLACE_CYCLING    randomised cycling: disk perm(i mod D), perm being random: balanced within a sequence, and the blocks that a merge of
 *                        many of them asks for are spread at least as well as if each were anywhere (Vitter and Hutchinson 2001; Dementiev and
 *                        Sanders 2003, section 2.4)
 *   EMI_PLACE_RANDOM     fully random: each block anywhere
 *   EMI_PLACE_SINGLE     all on one disk, `first'
 *   EMI_PLACE_OWN        what the caller's function says
 */
#ifndef EMI_PLACEMENT_H
#define EMI_PLACEMENT_H

#include <stdint.h>

#define EMI_DISKS_MOST 256u

typedef enum emi_place_kind {
	EMI_PLACE_STRIPING,
	EMI_PLACE_SIMPLE,
	EMI_PLACE_CYCLING,
	EMI_PLACE_RANDOM,
	EMI_PLACE_SINGLE,
	EMI_PLACE_OWN
} emi_place_kind;

/* The disk of block i of D; what is not less than D is taken modulo D. */
typedef uint32_t (*emi_place_fn)(void *user, uint64_t i, uint32_t disks);

typedef struct emi_placement {
	emi_place_kind kind;
	uint32_t disks;         /* D */
	uint32_t first;
	uint64_t seed;
	emi_place_fn fn;        /* EMI_PLACE_OWN */
	void *user;
	uint8_t perm[EMI_DISKS_MOST];
} emi_placement;

/* Begin a sequence on 1 to EMI_DISKS_MOST disks.  Sequences of one seed differ by their number.  first: less than D, for those kinds that have one. */
void emi_placement_init(emi_placement *p, emi_place_kind kind, uint32_t disks, uint32_t first, uint64_t seed, uint64_t number);

/* The same by the caller's function. */
void emi_placement_own(emi_placement *p, uint32_t disks, emi_place_fn fn, void *user);

/* The disk of block i: less than D. */
uint32_t emi_placement_disk(const emi_placement *p, uint64_t i);

#endif
