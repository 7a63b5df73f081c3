/* SPDX-License-Identifier: BSL-1.0 */
/*
 * join.c -- joining two streams that are sorted by their keys: the merging; see join.h.
 *
 * A side has the key of its next record, once it was looked at.
 *
 * When the next records of both sides have equal keys, all right ones with that key go to a group in memory, and every
 * left one that has it is paired with all of the group.  What is paired stands where it is: the left record in its
 * window, and how far the group is through.
 */
#include "flow/join.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define MEMORY_SHARE 8u

static const emi_one_record none;

/* The next record of a side and its key.  EM_END: there is none. */
static em_status look(emi_join *j, emi_join_side *side, em_errinfo *err)
{
	em_status st = side->status = emi_stream_need(side->in, err);

	if (st != EM_OK || side->known)
		return st;
	st = j->form->key(j, side, err);
	side->known = st == EM_OK;
	return st;
}

static void pass(emi_join_side *side)
{
	side->in->source.at += side->in->record;
	side->known = side->frame.known = 0;
}

static int compare(const emi_join *j, const char *a, const char *b)
{
	return emi_collation_compare(&j->by, a, b);
}

/* Records of any length have it in front of them. */
static size_t length_bytes(const emi_join *j)
{
	return j->right.in->varied ? sizeof(uint64_t) : 0;
}

/* Have room in the group for so many bytes more. */
static em_status grow(emi_join *j, size_t bytes, em_errinfo *err)
{
	emi_join_group *g = &j->group;
	em_ctx *ctx = j->s.object.ctx;
	const uint64_t need = (uint64_t)g->used + bytes, twice = (uint64_t)2 * g->room;
	uint64_t room = need > twice ? need : twice;
	char *more;

	if (room < EMI_STREAM_ROOM)
		room = EMI_STREAM_ROOM;
	if (room > g->most)
		room = g->most;
	if (room < need)
		return emi_fail(err, EM_ERR_MEMLIMIT,
				"a join has more than %zu right records with one key: they have to fit into "
				"%" PRIu64 " bytes", g->n, g->most);
	if (room > SIZE_MAX)
		return emi_fail(err, EM_ERR_NOMEM, "a join has more right records with one key than memory can have");
	more = emi_buffer_alloc(ctx, (size_t)room, err);
	if (more == NULL)
		return err->status;
	if (g->bytes != NULL) {
		memcpy(more, g->bytes, g->used);
		emi_buffer_free(ctx, g->bytes, g->room);
	}
	g->bytes = more;
	g->room = (size_t)room;
	return EM_OK;
}

/* One more right record has the key of the group. */
static em_status keep(emi_join *j, em_errinfo *err)
{
	emi_join_group *g = &j->group;
	const emi_one_record r = emi_one_in_hand(j->right.in);
	const size_t head = length_bytes(j), bytes = head + r.bytes;
	const uint64_t length = r.bytes;
	em_status st = EM_OK;

	if (bytes > g->room - g->used)
		st = grow(j, bytes, err);
	if (st != EM_OK)
		return st;
	memcpy(g->bytes + g->used, &length, head);
	if (r.bytes != 0)
		memcpy(g->bytes + g->used + head, r.at, r.bytes);
	g->used += bytes;
	g->n++;
	return EM_OK;
}

/* The record of the group that begins at *at, which passes on. */
static emi_one_record take(const emi_join *j, size_t *at)
{
	const size_t head = length_bytes(j);
	emi_one_record r = { NULL, j->right.in->record };
	uint64_t length;

	if (head != 0) {
		memcpy(&length, j->group.bytes + *at, sizeof length);
		r.bytes = (size_t)length;
	}
	r.at = j->group.bytes + *at + head;
	*at += head + r.bytes;
	return r;
}

/* The next record of either side has the same key. */
static em_status gather(emi_join *j, em_errinfo *err)
{
	em_status st = EM_OK;

	if (!j->gathering) {
		j->group.used = j->group.n = j->paired = 0;
		st = keep(j, err);
		if (st != EM_OK)
			return st;
		j->form->keep_key(j);
		pass(&j->right);
		j->gathering = 1;
		st = look(j, &j->right, err);
	}
	while (st == EM_OK && compare(j, j->right.key, j->group_key) == 0) {
		st = keep(j, err);
		if (st != EM_OK)
			return st;
		pass(&j->right);
		st = look(j, &j->right, err);
	}
	if (st < EM_OK)
		return st;
	j->gathering = 0;
	return EM_OK;
}

/* The next left record with what is left of the group, as far as there is room. */
static em_status pair(emi_join *j, em_errinfo *err)
{
	const emi_one_record left = emi_one_in_hand(j->left.in);
	em_status st = EM_OK;

	while (j->paired < j->group.used && !j->form->full(j) && st == EM_OK)
		st = j->form->make(j, left, take(j, &j->paired), err);
	if (st == EM_OK && j->paired == j->group.used) {
		j->paired = 0;
		pass(&j->left);
	}
	return st;
}

/* The next left record has no right one, or is in no group. */
static em_status left_alone(emi_join *j, int matched, em_errinfo *err)
{
	const int lend = j->kind == EM_JOIN_SEMI ? matched : j->kind != EM_JOIN_INNER && !matched;
	const em_status st = lend ? j->form->make(j, emi_one_in_hand(j->left.in), none, err) : EM_OK;

	pass(&j->left);
	return st;
}

static em_status right_alone(emi_join *j, em_errinfo *err)
{
	const int lend = j->kind == EM_JOIN_FULL;
	const em_status st = lend ? j->form->make(j, none, emi_one_in_hand(j->right.in), err) : EM_OK;

	pass(&j->right);
	return st;
}

/* Is there nothing to come when a side is over? */
static int done(const emi_join *j, int left_over, int right_over)
{
	if (left_over)
		return right_over || j->kind != EM_JOIN_FULL;
	return right_over && (j->kind == EM_JOIN_INNER || j->kind == EM_JOIN_SEMI);
}

static em_status step(emi_join *j, em_errinfo *err)
{
	const em_status l = look(j, &j->left, err), r = l >= EM_OK ? look(j, &j->right, err) : EM_OK;
	int c;

	if (l < EM_OK || r < EM_OK)
		return l < EM_OK ? l : r;
	if (j->gathering && r == EM_OK)
		return gather(j, err);
	j->gathering = 0;
	if (j->group.n != 0) {
		if (l == EM_OK && compare(j, j->left.key, j->group_key) == 0)
			return pair(j, err);
		j->group.n = 0;
	}
	if (done(j, l == EM_END, r == EM_END))
		return EM_END;
	c = l == EM_END ? 1 : r == EM_END ? -1 : compare(j, j->left.key, j->right.key);
	if (c > 0)
		return right_alone(j, err);
	if (c < 0 || j->kind == EM_JOIN_SEMI || j->kind == EM_JOIN_ANTI)
		return left_alone(j, c == 0, err);
	return gather(j, err);
}

static em_status next(em_stream *s, em_errinfo *err)
{
	emi_join *j = (emi_join *)(void *)s;
	em_status st = EM_OK, made;

	if (!s->varied)
		st = emi_stream_room(s, err);
	if (st != EM_OK)
		return st;
	while (st == EM_OK && !j->form->full(j))
		st = step(j, err);
	/* Of a failure of the join itself nobody would tell later. */
	if (st < EM_OK && j->left.status >= EM_OK && j->right.status >= EM_OK)
		return st;
	made = j->form->show(j);
	return made == EM_OK || st >= EM_OK ? made : st;
}

static void retire(em_stream *s)
{
	emi_join *j = (emi_join *)(void *)s;
	em_ctx *ctx = s->object.ctx;

	if (j->group.bytes != NULL)
		emi_buffer_free(ctx, j->group.bytes, j->group.room);
	j->group.bytes = NULL;
	j->group.room = 0;
	j->form->retire(j);
	emi_collation_close(&j->by);
	em_order_close(j->order);
	j->order = NULL;
}

const emi_stream_kind emi_join_kind = { next, retire, "join", EMI_STREAM_VARIED };

em_status emi_join_given(const em_stream *left, const em_stream *right, const void *opts, em_errinfo *err)
{
	em_status st = emi_given(left, "left", err);

	if (st == EM_OK)
		st = emi_given(right, "right", err);
	return st == EM_OK ? emi_given(opts, "opts", err) : st;
}

em_status emi_join_check_kind(uint32_t kind, em_errinfo *err)
{
	return kind <= EM_JOIN_ANTI ? EM_OK :
	       emi_fail(err, EM_ERR_INVAL, "there is no kind %" PRIu32 " of joins", kind);
}

void emi_join_set_up(emi_join *j, const emi_join_form *form, uint32_t kind, uint64_t memory_bytes)
{
	const uint64_t share = em_ctx_memory(j->s.object.ctx) / MEMORY_SHARE;

	j->form = form;
	j->kind = kind;
	j->left.in = j->s.input[0];
	j->right.in = j->s.input[1];
	j->group.most = memory_bytes != 0 ? memory_bytes :
			share > j->right.in->record ? share : j->right.in->record;
	j->s.claim += j->group.most;
}

void emi_join_drop(emi_join *j)
{
	retire(&j->s);
	emi_stream_drop(&j->s);
}
