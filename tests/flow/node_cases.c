/* SPDX-License-Identifier: BSL-1.0 */
/* node_cases.c -- see node_cases.h. */
#include "flow/node_cases.h"

/* Functions fail when that many calls were made. */
uint64_t node_calls, node_fail_call;
static uint64_t state[2];       /* of functions that remember something */

static int fails(void)
{
	return ++node_calls == node_fail_call ? 5 : 0;
}

static int triple(void *user, const void *records, size_t n, void *to)
{
	const uint64_t *x = records;
	uint64_t *y = to;
	size_t i;

	(void)user;
	assert_true(n > 0);
	for (i = 0; i < n; i++)
		y[i] = 3 * x[i] + 1;
	return fails();
}

static em_status make_map(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_map(out, in[0], 8, triple, NULL, NULL, &t->err);
}

static size_t model_map(const node_input *a, const node_input *b, uint64_t *to)
{
	size_t i;

	(void)b;
	for (i = 0; i < a->n; i++)
		to[i] = 3 * a->x[i] + 1;
	return a->n;
}

static int widen(void *user, const void *records, size_t n, void *to)
{
	const uint64_t *x = records;
	uint64_t *y = to;
	size_t i;

	(void)user;
	for (i = 0; i < n; i++) {
		y[2 * i] = x[i];
		y[2 * i + 1] = ~x[i];
	}
	return fails();
}

/* The same on any thread. */
static int widen_anywhere(void *user, const void *records, size_t n, void *to)
{
	const uint64_t *x = records;
	uint64_t *y = to;
	size_t i;

	(void)user;
	for (i = 0; i < n; i++) {
		y[2 * i] = x[i];
		y[2 * i + 1] = ~x[i];
	}
	return __atomic_add_fetch(&node_calls, 1, __ATOMIC_RELAXED) == node_fail_call ? 5 : 0;
}

static em_status make_wide(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_map(out, in[0], 16, widen, NULL, NULL, &t->err);
}

static size_t model_wide(const node_input *a, const node_input *b, uint64_t *to)
{
	size_t i;

	(void)b;
	for (i = 0; i < a->n; i++) {
		to[2 * i] = a->x[i];
		to[2 * i + 1] = ~a->x[i];
	}
	return 2 * a->n;
}

static int thirds(void *user, const void *records, size_t n, unsigned char *keep)
{
	const uint64_t *x = records;
	size_t i;

	(void)user;
	assert_true(n > 0 && n <= 1024);
	for (i = 0; i < n; i++) {
		assert_int_equal(keep[i], 0);
		keep[i] = x[i] % 3 == 0;
	}
	return fails();
}

static em_status make_filter(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_filter(out, in[0], thirds, NULL, NULL, &t->err);
}

static size_t model_filter(const node_input *a, const node_input *b, uint64_t *to)
{
	size_t i, n = 0;

	(void)b;
	for (i = 0; i < a->n; i++)
		if (a->x[i] % 3 == 0)
			to[n++] = a->x[i];
	return n;
}

static int see(void *user, const void *records, size_t n)
{
	(void)user;
	(void)records;
	assert_true(n > 0);
	return fails();
}

static em_status make_inspect(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_inspect(out, in[0], see, NULL, NULL, &t->err);
}

static size_t model_same(const node_input *a, const node_input *b, uint64_t *to)
{
	(void)b;
	memcpy(to, a->x, a->n * 8);
	return a->n;
}

/* Each number x % 4 times; and at the end two numbers more. */
static int repeat(void *user, const void *records, size_t *n, void *to, size_t *room)
{
	const uint64_t *x = records;
	uint64_t *y = to;
	size_t i = 0, k = 0;

	(void)user;
	if (*n == 0) {
		while (state[1] < 2 && k < *room)
			y[k++] = 1000 + state[1]++;
	}
	while (i < *n && k < *room) {
		if (state[0] < x[i] % 4) {
			y[k++] = x[i];
			state[0]++;
		}
		if (state[0] >= x[i] % 4) {
			state[0] = 0;
			i++;
		}
	}
	*n = i;
	*room = k;
	return fails();
}

static em_status make_flat(flow_case *t, em_stream **out, em_stream *const *in)
{
	state[0] = state[1] = 0;
	return em_stream_flat_map(out, in[0], 8, repeat, NULL, NULL, &t->err);
}

static size_t model_flat(const node_input *a, const node_input *b, uint64_t *to)
{
	size_t i, n = 0;
	uint64_t k;

	(void)b;
	for (i = 0; i < a->n; i++)
		for (k = 0; k < a->x[i] % 4; k++)
			to[n++] = a->x[i];
	to[n++] = 1000;
	to[n++] = 1001;
	return n;
}

/* Sums of pairs, and what is left of the longer one. */
static int add_pairs(void *user, em_transform_in *in, uint32_t n, void *to, size_t *room)
{
	const uint64_t *a = in[0].records, *b = in[1].records;
	uint64_t *y = to;
	size_t i = 0;

	(void)user;
	assert_int_equal(n, 2);
	for (; i < *room && (i < in[0].n || in[0].over) && (i < in[1].n || in[1].over); i++) {
		if (in[0].over && in[1].over)
			break;
		y[i] = (in[0].over ? 0 : a[i]) + (in[1].over ? 0 : b[i]);
	}
	in[0].taken = in[0].over ? 0 : i;
	in[1].taken = in[1].over ? 0 : i;
	*room = i;
	return fails();
}

static em_status make_transform(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_transform(out, in, 2, 8, add_pairs, NULL, NULL, &t->err);
}

static size_t model_transform(const node_input *a, const node_input *b, uint64_t *to)
{
	size_t i, n = a->n > b->n ? a->n : b->n;

	for (i = 0; i < n; i++)
		to[i] = (i < a->n ? a->x[i] : 0) + (i < b->n ? b->x[i] : 0);
	return n;
}

static em_status make_concat(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_concat(out, in, 2, &t->err);
}

static size_t model_concat(const node_input *a, const node_input *b, uint64_t *to)
{
	memcpy(to, a->x, a->n * 8);
	memcpy(to + a->n, b->x, b->n * 8);
	return a->n + b->n;
}

static em_status make_zip(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_zip(out, in, 2, &t->err);
}

static size_t model_zip(const node_input *a, const node_input *b, uint64_t *to)
{
	size_t i, n = a->n < b->n ? a->n : b->n;

	for (i = 0; i < n; i++) {
		to[2 * i] = a->x[i];
		to[2 * i + 1] = b->x[i];
	}
	return 2 * n;
}

static em_status make_slice(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_slice(out, in[0], 5, 20, &t->err);
}

static size_t model_slice(const node_input *a, const node_input *b, uint64_t *to)
{
	const size_t left = a->n > 5 ? a->n - 5 : 0, n = left < 20 ? left : 20;

	(void)b;
	memcpy(to, a->x + (n != 0 ? 5 : 0), n * 8);
	return n;
}

static em_status make_skip(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_slice(out, in[0], 7, EM_STREAM_UNKNOWN, &t->err);
}

static size_t model_skip(const node_input *a, const node_input *b, uint64_t *to)
{
	const size_t n = a->n > 7 ? a->n - 7 : 0;

	(void)b;
	memcpy(to, a->x + (n != 0 ? 7 : 0), n * 8);
	return n;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static em_status make_merge(flow_case *t, em_stream **out, em_stream *const *in)
{
	em_order *order = flow_order(t, 8);
	const em_status st = em_stream_merge(out, in, 2, order, &t->err);

	em_order_close(order);
	return st;
}

static size_t model_merge(const node_input *a, const node_input *b, uint64_t *to)
{
	const size_t n = model_concat(a, b, to);

	qsort(to, n, 8, by_value);
	return n;
}

static em_status make_sort(flow_case *t, em_stream **out, em_stream *const *in)
{
	em_order *order = flow_order(t, 8);
	const em_status st = em_stream_sort(out, in[0], order, NULL, &t->err);

	em_order_close(order);
	return st;
}

static size_t model_sort(const node_input *a, const node_input *b, uint64_t *to)
{
	(void)b;
	memcpy(to, a->x, a->n * 8);
	qsort(to, a->n, 8, by_value);
	return a->n;
}

static em_status unique(flow_case *t, em_stream **out, em_stream *const *in, uint32_t flags)
{
	em_order *order = flow_order(t, 8);
	const em_status st = em_stream_unique(out, in[0], order, flags, &t->err);

	em_order_close(order);
	return st;
}

static em_status make_unique(flow_case *t, em_stream **out, em_stream *const *in)
{
	return unique(t, out, in, 0);
}

static size_t model_unique(const node_input *a, const node_input *b, uint64_t *to)
{
	size_t i, n = 0;

	(void)b;
	for (i = 0; i < a->n; i++)
		if (i == 0 || a->x[i] != a->x[i - 1])
			to[n++] = a->x[i];
	return n;
}

static em_status make_counts(flow_case *t, em_stream **out, em_stream *const *in)
{
	return unique(t, out, in, EM_UNIQUE_COUNT);
}

static size_t model_counts(const node_input *a, const node_input *b, uint64_t *to)
{
	size_t i, n = 0;

	(void)b;
	for (i = 0; i < a->n; i++) {
		if (i == 0 || a->x[i] != a->x[i - 1]) {
			to[n++] = a->x[i];
			to[n++] = 0;
		}
		to[n - 1]++;
	}
	return n;
}

static int pair_with_itself(void *user, const void *records, size_t n, void *to)
{
	const uint64_t *x = records;
	uint64_t *y = to;
	size_t i;

	(void)user;
	for (i = 0; i < n; i++)
		y[2 * i] = y[2 * i + 1] = x[i];
	return 0;
}

static int add_second(void *user, void *sum, const void *records, size_t n)
{
	const uint64_t *x = records;
	uint64_t *y = sum;
	size_t i;

	(void)user;
	assert_true(n > 0);
	for (i = 0; i < n; i++) {
		assert_int_equal(x[2 * i], y[0]);
		y[1] += x[2 * i + 1];
	}
	return fails();
}

static em_status make_reduce(flow_case *t, em_stream **out, em_stream *const *in)
{
	em_order *order = flow_order(t, 16);
	em_stream *pairs;
	em_status st = em_stream_map(&pairs, in[0], 16, pair_with_itself, NULL, NULL, &t->err);

	if (st == EM_OK) {
		st = em_stream_reduce(out, pairs, order, add_second, NULL, NULL, &t->err);
		if (st != EM_OK) {
			em_stream_close(pairs);
			st = EM_END; /* the input is gone */
		}
	}
	em_order_close(order);
	return st;
}

static size_t model_reduce(const node_input *a, const node_input *b, uint64_t *to)
{
	size_t i, n = 0;

	(void)b;
	for (i = 0; i < a->n; i++) {
		if (i == 0 || a->x[i] != a->x[i - 1]) {
			to[n++] = a->x[i];
			to[n++] = 0;
		}
		to[n - 1] += a->x[i];
	}
	return n;
}

static em_status set(flow_case *t, em_stream **out, em_stream *const *in, uint32_t operation)
{
	em_order *order = flow_order(t, 8);
	const em_status st = em_stream_set(out, in[0], in[1], order, operation, &t->err);

	em_order_close(order);
	return st;
}

/* How often a number is in an input. */
static size_t times(const node_input *a, uint64_t x)
{
	size_t i, n = 0;

	for (i = 0; i < a->n; i++)
		n += a->x[i] == x;
	return n;
}

static size_t model_set(const node_input *a, const node_input *b, uint64_t *to, uint32_t operation)
{
	size_t n = 0, k;
	uint64_t x;

	for (x = 0; x <= 1000; x++) {
		const size_t m = times(a, x), l = times(b, x), less = m < l ? m : l;

		switch (operation) {
		case EM_SET_UNION:
			k = m + l - less;
			break;
		case EM_SET_INTERSECTION:
			k = less;
			break;
		case EM_SET_DIFFERENCE:
			k = m - less;
			break;
		default:
			k = m + l - 2 * less;
			break;
		}
		while (k-- != 0)
			to[n++] = x;
	}
	return n;
}

static em_status make_union(flow_case *t, em_stream **out, em_stream *const *in)
{
	return set(t, out, in, EM_SET_UNION);
}

static size_t model_union(const node_input *a, const node_input *b, uint64_t *to)
{
	return model_set(a, b, to, EM_SET_UNION);
}

static em_status make_intersection(flow_case *t, em_stream **out, em_stream *const *in)
{
	return set(t, out, in, EM_SET_INTERSECTION);
}

static size_t model_intersection(const node_input *a, const node_input *b, uint64_t *to)
{
	return model_set(a, b, to, EM_SET_INTERSECTION);
}

static em_status make_difference(flow_case *t, em_stream **out, em_stream *const *in)
{
	return set(t, out, in, EM_SET_DIFFERENCE);
}

static size_t model_difference(const node_input *a, const node_input *b, uint64_t *to)
{
	return model_set(a, b, to, EM_SET_DIFFERENCE);
}

static em_status make_symmetric(flow_case *t, em_stream **out, em_stream *const *in)
{
	return set(t, out, in, EM_SET_SYMMETRIC);
}

static size_t model_symmetric(const node_input *a, const node_input *b, uint64_t *to)
{
	return model_set(a, b, to, EM_SET_SYMMETRIC);
}

static em_status join(flow_case *t, em_stream **out, em_stream *const *in, uint32_t kind, em_join_fn fn)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_join_opts o = EM_JOIN_OPTS_INIT;

	o.kind = kind;
	o.left = o.right = &key;
	o.nkeys = 1;
	o.fn = fn;
	o.record_bytes = fn != NULL ? 16 : 0;
	return em_stream_join(out, in[0], in[1], &o, &t->err);
}

/* Nested loops. */
static size_t model_join(const node_input *a, const node_input *b, uint64_t *to, uint32_t kind)
{
	size_t i = 0, k = 0, n = 0;

	while (i < a->n || k < b->n) {
		const uint64_t x = i == a->n ? b->x[k] : k == b->n || a->x[i] < b->x[k] ? a->x[i] : b->x[k];
		const size_t m = times(a, x), l = times(b, x);
		size_t p;

		if (kind == EM_JOIN_SEMI || kind == EM_JOIN_ANTI) {
			for (p = 0; p < m && (l != 0) == (kind == EM_JOIN_SEMI); p++)
				to[n++] = x;
		} else {
			for (p = 0; p < m * l; p++) {
				to[n++] = x;
				to[n++] = x;
			}
			for (p = 0; l == 0 && p < m && kind != EM_JOIN_INNER; p++) {
				to[n++] = x;
				to[n++] = 0;
			}
			for (p = 0; m == 0 && p < l && kind == EM_JOIN_FULL; p++) {
				to[n++] = 0;
				to[n++] = x;
			}
		}
		i += m;
		k += l;
	}
	return n;
}

static em_status make_inner(flow_case *t, em_stream **out, em_stream *const *in)
{
	return join(t, out, in, EM_JOIN_INNER, NULL);
}

static size_t model_inner(const node_input *a, const node_input *b, uint64_t *to)
{
	return model_join(a, b, to, EM_JOIN_INNER);
}

static em_status make_left(flow_case *t, em_stream **out, em_stream *const *in)
{
	return join(t, out, in, EM_JOIN_LEFT, NULL);
}

static size_t model_left(const node_input *a, const node_input *b, uint64_t *to)
{
	return model_join(a, b, to, EM_JOIN_LEFT);
}

static em_status make_full(flow_case *t, em_stream **out, em_stream *const *in)
{
	return join(t, out, in, EM_JOIN_FULL, NULL);
}

static size_t model_full(const node_input *a, const node_input *b, uint64_t *to)
{
	return model_join(a, b, to, EM_JOIN_FULL);
}

static em_status make_semi(flow_case *t, em_stream **out, em_stream *const *in)
{
	return join(t, out, in, EM_JOIN_SEMI, NULL);
}

static size_t model_semi(const node_input *a, const node_input *b, uint64_t *to)
{
	return model_join(a, b, to, EM_JOIN_SEMI);
}

static em_status make_anti(flow_case *t, em_stream **out, em_stream *const *in)
{
	return join(t, out, in, EM_JOIN_ANTI, NULL);
}

static size_t model_anti(const node_input *a, const node_input *b, uint64_t *to)
{
	return model_join(a, b, to, EM_JOIN_ANTI);
}

static int put_pair(void *user, const void *left, const void *right, void *to)
{
	uint64_t *y = to;

	(void)user;
	y[0] = left != NULL ? *(const uint64_t *)left : 0;
	y[1] = right != NULL ? *(const uint64_t *)right : 0;
	return fails();
}

static em_status make_join_fn(flow_case *t, em_stream **out, em_stream *const *in)
{
	return join(t, out, in, EM_JOIN_FULL, put_pair);
}

static em_status make_sums(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_prefix_sum(out, in[0], 0, EM_KEY_U64, &t->err);
}

static size_t model_sums(const node_input *a, const node_input *b, uint64_t *to)
{
	uint64_t sum = 0;
	size_t i;

	(void)b;
	for (i = 0; i < a->n; i++)
		to[i] = sum += a->x[i];
	return a->n;
}

static size_t windows(const node_input *a, uint64_t *to, size_t width, size_t step)
{
	size_t i, n = 0;

	for (i = 0; i + width <= a->n; i += step) {
		memcpy(to + n, a->x + i, width * 8);
		n += width;
	}
	return n;
}

static em_status make_slide(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_window(out, in[0], 5, 1, &t->err);
}

static size_t model_slide(const node_input *a, const node_input *b, uint64_t *to)
{
	(void)b;
	return windows(a, to, 5, 1);
}

static em_status make_jump(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_window(out, in[0], 2, 7, &t->err);
}

static size_t model_jump(const node_input *a, const node_input *b, uint64_t *to)
{
	(void)b;
	return windows(a, to, 2, 7);
}

/* A second node on the outputs of a tee. */
static em_status on_tee(flow_case *t, em_stream **out, em_stream *const *in, const em_tee_opts *o,
			em_status (*make)(em_stream **out, em_stream *const *in, uint32_t n, em_errinfo *err))
{
	em_stream *both[2];
	em_status st = em_stream_tee(both, 2, in[0], o, &t->err);

	if (st != EM_OK)
		return st;
	st = make(out, both, 2, &t->err);
	if (st == EM_OK)
		return st;
	em_stream_close(both[0]);
	em_stream_close(both[1]);
	return EM_END; /* the input is gone */
}

static em_status make_tee_zip(flow_case *t, em_stream **out, em_stream *const *in)
{
	return on_tee(t, out, in, NULL, em_stream_zip);
}

static size_t model_tee_zip(const node_input *a, const node_input *b, uint64_t *to)
{
	size_t i;

	(void)b;
	for (i = 0; i < a->n; i++)
		to[2 * i] = to[2 * i + 1] = a->x[i];
	return 2 * a->n;
}

static em_status make_tee_concat(flow_case *t, em_stream **out, em_stream *const *in)
{
	em_tee_opts o = EM_TEE_OPTS_INIT;

	o.flags = EM_TEE_SPILL;
	o.buffer_bytes = 64;
	return on_tee(t, out, in, &o, em_stream_concat);
}

static size_t model_tee_concat(const node_input *a, const node_input *b, uint64_t *to)
{
	(void)b;
	return model_concat(a, a, to);
}

static em_status make_reverse(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_reverse(out, in[0], 0, &t->err);
}

static size_t model_reverse(const node_input *a, const node_input *b, uint64_t *to)
{
	size_t i;

	(void)b;
	for (i = 0; i < a->n; i++)
		to[i] = a->x[a->n - 1 - i];
	return a->n;
}

static em_status make_parallel(flow_case *t, em_stream **out, em_stream *const *in)
{
	return em_stream_parallel_map(out, in[0], 16, widen_anywhere, NULL, NULL, 0, &t->err);
}

#define CASE(name, inputs, sorted, calls) { #name, inputs, sorted, make_##name, model_##name, calls }
const node_case node_cases[] = {
	CASE(map, 1, 0, 1),
	CASE(wide, 1, 0, 1),
	CASE(filter, 1, 0, 1),
	{ "inspect", 1, 0, make_inspect, model_same, 1 },
	CASE(flat, 1, 0, 1),
	CASE(transform, 2, 0, 1),
	CASE(concat, 2, 0, 0),
	CASE(zip, 2, 0, 0),
	CASE(slice, 1, 0, 0),
	CASE(skip, 1, 0, 0),
	CASE(merge, 2, 1, 0),
	CASE(sort, 1, 0, 0),
	CASE(unique, 1, 1, 0),
	CASE(counts, 1, 1, 0),
	CASE(reduce, 1, 1, 1),
	CASE(union, 2, 1, 0),
	CASE(intersection, 2, 1, 0),
	CASE(difference, 2, 1, 0),
	CASE(symmetric, 2, 1, 0),
	CASE(inner, 2, 1, 0),
	CASE(left, 2, 1, 0),
	CASE(full, 2, 1, 0),
	CASE(semi, 2, 1, 0),
	CASE(anti, 2, 1, 0),
	{ "join by a function", 2, 1, make_join_fn, model_full, 1 },
	CASE(sums, 1, 0, 0),
	CASE(slide, 1, 0, 0),
	CASE(jump, 1, 0, 0),
	{ "parallel map", 1, 0, make_parallel, model_wide, 1 },
	CASE(reverse, 1, 0, 0),
	CASE(tee_zip, 1, 0, 0),
	CASE(tee_concat, 1, 0, 0),
};
const size_t node_cases_n = sizeof node_cases / sizeof node_cases[0];
