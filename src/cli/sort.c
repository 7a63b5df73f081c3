/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort.c -- extmem sort and its relatives: options in, the library's sort, merge or check, messages and statistics out.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <extmem.h>

#include "cli/check_order.h"
#include "cli/cli.h"
#include "cli/debug_advice.h"
#include "cli/debug_keys.h"
#include "cli/disk_table.h"
#include "cli/full_output.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/sort_command.h"
#include "cli/sort_notes.h"
#include "cli/sort_plan.h"
#include "cli/stats.h"
#include "cli/text_files.h"

typedef struct sort_command {
	sort_options options;
	progress bar;
	disk_table disks;
	interrupt interrupt;
} sort_command;

/* A line of the library's log.  Comes from any thread, so it goes out in one call. */
static void print_log(void *user, int32_t level, const char *line)
{
	const sort_options *so = user;

	if (level >= EM_LOG_WARN && !so->context.no_warnings)
		message(so->command, "warning: %s", line);
	else if (so->verbose)
		message(so->command, "%s", line);
}

static int watch(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	sort_command *sc = user;

	if (disk_table_due(&sc->disks)) {
		progress_clear(&sc->bar);
		disk_table_print(&sc->disks);
	}
	progress_update(&sc->bar, sc->options.check ? "check" : em_phase_name(phase), done, total);
	return interrupt_caught(&sc->interrupt);
}

/* What follows is done with signals and the progress bar taken care of. */
static void begin(sort_command *sc, em_ctx *ctx)
{
	disk_table_open(&sc->disks, ctx, sc->options.interval);
	interrupt_begin(&sc->interrupt, ctx);
	progress_open(&sc->bar, sc->options.progress_mode);
}

/* Returns whether it was interrupted; the process may have died of that. */
static int end(sort_command *sc)
{
	int caught;

	progress_close(&sc->bar);
	/* With its files gone, the process may die of the signal that stopped it. */
	caught = interrupt_caught(&sc->interrupt);
	interrupt_end(&sc->interrupt);
	return caught;
}

static int check_file(sort_command *sc, em_ctx *ctx, const em_order *order, em_errinfo *err)
{
	em_check_opts opts = EM_CHECK_OPTS_INIT;
	int status;

	opts.progress = watch;
	opts.progress_user = sc;
	opts.errinfo = err;
	begin(sc, ctx);
	status = check_order(&sc->options, ctx, order, &opts, &sc->bar);
	end(sc);
	return status;
}

static em_status shuffle_files(const sort_options *so, em_ctx *ctx, const char *output, em_sort_stats *stats)
{
	em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT;

	opts.fan_in = so->sort.fan_in;
	opts.seed = so->seed;
	opts.count = so->counted ? so->count : 0;
	opts.run_records = so->sort.run_records;
	opts.block_bytes = so->sort.block_bytes;
	opts.format = so->sort.format;
	opts.header = so->sort.header;
	opts.progress = so->sort.progress;
	opts.progress_user = so->sort.progress_user;
	opts.errinfo = so->sort.errinfo;
	return em_shuffle_files(ctx, so->binary ? so->keys.record_size : 0, so->input, so->inputs, output, &opts,
				stats);
}

static em_status call_library(sort_command *sc, em_ctx *ctx, const em_order *order, em_sort_stats *stats)
{
	sort_options *so = &sc->options;
	const char *output = so->output ? so->output : "-";

	so->sort.progress = watch;
	so->sort.progress_user = sc;
	if (so->nothing)
		return em_top_files(ctx, order, so->input, so->inputs, 0, 0, output, &so->sort, stats);
	if (so->dialect->kind == UNIQUE_FILES) {
		so->unique.sort = &so->sort;
		return em_unique_files(ctx, order, so->input, so->inputs, output, &so->unique, stats);
	}
	if (so->dialect->kind == TOP_FILES)
		return em_top_files(ctx, order, so->input, so->inputs, so->from, so->count, output, &so->sort, stats);
	if (so->dialect->kind == SHUFFLE_FILES)
		return shuffle_files(so, ctx, output, stats);
	if (so->merge)
		return em_merge_files(ctx, order, so->input, so->inputs, output, &so->sort, stats);
	return em_sort_files(ctx, order, so->input, so->inputs, output, &so->sort, stats);
}

static int sort_files(sort_command *sc, em_ctx *ctx, const em_order *order, em_errinfo *err)
{
	const double start = monotonic_seconds();
	const sort_options *so = &sc->options;
	em_sort_stats stats = EM_SORT_STATS_INIT;
	debug_keys marks;
	em_status st;
	int caught, failed = 0;

	begin(sc, ctx);
	if (so->debug && debug_keys_begin(&marks, &so->text, order, so->command)) {
		end(sc);
		return CLI_TROUBLE;
	}
	st = call_library(sc, ctx, order, &stats);
	if (so->debug)
		failed = debug_keys_end(&marks);
	caught = end(sc);

	if (st == EM_ERR_PIPE)
		/* The reader has seen enough: end as quietly as other commands do, unless the parent wants SIGPIPE
		 * ignored, in which case a message follows. */
		die_of(SIGPIPE);
	if (st != EM_OK) {
		if (!caught && !full_output_report(so, st, err))
			sort_report(so, st, err);
		return CLI_TROUBLE;
	}
	stats_print(stderr, so->stats, &stats, monotonic_seconds() - start, process_cpu_seconds());
	return failed ? CLI_TROUBLE : CLI_OK;
}

/* The names of a list are in memory already, and count in what -S allows: as far as that leaves half of it. */
static void count_names(sort_options *so)
{
	uint64_t *memory = &so->context.ctx.memory;

	*memory -= so->files0.memory < *memory / 2 ? so->files0.memory : *memory / 2;
}

static int run(sort_command *sc)
{
	sort_options *so = &sc->options;
	em_errinfo err = { 0 };
	em_order *order = NULL;
	em_ctx *ctx = NULL;
	em_status st;
	int status = CLI_TROUBLE;

	if (context_options_apply(&so->context, so->command))
		goto out;
	count_names(so);
	so->context.ctx.log = print_log;
	so->context.ctx.log_user = so;
	so->context.ctx.errinfo = &err;
	so->context.ctx.flags |= EM_CTX_RAISE;
	so->sort.errinfo = &err;

	st = em_ctx_open(&ctx, &so->context.ctx);
	if (st != EM_OK) {
		sort_report(so, st, &err);
		goto out;
	}
	if (sort_options_order(so, ctx, &order))
		goto out;
	if (so->debug)
		debug_advice(&so->text, so->command);
	sort_notes(so);
	if (!so->binary && text_files_check(so))
		goto out;
	status = so->plan    ? sort_plan(so, ctx, order, &err)
		 : so->check ? check_file(sc, ctx, order, &err)
			     : sort_files(sc, ctx, order, &err);
out:
	em_order_close(order);
	em_ctx_close(ctx);
	return status;
}

int sort_command_run(const sort_dialect *dialect, int argc, char **argv)
{
	sort_command sc;
	int status;

	memset(&sc, 0, sizeof(sc));
	status = sort_options_read(&sc.options, dialect, argc, argv);
	if (status < 0)
		status = run(&sc);
	sort_options_free(&sc.options);
	return status;
}

int cli_sort(int argc, char **argv)
{
	return sort_command_run(&sort_dialect_sort, argc, argv);
}
