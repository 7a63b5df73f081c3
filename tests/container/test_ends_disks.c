/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_ends_disks.c -- stacks, queues and deques, and what they are on: blocks lie where they should, several are
 * written at a time, and a block that is damaged is told of and leaves all others as they are.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/placement.h>

#include "container/ends_case.h"
#include "container/held.h"
#include "container/public_ends.h"

enum { B = 4096, PER_BLOCK = 512, BLOCKS = 60, DISKS = FIXTURE_DISKS };

static emi_end pop_end(const ends_case *t)
{
	return t->kind == EMI_STACK ? EMI_BACK : EMI_FRONT;
}

static const emi_ends *inside(const ends_case *t)
{
	return ((emi_container *)t->object)->ends;
}

/* Count what each disk writes. */
static void count_writes(ends_case *t)
{
	int d;

	for (d = 0; d < DISKS; d++)
		em_fault_set(&t->f.fault[d], EM_FAULT_WRITE, 0, 0);
}

/* Every third block, and twice as many, are on one of two. */
static uint32_t thirds(void *user, uint64_t i, uint32_t disks)
{
	(void)user;
	(void)disks;
	return i % 3 == 0 ? 2 : 1;
}

static void place(em_placement *p, int which)
{
	static const uint32_t kinds[] = { EM_PLACE_STRIPING, EM_PLACE_SIMPLE, EM_PLACE_CYCLING, EM_PLACE_RANDOM,
					  EM_PLACE_SINGLE };

	if (which == 5)
		assert_int_equal(em_placement_own(p, DISKS, thirds, NULL), EM_OK);
	else
		assert_int_equal(em_placement_init(p, kinds[which], DISKS, which == 0 || which == 4, 7, 3), EM_OK);
}

/* The blocks that were written are where the placement has the first, the second, ... */
static void check_places(const ends_case *t, const em_placement *p, emi_end end)
{
	const emi_ends *e = inside(t);
	uint64_t i, on[DISKS] = { 0 };
	int d;

	assert_true(e->disks >= BLOCKS - 10);
	for (i = 0; i < e->disks; i++) {
		const uint64_t block = e->fronts + (end == EMI_BACK ? i : e->disks - 1 - i);
		const uint32_t disk = em_placement_disk(p, i);

		assert_int_equal(emi_ends_at(e, block)->bid.disk, disk);
		on[disk]++;
	}
	for (d = 0; d < DISKS; d++)
		assert_int_equal(t->f.fault[d].count, on[d]);
}

/* A placement says on which disk a block lies; without one they are spread evenly. */
static void test_placement(void **state)
{
	int kind, which, side;

	(void)state;
	for (which = 0; which < 7; which++) {
		for (kind = 0; kind < 3; kind++) {
			for (side = 0; side < (kind == EMI_DEQUE ? 2 : 1); side++) {
				const emi_end end = side == 0 ? EMI_BACK : EMI_FRONT;
				em_placement p;
				ends_case t;
				int d;

				ends_case_open(&t, (emi_ends_kind)kind, em_backend_find("memory"), DISKS, 8,
					       BLOCKS * PER_BLOCK, 4);
				if (which < 6)
					place(&p, which);
				t.opts.placement = which < 6 ? &p : NULL;
				ends_case_make(&t);
				count_writes(&t);
				assert_ends_ok(&t, ends_case_push(&t, end, BLOCKS * PER_BLOCK));
				/* The last one is on its way. */
				assert_int_equal(emi_block_pool_flush(&((emi_container *)t.object)->ends->own, NULL),
						 EM_OK);
				if (which < 6)
					check_places(&t, &p, end);
				for (d = 0; which == 6 && d < DISKS; d++)
					assert_true(t.f.fault[d].count >= (BLOCKS - 10) / DISKS);
				/* It is a copy that the container has. */
				memset(&p, 0, sizeof p);
				ends_case_drain(&t, pop_end(&t));
				assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, BLOCKS * PER_BLOCK));
				ends_case_drain(&t, pop_end(&t));
				ends_case_close(&t);
			}
		}
	}
}

/* Whoever pushes many has several writes under way, and waits for one of them only when there is no buffer left. */
static void test_writes_together(void **state)
{
	enum { MANY = 400, WRITE_BUFFERS = 24 };
	int kind, side;

	(void)state;
	for (kind = 0; kind < 3; kind++) {
		for (side = 0; side < (kind == EMI_DEQUE ? 2 : 1); side++) {
			double average;
			uint64_t writes;
			ends_case t;
			held h;

			held_init(&h, em_backend_find("memory"));
			ends_case_open(&t, (emi_ends_kind)kind, &h.backend, 1, 8, MANY * PER_BLOCK, 4);
			t.opts.write_buffers = WRITE_BUFFERS;
			t.opts.memory_bytes += (WRITE_BUFFERS - 1) * B;
			ends_case_make(&t);
			(void)held_average_writes(&h, NULL);
			assert_ends_ok(&t, ends_case_push(&t, side == 0 ? EMI_BACK : EMI_FRONT, MANY * PER_BLOCK));
			average = held_average_writes(&h, &writes);
			print_message("%.1f of %u writes together\n", average, (unsigned)writes);
			assert_true(average >= WRITE_BUFFERS / 2);
			assert_true(writes + WRITE_BUFFERS >= ends_case_stats(&t).writes);
			assert_true(writes <= ends_case_stats(&t).writes);
			ends_case_drain(&t, pop_end(&t));
			ends_case_close(&t);
			held_end(&h);
		}
	}
}

/* A file that ends before what is read, if it is to. */
static struct cut {
	const em_backend *inner;
	int is;
} cut;

static int64_t read_cut(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	return cut.is ? 0 : cut.inner->read(handle, buf, bytes, offset);
}

static void expect_damage(ends_case *t, em_status st)
{
	em_errinfo err;

	assert_int_equal(st, EM_ERR_CORRUPT);
	ends_case_error(t, &err);
	assert_int_equal(err.status, EM_ERR_CORRUPT);
	assert_non_null(strstr(err.text, "damaged"));
}

/* Records between the ends, and a reader that passes through them. */
static void look_at_damage(ends_case *t)
{
	const em_batch *batch;
	em_deque_reader *r;
	em_errinfo err;
	em_status st;

	expect_damage(t, em_deque_get(t->object, t->n / 2, t->buf));
	expect_damage(t, em_deque_set(t->object, t->n / 2, t->buf));
	assert_ends_ok(t, em_deque_reader_open(&r, t->object, NULL));
	while ((st = em_deque_reader_next(r, &batch)) == EM_OK)
		;
	assert_int_equal(st, EM_ERR_CORRUPT);
	assert_null(batch);
	em_deque_reader_error(r, &err);
	assert_non_null(strstr(err.text, "damaged"));
	/* It stays where it is. */
	assert_int_equal(em_deque_reader_next(r, &batch), EM_ERR_CORRUPT);
	em_deque_reader_close(r);
}

/* Blocks that somebody has cut off: who needs one is told, nothing leaves, and pushing goes on. */
static void test_damage(void **state)
{
	em_backend bare = *em_backend_find("memory");
	int kind;

	(void)state;
	cut.inner = em_backend_find("memory");
	bare.read = read_cut;
	for (kind = 0; kind < 3; kind++) {
		uint64_t n;
		em_status st = EM_OK;
		ends_case t;

		ends_case_open(&t, (emi_ends_kind)kind, &bare, 1, 8, 2 * BLOCKS * PER_BLOCK, 4);
		ends_case_make(&t);
		assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, BLOCKS * PER_BLOCK));
		cut.is = 1;
		if (kind == EMI_DEQUE)
			look_at_damage(&t);
		while (st == EM_OK)
			st = ends_case_pop(&t, pop_end(&t), 1);
		expect_damage(&t, st);
		n = t.n;
		assert_true(n >= (BLOCKS - 6) * PER_BLOCK && n % PER_BLOCK == (kind == EMI_DEQUE ? PER_BLOCK / 2 : 0));
		expect_damage(&t, ends_case_pop(&t, pop_end(&t), 1000));
		expect_damage(&t, ends_case_peek(&t, pop_end(&t)));
		assert_int_equal(t.n, n);
		assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, 8 * PER_BLOCK));
		cut.is = 0;
		ends_case_drain(&t, pop_end(&t));
		/* And what is damaged can be forgotten. */
		assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, BLOCKS * PER_BLOCK));
		cut.is = 1;
		assert_ends_ok(&t, ends_case_clear(&t));
		assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, 2 * PER_BLOCK));
		ends_case_drain(&t, pop_end(&t));
		cut.is = 0;
		ends_case_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_placement),
		cmocka_unit_test(test_writes_together),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
