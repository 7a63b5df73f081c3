/* SPDX-License-Identifier: BSL-1.0 */
/* runs_case.c -- see runs_case.h. */
#include "flow/runs_case.h"

static int by_key_val(const void *a, const void *b)
{
	const pair *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->val > y->val) - (x->val < y->val);
}

/* n records with keys below a bound, numbered in their order. */
pair *runs_pairs(flow_case *t, size_t n, uint64_t below)
{
	pair *p = malloc((n + 1) * sizeof *p);
	size_t i;

	assert_non_null(p);
	for (i = 0; i < n; i++) {
		p[i].key = test_below(&t->rng, below);
		p[i].val = i;
	}
	return p;
}

pair *runs_sorted(const pair *p, size_t n)
{
	pair *y = malloc((n + 1) * sizeof *y);

	assert_non_null(y);
	memcpy(y, p, n * sizeof *y);
	qsort(y, n, sizeof *y, by_key_val);
	return y;
}

void runs_assert(em_runs *r, em_status st)
{
	em_errinfo err;

	if (st == EM_OK)
		return;
	em_runs_error(r, &err);
	fail_msg("%s: %s", em_status_name(st), err.text);
}

/* Forming has little memory and small blocks, so that there are many runs. */
em_runs *runs_open(flow_case *t, em_order *order, const em_sort_opts *form, em_reduce_fn combine)
{
	em_runs_opts o = EM_RUNS_OPTS_INIT;
	em_runs *r;

	o.form = form;
	o.combine = combine;
	if (em_runs_open(&r, t->ctx, order, &o, &t->err) != EM_OK)
		fail_msg("%s", t->err.text);
	return r;
}

/* Give records in pieces: pushed, fed from a stream, or, where they are sorted, appended. */
void runs_give(flow_case *t, em_runs *r, const pair *p, size_t n, int sorted)
{
	size_t i, k;
	em_stream *in;
	feed f;

	for (i = 0; i < n; i += k) {
		k = 1 + (size_t)test_below(&t->rng, n / 3 + 1);
		k = k < n - i ? k : n - i;
		switch (test_below(&t->rng, 3)) {
		case 0:
			in = feed_open(&f, t, p + i, k, sizeof *p, 700);
			if (em_runs_feed(r, in, sorted ? EM_RUNS_SORTED : 0, &t->err) != EM_OK)
				fail_msg("%s", t->err.text);
			em_stream_close(in);
			break;
		case 1:
			if (sorted) {
				runs_assert(r, em_runs_append(r, p + i, k / 2));
				runs_assert(r, em_runs_append(r, p + i + k / 2, k - k / 2));
				if (test_below(&t->rng, 2) == 0)
					runs_assert(r, em_runs_end(r));
				break;
			}
			/* fall through */
		default:
			runs_assert(r, em_runs_push(r, p + i, k));
		}
	}
}

em_stream *runs_merge(flow_case *t, em_runs *r, const em_runs_merge_opts *o)
{
	em_stream *s;

	if (em_runs_merge(&s, r, o, &t->err) != EM_OK)
		fail_msg("%s", t->err.text);
	return s;
}

/* Pairs of equal keys become one: the number is their sum. */
int runs_add(void *user, void *sum, const void *records, size_t n)
{
	const pair *p = records;
	pair s;
	size_t i;

	if (user != NULL && --*(int *)user < 0)
		return 7;
	memcpy(&s, sum, sizeof s);
	for (i = 0; i < n; i++) {
		pair one;

		memcpy(&one, p + i, sizeof one);
		assert_int_equal(one.key, s.key);
		s.val += one.val;
	}
	memcpy(sum, &s, sizeof s);
	return 0;
}

size_t runs_combined(pair *y, size_t n)
{
	size_t i, m = 0;

	for (i = 0; i < n; i++)
		if (m != 0 && y[m - 1].key == y[i].key)
			y[m - 1].val += y[i].val;
		else
			y[m++] = y[i];
	return m;
}
