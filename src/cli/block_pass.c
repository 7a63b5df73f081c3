/* SPDX-License-Identifier: BSL-1.0 */
/* block_pass.c -- see block_pass.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdlib.h>
#include <string.h>

#include "cli/block_pass.h"
#include "cli/random.h"

static uint64_t place(const block_pass *p, uint64_t start, uint64_t i)
{
	return (p->random ? random_at(start, i) % p->places : i % p->places) * p->block;
}

static int one_by_one(const block_pass *p, em_errinfo *err)
{
	const uint64_t start = random_start(p->seed);
	const size_t bytes = (size_t)p->block;
	uint64_t i;

	for (i = 0; i < p->n; i++) {
		const uint64_t at = place(p, start, i);
		const em_status st = p->write ? em_file_write(p->file, p->buf, bytes, at)
					      : em_file_read(p->file, p->buf, bytes, at, NULL);

		if (st != EM_OK) {
			em_file_error(p->file, err);
			return -1;
		}
		if (interrupt_caught(p->in))
			return -1;
	}
	return 0;
}

/* Wait for a request, if there is one; the first failure is kept. */
static int finish(em_request **rq, em_errinfo *err)
{
	em_status st = EM_OK;

	if (*rq) {
		st = em_request_wait(*rq);
		if (st != EM_OK && err->status == EM_OK)
			em_request_error(*rq, err);
		em_request_close(*rq);
		*rq = NULL;
	}
	return st == EM_OK ? 0 : -1;
}

static em_status submit(const block_pass *p, uint64_t at, uint32_t slot, em_request **rq)
{
	const size_t bytes = (size_t)p->block;
	char *buf = p->buf + slot * bytes;

	return p->write ? em_file_write_async(p->file, buf, bytes, at, NULL, NULL, rq)
			: em_file_read_async(p->file, buf, bytes, at, NULL, NULL, rq);
}

static int several(const block_pass *p, em_request **rq, em_errinfo *err)
{
	const uint64_t start = random_start(p->seed);
	int bad = 0;
	uint64_t i;
	uint32_t k;

	for (i = 0; i < p->n && !bad; i++) {
		const uint32_t slot = (uint32_t)(i % p->depth);

		bad = finish(&rq[slot], err) || interrupt_caught(p->in);
		if (!bad && (err->status = submit(p, place(p, start, i), slot, &rq[slot])) != EM_OK)
			bad = 1;
	}
	for (k = 0; k < p->depth; k++)
		if (finish(&rq[k], err))
			bad = 1;
	return bad ? -1 : 0;
}

int block_pass_run(const block_pass *p, em_errinfo *err)
{
	em_request **rq;
	int bad;

	memset(err, 0, sizeof(*err));
	if (p->depth <= 1)
		return one_by_one(p, err);
	rq = calloc(p->depth, sizeof(*rq));
	if (!rq) {
		err->status = EM_ERR_NOMEM;
		return -1;
	}
	bad = several(p, rq, err);
	free(rq);
	return bad;
}
