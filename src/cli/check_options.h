/* SPDX-License-Identifier: BSL-1.0 */
/*
 * check_options.h -- the options of extmem check, and what it prints.
 */
#ifndef CLI_CHECK_OPTIONS_H
#define CLI_CHECK_OPTIONS_H

#include "cli/record_keys.h"
#include "cli/text_options.h"

typedef struct check_options {
	const char *command;
	int binary;             /* --record-size was given: binary records, not lines */
	key_options keys;
	text_options text;
	int unique;             /* -u */
	int unsorted;
	int progress_mode;
	const char **path;      /* the array is owned */
	uint32_t paths;
} check_options;

/* What was found in all files. */
typedef struct check_result {
	uint64_t records;
	uint64_t checksum;
	uint64_t duplicates;
	uint64_t disorders;
	int disorder;           /* the files are not in order, which was reported */
} check_result;

/* Look at the files of records, or of lines.  Prints messages; returns -1 on failure. */
int check_records(const check_options *co, check_result *result);
int check_lines(const check_options *co, check_result *result);

#endif
