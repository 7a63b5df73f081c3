/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_placement.c -- where the blocks of sequences go.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <extmem/sys/placement.h>
#include "common/test.h"

static const uint32_t sizes[] = {1, 2, 3, 7, 8, 100, EM_DISKS_MAX};

#define SIZES (sizeof sizes / sizeof *sizes)

static void test_striping(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_placement p;
	size_t s;
	int round;

	(void)state;
	for (s = 0; s < SIZES; s++) {
		const uint32_t disks = sizes[s], first = (uint32_t)test_below(&rng, disks);

		assert_int_equal(em_placement_init(&p, EM_PLACE_STRIPING, disks, first, 1, 2), EM_OK);
		for (round = 0; round < 100; round++) {
			const uint64_t i = test_random(&rng);

			assert_int_equal(em_placement_disk(&p, i), (i % disks + first) % disks);
		}
		assert_int_equal(em_placement_init(&p, EM_PLACE_SINGLE, disks, first, 1, 2), EM_OK);
		assert_int_equal(em_placement_disk(&p, test_random(&rng)), first);
	}
}

/* Any D blocks in a row are on D disks, and in the same order again and again. */
static void test_cycles(void **state)
{
	static const uint32_t kinds[] = {EM_PLACE_STRIPING, EM_PLACE_SIMPLE, EM_PLACE_CYCLING};
	em_placement p, again;
	size_t s, k;
	uint64_t i;

	(void)state;
	for (s = 0; s < SIZES; s++) {
		for (k = 0; k < 3; k++) {
			char seen[EM_DISKS_MAX] = {0};

			assert_int_equal(em_placement_init(&p, kinds[k], sizes[s], 0, 17, 5), EM_OK);
			assert_int_equal(em_placement_init(&again, kinds[k], sizes[s], 0, 17, 5), EM_OK);
			for (i = 0; i < sizes[s]; i++) {
				const uint32_t d = em_placement_disk(&p, i);

				assert_in_range(d, 0, sizes[s] - 1);
				assert_false(seen[d]);
				seen[d] = 1;
				assert_int_equal(em_placement_disk(&p, i + 1000 * (uint64_t)sizes[s]), d);
				assert_int_equal(em_placement_disk(&again, i), d);
			}
		}
	}
}

/* Chi-square with 7 degrees of freedom: beyond 40 once in a million. */
static void assert_even(const unsigned *count, unsigned n)
{
	const double each = n / 8.0;
	double chi = 0;
	unsigned d;

	for (d = 0; d < 8; d++)
		chi += (count[d] - each) * (count[d] - each) / each;
	assert_true(chi < 40);
}

/* The disk of a block is anyone's, for sequences of a fixed seed and for blocks of one sequence. */
static void test_random_kinds(void **state)
{
	static const uint32_t kinds[] = {EM_PLACE_SIMPLE, EM_PLACE_CYCLING, EM_PLACE_RANDOM};
	unsigned count[8], pairs[8], i;
	em_placement p;
	size_t k;

	(void)state;
	for (k = 0; k < 3; k++) {
		unsigned d;

		for (d = 0; d < 8; d++)
			count[d] = pairs[d] = 0;
		for (i = 0; i < 8000; i++) {
			assert_int_equal(em_placement_init(&p, kinds[k], 8, 0, 1, i), EM_OK);
			count[em_placement_disk(&p, 3)]++;
			/* From one block to the next, too, but that simple random ones go round and cycles never
			 * stay. */
			pairs[(em_placement_disk(&p, 4) + 8 - em_placement_disk(&p, 3)) % 8]++;
		}
		assert_even(count, 8000);
		if (kinds[k] == EM_PLACE_SIMPLE)
			assert_int_equal(pairs[1], 8000);
		else if (kinds[k] == EM_PLACE_CYCLING)
			assert_int_equal(pairs[0], 0);
		else
			assert_even(pairs, 8000);
	}
	for (i = 0; i < 8; i++)
		count[i] = 0;
	assert_int_equal(em_placement_init(&p, EM_PLACE_RANDOM, 8, 0, 1, 0), EM_OK);
	for (i = 0; i < 8000; i++)
		count[em_placement_disk(&p, i)]++;
	assert_even(count, 8000);
}

static uint32_t by_square(void *user, uint64_t i, uint32_t disks)
{
	assert_int_equal(disks, 5);
	return (uint32_t)(i * i + *(uint32_t *)user);
}

static void test_own(void **state)
{
	uint32_t offset = 2;
	em_placement p;
	uint64_t i;

	(void)state;
	assert_int_equal(em_placement_own(&p, 5, by_square, &offset), EM_OK);
	for (i = 0; i < 20; i++)
		assert_int_equal(em_placement_disk(&p, i), (i * i + 2) % 5);
}

/* Each list is striped from its own disk on, and a block of each together are as even as can be. */
static void test_interleaved(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	size_t s;
	int round;

	(void)state;
	for (s = 0; s < SIZES; s++) {
		for (round = 0; round < 100; round++) {
			const uint32_t disks = sizes[s], first = (uint32_t)test_below(&rng, disks);
			const uint32_t n = round % 2 ? 1 + (uint32_t)test_below(&rng, 40)
						     : disks * (1 + (uint32_t)test_below(&rng, 3));
			const uint64_t turn = round < 4 ? (uint64_t)round : test_random(&rng) / n - 1;
			unsigned count[EM_DISKS_MAX] = {0};
			em_placement p, list;
			uint32_t j;

			assert_int_equal(em_placement_interleaved(&p, disks, first, n), EM_OK);
			for (j = 0; j < n; j++) {
				const uint32_t d = em_placement_disk(&p, turn * n + j);

				assert_int_equal(
					em_placement_init(&list, EM_PLACE_STRIPING, disks, (first + j) % disks, 0, 0),
					EM_OK);
				assert_int_equal(d, em_placement_disk(&list, turn));
				count[d]++;
			}
			for (j = 0; j < disks; j++)
				assert_in_range(count[j], n / disks, (n + disks - 1) / disks);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_striping),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_random_kinds),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_interleaved),
	};

	return cmocka_run_group_tests_name("block/placement", tests, NULL, NULL);
}
