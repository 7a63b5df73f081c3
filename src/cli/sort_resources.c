/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_resources.c -- the options of extmem sort that say what it may use, but for those of context_options.c: memory,
 * threads, blocks.
 *
 * Of lines those that the sort utility has are read and their mistakes reported as it does; of binary records as
 * everything else that it does not have.
 */
#include <string.h>

#include "cli/disk_table.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/size.h"
#include "cli/sort_resources.h"
#include "cli/stats.h"

enum {
	OPT_PARALLEL = OPTION_RESOURCES,
	OPT_BATCH_SIZE,
	OPT_RUN_SIZE,
	OPT_BLOCK_SIZE,
	OPT_READ_BUFFERS,
	OPT_WRITE_BUFFERS,
	OPT_PREFETCH_BUFFERS,
	OPT_FETCH,
	OPT_PLACE_RUNS,
	OPT_LAST_RUN,
	OPT_PRIORITY,
	OPT_COMPRESS,
	OPT_STATS,
	OPT_INTERVAL
};

/* What the library takes at most. */
#define THREADS_MOST 512u
#define BATCH_MOST 8192u
#define PREFETCH_MOST 65536u
#define BLOCK_MOST ((uint64_t)1 << 30)
#define PAGE 4096

const struct option resource_long_options[] = {
	{ "batch-size", required_argument, NULL, OPT_BATCH_SIZE },
	{ "buffer-size", required_argument, NULL, 'S' },
	{ "parallel", required_argument, NULL, OPT_PARALLEL },
	{ NULL, 0, NULL, 0 },
};

const struct option resource_own_long_options[] = {
	{ "run-size", required_argument, NULL, OPT_RUN_SIZE },
	{ "block-size", required_argument, NULL, OPT_BLOCK_SIZE },
	{ "read-buffers", required_argument, NULL, OPT_READ_BUFFERS },
	{ "write-buffers", required_argument, NULL, OPT_WRITE_BUFFERS },
	{ "prefetch-buffers", required_argument, NULL, OPT_PREFETCH_BUFFERS },
	{ "fetch", required_argument, NULL, OPT_FETCH },
	{ "place-runs", required_argument, NULL, OPT_PLACE_RUNS },
	{ "last-run", required_argument, NULL, OPT_LAST_RUN },
	{ "priority", required_argument, NULL, OPT_PRIORITY },
	{ "scratch-compress", required_argument, NULL, OPT_COMPRESS },
	{ "stats", optional_argument, NULL, OPT_STATS },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ NULL, 0, NULL, 0 },
};

static int take_compress(sort_options *so, const char *text)
{
	static const char *const word[] = { "auto", "never", "always" };

	so->compress_given = 1;
	return option_word(so->command, "--scratch-compress", text, word, 3, &so->sort.compress);
}

/* These are told apart by their numbers, from 0. */
static int take_fetch(sort_options *so, const char *text)
{
	static const char *const word[] = { "best", "naive" };

	return option_word(so->command, "--fetch", text, word, 2, &so->sort.fetch);
}

static int take_place_runs(sort_options *so, const char *text)
{
	static const char *const word[] = { "cycling", "striping" };

	return option_word(so->command, "--place-runs", text, word, 2, &so->sort.place);
}

static int take_last_run(sort_options *so, const char *text)
{
	static const char *const word[] = { "auto", "written", "kept" };

	return option_word(so->command, "--last-run", text, word, 3, &so->sort.last_run);
}

static int take_priority(sort_options *so, const char *text)
{
	static const char *const word[] = { "write", "read", "none" };
	static const int32_t value[] = { EM_PRIORITY_WRITE, EM_PRIORITY_READ, EM_PRIORITY_NONE };
	uint32_t i;

	if (option_word(so->command, "--priority", text, word, 3, &i))
		return -1;
	so->context.ctx.priority = value[i];
	return 0;
}

static int take_stats(sort_options *so, const char *text)
{
	static const char *const word[] = { "text", "json" };
	static const int value[] = { STATS_TEXT, STATS_JSON };
	uint32_t i = 0;

	if (text && option_word(so->command, "--stats", text, word, 2, &i))
		return -1;
	so->stats = value[i];
	return 0;
}

/* What is read as a number into a field of 32 bits. */
static int take_u32(const char *command, const char *option, const char *text, uint32_t most, uint32_t *out)
{
	uint64_t v;

	if (option_number(command, option, text, 0, most, &v))
		return -1;
	*out = (uint32_t)v;
	return 0;
}

static int take_block_size(sort_options *so, const char *arg)
{
	/* 0 is none, whatever is usual. */
	so->context.ctx.block_bytes = 0;
	if (option_size(so->command, "--block-size", arg, 0, BLOCK_MOST, &so->sort.block_bytes))
		return -1;
	if (so->sort.block_bytes % PAGE == 0)
		return 0;
	message(so->command, "--block-size %s: must be a multiple of %d", arg, PAGE);
	return -1;
}

static int take_write_buffers(sort_options *so, const char *arg)
{
	if (take_u32(so->command, "--write-buffers", arg, UINT32_MAX, &so->sort.write_buffers))
		return -1;
	if (so->sort.write_buffers != 1)
		return 0;
	message(so->command, "--write-buffers %s: must be at least 2", arg);
	return -1;
}

/* Those that lines and records have in common: 1 when c is none of them. */
static int take_common(sort_options *so, int c, const char *arg)
{
	const char *cmd = so->command;

	switch (c) {
	case OPT_RUN_SIZE:
		return option_number(cmd, "--run-size", arg, 0, UINT64_MAX, &so->sort.run_records);
	case OPT_BLOCK_SIZE:
		return take_block_size(so, arg);
	case OPT_READ_BUFFERS:
		return take_u32(cmd, "--read-buffers", arg, UINT32_MAX, &so->sort.read_buffers);
	case OPT_WRITE_BUFFERS:
		return take_write_buffers(so, arg);
	case OPT_PREFETCH_BUFFERS:
		return take_u32(cmd, "--prefetch-buffers", arg, PREFETCH_MOST, &so->sort.prefetch_buffers);
	case OPT_FETCH:
		return take_fetch(so, arg);
	case OPT_PLACE_RUNS:
		return take_place_runs(so, arg);
	case OPT_LAST_RUN:
		return take_last_run(so, arg);
	case OPT_PRIORITY:
		return take_priority(so, arg);
	case OPT_COMPRESS:
		return take_compress(so, arg);
	case OPT_STATS:
		return take_stats(so, arg);
	case OPT_INTERVAL:
		return disk_table_interval(cmd, arg, &so->interval);
	default:
		return 1;
	}
}

/* What was so far is a configuration file's, unless the option was there before. */
static void forget_memory(sort_options *so)
{
	if (so->buffer_size)
		return;
	so->context.ctx.memory = 0;
	so->context.percent = 0;
}

/* More than there can be is as much as there can be: a bound is all that was asked for. */
static void set_parallel(sort_options *so, const char *arg, uint64_t n)
{
	so->context.ctx.threads = n < THREADS_MOST ? (uint32_t)n : THREADS_MOST;
	so->parallel_beyond = n > THREADS_MOST ? arg : NULL;
}

static void set_batch_size(sort_options *so, const char *arg, uint64_t n)
{
	so->sort.fan_in = n < BATCH_MOST ? (uint32_t)n : BATCH_MOST;
	so->batch_beyond = n > BATCH_MOST ? arg : NULL;
}

/* Of several sizes the largest is used. */
static int take_buffer_size(sort_options *so, const char *option, const char *arg)
{
	uint64_t bytes, percent;
	const int wrong = size_parse_memory(arg, &bytes, &percent);

	if (wrong) {
		message(so->command,
			wrong == SIZE_INVALID ? "invalid %s argument '%s'"
			: wrong == SIZE_SUFFIX ? "invalid suffix in %s argument '%s'"
					       : "%s argument '%s' too large",
			option, arg);
		return -1;
	}
	forget_memory(so);
	if (percent > so->context.percent)
		so->context.percent = percent;
	else if (bytes > so->context.ctx.memory)
		so->context.ctx.memory = bytes;
	else if (so->buffer_size)
		return 0;
	so->buffer_size = arg;
	return 0;
}

static int take_batch_size(sort_options *so, const char *arg)
{
	uint64_t n;

	if (option_count(so->command, "--batch-size", arg, &n))
		return -1;
	if (n < 2) {
		message(so->command, "invalid --batch-size argument '%s'", arg);
		message(so->command, "minimum --batch-size argument is '2'");
		return -1;
	}
	set_batch_size(so, arg, n);
	return 0;
}

static int take_parallel(sort_options *so, const char *arg)
{
	uint64_t n;

	if (option_count(so->command, "--parallel", arg, &n))
		return -1;
	if (!n) {
		message(so->command, "number in parallel must be nonzero");
		return -1;
	}
	set_parallel(so, arg, n);
	return 0;
}

static int take_text(sort_options *so, const char *option, int c, const char *arg)
{
	switch (c) {
	case 'S':
		return take_buffer_size(so, option, arg);
	case OPT_PARALLEL:
		return take_parallel(so, arg);
	case OPT_BATCH_SIZE:
		return take_batch_size(so, arg);
	default:
		return 1;
	}
}

/* 0 is none, whatever is usual. */
static int take_binary_count(sort_options *so, int c, const char *arg)
{
	const char *option = c == OPT_PARALLEL ? "--parallel" : "--batch-size";
	uint64_t n;

	if (option_count(so->command, option, arg, &n))
		return -1;
	if (c == OPT_PARALLEL) {
		set_parallel(so, arg, n);
		return 0;
	}
	if (n == 1) {
		message(so->command, "%s %s: must be at least 2", option, arg);
		return -1;
	}
	set_batch_size(so, arg, n);
	return 0;
}

static int take_binary(sort_options *so, int c, const char *arg)
{
	const char *cmd = so->command;

	switch (c) {
	case 'S':
		forget_memory(so);
		so->buffer_size = arg;
		return option_size(cmd, "-S", arg, 0, UINT64_MAX, &so->context.ctx.memory);
	case OPT_PARALLEL:
	case OPT_BATCH_SIZE:
		return take_binary_count(so, c, arg);
	default:
		return 1;
	}
}

int sort_resources_take(sort_options *so, const char *option, int c, const char *arg)
{
	const int ret = take_common(so, c, arg);

	if (ret <= 0)
		return ret;
	return so->binary ? take_binary(so, c, arg) : take_text(so, option, c, arg);
}
