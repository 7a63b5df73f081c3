/* SPDX-License-Identifier: BSL-1.0 */
/* sorted_list.c -- see sorted_list.h. */
#include "sort/sorted_list.h"

#include <string.h>

static em_status next(emi_sorted_source *s, em_errinfo *err)
{
	emi_sorted_list *l = (emi_sorted_list *)(void *)s;
	size_t n;
	const em_status st = emi_block_reader_next(l->in, &s->at, &n, err);

	s->end = st == EM_OK ? s->at + n * l->in->layout.record : s->at;
	return st;
}

static void close_source(emi_sorted_source *s)
{
	emi_sorted_list *l = (emi_sorted_list *)(void *)s;

	emi_block_reader_close(l->in);
	memset(l, 0, sizeof *l);
}

void emi_sorted_list_open(emi_sorted_list *l, emi_block_reader *in)
{
	static const emi_sorted_ops ops = { next, close_source };

	memset(l, 0, sizeof *l);
	l->source.ops = &ops;
	l->in = in;
}
