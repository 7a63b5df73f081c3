/* SPDX-License-Identifier: BSL-1.0 */
/* public_btree.h -- what the public calls on B+-trees share. */
#ifndef EMI_PUBLIC_BTREE_H
#define EMI_PUBLIC_BTREE_H

#include "container/btree.h"

/* A tree of one user, zeroed but for its plan.  NULL: as emi_object_new(). */
em_btree *emi_btree_new(em_ctx *ctx, const emi_btree_plan *plan, em_errinfo *err);

/* One user less: the last one has the tree closed. */
void emi_btree_let(em_btree *t);

/* Release cursors that were closed in the call that has just ended.  The tree may be no more then. */
void emi_btree_release_closed(em_btree *t);

/* How many records there are from `from' on that are not behind `to'. */
em_status emi_btree_count(em_btree *t, const emi_btree_probe *from, const emi_btree_probe *to, uint64_t *n,
			  em_errinfo *err);

/* EM_ERR_STATE: it is being loaded.  EM_ERR_ACCESS: it is one that was saved. */
em_status emi_btree_refuse_change(const em_btree *t, em_errinfo *err);

static inline em_status emi_btree_may_change(const em_btree *t, em_errinfo *err)
{
	return t->file == NULL && t->loader == NULL ? EM_OK : emi_btree_refuse_change(t, err);
}

#endif
