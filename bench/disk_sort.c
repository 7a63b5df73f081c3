/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk_sort.c -- a sort on D simulated disks, on which its input, runs and output lie; how far it makes them do what
 * they can.
 *
 *	disk_sort [--disks 4] [--each 256M] [--record 16] [--mem BYTES] [--block 1M] [--run RECORDS] [--fan-in K]
 *	          [--disk OPTIONS] [--threads 2] [--priority write|read|none] [--pattern NAME] [--check 0|1]
 *	          [--fetch best|naive] [--place cycling|striping] [--read N] [--prefetch N] [--write N]
 *
 * EACH bytes for each disk, of records of a random key of 64 bits and other bytes, in blocks that go round the disks;
 * MEM is an eighth of all if it is not given.  READ, PREFETCH and WRITE buffers, the order of fetching and the
 * placement of runs are those of em_sort_opts.  OPTIONS are those of em_simdisk_parse(), "rate=50MB,seek=0ms" at first:
 * what counts then is whether all disks always have something to do.  Patterns are those of patterns.h; runs2003 needs
 * --run.
 *
 * A line for each phase: seconds, bytes that it read and wrote, MBps of both, `of' what all disks can do, in percent,
 * CPU seconds, and `busy', the part of the time in which disks worked, in percent, seeks included: mean and least of
 * the disks.  Exits with 1 if anything fails, also if the output is wrong.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>

#include <extmem.h>
#include <extmem/sys/simdisk.h>
#include <extmem/sys/sort_blocks.h>

#include "patterns.h"

enum { MOST_DISKS = 64, CHUNK = 512, PHASES = EM_PHASE_OUTPUT + 1 };

typedef struct bench {
	uint32_t disks;
	em_simdisk sim[MOST_DISKS];
	uint64_t n;
	size_t record, block;
	pattern p;
	em_ctx *ctx;
	em_order *order;
	em_disks *scratch;
	em_sort_opts opts;
	em_errinfo err;
	uint32_t phase;         /* that the disks' counters are in */
	uint64_t begun[MOST_DISKS]; /* busy_ns when it began */
	double busy[PHASES], least[PHASES]; /* seconds */
} bench;

static void must(const bench *b, em_status st, const char *what)
{
	if (st == EM_OK)
		return;
	fprintf(stderr, "FAILED: %s: %s %s\n", what, em_status_name(st), b->err.text);
	exit(1);
}

/* What the disks did since the phase began is its. */
static void count_busy(bench *b)
{
	uint32_t i;

	for (i = 0; i < b->disks; i++) {
		const uint64_t now = __atomic_load_n(&b->sim[i].busy_ns, __ATOMIC_RELAXED);
		const double busy = (double)(now - b->begun[i]) * 1e-9;

		b->busy[b->phase] += busy / b->disks;
		if (i == 0 || busy < b->least[b->phase])
			b->least[b->phase] = busy;
		b->begun[i] = now;
	}
}

static int watch(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	bench *b = user;

	(void)done;
	(void)total;
	if (phase != b->phase)
		count_busy(b);
	b->phase = phase;
	return 0;
}

static void open_all(bench *b, const char *options, uint32_t threads, int32_t priority, uint64_t mem)
{
	static const em_disk_opts plain = EM_DISK_OPTS_INIT;
	const em_key key = {0, 0, EM_KEY_U64, 0, {0}};
	em_disk_opts disk[MOST_DISKS];
	const em_disk_opts *list[MOST_DISKS];
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	uint32_t i;

	for (i = 0; i < b->disks; i++) {
		must(b, em_simdisk_init(&b->sim[i], sizeof b->sim[i], NULL, &b->err), "simdisk");
		must(b, em_simdisk_parse(&b->sim[i], "rate=50MB,seek=0ms", &b->err), "simdisk");
		must(b, em_simdisk_parse(&b->sim[i], options, &b->err), "--disk");
		disk[i] = plain;
		disk[i].path = "/";
		disk[i].custom = em_simdisk_backend(&b->sim[i]);
		list[i] = &disk[i];
	}
	/* Beside what the sort has there are the queues of the disks, and whoever writes and checks. */
	opts.memory = mem + ((uint64_t)b->disks << 20) + ((uint64_t)64 << 20) + 8 * b->disks * (uint64_t)b->block;
	opts.threads = threads;
	opts.priority = priority;
	opts.disks = list;
	opts.ndisks = b->disks;
	opts.errinfo = &b->err;
	must(b, em_ctx_open(&b->ctx, &opts), "context");
	must(b, em_order_keys(&b->order, b->ctx, b->record, &key, 1, &b->err), "order");
	must(b, em_disks_open(&b->scratch, b->ctx, NULL), "disks");
}

static uint64_t get64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* What does not depend on the order of records. */
static uint64_t sum_of(const char *r, size_t record)
{
	uint64_t h = get64(r);

	if (record >= 16)
		h = peer_mix(h) + get64(r + record - 8);
	return peer_mix(h);
}

/* Records [i, i + n): a key, the place where it came from, and filling. */
static uint64_t make(const bench *b, uint64_t i, size_t n, char *to)
{
	uint64_t value[CHUNK], sum = 0;
	size_t k;

	b->p.values(&b->p, i, n, value);
	for (k = 0; k < n; k++, to += b->record) {
		const uint64_t at = i + k;

		memset(to, 0, b->record);
		memcpy(to, &value[k], sizeof value[k]);
		if (b->record >= 16)
			memcpy(to + b->record - 8, &at, sizeof at);
		sum += sum_of(to, b->record);
	}
	return sum;
}

static em_block_list *fill(bench *b, uint64_t *sum)
{
	em_block_writer_opts opts = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_list *list;
	em_block_writer *w;
	uint64_t i;

	opts.block_bytes = b->block;
	opts.record_bytes = b->record;
	opts.buffers = 4 * b->disks;
	opts.errinfo = &b->err;
	must(b, em_block_writer_open(&w, b->scratch, &opts), "writer");
	for (*sum = i = 0; i < b->n; ) {
		size_t room;
		void *to;

		must(b, em_block_writer_lend(w, &to, &room), "write");
		room = room < CHUNK ? room : CHUNK;
		room = room < b->n - i ? room : (size_t)(b->n - i);
		*sum += make(b, i, room, to);
		must(b, em_block_writer_took(w, room), "write");
		i += room;
	}
	must(b, em_block_writer_finish(w, &list), "write");
	em_block_writer_close(w);
	return list;
}

/* Sorted, stable, and all there? */
static void check(bench *b, em_block_list *list, uint64_t sum)
{
	em_block_reader_opts opts = EM_BLOCK_READER_OPTS_INIT;
	uint64_t n = 0, last = 0, last_at = 0;
	const em_batch *batch;
	em_block_reader *r;
	em_status st;

	opts.buffers = 4 * b->disks;
	opts.errinfo = &b->err;
	must(b, em_block_reader_open(&r, list, &opts), "reader");
	while ((st = em_block_reader_next(r, &batch)) == EM_OK) {
		const char *record = batch->records, *end = record + batch->bytes;

		for (; record < end; record += b->record, n++) {
			const uint64_t key = get64(record), at = b->record >= 16 ? get64(record + b->record - 8) : 0;

			if (n != 0 && (key < last || (key == last && at < last_at)))
				peer_die("the output is not sorted");
			sum -= sum_of(record, b->record);
			last = key;
			last_at = at;
		}
	}
	must(b, st == EM_END ? EM_OK : st, "read");
	em_block_reader_close(r);
	if (n != b->n || sum != 0)
		peer_die("the output is not the input");
}

static void report(const bench *b, const em_sort_stats *stats)
{
	const double most = (double)b->sim[0].rate_outer * b->disks;
	em_phase_stats phase = EM_PHASE_STATS_INIT;
	uint32_t i;

	for (i = 0; i < PHASES && em_sort_stats_phase(stats, i, &phase) == EM_OK; i++) {
		const em_phase_stats *p = &phase;
		const double bytes = (double)(p->bytes_read + p->bytes_written);

		if (p->seconds <= 0)
			continue;
		printf("disks=%" PRIu32 " record=%zu phase=%s seconds=%.3f bytes_read=%" PRIu64
		       " bytes_written=%" PRIu64
		       " MBps=%.1f of=%.1f cpu=%.2f io_wait=%.2f busy=%.1f least=%.1f runs=%" PRIu64 " fan_in=%" PRIu32
		       " block=%" PRIu64 " passes=%" PRIu32 "\n",
		       b->disks, b->record, em_phase_name(i), p->seconds, p->bytes_read, p->bytes_written,
		       bytes / p->seconds / 1e6, 100 * bytes / p->seconds / most, p->cpu_seconds, p->io_wait,
		       100 * b->busy[i] / p->seconds, 100 * b->least[i] / p->seconds, stats->runs, stats->fan_in,
		       stats->block_bytes, stats->passes);
	}
}

static em_block_list *sort(bench *b, em_block_list *in)
{
	em_block_list *out;
	em_sort_stats stats = EM_SORT_STATS_INIT;
	uint32_t i;

	for (i = 0; i < b->disks; i++)
		b->begun[i] = b->sim[i].busy_ns;
	must(b, em_sort_blocks(&out, &in, 1, b->order, EM_BLOCKS_CONSUME, &b->opts, &stats), "sort");
	count_busy(b);
	report(b, &stats);
	fflush(stdout);
	return out;
}

static int32_t priority_of(const char *name)
{
	return strcmp(name, "read") == 0   ? EM_PRIORITY_READ
	       : strcmp(name, "none") == 0 ? EM_PRIORITY_NONE
					   : EM_PRIORITY_WRITE;
}

int main(int argc, char **argv)
{
	const uint64_t each = peer_size(peer_arg(argc, argv, "each", "256M"));
	const em_sort_opts sort_opts = EM_SORT_OPTS_INIT;
	em_block_list *in, *out;
	static bench b;
	uint64_t sum;

	b.disks = (uint32_t)peer_size(peer_arg(argc, argv, "disks", "4"));
	b.record = peer_size(peer_arg(argc, argv, "record", "16"));
	b.block = peer_size(peer_arg(argc, argv, "block", "1M"));
	if (b.disks < 1 || b.disks > MOST_DISKS || b.record < 8 || b.block % EM_BLOCK_UNIT != 0 || b.block < b.record)
		peer_die("--disks is from 1 to 64, --record at least 8, --block a multiple of 4K");
	b.n = each * b.disks / b.record;
	b.opts = sort_opts;
	b.opts.memory = peer_size(peer_arg(argc, argv, "mem", "0"));
	if (b.opts.memory == 0)
		b.opts.memory = each * b.disks / 8;
	b.opts.run_records = peer_size(peer_arg(argc, argv, "run", "0"));
	b.opts.fan_in = (uint32_t)peer_size(peer_arg(argc, argv, "fan-in", "0"));
	b.opts.fetch = strcmp(peer_arg(argc, argv, "fetch", "best"), "naive") == 0 ? EM_FETCH_NAIVE : EM_FETCH_BEST;
	b.opts.place = strcmp(peer_arg(argc, argv, "place", "cycling"), "striping") == 0 ? EM_PLACE_RUNS_STRIPING
											 : EM_PLACE_RUNS_CYCLING;
	b.opts.read_buffers = (uint32_t)peer_size(peer_arg(argc, argv, "read", "0"));
	b.opts.prefetch_buffers = (uint32_t)peer_size(peer_arg(argc, argv, "prefetch", "0"));
	b.opts.write_buffers = (uint32_t)peer_size(peer_arg(argc, argv, "write", "0"));
	b.opts.errinfo = &b.err;
	b.opts.progress = watch;
	b.opts.progress_user = &b;
	b.p = pattern_named(peer_arg(argc, argv, "pattern", "random"), b.n, b.opts.run_records, b.block / b.record);
	if (b.p.values == values_runs2003 && b.p.run == 0)
		peer_die("runs2003 needs --run");
	open_all(&b, peer_arg(argc, argv, "disk", ""), (uint32_t)peer_size(peer_arg(argc, argv, "threads", "2")),
		 priority_of(peer_arg(argc, argv, "priority", "write")), b.opts.memory);
	in = fill(&b, &sum);
	out = sort(&b, in);
	em_block_list_close(in);
	if (atoi(peer_arg(argc, argv, "check", "1")) != 0)
		check(&b, out, sum);
	must(&b, em_block_list_free_blocks(out), "free");
	em_block_list_close(out);
	em_disks_close(b.scratch);
	em_order_close(b.order);
	em_ctx_close(b.ctx);
	return 0;
}
