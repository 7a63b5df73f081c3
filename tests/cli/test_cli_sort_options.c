/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_sort_options.c -- options are spelled, and mistakes reported, as people know it.
 *
 * Each line of the tables below is run twice, by GNU sort and by extmem sort: the exit status, the output, the messages
 * without the name of the program, and the files that are left must be the same.  Where they are not on purpose, the
 * line stands in the table of exceptions, with the reason.  The messages are those of one version, so with another one
 * they are not compared.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/gnu.h"
#include "common/gnu_version.h"
#include "common/test.h"

static const char *const environment_lines[] = {
	"_POSIX2_VERSION=200112 $SORT +1 in", "_POSIX2_VERSION=200112 $SORT +1 -2 in",
	"_POSIX2_VERSION=200112 $SORT +1n -2 in", "_POSIX2_VERSION=199209 $SORT +1 in",
	"_POSIX2_VERSION=200112 $SORT +0 -1 +1 in", "_POSIX2_VERSION=200112 POSIXLY_CORRECT=1 $SORT +1 -2 in",
	"_POSIX2_VERSION=foo $SORT +1 in", "POSIXLY_CORRECT=1 $SORT +1 in", "POSIXLY_CORRECT=1 $SORT +1 -2 in",
	"POSIXLY_CORRECT=1 $SORT in +1", "POSIXLY_CORRECT=1 $SORT in -r", "POSIXLY_CORRECT=1 $SORT in -o x",
	"POSIXLY_CORRECT=1 $SORT in -ox", "POSIXLY_CORRECT=1 $SORT -c in -o x",
	"POSIXLY_CORRECT=1 $SORT in -o x -r", "POSIXLY_CORRECT=1 $SORT -o x in -r",
	"POSIXLY_CORRECT=1 $SORT -o x in -o y", "POSIXLY_CORRECT=1 $SORT in -o",
	"_POSIX2_VERSION=200112 POSIXLY_CORRECT=1 $SORT in -o x",
	"_POSIX2_VERSION=200112 POSIXLY_CORRECT=1 $SORT +1 in", "POSIXLY_CORRECT=1 $SORT -- in -o x",
	NULL
};

static const char *const debug_lines[] = {
	"$SORT -c --debug in", "$SORT --debug --check in", "$SORT --debug -o x in", "$SORT --debug in",
	"$SORT --debug -k2 in", "$SORT --debug -k2,2n in", "$SORT --debug -k2,2n -k1 in",
	"$SORT --debug -k2,2n -s in", "$SORT --debug -k2,2n -r in", "$SORT --debug -k1b,1 -k9 in",
	"$SORT --debug -n in", "$SORT --debug -rn in", "$SORT --debug -t ' ' -k2 in", "$SORT --debug -u in",
	"$SORT --debug -u -k1,1 in", "$SORT --debug -c in", "$SORT --debug -k2.2,2.3 in", "$SORT --debug -k3 in",
	"$SORT --debug -k2n -k3 in", "$SORT --debug -h -k2 in", "$SORT --debug -b in", "$SORT --debug -b -k2 in",
	"$SORT --debug -r -k2 in", "$SORT --debug -r -k2n -k1r in", "$SORT --debug -r -s in",
	"$SORT --debug -M in", "$SORT --debug -bs -k2,2 in", "$SORT --debug -g in", "$SORT --debug -V in",
	"$SORT --debug -d in", "$SORT --debug -t, -k1,2n in", "$SORT --debug -k1,2n in",
	"$SORT --debug -t. -k1n in", "$SORT --debug -t- -k1n in", "$SORT --debug -t1 -k1n in",
	"$SORT --debug +1 -2 in", "$SORT --debug +1n -2 in", "$SORT --debug -m in",
	"$SORT --debug -k1,1 -k2,2nb -bfn in", "$SORT --debug -k0,1 in", "$SORT --debug -k2,1 in",
	"$SORT --debug -k1,1 -f -r in", "$SORT --debug -k1,1n -g in", "$SORT --debug -k1n,1 -d in",
	"$SORT --debug -k 1b,1b -u in", "$SORT --debug -k1r -r in", "$SORT --debug -k1r -ur in",
	"$SORT --debug -k1M -k1V -b in", "$SORT --debug -t + -k1g in", "$SORT --debug -t ' ' -b -k2 in",
	"$SORT --debug -t, -k2,2 in", "$SORT --debug -k1,1g -t , in", "$SORT --debug -k2.0n in",
	"$SORT --debug -k1.2,1.0n in", "$SORT --check=silent -o x --debug in in", "$SORT -gn --debug -o x in",
	"$SORT --debug -t '.' -k1n in", "$SORT --debug -k1n -bfdir in", "$SORT --debug -k1b -b in",
	"$SORT --debug +2.3n -4.1 in", "$SORT --debug -u -f in", "$SORT --debug -z in",
	"$SORT --debug -k1b,1.2 in", "$SORT --debug -k1n,2.1 in", "$SORT --debug -t. -k1n,1 in",
	"$SORT --debug -t- -k1n,2 in", "$SORT --debug -t+ -k1g,2 in", "$SORT --debug -n -k1g in",
	"$SORT --debug -fbr -k1n -k2r in", "$SORT --debug +2 -1 in", "$SORT --debug -di -k1n in",
	NULL
};

static const char *const files0_lines[] = {
	"$SORT --files0-from=f0", "$SORT --files0-from=f0 in", "$SORT --files0-from=f0 in x",
	"$SORT --files0-from=f0e", "$SORT --files0-from=f0z", "$SORT --files0-from=f00", "$SORT --files0-from=f0n",
	"$SORT --files0-from=f0m", "$SORT --files0-from=f0d", "$SORT --files0-from=-",
	"$SORT --files0-from=nosuch", "$SORT --files0-from=.", "$SORT --files0-from=",
	"$SORT --files0-from=f0 --files0-from=f0n", "$SORT -c --files0-from=f0", "$SORT -c --files0-from=f0d",
	"$SORT -m --files0-from=f0d", "$SORT +1 --files0-from=f0", "$SORT --files0-from=f0 -co x",
	"$SORT --files0-from=- <f0", "$SORT --files0-from=- <f0d", "$SORT --files0-from=- <f0e",
	"$SORT --files0-from=- <f0z", "$SORT in --files0-from=in", "$SORT --files0-from=nosuch -gn",
	"$SORT --files0-from=nosuch in -gn", "$SORT --files0-from=f0 -c", "$SORT --files0-from=f0 -r -o x",
	"$SORT --files0-from f0",
	NULL
};

static const char *const obsolete_lines[] = {
	"$SORT -S -1 in", "$SORT -k -1 in", "$SORT -k +1 in", "$SORT +1 in", "$SORT +1 -2 in", "$SORT +0 in",
	"$SORT +1.2 -3.4 in", "$SORT +1n -2 in", "$SORT +1 -2n in", "$SORT +1x in", "$SORT +1 -2x in",
	"$SORT +1 -x in", "$SORT +x in", "$SORT + in", "$SORT -1 in", "$SORT -2 in", "$SORT +1.x in",
	"$SORT +1. in", "$SORT +1 -2. in", "$SORT +1 -2.x in", "$SORT +1 -2,3 in", "$SORT -- +1 in", "$SORT in +1",
	"$SORT in +1 -2", "$SORT -o x in +1", "$SORT +1 -- in", "$SORT -m +1 in", "$SORT +1 -c in",
	"$SORT +1 -0 in", "$SORT +0 -0 in", "$SORT +0 -1.0 in", "$SORT +0 -0.1 in", "$SORT +1-2 in",
	"$SORT +1b in", "$SORT +1bn -2r in", "$SORT +1+2 in", "$SORT +1n -2n -b in", "$SORT +n in", "$SORT +.1 in",
	"$SORT +1 -.2 in", "$SORT -1n in", "$SORT +1 -2 -3 in", "$SORT -k1 -1 in", "$SORT -r -- in +1",
	"$SORT +0 -1.2n in", "$SORT +0.1 -1 in", "$SORT +1 -0 -r in", "$SORT +1r -0b in", "$SORT -r +1 in",
	"$SORT +1 -2 +0 -1 in", "$SORT - -2 in", "$SORT -S 4M -t, +1 -2 in", "$SORT -1",
	NULL
};

static const char *const sizes_lines[] = {
	"$SORT --batch-size=1 in", "$SORT --batch-size=0 in", "$SORT --batch-size=x in",
	"$SORT --batch-size=-1 in", "$SORT --batch-size=2K in", "$SORT --parallel=0 in", "$SORT --parallel=x in",
	"$SORT --parallel=-1 in", "$SORT --parallel=2K in", "$SORT -S x in", "$SORT -S 1x in", "$SORT -S 1% in",
	"$SORT -S 64m in", "$SORT -S 64M -S 1g -S 2b in", "$SORT -S 0 in", "$SORT -S 1.5K in", "$SORT -S 1Q in",
	"$SORT -S 1Z in", "$SORT --batch-size=2 in", "$SORT --buffer-size", "$SORT --parallel", "$SORT -S",
	"$SORT -S \"1'\" in", "$SORT --batch-size=0x10 in", "$SORT --batch-size=010 in",
	"$SORT --batch-size=' 5' in", "$SORT --batch-size=+5 in", "$SORT --batch-size=5b in",
	"$SORT --batch-size=9000 in",
	"$SORT --compress-program=gzip in", "$SORT --com=gzip -r in",
	"$SORT --compress-program=gzip --compress-program=cat in",
	"$SORT --batch-size= in", "$SORT --parallel=+5 in", "$SORT --batch-size=1 --batch-size=5 in",
	"$SORT --ba=5 in", "$SORT -S 4M -S 30M two", "$SORT --buffer-size=x in", "$SORT --buffer-size=1x in",
	"$SORT --buf=64M in", "$SORT -S '' in",
	NULL
};

static const char *const keys_lines[] = {
	"$SORT -k1gn -t '' in", "$SORT -k1gn -k2dM in", "$SORT -hM -k1 -k2gn in", "$SORT -hM -k2gn -k1 in",
	"$SORT -k1gn -c in in", "$SORT -k1,1gn in", "$SORT --check=q in", "$SORT --check=s in", "$SORT --check=d in",
	"$SORT -k in", "$SORT -k x in", "$SORT -k 0 in", "$SORT -k 1.0 in", "$SORT -k 1.x in", "$SORT -k 1, in",
	"$SORT -k 1,x in", "$SORT -k 1,0 in", "$SORT -k 1,1.0 in", "$SORT -k 1,1.x in", "$SORT -k 1x in",
	"$SORT -k 1,1x in", "$SORT -k 1b,1 in", "$SORT -k 1.2.3 in", "$SORT -k 1,2,3 in", "$SORT -k ' 1' in",
	"$SORT -k1nn in", "$SORT -k 1,2nbb in", "$SORT -k 1n,1g in", "$SORT --key", "$SORT -k", "$SORT -- -k1",
	"$SORT -k1Mn -k2gh in", "$SORT -k1bdfiMRhVgnr in", "$SORT -k1 -gn in", "$SORT -k1n -gn in",
	"$SORT -k 1n,1g -gn in", "$SORT --merge --check in", "$SORT --check=quiet --check=diagnose-first in",
	"$SORT --check --check=silent in", "$SORT -kS", "$SORT -gn -k x in", "$SORT -k x -t ''",
	"$SORT -t '' -k x", "$SORT -k 'x y'", "$SORT -k \"x'y\"", "$SORT -k '1,1' -k '1,,1' in",
	"$SORT -k '1 ,1' in", "$SORT -k '1, 1' in", "$SORT -k '1. 1' in", "$SORT -k '1.+1' in",
	"$SORT -k '1,-1' in", "$SORT -k '1.1n.1' in", "$SORT --check in", "$SORT -nk2 in", "$SORT -nrk2,2 -k1 in",
	"$SORT -k2nr in", "$SORT -t: -k2 in", "$SORT --key=2,2 in", "$SORT --key 2,2 in", "$SORT -bk2.2,2b in",
	"$SORT in -k", "$SORT -k '' in",
	NULL
};

static const char *const separators_lines[] = {
	"$SORT -t \"\"", "$SORT -t xx", "$SORT -ta -tb in", "$SORT -ta -ta in", "$SORT -t", "$SORT -t '\\0' in",
	"$SORT -t '\\\\0' in", "$SORT -t '\\' in", "$SORT -t '\\0' -t '\\' in", "$SORT -t \"a'b\" in",
	"$SORT -t ' ' -t ' ' in", "$SORT --field-separator='\\0' in", "$SORT -t '' --foo", "$SORT --field=, in",
	"$SORT --field-separator= in", "$SORT --field-separator=ab in",
	NULL
};

static const char *const checks_lines[] = {
	"$SORT -co out in", "$SORT -Co out in", "$SORT -cC in", "$SORT -c in in", "$SORT -C in in",
	"$SORT -c nosuch", "$SORT -c .", "$SORT -C /dev/null in", "$SORT -cu in", "$SORT -cm in", "$SORT -cs in",
	"$SORT -C -c in", "$SORT -cc in", "$SORT -cCo x in", "$SORT -c -o x in in", "$SORT -gn -c in in",
	"$SORT -c nosuch in", "$SORT -c in -m", "$SORT -c -", "$SORT -c -- in", "$SORT -c -u -z in",
	"$SORT -y -c in", "$SORT -c two", "$SORT -C two", "$SORT -cu two", "$SORT -cr two", "$SORT -zc two",
	"$SORT -cm in two",
	NULL
};

static const char *const files_lines[] = {
	"$SORT -o x -o y in", "$SORT -o x -o x in", "$SORT nosuch", "$SORT in nosuch", "$SORT -o x nosuch",
	"$SORT -o nosuch/x in", "$SORT -m nosuch", "$SORT .", "$SORT --output in", "$SORT -o", "$SORT -o in",
	"$SORT -T nosuch in", "$SORT in -- -r", "$SORT in -o y", "$SORT - -", "$SORT -- in -o x",
	"$SORT -- in -ox", "$SORT -- -o x", "$SORT in -- -o x", "$SORT in -o x -- -r", "$SORT -gn nosuch",
	"$SORT -o nosuch/x nosuch", "$SORT -mo in in", "$SORT ''", "$SORT -o '' in", "$SORT -o . in",
	"$SORT -o x -o '' in", "$SORT -mu in in", "$SORT -mu two two", "$SORT --merge two in",
	"$SORT -o x two in && $SORT -o x x two", "$SORT -u -- in", "$SORT -o in in",
	NULL
};

static const char *const spellings_lines[] = {
	"$SORT -gn in", "$SORT -nM -h in", "$SORT -dn in", "$SORT -in in", "$SORT -di in", "$SORT -idfbgn in",
	"$SORT -rgn in", "$SORT --sort=n in", "$SORT --sort=g in", "$SORT -r1 in", "$SORT -n1 in", "$SORT --foo",
	"$SORT --re", "$SORT --rev in", "$SORT --r in", "$SORT --s in", "$SORT --c in", "$SORT --ch in",
	"$SORT --stable=1 in", "$SORT -y in", "$SORT -y5 in", "$SORT -y 5 in", "$SORT -q in", "$SORT -Z",
	"$SORT -W x in", "$SORT -j in", "$SORT --zero in", "$SORT --help=1", "$SORT", "$SORT in -r", "$SORT -z in",
	"$SORT -bdfi in", "$SORT -VM in", "$SORT -Vn in", "$SORT -hn in", "$SORT -gM in", "$SORT -nd in",
	"$SORT -hd -i in", "$SORT -V -d in", "$SORT -Vi in", "$SORT --sort=numeric --sort=month in",
	"$SORT --dictionary-order --month-sort in", "$SORT -T", "$SORT -y", "$SORT -yn in", "$SORT -y1n in",
	"$SORT -y in -r", "$SORT --sort=m in", "$SORT --par=2 in", "$SORT --b=5 in", "$SORT --di in",
	"$SORT --st in", "$SORT --n in", "$SORT --nu in", "$SORT --v in", "$SORT --ver in", "$SORT --i in",
	"$SORT --h in", "$SORT --hum in", "$SORT --me in two", "$SORT --de in", "$SORT --t in", "$SORT --u in",
	"$SORT --z in", "$SORT --o=x in", "$SORT --temporary-directory=/tmp in", "$SORT -z two", "$SORT -fs in",
	"$SORT -V in", "$SORT -Vd in", "$SORT -d -i in", "$SORT -Mb in", "$SORT in two -", "$SORT -fi -n in",
	"$SORT -ih in", "$SORT -Mfi in", "$SORT --reverse --numeric-sort in", "$SORT --unique --ignore-case in",
	"$SORT in -u", "$SORT -W", "$SORT -P in",
	NULL
};

/* What is different on purpose. */
typedef struct exception {
	const char *line;
	int status;             /* of extmem sort */
	const char *message;    /* a part of its message, "" for none at all */
	const char *reason;
} exception;

static const char reads_as_disorder[] = "exit status 1 would be read as disorder";
static const char no_random[] = "random order is not supported";
static const char memory_raised[] = "that -S is raised is told";
static const char more_units[] = "units of --block-size are taken, too";
static const char list_order[] = "the options are listed in another order";

static const exception exceptions[] = {
	{ "$SORT --sort=foo in", 2, "invalid argument 'foo' for '--sort'", reads_as_disorder },
	{ "$SORT --sort= in", 2, "ambiguous argument '' for '--sort'", reads_as_disorder },
	{ "$SORT --sort=gnu in", 2, "invalid argument 'gnu' for '--sort'", reads_as_disorder },
	{ "$SORT --check=foo in", 2, "invalid argument 'foo' for '--check'", reads_as_disorder },
	{ "$SORT --check= in", 2, "ambiguous argument '' for '--check'", reads_as_disorder },
	{ "$SORT -R in", 2, "random order is not supported", no_random },
	{ "$SORT --random-sort in", 2, "random order is not supported", no_random },
	{ "$SORT --sort=random in", 2, "random order is not supported", no_random },
	{ "$SORT --random-source=in in", 2, "random order is not supported", no_random },
	{ "$SORT -k1R in", 2, "random order is not supported", no_random },
	{ "$SORT -S 1b in", 0, "too little", memory_raised },
	{ "$SORT -S 1 in", 0, "too little", memory_raised },
	{ "$SORT -S K in", 0, "too little", memory_raised },
	{ "$SORT -S +10 in", 0, "too little", memory_raised },
	{ "$SORT -S 64MB in", 0, "", more_units },
	{ "$SORT -S 64MiB in", 0, "", more_units },
	{ "$SORT -S 50000kB in", 0, "", more_units },
	{ "$SORT -T '' in", 2, "-T: the name is empty", "it would be found out only after hours" },
	{ "$SORT --batch-size=99999999999 in", 0, "",
	  "runs do not take a descriptor each, so the limit is not that of descriptors" },
	{ "$SORT --batch-size=99999999999999999999999 in", 0, "", "likewise" },
	{ "$SORT 'no such'", 2, "cannot read: no such: No such file", "names of files are not quoted" },
	{ "$SORT --debug -k1.3n,1 in", 0, "byte comparison", "an empty key is marked where it begins" },
	{ "$SORT -o - in", 0, "", "this is standard output" },
	{ "$SORT --m in", 2, "option '--m' is ambiguous", list_order },
	{ "$SORT --d in", 2, "option '--d' is ambiguous", list_order },
	{ "$SORT --f in", 2, "option '--f' is ambiguous", list_order },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* What the lines work on; the names are short because there are so many of them. */
static void make_files(const char *dir)
{
	static const struct {
		const char *name, *text;
		size_t bytes;
	} file[] = {
		{ "in", "b 2\tx\na  10\n\nc\n", 15 },
		{ "two", "1\n2\n", 4 },
		{ "f0", "in", 3 },
		{ "f0e", "in\0\0in", 7 },
		{ "f0z", "", 0 },
		{ "f0n", "in", 2 },
		{ "f0m", "nosuch\0in", 10 },
		{ "f0d", "in\0-", 5 },
		{ "f00", "", 1 },
	};
	char *path;
	size_t i;

	for (i = 0; i < COUNT(file); i++) {
		path = test_path(dir, file[i].name);
		write_file(path, file[i].text, file[i].bytes);
		free(path);
	}
}

/* What a line left behind: the files that it may have written, one after the other, which are removed. */
static char *take_outputs(const char *dir)
{
	static const char *const name[] = { "in", "two", "x", "y" };
	char *all = calloc(1, 4096), *path, *text;
	size_t i, n = 0, bytes;

	assert_non_null(all);
	for (i = 0; i < COUNT(name); i++) {
		path = test_path(dir, name[i]);
		if (!access(path, F_OK)) {
			text = read_file(path, &bytes);
			n += (size_t)snprintf(all + n, 4096 - n, "%s: ", name[i]);
			assert_true(n + bytes < 4096);
			memcpy(all + n, text, bytes);
			n += bytes;
			free(text);
			unlink(path);
		}
		free(path);
	}
	return all;
}

static int same_output(const run *a, const run *b)
{
	return a->out_bytes == b->out_bytes && !memcmp(a->out, b->out, a->out_bytes);
}

static int compare_line(const char *dir, const char *line, int messages)
{
	char *theirs, *ours;
	int same;
	run g, e;

	make_files(dir);
	gnu_shell(&g, dir, line, 1);
	theirs = take_outputs(dir);
	make_files(dir);
	gnu_shell(&e, dir, line, 0);
	ours = take_outputs(dir);
	gnu_strip(g.err);
	gnu_strip(e.err);
	same = g.status == e.status && same_output(&g, &e) && !strcmp(theirs, ours) &&
	       (!messages || !strcmp(g.err, e.err));
	if (!same)
		print_error("%s\n  GNU:    %d, %s\n%s%s\n  extmem: %d, %s\n%s%s\n", line, g.status, g.err, g.out,
			    theirs, e.status, e.err, e.out, ours);
	free(theirs);
	free(ours);
	run_free(&g);
	run_free(&e);
	return same;
}

static void compare_lines(const char *const *lines)
{
	const int version = gnu_version("sort");
	char *dir = test_dir_make();
	unsigned different = 0;

	if (version)
		for (; *lines; lines++)
			different += !test_left_out() && !compare_line(dir, *lines, version == GNU_9_1);
	else
		print_message("# no GNU sort here to compare with\n");
	test_dir_remove(dir);
	assert_int_equal(different, 0);
}

static void test_lines(void **state)
{
	compare_lines(*state);
}

static void test_exceptions(void **state)
{
	char *dir = test_dir_make(), *left;
	unsigned different = 0;
	const exception *x;
	size_t i;
	run r;

	(void)state;
	for (i = 0; i < COUNT(exceptions); i++) {
		x = &exceptions[i];
		make_files(dir);
		gnu_shell(&r, dir, x->line, 0);
		left = take_outputs(dir);
		free(left);
		if (r.status != x->status || (*x->message ? !strstr(r.err, x->message) : *r.err != '\0')) {
			print_error("%s (%s)\n  %d, not %d: %s\n", x->line, x->reason, r.status, x->status, r.err);
			different++;
		}
		run_free(&r);
	}
	test_dir_remove(dir);
	assert_int_equal(different, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "test_environment", test_lines, NULL, NULL, (void *)(uintptr_t)environment_lines },
		{ "test_debug", test_lines, NULL, NULL, (void *)(uintptr_t)debug_lines },
		{ "test_files0", test_lines, NULL, NULL, (void *)(uintptr_t)files0_lines },
		{ "test_obsolete", test_lines, NULL, NULL, (void *)(uintptr_t)obsolete_lines },
		{ "test_sizes", test_lines, NULL, NULL, (void *)(uintptr_t)sizes_lines },
		{ "test_keys", test_lines, NULL, NULL, (void *)(uintptr_t)keys_lines },
		{ "test_separators", test_lines, NULL, NULL, (void *)(uintptr_t)separators_lines },
		{ "test_checks", test_lines, NULL, NULL, (void *)(uintptr_t)checks_lines },
		{ "test_files", test_lines, NULL, NULL, (void *)(uintptr_t)files_lines },
		{ "test_spellings", test_lines, NULL, NULL, (void *)(uintptr_t)spellings_lines },
		cmocka_unit_test(test_exceptions),
	};

	return cmocka_run_group_tests_name("cli_sort_options", tests, run_setup_group, NULL);
}
