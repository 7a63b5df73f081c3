/* SPDX-License-Identifier: BSL-1.0 */
/* radix_heap_digits.c -- see radix_heap_digits.h. */
#include "container/radix_heap_digits.h"

#include <string.h>

/* x * y, or UINT64_MAX if that is more. */
static uint64_t times(uint64_t x, uint64_t y)
{
	return x != 0 && y > UINT64_MAX / x ? UINT64_MAX : x * y;
}

/* x + y, likewise. */
static uint64_t plus(uint64_t x, uint64_t y)
{
	return y > UINT64_MAX - x ? UINT64_MAX : x + y;
}

/* Is r^h more than c? */
static int exceeds(uint64_t r, uint32_t h, uint64_t c)
{
	uint64_t power = 1;

	for (;;) {
		if (h % 2 != 0 && __builtin_mul_overflow(power, r, &power))
			return 1;
		h /= 2;
		if (h == 0)
			return power > c;
		if (__builtin_mul_overflow(r, r, &r))
			return 1;
	}
}

void emi_radix_least(uint64_t c, uint32_t least[EMI_RADIX_LEVELS + 1])
{
	uint64_t high = UINT32_MAX;
	uint32_t h;

	least[0] = UINT32_MAX;
	for (h = 1; h <= EMI_RADIX_LEVELS; h++) {
		uint64_t low = 2;

		/* With many levels it is that of one less, or nearly. */
		while (high > low && h > 16 && exceeds(high - 1, h, c))
			high--;
		while (low < high && h <= 16) {
			const uint64_t middle = low + (high - low) / 2;

			if (exceeds(middle, h, c))
				high = middle;
			else
				low = middle + 1;
		}
		least[h] = (uint32_t)high;
	}
}

void emi_radix_digits_init(emi_radix_digits *d, uint32_t levels, uint32_t radix)
{
	uint64_t power = 1;
	uint32_t l, bits = 0;

	memset(d, 0, sizeof *d);
	d->levels = levels;
	d->radix = radix;
	d->shifts = (radix & (radix - 1)) == 0;
	while (d->shifts && radix >> bits != 1)
		bits++;
	for (l = 0; l <= levels; l++) {
		d->level[l].power = power;
		d->level[l].inverse = UINT64_MAX / power;
		d->level[l].shift = l * bits < 64 ? l * bits : 0;
		d->level[l].first = l * radix;
		power = times(power, radix);
	}
	emi_radix_refer(d, 0, levels);
}

void emi_radix_refer(emi_radix_digits *d, uint64_t reference, uint32_t level)
{
	uint32_t l;

	d->reference = reference;
	for (l = 0; l < level; l++) {
		/* Of level h the power may be too large to be known, and then all keys are below. */
		const uint64_t power = d->level[l + 1].power;
		const int all = power == UINT64_MAX;

		d->level[l].start = all ? 0 : reference - reference % power;
		d->level[l + 1].below = all ? UINT64_MAX : plus(d->level[l].start, power - 1);
	}
}

uint64_t emi_radix_last(const emi_radix_digits *d, uint32_t bucket)
{
	const uint32_t l = emi_radix_level_of(d, bucket);
	const emi_radix_level *level = &d->level[l];

	if (l == d->levels)
		return bucket == emi_radix_top_bucket(d, d->reference) ? level->below
								       : plus(level->below, level->power);
	return plus(level->start + (uint64_t)(bucket - level->first) * level->power, level->power - 1);
}
