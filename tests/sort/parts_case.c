/* SPDX-License-Identifier: BSL-1.0 */
/* parts_case.c -- see parts_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "sort/parts_case.h"

em_ctx *parts_ctx(uint64_t memory, uint32_t threads, int32_t direct)
{
	em_ctx_opts o = sort_ctx_opts();

	o.memory = memory;
	o.threads = threads;
	o.direct = direct;
	return sort_ctx(&o);
}

void parts_add_line(lines *l, test_rng *rng, size_t n, unsigned few)
{
	unsigned char line[1024], *p = n <= sizeof(line) ? line : malloc(n);
	size_t i;

	assert_non_null(p);
	for (i = 0; i < n; i++)
		p[i] = (unsigned char)(i % 9 == 8 ? ' ' : '0' + (i < few ? test_below(rng, 10) : 3));
	lines_add(l, p, n);
	if (p != line)
		free(p);
}

void parts_add_lines(lines *l, test_rng *rng, size_t bytes, size_t most, unsigned few)
{
	size_t sum = 0;

	while (sum < bytes) {
		size_t n = (size_t)test_below(rng, 2 * PARTS_LINE);

		if (most != 0 && test_below(rng, 500) == 0)
			n = (size_t)test_below(rng, most);
		parts_add_line(l, rng, n, few);
		sum += n + 1;
	}
}
