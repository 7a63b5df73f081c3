/* SPDX-License-Identifier: BSL-1.0 */
/*
 * installed.c -- a user's program: built against the installed library, with pkg-config alone.
 *
 * It sorts a few records, and has the version of the headers agree with that of the library.
 */
#include <extmem.h>

#include <stdio.h>
#include <string.h>

/* The records are bytes, so that one expectation holds for machines of either byte order. */
static const unsigned char input[][4] = { "pear", "figs", "plum", "kiwi", "lime" };
static const unsigned char sorted[][4] = { "figs", "kiwi", "lime", "pear", "plum" };
#define RECORDS (sizeof(input) / sizeof(input[0]))

static int failed(const char *what, em_status status)
{
	fprintf(stderr, "installed: %s: %s (%s)\n", what, em_status_text(status), em_status_name(status));
	return 1;
}

/* Push, finish, pull, compare: 0 when all is as it should be. */
static int sort_and_compare(em_sorter *sorter)
{
	const em_batch *batch;
	em_status status;
	size_t n = 0;

	if ((status = em_sorter_push(sorter, input, RECORDS)) != EM_OK)
		return failed("push", status);
	if ((status = em_sorter_finish(sorter)) != EM_OK)
		return failed("finish", status);
	while ((status = em_sorter_next(sorter, &batch)) == EM_OK) {
		if (batch->n > RECORDS - n || memcmp(batch->records, sorted[n], batch->bytes) != 0) {
			fprintf(stderr, "installed: wrong order\n");
			return 1;
		}
		n += batch->n;
	}
	if (status != EM_END)
		return failed("next", status);
	return n != RECORDS;
}

int main(void)
{
	const em_key key = { 0, 4, EM_KEY_BYTES, 0, { 0 } };
	em_ctx *ctx = NULL;
	em_order *order = NULL;
	em_sorter *sorter = NULL;
	em_status status;
	int rc = 1;

	if (strcmp(em_version(), EM_VERSION_STRING) != 0) {
		fprintf(stderr, "installed: header %s, library %s\n", EM_VERSION_STRING, em_version());
		return 1;
	}
	if ((status = em_ctx_open(&ctx, NULL)) != EM_OK) {
		failed("context", status);
		goto out;
	}
	if ((status = em_order_keys(&order, ctx, 4, &key, 1, NULL)) != EM_OK) {
		failed("order", status);
		goto out;
	}
	if ((status = em_sorter_open(&sorter, ctx, order, NULL)) != EM_OK) {
		failed("sorter", status);
		goto out;
	}
	rc = sort_and_compare(sorter);
out:
	em_sorter_close(sorter);
	em_order_close(order);
	em_ctx_close(ctx);
	if (rc == 0)
		printf("extmem %s works\n", em_version());
	return rc;
}
