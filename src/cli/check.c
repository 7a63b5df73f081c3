/* SPDX-License-Identifier: BSL-1.0 */
/*
 * check.c -- extmem check: are files sorted, how many records are there, and are they the same as somewhere else.
 *
 * Several files are one sequence: the last record of one comes before the first of the next.  After a record that is out of
 * order counting goes on, as the checksum is of all records.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/scan.h"

/* What is read and looked at at a time: stays in the cache between the two. */
#define BUFFER_BYTES ((size_t)1 << 20)

static const char help[] =
	"Usage: extmem check --record-size=N [OPTION]... [FILE]...\n"
	"Tell whether the records of files, or of standard input, are in order; print their\n"
	"number and a checksum that does not depend on the order.  Several files are one sequence.\n"
	"\n"
	"      --record-size=N    records of N bytes\n"
	"  -k, --key=OFFSET:TYPE[:r]\n"
	"                         a key, as in extmem sort; may be repeated\n"
	"  -r, --reverse          every key the other way round\n"
	"  -u, --unique           equal keys are out of order, too\n"
	"      --unsorted         only count and sum up, do not look at the order\n"
	"      --progress         show a progress bar even if standard error is no terminal\n"
	"      --no-progress      show none\n"
	"      --help             print this help\n"
	"      --version          print the version\n"
	"\n"
	"Exit status: 0 in order, 1 out of order, 2 trouble.\n";

enum { OPT_RECORD_SIZE = 256, OPT_UNSORTED, OPT_PROGRESS, OPT_NO_PROGRESS, OPT_HELP, OPT_VERSION };

static const struct option long_options[] = {
	{ "record-size", required_argument, NULL, OPT_RECORD_SIZE },
	{ "key", required_argument, NULL, 'k' },
	{ "reverse", no_argument, NULL, 'r' },
	{ "unique", no_argument, NULL, 'u' },
	{ "unsorted", no_argument, NULL, OPT_UNSORTED },
	{ "progress", no_argument, NULL, OPT_PROGRESS },
	{ "no-progress", no_argument, NULL, OPT_NO_PROGRESS },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

typedef struct check {
	const char *command;
	key_options keys;
	int unique;             /* -u */
	int unsorted;
	int progress_mode;
	scan scan;
	progress bar;
	uint64_t done, total;   /* bytes, for the bar; total 0: unknown */
	unsigned char *buf;
	size_t room;            /* of buf, a multiple of the record size */
	int disorder;           /* one was found and reported */
} check;

/* Returns -1 to go on, otherwise the exit status. */
static int read_options(check *ck, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "k:ru", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_RECORD_SIZE:
			if (option_size(ck->command, "--record-size", optarg, 1, SIZE_MAX / 2, &ck->keys.record_size))
				return CLI_TROUBLE;
			break;
		case 'k':
			if (key_options_add(&ck->keys, ck->command, optarg))
				return CLI_TROUBLE;
			break;
		case 'r':
			ck->keys.reverse = 1;
			break;
		case 'u':
			ck->unique = 1;
			break;
		case OPT_UNSORTED:
			ck->unsorted = 1;
			break;
		case OPT_PROGRESS:
			ck->progress_mode = PROGRESS_ALWAYS;
			break;
		case OPT_NO_PROGRESS:
			ck->progress_mode = PROGRESS_NEVER;
			break;
		case OPT_HELP:
			fputs(help, stdout);
			return CLI_OK;
		case OPT_VERSION:
			printf("extmem %s\n", em_version());
			return CLI_OK;
		default:
			return CLI_TROUBLE;
		}
	}
	return -1;
}

/* Bytes in all files, or 0 when one of them cannot tell. */
static uint64_t total_size(const char *const *path, int n)
{
	uint64_t total = 0;
	struct stat sb;
	int i;

	for (i = 0; i < n; i++) {
		if (strcmp(path[i], "-") ? stat(path[i], &sb) : fstat(STDIN_FILENO, &sb))
			return 0;
		if (!S_ISREG(sb.st_mode))
			return 0;
		total += (uint64_t)sb.st_size;
	}
	return total;
}

/* Fill buf as far as the file reaches. Returns the bytes, or -1 with errno. */
static ssize_t read_full(int fd, unsigned char *buf, size_t bytes)
{
	size_t have = 0;
	ssize_t n;

	while (have < bytes) {
		n = read(fd, buf + have, bytes - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
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
	message(ck->command, "%s: record %" PRIu64 " at offset %" PRIu64 " %s", name, record,
		record * ck->keys.record_size,
		ck->scan.unique ? "does not come after the one before it" : "is out of order");
}

static int check_file(check *ck, const char *path)
{
	const char *name = input_name(path);
	const size_t size = ck->scan.record_size;
	uint64_t record = 0;
	int fd, ret = -1;
	ssize_t got;

	fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : STDIN_FILENO;
	if (fd < 0) {
		message_errno(ck->command, name, errno);
		return -1;
	}
#ifdef POSIX_FADV_SEQUENTIAL
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
	do {
		got = read_full(fd, ck->buf, ck->room);
		if (got < 0) {
			message(ck->command, "%s: cannot read at offset %" PRIu64 ": %s", name, record * size,
				strerror(errno));
			goto out;
		}
		look_at(ck, name, record, (size_t)got / size);
		record += (size_t)got / size;
		if ((size_t)got % size) {
			message(ck->command,
				"%s: %" PRIu64 " bytes are no multiple of the record size %zu: the record at offset %" PRIu64
				" is cut off",
				name, record * size + (size_t)got % size, size, record * size);
			goto out;
		}
		ck->done += (size_t)got;
		progress_update(&ck->bar, "check", ck->done, ck->total);
	} while ((size_t)got == ck->room);
	ret = 0;
out:
	if (fd != STDIN_FILENO)
		close(fd);
	return ret;
}

static void print_result(const check *ck)
{
	printf("records:      %" PRIu64 "\n", ck->scan.records);
	printf("checksum:     %016" PRIx64 "\n", ck->scan.checksum);
	if (ck->unsorted)
		return;
	printf("duplicates:   %" PRIu64 "\n", ck->scan.duplicates);
	printf("out of order: %" PRIu64 "\n", ck->scan.disorders);
}

static int check_files(check *ck, const char *const *path, int n)
{
	static const char *const none[] = { "-" };
	int i;

	if (!n) {
		path = none;
		n = 1;
	}
	ck->room = ck->scan.record_size < BUFFER_BYTES ? BUFFER_BYTES / ck->scan.record_size * ck->scan.record_size
							: ck->scan.record_size;
	ck->buf = malloc(ck->room);
	if (!ck->buf) {
		message_errno(ck->command, "--record-size", ENOMEM);
		return CLI_TROUBLE;
	}
	ck->total = total_size(path, n);
	progress_open(&ck->bar, ck->progress_mode);
	for (i = 0; i < n; i++)
		if (check_file(ck, path[i])) {
			progress_close(&ck->bar);
			return CLI_TROUBLE;
		}
	progress_close(&ck->bar);
	print_result(ck);
	return ck->disorder ? CLI_UNSORTED : CLI_OK;
}

int cli_check(int argc, char **argv)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err = { 0 };
	em_order *order = NULL;
	em_ctx *ctx = NULL;
	em_status st;
	check ck;
	int status;

	memset(&ck, 0, sizeof(ck));
	ck.command = argv[0];
	status = read_options(&ck, argc, argv);
	if (status >= 0)
		goto out;
	status = CLI_TROUBLE;
	if (key_options_done(&ck.keys, ck.command))
		goto out;

	/* Only for the order: no budget, no threads. */
	opts.memory = em_ctx_min_memory();
	opts.threads = 1;
	opts.errinfo = &err;
	st = em_ctx_open(&ctx, &opts);
	if (st != EM_OK) {
		message_errinfo(ck.command, st, &err);
		goto out;
	}
	if (key_options_order(&ck.keys, ck.command, ctx, &order))
		goto out;
	if (scan_init(&ck.scan, ck.unsorted ? NULL : order, &ck.keys)) {
		message_errno(ck.command, "--record-size", ENOMEM);
		goto out;
	}
	ck.scan.unique = ck.unique;
	status = check_files(&ck, (const char *const *)(argv + optind), argc - optind);
out:
	free(ck.buf);
	scan_free(&ck.scan);
	em_order_close(order);
	em_ctx_close(ctx);
	key_options_free(&ck.keys);
	return status;
}
