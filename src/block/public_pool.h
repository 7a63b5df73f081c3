/* SPDX-License-Identifier: BSL-1.0 */
/* public_pool.h -- a pool of blocks that callers have, for those in the library who share it with them. */
#ifndef EMI_PUBLIC_POOL_H
#define EMI_PUBLIC_POOL_H

#include <extmem/sys/pool.h>

#include "block/block_pool.h"
#include "block/share.h"

struct em_block_pool {
	emi_share share;
	uint32_t users;         /* the caller, and those who share it: released with the last */
	emi_block_pool pool;
};

/* One more who uses it; and one who does so no more. */
void emi_pool_hold(em_block_pool *p);
void emi_pool_let(em_block_pool *p);

#endif
