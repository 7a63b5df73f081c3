/* SPDX-License-Identifier: BSL-1.0 */
/* fault_places.c -- see fault_places.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <string.h>

#include "io/queue.h"
#include "sort/fault_places.h"

#define SUBMITTED 1024u

/* A request that was submitted, known by what its transfer has. */
typedef struct submitted {
	const void *buf;
	uint64_t offset;
	uint64_t key;
} submitted;

/* Handles are those of the fault, so what is called with one has to know the fault otherwise. */
static em_fault *fault;
static const em_backend *inner; /* its backend */
static test_places *places;
static em_backend backend;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static submitted submissions[SUBMITTED];
static pthread_mutex_t submission_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t slot_of(const void *buf, uint64_t offset)
{
	return (size_t)(((uintptr_t)buf >> 4) * 31 + (offset >> 4)) % SUBMITTED;
}

/* Where the request of a transfer was submitted; 0: that is not known. */
static uint64_t submission_of(const void *buf, uint64_t offset)
{
	const submitted *s = &submissions[slot_of(buf, offset)];
	uint64_t key;

	pthread_mutex_lock(&submission_lock);
	key = s->buf == buf && s->offset == offset ? s->key : 0;
	pthread_mutex_unlock(&submission_lock);
	return key;
}

#ifdef HAVE_LINKER_WRAP

static void note_submission(const emi_request *rq)
{
	submitted *s = &submissions[slot_of(rq->buf, rq->offset)];

	if (places == NULL || rq->kind == EMI_DISCARD)
		return;
	pthread_mutex_lock(&submission_lock);
	s->buf = rq->buf;
	s->offset = rq->offset;
	s->key = test_place_here((uint32_t)rq->kind);
	pthread_mutex_unlock(&submission_lock);
}

void __real_emi_queue_submit(emi_request *rq);
void __wrap_emi_queue_submit(emi_request *rq);
int __real_emi_queue_run_now(emi_request *rq);
int __wrap_emi_queue_run_now(emi_request *rq);

void __wrap_emi_queue_submit(emi_request *rq)
{
	note_submission(rq);
	__real_emi_queue_submit(rq);
}

int __wrap_emi_queue_run_now(emi_request *rq)
{
	note_submission(rq);
	return __real_emi_queue_run_now(rq);
}

#endif

/* An operation begins; 1: it is the one that fails. */
static int begin(uint32_t op, const void *buf, uint64_t offset)
{
	uint64_t key = buf != NULL ? submission_of(buf, offset) : 0;
	int strikes;

	if (places == NULL)
		return 0;
	/* The same request may be refused when it is handed over, and fail later. */
	key = key != 0 ? key ^ (uint64_t)op << 32 : test_place_here(op);
	strikes = test_place_reach(places, key, op);
	if (strikes) {
		pthread_rwlock_wrlock(&lock);
		em_fault_set(fault, op, 1, 1);
	} else {
		pthread_rwlock_rdlock(&lock);
	}
	return strikes;
}

static void end(int strikes)
{
	if (strikes)
		em_fault_set(fault, 0, 0, 0);
	if (places != NULL)
		pthread_rwlock_unlock(&lock);
}

static int places_open(void *user, em_backend_open *how)
{
	const int strikes = begin(EM_FAULT_OPEN, NULL, 0);
	const int e = inner->open(user, how);

	end(strikes);
	return e;
}

static int places_get_size(void *handle, uint64_t *bytes)
{
	const int strikes = begin(EM_FAULT_SIZE, NULL, 0);
	const int e = inner->get_size(handle, bytes);

	end(strikes);
	return e;
}

static int places_set_size(void *handle, uint64_t bytes)
{
	const int strikes = begin(EM_FAULT_RESIZE, NULL, 0);
	const int e = inner->set_size(handle, bytes);

	end(strikes);
	return e;
}

static int places_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	const int strikes = begin(EM_FAULT_RESERVE, NULL, 0);
	const int e = inner->reserve(handle, offset, bytes);

	end(strikes);
	return e;
}

static int places_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	const int strikes = begin(EM_FAULT_DISCARD, NULL, 0);
	const int e = inner->discard(handle, offset, bytes);

	end(strikes);
	return e;
}

static int places_sync(void *handle)
{
	const int strikes = begin(EM_FAULT_SYNC, NULL, 0);
	const int e = inner->sync(handle);

	end(strikes);
	return e;
}

static int64_t places_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	const int strikes = begin(EM_FAULT_READ, buf, offset);
	const int64_t n = inner->read(handle, buf, bytes, offset);

	end(strikes);
	return n;
}

static int64_t places_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	const int strikes = begin(EM_FAULT_WRITE, buf, offset);
	const int64_t n = inner->write(handle, buf, bytes, offset);

	end(strikes);
	return n;
}

/* The fault takes one at a time.  Handing it over may fail, or the transfer. */
static int places_submit(void *channel, em_transfer *const *list, uint32_t n)
{
	const em_transfer *t = list[0];
	int strikes = begin(EM_FAULT_SUBMIT, t->buf, t->offset), taken;

	if (!strikes) {
		end(0);
		strikes = begin(t->write ? EM_FAULT_WRITE : EM_FAULT_READ, t->buf, t->offset);
	}
	taken = inner->submit(channel, list, n);
	end(strikes);
	return taken;
}

void fault_places_set(em_fault *f, test_places *p)
{
	fault = f;
	places = p;
	inner = em_fault_backend(f);
	backend = *inner;
	backend.open = places_open;
	backend.get_size = places_get_size;
	backend.set_size = places_set_size;
	backend.reserve = places_reserve;
	backend.read = places_read;
	backend.write = places_write;
	backend.discard = inner->discard != NULL ? places_discard : NULL;
	backend.sync = inner->sync != NULL ? places_sync : NULL;
	backend.submit = inner->submit != NULL ? places_submit : NULL;
	if (p != NULL)
		em_fault_set(f, 0, 0, 0);
}

const em_backend *fault_places_backend(void)
{
	return &backend;
}
