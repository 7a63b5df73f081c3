/* SPDX-License-Identifier: BSL-1.0 */
/* null_case.c -- see null_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/null_case.h"
#include "common/test.h"

#define MIB ((uint64_t)1 << 20)

em_ctx *null_ctx;
em_order *null_order;
em_disks *null_disks;
char *null_in, *null_out;
em_errinfo null_err;
const uint64_t null_numbers[3] = { 3, 1, 2 };

static char *dir;

void refused(em_status st, const char *argument)
{
	char says[64];

	assert_int_equal(st, EM_ERR_INVAL);
	assert_int_equal(null_err.status, EM_ERR_INVAL);
	snprintf(says, sizeof says, "%s is NULL", argument);
	if (strstr(null_err.text, says) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", null_err.text, says);
	memset(&null_err, 0x5a, sizeof null_err);
}

void told(em_status st, const char *argument, void (*error)(const void *object, em_errinfo *to), const void *object)
{
	memset(&null_err, 0x5a, sizeof null_err);
	error(object, &null_err);
	refused(st, argument);
}

int null_open(void **state)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	FILE *file;

	(void)state;
	dir = test_dir_make();
	null_in = test_path(dir, "in");
	null_out = test_path(dir, "out");
	file = fopen(null_in, "wb");
	if (file == NULL || fwrite(null_numbers, sizeof null_numbers, 1, file) != 1 || fclose(file) != 0)
		return -1;
	o.memory = 32 * MIB;
	o.threads = 1;
	return em_ctx_open(&null_ctx, &o) != EM_OK || em_order_keys(&null_order, null_ctx, 8, &key, 1, NULL) != EM_OK ||
	       em_disks_open(&null_disks, null_ctx, NULL) != EM_OK ? -1 : 0;
}

int null_close(void **state)
{
	(void)state;
	em_disks_close(null_disks);
	em_order_close(null_order);
	em_ctx_close(null_ctx);
	free(null_in);
	free(null_out);
	test_dir_remove(dir);
	return 0;
}
