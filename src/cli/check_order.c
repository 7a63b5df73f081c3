/* SPDX-License-Identifier: BSL-1.0 */
/*
 * check_order.c -- extmem sort -c and -C: is the input sorted?
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check_order.h"
#include "cli/cli.h"
#include "cli/message.h"
#include "cli/quote.h"

/* The first record out of order, copied: it is told when the progress bar is gone. */
typedef struct disorder {
	uint64_t number;
	size_t n;
	char *record;           /* NULL: there was no memory */
} disorder;

static void keep_disorder(void *user, uint64_t number, const void *record, size_t n)
{
	disorder *d = user;

	d->number = number;
	d->n = n;
	d->record = malloc(n + 1);
	if (d->record)
		memcpy(d->record, record, n);
}

/* The line goes out as it is: this is what the utility does, and what is piped through other programs. */
static void print_disorder(const sort_options *so, const disorder *d)
{
	fprintf(stderr, "%s: %s:%" PRIu64 ": disorder: ", so->command, quote_name(so->input[0]), d->number);
	if (d->record)
		fwrite(d->record, 1, d->n, stderr);
	putc(so->text.zero ? '\0' : '\n', stderr);
}

int check_order(const sort_options *so, em_ctx *ctx, const em_order *order, em_check_opts *opts, progress *bar)
{
	em_check_info info = EM_CHECK_INFO_INIT;
	disorder d = { 0 };
	em_status st;

	opts->flags = EM_CHECK_FIRST | (so->text.unique ? EM_CHECK_UNIQUE : 0);
	opts->format = &so->format;
	opts->header = so->text.header;
	st = em_check_file(ctx, order, so->input[0], opts, &info, keep_disorder, &d);
	progress_clear(bar);
	if (st != EM_OK) {
		if (st != EM_ERR_CANCELED)
			message_errinfo(so->command, st, opts->errinfo);
		free(d.record);
		return CLI_TROUBLE;
	}
	if (d.number && so->check == 'c')
		print_disorder(so, &d);
	free(d.record);
	return info.disorders ? CLI_UNSORTED : CLI_OK;
}
