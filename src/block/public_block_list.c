/* SPDX-License-Identifier: BSL-1.0 */
/* public_block_list.c -- see public_block_list.h. */
#include "block/public_block_list.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/structs.h"

em_block_list *emi_list_new(em_disks *d, size_t block_bytes, size_t record, em_errinfo *err)
{
	em_block_list *l = emi_share_new(d, sizeof *l, EMI_OBJECT_SHARED, NULL, err);

	if (l != NULL) {
		emi_share_turn(&l->share);
		l->block_bytes = block_bytes;
		l->record = record;
		l->users = 1;
	}
	return l;
}

void em_block_list_close(em_block_list *l)
{
	if (l == NULL || __atomic_sub_fetch(&l->users, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	emi_block_list_release(&l->list, l->share.object.ctx);
	emi_share_free(l, sizeof *l);
}

em_status emi_list_hold(em_block_list *l, int alone, em_errinfo *err)
{
	if (alone && __atomic_load_n(&l->readers, __ATOMIC_ACQUIRE) != 0)
		return emi_fail(err, EM_ERR_STATE, "the list of blocks has another reader");
	__atomic_add_fetch(&l->users, 1, __ATOMIC_ACQ_REL);
	__atomic_add_fetch(&l->readers, 1, __ATOMIC_ACQ_REL);
	return EM_OK;
}

void emi_list_let(em_block_list *l)
{
	__atomic_sub_fetch(&l->readers, 1, __ATOMIC_ACQ_REL);
	em_block_list_close(l);
}

em_status emi_list_sizes(const em_disks *d, uint64_t block_bytes, uint64_t record, em_block_layout *layout,
			 em_errinfo *err)
{
	block_bytes = emi_share_block_bytes(&d->share, block_bytes);
	if (block_bytes > SIZE_MAX || record > SIZE_MAX)
		return emi_fail(err, EM_ERR_INVAL, "blocks of %" PRIu64 " bytes with records of %" PRIu64, block_bytes,
				record);
	return em_block_layout_init(layout, (size_t)block_bytes, (size_t)record, 0, 0, err);
}

/* Do so many records fill so many blocks? */
static em_status check_count(const em_block_list_info *i, size_t capacity, em_errinfo *err)
{
	const uint64_t whole = i->records / capacity, end = i->skip + i->records % capacity;

	if (i->skip < capacity && (i->bids != NULL || i->blocks == 0) &&
	    (i->records == 0 ? i->blocks == 0 && i->skip == 0
			     : i->blocks == whole + end / capacity + (end % capacity != 0)))
		return EM_OK;
	return emi_fail(err, EM_ERR_INVAL, "a list of %" PRIu64 " blocks for %" PRIu64 " records", i->blocks,
			i->records);
}

static em_status make_list(em_block_list **out, em_disks *d, const em_block_list_info *info, em_errinfo *err)
{
	em_block_layout layout;
	em_status st = emi_list_sizes(d, info->block_bytes, info->record_bytes, &layout, err);
	em_block_list *l;
	uint64_t i;

	if (st == EM_OK)
		st = check_count(info, layout.capacity, err);
	for (i = 0; st == EM_OK && i < info->blocks; i++)
		st = emi_share_check(&d->share, info->bids[i], err);
	if (st != EM_OK)
		return st;
	l = emi_list_new(d, layout.bytes, layout.record, err);
	if (l == NULL)
		return err->status;
	st = emi_block_list_reserve(&l->list, l->share.object.ctx, info->blocks, err);
	for (i = 0; st == EM_OK && i < info->blocks; i++)
		st = emi_block_list_add(&l->list, l->share.object.ctx, info->bids[i], err);
	l->list.records = info->records;
	l->list.skip = (size_t)info->skip;
	if (st != EM_OK)
		em_block_list_close(l);
	else
		*out = l;
	return st;
}

em_status em_block_list_open(em_block_list **out, em_disks *d, const em_block_list_info *info, em_errinfo *err)
{
	em_block_list_info i;
	em_errinfo own;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, d, "d", &own);
	if (st == EM_OK)
		st = emi_given(info, "info", &own);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_block_list_info, &i, info, &own);
	if (st == EM_OK)
		st = make_list(out, d, &i, &own);
	return emi_tell(err, st, &own);
}

em_status em_block_list_free_blocks(em_block_list *l)
{
	em_errinfo err;
	em_status st = emi_enter_back(l, &err);

	if (st != EM_OK)
		return st;
	if (__atomic_load_n(&l->readers, __ATOMIC_ACQUIRE) != 0)
		st = emi_fail(&err, EM_ERR_STATE, "the list of blocks has a reader");
	if (st == EM_OK) {
		st = emi_share_free_blocks(&l->share, l->list.bid, (size_t)l->list.blocks, l->block_bytes, &err);
		if (st == EM_OK)
			emi_block_list_release(&l->list, l->share.object.ctx);
	}
	return emi_leave(l, st, &err);
}

void em_block_list_error(const em_block_list *l, em_errinfo *err)
{
	emi_object_error(l, err);
}

em_status em_block_list_info_get(const em_block_list *l, em_block_list_info *info)
{
	em_block_list_info i = EM_BLOCK_LIST_INFO_INIT;

	if (l == NULL)
		return EM_ERR_INVAL;
	i.block_bytes = l->block_bytes;
	i.record_bytes = l->record;
	i.records = l->list.records;
	i.skip = l->list.skip;
	i.blocks = l->list.blocks;
	i.bids = l->list.bid;
	return EMI_STRUCT_GIVE(em_block_list_info, info, &i);
}
