/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_id.c -- blocks by their ids: allocating and freeing them.
 *
 * What each disk does is in one_disk.c; here blocks are spread over them.  Who does not say where a block is to be has
 * them go round.  A disk without room is passed over, so the set is full when all are.
 *
 * Ids are checked as far as that costs next to nothing: is there such a disk, can a block be at such an offset, and, by
 * the disk, is the space in use, and was anything written there that is to be read.  The ledger knows the rest, where
 * there is one.  All that is asked before anything is done, so a wrong id changes nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "block/disk_set.h"
#include "block/space.h"

/* Several disks are full: the detail of the first one, and the names of as many as there is room for. */
static void name_disks(const emi_disk_set *set, uint64_t bytes, em_errinfo *err)
{
	static const char end[] = ", ...";
	em_errinfo all = EM_ERRINFO_INIT;
	char list[sizeof err->text - 100];
	size_t at = 0;
	uint32_t i;

	list[0] = '\0';
	for (i = 0; i < set->n; i++) {
		const char *path = emi_file_path(emi_one_disk_file(set->disk[i]));

		if (strlen(path) + sizeof end + 4 > sizeof list - at) {
			memcpy(list + at, end, sizeof end);
			break;
		}
		at += (size_t)snprintf(list + at, sizeof list - at, "%s'%s'", i == 0 ? "" : ", ", path);
	}
	emi_fail(&all, EM_ERR_NOSPACE,
		 "all %" PRIu32 " scratch disks are full, and %" PRIu64 " bytes more are needed: %s", set->n, bytes,
		 list);
	memcpy(err->text, all.text, sizeof err->text);
}

/* n blocks, one behind the other, on the first disk that has room, in their order, beginning with `first'. */
static em_status alloc_somewhere(emi_disk_set *set, uint32_t first, size_t bytes, uint64_t n, em_bid *bid,
				 em_errinfo *err)
{
	em_status status = EM_ERR_NOSPACE;
	uint32_t i;

	for (i = 0; i < set->n && status == EM_ERR_NOSPACE; i++) {
		em_errinfo own = EM_ERRINFO_INIT;

		bid->disk = (first + i) % set->n;
		status = emi_one_disk_alloc(set->disk[bid->disk], bytes, n, &bid->offset, &own);
		if (status != EM_OK && (i == 0 || status != EM_ERR_NOSPACE))
			*err = own;
	}
	return status;
}

/* What limits all disks together may be taken by gaps of others than the one that was to grow. */
static int make_room(emi_disk *d)
{
	return d->set->n > 1 && d->set->all.most != 0 && emi_disk_give_all(d);
}

/* Enter the n blocks of a row in the ledger, or none of them, or in the user's account. */
static em_status enter(emi_disk *d, const em_bid *bid, size_t n, size_t bytes, em_errinfo *err)
{
	emi_ledger *ledger = d->set->ledger;
	em_status st = EM_OK;
	const char *why;
	size_t i;

	if (d->own != NULL)
		return emi_account_enter(d->own, bid[0], n * (uint64_t)bytes, n, err);
	for (i = 0; i < n && st == EM_OK && ledger != NULL; i++)
		st = emi_ledger_enter(ledger, bid[i], bytes, d->owner, err);
	if (st != EM_OK)
		for (i--; i > 0; i--)
			(void)emi_ledger_strike(ledger, bid[i - 1], bytes, d->owner, &why);
	return st;
}

static void clear(em_bid *bid, size_t n)
{
	if (n > 0)
		memset(bid, 0, n * sizeof *bid);
}

/* The blocks of a row follow from the first. */
static em_status alloc_row(emi_disk *d, uint32_t index, size_t bytes, em_bid *bid, size_t n, em_errinfo *err)
{
	em_status status = alloc_somewhere(d->set, index, bytes, n, bid, err);
	size_t i;

	if (status == EM_ERR_NOSPACE && make_room(d))
		status = alloc_somewhere(d->set, index, bytes, n, bid, err);
	if (status == EM_ERR_NOSPACE && d->set->n > 1 && d->set->all.most == 0)
		name_disks(d->set, n * (uint64_t)bytes, err);
	if (status != EM_OK)
		return status;
	for (i = 1; i < n; i++) {
		bid[i] = bid[0];
		bid[i].offset += (uint64_t)i * bytes;
	}
	status = enter(d, bid, n, bytes, err);
	if (status != EM_OK)
		for (i = 0; i < n; i++)
			(void)emi_one_disk_free(d->set->disk[bid[i].disk], bid[i].offset, bytes, 1, NULL);
	return status;
}

em_status emi_bids_alloc_row(emi_disk *d, uint32_t index, size_t bytes, em_bid *bid, size_t n, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_status status = emi_ctx_check(d->set->ctx, err);

	clear(bid, n);
	if (status != EM_OK || n == 0)
		return status;
	if (bytes == 0 || bytes % EMI_UNIT != 0)
		return emi_fail(err, EM_ERR_INVAL, "a block of %" PRIu64 " bytes: it must be a multiple of %u",
				(uint64_t)bytes, EMI_UNIT);
	if (n > INT64_MAX / bytes)
		return emi_fail(err, EM_ERR_NOSPACE, "%" PRIu64 " blocks of %" PRIu64 " bytes: no file can be as large",
				(uint64_t)n, (uint64_t)bytes);
	status = alloc_row(d, index, bytes, bid, n, &own);
	if (status == EM_OK)
		return EM_OK;
	clear(bid, n);
	if (err && err->status >= EM_OK)
		*err = own;
	return status;
}

em_status emi_bid_alloc_on(emi_disk *d, uint32_t index, size_t bytes, em_bid *bid, em_errinfo *err)
{
	return emi_bids_alloc_row(d, index, bytes, bid, 1, err);
}

/* One after the other. */
static uint32_t next_disk(emi_disk_set *set)
{
	return set->n > 1 ? __atomic_fetch_add(&set->next, 1, __ATOMIC_RELAXED) % set->n : 0;
}

em_status emi_bid_alloc(emi_disk *d, size_t bytes, em_bid *bid, em_errinfo *err)
{
	return emi_bid_alloc_on(d, next_disk(d->set), bytes, bid, err);
}

em_status emi_bids_alloc(emi_disk *d, const em_placement *place, uint64_t first, size_t bytes, em_bid *bid, size_t n,
			 em_errinfo *err)
{
	em_status status = EM_OK;
	size_t i;

	for (i = 0; i < n && status == EM_OK; i++) {
		const uint32_t disk = place != NULL ? em_placement_disk(place, first + i) : next_disk(d->set);

		status = emi_bid_alloc_on(d, disk, bytes, &bid[i], err);
	}
	if (status != EM_OK) {
		for (i--; i > 0; i--)
			(void)emi_disk_free(d, bid[i - 1], bytes, NULL);
		clear(bid, n);
	}
	return status;
}

const char emi_never_written[] = "nothing was ever written to this block";

const char *emi_bid_flaw(const emi_disk_set *set, em_bid bid, size_t bytes)
{
	if (bid.disk >= set->n)
		return "its block id has a disk that is not there";
	if (bid.offset % EMI_UNIT != 0 || bytes == 0 || bytes % EMI_UNIT != 0)
		return "no block can be there";
	return NULL;
}

em_file *emi_bid_file(const emi_disk_set *set, em_bid bid)
{
	return emi_one_disk_file(set->disk[bid.disk < set->n ? bid.disk : 0]);
}

em_status emi_disk_vacate(emi_disk_set *set, em_bid bid, size_t bytes, uint64_t n, em_errinfo *err)
{
	const em_status st = emi_one_disk_free(set->disk[bid.disk], bid.offset, bytes, n, err);
	emi_move part;
	int whole;

	while (st == EM_OK && emi_moved_take(&set->moved, bid, bytes, &part, &whole))
		(void)emi_one_disk_free(set->disk[part.to.disk], part.to.offset, (size_t)part.bytes, (uint64_t)whole,
					NULL);
	return st;
}

em_status emi_disk_free(emi_disk *d, em_bid bid, size_t bytes, em_errinfo *err)
{
	emi_disk_set *set = d->set;
	const char *why = emi_bid_flaw(set, bid, bytes);
	em_status st = EM_OK;

	if (why != NULL)
		st = EM_ERR_INVAL;
	else if (set->ledger != NULL)
		st = emi_ledger_strike(set->ledger, bid, bytes, d->owner, &why);
	else if (d->own != NULL && !emi_account_strike(d->own, bid, bytes)) {
		st = EM_ERR_STATE;
		why = "no block of this user is there";
	}
	if (st != EM_OK)
		return emi_fail_refused(err, st, why, "free", emi_file_path(emi_bid_file(set, bid)), bid.offset, bytes);
	return emi_disk_vacate(set, bid, bytes, 1, err);
}

em_status emi_bids_free(emi_disk *d, const em_bid *bid, size_t n, size_t bytes, em_errinfo *err)
{
	em_status first = EM_OK;
	size_t i;

	/* In a child nobody will ask for space, and the lock may be held for ever. */
	for (i = 0; i < n && !emi_ctx_forked(d->set->ctx); i++) {
		em_errinfo own = EM_ERRINFO_INIT;
		const em_status st = emi_disk_free(d, bid[i], bytes, &own);

		if (st == EM_OK)
			continue;
		if (first == EM_OK && err != NULL && err->status >= EM_OK)
			*err = own;
		else
			emi_log(d->set->ctx, EM_LOG_WARN, "%s", own.text);
		if (first == EM_OK)
			first = st;
	}
	return first;
}

em_status emi_bid_free(emi_disk *d, em_bid bid, size_t bytes)
{
	return emi_bids_free(d, &bid, 1, bytes, NULL);
}
