/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_first.c -- programs that were compiled against the first release go on.
 *
 * Each struct that begins with its size is used as such a program has it: with the size of the first release, in memory
 * that ends there, or, if the library fills it, with bytes behind it that must stay as they are.  One byte less is
 * EM_ERR_VERSION, as is 0, which is what a forgotten initialiser looks like; the message names the struct.
 *
 * scripts/check-growth.sh also compiles this test against the headers as they are, and runs it with a library in which
 * every struct has grown.  So it uses nothing of the library but what is public, and the table of first sizes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/subjects.h"

#define GUARD 0x99

/* Use a struct with a size, in memory of its first size, behind which nothing may be read or written. */
static em_status use(const subject *s, size_t size)
{
	unsigned char *theirs = malloc(s->first);
	const uint32_t told = (uint32_t)size;
	em_status st;

	assert_non_null(theirs);
	memcpy(theirs, s->u.bytes, s->first);
	memcpy(theirs, &told, sizeof told);
	/* What the detail holds before does not matter. */
	memset(&subjects_err, GUARD, sizeof subjects_err);
	st = s->use(theirs);
	if (st == EM_OK)
		assert_memory_equal(theirs, &told, sizeof told);
	free(theirs);
	return st;
}

static void test_first_size(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < nsubjects; i++) {
		const em_status st = use(&subjects[i], subjects[i].first);

		if (st != EM_OK)
			fail_msg("%s: %s: %s", subjects[i].name, em_status_name(st),
				 subjects[i].told ? subjects_err.text : "");
	}
}

static void test_no_initialiser(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < nsubjects; i++) {
		const size_t sizes[] = { 0, subjects[i].first - 1 };

		for (k = 0; k < 2; k++) {
			const em_status st = use(&subjects[i], sizes[k]);

			if (st != EM_ERR_VERSION)
				fail_msg("%s of %u bytes: %s", subjects[i].name, (unsigned)sizes[k],
					 em_status_name(st));
			/* Where the detail goes is said in the struct itself, which is believed if it was zeroed. */
			if (!subjects[i].told || (k == 1 && subjects_err.status != EM_ERR_VERSION))
				continue;
			assert_int_equal(subjects_err.status, EM_ERR_VERSION);
			if (strstr(subjects_err.text, subjects[i].name) == NULL)
				fail_msg("\"%s\" does not name %s", subjects_err.text, subjects[i].name);
		}
	}
}

/* What the library has no room for in a caller's struct stays as it was: bytes behind it are looked at here, and by
 * sanitizers above. */
static void test_behind(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < nsubjects; i++) {
		const uint32_t size = (uint32_t)subjects[i].first;
		const size_t bytes = sizeof subjects[i].u + 256;
		unsigned char *theirs = malloc(bytes);

		assert_non_null(theirs);
		memset(theirs, GUARD, bytes);
		memcpy(theirs, subjects[i].u.bytes, size);
		memcpy(theirs, &size, sizeof size);
		assert_int_equal(subjects[i].use(theirs), EM_OK);
		for (k = size; k < bytes; k++)
			if (theirs[k] != GUARD)
				fail_msg("%s: byte %u behind it was written", subjects[i].name, (unsigned)(k - size));
		free(theirs);
	}
}

static const em_backend *base;
static uint32_t asked;

static int own_open(void *user, em_backend_open *how)
{
	(void)user;
	asked = how->size;
	return base->open(base->user, how);
}

/* The other way round: what a caller's backend is asked has all that it knows. */
static void test_lent(void **state)
{
	em_backend be;

	(void)state;
	base = em_backend_find("syscall");
	be = *base;
	be.size = sizeof be;
	be.open = own_open;
	assert_int_equal(subject_backend(&be), EM_OK);
	assert_true(asked >= first_em_backend_open);
}

/* None was forgotten. */
static void test_all(void **state)
{
	static const char *const names[] = {
#define EM_FIRST(type, field) #type,
#include "base/structs.inc"
#undef EM_FIRST
	};
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		for (k = 0; k < nsubjects && strcmp(subjects[k].name, names[i]) != 0; k++)
			;
		if (k == nsubjects && strcmp(names[i], "em_backend_open") != 0)
			fail_msg("%s is not tested", names[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_size),
		cmocka_unit_test(test_no_initialiser),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_lent),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests_name("abi/first", tests, subjects_open, subjects_close);
}
