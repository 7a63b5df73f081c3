/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_print.c -- what extmem bench io prints: a table for people, CSV or JSON.
 *
 * A line is printed when it is known, as the next one may take long.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <string.h>

#include "cli/bench_io.h"
#include "cli/size.h"

static const char *cache_name(const bench_options *o)
{
	return o->cold ? "cold" : "warm";
}

static const char *cache_text(const bench_options *o)
{
	if (o->cold)
		return "cold: files are synced and dropped from the page cache before they are read, "
		       "and synced after they are written";
	return "warm: what is read was read or written just before, and written is what the page cache takes";
}

void bench_print_begin(const bench_options *o)
{
	size_t i;

	switch (o->format) {
	case BENCH_CSV:
		for (i = 0; bench_column[i]; i++)
			printf("%s%s", i ? "," : "", bench_column[i]);
		printf("\n");
		break;
	case BENCH_JSON:
		printf("{\"cache\": \"%s\", \"runs\": [", cache_name(o));
		break;
	default:
		printf("files in %s; cache %s\n", o->dir, cache_text(o));
		printf("%-5s %-7s %11s %3s %8s %7s %10s %10s %10s %10s %12s %12s\n", "op", "kind", "n", "k", "block",
		       "element", "median s", "min s", "max s", "cpu s", "predicted", "I/Os");
	}
	fflush(stdout);
}

static void print_csv(const bench_options *o, const bench_run *r, const bench_result *s)
{
	char block[24] = "";

	if (bench_has_block(r->kind))
		snprintf(block, sizeof(block), "%" PRIu64, r->block);
	printf("%s,%s,%" PRIu64 ",%" PRIu32 ",%s,%" PRIu64 ",%" PRIu32 ",%s,%.9f,%.9f,%.9f,%.6f,%" PRIu64 ",%" PRIu64
	       ",%" PRIu64 "\n",
	       bench_op_name(r->op), em_element_kind_name(r->kind), r->n, r->k, block, r->element, r->repeat,
	       cache_name(o), s->median, s->least, s->most, s->cpu, s->predicted, s->counted, s->bytes);
}

static void print_json(size_t index, const bench_run *r, const bench_result *s)
{
	char block[24] = "null";

	if (bench_has_block(r->kind))
		snprintf(block, sizeof(block), "%" PRIu64, r->block);
	printf("%s\n {\"op\": \"%s\", \"kind\": \"%s\", \"n\": %" PRIu64 ", \"k\": %" PRIu32
	       ", \"block\": %s, \"element\": %" PRIu64 ", \"repeat\": %" PRIu32
	       ", \"median_s\": %.9f, \"min_s\": %.9f, \"max_s\": %.9f, \"cpu_s\": %.6f"
	       ", \"predicted_ios\": %" PRIu64 ", \"counted_ios\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
	       index ? "," : "", bench_op_name(r->op), em_element_kind_name(r->kind), r->n, r->k, block, r->element,
	       r->repeat, s->median, s->least, s->most, s->cpu, s->predicted, s->counted, s->bytes);
}

static void print_text(const bench_run *r, const bench_result *s)
{
	char block[SIZE_TEXT] = "-", element[SIZE_TEXT];

	if (bench_has_block(r->kind))
		size_format_exact(r->block, block);
	printf("%-5s %-7s %11" PRIu64 " %3" PRIu32 " %8s %7s %10.6f %10.6f %10.6f %10.6f %12" PRIu64 " %12" PRIu64 "\n",
	       bench_op_name(r->op), em_element_kind_name(r->kind), r->n, r->k, block,
	       size_format_exact(r->element, element), s->median, s->least, s->most, s->cpu, s->predicted, s->counted);
}

void bench_print_run(const bench_options *o, size_t index, const bench_run *run, const bench_result *result)
{
	if (o->format == BENCH_CSV)
		print_csv(o, run, result);
	else if (o->format == BENCH_JSON)
		print_json(index, run, result);
	else
		print_text(run, result);
	fflush(stdout);
}

void bench_print_end(const bench_options *o)
{
	if (o->format == BENCH_JSON)
		printf("\n]}\n");
}
