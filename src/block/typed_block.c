/* SPDX-License-Identifier: BSL-1.0 */
/* typed_block.c -- see typed_block.h. */
#include "block/typed_block.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

em_status emi_block_layout_init(emi_block_layout *l, size_t bytes, size_t record, uint32_t links, size_t info, em_errinfo *err)
{
	memset(l, 0, sizeof *l);
	if (bytes == 0 || bytes % EMI_PAGE != 0)
		return emi_fail(err, EM_ERR_INVAL, "a block of %" PRIu64 " bytes: it must be a multiple of %u", (uint64_t)bytes, EMI_PAGE);
	/* Each is compared by itself first, as sums may not fit. */
	if (record == 0 || record > bytes || info > bytes || links > bytes / sizeof(emi_bid) ||
	    EMI_BLOCK_TAIL(links, info) > bytes - record)
		return emi_fail(err, EM_ERR_INVAL, "a block of %" PRIu64 " bytes has no room for a record of %" PRIu64 ", %" PRIu32
				" links and %" PRIu64 " bytes of info", (uint64_t)bytes, (uint64_t)record, links, (uint64_t)info);
	l->bytes = bytes;
	l->record = record;
	l->links = links;
	l->info = info;
	l->capacity = EMI_BLOCK_CAPACITY(bytes, record, links, info);
	l->links_at = bytes - EMI_BLOCK_TAIL(links, info);
	l->info_at = l->links_at + links * sizeof(emi_bid);
	return EM_OK;
}

char *emi_block_room_alloc(em_ctx *ctx, const emi_block_layout *l, uint64_t n, em_errinfo *err)
{
	return emi_buffer_alloc_array(ctx, n, l->bytes, err);
}

void emi_block_room_free(em_ctx *ctx, const emi_block_layout *l, uint64_t n, char *room)
{
	emi_buffer_free_array(ctx, room, n, l->bytes);
}
