/* SPDX-License-Identifier: BSL-1.0 */
/* subjects.c -- what subjects are made and used with; see subjects.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/subjects_case.h"
#include "common/test.h"

#define MIB ((uint64_t)1 << 20)

enum { MOST = 64 };
subject subjects[MOST];
size_t nsubjects;
em_errinfo subjects_err;
subjects_given given;
const uint64_t subjects_numbers[3] = { 3, 1, 2 };

/* All of them, but for those that the library makes. */
static size_t (*const parts[])(subject *s) = { subjects_io, subjects_blocks, subjects_sorts, subjects_containers,
					       subjects_streams };

subject subjects_make(const char *name, size_t first, em_status (*use)(void *theirs), int told)
{
	subject s;

	memset(&s, 0, sizeof s);
	s.name = name;
	s.first = first;
	s.use = use;
	s.told = told;
	return s;
}

int subjects_open(void **state)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	FILE *file;
	size_t i;

	(void)state;
	given.dir = test_dir_make();
	given.in = test_path(given.dir, "in");
	given.out = test_path(given.dir, "out");
	file = fopen(given.in, "wb");
	if (file == NULL || fwrite(subjects_numbers, sizeof subjects_numbers, 1, file) != 1 || fclose(file) != 0)
		return -1;
	o.memory = 32 * MIB;
	o.threads = 2;
	o.backend = "memory";
	if (em_ctx_open(&given.ctx, &o) != EM_OK || em_order_keys(&given.order, given.ctx, 8, &key, 1, NULL) != EM_OK ||
	    em_order_text(&given.by_line, given.ctx, NULL, 0, NULL, NULL) != EM_OK ||
	    em_disks_open(&given.disks, given.ctx, NULL) != EM_OK)
		return -1;
	nsubjects = 0;
	for (i = 0; i < sizeof parts / sizeof parts[0]; i++)
		nsubjects += parts[i](subjects + nsubjects);
	return nsubjects <= MOST ? 0 : -1;
}

int subjects_close(void **state)
{
	(void)state;
	em_disks_close(given.disks);
	em_order_close(given.order);
	em_order_close(given.by_line);
	em_ctx_close(given.ctx);
	free(given.in);
	free(given.out);
	test_dir_remove(given.dir);
	return 0;
}
