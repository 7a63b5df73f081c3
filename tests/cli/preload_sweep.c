/* SPDX-License-Identifier: BSL-1.0 */
/* preload_sweep.c -- see preload_sweep.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/preload.h"
#include "cli/preload_sweep.h"
#include "cli/preload_ways.h"
#include "cli/run.h"
#include "common/test.h"

#define HANG_SECONDS 20
#define CASE_SECONDS 900        /* when everything fails */
#define PLACES_MOST 4096u
#define SEEN_SLOTS (1u << 16)
#define OLD "what stood there before\n"
#define TOLD_MOST 40u           /* of the faults found in one case */

/* A place that calls were made at. */
typedef struct place {
	char call[PRELOAD_NAME];
	char kind;
	uint64_t key, count;
} place;

typedef struct sweep {
	const sweep_case *c;
	int all;
	uint64_t sparse;
	char *dir, *scratch, *log, *input[SWEEP_INPUTS], *output;
	char env_log[512], env_fail[128], env_scratch[512];
	run_setup setup;
	place *places;
	size_t nplaces;
	unsigned char *right;   /* the output ... */
	size_t right_bytes;
	char *right_out;        /* ... and what is printed */
	size_t right_out_bytes;
	unsigned runs, struck, failures;
} sweep;

static char env_preload[512];
static char env_asan[] = "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0";

/* What failed in which way at which place already: keys, 0 is free. */
static uint64_t seen[SEEN_SLOTS];

int sweep_set_up(void **state)
{
	const char *build = getenv("EM_BUILDDIR");
	char path[400];

	if (!build) {
		print_error("EM_BUILDDIR must hold the path of the build\n");
		return -1;
	}
	snprintf(path, sizeof(path), "%s/tests/cli/preload.so", build);
	if (access(path, R_OK)) {
		print_error("%s: %s\n", path, strerror(errno));
		return -1;
	}
	snprintf(env_preload, sizeof(env_preload), "LD_PRELOAD=%s", path);
	return run_setup_group(state);
}

/* The files as they are before each run. */
static void put_files(const sweep *w)
{
	int i;

	for (i = 0; i < SWEEP_INPUTS; i++)
		if (w->c->in[i])
			write_file(w->input[i], w->c->in[i], w->c->bytes[i]);
	if (w->c->output && strncmp(w->c->output, "input", 5))
		write_file(w->output, OLD, sizeof(OLD) - 1);
}

static void start(sweep *w, run *r)
{
	put_files(w);
	unlink(w->log);
	w->setup.in_fd = 0;
	if (w->c->from != SWEEP_NO_STDIN) {
		w->setup.in_fd = w->c->from == SWEEP_PIPE ? feed_pipe(w->c->in[0], w->c->bytes[0])
							  : open(w->input[0], O_RDONLY | O_CLOEXEC);
		assert_true(w->setup.in_fd > 0);
	}
	run_args(r, &w->setup, w->c->args);
	if (w->setup.in_fd)
		close(w->setup.in_fd);
	w->runs++;
}

/* What preload.c says of the run: whether something was made to fail; places, when there is room for them. */
static int read_log(sweep *w, place *places)
{
	char line[128], call[PRELOAD_NAME], kind;
	unsigned long long injected = 0, key, count;
	FILE *f = fopen(w->log, "r");

	if (!f)
		return -1;
	w->nplaces = places ? 0 : w->nplaces;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "injected %llu", &injected) == 1)
			continue;
		if (!places || w->nplaces == PLACES_MOST ||
		    sscanf(line, "%23s %c %llx %llu", call, &kind, &key, &count) != 4)
			continue;
		memcpy(places[w->nplaces].call, call, sizeof(call));
		places[w->nplaces].kind = kind;
		places[w->nplaces].key = key;
		places[w->nplaces].count = count;
		w->nplaces++;
	}
	fclose(f);
	return injected != 0;
}

/* It does what it does with nothing failing, of which others see that it is right. */
static void rehearse(sweep *w)
{
	run r;

	w->env_fail[0] = 'X';
	start(w, &r);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	w->places = calloc(PLACES_MOST, sizeof(*w->places));
	assert_non_null(w->places);
	assert_int_equal(read_log(w, w->places), 0);
	assert_true(w->nplaces > 0);
	if (w->c->output)
		w->right = (unsigned char *)read_file(w->output, &w->right_bytes);
	w->right_out = malloc(r.out_bytes + 1);
	assert_non_null(w->right_out);
	memcpy(w->right_out, r.out, r.out_bytes);
	w->right_out_bytes = r.out_bytes;
	run_free(&r);
}

static int file_is(const char *path, const void *data, size_t bytes)
{
	size_t got;
	char *s;
	int same;

	if (access(path, R_OK))
		return 0;
	s = read_file(path, &got);
	same = got == bytes && !memcmp(s, data, bytes);
	free(s);
	return same;
}

/* A name that has no business in the directory, or NULL. */
static const char *stray(const char *dir, const sweep_case *c)
{
	static char name[300];
	const struct dirent *e;
	DIR *d = opendir(dir);

	name[0] = '\0';
	assert_non_null(d);
	while (!name[0] && (e = readdir(d))) {
		const int ours = c && (!strcmp(e->d_name, "log") || !strncmp(e->d_name, "input-", 6) ||
				       (c->output && !strcmp(e->d_name, c->output)));

		if (!ours && strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			snprintf(name, sizeof(name), "%s", e->d_name);
	}
	closedir(d);
	return name[0] ? name : NULL;
}

/* Remove what a run left, so that the next one is not blamed for it. */
static void sweep_out(const char *dir, const sweep_case *c)
{
	const char *name;

	while ((name = stray(dir, c))) {
		char *path = test_path(dir, name);

		assert_int_equal(unlink(path), 0);
		free(path);
	}
}

/* Does a message help who reads it? */
static int names_something(const sweep *w, const char *err)
{
	static const char *const words[] = {
		"input-", "result", "'.'", "standard ", "/proc/", "/dev/", "-S", "-T", "--",
		"backend '", "memory", "thread", "descriptor",
	};
	size_t i;

	if (strncmp(err, "extmem", 6))
		return 0;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(err, words[i]))
			return 1;
	return strstr(err, w->scratch) || strstr(err, w->dir);
}

/* The inputs and the output: are they as the status says? */
static const char *files_wrong(const sweep *w, const run *r, int late)
{
	int i, same;

	for (i = 0; i < SWEEP_INPUTS; i++)
		if (w->c->in[i] && (!w->c->output || strcmp(w->c->output, strrchr(w->input[i], '/') + 1)) &&
		    !file_is(w->input[i], w->c->in[i], w->c->bytes[i]))
			return "an input was changed";
	if (!r->status) {
		if (w->c->output && !file_is(w->output, w->right, w->right_bytes))
			return "status 0, and the output is wrong";
		if (r->out_bytes != w->right_out_bytes || memcmp(r->out, w->right_out, r->out_bytes))
			return "status 0, and what was printed is wrong";
		return NULL;
	}
	if (!w->c->output)
		return NULL;
	if (!strncmp(w->c->output, "input-", 6))
		same = file_is(w->output, w->c->in[0], w->c->bytes[0]);
	else
		same = file_is(w->output, OLD, sizeof(OLD) - 1);
	if (same)
		return NULL;
	if (!file_is(w->output, w->right, w->right_bytes))
		return "failed, and the old output is lost";
	return late ? NULL : "failed, and the new output is there";
}

/* NULL, or what was wrong with a run in which something was made to fail. */
static const char *judge(const sweep *w, const run *r, const sweep_way *way, int struck)
{
	const char *wrong;

	if (r->signal)
		return r->signal == SIGALRM ? "it hangs" : "it died of a signal";
	if (struck < 0)
		return "it left without its destructors being called";
	if (r->status != 0 && r->status != 2)
		return "its status is neither 0 nor 2";
	if (r->status && (!struck || way->end == SWEEP_MUST_NOT))
		return "it failed, and had no need to";
	if (r->status && !names_something(w, r->err))
		return "no message that names anything";
	if ((wrong = files_wrong(w, r, way->end == SWEEP_LATE)))
		return wrong;
	/* What cannot be removed stays. */
	if (strcmp(way->call, "unlink") && (stray(w->dir, w->c) || stray(w->scratch, NULL)))
		return "something was left behind";
	return NULL;
}

/* Tell of a fault, and how to have it again. */
static void tell(sweep *w, const char *wrong, const run *r, const sweep_way *way, const place *p)
{
	const char *left = stray(w->dir, w->c);
	const char *how = way->how == PRELOAD_SHORT ? "short" : way->how == PRELOAD_ZERO ? "0" : strerror(way->how);
	const char *libraries = getenv("LD_LIBRARY_PATH");
	int i;

	if (w->failures++ >= TOLD_MOST)
		return;
	print_error("%s: %s %c fails with %s%s: %s (status %d, signal %d%s%s): %s\n", w->c->name, p->call, p->kind, how,
		    way->for_good ? " for good" : "", wrong, r->status, r->signal, left ? ", left " : "",
		    left ? left : "", r->err);
	print_error("    %s '%s' EXTMEM_PRELOAD_LOG=log TMPDIR=. LD_LIBRARY_PATH=%s %s", env_preload, w->env_fail,
		    libraries ? libraries : "", getenv("EXTMEM"));
	for (i = 0; w->c->args[i]; i++)
		print_error(" %s", w->c->args[i]);
	print_error("%s\n", w->c->from == SWEEP_NO_STDIN ? "" : w->c->from == SWEEP_STDIN ? " <input-0"
											  : " (cat input-0 |)");
}

static void fail_once(sweep *w, const sweep_way *way, const place *p, uint64_t nth)
{
	const char *wrong;
	int struck;
	run r;

	snprintf(w->env_fail, sizeof(w->env_fail), "EXTMEM_PRELOAD_FAIL=%s %llx %llu %llu %d", way->call,
		 (unsigned long long)p->key, (unsigned long long)nth, way->for_good ? ~0ull : 1ull, way->how);
	start(w, &r);
	struck = read_log(w, NULL);
	wrong = judge(w, &r, way, struck);
	if (wrong)
		tell(w, wrong, &r, way, p);
	w->struck += struck > 0;
	sweep_out(w->dir, w->c);
	sweep_out(w->scratch, NULL);
	run_free(&r);
}

/* Is it the first time?  From then on it is not. */
static int is_new(uint64_t key)
{
	uint64_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> 48;

	for (;; i++) {
		uint64_t *slot = &seen[i % SEEN_SLOTS];

		if (*slot == key)
			return 0;
		if (!*slot) {
			*slot = key;
			return 1;
		}
	}
}

/* What stands for this failure among those that were tried: the place, or, in slow builds and most of the time, only
 * the function and the kind of file. */
static uint64_t key_of(const sweep *w, const place *p, size_t way, int last)
{
	const int coarse = w->sparse > 1 && (p->key + test_seed()) % w->sparse != 0;
	const uint64_t at = coarse ? (uint64_t)(unsigned char)p->kind << 8 : p->key;

	return (at ^ (way + 1) << 17 ^ (uint64_t)last << 16) | 1;
}

static void fail_place(sweep *w, const place *p, size_t way)
{
	uint64_t nth;

	/* A pipe that says so has come to its end. */
	if (p->kind == 'p' && sweep_ways[way].how == PRELOAD_ZERO)
		return;
	if (w->all) {
		for (nth = 1; nth <= p->count; nth++)
			fail_once(w, &sweep_ways[way], p, nth);
		return;
	}
	if (is_new(key_of(w, p, way, 0)))
		fail_once(w, &sweep_ways[way], p, 1);
	if (p->count > 1 && is_new(key_of(w, p, way, 1)))
		fail_once(w, &sweep_ways[way], p, p->count);
}

static void make(sweep *w)
{
	char name[16];
	int i;

	w->dir = test_dir_make();
	w->scratch = test_dir_make();
	w->log = test_path(w->dir, "log");
	w->output = w->c->output ? test_path(w->dir, w->c->output) : NULL;
	for (i = 0; i < SWEEP_INPUTS; i++) {
		snprintf(name, sizeof(name), "input-%d", i);
		w->input[i] = test_path(w->dir, name);
	}
	snprintf(w->env_log, sizeof(w->env_log), "EXTMEM_PRELOAD_LOG=log");
	snprintf(w->env_scratch, sizeof(w->env_scratch), "TMPDIR=%s", w->scratch);
	w->setup.dir = w->dir;
	w->setup.seconds = HANG_SECONDS;
	w->setup.env[0] = env_preload;
	w->setup.env[1] = env_asan;
	w->setup.env[2] = w->env_log;
	w->setup.env[3] = w->env_scratch;
	w->setup.env[4] = w->env_fail;
}

static void destroy(sweep *w)
{
	int i;

	test_dir_remove(w->dir);
	test_dir_remove(w->scratch);
	for (i = 0; i < SWEEP_INPUTS; i++)
		free(w->input[i]);
	free(w->log);
	free(w->output);
	free(w->places);
	free(w->right);
	free(w->right_out);
}

void sweep_run(const sweep_case *c, int all)
{
	sweep w;
	size_t i, k;
	unsigned failures;

	memset(&w, 0, sizeof(w));
	w.c = c;
	w.all = all;
	w.sparse = test_sparse();
	make(&w);
	alarm(CASE_SECONDS);
	rehearse(&w);
	for (i = 0; i < w.nplaces && test_sweeps(); i++)
		for (k = 0; k < sweep_ways_count; k++)
			if (!strcmp(sweep_ways[k].call, w.places[i].call))
				fail_place(&w, &w.places[i], k);
	printf("# %s: %u places, %u runs, %u failures met\n", c->name, (unsigned)w.nplaces, w.runs, w.struck);
	fflush(stdout);
	failures = w.failures;
	destroy(&w);
	if (failures)
		fail_msg("%s: %u of %u runs went wrong", c->name, failures, w.runs);
}
