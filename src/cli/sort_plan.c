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
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/size.h"
#include "cli/sort_plan.h"
#include "cli/stats.h"

#define LINE_BYTES 64
#define UNIT ((uint64_t)1 << 10) /* of sizes in messages */

/* Bytes of a record; of a line it is a guess. */
static uint64_t record_bytes(const sort_options *so)
{
	return so->binary ? so->keys.record_size : LINE_BYTES;
}

/* A file whose content is made when it is read, as those of /proc, has no blocks, and neither has its file system. */
static int size_known(const char *path, const struct stat *sb)
{
	const int in = !strcmp(path, "-");
	struct statvfs fs;

	if (!S_ISREG(sb->st_mode) || sb->st_blocks)
		return S_ISREG(sb->st_mode);
	return (in ? fstatvfs(STDIN_FILENO, &fs) : statvfs(path, &fs)) || fs.f_blocks;
}

/* What is to be sorted of a file: of standard input, what is behind its offset. */
static uint64_t bytes_left(const char *path, const struct stat *sb)
{
	const off_t at = strcmp(path, "-") ? 0 : lseek(STDIN_FILENO, 0, SEEK_CUR);

	if (at <= 0)
		return (uint64_t)sb->st_size;
	return at < sb->st_size ? (uint64_t)(sb->st_size - at) : 0;
}

/* Records in all inputs; -1 when that cannot be told, which is said aloud. */
static int count_records(const sort_options *so, uint64_t *records)
{
	const uint64_t size = record_bytes(so);
	uint64_t bytes = 0, left;
	const char *name;
	struct stat sb;
	uint32_t i;
	int failed;

	for (i = 0; i < so->inputs; i++) {
		name = input_name(so->input[i]);
		failed = strcmp(so->input[i], "-") ? stat(so->input[i], &sb) : fstat(STDIN_FILENO, &sb);
		if (failed) {
			message_errno(so->command, name, errno);
			return -1;
		}
		if (!size_known(so->input[i], &sb)) {
			message(so->command, "%s: --plan needs files whose size is known", name);
			return -1;
		}
		left = bytes_left(so->input[i], &sb);
		if (so->binary && left % size) {
			message(so->command, "%s: %" PRIu64 " bytes are no multiple of the record size %" PRIu64, name,
				left, size);
			return -1;
		}
		bytes += left;
	}
	*records = bytes / size + (bytes % size != 0);
	return 0;
}

/* What -S has to be for a context to have so much: names are in memory, too. */
static uint64_t beside_names(const sort_options *so, uint64_t bytes)
{
	const uint64_t sum = bytes + so->files0.memory;

	return sum < UINT64_MAX - UNIT ? (sum + UNIT - 1) / UNIT * UNIT : UINT64_MAX;
}

void sort_report(const sort_options *so, em_status st, const em_errinfo *err)
{
	char text[SIZE_TEXT];

	if (st == EM_ERR_FORMAT && err->bytes) {
		/* A line that is too long for the memory. */
		message(so->command, "%s: use -S %s or more", err->text,
			size_format_exact(beside_names(so, err->bytes), text));
		return;
	}
	if (st != EM_ERR_MEMLIMIT || !so->buffer_size || !err->bytes) {
		message_errinfo(so->command, st, err);
		return;
	}
	message(so->command, "-S %s: too little memory for this sort, which needs at least %s", so->buffer_size,
		size_format_exact(beside_names(so, err->bytes), text));
}

int sort_plan(const sort_options *so, em_ctx *ctx, const em_order *order, em_errinfo *err)
{
	em_sort_plan_info info = EM_SORT_PLAN_INFO_INIT;
	uint64_t records;
	em_status st;

	if (count_records(so, &records))
		return CLI_TROUBLE;
	st = em_sort_plan(ctx, order, records, &so->sort, &info);
	if (st != EM_OK) {
		sort_report(so, st, err);
		return CLI_TROUBLE;
	}
	info.memory_min = beside_names(so, info.memory_min);
	plan_print(stdout, &info, records, so->binary ? so->keys.record_size : 0, LINE_BYTES);
	return CLI_OK;
}
