/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_pass.h -- once through the blocks of a file, in sequence or at random, so many at a time.
 */
#ifndef CLI_BLOCK_PASS_H
#define CLI_BLOCK_PASS_H

#include <extmem/sys/request.h>

#include "cli/interrupt.h"

typedef struct block_pass {
	em_file *file;
	char *buf;              /* depth times block bytes, for direct transfers aligned */
	uint64_t block;         /* bytes */
	uint64_t n;             /* blocks to be moved */
	uint64_t places;        /* blocks that the file has */
	uint64_t seed;          /* of the random order */
	uint32_t depth;         /* requests in flight; 1: transfers that the caller waits for */
	int write;
	int random;
	const interrupt *in;
} block_pass;

/* 0; -1 when a transfer failed, with err filled, or a signal came. */
int block_pass_run(const block_pass *p, em_errinfo *err);

#endif
