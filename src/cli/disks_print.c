/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disks_print.c -- what extmem disks prints: tables for people, CSV or JSON.
 *
 * In CSV it is one table: of what was measured, if anything was, and of the disks otherwise.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/disks.h"
#include "cli/size.h"

static const char *const kind_name[] = { "directory", "file", "device", "new file", "other" };

/* A size, or something else for one of them. */
static const char *size_or(uint64_t bytes, uint64_t none, const char *instead, char out[SIZE_TEXT])
{
	return bytes == none ? instead : size_format((double)bytes, out);
}

static const char *direct_name(const disk_look *d)
{
	return d->direct < 0 ? "-" : d->direct ? "yes" : "no";
}

/* A path breaks no line and no terminal. */
static void put_path(const char *path)
{
	for (; *path; path++)
		putchar((unsigned char)*path < ' ' || *path == 127 ? '?' : *path);
	putchar('\n');
}

static void text_disk(const disk_look *d)
{
	char a[SIZE_TEXT], b[SIZE_TEXT];

	printf("%-9s  %-11s  %-8s  %-6s  %10s  %10s  %5" PRIu32 "  ", kind_name[d->kind], d->fs[0] ? d->fs : "-",
	       d->backend, direct_name(d), size_or(d->capacity, 0, "-", a), size_or(d->free, UINT64_MAX, "-", b),
	       d->opts.queue_depth);
	put_path(d->opts.path);
}

static void text_rates(const disk_look *d)
{
	char block[SIZE_TEXT];
	uint32_t i;

	putchar('\n');
	put_path(d->opts.path);
	printf("%8s  %11s  %10s  %20s\n", "block", "write MB/s", "read MB/s", "in flight (w, r)");
	for (i = 0; i < MEASURE_SIZES && d->write[i] > 0; i++)
		printf("%8s  %11.1f  %10.1f  %15" PRIu32 ", %3" PRIu32 "\n", size_format_exact(disks_block(i), block),
		       d->write[i] * 1e-6, d->read[i] * 1e-6, d->write_depth[i], d->read_depth[i]);
}

static void print_text(const disks_command *dc)
{
	const em_ctx_opts *c = &dc->context.ctx;
	char text[SIZE_TEXT];
	uint32_t i;

	printf("disks: %s", dc->context.scratch.from);
	if (dc->context.file && strcmp(dc->context.file, dc->context.scratch.from))
		printf("; other options: %s", dc->context.file);
	printf("\n%-9s  %-11s  %-8s  %-6s  %10s  %10s  %5s  %s\n", "kind", "file system", "backend", "direct",
	       "capacity", "free", "queue", "path");
	for (i = 0; i < dc->n; i++)
		text_disk(&dc->disk[i]);
	printf("block size %s, ", c->block_bytes ? size_format_exact(c->block_bytes, text) : "chosen for each sort");
	printf("scratch at most %s\n", c->scratch_max ? size_format_exact(c->scratch_max, text) : "what there is");
	for (i = 0; i < dc->n && dc->disk[i].write[0] > 0; i++)
		text_rates(&dc->disk[i]);
	if (dc->best)
		printf("\nthe smallest block size with which %s hardly slower than with %s best one:\nblock-size = "
		       "%s\n",
		       dc->n == 1 ? "the disk is" : "no disk is", dc->n == 1 ? "the" : "its",
		       size_format_exact(dc->best, text));
}

static void csv_path(const char *path)
{
	if (!strpbrk(path, ",\"\r\n")) {
		fputs(path, stdout);
		return;
	}
	putchar('"');
	for (; *path; path++) {
		if (*path == '"')
			putchar('"');
		putchar(*path);
	}
	putchar('"');
}

static void csv_number(uint64_t n, uint64_t none)
{
	if (n != none)
		printf("%" PRIu64, n);
	putchar(',');
}

static void csv_disk(const disk_look *d)
{
	csv_path(d->opts.path);
	printf(",%s,%s,%s,%s,", kind_name[d->kind], d->fs, d->backend, d->direct < 0 ? "" : d->direct ? "1" : "0");
	csv_number(d->capacity, 0);
	csv_number(d->free, UINT64_MAX);
	printf("%" PRIu32 "\n", d->opts.queue_depth);
}

static void csv_rates(const disk_look *d)
{
	uint32_t i;

	for (i = 0; i < MEASURE_SIZES && d->write[i] > 0; i++) {
		csv_path(d->opts.path);
		printf(",%" PRIu64 ",%.3f,%.3f,%" PRIu32 ",%" PRIu32 "\n", disks_block(i), d->write[i] * 1e-6,
		       d->read[i] * 1e-6, d->write_depth[i], d->read_depth[i]);
	}
}

static void print_csv(const disks_command *dc)
{
	uint32_t i;

	puts(dc->measure ? "path,block,write_MBps,read_MBps,write_depth,read_depth"
			 : "path,kind,file_system,backend,direct,capacity,free,queue");
	for (i = 0; i < dc->n; i++)
		if (dc->measure)
			csv_rates(&dc->disk[i]);
		else
			csv_disk(&dc->disk[i]);
}

static void json_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		if ((unsigned char)*text < ' ')
			printf("\\u%04x", (unsigned)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void json_number(const char *name, uint64_t n, uint64_t none)
{
	printf(", \"%s\": ", name);
	if (n == none)
		fputs("null", stdout);
	else
		printf("%" PRIu64, n);
}

static void json_rates(const disk_look *d)
{
	uint32_t i;

	fputs(", \"measured\": [", stdout);
	for (i = 0; i < MEASURE_SIZES && d->write[i] > 0; i++)
		printf("%s{\"block\": %" PRIu64 ", \"write_MBps\": %.3f, \"read_MBps\": %.3f, \"write_depth\": %" PRIu32
		       ", \"read_depth\": %" PRIu32 "}",
		       i ? ", " : "", disks_block(i), d->write[i] * 1e-6, d->read[i] * 1e-6, d->write_depth[i],
		       d->read_depth[i]);
	putchar(']');
}

static void json_disk(const disks_command *dc, const disk_look *d)
{
	fputs("\n {\"path\": ", stdout);
	json_text(d->opts.path);
	printf(", \"kind\": \"%s\", \"file_system\": ", kind_name[d->kind]);
	if (d->fs[0])
		json_text(d->fs);
	else
		fputs("null", stdout);
	printf(", \"backend\": \"%s\", \"direct\": %s", d->backend,
	       d->direct < 0 ? "null"
	       : d->direct   ? "true"
			     : "false");
	json_number("capacity", d->capacity, 0);
	json_number("free", d->free, UINT64_MAX);
	json_number("queue", d->opts.queue_depth, 0);
	if (dc->measure)
		json_rates(d);
	putchar('}');
}

static void print_json(const disks_command *dc)
{
	uint32_t i;

	fputs("{\"from\": ", stdout);
	json_text(dc->context.scratch.from);
	fputs(", \"config\": ", stdout);
	if (dc->context.file)
		json_text(dc->context.file);
	else
		fputs("null", stdout);
	json_number("block_size", dc->context.ctx.block_bytes, 0);
	json_number("scratch_max", dc->context.ctx.scratch_max, 0);
	if (dc->measure)
		json_number("recommended_block_size", dc->best, 0);
	fputs(", \"disks\": [", stdout);
	for (i = 0; i < dc->n; i++) {
		if (i)
			putchar(',');
		json_disk(dc, &dc->disk[i]);
	}
	puts("\n]}");
}

void disks_print(const disks_command *dc)
{
	if (dc->format == DISKS_CSV)
		print_csv(dc);
	else if (dc->format == DISKS_JSON)
		print_json(dc);
	else
		print_text(dc);
}
