/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pass.h -- records from files through an em_top into a file.
 *
 * Inputs are read chunk by chunk, each chunk by one thread.  What comes out is pulled and copied: it is either little,
 * or has to be changed on its way.
 */
#ifndef EMI_PASS_H
#define EMI_PASS_H

#include "sort/copier.h"
#include "sort/header.h"
#include "sort/top.h"
#include "sort/trial.h"
#include "stream/records.h"

/* A chunk that is with us. */
typedef struct emi_pass_chunk {
	emi_chunk chunk;
	uint64_t header;        /* records at its beginning that belong to a header */
	const unsigned char *at, *end; /* the others */
} emi_pass_chunk;

typedef struct emi_pass {
	em_top top;
	const char *const *paths;
	uint32_t npaths;
	uint64_t record_bytes;  /* of records in files; 0: any length */
	/* Where records are changed on their way in, in place of looking at them with all threads: take some that are
	 * whole, with their delimiters or prefixes, and tell their number.  NULL: they are not. */
	em_status (*convert)(struct emi_pass *p, const unsigned char *data, size_t bytes, uint64_t *records,
			     em_errinfo *err);
	size_t strip;           /* so many bytes of each record stay behind on its way out */
	uint64_t taken;         /* bytes of memory that convert has taken, ... */
	uint64_t (*extra)(const struct emi_pass *p, uint64_t memory); /* ... and that it is going to take of so much;
	                                                                 NULL: none */
	emi_records *records;
	emi_sink *sink;
	emi_copier copier;
	emi_pass_chunk *chunk;  /* one for each strand */
	int only_plan;          /* see trial.h */
	uint64_t bytes;         /* of all inputs, or EMI_UNKNOWN */
	emi_header header;
	uint32_t file;          /* of the last chunk that went back ... */
	uint64_t number;        /* ... and what of it came before now, as messages count */
} emi_pass;

/* Begin, with what is asked for and the order of it (with convert: of what records are converted to).  Paths,
 * record_bytes and what is said of convert are set, all else is zero.  Then run; close it in any case. */
em_status emi_pass_open(emi_pass *p, em_ctx *ctx, const em_order *order, uint64_t from, uint64_t k,
			const em_sort_opts *opts, em_errinfo *err);
em_status emi_pass_run(emi_pass *p, const char *output, em_errinfo *err);

/* How it was tried, behind opening it; and what is to be tried when it was run. */
void emi_pass_try(emi_pass *p, const emi_trial *t);
void emi_pass_tried(const emi_pass *p, emi_trial *t, em_status st, const em_errinfo *err);

/* Fills stats unless it is NULL. */
void emi_pass_close(emi_pass *p, em_sort_stats *stats);

#endif
