/* SPDX-License-Identifier: BSL-1.0 */
/* sorted_memory.c -- see sorted_memory.h. */
#include "sort/sorted_memory.h"

#include <string.h>

/* All that there is was in hand from the beginning. */
static em_status next(emi_sorted_source *s, em_errinfo *err)
{
	(void)s;
	(void)err;
	return EM_END;
}

static void forget(emi_sorted_source *s)
{
	memset(s, 0, sizeof *s);
}

void emi_sorted_memory_open(emi_sorted_memory *m, const void *records, size_t n, size_t record_bytes)
{
	static const emi_sorted_ops ops = { next, forget };

	memset(m, 0, sizeof *m);
	m->source.ops = &ops;
	if (n == 0)
		return;
	m->source.at = records;
	m->source.end = m->source.at + n * record_bytes;
}
