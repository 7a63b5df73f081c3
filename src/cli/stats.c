/* SPDX-License-Identifier: BSL-1.0 */
/*
 * stats.c -- what --stats and --plan print.
 *
 * The keys of the JSON object are an interface: programs read them.  The text is for people.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <sys/resource.h>

#include "cli/size.h"
#include "cli/stats.h"

#define JSON_ROOM 8192

double process_cpu_seconds(void)
{
	struct rusage ru;

	if (getrusage(RUSAGE_SELF, &ru))
		return 0;
	return (double)ru.ru_utime.tv_sec + (double)ru.ru_stime.tv_sec +
	       ((double)ru.ru_utime.tv_usec + (double)ru.ru_stime.tv_usec) * 1e-6;
}

static em_phase_stats total_of(const em_sort_stats *st)
{
	em_phase_stats sum = EM_PHASE_STATS_INIT, p = EM_PHASE_STATS_INIT;
	uint32_t i;

	for (i = 0; em_sort_stats_phase(st, i, &p) == EM_OK; i++) {
		sum.io_wait += p.io_wait;
		sum.bytes_read += p.bytes_read;
		sum.bytes_written += p.bytes_written;
		sum.ios_read += p.ios_read;
		sum.ios_written += p.ios_written;
	}
	return sum;
}

/* A phase that did not take place is not listed. */
static int took_place(const em_phase_stats *p)
{
	return p->seconds > 0 || p->bytes_read || p->bytes_written;
}

/* The sums of the phases, what the command has of its own, and then all that the library tells. */
static void print_json(FILE *to, const em_sort_stats *st, double seconds, double cpu_seconds)
{
	const em_phase_stats sum = total_of(st);
	char text[JSON_ROOM] = "{}";

	em_sort_stats_json(st, text, sizeof(text));
	fprintf(to,
		"{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"bytes_read\": %" PRIu64 ", \"bytes_written\": %" PRIu64
		", \"ios_read\": %" PRIu64 ", \"ios_written\": %" PRIu64 ", \"io_wait\": %.6f, \"block_size\": %" PRIu64
		", %s\n",
		seconds, cpu_seconds, sum.bytes_read, sum.bytes_written, sum.ios_read, sum.ios_written, sum.io_wait,
		st->block_bytes, text + 1);
}

static void text_row(FILE *to, const char *name, double seconds, double cpu_seconds, const em_phase_stats *p)
{
	char in[SIZE_TEXT], out[SIZE_TEXT];

	fprintf(to, "%-8s %9.2f %9.2f %10s %10s %9" PRIu64 " %9" PRIu64 " %9.2f\n", name, seconds, cpu_seconds,
		size_format((double)p->bytes_read, in), size_format((double)p->bytes_written, out), p->ios_read,
		p->ios_written, p->io_wait);
}

static void print_text(FILE *to, const em_sort_stats *st, double seconds, double cpu_seconds)
{
	const em_phase_stats sum = total_of(st);
	em_phase_stats p = EM_PHASE_STATS_INIT;
	char a[SIZE_TEXT], b[SIZE_TEXT];
	uint32_t i;

	fprintf(to, "%-8s %9s %9s %10s %10s %9s %9s %9s\n", "phase", "seconds", "cpu", "read", "written", "reads",
		"writes", "io wait");
	for (i = 0; em_sort_stats_phase(st, i, &p) == EM_OK; i++)
		if (took_place(&p))
			text_row(to, em_phase_name(i), p.seconds, p.cpu_seconds, &p);
	text_row(to, "total", seconds, cpu_seconds, &sum);

	fprintf(to, "%" PRIu64 " records in, %" PRIu64 " out; ", st->records_in, st->records_out);
	if (!st->passes)
		fputs("sorted in memory", to);
	else
		fprintf(to, "%" PRIu64 " runs of up to %" PRIu64 " records, %" PRIu32 " passes, fan-in %" PRIu32
			", blocks of %s",
			st->runs, st->run_records, st->passes, st->fan_in, size_format_exact(st->block_bytes, a));
	if (st->packed_from != 0)
		fprintf(to, ", %s of them compressed to %s", size_format((double)st->packed_from, a),
			size_format((double)st->packed_to, b));
	if (st->kept_records != 0)
		fprintf(to, ", %" PRIu64 " records kept in memory", st->kept_records);
	if (st->memory_bytes != 0)
		fprintf(to, ", %s of runs kept in memory", size_format((double)st->memory_bytes, a));
	fprintf(to, "; %" PRIu32 " thread%s\n", st->threads, st->threads == 1 ? "" : "s");
	fprintf(to, "peak memory %s, peak scratch %s", size_format((double)st->peak_memory, a),
		size_format((double)st->peak_scratch, b));
	/* Space that was reserved ahead, or is free and stayed with the file. */
	if (st->peak_scratch_held > st->peak_scratch)
		fprintf(to, " (%s on disk)", size_format((double)st->peak_scratch_held, a));
	fputc('\n', to);
}

void stats_print(FILE *to, int how, const em_sort_stats *st, double seconds, double cpu_seconds)
{
	if (how == STATS_JSON)
		print_json(to, st, seconds, cpu_seconds);
	else if (how == STATS_TEXT)
		print_text(to, st, seconds, cpu_seconds);
}

static void plan_size(FILE *to, const char *name, uint64_t bytes)
{
	char text[SIZE_TEXT];

	fprintf(to, "%-15s %" PRIu64 " (%s)\n", name, bytes, size_format((double)bytes, text));
}

static void plan_number(FILE *to, const char *name, uint64_t n)
{
	fprintf(to, "%-15s %" PRIu64 "\n", name, n);
}

void plan_print(FILE *to, const em_sort_plan_info *plan, uint64_t records, uint64_t record_size, uint64_t guess)
{
	if (record_size) {
		plan_number(to, "records:", records);
		plan_number(to, "record size:", record_size);
	} else {
		fprintf(to, "%-15s %" PRIu64 " (estimated, with %" PRIu64 " bytes each)\n", "records:", records, guess);
	}
	plan_size(to, "memory:", plan->memory);
	plan_size(to, "at most:", plan->memory_most);
	plan_size(to, "least memory:", plan->memory_min);
	plan_number(to, "threads:", plan->threads);
	plan_number(to, "passes:", plan->passes);
	plan_number(to, "runs:", plan->runs);
	plan_number(to, "run records:", plan->run_records);
	plan_number(to, "fan-in:", plan->fan_in);
	plan_size(to, "block size:", plan->block_bytes);
	plan_number(to, "block records:", plan->block_records);
	plan_number(to, "read buffers:", plan->read_buffers);
	if (plan->prefetch_buffers != 0)
		plan_number(to, "prefetch:", plan->prefetch_buffers);
	plan_number(to, "write buffers:", plan->write_buffers);
	plan_size(to, "scratch:", plan->scratch);
	plan_size(to, "to be read:", plan->bytes_read);
	plan_size(to, "to be written:", plan->bytes_written);
}
