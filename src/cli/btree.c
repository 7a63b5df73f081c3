/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree.c -- extmem btree: finds the command and runs it; and the two that look at a tree as a whole.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/base.h>

#include "cli/btree.h"
#include "cli/cli.h"
#include "cli/context_options.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/subcommands.h"

static const char help[] =
	"Usage: extmem btree load [OPTION]... -o TREE [FILE]...\n"
	"  or:  extmem btree get [OPTION]... TREE KEY...\n"
	"  or:  extmem btree scan [OPTION]... TREE\n"
	"  or:  extmem btree stat [OPTION]... TREE\n"
	"  or:  extmem btree verify [OPTION]... TREE\n"
	"Make a B+-tree of binary records, in a file of its own, and read it.\n"
	"\n"
	"  load      sort records and write a tree of them\n"
	"  get       write the records with some keys\n"
	"  scan      write the records of a range, in their order\n"
	"  stat      print what a tree is, without reading it\n"
	"  verify    read all of a tree: is it as it was written?\n"
	"\n"
	"      --help     print this help, or with a command that command's\n"
	"      --version  print the version\n"
	"\n"
	"Exit status: 0 success, 1 a key was not found (get) or the tree is damaged (verify), 2 trouble.\n";

static const char stat_help[] =
	"Usage: extmem btree stat [OPTION]... TREE\n"
	"Print what a B+-tree is that extmem btree load or em_btree_save() has written.  Its header and its root\n"
	"are read, and nothing else.\n"
	"\n"
	BTREE_INPUT_HELP
	"      --help     print this help\n"
	"      --version  print the version\n"
	"\n"
	"Exit status: 0 success, 2 trouble.\n";

static const char verify_help[] =
	"Usage: extmem btree verify [OPTION]... TREE\n"
	"Read all of a B+-tree, and compare each block with its checksum, and each record with the one before.\n"
	"\n"
	BTREE_INPUT_HELP
	"      --help     print this help\n"
	"      --version  print the version\n"
	"\n"
	"Exit status: 0 it is as it was written, 1 it is damaged, or not complete, 2 trouble.\n";

int btree_input_take(em_ctx_opts *opts, const char *command, int c, const char *arg)
{
	switch (c) {
	case 'S':
		return option_size(command, "-S", arg, 0, UINT64_MAX, &opts->memory);
	case BTREE_OPT_DIRECT:
		return context_options_direct(command, "--direct", arg, &opts->direct);
	case BTREE_OPT_BACKEND:
		return option_name(command, "--backend", arg, &opts->backend);
	default:
		return 1;
	}
}

int btree_input_open(btree_input *in, const char *command, const char *path, const em_ctx_opts *given)
{
	em_ctx_opts opts = *given;
	em_btree_opts tree = EM_BTREE_OPTS_INIT;
	em_errinfo err = { 0 };
	em_status st;

	memset(in, 0, sizeof(*in));
	in->command = command;
	opts.threads = 1;
	opts.errinfo = &err;
	tree.errinfo = &err;
	st = em_ctx_open(&in->ctx, &opts);
	if (st == EM_OK)
		st = em_btree_open_file(&in->tree, in->ctx, path, NULL, &tree);
	if (st == EM_OK) {
		in->key = calloc(1, (size_t)em_btree_record_bytes(in->tree));
		if (in->key)
			return 0;
		st = EM_ERR_NOMEM;
	}
	message_errinfo(command, st, &err);
	/* Whoever looks for damage is told of it. */
	return st == EM_ERR_CORRUPT ? CLI_UNSORTED : CLI_TROUBLE;
}

void btree_input_close(btree_input *in)
{
	free(in->key);
	em_btree_close(in->tree);
	em_ctx_close(in->ctx);
	memset(in, 0, sizeof(*in));
}

void btree_input_report(const btree_input *in, em_status st)
{
	em_errinfo err;

	em_btree_error(in->tree, &err);
	message_errinfo(in->command, st, &err);
}

/* Read options, and the name of the tree.  Returns -1 to go on, otherwise the exit status. */
static int read_name(int argc, char **argv, const char *text, em_ctx_opts *opts, const char **path)
{
	static const struct option long_options[] = {
		BTREE_INPUT_OPTIONS,
		{ "help", no_argument, NULL, OPTION_HELP },
		{ "version", no_argument, NULL, OPTION_VERSION },
		{ NULL, 0, NULL, 0 },
	};
	int c, common, unused = 0;

	while ((c = getopt_long(argc, argv, BTREE_INPUT_LETTERS, long_options, NULL)) != -1) {
		common = option_common(argv[0], c, text, &unused);
		if (common < 0)
			return CLI_OK;
		if (common > 0 && btree_input_take(opts, argv[0], c, optarg))
			return CLI_TROUBLE;
	}
	if (optind + 1 == argc) {
		*path = argv[optind];
		return -1;
	}
	if (optind < argc)
		message(argv[0], "%s: one tree is read", argv[optind + 1]);
	else
		message(argv[0], "the name of a tree is missing");
	message_try_help(argv[0]);
	return CLI_TROUBLE;
}

static void print_stats(const btree_input *in, const em_btree_stats *s)
{
	const em_order *order = em_btree_order(in->tree);

	printf("records:      %" PRIu64 "\n", s->records);
	printf("order:        %s\n", em_order_name(order));
	printf("record bytes: %" PRIu64 "\n", em_btree_record_bytes(in->tree));
	printf("key bytes:    %" PRIu64 "\n", s->key_bytes);
	printf("height:       %" PRIu32 "\n", s->height);
	printf("leaves:       %" PRIu64 " of %" PRIu64 " bytes\n", s->leaves + (s->height == 0 && s->records != 0),
	       s->leaf_bytes);
	printf("nodes:        %" PRIu64 " of %" PRIu64 " bytes\n", s->nodes + (s->height != 0), s->node_bytes);
}

int btree_stat(int argc, char **argv)
{
	em_btree_stats stats = EM_BTREE_STATS_INIT;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	const char *path;
	btree_input in;
	int status = read_name(argc, argv, stat_help, &opts, &path);

	if (status >= 0)
		return status;
	status = CLI_TROUBLE;
	if (!btree_input_open(&in, argv[0], path, &opts) && em_btree_stats_get(in.tree, &stats) == EM_OK) {
		print_stats(&in, &stats);
		status = CLI_OK;
	}
	btree_input_close(&in);
	return status;
}

int btree_verify(int argc, char **argv)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	const char *path;
	btree_input in;
	em_status st;
	int status = read_name(argc, argv, verify_help, &opts, &path);

	if (status >= 0)
		return status;
	status = btree_input_open(&in, argv[0], path, &opts);
	if (!status) {
		st = em_btree_verify(in.tree);
		if (st == EM_OK) {
			printf("records:      %" PRIu64 "\n", em_btree_size(in.tree));
		} else {
			btree_input_report(&in, st);
			status = st == EM_ERR_CORRUPT ? CLI_UNSORTED : CLI_TROUBLE;
		}
	}
	btree_input_close(&in);
	return status;
}

int cli_btree(int argc, char **argv)
{
	static const subcommand list[] = {
		{ "load", btree_load },
		{ "get", btree_get },
		{ "scan", btree_scan },
		{ "stat", btree_stat },
		{ "verify", btree_verify },
	};
	static const subcommands all = { "command", help, sizeof(list) / sizeof(list[0]), list };

	return subcommands_run(argv[0], &all, argc, argv);
}
