/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk_table.h -- what the disks of a context do, in a line for each every so many seconds (--interval).
 */
#ifndef CLI_DISK_TABLE_H
#define CLI_DISK_TABLE_H

#include <extmem/sys/io_stats.h>

/* Most disks that are shown; of more the first. */
enum { DISK_TABLE_MOST = 16, DISK_TABLE_NAME = 256 };

typedef struct disk_table {
	em_ctx *ctx;
	double interval;        /* seconds; 0: nothing is shown */
	double start, next;
	uint32_t n;             /* disks that were there the last time */
	em_io_stats last[DISK_TABLE_MOST];
	char name[DISK_TABLE_MOST][DISK_TABLE_NAME];
	unsigned lines;         /* since the heading */
} disk_table;

void disk_table_open(disk_table *t, em_ctx *ctx, double interval);

/* Is it time for the next lines? */
int disk_table_due(const disk_table *t);

/* Print them on standard error. */
void disk_table_print(disk_table *t);

/* Seconds from the text of an option: 0, or -1 after a message. */
int disk_table_interval(const char *command, const char *text, double *interval);

#endif
