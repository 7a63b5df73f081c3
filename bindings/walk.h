/* SPDX-License-Identifier: BSL-1.0 */
/* A walk through a part of a tree, which may change meanwhile: a cursor, and where it ends.  A language has
 * emb_whole(): the object that the receiver is a part of. */
#ifndef EMB_WALK_H
#define EMB_WALK_H

#include <stdlib.h>

/** The first or next record of a tree with from <= key < to, back: the last or one before; positive: there is none. */
static em_status emb_btree_walk(em_btree_cursor *cursor, const void *from, const void *to, int begin, int back,
				void *record)
{
	const em_btree *t = (const em_btree *)emb_whole();
	const void *start = back ? to : from, *stop = back ? from : to;
	em_status st;
	char *key;
	int side;

	if (begin) {
		st = em_btree_cursor_seek(cursor, start, !back ? EM_BTREE_GE : start ? EM_BTREE_LT : EM_BTREE_LE);
		st = st ? st : em_btree_cursor_get(cursor, record);
	} else {
		st = back ? em_btree_cursor_prev(cursor, record) : em_btree_cursor_next(cursor, record);
	}
	if (st || !stop || !t)
		return st;
	/* An order sees records, which begin with their keys. */
	key = (char *)calloc(1, (size_t)em_btree_record_bytes(t));
	if (!key)
		return EM_ERR_NOMEM;
	memcpy(key, stop, (size_t)em_btree_key_bytes(t));
	side = em_order_compare(em_btree_order(t), record, key);
	free(key);
	return (back ? side < 0 : side >= 0) ? EM_END : EM_OK;
}

#endif
