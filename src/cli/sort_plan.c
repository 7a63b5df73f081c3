/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_plan.c -- what a sort would take, and what to say when that is more than there is.
 *
 * How many lines there are nobody knows without reading them: one is taken to have 64 bytes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/size.h"
#include "cli/sort_plan.h"
#include "cli/stats.h"

#define LINE_BYTES 64

/* Bytes of a record; of a line it is a guess. */
static uint64_t record_bytes(const sort_options *so)
{
	return so->binary ? so->keys.record_size : LINE_BYTES;
}

/* Records in all inputs; -1 when that cannot be told, which is said aloud if wanted. */
static int count_records(const sort_options *so, int aloud, uint64_t *records)
{
	const uint64_t size = record_bytes(so);
	uint64_t bytes = 0;
	const char *name;
	struct stat sb;
	uint32_t i;
	int failed;

	for (i = 0; i < so->inputs; i++) {
		name = input_name(so->input[i]);
		failed = strcmp(so->input[i], "-") ? stat(so->input[i], &sb) : fstat(STDIN_FILENO, &sb);
		if (failed) {
			if (aloud)
				message_errno(so->command, name, errno);
			return -1;
		}
		if (!S_ISREG(sb.st_mode)) {
			if (aloud)
				message(so->command, "%s: --plan needs files whose size is known", name);
			return -1;
		}
		if (so->binary && (uint64_t)sb.st_size % size) {
			if (aloud)
				message(so->command, "%s: %" PRIu64 " bytes are no multiple of the record size %" PRIu64, name,
					(uint64_t)sb.st_size, size);
			return -1;
		}
		bytes += (uint64_t)sb.st_size;
	}
	*records = bytes / size + (bytes % size != 0);
	return 0;
}

/*
 * The least -S that does, when `least' bytes were said to do beside what the context takes.  A context of more memory may start
 * more threads, which need more: so the answer is tried, without any input or output, until it holds.
 */
static uint64_t enough_memory(const sort_options *so, uint64_t least, uint64_t records)
{
	const uint64_t round = (uint64_t)64 << 10;
	em_ctx_opts opts = so->context.ctx;
	em_sort_opts sort = so->sort;
	em_sort_plan_info info = { 0 };
	em_errinfo err = { 0 };
	uint64_t used = 0;
	int tries;

	opts.log = NULL;
	opts.errinfo = NULL;
	sort.errinfo = &err;
	info.size = sizeof(info);
	for (tries = 0; tries < 64; tries++) {
		em_order *order = NULL;
		em_ctx *ctx = NULL;
		em_status st;

		/* What the files of the sort take for themselves is a few KiB, which the rounding covers. */
		opts.memory = (least + used + round / 4 + round - 1) / round * round;
		if (em_ctx_open(&ctx, &opts) != EM_OK)
			break;
		memset(&err, 0, sizeof(err));
		st = sort_options_order(so, ctx, &order) ? EM_ERR_NOMEM
			: em_sort_plan(ctx, order, records, &sort, &info);
		used = em_ctx_memory_used(ctx);
		em_order_close(order);
		em_ctx_close(ctx);
		if (st != EM_ERR_MEMLIMIT)
			break;
		least = err.bytes > least ? err.bytes : least + round;
	}
	return opts.memory;
}

void sort_report(const sort_options *so, const em_ctx *ctx, em_status st, const em_errinfo *err)
{
	uint64_t least = err->bytes, records;
	char text[SIZE_TEXT];

	if (st != EM_ERR_MEMLIMIT || !so->buffer_size || !err->bytes) {
		message_errinfo(so->command, st, err);
		return;
	}
	if (ctx && count_records(so, 0, &records))
		/* Nobody knows how many will come: as many as an input of 64 times the memory has. */
		records = 64 * so->context.ctx.memory / record_bytes(so);
	if (ctx)
		least = enough_memory(so, least, records);
	/* These need more than the sort of which the plan was made. */
	if (ctx && (so->dialect->kind == TOP_FILES || so->dialect->kind == SHUFFLE_FILES) &&
	    least < err->bytes + em_ctx_memory_used(ctx))
		least = (err->bytes + em_ctx_memory_used(ctx) + 65535) / 65536 * 65536;
	message(so->command, "-S %s: too little memory for this sort, which needs at least %s", so->buffer_size,
		size_format_exact(least, text));
}

int sort_plan(const sort_options *so, em_ctx *ctx, const em_order *order, em_errinfo *err)
{
	em_sort_plan_info info = { 0 };
	uint64_t records;
	em_status st;

	info.size = sizeof(info);
	if (count_records(so, 1, &records))
		return CLI_TROUBLE;
	st = em_sort_plan(ctx, order, records, &so->sort, &info);
	if (st != EM_OK) {
		if (st == EM_ERR_MEMLIMIT && !err->bytes)
			err->bytes = info.memory_min;
		sort_report(so, ctx, st, err);
		return CLI_TROUBLE;
	}
	plan_print(stdout, &info, records, so->binary ? so->keys.record_size : 0, LINE_BYTES);
	return CLI_OK;
}
