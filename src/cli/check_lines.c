/* SPDX-License-Identifier: BSL-1.0 */
/*
 * check_lines.c -- extmem check of lines.
 *
 * Each file is looked at on its own, and the numbers are added up.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <string.h>

#include <extmem/check.h>

#include "cli/check_options.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/progress.h"

typedef struct check {
	const check_options *options;
	progress bar;
	interrupt interrupt;
	em_format format;
	const char *path;       /* the file at hand */
} check;

static int watch(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	check *ck = user;

	(void)phase;
	progress_update(&ck->bar, "check", done, total);
	return interrupt_caught(&ck->interrupt);
}

static void tell_disorder(void *user, uint64_t number, const void *record, size_t n)
{
	check *ck = user;

	(void)record;
	(void)n;
	progress_clear(&ck->bar);
	message(ck->options->command, "%s: line %" PRIu64 " %s", input_name(ck->path), number,
		ck->options->unique ? "does not come after the one before it" : "is out of order");
}

static int check_file(check *ck, em_ctx *ctx, const em_order *order, check_result *result, em_errinfo *err)
{
	const check_options *co = ck->options;
	em_check_opts opts = EM_CHECK_OPTS_INIT;
	em_check_info info = EM_CHECK_INFO_INIT;
	em_status st;

	opts.flags = co->unique ? EM_CHECK_UNIQUE : 0;
	opts.format = &ck->format;
	opts.header = co->text.header;
	opts.progress = watch;
	opts.progress_user = ck;
	opts.errinfo = err;
	/* Only the first file that is not in order is named. */
	st = em_check_file(ctx, co->unsorted ? NULL : order, ck->path, &opts, &info,
			   result->disorder ? NULL : tell_disorder, ck);
	if (st != EM_OK) {
		progress_clear(&ck->bar);
		if (!interrupt_caught(&ck->interrupt))
			message_errinfo(co->command, st, err);
		return -1;
	}
	result->records += info.records;
	result->checksum += info.checksum;
	result->duplicates += info.duplicates;
	result->disorders += info.disorders;
	result->disorder |= info.disorders != 0;
	return 0;
}

int check_lines(const check_options *co, check_result *result)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err = { 0 };
	em_order *order = NULL;
	em_ctx *ctx = NULL;
	em_status st;
	check ck;
	uint32_t i;
	int ret = -1;

	memset(&ck, 0, sizeof(ck));
	ck.options = co;
	text_options_format(&co->text, &ck.format);
	opts.errinfo = &err;
	st = em_ctx_open(&ctx, &opts);
	if (st != EM_OK) {
		message_errinfo(co->command, st, &err);
		goto out;
	}
	if (text_options_order(&co->text, co->command, ctx, &order))
		goto out;
	interrupt_begin(&ck.interrupt, NULL);
	progress_open(&ck.bar, co->progress_mode);
	ret = 0;
	for (i = 0; i < co->paths && !ret; i++) {
		ck.path = co->path[i];
		ret = check_file(&ck, ctx, order, result, &err);
	}
	progress_close(&ck.bar);
	interrupt_end(&ck.interrupt);
out:
	em_order_close(order);
	em_ctx_close(ctx);
	return ret;
}
