/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort.c -- extmem sort: options in, em_sort_files(), messages and statistics out.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/size.h"
#include "cli/stats.h"

static const char help[] =
	"Usage: extmem sort --record-size=N [OPTION]... [FILE]...\n"
	"Sort the binary records of all FILEs together, or of standard input.\n"
	"\n"
	"      --record-size=N      records of N bytes\n"
	"  -k, --key=OFFSET:TYPE[:r]\n"
	"                           a key at OFFSET; TYPE: u8 u16 u32 u64 i8 i16 i32 i64 f32 f64,\n"
	"                           with be behind it for big-endian, or bytesN; r: largest first.\n"
	"                           May be repeated; without it all bytes are compared\n"
	"  -r, --reverse            every key the other way round\n"
	"  -s, --stable             keep equal records in the order of the input\n"
	"  -u, --unique             of records with equal keys keep the first\n"
	"  -o, --output=FILE        write to FILE, which may be an input, instead of standard output\n"
	"\n"
	"  -S, --buffer-size=SIZE   use so much memory; SIZE takes K M G T (1024), kB MB GB (1000)\n"
	"  -T, --temporary-directory=DIR\n"
	"                           scratch goes to DIR, not $EXTMEM_TMPDIR, $TMPDIR or /var/tmp\n"
	"      --parallel=N         compute with N threads\n"
	"      --batch-size=N       merge at most N runs at a time\n"
	"      --run-size=N         records per run\n"
	"      --block-size=SIZE    bytes per block of scratch\n"
	"      --direct=off|try|on  bypass the page cache (default try)\n"
	"      --backend=NAME       do input and output with syscall, libaio or memory\n"
	"      --isa=NAME           use scalar, avx2 or avx512 code\n"
	"\n"
	"      --plan               say what would be done, and do nothing\n"
	"      --stats[=json]       print statistics on standard error\n"
	"      --progress           show a progress bar even if standard error is no terminal\n"
	"      --no-progress        show none\n"
	"      --verbose            print what the library logs\n"
	"      --help               print this help\n"
	"      --version            print the version\n"
	"\n"
	"With no FILE, or when FILE is -, read standard input.\n"
	"Exit status: 0 success, 2 trouble.\n";

enum {
	OPT_RECORD_SIZE = 256,
	OPT_PARALLEL,
	OPT_BATCH_SIZE,
	OPT_RUN_SIZE,
	OPT_BLOCK_SIZE,
	OPT_DIRECT,
	OPT_BACKEND,
	OPT_ISA,
	OPT_PLAN,
	OPT_STATS,
	OPT_PROGRESS,
	OPT_NO_PROGRESS,
	OPT_VERBOSE,
	OPT_HELP,
	OPT_VERSION
};

static const struct option long_options[] = {
	{ "record-size", required_argument, NULL, OPT_RECORD_SIZE },
	{ "key", required_argument, NULL, 'k' },
	{ "reverse", no_argument, NULL, 'r' },
	{ "stable", no_argument, NULL, 's' },
	{ "unique", no_argument, NULL, 'u' },
	{ "output", required_argument, NULL, 'o' },
	{ "buffer-size", required_argument, NULL, 'S' },
	{ "temporary-directory", required_argument, NULL, 'T' },
	{ "parallel", required_argument, NULL, OPT_PARALLEL },
	{ "batch-size", required_argument, NULL, OPT_BATCH_SIZE },
	{ "run-size", required_argument, NULL, OPT_RUN_SIZE },
	{ "block-size", required_argument, NULL, OPT_BLOCK_SIZE },
	{ "direct", required_argument, NULL, OPT_DIRECT },
	{ "backend", required_argument, NULL, OPT_BACKEND },
	{ "isa", required_argument, NULL, OPT_ISA },
	{ "plan", no_argument, NULL, OPT_PLAN },
	{ "stats", optional_argument, NULL, OPT_STATS },
	{ "progress", no_argument, NULL, OPT_PROGRESS },
	{ "no-progress", no_argument, NULL, OPT_NO_PROGRESS },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

typedef struct sort_command {
	const char *command;
	key_options keys;
	em_ctx_opts ctx;
	em_sort_opts sort;
	const char *buffer_size; /* what -S said, for messages */
	const char *dir;
	const char *output;
	const char *const *input;
	uint32_t inputs;
	int plan;
	int stats;              /* STATS_... */
	int progress_mode;
	int verbose;
	progress bar;
	interrupt interrupt;
} sort_command;

/* What is read as a number into a field of 32 bits. */
static int read_u32(const char *command, const char *option, const char *text, uint32_t *out)
{
	uint64_t v;

	if (option_number(command, option, text, 0, UINT32_MAX, &v))
		return -1;
	*out = (uint32_t)v;
	return 0;
}

static int read_direct(sort_command *sc, const char *text)
{
	static const char *const word[] = { "off", "try", "on" };
	static const int32_t value[] = { EM_DIRECT_OFF, EM_DIRECT_TRY, EM_DIRECT_ON };
	uint32_t i;

	if (option_word(sc->command, "--direct", text, word, 3, &i))
		return -1;
	sc->ctx.direct = value[i];
	return 0;
}

static int read_stats(sort_command *sc, const char *text)
{
	static const char *const word[] = { "text", "json" };
	static const int value[] = { STATS_TEXT, STATS_JSON };
	uint32_t i = 0;

	if (text && option_word(sc->command, "--stats", text, word, 2, &i))
		return -1;
	sc->stats = value[i];
	return 0;
}

/* Take an option that has an argument; -1 when it is wrong. */
static int read_argument(sort_command *sc, int c, const char *arg)
{
	const char *cmd = sc->command;

	switch (c) {
	case OPT_RECORD_SIZE:
		return option_size(cmd, "--record-size", arg, 1, SIZE_MAX / 2, &sc->keys.record_size);
	case 'k':
		return key_options_add(&sc->keys, cmd, arg);
	case 'o':
		return option_name(cmd, "-o", arg, &sc->output);
	case 'T':
		return option_name(cmd, "-T", arg, &sc->dir);
	case 'S':
		sc->buffer_size = arg;
		return option_size(cmd, "-S", arg, 0, UINT64_MAX, &sc->ctx.memory);
	case OPT_PARALLEL:
		return read_u32(cmd, "--parallel", arg, &sc->ctx.threads);
	case OPT_BATCH_SIZE:
		return read_u32(cmd, "--batch-size", arg, &sc->sort.fan_in);
	case OPT_RUN_SIZE:
		return option_number(cmd, "--run-size", arg, 0, UINT64_MAX, &sc->sort.run_records);
	case OPT_BLOCK_SIZE:
		return option_size(cmd, "--block-size", arg, 0, UINT64_MAX, &sc->sort.block_bytes);
	case OPT_DIRECT:
		return read_direct(sc, arg);
	case OPT_BACKEND:
		sc->ctx.backend = arg;
		return 0;
	case OPT_ISA:
		sc->ctx.isa = arg;
		return 0;
	case OPT_STATS:
		return read_stats(sc, arg);
	default:
		/* getopt_long() has said what is wrong. */
		return -1;
	}
}

/* Returns -1 to go on, otherwise the exit status. */
static int read_options(sort_command *sc, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "k:rsuo:S:T:", long_options, NULL)) != -1) {
		switch (c) {
		case 'r':
			sc->keys.reverse = 1;
			break;
		case 's':
			sc->sort.flags |= EM_SORT_STABLE;
			break;
		case 'u':
			sc->sort.flags |= EM_SORT_UNIQUE;
			break;
		case OPT_PLAN:
			sc->plan = 1;
			break;
		case OPT_PROGRESS:
			sc->progress_mode = PROGRESS_ALWAYS;
			break;
		case OPT_NO_PROGRESS:
			sc->progress_mode = PROGRESS_NEVER;
			break;
		case OPT_VERBOSE:
			sc->verbose = 1;
			break;
		case OPT_HELP:
			fputs(help, stdout);
			return CLI_OK;
		case OPT_VERSION:
			printf("extmem %s\n", em_version());
			return CLI_OK;
		default:
			if (read_argument(sc, c, optarg))
				return CLI_TROUBLE;
		}
	}
	return -1;
}

/* Where scratch goes when -T does not say it: the library does not read the environment, so this does. */
static const char *scratch_directory(void)
{
	static const char *const variable[] = { "EXTMEM_TMPDIR", "TMPDIR" };
	const char *dir;
	size_t i;

	for (i = 0; i < sizeof(variable) / sizeof(variable[0]); i++) {
		dir = getenv(variable[i]);
		if (dir && *dir)
			return dir;
	}
	return "/var/tmp";
}

/* A line of the library's log.  Comes from any thread, so it goes out in one call. */
static void print_log(void *user, int32_t level, const char *line)
{
	const sort_command *sc = user;

	if (level >= EM_LOG_WARN)
		message(sc->command, "warning: %s", line);
	else if (sc->verbose)
		message(sc->command, "%s", line);
}

static int watch(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	sort_command *sc = user;

	progress_update(&sc->bar, em_phase_name(phase), done, total);
	return interrupt_caught(&sc->interrupt);
}

/* Records in all inputs; -1 when that cannot be told, which is said aloud if wanted. */
static int count_records(const sort_command *sc, int aloud, uint64_t *records)
{
	const uint64_t size = sc->keys.record_size;
	const char *name;
	struct stat sb;
	uint32_t i;
	int failed;

	*records = 0;
	for (i = 0; i < sc->inputs; i++) {
		name = input_name(sc->input[i]);
		failed = strcmp(sc->input[i], "-") ? stat(sc->input[i], &sb) : fstat(STDIN_FILENO, &sb);
		if (failed) {
			if (aloud)
				message_errno(sc->command, name, errno);
			return -1;
		}
		if (!S_ISREG(sb.st_mode)) {
			if (aloud)
				message(sc->command, "%s: --plan needs files whose size is known", name);
			return -1;
		}
		if ((uint64_t)sb.st_size % size) {
			if (aloud)
				message(sc->command, "%s: %" PRIu64 " bytes are no multiple of the record size %" PRIu64, name,
					(uint64_t)sb.st_size, size);
			return -1;
		}
		*records += (uint64_t)sb.st_size / size;
	}
	return 0;
}

/*
 * The least -S that does, when `least' bytes were said to do beside what the context takes.  A context of more memory may start
 * more threads, which need more: so the answer is tried, without any input or output, until it holds.
 */
static uint64_t enough_memory(const sort_command *sc, uint64_t least, uint64_t records)
{
	const uint64_t round = (uint64_t)64 << 10;
	em_ctx_opts opts = sc->ctx;
	em_sort_opts sort = sc->sort;
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
		st = key_options_order(&sc->keys, sc->command, ctx, &order) ? EM_ERR_NOMEM
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

/* Say what failed; too little memory in terms of the option.  ctx may be NULL. */
static void report(const sort_command *sc, const em_ctx *ctx, em_status st, const em_errinfo *err)
{
	uint64_t least = err->bytes, records;
	char text[SIZE_TEXT];

	if (st != EM_ERR_MEMLIMIT || !sc->buffer_size || !err->bytes) {
		message_errinfo(sc->command, st, err);
		return;
	}
	if (ctx && count_records(sc, 0, &records))
		/* Nobody knows how many will come: as many as an input of 64 times the memory has. */
		records = 64 * sc->ctx.memory / sc->keys.record_size;
	if (ctx)
		least = enough_memory(sc, least, records);
	message(sc->command, "-S %s: too little memory for this sort, which needs at least %s", sc->buffer_size,
		size_format_exact(least, text));
}

static int print_plan(sort_command *sc, em_ctx *ctx, const em_order *order, em_errinfo *err)
{
	em_sort_plan_info info = { 0 };
	uint64_t records;
	em_status st;

	info.size = sizeof(info);
	if (count_records(sc, 1, &records))
		return CLI_TROUBLE;
	st = em_sort_plan(ctx, order, records, &sc->sort, &info);
	if (st != EM_OK) {
		if (st == EM_ERR_MEMLIMIT && !err->bytes)
			err->bytes = info.memory_min;
		report(sc, ctx, st, err);
		return CLI_TROUBLE;
	}
	plan_print(stdout, &info, records, sc->keys.record_size);
	return CLI_OK;
}

static int sort_files(sort_command *sc, em_ctx *ctx, const em_order *order, em_errinfo *err)
{
	const double start = monotonic_seconds();
	em_sort_stats stats = { 0 };
	em_status st;
	int caught;

	stats.size = sizeof(stats);
	interrupt_begin(&sc->interrupt);
	progress_open(&sc->bar, sc->progress_mode);
	sc->sort.progress = watch;
	sc->sort.progress_user = sc;
	st = em_sort_files(ctx, order, sc->input, sc->inputs, sc->output ? sc->output : "-", &sc->sort, &stats);
	progress_close(&sc->bar);

	/* With its files gone, the process may die of the signal that stopped it. */
	caught = interrupt_caught(&sc->interrupt);
	interrupt_end(&sc->interrupt);

	if (st == EM_ERR_PIPE)
		/* The reader has seen enough: end as quietly as other commands do, unless the parent wants SIGPIPE
		 * ignored, in which case a message follows. */
		die_of(SIGPIPE);
	if (st != EM_OK) {
		if (!caught)
			report(sc, ctx, st, err);
		return CLI_TROUBLE;
	}
	stats_print(stderr, sc->stats, &stats, monotonic_seconds() - start, process_cpu_seconds());
	return CLI_OK;
}

static int run(sort_command *sc)
{
	em_errinfo err = { 0 };
	em_order *order = NULL;
	em_ctx *ctx = NULL;
	em_status st;
	int status = CLI_TROUBLE;

	sc->ctx.dirs = &sc->dir;
	sc->ctx.ndirs = 1;
	sc->ctx.log = print_log;
	sc->ctx.log_user = sc;
	sc->ctx.errinfo = &err;
	sc->sort.errinfo = &err;

	st = em_ctx_open(&ctx, &sc->ctx);
	if (st != EM_OK) {
		report(sc, ctx, st, &err);
		goto out;
	}
	if (key_options_order(&sc->keys, sc->command, ctx, &order))
		goto out;
	status = sc->plan ? print_plan(sc, ctx, order, &err) : sort_files(sc, ctx, order, &err);
out:
	em_order_close(order);
	em_ctx_close(ctx);
	return status;
}

int cli_sort(int argc, char **argv)
{
	static const char *const standard_input[] = { "-" };
	const em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	const em_sort_opts sort_opts = EM_SORT_OPTS_INIT;
	sort_command sc;
	int status;

	memset(&sc, 0, sizeof(sc));
	sc.command = argv[0];
	sc.ctx = ctx_opts;
	sc.sort = sort_opts;
	status = read_options(&sc, argc, argv);
	if (status >= 0)
		goto out;
	status = CLI_TROUBLE;
	if (key_options_done(&sc.keys, sc.command))
		goto out;
	if (!sc.dir)
		sc.dir = scratch_directory();
	sc.input = optind < argc ? (const char *const *)(argv + optind) : standard_input;
	sc.inputs = optind < argc ? (uint32_t)(argc - optind) : 1;
	status = run(&sc);
out:
	key_options_free(&sc.keys);
	return status;
}
