/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_many.c -- looking up many keys of a B+-tree together; see btree.h.
 *
 * All keys go down level by level.  On each they are sorted by the numbers of the blocks that they have come to, so
 * each block is got once, and many are read at a time: those that are needed next are hinted at while these are waited
 * for.
 *
 * A record may be the first one of the leaf behind that which its key has come to.  If that is the next leaf here, the
 * key joins those of it; the few others go through their leaves once more.
 */
#include <string.h>

#include "base/memory.h"
#include "container/btree.h"

enum { KEYS_MOST = 1 << 16, KEYS_LEAST = 64, DIGIT = 11, WINDOW_MOST = 128 };

/* A key on its way. */
typedef struct seeker {
	uint64_t id;            /* the block that it has come to */
	uint64_t i;             /* its number */
} seeker;

typedef struct many {
	em_btree *t;
	const char *keys;
	char *records;
	unsigned char *found;
	uint64_t n_found;
	int upper, equal;       /* which record is looked for */
	seeker *s, *other;      /* room for `room' each */
	size_t room, n;
	uint32_t level;         /* of the blocks */
	int beyond;             /* they are in the leaves behind those that they came to */
	em_bid bid[2 * WINDOW_MOST];
	uint32_t frame[WINDOW_MOST];
} many;

/* Sort by the blocks: digit by digit, as far as there are any. */
static void sort(many *m)
{
	uint64_t most = 0;
	unsigned shift;
	size_t k;

	for (k = 0; k < m->n; k++)
		most |= m->s[k].id;
	for (shift = 0; shift < 64 && most >> shift != 0; shift += DIGIT) {
		uint32_t count[(1 << DIGIT) + 1] = { 0 };
		seeker *swap = m->s;

		for (k = 0; k < m->n; k++)
			count[(m->s[k].id >> shift & ((1 << DIGIT) - 1)) + 1]++;
		for (k = 0; k < 1 << DIGIT; k++)
			count[k + 1] += count[k];
		for (k = 0; k < m->n; k++)
			m->other[count[m->s[k].id >> shift & ((1 << DIGIT) - 1)]++] = m->s[k];
		m->s = m->other;
		m->other = swap;
	}
}

static em_status probe_of(many *m, const seeker *s, emi_btree_probe *probe, em_errinfo *err)
{
	return emi_btree_probe_key(m->t, m->keys + s->i * m->t->plan.key, 0, probe, err);
}

static void give(many *m, const seeker *s, const char *record)
{
	memcpy(m->records + s->i * m->t->plan.record, record, m->t->plan.record);
	if (m->found != NULL)
		m->found[s->i] = 1;
	m->n_found++;
}

/* One of them is in its leaf, or, beyond, in the next, of which it is to get the first record.  Where no two keys are
 * equal, one that is in the next leaf has come there by the nodes. */
static em_status look_in_leaf(many *m, seeker *s, const emi_btree_spot *leaf, em_errinfo *err)
{
	em_btree *t = m->t;
	emi_btree_spot at = *leaf;
	emi_btree_probe probe;
	em_status st = probe_of(m, s, &probe, err);
	int there, is_it;

	if (st != EM_OK)
		return st;
	at.slot = m->beyond ? 0 : t->form.kind->search(&t->form, emi_btree_place(t, &at.pin), &probe, m->upper);
	there = at.slot < at.pin.u.leaf->n;
	is_it = there && (!m->equal || emi_btree_is(t, &at, &probe));
	st = emi_btree_compared(t, err);
	if (st != EM_OK)
		return st;
	if (is_it)
		give(m, s, emi_btree_record(t, &at.pin, at.slot));
	s->id = there || m->beyond || (m->equal && !t->plan.duplicates) ? EMI_BTREE_NONE : at.pin.u.leaf->next;
	return EM_OK;
}

static em_status look_in_node(many *m, seeker *s, const emi_btree_node *node, em_errinfo *err)
{
	emi_btree_probe probe;
	em_status st = probe_of(m, s, &probe, err);

	if (st != EM_OK)
		return st;
	s->id = emi_btree_child_id(m->t, node, emi_btree_child(m->t, node, &probe, m->upper));
	return emi_btree_compared(m->t, err);
}

/* All that have come to one block, which is in memory. */
static em_status look_in(many *m, size_t from, size_t to, void *block, em_errinfo *err)
{
	em_status st = EM_OK;
	emi_btree_spot spot;

	memset(&spot, 0, sizeof spot);
	spot.pin.id = m->s[from].id;
	spot.pin.u.at = block;
	if (m->level != 0 && (spot.pin.u.node->level != m->level || spot.pin.u.node->n > m->t->plan.fan))
		return emi_fail(err, EM_ERR_CORRUPT, "a node is none of its level");
	for (; from < to && st == EM_OK; from++)
		st = m->level != 0 ? look_in_node(m, &m->s[from], spot.pin.u.node, err)
				   : look_in_leaf(m, &m->s[from], &spot, err);
	return st;
}

static size_t end_of_run(const many *m, size_t from)
{
	const uint64_t id = m->s[from].id;

	while (from < m->n && m->s[from].id == id)
		from++;
	return from;
}

/* The blocks of the next ones, up to `most'. */
static size_t collect(many *m, const emi_btree_blocks *b, size_t from, size_t most)
{
	size_t k;

	for (k = 0; k < most && from < m->n; k++, from = end_of_run(m, from)) {
		m->bid[k].disk = 0;
		m->bid[k].reserved = 0;
		m->bid[k].offset = m->s[from].id * b->bytes;
	}
	return k;
}

/* Those of [from, to) whose record is in the leaf that comes next here join those of it, which begin there then. */
static size_t hand_on(many *m, size_t from, size_t to)
{
	const uint64_t next = to < m->n ? m->s[to].id : EMI_BTREE_NONE;
	size_t k;

	if (m->level != 0 || next == EMI_BTREE_NONE)
		return to;
	for (k = to; k-- > from;)
		if (m->s[k].id == next) {
			const seeker s = m->s[k];

			m->s[k] = m->s[--to];
			m->s[to] = s;
		}
	return to;
}

/* All go through the blocks that they have come to. */
static em_status go_through(many *m, emi_btree_blocks *b, em_errinfo *err)
{
	const uint32_t frames = emi_cache_frames(b->cache);
	const size_t window = frames / 8 < WINDOW_MOST ? frames / 8 + (frames < 8) : WINDOW_MOST;
	em_status st = EM_OK;
	size_t from = 0;

	sort(m);
	while (from < m->n && st == EM_OK) {
		const size_t blocks = collect(m, b, from, 2 * window), n = blocks < window ? blocks : window;
		size_t got, k;

		st = emi_cache_get_many(b->cache, m->bid, n, EM_CACHE_READ, m->bid + n, blocks - n, m->frame, &got,
					err);
		for (k = 0; k < got; k++) {
			const size_t end = end_of_run(m, from);

			if (st == EM_OK && m->t->file != NULL)
				st = emi_btree_see(m->t, m->level, m->s[from].id,
						   emi_cache_buf(b->cache, m->frame[k]), err);
			if (st == EM_OK)
				st = look_in(m, from, end, emi_cache_buf(b->cache, m->frame[k]), err);
			emi_cache_unpin(b->cache, m->frame[k], 0);
			from = st == EM_OK ? hand_on(m, from, end) : end;
		}
	}
	return st;
}

/* Those that are not done yet get the first record of the leaf behind. */
static em_status look_beyond(many *m, em_errinfo *err)
{
	size_t k, n = 0;

	for (k = 0; k < m->n; k++)
		if (m->s[k].id != EMI_BTREE_NONE)
			m->s[n++] = m->s[k];
	m->n = n;
	m->beyond = 1;
	return n != 0 ? go_through(m, &m->t->leaves, err) : EM_OK;
}

static em_status look_up(many *m, uint64_t first, size_t n, em_errinfo *err)
{
	em_btree *t = m->t;
	em_status st;
	size_t k;

	m->n = n;
	for (k = 0; k < n; k++) {
		m->s[k].id = EMI_BTREE_ROOT;
		m->s[k].i = first + k;
	}
	m->level = t->height;
	m->beyond = 0;
	st = look_in(m, 0, n, t->root, err);
	while (st == EM_OK && m->level != 0) {
		m->level--;
		st = go_through(m, m->level != 0 ? &t->nodes : &t->leaves, err);
	}
	return st == EM_OK ? look_beyond(m, err) : st;
}

em_status emi_btree_get_many(em_btree *t, const char *keys, uint64_t n, int upper, int equal, char *records,
			     unsigned char *found, uint64_t *n_found, em_errinfo *err)
{
	em_errinfo none = EM_ERRINFO_INIT;
	em_ctx *ctx = t->object.ctx;
	seeker *a = NULL;
	uint64_t at;
	em_status st = EM_OK;
	many *m;

	*n_found = 0;
	if (t->n == 0 || n == 0)
		return EM_OK;
	m = emi_alloc(ctx, sizeof *m, err);
	if (m == NULL)
		return err->status;
	m->t = t;
	m->keys = keys;
	m->records = records;
	m->found = found;
	m->upper = upper;
	m->equal = equal;
	m->room = n < KEYS_MOST ? (size_t)n : KEYS_MOST;
	/* With less memory they are fewer at a time. */
	while ((a = emi_alloc_array(ctx, 2 * m->room, sizeof *a, &none)) == NULL && m->room > KEYS_LEAST)
		m->room /= 2;
	if (a == NULL) {
		*err = none;
		st = none.status;
	}
	for (at = 0; at < n && st == EM_OK; at += m->room) {
		m->s = a;
		m->other = a + m->room;
		st = look_up(m, at, n - at < m->room ? (size_t)(n - at) : m->room, err);
	}
	*n_found = m->n_found;
	emi_free_array(ctx, a, a != NULL ? 2 * m->room : 0, sizeof *a);
	emi_free(ctx, m, sizeof *m);
	return st;
}
