/* SPDX-License-Identifier: BSL-1.0 */
/*
 * gate.c -- the prototype that had to beat STXXL before anything was built on it.
 *
 * Sorts a file of (u64 key, u64 value) records into another file in two passes, with
 * direct I/O, two threads and no more memory than it is told, using nothing of the
 * library but src/kern.  It is kept as the record of that measurement and as the
 * shortest complete example of the engine's shape; it is not the engine: one disk,
 * one record type, n a multiple of CHUNK / 16, any error ends the program.
 *
 * Run formation rotates three areas of a third of the memory each.  One holds the
 * input of a run, one is the scratch space in which its sorted form appears, and the
 * third is with the disk: each of its chunks is written as part of the previous run
 * and, as soon as that is done, filled with the same chunk of the next one.  So the
 * disk reads and writes at the same time, all the time, and the sort hides behind it.
 *
 *	step r:   in = run r      scratch         disk: write run r-1, read run r+1
 *	          (free)          run r, sorted   run r+1
 *	step r+1: scratch         to the disk     in
 *
 * The sort of an area: both threads histogram and scatter their half of the input by
 * the highest bits that differ into common buckets (stably: thread 0's part of each
 * bucket comes first), then take buckets from a common counter and sort them.
 *
 * The merge is one thread: RING blocks per run, one being consumed while the others
 * are being read, and OUTS output blocks.
 *
 * gate --dir D [--n 2^26] [--mem 128M] [--isa NAME]; prints the phases fill, sort and
 * scan in the line format of the peer drivers.  scan checks order and checksum.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "kern/kern.h"

enum {
	CHUNK = 1 << 20,        /* unit of run formation I/O */
	QUEUE = 16,             /* chunk writes in flight during run formation */
	OUTS = 6,               /* output blocks of the merge */
	THREADS = 2,
	PART_BITS = 9,          /* buckets of the parallel partition */
	SCRATCH = 1 << 20       /* per thread, to sort buckets in: stays in its cache */
};

static const emi_kernels *kern;
static uint64_t n_records;
static size_t memory;

static void die(const char *what)
{
	fprintf(stderr, "gate: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- one line per phase ---- */

typedef struct mark {
	double t, user, sys;
	long long rd, wr;
} mark;

static void take_mark(mark *m)
{
	struct rusage ru;
	struct timespec ts;
	char line[128];
	FILE *f = fopen("/proc/self/io", "r");

	m->rd = m->wr = -1;
	while (f && fgets(line, sizeof line, f)) {
		if (!strncmp(line, "read_bytes:", 11))
			m->rd = atoll(line + 11);
		if (!strncmp(line, "write_bytes:", 12))
			m->wr = atoll(line + 12);
	}
	if (f)
		fclose(f);
	getrusage(RUSAGE_SELF, &ru);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	m->user = (double)ru.ru_utime.tv_sec + 1e-6 * (double)ru.ru_utime.tv_usec;
	m->sys = (double)ru.ru_stime.tv_sec + 1e-6 * (double)ru.ru_stime.tv_usec;
	m->t = (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void print_phase(const mark *b, const char *phase)
{
	mark e;
	struct rusage ru;

	take_mark(&e);
	getrusage(RUSAGE_SELF, &ru);
	printf("peer=extmem_gate work=sort-kv16 n=%llu recsize=16 mem=%llu phase=%s seconds=%.3f "
	       "bytes_read=%lld bytes_written=%lld peak_rss=%lld user=%.2f sys=%.2f isa=%s\n",
	       (unsigned long long)n_records, (unsigned long long)memory, phase, e.t - b->t,
	       e.rd - b->rd, e.wr - b->wr, (long long)ru.ru_maxrss * 1024, e.user - b->user, e.sys - b->sys,
	       kern->isa);
	fflush(stdout);
}

/* ---- asynchronous direct I/O ---- */

typedef struct request request;
struct request {
	struct iocb cb;
	int busy;
	void (*done)(request *r);       /* may submit more; NULL for nothing */
};

static io_context_t aio;

static void submit(request *r, int write, int fd, void *buf, size_t bytes, uint64_t offset)
{
	struct iocb *list[1];
	int rc;

	if (write)
		io_prep_pwrite(&r->cb, fd, buf, bytes, (long long)offset);
	else
		io_prep_pread(&r->cb, fd, buf, bytes, (long long)offset);
	r->busy = 1;
	list[0] = &r->cb;
	while ((rc = io_submit(aio, 1, list)) == -EAGAIN)
		;
	if (rc != 1) {
		errno = -rc;
		die("io_submit");
	}
}

/* Handle what has completed; with wait != 0 at least one request. */
static void reap(int wait)
{
	struct io_event ev[32];
	struct timespec zero = { 0, 0 };
	int i, rc = io_getevents(aio, wait, 32, ev, wait ? NULL : &zero);

	if (rc < 0 && rc != -EINTR) {
		errno = -rc;
		die("io_getevents");
	}
	for (i = 0; i < rc; i++) {
		request *r = (request *)(void *)ev[i].obj;

		if (ev[i].res != r->cb.u.c.nbytes) {
			errno = (long)ev[i].res < 0 ? (int)-(long)ev[i].res : EIO;
			die("direct I/O");
		}
		r->busy = 0;
		if (r->done)
			r->done(r);
	}
}

static int open_direct(const char *dir, const char *name, uint64_t bytes)
{
	char path[4096];
	int fd, e;

	snprintf(path, sizeof path, "%s/gate.%d.%s", dir, (int)getpid(), name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600);
	if (fd < 0)
		die(path);
	unlink(path);
	e = posix_fallocate(fd, 0, (off_t)bytes);
	if (e != 0) {
		errno = e;
		die(path);
	}
	return fd;
}

/* ---- sorting one area with all threads ---- */

static struct {
	emi_pair *in, *out;
	size_t n;
	emi_pair *scratch[THREADS];
	void *work[THREADS];
	size_t pos[THREADS][1 << PART_BITS];
	size_t end[1 << PART_BITS];     /* of each bucket */
	uint64_t diff[THREADS];
	int order[THREADS];
	unsigned shift, next;
	int quit;
	pthread_barrier_t barrier;
} job;

static void start_of_buckets(void)
{
	size_t b, t, sum = 0, c;

	for (b = 0; b < 1 << PART_BITS; b++) {
		for (t = 0; t < THREADS; t++) {
			c = job.pos[t][b];
			job.pos[t][b] = sum;
			sum += c;
		}
		job.end[b] = sum;
	}
}

static void sort_share(int t)
{
	const size_t from = job.n * (size_t)t / THREADS, to = job.n * ((size_t)t + 1) / THREADS;
	const emi_pair *in = job.in + from;
	static const emi_tie no_tie;
	emi_pair *tmp;
	emi_digit digit = { 0, PART_BITS, 0, 0 };
	uint64_t all = 0;
	int i;

	job.diff[t] = kern->survey(in, to - from, &job.order[t]) | (in->key ^ job.in->key);
	pthread_barrier_wait(&job.barrier);
	for (i = 0; i < THREADS; i++)
		all |= job.diff[i];
	for (i = 64 - PART_BITS; i > 0 && (all >> (i + PART_BITS - 1)) == 0; )
		i--;
	memset(job.pos[t], 0, sizeof job.pos[t]);
	digit.shift = (unsigned)i;
	kern->histogram(in, to - from, &digit, job.pos[t]);
	if (pthread_barrier_wait(&job.barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
		start_of_buckets();
		job.next = 0;
	}
	pthread_barrier_wait(&job.barrier);
	kern->scatter(in, to - from, &digit, job.out, job.pos[t], job.work[t]);
	pthread_barrier_wait(&job.barrier);
	for (;;) {
		const unsigned b = __atomic_fetch_add(&job.next, 1, __ATOMIC_RELAXED);
		size_t start;

		if (b >= 1 << PART_BITS)
			break;
		start = b == 0 ? 0 : job.end[b - 1];
		tmp = job.scratch[t];
		if (job.end[b] - start > SCRATCH / 16)
			tmp = job.in + start;
		kern->sort(job.out + start, tmp, job.end[b] - start, &no_tie, job.work[t]);
		if (t == 0)
			reap(0);        /* keep the disk busy */
	}
	pthread_barrier_wait(&job.barrier);
}

static void *helper(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_barrier_wait(&job.barrier);
		if (job.quit)
			return NULL;
		sort_share(1);
	}
}

static void sort_area(emi_pair *in, emi_pair *out, size_t n)
{
	job.in = in;
	job.out = out;
	job.n = n;
	pthread_barrier_wait(&job.barrier);
	sort_share(0);
}

/* ---- run formation ---- */

static struct {
	char *area;             /* the area that is with the disk */
	uint64_t out_at, in_at; /* file offsets of the run in it and the one to come */
	size_t out_bytes, in_bytes;
	size_t started;         /* bytes of it that have been submitted */
	int in_fd, run_fd;
	size_t count;           /* chunks per area */
	request *req;           /* one per chunk */
} disk;

static size_t chunk_bytes(size_t at, size_t bytes)
{
	return bytes - at < CHUNK ? bytes - at : CHUNK;
}

static void start_next_write(void);

/* The chunk is written: read its successor into the same place. */
static void chunk_written(request *r)
{
	const size_t at = (size_t)(r - disk.req) * CHUNK;

	r->done = NULL;
	if (at < disk.in_bytes)
		submit(r, 0, disk.in_fd, disk.area + at, chunk_bytes(at, disk.in_bytes), disk.in_at + at);
	start_next_write();
}

static void start_next_write(void)
{
	request *r = disk.req + disk.started / CHUNK;

	if (disk.started >= disk.out_bytes)
		return;
	r->done = chunk_written;
	submit(r, 1, disk.run_fd, disk.area + disk.started, chunk_bytes(disk.started, disk.out_bytes),
	       disk.out_at + disk.started);
	disk.started += chunk_bytes(disk.started, disk.out_bytes);
}

static void start_read(char *area, uint64_t offset, size_t bytes)
{
	size_t at;

	disk.area = area;
	for (at = 0; at < bytes; at += CHUNK)
		submit(disk.req + at / CHUNK, 0, disk.in_fd, area + at, chunk_bytes(at, bytes), offset + at);
}

static void finish_disk(void)
{
	size_t i;

	for (i = 0; i < disk.count; i++)
		while (disk.req[i].busy)
			reap(1);
}

static size_t run_bytes(uint64_t r, size_t area, uint64_t total)
{
	const uint64_t at = r * area;

	if (at >= total)
		return 0;
	return total - at < area ? (size_t)(total - at) : area;
}

static uint64_t make_runs(char *arena, size_t area, int in_fd, int run_fd)
{
	char *in = arena, *scratch = arena + area, *other = arena + 2 * area, *t;
	const uint64_t total = n_records * 16;
	uint64_t r, runs = (total + area - 1) / area;
	int i;

	disk.in_fd = in_fd;
	disk.run_fd = run_fd;
	disk.count = area / CHUNK;
	disk.req = calloc(disk.count, sizeof *disk.req);
	if (disk.req == NULL)
		die("calloc");
	start_read(in, 0, run_bytes(0, area, total));
	finish_disk();
	start_read(other, area, run_bytes(1, area, total));
	for (r = 0; r < runs; r++) {
		sort_area((emi_pair *)(void *)in, (emi_pair *)(void *)scratch, run_bytes(r, area, total) / 16);
		finish_disk();
		disk.area = scratch;
		disk.out_at = r * area;
		disk.out_bytes = run_bytes(r, area, total);
		disk.in_at = (r + 2) * area;
		disk.in_bytes = run_bytes(r + 2, area, total);
		disk.started = 0;
		for (i = 0; i < QUEUE; i++)
			start_next_write();
		t = in;
		in = other;
		other = scratch;
		scratch = t;
	}
	finish_disk();
	free(disk.req);
	return runs;
}

/* ---- merge ---- */

typedef struct source {
	char *ring;             /* RING blocks */
	uint64_t next, end;     /* file offsets: what to read next, end of the run */
	unsigned head;          /* block being consumed */
	request *req;
	size_t *bytes;          /* in each block, 0 for none */
} source;

static void refill(source *s, unsigned slot, size_t block, int fd)
{
	const uint64_t left = s->end - s->next;

	s->bytes[slot] = left < block ? (size_t)left : block;
	if (s->bytes[slot] == 0)
		return;
	submit(&s->req[slot], 0, fd, s->ring + slot * block, s->bytes[slot], s->next);
	s->next += s->bytes[slot];
}

static void show(source *s, emi_window *w, size_t block)
{
	while (s->req[s->head].busy)
		reap(1);
	w->cur = s->ring + s->head * block;
	w->end = s->ring + s->head * block + s->bytes[s->head];
}

static void merge_runs(char *arena, size_t area, uint32_t runs, int run_fd, int out_fd)
{
	const size_t block = CHUNK;
	const uint64_t total = n_records * 16;
	const unsigned ring = (unsigned)((memory / block - OUTS) / runs < 8 ? (memory / block - OUTS) / runs : 8);
	source *src = calloc(runs, sizeof *src);
	request *req = calloc((size_t)runs * ring + OUTS, sizeof *req), *out = req + (size_t)runs * ring;
	size_t *bytes = calloc((size_t)runs * ring, sizeof *bytes);
	uint64_t written = 0;
	uint32_t i, s, dry, o = 0;
	size_t fill = 0, got;
	emi_merge m;

	memset(&m, 0, sizeof m);
	m.k = runs;
	m.win = calloc(runs, sizeof *m.win);
	m.tree = malloc(emi_merge_tree_bytes(runs));
	if (ring < 2 || !src || !req || !bytes || !m.win || !m.tree)
		die("too many runs for this memory");
	for (i = 0; i < runs; i++) {
		src[i].ring = arena + (size_t)i * ring * block;
		src[i].next = (uint64_t)i * area;
		src[i].end = src[i].next + run_bytes(i, area, total);
		src[i].req = req + (size_t)i * ring;
		src[i].bytes = bytes + (size_t)i * ring;
	}
	for (s = 0; s < ring; s++)
		for (i = 0; i < runs; i++)
			refill(&src[i], s, block, run_fd);
	for (i = 0; i < runs; i++)
		show(&src[i], &m.win[i], block);
	arena += (size_t)runs * ring * block;
	kern->merge_start(&m);
	for (;;) {
		while (fill == 0 && out[o].busy)
			reap(1);
		got = kern->merge_run(&m, arena + o * block + fill, (block - fill) / 16, &dry);
		fill += got * 16;
		if (fill == block || (fill != 0 && m.live == 0)) {
			submit(&out[o], 1, out_fd, arena + o * block, fill, written);
			written += fill;
			fill = 0;
			o = (o + 1) % OUTS;
			reap(0);
		}
		if (dry != EMI_NONE) {
			refill(&src[dry], src[dry].head, block, run_fd);
			src[dry].head = (src[dry].head + 1) % ring;
			show(&src[dry], &m.win[dry], block);
		} else if (m.live == 0) {
			break;
		}
	}
	for (o = 0; o < OUTS; o++)
		while (out[o].busy)
			reap(1);
	free(m.win);
	free(m.tree);
	free(src);
	free(req);
	free(bytes);
	if (written != total) {
		errno = EIO;
		die("records lost");
	}
}

/* ---- the phases ---- */

static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint64_t checksum(const emi_pair *p)
{
	return p->key * 3 + (p->val ^ p->key);
}

/* Write the generated input, or read the result and check its order. */
static uint64_t pass(char *arena, int fd, int generate)
{
	emi_pair *p = (emi_pair *)(void *)arena;
	uint64_t i = 0, sum = 0, last = 0;
	const size_t per = 4 * CHUNK / 16;

	while (i < n_records) {
		const size_t n = n_records - i < per ? (size_t)(n_records - i) : per;
		size_t j;

		if (!generate && pread(fd, p, n * 16, (off_t)(i * 16)) != (ssize_t)(n * 16))
			die("read");
		for (j = 0; j < n; j++) {
			if (generate) {
				p[j].key = mix(i + j) >> 1 | 1;
				p[j].val = i + j;
			} else if (p[j].key < last) {
				errno = EILSEQ;
				die("order");
			}
			last = p[j].key;
			sum += checksum(&p[j]);
		}
		if (generate && pwrite(fd, p, n * 16, (off_t)(i * 16)) != (ssize_t)(n * 16))
			die("write");
		i += n;
	}
	return sum;
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
	int i;

	for (i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return argv[i + 1];
	return otherwise;
}

static uint64_t size_of(const char *s)
{
	char *e;
	const uint64_t v = strtoull(s, &e, 10);

	if (*e == '^')
		return (uint64_t)1 << atoi(e + 1);
	return v << (*e == 'G' ? 30 : *e == 'M' ? 20 : *e == 'K' ? 10 : 0);
}

int main(int argc, char **argv)
{
	const char *dir = option(argc, argv, "--dir", ".");
	char *arena;
	size_t area;
	int in_fd, run_fd, out_fd, rc;
	uint64_t sum, runs;
	pthread_t thread;
	mark m, m2;

	n_records = size_of(option(argc, argv, "--n", "2^26"));
	memory = size_of(option(argc, argv, "--mem", "128M"));
	kern = emi_kernels_for(EMI_ELEM_PAIR, option(argc, argv, "--isa", "auto"));
	area = (memory - THREADS * SCRATCH) / 3 / CHUNK * CHUNK;
	if (kern == NULL || memory <= 3 * CHUNK + THREADS * SCRATCH || n_records == 0 ||
	    n_records % (CHUNK / 16) != 0) {
		errno = EINVAL;
		die("--isa, --mem or --n");
	}
	arena = mmap(NULL, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		die("mmap");
	madvise(arena, memory, MADV_HUGEPAGE);
	for (rc = 0; rc < THREADS; rc++) {
		job.scratch[rc] = (emi_pair *)(void *)(arena + 3 * area + (size_t)rc * SCRATCH);
		if (posix_memalign(&job.work[rc], 4096, EMI_KERN_WORK) != 0)
			die("posix_memalign");
	}
	rc = io_setup(1024, &aio);
	if (rc != 0) {
		errno = -rc;
		die("io_setup");
	}
	pthread_barrier_init(&job.barrier, NULL, THREADS);
	if (pthread_create(&thread, NULL, helper, NULL) != 0)
		die("pthread_create");

	in_fd = open_direct(dir, "in", n_records * 16);
	take_mark(&m);
	sum = pass(arena, in_fd, 1);
	print_phase(&m, "fill");

	take_mark(&m);
	run_fd = open_direct(dir, "runs", n_records * 16);
	runs = make_runs(arena, area, in_fd, run_fd);
	print_phase(&m, "runs");
	take_mark(&m2);
	out_fd = open_direct(dir, "out", n_records * 16);
	merge_runs(arena, area, (uint32_t)runs, run_fd, out_fd);
	print_phase(&m2, "merge");
	print_phase(&m, "sort");

	take_mark(&m);
	if (pass(arena, out_fd, 0) != sum) {
		errno = EILSEQ;
		die("checksum");
	}
	print_phase(&m, "scan");
	job.quit = 1;
	pthread_barrier_wait(&job.barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&job.barrier);
	io_destroy(aio);
	munmap(arena, memory);
	return 0;
}
