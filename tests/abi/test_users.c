/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_users.c -- what functions of the caller's are called with is freed once: when what has them is closed, or when
 * it could not be made, whatever the reason.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem.h>
#include <extmem/sys/block.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/sort_blocks.h>

#include "common/test.h"

#define N 3000u

/* What is freed, and what is wrong with the call that it is given to. */
typedef struct given {
	em_ctx *ctx; /* NULL: none is given */
	int no_function; /* NULL is given in its place */
	int given, freed, called;
	char *dir; /* with the file "in" */
} given;

static uint64_t numbers[N];

static void count_free(void *user)
{
	((given *)user)->freed++;
}

static int map_fn(void *user, const void *records, size_t n, void *to)
{
	((given *)user)->called = 1;
	memcpy(to, records, n * 8);
	return 0;
}

static int filter_fn(void *user, const void *records, size_t n, unsigned char *keep)
{
	(void)records;
	((given *)user)->called = 1;
	memset(keep, 1, n);
	return 0;
}

static int inspect_fn(void *user, const void *records, size_t n)
{
	(void)records;
	(void)n;
	((given *)user)->called = 1;
	return 0;
}

static int flat_map_fn(void *user, const void *records, size_t *n, void *to, size_t *room)
{
	((given *)user)->called = 1;
	if (*n > *room)
		*n = *room;
	*room = *n;
	if (*n != 0)
		memcpy(to, records, *n * 8);
	return 0;
}

static int transform_fn(void *user, em_transform_in *in, uint32_t n, void *to, size_t *room)
{
	(void)n;
	in[0].taken = in[0].n;
	return flat_map_fn(user, in[0].records, &in[0].taken, to, room);
}

static int split_fn(void *user, const void *records, size_t n, uint32_t *to)
{
	(void)records;
	((given *)user)->called = 1;
	to[0] = n > 1;
	return 0;
}

static int reduce_fn(void *user, void *sum, const void *records, size_t n)
{
	(void)sum;
	(void)records;
	(void)n;
	((given *)user)->called = 1;
	return 0;
}

static int generate_fn(void *user, uint64_t i, void *records, size_t *n)
{
	(void)i;
	((given *)user)->called = 1;
	memset(records, 0, *n * 8);
	return 0;
}

static int join_fn(void *user, const void *left, const void *right, void *to)
{
	(void)right;
	((given *)user)->called = 1;
	memcpy(to, left, 8);
	return 0;
}

static em_status next_fn(void *user, em_batch *batch, em_errinfo *err)
{
	given *g = user;

	(void)err;
	if (g->called)
		return EM_END;
	g->called = 1;
	batch->records = numbers;
	batch->n = N;
	return EM_OK;
}

static em_status push_fn(void *user, const em_batch *batch, em_errinfo *err)
{
	(void)batch;
	(void)err;
	((given *)user)->called = 1;
	return EM_OK;
}

static int progress_fn(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	(void)phase;
	(void)done;
	(void)total;
	((given *)user)->called = 1;
	return 0;
}

static void access_fn(void *user, const em_cache_access *access)
{
	(void)access;
	((given *)user)->called = 1;
}

/* Pull all, and close: until then nothing was freed. */
static void drain(given *g, em_stream *s)
{
	const em_batch *batch;

	if (s == NULL)
		return;
	while (em_stream_next(s, &batch) == EM_OK)
		continue;
	assert_int_equal(g->freed, 0);
	em_stream_close(s);
}

static void watched(given *g, em_sort_opts *o)
{
	const em_sort_opts init = EM_SORT_OPTS_INIT;

	*o = init;
	o->progress = progress_fn;
	o->progress_user = g;
	o->progress_free = count_free;
	g->given = 1;
}

/* Nodes. */

typedef em_status (*make_node)(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
			       em_sink *sink);

#define FN(g, fn) ((g)->no_function ? NULL : (fn))

static em_status make_map(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
			  em_sink *sink)
{
	(void)other, (void)order, (void)sink;
	return em_stream_map(out, in, 8, FN(g, map_fn), g, count_free, NULL);
}

static em_status make_parallel_map(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
				   em_sink *sink)
{
	(void)other, (void)order, (void)sink;
	return em_stream_parallel_map(out, in, 8, FN(g, map_fn), g, count_free, 0, NULL);
}

static em_status make_filter(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
			     em_sink *sink)
{
	(void)other, (void)order, (void)sink;
	return em_stream_filter(out, in, FN(g, filter_fn), g, count_free, NULL);
}

static em_status make_inspect(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
			      em_sink *sink)
{
	(void)other, (void)order, (void)sink;
	return em_stream_inspect(out, in, FN(g, inspect_fn), g, count_free, NULL);
}

static em_status make_flat_map(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
			       em_sink *sink)
{
	(void)other, (void)order, (void)sink;
	return em_stream_flat_map(out, in, 8, FN(g, flat_map_fn), g, count_free, NULL);
}

static em_status make_transform(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
				em_sink *sink)
{
	(void)other, (void)order, (void)sink;
	return em_stream_transform(out, &in, 1, 8, FN(g, transform_fn), g, count_free, NULL);
}

static em_status make_split(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
			    em_sink *sink)
{
	(void)other, (void)order;
	return em_stream_split(out, in, &sink, 1, FN(g, split_fn), g, count_free, NULL);
}

static em_status make_reduce(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
			     em_sink *sink)
{
	(void)other, (void)sink;
	return em_stream_reduce(out, in, order, FN(g, reduce_fn), g, count_free, NULL);
}

static em_status make_join(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
			   em_sink *sink)
{
	const em_key key = {0, 0, EM_KEY_U64, 0, {0}};
	em_join_opts o = EM_JOIN_OPTS_INIT;

	(void)order, (void)sink;
	o.left = o.right = g->no_function ? NULL : &key;
	o.nkeys = 1;
	o.record_bytes = 8;
	o.fn = join_fn;
	o.user = g;
	o.user_free = count_free;
	return em_stream_join(out, in, other, &o, NULL);
}

static em_status make_sort(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
			   em_sink *sink)
{
	em_sort_opts o = EM_SORT_OPTS_INIT;

	(void)other, (void)sink;
	o.progress = progress_fn;
	o.progress_user = g;
	o.progress_free = count_free;
	return em_stream_sort(out, in, g->no_function ? NULL : order, &o, NULL);
}

static em_status make_sort_reduce(given *g, em_stream **out, em_stream *in, em_stream *other, const em_order *order,
				  em_sink *sink)
{
	em_sort_opts o;

	(void)other, (void)sink;
	watched(g, &o);
	g->given = 2;
	return em_stream_sort_reduce(out, in, order, &o, FN(g, reduce_fn), g, count_free, NULL);
}

/* A node of a graph, and one that is no more than an input; or no input is there to make it of. */
static void run_node(given *g, make_node make)
{
	em_stream *in = NULL, *other = NULL, *s = NULL;
	em_order *order = NULL;
	em_sink *sink = NULL;

	if (g->ctx != NULL && (em_stream_memory(&in, g->ctx, 8, numbers, N, NULL) != EM_OK ||
			       em_stream_memory(&other, g->ctx, 8, numbers, N, NULL) != EM_OK ||
			       em_order_parse(&order, g->ctx, 8, "u64@0", NULL) != EM_OK ||
			       em_sink_discard(&sink, g->ctx, 8, NULL) != EM_OK))
		goto out;
	g->given = 1;
	if (make(g, &s, in, other, order, sink) == EM_OK) {
		in = NULL;
		if (make == make_join)
			other = NULL;
		assert_int_equal(g->freed, 0);
		if (em_stream_slice(&s, s, 1, EM_STREAM_UNKNOWN, NULL) != EM_OK)
			assert_non_null(s);
	}
	drain(g, s);
out:
	em_stream_close(in);
	em_stream_close(other);
	em_order_close(order);
	em_sink_close(sink);
}

#define NODE(name)                                                                                                     \
	static void run_##name(given *g)                                                                               \
	{                                                                                                              \
		run_node(g, make_##name);                                                                              \
	}
NODE(map)
NODE(parallel_map)
NODE(filter)
NODE(inspect)
NODE(flat_map)
NODE(transform)
NODE(split)
NODE(reduce)
NODE(join)
NODE(sort)
NODE(sort_reduce)

/* Sources and sinks. */

static void run_generate(given *g)
{
	em_stream *s = NULL;

	g->given = 1;
	if (em_stream_generate(&s, g->ctx, 8, 1000, FN(g, generate_fn), g, count_free, NULL) == EM_OK)
		drain(g, s);
}

static void run_stream_ops(given *g)
{
	em_stream_ops ops = EM_STREAM_OPS_INIT;
	em_stream *s = NULL;

	g->given = 1;
	ops.next = FN(g, next_fn);
	ops.user_free = count_free;
	if (em_stream_open(&s, g->ctx, 8, N, &ops, g, NULL) == EM_OK)
		drain(g, s);
}

static void run_sink_ops(given *g)
{
	em_sink_ops ops = EM_SINK_OPS_INIT;
	em_sink *k = NULL;

	g->given = 1;
	ops.push = FN(g, push_fn);
	ops.user_free = count_free;
	if (em_sink_open(&k, g->ctx, 8, &ops, g, NULL) != EM_OK)
		return;
	assert_int_equal(em_sink_push(k, numbers, N), EM_OK);
	assert_int_equal(em_sink_finish(k), EM_OK);
	assert_int_equal(g->freed, 0);
	em_sink_close(k);
}

/* Progress. */

static em_order *order_of(given *g)
{
	em_order *order = NULL;

	if (g->ctx != NULL)
		(void)!em_order_parse(&order, g->ctx, 8, "u64@0", NULL);
	return order;
}

static void run_sorter(given *g)
{
	em_order *order = order_of(g);
	em_sorter *s = NULL;
	em_sort_opts o;
	uint64_t i;

	watched(g, &o);
	if (em_sorter_open(&s, g->ctx, g->no_function ? NULL : order, &o) == EM_OK) {
		for (i = 0; i < 2; i++) {
			(void)!em_sorter_push(s, numbers, N);
			(void)!em_sorter_finish(s);
			(void)!em_sorter_clear(s);
		}
		assert_int_equal(g->freed, 0);
	}
	em_sorter_close(s);
	em_order_close(order);
}

static void run_runs(given *g)
{
	em_order *order = order_of(g);
	em_runs_opts o = EM_RUNS_OPTS_INIT;
	em_runs *r = NULL;
	em_sort_opts form;
	uint64_t i;

	watched(g, &form);
	g->given = 2;
	o.form = &form;
	o.combine = reduce_fn;
	o.user = g;
	o.user_free = count_free;
	if (em_runs_open(&r, g->ctx, g->no_function ? NULL : order, &o, NULL) == EM_OK) {
		for (i = 0; i < 2; i++) {
			(void)!em_runs_push(r, numbers, N);
			(void)!em_runs_finish(r);
			(void)!em_runs_clear(r);
		}
		assert_int_equal(g->freed, 0);
	}
	em_runs_close(r);
	em_order_close(order);
}

static void run_top(given *g)
{
	em_order *order = order_of(g);
	em_sort_opts o;
	em_top *t = NULL;

	watched(g, &o);
	if (em_top_open(&t, g->ctx, g->no_function ? NULL : order, 0, 10, &o) == EM_OK) {
		(void)!em_top_push(t, numbers, N);
		assert_int_equal(g->freed, 0);
	}
	em_top_close(t);
	em_order_close(order);
}

static void run_vector_sort(given *g)
{
	em_vector_opts vo = EM_VECTOR_OPTS_INIT;
	em_order *order = order_of(g);
	em_vector *v = NULL;
	em_sort_opts o;

	vo.record_bytes = 8;
	if (g->ctx != NULL)
		(void)!em_vector_open(&v, g->ctx, &vo);
	if (v != NULL)
		(void)!em_vector_resize(v, 100);
	watched(g, &o);
	(void)!em_vector_sort(v, 0, 100, g->no_function ? NULL : order, &o, NULL);
	assert_int_equal(g->freed, 1);
	(void)!em_vector_shuffle(v, 0, g->no_function ? UINT64_MAX : 100, 1, &o);
	assert_int_equal(g->freed, 2);
	g->freed = 1;
	em_vector_close(v);
	em_order_close(order);
}

static void run_sort_blocks(given *g)
{
	em_block_list *out = NULL;
	em_sort_opts o;

	watched(g, &o);
	assert_int_equal(em_sort_blocks(&out, NULL, 0, NULL, 0, &o, NULL), EM_ERR_INVAL);
}

/* Calls for files, one after the other; with each what they watch is given anew. */
static void run_files(given *g)
{
	char *in = test_path(g->dir, "in"), *to = test_path(g->dir, "out");
	const char *inputs[1];
	em_order *order = order_of(g);
	const em_order *by = g->no_function ? NULL : order;
	em_unique_opts u = EM_UNIQUE_OPTS_INIT;
	em_shuffle_opts sh = EM_SHUFFLE_OPTS_INIT;
	em_check_opts ch = EM_CHECK_OPTS_INIT;
	em_check_info info = EM_CHECK_INFO_INIT;
	em_sort_opts o;

	inputs[0] = in;
	watched(g, &o);
	u.sort = &o;
	sh.progress = ch.progress = progress_fn;
	sh.progress_user = ch.progress_user = g;
	sh.progress_free = ch.progress_free = count_free;
	(void)!em_sort_files(g->ctx, by, inputs, 1, to, &o, NULL);
	assert_int_equal(g->freed, 1);
	(void)!em_merge_files(g->ctx, by, inputs, 1, to, &o, NULL);
	assert_int_equal(g->freed, 2);
	(void)!em_unique_files(g->ctx, by, inputs, 1, to, &u, NULL);
	assert_int_equal(g->freed, 3);
	(void)!em_top_files(g->ctx, by, inputs, 1, 0, 3, to, &o, NULL);
	assert_int_equal(g->freed, 4);
	(void)!em_shuffle_files(g->ctx, g->no_function ? 3 : 8, inputs, 1, to, &sh, NULL);
	assert_int_equal(g->freed, 5);
	(void)!em_check_file(g->ctx, by, g->no_function ? NULL : in, &ch, &info, NULL, NULL);
	assert_int_equal(g->freed, 6);
	g->freed = 1;
	remove(to);
	em_order_close(order);
	free(in);
	free(to);
}

/* Policies, and who is told of accesses. */

static void own_policy(given *g, em_policy *p)
{
	*p = *em_policy_lru();
	p->user = g;
	p->user_free = count_free;
	g->given = 1;
}

static void run_vector_policy(given *g)
{
	em_vector_opts a = EM_VECTOR_OPTS_INIT, b = EM_VECTOR_OPTS_INIT;
	em_vector *v = NULL, *w = NULL;
	em_policy p;

	own_policy(g, &p);
	a.record_bytes = g->no_function ? 0 : 8;
	a.policy = &p;
	b.record_bytes = 8;
	if (em_vector_open(&v, g->ctx, &a) == EM_OK && em_vector_open(&w, g->ctx, &b) == EM_OK) {
		/* It goes with the cache. */
		assert_int_equal(em_vector_swap(v, w), EM_OK);
		em_vector_close(v);
		assert_int_equal(g->freed, 0);
		v = NULL;
	}
	em_vector_close(w);
	em_vector_close(v);
}

static void run_btree_policy(given *g)
{
	em_order *order = order_of(g);
	em_btree_opts o = EM_BTREE_OPTS_INIT;
	em_btree *t = NULL;
	em_policy p;

	own_policy(g, &p);
	o.policy = &p;
	if (em_btree_open(&t, g->ctx, g->no_function ? NULL : order, &o) == EM_OK)
		assert_int_equal(g->freed, 0);
	em_btree_close(t);
	assert_int_equal(g->freed, 1);
	assert_int_not_equal(em_btree_open_file(&t, g->ctx, g->no_function ? NULL : "/nowhere", order, &o), EM_OK);
	assert_int_equal(g->freed, 2);
	g->freed = 1;
	em_order_close(order);
}

static void run_cache(given *g)
{
	em_cache_opts o = EM_CACHE_OPTS_INIT;
	em_cache_access access = {0, 0, 0};
	em_disks *d = NULL;
	em_cache *c = NULL;
	em_policy p;
	uint64_t misses;

	if (g->ctx != NULL)
		(void)!em_disks_open(&d, g->ctx, NULL);
	own_policy(g, &p);
	o.policy = &p;
	o.trace = access_fn;
	o.trace_user = g;
	o.trace_free = count_free;
	o.frames = g->no_function ? 0 : 4;
	if (em_cache_open(&c, d, &o) == EM_OK)
		assert_int_equal(g->freed, 0);
	em_cache_close(c);
	assert_int_equal(g->freed, 2);
	(void)!em_cache_trace_policy(g->ctx, g->no_function ? NULL : &access, 1, &p, 0, 1, &misses, NULL);
	assert_int_equal(g->freed, 3);
	g->freed = 1;
	em_disks_close(d);
}

typedef struct subject {
	const char *name;
	void (*run)(given *g);
} subject;

static const subject subjects[] = {
	{"map", run_map},
	{"parallel_map", run_parallel_map},
	{"filter", run_filter},
	{"inspect", run_inspect},
	{"flat_map", run_flat_map},
	{"transform", run_transform},
	{"split", run_split},
	{"reduce", run_reduce},
	{"join", run_join},
	{"sort", run_sort},
	{"sort_reduce", run_sort_reduce},
	{"generate", run_generate},
	{"stream_ops", run_stream_ops},
	{"sink_ops", run_sink_ops},
	{"sorter", run_sorter},
	{"runs", run_runs},
	{"top", run_top},
	{"vector_sort", run_vector_sort},
	{"sort_blocks", run_sort_blocks},
	{"files", run_files},
	{"vector_policy", run_vector_policy},
	{"btree_policy", run_btree_policy},
	{"cache", run_cache},
};

#define SUBJECTS (sizeof subjects / sizeof subjects[0])

static char *make_dir(void)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(numbers, 8, N, f), N);
	assert_int_equal(fclose(f), 0);
	free(path);
	return dir;
}

static void check(const subject *s, given *g)
{
	s->run(g);
	if (g->freed != g->given)
		print_error("%s: given %d, freed %d\n", s->name, g->given, g->freed);
	assert_int_equal(g->freed, g->given);
}

static em_ctx *open_ctx(test_memory *mem, uint64_t fail)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_ctx *ctx = NULL;

	test_memory_init(mem, fail);
	o.memory = 8u << 20;
	o.backend = "memory";
	o.threads = 2;
	o.allocator = &mem->allocator;
	(void)!em_ctx_open(&ctx, &o);
	return ctx;
}

/* Closed, or refused for what is missing. */
static void test_once(void **state)
{
	char *dir = make_dir();
	test_memory mem;
	size_t i;

	(void)state;
	for (i = 0; i < SUBJECTS; i++) {
		given g = {NULL, 0, 0, 0, 0, NULL};
		em_ctx *ctx = open_ctx(&mem, 0);

		assert_non_null(ctx);
		g.dir = dir;
		check(&subjects[i], &g);
		assert_int_equal(g.called, 0);
		g.ctx = ctx;
		g.no_function = 1;
		g.freed = g.given = 0;
		check(&subjects[i], &g);
		g.no_function = 0;
		g.freed = g.given = 0;
		check(&subjects[i], &g);
		em_ctx_close(ctx);
		test_memory_assert_clean(&mem);
	}
	test_dir_remove(dir);
}

static void test_no_memory(void **state)
{
	char *dir = make_dir();
	test_memory mem;
	uint64_t nth;
	size_t i;

	(void)state;
	for (i = 0; i < SUBJECTS; i++) {
		for (nth = test_nth_after(0, 1);; nth = test_nth_after(nth, 1)) {
			given g = {NULL, 0, 0, 0, 0, NULL};

			g.ctx = open_ctx(&mem, nth);
			g.dir = dir;
			if (g.ctx != NULL)
				check(&subjects[i], &g);
			em_ctx_close(g.ctx);
			test_memory_assert_clean(&mem);
			if (!test_memory_failed(&mem))
				break;
		}
	}
	test_dir_remove(dir);
}

/* What was made without its initialiser holds nothing. */
static void test_version(void **state)
{
	em_sort_opts o = EM_SORT_OPTS_INIT;
	em_stream_ops so = EM_STREAM_OPS_INIT;
	em_sink_ops ko = EM_SINK_OPS_INIT;
	given g = {NULL, 0, 0, 0, 0, NULL};
	em_sorter *s;
	em_stream *t;
	em_sink *k;
	test_memory mem;
	em_ctx *ctx = open_ctx(&mem, 0);
	em_order *order;

	(void)state;
	assert_int_equal(em_order_parse(&order, ctx, 8, "u64@0", NULL), EM_OK);
	o.progress_user = &g;
	o.progress_free = so.user_free = ko.user_free = count_free;
	so.next = next_fn;
	ko.push = push_fn;
	o.size = so.size = ko.size = 4;
	assert_int_equal(em_sorter_open(&s, ctx, order, &o), EM_ERR_VERSION);
	assert_int_equal(em_stream_open(&t, ctx, 8, 0, &so, &g, NULL), EM_ERR_VERSION);
	assert_int_equal(em_sink_open(&k, ctx, 8, &ko, &g, NULL), EM_ERR_VERSION);
	assert_int_equal(g.freed, 0);
	em_order_close(order);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_version),
	};
	size_t i;

	for (i = 0; i < N; i++)
		numbers[i] = i / 3;
	return cmocka_run_group_tests_name("abi/users", tests, NULL, NULL);
}
