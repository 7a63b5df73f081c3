/* SPDX-License-Identifier: BSL-1.0 */
/* fixture.c -- see fixture.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "cli/fixture.h"
#include "cli/run.h"
#include "common/test.h"

#define TMPFS_TYPE 0x01021994

/* Tests look at every line of what the command says, so they fail where it has a reason to warn. */
static void say_if_in_memory(const char *dir)
{
	static int said;
	struct statfs sb;

	if (!said && statfs(dir, &sb) == 0 && sb.f_type == TMPFS_TYPE)
		print_message("# %s is in memory, of which the command warns: some of these tests fail unless TMPDIR "
			      "is on a disk\n",
			      dir);
	said = 1;
}

int fixture_make(void **state)
{
	static const char *const names[FIXTURE_INPUTS] = { "in", "in1", "in2" };
	fixture *f = calloc(1, sizeof(*f));
	int i;

	assert_non_null(f);
	f->dir = test_dir_make();
	f->scratch = test_dir_make();
	say_if_in_memory(f->scratch);
	for (i = 0; i < FIXTURE_INPUTS; i++)
		f->in[i] = test_path(f->dir, names[i]);
	f->out = test_path(f->dir, "out");
	*state = f;
	return 0;
}

int fixture_free(void **state)
{
	fixture *f = *state;
	int i;

	assert_dir_empty(f->scratch);
	test_dir_remove(f->dir);
	test_dir_remove(f->scratch);
	for (i = 0; i < FIXTURE_INPUTS; i++)
		free(f->in[i]);
	free(f->out);
	free(f->records);
	free(f->sorted);
	free(f);
	return 0;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, FIXTURE_RECORD);
}

void fixture_add_records(fixture *f, size_t n)
{
	test_rng rng = test_rng_make(test_seed());

	f->bytes = n * FIXTURE_RECORD;
	f->records = malloc(f->bytes);
	f->sorted = malloc(f->bytes);
	assert_non_null(f->records);
	assert_non_null(f->sorted);
	test_fill(&rng, f->records, f->bytes);
	memcpy(f->sorted, f->records, f->bytes);
	qsort(f->sorted, n, FIXTURE_RECORD, compare);
	write_file(f->in[0], f->records, f->bytes);
}
