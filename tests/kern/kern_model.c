/* SPDX-License-Identifier: BSL-1.0 */
/* kern_model.c -- what the tests of the block kernels compare against; see kern_model.h. */
#include "kern_model.h"

#include <stdlib.h>
#include <string.h>

const char *const model_pattern_names[P_COUNT] = {
	"random", "equal", "few", "sorted", "reversed", "nearly sorted", "organ pipe", "ends",
	"low bits", "high bits", "both ends of key", "skewed", "outliers", "magnitudes", "clusters", "zipf", "one bit",
	"round robin", "bits reversed"
};

const char *const model_isas[] = { "scalar", "avx2", "avx512", NULL };

/* Any number, the same for the same number. */
static uint64_t scramble(uint64_t x)
{
	test_rng rng = { x };

	return test_random(&rng);
}

static uint64_t bits_reversed(uint64_t x, unsigned bits)
{
	uint64_t y = 0;
	unsigned i;

	for (i = 0; i < bits; i++)
		y |= (x >> i & 1) << (bits - 1 - i);
	return y;
}

static uint64_t key_of_pattern(test_rng *rng, model_pattern how, unsigned bits, uint64_t i, uint64_t n)
{
	const uint64_t r = test_random(rng), max = UINT64_MAX >> (64 - bits);

	switch (how) {
	case P_FEW:
		return r % 5 * (max / 5);
	case P_SORTED:
		return i * (max / (n + 1));
	case P_REVERSED:
		return max - i * (max / (n + 1));
	case P_NEARLY_SORTED:
		return r % 50 == 0 ? r & max : i * (max / (n + 1));
	case P_ORGAN_PIPE:
		return i < n / 2 ? i : n - i;
	case P_ENDS:
		return (r & 3) - 2;
	case P_LOW_BITS:
		return 0x5a5a5a5a5a5a5a00u | (r & 255);
	case P_HIGH_BITS:
		return r << (bits - 9);
	case P_BOTH_ENDS_OF_KEY:
		return (r & 7) | r >> 60 << (bits - 4);
	case P_SKEWED:
		return r % 20 != 0 ? max / 3 : test_random(rng);
	case P_OUTLIERS:
		return r % 1000 == 0 ? test_random(rng) : r % (4 * n + 1);
	case P_MAGNITUDES:
		return (test_random(rng) & max) >> r % bits;
	case P_CLUSTERS:
		return (r % 3 << (bits - 7)) | (test_random(rng) & (max >> bits / 2));
	case P_ZIPF:
		/* Ranks up to a million: the logarithm is evenly spread. */
		return scramble(test_below(rng, (uint64_t)2 << r % 20));
	case P_ONE_BIT:
		return scramble(7) ^ (r % 3 != 0 ? (uint64_t)1 << (test_random(rng) % bits) : 0);
	case P_ROUND_ROBIN:
		return (i % 512 << (bits - 9)) | (r & 255);
	case P_BITS_REVERSED:
		return bits_reversed(i, bits);
	case P_EQUAL:
		return 42;
	default:
		return r;
	}
}

void model_keys(test_rng *rng, model_pattern how, emi_elem elem, emi_pair *p, size_t n)
{
	const unsigned bits = elem == EMI_ELEM_U32 ? 32 : 64;
	size_t i;

	for (i = 0; i < n; i++) {
		p[i].key = key_of_pattern(rng, how, bits, i, n) & (UINT64_MAX >> (64 - bits));
		p[i].val = i;
	}
}

const char *model_elem_name(emi_elem elem)
{
	return elem == EMI_ELEM_U32 ? "u32" : elem == EMI_ELEM_U64 ? "u64" : "pair";
}

void model_put(emi_elem elem, void *a, size_t i, const emi_pair *p)
{
	if (elem == EMI_ELEM_U32)
		((uint32_t *)a)[i] = (uint32_t)p->key;
	else if (elem == EMI_ELEM_U64)
		((uint64_t *)a)[i] = p->key;
	else
		((emi_pair *)a)[i] = *p;
}

emi_pair model_get(emi_elem elem, const void *a, size_t i)
{
	emi_pair p = { 0, 0 };

	if (elem == EMI_ELEM_U32)
		p.key = ((const uint32_t *)a)[i];
	else if (elem == EMI_ELEM_U64)
		p.key = ((const uint64_t *)a)[i];
	else
		p = ((const emi_pair *)a)[i];
	return p;
}

uint64_t model_val(uint64_t rank, uint64_t i)
{
	return rank << 32 | i;
}

size_t model_digit(uint64_t key, const emi_digit *d)
{
	const uint64_t digit = d->clamps && key < d->base ? 0 : (key - (d->clamps ? d->base : 0)) >> d->shift;

	if (!d->clamps)
		return (size_t)digit & (((size_t)1 << d->bits) - 1);
	return digit >> d->bits != 0 ? ((size_t)1 << d->bits) - 1 : (size_t)digit;
}

int model_tie(void *arg, uint64_t a, uint64_t b)
{
	uint64_t *calls = arg;

	if (calls != NULL)
		++*calls;
	a >>= 32;
	b >>= 32;
	return a < b ? -7 : a > b ? 7 : 0;
}

static int model_after(const emi_pair *a, const emi_pair *b, emi_tie_fn tie)
{
	if (a->key != b->key)
		return a->key > b->key;
	return tie != NULL && tie(NULL, a->val, b->val) > 0;
}

void model_sort(emi_pair *p, emi_pair *tmp, size_t n, emi_tie_fn tie)
{
	const size_t half = n / 2;
	size_t i = 0, j = half, k = 0;

	if (n < 2)
		return;
	model_sort(p, tmp, half, tie);
	model_sort(p + half, tmp, n - half, tie);
	while (i < half || j < n)
		if (j == n || (i < half && !model_after(&p[i], &p[j], tie)))
			tmp[k++] = p[i++];
		else
			tmp[k++] = p[j++];
	memcpy(p, tmp, n * sizeof *p);
}

int model_by_all(const void *a, const void *b)
{
	const emi_pair *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->val < y->val ? -1 : x->val > y->val;
}

static int liar_random(void *arg, uint64_t a, uint64_t b)
{
	(void)a, (void)b;
	return (int)(test_random(arg) % 3) - 1;
}

static int liar_less(void *arg, uint64_t a, uint64_t b)
{
	(void)arg, (void)a, (void)b;
	return -1;
}

static int liar_greater(void *arg, uint64_t a, uint64_t b)
{
	(void)arg, (void)a, (void)b;
	return 1;
}

static int liar_circular(void *arg, uint64_t a, uint64_t b)
{
	(void)arg;
	return (int)((a - b) % 3) - 1;
}

const emi_tie_fn model_liars[MODEL_LIARS] = { liar_random, liar_less, liar_greater, liar_circular };

int model_is_sorted_permutation(emi_elem elem, const void *a, const emi_pair *p, size_t n, unsigned char *marks)
{
	size_t i, j;
	uint64_t last = 0;

	for (i = 0; i < n; i++) {
		const emi_pair e = model_get(elem, a, i);

		j = (uint32_t)e.val;
		if (e.key < last || j >= n || marks[j] != 0 || p[j].key != e.key || p[j].val != e.val)
			return 0;
		marks[j] = 1;
		last = e.key;
	}
	return 1;
}

void *model_work(void)
{
	enum { GUARD = 64, BYTE = 0xa5 };
	static __attribute__((aligned(4096))) unsigned char room[EMI_KERN_WORK + GUARD];
	static int used;
	size_t i;

	for (i = 0; used && i < GUARD; i++)
		if (room[EMI_KERN_WORK + i] != BYTE)
			abort();
	memset(used ? room + EMI_KERN_WORK - 256 : room, BYTE, used ? 256 : sizeof room);
	used = 1;
	return room;
}
