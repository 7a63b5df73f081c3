/* SPDX-License-Identifier: BSL-1.0 */
/*
 * stats.h -- what --stats prints.
 */
#ifndef CLI_STATS_H
#define CLI_STATS_H

#include <stdio.h>

#include <extmem/sort.h>

/* How to print. */
enum { STATS_NONE, STATS_TEXT, STATS_JSON };

/* CPU seconds of this process so far. */
double process_cpu_seconds(void);

/* Print the statistics of a sort that took so many seconds altogether. */
void stats_print(FILE *to, int how, const em_sort_stats *st, double seconds, double cpu_seconds);

/* Print a plan.  record_size 0: any, and the number of records was estimated by a guess. */
void plan_print(FILE *to, const em_sort_plan_info *plan, uint64_t records, uint64_t record_size, uint64_t guess);

#endif
