/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_elements.c -- extmem bench io: measures one combination.
 *
 * The k streams take turns, an element each.  An element begins with a random number of which a sum is kept, so that
 * nothing is measured that did not work.  The clock runs from before the first stream is opened until the last one is
 * finished; the first repetition is not counted.
 *
 * Files have no names: they are opened here and given to the library as /proc/self/fd/N, and vanish with this process.
 * What reading needs is written before unless it is what the last run has left.
 *
 * With a cold cache, a file is synced and its pages are dropped before each time it is read, and writing ends when the
 * disk has it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench_io.h"
#include "cli/message.h"
#include "cli/random.h"
#include "cli/stats.h"

#define LOOK_EVERY 4096u        /* rounds between two looks for an interrupt */

/* Buffer of the stream that writes what is to be read. */
#define PREPARE_BUFFER ((uint64_t)1 << 20)

typedef union any_stream {
	em_element_reader *r;
	em_element_writer *w;
} any_stream;

typedef struct round_of {
	const bench_options *o;
	em_ctx *ctx;
	bench_files *files;
	const bench_run *run;
	const interrupt *in;
	em_element_opts opts;
	em_element_stats total; /* of all streams of one repetition */
	char *element;
	double *seconds;        /* of each repetition, and as many of the processor: too many for a stack */
	any_stream *stream;     /* readers or writers */
	uint32_t open;          /* how many of them */
} round_of;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A file without a name, or -1 with errno. */
static int open_unnamed(const char *dir)
{
	int fd = -1;
	char *path;

#ifdef O_TMPFILE
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
#endif
	if (asprintf(&path, "%s/extmem-bench-XXXXXX", dir) < 0)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0 && unlink(path)) {
		close(fd);
		fd = -1;
	}
	free(path);
	return fd;
}

/* Have files for k streams; they may be more than that. */
static int open_files(bench_files *files, const bench_options *o, uint32_t k)
{
	uint64_t *sum;
	int *fd;

	if (k > files->room) {
		fd = realloc(files->fd, k * sizeof(*fd));
		if (fd)
			files->fd = fd;
		sum = realloc(files->sum, k * sizeof(*sum));
		if (sum)
			files->sum = sum;
		if (!fd || !sum) {
			message_errno(o->command, "--k", ENOMEM);
			return -1;
		}
		files->room = k;
	}
	while (files->k < k) {
		files->fd[files->k] = open_unnamed(o->dir);
		if (files->fd[files->k] < 0) {
			message_errno(o->command, o->dir, errno);
			return -1;
		}
		files->element = 0; /* this one holds nothing */
		files->k++;
	}
	return 0;
}

void bench_files_free(bench_files *files)
{
	while (files->k > 0)
		close(files->fd[--files->k]);
	free(files->fd);
	free(files->sum);
	memset(files, 0, sizeof(*files));
}

static em_element_opts options_of(const bench_run *run)
{
	em_element_opts opts = EM_ELEMENT_OPTS_INIT;

	opts.kind = run->kind;
	opts.element_bytes = run->element;
	opts.buffer_bytes = run->block;
	return opts;
}

uint64_t bench_elements_memory(const bench_run *run)
{
	const uint64_t most = ((run->block > PREPARE_BUFFER ? run->block : PREPARE_BUFFER) + run->element + 65536);

	return most > UINT64_MAX / 2 / run->k ? UINT64_MAX / 2 : most * run->k;
}

/* Tell what went wrong, and where: the library knows no name. */
static int failed(const round_of *r, em_status st, const em_errinfo *err)
{
	message(r->o->command, "%s: %s", r->o->dir, err->text[0] ? err->text : em_status_text(st));
	return -1;
}

static int open_streams(round_of *r, int writing)
{
	em_errinfo err = { 0 };
	char path[40];
	em_status st;

	r->opts.errinfo = &err;
	for (r->open = 0; r->open < r->run->k; r->open++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", r->files->fd[r->open]);
		if (writing)
			st = em_element_writer_open(&r->stream[r->open].w, r->ctx, path, &r->opts);
		else
			st = em_element_reader_open(&r->stream[r->open].r, r->ctx, path, &r->opts);
		if (st != EM_OK)
			return failed(r, st, &err);
	}
	return 0;
}

/* Close all, and add up what they have done. */
static void close_streams(round_of *r, int writing)
{
	em_element_stats stats = EM_ELEMENT_STATS_INIT;
	em_status st;
	uint32_t j;

	memset(&r->total, 0, sizeof(r->total));
	for (j = 0; j < r->open; j++) {
		if (writing)
			st = em_element_writer_stats_get(r->stream[j].w, &stats);
		else
			st = em_element_reader_stats_get(r->stream[j].r, &stats);
		if (st == EM_OK) {
			r->total.ios += stats.ios;
			r->total.bytes += stats.bytes;
		}
		if (writing)
			em_element_writer_close(r->stream[j].w);
		else
			em_element_reader_close(r->stream[j].r);
	}
	r->open = 0;
}

static size_t head_of(const bench_run *run)
{
	return run->element < sizeof(uint64_t) ? (size_t)run->element : sizeof(uint64_t);
}

static int write_elements(const round_of *r)
{
	const size_t head = head_of(r->run);
	uint64_t i, v, kept;
	uint32_t j;

	for (i = 0; i < r->run->n; i++) {
		if (i % LOOK_EVERY == 0 && interrupt_caught(r->in))
			return -1;
		for (j = 0; j < r->run->k; j++) {
			v = random_at(j, i);
			memcpy(r->element, &v, head);
			kept = 0;
			memcpy(&kept, r->element, head);
			r->files->sum[j] += kept;
			if (em_element_writer_push(r->stream[j].w, r->element) != EM_OK)
				return 1 + (int)j;
		}
	}
	for (j = 0; j < r->run->k; j++)
		if (em_element_writer_finish(r->stream[j].w) != EM_OK)
			return 1 + (int)j;
	return 0;
}

static int write_once(round_of *r)
{
	em_errinfo err;
	int bad;

	r->files->element = 0;
	memset(r->files->sum, 0, r->run->k * sizeof(*r->files->sum));
	memset(r->element, 0, (size_t)r->run->element);
	bad = open_streams(r, 1);
	if (!bad) {
		bad = write_elements(r);
		if (bad > 0) {
			em_element_writer_error(r->stream[bad - 1].w, &err);
			bad = failed(r, err.status, &err);
		}
	}
	close_streams(r, 1);
	if (bad)
		return -1;
	r->files->element = r->run->element;
	r->files->n = r->run->n;
	return 0;
}

static int read_elements(const round_of *r, uint64_t *sum)
{
	const size_t head = head_of(r->run);
	uint64_t i, kept = 0;
	uint32_t j;

	for (i = 0; i < r->run->n; i++) {
		if (i % LOOK_EVERY == 0 && interrupt_caught(r->in))
			return -1;
		for (j = 0; j < r->run->k; j++) {
			if (em_element_reader_next(r->stream[j].r, r->element) != EM_OK)
				return 1 + (int)j;
			memcpy(&kept, r->element, head);
			*sum += kept;
		}
	}
	return 0;
}

static int read_once(round_of *r)
{
	uint64_t sum = 0;
	em_errinfo err;
	uint32_t j;
	int bad = open_streams(r, 0);

	if (!bad) {
		bad = read_elements(r, &sum);
		if (bad > 0) {
			em_element_reader_error(r->stream[bad - 1].r, &err);
			bad = failed(r, err.status, &err);
		}
	}
	close_streams(r, 0);
	for (j = 0; j < r->run->k; j++)
		sum -= r->files->sum[j];
	if (!bad && sum) {
		message(r->o->command, "%s: what was read is not what was written", r->o->dir);
		bad = -1;
	}
	return bad;
}

/* Write what is to be read, with other options than those that are measured. */
static int prepare(const round_of *r)
{
	round_of w = *r;

	if (r->files->element == r->run->element && r->files->n == r->run->n)
		return 0;
	w.opts.kind = EM_ELEMENT_BUFFERB;
	w.opts.buffer_bytes = PREPARE_BUFFER;
	return write_once(&w);
}

static int drop_cache(const round_of *r)
{
	uint32_t j;
	int e = 0;

	for (j = 0; j < r->run->k && !e; j++) {
		if (fdatasync(r->files->fd[j]))
			e = errno;
		else
			e = posix_fadvise(r->files->fd[j], 0, 0, POSIX_FADV_DONTNEED);
	}
	if (e)
		message_errno(r->o->command, r->o->dir, e);
	return e ? -1 : 0;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_size);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static int measure(round_of *r, bench_result *result)
{
	double *const wall = r->seconds, *const cpu = wall + r->run->repeat;
	const uint32_t skip = r->run->repeat > 1;
	uint32_t i, n = 0;

	for (i = 0; i < r->run->repeat; i++) {
		double begun, cpu_begun;

		if (r->o->cold && r->run->op == BENCH_READ && drop_cache(r))
			return -1;
		begun = now();
		cpu_begun = process_cpu_seconds();
		if (r->run->op == BENCH_WRITE ? write_once(r) : read_once(r))
			return -1;
		if (i < skip)
			continue;
		wall[n] = now() - begun;
		cpu[n++] = process_cpu_seconds() - cpu_begun;
	}
	result->median = median(wall, n);
	result->least = wall[0];
	result->most = wall[n - 1];
	result->cpu = median(cpu, n);
	result->counted = r->total.ios;
	result->bytes = r->total.bytes;
	return 0;
}

int bench_elements(const bench_options *o, em_ctx *ctx, bench_files *files, const bench_run *run, const interrupt *in,
		   bench_result *result)
{
	em_element_stats predicted = EM_ELEMENT_STATS_INIT;
	round_of r;
	int ret = -1;

	memset(&r, 0, sizeof(r));
	r.o = o;
	r.ctx = ctx;
	r.files = files;
	r.run = run;
	r.in = in;
	r.opts = options_of(run);
	r.opts.flags = o->cold ? EM_ELEMENT_SYNC : 0;
	if (em_element_predict(&r.opts, run->n, &predicted) != EM_OK)
		return failed(&r, EM_ERR_RANGE, &(em_errinfo){ 0 });
	result->predicted = predicted.ios * run->k;
	r.element = malloc((size_t)run->element);
	r.stream = calloc(run->k, sizeof(*r.stream));
	r.seconds = calloc(run->repeat, 2 * sizeof(*r.seconds));
	if (!r.element || !r.stream || !r.seconds)
		message_errno(o->command, "--element", ENOMEM);
	else if (!open_files(files, o, run->k) && (run->op == BENCH_WRITE || !prepare(&r)))
		ret = measure(&r, result);
	free(r.element);
	free(r.stream);
	free(r.seconds);
	return ret;
}
