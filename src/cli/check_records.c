/* SPDX-License-Identifier: BSL-1.0 */
/*
 * check_records.c -- extmem check of binary records.
 *
 * Several files are one sequence: the last record of one comes before the first of the next.  After a record that is
 * out of order counting goes on, as the checksum is of all records.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/check_options.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/read_full.h"
#include "cli/scan.h"

/* What is read and looked at at a time: stays in the cache between the two. */
#define BUFFER_BYTES ((size_t)1 << 20)

typedef struct check {
	const check_options *options;
	scan scan;
	progress bar;
	uint64_t done, total;   /* bytes, for the bar; total 0: unknown */
	unsigned char *buf;
	size_t room;            /* of buf, a multiple of the record size */
	int disorder;           /* one was found and reported */
} check;

/* Bytes in all files, or 0 when one of them cannot tell. */
static uint64_t total_size(const char *const *path, uint32_t n)
{
	uint64_t total = 0;
	struct stat sb;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (strcmp(path[i], "-") ? stat(path[i], &sb) : fstat(STDIN_FILENO, &sb))
			return 0;
		if (!S_ISREG(sb.st_mode))
			return 0;
		total += (uint64_t)sb.st_size;
	}
	return total;
}

/* Look at the n records in the buffer, which begin with that record of the file; name the first disorder of all. */
static void look_at(check *ck, const char *name, uint64_t record, size_t n)
{
	const size_t first = scan_records(&ck->scan, ck->buf, n);

	if (first == n || ck->disorder)
		return;
	ck->disorder = 1;
	progress_clear(&ck->bar);
	record += first;
	message(ck->options->command, "%s: record %" PRIu64 " at offset %" PRIu64 " %s", name, record,
		record * ck->options->keys.record_size,
		ck->scan.unique ? "does not come after the one before it" : "is out of order");
}

static int check_file(check *ck, const char *path)
{
	const char *name = input_name(path);
	const size_t size = ck->scan.record_size;
	uint64_t record = 0, least;
	int fd, ret = -1;
	ssize_t got;

	fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : STDIN_FILENO;
	if (fd < 0) {
		message_errno(ck->options->command, name, errno);
		return -1;
	}
	least = size_left(fd);
#ifdef POSIX_FADV_SEQUENTIAL
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
	do {
		got = read_full(fd, ck->buf, ck->room);
		if (got < 0) {
			message(ck->options->command, "%s: cannot read at offset %" PRIu64 ": %s", name, record * size,
				strerror(errno));
			goto out;
		}
		look_at(ck, name, record, (size_t)got / size);
		record += (size_t)got / size;
		if ((size_t)got % size) {
			message(ck->options->command,
				"%s: %" PRIu64
				" bytes are no multiple of the record size %zu: the record at offset %" PRIu64
				" is cut off",
				name, record * size + (size_t)got % size, size, record * size);
			goto out;
		}
		ck->done += (size_t)got;
		progress_update(&ck->bar, "check", ck->done, ck->total);
	} while ((size_t)got == ck->room);
	/* Records that nobody looked at are not in order. */
	if (record * size < least)
		message(ck->options->command,
			"%s: only %" PRIu64 " bytes could be read: it had %" PRIu64 " when it was opened", name,
			record * size, least);
	else
		ret = 0;
out:
	if (fd != STDIN_FILENO)
		close(fd);
	return ret;
}

static int check_files(check *ck)
{
	const check_options *co = ck->options;
	const size_t size = ck->scan.record_size;
	uint32_t i;
	int ret = 0;

	ck->room = size < BUFFER_BYTES ? BUFFER_BYTES / size * size : size;
	ck->buf = malloc(ck->room);
	if (!ck->buf) {
		message_errno(co->command, "--record-size", ENOMEM);
		return -1;
	}
	ck->total = total_size(co->path, co->paths);
	progress_open(&ck->bar, co->progress_mode);
	for (i = 0; i < co->paths && !ret; i++)
		ret = check_file(ck, co->path[i]);
	progress_close(&ck->bar);
	return ret;
}

int check_records(const check_options *co, check_result *result)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err = { 0 };
	em_order *order = NULL;
	em_ctx *ctx = NULL;
	em_status st;
	check ck;
	int ret = -1;

	memset(&ck, 0, sizeof(ck));
	ck.options = co;

	/* Only for the order: no budget, no threads. */
	opts.memory = em_ctx_min_memory();
	opts.threads = 1;
	opts.errinfo = &err;
	st = em_ctx_open(&ctx, &opts);
	if (st != EM_OK) {
		message_errinfo(co->command, st, &err);
		goto out;
	}
	if (key_options_order(&co->keys, co->command, ctx, &order))
		goto out;
	if (scan_init(&ck.scan, co->unsorted ? NULL : order, &co->keys)) {
		message_errno(co->command, "--record-size", ENOMEM);
		goto out;
	}
	ck.scan.unique = co->unique;
	ret = check_files(&ck);
	result->records = ck.scan.records;
	result->checksum = ck.scan.checksum;
	result->duplicates = ck.scan.duplicates;
	result->disorders = ck.scan.disorders;
	result->disorder = ck.disorder;
out:
	free(ck.buf);
	scan_free(&ck.scan);
	em_order_close(order);
	em_ctx_close(ctx);
	return ret;
}
