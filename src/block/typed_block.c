/* SPDX-License-Identifier: BSL-1.0 */
/* typed_block.c -- see extmem/sys/typed_block.h. */
#include <extmem/sys/typed_block.h>

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* Ids lie in blocks on disk: they are the same size everywhere. */
typedef char em_bid_has_16_bytes[sizeof(em_bid) == 16 ? 1 : -1];

em_status em_block_layout_init(em_block_layout *l, size_t bytes, size_t record, uint32_t links, size_t info,
			       em_errinfo *err)
{
	emi_errinfo_clear(err);
	if (l == NULL)
		return emi_given(NULL, "l", err);
	memset(l, 0, sizeof *l);
	if (bytes == 0 || bytes % EMI_PAGE != 0)
		return emi_fail(err, EM_ERR_INVAL, "a block of %" PRIu64 " bytes: it must be a multiple of %u",
				(uint64_t)bytes, EMI_PAGE);
	/* Each is compared by itself first, as sums may not fit. */
	if (record == 0 || record > bytes || info > bytes || links > bytes / sizeof(em_bid) ||
	    EM_BLOCK_TAIL(links, info) > bytes - record)
		return emi_fail(err, EM_ERR_INVAL,
				"a block of %" PRIu64 " bytes has no room for a record of %" PRIu64 ", %" PRIu32
				" links and %" PRIu64 " bytes of info",
				(uint64_t)bytes, (uint64_t)record, links, (uint64_t)info);
	l->bytes = bytes;
	l->record = record;
	l->links = links;
	l->info = info;
	l->capacity = EM_BLOCK_CAPACITY(bytes, record, links, info);
	l->links_at = bytes - EM_BLOCK_TAIL(links, info);
	l->info_at = l->links_at + links * sizeof(em_bid);
	return EM_OK;
}
