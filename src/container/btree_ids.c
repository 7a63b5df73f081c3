/* SPDX-License-Identifier: BSL-1.0 */
/* btree_ids.c -- see btree_ids.h. */
#include "container/btree_ids.h"

#include <string.h>

#include "base/memory.h"

enum { BITS = 64, WORDS_LEAST = 8 };

static em_status grow(emi_btree_ids *ids, em_ctx *ctx, em_errinfo *err)
{
	const uint64_t words = ids->words != 0 ? 2 * ids->words : WORDS_LEAST;
	uint64_t *more = emi_alloc_array(ctx, words, sizeof *more, err);

	if (more == NULL)
		return err->status;
	if (ids->words != 0)
		memcpy(more, ids->word, (size_t)ids->words * sizeof *more);
	emi_free_array(ctx, ids->word, ids->words, sizeof *more);
	ids->word = more;
	ids->words = words;
	return EM_OK;
}

em_status emi_btree_ids_take(emi_btree_ids *ids, em_ctx *ctx, uint64_t *id, em_errinfo *err)
{
	unsigned bit = 0;

	if (ids->free == 0) {
		if (ids->n == ids->words * BITS && grow(ids, ctx, err) != EM_OK)
			return err->status;
		*id = ids->n++;
		return EM_OK;
	}
	while (ids->word[ids->hint] == 0)
		ids->hint++;
	while ((ids->word[ids->hint] >> bit & 1) == 0)
		bit++;
	ids->word[ids->hint] &= ~((uint64_t)1 << bit);
	ids->free--;
	*id = ids->hint * BITS + bit;
	return EM_OK;
}

void emi_btree_ids_give(emi_btree_ids *ids, uint64_t id)
{
	const uint64_t word = id / BITS;

	ids->word[word] |= (uint64_t)1 << id % BITS;
	ids->free++;
	if (ids->free == 1 || word < ids->hint)
		ids->hint = word;
}

int emi_btree_ids_used(const emi_btree_ids *ids, uint64_t id)
{
	return id < ids->n && (ids->free == 0 || (ids->word[id / BITS] >> id % BITS & 1) == 0);
}

void emi_btree_ids_end(emi_btree_ids *ids, em_ctx *ctx)
{
	emi_free_array(ctx, ids->word, ids->words, sizeof *ids->word);
	memset(ids, 0, sizeof *ids);
}

/* While it grows there are two. */
uint64_t emi_btree_ids_memory(uint64_t n)
{
	return (3 * (n / BITS) + 3 * WORDS_LEAST) * sizeof(uint64_t);
}
