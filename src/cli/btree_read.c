/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_read.c -- extmem btree get and extmem btree scan: records of a tree, as they are, to a file or standard output.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/sys/output.h>

#include "cli/btree.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/options.h"

#define BUFFER_BYTES ((size_t)256 << 10)
/* Records that a scan asks for at first, and how many times as many each next time, up to what the buffer holds. */
#define FIRST_RECORDS 16u
#define GROWS 4u

static const char get_help[] =
	"Usage: extmem btree get [OPTION]... TREE KEY...\n"
	"Write the records of a B+-tree that have these keys, in the order in which the keys are given.\n"
	"\n"
	"A KEY is the values of the fields of the tree's order, as extmem btree stat prints it, with commas\n"
	"between them.  Of bytes these are characters, or 0x and two hexadecimal digits for each, and zeros\n"
	"behind them.\n"
	"\n"
	"  -o, --output=FILE    write to FILE instead of standard output\n"
	BTREE_INPUT_HELP
	"      --help           print this help\n"
	"      --version        print the version\n"
	"\n"
	"Exit status: 0 success, 1 a key was not found, 2 trouble.\n";

static const char scan_help[] =
	"Usage: extmem btree scan [OPTION]... TREE\n"
	"Write the records of a B+-tree, or of a range of it, in their order.\n"
	"\n"
	"      --from=KEY       from the first record on whose key is not less (see extmem btree get)\n"
	"      --to=KEY         up to the last record whose key is not greater\n"
	"  -n, --count=N        at most N records\n"
	"  -r, --reverse        the last one first\n"
	"  -o, --output=FILE    write to FILE instead of standard output\n"
	BTREE_INPUT_HELP
	"      --help           print this help\n"
	"      --version        print the version\n"
	"\n"
	"Exit status: 0 success, 2 trouble.\n";

enum { OPT_FROM = OPTION_OTHERS, OPT_TO };

static const struct option get_options[] = {
	{ "output", required_argument, NULL, 'o' },
	BTREE_INPUT_OPTIONS,
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const struct option scan_options[] = {
	{ "from", required_argument, NULL, OPT_FROM },
	{ "to", required_argument, NULL, OPT_TO },
	{ "count", required_argument, NULL, 'n' },
	{ "reverse", no_argument, NULL, 'r' },
	{ "output", required_argument, NULL, 'o' },
	BTREE_INPUT_OPTIONS,
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

typedef struct reader {
	const char *command;
	const char *output;
	const char *path;       /* of the tree */
	const char *from, *to;
	const char *bound;      /* of a scan: the last key in its direction; NULL: the end of the tree */
	char *const *key;       /* to get; NULL: scan */
	int keys;
	int reverse;
	uint64_t count;
	em_ctx_opts context;
	btree_input in;
	em_output *out;
	interrupt interrupt;
	em_btree_cursor *cursor;
	char *records;
	size_t room;            /* records */
	int missing;            /* keys that there are none of */
} reader;

static int take(reader *r, int c, const char *arg)
{
	switch (c) {
	case 'o':
		return option_name(r->command, "-o", arg, &r->output);
	case 'n':
		return option_number(r->command, "--count", arg, 0, UINT64_MAX, &r->count);
	case 'r':
		r->reverse = 1;
		return 0;
	case OPT_FROM:
		r->from = arg;
		return 0;
	case OPT_TO:
		r->to = arg;
		return 0;
	default:
		/* Of what is none of these getopt_long() has said what is wrong. */
		return btree_input_take(&r->context, r->command, c, arg);
	}
}

/* Returns -1 to go on, otherwise the exit status. */
static int read_options(reader *r, int argc, char **argv, int scan)
{
	const struct option *names = scan ? scan_options : get_options;
	/* Keys may be negative numbers: options end at the name of the tree. */
	const char *letters = scan ? "o:n:r" BTREE_INPUT_LETTERS : "+o:" BTREE_INPUT_LETTERS;
	const em_ctx_opts plain = EM_CTX_OPTS_INIT;
	int c, common, unused = 0;

	r->command = argv[0];
	r->count = UINT64_MAX;
	r->context = plain;
	while ((c = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		common = option_common(argv[0], c, scan ? scan_help : get_help, &unused);
		if (common < 0)
			return CLI_OK;
		if (common > 0 && take(r, c, optarg))
			return CLI_TROUBLE;
	}
	if (optind >= argc || (!scan && optind + 1 >= argc)) {
		message(r->command, "%s is missing", optind >= argc ? "the name of a tree" : "a key");
		message_try_help(r->command);
		return CLI_TROUBLE;
	}
	r->path = argv[optind++];
	if (scan && optind < argc) {
		message(r->command, "%s: one tree is read", argv[optind]);
		message_try_help(r->command);
		return CLI_TROUBLE;
	}
	r->key = scan ? NULL : argv + optind;
	r->keys = argc - optind;
	return -1;
}

/* Tell why the output could not be written, unless nobody reads it any more. */
static int output_failed(const reader *r)
{
	em_errinfo err;

	em_output_error(r->out, &err);
	if (err.status == EM_ERR_PIPE)
		die_of(SIGPIPE);
	if (!interrupt_caught(&r->interrupt))
		message_errinfo(r->command, err.status, &err);
	return -1;
}

static int write_records(const reader *r, size_t n)
{
	const size_t bytes = n * (size_t)em_btree_record_bytes(r->in.tree);

	return em_output_write(r->out, r->records, bytes) == EM_OK ? 0 : output_failed(r);
}

static int fail(const reader *r, em_status st)
{
	if (!interrupt_caught(&r->interrupt))
		btree_input_report(&r->in, st);
	return -1;
}

/* How many of the first n records are in the range. */
static size_t in_range(const reader *r, size_t n)
{
	const em_order *order = em_btree_order(r->in.tree);
	const size_t record = (size_t)em_btree_record_bytes(r->in.tree);
	size_t low = 0, high = r->bound ? n : 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int after = em_order_compare(order, r->records + middle * record, r->bound);

		if (r->reverse ? after < 0 : after > 0)
			high = middle;
		else
			low = middle + 1;
	}
	return r->bound ? low : n;
}

/* Write up to n records from the one on that the cursor stands on, as far as they are in the range. */
static int copy(reader *r, uint64_t n)
{
	uint64_t got = 1, some = r->bound ? FIRST_RECORDS : r->room, wanted;
	size_t good;
	em_status st;

	if (!n)
		return 0;
	st = em_btree_cursor_get(r->cursor, r->records);
	if (st != EM_OK)
		return fail(r, st);
	while (got) {
		good = in_range(r, (size_t)got);
		if (interrupt_caught(&r->interrupt) || (good && write_records(r, good)))
			return -1;
		n -= good;
		if (good < got || !n)
			break;
		/* Where a range ends is not known: hardly more is read than it has. */
		some = some < r->room / GROWS ? some * GROWS : r->room;
		wanted = n < some ? n : some;
		st = r->reverse ? em_btree_cursor_prev_many(r->cursor, r->records, wanted, &got)
				: em_btree_cursor_next_many(r->cursor, r->records, wanted, &got);
		if (st < EM_OK)
			return fail(r, st);
	}
	return 0;
}

static int get_all(reader *r)
{
	uint64_t n = 0;
	em_status st;
	int i;

	for (i = 0; i < r->keys; i++) {
		if (btree_key_parse(&r->in, NULL, r->key[i]))
			return -1;
		st = em_btree_cursor_seek(r->cursor, r->in.key, EM_BTREE_EQ);
		if (st == EM_NOT_FOUND) {
			message(r->command, "%s: there is no such key", r->key[i]);
			r->missing++;
			continue;
		}
		if (st == EM_OK)
			st = em_btree_cursor_count(r->cursor, &n);
		if (st < EM_OK)
			return fail(r, st);
		if (copy(r, n))
			return -1;
	}
	return 0;
}

/* A key as it was given, in memory of its own; NULL: something is wrong. */
static char *parse_key(reader *r, const char *option, const char *text)
{
	const size_t record = (size_t)em_btree_record_bytes(r->in.tree);
	char *key;

	if (btree_key_parse(&r->in, option, text))
		return NULL;
	key = malloc(record);
	if (key)
		memcpy(key, r->in.key, record);
	else
		message_errno(r->command, option, ENOMEM);
	return key;
}

/* Where the range begins and ends, in the direction of the scan. */
static int scan_range(reader *r)
{
	char *from = NULL, *to = NULL, *first;
	em_status st = EM_NOT_FOUND;
	int ret = -1;

	if ((r->from && !(from = parse_key(r, "--from", r->from))) || (r->to && !(to = parse_key(r, "--to", r->to))))
		goto out;
	first = r->reverse ? to : from;
	r->bound = r->reverse ? from : to;
	st = em_btree_cursor_seek(r->cursor, first, r->reverse ? EM_BTREE_LE : EM_BTREE_GE);
	if (st < EM_OK)
		fail(r, st);
	else
		ret = st == EM_OK ? copy(r, r->count) : 0;
out:
	r->bound = NULL;
	free(from);
	free(to);
	return ret;
}

static int open_output(reader *r)
{
	em_output_opts opts = EM_OUTPUT_OPTS_INIT;
	em_errinfo err = { 0 };
	em_status st;

	opts.errinfo = &err;
	st = em_output_open(&r->out, r->in.ctx, r->output ? r->output : "-", &opts);
	if (st == EM_OK)
		return 0;
	/* It may be the directory that is wrong. */
	if (r->output)
		snprintf(err.path, sizeof(err.path), "%s", r->output);
	if (!interrupt_caught(&r->interrupt))
		message_errinfo(r->command, st, &err);
	return -1;
}

/* The tree is open. */
static int write_output(reader *r)
{
	const size_t record = (size_t)em_btree_record_bytes(r->in.tree);
	em_status st = em_btree_cursor_open(&r->cursor, r->in.tree);

	if (st != EM_OK)
		return fail(r, st);
	r->room = record < BUFFER_BYTES ? BUFFER_BYTES / record : 1;
	r->records = malloc(r->room * record);
	if (!r->records) {
		message_errno(r->command, "records", ENOMEM);
		return -1;
	}
	if (open_output(r) || (r->key ? get_all(r) : scan_range(r)))
		return -1;
	return em_output_commit(r->out) == EM_OK ? 0 : output_failed(r);
}

static int run(reader *r)
{
	int status = CLI_TROUBLE;

	if (!btree_input_open(&r->in, r->command, r->path, &r->context)) {
		interrupt_begin(&r->interrupt, r->in.ctx);
		if (!write_output(r))
			status = r->missing ? CLI_UNSORTED : CLI_OK;
		em_output_close(r->out);
		interrupt_end(&r->interrupt);
	}
	em_btree_cursor_close(r->cursor);
	free(r->records);
	btree_input_close(&r->in);
	return status;
}

static int read_tree(int argc, char **argv, int scan)
{
	reader r;
	int status;

	memset(&r, 0, sizeof(r));
	status = read_options(&r, argc, argv, scan);
	return status >= 0 ? status : run(&r);
}

int btree_get(int argc, char **argv)
{
	return read_tree(argc, argv, 0);
}

int btree_scan(int argc, char **argv)
{
	return read_tree(argc, argv, 1);
}
