/* SPDX-License-Identifier: BSL-1.0 */
/*
 * records_model.h -- what the tests of readers of records share: files and the records in them, in memory, and a
 * consumer that compares what it is given with that.
 */
#ifndef EM_RECORDS_MODEL_H
#define EM_RECORDS_MODEL_H

#include "stream/records.h"
#include "stream/records_impl.h"
#include "stream/stream_test.h"

#define PAGE 4096u
#define FILES_MOST 12
#define HELD_MOST 8

/* The inputs, and what is wrong with them. */
typedef struct model {
	em_format format;
	uint64_t longest;
	uint32_t n;
	char *path[FILES_MOST];
	unsigned char *data[FILES_MOST];
	size_t bytes[FILES_MOST];
	uint32_t bad_file;      /* n: nothing is wrong */
	uint64_t bad_number;    /* of the record, or line of a CSV file, from 1 */
	int bad_short;          /* it is cut off, not too long */
	int bad_open;           /* a quote is open there */
	int ended[FILES_MOST];  /* of CSV files: the last record has its delimiter */
} model;

/* A consumer that keeps up to `hold' chunks and gives them back in any order. */
typedef struct consumer {
	em_ctx *ctx;
	const model *m;
	emi_records *r;
	emi_records_opts opts;
	emi_io_stats stats;
	em_errinfo err;
	test_rng rng;
	emi_chunk held[HELD_MOST];
	uint64_t records[HELD_MOST];
	uint32_t holding, hold;
	uint32_t file;          /* where the next chunk is expected */
	uint64_t at;
	uint64_t chunks, joined;
	uint32_t fds_before, fds_peak;
	uint64_t memory_before;
	em_status (*tick)(void *arg);
	void *arg;
} consumer;

/* Ways of direct I/O. */
static const int32_t directs[] = { EM_DIRECT_OFF, EM_DIRECT_TRY };

/* A ticker counts, and cancels at one of its calls. */
typedef struct ticks {
	int calls, cancel_at;
} ticks;

/* Formats. */
em_format lines_by(unsigned char delimiter);
em_format prefixed(uint32_t width, uint32_t flags);
em_format csv_by(unsigned char delimiter, unsigned char separator);
/* Write a length as the format does. */
void put_prefix(const em_format *f, unsigned char *p, uint64_t length);

/* Find the first thing that is wrong. */
void model_judge(model *m);
/* Bytes of the file as they come out: the last line is complete. */
size_t whole_bytes(const model *m, uint32_t file);
void model_free(model *m);
/* A file for the model; data is taken over. */
void model_add(model *m, const char *dir, unsigned char *data, size_t bytes);
/* No files yet; longest: of the records that a reader takes. */
void model_init(model *m, em_format format, uint64_t longest);

em_status consumer_open(consumer *c, em_ctx *ctx, const model *m, size_t chunk_bytes, uint32_t chunks, uint32_t hold,
			test_rng *rng);
void consumer_close(consumer *c);
/* Give back the i-th of the chunks held; nobody may have written to it meanwhile. */
void consumer_give_back(consumer *c, uint32_t i);
void consumer_give_back_all(consumer *c);
/* Keep a chunk that is what the model says. */
void consumer_take(consumer *c, const emi_chunk *chunk);
/* Read on to the end or to a failure. */
em_status consumer_run(consumer *c);
/* Is it what the model says that comes out? */
void consumer_check_outcome(consumer *c, em_status st);

/* The whole of it: open, read, compare, close. */
void records_run(em_ctx *ctx, const model *m, size_t chunk_bytes, uint32_t chunks, uint32_t hold, test_rng *rng);

/* The contexts of this machine, without and with direct I/O; unknown ones are NULL. */
void open_contexts(em_ctx *ctx[6]);
void close_contexts(em_ctx *ctx[6]);
/* Records of these lengths, one after the other; of prefixed ones no longer than a prefix can say. */
unsigned char *make_records(test_rng *rng, const em_format *f, const size_t *length, size_t n, size_t *bytes);
/* One of the files comes as standard input, through a pipe or not. */
void records_run_with_stdin(em_ctx *ctx, model *m, uint32_t file, int piped, size_t chunk, uint32_t chunks,
			    uint32_t hold, test_rng *rng);

em_status tick(void *arg);

#endif
