/* SPDX-License-Identifier: BSL-1.0 */
/* records_model.c -- see records_model.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "stream/records_model.h"

em_format lines_by(unsigned char delimiter)
{
	em_format f = EM_FORMAT_INIT;

	f.delimiter = delimiter;
	return f;
}

em_format prefixed(uint32_t width, uint32_t flags)
{
	em_format f = EM_FORMAT_INIT;

	f.kind = EM_FORMAT_PREFIXED;
	f.width = width;
	f.flags = flags;
	return f;
}

void put_prefix(const em_format *f, unsigned char *p, uint64_t length)
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

em_format csv_by(unsigned char delimiter, unsigned char separator)
{
	em_format f = lines_by(delimiter);

	f.kind = EM_FORMAT_CSV;
	f.separator = separator;
	return f;
}

static const unsigned char mark[] = { 0xEF, 0xBB, 0xBF };

/* May records begin with a byte order mark? */
static int has_marks(const em_format *f)
{
	return memchr(mark, (int)f->delimiter, sizeof(mark)) == NULL &&
	       memchr(mark, (int)f->separator, sizeof(mark)) == NULL;
}

/* Bytes of the record at p, up to its delimiter or the end; *open is where the quote is that is open there, or
 * SIZE_MAX. */
static size_t model_csv(const em_format *f, const unsigned char *p, size_t left, size_t *open)
{
	int quoted = 0, begins = 1;
	size_t i = left >= sizeof(mark) && has_marks(f) && memcmp(p, mark, sizeof(mark)) == 0 ? sizeof(mark) : 0;

	*open = SIZE_MAX;
	for (; i < left; i++) {
		if (quoted) {
			if (p[i] == '"' && i + 1 < left && p[i + 1] == '"')
				i++;
			else
				quoted = p[i] != '"';
			begins = 0;
		} else if (p[i] == f->delimiter) {
			break;
		} else {
			quoted = begins && p[i] == '"';
			*open = quoted ? i : *open;
			begins = p[i] == f->separator;
		}
	}
	if (!quoted)
		*open = SIZE_MAX;
	return i;
}

/* Is a record of a CSV file too long, or its quote open?  Then *number is the line to be told of. */
static int model_csv_bad(model *m, const unsigned char *p, size_t left, size_t length, uint64_t *number)
{
	size_t open, i;

	if (length <= m->longest && length < left)
		return 0;
	/* No more is looked at than may be. */
	(void)model_csv(&m->format, p, length <= m->longest ? left : (size_t)m->longest + 1, &open);
	m->bad_open = open != SIZE_MAX;
	m->bad_short = length <= m->longest;
	for (i = 0; open != SIZE_MAX && i < open; i++)
		*number += p[i] == m->format.delimiter;
	return m->bad_open || length > m->longest;
}

/* Find the first thing wrong with a file: 1 when there is any. */
static int model_judge_file(model *m, uint32_t file)
{
	const unsigned char *p = m->data[file];
	size_t left = m->bytes[file], i, open;
	uint64_t number = 1, length = 0;

	for (; left > 0; number++) {
		if (m->format.kind == EM_FORMAT_CSV) {
			length = model_csv(&m->format, p, left, &open);
			if (model_csv_bad(m, p, left, (size_t)length, &number))
				break;
			for (i = 0; i < length; i++)
				number += p[i] == m->format.delimiter;
			m->ended[file] = length < left;
			length += length < left;
		} else if (m->format.kind == EM_FORMAT_DELIMITED) {
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

void model_judge(model *m)
{
	m->bad_short = m->bad_open = 0;
	for (m->bad_file = 0; m->bad_file < m->n; m->bad_file++)
		if (model_judge_file(m, m->bad_file))
			break;
}

size_t whole_bytes(const model *m, uint32_t file)
{
	const size_t n = m->bytes[file];

	return n + (m->format.kind != EM_FORMAT_PREFIXED && n > 0 &&
		    (m->format.kind == EM_FORMAT_CSV ? !m->ended[file] : m->data[file][n - 1] != m->format.delimiter));
}

void model_free(model *m)
{
	uint32_t i;

	for (i = 0; i < m->n; i++) {
		free(m->path[i]);
		free(m->data[i]);
	}
	m->n = 0;
}

void model_add(model *m, const char *dir, unsigned char *data, size_t bytes)
{
	char name[16];

	snprintf(name, sizeof(name), "r%" PRIu32, m->n);
	m->path[m->n] = test_path(dir, name);
	m->data[m->n] = data;
	m->bytes[m->n] = bytes;
	stream_write_file(m->path[m->n], data, bytes);
	m->n++;
}

void model_init(model *m, em_format format, uint64_t longest)
{
	memset(m, 0, sizeof(*m));
	m->format = format;
	m->longest = longest;
}

em_status consumer_open(consumer *c, em_ctx *ctx, const model *m, size_t chunk_bytes, uint32_t chunks, uint32_t hold,
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

void consumer_close(consumer *c)
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
		assert_int_not_equal(m->format.kind, EM_FORMAT_PREFIXED);
		assert_int_equal(chunk->offset + chunk->bytes, whole_bytes(m, chunk->file));
	} else if (m->format.kind != EM_FORMAT_PREFIXED) {
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

void consumer_give_back(consumer *c, uint32_t i)
{
	assert_int_equal(check_chunk(c, &c->held[i]), c->records[i]);
	emi_records_release(c->r, &c->held[i], c->records[i]);
	assert_null(c->held[i].data);
	c->holding--;
	c->held[i] = c->held[c->holding];
	c->records[i] = c->records[c->holding];
}

void consumer_give_back_all(consumer *c)
{
	while (c->holding > 0)
		consumer_give_back(c, (uint32_t)test_below(&c->rng, c->holding));
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

void consumer_take(consumer *c, const emi_chunk *chunk)
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

em_status consumer_run(consumer *c)
{
	emi_chunk chunk;
	em_status st;

	for (;;) {
		while (c->holding > 0 && c->holding >= c->hold)
			consumer_give_back(c, (uint32_t)test_below(&c->rng, c->holding));
		st = emi_records_next(c->r, &chunk, c->tick, c->arg, &c->err);
		check_limits(c);
		if (st == EM_ERR_STATE) {
			check_refusal(c);
			memset(&c->err, 0, sizeof(c->err));
			consumer_give_back_all(c);
			continue;
		}
		if (st != EM_OK)
			break;
		consumer_take(c, &chunk);
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
	consumer_give_back_all(c);
	return st;
}

void consumer_check_outcome(consumer *c, em_status st)
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
	if (m->bad_open && m->bad_short)
		snprintf(want, sizeof(want), "%s:%" PRIu64 ": a quote is opened here and never closed", name,
			 m->bad_number);
	else if (m->bad_open)
		snprintf(want, sizeof(want), "%s:%" PRIu64 ": a quote is opened here and not closed within the %" PRIu64
			 " bytes that a record may have", name, m->bad_number, m->longest);
	else if (m->format.kind != EM_FORMAT_PREFIXED)
		snprintf(want, sizeof(want), "%s:%" PRIu64 ": line is longer than %" PRIu64 " bytes", name,
			 m->bad_number, m->longest);
	else if (m->bad_short)
		snprintf(want, sizeof(want), "%s: record %" PRIu64 " is cut off by the end of the file", name,
			 m->bad_number);
	else
		snprintf(want, sizeof(want), "%s: record %" PRIu64 " is longer than %" PRIu64 " bytes", name,
			 m->bad_number, m->longest);
	assert_string_equal(c->err.text, want);
	assert_int_equal(c->err.record, m->bad_number);
	assert_string_equal(c->err.path, name);
}

void records_run(em_ctx *ctx, const model *m, size_t chunk_bytes, uint32_t chunks, uint32_t hold, test_rng *rng)
{
	consumer c;
	em_status st = consumer_open(&c, ctx, m, chunk_bytes, chunks, hold, rng);

	if (st != EM_OK)
		fail_msg("%s: %s", em_status_name(st), c.err.text);
	consumer_check_outcome(&c, consumer_run(&c));
	consumer_close(&c);
}

static const char *const backends[] = { "syscall", "libaio", "memory" };

void open_contexts(em_ctx *ctx[6])
{
	int i;

	for (i = 0; i < 6; i++) {
		ctx[i] = stream_ctx(directs[i % 2], backends[i / 2], NULL, NULL);
		if (i / 2 != 1)
			assert_non_null(ctx[i]);
	}
}

void close_contexts(em_ctx *ctx[6])
{
	int i;

	for (i = 0; i < 6; i++)
		if (ctx[i] != NULL)
			em_ctx_close(ctx[i]);
}

/* Make n bytes a field in quotes, with a delimiter somewhere. */
static void put_in_quotes(test_rng *rng, const em_format *f, unsigned char *p, size_t n)
{
	size_t i;

	for (i = 1; i + 1 < n; i++)
		if (p[i] == '"')
			p[i] ^= 1;
	if (n > 2)
		p[1 + (size_t)test_below(rng, n - 2)] = (unsigned char)f->delimiter;
	p[0] = p[n - 1] = '"';
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
	/* Quotes may go on into the next record, so that both are one. */
	for (i = 0; f->kind == EM_FORMAT_CSV && i < n; i++)
		if (test_below(rng, n < 30 ? 6 : n) == 0)
			p[i] = (unsigned char)(i != 0 && test_below(rng, 2) ? f->separator : '"');
	i = f->kind == EM_FORMAT_CSV && has_marks(f) && n > sizeof(mark) && test_below(rng, 4) == 0 ? sizeof(mark) : 0;
	memcpy(p, mark, i);
	if (f->kind == EM_FORMAT_CSV && n - i > 1 && test_below(rng, 3) == 0)
		put_in_quotes(rng, f, p + i, n - i);
	p[n] = (unsigned char)f->delimiter;
	return n + 1;
}

unsigned char *make_records(test_rng *rng, const em_format *f, const size_t *length, size_t n, size_t *bytes)
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

void records_run_with_stdin(em_ctx *ctx, model *m, uint32_t file, int piped, size_t chunk, uint32_t chunks,
			    uint32_t hold, test_rng *rng)
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
	records_run(ctx, m, chunk, chunks, hold, rng);
	free(m->path[file]);
	m->path[file] = path;
	stream_restore_fd(STDIN_FILENO, saved);
	if (piped)
		pthread_join(thread, NULL);
}

em_status tick(void *arg)
{
	ticks *t = arg;

	t->calls++;
	return t->calls == t->cancel_at ? EM_ERR_CANCELED : EM_OK;
}
