/* SPDX-License-Identifier: BSL-1.0 */
/* pq_sequences.c -- see pq_sequences.h. */
#include "container/pq_sequences.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

#define BLOCKS_FIRST 16u        /* that a sequence has room for */
#define RANK_FIRST ((uint64_t)1 << 62)

void emi_pq_sequences_init(emi_pq_sequences *s, em_ctx *ctx, const emi_pq_plan *plan, emi_pq_items *items,
			   emi_block_pool *shared)
{
	s->ctx = ctx;
	s->plan = plan;
	s->kway_opts = plan->merging;
	s->items = items;
	s->pool = shared != NULL ? shared : &s->own;
	if (shared != NULL)
		s->store = emi_store_hold(shared->store);
	s->ranks[0] = RANK_FIRST;
	s->ranks[1] = RANK_FIRST - 1;
	emi_buffers_init(&s->pieces, ctx, plan->piece, plan->pieces);
	/* Those of a shared pool are exchanged with others', so each is one that anybody can free. */
	emi_buffers_init(&s->blocks, ctx, plan->block, shared != NULL ? 0 : emi_pq_plan_blocks(plan));
}

static size_t per_block(const emi_pq_sequences *s)
{
	return s->plan->block / s->items->bytes;
}

/* Items that there are.  It is in no merge. */
static uint64_t count(const emi_pq_sequence *q)
{
	const emi_pq_sequences *s = q->all;
	const uint64_t blocks = q->blocks - q->taken;
	uint64_t n = 0;

	if (q->source.at != q->source.end)
		n = (uint64_t)(q->source.end - q->source.at) / s->items->bytes;
	return blocks != 0 ? n + (blocks - 1) * per_block(s) + q->last : n;
}

/* What was hinted at is not needed soon. */
static void take_back_hints(emi_pq_sequence *q)
{
	while (q->hinted != q->taken)
		emi_block_pool_take_back(q->all->pool, q->block[--q->hinted].bid);
}

/* Free a sequence, with what is in it.  It is in no list. */
static void free_sequence(emi_pq_sequence *q)
{
	emi_pq_sequences *s = q->all;

	for (; q->taken != q->blocks && !emi_ctx_forked(s->ctx); q->taken++, s->blocks_on_disks--)
		(void)emi_block_pool_free(s->pool, q->block[q->taken].bid, NULL);
	if (q->buf != NULL)
		emi_buffers_give(q->level == 0 ? &s->pieces : &s->blocks, q->buf);
	emi_free_array(s->ctx, q->block, q->room, sizeof *q->block);
	emi_free(s->ctx, q, sizeof *q);
}

static void insert(emi_pq_sequences *s, emi_pq_sequence *q)
{
	q->next = s->first;
	s->first = q;
	s->n[q->came_back][q->level]++;
	*(q->level == 0 ? &s->in_memory : &s->on_disks) += 1;
	if (q->level > s->level)
		s->level = q->level;
}

/* Take one out of the list, where *at refers to it, and out of its merge; and free it. */
static void drop(emi_pq_sequences *s, emi_pq_sequence **at)
{
	emi_pq_sequence *q = *at;

	if (q->in != NULL)
		emi_kway_remove(q->in, &q->source);
	if (q == s->begun)
		s->begun = NULL;
	*at = q->next;
	s->n[q->came_back][q->level]--;
	*(q->level == 0 ? &s->in_memory : &s->on_disks) -= 1;
	free_sequence(q);
}

void emi_pq_sequences_empty(emi_pq_sequences *s)
{
	while (s->first != NULL)
		drop(s, &s->first);
}

void emi_pq_sequences_drop(emi_pq_sequences *s)
{
	emi_pq_sequences_empty(s);
	emi_kway_close(&s->kway);
	emi_block_pool_close(&s->own);
	memset(&s->own, 0, sizeof s->own);
	if (s->pool == &s->own) {
		emi_store_close(s->store);
		s->store = NULL;
	}
	emi_buffers_close(&s->blocks);
	emi_buffers_close(&s->pieces);
	s->ranks[0] = RANK_FIRST;
	s->ranks[1] = RANK_FIRST - 1;
	s->level = 0;
}

/* Those that are over have no more items, and are dropped. */
static void drop_empty(emi_pq_sequences *s)
{
	emi_pq_sequence **at = &s->first;

	while (*at != NULL)
		if ((*at)->source.over || ((*at)->in == NULL && count(*at) == 0))
			drop(s, at);
		else
			at = &(*at)->next;
}

/* The sequence of a merge whose next block is needed first, of those that are not hinted at; NULL: there is none. */
static emi_pq_sequence *next_to_fetch(const emi_pq_sequences *s, const emi_kway *in)
{
	emi_pq_sequence *best = NULL, *q;

	for (q = s->first; q != NULL; q = q->next)
		if (q->in == in && q->hinted != q->blocks &&
		    (best == NULL || q->block[q->hinted].key < best->block[best->hinted].key))
			best = q;
	return best;
}

static void hint(emi_pq_sequences *s, const emi_kway *in)
{
	emi_pq_sequence *q;

	while ((q = next_to_fetch(s, in)) != NULL && emi_block_pool_hint(s->pool, q->block[q->hinted].bid))
		q->hinted++;
}

/* As a source: the next block of a sequence. */
static em_status next_block(emi_sorted_source *source, em_errinfo *err)
{
	emi_pq_sequence *q = (emi_pq_sequence *)(void *)source;
	emi_pq_sequences *s = q->all;
	em_status st;
	em_bid bid;

	if (q->taken == q->blocks)
		return EM_END;
	bid = q->block[q->taken].bid;
	if (q->hinted == q->taken)
		q->hinted++;
	st = emi_block_pool_read(s->pool, &q->buf, bid, err);
	if (st != EM_OK) {
		take_back_hints(q);
		return st;
	}
	/* A block that cannot be freed is space that is lost until the store is closed, and no more. */
	(void)emi_block_pool_free(s->pool, bid, NULL);
	q->taken++;
	s->blocks_on_disks--;
	q->source.at = q->buf;
	q->source.end = q->buf + (q->taken == q->blocks ? q->last : per_block(s)) * s->items->bytes;
	hint(s, q->in);
	return EM_OK;
}

static void close_nothing(emi_sorted_source *source)
{
	(void)source;
}

emi_pq_sequence *emi_pq_sequence_new(emi_pq_sequences *s, em_errinfo *err)
{
	static const emi_sorted_ops ops = { next_block, close_nothing };
	emi_pq_sequence *q = emi_alloc(s->ctx, sizeof *q, err);

	if (q == NULL)
		return NULL;
	q->source.ops = &ops;
	q->all = s;
	return q;
}

void emi_pq_sequences_add(emi_pq_sequences *s, emi_pq_sequence *q, char *piece, const char *at, const char *end,
			  int came_back)
{
	q->buf = piece;
	q->source.at = at;
	q->source.end = end;
	q->came_back = came_back;
	q->rank = s->ranks[came_back];
	s->ranks[came_back] += came_back ? UINT64_MAX : 1;
	insert(s, q);
}

/* Disks are not used before something has to be written. */
static em_status need_pool(emi_pq_sequences *s, em_errinfo *err)
{
	em_status st;

	if (s->store != NULL)
		return EM_OK;
	st = emi_store_open_scratch(&s->store, s->ctx, err);
	if (st == EM_OK)
		st = emi_block_pool_open(&s->own, s->ctx, s->store, s->plan->block, s->plan->nwrite, s->plan->nprefetch,
					 &s->io, err);
	s->own.buffers = &s->blocks;
	if (st != EM_OK) {
		emi_store_close(s->store);
		s->store = NULL;
		return st;
	}
	emi_store_watch(s->store, s->canceled);
	return EM_OK;
}

/* A buffer of the pool.  If blocks that could not be written have all of them, those are tried again. */
static em_status lend(emi_pq_sequences *s, char **buf, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st = emi_block_pool_lend(s->pool, buf, &own);

	if (st == EM_OK)
		return st;
	if (s->pool->list[EMI_POOL_FAILED].n == 0) {
		*err = own;
		return st;
	}
	st = emi_block_pool_flush(s->pool, err);
	return st == EM_OK ? emi_block_pool_lend(s->pool, buf, err) : st;
}

static em_status block_room(emi_pq_sequence *q, em_errinfo *err)
{
	const uint64_t room = q->room != 0 ? 2 * q->room : BLOCKS_FIRST;
	em_ctx *ctx = q->all->ctx;
	emi_pq_block *block;

	if (q->blocks < q->room)
		return EM_OK;
	block = emi_alloc_array(ctx, room, sizeof *block, err);
	if (block == NULL)
		return err->status;
	if (q->blocks != 0)
		memcpy(block, q->block, (size_t)q->blocks * sizeof *block);
	emi_free_array(ctx, q->block, q->room, sizeof *block);
	q->block = block;
	q->room = room;
	return EM_OK;
}

/* Have up to n of the next items of a merge; *got is how many they are, also after a failure. */
static em_status fill(const emi_pq_sequences *s, emi_kway *k, char *to, uint64_t n, uint64_t *got, em_errinfo *err)
{
	emi_kway_stop stop = { 0, NULL, 0 };
	const char *items;
	size_t some;

	for (*got = 0; *got < n; *got += some) {
		em_status st;

		stop.most = (size_t)(n - *got);
		st = emi_kway_next(k, &stop, &items, &some, err);
		if (st != EM_OK)
			return st == EM_END ? emi_fail(err, EM_ERR_INTERNAL, "items of a priority queue are missing")
					    : st;
		memcpy(to + *got * s->items->bytes, items, some * s->items->bytes);
	}
	return EM_OK;
}

/* Have a buffer and a place on a disk for the next block of a sequence. */
static em_status prepare_block(emi_pq_sequence *q, char **buf, em_bid *bid, em_errinfo *err)
{
	emi_pq_sequences *s = q->all;
	em_status st = block_room(q, err);

	if (st == EM_OK)
		st = lend(s, buf, err);
	if (st != EM_OK)
		return st;
	st = emi_store_alloc(s->store, s->placement, s->placed, s->plan->block, bid, 1, err);
	if (st != EM_OK)
		emi_block_pool_return(s->pool, *buf);
	return st;
}

static void give_back_block(const emi_pq_sequences *s, char *buf, em_bid bid)
{
	(void)emi_store_free(s->store, &s->pool->holder, bid, s->plan->block, NULL);
	emi_block_pool_return(s->pool, buf);
}

/* Write a block with n items.  It cannot be written now or ever: then it stays in the pool, as any other. */
static em_status write_block(emi_pq_sequence *q, char *buf, em_bid bid, uint64_t n, em_errinfo *err)
{
	emi_pq_sequences *s = q->all;
	const em_status st = emi_block_pool_write(s->pool, buf, bid, err);

	if (st != EM_OK) {
		give_back_block(s, buf, bid);
		return st;
	}
	q->block[q->blocks].bid = bid;
	q->block[q->blocks].key = emi_pq_pair(s->items, buf).key;
	q->blocks++;
	q->last = n;
	s->placed++;
	s->blocks_on_disks++;
	return EM_OK;
}

/* Have the last block of a sequence in a buffer of the pool again, as it is not full.  It stays on the disk until it is
 * written anew. */
static em_status reopen_block(emi_pq_sequence *q, char **buf, em_bid *bid, em_errinfo *err)
{
	emi_pq_sequences *s = q->all;
	em_status st = lend(s, buf, err);

	if (st != EM_OK)
		return st;
	*bid = q->block[q->blocks - 1].bid;
	st = emi_block_pool_read(s->pool, buf, *bid, err);
	if (st != EM_OK) {
		emi_block_pool_return(s->pool, *buf);
		*buf = NULL;
		return st;
	}
	q->blocks--;
	s->blocks_on_disks--;
	return EM_OK;
}

/* Fill what room the block in memory has, if it is the last one.  *got is how many items that were. */
static em_status fill_first(emi_pq_sequence *q, emi_kway *k, uint64_t n, uint64_t *got, em_errinfo *err)
{
	const size_t item = q->all->items->bytes;
	const char *end = q->buf + per_block(q->all) * item;
	uint64_t room;
	em_status st;

	*got = 0;
	if (q->taken != q->blocks)
		return EM_OK;
	if (q->source.at == q->source.end)
		q->source.at = q->source.end = q->buf;
	room = (uint64_t)(end - q->source.end) / item;
	st = fill(q->all, k, q->buf + (q->source.end - q->buf), n < room ? n : room, got, err);
	q->source.end += *got * item;
	return st;
}

/* Have a sequence get n more items of a merge, or those that can be had.  What may fail comes before items are taken,
 * or leaves a block that is shorter. */
static em_status write_all(emi_pq_sequence *q, emi_kway *k, uint64_t n, em_errinfo *err)
{
	emi_pq_sequences *s = q->all;
	const size_t item = s->items->bytes;
	const uint64_t per = per_block(s);
	uint64_t got = 0, has = 0; /* items of the block in buf */
	em_bid bid = { 0, 0, 0 };
	char *buf = NULL;
	em_status st;

	if (n != 0 && q->taken != q->blocks && q->last != per) {
		has = q->last;
		st = reopen_block(q, &buf, &bid, err);
	} else {
		st = fill_first(q, k, n, &got, err);
	}
	for (n -= got, s->moved += got; st == EM_OK && n != 0; n -= got, s->moved += got) {
		if (buf == NULL)
			st = prepare_block(q, &buf, &bid, err);
		if (st != EM_OK)
			return st;
		st = fill(s, k, buf + has * item, n < per - has ? n : per - has, &got, err);
		if (has + got == 0)
			break;
		if (write_block(q, buf, bid, has + got, err) != EM_OK)
			return err->status;
		buf = NULL;
		has = 0;
	}
	if (buf != NULL)
		give_back_block(s, buf, bid);
	return st;
}

static int is_of(const emi_pq_sequence *q, int came_back, uint32_t low, uint32_t high)
{
	return q->came_back == came_back && q->level >= low && q->level <= high;
}

/* Move sequences from the merge of all to another one, which has room for them.  *rank is the least of theirs; returns
 * how many items they have. */
static uint64_t move_to(emi_pq_sequences *s, emi_kway *k, int came_back, uint32_t low, uint32_t high, uint64_t *rank)
{
	emi_pq_sequence *q;
	uint64_t n = 0;

	*rank = UINT64_MAX;
	for (q = s->first; q != NULL; q = q->next) {
		if (q->in != NULL && (high != 0 || is_of(q, came_back, low, high))) {
			emi_kway_remove(q->in, &q->source);
			q->in = NULL;
		}
		/* Buffers are for those that are merged now. */
		if (high != 0)
			take_back_hints(q);
		if (!is_of(q, came_back, low, high))
			continue;
		n += count(q);
		*rank = q->rank < *rank ? q->rank : *rank;
		q->in = k;
		q->began = q->source.at;
		(void)emi_kway_add(k, &q->source, q->rank, NULL);
	}
	return n;
}

/* Sequences in memory are as they were: what was taken of them is still there. */
static void undo(emi_pq_sequence *made, int came_back)
{
	emi_pq_sequences *s = made->all;
	emi_pq_sequence *q;

	s->moved -= count(made);
	for (; made->blocks != 0; s->blocks_on_disks--)
		(void)emi_block_pool_free(s->pool, made->block[--made->blocks].bid, NULL);
	made->source.at = made->source.end;
	for (q = s->first; q != NULL; q = q->next)
		if (is_of(q, came_back, 0, 0)) {
			q->source.at = q->began;
			q->source.over = 0;
		}
}

/* What is left of those that were merged comes behind it, and before all that did so.  None is in a merge. */
static void make_way(const emi_pq_sequence *made)
{
	emi_pq_sequences *s = made->all;
	emi_pq_sequence *q;

	for (q = s->first; q != NULL; q = q->next)
		q->rank += q->rank >= made->rank;
	s->ranks[0]++;
}

/* Have a sequence for what these levels are merged to, with a block of memory. */
static emi_pq_sequence *begin(emi_pq_sequences *s, int came_back, uint32_t high, em_errinfo *err)
{
	emi_pq_sequence *made = emi_pq_sequence_new(s, err);

	if (made == NULL)
		return NULL;
	made->came_back = came_back;
	made->level = high + 1 < EMI_PQ_LEVELS ? high + 1 : high;
	made->buf = emi_buffers_take(&s->blocks, err);
	if (made->buf != NULL)
		return made;
	free_sequence(made);
	return NULL;
}

static em_status merge_into(emi_pq_sequence *made, emi_kway *k, int came_back, uint32_t low, uint32_t high,
			    em_errinfo *err)
{
	emi_pq_sequences *s = made->all;
	uint64_t n, rank;
	emi_pq_sequence *q;
	em_status st;

	n = move_to(s, k, came_back, low, high, &rank);
	if (made != s->begun)
		made->rank = rank;
	hint(s, k);
	st = write_all(made, k, n, err);
	for (q = s->first; q != NULL; q = q->next) {
		if (q->in != k)
			continue;
		emi_kway_remove(k, &q->source);
		q->in = NULL;
		take_back_hints(q);
	}
	if (st != EM_OK && high == 0)
		undo(made, came_back);
	else if (st != EM_OK && made != s->begun)
		make_way(made);
	s->merged++;
	return st;
}

/* A new sequence is in the list, if it has anything.  If its merge has failed, that is to go on later. */
static void list(emi_pq_sequences *s, emi_pq_sequence *made, uint32_t low, uint32_t high, int failed)
{
	if (count(made) == 0) {
		free_sequence(made);
		return;
	}
	insert(s, made);
	s->begun = failed ? made : NULL;
	s->begun_low = low;
	s->begun_high = high;
}

/* Merge all sequences of these levels to one of the level above, or go on with that. */
static em_status merge(emi_pq_sequences *s, int came_back, uint32_t low, uint32_t high, em_errinfo *err)
{
	const int anew = s->begun == NULL;
	emi_pq_sequence *made = s->begun;
	uint32_t n = 0, level;
	emi_kway k;
	em_status st = need_pool(s, err);

	memset(&k, 0, sizeof k);
	for (level = low; level <= high; level++)
		n += s->n[came_back][level];
	if (st == EM_OK)
		st = emi_kway_open(&k, &s->items->by, &s->kway_opts, err);
	if (st == EM_OK)
		st = emi_kway_reserve(&k, n, err);
	if (st == EM_OK && anew) {
		made = begin(s, came_back, high, err);
		st = made != NULL ? EM_OK : err->status;
	}
	if (st == EM_OK)
		st = merge_into(made, &k, came_back, low, high, err);
	emi_kway_close(&k);
	drop_empty(s);
	if (anew && made != NULL)
		list(s, made, low, high, st != EM_OK);
	else if (st == EM_OK)
		s->begun = NULL;
	return st;
}

/* Which levels to merge, if a merge was begun, or if there are too many sequences on disks: a level with enough of
 * them, or else enough of the lowest levels.  1: there are some. */
static int too_many(const emi_pq_sequences *s, int *came_back, uint32_t *low, uint32_t *high)
{
	uint32_t n[2] = { 0, 0 }, level, sum = 0;
	int c;

	if (s->begun != NULL) {
		*came_back = s->begun->came_back;
		*low = s->begun_low;
		*high = s->begun_high;
		return 1;
	}
	for (c = 0; c < 2; c++)
		for (level = 1; level <= s->level; level++) {
			n[c] += s->n[c][level];
			if (s->n[c][level] < s->plan->arity)
				continue;
			*came_back = c;
			*low = *high = level;
			return 1;
		}
	if (s->on_disks < s->plan->sequences)
		return 0;
	*came_back = n[1] > n[0];
	*low = 0;
	for (level = 1; level <= s->level && (sum < s->plan->arity || sum < 2); level++) {
		sum += s->n[*came_back][level];
		if (*low == 0 && sum != 0)
			*low = level;
		if (s->n[*came_back][level] != 0)
			*high = level;
	}
	return 1;
}

em_status emi_pq_sequences_reserve(emi_pq_sequences *s, em_errinfo *err)
{
	uint32_t low = 0, high = 0;
	em_status st = EM_OK;
	int came_back = 0;

	while (st == EM_OK && emi_pq_sequences_full(s)) {
		while (st == EM_OK && too_many(s, &came_back, &low, &high))
			st = merge(s, came_back, low, high, err);
		if (st == EM_OK)
			st = merge(s, s->n[1][0] > s->n[0][0], 0, 0, err);
	}
	return st;
}

em_status emi_pq_sequences_join(emi_pq_sequences *s, emi_sorted_memory *source, uint32_t n, em_errinfo *err)
{
	emi_pq_sequence *q;
	em_status st = EM_OK;
	int more = 0;
	uint32_t i;

	if (s->kway.by == NULL)
		st = emi_kway_open(&s->kway, &s->items->by, &s->kway_opts, err);
	for (q = s->first; q != NULL && st == EM_OK; q = q->next) {
		if (q->in != NULL)
			continue;
		st = emi_kway_add(&s->kway, &q->source, q->rank, err);
		if (st == EM_OK)
			q->in = &s->kway;
		more = 1;
	}
	if (more)
		hint(s, &s->kway);
	for (i = 0; i < n && st == EM_OK; i++)
		st = emi_kway_add(&s->kway, &source[i].source, UINT64_MAX, err);
	if (st != EM_OK)
		emi_pq_sequences_part(s, source, n);
	return st;
}

void emi_pq_sequences_part(emi_pq_sequences *s, emi_sorted_memory *source, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		emi_kway_remove(&s->kway, &source[i].source);
	drop_empty(s);
}
