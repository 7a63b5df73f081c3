/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_buffers.c -- buffers side by side and alone: no two are the same, there are no more than may be, memory is
 * within what is told, and failures leave them as they were.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "block/buffers.h"
#include "block/fixture.h"

enum { MOST = 700 };

typedef struct owned {
	emi_buffers b;
	char *buf[MOST];
	unsigned char mark[MOST];
	uint32_t n;
} owned;

/* Its first and last bytes are its owner's. */
static void take(owned *o, unsigned char mark)
{
	char *buf = emi_buffers_take(&o->b, NULL);

	assert_non_null(buf);
	assert_int_equal((uintptr_t)buf % 4096, 0);
	memset(buf, mark, 64);
	buf[o->b.bytes - 1] = (char)mark;
	o->mark[o->n] = mark;
	o->buf[o->n++] = buf;
}

static void give(owned *o, uint32_t i)
{
	size_t k;

	for (k = 0; k < 64; k++)
		assert_int_equal((unsigned char)o->buf[i][k], o->mark[i]);
	assert_int_equal((unsigned char)o->buf[i][o->b.bytes - 1], o->mark[i]);
	emi_buffers_give(&o->b, o->buf[i]);
	o->buf[i] = o->buf[--o->n];
	o->mark[i] = o->mark[o->n];
}

static void give_all(owned *o)
{
	while (o->n != 0)
		give(o, o->n - 1);
}

/* Taken and given in any order, up to their most; of each size, also one that is not a part of a large page. */
static void test_any_order(void **state)
{
	static const size_t sizes[] = { 4096, 12288, 65536, 1 << 20, 3 << 20 };
	static const uint32_t mosts[] = { 1, 3, 5, 64, MOST };
	size_t i, k;
	int step;

	(void)state;
	for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (k = 0; k < sizeof mosts / sizeof *mosts; k++) {
			const uint32_t fit = (uint32_t)(((size_t)24 << 20) / sizes[i]),
				       most = mosts[k] < fit ? mosts[k] : fit;
			uint64_t before;
			owned o;
			fixture f;

			fixture_open(&f, "memory");
			before = em_ctx_memory_used(f.ctx);
			memset(&o, 0, sizeof o);
			emi_buffers_init(&o.b, f.ctx, sizes[i], most);
			for (step = 0; step < 3000; step++) {
				if (o.n < most && test_below(&f.rng, 100) < (step / 500 % 2 == 0 ? 60u : 40u))
					take(&o, (unsigned char)step);
				else if (o.n != 0)
					give(&o, (uint32_t)test_below(&f.rng, o.n));
				assert_true(em_ctx_memory_used(f.ctx) - before <= emi_buffers_memory(sizes[i], most));
			}
			while (o.n < most)
				take(&o, 7);
			if (o.b.most != 0)
				assert_null(emi_buffers_take(&o.b, &f.err));
			give_all(&o);
			emi_buffers_trim(&o.b);
			assert_int_equal(em_ctx_memory_used(f.ctx), before);
			take(&o, 9);
			give_all(&o);
			emi_buffers_close(&o.b);
			fixture_close(&f);
		}
	}
}

/* One who has few takes few. */
static void test_few(void **state)
{
	uint64_t before;
	owned o;
	fixture f;

	(void)state;
	fixture_open(&f, "memory");
	before = em_ctx_memory_used(f.ctx);
	memset(&o, 0, sizeof o);
	emi_buffers_init(&o.b, f.ctx, 65536, 64);
	take(&o, 1);
	take(&o, 2);
	assert_true(em_ctx_memory_used(f.ctx) - before <= 2 * 65536);
	give_all(&o);
	emi_buffers_close(&o.b);
	fixture_close(&f);
}

/* Where many at once cannot be had, fewer do; each allocation fails once. */
static void test_failures(void **state)
{
	uint64_t nth;
	int failed = 1;

	(void)state;
	for (nth = test_nth_after(0, 1); failed; nth = test_nth_after(nth, 1)) {
		uint32_t refused = 0;
		owned o;
		fixture f;

		fixture_open(&f, "memory");
		memset(&o, 0, sizeof o);
		emi_buffers_init(&o.b, f.ctx, 65536, 200);
		f.mem.fail_at = f.mem.calls + nth;
		while (o.n < 200) {
			char *buf = emi_buffers_take(&o.b, &f.err);

			if (buf == NULL) {
				assert_int_equal(f.err.status, EM_ERR_NOMEM);
				f.err.status = EM_OK;
				assert_int_equal(++refused, 1);
				continue;
			}
			memset(buf, 3, 64);
			buf[65535] = 3;
			o.mark[o.n] = 3;
			o.buf[o.n++] = buf;
		}
		failed = test_memory_failed(&f.mem);
		give_all(&o);
		emi_buffers_close(&o.b);
		fixture_close(&f);
	}
	assert_true(nth > 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
