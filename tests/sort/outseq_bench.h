/* SPDX-License-Identifier: BSL-1.0 */
/* outseq_bench.h -- what the tests of output sequences share. */
#ifndef EM_OUTSEQ_BENCH_H
#define EM_OUTSEQ_BENCH_H

#include <extmem/sys/fault.h>

#include "sort/job.h"
#include "sort/outseq.h"
#include "sort/sort_model.h"

#define BLOCK 4096u
#define RECORD 24u
#define CAP (BLOCK / RECORD)

/* A sequence, where its blocks go, and those who fill it. */
typedef struct bench {
	test_rng rng;
	test_memory mem;
	em_fault fault;
	em_ctx *ctx;
	em_order *order;
	emi_job job;
	emi_outseq q;
	emi_dest dest;
	unsigned char *got;     /* what arrived */
	uint64_t records, blocks; /* of it */
	uint64_t first;         /* records in its first block */
	uint64_t fail_at;       /* block whose put fails, from 1; 0: none */
	emi_disk *disk;         /* where blocks are written, when not NULL */
	em_bid *bid;
	uint64_t total, next;   /* records; atomic: those that somebody took to fill */
	uint64_t seed;
	unsigned refused;       /* atomic: places that were NULL */
} bench;

/* A word that is a record's, or anything's, alone. */
uint64_t outseq_word(uint64_t record);
/* The bytes of a record. */
void outseq_record(char *to, uint64_t record);
/* For dest.lead: as a file would want it, data stands in the page where it stands in the file. */
size_t outseq_lead(void *arg, uint64_t position);

/* The sequence is begun; its blocks go to `got'. */
void bench_open(bench *b, uint32_t nring, uint64_t total);
/* All memory has come back. */
void bench_close(bench *b);

#endif
