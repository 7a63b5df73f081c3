/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_records.c -- readers of records against a model: the files in memory, split one record at a time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/memory.h"
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
	uint64_t bad_number;    /* of the record, from 1 */
	int bad_short;          /* it is cut off, not too long */
} model;

static em_format lines_by(unsigned char delimiter)
{
	em_format f = EM_FORMAT_INIT;

	f.delimiter = delimiter;
	return f;
}

static em_format prefixed(uint32_t width, uint32_t flags)
{
	em_format f = EM_FORMAT_INIT;

	f.kind = EM_FORMAT_PREFIXED;
	f.width = width;
	f.flags = flags;
	return f;
}

static void put_prefix(const em_format *f, unsigned char *p, uint64_t length)
{
	uint32_t i;

	for (i = 0; i < f->width; i++) {
		p[(f->flags & EM_FORMAT_BIG_ENDIAN) != 0 ? f->width - 1 - i : i] = (unsigned char)length;
		length >>= 8;
	}
}

static uint64_t get_prefix(const em_format *f, const unsigned char *p)
{
	uint64_t length = 0;
	uint32_t i;

	for (i = 0; i < f->width; i++)
		length = length << 8 | p[(f->flags & EM_FORMAT_BIG_ENDIAN) != 0 ? i : f->width - 1 - i];
	return length;
}

/* Find the first thing wrong with a file: 1 when there is any. */
static int model_judge_file(model *m, uint32_t file)
{
	const unsigned char *p = m->data[file];
	size_t left = m->bytes[file];
	uint64_t number = 1, length = 0;

	for (; left > 0; number++) {
		if (m->format.kind == EM_FORMAT_DELIMITED) {
			for (length = 0; length < left && p[length] != m->format.delimiter; length++)
				;
			if (length > m->longest)
				break;
			length += length < left;
		} else {
			m->bad_short = 1;
			if (left < m->format.width)
				break;
			length = get_prefix(&m->format, p);
			m->bad_short = length <= m->longest;
			if (length > m->longest || length > left - m->format.width)
				break;
			m->bad_short = 0;
			length += m->format.width;
		}
		p += length;
		left -= (size_t)length;
	}
	m->bad_number = number;
	return left > 0;
}

static void model_judge(model *m)
{
	m->bad_short = 0;
	for (m->bad_file = 0; m->bad_file < m->n; m->bad_file++)
		if (model_judge_file(m, m->bad_file))
			break;
}

/* Bytes of the file as they come out: the last line is complete. */
static size_t whole_bytes(const model *m, uint32_t file)
{
	const size_t n = m->bytes[file];

	return n + (m->format.kind == EM_FORMAT_DELIMITED && n > 0 && m->data[file][n - 1] != m->format.delimiter);
}

static void model_free(model *m)
{
	uint32_t i;

	for (i = 0; i < m->n; i++) {
		free(m->path[i]);
		free(m->data[i]);
	}
	m->n = 0;
}

/* A file for the model; data is taken over. */
static void model_add(model *m, const char *dir, unsigned char *data, size_t bytes)
{
	char name[16];

	snprintf(name, sizeof(name), "r%" PRIu32, m->n);
	m->path[m->n] = test_path(dir, name);
	m->data[m->n] = data;
	m->bytes[m->n] = bytes;
	stream_write_file(m->path[m->n], data, bytes);
	m->n++;
}

static void model_init(model *m, em_format format, uint64_t longest)
{
	memset(m, 0, sizeof(*m));
	m->format = format;
	m->longest = longest;
}

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

static em_status consumer_open(consumer *c, em_ctx *ctx, const model *m, size_t chunk_bytes, uint32_t chunks, uint32_t hold,
			       test_rng *rng)
{
	memset(c, 0, sizeof(*c));
	c->ctx = ctx;
	c->m = m;
	c->opts.format = m->format;
	c->opts.chunk_bytes = chunk_bytes;
	c->opts.chunks = chunks;
	c->opts.longest = m->longest;
	c->hold = hold;
	c->rng = test_rng_make(test_random(rng));
	c->fds_before = ctx->fds_used;
	c->memory_before = em_ctx_memory_used(ctx);
	return emi_records_open(&c->r, ctx, (const char *const *)m->path, m->n, &c->opts, &c->stats, &c->err);
}

static void consumer_close(consumer *c)
{
	emi_records_close(c->r);
	assert_int_equal(c->ctx->fds_used, c->fds_before);
	assert_int_equal(em_ctx_memory_used(c->ctx), c->memory_before);
}

/* Does the chunk have what the file has there?  Counts its records. */
static uint64_t check_chunk(const consumer *c, const emi_chunk *chunk)
{
	const model *m = c->m;
	const unsigned char *at = chunk->data, *end = at + chunk->bytes;
	size_t there = m->bytes[chunk->file] - (size_t)chunk->offset, n;
	volatile unsigned char slack = 0;
	uint64_t records = 0;

	assert_true(chunk->bytes > 0);
	if (there > chunk->bytes)
		there = chunk->bytes;
	assert_memory_equal(chunk->data, m->data[chunk->file] + chunk->offset, there);
	if (there < chunk->bytes) {
		assert_int_equal(there + 1, chunk->bytes);
		assert_int_equal(chunk->data[there], m->format.delimiter);
		assert_int_equal(m->format.kind, EM_FORMAT_DELIMITED);
		assert_int_equal(chunk->offset + chunk->bytes, whole_bytes(m, chunk->file));
	} else if (m->format.kind == EM_FORMAT_DELIMITED) {
		assert_int_equal(end[-1], m->format.delimiter);
	}
	for (; at < end; records++) {
		(void)emi_record_take(&m->format, &at, end, &n);
		assert_true(n <= m->longest);
	}
	assert_ptr_equal(at, end);
	for (n = 0; n < EMI_RECORDS_SLACK; n++)
		slack = (unsigned char)(slack ^ end[n]);
	return records;
}

/* Give back the i-th of the chunks held; nobody may have written to it meanwhile. */
static void give_back(consumer *c, uint32_t i)
{
	assert_int_equal(check_chunk(c, &c->held[i]), c->records[i]);
	emi_records_release(c->r, &c->held[i], c->records[i]);
	assert_null(c->held[i].data);
	c->holding--;
	c->held[i] = c->held[c->holding];
	c->records[i] = c->records[c->holding];
}

static void give_back_all(consumer *c)
{
	while (c->holding > 0)
		give_back(c, (uint32_t)test_below(&c->rng, c->holding));
}

/* The reader may only refuse when all buffers are here, or a long record is. */
static void check_refusal(const consumer *c)
{
	uint32_t i, joined = 0;

	for (i = 0; i < c->holding; i++)
		joined += c->held[i].priv == &c->r->joined;
	assert_true(joined > 0 || c->holding == c->opts.chunks);
}

/* Memory and descriptors in use are within what is promised. */
static void check_limits(consumer *c)
{
	const uint64_t names = c->m->n * (sizeof(emi_input) + 300);
	const uint64_t most = emi_records_memory(&c->opts) + 2 * emi_file_memory(c->ctx) + names;

	assert_true(em_ctx_memory_used(c->ctx) - c->memory_before <= most);
	assert_true(c->ctx->fds_used - c->fds_before <= 2);
}

static void take(consumer *c, const emi_chunk *chunk)
{
	const model *m = c->m;

	while (c->file < m->n && c->at == whole_bytes(m, c->file)) {
		c->file++;
		c->at = 0;
	}
	assert_int_equal(chunk->file, c->file);
	assert_int_equal(chunk->offset, c->at);
	c->at += chunk->bytes;
	c->chunks++;
	c->joined += chunk->priv == &c->r->joined;
	c->held[c->holding] = *chunk;
	c->records[c->holding++] = check_chunk(c, chunk);
}

/* Read on to the end or to a failure. */
static em_status consume(consumer *c)
{
	emi_chunk chunk;
	em_status st;

	for (;;) {
		while (c->holding > 0 && c->holding >= c->hold)
			give_back(c, (uint32_t)test_below(&c->rng, c->holding));
		st = emi_records_next(c->r, &chunk, c->tick, c->arg, &c->err);
		check_limits(c);
		if (st == EM_ERR_STATE) {
			check_refusal(c);
			memset(&c->err, 0, sizeof(c->err));
			give_back_all(c);
			continue;
		}
		if (st != EM_OK)
			break;
		take(c, &chunk);
	}
	if (st == EM_END) {
		while (c->file < c->m->n && c->at == whole_bytes(c->m, c->file)) {
			c->file++;
			c->at = 0;
		}
		assert_int_equal(c->file, c->m->n);
		assert_int_equal(c->ctx->fds_used, c->fds_before);
		assert_int_equal(emi_records_next(c->r, &chunk, NULL, NULL, NULL), EM_END);
	} else {
		/* Failures stay. */
		em_errinfo again;

		memset(&again, 0, sizeof(again));
		assert_int_equal(emi_records_next(c->r, &chunk, NULL, NULL, &again), st);
		if (st != EM_ERR_CANCELED) {
			assert_int_equal(c->err.status, st);
			assert_string_equal(again.text, c->err.text);
		}
	}
	give_back_all(c);
	return st;
}

/* Is it what the model says that comes out? */
static void check_outcome(consumer *c, em_status st)
{
	const model *m = c->m;
	const char *name;
	char want[512];

	if (m->bad_file == m->n) {
		if (st != EM_END)
			fail_msg("%s: %s", em_status_name(st), c->err.text);
		return;
	}
	assert_int_equal(st, EM_ERR_FORMAT);
	/* All before the file is here, and nothing but whole records of it. */
	while (c->file < m->bad_file && c->at == whole_bytes(m, c->file)) {
		c->file++;
		c->at = 0;
	}
	assert_int_equal(c->file, m->bad_file);
	name = strcmp(m->path[m->bad_file], "-") == 0 ? "standard input" : m->path[m->bad_file];
	if (m->format.kind == EM_FORMAT_DELIMITED)
		snprintf(want, sizeof(want), "%s:%" PRIu64 ": line is longer than %" PRIu64 " bytes", name, m->bad_number,
			 m->longest);
	else if (m->bad_short)
		snprintf(want, sizeof(want), "%s: record %" PRIu64 " is cut off by the end of the file", name, m->bad_number);
	else
		snprintf(want, sizeof(want), "%s: record %" PRIu64 " is longer than %" PRIu64 " bytes", name, m->bad_number,
			 m->longest);
	assert_string_equal(c->err.text, want);
}

/* The whole of it: open, read, compare, close. */
static void run(em_ctx *ctx, const model *m, size_t chunk_bytes, uint32_t chunks, uint32_t hold, test_rng *rng)
{
	consumer c;
	em_status st = consumer_open(&c, ctx, m, chunk_bytes, chunks, hold, rng);

	if (st != EM_OK)
		fail_msg("%s: %s", em_status_name(st), c.err.text);
	check_outcome(&c, consume(&c));
	consumer_close(&c);
}

static const char *const backends[] = { "syscall", "libaio", "memory" };
static const int32_t directs[] = { EM_DIRECT_OFF, EM_DIRECT_TRY };

/* The contexts of this machine, without and with direct I/O; unknown ones are NULL. */
static void open_contexts(em_ctx *ctx[6])
{
	int i;

	for (i = 0; i < 6; i++) {
		ctx[i] = stream_ctx(directs[i % 2], backends[i / 2], NULL, NULL);
		if (i / 2 != 1)
			assert_non_null(ctx[i]);
	}
}

static void close_contexts(em_ctx *ctx[6])
{
	int i;

	for (i = 0; i < 6; i++)
		if (ctx[i] != NULL)
			em_ctx_close(ctx[i]);
}

/* Write a record of n bytes at p; returns the bytes that take. */
static size_t put_record(test_rng *rng, const em_format *f, unsigned char *p, size_t n)
{
	size_t i;

	if (f->kind == EM_FORMAT_PREFIXED) {
		put_prefix(f, p, n);
		test_fill(rng, p + f->width, n);
		return f->width + n;
	}
	test_fill(rng, p, n);
	for (i = 0; i < n; i++)
		if (p[i] == f->delimiter)
			p[i] ^= 1;
	p[n] = (unsigned char)f->delimiter;
	return n + 1;
}

/* Records of these lengths, one after the other; of prefixed ones no longer than a prefix can say. */
static unsigned char *make_records(test_rng *rng, const em_format *f, const size_t *length, size_t n, size_t *bytes)
{
	size_t i, total = 1;
	unsigned char *data;

	for (i = 0; i < n; i++)
		total += length[i] + 9;
	data = malloc(total);
	assert_non_null(data);
	*bytes = 0;
	for (i = 0; i < n; i++) {
		size_t len = length[i];

		if (f->kind == EM_FORMAT_PREFIXED && f->width < 4 && len >> 8 * f->width != 0)
			len &= ((size_t)1 << 8 * f->width) - 1;
		*bytes += put_record(rng, f, data + *bytes, len);
	}
	return data;
}

static em_format random_format(test_rng *rng)
{
	static const unsigned char delimiters[] = { '\n', 0, 'x', 255 };

	if (test_below(rng, 2))
		return lines_by(delimiters[test_below(rng, 4)]);
	return prefixed(1u << test_below(rng, 4), (uint32_t)test_below(rng, 2));
}

/* Lengths that like borders. */
static size_t random_length(test_rng *rng, size_t chunk, uint64_t longest)
{
	const size_t around = (size_t)test_below(rng, 5);
	size_t n;

	switch (test_below(rng, 12)) {
	case 0:
		n = chunk + around;
		break;
	case 1:
		n = chunk / 8 + around;
		break;
	case 2:
		n = PAGE + around;
		break;
	case 3:
		n = (size_t)longest + 2;
		break;
	case 4:
		n = 2 * chunk + around;
		break;
	case 5:
		n = (size_t)test_below(rng, longest + 1) + 2;
		break;
	case 6:
	case 7:
		n = (size_t)test_below(rng, 300) + 2;
		break;
	default:
		n = (size_t)test_below(rng, 20) + 2;
	}
	n -= 2;
	/* One in many is too long. */
	if (n > longest)
		n = (size_t)longest + (test_below(rng, 60) == 0);
	return n;
}

static void random_file(test_rng *rng, model *m, const char *dir, size_t chunk)
{
	size_t length[400], n = (size_t)test_below(rng, test_below(rng, 3) ? 20 : 400), i, bytes;
	unsigned char *data;

	for (i = 0; i < n; i++)
		length[i] = random_length(rng, chunk, m->longest);
	data = make_records(rng, &m->format, length, n, &bytes);
	if (bytes > 0 && test_below(rng, m->format.kind == EM_FORMAT_DELIMITED ? 3 : 20) == 0)
		bytes -= 1 + (size_t)test_below(rng, bytes < 20 ? bytes : 20);
	model_add(m, dir, data, bytes);
}

/* One of the files comes as standard input, through a pipe or not. */
static void run_with_stdin(em_ctx *ctx, model *m, uint32_t file, int piped, size_t chunk, uint32_t chunks, uint32_t hold,
			   test_rng *rng)
{
	char *path = m->path[file];
	stream_feeder feeder;
	pthread_t thread;
	int fds[2], saved;

	if (piped) {
		assert_int_equal(pipe(fds), 0);
	} else {
		fds[0] = open(path, O_RDONLY);
		assert_true(fds[0] >= 0);
	}
	saved = stream_replace_fd(STDIN_FILENO, fds[0]);
	close(fds[0]);
	if (piped) {
		memset(&feeder, 0, sizeof(feeder));
		feeder.fd = fds[1];
		feeder.data = (const char *)m->data[file];
		feeder.bytes = m->bytes[file];
		feeder.chunk = 1 + (size_t)test_below(rng, 10000);
		assert_int_equal(pthread_create(&thread, NULL, stream_feed, &feeder), 0);
	}
	m->path[file] = strdup("-");
	assert_non_null(m->path[file]);
	run(ctx, m, chunk, chunks, hold, rng);
	free(m->path[file]);
	m->path[file] = path;
	stream_restore_fd(STDIN_FILENO, saved);
	if (piped)
		pthread_join(thread, NULL);
}

static void test_random_files(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx[6];
	int round;

	(void)state;
	open_contexts(ctx);
	for (round = 0; round < 300; round++) {
		const size_t chunk = PAGE * (size_t)(1 + test_below(&rng, test_below(&rng, 2) ? 3 : 20));
		const uint32_t chunks = 2 + (uint32_t)test_below(&rng, 4), hold = 1 + (uint32_t)test_below(&rng, chunks + 1);
		const uint32_t n = (uint32_t)test_below(&rng, test_below(&rng, 3) ? 3 : FILES_MOST + 1);
		em_ctx *one = ctx[test_below(&rng, 6)];
		uint64_t longest = test_below(&rng, test_below(&rng, 2) ? 4 * chunk : 200);
		model m;

		if (one == NULL)
			one = ctx[0];
		if (test_below(&rng, 20) == 0)
			longest = chunk + test_below(&rng, 3) - 1;
		model_init(&m, random_format(&rng), longest);
		while (m.n < n)
			random_file(&rng, &m, dir, chunk);
		model_judge(&m);
		if (n > 0 && test_below(&rng, 3) == 0)
			run_with_stdin(one, &m, (uint32_t)test_below(&rng, n), round % 2, chunk, chunks, hold, &rng);
		else
			run(one, &m, chunk, chunks, hold, &rng);
		model_free(&m);
	}
	close_contexts(ctx);
	test_dir_remove(dir);
}

/* Records as long as what is read at a time, the headroom, and what is allowed, each more or less a byte, behind a short one
 * of any length up to what shifts them across a border. */
static void test_borders(void **state)
{
	static const size_t lengths[] = { 0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 20000, 20001 };
	static const size_t shifts[] = { 0, 1, 2, 4094, 4095, 4096 };
	const size_t n_lengths = sizeof(lengths) / sizeof(lengths[0]), n_shifts = sizeof(shifts) / sizeof(shifts[0]);
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, "syscall", NULL, NULL);
	size_t i, j, k;

	(void)state;
	assert_non_null(ctx);
	for (k = 0; k < 3; k++)
		for (i = 0; i < n_lengths; i++)
			for (j = 0; j < n_shifts; j++) {
				const size_t length[] = { shifts[j], lengths[i], 0, lengths[i], 3 };
				const em_format f = k == 0 ? lines_by('\n') : k == 1 ? lines_by(0) : prefixed(4, 0);
				size_t bytes;
				unsigned char *data = make_records(&rng, &f, length, 5, &bytes);
				model m;

				model_init(&m, f, 20000);
				model_add(&m, dir, data, bytes);
				model_judge(&m);
				assert_int_equal(m.bad_file == 0, lengths[i] > 20000);
				run(ctx, &m, PAGE, 2, 1 + (uint32_t)(i + j) % 2, &rng);
				/* Without the last byte. */
				if (k < 2) {
					m.bytes[0]--;
					assert_int_equal(truncate(m.path[0], (off_t)m.bytes[0]), 0);
					run(ctx, &m, 2 * PAGE, 3, 2, &rng);
				}
				model_free(&m);
			}
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* Texts that are hardly any. */
static void test_edges(void **state)
{
	static const char *const texts[] = { "", "\n", "a", "a\n", "\n\n", "a\nb", "\na", "aa\n", "aa", "aaa", "a\n\naaa\n" };
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx[6];
	uint64_t longest;
	size_t i;
	int k;

	(void)state;
	open_contexts(ctx);
	for (k = 0; k < 6; k++)
		for (longest = 0; ctx[k] != NULL && longest < 4; longest++)
			for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
				model m;

				model_init(&m, lines_by('\n'), longest);
				model_add(&m, dir, (unsigned char *)strdup(texts[i]), strlen(texts[i]));
				model_add(&m, dir, (unsigned char *)strdup(""), 0);
				model_add(&m, dir, (unsigned char *)strdup(texts[i]), strlen(texts[i]));
				model_judge(&m);
				run(ctx[k], &m, PAGE, 2, 1, &rng);
				model_free(&m);
			}
	close_contexts(ctx);
	test_dir_remove(dir);
}

/* Nothing but delimiters, or nothing but one line; nothing at all. */
static void test_plain_files(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t bytes;
	model m;

	(void)state;
	model_init(&m, lines_by('\n'), 100);
	model_judge(&m);
	run(ctx, &m, PAGE, 2, 1, &rng);
	for (bytes = 3 * PAGE - 1; bytes <= 3 * PAGE + 1; bytes++) {
		unsigned char *data = malloc(bytes), *other = malloc(bytes);
		uint64_t longest;

		memset(data, '\n', bytes);
		memset(other, '-', bytes);
		for (longest = 0; longest < 2; longest++) {
			model_init(&m, lines_by('\n'), longest);
			model_add(&m, dir, calloc(1, bytes), bytes);
			memcpy(m.data[0], data, bytes);
			stream_write_file(m.path[0], data, bytes);
			model_judge(&m);
			run(ctx, &m, PAGE, 2, 1, &rng);
			model_free(&m);
		}
		for (longest = bytes - 1; longest <= bytes + 1; longest++) {
			model_init(&m, lines_by('\n'), longest);
			model_add(&m, dir, calloc(1, bytes), bytes);
			memcpy(m.data[0], other, bytes);
			stream_write_file(m.path[0], other, bytes);
			model_judge(&m);
			run(ctx, &m, PAGE, 2, 1, &rng);
			model_free(&m);
		}
		free(data);
		free(other);
	}
	/* More than can ever be. */
	model_init(&m, lines_by('\n'), UINT64_MAX);
	model_add(&m, dir, calloc(1, 3 * PAGE), 3 * PAGE);
	model_judge(&m);
	run(ctx, &m, PAGE, 2, 1, &rng);
	model_free(&m);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* A prefix that says more than any file has. */
static void test_huge_prefix(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	uint64_t longest[] = { 100, UINT64_MAX };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		consumer c;
		model m;

		model_init(&m, prefixed(8, EM_FORMAT_BIG_ENDIAN), longest[i]);
		model_add(&m, dir, calloc(1, 20), 20);
		memset(m.data[0], 0xff, 20);
		put_prefix(&m.format, m.data[0], 2);
		put_prefix(&m.format, m.data[0] + 10, (uint64_t)1 << 61);
		stream_write_file(m.path[0], m.data[0], 20);
		model_judge(&m);
		assert_int_equal(m.bad_number, 2);
		assert_int_equal(m.bad_short, i == 1);
		run(ctx, &m, PAGE, 2, 1, &rng);
		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 2, 1, &rng), EM_OK);
		assert_int_equal(emi_records_bytes(c.r), 20);
		consumer_close(&c);
		model_free(&m);
	}
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* A record that ends nowhere: cut off at each byte of its prefix, and of itself. */
static void test_cut_records(void **state)
{
	static const size_t length[] = { 7, 3 };
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	uint32_t width;
	size_t cut;

	(void)state;
	for (width = 1; width <= 8; width *= 2)
		for (cut = 0; cut <= width + 3; cut++) {
			const em_format f = prefixed(width, 0);
			size_t bytes;
			model m;

			model_init(&m, f, 10);
			model_add(&m, dir, make_records(&rng, &f, length, 2, &bytes), 0);
			m.bytes[0] = bytes - cut;
			stream_write_file(m.path[0], m.data[0], bytes - cut);
			model_judge(&m);
			assert_int_equal(m.bad_file, cut == 0 || cut == width + 3);
			run(ctx, &m, PAGE, 2, 1, &rng);
			run_with_stdin(ctx, &m, 0, 1, PAGE, 2, 1, &rng);
			model_free(&m);
		}
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* A long one that comes through a pipe, so that nobody knows that it is cut off, and one that does not. */
static void test_cut_long_record(void **state)
{
	static const size_t length[] = { 7, 9000 };
	const em_format f = prefixed(4, EM_FORMAT_BIG_ENDIAN);
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t bytes;
	int piped;
	model m;

	(void)state;
	model_init(&m, f, 9000);
	model_add(&m, dir, make_records(&rng, &f, length, 2, &bytes), 0);
	m.bytes[0] = bytes - 1;
	stream_write_file(m.path[0], m.data[0], bytes - 1);
	model_judge(&m);
	assert_int_equal(m.bad_number, 2);
	for (piped = 0; piped < 2; piped++)
		run_with_stdin(ctx, &m, 0, piped, PAGE, 2, 1, &rng);
	model_free(&m);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* A bad line far behind good ones is found there, and the good ones come out before: the reader does not keep the file. */
static void test_far_line(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t length[3000], i, bytes;
	consumer c;
	model m;

	(void)state;
	for (i = 0; i < 3000; i++)
		length[i] = (size_t)test_below(&rng, 200);
	length[2500] = 20001;
	model_init(&m, lines_by('\n'), 20000);
	model_add(&m, dir, make_records(&rng, &m.format, length, 3000, &bytes), 0);
	m.bytes[0] = bytes;
	stream_write_file(m.path[0], m.data[0], bytes);
	model_judge(&m);
	assert_int_equal(m.bad_number, 2501);
	assert_int_equal(consumer_open(&c, ctx, &m, 2 * PAGE, 4, 3, &rng), EM_OK);
	check_outcome(&c, consume(&c));
	assert_true(c.at > 2300 * 60);
	consumer_close(&c);
	model_free(&m);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* All buffers may be with the consumer; then he is told so, and can go on when he has given one back. */
static void test_all_in_use(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t length[2000], i, bytes;
	emi_chunk chunk;
	consumer c;
	model m;
	int last;

	(void)state;
	for (i = 0; i < 2000; i++)
		length[i] = 10;
	model_init(&m, lines_by('\n'), 10);
	model_add(&m, dir, make_records(&rng, &m.format, length, 2000, &bytes), 0);
	m.bytes[0] = bytes;
	stream_write_file(m.path[0], m.data[0], bytes);
	model_judge(&m);
	/* The tail is in any of the three: the one given back first, or not. */
	for (last = 0; last < 3; last++) {
		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 3, 3, &rng), EM_OK);
		for (i = 0; i < 3; i++) {
			assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_OK);
			take(&c, &chunk);
		}
		for (i = 0; i < 2; i++) {
			memset(&c.err, 0, sizeof(c.err));
			assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_ERR_STATE);
			assert_int_equal(c.err.status, EM_ERR_STATE);
		}
		memset(&c.err, 0, sizeof(c.err));
		give_back(&c, (uint32_t)last);
		assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_OK);
		take(&c, &chunk);
		assert_int_equal(consume(&c), EM_END);
		consumer_close(&c);
	}
	model_free(&m);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* What comes through a pipe may promise to be longer than any memory. */
static void run_too_long(em_ctx *ctx, model *m, test_rng *rng)
{
	char *path = m->path[0], stdin_name[] = "-";
	emi_chunk chunk;
	int fds[2], saved;
	consumer c;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], m->data[0], 10000), 10000);
	close(fds[1]);
	saved = stream_replace_fd(STDIN_FILENO, fds[0]);
	close(fds[0]);
	m->path[0] = stdin_name;
	assert_int_equal(consumer_open(&c, ctx, m, PAGE, 2, 1, rng), EM_OK);
	assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_ERR_MEMLIMIT);
	assert_int_equal(c.err.status, EM_ERR_MEMLIMIT);
	consumer_close(&c);
	stream_restore_fd(STDIN_FILENO, saved);
	m->path[0] = path;
}

/* There is one long record at a time. */
static void test_one_long_record(void **state)
{
	static const size_t length[] = { 10, 9000, 9000, 10 };
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	emi_chunk chunk;
	size_t bytes;
	consumer c;
	model m;
	int i;

	(void)state;
	model_init(&m, lines_by('\n'), 10000);
	model_add(&m, dir, make_records(&rng, &m.format, length, 4, &bytes), 0);
	m.bytes[0] = bytes;
	stream_write_file(m.path[0], m.data[0], bytes);
	model_judge(&m);
	assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 4, 4, &rng), EM_OK);
	for (i = 0; i < 2; i++) {
		assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_OK);
		take(&c, &chunk);
	}
	assert_int_equal(c.joined, 1);
	assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, NULL), EM_ERR_STATE);
	give_back_all(&c);
	assert_int_equal(consume(&c), EM_END);
	assert_int_equal(c.joined, 2);
	consumer_close(&c);

	/* Longer than any memory, as far as is known. */
	m.format = prefixed(8, 0);
	m.longest = UINT64_MAX;
	put_prefix(&m.format, m.data[0], (uint64_t)1 << 61);
	run_too_long(ctx, &m, &rng);
	m.format = lines_by('\n');
	m.longest = 10000;

	/* Closed while one is being put together, and while one is out. */
	for (i = 0; i < 2; i++) {
		int j;

		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 4, 4, &rng), EM_OK);
		for (j = 0; j <= i; j++)
			assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_OK);
		consumer_close(&c);
	}
	model_free(&m);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* What was there when the reader was opened counts. */
static void test_changed_files(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	int k;

	(void)state;
	for (k = 0; k < 2; k++) {
		em_ctx *ctx = stream_ctx(directs[k], NULL, NULL, NULL);
		size_t length[1000], i, bytes;
		consumer c;
		model m;
		FILE *f;

		for (i = 0; i < 1000; i++)
			length[i] = (size_t)test_below(&rng, 40);
		model_init(&m, lines_by('\n'), 100);
		model_add(&m, dir, make_records(&rng, &m.format, length, 1000, &bytes), 0);
		m.bytes[0] = --bytes;
		stream_write_file(m.path[0], m.data[0], bytes);
		model_judge(&m);

		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 2, 1, &rng), EM_OK);
		f = fopen(m.path[0], "ab");
		assert_non_null(f);
		assert_true(fputs("more\nand more\n", f) >= 0);
		fclose(f);
		assert_int_equal(consume(&c), EM_END);
		consumer_close(&c);

		stream_write_file(m.path[0], m.data[0], bytes);
		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 2, 1, &rng), EM_OK);
		assert_int_equal(truncate(m.path[0], 10000), 0);
		assert_int_equal(consume(&c), EM_ERR_SHORT);
		assert_true(c.err.offset == 10000);
		assert_string_equal(c.err.path, m.path[0]);
		assert_true(c.at >= PAGE);
		consumer_close(&c);

		/* It goes away while the one before it is being read: that one still comes. */
		stream_write_file(m.path[0], m.data[0], bytes);
		model_add(&m, dir, calloc(1, 5), 5);
		memcpy(m.data[1], "line\n", 5);
		stream_write_file(m.path[1], m.data[1], 5);
		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 2, 1, &rng), EM_OK);
		assert_int_equal(unlink(m.path[1]), 0);
		assert_int_equal(consume(&c), EM_ERR_NOENT);
		assert_int_equal(c.file, 0);
		assert_int_equal(c.at, whole_bytes(&m, 0));
		assert_string_equal(c.err.path, m.path[1]);
		consumer_close(&c);

		/* So does a FIFO. */
		assert_int_equal(mkfifo(m.path[1], 0600), 0);
		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 2, 1, &rng), EM_OK);
		assert_int_equal(unlink(m.path[1]), 0);
		assert_int_equal(consume(&c), EM_ERR_NOENT);
		assert_int_equal(c.at, whole_bytes(&m, 0));
		assert_string_equal(c.err.path, m.path[1]);
		consumer_close(&c);
		model_free(&m);
		em_ctx_close(ctx);
	}
	test_dir_remove(dir);
}

/* Many small files; descriptors are few. */
static void test_many_files(void **state)
{
	char *dir = test_dir_make(), **path;
	const uint32_t n = 600;
	em_ctx *ctx[6];
	int k;
	uint32_t i;

	(void)state;
	path = calloc(n, sizeof(*path));
	for (i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "m%" PRIu32, i);
		path[i] = test_path(dir, name);
		stream_write_file(path[i], name, i % 7 == 0 ? 0 : strlen(name));
	}
	open_contexts(ctx);
	for (k = 0; k < 6; k++) {
		const uint32_t before = ctx[k] != NULL ? ctx[k]->fds_used : 0;
		emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 4, 0, 10 };
		uint32_t next = 0;
		emi_records *r;
		emi_chunk chunk;
		em_status st;

		if (ctx[k] == NULL)
			continue;
		/* One is enough. */
		ctx[k]->fds = k >= 2 ? before + 1 : before + 3;
		assert_int_equal(emi_records_open(&r, ctx[k], (const char *const *)path, n, &opts, NULL, NULL), EM_OK);
		while ((st = emi_records_next(r, &chunk, NULL, NULL, NULL)) == EM_OK) {
			char want[32];

			assert_true(ctx[k]->fds_used - before <= 2);
			next += next % 7 == 0;
			assert_int_equal(chunk.file, next);
			snprintf(want, sizeof(want), "m%" PRIu32 "\n", next);
			assert_int_equal(chunk.bytes, strlen(want));
			assert_memory_equal(chunk.data, want, strlen(want));
			emi_records_release(r, &chunk, 1);
			next++;
		}
		assert_int_equal(st, EM_END);
		assert_int_equal(next, n);
		emi_records_close(r);
		assert_int_equal(ctx[k]->fds_used, before);
	}
	close_contexts(ctx);
	for (i = 0; i < n; i++)
		free(path[i]);
	free(path);
	test_dir_remove(dir);
}

/* Two FIFOs and a file between them. */
static void test_fifos(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	int k;

	(void)state;
	for (k = 0; k < 2; k++) {
		stream_feeder feeder[3];
		pthread_t thread[3];
		size_t length[300], i, bytes;
		consumer c;
		model m;
		int j;

		model_init(&m, k == 0 ? lines_by('\n') : prefixed(2, 0), 20000);
		for (j = 0; j < 3; j++) {
			for (i = 0; i < 300; i++)
				length[i] = (size_t)test_below(&rng, i % 50 == 0 ? 20001 : 100);
			model_add(&m, dir, make_records(&rng, &m.format, length, 300, &bytes), 0);
			m.bytes[j] = bytes - (k == 0 && j == 0);
			if (j == 1) {
				stream_write_file(m.path[j], m.data[j], m.bytes[j]);
				continue;
			}
			assert_int_equal(unlink(m.path[j]), 0);
			assert_int_equal(mkfifo(m.path[j], 0600), 0);
			memset(&feeder[j], 0, sizeof(feeder[j]));
			feeder[j].fd = -1;
			feeder[j].path = m.path[j];
			feeder[j].data = (const char *)m.data[j];
			feeder[j].bytes = m.bytes[j];
			feeder[j].chunk = 5000;
			feeder[j].pause_us = 100;
			assert_int_equal(pthread_create(&thread[j], NULL, stream_feed, &feeder[j]), 0);
		}
		model_judge(&m);
		assert_int_equal(m.bad_file, 3);
		assert_int_equal(consumer_open(&c, ctx, &m, 2 * PAGE, 3, 2, &rng), EM_OK);
		assert_true(emi_records_bytes(c.r) == UINT64_MAX);
		check_outcome(&c, consume(&c));
		assert_true(c.joined > 0);
		assert_true(c.stats.bytes_read >= m.bytes[0] + m.bytes[1] + m.bytes[2]);
		consumer_close(&c);
		pthread_join(thread[0], NULL);
		pthread_join(thread[2], NULL);
		assert_int_equal(unlink(m.path[0]), 0);
		assert_int_equal(unlink(m.path[2]), 0);
		model_free(&m);
	}
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

typedef struct ticks {
	int calls, cancel_at;
} ticks;

static em_status tick(void *arg)
{
	ticks *t = arg;

	t->calls++;
	return t->calls == t->cancel_at ? EM_ERR_CANCELED : EM_OK;
}

/* Nothing comes from this pipe: the ticker ends the wait, and the wait can be taken up again. */
static void test_tick(void **state)
{
	static const char *const paths[] = { "-" };
	const emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 2, 0, 10 };
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	int fds[2], saved;
	ticks t = { 0, 2 };
	emi_records *r;
	emi_chunk chunk;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	saved = stream_replace_fd(STDIN_FILENO, fds[0]);
	close(fds[0]);
	assert_int_equal(emi_records_open(&r, ctx, paths, 1, &opts, NULL, NULL), EM_OK);
	assert_int_equal(write(fds[1], "abc\nd", 5), 5);
	assert_int_equal(emi_records_next(r, &chunk, tick, &t, NULL), EM_ERR_CANCELED);
	assert_int_equal(t.calls, 2);
	assert_int_equal(write(fds[1], "ef", 2), 2);
	close(fds[1]);
	assert_int_equal(emi_records_next(r, &chunk, tick, &t, NULL), EM_OK);
	assert_int_equal(chunk.bytes, 8);
	assert_memory_equal(chunk.data, "abc\ndef\n", 8);
	emi_records_release(r, &chunk, 2);
	assert_int_equal(emi_records_next(r, &chunk, tick, &t, NULL), EM_END);
	emi_records_close(r);
	stream_restore_fd(STDIN_FILENO, saved);
	em_ctx_close(ctx);
}

/* A redirected file is read from where its descriptor stands, once, and up to the end it had. */
static void test_stdin_file(void **state)
{
	static const char *const paths[] = { "-", "-" };
	const emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 2, 0, 10 };
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	emi_records *r;
	emi_chunk chunk;
	em_errinfo err;
	int fd, saved;

	(void)state;
	stream_write_file(path, "head\nbody\nfoot", 14);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	saved = stream_replace_fd(STDIN_FILENO, fd);
	close(fd);
	assert_true(lseek(STDIN_FILENO, 5, SEEK_SET) == 5);
	assert_int_equal(emi_records_open(&r, ctx, paths, 2, &opts, NULL, NULL), EM_OK);
	assert_int_equal(emi_records_bytes(r), 9);
	assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_OK);
	assert_int_equal(chunk.bytes, 10);
	assert_memory_equal(chunk.data, "body\nfoot\n", 10);
	emi_records_release(r, &chunk, 2);
	assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_END);
	emi_records_close(r);

	assert_true(lseek(STDIN_FILENO, 5, SEEK_SET) == 5);
	assert_int_equal(emi_records_open(&r, ctx, paths, 1, &opts, NULL, NULL), EM_OK);
	assert_int_equal(truncate(path, 12), 0);
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, &err), EM_ERR_SHORT);
	assert_true(err.offset == 7);
	emi_records_close(r);
	stream_restore_fd(STDIN_FILENO, saved);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

static int64_t slow_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	usleep(250000);
	return em_backend_find("syscall")->read(handle, buf, bytes, offset);
}

/* A disk that takes its time: the ticker ends the wait for it, and the wait can be taken up again. */
static void test_tick_on_file(void **state)
{
	const emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 2, 0, 10 };
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	const char *const paths[] = { path };
	em_backend slow = *em_backend_find("syscall");
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	em_status st;
	ticks t = { 0, 1 };
	emi_records *r;
	emi_chunk chunk;
	em_ctx *ctx;
	int left_open;

	(void)state;
	slow.read = slow_read;
	slow.submit = NULL;
	slow.reap = NULL;
	ctx_opts.custom = &slow;
	assert_int_equal(em_ctx_open(&ctx, &ctx_opts), EM_OK);
	stream_write_file(path, "line\n", 5);
	/* The second time it is closed while the read is under way. */
	for (left_open = 0; left_open < 2; left_open++) {
		t.calls = 0;
		assert_int_equal(emi_records_open(&r, ctx, paths, 1, &opts, NULL, NULL), EM_OK);
		assert_int_equal(emi_records_next(r, &chunk, tick, &t, NULL), EM_ERR_CANCELED);
		assert_int_equal(t.calls, 1);
		if (!left_open) {
			while ((st = emi_records_next(r, &chunk, tick, &t, NULL)) == EM_ERR_CANCELED)
				;
			assert_int_equal(st, EM_OK);
			assert_int_equal(chunk.bytes, 5);
			emi_records_release(r, &chunk, 1);
			assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_END);
		}
		emi_records_close(r);
	}
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

/* What cannot be is refused, and nothing is left. */
static void test_refused(void **state)
{
	static const emi_records_opts good = { EM_FORMAT_INIT, PAGE, 2, 0, 10 };
	char *dir = test_dir_make(), *none = test_path(dir, "none");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	const uint64_t before = em_ctx_memory_used(ctx);
	const char *path[1];
	emi_records *r;
	em_errinfo err;
	int i;

	(void)state;
	path[0] = none;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_records_open(&r, ctx, path, 1, &good, NULL, &err), EM_ERR_NOENT);
	assert_string_equal(err.path, none);
	assert_null(r);
	path[0] = dir;
	assert_int_equal(emi_records_open(&r, ctx, path, 1, &good, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(emi_records_open(&r, ctx, NULL, 1, &good, NULL, NULL), EM_ERR_INVAL);
	for (i = 0; i < 8; i++) {
		emi_records_opts opts = good;
		em_status want = EM_ERR_INVAL;

		switch (i) {
		case 0:
			opts.format.kind = 7;
			break;
		case 1:
			opts.format.delimiter = 256;
			break;
		case 2:
			opts.format = prefixed(3, 0);
			break;
		case 3:
			opts.format = prefixed(4, 2);
			break;
		case 4:
			opts.chunk_bytes = PAGE + 1;
			break;
		case 5:
			opts.chunk_bytes = 0;
			break;
		case 6:
			opts.chunks = 1;
			break;
		default:
			opts.chunk_bytes = (size_t)1 << 30;
			want = EM_ERR_MEMLIMIT;
		}
		memset(&err, 0, sizeof(err));
		assert_int_equal(emi_records_open(&r, ctx, NULL, 0, &opts, NULL, &err), want);
		assert_int_equal(err.status, want);
		assert_null(r);
		assert_int_equal(em_ctx_memory_used(ctx), before);
	}
	emi_records_close(NULL);
	em_ctx_close(ctx);
	free(none);
	test_dir_remove(dir);
}

/* Four files with short and long records. */
static void make_mixed(test_rng *rng, model *m, const char *dir)
{
	size_t length[60], i, bytes;

	model_init(m, lines_by('\n'), 30000);
	while (m->n < 4) {
		for (i = 0; i < 60; i++)
			length[i] = (size_t)test_below(rng, i % 20 == 3 ? 30001 : 300);
		model_add(m, dir, make_records(rng, &m->format, length, m->n == 2 ? 3 : 60, &bytes), 0);
		m->bytes[m->n - 1] = bytes - 1;
		stream_write_file(m->path[m->n - 1], m->data[m->n - 1], bytes - 1);
	}
	model_judge(m);
	assert_int_equal(m->bad_file, m->n);
}

/* Each operation fails once. */
static void test_failing_reads(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	int failures = 0, done = 0, k;
	uint64_t at;
	model m;

	(void)state;
	make_mixed(&rng, &m, dir);
	for (k = 0; k < 2; k++)
		for (done = 0, at = 1; !done; at++) {
			em_fault fault;
			consumer c;
			em_ctx *ctx;
			em_status st;

			em_fault_init(&fault, NULL);
			fault.ops = EM_FAULT_OPEN | EM_FAULT_READ;
			fault.nth = at;
			/* Short transfers are survived. */
			fault.sys_errno = k == 0 ? EIO : 0;
			ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
			assert_non_null(ctx);
			assert_int_equal(consumer_open(&c, ctx, &m, 2 * PAGE, 3, 2, &rng), EM_OK);
			st = consume(&c);
			if (fault.injected > 0 && k == 0) {
				failures++;
				assert_int_equal(st, EM_ERR_IO);
				assert_int_equal(c.err.sys_errno, EIO);
				assert_true(strncmp(c.err.path, dir, strlen(dir)) == 0);
			} else {
				assert_int_equal(st, EM_END);
			}
			done = fault.injected == 0;
			consumer_close(&c);
			em_ctx_close(ctx);
		}
	assert_true(failures > 8);
	model_free(&m);
	test_dir_remove(dir);
}

/* Each file is opened once, whatever else is open. */
static void test_opened_once(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_fault fault;
	em_ctx *ctx;
	model m;

	(void)state;
	make_mixed(&rng, &m, dir);
	em_fault_init(&fault, NULL);
	fault.ops = EM_FAULT_OPEN;
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
	assert_non_null(ctx);
	/* Nothing is being read when both buffers are with the consumer. */
	run(ctx, &m, PAGE, 2, 2, &rng);
	assert_int_equal(fault.count, m.n);
	em_ctx_close(ctx);
	model_free(&m);
	test_dir_remove(dir);
}

/* Each allocation fails once. */
static void test_failing_memory(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	int failures = 0, done = 0;
	uint64_t at;
	model m;

	(void)state;
	make_mixed(&rng, &m, dir);
	for (at = 1; !done; at++) {
		test_memory mem;
		em_ctx *ctx;

		test_memory_init(&mem, at);
		ctx = stream_ctx(EM_DIRECT_TRY, "syscall", NULL, &mem);
		if (ctx != NULL) {
			consumer c;
			em_status st = consumer_open(&c, ctx, &m, 2 * PAGE, 3, 2, &rng);

			if (st == EM_OK)
				st = consume(&c);
			if (st != EM_END) {
				assert_int_equal(st, EM_ERR_NOMEM);
				assert_int_equal(c.err.status, EM_ERR_NOMEM);
				failures++;
			}
			done = !test_memory_failed(&mem);
			assert_true(!done || st == EM_END);
			consumer_close(&c);
			em_ctx_close(ctx);
		}
		test_memory_assert_clean(&mem);
	}
	assert_true(failures > 10);
	model_free(&m);
	test_dir_remove(dir);
}

/* What a reader says it takes is what it takes at most, and not much less. */
static void test_memory_bound(void **state)
{
	emi_records_opts opts = { EM_FORMAT_INIT, 64 * PAGE, 3, 0, 1000000 };
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	const uint64_t before = em_ctx_memory_used(ctx);
	emi_records *r;

	(void)state;
	assert_int_equal(emi_records_open(&r, ctx, NULL, 0, &opts, NULL, NULL), EM_OK);
	assert_true(em_ctx_memory_used(ctx) - before <= emi_records_memory(&opts) - opts.longest);
	assert_true(em_ctx_memory_used(ctx) - before + opts.longest + 2 * PAGE >= emi_records_memory(&opts));
	emi_records_close(r);
	/* Short records need no more room than a headroom. */
	opts.longest = 1000;
	assert_int_equal(emi_records_open(&r, ctx, NULL, 0, &opts, NULL, NULL), EM_OK);
	assert_int_equal(em_ctx_memory_used(ctx) - before, emi_records_memory(&opts));
	emi_records_close(r);
	opts.longest = UINT64_MAX;
	opts.chunks = UINT32_MAX;
	opts.chunk_bytes = SIZE_MAX / PAGE * PAGE;
	assert_true(emi_records_memory(&opts) == UINT64_MAX);
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_plain_files),
		cmocka_unit_test(test_borders),
		cmocka_unit_test(test_random_files),
		cmocka_unit_test(test_huge_prefix),
		cmocka_unit_test(test_cut_records),
		cmocka_unit_test(test_cut_long_record),
		cmocka_unit_test(test_far_line),
		cmocka_unit_test(test_all_in_use),
		cmocka_unit_test(test_one_long_record),
		cmocka_unit_test(test_changed_files),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_fifos),
		cmocka_unit_test(test_tick),
		cmocka_unit_test(test_tick_on_file),
		cmocka_unit_test(test_stdin_file),
		cmocka_unit_test(test_failing_reads),
		cmocka_unit_test(test_opened_once),
		cmocka_unit_test(test_failing_memory),
		cmocka_unit_test(test_memory_bound),
	};

	/* A reader that failed leaves pipes whose writers are not done. */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
