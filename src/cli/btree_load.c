/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_load.c -- extmem btree load: sort records, load a B+-tree with them, and save that.
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

#include <extmem.h>
#include <extmem/sys/block.h>
#include <extmem/sys/output.h>

#include "cli/btree.h"
#include "cli/cli.h"
#include "cli/full_output.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/read_full.h"
#include "cli/sort_command.h"
#include "cli/sort_plan.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define BLOCK_MOST ((uint64_t)1 << 30)

static const char help[] =
	"Usage: extmem btree load [OPTION]... --record-size=N -o TREE [FILE]...\n"
	"Sort the records of all FILEs, or of standard input, and write a B+-tree of them to the file TREE, which\n"
	"extmem btree get and scan read, and em_btree_open_file() opens.\n"
	"\n"
	"      --record-size=N      records of N bytes\n"
	"  -k, --key=OFFSET:TYPE[:r]  -r\n"
	"                           the order, as in extmem sort\n"
	"  -u, --unique             of records with equal keys only the first is taken\n"
	"      --duplicates         there may be records with equal keys\n"
	"      --presorted          the records are sorted already, from the first FILE to the last\n"
	"      --leaf-size=SIZE     leaves of SIZE bytes, a multiple of 4K (default: 32K)\n"
	"      --node-size=SIZE     nodes of SIZE bytes (default: 4K)\n"
	"      --fill=N             leaves are filled to N percent (default: 100)\n"
	"  -o, --output=TREE        the file to write\n"
	"\n"
	"  -S -T --parallel --batch-size --run-size --block-size --direct --backend --isa\n"
	"  --disk --scratch-max --config --no-config --no-warnings --verbose\n"
	"                           as in extmem sort\n"
	"      --progress           show a progress bar even if standard error is no terminal\n"
	"      --no-progress        show none\n"
	"      --help               print this help\n"
	"      --version            print the version\n"
	"\n"
	"With no FILE, or when FILE is -, read standard input.\n"
	"Exit status: 0 success, 2 trouble.\n";

enum { OPT_DUPLICATES = OPTION_DIALECT, OPT_PRESORTED, OPT_LEAF_SIZE, OPT_NODE_SIZE, OPT_FILL };

static const struct option own_options[] = {
	{ "duplicates", no_argument, NULL, OPT_DUPLICATES },
	{ "presorted", no_argument, NULL, OPT_PRESORTED },
	{ "leaf-size", required_argument, NULL, OPT_LEAF_SIZE },
	{ "node-size", required_argument, NULL, OPT_NODE_SIZE },
	{ "fill", required_argument, NULL, OPT_FILL },
	{ NULL, 0, NULL, 0 },
};

typedef struct load {
	sort_options *so;
	em_ctx *ctx;
	em_order *order;
	em_errinfo err;
	progress bar;
	interrupt interrupt;
	em_btree *tree;
	em_btree_loader *loader; /* of what is sorted, ... */
	em_sorter *sorter;      /* ... or of all else */
	char *buf;
	size_t room;            /* of it, bytes */
	uint64_t read;
} load;

static const char *load_help(void)
{
	return help;
}

static int take_size(sort_options *so, const char *option, const char *arg, uint64_t *out)
{
	if (option_size(so->command, option, arg, EM_BLOCK_UNIT, BLOCK_MOST, out))
		return -1;
	if (*out % EM_BLOCK_UNIT == 0)
		return 0;
	message(so->command, "%s %s: no multiple of %u", option, arg, EM_BLOCK_UNIT);
	return -1;
}

static int take(sort_options *so, const option_reader *r, int c, const char *arg)
{
	(void)r;
	switch (c) {
	case OPT_DUPLICATES:
		so->btree.duplicates = 1;
		return 0;
	case OPT_PRESORTED:
		so->btree.presorted = 1;
		return 0;
	case OPT_LEAF_SIZE:
		return take_size(so, "--leaf-size", arg, &so->btree.leaf_bytes);
	case OPT_NODE_SIZE:
		return take_size(so, "--node-size", arg, &so->btree.node_bytes);
	case OPT_FILL:
		return option_number(so->command, "--fill", arg, 1, 100, &so->btree.fill);
	default:
		return 1;
	}
}

static int finish(sort_options *so)
{
	if (!so->binary)
		message(so->command, "--record-size=N is missing");
	else if (!so->output || !strcmp(so->output, "-"))
		message(so->command, "-o: the name of a file for the tree is missing");
	else if ((so->sort.flags & EM_SORT_UNIQUE) != 0 && so->btree.duplicates)
		message(so->command, "--unique and --duplicates cannot be combined");
	else if (so->stats || so->interval > 0)
		message(so->command, "--stats and --interval are those of extmem sort");
	else
		return 0;
	message_try_help(so->command);
	return -1;
}

static int watch(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	load *l = user;

	progress_update(&l->bar, em_phase_name(phase), done, total);
	return interrupt_caught(&l->interrupt);
}

/* What the library has told.  Two equal keys are the most likely mistake. */
static int report(load *l, em_status st)
{
	progress_close(&l->bar);
	if (interrupt_caught(&l->interrupt))
		return -1;
	if (st == EM_ERR_FORMAT && !l->so->btree.presorted)
		message(l->so->command,
			"two records have the same key: --duplicates or --unique says what is to be done");
	else if (!full_output_report(l->so, st, &l->err))
		sort_report(l->so, st, &l->err);
	return -1;
}

static int fail_tree(load *l, em_status st)
{
	em_btree_error(l->tree, &l->err);
	return report(l, st);
}

static int push(load *l, size_t n)
{
	em_status st;

	if (l->sorter) {
		st = em_sorter_push(l->sorter, l->buf, n);
		if (st != EM_OK)
			em_sorter_error(l->sorter, &l->err);
	} else {
		st = em_btree_loader_push(l->loader, l->buf, n, NULL);
		if (st != EM_OK)
			em_btree_loader_error(l->loader, &l->err);
	}
	return st == EM_OK ? 0 : report(l, st);
}

static int push_open_file(load *l, int fd, const char *name)
{
	const size_t size = (size_t)l->so->keys.record_size;
	const uint64_t least = size_left(fd);
	uint64_t at = 0;
	ssize_t got;

	do {
		got = read_full(fd, l->buf, l->room);
		if (got < 0) {
			message(l->so->command, "%s: cannot read at offset %" PRIu64 ": %s", name, at, strerror(errno));
			return -1;
		}
		if ((size_t)got % size) {
			message(l->so->command, "%s: %" PRIu64 " bytes are no multiple of the record size %zu", name,
				at + (uint64_t)got, size);
			return -1;
		}
		if (interrupt_caught(&l->interrupt) || (got && push(l, (size_t)got / size)))
			return -1;
		at += (uint64_t)got;
		l->read += (uint64_t)got;
		progress_update(&l->bar, "read", l->read, 0);
	} while ((size_t)got == l->room);
	if (at >= least)
		return 0;
	message(l->so->command, "%s: only %" PRIu64 " bytes could be read: it had %" PRIu64 " when it was opened", name,
		at, least);
	return -1;
}

static int push_files(load *l)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < l->so->inputs && !ret; i++) {
		const char *path = l->so->input[i];
		const int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : STDIN_FILENO;

		if (fd < 0) {
			message_errno(l->so->command, path, errno);
			return -1;
		}
		ret = push_open_file(l, fd, input_name(path));
		if (fd != STDIN_FILENO)
			close(fd);
	}
	return ret;
}

/* The tree is written at last: what is wrong with its file is told before anything is read. */
static int check_output(load *l)
{
	const char *path = l->so->output;
	em_output_opts opts = EM_OUTPUT_OPTS_INIT;
	em_output *o;
	struct stat sb;
	em_status st;

	if (!stat(path, &sb) && !S_ISREG(sb.st_mode) && !S_ISDIR(sb.st_mode)) {
		message(l->so->command, "%s: a tree is written to a regular file", path);
		return -1;
	}
	opts.errinfo = &l->err;
	st = em_output_open(&o, l->ctx, path, &opts);
	em_output_close(o);
	return st == EM_OK ? 0 : report(l, st);
}

static int open_tree(load *l)
{
	const load_options *o = &l->so->btree;
	em_btree_opts opts = EM_BTREE_OPTS_INIT;
	em_status st;

	opts.flags = o->duplicates ? EM_BTREE_DUPLICATES : 0;
	opts.leaf_bytes = o->leaf_bytes;
	opts.node_bytes = o->node_bytes;
	opts.errinfo = &l->err;
	st = em_btree_open(&l->tree, l->ctx, l->order, &opts);
	return st == EM_OK ? 0 : report(l, st);
}

static em_btree_load_opts load_opts(load *l)
{
	em_btree_load_opts opts = EM_BTREE_LOAD_OPTS_INIT;

	opts.flags = (l->so->sort.flags & EM_SORT_UNIQUE) != 0 ? EM_BTREE_LOAD_SKIP : 0;
	/* What is in a file stays as it is. */
	opts.leaf_fill = l->so->btree.fill != 0 ? (uint32_t)l->so->btree.fill : 100;
	opts.node_fill = 100;
	opts.errinfo = &l->err;
	return opts;
}

static int load_presorted(load *l)
{
	const em_btree_load_opts opts = load_opts(l);
	em_status st;

	if (open_tree(l))
		return -1;
	st = em_btree_loader_open(&l->loader, l->tree, &opts);
	if (st != EM_OK)
		return report(l, st);
	if (push_files(l))
		return -1;
	st = em_btree_loader_finish(l->loader);
	if (st == EM_OK)
		return 0;
	em_btree_loader_error(l->loader, &l->err);
	return report(l, st);
}

static int load_sorted(load *l)
{
	const em_btree_load_opts opts = load_opts(l);
	em_status st;

	l->so->sort.flags |= EM_SORT_STABLE;
	l->so->sort.progress = watch;
	l->so->sort.progress_user = l;
	l->so->sort.errinfo = &l->err;
	if (open_tree(l))
		return -1;
	st = em_sorter_open(&l->sorter, l->ctx, l->order, &l->so->sort);
	if (st != EM_OK)
		return report(l, st);
	if (push_files(l))
		return -1;
	st = em_sorter_finish(l->sorter);
	if (st != EM_OK) {
		em_sorter_error(l->sorter, &l->err);
		return report(l, st);
	}
	st = em_btree_load_sorted(l->tree, l->sorter, &opts);
	em_sorter_close(l->sorter);
	l->sorter = NULL;
	return st == EM_OK ? 0 : report(l, st);
}

static int load_and_save(load *l)
{
	const size_t size = (size_t)l->so->keys.record_size;
	em_status st;

	l->room = size < BUFFER_BYTES ? BUFFER_BYTES / size * size : size;
	l->buf = malloc(l->room);
	if (!l->buf) {
		message_errno(l->so->command, "--record-size", ENOMEM);
		return -1;
	}
	if (check_output(l) || (l->so->btree.presorted ? load_presorted(l) : load_sorted(l)))
		return -1;
	if (interrupt_caught(&l->interrupt))
		return -1;
	em_btree_loader_close(l->loader);
	l->loader = NULL;
	st = em_btree_save(l->tree, l->so->output);
	return st == EM_OK ? 0 : fail_tree(l, st);
}

static void print_log(void *user, int32_t level, const char *line)
{
	const sort_options *so = user;

	if (level >= EM_LOG_WARN && !so->context.no_warnings)
		message(so->command, "warning: %s", line);
	else if (so->verbose)
		message(so->command, "%s", line);
}

static int run(load *l)
{
	sort_options *so = l->so;
	int status = CLI_TROUBLE;
	em_status st;

	if (context_options_apply(&so->context, so->command))
		return CLI_TROUBLE;
	so->context.ctx.log = print_log;
	so->context.ctx.log_user = so;
	so->context.ctx.errinfo = &l->err;
	so->context.ctx.flags |= EM_CTX_RAISE;
	st = em_ctx_open(&l->ctx, &so->context.ctx);
	if (st != EM_OK) {
		sort_report(so, st, &l->err);
		return CLI_TROUBLE;
	}
	if (!sort_options_order(so, l->ctx, &l->order)) {
		interrupt_begin(&l->interrupt, l->ctx);
		progress_open(&l->bar, so->progress_mode);
		if (!load_and_save(l))
			status = CLI_OK;
		progress_close(&l->bar);
		em_btree_loader_close(l->loader);
		em_sorter_close(l->sorter);
		em_btree_close(l->tree);
		interrupt_end(&l->interrupt);
	}
	free(l->buf);
	em_order_close(l->order);
	em_ctx_close(l->ctx);
	return status;
}

int btree_load(int argc, char **argv)
{
	static const sort_dialect dialect = { load_help, "", NULL, own_options, take, finish, 0, LOAD_TREE };
	sort_options so;
	load l;
	int status = sort_options_read(&so, &dialect, argc, argv);

	memset(&l, 0, sizeof(l));
	l.so = &so;
	if (status < 0)
		status = run(&l);
	sort_options_free(&so);
	return status;
}
