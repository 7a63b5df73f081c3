/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk_set.h -- what the scratch disks of a context consist of.
 */
#ifndef EMI_DISK_SET_H
#define EMI_DISK_SET_H

#include "block/account.h"
#include "block/disk.h"
#include "block/ledger.h"
#include "block/moved.h"
#include "block/one_disk.h"

typedef struct emi_disk_set {
	em_ctx *ctx;
	emi_allowance all;
	emi_ledger *ledger;     /* NULL: uses are not checked */
	emi_moved moved;
	uint32_t n;
	uint32_t next;          /* where the next block goes that may go anywhere; atomic */
	uint32_t owners;        /* users so far; under the context's lock */
	int abandoned;          /* nobody knows what blocks are left for; likewise */
	emi_one_disk *disk[];
} emi_disk_set;

struct emi_disk {
	emi_disk_set *set;
	emi_account *own;       /* of this user's blocks alone, if the set has no ledger; else NULL */
	uint32_t owner;
	int abandons;
};

/* What is wrong about an id that anybody can see, or NULL; and the file of its disk, at worst of another one. */
const char *emi_bid_flaw(const emi_disk_set *set, em_bid bid, size_t bytes);
em_file *emi_bid_file(const emi_disk_set *set, em_bid bid);

/* Free n blocks that take so many bytes together from there on: their space. */
em_status emi_disk_vacate(emi_disk_set *set, em_bid bid, size_t bytes, uint64_t n, em_errinfo *err);

/* Free a block of a user. */
em_status emi_disk_free(emi_disk *d, em_bid bid, size_t bytes, em_errinfo *err);

#endif
