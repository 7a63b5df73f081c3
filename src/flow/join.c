/* SPDX-License-Identifier: BSL-1.0 */
/*
 * join.c -- joining two streams that are sorted by their keys.
 *
 * Keys lie at different places in left and right records.  So the fields of a key are copied, one behind the other, to
 * make records of another kind, and there is an order of these.  A side has the key of its next record, once it was
 * looked at.
 *
 * When the next records of both sides have equal keys, all right ones with that key go to a group in memory, and every
 * left one that has it is paired with all of the group.  What is paired stands where it is: the left record in its
 * window, and how far the group is through.
 */
#include <inttypes.h>
#include <string.h>

#include "base/copy.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "flow/flow_order.h"

#define MEMORY_SHARE 8u

typedef struct join_field {
	size_t from, to, bytes; /* in the record, in the key */
} join_field;

typedef struct join_side {
	em_stream *in;
	join_field *field;
	char *key;              /* of the next record, if it is known */
	int known;
	em_status status;       /* of the last look */
} join_side;

typedef struct join {
	em_stream s;
	uint32_t kind;
	em_join_fn fn;
	void *user;
	uint32_t nfields;
	size_t key_bytes;
	em_order *order;        /* of keys */
	emi_collation by;
	join_side left, right;
	char *keys;             /* three: the sides', and that of the group */
	char *group_key;
	char *group;            /* right records with that key */
	size_t group_n, group_room;
	int gathering;          /* there may be more of them */
	size_t paired;          /* of the group with the next left record */
	uint64_t most;          /* bytes that a group may have */
} join;

static size_t width_of(const em_key *k)
{
	static const size_t width[] = { 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8 };

	return k->type >= EM_KEY_U8 && k->type <= EM_KEY_F64 ? width[k->type] : (size_t)k->width;
}

/* The next record of a side and its key.  EM_END: there is none. */
static em_status look(join *j, join_side *side, em_errinfo *err)
{
	const em_status st = side->status = emi_stream_need(side->in, err);
	uint32_t i;

	if (st != EM_OK || side->known)
		return st;
	for (i = 0; i < j->nfields; i++)
		emi_copy(side->key + side->field[i].to, side->in->source.at + side->field[i].from,
			 side->field[i].bytes);
	side->known = 1;
	return EM_OK;
}

static void pass(join_side *side)
{
	side->in->source.at += side->in->record;
	side->known = 0;
}

/* Make a record of a pair. */
static em_status make(join *j, const char *left, const char *right, size_t *made, em_errinfo *err)
{
	const size_t l = j->left.in->record, r = j->s.record - l;
	char *to = j->s.room + (*made)++ * j->s.record;
	int failed;

	if (j->fn != NULL) {
		failed = j->fn(j->user, left, right, to);
		return failed == 0 ? EM_OK : emi_stream_user_failed("joins records", failed, err);
	}
	if (left != NULL)
		emi_copy(to, left, l);
	else
		memset(to, 0, l);
	if (right != NULL)
		emi_copy(to + l, right, r);
	else
		memset(to + l, 0, r);
	return EM_OK;
}

/* One more right record has the key of the group. */
static em_status keep(join *j, em_errinfo *err)
{
	const size_t r = j->right.in->record;
	size_t room = j->group_room;

	if (j->group_n == room) {
		char *more;

		room = room != 0 ? 2 * room : EMI_STREAM_ROOM / r + 1;
		if (room > j->most / r)
			room = (size_t)(j->most / r);
		if (room == j->group_n)
			return emi_fail(err, EM_ERR_MEMLIMIT,
					"a join has more than %zu right records with one key: they have to fit into "
					"%" PRIu64 " bytes", j->group_n, j->most);
		more = emi_buffer_alloc(j->s.object.ctx, room * r, err);
		if (more == NULL)
			return err->status;
		if (j->group != NULL) {
			memcpy(more, j->group, j->group_n * r);
			emi_buffer_free(j->s.object.ctx, j->group, j->group_room * r);
		}
		j->group = more;
		j->group_room = room;
	}
	memcpy(j->group + j->group_n++ * r, j->right.in->source.at, r);
	return EM_OK;
}

/* The next record of either side has the same key. */
static em_status gather(join *j, em_errinfo *err)
{
	em_status st = EM_OK;

	if (!j->gathering) {
		memcpy(j->group_key, j->right.key, j->key_bytes);
		j->group_n = j->paired = 0;
	}
	j->gathering = 1;
	while (st == EM_OK && emi_collation_compare(&j->by, j->right.key, j->group_key) == 0) {
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
static em_status pair(join *j, size_t *made, em_errinfo *err)
{
	const size_t r = j->right.in->record;
	em_status st = EM_OK;

	while (j->paired < j->group_n && *made < j->s.room_records && st == EM_OK)
		st = make(j, j->left.in->source.at, j->group + j->paired++ * r, made, err);
	if (st == EM_OK && j->paired == j->group_n) {
		j->paired = 0;
		pass(&j->left);
	}
	return st;
}

/* The next left record has no right one, or is in no group. */
static em_status left_alone(join *j, int matched, size_t *made, em_errinfo *err)
{
	const int lend = j->kind == EM_JOIN_SEMI ? matched : j->kind != EM_JOIN_INNER && !matched;
	const em_status st = lend ? make(j, j->left.in->source.at, NULL, made, err) : EM_OK;

	pass(&j->left);
	return st;
}

static em_status right_alone(join *j, size_t *made, em_errinfo *err)
{
	const em_status st = j->kind == EM_JOIN_FULL ? make(j, NULL, j->right.in->source.at, made, err) : EM_OK;

	pass(&j->right);
	return st;
}

/* Is there nothing to come when a side is over? */
static int done(const join *j, int left_over, int right_over)
{
	if (left_over)
		return right_over || j->kind != EM_JOIN_FULL;
	return right_over && (j->kind == EM_JOIN_INNER || j->kind == EM_JOIN_SEMI);
}

static em_status step(join *j, size_t *made, em_errinfo *err)
{
	const em_status l = look(j, &j->left, err), r = l >= EM_OK ? look(j, &j->right, err) : EM_OK;
	int c;

	if (l < EM_OK || r < EM_OK)
		return l < EM_OK ? l : r;
	if (j->gathering && r == EM_OK)
		return gather(j, err);
	j->gathering = 0;
	if (j->group_n != 0) {
		if (l == EM_OK && emi_collation_compare(&j->by, j->left.key, j->group_key) == 0)
			return pair(j, made, err);
		j->group_n = 0;
	}
	if (done(j, l == EM_END, r == EM_END))
		return EM_END;
	c = l == EM_END ? 1 : r == EM_END ? -1 : emi_collation_compare(&j->by, j->left.key, j->right.key);
	if (c > 0)
		return right_alone(j, made, err);
	if (c < 0 || j->kind == EM_JOIN_SEMI || j->kind == EM_JOIN_ANTI)
		return left_alone(j, c == 0, made, err);
	return gather(j, err);
}

static em_status next(em_stream *s, em_errinfo *err)
{
	join *j = (join *)(void *)s;
	em_status st = emi_stream_room(s, err);
	size_t made = 0;

	while (st == EM_OK && made < s->room_records)
		st = step(j, &made, err);
	/* Of a failure of the join itself nobody would tell later. */
	if (st < EM_OK && j->left.status >= EM_OK && j->right.status >= EM_OK)
		return st;
	return emi_stream_show_made(s, made, st);
}

static void retire(em_stream *s)
{
	join *j = (join *)(void *)s;
	em_ctx *ctx = s->object.ctx;

	if (j->group != NULL)
		emi_buffer_free(ctx, j->group, j->group_room * j->right.in->record);
	if (j->keys != NULL)
		emi_free(ctx, j->keys, 3 * j->key_bytes);
	if (j->left.field != NULL)
		emi_free_array(ctx, j->left.field, (uint64_t)2 * j->nfields, sizeof *j->left.field);
	j->group = j->keys = NULL;
	j->left.field = NULL;
	emi_collation_close(&j->by);
	em_order_close(j->order);
	j->order = NULL;
}

static int same_kind(const em_key *a, const em_key *b)
{
	return a->type == b->type && a->flags == b->flags && width_of(a) == width_of(b);
}

/* Where the fields are, and the order of keys. */
static em_status set_keys(join *j, const em_join_opts *o, em_errinfo *err)
{
	em_ctx *ctx = j->s.object.ctx;
	em_key *key = emi_alloc_array(ctx, o->nkeys, sizeof *key, err);
	size_t at = 0;
	em_status st;
	uint32_t i;

	j->left.field = emi_alloc_array(ctx, (uint64_t)2 * o->nkeys, sizeof *j->left.field, err);
	j->nfields = o->nkeys;
	st = key != NULL && j->left.field != NULL ? EM_OK : err->status;
	if (st == EM_OK)
		j->right.field = j->left.field + o->nkeys;
	for (i = 0; st == EM_OK && i < o->nkeys; i++) {
		const size_t bytes = width_of(&o->left[i]);
		const join_field l = { (size_t)o->left[i].offset, at, bytes };
		const join_field r = { (size_t)o->right[i].offset, at, bytes };

		if (!same_kind(&o->left[i], &o->right[i]))
			st = emi_fail(err, EM_ERR_INVAL,
				      "left[%" PRIu32 "] and right[%" PRIu32 "] are two kinds of keys", i, i);
		j->left.field[i] = l;
		j->right.field[i] = r;
		key[i] = o->left[i];
		key[i].offset = at;
		at += bytes;
	}
	j->key_bytes = at;
	if (st == EM_OK)
		st = em_order_keys(&j->order, ctx, at, key, o->nkeys, err);
	emi_free_array(ctx, key, key != NULL ? o->nkeys : 0, sizeof *key);
	if (st == EM_OK)
		st = emi_collation_open(&j->by, j->order, NULL, NULL, err);
	if (st == EM_OK) {
		j->keys = emi_alloc(ctx, 3 * at, err);
		st = j->keys != NULL ? EM_OK : err->status;
	}
	return st;
}

/* Are those fields of such records?  An order by them would tell. */
static em_status check_keys(const em_stream *in, const em_key *keys, uint32_t n, em_errinfo *err)
{
	em_order *order;
	const em_status st = em_order_keys(&order, in->object.ctx, in->record, keys, n, err);

	em_order_close(order);
	return st;
}

static em_status check(const em_stream *left, const em_stream *right, const em_join_opts *o, em_errinfo *err)
{
	em_status st = emi_given(o->left, "opts->left", err);

	if (st == EM_OK)
		st = emi_given(o->right, "opts->right", err);
	if (st == EM_OK && o->nkeys == 0)
		st = emi_fail(err, EM_ERR_INVAL, "a join without keys");
	if (st == EM_OK && o->kind > EM_JOIN_ANTI)
		st = emi_fail(err, EM_ERR_INVAL, "there is no kind %" PRIu32 " of joins", o->kind);
	if (st == EM_OK && (o->fn != NULL) != (o->record_bytes != 0))
		st = emi_fail(err, EM_ERR_INVAL, "a join needs both opts->fn and opts->record_bytes, or neither");
	if (st == EM_OK && o->memory_bytes != 0 && o->memory_bytes < right->record)
		st = emi_fail(err, EM_ERR_RANGE, "opts->memory_bytes is less than a record of %zu bytes",
			      right->record);
	if (st == EM_OK)
		st = check_keys(left, o->left, o->nkeys, err);
	return st == EM_OK ? check_keys(right, o->right, o->nkeys, err) : st;
}

static uint64_t record_of(const em_stream *left, const em_stream *right, const em_join_opts *o)
{
	if (o->fn != NULL)
		return o->record_bytes;
	return o->kind == EM_JOIN_SEMI || o->kind == EM_JOIN_ANTI ? left->record : left->record + right->record;
}

static em_status set_up(join *j, const em_join_opts *o, em_errinfo *err)
{
	const uint64_t share = em_ctx_memory(j->s.object.ctx) / MEMORY_SHARE;
	em_status st;

	j->kind = o->kind;
	j->fn = o->fn;
	j->user = o->user;
	j->left.in = j->s.input[0];
	j->right.in = j->s.input[1];
	j->most = o->memory_bytes != 0 ? o->memory_bytes : share > j->right.in->record ? share : j->right.in->record;
	j->s.claim += j->most;
	st = set_keys(j, o, err);
	if (st != EM_OK) {
		retire(&j->s);
		emi_stream_drop(&j->s);
		return st;
	}
	j->left.key = j->keys;
	j->right.key = j->keys + j->key_bytes;
	j->group_key = j->keys + 2 * j->key_bytes;
	return EM_OK;
}

em_status em_stream_join(em_stream **out, em_stream *left, em_stream *right, const em_join_opts *opts,
			 em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "join", 0 };
	em_stream *const inputs[2] = { left, right };
	em_join_opts o;
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_node(out, inputs, 2, &err);

	/* Whatever is wrong, what they hold is freed. */
	(void)EMI_STRUCT_TAKE(em_join_opts, &o, opts, NULL);
	if (st == EM_OK)
		st = emi_given(left, "left", &err);
	if (st == EM_OK)
		st = emi_given(right, "right", &err);
	if (st == EM_OK)
		st = emi_given(opts, "opts", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_join_opts, &o, opts, &err);
	if (st == EM_OK)
		st = check(left, right, &o, &err);
	if (st == EM_OK) {
		s = emi_stream_new(NULL, sizeof(join), &kind, record_of(left, right, &o), inputs, 2, EM_STREAM_UNKNOWN,
				   &err);
		st = s != NULL ? set_up((join *)(void *)s, &o, &err) : err.status;
	}
	return emi_stream_end_user(s, out, st, o.user, o.user_free, theirs, &err);
}
