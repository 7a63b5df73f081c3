/* SPDX-License-Identifier: BSL-1.0 */
/* Memory for the time of a call, as a list.  What a jump has left behind goes with that of the next call. */
#ifndef EMB_SCRIPT_TEMPS_H
#define EMB_SCRIPT_TEMPS_H

#include <stdlib.h>

struct emb_block {
	struct emb_block *next;
	uint64_t data[1];
};

static __thread struct emb_block *emb_blocks;

static int emb_refuse(emb_env *, em_status, const char *);

static void *emb_temp(emb_env *env, size_t bytes)
{
	struct emb_block *b = bytes < SIZE_MAX / 2 ? (struct emb_block *)calloc(1, sizeof *b + bytes) : NULL;

	if (!b) {
		emb_refuse(env, EM_ERR_NOMEM, "there is no memory for the arguments");
		return NULL;
	}
	b->next = emb_blocks;
	emb_blocks = b;
	return b->data;
}

static void emb_temps_free(void)
{
	struct emb_block *b;

	while ((b = emb_blocks)) {
		emb_blocks = b->next;
		free(b);
	}
}

static void *emb_temps_away(void)
{
	struct emb_block *all = emb_blocks;

	emb_blocks = NULL;
	return all;
}

static void emb_temps_back(void *temps)
{
	emb_temps_free();
	emb_blocks = (struct emb_block *)temps;
}

#endif
