/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_io.c -- extmem bench io: what ways of reading and writing elements cost on this machine.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/bench_io.h"
#include "cli/cli.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/scratch_directory.h"

static const char help[] =
	"Usage: extmem bench io [OPTION]...\n"
	"Write and read streams of elements and print what that took: for each combination\n"
	"of the parameters the median, least and most seconds, the median of the CPU seconds,\n"
	"and how many I/O operations were predicted and how many there were.\n"
	"\n"
	"      --op=LIST        read, write (default write,read)\n"
	"      --kind=LIST      simple (an element per system call), buffer (stdio), bufferb (a\n"
	"                       buffer of its own), mapping (mapped windows); default all\n"
	"      --n=LIST         elements per stream (default 10^6)\n"
	"      --k=LIST         streams at once, which take turns (default 1)\n"
	"      --block=LIST     bytes of the buffer or window of bufferb and mapping\n"
	"                       (default 64K)\n"
	"      --element=LIST   bytes of an element (default 4)\n"
	"      --repeat=R       repetitions, of which the first is not counted (default 6)\n"
	"      --from=FILE      a table of runs: a line that names columns op, kind, n, k, block,\n"
	"                       element, repeat, then a line for each set of them; what it\n"
	"                       leaves open is from the options\n"
	"      --cache=MODE     warm (default), or cold: files are synced and dropped from the\n"
	"                       page cache before they are read, and synced after they are written\n"
	"  -T, --dir=DIR        files go to DIR, not $EXTMEM_TMPDIR, $TMPDIR or /var/tmp\n"
	"      --force          the kind simple with more than 10^7 elements, too\n"
	"      --csv            print comma-separated values, which --from takes, too\n"
	"      --json           print one JSON object\n"
	"      --help           print this help\n"
	"      --version        print the version\n"
	"\n"
	"A LIST is separated by commas: 4,16,1K or 10^3..10^6 (times 10) or 4K..64K (times 2).\n"
	"The files have no names and are gone when it ends, however that happens.\n"
	"Exit status: 0 success, 2 trouble.\n";

/* The parameters are the first options, in the order of bench_column[]. */
enum {
	OPT_PARAMETER = OPTION_OTHERS,
	OPT_FROM = OPT_PARAMETER + BENCH_PARAMETERS,
	OPT_CACHE,
	OPT_FORCE,
	OPT_CSV,
	OPT_JSON
};

static const struct option long_options[] = {
	{ "op", required_argument, NULL, OPT_PARAMETER },
	{ "kind", required_argument, NULL, OPT_PARAMETER + 1 },
	{ "n", required_argument, NULL, OPT_PARAMETER + 2 },
	{ "k", required_argument, NULL, OPT_PARAMETER + 3 },
	{ "block", required_argument, NULL, OPT_PARAMETER + 4 },
	{ "element", required_argument, NULL, OPT_PARAMETER + 5 },
	{ "repeat", required_argument, NULL, OPT_PARAMETER + 6 },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "cache", required_argument, NULL, OPT_CACHE },
	{ "dir", required_argument, NULL, 'T' },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

static int take_format(bench_options *o, int format)
{
	if (o->format != BENCH_TEXT && o->format != format) {
		message(o->command, "--csv and --json cannot be combined");
		return -1;
	}
	o->format = format;
	return 0;
}

static int take_parameter(bench_options *o, uint32_t i, const char *arg)
{
	const char *wrong = bench_set_read(&o->set, i, arg);

	if (wrong)
		message(o->command, "--%s %s: %s", bench_column[i], arg, wrong);
	return wrong ? -1 : 0;
}

static int take(bench_options *o, int c, const char *arg)
{
	static const char *const caches[] = { "warm", "cold" };
	uint32_t word;

	if (c >= OPT_PARAMETER && c < OPT_PARAMETER + BENCH_PARAMETERS)
		return take_parameter(o, (uint32_t)(c - OPT_PARAMETER), arg);
	switch (c) {
	case OPT_FROM:
		return option_name(o->command, "--from", arg, &o->from);
	case OPT_CACHE:
		if (option_word(o->command, "--cache", arg, caches, 2, &word))
			return -1;
		o->cold = word == 1;
		return 0;
	case 'T':
		return option_name(o->command, "--dir", arg, &o->dir);
	case OPT_FORCE:
		o->force = 1;
		return 0;
	case OPT_CSV:
		return take_format(o, BENCH_CSV);
	case OPT_JSON:
		return take_format(o, BENCH_JSON);
	default:
		/* getopt_long() has said what is wrong. */
		return -1;
	}
}

/* Returns -1 to go on, otherwise the exit status. */
static int read_options(bench_options *o, int argc, char **argv)
{
	int c, common, unused = 0;

	while ((c = getopt_long(argc, argv, "T:", long_options, NULL)) != -1) {
		common = option_common(argv[0], c, help, &unused);
		if (common < 0)
			return CLI_OK;
		if (common > 0 && take(o, c, optarg))
			return CLI_TROUBLE;
	}
	if (optind < argc) {
		message(o->command, "%s: no files are read; runs are named with --from", argv[optind]);
		return CLI_TROUBLE;
	}
	return -1;
}

static int make_plan(bench_options *o)
{
	size_t i;

	if (o->from ? bench_plan_table(&o->plan, o->command, o->from, &o->set)
		    : bench_plan_add(&o->plan, o->command, &o->set))
		return -1;
	for (i = 0; i < o->plan.n && !o->force; i++) {
		const bench_run *r = &o->plan.run[i];

		if (r->kind == EM_ELEMENT_SIMPLE && r->n > BENCH_SIMPLE_MOST / r->k) {
			message(o->command,
				"%" PRIu32 " streams of %" PRIu64
				" elements: a system call for each of more than %" PRIu64 " elements only with --force",
				r->k, r->n, BENCH_SIMPLE_MOST);
			return -1;
		}
	}
	return 0;
}

/* A context with the memory that the largest run needs, which may be more than others get. */
static int open_context(const bench_options *o, em_ctx **ctx)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err = { 0 };
	uint64_t needed;
	em_status st;
	size_t i;

	opts.memory = em_ctx_min_memory();
	for (i = 0; i < o->plan.n; i++) {
		needed = em_ctx_min_memory() + bench_elements_memory(&o->plan.run[i]);
		if (opts.memory < needed)
			opts.memory = needed;
	}
	opts.threads = 1;
	opts.errinfo = &err;
	st = em_ctx_open(ctx, &opts);
	if (st != EM_OK)
		message_errinfo(o->command, st, &err);
	return st == EM_OK ? 0 : -1;
}

static int run_all(const bench_options *o, const interrupt *in)
{
	bench_files files = { 0 };
	bench_result result;
	em_ctx *ctx;
	size_t i;
	int bad = 0;

	if (open_context(o, &ctx))
		return -1;
	bench_print_begin(o);
	for (i = 0; i < o->plan.n && !bad; i++) {
		memset(&result, 0, sizeof(result));
		bad = bench_elements(o, ctx, &files, &o->plan.run[i], in, &result);
		if (!bad)
			bench_print_run(o, i, &o->plan.run[i], &result);
	}
	bench_print_end(o);
	bench_files_free(&files);
	em_ctx_close(ctx);
	return bad;
}

int bench_io(int argc, char **argv)
{
	static const char *const defaults[BENCH_PARAMETERS] = {
		"write,read", "simple,buffer,bufferb,mapping", "1000000", "1", "64K", "4", "6",
	};
	bench_options o;
	interrupt in;
	uint32_t i;
	int status;

	memset(&o, 0, sizeof(o));
	o.command = argv[0];
	for (i = 0; i < BENCH_PARAMETERS; i++)
		(void)bench_set_read(&o.set, i, defaults[i]);
	status = read_options(&o, argc, argv);
	if (status >= 0)
		return status;
	if (!o.dir)
		o.dir = scratch_directory(NULL);
	status = CLI_TROUBLE;
	if (!make_plan(&o)) {
		interrupt_begin(&in, NULL);
		if (!run_all(&o, &in))
			status = CLI_OK;
		interrupt_end(&in);
	}
	bench_plan_free(&o.plan);
	return status;
}
