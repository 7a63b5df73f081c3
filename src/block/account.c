/* SPDX-License-Identifier: BSL-1.0 */
/*
 * account.c -- see account.h.
 *
 * A bit for each unit of a disk, in leaves of 16 MiB that are there while anything in them is the user's, and a table of leaves for each disk.  Where blocks begin
 * is not known: to free all, rows of units are enough.  So what it takes depends on bytes, not on blocks: a bit for 4 KiB, and at most a leaf for each block where
 * they are scattered.
 *
 * Nobody plans for more than so much of that.  A user of a disk that has more is not told that a context has no memory for it, as that would be a poor reason to fail after hours;
 * the account says that it is not complete.
 */
#include <pthread.h>

#include "base/memory.h"
#include "block/account.h"
#include "block/space.h"

enum { WORD_BITS = 64, LEAF_WORDS = 64, LEAF_UNITS = WORD_BITS * LEAF_WORDS, FIRST_TABLE = 8 };

typedef struct leaf {
	uint32_t units;         /* that are the user's */
	uint64_t word[LEAF_WORDS];
} leaf;

typedef struct disk_account {
	leaf **table;           /* NULL: nothing there is */
	uint64_t room;          /* entries of it */
	uint64_t units, blocks;
} disk_account;

struct emi_account {
	em_ctx *ctx;
	pthread_mutex_t lock;
	int lost;               /* something could not be entered */
	uint32_t disks;
	disk_account disk[];
};

static size_t account_bytes(uint32_t disks)
{
	return sizeof(emi_account) + disks * sizeof(disk_account);
}

em_status emi_account_open(emi_account **out, em_ctx *ctx, uint32_t disks, em_errinfo *err)
{
	emi_account *a = emi_alloc(ctx, account_bytes(disks), err);

	*out = a;
	if (a == NULL)
		return err->status;
	a->ctx = ctx;
	a->disks = disks;
	pthread_mutex_init(&a->lock, NULL);
	return EM_OK;
}

void emi_account_close(emi_account *a, int forked)
{
	uint64_t i;
	uint32_t d;

	if (a == NULL)
		return;
	for (d = 0; d < a->disks; d++) {
		for (i = 0; i < a->disk[d].room; i++)
			emi_free(a->ctx, a->disk[d].table[i], sizeof(leaf));
		emi_free_array(a->ctx, a->disk[d].table, a->disk[d].room, sizeof(leaf *));
	}
	if (!forked)
		pthread_mutex_destroy(&a->lock);
	emi_free(a->ctx, a, account_bytes(a->disks));
}

/* The table grows by an eighth, so that copying it takes little more than twice what it has. */
static uint64_t grown(uint64_t room, uint64_t leaves)
{
	const uint64_t more = room + room / 8 + FIRST_TABLE;

	return more > leaves ? more : leaves;
}

uint64_t emi_account_memory(uint32_t disks, uint64_t bytes)
{
	const uint64_t leaves = bytes / EMI_UNIT / LEAF_UNITS + 1, room = grown(leaves, leaves);

	return account_bytes(disks) + disks * (leaves * sizeof(leaf) + 2 * room * sizeof(leaf *));
}

/* Make the table reach so far. */
static em_status reach(emi_account *a, disk_account *d, uint64_t leaves, em_errinfo *err)
{
	const uint64_t room = grown(d->room, leaves);
	leaf **table;
	uint64_t i;

	if (leaves <= d->room)
		return EM_OK;
	table = emi_alloc_array(a->ctx, room, sizeof *table, err);
	if (table == NULL)
		return err->status;
	for (i = 0; i < d->room; i++)
		table[i] = d->table[i];
	emi_free_array(a->ctx, d->table, d->room, sizeof *table);
	d->table = table;
	d->room = room;
	return EM_OK;
}

static void drop_empty(emi_account *a, leaf **l)
{
	if (*l != NULL && (*l)->units == 0) {
		emi_free(a->ctx, *l, sizeof **l);
		*l = NULL;
	}
}

/* Leaves from one to another, the last one included, are there: or none that was not before. */
static em_status have_leaves(emi_account *a, disk_account *d, uint64_t first, uint64_t last, em_errinfo *err)
{
	em_status st = reach(a, d, last + 1, err);
	uint64_t i;

	for (i = first; st == EM_OK && i <= last; i++) {
		if (d->table[i] == NULL)
			d->table[i] = emi_alloc(a->ctx, sizeof(leaf), err);
		if (d->table[i] == NULL)
			st = err->status;
	}
	while (st != EM_OK && i-- > first)
		drop_empty(a, &d->table[i]);
	return st;
}

static leaf *leaf_of(const disk_account *d, uint64_t unit)
{
	return unit / LEAF_UNITS < d->room ? d->table[unit / LEAF_UNITS] : NULL;
}

static int has(const leaf *l, uint64_t at)
{
	return l != NULL && (l->word[at / WORD_BITS] >> (at % WORD_BITS) & 1) != 0;
}

/* The bits of units [unit, end) change. */
static void flip(disk_account *d, uint64_t unit, uint64_t end, int set)
{
	d->units += set ? end - unit : 0 - (end - unit);
	for (; unit < end; unit++) {
		leaf *l = d->table[unit / LEAF_UNITS];

		l->word[unit % LEAF_UNITS / WORD_BITS] ^= (uint64_t)1 << unit % WORD_BITS;
		l->units += set ? 1 : -1u;
	}
}

em_status emi_account_enter(emi_account *a, em_bid bid, uint64_t bytes, uint64_t n, em_errinfo *err)
{
	const uint64_t unit = bid.offset / EMI_UNIT, end = unit + bytes / EMI_UNIT;
	disk_account *d = &a->disk[bid.disk];
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st;

	pthread_mutex_lock(&a->lock);
	st = have_leaves(a, d, unit / LEAF_UNITS, (end - 1) / LEAF_UNITS, &own);
	if (st == EM_OK) {
		flip(d, unit, end, 1);
		d->blocks += n;
	} else if (st == EM_ERR_MEMLIMIT) {
		a->lost = 1;
		st = EM_OK;
	}
	pthread_mutex_unlock(&a->lock);
	if (st != EM_OK && err != NULL && err->status >= EM_OK)
		*err = own;
	return st;
}

int emi_account_complete(const emi_account *a)
{
	return !a->lost;
}

int emi_account_strike(emi_account *a, em_bid bid, uint64_t bytes)
{
	const uint64_t unit = bid.offset / EMI_UNIT, end = unit + bytes / EMI_UNIT;
	disk_account *d = &a->disk[bid.disk];
	uint64_t i = unit;
	int is;

	pthread_mutex_lock(&a->lock);
	while (i < end && has(leaf_of(d, i), i % LEAF_UNITS))
		i++;
	is = a->lost;
	if (i == end) {
		flip(d, unit, end, 0);
		d->blocks -= d->blocks != 0;
		for (i = unit / LEAF_UNITS; i <= (end - 1) / LEAF_UNITS; i++)
			drop_empty(a, &d->table[i]);
		is = 1;
	}
	pthread_mutex_unlock(&a->lock);
	return is;
}

void emi_account_empty(emi_account *a, emi_account_piece *piece, void *arg)
{
	uint32_t k;

	for (k = 0; k < a->disks; k++) {
		disk_account *d = &a->disk[k];
		uint64_t unit = 0, end;

		while (d->units != 0) {
			const leaf *l = leaf_of(d, unit);
			em_bid bid = { 0, 0, 0 };

			if (l == NULL || l->units == 0) {
				unit = (unit / LEAF_UNITS + 1) * LEAF_UNITS;
				continue;
			}
			/* A row that goes on in the next leaf is two pieces. */
			for (; !has(l, unit % LEAF_UNITS); unit++)
				continue;
			for (end = unit + 1; end % LEAF_UNITS != 0 && has(l, end % LEAF_UNITS); end++)
				continue;
			flip(d, unit, end, 0);
			bid.disk = k;
			bid.offset = unit * EMI_UNIT;
			piece(arg, bid, (size_t)(end - unit) * EMI_UNIT, d->units == 0 ? d->blocks : 0);
			unit = end;
		}
		d->blocks = 0;
	}
}
