/* SPDX-License-Identifier: BSL-1.0 */
/* flow_case.c -- see flow_case.h. */
#include "flow/flow_case.h"

void flow_open(flow_case *t, uint64_t memory, uint64_t fail_at)
{
	static uint64_t opened;
	em_ctx_opts o = EM_CTX_OPTS_INIT;

	memset(t, 0, sizeof *t);
	t->rng = test_rng_make(test_seed() + opened++);
	test_memory_init(&t->mem, 0);
	o.allocator = &t->mem.allocator;
	o.memory = memory;
	o.backend = "memory";
	o.threads = 2;
	assert_int_equal(em_ctx_open(&t->ctx, &o), EM_OK);
	t->mem.fail_at = fail_at != 0 ? t->mem.calls + fail_at : 0;
}

void flow_close(flow_case *t)
{
	em_ctx_close(t->ctx);
	test_memory_assert_clean(&t->mem);
}

static em_status feed_next(void *user, em_batch *batch, em_errinfo *err)
{
	feed *f = user;
	size_t n = f->n - f->at;

	f->calls++;
	assert_int_equal(f->closed, 0);
	assert_null(batch->ends);
	if (f->lent != NULL)
		memset(f->lent, 0xa5, f->most * f->record);
	if (f->at == f->fail_at) {
		if (f->failure == EM_ERR_IO)
			strcpy(err->text, "the feed is torn");
		return f->failure;
	}
	if (n == 0)
		return EM_END;
	if (f->lent == NULL)
		f->lent = malloc(f->most * f->record);
	assert_non_null(f->lent);
	if (n > f->most)
		n = 1 + (size_t)test_below(&f->t->rng, f->most);
	if (f->fail_at > f->at && n > f->fail_at - f->at)
		n = f->fail_at - f->at;
	memcpy(f->lent, f->records + f->at * f->record, n * f->record);
	f->at += n;
	batch->records = f->lent;
	batch->n = n;
	return EM_OK;
}

static void feed_close(void *user)
{
	feed *f = user;

	free(f->lent);
	f->lent = NULL;
	f->closed++;
}

em_stream *feed_open(feed *f, flow_case *t, const void *records, size_t n, size_t record, size_t most)
{
	em_stream_ops ops = EM_STREAM_OPS_INIT;
	em_stream *s;

	memset(f, 0, sizeof *f);
	f->t = t;
	f->records = records;
	f->n = n;
	f->record = record;
	f->most = most;
	f->fail_at = SIZE_MAX;
	f->failure = EM_ERR_IO;
	ops.next = feed_next;
	ops.close = feed_close;
	if (em_stream_open(&s, t->ctx, record, n, &ops, f, &t->err) == EM_OK)
		assert_int_equal(em_stream_count(s), n);
	else
		assert_null(s);
	return s;
}

/* Room for n records more. */
static char *grow(char *all, size_t *room, size_t used, size_t bytes)
{
	if (used + bytes <= *room && all != NULL)
		return all;
	*room = (used + bytes) * 2 + 64;
	all = realloc(all, *room);
	assert_non_null(all);
	return all;
}

void *flow_drain(flow_case *t, em_stream *s, size_t limit, size_t *n, em_status *status)
{
	const size_t record = (size_t)em_stream_record_bytes(s);
	em_cursor *c = em_stream_cursor(s);
	size_t room = 0, used = 0;
	char *all = grow(NULL, &room, 0, record);
	em_status st = EM_OK;

	while (st == EM_OK && used / record < limit) {
		const em_batch *batch;
		uint64_t k;

		st = em_stream_next(s, &batch);
		assert_int_equal(st == EM_OK, batch != NULL);
		if (st == EM_OK) {
			assert_true(batch->n > 0 && batch->bytes == batch->n * record && batch->ends == NULL);
			all = grow(all, &room, used, batch->bytes);
			memcpy(all + used, batch->records, batch->bytes);
			used += batch->bytes;
		}
		/* A whole window, so that nothing is passed over. */
		if (st == EM_OK && test_below(&t->rng, 2) == 0 && !em_stream_empty(c)) {
			k = (uint64_t)(c->end - c->cur) / record;
			while (k-- != 0) {
				all = grow(all, &room, used, record);
				memcpy(all + used, em_stream_front(c), record);
				used += record;
				em_stream_advance(c);
			}
		}
	}
	*n = used / record;
	*status = st;
	return all;
}

void flow_assert(flow_case *t, em_stream *s, const void *records, size_t n)
{
	const size_t record = (size_t)em_stream_record_bytes(s);
	const uint64_t count = em_stream_count(s);
	const em_batch *batch;
	em_status st;
	size_t got;
	void *all = flow_drain(t, s, SIZE_MAX, &got, &st);

	if (st != EM_END) {
		em_stream_error(s, &t->err);
		fail_msg("%s: %s", em_status_name(st), t->err.text);
	}
	assert_int_equal(got, n);
	if (n != 0)
		assert_memory_equal(all, records, n * record);
	assert_true(count == EM_STREAM_UNKNOWN || count == n);
	assert_int_equal(em_stream_next(s, &batch), EM_END);
	assert_true(em_stream_empty(em_stream_cursor(s)));
	assert_int_equal(em_stream_cursor(s)->status, EM_END);
	em_stream_close(s);
	free(all);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t *flow_numbers(flow_case *t, size_t n, uint64_t below, int sorted)
{
	uint64_t *x = malloc((n + 1) * sizeof *x);
	size_t i;

	assert_non_null(x);
	for (i = 0; i < n; i++)
		x[i] = test_below(&t->rng, below);
	if (sorted)
		qsort(x, n, sizeof *x, by_value);
	return x;
}

em_order *flow_order(flow_case *t, size_t record)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	const uint64_t fail_at = t->mem.fail_at, before = t->mem.calls;
	em_order *order;

	t->mem.fail_at = 0;
	assert_int_equal(em_order_keys(&order, t->ctx, record, &key, 1, NULL), EM_OK);
	t->mem.fail_at = fail_at > before ? fail_at + (t->mem.calls - before) : fail_at;
	return order;
}
