/* SPDX-License-Identifier: BSL-1.0 */
/*
 * account.c -- see account.h.
 *
 * A bit for each unit of a disk, in leaves of 16 MiB, and a table of leaves for each disk.  A leaf has bits only while
 * some of its units are the user's and others are not, so what is one behind the other takes little memory, and blocks
 * that are scattered take a leaf each at most.  Where blocks begin is not known: to free all, rows of units are enough.
 *
 * Nobody plans for more than so much of that.  A user of a disk that has more is not told that a context has no memory
 * for it, as that would be a poor reason to fail after hours; the account says that it is not complete.
 */
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "block/account.h"
#include "block/space.h"

enum {
	WORD_BITS = 64,
	LEAF_WORDS = 64,
	LEAF_BYTES = LEAF_WORDS * sizeof(uint64_t),
	LEAF_UNITS = WORD_BITS * LEAF_WORDS,
	FIRST_TABLE = 8
};

typedef struct leaf {
	uint64_t *word;         /* NULL: all of its units are the user's, or none */
	uint64_t units;         /* that are the user's */
} leaf;

typedef struct disk_account {
	leaf *table;
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
			emi_free(a->ctx, a->disk[d].table[i].word, LEAF_BYTES);
		emi_free_array(a->ctx, a->disk[d].table, a->disk[d].room, sizeof(leaf));
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

uint64_t emi_account_memory(uint32_t disks, uint64_t bytes, uint64_t ends)
{
	const uint64_t leaves = bytes / EMI_UNIT / LEAF_UNITS + 1, room = grown(leaves, leaves);

	return account_bytes(disks) + disks * ((ends < leaves ? ends : leaves) * LEAF_BYTES + 2 * room * sizeof(leaf));
}

/* Make the table reach so far. */
static em_status reach(emi_account *a, disk_account *d, uint64_t leaves, em_errinfo *err)
{
	const uint64_t room = grown(d->room, leaves);
	leaf *table;
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

/* A leaf whose units are all the user's, or none of them, has no bits. */
static void settle(emi_account *a, leaf *l)
{
	if (l->units != 0 && l->units != LEAF_UNITS)
		return;
	emi_free(a->ctx, l->word, LEAF_BYTES);
	l->word = NULL;
}

/* Leaves from one to another, the last one included, have bits: or none that had not before. */
static em_status have_leaves(emi_account *a, disk_account *d, uint64_t first, uint64_t last, em_errinfo *err)
{
	em_status st = reach(a, d, last + 1, err);
	uint64_t i;

	for (i = first; st == EM_OK && i <= last; i++) {
		leaf *l = &d->table[i];

		if (l->word == NULL)
			l->word = emi_alloc(a->ctx, LEAF_BYTES, err);
		if (l->word == NULL)
			st = err->status;
	}
	while (st != EM_OK && i-- > first)
		settle(a, &d->table[i]);
	return st;
}

/* The same of leaves with units to be taken from the account.  Those for which there is no memory leave it as a
 * whole. */
static void have_bits(emi_account *a, disk_account *d, uint64_t first, uint64_t last)
{
	uint64_t i;

	for (i = first; i <= last; i++) {
		leaf *l = &d->table[i];

		if (l->word != NULL)
			continue;
		l->word = emi_alloc(a->ctx, LEAF_BYTES, NULL);
		if (l->word != NULL) {
			memset(l->word, 0xff, LEAF_BYTES);
			continue;
		}
		d->units -= l->units;
		l->units = 0;
		a->lost = 1;
	}
}

static leaf *leaf_of(const disk_account *d, uint64_t unit)
{
	return unit / LEAF_UNITS < d->room ? &d->table[unit / LEAF_UNITS] : NULL;
}

static int has(const leaf *l, uint64_t at)
{
	if (l == NULL || l->word == NULL)
		return l != NULL && l->units != 0;
	return (l->word[at / WORD_BITS] >> (at % WORD_BITS) & 1) != 0;
}

/* Units [unit, end) of leaves with bits become the user's, or are no longer. */
static void flip(emi_account *a, disk_account *d, uint64_t unit, uint64_t end)
{
	for (; unit < end; unit++) {
		leaf *l = &d->table[unit / LEAF_UNITS];
		const uint64_t bit = (uint64_t)1 << unit % WORD_BITS;
		uint64_t *word;

		/* One that left the account has none. */
		if (l->word == NULL)
			continue;
		word = &l->word[unit % LEAF_UNITS / WORD_BITS];
		*word ^= bit;
		d->units += (*word & bit) != 0 ? 1 : (uint64_t)-1;
		l->units += (*word & bit) != 0 ? 1 : (uint64_t)-1;
		if (unit + 1 == end || (unit + 1) % LEAF_UNITS == 0)
			settle(a, l);
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
		flip(a, d, unit, end);
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
		have_bits(a, d, unit / LEAF_UNITS, (end - 1) / LEAF_UNITS);
		flip(a, d, unit, end);
		d->blocks -= d->blocks != 0;
		is = 1;
	}
	pthread_mutex_unlock(&a->lock);
	return is;
}

/* A row within a leaf is no longer the user's. */
static void take_row(emi_account *a, disk_account *d, leaf *l, uint64_t unit, uint64_t end)
{
	if (l->word != NULL) {
		flip(a, d, unit, end);
		return;
	}
	d->units -= l->units;
	l->units = 0;
}

void emi_account_empty(emi_account *a, emi_account_piece *piece, void *arg)
{
	uint32_t k;

	for (k = 0; k < a->disks; k++) {
		disk_account *d = &a->disk[k];
		uint64_t unit = 0, end;

		while (d->units != 0) {
			leaf *l = leaf_of(d, unit);
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
			take_row(a, d, l, unit, end);
			bid.disk = k;
			bid.offset = unit * EMI_UNIT;
			piece(arg, bid, (size_t)(end - unit) * EMI_UNIT, d->units == 0 ? d->blocks : 0);
			unit = end;
		}
		d->blocks = 0;
	}
}
